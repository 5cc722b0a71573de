//! The paper's five assumptions, checked as far as they can be.

use std::fmt;

use super::{Constants, Provenance, heterogeneity::gradients};
use crate::{Problem, Smoothness, kernel};

/// One of the paper's assumptions.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// Its number in the paper.
    pub number: u8,
    /// What it says, in words.
    pub statement: &'static str,
    /// Whether it holds.
    pub status: Status,
}

/// Whether an assumption holds, and how we know.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It does.
    Holds(Provenance),
    /// Only with constants of zero: the theorem then promises no more than SGD's bound.
    Trivial,
    /// It does not, for this reason.
    Fails(String),
    /// This is missing.
    Unknown(&'static str),
}

impl Status {
    pub(super) fn fails(&self) -> bool {
        matches!(self, Self::Fails(_))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds(Provenance::Exact) => f.write_str("holds"),
            Self::Holds(Provenance::Certified) => f.write_str("holds (certified)"),
            Self::Holds(Provenance::Given) => f.write_str("stated by the problem, not contradicted by the samples"),
            Self::Holds(Provenance::Estimated { samples }) => write!(f, "holds on {samples} samples"),
            Self::Trivial => f.write_str("only with C_1 = C_2 = 0, which promises no more than SGD's bound"),
            Self::Fails(why) => write!(f, "fails: {why}"),
            Self::Unknown(missing) => write!(f, "not known: {missing}"),
        }
    }
}

/// Checks the paper's assumptions: by what is known of the problem, else at the sampled points.
pub(super) fn assumptions(
    problem: &dyn Problem,
    smoothness: Option<&Smoothness>,
    constants: &Constants,
    points: &[Vec<f64>],
) -> Vec<Assumption> {
    let known = if problem.is_quadratic() { Provenance::Exact } else { Provenance::Given };
    let (convex, smooth) =
        if problem.is_quadratic() { (None, None) } else { contradictions(problem, smoothness, points) };
    let status = |contradiction: Option<String>| contradiction.map_or(Status::Holds(known), Status::Fails);
    let smooth = match smoothness {
        Some(_) => status(smooth),
        None => Status::Unknown("each user's smoothness L_i"),
    };
    let pl = match (constants.pl_constant, smoothness) {
        (None, _) => Status::Unknown("the Polyak-Łojasiewicz constant μ"),
        (Some(mu), _) if !(mu.value > 0.0 && mu.value.is_finite()) => Status::Fails(format!("μ is {}", mu.value)),
        (Some(mu), Some(smoothness)) if mu.value > smoothness.mean() * (1.0 + 1e-9) => {
            Status::Fails(format!("μ = {} exceeds the mean smoothness, {}", mu.value, smoothness.mean()))
        }
        (Some(mu), _) => status(if problem.is_quadratic() { None } else { not_pl(problem, mu.value, points) }),
    };
    let differ = match (constants.c1, constants.c2) {
        (Some(c1), Some(c2)) if c1.value == 0.0 && c2.value == 0.0 => Status::Trivial,
        (Some(c1), Some(_)) => Status::Holds(c1.provenance),
        _ => Status::Unknown("C_1 and C_2 need each L_i, and finite gradients all over the region"),
    };
    let bounded = constants.delta.map_or(Status::Unknown("Δ is not finite"), |delta| Status::Holds(delta.provenance));
    let statements = [
        ("every user's cost is convex", status(convex)),
        ("every user's gradient is L_i-Lipschitz", smooth),
        ("f satisfies the Polyak-Łojasiewicz inequality with μ", pl),
        ("the users' improvements differ, by C_1 and C_2, on the region", differ),
        ("the users' gradients differ by at most Δ on the region", bounded),
    ];
    let numbered = statements.into_iter().zip(1..);
    numbered.map(|((statement, status), number)| Assumption { number, statement, status }).collect()
}

/// About so many points, all over the region, are tried for a stated assumption.
const PAIRS: usize = 500;

/// Points at which a user's gradient contradicts convexity, and at which it contradicts its `L_i`.
fn contradictions(
    problem: &dyn Problem,
    smoothness: Option<&Smoothness>,
    points: &[Vec<f64>],
) -> (Option<String>, Option<String>) {
    let (mut convex, mut smooth) = (None, None);
    for pair in points.windows(2).step_by((points.len() / PAIRS).max(1)) {
        let [one, other] = pair else {
            continue;
        };
        let distance = kernel::distance(one, other);
        let (here, there) = (gradients(problem, one), gradients(problem, other));
        let rows = here.chunks_exact(one.len()).zip(there.chunks_exact(one.len()));
        for (user, (here, there)) in rows.enumerate() {
            let change = kernel::distance(here, there);
            let rounding = 1e-9 * (kernel::norm(here) + kernel::norm(there));
            let steps = here.iter().zip(there).zip(one.iter().zip(other));
            let rise: f64 = steps.map(|((g, h), (x, y))| (g - h) * (x - y)).sum();
            if rise < -rounding * distance && convex.is_none() {
                convex = Some(format!("user {user} is not convex between {one:?} and {other:?}"));
            }
            if let Some(smoothness) = smoothness {
                let allowed = smoothness.each()[user] * distance;
                if change > allowed * (1.0 + 1e-9) + rounding && smooth.is_none() {
                    let found = change / distance;
                    smooth = Some(format!(
                        "the gradient of user {user} changes by {found:.3e} for each unit between {one:?} and {other:?}, \
                         more than its L_i"
                    ));
                }
            }
        }
    }
    (convex, smooth)
}

/// A point at which `f(x) − inf f ≤ ‖∇f(x)‖² / 2μ` does not hold.
fn not_pl(problem: &dyn Problem, mu: f64, points: &[Vec<f64>]) -> Option<String> {
    let mut full = vec![0.0; problem.dim()];
    points.iter().step_by((points.len() / PAIRS).max(1)).find_map(|point| {
        let gap = problem.gap(point)?;
        let value = problem.value(point);
        if gap < -1e-9 * (1.0 + value.abs()) {
            return Some(format!("f is {:e} below its stated minimum at {point:?}", -gap));
        }
        kernel::mean_of_rows(&gradients(problem, point), &mut full);
        let allowed = kernel::norm_squared(&full) / (2.0 * mu);
        let wrong = gap > allowed * (1.0 + 1e-9) + 1e-12 * (1.0 + value.abs());
        wrong.then(|| format!("the gap at {point:?} is {gap:.3e}, more than ‖∇f‖²/2μ = {allowed:.3e}"))
    })
}
