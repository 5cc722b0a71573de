//! `report.html` and the forest plot that `sgq fit` writes.

use std::fs;

use super::{LOGISTIC, fit, place};
use crate::{read, read_text, root, succeeds};

const MEDPAR: [&str; 7] = [
    "fit",
    "examples/medpar.csv",
    "--user",
    "provnum",
    "--formula",
    "died ~ los + hmo + white + age80 + type2 + type3",
    "--close",
];

/// What other programs rely on.
#[test]
fn json_has_what_a_statistician_asks_for() {
    let place = place();
    let model = fit(place.path(), &[]);
    for key in [
        "family",
        "weigh",
        "l2",
        "deviance",
        "null_deviance",
        "aic",
        "rows",
        "rows_missing",
        "users",
        "queries",
        "converged",
        "std_error_kind",
        "reference_levels",
        "influence",
        "missing_by_column",
        "verdict",
        "warnings",
    ] {
        assert!(model.get(key).is_some(), "{key}: {model}");
    }
    for line in model["coefficients"].as_array().unwrap() {
        for key in ["estimate", "std_error", "z", "p", "lower", "upper"] {
            assert!(line[key].is_f64() && line["name"].is_string(), "{key}: {line}");
        }
    }
    assert_eq!(model["std_error_kind"], "model (approximate)");
    assert_eq!(model["reference_levels"], serde_json::json!([{ "column": "ward", "level": "east" }]));
    let closed = fit(place.path(), &["--close"]);
    assert_eq!(closed["std_error_kind"], "model");
    for key in ["deviance", "null_deviance", "aic"] {
        assert!(closed[key].is_f64(), "{key}: {closed}");
    }
    // The same influence as in influence.csv, in the same order.
    let csv = read_text(place.path().join("o/influence.csv"));
    let users: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let largest = closed["influence"]["largest"].as_array().unwrap();
    let named: Vec<&str> = largest.iter().map(|it| it["user"].as_str().unwrap()).collect();
    assert_eq!((users, closed["influence"]["users"].as_u64()), (named, Some(7)));
    let flagged = csv.lines().filter(|line| line.split(',').nth(2) == Some("true")).count();
    assert_eq!(closed["influence"]["flagged"].as_u64(), Some(flagged as u64));
}

/// The page has what the terminal has, and what it is made of can be made from model.json again.
#[test]
fn the_page_says_what_the_terminal_says() {
    let place = place();
    let told = succeeds(place.path(), &[&LOGISTIC[..], &["--close", "--out", "o"]].concat());
    let page = read_text(place.path().join("o/report.html"));
    let rows = told.lines().filter(|line| line.contains(" … ") && !line.contains("interval"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let minus = |cell: &str| cell.replacen('-', "−", usize::from(cell.starts_with('-')));
        let expected = format!(
            "<th scope=\"row\"><bdi>{}</bdi></th><td>{}</td><td>{}</td><td>{}</td>",
            cells[0],
            minus(cells[1]),
            minus(cells[2]),
            minus(cells[3])
        );
        assert!(page.contains(&expected), "{expected}: {page}");
        count += 1;
    }
    assert_eq!(count, 4);
    let model = serde_json::from_slice(&read(place.path().join("o/model.json"))).unwrap();
    let gap = read_text(place.path().join("o/gap.svg"));
    let again = sgq_bench::fit_page::html(&model, None).unwrap();
    assert!(page.starts_with(again.split("<footer>").next().unwrap()) && page.contains(&gap), "{page}");
    assert_eq!(read_text(place.path().join("o/forest.svg")), sgq_bench::fit_page::forest_svg(&model).unwrap());
    assert!(read(place.path().join("o/forest.png")).starts_with(b"\x89PNG"));
    // Without diagnostics there is no picture of the gap, and none is left from before.
    fit(place.path(), &["--no-diagnostics"]);
    let page = read_text(place.path().join("o/report.html"));
    assert!(!page.contains("objective gap") && page.contains("<h2>Forest plot</h2>"));
    assert!(!place.path().join("o/gap.svg").exists());
}

/// Half of the picture would be noise.
#[test]
fn the_gap_is_drawn_until_it_is_rounding() {
    let place = place();
    for target in [&["--exclude", "days", "--target", "died"], &["--exclude", "died", "--target", "days"]] {
        let start =
            ["fit", "patients.csv", "--user", "hospital", "--tol", "off", "--budget", "2000", "--force", "--out", "o"];
        succeeds(place.path(), &[&start[..], target].concat());
        let csv = read_text(place.path().join("o/gap.csv"));
        assert!(csv.lines().last().unwrap().starts_with("2000,"), "the table has everything");
        let svg = read_text(place.path().join("o/gap.svg"));
        assert!(svg.contains("queries, until the gap is rounding"), "{target:?}: {svg}");
        assert!(!svg.contains(">2,000</text>"), "{target:?}: {svg}");
        // A gap that is none would be drawn on the lower edge.
        let positive = |line: &str| line.split(',').nth(1).is_some_and(|gap| gap.parse::<f64>().unwrap() > 0.0);
        assert!(csv.lines().skip(1).take(10).all(positive), "{csv}");
    }
    fit(place.path(), &[]);
    assert!(!read_text(place.path().join("o/gap.svg")).contains("rounding"));
}

#[test]
fn a_fit_that_diverged_has_a_page_that_says_so() {
    let place = place();
    let days =
        ["fit", "patients.csv", "--user", "hospital", "--target", "days", "--features", "age,ward", "--out", "o"];
    let output = crate::sgq(place.path(), &[&days[..], &["--method", "saga", "--step-size", "100"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let page = read_text(place.path().join("o/report.html"));
    assert!(
        page.contains("The fit diverged: its coefficients mean nothing.") && page.contains("diverged</span>"),
        "{page}"
    );
}

/// The figure in docs/fit.md is what its command makes.
#[test]
fn the_documented_forest_plot_is_what_the_command_makes() {
    let place = tempfile::tempdir().unwrap();
    let data = root().join("examples/medpar.csv");
    fs::create_dir(place.path().join("examples")).unwrap();
    fs::copy(data, place.path().join("examples/medpar.csv")).unwrap();
    succeeds(place.path(), &MEDPAR);
    assert!(
        read(place.path().join("out/medpar/forest.svg")) == read(root().join("docs/figures/forest-medpar.svg")),
        "docs/figures/forest-medpar.svg is out of date: run the first command of docs/fit.md, then copy forest.svg there"
    );
}
