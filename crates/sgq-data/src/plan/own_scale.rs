//! Whether a model's scaling, and a point, go with a clinic's own rows.
//!
//! A coordinator that makes up a scaling decides how finely a gradient cuts: where a column is divided by a ten-thousandth of its deviation,
//! a logistic gradient counts the rows above a threshold, and two of them give the rows in between. What counts is how steep the
//! prediction is along a column in units of the clinic's own deviation: `|β| s / S`, for a coefficient `β`, the clinic's deviation `s` and
//! the model's scale `S`. It is held to the plan's largest coefficient, as `|β|` is.
//!
//! Honest studies pass. With `N` rows of all clinics, of which a clinic has `n` with mean `m` and deviation `s`, the pooled scaling has
//! `S² ≥ (n/N) (s² + (m − M)²)`. So `s/S` is at most `√(N/n)`, and near 1 unless the clinic is unlike all others. How far its mean is
//! from the pooled one does not make a prediction steeper, and is left out of this rule: a clinic whose ages are in months has a mean far
//! off, and answers. The same `√(N/n)` bounds the root mean square of a scaled column, mean and all, which is held to 1,000 only so
//! that nothing is lost to rounding.
//!
//! What is judged by is in the clinic's first answer, so that a refusal says nothing new. Products of columns are not in it: whatever is
//! refused for them is counted as an answer.

use sgq::problem::Rows;

use super::{Moments, Summary, TargetSummary, VariableSummary};
use crate::{Encoding, Part, Scaling, Target, Variable, encoding::Levels, glm::Family};

/// The largest root mean square of a scaled column or target. An honest scaling exceeds it where a clinic has a millionth of all rows.
pub(super) const LARGEST_SIZE: f64 = 1e3;
/// The largest deviation of a scaled target whose loss has a bend: beyond, a gradient of Huber's loss counts rows above a threshold.
const LARGEST_BENT_TARGET: f64 = 50.0;

/// The deviation of a scaled column over a clinic's rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnDeviation {
    pub deviation: f64,
    /// Whether it is of a product, which the first answer does not tell.
    pub is_of_product: bool,
}

/// Why a scaling is not one of the clinic's numbers, as the first answer tells them.
pub(super) fn objection(model: &Encoding, own: &Summary, family: Family) -> Option<String> {
    let intercept = model.has_intercept();
    let told = |parts: &[Part]| told(model, parts, own);
    for (column, name) in model.columns().iter().zip(model.column_names().iter().skip(usize::from(intercept))) {
        if told(&column.parts).is_some_and(|moments| is_off(moments, column.scaling, intercept)) {
            return Some(format!("the model's scaling of {name} is far from the clinic's mean and deviation"));
        }
    }
    let (Target::Number(scaling), TargetSummary::Number { moments, .. }) = (model.target(), &own.target) else {
        return None;
    };
    let is_steep = matches!(family, Family::Huber { .. }) && moments.deviation / scaling.scale > LARGEST_BENT_TARGET;
    (is_steep || is_off(*moments, *scaling, intercept))
        .then(|| "the model's scaling of the target is far from the clinic's mean and deviation".to_owned())
}

/// The deviations of the model's columns over the clinic's rows of positive weight, or the first product that no honest scaling makes so
/// large.
pub(super) fn deviations(
    model: &Encoding,
    own: &Summary,
    rows: &Rows,
    weights: &[f64],
) -> Result<Vec<OwnDeviation>, String> {
    let intercept = model.has_intercept();
    let scaled = of_scaled(rows, weights);
    let mut all = vec![OwnDeviation { deviation: 0.0, is_of_product: false }; usize::from(intercept)];
    for (place, column) in model.columns().iter().enumerate() {
        let found = scaled.get(place + usize::from(intercept)).copied();
        all.push(match (told(model, &column.parts, own), found) {
            (Some(moments), _) => {
                OwnDeviation { deviation: moments.deviation / column.scaling.scale, is_of_product: false }
            }
            (None, Some(moments)) if !is_off(moments, Scaling::NONE, intercept) => {
                OwnDeviation { deviation: moments.deviation, is_of_product: true }
            }
            _ => {
                let name = model.name_of(&column.parts);
                return Err(format!("{name} has a root mean square above {LARGEST_SIZE} once it is scaled"));
            }
        });
    }
    Ok(all)
}

/// Without an intercept nothing is subtracted, and a mean may be far from 0.
fn is_off(moments: Moments, scaling: Scaling, intercept: bool) -> bool {
    let distance = if intercept { moments.mean - scaling.mean } else { 0.0 };
    let size = moments.deviation.hypot(distance) / scaling.scale;
    size.is_nan() || size > LARGEST_SIZE
}

/// Mean and deviation of a column before it is scaled, where the first answer tells them: of a product it does not.
fn told(model: &Encoding, parts: &[Part], own: &Summary) -> Option<Moments> {
    let [Part { variable, level }] = parts else { return None };
    match (model.variables().get(*variable)?, level) {
        (Variable::Number(expression), None) => own.variables.iter().find_map(|told| match told {
            VariableSummary::Number { of, moments } if of == expression => Some(*moments),
            _ => None,
        }),
        (Variable::Factor { column, levels }, Some(level)) => {
            let finder = Levels::new(levels);
            let counts = own.variables.iter().find_map(|told| match told {
                VariableSummary::Factor { of, levels } if of == column => Some(levels),
                _ => None,
            })?;
            let here = counts.iter().filter(|count| finder.find(&count.level) == Some(*level));
            let share = here.map(|count| count.rows).sum::<u64>() as f64 / own.rows as f64;
            Some(Moments { mean: share, deviation: (share * (1.0 - share)).sqrt() })
        }
        _ => None,
    }
}

/// Mean and deviation of each column as it is.
fn of_scaled(rows: &Rows, weights: &[f64]) -> Vec<Moments> {
    let used: Vec<usize> = (0..rows.count()).filter(|row| weights[*row] > 0.0).collect();
    let mean_of = |of: &dyn Fn(usize, f64) -> f64| {
        let (mut sums, mut line) = (vec![0.0; rows.dim()], vec![0.0; rows.dim()]);
        for row in &used {
            line.fill(0.0);
            rows.add_scaled(*row, 1.0, &mut line);
            sums.iter_mut().enumerate().for_each(|(place, sum)| *sum += of(place, line[place]));
        }
        sums.into_iter().map(|sum| sum / used.len() as f64).collect::<Vec<f64>>()
    };
    let means = mean_of(&|_, value| value);
    let squares = mean_of(&|place, value| (value - means[place]).powi(2));
    means.iter().zip(&squares).map(|(mean, square)| Moments { mean: *mean, deviation: square.sqrt() }).collect()
}
