//! The model's minimiser, drawn back by how unsure it is: docs/frugal.md § 7.

use crate::{
    belief::model::{Dense, Estimate, Followed, LowRank, Plan},
    frugal::FRUGAL,
    kernel,
};

/// Where to go, and how that follows the mean gradient.
pub(super) struct Target {
    /// The weighted mean of the points that the estimate rests on.
    pub anchor: Vec<f64>,
    /// Where the objective is believed to be smallest, drawn to the start by how unsure that is.
    pub minimiser: Vec<f64>,
    pub followed: Followed,
}

/// The minimiser of the model. None where numbers are past what can be held.
pub(super) fn minimiser(estimate: &Estimate, plan: &Plan) -> Option<Target> {
    match plan {
        Plan::Dense(plan) => dense(estimate, plan),
        Plan::LowRank(plan) => low_rank(estimate, plan),
    }
}

fn dense(estimate: &Estimate, plan: &Dense) -> Option<Target> {
    let (mut anchor, start) = (estimate.anchor.clone(), &plan.sums.start);
    kernel::add_scaled(&mut anchor, -1.0, start);
    let (mut minimiser, inside) = drawn(plan, &anchor, &estimate.gradient, estimate.unsure)?;
    kernel::add_scaled(&mut minimiser, 1.0, start);
    kernel::add_scaled(&mut anchor, 1.0, start);
    Some(Target { anchor, minimiser, followed: Followed { inside, outside: 0.0 } })
}

/// Inside of the basis by its matrix, outside by one number (§ 11).
fn low_rank(estimate: &Estimate, plan: &LowRank) -> Option<Target> {
    let Estimate { anchor, gradient, unsure, .. } = estimate;
    let (basis, start, around) = (&plan.basis, &plan.outside.sums.start, plan.outside.believed()?);
    let bend = around.bend;
    // Newton's step as it would be if all were outside.
    let mut way: Vec<f64> = anchor.iter().zip(start).map(|(anchor, start)| anchor - start).collect();
    let [there, slope] = basis.coordinates_of([&way, gradient]);
    kernel::add_scaled(&mut way, -1.0 / bend, gradient);
    let along: Vec<f64> = there.iter().zip(&slope).map(|(there, slope)| there - slope / bend).collect();
    let (mut inside, followed) = drawn(&plan.inside, &there, &slope, *unsure)?;
    let outside_squared = (kernel::norm_squared(&way) - kernel::norm_squared(&along)).max(0.0);
    let loss = 0.5 * around.spread_size / around.dim as f64 / bend * unsure;
    let gain = 0.5 * bend * outside_squared;
    let part = part_of_the_way(certain_gain(gain, around.dim as f64 * loss, around.dim), loss);
    kernel::add_scaled(&mut inside, -part, &along);
    let mut minimiser = start.clone();
    kernel::add_scaled(&mut minimiser, part, &way);
    basis.add(&mut minimiser, &inside);
    Some(Target { anchor: anchor.clone(), minimiser, followed: Followed { inside: followed, outside: part / bend } })
}

/// The way from the start to the minimiser, drawn back by how unsure it is, and `f/l`, Eq. (26) to (29); `anchor` counts from the start too.
fn drawn(plan: &Dense, anchor: &[f64], gradient: &[f64], unsure: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let (fit, known) = plan.believed()?;
    let bends = &fit.bends;
    let newton = plan.newton(anchor, gradient, bends)?;
    let losses = known.losses(bends, unsure);
    let gain: f64 = newton.iter().zip(bends).map(|(newton, bend)| 0.5 * bend * newton * newton).sum();
    let each = certain_gain(gain, losses.iter().sum(), bends.len());
    let shrunk: Vec<f64> = losses.iter().map(|loss| part_of_the_way(each, *loss)).collect();
    let way: Vec<f64> = shrunk.iter().zip(&newton).map(|(part, value)| part * value).collect();
    let followed: Vec<f64> = shrunk.iter().zip(bends).map(|(part, bend)| part / bend).collect();
    Some((plan.directions()?.times_vector(&way), followed))
}

/// What each direction brings for certain, where `gain` is what the whole way would bring and `losses` what the estimate's error
/// costs in all directions: James and Stein's idea.
fn certain_gain(gain: f64, losses: f64, dim: usize) -> f64 {
    (gain - losses).max(FRUGAL.least_certain_gain * gain) / dim as f64
}

/// How much of the way to go in a direction that is certain to bring so much, and costs so much by its error.
fn part_of_the_way(certain: f64, loss: f64) -> f64 {
    if certain > 0.0 { certain / (certain + loss) } else { 0.0 }
}
