//! Regression against numpy, scipy and scikit-learn: `fixtures/regression.py`, written from the definition of the
//! objective.

use serde::Deserialize;
use sgq::{
    Oracle, Problem,
    problem::{Loss, Regression, Rows},
};

#[derive(Deserialize)]
struct Reference {
    name: String,
    loss: Loss,
    l2: f64,
    sizes: Vec<usize>,
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
    smoothness: Vec<f64>,
    objective_smoothness: f64,
    pl_constant: f64,
    optimum: Vec<f64>,
    optimum_by_scikit_learn: Option<Vec<f64>>,
    minimum: f64,
    points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    at: Vec<f64>,
    value: f64,
    user_values: Vec<f64>,
    user_gradients: Vec<Vec<f64>>,
}

impl Reference {
    fn all() -> Vec<Self> {
        serde_json::from_str(include_str!("../fixtures/regression.json")).unwrap()
    }

    fn dense(&self) -> Rows {
        Rows::Dense { dim: self.rows[0].len(), values: self.rows.concat() }
    }

    fn sparse(&self) -> Rows {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in &self.rows {
            for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(u32::try_from(column).unwrap());
                values.push(*value);
            }
            starts.push(values.len());
        }
        assert!(values.len() < self.rows.concat().len(), "the table has no zeros to leave out");
        Rows::Sparse { dim: self.rows[0].len(), starts, columns, values }
    }

    fn problem(&self, rows: Rows) -> Regression {
        let mut blocks = vec![0];
        blocks.extend(self.sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        }));
        let targets = self.targets.clone();
        match &self.weights {
            Some(weights) => Regression::weighted(rows, targets, weights, &blocks, self.loss, self.l2),
            None => Regression::new(rows, targets, &blocks, self.loss, self.l2),
        }
        .unwrap()
    }

    /// Every problem, on dense rows and on sparse ones.
    fn each(check: impl Fn(&Self, &Regression)) {
        let all = Self::all();
        assert_eq!(all.len(), 8);
        for reference in &all {
            for rows in [reference.dense(), reference.sparse()] {
                check(reference, &reference.problem(rows));
            }
        }
    }

    #[track_caller]
    fn close(&self, what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len(), "{}: {what}", self.name);
        for (found, expected) in found.iter().zip(expected) {
            let off = (found - expected).abs() / expected.abs().max(1.0);
            assert!(off <= tolerance, "{}: {what}: found {found:e}, expected {expected:e}", self.name);
        }
    }
}

#[test]
fn values_and_gradients() {
    Reference::each(|reference, problem| {
        for point in &reference.points {
            reference.close("f", &[problem.value(&point.at)], &[point.value], 1e-13);
            for user in 0..problem.users() {
                let value = problem.user_value(user, &point.at);
                reference.close("f_i", &[value], &point.user_values[user..=user], 1e-13);
                let mut gradient = vec![f64::NAN; problem.dim()];
                problem.gradient(user, &point.at, &mut gradient);
                reference.close("∇f_i", &gradient, &point.user_gradients[user], 1e-13);
            }
        }
    });
}

#[test]
fn constants() {
    Reference::each(|reference, problem| {
        reference.close("L_i", problem.smoothness().unwrap(), &reference.smoothness, 1e-12);
        let found = [problem.objective_smoothness().unwrap(), problem.pl_constant().unwrap()];
        reference.close("f's L and μ", &found, &[reference.objective_smoothness, reference.pl_constant], 1e-12);
    });
}

#[test]
fn optima() {
    Reference::each(|reference, problem| {
        let found = problem.optimum().unwrap();
        reference.close("x*", &found.point, &reference.optimum, 1e-11);
        reference.close("f*", &[found.value], &[reference.minimum], 1e-13);
        if let Some(other) = &reference.optimum_by_scikit_learn {
            reference.close("scikit-learn's x*", &found.point, other, 1e-11);
        }
        assert!(problem.gradient_norm_at_optimum() <= 1e-12, "{}", reference.name);
    });
}
