//! Newton steps on answers that come with Hessians: over everybody, one user at a time, and with Hessians that are learned from
//! compressed changes.

use serde::{Deserialize, Serialize};

use super::{
    Step, Update, Wants,
    full::SweepMean,
    quadratics::{Quadratics, hessian_of, solve_scaled},
};
use crate::{Belief, Needs, Random, Reply, Setting, SettingError, choice::Purpose, kernel, matrix::Square};

/// Newton's method over everybody: each round asks everybody at the current point, `x −= (Σ ∇²f_i(x))⁻¹ Σ ∇f_i(x)`. It has no step
/// size and no line search.
///
/// On squares, logistic and Poisson regressions this is Fisher scoring, as R's `glm` computes it in one place, and DataSHIELD's
/// `ds.glm` (Gaye et al. 2014) and vantage6's GLM (Cellamare et al. 2022) over several: their users answer with gradient and Hessian
/// (score and information) once a round.
///
/// Where the sum of the Hessians is singular, or one is missing, the point stays, and no step is counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FisherScoring {
    gradient: SweepMean,
    /// Of this round so far.
    hessian_sum: Vec<f64>,
    hessians_taken: usize,
    users: usize,
}

impl FisherScoring {
    /// Before the first round.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Update<B> for FisherScoring {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        let gradient = SweepMean::new(users, dim);
        *self = Self { gradient, hessian_sum: vec![0.0; dim * dim], hessians_taken: 0, users };
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { hessians: true, ..Needs::none() }
    }

    fn has_own_step(&self) -> bool {
        true
    }

    fn wants(&self) -> Wants<'_> {
        Wants::Everybody
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        if step.reply.user == 0 {
            self.hessian_sum.fill(0.0);
            self.hessians_taken = 0;
        }
        if let Some(hessian) = hessian_of(&step.reply) {
            kernel::add_scaled(&mut self.hessian_sum, 1.0, hessian);
            self.hessians_taken += 1;
        }
        let Some(gradient) = self.gradient.add(&step.reply) else {
            return false;
        };
        if self.hessians_taken < self.users {
            return false;
        }
        // Of means, not sums: the same way, and SweepMean has the mean.
        let hessian: Vec<f64> = self.hessian_sum.iter().map(|sum| sum / self.users as f64).collect();
        solve_scaled(&hessian, &gradient).is_some_and(|way| {
            kernel::add_scaled(point, -1.0, &way);
            true
        })
    }
}

/// The incremental Newton method: `x = (Σ H_i)⁻¹ (Σ H_i x_i − Σ g_i)`, the minimum of the sum of everybody's last quadratic, with
/// the Hessian `H_i` at the point `x_i` of the last answer `g_i`. It has no step size. Keeps `n d²` numbers.
///
/// With cyclic choice it is NIM with unit steps (Rodomanov & Kropotov 2016), with uniform choice the stochastic Newton method
/// with one user a step (Kovalev, Mishchenko & Richtárik 2019). A first sweep ends with a step, Newton's over everybody.
///
/// Where the sum is singular, or an answer has no Hessian, the point stays, and no step is counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IncrementalNewton {
    started: bool,
    quadratics: Quadratics,
}

impl IncrementalNewton {
    /// Before the first sweep.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Update<B> for IncrementalNewton {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        *self = Self { started: false, quadratics: Quadratics::new(users, dim) };
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { hessians: true, ..Needs::none() }
    }

    fn has_own_step(&self) -> bool {
        true
    }

    fn wants(&self) -> Wants<'_> {
        if self.started { Wants::Chosen } else { Wants::Everybody }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        let hessian = hessian_of(&step.reply);
        if let Some(hessian) = hessian {
            self.quadratics.replace(&step.reply, hessian);
        }
        is_step(&mut self.started, step.reply.purpose, hessian.is_some()) && self.quadratics.move_to_minimiser(point)
    }
}

/// FedNL with partial participation, FedNL-PP (Safaryan, Islamov, Qian & Richtárik 2022), with one user a step and rate 1: each
/// user has an estimate `H_i` of its Hessian, which learns the best approximation of low rank to what it lacks,
/// `H_i += C(∇²f_i(w_i) − H_i)` at the point `w_i` of its last answer, and `l_i = ‖H_i − ∇²f_i(w_i)‖_F`. Then
/// `x = (Σ (H_i + l_i I))⁻¹ Σ ((H_i + l_i I) w_i − ∇f_i(w_i))`. It has no step size. Uniform choice. Keeps `n d²` numbers.
///
/// An answer is then `(r + 1)(d + 1)` numbers, `2 d + 2` with rank `r = 1`: `d` for `(H_i + l_i I) w_i − ∇f_i(w_i)`, one for `l_i`, and
/// `d + 1` for each eigenvector and its eigenvalue. A gradient and a whole Hessian are `d + d (d + 1) / 2`, and so is an answer of the
/// first sweep, in which `H_i` becomes `∇²f_i(x_0)`. Without an exact start `H_i` is 0 at first, and an answer of that sweep is
/// `d + 1` numbers.
///
/// Where the sum is singular, or an answer has no Hessian, the point stays, and no step is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewtonLearning {
    rank: Option<usize>,
    exact_start: bool,
    started: bool,
    /// With `H_i + l_i I` for each user.
    quadratics: Quadratics,
    /// `l_i`.
    slacks: Vec<f64>,
}

impl NewtonLearning {
    /// Learns matrices of this rank, at least 1; the authors take 1.
    pub fn new(rank: usize) -> Self {
        let (quadratics, slacks) = (Quadratics::default(), Vec::new());
        Self { rank: Some(rank), exact_start: true, started: false, quadratics, slacks }
    }

    /// Whether the answers of the first sweep bring whole Hessians, as the authors' do.
    pub fn exact_start(mut self, exact: bool) -> Self {
        self.exact_start = exact;
        self
    }

    /// Learns from an answer; returns whether it had a Hessian.
    fn take(&mut self, reply: &Reply<'_>) -> bool {
        let Some(hessian) = hessian_of(reply) else {
            return false;
        };
        let dim = reply.gradient.len();
        let mut estimate = self.quadratics.matrix(reply.user).to_vec();
        add_to_diagonal(&mut estimate, dim, -self.slacks[reply.user]);
        let lacks = |estimate: &[f64]| -> Vec<f64> { hessian.iter().zip(estimate).map(|(h, e)| h - e).collect() };
        let rank = self.rank.unwrap_or(1);
        let is_first = reply.purpose.is_sweep();
        if is_first && self.exact_start || !is_first && rank >= dim {
            estimate.copy_from_slice(hessian);
        } else if !is_first {
            let change = lacks(&estimate);
            add_low_rank(&mut estimate, change, dim, rank);
        }
        let slack = kernel::norm(&lacks(&estimate));
        add_to_diagonal(&mut estimate, dim, slack);
        self.slacks[reply.user] = slack;
        self.quadratics.replace(reply, &estimate);
        true
    }
}

impl<B: Belief> Update<B> for NewtonLearning {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let rank = "of the matrix that an answer brings in place of a Hessian";
        let exact_start = "whether the first sweep brings whole Hessians";
        vec![
            Setting::count("rank", &mut self.rank, rank),
            Setting::switch("exact_start", &mut self.exact_start, exact_start),
        ]
    }

    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        self.started = false;
        self.quadratics = Quadratics::new(users, dim);
        self.slacks = vec![0.0; users];
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { hessians: true, ..Needs::none() }
    }

    fn has_own_step(&self) -> bool {
        true
    }

    fn wants(&self) -> Wants<'_> {
        if self.started { Wants::Chosen } else { Wants::Everybody }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        let taken = self.take(&step.reply);
        is_step(&mut self.started, step.reply.purpose, taken) && self.quadratics.move_to_minimiser(point)
    }
}

/// Whether there is a step on an answer: on the last one of the first sweep, and after that on each that has a Hessian.
fn is_step(started: &mut bool, purpose: Purpose, has_hessian: bool) -> bool {
    if let Purpose::Sweep { last } = purpose {
        *started = last;
        return last;
    }
    has_hessian
}

fn add_to_diagonal(matrix: &mut [f64], dim: usize, value: f64) {
    (0..dim).for_each(|k| matrix[k * dim + k] += value);
}

/// Adds the best approximation of this rank to a symmetric matrix: its eigenvalues that are farthest from zero.
fn add_low_rank(sum: &mut [f64], matrix: Vec<f64>, dim: usize, rank: usize) {
    let Some((values, vectors)) = Square::from_lower(dim, matrix).eigen() else {
        return;
    };
    let mut order: Vec<usize> = (0..dim).collect();
    order.sort_by(|a, b| values[*b].abs().total_cmp(&values[*a].abs()));
    for k in order.into_iter().take(rank) {
        let vector = vectors.column(k);
        for (row, entry) in sum.chunks_exact_mut(dim).zip(&vector) {
            kernel::add_scaled(row, values[k] * entry, &vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::Nothing;

    /// Lets two users answer at the point, for a sweep or a step; returns whether there was a step, and the point.
    fn answered(update: &mut dyn Update<Nothing>, purposes: [Purpose; 2], hessian: Option<&[f64]>) -> (bool, Vec<f64>) {
        let start = [3.0, 5.0];
        let mut point = start.to_vec();
        let mut moved = false;
        for (user, purpose) in purposes.into_iter().enumerate() {
            let mut reply = Reply::new(user, &start, &[2.0, 4.0], purpose);
            reply.hessian = hessian;
            moved |= update.step(Step::new(&mut Nothing, reply, 1.0), &mut Random::new(1, "test"), &mut point);
        }
        (moved, point)
    }

    fn updates() -> [Box<dyn Update<Nothing>>; 3] {
        let mut updates: [Box<dyn Update<Nothing>>; 3] =
            [Box::new(FisherScoring::new()), Box::new(IncrementalNewton::new()), Box::new(NewtonLearning::new(1))];
        updates.iter_mut().for_each(|update| update.begin(2, 2).unwrap());
        updates
    }

    const SWEEP: [Purpose; 2] = [Purpose::Sweep { last: false }, Purpose::Sweep { last: true }];

    #[test]
    fn the_first_sweep_ends_with_a_newton_step() {
        for mut update in updates() {
            let (moved, point) = answered(&mut *update, SWEEP, Some(&[2.0, 0.0, 0.0, 1.0]));
            assert!(moved && (point[0] - 2.0).abs() < 1e-14 && (point[1] - 1.0).abs() < 1e-14, "{point:?}");
        }
    }

    /// Without Hessians, with some of another size, and where their sum is singular: up to rounding, zero, or no number.
    #[test]
    fn the_point_stays_where_there_is_no_newton_step() {
        let nearly = [1.0, 1.0, 1.0, 1.0 + f64::EPSILON];
        for hessian in [
            None,
            Some(&[1.0][..]),
            Some(&[0.0; 4]),
            Some(&nearly),
            Some(&[1e-200, 0.0, 0.0, 0.0]),
            Some(&[1.0, f64::NAN, f64::NAN, 1.0]),
            Some(&[-1.0, 0.0, 0.0, 1.0]),
        ] {
            for mut update in updates() {
                assert_eq!(answered(&mut *update, SWEEP, hessian), (false, vec![3.0, 5.0]), "{hessian:?}");
                if update.wants() == Wants::Chosen {
                    let steps = [Purpose::Step; 2];
                    let after = answered(&mut *update, steps, None);
                    assert_eq!(after, (false, vec![3.0, 5.0]), "{hessian:?}");
                }
            }
        }
    }

    /// A parameter in other units is no reason to stay.
    #[test]
    fn units_do_not_matter() {
        for mut update in updates() {
            let (moved, point) = answered(&mut *update, SWEEP, Some(&[1e-20, 0.0, 0.0, 1e20]));
            assert!(moved && (point[0] / -2e20 - 1.0).abs() < 1e-12, "{point:?}");
        }
    }

    /// `diag(4, -1)` is learned one eigenvalue at a time.
    #[test]
    fn the_largest_change_is_learned_first() {
        let hessian = [4.0, 0.0, 0.0, -1.0];
        for (rank, expected) in [(1, [4.0, 0.0, 0.0, 0.0]), (2, hessian), (3, hessian)] {
            let mut learned = vec![0.0; 4];
            add_low_rank(&mut learned, hessian.to_vec(), 2, rank);
            let differences = learned.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            assert!(differences.fold(0.0, f64::max) < 1e-14, "{learned:?}");
        }
    }
}
