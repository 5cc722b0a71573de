//! What a person sees while users are asked: a line that moves, and what went wrong.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use sgq_ledger::{Ledger, Notice, Watcher, money};

use super::{
    interrupts::Interrupts,
    log::{self, Log},
    status::money_left,
};
use crate::{
    fit::in_parts,
    terminal::{self, counted},
};

/// So many lines of trouble are shown in a second: the ledger has all of them.
const LINES: u32 = 5;
const SECOND: Duration = Duration::from_secs(1);
/// The line is written anew this often at most: nobody reads faster.
const FASTEST: Duration = Duration::from_millis(50);
/// The line names so many of those who are asked.
const NAMED: usize = 3;

/// Looks on for a person at a terminal, and for a log.
pub struct Console {
    file: String,
    bar: ProgressBar,
    log: Option<Log>,
    quiet: bool,
    interrupts: &'static Interrupts,
    /// Lines shown since then.
    shown: (Instant, u32),
    withheld: u64,
    shown_at: Option<Instant>,
}

impl Console {
    pub fn new(file: &Path, log: Option<Log>, quiet: bool, interrupts: &'static Interrupts) -> Self {
        let bar = terminal::session_progress(quiet || log.is_some());
        let shown = (Instant::now(), 0);
        Self { file: file.display().to_string(), bar, log, quiet, interrupts, shown, withheld: 0, shown_at: None }
    }

    /// Whether trouble is shown at all: it is, where there is no line that moves.
    pub fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// A line above the one that moves.
    pub fn line(&self, text: &str) {
        if self.log.is_none() && !self.quiet {
            self.bar.suspend(|| terminal::complain(text));
        }
    }

    /// What was not shown is said to be there.
    fn say_withheld(&mut self) {
        let withheld = std::mem::take(&mut self.withheld);
        if withheld > 0 {
            self.line(&format!("… and {withheld} more lines: sgq session history {} has all of them", self.file));
        }
    }

    /// The line as it is now.
    fn show(&mut self, ledger: &Ledger) {
        if self.bar.is_hidden() {
            return;
        }
        let (session, queries) = (ledger.session(), ledger.queries());
        let budget = session.budget().map(|budget| budget + queries - session.queries());
        let line = terminal::session_line(session.name(), queries, budget, &message(ledger), terminal::columns());
        self.bar.set_message(line);
        self.shown_at = Some(Instant::now());
    }

    /// Leaves the line as it is.
    pub fn end(&mut self) {
        self.say_withheld();
        self.bar.abandon();
    }

    /// The same, once more with how it ended.
    pub fn end_with(&mut self, ledger: &Ledger) {
        self.show(ledger);
        self.end();
    }
}

impl Watcher for Console {
    fn notice(&mut self, notice: &Notice) {
        if self.log.is_some() {
            return log::notice(notice);
        }
        if !notice.is_trouble() {
            return;
        }
        if self.shown.0.elapsed() >= SECOND {
            self.say_withheld();
            self.shown = (Instant::now(), 0);
        }
        self.shown.1 += 1;
        match self.shown.1 <= LINES {
            true => self.line(&notice.to_string()),
            false => self.withheld += 1,
        }
    }

    fn moved(&mut self, ledger: &Ledger) {
        if self.shown_at.is_none_or(|at| at.elapsed() >= FASTEST) {
            self.show(ledger);
        }
    }

    fn waits_for(&mut self, questions: usize, at_most: Duration) {
        let (questions, seconds) = (counted(questions as u64, "question"), at_most.as_secs());
        self.line(&format!("waiting up to {seconds} s for the answers to {questions}; Ctrl-C again stops now"));
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.are_there()
    }

    fn is_impatient(&self) -> bool {
        self.interrupts.are_several()
    }
}

/// What it cost, what remains, and whom it asks.
fn message(ledger: &Ledger) -> String {
    let mut parts = Vec::new();
    if let Some((wants, answered, all)) = ledger.round() {
        return format!("{}: {answered} of {all} have answered", wants.in_words());
    }
    let left = ledger.session().cost_left().map(|left| format!(" ({} left)", money_left(left))).unwrap_or_default();
    parts.push(format!("cost {}{left}", money(ledger.cost())));
    if let Some(remaining) = ledger.session().remaining() {
        parts.push(format!("remaining {}", in_parts(&remaining)));
    }
    let out = ledger.pending();
    let one = |question: &sgq_ledger::Question| match out.len() {
        1 => format!("{} ({})", terminal::one_line(&question.name), question.why),
        _ => format!("{} ({})", terminal::one_line(&question.name), question.why.word()),
    };
    let mut asked: Vec<String> = out.iter().take(NAMED).map(one).collect();
    if out.len() > NAMED {
        asked.push(format!("{} more", out.len() - NAMED));
    }
    if !asked.is_empty() {
        parts.push(format!("asks {}", asked.join(", ")));
    }
    parts.join("  ")
}
