//! A run that is killed again and again ends as one that is not.

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{events, is_sound, new, place, point};
use crate::{read_text, succeeds};

const KILLS: u32 = 20;
const QUERIES: u64 = 400;
const OPEN: usize = 3;

#[test]
fn twenty_kills_change_nothing() {
    let place = place();
    let place = place.path();
    let settings =
        ["--budget", &QUERIES.to_string(), "--tol", "off", "--open", "3", "--method", "saga", "--step-size", "0.05"];
    new(place, "whole.sgq", &settings);
    let run = |name| ["session", "run", name, "--command", "python3 -S clinic.py slow", "--quiet"];
    succeeds(place, &run("whole.sgq"));
    std::fs::remove_file(place.join("received.jsonl")).unwrap();
    new(place, "pieces.sgq", &settings);
    // Instants that anybody can have again: after so many questions more, and so many milliseconds.
    let mut draw = 12_345_u64;
    let mut random = |below: u64| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) % below
    };
    let received =
        || std::fs::read(place.join("received.jsonl")).map_or(0, |it| it.split(|byte| *byte == b'\n').count());
    let mut killed = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(run("pieces.sgq"))
            .current_dir(place)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Every fifth dies while it starts.
        let until = if kill % 5 == 4 { 0 } else { received() + 1 + random(QUERIES / u64::from(KILLS)) as usize };
        let begun = Instant::now();
        while received() < until && begun.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(random(if until == 0 { 60 } else { 6 })));
        let is_over = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        killed += u32::from(!is_over);
    }
    assert!(received() > 100, "it was always killed at the start");
    assert!(killed >= KILLS - 3, "it was over before it was killed: {killed}");
    succeeds(place, &run("pieces.sgq"));
    assert_eq!(point(place, "pieces.sgq"), point(place, "whole.sgq"));
    assert_eq!(events(place, "pieces.sgq"), events(place, "whole.sgq"));
    assert!(is_sound(place, "pieces.sgq"));
    // Whatever users received is in the ledger, and what they received again was out at a kill.
    let mut received: BTreeMap<u64, usize> = BTreeMap::new();
    for line in read_text(place.join("received.jsonl")).lines() {
        let question: serde_json::Value = serde_json::from_str(line).unwrap();
        *received.entry(question["ticket"].as_u64().unwrap()).or_default() += 1;
    }
    let asked = events(place, "pieces.sgq").into_iter().filter(|event| event.0 == "asked");
    assert!(received.keys().copied().eq(asked.filter_map(|event| event.1)));
    let again: usize = received.values().map(|times| times - 1).sum();
    assert!(again <= OPEN * killed as usize, "{again} questions came again after {killed} kills");
}
