//! The command line, as a user types it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests
// Signals are tested where there are some, and full disks on Linux.
#![cfg_attr(not(target_os = "linux"), allow(unused_imports, dead_code))]

mod answer;
mod bad_input;
mod bench;
mod benchmark;
mod certify;
mod early_ends;
mod fit;
mod fit_on_ledger;
mod glm;
mod overwriting;
mod plan;
mod random;
mod report_data;
mod reproduce;
mod serve;
mod session;
mod terminal;
mod users;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

fn sgq(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sgq")).args(arguments).current_dir(folder).output().unwrap()
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = sgq(folder, arguments);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "sgq {arguments:?}: {stdout}{stderr}");
    let is_warning = |line: &str| line.starts_with("warning: NOT CONVERGED: ");
    assert!(stderr.lines().all(is_warning), "nothing else on stderr, where nobody watches: {stderr}");
    stdout
}

/// Fails with exit code 2, says nothing on stdout, and returns what it says on stderr.
fn refuses(folder: &Path, arguments: &[&str]) -> String {
    let output = sgq(folder, arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "sgq {arguments:?}: {stderr}");
    assert_eq!(text(&output.stdout), "");
    assert!(stderr.starts_with("error: "), "{stderr}");
    stderr
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn read_text(path: impl AsRef<Path>) -> String {
    text(&read(path))
}

fn summary(folder: &Path) -> Value {
    serde_json::from_slice(&read(folder.join("summary.json"))).unwrap()
}

#[test]
fn every_experiment_in_the_repository_runs() {
    let place = tempdir().unwrap();
    let mut count = 0;
    for entry in fs::read_dir(root().join("experiments")).unwrap() {
        let file = entry.unwrap().path();
        // The benchmarks need data; they have tests of their own.
        if String::from_utf8(read(&file)).unwrap().contains("../data/") {
            continue;
        }
        let out = format!("quick-{count}");
        succeeds(place.path(), &["run", file.to_str().unwrap(), "--trials", "2", "--queries", "30", "--out", &out]);
        count += 1;
    }
    assert!(count >= 2);
}

/// An outsider's check of a trace: every choice, every step and every count, from the lines alone.
#[test]
fn a_trace_can_be_checked_by_an_outsider() {
    let place = tempdir().unwrap();
    let file = root().join("experiments/paper-fig1.toml");
    succeeds(
        place.path(),
        &["run", file.to_str().unwrap(), "--trials", "3", "--queries", "80", "--out", "t", "--trace"],
    );
    let folder = place.path().join("t/trace");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 5 * 3);
    let (step, centers) = (0.015, [2.0, 1.0, -1.0, -2.0]);
    let mut exploited = 0;
    for trial in 0..3 {
        let trace = read_text(folder.join(format!("SGQ-{trial}.jsonl")));
        let mut held = [(0.0, 0.0); 4]; // each user's last gradient and where it was taken
        let mut x = 5.0;
        for (number, line) in trace.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            let user = line["user"].as_u64().unwrap() as usize;
            let gradient = line["gradient"][0].as_f64().unwrap();
            assert_eq!(line["queries"], number as u64 + 1);
            assert_eq!(line["point"][0].as_f64().unwrap().to_bits(), f64::to_bits(x));
            assert_eq!(gradient, 2.0 * (x - centers[user]));
            match line["explored"].as_bool() {
                None => assert!(number < 4 && user == number),
                Some(explored) => {
                    let mean = held.iter().map(|(g, _)| g).sum::<f64>() / 4.0;
                    let errors = held.map(|(_, at)| 2.0 * f64::abs(at - x));
                    let mean_error = errors.iter().sum::<f64>() / 4.0;
                    let score = |i: usize| {
                        let (g, e) = (held[i].0, errors[i]);
                        let improvement = step * mean * g - step * step * g * g;
                        let bonus = (step * mean.abs() + 2.0 * step * step * g.abs()) * e
                            + step * g.abs() * mean_error
                            + step * e * mean_error
                            + step * step * e * e;
                        improvement + bonus
                    };
                    if !explored {
                        exploited += 1;
                        assert!((0..4).all(|other| score(user) >= score(other) - 1e-12));
                    }
                    x -= step * gradient;
                }
            }
            held[user] = (gradient, line["point"][0].as_f64().unwrap());
        }
        assert_eq!(trace.lines().count(), 80);
    }
    assert!(exploited > 100);
}

const GOOD: &str = r#"name = "t"
budget = 30
trials = 3
step_size = 0.015

[[problem]]
name = "toy"
kind = "quadratic"
curvature = [1, 1]
center = [2, -1]
start = 5

[[method]]
name = "A"
method = "sgq"
p = 0.3
"#;

fn folder_with(name: &str, contents: &str) -> TempDir {
    let place = tempdir().unwrap();
    fs::write(place.path().join(name), contents).unwrap();
    place
}

#[test]
fn parts_compose_and_several_problems_stand_apart() {
    let file = GOOD.replace(
        "p = 0.3",
        "\n[[method]]\nchoice = \"shuffled\"\nupdate = \"saga\"\nstep_size = { initial = 0.1, rate = 0.01 }\n\
         [[method]]\nname = \"lazy\"\nchoice = \"balanced\"\nupdate = \"quasi-newton\"\nlazy = true\n\
         [[method]]\nname = \"warm\"\nmethod = \"diag\"\nlazy = true\nstep_size = { size = 0.1, warm_up = 4, fall = 0.5 }\n\
         [[method]]\nname = \"three\"\nmethod = \"saga\"\nopen = 3\n\
         [[method]]\nname = \"ball\"\nchoice = \"shuffled\"\nupdate = \"heavy-ball\"\nmomentum = 0.5\n\
         step_size = { initial = 0.1, rate = 0.01, root = true }\n",
    ) + "\n[[problem]]\nname = \"dense\"\nkind = \"quadratic\"\ncurvature = [[[2, 1], [1, 2]], [[1, 0], [0, 1]]]\n\
           center = [[0, 1], [1, 0]]\nstart = [3, 3]\n";
    let place = folder_with("x.toml", &file);
    let stdout = succeeds(place.path(), &["run", "x.toml", "--trace", "--out", "o"]);
    assert!(stdout.contains("t: toy") && stdout.contains("t: dense"), "{stdout}");
    let csv = read_text(place.path().join("o/curves.csv"));
    assert_eq!(csv.lines().count(), 1 + 12 * 31);
    for method in ["shuffled + saga", "lazy", "warm", "three", "ball"] {
        assert!(csv.contains(&format!("\ndense,{method},30,")), "{method}");
    }
    for file in ["curves-toy.svg", "curves-dense.png", "trace/dense/shuffled + saga-2.jsonl"] {
        assert!(place.path().join("o").join(file).exists(), "{file}");
    }
}

#[test]
fn divergence_is_said_and_not_hidden() {
    let place = folder_with("x.toml", &GOOD.replace("0.015", "3"));
    let stdout = succeeds(place.path(), &["run", "x.toml"]);
    assert!(stdout.contains("A: 3 of 3 trials diverged"), "{stdout}");
    let row = &summary(&place.path().join("out/t"))["experiments"][0]["results"][0];
    assert_eq!((&row["diverged_trials"], &row["final_gap_mean"]), (&3.into(), &Value::Null));
    assert!(read_text(place.path().join("out/t/curves.csv")).ends_with("A,30,inf,NaN\n"));
}

#[test]
fn every_command_explains_itself() {
    let place = tempdir().unwrap();
    for command in
        ["", "reproduce", "run", "methods", "fit", "predict", "plan", "plan new", "plan show", "plan check", "answer"]
    {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = succeeds(place.path(), &arguments);
        assert!(help.contains("Example:\n  sgq ") || help.contains("Examples:\n  sgq "), "{command}: {help}");
    }
    for command in ["reproduce", "run", "methods", "fit"] {
        let help = succeeds(place.path(), &[command, "--help"]);
        assert!(help.contains("--quiet") && help.contains("--json"), "{help}");
    }
    assert!(succeeds(place.path(), &["--version"]).starts_with("sgq "));
}

#[test]
fn quiet_is_quiet_and_json_is_json() {
    let place = folder_with("x.toml", GOOD);
    assert_eq!(succeeds(place.path(), &["run", "x.toml", "--quiet"]), "");
    let printed = succeeds(place.path(), &["run", "x.toml", "--json", "--quiet"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed, summary(&place.path().join("out/t")));
}

#[test]
fn methods_are_listed() {
    let place = tempdir().unwrap();
    let list = succeeds(place.path(), &["methods"]);
    for name in ["sgd", "shuffled-sgd", "ogq", "sgq", "saga", "svrg", "saga-sgq", "surrogate-ei", "inner_steps"] {
        assert!(list.contains(&format!("  {name}")), "{name}: {list}");
    }
    let json: Value = serde_json::from_str(&succeeds(place.path(), &["methods", "--json"])).unwrap();
    let methods = json["methods"].as_array().unwrap();
    let names: Vec<_> = methods.iter().map(|method| method["name"].as_str().unwrap()).collect();
    assert_eq!(names, sgq::method::METHODS.iter().map(|entry| entry.name).collect::<Vec<_>>());
    // What is listed can be run.
    let mut file = GOOD[..GOOD.find("[[method]]").unwrap()].to_owned();
    for method in methods {
        file += &format!("[[method]]\nmethod = {}\n", method["name"]);
    }
    fs::write(place.path().join("all.toml"), file).unwrap();
    succeeds(place.path(), &["run", "all.toml"]);
}

#[test]
fn traces_of_an_earlier_run_do_not_mix_with_new_ones() {
    let place = folder_with("x.toml", GOOD);
    for (trials, seed) in [("5", "1"), ("2", "2")] {
        let run = ["run", "x.toml", "--trace", "--out", "o", "--force", "--trials", trials, "--seed", seed];
        succeeds(place.path(), &run);
    }
    let count = || fs::read_dir(place.path().join("o/trace")).unwrap().count();
    assert_eq!(count(), 2);
    // What is somebody else's stays.
    for name in ["B-1.jsonl", "A-x.jsonl", "A-1.txt"] {
        fs::write(place.path().join("o/trace").join(name), "").unwrap();
    }
    succeeds(place.path(), &["run", "x.toml", "--trace", "--out", "o", "--force", "--trials", "1"]);
    assert_eq!(count(), 4);
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let pages = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    for path in ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)).into_iter().chain(pages) {
        let text = read_text(&path);
        for link in text.split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            let (file, section) = target.split_once('#').unwrap_or((target, ""));
            if target.starts_with("http") || target.contains(char::is_whitespace) {
                continue;
            }
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(file.exists(), "{} links to {target}", path.display());
            if !section.is_empty() {
                let there = read_text(&file);
                let mut headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.any(|heading| heading == section), "{} links to {target}", path.display());
            }
        }
    }
}

/// What a heading is called in links: small letters, digits and hyphens.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words.replace(' ', "-").chars().filter(|it| it.is_alphanumeric() || "-_".contains(*it)).collect()
}
