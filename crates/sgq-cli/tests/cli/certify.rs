//! `sgq certify` and `--bounds`: what is guaranteed, and what not.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::{read_text, refuses, root, succeeds, summary};

fn certificates(arguments: &[&str]) -> Vec<Value> {
    let place = tempdir().unwrap();
    let stdout = succeeds(place.path(), &[&["certify"], arguments, &["--json"]].concat());
    let file: Value = serde_json::from_str(&stdout).unwrap();
    file["certificates"].as_array().unwrap().clone()
}

fn fig1() -> String {
    root().join("experiments/paper-fig1.toml").to_str().unwrap().to_owned()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn the_papers_problem_is_certified() {
    for region in ["sublevel", "ball:5", "box:-5..5"] {
        let all = certificates(&[&fig1(), "--region", region]);
        let methods: Vec<&str> = all.iter().map(|it| it["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["SGD", "OGQ", "SGQ", "SAGA", "SVRG"]);
        for it in &all {
            for (key, expected) in [
                ("L", 2.0),
                ("L_max", 2.0),
                ("L_f", 2.0),
                ("mu", 2.0),
                ("sigma_star", 10.0),
                ("delta", 4.0),
                ("C1", 0.025),
                ("C2", 9.0 / 12100.0),
                ("c", 5.0 / 3.0),
            ] {
                let found = number(&it[key]);
                assert!((found - expected).abs() < 1e-8, "{key} on {region}: {found}");
            }
            assert_eq!(it["provenance"]["C1"], "exact");
            assert_eq!(it["region"]["interval"], serde_json::json!([-5.0, 5.0]));
            // What Theorem 1 would say of OGQ with this step, whatever the method.
            assert_eq!(it["theorem1"]["holds"], true);
            assert_eq!(number(&it["theorem1"]["cap"]), 0.25);
            assert_eq!(it["theorem2"]["holds"], false);
        }
        let (ogq, sgq) = (&all[1], &all[2]);
        assert_eq!((&ogq["oracle"], &ogq["theorem"]), (&true.into(), &"Theorem 1".into()));
        assert_eq!(ogq["theorem1"]["guaranteed"], true);
        assert_eq!(ogq["theorem1"]["queries_to_gap"]["0.5"], 114);
        assert_eq!(ogq["theorem1"]["queries_to_gap"]["0.1"], Value::Null);
        assert!(ogq["verdict"].as_str().unwrap().starts_with("Guaranteed: after t queries the gap is at most"));
        assert!((number(&sgq["theorem2"]["cap"]) - 2.79e-4).abs() < 1e-6);
        assert_eq!(sgq["theorem2"]["binding_term"], "p / (96 n (L + L_max)(1 − p))");
        let reasons = sgq["theorem2"]["reasons"].as_array().unwrap();
        assert_eq!(reasons.len(), 1);
        assert!(reasons[0].as_str().unwrap().contains("54 times longer than Theorem 2 allows"), "{reasons:?}");
        assert_eq!(sgq["theorem2"]["rate"], Value::Null);
        assert!(ogq["theorem2"]["reasons"][0].as_str().unwrap().contains("about SGQ"));
    }
}

#[test]
fn a_trajectory_speaks_of_its_points_alone() {
    let all = certificates(&[&fig1(), "--region", "trajectory"]);
    let ogq = &all[1];
    assert_eq!((&ogq["theorem1"]["holds"], &ogq["theorem1"]["guaranteed"]), (&true.into(), &false.into()));
    assert_eq!((&ogq["provenance"]["c"], &ogq["region"]["kind"]), (&"exact".into(), &"points".into()));
    assert_eq!(ogq["guaranteed"], true);
    assert!(ogq["verdict"].as_str().unwrap().contains("This is SGD's bound, which OGQ keeps"), "{}", ogq["verdict"]);
}

#[test]
fn the_words_are_for_people() {
    let place = tempdir().unwrap();
    let stdout = succeeds(place.path(), &["certify", &fig1()]);
    for expected in [
        "toy: 4 users, 1 parameter, gap at the start 25",
        "here from -5 to 5",
        "C_2      7.438e-4  Assumption 4, on the region; exact",
        "Assumption 4  the users' improvements differ, by C_1 and C_2, on the region: holds",
        "OGQ (oracle, looks not billed), step size 0.015: Theorem 1",
        "Guaranteed: after t queries the gap is at most 25 · 0.9639^t + 0.121, and at most 0.5 after 114 queries.",
        "Nothing is guaranteed: the step size, 0.015, is 54 times longer than Theorem 2 allows, 2.790e-4, which comes from \
         p / (96 n (L + L_max)(1 − p)).",
        "Nothing is guaranteed: no theorem here speaks of this method.",
    ] {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }
    let quiet = succeeds(place.path(), &["certify", &fig1(), "--quiet"]);
    assert_eq!(quiet.lines().nth(1), Some("toy\tOGQ\tguaranteed"));
}

#[test]
fn odd_problems_get_a_verdict() {
    let place = tempdir().unwrap();
    let problem = |name: &str, curvature: &str, center: &str, start: &str| {
        format!(
            "[[problem]]\nname = \"{name}\"\nkind = \"quadratic\"\ncurvature = {curvature}\ncenter = {center}\n\
             start = {start}\n"
        )
    };
    let text = [
        "budget = 9\nstep_size = 1e-4\n".to_owned(),
        problem("one user", "[2]", "[1]", "3"),
        problem("identical", "[[1, 2], [1, 2], [1, 2]]", "[[0, 1], [0, 1], [0, 1]]", "[3, 3]"),
        problem("at the optimum", "[1, 1]", "[-1, 1]", "0"),
        problem("flat", "[[1, 0], [2, 0]]", "[[1, 0], [-1, 0]]", "[3, 3]"),
        problem("huge", "[1e100, 2e100, 5e100]", "[0, 1, 5]", "1e5"),
        problem("tiny", "[1e-100, 2e-100, 5e-100]", "[0, 1, 5]", "1e-5"),
        problem("dense", "[[[2, 1], [1, 2]], [[1, 0], [0, 3]]]", "[[0, 1], [1, 0]]", "[3, 3]"),
        "[[method]]\nmethod = \"sgd\"\n[[method]]\nmethod = \"ogq\"\n[[method]]\nmethod = \"sgq\"\np = 1\n\
         [[method]]\nmethod = \"sgq\"\nname = \"greedy\"\np = 0\n\
         [[method]]\nmethod = \"sgd\"\nname = \"fading\"\nstep_size = { initial = 1e-4, rate = 1 }\n\
         [[method]]\nmethod = \"sgd\"\nname = \"slowly\"\nstep_size = { initial = 1e-4, rate = 1, root = true }\n"
            .to_owned(),
    ];
    for region in ["sublevel", "ball:2", "box:-4..4", "trajectory"] {
        // There the step is far too long, and a trajectory diverges.
        let fits = |part: &&String| region != "trajectory" || !part.contains("huge");
        let text: Vec<&str> = text.iter().filter(fits).map(String::as_str).collect();
        fs::write(place.path().join("odd.toml"), text.concat()).unwrap();
        let stdout = succeeds(place.path(), &["certify", "odd.toml", "--samples", "50", "--region", region]);
        assert!(!stdout.contains("NaN") && !stdout.contains("inf "), "{stdout}");
        assert!(stdout.contains("only with C_1 = C_2 = 0"), "{stdout}");
        for name in ["fading", "slowly"] {
            let (_, verdict) = stdout.split_once(name).unwrap();
            assert!(verdict.contains("the step size changes along the run"), "{name}: {stdout}");
        }
        let json = succeeds(place.path(), &["certify", "odd.toml", "--samples", "50", "--region", region, "--json"]);
        let file: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(file["certificates"].as_array().unwrap().len(), (text.len() - 2) * 6);
    }
}

#[test]
fn wrong_regions_are_refused() {
    let place = tempdir().unwrap();
    for (region, expected) in [
        ("bal:5", "there is no region \"bal:5\""),
        ("ball:-1", "the radius of the ball is -1"),
        ("ball:1@0,0", "the center of the ball has 2 numbers, but the problem has dimension 1"),
        ("box:3..1", "the box is empty along coordinate 0"),
        ("box:1", "a low and a high end"),
    ] {
        let message = refuses(place.path(), &["certify", &fig1(), "--region", region]);
        assert!(message.contains(expected), "{message}");
    }
    let diverging = "budget = 9\nstep_size = 1e9\n[[problem]]\nname = \"p\"\nkind = \"quadratic\"\ncurvature = [1, 2]\n\
                     center = [0, 1]\nstart = 3\n[[method]]\nmethod = \"sgd\"\n";
    fs::write(place.path().join("diverging.toml"), diverging).unwrap();
    let message = refuses(place.path(), &["certify", "diverging.toml", "--region", "trajectory"]);
    assert!(message.contains("its first trial diverges"), "{message}");
    let message = refuses(place.path(), &["certify", "missing.toml"]);
    assert!(message.contains("cannot read the experiment missing.toml"), "{message}");
}

#[test]
fn bounds_are_drawn_where_they_hold_and_explained_where_not() {
    let place = tempdir().unwrap();
    let stdout = succeeds(place.path(), &["reproduce", "fig1", "--bounds", "--out", "b"]);
    let out = place.path().join("b");
    for expected in [
        "SGD: its bound is guaranteed.",
        "OGQ: its bound is guaranteed.",
        "SGQ: no bound is drawn: the step size, 0.015, is 54 times longer than Theorem 2 allows",
        "SVRG: no bound is drawn: no theorem here speaks of this method.",
        "the regret was",
    ] {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }
    let svg = read_text(out.join("fig1.svg"));
    assert!(svg.contains("SGD: bound") && svg.contains("OGQ: bound") && !svg.contains("SGQ: bound"));
    assert_eq!(svg, read_text(root().join("docs/figures/fig1-bounds.svg")), "make docs/figures/fig1-bounds.svg anew");

    let csv = read_text(out.join("fig1.csv"));
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("method,queries,gap_mean,gap_sem,gap_bound"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        match cells[0] {
            "SGD" | "OGQ" => {
                let [mean, sem, bound] = [2, 3, 4].map(|column: usize| cells[column].parse::<f64>().unwrap());
                assert!(mean <= bound + 4.0 * sem, "{line}");
            }
            _ => assert_eq!(cells[4], "", "{line}"),
        }
    }
    // Proposition 1 and Lemma 2, query by query.
    let choices = read_text(out.join("fig1-choices.csv"));
    let rows: Vec<Vec<f64>> = choices
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 396);
    for row in &rows {
        let [_, guided, regret, bound, part, tightness] = row[..] else { panic!("{row:?}") };
        assert!(guided > 0.0 && regret <= bound && part <= 1.0 && tightness <= 1.0 + 1e-9, "{row:?}");
    }
    assert!(rows.iter().any(|row| row[2] > 0.0 && row[4] > 0.5));

    let results = summary(&out)["experiments"][0]["results"].clone();
    assert_eq!((&results[1]["bound"]["guaranteed"], &results[2]["bound"]["holds"]), (&true.into(), &false.into()));
    assert!(results[2]["choices"]["guided"].as_u64().unwrap() > 50_000);
    assert_eq!(results[0]["choices"], Value::Null);
    // Without the option nothing of this is there, and the curves are the same.
    succeeds(place.path(), &["reproduce", "fig1", "--out", "plain"]);
    let plain = read_text(place.path().join("plain/fig1.csv"));
    let without_bounds: String = csv.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    assert_eq!(without_bounds, plain);
    assert!(!place.path().join("plain/fig1-choices.csv").exists());
}
