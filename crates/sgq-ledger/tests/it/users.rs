//! Users that are processes and folders, from Rust.

use std::{collections::BTreeMap, fs, time::Duration};

use sgq::{StopReason, method};
use sgq_ledger::{
    Doing, Ledger, Notice, Watcher,
    folder::Folder,
    process::{Ended, Options, run},
};

use crate::clinics::{self, bits, events, file, plan};

/// The same answers as those of `clinics`.
pub const CLINIC: &str = r#"
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    user = int(question["user"].split("-")[1])
    center = lambda place: (user * 7 + place * 3) % 5 - 2.0
    steep = lambda place: 0.5 + (user + place) % 3
    gradient = [steep(place) * (x - center(place)) for place, x in enumerate(question["point"])]
    print(json.dumps({"ticket": question["ticket"], "gradient": gradient}), flush=True)
"#;

/// Counts what happens, and interrupts after so many answers.
#[derive(Default)]
struct Counter {
    counts: BTreeMap<String, usize>,
    most: Option<usize>,
}

impl Counter {
    fn of(&self, doing: Doing) -> usize {
        self.counts.get(&format!("{doing:?}")).copied().unwrap_or(0)
    }
}

impl Watcher for Counter {
    fn notice(&mut self, notice: &Notice) {
        *self.counts.entry(format!("{:?}", notice.doing)).or_default() += 1;
    }

    fn is_interrupted(&self) -> bool {
        self.most.is_some_and(|most| self.of(Doing::Taken) >= most)
    }
}

/// Who is away holds nobody up, and an answer that comes twice counts once: nothing is asked again, and nothing fails.
#[test]
fn in_order_nothing_hangs_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let clinic = file(&folder, "clinic.py");
    let twice = "    print(json.dumps({\"ticket\": question[\"ticket\"], \"gradient\": gradient}), flush=True)\n";
    fs::write(&clinic, format!("{CLINIC}{twice}")).unwrap();
    let mut options = Options::new(format!("python3 -S {}", clinic.display()).parse().unwrap());
    (options.in_order, options.each) = (true, true);
    let mut ledger = Ledger::create(file(&folder, "study"), &plan(method::frugal(), 3, 60)).unwrap();
    let first = ledger.ask().unwrap().unwrap();
    ledger.away(first.user, None).unwrap();
    let mut counter = Counter { most: Some(12), ..Counter::default() };
    let ended = run(&mut ledger, &options, &mut counter).unwrap();
    assert!(matches!(ended, Ended::Interrupted | Ended::Waiting(_)), "{ended:?}");
    assert!(
        ledger.queries() > 0 && counter.of(Doing::Again) == 0 && counter.of(Doing::Failed) == 0,
        "{:?}",
        counter.counts
    );
}

#[test]
fn processes_answer_and_interruptions_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let clinic = file(&folder, "clinic.py");
    fs::write(&clinic, CLINIC).unwrap();
    let options = Options::new(format!("python3 -S {}", clinic.display()).parse().unwrap());
    let plan = plan(method::frugal(), 3, 60);
    let (whole, pieces, by_hand) = (file(&folder, "whole"), file(&folder, "pieces"), file(&folder, "by hand"));
    let mut ledger = Ledger::create(&whole, &plan).unwrap();
    let mut counter = Counter::default();
    let ended = run(&mut ledger, &options, &mut counter).unwrap();
    assert_eq!(ended, Ended::Stopped(StopReason::Budget { queries: 60 }));
    assert_eq!((counter.of(Doing::Sent), counter.of(Doing::Taken), counter.of(Doing::Started)), (60, 60, 1));
    let point = bits(ledger.session().point());
    drop(ledger);
    let mut ledger = Ledger::create(&by_hand, &plan).unwrap();
    clinics::run(&mut ledger);
    assert_eq!(bits(ledger.session().point()), point);
    drop(ledger);
    // Interrupted after every seven answers: what is out is waited for, and what is asked for meanwhile is put by the next run.
    let mut ledger = Ledger::create(&pieces, &plan).unwrap();
    let mut interrupted = 0;
    loop {
        let mut counter = Counter { most: Some(7), ..Counter::default() };
        match run(&mut ledger, &options, &mut counter).unwrap() {
            Ended::Interrupted => interrupted += 1,
            _ => break,
        }
        ledger.close().unwrap();
        ledger = Ledger::open(&pieces).unwrap();
    }
    assert!(interrupted >= 4, "{interrupted}");
    assert_eq!(bits(ledger.session().point()), point);
    drop(ledger);
    assert_eq!(events(&whole), events(&pieces));
}

#[test]
fn folders_are_exchanged() {
    let place = tempfile::tempdir().unwrap();
    let path = file(&place, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::saga(), 3, 30)).unwrap();
    let mut folder = Folder::new(file(&place, "exchange"), ledger.users());
    folder.settle = Duration::from_millis(1);
    let mut counter = Counter::default();
    let mut done = folder.exchange(&mut ledger, &mut counter).unwrap();
    assert!(!folder.has_news());
    while done.out > 0 {
        for question in ledger.pending() {
            let name = format!("exchange/from/{}/{}.json", question.name, question.ticket);
            let gradient = clinics::gradient(question.user, &question.point);
            fs::write(file(&place, &name), format!("{{\"gradient\": {gradient:?}}}")).unwrap();
        }
        assert!(folder.has_news());
        done = folder.exchange(&mut ledger, &mut counter).unwrap();
        assert!(done.taken > 0 && done.refused == 0);
    }
    assert_eq!((ledger.queries(), counter.of(Doing::Sent), counter.of(Doing::Taken)), (30, 30, 30));
}
