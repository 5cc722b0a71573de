//! What a coordinator that makes up models and points could learn from refusals, and from gradients far out.

use serde_json::{Value, json};
use sgq_data::plan::{Clinic, Options, Outcome, Rules, StudyPlan};
use tempfile::tempdir;

use super::{agreed, clinic, numbers, plan, question, sites, value};

const NO_FIT: &str = "the clinic's rows do not fit the model: this counts as an answer";
const NOT_FINITE: &str = "the answer at this point has a number that is not finite: this counts as an answer";

fn refusal(clinic: &mut Clinic, question: &Value) -> String {
    let reply = clinic.answer(&question.to_string());
    assert_eq!(reply.outcome, Outcome::Refused, "{}", reply.words);
    assert!(!reply.public_words.contains("not sent"), "{}", reply.public_words);
    value(&reply)["error"].as_str().unwrap().to_owned()
}

fn scaled(mut question: Value, column: usize, scale: f64) -> Value {
    question["model"]["columns"][column]["scaling"]["scale"] = json!(scale);
    question
}

/// Two clinics with the same mean and deviation, and other extremes, refuse the same models: no extreme can be searched for.
#[test]
fn refusals_of_a_scaling_tell_what_the_first_answer_tells() {
    let file = |ages: &dyn Fn(usize) -> f64| {
        let row = |row: usize| format!("{},{}\n", ages(row), ["no", "yes"][row / 2 % 2]);
        ("north".to_owned(), "age,died\n".to_owned() + &(0..32).map(row).collect::<String>())
    };
    let near = file(&|row| [40.0, 60.0][row % 2]);
    let far = file(&|row| [10.0, 90.0, 50.0][row.min(2)]);
    let plan = plan("died ~ age", "binomial");
    let agreed = agreed(&plan, std::slice::from_ref(&near));
    let [mut near, mut far] = [near, far].map(|own| clinic(&plan, &own, &Options::default()));
    assert_eq!(near.summary(), far.summary());
    let mut answered = 0;
    for power in -320..300 {
        let asked = question(&plan, "north", 1, &["gradient"], Some((&[0.0, 0.1], &agreed)));
        let asked = scaled(asked, 0, 10f64.powi(power)).to_string();
        let replies = [near.answer(&asked), far.answer(&asked)];
        assert_eq!(replies[0].outcome, replies[1].outcome, "{power}");
        if replies[0].outcome == Outcome::Refused {
            assert_eq!(replies[0], replies[1]);
        }
        answered += u64::from(replies[0].outcome == Outcome::Answered);
    }
    // The first model that is answered for is the only one; refusals that tell nothing are free.
    assert_eq!((answered, near.given(), far.given()), (1, (1, 0), (1, 0)));
}

/// The first answer does not tell of products: what is refused for their rows counts, and the model stays.
#[test]
fn refusals_that_depend_on_rows_count() {
    let (_, own) = sites();
    let plan = plan("died ~ age * days", "binomial");
    let agreed = agreed(&plan, &own);
    let place = tempdir().unwrap();
    let options = Options { log: Some(place.path().join("log")), ..Options::default() };
    let ask = |ticket: u64, wants: &str, point: f64, scale: f64| {
        let asked = question(&plan, "site-1", ticket, &[wants], Some((&[0.0, 0.0, 0.0, point], &agreed)));
        scaled(asked, 2, scale)
    };
    for (scale, more) in [
        (1e-300, "root mean square above 1000 once it is scaled"),
        (5e-324, "which is not a finite number"),
        (0.01, "1000"),
    ] {
        let mut clinic = clinic(&plan, &own[1], &Options::default());
        let reply = clinic.answer(&ask(1, "gradient", 0.0, scale).to_string());
        assert_eq!(value(&reply)["error"], json!(NO_FIT));
        assert!(reply.words.contains(" (not sent: ") && reply.words.contains(more), "{}", reply.words);
        assert_eq!(clinic.given(), (1, 0));
        let error = refusal(&mut clinic, &ask(2, "gradient", 0.0, 10.0));
        assert!(error.starts_with("the model is not that of the first question"), "{error}");
        assert_eq!(clinic.given(), (1, 0));
    }
    let mut first = clinic(&plan, &own[1], &options);
    // A product whose own deviation is some 10 times the scale: a point may be no further out than 50 / 10.
    for ticket in 1..50 {
        assert_eq!(refusal(&mut first, &ask(ticket, "gradient", 50.0, 10.0)), NO_FIT);
    }
    assert_eq!(refusal(&mut first, &ask(1, "closing", 50.0, 10.0)), NO_FIT);
    assert_eq!(
        refusal(&mut first, &ask(1, "gradient", 50.0, 10.0)),
        NO_FIT,
        "the same question is refused again, and counts once"
    );
    assert_eq!(first.given(), (49, 1));
    drop(first);
    let mut again = clinic(&plan, &own[1], &options);
    assert_eq!(again.given(), (49, 1));
    let asked = ask(7, "gradient", 50.0, 10.0);
    assert_eq!((again.has_answered(&asked.to_string()), refusal(&mut again, &asked)), (false, NO_FIT.to_owned()));
    assert_eq!(again.answer(&ask(50, "gradient", 0.5, 10.0).to_string()).outcome, Outcome::Answered);
    let error = refusal(&mut again, &ask(51, "gradient", 50.0, 10.0));
    assert_eq!(error, "50 questions were answered, as many as the plan allows");
}

/// Which number of an answer is not finite is not said, and that there is one counts.
#[test]
fn numbers_that_are_none_do_not_go_out() {
    let (_, own) = sites();
    for family in ["poisson", "gamma"] {
        let rules = Rules { largest_coefficient: 3000.0, ..Rules::default() };
        let formula = if family == "gamma" { "cost ~ age" } else { "events ~ age" };
        let plan = StudyPlan { rules, ..plan(formula, family) };
        let agreed = agreed(&plan, &own);
        let mut clinic = clinic(&plan, &own[1], &Options::default());
        for (wants, given) in [("gradient", (1, 0)), ("gradient", (1, 0)), ("closing", (1, 1))] {
            let asked = question(&plan, "site-1", 1, &[wants], Some((&[0.0, 1000.0], &agreed)));
            assert_eq!(refusal(&mut clinic, &asked), NOT_FINITE);
            assert_eq!(clinic.given(), given);
        }
        // With noise there is an answer: no refusal without noise tells that a row overflows.
        let options = Options { clip: Some(1.0), noise: Some(0.01), log: None };
        let mut noisy = super::clinic(&plan, &own[1], &options);
        let asked = question(&plan, "site-1", 1, &["gradient"], Some((&[0.0, 1000.0], &agreed)));
        let gradient = numbers(&value(&noisy.answer(&asked.to_string()))["gradient"]);
        assert!(gradient.iter().all(|value| value.abs() < 1.1), "{gradient:?}");
    }
}

/// A made-up scaling makes no gradient a count of the rows above a threshold.
#[test]
fn no_point_is_steeper_than_the_plan_says() {
    let (_, own) = sites();
    let plan = plan("died ~ age + sex", "binomial");
    let agreed = agreed(&plan, &own);
    let mut clinic = clinic(&plan, &own[1], &Options::default());
    // Ages have a deviation of some 12: scaled by a tenth of it, a coefficient of 5 is steep enough.
    let ask = |ticket: u64, age: f64, wants: &str| {
        scaled(question(&plan, "site-1", ticket, &[wants], Some((&[0.0, age, 0.0], &agreed))), 0, 1.2)
    };
    let error = refusal(&mut clinic, &ask(1, 7.0, "gradient"));
    assert_eq!(
        error,
        "the point has 7 for age, and the plan allows 50 at most where the clinic's own rows have the deviation 1"
    );
    assert!(refusal(&mut clinic, &ask(1, -7.0, "closing")).starts_with("the point has -7 for age"));
    assert_eq!(clinic.given(), (0, 0));
    assert_eq!(clinic.answer(&ask(1, 4.0, "gradient").to_string()).outcome, Outcome::Answered);
}

/// Neither does a made-up scaling of the target, where the loss has a bend.
#[test]
fn no_target_is_steeper_than_that() {
    let (_, own) = sites();
    for (family, shrunk, refused) in
        [("huber:1.35", 0.01, true), ("huber:1.35", 0.1, false), ("gaussian", 0.01, false), ("gaussian", 1e-4, true)]
    {
        let plan = plan("cost ~ age", family);
        let agreed = agreed(&plan, &own);
        let mut asked = question(&plan, "site-1", 1, &["gradient"], Some((&[0.0; 2], &agreed)));
        let scale = &mut asked["model"]["target"]["number"]["scale"];
        *scale = json!(shrunk * scale.as_f64().unwrap());
        let mut clinic = clinic(&plan, &own[1], &Options::default());
        let reply = clinic.answer(&asked.to_string());
        assert_eq!(reply.outcome == Outcome::Refused, refused, "{family} {shrunk}: {}", reply.words);
        if refused {
            assert_eq!(
                value(&reply)["error"],
                json!("the model's scaling of the target is far from the clinic's mean and deviation")
            );
        }
    }
}

/// Ages in months, or in thousandths of a year, in one clinic: all of them answer wherever a fit goes.
#[test]
fn a_slip_of_units_is_answered() {
    for (slip, who) in [(12.0, 0), (12.0, 4), (1000.0, 0), (1000.0, 4), (1e-3, 2)] {
        for (formula, family) in
            [("died ~ age + sex", "binomial"), ("events ~ age * days", "poisson"), ("days ~ age", "huber:1.35")]
        {
            let (_, mut own) = sites();
            let text = own[who].1.clone();
            let line = |line: &str| {
                let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
                if let Ok(age) = cells[1].parse::<f64>() {
                    cells[1] = (slip * age).to_string();
                }
                cells.join(",") + "\n"
            };
            own[who].1 = text.lines().map(line).collect();
            let plan = plan(formula, family);
            let agreed = agreed(&plan, &own);
            let mut point = vec![3.0; agreed.encoding.dim()];
            point[0] = -3.0;
            for site in &own {
                let mut clinic = clinic(&plan, site, &Options::default());
                for (ticket, sign) in [1.0, -1.0].into_iter().enumerate() {
                    let at: Vec<f64> = point.iter().map(|value| sign * value).collect();
                    let asked = question(&plan, &site.0, ticket as u64, &["gradient"], Some((&at, &agreed)));
                    let reply = clinic.answer(&asked.to_string());
                    assert_eq!(reply.outcome, Outcome::Answered, "{slip} {formula}: {}", reply.words);
                }
            }
        }
    }
}
