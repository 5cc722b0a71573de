//! Made-up files of two sets, with numbers that are easy to divide, and pages that show them.

use std::{fs, path::Path};

use super::{blocks::block, data::Results, figures::figures, files::Files, *};

const SETS: [&str; 2] = ["north", "south"];
const TARGETS: [&str; 2] = ["0.1", "0.001"];

/// Name, what it is told tuned and untuned, what it sees unpaid; then queries to both targets on both sets, tuned, in hindsight and
/// untuned.
const METHODS: &[(&str, &str, &str, &str, [&str; 3])] = &[
    ("frugal", "each L_i", "each L_i", "", ["10/20 30/90", "10/20 30/90", "10/20 30/90"]),
    ("frugal learned", "nothing", "nothing", "", ["20/40 30/", "20/40 30/", "20/40 30/"]),
    ("shuffled SGD", "nothing", "a step from the L_i", "", ["20/80 30/", "16/80 30/", "40/ /"]),
    ("importance SGD", "each L_i", "each L_i", "", ["20/90 15/", "18/81 15/", "20/ 15/"]),
    ("OGQ", "nothing", "a step from the L_i", "all gradients", ["5/20 10/", "5/20 10/", "5/20 10/"]),
    ("OGQ own L", "nothing", "a step from the L_i", "all gradients, L", ["20/5 10/40", "20/5 10/40", "20/5 10/40"]),
];

fn files() -> Files {
    let mut summary =
        "problem,method,tuning,target,queries,queries_lo,queries_hi,status,step_size,decay,rate,settings\n".to_owned();
    let mut tuning = "problem,method,settings_tried,queries,told_tuned,told_untuned,sees_more\n".to_owned();
    for (method, told_tuned, told_untuned, sees_more, numbers) in METHODS {
        for (place, set) in SETS.iter().enumerate() {
            let tried = if method.starts_with("frugal") { 0 } else { 10 * (place + 1) };
            tuning += &format!("{set},{method},{tried},{},{told_tuned},{told_untuned},\"{sees_more}\"\n", 1000 * tried);
            for (ways, numbers) in ["tuned", "hindsight", "untuned"].iter().zip(numbers) {
                let queries = numbers.split(' ').nth(place).unwrap().split('/');
                for (target, queries) in TARGETS.iter().zip(queries) {
                    // The upper end of an interval may be missing.
                    let lo = queries.parse::<u64>().map_or(String::new(), |queries| (queries - 1).to_string());
                    let hi = if *target == "0.1" { queries } else { "" };
                    summary +=
                        &format!("{set},{method},{ways},{target},{queries},{lo},{hi},,0.5,constant,,\"a=1 b=2\"\n");
                }
            }
        }
    }
    let about = |users: u64| {
        format!(
            r#"{{"package": "lme4", "item": "Sleep", "user": "id", "target": "y", "loss": "squares", "features": ["a", "b"],
            "rows": 9999, "users": 999, "complete_rows": 1234, "complete_users": {users}, "sha256": "0"}}"#
        )
    };
    Files {
        summary,
        tuning,
        limit: "problem,target,queries\nnorth,0.1,5\nnorth,0.001,10\nsouth,0.1,0\n".into(),
        sets: format!(r#"{{"north": {}, "south": {}, "unused": {}}}"#, about(24), about(160), about(1)),
        random: [("small".to_owned(), random::without_cells(RANDOM).unwrap())].into(),
    }
}

/// Name, decay, queries to both targets on both sets, tuned and untuned.
const OPTIONS: &[(&str, &str, [&str; 2])] = &[
    ("SGQ", "constant", ["40/ 10/", "80/ /"]),
    ("lazy", "root", ["20/80 5/", "20/ 20/"]),
    ("practical", "", ["10/40 10/90", "10/40 10/90"]),
];

/// The summary of a run of the ablation.
fn ablation() -> String {
    let mut summary = files().summary.lines().next().unwrap().to_owned() + "\n";
    for (method, decay, [tuned, untuned]) in OPTIONS {
        for (ways, numbers) in [("tuned", tuned), ("hindsight", tuned), ("untuned", untuned)] {
            for (set, numbers) in SETS.iter().zip(numbers.split(' ')) {
                for (target, queries) in TARGETS.iter().zip(numbers.split('/')) {
                    summary += &format!("{set},{method},{ways},{target},{queries},,,,,{decay},,\n");
                }
            }
        }
    }
    summary
}

fn further(name: &str) -> &'static Further {
    FURTHER.iter().find(|it| it.name == name).unwrap()
}

/// A summary with the numbers sent: for each method its name, the numbers of an answer, and queries to both targets on each set.
fn with_numbers(sets: &[&str], targets: [&str; 2], methods: &[(&str, u64, &str)]) -> String {
    let mut summary = files().summary.lines().next().unwrap().to_owned() + ",numbers\n";
    for (method, each, queries) in methods {
        for (set, queries) in sets.iter().zip(queries.split(' ')) {
            for (target, queries) in targets.iter().zip(queries.split('/')) {
                let numbers = queries.parse::<u64>().map_or(String::new(), |queries| (each * queries).to_string());
                for ways in ["tuned", "hindsight", "untuned"] {
                    summary += &format!("{set},\"{method}\",{ways},{target},{queries},,,,,,,,{numbers}\n");
                }
            }
        }
    }
    summary
}

/// A run with Hessians on a logistic set with many users, one with few, and one of counts.
fn with_hessians() -> Kept {
    let summary = with_numbers(
        &["north", "south", "west"],
        ["0.01", "1e-6"],
        &[
            ("frugal", 500, "10/20 30/90 40/80"),
            ("frugal 4 out", 500, "10/20 30/90 80/"),
            ("frugal 16 out", 500, "20/40 45/90 120/"),
            ("frugal, gradients", 50, "20/80 30/90 40/"),
            ("Fisher scoring", 500, "40/80 60/90 /"),
        ],
    );
    let limit = "problem,target,queries\nnorth,0.01,10\nsouth,0.01,15\nwest,0.01,10\nwest,1e-6,100\n".to_owned();
    let mut benchmark = files();
    let about = |users: u64, loss: &str| {
        let text = r#"{"package": "", "item": "", "user": "", "target": "", "loss": "LOSS", "features": [], "complete_rows": 1,
            "complete_users": USERS}"#;
        text.replace("USERS", &users.to_string()).replace("LOSS", loss)
    };
    benchmark.sets = format!(
        r#"{{"north": {}, "south": {}, "west": {}}}"#,
        about(50, "logistic"),
        about(49, "logistic"),
        about(60, "poisson")
    );
    Kept { benchmark: Some(benchmark), further: [("hessians", vec![summary, limit])].into() }
}

const RANDOM: &str = r#"{"version": "0.1.0", "seed": 7, "max_users": 200, "max_dim": 30, "trials": 10, "tuning_trials": 20,
    "budget_per_user": 4.0, "learned": true, "against": "shuffled-sgd", "unfinished": 0, "cells": [{"method": "x"}],
    "methods": [{"method": "frugal-learned", "problems": 1000, "transient_above_2": 18, "trial_transient_above_2": 25,
    "diverged": 1, "targets": [
        {"target": 0.1, "problems": 64, "reached": 64, "within": 55, "mean_ratio": 0.684, "only_method": 34, "worst": []},
        {"target": 0.01, "problems": 25, "reached": 24, "within": 21, "mean_ratio": 0.5, "only_method": 50, "worst": []}]}]}"#;

fn results() -> Results {
    Results::read(&files()).unwrap()
}

fn shows(name: &str, expected: &str) {
    shows_of(&results(), name, expected);
}

fn shows_of(results: &Results, name: &str, expected: &str) {
    let found = block(results, name).unwrap();
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{name}:\n{found}");
}

#[test]
fn tables_of_frugal() {
    // North: 10 of 20 and 20 of 80; south: 30 of 15, and nobody else arrives. In hindsight 10 of 16, 20 of 80 and 30 of 15.
    shows(
        "frugal",
        "| data set | 10% | 0.1% |
        |---|---|---|
        | north | **10** / 20 shuffled SGD | **20** / 80 shuffled SGD |
        | south | 30 / 15 importance SGD† | **90** / – |
        | mean ratio to the best tuned method | 1.00 | 0.25 (1) |
        | mean ratio to the best method in hindsight | 1.12 | 0.25 (1) |
        | without `L_i`: mean ratio to the best tuned method | 1.41 | 0.50 (1) |
        | without `L_i`: mean ratio to the best method in hindsight | 1.58 | 0.50 (1) |",
    );
    shows(
        "frugal-learned",
        "| data set | 10% | 0.1% |
        |---|---|---|
        | north | 20 / 20 shuffled SGD | **40** / 80 shuffled SGD |
        | south | 30 / 15 importance SGD† | – / – |
        | mean ratio to the best tuned method | 1.41 | 0.50 (1) |
        | mean ratio to the best method in hindsight | 1.58 | 0.50 (1) |
        | mean ratio to the best tuned method without each `L_i` | 1.00 | 0.50 (1) |",
    );
    shows(
        "readme",
        "| data set | 10% | 0.1% |
        |---|---|---|
        | north | **0.50** | **0.25** |
        | south | 2.00 | **only frugal** |
        | geometric mean | 1.00 | 0.25 (1) |
        | sets won | 1 of 2 | 2 of 2 |
        | 95% interval of the mean, over data sets | 0.00 to 6681.70 | – |
        | mean of benefits and headache, not seen by the first version | – | – |
        | mean to the others in hindsight | 1.12 | 0.25 (1) |
        | mean, `frugal` without `L_i` | 1.41 | 0.50 (1) |",
    );
    shows(
        "learned",
        "|  | 10% | 0.1% |
        |---|---|---|
        | `L_i` known | 17 | 42 |
        | `L_i` learned | 24 | 40 (1) |",
    );
    shows(
        "intervals",
        "| data set | 10% | 0.1% |
        |---|---|---|
        | north | 10 (9 to 10) / 20 (19 to 20) shuffled SGD | 20 (from 19) / 80 (from 79) shuffled SGD |
        | south | 30 (29 to 30) / 15 (14 to 15) importance SGD† | 90 (from 89) / – |",
    );
}

#[test]
fn distances() {
    shows(
        "limit",
        "| data set | 10% | 0.1% |
        |---|---|---|
        | north | 2.00 (5) | 2.00 (10) |
        | south | 30.00 (0) | – |
        | median | 16.00 | 2.00 |",
    );
    // ln(20/10)/ln(20/5) is a half, ln(30/30) nothing, ln(80/20)/ln(80/5) a half; no way from 20 to 20, nor where shuffled SGD
    // does not arrive.
    shows(
        "share",
        "From shuffled SGD to *OGQ*:

        | data set | 10% | 0.1% |
        |---|---|---|
        | north | 0.50 | 1.00 |
        | south | 0.00 | – |
        | median | 0.25 | 1.00 |

        From shuffled SGD to *OGQ own L*:

        | data set | 10% | 0.1% |
        |---|---|---|
        | north | – | 0.50 |
        | south | 0.00 | – |
        | median | 0.00 | 0.50 |",
    );
}

#[test]
fn tables_of_all_methods() {
    shows(
        "ratios-tuned",
        "| method | 10% | 0.1% | told |
        |---|---|---|---|
        | frugal† | 1.00 | 0.25 (1) | each L_i |
        | frugal learned | 1.41 | 0.50 (1) | nothing |
        | shuffled SGD | 1.41 | 1.00 (1) | nothing |
        | importance SGD† | 1.00 | 1.12 (1) | each L_i |
        | *OGQ* | 0.41 | 0.25 (1) | nothing |
        | *OGQ own L* | 0.82 | 0.06 (1) | nothing |",
    );
    let untuned = block(&results(), "ratios-untuned").unwrap();
    assert!(untuned.contains("\n| shuffled SGD | 2.00 (1) | – | a step from the L_i |\n"), "{untuned}");
    let hindsight = block(&results(), "ratios-hindsight").unwrap();
    assert!(hindsight.contains("\n| importance SGD† | 1.06 | 1.01 (1) | each L_i |\n"), "{hindsight}");
    shows(
        "all-tuned",
        "| method | north | south |
        |---|---|---|
        | frugal† | 10/20 | 30/90 |
        | frugal learned | 20/40 | 30/– |
        | shuffled SGD | 20/80 | 30/– |
        | importance SGD† | 20/90 | 15/– |
        | *OGQ* | 5/20 | 10/– |
        | *OGQ own L* | 20/5 | 10/40 |",
    );
    let tuning = block(&results(), "tuning").unwrap();
    assert!(tuning.contains("\n| frugal† | 0 | 0 | 0 | each L_i | each L_i |\n"), "{tuning}");
    assert!(tuning.contains("\n| shuffled SGD | 15 | 20 | 30,000 | nothing | a step from the L_i |\n"), "{tuning}");
    shows(
        "sets",
        "| data set | user | users | rows | features | target | loss | source (R package) |
        |---|---|---|---|---|---|---|---|
        | north | id | 24 | 1,234 | 2 | y | squares | Sleep in lme4 |
        | south | id | 160 | 1,234 | 2 | y | squares | Sleep in lme4 |",
    );
}

/// Five sets make two tables.
#[test]
fn all_numbers_have_four_sets_a_table() {
    let mut files = files();
    let lines = |text: &str, from: &str, to: &str| {
        text.lines()
            .filter(|line| line.starts_with(from))
            .map(|line| line.replacen(from, to, 1) + "\n")
            .collect::<String>()
    };
    for set in ["east", "west", "centre"] {
        files.summary += &lines(&files.summary.clone(), "north", set);
        files.tuning += &lines(&files.tuning.clone(), "north", set);
        files.sets = files.sets.replacen("{\"", &format!("{{\"{set}\": {}, \"", about_text()), 1);
    }
    let all = block(&Results::read(&files).unwrap(), "all-tuned").unwrap();
    assert!(
        all.contains("| method | north | south | east | west |\n") && all.contains("\n\n| method | centre |\n"),
        "{all}"
    );
}

fn about_text() -> &'static str {
    r#"{"package": "p", "item": "i", "user": "u", "target": "t", "loss": "l", "features": [], "complete_rows": 1, "complete_users": 30}"#
}

/// √(40·10), √(20·5) and √(10·10); √(80·801) where one of two sets is reached.
#[test]
fn options_of_sgq() {
    let run = Results::of_summary("ablation.csv", &ablation()).unwrap();
    shows_of(
        &run,
        "ablation",
        "| method | 10% | 0.1% |
        |---|---|---|
        | SGQ | 20 | – |
        | lazy | 10 | ≥ 253 (1) |
        | practical | 10 | 60 |",
    );
    // What has nothing to tune is left out.
    shows_of(
        &run,
        "ablation-untuned",
        "| method | 10% | 0.1% |
        |---|---|---|
        | SGQ | ≥ 253 (1) | – |
        | lazy | 20 | – |",
    );
    shows_of(
        &run,
        "ablation-all",
        "| method | north | south |
        |---|---|---|
        | SGQ | 40/– | 10/– |
        | lazy | 20/80 | 5/– |
        | practical | 10/40 | 10/90 |",
    );
    let figures = ablation::figures(&run);
    for (name, value) in [
        ("sets", "2"),
        ("SGQ.0.1", "20"),
        ("SGQ.0.001", "–"),
        ("lazy.0.001", "≥ 253"),
        ("reached.lazy.0.001", "1"),
        ("reached.SGQ.0.001", "0"),
        ("untuned.SGQ.0.1", "≥ 253"),
        ("untuned.practical.0.001", "60"),
        ("over.SGQ.lazy.0.1", "2.0"),
        ("over.lazy.practical.0.001", "≥ 4.2"),
        ("over.practical.lazy.0.001", "≤ 0.2"),
        ("over.SGQ.practical.0.001", "–"),
        ("over.lazy.SGQ.0.001", "–"),
        ("queries.south.practical.0.001", "90"),
        ("queries.south.lazy.0.001", "–"),
    ] {
        assert_eq!(figures.get(&format!("ablation.{name}")).map(|value| &**value), Some(value), "{name}");
    }
    let short = ablation().replace("south,lazy,tuned,0.1,5,,,,,root,,\n", "");
    let refused = Results::of_summary("ablation.csv", &short).err().unwrap();
    assert_eq!(refused, "ablation.csv: no row for lazy, tuned, to 0.1 on south");
    let experiment = include_str!("../../../experiments/ablation.toml");
    assert!(experiment.contains(&format!("\nbudget = {}\n", ablation::BUDGET)));
}

#[test]
fn random_problems() {
    let expected = "```sh
        cargo run --release -- bench random --problems 1000 --seed 7 \\
        --methods frugal --learned --against shuffled-sgd --trials 10 --tuning-trials 20 \\
        --budget-per-user 4 --targets 0.1,0.01 --max-users 200 --max-dim 30
        ```

        |  | `frugal-learned` |
        |---|---|
        | 10%: at most 1.2 times the queries of tuned `shuffled-sgd` | 55 of 64 |
        | 10%: reached where tuned `shuffled-sgd` does | 64 of 64 |
        | 10%: mean ratio of queries | 0.68 |
        | 10%: reached where tuned `shuffled-sgd` does not | 34 |
        | 1%: at most 1.2 times the queries of tuned `shuffled-sgd` | 21 of 25 |
        | 1%: reached where tuned `shuffled-sgd` does | 24 of 25 |
        | 1%: mean ratio of queries | ≥ 0.50 |
        | 1%: reached where tuned `shuffled-sgd` does not | 50 |
        | mean gap over the trials ever above twice the start | 18 of 1,000 |
        | gap of a single trial ever above twice the start | 25 of 1,000 |
        | a trial diverged | 1 of 1,000 |";
    let trimmed = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&block(&results(), "random.small").unwrap()), trimmed(expected));
    let all = block(&results(), "random").unwrap();
    assert!(all.starts_with("Run *small*:\n\n```sh\n") && all.ends_with("| 1 of 1,000 |"), "{all}");
    assert!(!files().random["small"].contains("cells") && files().random["small"].contains("worst"));
    let unfinished = RANDOM.replace("\"unfinished\": 0", "\"unfinished\": 3");
    assert!(random::Random::read("it", &unfinished).err().unwrap().contains("not finished"));
    assert_eq!(block(&results(), "random.large").unwrap_err(), "there is no run \"large\" on random problems");
}

#[test]
fn figures_have_systematic_names() {
    let figures = figures(&results());
    for (name, value) in [
        ("methods", "6"),
        ("methods.competitors", "2"),
        ("methods.unpaid", "2"),
        ("sets", "2"),
        ("users.min", "24"),
        ("users.max", "160"),
        ("users.south", "160"),
        ("rows.north", "1,234"),
        ("tuning.settings.max", "20"),
        ("tuning.queries", "120,000"),
        ("frugal.ratio.tuned.0.1", "1.00"),
        ("frugal.ratio.tuned.0.001", "0.25 (1)"),
        ("frugal.percent.hindsight.0.1", "112%"),
        ("frugal learned.ratio.tuned.0.1", "1.41"),
        ("frugal.wins.tuned.0.1", "1"),
        ("frugal.losses.tuned.0.1", "1"),
        ("frugal learned.wins.tuned.0.1", "0"),
        ("frugal learned.ties.tuned.0.1", "1"),
        ("frugal learned.ties.tuned.0.001", "0"),
        ("frugal.queries.0.1", "17"),
        ("frugal.limit.0.1", "16.00"),
        ("frugal.share.OGQ.0.1", "0.25"),
        ("ratio.shuffled SGD.tuned.0.1", "1.41"),
        ("ratio.OGQ own L.untuned.0.1", "0.82"),
        ("reached.shuffled SGD.tuned.0.001", "1"),
        ("fewest-on.importance SGD.tuned.0.1", "2"),
        ("fewest-on.shuffled SGD.tuned.0.1", "1"),
        ("queries.south.shuffled SGD.tuned.0.001", "–"),
        ("queries.north.importance SGD.hindsight.0.001", "81"),
        ("best.south.tuned.0.1", "15"),
        ("winner.south.tuned.0.1", "importance SGD†"),
        ("limit.north.0.1", "5"),
        ("random.small.problems", "1,000"),
        ("random.small.frugal-learned.ratio.0.01", "≥ 0.50"),
        ("random.small.frugal-learned.trial-above-2", "25"),
    ] {
        assert_eq!(figures.get(name).map(|value| &**value), Some(value), "{name}");
    }
    assert!(!figures.contains_key("best.south.tuned.0.001"));
}

#[test]
fn a_run_that_is_not_whole_is_refused() {
    let refused = |change: &dyn Fn(&mut Files)| {
        let mut files = files();
        change(&mut files);
        Results::read(&files).err().unwrap_or_default()
    };
    let without = |text: &str, start: &str| {
        text.lines().filter(|line| !line.starts_with(start)).map(|line| line.to_owned() + "\n").collect::<String>()
    };
    for (message, change) in [
        (
            "summary.csv: no row for OGQ, hindsight, to 0.1 on south",
            &(|it: &mut Files| it.summary = without(&it.summary, "south,OGQ,hindsight,0.1,")) as &dyn Fn(&mut Files),
        ),
        ("tuning.csv: no row for OGQ on north", &|it| it.tuning = without(&it.tuning, "north,OGQ,")),
        ("summary.csv: OGQ, tuned, has two rows for 0.1 on north", &|it| {
            it.summary += "north,OGQ,tuned,0.1,5,,,reached,,,,\n";
        }),
        ("tuning.csv: frugal is told different things on different sets", &|it| {
            it.tuning = it.tuning.replace("north,frugal,0,0,each L_i", "north,frugal,0,0,nothing");
        }),
        ("sets.json says nothing of south", &|it| it.sets = it.sets.replace("south", "elsewhere")),
        ("summary.csv has no rows", &|it| it.summary = it.summary.lines().next().unwrap().to_owned() + "\n"),
        ("summary.csv: CSV deserialize error", &|it| it.summary = it.summary.replace(",20,", ",twenty,")),
        ("limit.csv: CSV deserialize error", &|it| it.limit = "problem,target\nnorth,0.1\n".into()),
    ] {
        let found = refused(change);
        assert!(found.starts_with(message), "{found}");
    }
    // What a table needs and the run has not.
    let mut files = files();
    files.summary = files.summary.replace("frugal learned", "other");
    files.tuning = files.tuning.replace("frugal learned", "other");
    let results = Results::read(&files).unwrap();
    assert_eq!(block(&results, "readme").unwrap_err(), "the run has no method \"frugal learned\"");
}

#[test]
fn numbers_as_pages_show_them() {
    use super::text::*;
    assert_eq!([1, 12, 123, 1234, 1_234_567].map(count), ["1", "12", "123", "1,234", "1,234,567"]);
    assert_eq!(["0.3", "0.07", "0.001", "x"].map(percent), ["30%", "7%", "0.1%", "x"]);
    assert_eq!([number(-0.5), number(1.005), or_dash(None), or_dash(Some(7))], ["−0.50", "1.00", "–", "7"]);
    assert_eq!([median(vec![]), median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0])], [None, Some(2.0), Some(2.5)]);
}

const PAGE: &str = "# Page\n\nOf <!--=sets-->9<!--/--> sets, <!--=frugal.wins.tuned.0.1--><!--/--> won.\n\n<!-- results: learned -->\nold\n<!-- /results -->\nEnd.\n";

#[test]
fn tables_with_hessians() {
    let run = with_hessians().results(further("hessians")).unwrap().unwrap();
    shows_of(
        &run,
        "hessians",
        "To 1%:

        | data set | frugal | frugal, gradients | Fisher scoring |
        |---|---|---|---|
        | north | 10 | 20 | 40 |
        | south | 30 | 30 | 60 |
        | west | 40 | 40 | – |
        | mean ratio to `frugal` | 1.00 | 1.26 | 2.83 (2) |

        To 10⁻⁶:

        | data set | frugal | frugal, gradients | Fisher scoring |
        |---|---|---|---|
        | north | 20 | 80 | 80 |
        | south | 90 | 90 | 90 |
        | west | 80 | – | – |
        | mean ratio to `frugal` | 1.00 | 2.00 (2) | 2.00 (2) |",
    );
    let numbers = block(&run, "hessians-numbers").unwrap();
    assert!(numbers.contains("\n| north | 5.0 | 1.0 | 20.0 |\n"), "{numbers}");
    assert!(numbers.contains("\n| mean ratio to `frugal` | 1.00 | 0.20 (2) | 2.00 (2) |"), "{numbers}");
    // Not on counts.
    shows_of(
        &run,
        "hessians-fisher",
        "| data set | 1% | 10⁻⁶ |
        |---|---|---|
        | north | 0.25 | 0.25 |
        | south | 0.50 | 1.00 |
        | geometric mean | 0.35 | 0.50 |
        | largest | 0.50 | 1.00 |",
    );
    shows_of(
        &run,
        "hessians-limit",
        "| data set | 1% | 10⁻⁶ |
        |---|---|---|
        | north | 1.00 (10) | – |
        | south | 2.00 (15) | – |
        | west | 4.00 (10) | 0.80 (100) |
        | geometric mean without counts | 1.41 | – |
        | geometric mean of counts | 4.00 | 0.80 |",
    );
    // Only to targets of 0.1% and above.
    shows_of(
        &run,
        "hessians-out",
        "| data set | users | 4 out, 1% | 16 out, 1% |
        |---|---|---|---|
        | north | 50 | 1.00 | 2.00 |
        | south | 49 | 1.00 | 1.50 |
        | west | 60 | 2.00 | 3.00 |
        | mean, all sets |  | 1.26 | 2.08 |
        | mean, 50 users or more |  | 1.41 | 2.45 |
        | mean, 50 users or more, without counts |  | 1.00 | 2.00 |
        | mean, counts |  | 2.00 | 3.00 |",
    );
    let figures = hessians::figures("hessians", &run);
    for (name, value) in [
        ("fisher.0.01", "0.35"),
        ("fisher.max", "1.00"),
        ("fisher.1e-6.min", "0.25"),
        ("limit.0.01", "1.41"),
        ("limit.counts.1e-6", "0.80"),
        ("over.Fisher scoring.0.01", "0.35"),
        ("numbers-over.frugal, gradients.0.01", "7.94"),
        ("out.4.many.0.01", "1.41"),
        ("out.16.others.0.01.max", "2.00"),
    ] {
        assert_eq!(figures.get(&format!("hessians.{name}")).map(|value| &**value), Some(value), "{name}");
    }
    assert!(!figures.contains_key("hessians.out.4.all.1e-6") && !figures.contains_key("hessians.limit.1e-6"));
}

#[test]
fn tables_of_sites_and_of_several_out() {
    let sets = ["north 3", "north 3 λ=1e-4", "north 12"];
    let methods =
        [("frugal", 9, "5/10 20/20 12/24"), ("Fisher scoring", 9, "10/10 20/40 48/"), ("NIM", 9, "10/20 20/ /")];
    let sites = Results::of_summary("sites.csv", &with_numbers(&sets, ["0.1", "1e-12"], &methods)).unwrap();
    shows_of(
        &sites,
        "sites",
        "|  | 10% | 10⁻¹² |
        |---|---|---|
        | frugal, 3 sites | 0.71 | 0.71 |
        | frugal, 12 sites | 0.25 | – |
        | frugal, all | 0.50 | 0.71 (2) |
        | frugal, largest | 1.00 | 1.00 |
        | NIM, all | 1.00 (2) | 2.00 (1) |
        | NIM, largest | 1.00 | 2.00 |",
    );
    let figures = hessians::figures("sites", &sites);
    let found =
        ["sites.fisher.0.1", "sites.fisher.12.0.1", "sites.fisher.3.1e-12", "sites.fisher.max"].map(|it| &*figures[it]);
    assert_eq!(found, ["0.50", "0.25", "0.71", "1.00"]);

    let methods = [
        ("frugal", 9, "10/20 10/20"),
        ("frugal 4 out", 9, "20/20 20/20"),
        ("frugal 16 out", 9, "40/40 20/"),
        ("SAGA", 9, "10/ 10/"),
        ("SAGA 4 out", 9, "10/ 30/"),
    ];
    let open = Results::of_summary("open.csv", &with_numbers(&SETS, TARGETS, &methods)).unwrap();
    shows_of(
        &open,
        "open-methods",
        "| method | 10% | 0.1% |
        |---|---|---|
        | frugal 4 out | 2.00 | 1.00 |
        | frugal 16 out | 2.83 | 2.00 (1) |
        | SAGA 4 out | 1.73 | – |",
    );
    let figures = hessians::figures("open", &open);
    assert_eq!(figures["open.out.16.all.0.1"], "2.83");
    assert_eq!(figures["open.out.4.over.SAGA.0.1"], "1.15");
    assert!(block(&sites, "open").is_err_and(|error| error.contains("frugal 4 out")));
}

fn published(text: &str) -> Result<String, String> {
    let kept = Kept { benchmark: Some(files()), further: [("ablation", vec![ablation()])].into() };
    pages::render("docs/page.md", text, &Published::new(&kept).unwrap())
}

#[test]
fn marked_places_are_written_anew() {
    let table = block(&results(), "learned").unwrap();
    let expected = format!(
        "# Page\n\nOf <!--=sets-->2<!--/--> sets, <!--=frugal.wins.tuned.0.1-->1<!--/--> won.\n\n<!-- results: learned -->\n\n\
         {table}\n\n<!-- /results -->\nEnd.\n"
    );
    let found = published(PAGE).unwrap();
    assert_eq!(found, expected);
    assert_eq!(published(&found).unwrap(), found, "writing twice changes nothing");
    // Without files there are no figures, and places are checked all the same.
    let nothing = pages::render("page", &found, &Published::default()).unwrap();
    assert!(nothing.contains("Of <!--=sets-->…<!--/--> sets") && nothing.contains("learned -->\n<!-- /results -->"));
    assert!(pages::render("page", "<!-- results: none -->\n<!-- /results -->", &Published::default()).is_err());
}

#[test]
fn wrong_places_are_named_by_page_and_line() {
    let known = "there are sets, readme, frugal, frugal-learned, learned, intervals, limit, share, ratios-tuned, \
                 ratios-hindsight, ratios-untuned, all-tuned, tuning, ablation, ablation-untuned, ablation-all, hessians, hessians-numbers, \
                 hessians-fisher, hessians-limit, hessians-out, hessians-all, held-out, held-out-sets, held-out-queries, \
                 held-out-ratios-tuned, held-out-ratios-untuned, sites, open, open-methods, random, random.NAME";
    for (text, message) in [
        ("a\n<!-- results: none -->\n<!-- /results -->", &*format!("2: there is no block \"none\": {known}")),
        ("<!-- results: share -->\n", "1: the block \"share\" has no <!-- /results --> before the next block"),
        (
            "<!-- results: share -->\n<!-- results: limit -->\n<!-- /results -->",
            "1: the block \"share\" has no <!-- /results --> before the next block",
        ),
        ("<!-- results: share\n<!-- /results -->", "1: <!-- results: has no --> on its line"),
        ("\n\n<!-- /results -->", "3: <!-- /results --> ends nothing"),
        ("All\n- <!--=sets-->2<!--/-->", "2: a figure may not begin a line: move a word before it"),
        ("All <!--=sets-->2\n<!--/-->", "1: the figure \"sets\" has no <!--/--> on its line"),
        ("All <!--=sets-->2 <!--=sets-->2<!--/-->", "1: the figure \"sets\" has no <!--/--> on its line"),
        ("All <!--=sets", "1: <!--= has no --> on its line"),
        ("2<!--/-->", "1: <!--/--> ends nothing"),
        ("\nAll <!--=set-->2<!--/-->", "2: there is no figure \"set\": cargo xtask results --list prints them all"),
    ] {
        assert_eq!(published(text).unwrap_err(), format!("docs/page.md:{message}"), "{text}");
    }
}

#[test]
fn the_command_line() {
    let task = |line: &str| task(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(task("").unwrap(), Task::Write { run: None, further: vec![], random: vec![] });
    let random = vec![("a".to_owned(), "b=c".into()), ("d-2".to_owned(), "e".into())];
    let write = Task::Write {
        run: Some("out".into()),
        further: vec![(further("ablation"), "it".into()), (further("open"), "wide".into())],
        random,
    };
    assert_eq!(task("--random a=b=c out --ablation it --open wide --random d-2=e").unwrap(), write);
    assert_eq!([task("--check").unwrap(), task("--list").unwrap()], [Task::Check, Task::List]);
    for wrong in [
        "--chekc",
        "a b",
        "--random",
        "--random a",
        "--random /a=b",
        "--ablation",
        "--ablation --check",
        "--ablation a --ablation b",
        "--hessians",
        "--sites a --sites a",
        "--hessian a",
        "--check out",
        "out --check",
        "--list a",
    ] {
        assert!(task(wrong).is_err(), "{wrong}");
    }
}

/// A run's folder, as `sgq run` leaves it, and a repository with one page.
fn prepare(root: &Path) -> PathBuf {
    fs::create_dir_all(root.join("experiments")).unwrap();
    fs::write(root.join(BENCHMARK), "[[problem]]\nname = \"north\"\n[[method]]\nname = \"frugal\"\n").unwrap();
    fs::write(root.join(further("ablation").experiment), "name = \"any\"\n[[method]]\nname = \"lazy\"  # an option\n")
        .unwrap();
    let (run, files) = (root.join("out/run"), files());
    for folder in [&run, &root.join("data"), &root.join("docs"), &root.join("out/random")] {
        fs::create_dir_all(folder).unwrap();
    }
    for (name, text) in [("summary.csv", &files.summary), ("tuning.csv", &files.tuning), ("limit.csv", &files.limit)] {
        fs::write(run.join(name), text).unwrap();
    }
    for (name, _) in DRAWINGS {
        fs::write(run.join(name), format!("<svg>{name}</svg>")).unwrap();
    }
    fs::write(root.join("data/index.json"), &files.sets).unwrap();
    fs::write(root.join("out/random/summary.json"), RANDOM).unwrap();
    fs::write(root.join("docs/page.md"), PAGE).unwrap();
    run
}

#[test]
fn a_run_is_taken_in_and_then_checked() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site { root: folder.path(), pages: &["docs/page.md"] };
    let run = prepare(site.root);
    let page = || fs::read_to_string(site.root.join("docs/page.md")).unwrap();

    // Without files a page must not have figures; writing takes them out.
    assert!(site.check().unwrap_err().starts_with("docs/page.md:3: the page says\n"));
    site.write(None, &[], &[]).unwrap();
    site.check().unwrap();
    assert!(site.list().is_err() && !site.root.join(KEPT).exists());

    let experiment = fs::read_to_string(site.root.join(BENCHMARK)).unwrap();
    fs::write(site.root.join(BENCHMARK), format!("{experiment}[[problem]]\nname = \"east\"\n")).unwrap();
    let refused = site.write(Some(&run), &[], &[]).unwrap_err();
    assert!(refused.starts_with("the run has no problem \"east\", and experiments/grouped.toml has"), "{refused}");
    fs::write(site.root.join(BENCHMARK), experiment).unwrap();
    site.write(Some(&run), &[], &[("small".into(), site.root.join("out/random"))]).unwrap();
    site.check().unwrap();
    assert_eq!(page(), published(PAGE).unwrap());
    let heat = fs::read_to_string(site.root.join("docs/figures/grouped-heat-10.svg")).unwrap();
    assert_eq!(heat, "<svg>heat-tuned-0.1.svg</svg>");
    assert_eq!(site.list().unwrap()["random.small.problems"], "1,000");
    let names = |folder: &str| {
        let entries = fs::read_dir(site.root.join(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(KEPT), ["limit.csv", "random-small.json", "sets.json", "summary.csv", "tuning.csv"]);

    // What was kept is enough, also with other line ends; a run without random problems leaves those that are kept.
    fs::remove_dir_all(site.root.join("out/random")).unwrap();
    site.write(Some(&run), &[], &[]).unwrap();
    fs::write(site.root.join("docs/page.md"), page().replace('\n', "\r\n")).unwrap();
    site.check().unwrap();
    assert!(site.list().unwrap().contains_key("random.small.problems"));

    // A figure that was changed by hand, and a file that was.
    site.write(None, &[], &[]).unwrap();
    fs::write(site.root.join("docs/page.md"), page().replace("| 17 |", "| 16 |")).unwrap();
    let found = site.check().unwrap_err();
    assert!(found.starts_with("docs/page.md:9: the page says\n  | `L_i` known | 16 |"), "{found}");
    site.write(None, &[], &[]).unwrap();
    let limit = site.root.join(KEPT).join("summary.csv");
    fs::write(&limit, files().summary.replace("south,frugal,untuned,0.1,30,", "south,frugal,untuned,0.1,10,")).unwrap();
    assert!(site.check().unwrap_err().starts_with("docs/page.md:3: "));
    fs::remove_dir_all(site.root.join(KEPT)).unwrap();
    assert!(site.check().is_err(), "figures without files");
}

/// The ablation needs no run of the benchmark, and neither replaces the other.
#[test]
fn the_ablation_is_taken_in_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site { root: folder.path(), pages: &["docs/page.md", "docs/sgq.md"] };
    let run = prepare(site.root);
    let options = site.root.join("out/options");
    fs::create_dir_all(&options).unwrap();
    fs::write(options.join("summary.csv"), ablation()).unwrap();
    let page = || fs::read_to_string(site.root.join("docs/sgq.md")).unwrap();
    let text = "On <!--=ablation.sets--><!--/--> sets:\n<!-- results: ablation-untuned -->\n<!-- /results -->\n";
    fs::write(site.root.join("docs/sgq.md"), text).unwrap();

    site.write(None, &[(further("ablation"), options)], &[]).unwrap();
    site.check().unwrap();
    assert_eq!(page(), published(text).unwrap());
    assert!(page().contains("| lazy | 20 | – |"), "{}", page());
    let other = fs::read_to_string(site.root.join("docs/page.md")).unwrap();
    assert!(other.contains("Of <!--=sets-->…<!--/--> sets"), "{other}");
    assert_eq!(site.list().unwrap()["ablation.sets"], "2");

    site.write(Some(&run), &[], &[]).unwrap();
    assert_eq!(page(), published(text).unwrap());
    fs::remove_file(site.root.join(KEPT).join("ablation.csv")).unwrap();
    assert!(site.check().unwrap_err().starts_with("docs/sgq.md:1: the page says\n"));
    site.write(None, &[], &[]).unwrap();
    site.check().unwrap();
    assert!(
        page()
            .starts_with("On <!--=ablation.sets-->…<!--/--> sets:\n<!-- results: ablation-untuned -->\n<!-- /results")
    );
}

/// A further run is kept under its name, with its drawings, and must be whole.
#[test]
fn a_run_with_hessians_is_taken_in() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site { root: folder.path(), pages: &["docs/page.md"] };
    prepare(site.root);
    let (it, run) = (further("hessians"), site.root.join("out/hessians"));
    let kept = with_hessians();
    fs::create_dir_all(&run).unwrap();
    for (name, text) in ["summary.csv", "limit.csv"].iter().zip(&kept.further["hessians"]) {
        fs::write(run.join(name), text).unwrap();
    }
    let text = "On <!--=hessians.out.4.all.0.01--><!--/--> times:\n<!-- results: hessians -->\n<!-- /results -->\n";
    fs::write(site.root.join("docs/page.md"), text).unwrap();
    let experiment = site.root.join(it.experiment);
    fs::write(&experiment, "[[method]]\nname = \"NIM\"\n").unwrap();
    let take_in = || site.write(None, &[(it, run.clone())], &[]);
    assert!(take_in().unwrap_err().contains("curves-contraception.svg"));
    for (name, _) in it.drawings {
        fs::write(run.join(name), format!("<svg>{name}</svg>")).unwrap();
    }
    let refused = take_in().unwrap_err();
    assert!(refused.starts_with("the run has no method \"NIM\", and experiments/hessians.toml has"), "{refused}");
    assert!(!site.root.join(KEPT).exists() && !site.root.join(FIGURES).exists());

    fs::write(&experiment, "[[method]]\nname = \"Fisher scoring\"\n").unwrap();
    take_in().unwrap();
    site.check().unwrap();
    let page = fs::read_to_string(site.root.join("docs/page.md")).unwrap();
    assert!(
        page.starts_with("On <!--=hessians.out.4.all.0.01-->1.26<!--/--> times:\n<!-- results: hessians -->\n\nTo 1%:")
    );
    assert_eq!(fs::read_to_string(site.root.join("docs/results/hessians.csv")).unwrap(), kept.further["hessians"][0]);
    assert!(site.root.join("docs/figures/hessians-benefits.svg").exists());

    // Without one of its files the run is not there.
    fs::remove_file(site.root.join("docs/results/hessians-limit.csv")).unwrap();
    assert!(site.check().unwrap_err().starts_with("docs/page.md:1: "));
}

#[test]
fn nothing_is_written_unless_everything_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site { root: folder.path(), pages: &["docs/page.md", "docs/wrong.md"] };
    let run = prepare(site.root);
    fs::write(site.root.join("docs/wrong.md"), "All <!--=none--><!--/-->\n").unwrap();
    let untouched = || {
        assert!(!site.root.join(KEPT).exists() && !site.root.join(FIGURES).exists());
        assert_eq!(fs::read_to_string(site.root.join("docs/page.md")).unwrap(), PAGE);
    };
    assert!(site.write(Some(&run), &[], &[]).unwrap_err().starts_with("docs/wrong.md:1: there is no figure"));
    untouched();
    fs::write(site.root.join("docs/wrong.md"), "right\n").unwrap();
    assert!(site.write(None, &[], &[("small".into(), site.root.join("out/random"))]).unwrap_err().contains("first"));
    assert!(site.write(Some(&run), &[], &[("small".into(), run.clone())]).unwrap_err().contains("summary.json"));
    fs::remove_file(run.join("share.svg")).unwrap();
    assert!(site.write(Some(&run), &[], &[]).unwrap_err().contains("share.svg"));
    untouched();
    fs::write(run.join("share.svg"), "").unwrap();
    site.write(Some(&run), &[], &[]).unwrap();
    site.check().unwrap();
}
