//! Users whose answers are always the same: (x − b)ᵀA(x − b)/2.

use std::path::{Path, PathBuf};

use sgq::{Method, Settings};
use sgq_ledger::{Ledger, Plan, Question, Reply, User};

pub const USERS: usize = 7;
pub const DIM: usize = 3;

pub fn plan(method: Method, open: usize, budget: u64) -> Plan {
    let users = (0..USERS).map(|user| User::named(format!("clinic-{user}"))).collect();
    let settings = Settings::new(vec![4.0, -3.0, 2.0], USERS).step_size(0.05).budget(budget).open(open).seed(11);
    Plan::new(method, settings, users)
}

pub fn answer(question: &Question) -> Reply {
    Reply::new(gradient(question.user, &question.point))
}

pub fn gradient(user: usize, point: &[f64]) -> Vec<f64> {
    let center = |coordinate: usize| ((user * 7 + coordinate * 3) % 5) as f64 - 2.0;
    let steep = |coordinate: usize| 0.5 + ((user + coordinate) % 3) as f64;
    point.iter().enumerate().map(|(i, x)| steep(i) * (x - center(i))).collect()
}

/// One answer to the question that is out the longest, and then as many questions as may be out: until it stops.
pub fn run(ledger: &mut Ledger) {
    while step(ledger) {}
}

pub fn step(ledger: &mut Ledger) -> bool {
    ledger.ask_many(usize::MAX).unwrap();
    let Some(question) = ledger.pending().into_iter().next() else {
        return false;
    };
    ledger.tell(question.ticket, &answer(&question)).unwrap();
    true
}

/// A folder in memory, where there is one: for tests that write much and kill nobody.
pub fn quick_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn file(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

/// A kind, a ticket, a user, and words.
pub type Happened = (String, Option<u64>, Option<usize>, Option<String>);

/// What happened, without when.
pub fn events(path: &Path) -> Vec<Happened> {
    let mut events = Vec::new();
    let reader = sgq_ledger::Reader::open(path).unwrap();
    reader
        .history(|event| {
            events.push((event.kind.to_string(), event.ticket, event.user, event.words));
            Ok(())
        })
        .unwrap();
    events
}

pub fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}
