//! Steps with curvature: incremental quasi-Newton, and the curvature-aided aggregated gradient.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{
    Step, Update, Wants,
    quadratics::{Quadratics, hessian_of, times},
};
use crate::{
    Belief, DefaultStep, LastGradient, Needs, Random, Reply, Setting, SettingError, belief::Replaced, choice::Purpose,
    kernel, matrix, step_size::Known,
};

/// IQN (Mokhtari, Eisen & Ribeiro 2018): every user has a matrix `B_i`, at first `I / α`, that its answers improve by BFGS;
/// `x = (Σ B_i)⁻¹ (Σ B_i x_i − Σ g_i)` over the last points and gradients. Cyclic choice. Keeps `n d²` numbers.
///
/// Over a [lazy](LastGradient::lazy) table the sums are over the users asked so far. Whenever a user's first answer comes, its
/// `B_i` is `I / α` with the `α` of the first step of all: users who are alike enter alike, whatever the step size does later.
///
/// With a [step after the first sweep](QuasiNewton::step_after_sweep) and several questions out it is DAve-QN (Soori et al. 2020).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuasiNewton {
    matrices: Vec<f64>,
    /// Whose `B_i` is in the sums.
    entered: Vec<bool>,
    /// Each `B_i` is at first this times the identity.
    first_curvature: f64,
    /// `Σ B_i`.
    total: Vec<f64>,
    /// `Σ (B_i x_i − g_i)`.
    pull: Vec<f64>,
    /// The belief's answers when the sums were last brought up to date: some may be for the belief alone.
    answers_seen: u64,
    step_after_sweep: bool,
    /// Whether that step was taken.
    started: bool,
}

impl QuasiNewton {
    /// Before the first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether everybody is asked first, a [lazy](LastGradient::lazy) table or not, and the last of these answers makes a step,
    /// `x −= α ḡ`. Without it the first questions after the sweep are at the same point again: as many as may be out at once.
    pub fn step_after_sweep(mut self, steps: bool) -> Self {
        self.step_after_sweep = steps;
        self
    }

    /// Makes room, on the first step.
    fn start(&mut self, users: usize, dim: usize, first_curvature: f64) {
        self.matrices = vec![0.0; users * dim * dim];
        self.entered = vec![false; users];
        self.first_curvature = first_curvature;
        self.total = vec![0.0; dim * dim];
        self.pull = vec![0.0; dim];
    }

    /// Takes in what went to the belief alone: a first sweep, or earlier answers far away. The sums are then over the last
    /// answers as they were before that of this user.
    fn catch_up(&mut self, belief: &LastGradient, asked: usize, dim: usize) {
        let replaced = belief.replaced();
        self.pull.fill(0.0);
        let mut entering = 0;
        for user in (0..belief.users()).filter(|user| belief.is_asked(*user)) {
            let (point, gradient) = match (user == asked, replaced.first) {
                (true, true) => continue,
                (true, false) => (replaced.point, Cow::Borrowed(replaced.gradient)),
                (false, _) => (belief.point(user), belief.gradient(user)),
            };
            if self.entered[user] {
                let matrix = &self.matrices[user * dim * dim..][..dim * dim];
                kernel::add_scaled(&mut self.pull, 1.0, &times(matrix, point));
            } else {
                self.enter(user, dim);
                entering += 1;
                kernel::add_scaled(&mut self.pull, self.first_curvature, point);
            }
            kernel::add_scaled(&mut self.pull, -1.0, &gradient);
        }
        self.add_first_curvatures(entering, dim);
    }

    /// Gives a user its first `B_i`.
    fn enter(&mut self, user: usize, dim: usize) {
        self.entered[user] = true;
        for k in 0..dim {
            self.matrices[user * dim * dim + k * dim + k] = self.first_curvature;
        }
    }

    /// Adds the first `B_i` of so many users to the sum.
    fn add_first_curvatures(&mut self, users: usize, dim: usize) {
        for k in 0..dim {
            self.total[k * dim + k] += self.first_curvature * users as f64;
        }
    }

    /// Replaces what the user's last answer says by this one, and improves its `B_i` by the change.
    fn replace(&mut self, reply: &Reply<'_>, old: &Replaced<'_>) {
        let Reply { user, point: here, gradient, .. } = *reply;
        let dim = here.len();
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> { new.iter().zip(old).map(|(n, o)| n - o).collect() };
        let (s, y) = (difference(here, old.point), difference(gradient, old.gradient));
        let matrix = &mut self.matrices[user * dim * dim..][..dim * dim];
        kernel::add_scaled(&mut self.pull, -1.0, &times(matrix, old.point));
        kernel::add_scaled(&mut self.pull, 1.0, old.gradient);
        let image = times(matrix, &s);
        let (along, curved) = (kernel::dot(&s, &image), kernel::dot(&s, &y));
        // Without curvature along the way there is nothing to learn.
        if along > 0.0 && curved > 1e-12 * kernel::norm(&s) * kernel::norm(&y) {
            for row in 0..dim {
                for column in 0..dim {
                    let change = y[row] * y[column] / curved - image[row] * image[column] / along;
                    matrix[row * dim + column] += change;
                    self.total[row * dim + column] += change;
                }
            }
        }
        kernel::add_scaled(&mut self.pull, 1.0, &times(matrix, here));
        kernel::add_scaled(&mut self.pull, -1.0, gradient);
    }
}

impl Update<LastGradient> for QuasiNewton {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let summary = "whether the first sweep ends with a step";
        vec![Setting::switch("step_after_sweep", &mut self.step_after_sweep, summary)]
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        // IQN's first curvature.
        DefaultStep::new("1/L_max", 1.0 / known.smoothness.max())
    }

    fn wants(&self) -> Wants<'_> {
        if self.step_after_sweep && !self.started { Wants::Everybody } else { Wants::Chosen }
    }

    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        let Reply { user, point: here, gradient, purpose, .. } = step.reply;
        if purpose == (Purpose::Sweep { last: false }) {
            return false;
        }
        self.started = true;
        let (belief, dim) = (&*step.belief, point.len());
        if self.matrices.is_empty() {
            self.start(belief.users(), dim, 1.0 / step.size);
        }
        if self.answers_seen + 1 != belief.answers() {
            self.catch_up(belief, user, dim);
        }
        self.answers_seen = belief.answers();
        let replaced = belief.replaced();
        if replaced.first {
            self.enter(user, dim);
            self.add_first_curvatures(1, dim);
            kernel::add_scaled(&mut self.pull, self.first_curvature, here);
            kernel::add_scaled(&mut self.pull, -1.0, gradient);
        } else {
            self.replace(&step.reply, &replaced);
        }
        if let Some(solution) = solve(&self.total, &self.pull) {
            point.copy_from_slice(&solution);
        }
        true
    }
}

/// CIAG (Wai et al. 2018): `x −= (α/n) Σ (g_i + H_i (x − x_i))` over the last points, gradients and Hessians `H_i`. Cyclic
/// choice. Every answer comes with a Hessian: a stronger oracle than all others have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvatureAided {
    started: bool,
    quadratics: Quadratics,
}

impl CurvatureAided {
    /// Before the first answer.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Update<B> for CurvatureAided {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        *self = Self { started: false, quadratics: Quadratics::new(users, dim) };
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { hessians: true, ..Needs::none() }
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/L", 1.0 / known.objective())
    }

    fn wants(&self) -> Wants<'_> {
        if self.started { Wants::Chosen } else { Wants::Everybody }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        if let Some(hessian) = hessian_of(&step.reply) {
            self.quadratics.replace(&step.reply, hessian);
        }
        if let Purpose::Sweep { last } = step.reply.purpose {
            self.started = last;
            return false;
        }
        let direction = self.quadratics.gradient(step.reply.point);
        kernel::add_scaled(point, -step.size / self.quadratics.users() as f64, &direction);
        true
    }
}

fn solve(matrix: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    let (mut factor, mut solution) = (matrix.to_vec(), right.to_vec());
    if !matrix::cholesky(&mut factor, right.len(), 0.0) {
        return None;
    }
    matrix::cholesky_solve(&factor, &mut solution);
    Some(solution)
}
