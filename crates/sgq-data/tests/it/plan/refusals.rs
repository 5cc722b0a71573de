//! What a clinic does not answer.

use serde_json::{Value, json};
use sgq::Detail;
use sgq_data::plan::{Clinic, ClinicError, Options, Outcome, Rules, StudyPlan};

use super::{agreed, clinic, numbers, plan, question, sites, value};

fn refused(clinic: &mut Clinic, question: &Value) -> String {
    let reply = clinic.answer(&question.to_string());
    assert_eq!(reply.outcome, Outcome::Refused, "{}", reply.words);
    let said = value(&reply);
    assert_eq!((&said["ticket"], &said["user"]), (&question["ticket"], &json!("site-1")));
    let error = said["error"].as_str().unwrap().to_owned();
    assert!(reply.words.contains(&format!(" refused: {error}")), "{}", reply.words);
    error
}

#[test]
fn what_the_plan_does_not_allow_is_refused() {
    let (_, own) = sites();
    let plan = plan("died ~ age + sex", "binomial");
    let agreed = agreed(&plan, &own);
    let mut clinic = clinic(&plan, &own[1], &Options::default());
    let point = [0.0, 0.5, -0.5];
    let good = question(&plan, "site-1", 1, &["gradient"], Some((&point, &agreed)));
    let cases: [(&str, Value, &str); 17] = [
        ("plan", json!("0123456789abcdef"), "it is by the plan 0123456789ab, and this clinic has agreed to "),
        ("plan", Value::Null, "the question has no \"plan\": it is not of a session with a plan"),
        ("user", json!("site-2"), "it is for site-2, and this is site-1"),
        ("user", json!(1), "the question has no \"user\""),
        ("wants", json!(["gradient", "loss"]), "it asks for the loss, and the plan allows no more than the gradient"),
        (
            "wants",
            json!(["gradient", "hessian"]),
            "it asks for the hessian, and the plan allows no more than the gradient",
        ),
        ("wants", json!(["rows"]), "it asks for \"rows\", which no clinic gives"),
        ("wants", json!(["loss"]), "the question's \"wants\" names no gradient"),
        ("wants", json!([]), "the question's \"wants\" names no gradient"),
        ("wants", json!("gradient"), "the question's \"wants\" is not a list of words"),
        ("point", json!([0, 50.5, 0]), "the point has 50.5 for age, and the plan allows 50 at most"),
        ("point", json!([0, -1e300, 0]), "the plan allows 50 at most"),
        ("point", json!([0, 1]), "the point has 2 numbers, and the model 3 parameters"),
        ("point", json!([0, "1", 2]), "the question's \"point\" is not a list of numbers"),
        ("point", json!([0, null, 2]), "the question's \"point\" is not a list of numbers"),
        ("model", Value::Null, "the question's \"model\" is damaged"),
        ("model", json!({}), "the question's \"model\" is damaged: missing field"),
    ];
    for (field, change, words) in cases {
        let mut bad = good.clone();
        bad[field] = change;
        let error = refused(&mut clinic, &bad);
        assert!(error.contains(words), "{words}: {error}");
    }
    // Nothing of this counts, and the question itself is answered.
    assert_eq!(clinic.given(), (0, 0));
    assert_eq!(clinic.answer(&good.to_string()).outcome, Outcome::Answered);
}

/// A model decides what a gradient says of whom: it must be the one that follows from the plan.
#[test]
fn a_model_that_is_not_the_plans_is_refused() {
    let (_, own) = sites();
    let plan = plan("died ~ age * sex", "binomial");
    let agreed = agreed(&plan, &own);
    let good = question(&plan, "site-1", 1, &["gradient"], Some((&[0.0; 4], &agreed)));
    type Change<'a> = (&'a dyn Fn(&mut Value), &'a str);
    let cases: [Change<'_>; 10] = [
        (&|it| it["formula"] = json!("died ~ sex * age"), "the model has another formula than the plan"),
        (&|it| it["response"] = json!("age"), "the model has another target than the plan"),
        (&|it| it["target"] = json!("count"), "the model has another target than the plan"),
        (&|it| it["offset"] = json!("days"), "the model has another offset than the plan"),
        (&|it| it["delimiter"] = json!(44), "the model has another delimiter than the plan"),
        (&|it| it["weight"] = json!("w"), "the model has another weight than the plan"),
        (&|it| it["variables"][1]["factor"]["levels"] = json!(["f", "x"]), "the model lacks the level \"m\" of sex"),
        (
            &|it| it["variables"][0] = json!({"number": "I(age^2)"}),
            "the model's columns are not those of the plan's formula",
        ),
        // One person alone would stand out.
        (
            &|it| it["columns"][0] = json!({"parts": [{"variable": 0}], "scaling": {"mean": 43.3, "scale": 1e-9}}),
            "the model's scaling of age is far from the clinic's mean and deviation",
        ),
        (
            &|it| it["target"] = json!({"levels": {"negative": "no", "positive": "maybe"}}),
            "the model lacks the target's level \"yes\"",
        ),
    ];
    for (change, words) in cases {
        let mut clinic = clinic(&plan, &own[1], &Options::default());
        let mut bad = good.clone();
        change(&mut bad["model"]);
        let error = refused(&mut clinic, &bad);
        assert!(error.contains(words), "{words}: {error}");
    }
    // A column less.
    let mut clinic = clinic(&plan, &own[1], &Options::default());
    let mut bad = good.clone();
    bad["model"]["columns"].as_array_mut().unwrap().pop();
    bad["point"].as_array_mut().unwrap().pop();
    assert_eq!(refused(&mut clinic, &bad), "the model's columns are not those of the plan's formula");
    // A level that others have is no reason to refuse.
    let mut more = good.clone();
    let add = |value: &mut Value, what: Value| value.as_array_mut().unwrap().push(what);
    add(&mut more["model"]["variables"][1]["factor"]["levels"], json!("x"));
    assert_eq!(refused(&mut clinic, &more), "the model's columns are not those of the plan's formula");
    // It stays what it was at the first question.
    assert_eq!(clinic.answer(&good.to_string()).outcome, Outcome::Answered);
    let mut other = good.clone();
    other["ticket"] = json!(2);
    other["model"]["columns"][0]["scaling"]["mean"] = json!(40.0);
    assert_eq!(
        refused(&mut clinic, &other),
        "the model is not that of the first question: levels and scaling stay as they were"
    );
}

#[test]
fn caps_hold() {
    let (_, own) = sites();
    let rules = Rules { answers_each: 2, closing: 1, ..Rules::default() };
    let plan = StudyPlan { rules, ..plan("died ~ age + sex", "binomial") };
    let agreed = agreed(&plan, &own);
    let mut clinic = clinic(&plan, &own[1], &Options::default());
    let mut ask = |ticket: u64, wants: &str| {
        clinic.answer(&question(&plan, "site-1", ticket, &[wants], Some((&[0.0; 3], &agreed))).to_string())
    };
    assert_eq!(ask(1, "gradient").outcome, Outcome::Answered);
    assert_eq!(ask(1, "gradient").outcome, Outcome::Again);
    assert_eq!(ask(2, "gradient").outcome, Outcome::Answered);
    assert_eq!(ask(3, "gradient").words, "question 3 refused: 2 questions were answered, as many as the plan allows");
    assert_eq!(ask(1, "gradient").outcome, Outcome::Again);
    assert_eq!(ask(1, "closing").outcome, Outcome::Answered);
    assert_eq!(
        ask(2, "closing").words,
        "the closing question refused: 1 closing question was answered, as many as the plan allows"
    );
    let none = StudyPlan { rules: Rules { closing: 0, ..plan.rules }, ..plan.clone() };
    let mut other = super::clinic(&none, &own[1], &Options::default());
    let error = refused(&mut other, &question(&none, "site-1", 1, &["closing"], Some((&[0.0; 3], &agreed))));
    assert_eq!(error, "it is a closing question, which the plan does not allow");
}

#[test]
fn few_rows_are_protected() {
    let (_, own) = sites();
    let plan = plan("died ~ age + sex", "binomial");
    let agreed = agreed(&plan, &own);
    let ask = |rules: Rules, wants: &str| {
        let plan = StudyPlan { rules, ..plan.clone() };
        let at = (wants != "summary").then_some((&[0.0; 3][..], &agreed));
        let mut clinic = clinic(&plan, &own[1], &Options::default());
        refused(&mut clinic, &question(&plan, "site-1", 1, &[wants], at))
    };
    let strict = Rules { min_rows: 34, ..Rules::default() };
    for wants in ["summary", "gradient", "closing"] {
        assert_eq!(ask(strict, wants), "fewer rows are used than the plan asks for, which is at least 34");
    }
    // The owner is told how many.
    let few = StudyPlan { rules: strict, ..plan.clone() };
    let reply =
        clinic(&few, &own[1], &Options::default()).answer(&question(&few, "site-1", 1, &["summary"], None).to_string());
    assert!(
        reply.words.ends_with("(not sent: 33 rows are used, and the plan asks for at least 34)"),
        "{}",
        reply.words
    );
    assert!(!reply.public_words.contains("33"), "{}", reply.public_words);
    let shares = Rules { parameters_per_row: 0.09, ..Rules::default() };
    for wants in ["gradient", "closing"] {
        assert_eq!(
            ask(shares, wants),
            "the model has 3 parameters, and the plan allows 0.09 for each of the 33 rows: at most 2"
        );
    }
}

#[test]
fn a_line_that_is_no_question_is_answered_with_an_error() {
    let (_, own) = sites();
    let plan = plan("died ~ age + sex", "binomial");
    let mut clinic = clinic(&plan, &own[1], &Options::default());
    for (line, words) in [
        ("", "{\"error\":\"the question is not JSON: EOF"),
        ("hello", "{\"error\":\"the question is not JSON: expected value"),
        ("[1]", "{\"error\":\"the question is not a JSON object\"}"),
        (
            "{\"user\":\"site-1\"}",
            "{\"error\":\"the question has no \\\"ticket\\\" that is a whole number up to 2^53\"}",
        ),
        ("{\"ticket\":-1}", "{\"error\":\"the question has no \\\"ticket\\\""),
        ("{\"ticket\":9007199254740993}", "{\"error\":\"the question has no \\\"ticket\\\""),
        ("{\"ticket\":3}", "{\"ticket\":3,\"user\":\"site-1\",\"error\":\"the question has no \\\"user\\\"\"}"),
    ] {
        let reply = clinic.answer(line);
        assert!(reply.line.starts_with(words), "{}", reply.line);
        assert_eq!(reply.outcome, Outcome::Refused);
    }
    let deep = "[".repeat(100_000);
    assert!(clinic.answer(&deep).line.starts_with("{\"error\":\"the question is not JSON: recursion limit"));
}

#[test]
fn options_that_protect_nobody_are_refused() {
    let (_, own) = sites();
    let plan = plan("died ~ age", "binomial");
    let open = |clip, noise| {
        let options = Options { clip, noise, log: None };
        Clinic::new(plan.clone(), own[1].1.clone().into_bytes(), "site-1", &options)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(open(Some(1.0), None).starts_with("clip and noise go together"));
    assert!(open(None, Some(1.0)).starts_with("clip and noise go together"));
    assert_eq!(open(Some(0.0), Some(1.0)), "the clip is 0: it must be a positive number");
    assert_eq!(open(Some(1.0), Some(f64::NAN)), "the noise is NaN: it must be a positive number");
    let missing = Clinic::open(plan.clone(), "/nowhere/mine.csv", "site-1", &Options::default()).unwrap_err();
    assert!(missing.to_string().starts_with("/nowhere/mine.csv: cannot be read: "), "{missing}");
    let error = Clinic::new(plan, b"age,dyed\n1,yes\n".to_vec(), "site-1", &Options::default()).unwrap_err();
    assert!(matches!(error, ClinicError::Summary(_)));
    assert!(error.to_string().starts_with("there is no column \"died\"; did you mean \"dyed\"?"), "{error}");
}

/// With noise, curvature has none and is not given.
#[test]
fn hessians_are_not_given_with_noise() {
    let (_, own) = sites();
    let rules = Rules { answers: Detail::Hessian, ..Rules::default() };
    let plan = StudyPlan { rules, ..plan("died ~ age", "binomial") };
    let agreed = agreed(&plan, &own);
    let mut clinic = clinic(&plan, &own[1], &Options { clip: Some(1.0), noise: Some(0.1), log: None });
    let ask = |wants: &[&str]| question(&plan, "site-1", 1, wants, Some((&[0.0, 0.0], &agreed)));
    assert_eq!(
        refused(&mut clinic, &ask(&["gradient", "loss", "hessian"])),
        "it asks for a Hessian, which this clinic does not give: noise is added to gradients only"
    );
    let reply = clinic.answer(&ask(&["gradient"]).to_string());
    assert_eq!(numbers(&value(&reply)["gradient"]).len(), 2);
    assert!(
        reply.words.contains("each row clipped to 1, with noise of deviation 0.1 in each number"),
        "{}",
        reply.words
    );
}
