//! A session of several thousand queries that is killed two hundred times, and ends as if it had not been:
//!
//!     cargo run --release -p sgq-ledger --example kills [KILLS] [QUERIES]

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // its parts are those of a test

#[path = "../tests/it/clinics.rs"]
#[allow(dead_code)]
mod clinics;
#[path = "../tests/it/killing.rs"]
mod killing;

use std::{env, path::Path, process::Command, time::Instant};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [word, path] = arguments.as_slice()
        && word == "session"
    {
        return killing::session(Path::new(path));
    }
    let number = |place: usize, default| arguments.get(place).map_or(default, |it| it.parse().expect("a number"));
    let (kills, queries) = (number(0, 200), number(1, 2000));
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let path = folder.path().join("study.sgq");
    let start = || {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.arg("session").arg(&path);
        command
    };
    let began = Instant::now();
    let outcome = killing::kill_and_compare(&path, start, kills as u32, queries);
    println!(
        "{} kills, {} answers in {:.1} s: the same events and the same state, to the byte, as without an interruption",
        outcome.kills,
        outcome.answers,
        began.elapsed().as_secs_f64()
    );
    println!(
        "{} questions were received a second time, of {} that were out",
        outcome.received_again,
        kills * killing::OPEN as u64
    );
}
