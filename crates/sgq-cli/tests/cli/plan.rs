//! `sgq plan`: the agreement.

use std::fs;

use sgq::Detail;
use sgq_data::{
    glm::Weigh,
    plan::{Rules, StudyPlan},
};
use tempfile::tempdir;

use crate::{folder_with, refuses, sgq, succeeds, text};

/// 30 rows; two ages are missing, and one row has a level of its own.
pub fn mine() -> String {
    let row = |row: usize| {
        let age = if row % 16 == 15 { String::new() } else { (20 + 7 * row % 60).to_string() };
        let sex = if row == 4 { "x" } else { ["f", "m"][row % 2] };
        format!("{age},{sex},{},{}\n", ["no", "yes", "no"][row % 3], 1.0 + row as f64)
    };
    "age,sex,died,days\n".to_owned() + &(0..30).map(row).collect::<String>()
}

#[test]
fn a_plan_is_made_shown_and_not_replaced() {
    let place = tempdir().unwrap();
    let usual = ["plan", "new", "model.plan", "--formula", "died ~ age + sex", "--family", "binomial"];
    let printed = succeeds(place.path(), &usual);
    let plan = StudyPlan::read(place.path().join("model.plan")).unwrap();
    assert_eq!(plan, StudyPlan::new("died ~ age + sex".parse().unwrap(), "binomial".parse().unwrap()));
    let shown = succeeds(place.path(), &["plan", "show", "model.plan"]);
    assert!(shown.starts_with("  died ~ age + sex, binomial (a logistic regression)\n"), "{shown}");
    assert!(shown.ends_with(&format!("  plan {}\n", plan.id())), "{shown}");
    assert_eq!(
        printed,
        format!(
            "{shown}\n  written to model.plan: give it to everybody\n\n  sgq plan check model.plan --data mine.csv\n"
        )
    );
    assert_eq!(
        refuses(place.path(), &usual),
        "error: model.plan is there already, and somebody may have agreed to it: name another file, or replace it with --force\n"
    );
    let more = [
        "--weigh",
        "users",
        "--l2",
        "0.5",
        "--weight",
        "w",
        "--answers",
        "hessian",
        "--answers-each",
        "7",
        "--closing",
        "0",
        "--min-rows",
        "20",
        "--parameters-per-row",
        "0.1",
        "--largest-coefficient",
        "9",
        "--force",
        "--quiet",
    ];
    assert_eq!(succeeds(place.path(), &[&usual[..], &more].concat()), "");
    let changed = StudyPlan::read(place.path().join("model.plan")).unwrap();
    let rules = Rules {
        answers: Detail::Hessian,
        answers_each: 7,
        closing: 0,
        min_rows: 20,
        parameters_per_row: 0.1,
        largest_coefficient: 9.0,
    };
    assert_eq!(changed, StudyPlan { weigh: Weigh::Users, l2: 0.5, weight: Some("w".into()), rules, ..plan });
}

#[test]
fn what_is_no_plan_is_refused() {
    let place = tempdir().unwrap();
    let new = |formula: &str, more: &[&str]| {
        let usual = ["plan", "new", "model.plan", "--formula", formula, "--family", "poisson"];
        refuses(place.path(), &[&usual, more].concat())
    };
    assert_eq!(new("y ~ .", &[]), "error: the formula has a `.`, which is other columns at every clinic: name them\n");
    assert_eq!(new("y ~ y + x", &[]), "error: \"y\" is the target and a feature: it can be one of them\n");
    assert!(new("y ~ x +", &[]).contains("the formula is wrong at character"));
    assert!(new("y ~ x", &["--min-rows", "0"]).contains("expected a whole number from 1"));
    assert!(new("y ~ x", &["--l2", "-1"]).contains("expected a number that is not negative"));
    assert!(!place.path().join("model.plan").exists());
    let error = refuses(place.path(), &["plan", "show", "model.plan"]);
    assert!(error.starts_with("error: cannot read the plan model.plan: "), "{error}");
    fs::write(place.path().join("model.plan"), "{\"format\": 9}").unwrap();
    let error = refuses(place.path(), &["plan", "show", "model.plan"]);
    assert!(error.starts_with("error: model.plan: the plan has format 9, and this is sgq "), "{error}");
    fs::create_dir(place.path().join("folder.plan")).unwrap();
    let new = ["plan", "new", "folder.plan", "--formula", "y ~ x", "--family", "poisson", "--force"];
    assert_eq!(refuses(place.path(), &new), "error: folder.plan is not a file: name another one\n");
}

#[test]
fn a_file_is_tried_before_anybody_asks() {
    let place = folder_with("mine.csv", &mine());
    let new = |name: &str, formula: &str, more: &[&str]| {
        let usual = ["plan", "new", name, "--formula", formula, "--family", "binomial", "--quiet"];
        succeeds(place.path(), &[&usual, more].concat());
    };
    new("model.plan", "died ~ age + sex", &[]);
    let check = |plan: &str| sgq(place.path(), &["plan", "check", plan, "--data", "mine.csv"]);
    let printed = text(&check("model.plan").stdout);
    assert_eq!(
        printed,
        "\n  The first answer would disclose 14 numbers, and no more:\n\n    29 rows used\n    \
         1 row left out, where a value is missing (\"age\": 1)\n    age: mean 46.89655172, deviation 17.56828025\n    \
         sex: rows at \"f\": 14, \"m\": 14, \"x\": 1\n    target: rows at \"no\": 19, \"yes\": 10\n    \
         4 more: counts, sums of weights, and what a model without columns needs\n\n  \
         note: 1 row of \"sex\" at \"x\": few persons\n\n  \
         The plan's rules would answer: 29 rows for a model of 4 coefficients or a few more.\n"
    );
    // Of the target, too.
    fs::write(place.path().join("rare.csv"), mine().replace("yes", "no").replacen("f,no", "f,yes", 1)).unwrap();
    let printed = succeeds(place.path(), &["plan", "check", "model.plan", "--data", "rare.csv"]);
    assert!(
        printed.contains(
            "  note: 1 row of \"sex\" at \"x\": few persons\n  note: 1 row of the target at \"yes\": few persons\n"
        ),
        "{printed}"
    );
    new("strict.plan", "died ~ age + sex", &["--min-rows", "30"]);
    let output = check("strict.plan");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout)
            .ends_with("  The plan's rules would refuse: 29 rows are used, and the plan asks for at least 30.\n"),
        "{}",
        text(&output.stdout)
    );
    new("large.plan", "died ~ (age + sex) * log(days) * I(age^2)", &[]);
    let output = check("large.plan");
    assert_eq!(output.status.code(), Some(1));
    let words = "  The plan's rules would refuse: the model has 16 parameters, and the plan allows 0.33 for each of the 29 rows: at most 9.\n";
    assert!(text(&output.stdout).ends_with(words), "{}", text(&output.stdout));
    new("other.plan", "died ~ agee", &[]);
    let error = refuses(place.path(), &["plan", "check", "other.plan", "--data", "mine.csv"]);
    assert!(error.starts_with("error: mine.csv: there is no column \"agee\"; did you mean \"age\"?"), "{error}");
    // Nothing was written beside the data.
    assert!(fs::read_dir(place.path()).unwrap().all(|it| !it.unwrap().file_name().to_string_lossy().contains("log")));
}
