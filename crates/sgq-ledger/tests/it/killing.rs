//! A session in a process of its own that is killed again and again, and what must be true of it in the end.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command},
    time::{Duration, Instant},
};

use sgq::{method, session::Failure};
use sgq_ledger::{Event, Kind, Ledger, Plan, Reader};

use crate::clinics::{answer, bits, plan};

/// Questions that are out at once.
pub const OPEN: usize = 4;

pub fn killed_plan(budget: u64) -> Plan {
    plan(method::frugal(), OPEN, budget)
}

/// What users receive, a line for each question: no death of the session takes it back.
fn received(path: &Path) -> PathBuf {
    path.with_extension("received")
}

/// The process that is killed: users answer in any order, fail, come late, go and come back.
pub fn session(path: &Path) {
    let mut ledger = Ledger::open(path).unwrap();
    let mut users = OpenOptions::new().create(true).append(true).open(received(path)).unwrap();
    let mut random = Chance::new();
    let (mut sent, mut failed) = (Vec::new(), Vec::new());
    loop {
        ledger.ask_many(usize::MAX).unwrap();
        let out = ledger.pending();
        if out.is_empty() {
            break;
        }
        for question in &out {
            if !sent.contains(&question.ticket) {
                // In one call: a line must not be cut in two by a kill.
                users.write_all(format!("{}\n", question.ticket).as_bytes()).unwrap();
                sent.push(question.ticket);
            }
        }
        let picked = &out[random.below(out.len())];
        match random.below(24) {
            0 => {
                ledger.fail(picked.ticket, Failure::new().because("no power")).unwrap();
                failed.push(picked.clone());
            }
            1 => {
                ledger.away(picked.user, Some("holidays")).unwrap();
                ledger.back(picked.user, None).unwrap();
            }
            2 if !failed.is_empty() => {
                let late = failed.swap_remove(random.below(failed.len()));
                ledger.tell(late.ticket, &answer(&late)).unwrap();
            }
            3..=8 => ledger
                .group(|ledger| {
                    for question in &out {
                        ledger.tell(question.ticket, &answer(question))?;
                    }
                    Ok(())
                })
                .unwrap(),
            _ => drop(ledger.tell(picked.ticket, &answer(picked)).unwrap()),
        }
    }
    ledger.close().unwrap();
}

/// What came out of it.
#[derive(Debug)]
pub struct Outcome {
    /// Those that found it alive.
    pub kills: u32,
    pub answers: u64,
    /// Questions that users received again after a kill.
    pub received_again: u64,
}

/// Kills the session so many times at random instants, lets it end, and compares it with the same events without an interruption.
pub fn kill_and_compare(path: &Path, start: impl Fn() -> Command, kills: u32, budget: u64) -> Outcome {
    Ledger::create(path, &killed_plan(budget)).unwrap().close().unwrap();
    let mut random = Chance::new();
    let apart = budget / (u64::from(kills) + 1);
    let mut killed = 0;
    for _ in 0..kills {
        let mut child = start().spawn().unwrap();
        match random.below(8) {
            // While it opens.
            0 => std::thread::sleep(Duration::from_micros(random.below(20_000) as u64)),
            _ => {
                wait_for_questions(path, &mut child, random.below(3 * apart as usize / 2) as u64);
                std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
            }
        }
        killed += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(start().status().unwrap().success(), "the session did not end");
    let reader = Reader::open(path).unwrap();
    let verdict = reader.verify().unwrap();
    assert!(verdict.is_sound() && verdict.replays, "{verdict:?}");
    // A late answer to a question that had failed comes on top of the budget.
    assert!(reader.status().unwrap().queries >= budget);
    compare_with_uninterrupted(path, &reader, budget);
    let mut tickets: BTreeMap<u64, u64> = BTreeMap::new();
    let sent = fs::read_to_string(received(path)).unwrap();
    sent.lines().for_each(|line| *tickets.entry(line.parse().unwrap()).or_default() += 1);
    let mut asked = Vec::new();
    let collect = |event: Event| {
        asked.extend(event.ticket.filter(|_| event.kind == Kind::Asked));
        Ok(())
    };
    reader.history(collect).unwrap();
    let unknown: Vec<_> = tickets.keys().filter(|ticket| !asked.contains(ticket)).collect();
    assert!(unknown.is_empty(), "users received what is not in the ledger: {unknown:?}");
    let received_again = tickets.values().map(|times| times - 1).sum();
    assert!(received_again <= u64::from(kills) * OPEN as u64, "{received_again} questions were received again");
    Outcome { kills: killed, answers: verdict.answers, received_again }
}

/// The same answers in the same order, without a death: the same events, the same point, and the same state, to the byte.
fn compare_with_uninterrupted(path: &Path, reader: &Reader, budget: u64) {
    let whole = path.with_extension("whole");
    let mut ledger = Ledger::create(&whole, &killed_plan(budget)).unwrap();
    let mut events = Vec::new();
    let collect = |event| {
        events.push(event);
        Ok(())
    };
    reader.history(collect).unwrap();
    // One write for all: here nobody is killed.
    ledger
        .group(|ledger| {
            for event in &events {
                let (ticket, user, words) = (event.ticket, event.user, event.words.as_deref());
                match event.kind {
                    Kind::Asked => assert_eq!(ledger.ask()?.map(|it| it.ticket), ticket),
                    Kind::Waited => assert_eq!(ledger.ask()?, None),
                    Kind::Answered | Kind::Late => {
                        let (_, reply) = reader.answer(event)?.unwrap();
                        ledger.tell(ticket.unwrap(), &reply)?;
                    }
                    Kind::Failed => ledger.fail(ticket.unwrap(), Failure::new().because(words.unwrap()))?,
                    Kind::Away => ledger.away(user.unwrap(), words)?,
                    Kind::Back => ledger.back(user.unwrap(), words)?,
                    kind => panic!("{kind} in a run without surprises"),
                }
            }
            Ok(())
        })
        .unwrap();
    let killed = reader.session().unwrap();
    assert_eq!(bits(ledger.session().point()), bits(killed.point()));
    assert_eq!(ledger.session().snapshot().unwrap(), killed.snapshot().unwrap());
    ledger.close().unwrap();
    let mut same = Vec::new();
    let collect = |event: Event| {
        same.push((event.kind, event.ticket, event.user, event.words, event.cost, event.numbers));
        Ok(())
    };
    Reader::open(&whole).unwrap().history(collect).unwrap();
    let events: Vec<_> =
        events.into_iter().map(|it| (it.kind, it.ticket, it.user, it.words, it.cost, it.numbers)).collect();
    assert_eq!(events, same);
}

/// Until users have received so many more.
pub fn wait_for_questions(path: &Path, child: &mut Child, more: u64) {
    let count = || fs::read(received(path)).map_or(0, |bytes| bytes.iter().filter(|it| **it == b'\n').count() as u64);
    let (start, patience) = (count(), Instant::now());
    while count() < start + more && child.try_wait().unwrap().is_none() {
        assert!(patience.elapsed() < Duration::from_secs(60), "the session hangs");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Chance itself: whatever comes must end alike.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        Self(RandomState::new().hash_one(std::process::id()) | 1)
    }

    /// Xorshift: a number below another one.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}
