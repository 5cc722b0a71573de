//! A hundred thousand hostile answers, and what they leave behind:
//!
//!     cargo run --release -p sgq-ledger --example hostile [ANSWERS]

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // its parts are those of a test

#[path = "../tests/it/clinics.rs"]
#[allow(dead_code)]
mod clinics;
#[path = "../tests/it/flood.rs"]
mod flood;

use std::{env, fs, time::Instant};

fn main() {
    let count = env::args().nth(1).map_or(100_000, |it| it.parse().expect("a number"));
    let folder = tempfile::tempdir_in(".").expect("a folder on the disk");
    let path = folder.path().join("study.sgq");
    let began = Instant::now();
    let (mut early, mut most) = (0, 0);
    flood::flood(&path, count, |number| {
        let now = resident();
        most = now.max(most);
        if number <= count / 10 {
            early = now.max(early);
        }
    });
    println!(
        "{count} hostile answers in {:.1} s: a row for each, and the session as it was",
        began.elapsed().as_secs_f64()
    );
    println!("the file has {} KiB", fs::metadata(&path).map_or(0, |it| it.len()) / 1024);
    println!("memory: {early} KiB at most in the first tenth, {most} KiB in all");
}

/// KiB of memory, where the system tells.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
