//! What a choice of SGQ costs: the naive scan and the lazy search side by side, on one run and one table.

mod dump;
mod measurement;
mod quadratics;
mod side_by_side;

use std::{
    io,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde::Serialize;
use sgq::{
    LastGradient, Method, Query, Session, Settings, SettingsError, StepSizeError, StopReason, Storage, Update,
    choice::{Search, SurrogateEi},
    drive::{Billed, DriveError, Observer, drive},
    method,
    setting::Value,
    storage::Estimate,
    update::{Saga, Sgd},
};
use thiserror::Error;

pub use dump::FILES as DUMP_FILES;
pub use measurement::{Disagreement, EndedEarly, Measurement, Medians};
pub use quadratics::HashedQuadratics;

use crate::output::{Folder, OutputError};
use measurement::{Circumstances, Record};
use side_by_side::{SideBySide, Slate};

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How many users there are, `n`.
    pub users: usize,
    /// How many parameters there are, `d`.
    pub dim: usize,
    /// How many choices to make after the first sweep.
    pub steps: u64,
    /// How the point moves.
    pub method: StepKind,
    /// The probability of asking a user at random, `p`.
    pub explore: f64,
    /// What Lemma 2's bonus is weighed by.
    pub bonus_weight: f64,
    /// The step size; without one, [`Options::STEP`] / max L_i.
    pub step_size: Option<f64>,
    /// Every how many steps the naive scan runs; 0 for never.
    pub naive_every: u64,
    /// Decides who the users are, and whom to explore.
    pub seed: u64,
    /// How the table is kept.
    pub storage: Storage,
}

/// How the point moves, by the name of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// SGD's step: the method `sgq`.
    Sgq,
    /// SAGA's step: the method `saga-sgq`.
    SagaSgq,
}

/// Where the run starts, in every coordinate: a few standard deviations away from the users' centers.
const START: f64 = 3.0;

impl Options {
    /// The default step size, as a part of `1 / max L_i`.
    pub const STEP: f64 = 0.5;

    /// How much room the table takes.
    pub fn estimate(&self) -> Estimate {
        self.storage.estimate(self.users, self.dim)
    }

    /// The most bytes that the distinct points can come to: one for each step and one for the start, but no more than
    /// there are users.
    pub fn point_bytes(&self) -> u64 {
        (self.users as u64).min(self.steps.saturating_add(1)).saturating_mul(self.estimate().point)
    }

    /// Finds out what is wrong before anything large is computed.
    pub fn check(&self) -> Result<(), ChooseError> {
        if self.users == 0 {
            return Err(SettingsError::NoUsers.into());
        }
        if self.dim == 0 {
            return Err(SettingsError::EmptyStart.into());
        }
        let bonus = Value::Number(self.bonus_weight);
        let sgq = method::sgq(self.explore).with("bonus", bonus).map_err(SettingsError::from)?;
        sgq.settings_for(self.users)?;
        if let Some(size) = self.step_size.filter(|size| !(*size > 0.0 && size.is_finite())) {
            return Err(SettingsError::from(StepSizeError::Size(size)).into());
        }
        self.storage.check(self.users, self.dim)?;
        Ok(())
    }

    fn choice(&self) -> SideBySide {
        let choice = SurrogateEi::new(self.explore).bonus_weight(self.bonus_weight);
        SideBySide::new(choice.clone().search(Search::Scan), choice, self.naive_every)
    }
}

/// Who watches, and who may end it.
pub struct Control<'a> {
    /// Ends the measurement after the current step, once set.
    pub interrupt: &'a AtomicBool,
    /// Called after every answer.
    pub on_answer: &'a dyn Fn(Stage),
}

/// Where a measurement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Everybody is asked once.
    Sweep,
    /// Users are chosen.
    Steps,
}

/// Runs the method, and times both searches at each of its choices.
///
/// A user's own work, computing its answer, is in none of the times. The table of the choice after the last step is written
/// to `dump`, as [`DUMP_FILES`], for other implementations to choose from.
pub fn choose(options: &Options, control: &Control<'_>, dump: Option<&mut Folder>) -> Result<Measurement, ChooseError> {
    options.check()?;
    let problem = HashedQuadratics::new(options.users, options.dim, options.seed, control.interrupt);
    let problem = problem.ok_or(ChooseError::Interrupted)?;
    let run = Run { options, control, dump, problem, choice: options.choice() };
    match options.method {
        StepKind::Sgq => run.measure(Sgd),
        StepKind::SagaSgq => run.measure(Saga),
    }
}

struct Run<'a> {
    options: &'a Options,
    control: &'a Control<'a>,
    dump: Option<&'a mut Folder>,
    problem: HashedQuadratics,
    choice: SideBySide,
}

impl Run<'_> {
    fn measure<U: Update<LastGradient>>(self, update: U) -> Result<Measurement, ChooseError> {
        let Self { options, control, dump, problem, choice } = self;
        let slate = choice.slate();
        let largest = problem.smoothness().iter().copied().fold(0.0, f64::max);
        let step_size = options.step_size.unwrap_or(Options::STEP / largest);
        let start = vec![START; options.dim];
        let settings = Settings::new(start.clone(), options.users)
            .smoothness(problem.smoothness().to_vec())
            .step_size(step_size)
            .storage(options.storage.clone())
            .seed(options.seed);
        let mut session = Session::new(Method::new("side by side", LastGradient::new(), choice, update), settings)?;

        let mut watch = Stopwatch {
            options,
            control,
            slate: &slate,
            since: Instant::now(),
            asking: Duration::ZERO,
            distinct_points: 0,
            in_sweep: true,
            first_sweep: Duration::ZERO,
            records: Vec::new(),
        };
        let stop = if options.steps > 0 { drive(&mut session, &problem, &mut watch)? } else { None };
        let Stopwatch { first_sweep, records, .. } = watch;
        let ended_early = match stop {
            Some(StopReason::Diverged { .. }) => Some(EndedEarly::Diverged),
            _ if session.steps() < options.steps => Some(EndedEarly::Interrupted),
            _ => None,
        };
        let circumstances = Circumstances {
            step_size,
            first_sweep,
            gap_at_start: problem.gap(&start),
            gap_at_end: problem.gap(session.point()),
            ended_early,
        };
        let measurement = Measurement::new(options, &records, &circumstances);
        if let (Some(folder), None) = (dump, ended_early)
            && let Some(query) = session.ask().map_err(DriveError::from)?
            && let Some(table) = session.belief()
        {
            dump::write(folder, table, &query, problem.smoothness(), step_size)?;
        }
        Ok(measurement)
    }
}

/// Takes the time that the session needs for each query, without that of the user's answer.
struct Stopwatch<'a> {
    options: &'a Options,
    control: &'a Control<'a>,
    slate: &'a Slate,
    since: Instant,
    asking: Duration,
    distinct_points: usize,
    in_sweep: bool,
    first_sweep: Duration,
    records: Vec<Record>,
}

impl Observer for Stopwatch<'_> {
    fn asked(&mut self, session: &Session<'_>, _query: &Query) {
        self.asking = self.since.elapsed();
        self.in_sweep = session.queries() < self.options.users as u64;
        self.distinct_points = session.belief().map_or(0, LastGradient::distinct_points);
    }

    fn telling(&mut self, _answer: &Billed<'_>) -> io::Result<()> {
        self.since = Instant::now();
        Ok(())
    }

    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        let time = self.asking + self.since.elapsed();
        let turn = self.slate.wipe();
        if self.in_sweep {
            self.first_sweep += time;
        } else {
            self.records.push(Record::new(&turn, time, self.distinct_points));
        }
        (self.control.on_answer)(if self.in_sweep { Stage::Sweep } else { Stage::Steps });
        let done = session.steps() >= self.options.steps || self.control.interrupt.load(Ordering::Relaxed);
        self.since = Instant::now();
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Why nothing could be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// The options make no sense.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// It was interrupted before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The run could not go on.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The table could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

#[cfg(test)]
mod tests;
