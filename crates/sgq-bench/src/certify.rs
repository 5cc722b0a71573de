//! What theory guarantees for each method of an experiment, and what not.

mod json;
pub mod page;

use std::str::FromStr;

use sgq::{
    SettingsError, Smoothness, StepSize, StopReason,
    setting::Value,
    simulate::{SimulationError, gap_curve},
    theory::{Bound, CapTerm, Certificate, Question, Region, Theorem, TheoryError, Verdict},
};
use thiserror::Error;

pub use json::CertificateFile;

use crate::{
    Experiment,
    experiment::{NamedMethod, NamedProblem},
    readable::{readable, short, short_factor},
};

/// Where constants are to hold, as a user writes it; see [`FromStr`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RegionSpec {
    /// `sublevel`: everything no worse than the start.
    #[default]
    Sublevel,
    /// `ball:5` around the minimiser, or `ball:5@0,0` around a point.
    Ball {
        /// Its radius.
        radius: f64,
        /// Its center; without one, the minimiser.
        center: Option<Vec<f64>>,
    },
    /// `box:-5..5` for every coordinate, or `box:-5,-1..5,1`.
    Box {
        /// The smallest value of each coordinate, or of all.
        low: Vec<f64>,
        /// The largest value of each coordinate, or of all.
        high: Vec<f64>,
    },
    /// `trajectory`: the points of the method's first trial.
    Trajectory,
}

impl FromStr for RegionSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "{why}; write sublevel, ball:RADIUS, ball:RADIUS@X,Y,…, box:LOW..HIGH, box:X,Y,…..X,Y,… or trajectory"
            )
        };
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(wrong(&format!("{text:?} is not a number"))),
        };
        let numbers = |text: &str| text.split(',').map(number).collect::<Result<Vec<f64>, _>>();
        match (kind, rest) {
            ("sublevel", None) => Ok(Self::Sublevel),
            ("trajectory", None) => Ok(Self::Trajectory),
            ("ball", Some(rest)) => {
                let (radius, center) = match rest.split_once('@') {
                    Some((radius, center)) => (radius, Some(numbers(center)?)),
                    None => (rest, None),
                };
                Ok(Self::Ball { radius: number(radius)?, center })
            }
            ("box", Some(rest)) => {
                let ends = rest.split_once("..").filter(|(_, high)| !high.starts_with('.'));
                let (low, high) = ends.ok_or_else(|| wrong("a box needs a low and a high end"))?;
                Ok(Self::Box { low: numbers(low)?, high: numbers(high)? })
            }
            _ => Err(wrong(&format!("there is no region {text:?}"))),
        }
    }
}

/// How to certify.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Where the constants are to hold.
    pub region: RegionSpec,
    /// Points to try where a constant cannot be had otherwise.
    pub samples: usize,
    /// Decides which points.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { region: RegionSpec::default(), samples: Question::SAMPLES, seed: 0 }
    }
}

/// What theory says about one method on one problem.
#[derive(Clone, Debug)]
pub struct MethodCertificate {
    /// The problem's name.
    pub problem: String,
    /// The method's name.
    pub method: String,
    /// Whether it looks at more than it pays for.
    pub oracle: bool,
    /// The theorem that speaks of the method, if any.
    pub theorem: Option<Theorem>,
    /// The term that its cap comes from, where it can be computed.
    pub cap: Option<CapTerm>,
    /// Step size, whether it varies, and p: what one question differs in from the next.
    question: (f64, bool, Option<f64>),
    /// The constants and the verdicts.
    pub certificate: Certificate,
}

/// Certifies every method on every problem.
pub fn certify(experiment: &Experiment, options: &Options) -> Result<Vec<MethodCertificate>, CertifyError> {
    let mut certificates = Vec::new();
    for problem in &experiment.problems {
        for method in &experiment.methods {
            let certificate = certify_one(experiment, problem, method, options, &certificates)
                .map_err(|cause| CertifyError { problem: problem.name.clone(), method: method.name.clone(), cause })?;
            certificates.push(certificate);
        }
    }
    Ok(certificates)
}

/// Certifies one method on one problem.
fn certify_one(
    experiment: &Experiment,
    problem: &NamedProblem,
    method: &NamedMethod,
    options: &Options,
    known: &[MethodCertificate],
) -> Result<MethodCertificate, Cause> {
    let session = experiment.open(problem, method, 0)?;
    let theorem = session.theorem();
    let question = Question {
        varies: match &method.step_size {
            StepSize::Auto | StepSize::Constant(_) | StepSize::Theory => false,
            StepSize::Decay { rate, .. } | StepSize::RootDecay { rate, .. } => *rate != 0.0,
            StepSize::WarmUp { steps, fall, .. } => *steps > 1 || *fall > 0.0,
            StepSize::Piecewise(pieces) => pieces.iter().any(|(_, size)| *size != pieces[0].1),
        },
        explore: match method.method.setting("p") {
            Some(Value::Number(explore)) => Some(explore),
            _ => None,
        },
        region: region(experiment, problem, method, &options.region)?,
        samples: options.samples,
        seed: options.seed,
        ..Question::new(&*problem.problem, &problem.start, method.largest_step(session.step_size()))
    };
    // Methods with the same question have the same answer.
    let key = (question.step_size, question.varies, question.explore);
    let same = |other: &&MethodCertificate| {
        other.problem == problem.name && other.question == key && other.certificate.region == question.region
    };
    let certificate = match known.iter().find(same) {
        Some(known) => known.certificate.clone(),
        None => Certificate::new(&question)?,
    };
    let cap = match theorem {
        Some(Theorem::Saga) => {
            let smoothness = problem.problem.smoothness().map(|each| Smoothness::new(each.to_vec(), each.len()));
            smoothness
                .transpose()
                .map_err(SettingsError::from)?
                .map(|smoothness| Theorem::Saga.binding_term(&smoothness, f64::INFINITY))
        }
        Some(theorem) => certificate.verdict(theorem).and_then(|verdict| verdict.binding),
        None => None,
    };
    Ok(MethodCertificate {
        problem: problem.name.clone(),
        method: method.name.clone(),
        oracle: method.is_oracle(),
        theorem,
        cap,
        question: key,
        certificate,
    })
}

/// The region of a specification, on this problem.
fn region(
    experiment: &Experiment,
    problem: &NamedProblem,
    method: &NamedMethod,
    spec: &RegionSpec,
) -> Result<Region, Cause> {
    let dim = problem.problem.dim();
    // One number stands for all coordinates.
    let spread = |numbers: &[f64]| if numbers.len() == 1 { vec![numbers[0]; dim] } else { numbers.to_vec() };
    Ok(match spec {
        RegionSpec::Sublevel => Region::Sublevel,
        RegionSpec::Ball { radius, center } => {
            let center = match (center, problem.problem.optimum()) {
                (Some(center), _) => spread(center),
                (None, Some(optimum)) => optimum.point.clone(),
                (None, None) => return Err(Cause::NoCenter),
            };
            Region::Ball { center, radius: *radius }
        }
        RegionSpec::Box { low, high } => Region::Box { low: spread(low), high: spread(high) },
        RegionSpec::Trajectory => {
            let mut session = experiment.open(problem, method, 0)?;
            let mut points: Vec<Vec<f64>> = Vec::new();
            let trial = gap_curve(&mut session, &*problem.problem, experiment.budget, |answer| {
                let point = &answer.query.point;
                if points.last().is_none_or(|last| *last != **point) {
                    points.push(point.to_vec());
                }
                Ok(())
            })?;
            if let StopReason::Diverged { steps } = trial.stop {
                return Err(Cause::Diverged { steps });
            }
            points.push(session.point().to_vec());
            Region::Points { points }
        }
    })
}

/// Why a method could not be certified.
#[derive(Debug, Error)]
#[error("method {method:?} on problem {problem:?}: {cause}")]
pub struct CertifyError {
    /// The problem's name.
    pub problem: String,
    /// The method's name.
    pub method: String,
    /// What went wrong.
    #[source]
    pub cause: Cause,
}

/// What kept a certificate from being made.
#[derive(Debug, Error)]
pub enum Cause {
    /// The question makes no sense.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// The method cannot be opened.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The trajectory cannot be run.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The trajectory leaves every bound.
    #[error("its first trial diverges after {steps} steps: its trajectory says nothing; choose another region")]
    Diverged {
        /// The steps it took.
        steps: u64,
    },
    /// The minimiser is not known.
    #[error("the minimiser is not known: give the ball a center, as in ball:5@0,0")]
    NoCenter,
}

impl MethodCertificate {
    /// What the method's own theorem says.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.certificate.verdict(self.theorem?)
    }

    /// The bound that is proven: the method's own, or for OGQ at least SGD's, since the best improvement is no less than the
    /// mean one.
    pub fn guaranteed(&self) -> Option<Bound> {
        let own = self.verdict().filter(|verdict| verdict.is_guaranteed()).and_then(|verdict| verdict.bound);
        let of_sgd = &self.certificate.sgd;
        own.or_else(|| of_sgd.bound.filter(|_| self.theorem == Some(Theorem::One) && of_sgd.is_guaranteed()))
    }

    /// The bound to draw: what is proven, else what the method's theorem says under its caveats.
    pub fn bound(&self) -> Option<Bound> {
        self.guaranteed().or_else(|| self.verdict()?.bound)
    }

    /// Why there is no bound to draw, or why it is not proven.
    pub fn why_not(&self) -> String {
        match (self.theorem, self.verdict()) {
            (None, _) => "no theorem here speaks of this method".into(),
            (Some(theorem), None) => format!(
                "{theorem} speaks of the distance to the optimum, and wants every user strongly convex, which is not checked"
            ),
            (Some(_), Some(verdict)) if verdict.holds => verdict.caveats.join("; "),
            (Some(_), Some(verdict)) => verdict.reasons.join("; "),
        }
    }

    /// What is guaranteed and what is not, in plain words, a sentence or two to a line.
    pub fn words(&self, targets: &[f64]) -> Vec<String> {
        let whose = if self.theorem == Some(Theorem::One) { "the gap" } else { "the mean gap" };
        let mut words = Vec::new();
        let guaranteed = self.guaranteed();
        match (guaranteed, self.verdict()) {
            (Some(bound), _) => words.push(format!("Guaranteed: {}.", in_words(whose, &bound, targets))),
            (None, Some(verdict)) if verdict.holds => {
                let promise = match (verdict.bound, verdict.rate) {
                    (Some(bound), _) => in_words(whose, &bound, targets),
                    (None, Some(rate)) => {
                        format!("at every step {whose} falls to {} of what it was, down to a floor", short(rate.factor))
                    }
                    (None, None) => format!("{whose} is bounded"),
                };
                words.push(format!("Not guaranteed: {}.", verdict.caveats.join("; ")));
                words.push(format!("But for that, {promise}."));
            }
            (None, _) => words.push(format!("Nothing is guaranteed: {}.", self.why_not())),
        }
        if let (Some(bound), Some(verdict)) = (guaranteed, self.verdict())
            && verdict.bound != Some(bound)
        {
            words.push(
                "This is SGD's bound, which OGQ keeps: the best improvement is no less than the mean one.".into(),
            );
            words.push(format!("The faster rate of Theorem 1 is not proven here: {}.", self.why_not()));
        }
        words
    }
}

/// The bound as a sentence, with the queries to each target.
fn in_words(whose: &str, bound: &Bound, targets: &[f64]) -> String {
    let Bound { start_gap, factor, floor, startup } = *bound;
    let after = match startup {
        0 => "after t queries".into(),
        startup => format!("after {startup} + t queries"),
    };
    let fading = format!("{} · {}^t", short(start_gap), short_factor(factor));
    let mut words = match floor {
        0.0 => format!("{after} {whose} is at most {fading}"),
        floor => format!("{after} {whose} is at most {fading} + {}", short(floor)),
    };
    if floor >= start_gap && start_gap > 0.0 {
        return words + ", which never falls below the start and so says nothing";
    }
    let reached = |target: &f64| Some((*target, bound.queries_to(*target)?));
    if let Some((target, queries)) = targets.iter().filter_map(reached).rfind(|(_, queries)| *queries > 0) {
        words += &format!(", and at most {} after {queries} queries", readable(target));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_read() {
        let read = |text: &str| text.parse::<RegionSpec>();
        assert_eq!(read("sublevel"), Ok(RegionSpec::Sublevel));
        assert_eq!(read("trajectory"), Ok(RegionSpec::Trajectory));
        assert_eq!(read("ball:5"), Ok(RegionSpec::Ball { radius: 5.0, center: None }));
        let off = RegionSpec::Ball { radius: 0.5, center: Some(vec![-1.0, 2.0]) };
        assert_eq!(read("ball:0.5@-1,2"), Ok(off));
        assert_eq!(read("box:-5..5"), Ok(RegionSpec::Box { low: vec![-5.0], high: vec![5.0] }));
        let flat = RegionSpec::Box { low: vec![-1.0, -2.0], high: vec![0.5, 1e3] };
        assert_eq!(read("box:-1,-2..0.5,1e3"), Ok(flat));
        for (text, expected) in [
            ("bal:5", "no region \"bal:5\""),
            ("ball", "no region \"ball\""),
            ("ball:five", "\"five\" is not a number"),
            ("ball:inf", "\"inf\" is not a number"),
            ("ball:5@", "\"\" is not a number"),
            ("box:5", "a low and a high end"),
            ("box:..", "\"\" is not a number"),
            ("", "no region"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("write sublevel"), "{error}");
        }
    }
}
