//! Users that are folders.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{answer, count, is_sound, json, lines, new, place, point, words};
use crate::{read_text, sgq, succeeds, text};

fn exchange(place: &Path, more: &[&str]) -> String {
    let output = sgq(place, &[&["session", "exchange", "study.sgq", "ex"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

/// The questions that lie there: user, ticket, and what they say.
fn questions(place: &Path) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for user in fs::read_dir(place.join("ex/to")).unwrap() {
        let user = user.unwrap();
        for file in fs::read_dir(user.path()).unwrap() {
            let path = file.unwrap().path();
            let ticket = path.file_stem().unwrap().to_string_lossy().into_owned();
            let question = serde_json::from_str(&read_text(&path)).unwrap();
            found.push((user.file_name().to_string_lossy().into_owned(), ticket, question));
        }
    }
    found.sort_by_key(|(_, ticket, _)| ticket.clone());
    found
}

fn put(place: &Path, user: &str, name: &str, contents: impl AsRef<[u8]>) {
    fs::write(place.join("ex/from").join(user).join(name), contents).unwrap();
}

#[test]
fn a_session_through_folders() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "12", "--tol", "off", "--open", "2"]);
    let told = exchange(place, &[]);
    assert!(told.contains("2 questions are out in ex/to"), "{told}");
    let mut rounds = 0;
    loop {
        let out = questions(place);
        if out.is_empty() {
            break;
        }
        // Looking again changes nothing.
        exchange(place, &["--quiet"]);
        assert_eq!(questions(place), out);
        for (user, ticket, question) in &out {
            assert_eq!(question["ticket"].to_string(), *ticket);
            assert_eq!(question["user"], *user);
            put(place, user, &format!("{ticket}.json"), answer(question));
        }
        exchange(place, &["--quiet"]);
        rounds += 1;
    }
    assert_eq!((rounds, count(place, "study.sgq", "answered")), (6, 12));
    assert!(exchange(place, &[]).contains("the budget of 12 queries is spent"));
    // A session by processes of the same answers is the same.
    new(place, "other.sgq", &["--budget", "12", "--tol", "off", "--open", "2"]);
    loop {
        let output = sgq(place, &["session", "ask", "other.sgq", "--json"]);
        let told = text(&output.stdout);
        if told.is_empty() {
            break;
        }
        for question in told.lines() {
            let question: Value = serde_json::from_str(question).unwrap();
            fs::write(place.join("answer.json"), answer(&question)).unwrap();
            // Asked anew after each answer, as folders are.
            succeeds(place, &["session", "tell", "other.sgq", &question["ticket"].to_string(), "answer.json"]);
            sgq(place, &["session", "ask", "other.sgq"]);
        }
    }
    assert_eq!(point(place, "study.sgq"), point(place, "other.sgq"));
    assert!(is_sound(place, "study.sgq"));
    let taken = |user| fs::read_dir(place.join("ex/from").join(user).join("taken")).unwrap().count();
    assert_eq!(taken("north") + taken("south") + taken("west"), 12);
}

/// A file that nobody will read is named once, and an editor's byte order mark is passed over.
#[test]
fn files_with_other_names_are_pointed_out() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "12", "--tol", "off"]);
    exchange(place, &[]);
    let (user, ticket, question) = questions(place).remove(0);
    put(place, &user, "0.json.txt", answer(&question));
    put(place, &user, ".0.json.partial", "{");
    let told = exchange(place, &[]);
    let waits = format!("{user}: waits: ex/from/{user}/0.json.txt is not named like an answer (17.json)");
    assert_eq!(told.lines().filter(|line| *line == waits).count(), 1, "{told}");
    assert!(!told.contains("partial") && told.contains("0 answers taken, 0 files refused"), "{told}");
    put(place, &user, &format!("{ticket}.JSON"), format!("\u{feff}{}", answer(&question)));
    let told = exchange(place, &[]);
    assert!(told.contains("1 answer taken, 0 files refused"), "{told}");
    // The folders that it makes itself are no strangers.
    let told = exchange(place, &[]);
    assert!(place.join("ex/from").join(&user).join("taken").is_dir() && told.matches("waits").count() == 1, "{told}");
}

/// What is wrong is set aside with the reason beside it, and its question stays; what may be half copied waits.
#[test]
fn wrong_files_are_set_aside() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "12", "--tol", "off"]);
    exchange(place, &[]);
    let (user, ticket, question) = questions(place).remove(0);
    let other = if user == "north" { "south" } else { "north" };
    let file = format!("{ticket}.json");
    for (round, (folder, name, contents, reason)) in [
        (&*user, &*file, "{\"gradient\": [1]}".to_owned(), "has 1 numbers, expected 2"),
        (&user, &file, "{\"gradient\": [1e300, 1]}".to_owned(), "1e300"),
        (&user, &file, "{\"gradient\": [1, 2], \"losss\": 1}".to_owned(), "\"losss\""),
        (&user, "99.json", "{\"gradient\": [1, 2]}".to_owned(), "no question has the ticket 99"),
        (&user, "98.json", "{\"error\": \"no rows\"}".to_owned(), "it is an error for the question 98"),
        (&user, "97.json", answer(&question), "its name has the ticket 97, and it says 0"),
        (&user, "answer.json", "{\"gradient\": [1, 2]}".to_owned(), "neither its name nor its \"ticket\""),
        (&user, &file, format!("{{\"user\": \"{other}\", \"gradient\": [1, 2]}}"), "it is in the name of"),
        (other, &file, "{\"gradient\": [1, 2]}".to_owned(), "is for "),
    ]
    .into_iter()
    .enumerate()
    {
        put(place, folder, name, &contents);
        let told = exchange(place, &[]);
        assert!(told.contains("1 file refused") && told.contains(reason), "{contents}: {told}");
        let aside = place.join("ex/from").join(folder).join("refused");
        let stem = name.strip_suffix(".json").unwrap();
        let kept: Vec<_> =
            fs::read_dir(&aside).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(kept.iter().any(|it| it.starts_with(stem) && it.ends_with(".reason.txt")), "{kept:?}");
        assert!(kept.iter().any(|it| it.starts_with(stem) && it.ends_with(".json")), "{kept:?}");
        assert_eq!(count(place, "study.sgq", "refused"), round + 1, "{contents}");
        assert_eq!(questions(place).len(), 1, "{contents}");
    }
    // The first half, then all of it.
    let whole = answer(&question);
    put(place, &user, &file, &whole[..whole.len() / 2]);
    let told = exchange(place, &[]);
    assert!(told.contains("1 file incomplete") && told.contains("it may not be complete yet"), "{told}");
    assert_eq!(count(place, "study.sgq", "refused"), 9);
    put(place, &user, &file, &whole);
    // What programs write before they rename it is not looked at.
    put(place, &user, ".1.json.partial", "{");
    put(place, &user, "notes.txt", "{");
    assert!(exchange(place, &[]).contains("1 answer taken"));
    // One that stays as it is will never be whole.
    let (user, ticket, _) = questions(place).remove(0);
    put(place, &user, &format!("{ticket}.json"), "{\"gradient\": [1,");
    sleep(Duration::from_millis(60));
    let told = exchange(place, &["--settle", "50ms"]);
    assert!(told.contains("1 file refused") && told.contains("it is not JSON"), "{told}");
    // A user may say that there is none.
    put(place, &user, &format!("{ticket}.json"), "{\"error\": \"no consent\"}");
    assert!(exchange(place, &[]).contains("1 question failed"));
    assert_eq!(words(place, "study.sgq", "failed"), "it said: no consent");
    assert!(is_sound(place, "study.sgq"));
}

/// Whatever users are called, everything stays in the folder; links and pipes are not read.
#[test]
fn nothing_leads_out_of_the_folder() {
    let place = place();
    let place = place.path();
    fs::create_dir(place.join("inner")).unwrap();
    fs::write(
        place.join("inner/clinics.csv"),
        "user\n../../../../escaped\n/tmp/escaped\n..\nC:\\escaped\nnorth\nNORTH\nCON\n.hidden\n\"a,b\"\n",
    )
    .unwrap();
    let inner = place.join("inner");
    let before = fs::read_dir(place).unwrap().count();
    new(&inner, "study.sgq", &["--budget", "9", "--tol", "off", "--open", "9"]);
    exchange(&inner, &[]);
    assert_eq!(questions(&inner).len(), 9);
    assert_eq!(fs::read_dir(place).unwrap().count(), before);
    assert_eq!(fs::read_dir(inner.join("ex/to")).unwrap().count(), 9);
    #[cfg(unix)]
    {
        fs::write(place.join("secret.json"), "{\"gradient\": [1, 2]}").unwrap();
        let ticket = questions(&inner).into_iter().find(|(user, ..)| user == "north").unwrap().1;
        let file = inner.join("ex/from/north").join(format!("{ticket}.json"));
        std::os::unix::fs::symlink(place.join("secret.json"), &file).unwrap();
        Command::new("mkfifo").arg(inner.join("ex/from/north/7777.json")).status().unwrap();
        let told = exchange(&inner, &[]);
        assert!(told.contains("2 files refused") && told.contains("it is no plain file"), "{told}");
        assert!(place.join("secret.json").exists());
    }
    fs::create_dir(inner.join("ex/from/nroth")).unwrap();
    let told = exchange(&inner, &[]);
    assert!(told.contains("no user has this folder; nothing in it is read"), "{told}");
}

#[test]
fn leases_end() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    exchange(place, &[]);
    let (user, ticket, question) = questions(place).remove(0);
    sleep(Duration::from_millis(30));
    let told = exchange(place, &["--lease", "20ms"]);
    assert!(told.contains("1 question failed") && told.contains("its lease of 0.02 s has ended"), "{told}");
    let out = questions(place);
    assert!(out.len() == 1 && out[0].0 != user, "{out:?}");
    put(place, &user, &format!("{ticket}.json"), answer(&question));
    let told = exchange(place, &[]);
    assert!(told.contains("1 answer taken") && told.contains("late"), "{told}");
}

/// It goes on until the session stops; meanwhile others can write.
#[test]
fn watching_goes_on_until_it_stops() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "8", "--tol", "off", "--open", "2"]);
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["session", "exchange", "study.sgq", "ex", "--watch", "--every", "20ms", "--log", "json"])
        .current_dir(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut said_away = false;
    while count_answers(place) < 8 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not go on");
        for (user, ticket, question) in if place.join("ex/to").exists() { questions_now(place) } else { Vec::new() } {
            let from = place.join("ex/from").join(&user);
            if !from.join("taken").join(format!("{ticket}.json")).exists() {
                // As a person or a program should: whole, under another name first.
                fs::write(from.join(".partial"), answer(&question)).unwrap();
                fs::rename(from.join(".partial"), from.join(format!("{ticket}.json"))).unwrap();
            }
        }
        if !said_away {
            said_away = sgq(place, &["session", "away", "study.sgq", "west"]).status.success();
        }
        sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said_away && text(&output.stdout).contains("8 answers taken"), "{}", text(&output.stdout));
    let log = text(&output.stderr);
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    assert!(questions(place).is_empty() && is_sound(place, "study.sgq"));
}

fn count_answers(place: &Path) -> u64 {
    json(place, &["session", "status", "study.sgq", "--json"])["queries"].as_u64().unwrap()
}

/// The same, while files come and go.
fn questions_now(place: &Path) -> Vec<(String, String, Value)> {
    let pending = lines(place, &["session", "pending", "study.sgq", "--json"]);
    let out = pending.into_iter().map(|it| (it["user"].as_str().unwrap().to_owned(), it["ticket"].to_string(), it));
    out.filter(|(user, ticket, _)| place.join("ex/to").join(user).join(format!("{ticket}.json")).exists()).collect()
}
