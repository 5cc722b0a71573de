//! `sgq reproduce`: the paper's figures, the same bytes every time.

use std::fs;

use serde_json::Value;
use sgq_bench::experiment::PAPER;
use tempfile::tempdir;

use crate::{read, read_text, root, succeeds, summary};

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
        assert!(place.contains("SGQ: its step size, 1.500e-2, is above what its theorem allows, 2.790e-4"), "{place}");
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
    assert_eq!(files, 9);
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

/// The texts are inside a published crate, and in the folder where everybody looks for them.
#[test]
fn the_papers_experiments_are_those_of_the_folder() {
    for (_, file, text) in PAPER {
        assert!(
            read_text(root().join(file)).lines().eq(text.lines()),
            "crates/sgq-bench/{file} is not {file}: copy it"
        );
    }
}
