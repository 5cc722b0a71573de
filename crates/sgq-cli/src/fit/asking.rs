//! Asking the users of a simulation until there is a reason to stop.

use std::{
    error::Error,
    fmt, io,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

use indicatif::ProgressBar;
use serde::Serialize;
use sgq::{
    Answer, Oracle as _, Problem, Remaining, Session, StopReason,
    drive::{Billed, Observer},
    problem::Regression,
};
use sgq_bench::readable::short;
use sgq_data::glm::{Precision, Secants};

/// The gap is looked at this many times at most: it takes all rows, a query only one user's.
const LOOKS: u64 = 1000;

/// What a run gave, besides what its session knows.
pub struct Run {
    /// Queries and the gap after them: the first is at the start, the last at the end. Infinite after divergence; none where
    /// diagnostics are off.
    pub gaps: Vec<(u64, f64)>,
    pub sent: Sent,
    /// What the answers say of curvature.
    pub secants: Secants,
    pub end: End,
}

/// How many numbers users sent, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sent {
    pub gradients: u64,
    pub losses: u64,
    pub hessians: u64,
}

/// Why it ended.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Stopped(StopReason),
    Interrupted,
}

impl Run {
    pub fn interrupted(&self) -> bool {
        self.end == End::Interrupted
    }

    pub fn diverged(&self) -> bool {
        matches!(self.end, End::Stopped(StopReason::Diverged { .. }))
    }

    pub fn gap_at_start(&self) -> f64 {
        self.gaps.first().map_or(f64::NAN, |(_, gap)| *gap)
    }

    pub fn gap(&self) -> f64 {
        self.gaps.last().map_or(f64::NAN, |(_, gap)| *gap)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(reason) => reason.fmt(f),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// Puts every question of the session to the user it is for, until it stops or somebody interrupts.
pub fn ask_users(
    session: &mut Session<'_>,
    problem: &Regression,
    precision: Precision<'_>,
    budget: u64,
    interrupt: &AtomicBool,
    bar: &ProgressBar,
) -> Result<Run, Box<dyn Error>> {
    let mut looks = Looks::new(problem, session.point(), budget, interrupt, bar);
    let stop = precision.drive(session, problem, &mut looks)?;
    Ok(looks.end(session, stop))
}

/// What is believed to remain, in parts of the gap at the start.
pub fn in_parts(remaining: &Remaining) -> String {
    let part = |gap: f64| if gap > 0.0 { format!("{:.1e}", gap / remaining.at_start) } else { "0".to_owned() };
    let [expected, low, high] = [remaining.gap, remaining.low, remaining.high].map(part);
    format!("{expected} ({low} to {high})")
}

/// Looks at the gap now and then, and shows how far it is.
pub(super) struct Looks<'a> {
    problem: &'a Regression,
    /// Every so many queries.
    every: u64,
    interrupt: &'a AtomicBool,
    bar: &'a ProgressBar,
    gaps: Vec<(u64, f64)>,
    sent: Sent,
    secants: Secants,
}

impl<'a> Looks<'a> {
    pub fn new(
        problem: &'a Regression,
        start: &[f64],
        budget: u64,
        interrupt: &'a AtomicBool,
        bar: &'a ProgressBar,
    ) -> Self {
        let every = budget.div_ceil(LOOKS).max(1);
        let gaps = problem.gap(start).map(|gap| (0, gap)).into_iter().collect();
        let weights: Vec<f64> = (0..problem.users()).map(|user| problem.weight_of_user(user)).collect();
        let secants = Secants::new(problem.dim(), &weights);
        Self { problem, every, interrupt, bar, gaps, sent: Sent::default(), secants }
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Takes note of an answer: what it holds, and what it says of curvature.
    pub fn count(&mut self, user: usize, point: &[f64], answer: &Answer<'_>) {
        let Answer { gradient, loss, hessian, .. } = answer;
        self.secants.take(user, point, gradient);
        self.sent.gradients += gradient.len() as u64;
        self.sent.losses += u64::from(loss.is_some());
        self.sent.hessians += hessian.map_or(0, <[f64]>::len) as u64;
    }

    /// Looks at the gap after an answer, where it is its turn.
    pub fn look(&mut self, session: &Session<'_>) {
        let queries = session.queries();
        if queries.is_multiple_of(self.every)
            && let Some(gap) = self.problem.gap(session.point())
        {
            self.gaps.push((queries, gap));
        }
    }

    /// Shows how far it is.
    pub fn show(&self, session: &Session<'_>) {
        if !self.bar.is_hidden() {
            self.bar.set_position(session.queries());
            if let Some(remaining) = session.remaining() {
                self.bar.set_message(format!("remaining {}", in_parts(&remaining)));
            } else if let Some(norm) = session.surrogate_gradient_norm() {
                self.bar.set_message(format!("surrogate gradient {}", short(norm)));
            }
        }
    }

    /// What it came to; without a reason it was interrupted.
    pub fn end(self, session: &Session<'_>, stop: Option<StopReason>) -> Run {
        let end = stop.map_or(End::Interrupted, End::Stopped);
        let mut run = Run { gaps: self.gaps, sent: self.sent, secants: self.secants, end };
        if let Some(gap) = self.problem.gap(session.point()) {
            // The last look may have been a while ago; what it sees after divergence is not where the run went.
            let gap = if run.diverged() { f64::INFINITY } else { gap };
            if run.gaps.last().is_some_and(|(queries, _)| *queries == session.queries()) {
                run.gaps.pop();
            }
            run.gaps.push((session.queries(), gap));
        }
        // Where it is, which is seldom the end of the budget.
        self.bar.abandon();
        run
    }
}

impl Observer for Looks<'_> {
    fn telling(&mut self, billed: &Billed<'_>) -> io::Result<()> {
        self.count(billed.query.user, &billed.query.point, &billed.answer);
        Ok(())
    }

    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        self.look(session);
        self.show(session);
        if self.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
