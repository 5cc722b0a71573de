//! The loop between a ledger and the processes of its users.

mod answers;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    time::{Duration, Instant},
};

use super::{
    Ended, Options, ProcessError,
    worker::{Came, Id, Worker},
};
use crate::{
    Ledger, LedgerError, Question, Watcher,
    notice::{Doing, Notice},
    wire::{kept, longest_answer},
};

/// How often to look whether somebody has interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// Lines that wait to be read: a process that writes more has to wait.
const LINES_WAITING: usize = 16;
/// How long processes may take to end by themselves.
const FAREWELL: Duration = Duration::from_secs(1);

/// A question that is out.
struct Out {
    question: Question,
    /// How often it came to nothing.
    tries: u32,
    stage: Stage,
    lease_ends: Option<Instant>,
}

#[derive(Clone, Copy)]
enum Stage {
    /// It is to be put, at this time or later.
    Due(Instant),
    /// A process has it.
    Sent { to: Id, until: Instant },
    /// Its tries came to nothing, and nobody has answered yet: it fails once somebody does.
    Spent,
    /// Its answer is in the ledger, and waits for those before it.
    Held,
}

/// The place of a process: one for each user, or one for all.
#[derive(Default)]
struct Slot {
    worker: Option<Worker>,
    /// How many there have been.
    generations: u64,
    /// Lines in a row that were no answers.
    wrong: u64,
}

pub(super) struct Driver<'a> {
    ledger: &'a mut Ledger,
    options: &'a Options,
    watcher: &'a mut dyn Watcher,
    longest_line: usize,
    slots: BTreeMap<usize, Slot>,
    out: BTreeMap<u64, Out>,
    /// What is to be said once it is on the disk.
    notices: Vec<Notice>,
    /// Processes to be ended once the rows about them are on the disk.
    to_end: Vec<usize>,
    came: (SyncSender<Came>, Receiver<Came>),
    /// Whether an answer was taken in this run, or one of an earlier run waits for its turn.
    works: bool,
    /// Questions whose tries came to nothing before there was any answer, and why; their users; and whether it is the program's fault.
    spent: BTreeMap<u64, String>,
    in_vain: BTreeSet<usize>,
    is_broken: bool,
}

impl<'a> Driver<'a> {
    pub fn new(ledger: &'a mut Ledger, options: &'a Options, watcher: &'a mut dyn Watcher) -> Self {
        let works = ledger.held().next().is_some();
        let longest = options.longest_line.unwrap_or_else(|| longest_answer(ledger));
        Self {
            ledger,
            options,
            watcher,
            longest_line: longest,
            slots: BTreeMap::new(),
            out: BTreeMap::new(),
            notices: Vec::new(),
            to_end: Vec::new(),
            came: mpsc::sync_channel(LINES_WAITING),
            works,
            spent: BTreeMap::new(),
            in_vain: BTreeSet::new(),
            is_broken: false,
        }
    }

    pub fn run(mut self) -> Result<Ended, ProcessError> {
        let ended = self.go_on();
        // Those who read until there is no more get a moment to end by themselves.
        self.slots.values_mut().filter_map(|slot| slot.worker.as_mut()).for_each(Worker::close);
        let pause = Instant::now();
        for worker in self.slots.values_mut().filter_map(|slot| slot.worker.as_mut()) {
            if pause.elapsed() < FAREWELL {
                worker.end();
            }
        }
        ended
    }

    fn go_on(&mut self) -> Result<Ended, ProcessError> {
        let pending = self.ledger.pending();
        self.take_up(pending);
        self.together(|driver| {
            driver.ask()?;
            driver.tell_what_is_held()
        })?;
        let mut interrupted_at = None;
        loop {
            self.speak();
            self.watcher.moved(self.ledger);
            if interrupted_at.is_none() && self.watcher.is_interrupted() {
                interrupted_at = Some(Instant::now());
                let sent = self.out.values().filter(|out| matches!(out.stage, Stage::Sent { .. })).count();
                if sent > 0 && !self.watcher.is_impatient() {
                    self.watcher.waits_for(sent, self.options.grace);
                }
            }
            match interrupted_at {
                None => self.send_due()?,
                Some(at) => {
                    let waits = self.out.values().any(|out| matches!(out.stage, Stage::Sent { .. }));
                    if !waits || at.elapsed() >= self.options.grace || self.watcher.is_impatient() {
                        return Ok(Ended::Interrupted);
                    }
                }
            }
            if let Some(ended) = self.is_over()? {
                return Ok(ended);
            }
            let wait = self.until_next().min(LOOK);
            match self.came.1.recv_timeout(wait) {
                Ok(first) => self.take_in(first)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.end_processes()?;
            self.look_at_clocks()?;
        }
    }

    /// As many further questions as may be out.
    fn ask(&mut self) -> Result<(), LedgerError> {
        let questions = self.ledger.ask_many(usize::MAX)?;
        self.take_up(questions);
        Ok(())
    }

    fn take_up(&mut self, questions: Vec<Question>) {
        let now = Instant::now();
        for question in questions {
            let stage = if self.ledger.is_held(question.ticket) { Stage::Held } else { Stage::Due(now) };
            self.out.entry(question.ticket).or_insert_with(|| Out {
                question,
                tries: 0,
                stage,
                lease_ends: self.options.lease.map(|lease| now + lease),
            });
        }
    }

    /// Whether its user cannot be asked. Whoever has spent what it may disclose at points answers what everybody is asked.
    fn is_away(&self, question: &Question) -> bool {
        self.ledger.session().is_away(question.user)
            && !(question.report.is_some() && self.ledger.is_spent_by(question.user))
    }

    /// Whether there is nothing to wait for.
    fn is_over(&self) -> Result<Option<Ended>, LedgerError> {
        if self.out.values().any(|out| !self.is_away(&out.question) || matches!(out.stage, Stage::Sent { .. })) {
            return Ok(None);
        }
        let refusals = self.ledger.refusals();
        if !refusals.is_empty() {
            return Ok(Some(Ended::Unanswered(refusals)));
        }
        if let Some(reason) = self.ledger.stop_reason() {
            return Ok(Some(Ended::Stopped(reason)));
        }
        let failing = self.ledger.failing()?;
        if !failing.is_empty() {
            return Ok(Some(Ended::Failing(failing)));
        }
        let names = self.out.values().map(|out| out.question.name.clone());
        Ok(Some(Ended::Waiting(names.collect())))
    }

    /// The time until something is due.
    fn until_next(&self) -> Duration {
        let times = self.out.values().flat_map(|out| {
            let (stage, lease) = match out.stage {
                Stage::Due(at) | Stage::Sent { until: at, .. } => (Some(at), out.lease_ends),
                Stage::Spent => (None, out.lease_ends),
                Stage::Held => (None, None),
            };
            [stage, lease].into_iter().flatten()
        });
        let now = Instant::now();
        // What is due and cannot be sent yet is looked at again soon.
        let soonest = times.map(|at| at.saturating_duration_since(now).max(Duration::from_millis(10))).min();
        soonest.unwrap_or(LOOK)
    }

    fn slot_of(&self, user: usize) -> usize {
        if self.options.each { user } else { 0 }
    }

    fn name_of(&self, slot: usize) -> Option<&str> {
        let user = self.ledger.users().get(slot).filter(|_| self.options.each);
        user.map(|user| &*user.name)
    }

    /// Who speaks, where that is known: a process of its own speaks for its user alone.
    fn sender(&self, slot: usize) -> Option<usize> {
        self.options.each.then_some(slot)
    }

    fn sent_to(&self, slot: usize) -> Vec<u64> {
        let is_there = |out: &Out| matches!(out.stage, Stage::Sent { to, .. } if to.slot == slot);
        self.out.iter().filter(|(_, out)| is_there(out)).map(|(ticket, _)| *ticket).collect()
    }

    /// Puts the questions whose time has come.
    fn send_due(&mut self) -> Result<(), ProcessError> {
        let now = Instant::now();
        let mut due: Vec<(u32, u64)> = Vec::new();
        for (ticket, out) in &self.out {
            if matches!(out.stage, Stage::Due(at) if at <= now) && !self.is_away(&out.question) {
                due.push((out.tries, *ticket));
            }
        }
        // Where a process fell over one of several questions, they are put one by one, and the least suspect first.
        due.sort_unstable();
        let is_careful = !self.options.each && self.out.values().any(|out| out.tries > 0);
        for (_, ticket) in due {
            let Some(out) = self.out.get(&ticket) else { continue };
            let slot = self.slot_of(out.question.user);
            let there = self.sent_to(slot).len();
            if is_careful && there > 0 {
                break;
            }
            let line = out.question.to_json().map_err(LedgerError::from)?;
            let (name, again) = (out.question.name.clone(), out.tries > 0);
            let Some(id) = self.worker(slot)? else { continue };
            let until = now + self.options.timeout.saturating_mul(there as u32 + 1);
            if let Some(out) = self.out.get_mut(&ticket) {
                out.stage = Stage::Sent { to: id, until };
            }
            self.slots.get(&slot).and_then(|slot| slot.worker.as_ref()).iter().for_each(|it| it.send(line.clone()));
            let words = if again { "again" } else { "" };
            self.notices.push(Notice::new(Doing::Sent, Some(ticket), Some(&name), words));
        }
        self.speak();
        Ok(())
    }

    /// The process of a place, started if there is none; none where it cannot be started now.
    fn worker(&mut self, place: usize) -> Result<Option<Id>, ProcessError> {
        let name = self.name_of(place).map(str::to_owned);
        let slot = self.slots.entry(place).or_default();
        if let Some(worker) = &slot.worker {
            return Ok(Some(worker.id));
        }
        slot.generations += 1;
        slot.wrong = 0;
        let id = Id { slot: place, generation: slot.generations };
        let command = &self.options.command;
        match Worker::start(command, name.as_deref(), id, self.longest_line, &self.came.0) {
            Ok(worker) => {
                let words = format!("process {}", worker.process());
                slot.worker = Some(worker);
                self.notices.push(Notice::new(Doing::Started, None, name.as_deref(), words));
                Ok(Some(id))
            }
            Err(error) => {
                let program = command.words(name.as_deref().unwrap_or_default()).swap_remove(0);
                Err(ProcessError::Start { program, error })
            }
        }
    }

    /// A process has closed its output: it is over.
    fn has_ended(&mut self, id: Id) -> Result<(), ProcessError> {
        let current = self.slots.get_mut(&id.slot).filter(|slot| slot.generations == id.generation);
        let Some(mut worker) = current.and_then(|slot| slot.worker.take()) else {
            return Ok(());
        };
        let (status, last) = worker.end();
        let last = if last.is_empty() { String::new() } else { format!(": {}", kept(&last)) };
        let how = match status {
            Some(status) => format!("its process ended ({status}){last}"),
            None => format!("its process closed its output, and was ended{last}"),
        };
        // Whoever answers one question and ends is started anew for the next.
        let as_planned = worker.answers > 0 && status.is_some_and(|status| status.success());
        Ok(self.is_over_for(id.slot, &how, as_planned)?).and_then(|()| self.check_that_anybody_answers())
    }

    /// The questions that a process had are put again.
    fn is_over_for(&mut self, place: usize, how: &str, as_planned: bool) -> Result<(), LedgerError> {
        let name = self.name_of(place).map(str::to_owned);
        self.notices.push(Notice::new(Doing::Ended, None, name.as_deref(), how));
        let had = self.sent_to(place);
        if as_planned || had.is_empty() {
            let now = Instant::now();
            for (_, out) in self.out.iter_mut().filter(|(ticket, _)| had.contains(ticket)) {
                out.stage = Stage::Due(now);
            }
            if as_planned {
                return Ok(());
            }
        }
        let (sender, questions) = (self.sender(place), had.len());
        self.together(|driver| {
            driver.ledger.note(sender, &format!("{how}; it had {questions} questions"))?;
            had.into_iter().try_for_each(|ticket| driver.came_to_nothing(ticket, how))
        })
    }

    fn check_that_anybody_answers(&self) -> Result<(), ProcessError> {
        if !self.is_broken {
            return Ok(());
        }
        let program = self.options.command.words("{user}").join(" ");
        let why = self.spent.iter().next_back().map(|(ticket, why)| {
            let name = self.out.get(ticket).map_or("", |out| &out.question.name);
            format!("{name}, question {ticket}: {why}")
        });
        Err(ProcessError::NeverAnswers { program, why: why.unwrap_or_default() })
    }

    /// Ends the processes that write too much that is no answer.
    fn end_processes(&mut self) -> Result<(), ProcessError> {
        for place in std::mem::take(&mut self.to_end) {
            let how =
                format!("it wrote {} lines in a row that were no answers, and was ended", self.options.wrong_lines);
            self.end_process(place, &how)?;
        }
        Ok(())
    }

    fn end_process(&mut self, place: usize, how: &str) -> Result<(), ProcessError> {
        if let Some(mut worker) = self.slots.get_mut(&place).and_then(|slot| slot.worker.take()) {
            worker.kill();
            self.is_over_for(place, how, false)?;
        }
        self.check_that_anybody_answers()
    }

    /// Timeouts and leases.
    fn look_at_clocks(&mut self) -> Result<(), ProcessError> {
        let now = Instant::now();
        let is_over = |out: &Out| out.lease_ends.is_some_and(|end| end <= now) && !matches!(out.stage, Stage::Held);
        let leases = self.out.iter().filter(|(_, out)| is_over(out));
        let leases: Vec<u64> = leases.map(|(ticket, _)| *ticket).collect();
        if !leases.is_empty() {
            let lease = self.options.lease.unwrap_or_default();
            let why = format!("its lease of {} s has ended", lease.as_secs_f64());
            self.together(|driver| leases.into_iter().try_for_each(|ticket| driver.fail(ticket, &why)))?;
        }
        let hangs = self.out.values().filter_map(|out| match out.stage {
            Stage::Sent { to, until } if until <= now => Some(to.slot),
            _ => None,
        });
        let mut hangs: Vec<usize> = hangs.collect();
        hangs.dedup();
        for place in hangs {
            let how = format!("no answer within {} s: its process was ended", self.options.timeout.as_secs_f64());
            self.end_process(place, &how)?;
        }
        Ok(())
    }

    /// Says what is on the disk by now.
    fn speak(&mut self) {
        for notice in std::mem::take(&mut self.notices) {
            self.watcher.notice(&notice);
        }
    }
}
