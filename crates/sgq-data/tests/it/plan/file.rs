//! Plans as files.

use std::fs;

use sgq::Detail;
use sgq_data::{
    glm::Weigh,
    plan::{PlanError, Rules, StudyPlan},
};
use tempfile::tempdir;

use super::plan;

#[test]
fn a_plan_reads_back_as_it_was_written() {
    for (formula, family) in [
        ("died ~ age + factor(kind, ref = \"2\") * sex", "binomial"),
        ("log(cost) ~ 0 + age + I(age^2)", "huber:1.5"),
        ("events ~ age + offset(log(days))", "negbin:2.5"),
    ] {
        let rules = Rules { answers: Detail::Hessian, answers_each: 7, ..Rules::default() };
        let plain = plan(formula, family);
        let changed =
            StudyPlan { weigh: Weigh::Users, l2: 0.1 + 0.2, weight: Some("w".into()), rules, ..plain.clone() };
        for plan in [&plain, &changed] {
            let text = plan.to_json();
            assert!(text.ends_with("}\n"));
            let back = StudyPlan::from_json(&text).unwrap();
            assert_eq!((&back, back.id(), back.to_json()), (plan, plan.id(), text.clone()));
            // However it is laid out.
            let packed = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(StudyPlan::from_json(&format!("\u{feff}{packed}")).unwrap().id(), plan.id());
        }
        assert_ne!(plain.id(), changed.id());
        assert_eq!(plain.id().len(), 64);
    }
}

/// The number that everybody compares must not change with a version.
#[test]
fn the_id_of_a_plan_stays() {
    let plan = plan("died ~ age + sex", "binomial");
    assert_eq!(plan.id(), "602a5e7e9fca6c6e1511a2b895a023efbc2b895af17a066e5aa3d20017649459");
}

#[test]
fn damaged_plans_are_refused() {
    let good = plan("died ~ age + sex", "binomial").to_json();
    let refused = |text: &str| StudyPlan::from_json(text).unwrap_err().to_string();
    for (from, to, words) in [
        ("\"format\": 1", "\"format\": 2", "the plan has format 2, and this is sgq "),
        ("\"format\": 1", "\"format\": \"1\"", "this is not a plan of sgq"),
        ("\"format\": 1", "\"format\": 0", "the plan is damaged (format is 0: it must be 1)"),
        ("\"binomial\"", "\"binomal\"", "the family is 'binomal'"),
        ("age + sex", "age ++ sex", "the formula is wrong at character"),
        ("age + sex", "age + .", "the formula has a `.`, which is other columns at every clinic: name them"),
        ("age + sex", "0", "the formula has no terms"),
        ("age + sex", "age + died", "\"died\" is the target and a feature"),
        ("age + sex", "age - sex", "the formula has sex taken out"),
        ("\"l2\": 0.0", "\"l2\": -1", "l2 is -1"),
        ("\"min_rows\": 10", "\"min_rows\": 0", "min_rows is 0: it must be a whole number from 1"),
        ("\"min_rows\": 10", "\"min_row\": 10", "unknown field `min_row`"),
        ("\"closing\": 3,", "", "missing field `closing`"),
        ("0.33", "0", "parameters_per_row is 0: it must be a positive number"),
        ("\"rows\"", "\"row\"", "unknown variant `row`"),
        ("}\n}", "}", "EOF"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = refused(&good.replace(from, to));
        assert!(error.contains(words), "{to}: {error}");
    }
    assert_eq!(refused("[]"), "this is not a plan of sgq: take the file that sgq plan new wrote");
    let weighted = StudyPlan { weight: Some("age".into()), ..plan("died ~ age", "binomial") };
    let error = weighted.check().unwrap_err().to_string();
    assert_eq!(error, "\"age\" is the weight and in the formula: it can be one of them");
}

#[test]
fn files_are_named() {
    let place = tempdir().unwrap();
    let path = place.path().join("model.plan");
    let error = StudyPlan::read(&path).unwrap_err();
    assert!(matches!(error, PlanError::Unreadable { .. }) && error.to_string().contains("model.plan"), "{error}");
    fs::write(&path, "{").unwrap();
    let error = StudyPlan::read(&path).unwrap_err().to_string();
    assert!(error.contains("model.plan: the plan is damaged (EOF"), "{error}");
    let good = plan("died ~ age", "binomial");
    fs::write(&path, good.to_json()).unwrap();
    assert_eq!(StudyPlan::read(&path).unwrap(), good);
}

#[test]
fn the_agreement_says_what_everybody_needs_to_know() {
    let weighted =
        StudyPlan { weight: Some("w".into()), l2: 0.01, ..plan("died ~ log(age) + offset(base)", "binomial") };
    let words = weighted.in_words();
    for part in [
        "died ~ log(age) + offset(base), binomial",
        "rows weighted by w; a penalty of 0.01",
        "\"died\", \"age\", \"base\", \"w\"",
        "  once              how many rows",
        "  at most 50 times  the gradient of its mean loss",
        "  at most 3 times   gradient, information and deviance",
        "fewer than 10 rows",
        "more than 0.33 coefficients",
        "beyond ±50, on columns as the model scales them, or scaled to deviation 1 in its own rows\n",
        "a root mean square above 1000 in its own rows\n",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let rules = Rules { closing: 1, ..Rules::default() };
    let words = StudyPlan { rules, ..plan("died ~ age", "gaussian") }.in_words();
    assert!(words.contains("\n  at most once      gradient, information"), "{words}");
    // Of squares nothing else is checked.
    assert!(words.contains("beyond ±50, on columns as the model scales them\n"), "{words}");
}
