//! Inference for generalised linear models, against statsmodels and against what it must be.

mod influence;
mod reference;
mod refusals;
mod separation;
mod special;
mod subject;

use rand::Numbers;
use sgq::{
    Problem as _,
    problem::{Regression, Rows},
};
use sgq_data::{
    Scaling,
    glm::{Closing, Family, Fit, Inference, Observations, OriginalScale, StdErrors},
};

/// Data of several users, as a regression sees them.
#[derive(Clone)]
struct Case {
    family: Family,
    rows: Rows,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
    blocks: Vec<usize>,
    names: Vec<String>,
    scale: OriginalScale,
}

impl Case {
    fn new(family: Family, lines: &[Vec<f64>], targets: Vec<f64>, blocks: Vec<usize>) -> Self {
        let dim = lines[0].len();
        Self {
            family,
            rows: Rows::Dense { dim, values: lines.concat() },
            targets,
            weights: None,
            offsets: None,
            blocks,
            names: (0..dim).map(|k| if k == 0 { "intercept".into() } else { format!("x{k}") }).collect(),
            scale: OriginalScale::identity(dim),
        }
    }

    fn observations(&self) -> Observations<'_> {
        Observations {
            rows: &self.rows,
            targets: &self.targets,
            weights: self.weights.as_deref(),
            offsets: self.offsets.as_deref(),
            family: self.family,
        }
    }

    /// The regression in which every row counts by its weight.
    fn regression(&self, l2: f64) -> Regression {
        let weights = self.weights.clone().unwrap_or_else(|| vec![1.0; self.targets.len()]);
        let totals = self.blocks.windows(2).map(|block| weights[block[0]..block[1]].iter().sum()).collect();
        let builder = Regression::builder(self.rows.clone(), self.targets.clone(), &self.blocks, self.family.into())
            .weights(weights)
            .user_weights(totals)
            .l2(l2);
        match &self.offsets {
            Some(offsets) => builder.offsets(offsets.clone()).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }

    fn optimum(&self) -> Vec<f64> {
        self.regression(0.0).optimum().unwrap().point.clone()
    }

    fn closings(&self, point: &[f64]) -> Vec<Closing> {
        let each = self.blocks.windows(2).map(|block| Closing::of(&self.observations(), block[0]..block[1], 0, point));
        each.collect::<Result<_, _>>().unwrap()
    }

    fn fit<'a>(&'a self, point: &'a [f64], std_errors: StdErrors) -> Fit<'a> {
        Fit { std_errors, ..Fit::new(self.family, &self.names, point, self.scale.clone()) }
    }

    fn inference(&self, point: &[f64], std_errors: StdErrors) -> Inference {
        Inference::from_closings(&self.fit(point, std_errors), &self.closings(point)).unwrap()
    }

    /// The same data with the columns, and targets where they may be, at mean 0 and standard deviation 1.
    fn standardised(&self) -> Self {
        let dim = self.rows.dim();
        let mut values = vec![0.0; dim * self.rows.count()];
        values.chunks_exact_mut(dim).enumerate().for_each(|(row, line)| self.rows.add_scaled(row, 1.0, line));
        let standard = |values: Vec<f64>| {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let scale = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            Scaling { mean, scale }
        };
        let column = |k: usize| values.iter().skip(k).step_by(dim).copied().collect();
        let columns: Vec<Scaling> = (1..dim).map(|k| standard(column(k))).collect();
        let target = if self.family.scales_targets() { standard(self.targets.clone()) } else { Scaling::NONE };
        let scaled = values.iter().enumerate().map(|(cell, value)| match cell % dim {
            0 => *value,
            k => columns[k - 1].apply(*value),
        });
        Self {
            family: match self.family {
                Family::Huber { delta } => Family::Huber { delta: delta / target.scale },
                family => family,
            },
            rows: Rows::Dense { dim, values: scaled.collect() },
            targets: self.targets.iter().map(|value| target.apply(*value)).collect(),
            offsets: self.offsets.as_ref().map(|offsets| offsets.iter().map(|value| value / target.scale).collect()),
            scale: OriginalScale::of_columns(&columns, true, target),
            ..self.clone()
        }
    }
}

mod rand {
    /// Numbers that depend on a seed only.
    pub struct Numbers(pub u64);

    impl Numbers {
        /// Between 0 and 1 (SplitMix64).
        pub fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Of mean 0 and standard deviation 1, nearly normal.
        pub fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }
}

/// Whether two numbers agree to this, relative to the larger.
fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * found.abs().max(expected.abs())
}

fn assert_all_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(close(*found, *expected, tolerance), "{what}[{k}]: {found} against {expected}");
    }
}
