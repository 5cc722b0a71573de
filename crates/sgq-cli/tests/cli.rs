//! The command line, as a user types it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
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
    assert_eq!(stderr, "", "nothing on stderr, where nobody watches");
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

/// Queries to a gap, by method.
fn queries_to(experiment: &Value, method: &str, gap: &str) -> u64 {
    let rows = experiment["results"].as_array().unwrap();
    let row = rows.iter().find(|row| row["method"] == method).unwrap();
    row["queries_to_gap"][gap].as_u64().unwrap()
}

#[test]
fn reproduce_writes_both_figures() {
    let place = tempdir().unwrap();
    let stdout = succeeds(place.path(), &["reproduce"]);
    let out = place.path().join("out/paper");

    let fig1 = summary(&out)["experiments"][0].clone();
    assert!((49..=55).contains(&queries_to(&fig1, "SGQ", "0.1")));
    assert!((92..=106).contains(&queries_to(&fig1, "SGD", "0.1")));
    assert_eq!(queries_to(&fig1, "OGQ", "0.1"), 37);
    assert_eq!(queries_to(&fig1, "SVRG", "0.1"), 131);
    assert_eq!(fig1["seed"], 1);
    assert_eq!(summary(&out)["version"], env!("CARGO_PKG_VERSION"));

    // OGQ paid one query a step and looked at four gradients for each.
    let ogq = &fig1["results"][1];
    assert_eq!((&ogq["method"], &ogq["oracle"]), (&"OGQ".into(), &true.into()));
    assert_eq!(ogq["billed_queries"], 200 * 400);
    assert_eq!(ogq["diagnostic_gradients"], 200 * 400 * 4);

    for (name, methods) in [
        ("fig1", vec!["SGD", "OGQ", "SGQ", "SAGA", "SVRG"]),
        ("fig2", vec!["SGD", "OGQ", "SGQ p=0.1", "SGQ p=0.3", "SGQ p=0.5", "SGQ p=0.7", "SGQ p=0.9"]),
    ] {
        let csv = read_text(out.join(format!("{name}.csv")));
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some("method,queries,gap_mean,gap_sem"));
        for method in methods {
            for queries in 0..=400 {
                let cells: Vec<&str> = lines.next().unwrap().split(',').collect();
                assert_eq!(cells[..2], [method, &queries.to_string()]);
                let (mean, sem): (f64, f64) = (cells[2].parse().unwrap(), cells[3].parse().unwrap());
                assert!(mean > 0.0 && mean <= 25.0 && sem >= 0.0);
                if queries == 0 {
                    assert_eq!((mean, sem), (25.0, 0.0));
                }
            }
        }
        assert_eq!(lines.next(), None);
        assert!(read_text(out.join(format!("{name}.svg"))).contains("OGQ (oracle, looks not billed)"));
        assert!(read(out.join(format!("{name}.png"))).starts_with(b"\x89PNG\r\n\x1a\n"));
    }

    // One page, whole in itself.
    let report = read_text(out.join("report.html"));
    assert_eq!(report.matches("<svg").count(), 2);
    assert_eq!(report.matches("<table").count(), 2);
    for reference in ["src=", "href=", "@import", "url(http"] {
        assert!(!report.contains(reference), "{reference}");
    }

    // What no theorem covers is said, in the terminal and in the report.
    for place in [&stdout, &report] {
        assert!(place.contains("SGQ: no theorem covers its step size, 1.500e-2"), "{place}");
    }
    let billed: Vec<u64> = serde_json::from_value(fig1["results"][4]["billed_per_user"].clone()).unwrap();
    assert_eq!(billed.iter().sum::<u64>(), 200 * 400);
    // SVRG's snapshots alone ask everybody 29 times a trial.
    assert!(billed.iter().all(|count| (12_000..28_000).contains(count)), "{billed:?}");

    let sgq = queries_to(&fig1, "SGQ", "0.1");
    assert!(stdout.contains(&format!("SGQ reaches 0.1 with {sgq} queries")), "{stdout}");
    assert!(stdout.contains("written to out/paper: fig1.csv"), "{stdout}");

    // The README's figures are what this command makes.
    for figure in ["fig1.svg", "fig2.svg"] {
        assert!(
            read(out.join(figure)) == read(root().join("docs/figures").join(figure)),
            "docs/figures/{figure} is out of date: cargo run --release -- reproduce, then copy it there"
        );
    }
}

#[test]
fn threads_and_time_do_not_change_a_byte() {
    let place = tempdir().unwrap();
    for threads in ["1", "8"] {
        succeeds(place.path(), &["reproduce", "--threads", threads, "--out", threads, "--seed", "9", "--trials", "70"]);
    }
    let mut files = 0;
    for entry in fs::read_dir(place.path().join("1")).unwrap() {
        let name = entry.unwrap().file_name();
        let [one, eight] = ["1", "8"].map(|out| read(place.path().join(out).join(&name)));
        assert!(one == eight, "{name:?} depends on the number of threads");
        files += 1;
    }
    assert_eq!(files, 8);
    succeeds(place.path(), &["reproduce", "fig1", "--out", "other", "--trials", "70"]);
    assert_ne!(read(place.path().join("other/fig1.csv")), read(place.path().join("1/fig1.csv")));
    assert!(!place.path().join("other/fig2.csv").exists());
}

#[test]
fn run_gives_what_reproduce_gives() {
    let place = tempdir().unwrap();
    succeeds(place.path(), &["reproduce", "fig1", "--trials", "20"]);
    let file = root().join("experiments/paper-fig1.toml");
    succeeds(place.path(), &["run", file.to_str().unwrap(), "--trials", "20"]);
    let run = read_text(place.path().join("out/fig1/curves.csv"));
    let expected = read_text(place.path().join("out/paper/fig1.csv"));
    let expected: Vec<String> = expected
        .lines()
        .enumerate()
        .map(|(line, rest)| format!("{},{rest}", if line == 0 { "problem" } else { "toy" }))
        .collect();
    assert_eq!(run.lines().collect::<Vec<_>>(), expected);
    for file in ["curves.svg", "curves.png", "summary.json", "report.html"] {
        assert!(place.path().join("out/fig1").join(file).exists(), "{file}");
    }
}

#[test]
fn every_experiment_in_the_repository_runs() {
    let place = tempdir().unwrap();
    let mut count = 0;
    for entry in fs::read_dir(root().join("experiments")).unwrap() {
        let file = entry.unwrap().path();
        succeeds(place.path(), &["run", file.to_str().unwrap(), "--trials", "2", "--queries", "30", "--out", "quick"]);
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
fn a_file_with_a_mistake_is_refused_by_file_line_and_key() {
    for (good, bad, expected) in [
        (
            "p = 0.3",
            "p = 1.3",
            "x.toml:16: `p` of method \"A\": the exploration probability p is 1.3: it must lie in [0, 1]",
        ),
        ("p = 0.3", "pp = 0.3", "x.toml:16: unknown key `pp` in method \"A\"; did you mean \"p\"?"),
        ("p = 0.3", "bonus = -1", "x.toml:16: `bonus` of method \"A\": the bonus weight is -1"),
        ("p = 0.3", "inner_steps = 3", "x.toml:16: unknown key `inner_steps` in method \"A\""),
        (
            "\"sgq\"\np = 0.3",
            "\"svrg\"\ninner_steps = 0",
            "x.toml:16: `inner_steps` of method \"A\": SVRG takes a snapshot every 0 steps",
        ),
        ("= 0.015", "= -0.015", "x.toml:4: `step_size`: the step size is -0.015: it must be positive and finite"),
        ("= 0.015", "= \"theorem\"", "x.toml:4: `step_size`: expected a number, \"theory\""),
        (
            "= 0.015",
            "= { initial = 0.1, rte = 1 }",
            "x.toml:4: unknown key `rte` in `step_size`; did you mean \"rate\"?",
        ),
        (
            "= 0.015",
            "= { pieces = [[5, 0.1]] }",
            "x.toml:4: `step_size`: a piecewise step size needs pieces in rising order",
        ),
        ("step_size", "stepsize", "x.toml:4: unknown key `stepsize` in the experiment; did you mean \"step_size\"?"),
        ("step_size = 0.015\n", "", "x.toml:12: method \"A\" has no `step_size`"),
        (
            "\"sgq\"",
            "\"sqg\"",
            "x.toml:15: `method` of method \"A\": there is no method \"sqg\"; did you mean \"sgq\"?",
        ),
        (
            "method = \"sgq\"",
            "choice = \"unifrom\"\nupdate = \"sgd\"",
            "x.toml:15: `choice` of method \"A\": there is no choice \"unifrom\"; did you mean \"uniform\"?",
        ),
        (
            "method = \"sgq\"",
            "choice = \"uniform\"",
            "x.toml:13: a method needs either `method`, or both `choice` and `update`",
        ),
        (
            "start = 5",
            "start = [5, 1]",
            "x.toml:11: `start` of problem \"toy\": 2 coordinates, but the problem has dimension 1",
        ),
        ("start = 5", "start = inf", "x.toml:11: `start` of problem \"toy\": inf is not finite"),
        ("[2, -1]", "[2, -1, 0]", "x.toml:9: `curvature` of problem \"toy\": 2 users have a curvature but 3 a center"),
        ("[2, -1]", "[2, nan]", "x.toml:10: `center` of problem \"toy\": the center of user 1 is NaN"),
        ("[1, 1]", "[1, -1]", "x.toml:9: `curvature` of problem \"toy\": the curvature of user 1 is -1"),
        ("[1, 1]", "[]", "x.toml:9: `curvature` of problem \"toy\": 0 users have a curvature but 2 a center"),
        ("[1, 1]", "[1, \"one\"]", "x.toml:9: `curvature` of problem \"toy\": expected numbers"),
        (
            "[1, 1]",
            "[[[1], [1]], [[1]]]",
            "x.toml:9: `curvature` of problem \"toy\": the curvature of user 0 is not a square matrix: 2 rows",
        ),
        (
            "[1, 1]",
            "[[[1, 0, 0, 1]], [[1]]]",
            "x.toml:9: `curvature` of problem \"toy\": the curvature of user 0 is not",
        ),
        ("[1, 1]", "[0, 0]", "x.toml:9: `curvature` of problem \"toy\": every number is 0"),
        ("[1, 1]", "[1.7e308, 1]", "x.toml:9: `curvature` of problem \"toy\": the numbers are too large"),
        ("start = 5", "start = 1e200", "x.toml:11: `start` of problem \"toy\": the objective there is too large"),
        ("\"A\"", "\"\"", "x.toml:14: `name` of method \"\": a name has 1 to 80 characters"),
        ("\"A\"", "\"a\\tb\"", "x.toml:14: `name` of method \"a\\tb\": a name has 1 to 80 characters"),
        ("quadratic", "cubic", "x.toml:8: `kind` of problem \"toy\": there is no problem \"cubic\""),
        ("trials = 3", "trials = 0", "x.toml:3: `trials`: 0 is not between 1 and"),
        ("budget = 30", "budget = -30", "x.toml:2: `budget`: expected a whole number"),
        ("budget = 30\n", "", "x.toml:1: the experiment has no `budget`"),
        ("budget = 30", "targets = [1, 0]\nbudget = 30", "x.toml:2: `targets`: every gap must be positive"),
        ("budget = 30", "gap_axis = [1, 0.1]\nbudget = 30", "x.toml:2: `gap_axis`: expected [low, high]"),
        ("[[method]]", "[method]", "x.toml:13: `method`: write each one under a heading [[method]]"),
        (
            "[[method]]",
            "[[method]]\nmethod = \"sgd\"\nname = \"A\"\n[[method]]",
            "`name` of method \"A\": the name \"A\" is taken",
        ),
        ("name = \"t\"", "name = t", "x.toml:1: "),
        ("name = \"t\"", "name = \"t", "x.toml:1: "),
        ("name = \"toy\"", "name = 3", "x.toml:7: `name` of problem number 1: expected a text"),
    ] {
        assert!(GOOD.contains(good));
        let place = folder_with("x.toml", &GOOD.replacen(good, bad, 1));
        let error = refuses(place.path(), &["run", "x.toml"]);
        assert!(error.contains(expected), "{bad}: {error}");
        assert!(!place.path().join("out").exists(), "nothing is written for a bad file");
    }
    // The message shows the line itself.
    let place = folder_with("x.toml", &GOOD.replace("p = 0.3", "p = 1.3"));
    assert!(refuses(place.path(), &["run", "x.toml"]).contains("16 | p = 1.3"));
}

#[test]
fn the_theory_step_is_refused_where_no_theorem_gives_one() {
    let file = GOOD.replace("0.015", "\"theory\"").replace("\"sgq\"", "\"saga-sgq\"");
    let place = folder_with("x.toml", &file);
    let error = refuses(place.path(), &["run", "x.toml"]);
    assert!(error.contains("x.toml:4: `step_size`: no theorem bounds the step size of A"), "{error}");
    let place = folder_with("x.toml", &GOOD.replace("0.015", "\"theory\""));
    succeeds(place.path(), &["run", "x.toml"]);
    let settings = &summary(&place.path().join("out/t"))["experiments"][0]["results"][0]["settings"];
    // n = 2, L = L_max = 2, p = 0.3: the third term of Theorem 2's minimum.
    let expected = 0.3 / (96.0 * 2.0 * 4.0) / 0.7;
    assert!((settings["step_size"]["theory"].as_f64().unwrap() - expected).abs() < 1e-15);
}

#[test]
fn parts_compose_and_several_problems_stand_apart() {
    let file = GOOD.replace(
        "p = 0.3",
        "\n[[method]]\nchoice = \"shuffled\"\nupdate = \"saga\"\nstep_size = { initial = 0.1, rate = 0.01 }\n",
    ) + "\n[[problem]]\nname = \"dense\"\nkind = \"quadratic\"\ncurvature = [[[2, 1], [1, 2]], [[1, 0], [0, 1]]]\n\
           center = [[0, 1], [1, 0]]\nstart = [3, 3]\n";
    let place = folder_with("x.toml", &file);
    let stdout = succeeds(place.path(), &["run", "x.toml", "--trace", "--out", "o"]);
    assert!(stdout.contains("t: toy") && stdout.contains("t: dense"), "{stdout}");
    let csv = read_text(place.path().join("o/curves.csv"));
    assert_eq!(csv.lines().count(), 1 + 4 * 31);
    assert!(csv.contains("\ndense,shuffled + saga,30,"));
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
fn files_and_folders_that_are_not_there_are_named() {
    let place = folder_with("x.toml", GOOD);
    assert!(refuses(place.path(), &["run", "y.toml"]).contains("cannot read the experiment y.toml"));
    let error = refuses(place.path(), &["run", "x.toml", "--out", "x.toml/below"]);
    assert!(error.contains("cannot write to the folder x.toml/below"), "{error}");
    fs::write(place.path().join("latin.toml"), b"name = \"\xe9\"").unwrap();
    assert!(refuses(place.path(), &["run", "latin.toml"]).contains("UTF-8"));
}

#[test]
fn options_are_checked() {
    let place = tempdir().unwrap();
    for arguments in [
        &["reproduce", "fig3"][..],
        &["reproduce", "--trials", "0"],
        &["reproduce", "--queries", "-4"],
        &["reproduce", "--threads", "0"],
        &["reproduce", "--sed", "3"],
        &["rnu"],
        &["run"],
    ] {
        refuses(place.path(), arguments);
    }
    assert!(refuses(place.path(), &["methdos"]).contains("methods"));
}

#[test]
fn every_command_explains_itself() {
    let place = tempdir().unwrap();
    for command in [&["--help"][..], &["reproduce", "--help"], &["run", "--help"], &["methods", "--help"]] {
        let help = succeeds(place.path(), command);
        assert!(help.contains("Example:\n  sgq "), "{command:?}: {help}");
    }
    for command in ["reproduce", "run", "methods"] {
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
    assert_eq!(methods.len(), 7);
    // What is listed can be run.
    let mut file = GOOD[..GOOD.find("[[method]]").unwrap()].to_owned();
    for method in methods {
        file += &format!("[[method]]\nmethod = {}\n", method["name"]);
    }
    fs::write(place.path().join("all.toml"), file).unwrap();
    succeeds(place.path(), &["run", "all.toml"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_what_was_finished() {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };
    // A quick method first, then one that scans 3,000 users at each of 200,000 steps.
    let users = 3_000;
    let file = format!(
        "name = \"t\"\nbudget = 200_000\ntrials = 2\nstep_size = 1e-9\n\n[[problem]]\nname = \"toy\"\n\
         kind = \"quadratic\"\ncurvature = {:?}\ncenter = {:?}\nstart = 5\n\n\
         [[method]]\nmethod = \"sgd\"\n\n[[method]]\nmethod = \"sgq\"\n",
        vec![1; users],
        (0..users).collect::<Vec<_>>(),
    );
    let place = folder_with("x.toml", &file);
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["run", "x.toml", "--out", "o", "--trace"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Once the second method has begun its trace, the first one is finished.
    let begun = Instant::now();
    let second = place.path().join(format!("o/trace/sgq-0.jsonl.{}.partial", child.id()));
    while !second.exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the second method never began");
        sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let expected = "interrupted: what was finished is in o; not finished and left out: sgq of t";
    assert!(stderr.contains(expected), "{stderr}");
    let out = place.path().join("o");
    assert_eq!(summary(&out)["interrupted"], true);
    assert_eq!(summary(&out)["experiments"][0]["unfinished"][0]["method"], "sgq");
    assert_eq!(summary(&out)["experiments"][0]["unfinished"][0]["problem"], "toy");
    let csv = read_text(out.join("curves.csv"));
    assert!(csv.lines().skip(1).all(|line| line.starts_with("toy,sgd,")));
    assert!(out.join("trace/sgd-1.jsonl").exists() && !second.exists());
    assert!(read_text(out.join("report.html")).contains("sgq: not finished, and left out."));
}

#[cfg(unix)]
#[test]
fn being_terminated_is_an_interrupt_too() {
    use std::{thread::sleep, time::Duration};
    let file = GOOD.replace("budget = 30", "budget = 20_000").replace("trials = 3", "trials = 500_000");
    let place = folder_with("x.toml", &file);
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["run", "x.toml", "--out", "o", "--trace"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !place.path().join("o/trace").exists() {
        sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("no method was finished, and no results were written"), "{stderr}");
    assert!(!place.path().join("o/summary.json").exists());
}

#[test]
fn traces_of_an_earlier_run_do_not_mix_with_new_ones() {
    let place = folder_with("x.toml", GOOD);
    for (trials, seed) in [("5", "1"), ("2", "2")] {
        succeeds(place.path(), &["run", "x.toml", "--trace", "--out", "o", "--trials", trials, "--seed", seed]);
    }
    assert_eq!(fs::read_dir(place.path().join("o/trace")).unwrap().count(), 2);
}

/// A trace that cannot be written: what was finished before is kept, and the error says what happened.
#[test]
fn a_failure_keeps_what_was_finished() {
    let file = GOOD.to_owned() + "\n[[method]]\nname = \"B\"\nmethod = \"sgd\"\n";
    let place = folder_with("x.toml", &file);
    // A folder in the place of B's first trace makes its renaming fail.
    fs::create_dir_all(place.path().join("o/trace/B-0.jsonl/in the way")).unwrap();
    let output = sgq(place.path(), &["run", "x.toml", "--out", "o", "--trace", "--quiet"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("what was finished is in o; not finished and left out: B of t"), "{stderr}");
    let csv = read_text(place.path().join("o/curves.csv"));
    assert!(csv.lines().count() == 32 && csv.lines().skip(1).all(|line| line.starts_with("toy,A,")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_printed_is_an_error() {
    let place = folder_with("x.toml", GOOD);
    for arguments in [&["methods"][..], &["run", "x.toml", "--json"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(arguments)
            .current_dir(place.path())
            .stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("cannot write the result"), "{}", text(&output.stderr));
    }
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    let documents = ["README.md", "CONTRIBUTING.md", "docs/experiments.md", "docs/methods.md", "docs/performance.md"];
    for document in documents.iter().chain(&["docs/reproduction.md"]) {
        let path = root().join(document);
        for link in read_text(&path).split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            if !target.starts_with("http") {
                assert!(path.parent().unwrap().join(target).exists(), "{document} links to {target}");
            }
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .arg("methods")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
}
