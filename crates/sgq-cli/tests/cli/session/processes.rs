//! Users that are processes, and what the bad ones among them do.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{count, is_sound, json, new, place, point, words};
use crate::{refuses, sgq, succeeds, text};

/// A run with a process that misbehaves with every second question, and quick retries.
fn run(place: &Path, name: &str, how: &str, more: &[&str]) -> Output {
    let command = format!("python3 -S clinic.py {how}");
    let arguments = ["session", "run", name, "--command", &command, "--wait", "10ms", "--quiet", "--json"];
    sgq(place, &[&arguments, more].concat())
}

fn status(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Whatever every second answer is, the session gets to its end, and nothing of it is in the state: the point is that of good users.
#[test]
fn every_mischief_has_a_row_and_no_effect() {
    let place = place();
    let place = place.path();
    let settings = ["--budget", "12", "--tol", "off"];
    new(place, "good.sgq", &settings);
    assert_eq!(status(&run(place, "good.sgq", "good", &[]))["queries"], 12);
    let good = point(place, "good.sgq");
    // How it misbehaves; what the rows are, how many there are at least, and what they say.
    for (how, kind, rows, said) in [
        ("nan", "refused", 6, "it holds NaN or Infinity, which is no number"),
        ("huge", "refused", 1, "1e300"),
        ("short", "refused", 1, "has 1 numbers, expected 2"),
        ("other-user", "refused", 1, "is for "),
        ("other-ticket", "refused", 6, "no question has the ticket 10000"),
        ("twice", "noted", 5, "the same answer came again"),
        ("twice", "refused", 5, "already has another answer"),
        ("flood", "refused", 6, "a line of 3000000 bytes"),
        ("flood", "refused", 18, "not text in UTF-8"),
        ("garbage", "refused", 280, "it is not JSON"),
        ("error", "noted", 1, "it said: the database is down"),
        ("crash", "noted", 1, "none at all"),
    ] {
        let name = format!("{how}-{kind}-{rows}.sgq");
        new(place, &name, &settings);
        let output = run(place, &name, how, &[]);
        let status = status(&output);
        assert_eq!(output.status.code(), Some(0), "{how}: {}", text(&output.stderr));
        assert_eq!((status["queries"].as_u64(), &*point(place, &name)), (Some(12), &*good), "{how}");
        assert!(count(place, &name, kind) >= rows, "{how}: {} of {kind}", count(place, &name, kind));
        assert!(words(place, &name, kind).contains(said), "{how}: {}", words(place, &name, kind));
        assert_eq!((count(place, &name, "answered"), count(place, &name, "failed")), (12, 0), "{how}");
        assert!(is_sound(place, &name), "{how}");
    }
}

/// A process that hangs, or reads nothing, is ended and asked again; one that never answers in time fails its questions.
#[test]
fn a_process_that_hangs_is_started_again() {
    let place = place();
    let place = place.path();
    new(place, "hang.sgq", &["--budget", "6", "--tol", "off"]);
    let output = run(place, "hang.sgq", "hang 4", &["--timeout", "1s"]);
    assert_eq!((output.status.code(), status(&output)["queries"].as_u64()), (Some(0), Some(6)));
    assert!(words(place, "hang.sgq", "noted").contains("no answer within 1 s"));
    // Every question comes to nothing: nothing has ever been answered, so the program is at fault, and no user but the first.
    new(place, "deaf.sgq", &["--budget", "6", "--tol", "off"]);
    let told = refused(&run(place, "deaf.sgq", "deaf 1", &["--timeout", "100ms"]));
    assert!(
        told.contains("has given no answer that can be taken (") && told.contains("no answer within 0.1 s"),
        "{told}"
    );
    assert_eq!((count(place, "deaf.sgq", "failed"), count(place, "deaf.sgq", "asked")), (1, 2));
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// A program that cannot work is named with its last words, and one question fails at most.
#[test]
fn a_program_that_never_works_is_named() {
    let place = place();
    let place = place.path();
    for more in [&[][..], &["--each"], &["--retries", "0"]] {
        let name = format!("study{}.sgq", more.len());
        new(place, &name, &["--budget", "6"]);
        let told = refused(&run(place, &name, "never 1", more));
        assert!(
            told.contains("\"python3 -S clinic.py never 1") && told.contains("has given no answer that can be taken ("),
            "{told}"
        );
        assert!(told.contains("exit status: 1): it does not work"), "{told}");
        assert!(told.contains("put it right, and run again: what is out is still open"), "{told}");
        assert_eq!(count(place, &name, "failed"), 1, "{more:?}");
        let told = refuses(place, &["session", "run", &name, "--command", "pyhton3 clinic.py"]);
        assert!(told.contains("cannot start \"pyhton3\"") && told.contains("give a program"), "{told}");
        // Put right, the same command goes on.
        let output = run(place, &name, "good", more);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

/// A user whose question makes the program of all fall over fails, also where the run before was killed over it.
#[test]
fn one_user_who_crashes_the_program_does_not_stop_it() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "8", "--tol", "off"]);
    fs::write(
        place.join("falls.py"),
        "import json, sys\nfor line in sys.stdin:\n    q = json.loads(line)\n    if q['user'] == 'south':\n        sys.exit('no rows')\n    \
         print(json.dumps({'ticket': q['ticket'], 'gradient': [x - len(q['user']) for x in q['point']]}), flush=True)\n",
    )
    .unwrap();
    // South's question is the one that is out.
    let asked = super::lines(place, &["session", "ask", "study.sgq", "--json"]);
    assert_eq!(asked.len(), 1);
    let arguments = ["session", "run", "study.sgq", "--command", "python3 -S falls.py", "--wait", "10ms"];
    let printed = succeeds_with_trouble(place, &arguments);
    assert!(printed.contains("queries               8 of 8"), "{printed}");
    assert!(printed.contains("south has never answered: the point is without"), "{printed}");
}

/// A program whose every answer is wrong fails one question at most: that of one user may be the user's own fault.
#[test]
fn a_program_that_is_always_wrong_is_named() {
    let place = place();
    let place = place.path();
    for (how, said) in [("short 1", "has 1 numbers, expected 2"), ("error 1", "it said: the database is down")] {
        for more in [&[][..], &["--each"], &["--open=3"]] {
            let name = format!("{how}-{}.sgq", more.concat());
            let (open, more) = if more == ["--open=3"] { (&["--open=3"][..], &[][..]) } else { (&[][..], more) };
            new(place, &name, &[&["--budget", "12", "--tol", "off"], open].concat());
            let told = refused(&run(place, &name, how, more));
            assert!(told.contains("has given no answer that can be taken (") && told.contains(said), "{told}");
            assert!(told.contains("(tried 3 times)); put it right, and run again"), "{told}");
            assert_eq!(count(place, &name, "failed"), usize::from(open.is_empty()), "{name}");
            // Put right, the same command goes on.
            assert_eq!(status(&run(place, &name, "good", more))["queries"], 12);
        }
    }
}

/// One user that never answers fails, and the others go on; a late answer is taken.
#[test]
fn one_bad_user_does_not_stop_the_others() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "12", "--tol", "off", "--open", "2"]);
    let command = r#"sh -c 'case "$SGQ_USER" in south) exec python3 -S clinic.py error 1;; *) exec python3 -S clinic.py good;; esac'"#;
    let arguments = ["session", "run", "study.sgq", "--command", command, "--each", "--wait", "10ms", "--retries", "1"];
    let printed = succeeds_with_trouble(place, &arguments);
    assert!(printed.contains("queries               12 of 12"), "{printed}");
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    let south = &status["users"][1];
    assert_eq!((south["name"].as_str(), south["answers"].as_u64()), (Some("south"), Some(0)));
    assert!(south["failures"].as_u64() > Some(0), "{south}");
    assert_eq!(south["last_reason"], "it said: the database is down (tried 2 times)");
    // After the end of the budget, too: it was asked, and says so late.
    let failed = super::events(place, "study.sgq").into_iter().find(|event| event.0 == "failed").unwrap();
    fs::write(place.join("late.json"), "{\"gradient\": [1, 2]}").unwrap();
    let told = succeeds(place, &["session", "tell", "study.sgq", &failed.1.unwrap().to_string(), "late.json"]);
    assert!(told.contains("taken, though late"), "{told}");
}

/// Where nobody can be asked any more, it says so, and how to go on.
#[test]
fn it_says_when_nobody_is_left() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "8", "--tol", "off", "--cost-budget", "50"]);
    let output = run(place, "study.sgq", "tires 1", &["--retries", "0"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("nobody can be asked: sgq session back study.sgq NAME says that somebody can be"), "{told}");
    let stopped = status(&output)["stopped"].as_str().unwrap().to_owned();
    assert!(stopped.contains("it said: the database is down"), "{stopped}");
    succeeds(place, &["session", "back", "study.sgq", "north"]);
    assert_eq!(status(&run(place, "study.sgq", "good", &[]))["queries"], 8);
    assert!(succeeds(place, &["session", "status", "study.sgq"]).contains(" left\n"));
    // A question to somebody who is away is not put, and nobody else can be asked.
    new(place, "away.sgq", &["--budget", "8", "--tol", "off"]);
    succeeds(place, &["session", "ask", "away.sgq"]);
    let pending = super::lines(place, &["session", "pending", "away.sgq", "--json"]);
    let user = pending[0]["user"].as_str().unwrap();
    succeeds(place, &["session", "away", "away.sgq", user]);
    let output = run(place, "away.sgq", "good", &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains(&format!("users who are away ({user}): sgq session back away.sgq NAME")), "{told}");
    succeeds(place, &["session", "fail", "away.sgq", "0"]);
    assert_eq!(status(&run(place, "away.sgq", "good", &[]))["queries"], 8);
}

fn succeeds_with_trouble(place: &Path, arguments: &[&str]) -> String {
    let output = sgq(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// A process of its own speaks for its user alone, whatever name it gives.
#[test]
fn nobody_speaks_for_another() {
    let place = place();
    let place = place.path();
    new(place, "names.sgq", &["--budget", "9", "--tol", "off"]);
    let output = run(place, "names.sgq", "other-user 2", &["--each"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(words(place, "names.sgq", "refused").contains("it is in the name of \"west\", and was sent by"));
    assert_eq!(count(place, "names.sgq", "answered"), 9);
}

/// A name that looks like a command is a name.
#[test]
fn names_are_no_commands() {
    let place = place();
    let place = place.path();
    fs::write(place.join("clinics.csv"), "user\n\"x; touch broken\"\n\"$(touch broken)\"\n").unwrap();
    fs::write(
        place.join("echo.py"),
        "import json, sys\nfor line in sys.stdin:\n    q = json.loads(line)\n    assert sys.argv[1] == q['user']\n    \
         print(json.dumps({'ticket': q['ticket'], 'gradient': [x - 1 for x in q['point']]}), flush=True)\n",
    )
    .unwrap();
    new(place, "study.sgq", &["--budget", "6", "--tol", "off"]);
    let arguments = ["session", "run", "study.sgq", "--command", "python3 -S echo.py {user}", "--quiet"];
    assert_eq!(succeeds(place, &arguments), "");
    assert_eq!(count(place, "study.sgq", "answered"), 6);
    assert!(!place.join("broken").exists());
}

/// Whoever answers one question and ends is started anew for the next: nothing went wrong.
#[test]
fn a_process_may_answer_one_question() {
    let place = place();
    let place = place.path();
    fs::write(
        place.join("one.sh"),
        "read -r question\nticket=${question#*:}\necho \"{\\\"ticket\\\": ${ticket%%,*}, \\\"gradient\\\": [1, 1]}\"\n",
    )
    .unwrap();
    new(place, "study.sgq", &["--budget", "5", "--tol", "off", "--method", "sgd", "--step-size", "0.1"]);
    assert_eq!(succeeds(place, &["session", "run", "study.sgq", "--command", "sh one.sh", "--quiet"]), "");
    assert_eq!((count(place, "study.sgq", "answered"), count(place, "study.sgq", "noted")), (5, 0));
}

/// The same seed and the same answers: the same bytes, however long each answer takes.
#[test]
fn in_order_the_clock_does_not_matter() {
    let place = place();
    let place = place.path();
    fs::write(
        place.join("pace.py"),
        "import json, os, sys, time\nfor line in sys.stdin:\n    q = json.loads(line)\n    \
         time.sleep(0.002 * ((os.getpid() + q['ticket'] * 5) % 7))\n    \
         print(json.dumps({'ticket': q['ticket'], 'gradient': [x - len(q['user']) for x in q['point']]}), flush=True)\n",
    )
    .unwrap();
    let mut points = Vec::new();
    for name in ["one.sgq", "two.sgq"] {
        new(place, name, &["--budget", "60", "--tol", "off", "--open", "3", "--method", "saga", "--step-size", "0.1"]);
        let arguments = ["session", "run", name, "--command", "python3 -S pace.py", "--each", "--in-order", "--quiet"];
        assert_eq!(succeeds(place, &arguments), "");
        points.push((point(place, name), super::events(place, name)));
    }
    assert_eq!(points[0], points[1]);
}

/// Whatever order answers come in, each is for its own question.
#[test]
fn answers_come_out_of_turn() {
    let place = place();
    let place = place.path();
    fs::write(
        place.join("turn.py"),
        "import json, os, select\nheld = b''\nwhile True:\n    select.select([0], [], [])\n    more = os.read(0, 100000)\n    \
         if not more:\n        break\n    held += more\n    \
         while select.select([0], [], [], 0.05)[0] and (more := os.read(0, 100000)):\n        held += more\n    \
         for line in reversed(held.decode().splitlines()):\n        q = json.loads(line)\n        \
         print(json.dumps({'ticket': q['ticket'], 'gradient': [x - len(q['user']) for x in q['point']]}), flush=True)\n    \
         held = b''\n",
    )
    .unwrap();
    let settings = ["--budget", "15", "--tol", "off", "--open", "3", "--method", "saga", "--step-size", "0.1"];
    let told_in = |name: &str, more: &[&str]| -> Vec<u64> {
        new(place, name, &settings);
        let run = ["session", "run", name, "--command", "python3 turn.py", "--quiet"];
        assert_eq!(succeeds(place, &[&run, more].concat()), "");
        assert!(is_sound(place, name));
        let answered = super::events(place, name).into_iter().filter(|event| event.0 == "answered");
        answered.filter_map(|event| event.1).collect()
    };
    let as_they_come = told_in("as-they-come.sgq", &[]);
    assert!(as_they_come.len() == 15 && !as_they_come.is_sorted(), "{as_they_come:?}");
    assert_eq!(told_in("in-order.sgq", &["--in-order"]), (0..15).collect::<Vec<u64>>());
}

/// A question that is out for too long fails, and its answer is taken all the same.
#[test]
fn leases_end_and_late_answers_are_taken() {
    let place = place();
    let place = place.path();
    fs::write(
        place.join("late.py"),
        "import json, sys, time\nfirst = True\nfor line in sys.stdin:\n    q = json.loads(line)\n    \
         time.sleep(0.4 if first else 0)\n    first = False\n    \
         print(json.dumps({'ticket': q['ticket'], 'gradient': [x - 1 for x in q['point']]}), flush=True)\n",
    )
    .unwrap();
    new(place, "study.sgq", &["--budget", "6", "--tol", "off"]);
    let arguments =
        ["session", "run", "study.sgq", "--command", "python3 -S late.py", "--each", "--lease", "200ms", "--quiet"];
    let output = sgq(place, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(words(place, "study.sgq", "failed").contains("its lease of 0.2 s has ended"));
    assert!(count(place, "study.sgq", "late") > 0);
}

/// Ctrl-C ends it with everything on the disk, and says how to go on.
#[test]
fn ctrl_c_says_how_to_go_on() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "40", "--tol", "off", "--open", "2"]);
    let run = ["session", "run", "study.sgq", "--command", "python3 -S clinic.py held"];
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(run)
        .current_dir(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !place.join("received.jsonl").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody was asked");
        sleep(Duration::from_millis(10));
    }
    // Others may look, and may not write.
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    assert_eq!((status["queries"].as_u64(), status["pending"].as_u64()), (Some(0), Some(2)));
    let told = refuses(place, &["session", "away", "study.sgq", "north"]);
    assert!(told.contains(&format!("is in use by process {}", child.id())), "{told}");
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    sleep(Duration::from_millis(300));
    // What is out is waited for.
    fs::write(place.join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    let how = "interrupted, and everything is on the disk; go on with: sgq session run study.sgq --command 'python3 -S clinic.py held'";
    assert!(told.contains(how), "{told}");
    assert_eq!(json(place, &["session", "status", "study.sgq", "--json"])["queries"], 2);
    assert!(succeeds(place, &run).contains("queries               40 of 40"));
}

/// A name that is not text is no reason to panic.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_with_a_name_that_is_not_text() {
    use std::os::unix::ffi::OsStrExt as _;

    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "40", "--tol", "off"]);
    let name = std::ffi::OsStr::from_bytes(b"ex\xff");
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["session", "exchange", "study.sgq", "--watch", "--every", "20ms"])
        .arg(name)
        .current_dir(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !place.join(name).join("to/west").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20) && child.try_wait().unwrap().is_none(), "nobody was asked");
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(100));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("go on with: sgq session exchange study.sgq --watch --every 20ms 'ex\u{fffd}'"), "{told}");
}

/// Twice, and it ends now, with the processes that it has started.
#[test]
fn ctrl_c_twice_ends_it_now() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "40", "--tol", "off"]);
    // A name of its own, to look for.
    let marked = format!("clinic-{}.py", std::process::id());
    fs::copy(place.join("clinic.py"), place.join(&marked)).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["session", "run", "study.sgq", "--command", &format!("sh -c 'python3 -S {marked} held; true'")])
        .current_dir(place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !place.join("received.jsonl").exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody was asked");
        sleep(Duration::from_millis(10));
    }
    let running = || Command::new("pgrep").args(["-f", &format!("python3 -S {marked}")]).output().unwrap().stdout;
    assert!(!running().is_empty());
    for _ in 0..2 {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("go on with: sgq session run"), "{}", text(&output.stderr));
    assert!(running().is_empty());
}

/// A log is JSON, a line for each thing that happens, and nothing else.
#[test]
fn a_log_is_json() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "4", "--tol", "off"]);
    let output = run(place, "study.sgq", "short 3", &["--log", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let log: Vec<Value> = text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |what: &str| log.iter().filter(|line| line["what"] == what).count();
    assert_eq!((of("sent"), of("taken"), of("refused"), of("again")), (5, 4, 1, 1), "{log:?}");
    let refused = log.iter().find(|line| line["what"] == "refused").unwrap();
    assert_eq!((refused["level"].as_str(), refused["ticket"].is_u64()), (Some("WARN"), true));
}

/// A person sees a few lines of a flood, and where all of it is; nothing steers the terminal.
#[test]
fn a_flood_does_not_fill_the_screen() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "4", "--tol", "off"]);
    let command = "python3 -S clinic.py flood 1";
    let arguments = ["session", "run", "study.sgq", "--command", command];
    let output = sgq(place, &arguments);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("more lines: sgq session history study.sgq has all of them"), "{told}");
    assert!(told.lines().count() < 15 && !told.contains('\u{1b}'), "{told}");
    assert_eq!(count(place, "study.sgq", "refused"), 16);
}

/// A thousand lines that are no answers for each that is: a row for each, and none in the state. `scripts/real_users.py fuzz` has a
/// hundred thousand.
#[test]
fn a_fuzzing_user_leaves_rows_and_nothing_else() {
    let place = place();
    let place = place.path();
    fs::copy(crate::root().join("scripts/real_users.py"), place.join("real_users.py")).unwrap();
    new(place, "good.sgq", &["--budget", "12", "--tol", "off"]);
    let run = |name, hostile: &str| {
        let command = format!("python3 -S real_users.py user --hostile {hostile}");
        let arguments =
            ["session", "run", name, "--command", &command, "--wrong-lines", "100000", "--wait", "1ms", "--quiet"];
        let output = sgq(place, &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    run("good.sgq", "0");
    new(place, "fuzzed.sgq", &["--budget", "12", "--tol", "off"]);
    run("fuzzed.sgq", "250");
    assert_eq!(point(place, "fuzzed.sgq"), point(place, "good.sgq"));
    let rows = count(place, "fuzzed.sgq", "refused") + count(place, "fuzzed.sgq", "noted");
    assert!(rows >= 12 * 250, "{rows}");
    assert!(is_sound(place, "fuzzed.sgq"));
}
