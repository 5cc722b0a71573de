//! What is guaranteed, and what is not.

use thiserror::Error;

use super::{
    Assumption, Bound, CapTerm, Constant, Constants, Ingredients, Rate, Region, RegionError, Status, Theorem,
    assumptions::assumptions, constants::Survey, heterogeneity::gradients, region::Ground,
};
use crate::{Problem, Setting, SettingsError, Smoothness, StepSizeError, setting::Range};

/// What to certify: a problem, a step size and a region.
#[derive(Clone)]
pub struct Question<'a> {
    /// The problem.
    pub problem: &'a dyn Problem,
    /// `x_0`.
    pub start: &'a [f64],
    /// The step size `α`; the largest, where it varies.
    pub step_size: f64,
    /// Whether the step size changes along the run.
    pub varies: bool,
    /// SGQ's exploration probability `p`. Without it Theorem 2 has nothing to say.
    pub explore: Option<f64>,
    /// Where the constants are to hold.
    pub region: Region,
    /// Points of the region to try, where a constant cannot be had otherwise.
    pub samples: usize,
    /// Decides which points.
    pub seed: u64,
}

impl<'a> Question<'a> {
    /// Points tried where nobody says otherwise.
    pub const SAMPLES: usize = 4000;

    /// A constant step on the sublevel set of the start.
    pub fn new(problem: &'a dyn Problem, start: &'a [f64], step_size: f64) -> Self {
        Self {
            problem,
            start,
            step_size,
            varies: false,
            explore: None,
            region: Region::default(),
            samples: Self::SAMPLES,
            seed: 0,
        }
    }
}

/// What theory says about a problem, a step size and a region.
///
/// ```
/// use sgq::{problem::Quadratic, theory::{Certificate, Question}};
///
/// let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// let question = Question { explore: Some(0.3), ..Question::new(&toy, &[5.0], 0.015) };
/// let certificate = Certificate::new(&question)?;
/// assert!((certificate.constants.c1.unwrap().value - 0.025).abs() < 1e-12);
/// assert!(certificate.theorem1.is_guaranteed());
/// assert!(!certificate.theorem2.holds); // its cap is 2.79e-4
/// assert_eq!(certificate.theorem2.binding.unwrap().formula, "p / (96 n (L + L_max)(1 − p))");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The step size.
    pub step_size: f64,
    /// Where the constants hold.
    pub region: Region,
    /// The ends of the region, where it is an interval.
    pub interval: Option<(f64, f64)>,
    /// Points of the region that were looked at.
    pub samples: usize,
    /// `G_0 = f(x_0) − inf f`, where the optimum is known.
    pub start_gap: Option<f64>,
    /// The constants.
    pub constants: Constants,
    /// The paper's five assumptions.
    pub assumptions: Vec<Assumption>,
    /// Eq. (6), for SGD with uniform choice. It needs no region.
    pub sgd: Verdict,
    /// Theorem 1, for OGQ.
    pub theorem1: Verdict,
    /// Theorem 2, for SGQ, without its remainder.
    pub theorem2: Verdict,
}

/// What one theorem says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The largest step it allows, where that can be computed.
    pub cap: Option<f64>,
    /// The term that the cap comes from.
    pub binding: Option<CapTerm>,
    /// Whether its conditions are met, as far as they were checked.
    pub holds: bool,
    /// Why it does not hold.
    pub reasons: Vec<String>,
    /// What its bound still rests on, where it holds: with nothing here it is proven.
    pub caveats: Vec<String>,
    /// Contraction factor and floor, where it holds.
    pub rate: Option<Rate>,
    /// The curve, where it holds and all numbers in it are known.
    pub bound: Option<Bound>,
}

impl Verdict {
    /// Whether the bound is proven here, with nothing estimated, assumed or left out.
    pub fn is_guaranteed(&self) -> bool {
        self.holds && self.caveats.is_empty()
    }
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TheoryError {
    /// The region does not fit.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The step size, or a constant of the problem, cannot be right.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl Certificate {
    /// Measures the constants on the region, and asks every theorem.
    pub fn new(question: &Question<'_>) -> Result<Self, TheoryError> {
        let Question { problem, start, step_size, .. } = *question;
        if !(step_size > 0.0 && step_size.is_finite()) {
            return Err(SettingsError::from(StepSizeError::Size(step_size)).into());
        }
        if let Some(mut p) = question.explore {
            let setting = Setting::number("p", &mut p, Range::closed(0.0, 1.0), "");
            setting.check().map_err(SettingsError::from)?;
        }
        if problem.users() == 0 {
            return Err(SettingsError::NoUsers.into());
        }
        if problem.dim() == 0 {
            return Err(SettingsError::EmptyStart.into());
        }
        let smoothness = problem.smoothness().map(|each| Smoothness::new(each.to_vec(), problem.users()));
        let smoothness = smoothness.transpose().map_err(SettingsError::from)?;
        let ground = Ground::new(problem, start, &question.region)?;
        // For affine derivatives the ends of an interval say all there is to say.
        let certified = problem.is_quadratic() && ground.interval()?.is_some();
        let samples = if certified { question.samples.min(100) } else { question.samples };
        let mut points = ground.samples(samples, question.seed)?;
        let survey = Survey {
            problem,
            ground: &ground,
            smoothness: smoothness.as_ref(),
            step_size,
            weight: if question.explore.is_some() { 2.0 } else { 1.0 },
            seed: question.seed,
        };
        let constants = survey.constants(&mut points)?;
        let assumptions = assumptions(problem, smoothness.as_ref(), &constants, &points);
        let judge = Judge {
            question,
            ground: &ground,
            smoothness: smoothness.as_ref(),
            constants: &constants,
            assumptions: &assumptions,
            start_gap: problem.gap(start).filter(|gap| gap.is_finite() && *gap >= 0.0),
            never_leaves: never_leaves(question, &ground, smoothness.as_ref())?,
        };
        Ok(Self {
            step_size,
            region: question.region.clone(),
            interval: ground.interval()?,
            samples: points.len(),
            start_gap: judge.start_gap,
            sgd: judge.verdict(Theorem::UniformSgd),
            theorem1: judge.verdict(Theorem::One),
            theorem2: match question.explore {
                Some(explore) => judge.verdict(Theorem::Two { explore }),
                None => Verdict {
                    reasons: vec!["it is about SGQ, and this method has no exploration probability p".into()],
                    ..Verdict::default()
                },
            },
            constants,
            assumptions,
        })
    }

    /// What the theorem that speaks of a method says; none where its rate is not one of the paper's.
    pub fn verdict(&self, theorem: Theorem) -> Option<&Verdict> {
        match theorem {
            Theorem::UniformSgd => Some(&self.sgd),
            Theorem::One => Some(&self.theorem1),
            Theorem::Two { .. } => Some(&self.theorem2),
            Theorem::Saga => None,
        }
    }
}

/// A ratio in words.
fn how_much_longer(ratio: f64) -> String {
    match ratio {
        ratio if !(2.0..1e6).contains(&ratio) => "longer".into(),
        ratio if ratio < 10.0 => format!("{ratio:.1} times longer"),
        ratio => format!("{ratio:.0} times longer"),
    }
}

/// Whether no step along any user's gradient can leave the region: known for intervals alone.
///
/// For a convex user and `α ≤ 1/L_max`, `x − α f_i'(x)` does not fall when `x` rises. So no point of the interval is sent
/// past its ends if the ends are not.
fn never_leaves(
    question: &Question<'_>,
    ground: &Ground<'_>,
    smoothness: Option<&Smoothness>,
) -> Result<bool, RegionError> {
    let (Some((low, high)), Some(smoothness)) = (ground.interval()?, smoothness) else {
        return Ok(false);
    };
    let inwards = gradients(question.problem, &[low]).iter().all(|slope| *slope <= 0.0)
        && gradients(question.problem, &[high]).iter().all(|slope| *slope >= 0.0);
    Ok(inwards && question.step_size <= 1.0 / smoothness.max() && ground.contains(question.start))
}

/// Everything a theorem is judged by.
struct Judge<'a> {
    question: &'a Question<'a>,
    ground: &'a Ground<'a>,
    smoothness: Option<&'a Smoothness>,
    constants: &'a Constants,
    assumptions: &'a [Assumption],
    start_gap: Option<f64>,
    never_leaves: bool,
}

impl Judge<'_> {
    fn verdict(&self, theorem: Theorem) -> Verdict {
        let mut verdict = Verdict::default();
        let needed = match theorem {
            Theorem::UniformSgd | Theorem::Saga => 3,
            // With p = 1 it is about uniform choice, and nothing in it depends on a region.
            Theorem::Two { explore: 1.0 } => 3,
            Theorem::One => 4,
            Theorem::Two { .. } => 5,
        };
        for Assumption { number, status, .. } in self.assumptions.iter().filter(|it| it.number <= needed) {
            match status {
                Status::Fails(why) => verdict.reasons.push(format!("Assumption {number} fails: {why}")),
                Status::Unknown(missing) => verdict.reasons.push(format!("Assumption {number} is open: {missing}")),
                Status::Holds(_) | Status::Trivial => {}
            }
        }
        let step_size = self.question.step_size;
        if self.question.varies {
            verdict.reasons.push("the step size changes along the run, and the theorem is about a constant one".into());
        }
        if needed > 3 && !self.ground.contains(self.question.start) {
            verdict.reasons.push("the start is outside the region".into());
        }
        let usable_mu = self.constants.pl_constant.filter(|_| !self.assumptions[2].status.fails());
        if let (Some(smoothness), Some(mu)) = (self.smoothness, usable_mu) {
            let binding = theorem.binding_term(smoothness, mu.value);
            verdict.cap = Some(binding.value);
            verdict.binding = Some(binding);
            if step_size > binding.value {
                verdict.reasons.push(match binding.value {
                    0.0 => format!("{theorem} allows no step at all: it needs p > 0"),
                    cap => format!(
                        "the step size, {step_size}, is {} than {theorem} allows, {cap:.3e}, which comes from {}",
                        how_much_longer(step_size / cap),
                        binding.formula
                    ),
                });
            }
        }
        verdict.holds = verdict.reasons.is_empty();
        if verdict.holds {
            self.add_rate(theorem, &mut verdict);
        }
        verdict
    }

    /// The rate and what it rests on, where a theorem holds.
    fn add_rate(&self, theorem: Theorem, verdict: &mut Verdict) {
        let constants = self.constants;
        let value = |constant: Option<Constant>| constant.map(|constant| constant.value);
        let (Some(smoothness), Some(mu)) = (self.smoothness, value(constants.pl_constant)) else {
            return;
        };
        let ingredients = Ingredients {
            step_size: self.question.step_size,
            users: self.question.problem.users(),
            mean_smoothness: smoothness.mean(),
            max_smoothness: smoothness.max(),
            pl_constant: mu,
            c: value(constants.c),
            c1: value(constants.c1).unwrap_or(0.0),
            c2: value(constants.c2).unwrap_or(0.0),
            sigma_star: value(constants.sigma_star),
            delta: value(constants.delta),
        };
        verdict.rate = theorem.rate(&ingredients);
        let floor = verdict.rate.and_then(|rate| rate.floor);
        verdict.bound = self.start_gap.zip(verdict.rate).zip(floor).map(|((start_gap, rate), floor)| Bound {
            start_gap,
            factor: rate.factor,
            floor,
            startup: if let Theorem::Two { .. } = theorem { self.question.problem.users() as u64 } else { 0 },
        });
        verdict.caveats = self.caveats(theorem, &ingredients);
        if floor.is_none() {
            verdict.caveats.push("the floor is not known: it needs the optimum".into());
        }
    }

    fn caveats(&self, theorem: Theorem, given: &Ingredients) -> Vec<String> {
        let mut caveats = Vec::new();
        if !self.question.problem.is_quadratic() {
            caveats.push("Assumptions 1 to 3 are the problem's own word; the samples do not contradict them".into());
        }
        let explore = match theorem {
            Theorem::UniformSgd | Theorem::Saga => return caveats,
            Theorem::One => None,
            Theorem::Two { explore } => Some(explore),
        };
        if explore == Some(1.0) {
            return caveats;
        }
        let mut named = vec![("c", self.constants.c), ("C_1", self.constants.c1), ("C_2", self.constants.c2)];
        if explore.is_some() {
            named.push(("Δ", self.constants.delta));
        }
        let estimated = |constant: &Option<Constant>| constant.is_some_and(|constant| constant.is_estimated());
        let guessed: Vec<&str> = named.iter().filter(|(_, it)| estimated(it)).map(|(name, _)| *name).collect();
        if !guessed.is_empty() {
            let points = self.constants.c1.map(|c1| c1.provenance.to_string()).unwrap_or_default();
            caveats.push(format!("{}: {points}; worse points may exist", guessed.join(", ")));
        }
        // Even with C_1 = C_2 = 0, OGQ's gap never rises above the larger of its start and this floor.
        let sgd = Theorem::UniformSgd.rate(given).and_then(|rate| rate.floor);
        let falls = explore.is_none()
            && self.ground.holds_sublevel_set()
            && self.start_gap.zip(sgd).is_some_and(|(start_gap, floor)| floor <= start_gap);
        if self.ground.is_finite_set() {
            caveats.push("it speaks of these points alone, and not of a run that comes through others".into());
        } else if !falls && !self.never_leaves {
            caveats.push("it holds for as long as the iterates stay in the region, which is not proven".into());
        }
        if explore.is_some() {
            caveats.push("the theorem's remainder, O((1 − p) α²), is left out".into());
        }
        caveats
    }
}
