//! Users who take time, fail, are away or noisy, and say more than gradients.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::{read, read_text, succeeds, summary};

const PROBLEM: &str = "trials = 6\nbudget = 60\ntargets = [10, 1]\nstep_size = \"auto\"\n\
    [[problem]]\nname = \"p\"\nkind = \"quadratic\"\ncurvature = [1, 2, 0.5, 1]\ncenter = [2, 1, -1, -2]\nstart = 5\n\
    costs = [1, 2, 4, 1]\n";
const METHODS: &str = "[[method]]\nmethod = \"frugal\"\n[[method]]\nname = \"SAGA 3 out\"\nmethod = \"saga\"\nopen = 3\n\
    [[method]]\nmethod = \"ciag\"\nanswers = \"hessian\"\n";
const USERS: &str = "slowness = [1, 1, 3, 1]\n[users]\nlatency = { exponential = 1 }\nfailure = 0.2\n\
    late = { part = 0.1, by = 5 }\nabsence = { part = 0.2, lasts = 4 }\nnoise = { part = 0.001, stated = true }\n";

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("users.toml"), format!("{PROBLEM}{USERS}{METHODS}")).unwrap();
    for threads in ["1", "3"] {
        succeeds(place.path(), &["run", "users.toml", "--threads", threads, "--out", threads, "--quiet"]);
    }
    let folder = |threads: &str| place.path().join(threads);
    for file in ["curves.csv", "targets.csv", "summary.json", "curves.svg", "curves-time.svg", "report.html"] {
        assert_eq!(read(folder("1").join(file)), read(folder("3").join(file)), "{file}");
    }
    assert!(folder("1").join("curves-cost.png").exists() && folder("1").join("curves-numbers.png").exists());
}

#[test]
fn what_is_spent_is_reported() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("users.toml"), format!("{PROBLEM}{USERS}{METHODS}")).unwrap();
    let printed = succeeds(place.path(), &["run", "users.toml", "--out", "o"]);
    let folder = place.path().join("o");
    let curves = read_text(folder.join("curves.csv"));
    assert_eq!(curves.lines().next(), Some("problem,method,queries,gap_mean,gap_sem,time_mean,cost_mean,numbers_mean"));
    // Gradient, loss, Hessian and variance of one parameter: four numbers each.
    let ciag = curves.lines().find(|line| line.starts_with("p,ciag,60,")).unwrap();
    assert!(ciag.ends_with(",240.0"), "{ciag}");
    let targets = read_text(folder.join("targets.csv"));
    assert_eq!(targets.lines().next(), Some("problem,method,target,queries,time,cost,numbers"));
    assert_eq!(targets.lines().count(), 1 + 3 * 2);
    for words in ["time to reach a gap of", "cost to reach a gap of", "numbers sent to reach a gap of"] {
        assert!(printed.contains(words) && read_text(folder.join("report.html")).contains(words), "{printed}");
    }
    let summary = summary(&folder);
    let experiment = &summary["experiments"][0];
    assert_eq!(experiment["users"]["latency"]["exponential"], 1.0);
    let frugal = &experiment["results"][0];
    assert!(frugal["time_to_gap"]["1"].as_f64().unwrap() > 0.0, "{frugal}");
    assert_eq!(frugal["settings"]["open"], 1);
    // It was told the Hessians, and is no oracle.
    let ciag = &experiment["results"][2];
    assert_eq!((&ciag["oracle"], &ciag["settings"]["answers"]), (&Value::Bool(false), &Value::from("hessian")));
    assert!(!printed.contains("not billed"), "{printed}");
}

#[test]
fn without_users_nothing_is_added() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("plain.toml"), format!("{PROBLEM}[[method]]\nmethod = \"saga\"\n")).unwrap();
    succeeds(place.path(), &["run", "plain.toml", "--out", "o"]);
    let folder = place.path().join("o");
    assert!(read_text(folder.join("curves.csv")).starts_with("problem,method,queries,gap_mean,gap_sem\n"));
    assert!(!folder.join("targets.csv").exists() && !folder.join("curves-time.svg").exists());
    let text = read_text(folder.join("summary.json"));
    assert!(!text.contains("time_to_gap") && !text.contains("\"users\": {") && !text.contains("\"open\""));
}

/// With tuning, users behave the same way while settings are searched for and when queries are counted.
#[test]
fn a_benchmark_has_users_too() {
    let place = tempdir().unwrap();
    let head = PROBLEM.replace("step_size = \"auto\"\n", "");
    let tuned = format!("{head}[tuning]\ntrials = 4\nfrom = -2\nto = 0\n[[method]]\nmethod = \"saga\"\n");
    let failing = tuned.replace("[tuning]", "[users]\nfailure = 0.3\nnoise = 0.01\n[tuning]");
    for (name, text) in [("tuned", &tuned), ("failing", &failing)] {
        fs::write(place.path().join(format!("{name}.toml")), text).unwrap();
        succeeds(place.path(), &["run", &format!("{name}.toml"), "--out", name, "--quiet"]);
    }
    let summary = |name: &str| read_text(place.path().join(name).join("summary.csv"));
    assert_ne!(summary("tuned"), summary("failing"));
}

/// Where some method's users say more than gradients, the summary counts the numbers that were sent; otherwise it has no such
/// column.
#[test]
fn a_benchmark_counts_numbers_where_users_say_more() {
    let place = tempdir().unwrap();
    let head = PROBLEM.replace("step_size = \"auto\"\n", "");
    let plain = format!("{head}[tuning]\ntrials = 4\nfrom = -2\nto = 0\n[[method]]\nmethod = \"saga\"\n");
    let more = format!("{plain}[[method]]\nmethod = \"nim\"\nanswers = \"hessian\"\n");
    let summary = |name: &str, text: &str| {
        fs::write(place.path().join(format!("{name}.toml")), text).unwrap();
        succeeds(place.path(), &["run", &format!("{name}.toml"), "--out", name, "--quiet"]);
        read_text(place.path().join(name).join("summary.csv"))
    };
    assert!(summary("plain", &plain).lines().next().unwrap().ends_with(",settings"));
    let summary = summary("more", &more);
    let mut lines = summary.lines();
    assert!(lines.next().unwrap().ends_with(",settings,numbers"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        // One parameter: a gradient is one number; with loss and Hessian it is three.
        let each = if cells[1] == "nim" { 3 } else { 1 };
        let expected = cells[4].parse::<u64>().map_or(String::new(), |queries| (each * queries).to_string());
        assert_eq!(cells[12], expected, "{line}");
    }
    assert!(summary.contains(",nim,"), "{summary}");
}
