//! Relatives of SVRG: L-SVRG, Katyusha, SARAH.

use serde::{Deserialize, Serialize};

use super::{Step, Update, Wants, reduced_variance_step};
use crate::{
    Belief, DefaultStep, Needs, Random, Reply, Setting, SettingError, choice::Purpose, kernel, setting::Range,
    step_size::Known,
};

/// Everybody's gradient at one point, and their mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    rows: Vec<f64>,
    pub mean: Vec<f64>,
}

impl Snapshot {
    pub fn new(users: usize, dim: usize) -> Self {
        Self { rows: vec![0.0; users * dim], mean: vec![0.0; dim] }
    }

    /// Takes one answer of a sweep; with the last one the mean is known.
    pub fn take(&mut self, reply: &Reply<'_>, last: bool) {
        let dim = reply.gradient.len();
        self.rows[reply.user * dim..][..dim].copy_from_slice(reply.gradient);
        if last {
            kernel::mean_of_rows(&self.rows, &mut self.mean);
        }
    }

    pub fn row(&self, user: usize) -> &[f64] {
        &self.rows[user * self.mean.len()..][..self.mean.len()]
    }
}

/// SVRG without an inner loop, L-SVRG (Kovalev, Horváth & Richtárik 2020): after each step, with a small probability, everybody
/// is asked anew, at the point that the step leads to (the authors': that before it).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loopless {
    /// By default `1 / n`.
    probability: Option<f64>,
    stale: bool,
    snapshot: Snapshot,
}

impl Loopless {
    /// Takes snapshots with this probability; by default one in as many steps as there are users.
    pub fn new(probability: Option<f64>) -> Self {
        Self { probability, stale: true, snapshot: Snapshot::default() }
    }
}

impl<B: Belief> Update<B> for Loopless {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let summary = "of a snapshot after each step; default 1/n";
        vec![Setting::optional_number("probability", &mut self.probability, Range::above(0.0, 1.0), summary)]
    }

    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        let probability = self.probability.unwrap_or(1.0 / users as f64);
        *self = Self { probability: Some(probability), stale: true, snapshot: Snapshot::new(users, dim) };
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { chance: true, ..Needs::none() }
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/(6 L_max)", 1.0 / (6.0 * known.smoothness.max()))
    }

    fn wants(&self) -> Wants<'_> {
        if self.stale { Wants::Everybody } else { Wants::Chosen }
    }

    fn step(&mut self, step: Step<'_, B>, random: &mut Random, point: &mut [f64]) -> bool {
        if let Purpose::Sweep { last } = step.reply.purpose {
            self.snapshot.take(&step.reply, last);
            self.stale = !last;
            return false;
        }
        let (fresh, kept) = (step.reply.gradient, self.snapshot.row(step.reply.user));
        reduced_variance_step(point, step.weight, step.size, fresh, kept, &self.snapshot.mean);
        // Answers may still be out when a snapshot is due.
        self.stale |= random.unit() < self.probability.unwrap_or(1.0);
        true
    }
}

/// Katyusha (Allen-Zhu 2017), accelerated SVRG: asked at `x = τ₁ z + ½ x̃ + (½ − τ₁) y`; on the corrected gradient `v`,
/// `z −= (α/τ₁) v` and `y = x − α v`. Every `m` steps the mean of the `y` becomes the snapshot `x̃`
/// (the author's weighs the later ones more where μ is known).
///
/// Where the session stands is where it asks next: `x`, or `x̃` during a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Katyusha {
    /// By default twice the number of users.
    inner_steps: Option<usize>,
    /// `τ₁`.
    momentum: f64,
    steps_left: usize,
    snapshot: Snapshot,
    snapshot_point: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
    y_sum: Vec<f64>,
}

impl Katyusha {
    /// `momentum` is `τ₁`, in `(0, ½]`; the author has ½ wherever the problem is well-conditioned.
    pub fn new(inner_steps: Option<usize>, momentum: f64) -> Self {
        let none = Vec::new;
        Self {
            inner_steps,
            momentum,
            steps_left: 0,
            snapshot: Snapshot::default(),
            snapshot_point: none(),
            y: none(),
            z: none(),
            y_sum: none(),
        }
    }

    /// From a new snapshot, taken at the point. Returns whether the point moves: from one point to the same is no step.
    fn set_out(&mut self, point: &mut [f64]) -> bool {
        self.snapshot_point = point.to_vec();
        let first = self.z.is_empty();
        if first {
            self.y = point.to_vec();
            self.z = point.to_vec();
        }
        self.y_sum.fill(0.0);
        self.steps_left = self.inner_steps.unwrap_or(1);
        self.place(point);
        !first
    }

    fn place(&self, point: &mut [f64]) {
        for (k, x) in point.iter_mut().enumerate() {
            *x = self.momentum * self.z[k] + 0.5 * self.snapshot_point[k] + (0.5 - self.momentum) * self.y[k];
        }
    }
}

impl<B: Belief> Update<B> for Katyusha {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let Self { inner_steps, momentum, .. } = self;
        vec![
            Setting::count("inner_steps", inner_steps, "steps between snapshots; default 2n"),
            Setting::number("momentum", momentum, Range::above(0.0, 0.5), "τ₁, in (0, 0.5]"),
        ]
    }

    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        self.inner_steps = Some(self.inner_steps.unwrap_or(users.saturating_mul(2)));
        self.snapshot = Snapshot::new(users, dim);
        self.y_sum = vec![0.0; dim];
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { one_at_a_time: true, ..Needs::none() }
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/(3 L_max)", 1.0 / (3.0 * known.smoothness.max()))
    }

    fn wants(&self) -> Wants<'_> {
        if self.steps_left == 0 { Wants::Everybody } else { Wants::Chosen }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        if let Purpose::Sweep { last } = step.reply.purpose {
            self.snapshot.take(&step.reply, last);
            return last && self.set_out(point);
        }
        let kept = self.snapshot.row(step.reply.user);
        for (k, kept) in kept.iter().enumerate() {
            let corrected = step.weight * (step.reply.gradient[k] - kept) + self.snapshot.mean[k];
            self.z[k] -= step.size / self.momentum * corrected;
            self.y[k] = step.reply.point[k] - step.size * corrected;
            self.y_sum[k] += self.y[k];
        }
        self.steps_left -= 1;
        if self.steps_left == 0 {
            let steps = self.inner_steps.unwrap_or(1) as f64;
            for (x, sum) in point.iter_mut().zip(&self.y_sum) {
                *x = sum / steps;
            }
        } else {
            self.place(point);
        }
        true
    }
}

/// SARAH (Nguyen et al. 2017): `v = ∇f_i(x_t) − ∇f_i(x_{t−1}) + v`, `x −= α v`, from a full gradient every `m` steps. A step
/// asks its user at two points, and costs two queries. The authors go on from one of the points at random; here it is the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recursive {
    /// By default as many as there are users.
    inner_steps: Option<usize>,
    steps_left: usize,
    users: f64,
    estimate: Vec<f64>,
    before: Vec<f64>,
    gradient_before: Vec<f64>,
}

impl Recursive {
    /// Takes a full gradient every `inner_steps` steps.
    pub fn new(inner_steps: Option<usize>) -> Self {
        let none = Vec::new;
        Self { inner_steps, steps_left: 0, users: 0.0, estimate: none(), before: none(), gradient_before: none() }
    }
}

impl<B: Belief> Update<B> for Recursive {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        vec![Setting::count("inner_steps", &mut self.inner_steps, "steps between full gradients; default n")]
    }

    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        self.inner_steps = Some(self.inner_steps.unwrap_or(users));
        self.users = users as f64;
        self.estimate = vec![0.0; dim];
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { one_at_a_time: true, ..Needs::none() }
    }

    fn wants(&self) -> Wants<'_> {
        if self.steps_left == 0 { Wants::Everybody } else { Wants::Elsewhere(&self.before) }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        let Step { reply, weight, size, .. } = step;
        match reply.purpose {
            Purpose::Sweep { last } => {
                if reply.user == 0 {
                    self.estimate.fill(0.0);
                }
                kernel::add_scaled(&mut self.estimate, 1.0 / self.users, reply.gradient);
                if !last {
                    return false;
                }
                // That was the first of them.
                self.steps_left = self.inner_steps.unwrap_or(1) - 1;
            }
            Purpose::Elsewhere => {
                self.gradient_before = reply.gradient.to_vec();
                return false;
            }
            Purpose::Step | Purpose::Earlier => {
                let gradients = reply.gradient.iter().zip(&self.gradient_before);
                for (estimate, (new, old)) in self.estimate.iter_mut().zip(gradients) {
                    *estimate += weight * (new - old);
                }
                self.steps_left -= 1;
            }
        }
        self.before = reply.point.to_vec();
        kernel::add_scaled(point, -size, &self.estimate);
        true
    }
}
