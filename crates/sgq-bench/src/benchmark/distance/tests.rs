use super::*;
use crate::{
    benchmark::{CellResult, Row, Status},
    limit::Limits,
};

/// Two problems of four users, two targets, and these methods.
fn experiment(methods: &[&str]) -> Experiment {
    let mut text = "name = \"x\"\nbudget = 100\ntrials = 1\ntargets = [0.1, 0.01]\nrelative = true\n\
                    [tuning]\ntrials = 1\nfrom = -1\nto = 0\n"
        .to_owned();
    for problem in ["p", "q"] {
        text += &format!(
            "[[problem]]\nname = \"{problem}\"\nkind = \"quadratic\"\ncurvature = [1, 1, 1, 1]\ncenter = [2, 1, -1, -2]\nstart = 5\n"
        );
    }
    for method in methods {
        text += &format!("[[method]]\nname = \"{method}\"\nmethod = \"{method}\"\n");
    }
    Experiment::from_toml("x.toml", &text).unwrap()
}

/// The same queries tuned and untuned, but for what has a step size: ten times as many.
fn cell(experiment: &Experiment, problem: &str, method: &str, queries: [Option<u64>; 2]) -> CellResult {
    let named = experiment.methods.iter().find(|named| named.name == method).unwrap();
    let row = |tuning: Tuned, target: f64, queries: Option<u64>| Row {
        problem: problem.into(),
        method: method.into(),
        tuning,
        target,
        queries,
        queries_lo: queries,
        queries_hi: queries,
        step_size: Some(0.1),
        decay: "constant".into(),
        rate: None,
        settings: String::new(),
        status: if queries.is_some() { Status::Reached } else { Status::NotReached },
    };
    let factor = if named.method.has_step_size() { 10 } else { 1 };
    let rows = experiment.targets.iter().zip(queries).flat_map(|(target, queries)| {
        let untuned = queries.map(|queries| factor * queries);
        [(Tuned::Tuned, queries), (Tuned::Hindsight, queries), (Tuned::Untuned, untuned)]
            .map(|(tuning, queries)| row(tuning, *target, queries))
    });
    CellResult {
        rows: rows.collect(),
        curve: vec![Some(1.0)],
        curve_error: vec![None],
        tried: 3,
        tuning_queries: 300,
        sees_more: named.sees_more().map(str::to_owned),
        oracle: named.is_oracle(),
    }
}

const ALL: [&str; 6] = ["saga", "frugal", "shuffled-sgd", "iag", "ogq", "power-of-choice"];

fn outcome(experiment: &Experiment) -> Outcome {
    let numbers: [(&str, &str, [Option<u64>; 2]); 12] = [
        ("p", "saga", [Some(30), Some(31)]),
        ("p", "frugal", [Some(8), Some(16)]),
        ("p", "shuffled-sgd", [Some(32), Some(64)]),
        ("p", "iag", [Some(20), None]),
        ("p", "ogq", [Some(2), Some(4)]),
        ("p", "power-of-choice", [Some(1), Some(1)]),
        ("q", "saga", [None, None]),
        ("q", "frugal", [Some(5), None]),
        ("q", "shuffled-sgd", [Some(10), Some(20)]),
        ("q", "iag", [None, None]),
        ("q", "ogq", [Some(10), Some(10)]),
        ("q", "power-of-choice", [Some(1), Some(1)]),
    ];
    let wanted = numbers.iter().filter(|(_, method, _)| experiment.methods.iter().any(|it| it.name == *method));
    Outcome {
        cells: wanted.map(|(problem, method, queries)| cell(experiment, problem, method, *queries)).collect(),
        unfinished: 0,
        limits: Limits::of(experiment),
    }
}

#[test]
fn queries_are_those_of_each_line() {
    let experiment = experiment(&ALL);
    let panels = queries(&experiment, &outcome(&experiment)).unwrap();
    let labels: Vec<&str> = panels.series.iter().map(|series| &*series.label).collect();
    assert_eq!(
        labels,
        [
            "shuffled-sgd, tuned",
            "best of the other methods that pay, tuned",
            "frugal, nothing tuned",
            "limit for random order (yardstick)",
            "ogq, tuned (oracle)",
        ]
    );
    let names: Vec<&str> = panels.panels.iter().map(|panel| &*panel.name).collect();
    assert_eq!(names, ["p", "q"]);
    let never = Some(f64::INFINITY);
    // The best other changes from target to target, and the oracle's kin that do not pay do not count.
    // ½ tr(H⁻¹Σ) is 10/3, and the gap at the start 25: 10/3 (1/k − 1/4) has to be 2.5 and 0.25.
    let expected: [[[Option<f64>; 2]; 5]; 2] = [
        [
            [Some(32.0), Some(64.0)],
            [Some(20.0), Some(31.0)],
            [Some(8.0), Some(16.0)],
            [Some(1.0), Some(4.0)],
            [Some(2.0), Some(4.0)],
        ],
        [
            [Some(10.0), Some(20.0)],
            [never, never],
            [Some(5.0), never],
            [Some(1.0), Some(4.0)],
            [Some(10.0), Some(10.0)],
        ],
    ];
    for (panel, expected) in panels.panels.iter().zip(expected) {
        assert_eq!(panel.values, expected, "{}", panel.name);
    }
    assert_eq!(panels.targets, [(0.1, "10%".to_owned()), (0.01, "1%".to_owned())]);
    assert!(panels.notes.iter().any(|note| note.contains("not reached within 100 queries")));
}

#[test]
fn shares_are_in_logarithms_and_leave_out_where_there_is_no_way() {
    let experiment = experiment(&ALL);
    let panels = shares(&experiment, &outcome(&experiment)).unwrap();
    assert_eq!(panels.panels.len(), 1);
    let panel = &panels.panels[0];
    assert_eq!(panel.name, "from shuffled-sgd (0) to ogq (1)");
    let [p, q, median] = &panel.values[..] else { panic!("{:?}", panel.values) };
    // From 32 to 2 queries there are four halvings, of which 8 are two; the same from 64 to 4.
    assert!(p.iter().flatten().all(|share| (share - 0.5).abs() < 1e-12) && p.iter().flatten().count() == 2);
    // No way from 10 to 10; and who does not get there goes less than any part of a way.
    assert_eq!(q[..], [None, Some(f64::NEG_INFINITY)]);
    assert_eq!(median[..], [p[0], Some(f64::NEG_INFINITY)]);
    assert_eq!(panel.below, ["1 of 2", "2 of 2"]);
    assert!(panels.notes.iter().any(|note| note.starts_with("In logarithms")));
}

#[test]
fn a_run_with_less_shows_less() {
    let drawn = |methods: &[&str]| {
        let experiment = experiment(methods);
        let outcome = outcome(&experiment);
        let lines = queries(&experiment, &outcome).map(|panels| panels.series.len());
        (lines, shares(&experiment, &outcome).is_some(), tables(&experiment, &outcome).len())
    };
    assert_eq!(drawn(&["frugal", "shuffled-sgd", "ogq"]), (Some(4), true, 2));
    assert_eq!(drawn(&["frugal", "ogq"]), (Some(3), false, 1));
    assert_eq!(drawn(&["frugal", "shuffled-sgd"]), (Some(3), false, 1));
    assert_eq!(drawn(&["frugal"]), (Some(2), false, 1));
    assert_eq!(drawn(&["saga", "shuffled-sgd", "ogq"]), (None, false, 0));
    // And without a limit.
    let experiment = experiment(&["frugal"]);
    let outcome = Outcome { limits: Limits::default(), ..outcome(&experiment) };
    let panels = queries(&experiment, &outcome).unwrap();
    assert_eq!(panels.series.len(), 1);
    assert!(panels.notes.iter().all(|note| !note.contains("limit")));
    assert!(tables(&experiment, &outcome).is_empty());
}

#[test]
fn tables_say_the_ratio_to_the_limit() {
    let experiment = experiment(&ALL);
    let tables = tables(&experiment, &outcome(&experiment));
    assert_eq!(tables[0].heading, ["", "10%", "1%"]);
    assert_eq!(
        tables[0].lines,
        [["p", "8.00", "4.00"], ["q", "5.00", "not reached"], ["median", "6.50", "not reached"]]
    );
    assert_eq!(tables[1].lines[1], ["q", "–", "not reached"]);
}

#[test]
fn an_unfinished_method_leaves_a_gap() {
    let experiment = experiment(&ALL);
    let mut outcome = outcome(&experiment);
    outcome.cells.retain(|cell| cell.rows[0].problem == "p" || cell.rows[0].method == "saga");
    let panels = queries(&experiment, &outcome).unwrap();
    assert_eq!(panels.panels[1].values[2], [None, None]);
    outcome.cells.retain(|cell| cell.rows[0].problem == "p");
    assert_eq!(queries(&experiment, &outcome).unwrap().panels.len(), 1);
}

#[test]
fn parts_are_written_in_percent() {
    let written = [0.3, 0.1, 0.03, 0.01, 0.001, 0.07, 1.0, 1e-6].map(percent);
    assert_eq!(written, ["30%", "10%", "3%", "1%", "0.1%", "7%", "100%", "0.0001%"]);
}
