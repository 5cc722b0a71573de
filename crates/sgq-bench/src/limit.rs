//! The limit for asking in random order, beside the methods: a yardstick that nobody runs and nobody bills.

use std::fmt::Write as _;

use sgq::theory::RandomOrderLimit;

use crate::{Experiment, experiment::NamedProblem, output::quoted};

/// What a table calls it.
pub const LABEL: &str = "limit for random order (yardstick, no method)";

/// What a reader of a table must know of it.
pub const EXPLANATION: &str = "The limit for random order is no method and bills nothing: after k users, asked in random order and nobody twice, an \
     unbiased estimator that knew the curvature and learned everything about each user it asked would still have an expected \
     gap of ½ tr(H⁻¹Σ)(1/k − 1/n), with H the Hessian at the optimum and Σ the covariance of the users' gradients there. \
     Fewer queries can be enough with a choice better than random and, at large gaps, with steps that stop short of where the \
     answers point.";

/// The limit on every problem that has one: that knows its optimum and its Hessians.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// A problem's name, and the queries to each of the experiment's targets.
    problems: Vec<(String, Vec<u64>)>,
}

impl Limits {
    /// The limits of an experiment. Each takes about as long as a step of the solver that found the optimum.
    pub fn of(experiment: &Experiment) -> Self {
        let named = |problem: &NamedProblem| Some((problem.name.clone(), queries(experiment, problem)?));
        Self { problems: experiment.problems.iter().filter_map(named).collect() }
    }

    /// The queries to each target on one problem, if it has a limit.
    pub fn on(&self, problem: &str) -> Option<&[u64]> {
        self.problems.iter().find(|(name, _)| name == problem).map(|(_, queries)| &**queries)
    }

    /// Whether no problem has one.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// `problem,target,queries`.
    pub fn csv(&self, targets: &[f64]) -> String {
        let mut csv = "problem,target,queries\n".to_owned();
        for (problem, queries) in &self.problems {
            for (target, queries) in targets.iter().zip(queries) {
                let _ = writeln!(csv, "{},{target:?},{queries}", quoted(problem));
            }
        }
        csv
    }
}

fn queries(experiment: &Experiment, problem: &NamedProblem) -> Option<Vec<u64>> {
    let start = problem.problem.gap(&problem.start)?;
    let limit = RandomOrderLimit::new(&*problem.problem)?;
    let to = |target: &f64| {
        let gap = if experiment.relative { target * start } else { *target };
        // Who starts there need not ask.
        if start <= gap { Some(0) } else { limit.queries_to(gap) }
    };
    experiment.targets.iter().map(to).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sgq::problem::{Custom, Optimum};

    use super::*;

    fn toy(head: &str) -> Experiment {
        let text = format!(
            "budget = 9\nstep_size = 0.1\n{head}\n[[problem]]\nname = \"a, b\"\nkind = \"quadratic\"\n\
             curvature = [1, 1, 1, 1]\ncenter = [2, 1, -1, -2]\nstart = 5\n[[method]]\nmethod = \"sgd\"\n"
        );
        Experiment::from_toml("x.toml", &text).unwrap()
    }

    #[test]
    fn queries_are_as_computed_by_hand() {
        // ½ tr(H⁻¹Σ) = 10/3, and the gap at the start is 25: 10/3 (1/k − 1/4) is 2.5, 0.833, 0.278 and 0 for k = 1 … 4.
        let experiment = toy("targets = [25, 2.5, 2.4, 0.84, 0.28, 0.2]");
        let limits = Limits::of(&experiment);
        assert_eq!(limits.on("a, b"), Some(&[0, 1, 2, 2, 3, 4][..]));
        let csv = limits.csv(&experiment.targets);
        assert!(csv.starts_with("problem,target,queries\n\"a, b\",25.0,0\n\"a, b\",2.5,1\n"), "{csv}");
        assert_eq!(csv.lines().count(), 7);
    }

    #[test]
    fn relative_targets_are_parts_of_the_gap_at_the_start() {
        let experiment = toy("relative = true\ntargets = [1, 0.1, 0.04, 0.012, 0.001]");
        assert_eq!(Limits::of(&experiment).on("a, b"), Some(&[0, 1, 2, 3, 4][..]));
    }

    #[test]
    fn a_problem_without_a_hessian_is_left_out() {
        let mut experiment = toy("");
        let value = |_: usize, x: &[f64]| x[0] * x[0];
        let gradient = |_: usize, x: &[f64], out: &mut [f64]| out[0] = 2.0 * x[0];
        let problem = Custom::new(2, 1, value, gradient).with_optimum(Optimum { point: vec![0.0], value: 0.0 });
        experiment.problems[0].problem = Arc::new(problem);
        let limits = Limits::of(&experiment);
        assert!(limits.is_empty() && limits.on("a, b").is_none());
    }
}
