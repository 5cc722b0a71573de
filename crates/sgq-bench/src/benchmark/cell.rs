//! One method on one problem, with every step size of the grid.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use sgq::{Random, Settings, StepSize, random::derive_seed, simulate::gap_curve};

use super::{CellResult, Row, Status, Tuned};
use crate::{
    Experiment,
    experiment::{NamedMethod, NamedProblem},
    run::TrialError,
    statistics::{CurveMean, first_at_most},
};

/// Means of resampled trials behind an interval.
const RESAMPLES: usize = 400;

/// One method on one problem.
pub(crate) struct Cell<'a> {
    pub experiment: &'a Experiment,
    pub problem: &'a NamedProblem,
    pub method: &'a NamedMethod,
    pub interrupt: &'a AtomicBool,
}

/// What all trials with one step size gave.
pub(crate) struct Tried {
    pub step_size: f64,
    /// The gap of every trial after 0, 1, 2 … queries, infinite after divergence.
    pub trials: Vec<Vec<f64>>,
    pub mean: CurveMean,
    diverged: bool,
}

impl Cell<'_> {
    /// Tries every step; none after an interrupt.
    pub fn run(&self) -> Result<Option<CellResult>, TrialError> {
        let steps = self.grid().into_iter().chain([self.default_step()]).collect();
        let Some(mut tried) = self.try_steps(steps)? else {
            return Ok(None);
        };
        let untuned = tried.pop();
        let targets = &self.experiment.targets;
        let mut rows = Vec::new();
        for &target in targets {
            rows.push(self.row(Tuned::Tuned, target, best(&tried, target)));
            rows.push(self.row(Tuned::Untuned, target, untuned.as_ref()));
        }
        // The curve that is shown is the best for the target in the middle, or for the smallest one that is reached at all.
        let middle = targets.len() / 2;
        let reached = |target: &&f64| best(&tried, **target).is_some_and(|it| it.crossing(**target).is_some());
        let shown = targets[..=middle].iter().rfind(reached).unwrap_or(&targets[0]);
        let curve = best(&tried, *shown).or(untuned.as_ref());
        Ok(curve.map(|curve| CellResult {
            rows,
            curve: curve.mean.mean().iter().map(|gap| Some(*gap).filter(|gap| gap.is_finite())).collect(),
            curve_error: curve
                .mean
                .standard_error()
                .into_iter()
                .map(|it| Some(it).filter(|it| it.is_finite()))
                .collect(),
            curve_step: curve.step_size,
            sees_more: self.method.method.sees_more().map(str::to_owned),
            oracle: self.method.method.needs_oracle(),
        }))
    }

    /// The steps of the experiment's grid, smallest first; one is enough for a method without a step size.
    pub fn grid(&self) -> Vec<f64> {
        if !self.method.method.has_step_size() {
            return vec![self.default_step()];
        }
        self.experiment.tuning.map(|tuning| tuning.grid(&*self.problem.problem)).unwrap_or_default()
    }

    /// The method's own default.
    pub fn default_step(&self) -> f64 {
        let settings = Settings::for_problem(self.problem.start.clone(), &*self.problem.problem);
        // A problem that does not know its smoothness has no default; one is as good as another.
        self.method.method.default_step(&settings).ok().flatten().map_or(1.0, |step| step.size)
    }

    /// All trials with each of these steps, in their order; none after an interrupt.
    pub fn try_steps(&self, steps: Vec<f64>) -> Result<Option<Vec<Tried>>, TrialError> {
        match steps.into_par_iter().map(|step_size| self.try_step(step_size)).collect() {
            Ok(tried) => Ok(Some(tried)),
            Err(TrialError::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn try_step(&self, step_size: f64) -> Result<Tried, TrialError> {
        let method = NamedMethod { step_size: StepSize::Constant(step_size), ..self.method.clone() };
        let trials = if method.method.is_deterministic() { 1 } else { self.experiment.trials };
        let problem = &*self.problem.problem;
        let unit = match self.experiment.relative {
            true => problem.gap(&self.problem.start).unwrap_or(1.0),
            false => 1.0,
        };
        let run = |trial: u64| -> Result<(Vec<f64>, bool), TrialError> {
            let mut session = self.experiment.open(self.problem, &method, trial)?;
            let curve = gap_curve(&mut session, problem, self.experiment.budget, |_| {
                if self.interrupt.load(Ordering::Relaxed) {
                    return Err(std::io::ErrorKind::Interrupted.into());
                }
                Ok(())
            });
            let curve = curve.map_err(TrialError::from_simulation)?;
            let diverged = matches!(curve.stop, sgq::StopReason::Diverged { .. });
            Ok((curve.gaps.into_iter().map(|gap| gap / unit).collect(), diverged))
        };
        let results = (0..trials).into_par_iter().map(run).collect::<Result<Vec<_>, _>>()?;
        let mut tried = Tried { step_size, trials: Vec::new(), mean: CurveMean::default(), diverged: false };
        for (gaps, diverged) in results {
            tried.mean.add(&gaps);
            tried.diverged |= diverged;
            tried.trials.push(gaps);
        }
        Ok(tried)
    }

    fn row(&self, tuning: Tuned, target: f64, tried: Option<&Tried>) -> Row {
        let queries = tried.and_then(|tried| tried.crossing(target));
        let seed = derive_seed(self.experiment.seed, &self.method.name, target.to_bits());
        let interval = tried.filter(|_| queries.is_some()).map(|tried| tried.interval(target, seed));
        Row {
            problem: self.problem.name.clone(),
            method: self.method.name.clone(),
            tuning,
            target,
            queries,
            queries_lo: interval.and_then(|(low, _)| low),
            queries_hi: interval.and_then(|(_, high)| high),
            step_size: tried.map_or(f64::NAN, |tried| tried.step_size),
            status: match (queries, tried) {
                (Some(_), _) => Status::Reached,
                (None, Some(tried)) if tried.diverged => Status::Diverged,
                (None, _) => Status::NotReached,
            },
        }
    }
}

impl Tried {
    /// The first number of queries at which the mean gap is at a target.
    pub fn crossing(&self, target: f64) -> Option<u64> {
        first_at_most(self.mean.mean(), target).map(|queries| queries as u64)
    }

    /// The 2.5th and the 97.5th percentile of the crossing over means of resampled trials.
    fn interval(&self, target: f64, seed: u64) -> (Option<u64>, Option<u64>) {
        let count = self.trials.len();
        let crossing = self.crossing(target);
        if count < 2 {
            return (crossing, crossing);
        }
        let mut random = Random::new(seed, "bootstrap");
        let mut crossings: Vec<u64> = (0..RESAMPLES)
            .map(|_| {
                let picked: Vec<&Vec<f64>> = (0..count).map(|_| &self.trials[random.index(count)]).collect();
                let mean = |queries: usize| picked.iter().map(|gaps| gaps[queries]).sum::<f64>() / count as f64;
                let length = self.trials[0].len();
                (0..length).find(|queries| mean(*queries) <= target).map_or(u64::MAX, |queries| queries as u64)
            })
            .collect();
        crossings.sort_unstable();
        let at = |part: f64| crossings[((RESAMPLES - 1) as f64 * part).round() as usize];
        let known = |crossing: u64| Some(crossing).filter(|crossing| *crossing != u64::MAX);
        (known(at(0.025)), known(at(0.975)))
    }
}

/// The step with the fewest queries to a target; where none reaches it, the one that ends lowest.
pub(crate) fn best(tried: &[Tried], target: f64) -> Option<&Tried> {
    let last = |tried: &&Tried| tried.mean.mean().last().copied().filter(|gap| !gap.is_nan()).unwrap_or(f64::INFINITY);
    let reaching = tried.iter().filter_map(|tried| Some((tried.crossing(target)?, tried)));
    let fewest = reaching.min_by_key(|(queries, _)| *queries).map(|(_, tried)| tried);
    fewest.or_else(|| tried.iter().min_by(|one, other| last(one).total_cmp(&last(other))))
}
