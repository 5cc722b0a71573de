//! One method on one problem: its settings searched for on some trials, and what they are worth measured on others.

use std::sync::atomic::AtomicBool;

use sgq::{Settings, StepSize};

use super::{
    CellResult, Row, Status, Tuned,
    fresh::{Fresh, measure},
    search::{Found, Pick, search},
};
use crate::{
    Experiment,
    experiment::{NamedMethod, NamedProblem},
    run::TrialError,
};

/// One method on one problem.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub experiment: &'a Experiment,
    pub problem: &'a NamedProblem,
    pub method: &'a NamedMethod,
    pub interrupt: &'a AtomicBool,
}

impl Cell<'_> {
    /// All of it; none after an interrupt.
    pub fn run(&self) -> Result<Option<CellResult>, TrialError> {
        match self.result() {
            Ok(result) => Ok(Some(result)),
            Err(TrialError::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn result(&self) -> Result<CellResult, TrialError> {
        let targets = &self.experiment.targets;
        let untuned = measure(self, &self.untuned(), targets)?;
        let Found { picks, tried, queries } = self.tune()?;
        // Settings that are best for several targets are measured once.
        let mut measured: Vec<Fresh> = Vec::new();
        for pick in &picks {
            if measured.iter().all(|fresh| fresh.method != pick.method) {
                let same = picks.iter().zip(targets).filter(|(other, _)| other.method == pick.method);
                let targets: Vec<f64> = same.map(|(_, target)| *target).collect();
                measured.push(measure(self, &pick.method, &targets)?);
            }
        }
        let mut rows = Vec::new();
        let mut shown = &untuned;
        for (place, target) in targets.iter().enumerate() {
            let pick = picks.get(place);
            let fresh = pick.and_then(|pick| measured.iter().find(|fresh| fresh.method == pick.method));
            let fresh = fresh.unwrap_or(&untuned);
            rows.push(self.row(Tuned::Tuned, *target, fresh));
            rows.push(match pick {
                Some(pick) => self.hindsight(*target, pick),
                None => self.row(Tuned::Hindsight, *target, fresh),
            });
            rows.push(self.row(Tuned::Untuned, *target, &untuned));
            if fresh.queries_to(*target).is_some() || place == 0 {
                shown = fresh;
            }
        }
        let finite = |number: &f64| Some(*number).filter(|number| number.is_finite());
        Ok(CellResult {
            rows,
            tried: tried as u64,
            tuning_queries: queries,
            curve: shown.mean.mean().iter().map(finite).collect(),
            curve_error: shown.mean.standard_error().iter().map(finite).collect(),
            sees_more: self.method.sees_more().map(str::to_owned),
            oracle: self.method.is_oracle(),
        })
    }

    /// The settings that are best for each target on the tuning trials; nothing where there is nothing to tune.
    pub fn tune(&self) -> Result<Found, TrialError> {
        let nothing_to_tune = !self.method.method.has_step_size() && self.method.tuned.is_empty();
        match &self.experiment.tuning {
            Some(tuning) if !nothing_to_tune => search(self, tuning),
            _ => Ok(Found { picks: Vec::new(), tried: 0, queries: 0 }),
        }
    }

    /// The method with its own default step.
    pub fn untuned(&self) -> NamedMethod {
        let settings = Settings::for_problem(self.problem.start.clone(), &*self.problem.problem);
        // A problem that does not know its smoothness has no default; one is as good as another.
        let size = self.method.method.default_step(&settings).ok().flatten().map_or(1.0, |step| step.size);
        NamedMethod { step_size: StepSize::Constant(size), ..self.method.clone() }
    }

    fn row(&self, tuning: Tuned, target: f64, fresh: &Fresh) -> Row {
        let queries = fresh.queries_to(target);
        let (queries_lo, queries_hi) = fresh.interval(target).filter(|_| queries.is_some()).unwrap_or_default();
        let status = match queries {
            Some(_) => Status::Reached,
            None if fresh.diverged => Status::Diverged,
            None => Status::NotReached,
        };
        Row { queries, queries_lo, queries_hi, status, ..self.blank(tuning, target, &fresh.method) }
    }

    /// What the search saw, on the trials that the settings were picked on.
    fn hindsight(&self, target: f64, pick: &Pick) -> Row {
        let status = if pick.hindsight.is_some() { Status::Reached } else { Status::NotReached };
        Row { queries: pick.hindsight, status, ..self.blank(Tuned::Hindsight, target, &pick.method) }
    }

    fn blank(&self, tuning: Tuned, target: f64, method: &NamedMethod) -> Row {
        let (step_size, decay, rate) = match method.step_size {
            StepSize::Decay { initial, rate } => (initial, "inverse", Some(rate)),
            StepSize::RootDecay { initial, rate } => (initial, "root", Some(rate)),
            StepSize::WarmUp { size, steps, .. } => (size, "warm-up", Some(1.0 / steps as f64)),
            StepSize::Constant(size) => (size, "constant", None),
            _ => (f64::NAN, "", None),
        };
        let value = |name: &str| Some(format!("{name}={}", method.method.setting(name)?));
        let fall = match method.step_size {
            StepSize::WarmUp { fall, .. } => Some(format!("fall={fall}")),
            _ => None,
        };
        let settings = method.tuned.iter().filter_map(|tuned| value(tuned.name)).chain(fall);
        Row {
            problem: self.problem.name.clone(),
            method: self.method.name.clone(),
            tuning,
            target,
            queries: None,
            queries_lo: None,
            queries_hi: None,
            status: Status::NotReached,
            step_size: Some(step_size).filter(|_| method.method.has_step_size()),
            decay: if method.method.has_step_size() { decay } else { "" }.into(),
            rate,
            settings: settings.collect::<Vec<_>>().join(" "),
        }
    }
}
