//! A problem whose users have other numbers.

use std::sync::Arc;

use sgq::{Oracle, Problem, Random, problem::Optimum};

/// The same problem with its users in a random order.
///
/// Methods that ask users in turn would otherwise run the same way in every trial, in the order of some file, and what is tuned
/// on one trial would be tuned on all.
pub(crate) struct Renumbered {
    problem: Arc<dyn Problem + Send>,
    /// The user behind each number.
    order: Vec<usize>,
    smoothness: Option<Vec<f64>>,
}

impl Renumbered {
    /// An order that the seed decides.
    pub fn new(problem: &Arc<dyn Problem + Send>, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..problem.users()).collect();
        Random::new(seed, "numbers of users").shuffle(&mut order);
        let smoothness = problem.smoothness().map(|each| in_order(each, &order));
        Self { problem: Arc::clone(problem), order, smoothness }
    }

    /// What there is of each user, by their new numbers.
    pub fn renumber(&self, each: &[f64]) -> Vec<f64> {
        in_order(each, &self.order)
    }
}

fn in_order(each: &[f64], order: &[usize]) -> Vec<f64> {
    order.iter().map(|user| each[*user]).collect()
}

impl Oracle for Renumbered {
    fn users(&self) -> usize {
        self.problem.users()
    }

    fn dim(&self) -> usize {
        self.problem.dim()
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        self.problem.gradient(self.order[user], point, gradient);
    }

    fn user_loss(&self, user: usize, point: &[f64]) -> Option<f64> {
        self.problem.user_loss(self.order[user], point)
    }

    fn hessian(&self, user: usize, point: &[f64], hessian: &mut [f64]) -> bool {
        self.problem.hessian(self.order[user], point, hessian)
    }
}

impl Problem for Renumbered {
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        self.problem.user_value(self.order[user], point)
    }

    fn value(&self, point: &[f64]) -> f64 {
        self.problem.value(point)
    }

    fn smoothness(&self) -> Option<&[f64]> {
        self.smoothness.as_deref()
    }

    fn pl_constant(&self) -> Option<f64> {
        self.problem.pl_constant()
    }

    fn objective_smoothness(&self) -> Option<f64> {
        self.problem.objective_smoothness()
    }

    fn is_smooth_everywhere(&self) -> bool {
        self.problem.is_smooth_everywhere()
    }

    fn is_quadratic(&self) -> bool {
        self.problem.is_quadratic()
    }

    fn optimum(&self) -> Option<&Optimum> {
        self.problem.optimum()
    }

    fn gap(&self, point: &[f64]) -> Option<f64> {
        self.problem.gap(point)
    }
}

#[cfg(test)]
mod tests {
    use sgq::problem::Quadratic;

    use super::*;

    #[test]
    fn everybody_is_there_once_with_what_is_theirs() {
        let curvature = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let problem: Arc<dyn Problem + Send> = Arc::new(Quadratic::scalar(&curvature, &[0.0; 6]).unwrap());
        let orders = [1, 2].map(|seed| {
            let renumbered = Renumbered::new(&problem, seed);
            let each = renumbered.renumber(&curvature);
            for (user, a) in each.iter().enumerate() {
                let mut gradient = [0.0];
                renumbered.gradient(user, &[1.0], &mut gradient);
                assert_eq!((gradient[0], renumbered.smoothness().unwrap()[user]), (2.0 * a, 2.0 * a));
                assert_eq!(renumbered.user_value(user, &[3.0]), 9.0 * a);
            }
            let mut sorted = each.clone();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, curvature);
            assert_eq!(renumbered.gap(&[2.0]), problem.gap(&[2.0]));
            each
        });
        assert_ne!(orders[0], orders[1]);
    }
}
