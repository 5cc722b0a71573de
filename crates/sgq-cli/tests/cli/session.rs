//! `sgq session`: users who are somewhere else.

mod folders;
#[cfg(unix)]
mod kills;
mod missing;
mod mistakes;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod processes;
#[cfg(target_os = "linux")]
mod screen;
#[cfg(target_os = "linux")]
mod slow_disk;
#[cfg(unix)]
mod studies;
mod verbs;

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{folder_with, succeeds};

const CLINICS: &str = "user,cost,weight\nnorth,1,2\nsouth,2,1\nwest,1,1\n";

/// A clinic in Python. Its first argument says how it misbehaves, and a second one how often: each so manieth question.
const CLINIC: &str = r#"
import json, os, sys, time
how, every = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
centers = {"north": [1.0, -2.0], "south": [3.0, 0.5], "west": [-1.0, 1.0]}
seen = 0

def right(question):
    center = centers[question["user"]]
    steep = 1.0 + len(question["user"]) % 3
    return {"ticket": question["ticket"], "gradient": [steep * (x - c) for x, c in zip(question["point"], center)]}

def say(what):
    sys.stdout.write((what if isinstance(what, str) else json.dumps(what)) + "\n")
    sys.stdout.flush()

for line in sys.stdin:
    question = json.loads(line)
    with open("received.jsonl", "a") as file:
        file.write(line)
    seen += 1
    answer, wrong = right(question), seen > every if how == "tires" else seen % every == 0
    if how == "slow":
        time.sleep(0.003)
    if how == "held":
        # Until somebody says that it may go on.
        while not os.path.exists("go"):
            time.sleep(0.01)
    if not wrong or how in ("good", "slow", "held"):
        say(answer)
    elif how == "nan":
        say('{"ticket": %d, "gradient": [NaN, 1]}' % question["ticket"])
        say({**answer, "gradient": ["nan", 1]})
    elif how == "huge":
        say({**answer, "gradient": [1e300, 1]})
    elif how == "short":
        say({**answer, "gradient": [1.0]})
    elif how == "other-user":
        say({**answer, "user": "west" if question["user"] != "west" else "north"})
    elif how == "other-ticket":
        say({**answer, "ticket": 10**6 + seen})
        say(answer)
    elif how == "twice":
        say(answer)
        say(answer)
        say({**answer, "gradient": [0.0, 0.0]})
    elif how == "flood":
        sys.stdout.write("x" * 3_000_000 + "\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\x1b[2J\xff\n" * 3)
        say(answer)
    elif how == "garbage":
        for number in range(50):
            say("[" * number)
        say(answer)
    elif how == "crash":
        sys.exit("no rows left\nnone at all")
    elif how == "hang":
        time.sleep(3600)
    elif how in ("error", "tires"):
        say({"ticket": question["ticket"], "error": "the database is down"})
    elif how == "never":
        sys.exit("it does not work")
    elif how == "deaf":
        os.close(0)
        time.sleep(3600)
"#;

/// A folder with three clinics, and what makes one answer.
fn place() -> TempDir {
    let place = folder_with("clinics.csv", CLINICS);
    fs::write(place.path().join("clinic.py"), CLINIC).unwrap();
    place
}

/// A new session of three users and two parameters.
fn new(place: &Path, name: &str, more: &[&str]) {
    let arguments = ["session", "new", name, "--users", "clinics.csv", "--dim", "2", "--quiet"];
    assert_eq!(succeeds(place, &[&arguments, more].concat()), "");
}

fn json(place: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(place, arguments)).unwrap()
}

fn lines(place: &Path, arguments: &[&str]) -> Vec<Value> {
    succeeds(place, arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Kind, ticket, user and words of an event.
type Happened = (String, Option<u64>, Option<String>, Option<String>);

/// What happened, without when. That nobody could be asked is said again after a kill, and what is held depends on the clock.
fn events(place: &Path, name: &str) -> Vec<Happened> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let events = lines(place, &["session", "history", name, "--json"]).into_iter();
    let events =
        events.map(|it| (text(&it["kind"]).unwrap(), it["ticket"].as_u64(), text(&it["user"]), text(&it["words"])));
    events.filter(|event| event.0 != "waited" && event.0 != "held").collect()
}

fn count(place: &Path, name: &str, kind: &str) -> usize {
    events(place, name).iter().filter(|event| event.0 == kind).count()
}

/// The words of all events of a kind, one below the other.
fn words(place: &Path, name: &str, kind: &str) -> String {
    let events = events(place, name).into_iter().filter(|event| event.0 == kind);
    events.filter_map(|event| event.3).collect::<Vec<_>>().join("\n")
}

fn point(place: &Path, name: &str) -> String {
    succeeds(place, &["session", "point", name, "--json"])
}

fn is_sound(place: &Path, name: &str) -> bool {
    let verdict = json(place, &["session", "verify", name, "--json"]);
    verdict["sound"] == true && verdict["replays"] == true
}

/// The answer to a question, as the clinic in Python gives it.
fn answer(question: &Value) -> String {
    let (user, center) = match question["user"].as_str().unwrap() {
        "north" => (5, [1.0, -2.0]),
        "south" => (5, [3.0, 0.5]),
        _ => (4, [-1.0, 1.0]),
    };
    let steep = 1.0 + f64::from(user % 3);
    let gradient: Vec<f64> =
        (0..2).map(|place| steep * (question["point"][place].as_f64().unwrap() - center[place])).collect();
    format!("{{\"ticket\": {}, \"gradient\": {gradient:?}}}", question["ticket"])
}
