//! What clinics answer adds up to the fit of all rows.

use serde_json::json;
use sgq::{Detail, Oracle as _, Problem as _, Session, Settings, method};
use sgq_data::{
    Dataset,
    glm::{Closing, Observations, Weigh},
    plan::{Options, Outcome, Rules, StudyPlan, Summary},
};

use super::{agreed, clinic, numbers, plan, question, sites, summary, value};
use crate::{assert_close, dense};

const CASES: [(&str, &str, Option<&str>, f64); 6] = [
    ("died ~ age * sex + factor(kind, ref = \"2\") + offset(0.01 * days)", "binomial", None, 0.0),
    ("died ~ age + sex", "binomial", Some("w"), 0.3),
    ("events ~ age + factor(kind) + offset(log(days))", "poisson", Some("w"), 0.01),
    ("events ~ 0 + sex + age", "negbin:2", None, 0.1),
    ("log(cost) ~ age + I(age^2) + days", "gaussian", Some("w"), 0.0),
    ("cost ~ sex + offset(log(days))", "gamma", None, 0.0),
];

fn lenient(formula: &str, family: &str) -> StudyPlan {
    let rules = Rules { answers: Detail::Hessian, parameters_per_row: 0.5, ..Rules::default() };
    StudyPlan { rules, ..plan(formula, family) }
}

/// Weighted with what their rows weigh together, clinics' answers are those of the regression on all rows.
#[test]
fn answers_add_up_to_those_of_all_rows() {
    let (_, own) = sites();
    for (formula, family, weight, l2) in CASES {
        for weigh in [Weigh::Rows, Weigh::Users] {
            let plan = StudyPlan { weight: weight.map(str::to_owned), l2, weigh, ..lenient(formula, family) };
            let agreed = agreed(&plan, &own);
            // All rows in one place, encoded as was agreed on.
            let all: Vec<Dataset> =
                own.iter().map(|(name, text)| agreed.encoding.encode(text.as_bytes(), name, true).unwrap()).collect();
            let mut blocks = vec![0];
            all.iter().for_each(|data| blocks.push(blocks[blocks.len() - 1] + data.targets.len()));
            let pooled = Dataset {
                rows: sgq::problem::Rows::Dense {
                    dim: agreed.encoding.dim(),
                    values: all.iter().flat_map(|data| dense(&data.rows)).flatten().collect(),
                },
                targets: all.iter().flat_map(|data| data.targets.clone()).collect(),
                weights: all.iter().flat_map(|data| data.weights.clone()).collect(),
                offsets: all[0]
                    .offsets
                    .is_some()
                    .then(|| all.iter().flat_map(|data| data.offsets.clone().unwrap()).collect()),
                user_names: own.iter().map(|(name, _)| name.clone()).collect(),
                blocks,
                ..all[0].clone()
            };
            let builder = pooled.builder(plan.family.into()).unwrap().l2(l2);
            let builder = if agreed.encoding.has_intercept() { builder.free_intercept() } else { builder };
            let builder = if weigh == Weigh::Rows { builder.user_weights(pooled.row_totals()) } else { builder };
            let problem = builder.bare().unwrap();

            let dim = agreed.encoding.dim();
            let point: Vec<f64> = (0..dim).map(|k| 0.3 - 0.17 * k as f64).collect();
            let total: f64 = agreed.totals.iter().sum();
            let (mut gradient, mut loss) = (vec![0.0; dim], 0.0);
            for (user, site) in own.iter().enumerate() {
                let mut clinic = clinic(&plan, site, &Options::default());
                let wants = ["gradient", "loss", "hessian"];
                let asked = question(&plan, &site.0, 17, &wants, Some((&point, &agreed)));
                let reply = clinic.answer(&asked.to_string());
                assert_eq!(reply.outcome, Outcome::Answered, "{}", reply.words);
                let said = value(&reply);
                assert_eq!((&said["ticket"], &said["user"]), (&json!(17), &json!(site.0)));
                let share = match weigh {
                    Weigh::Rows => agreed.totals[user] / total,
                    Weigh::Users => 1.0 / own.len() as f64,
                };
                let own_gradient = numbers(&said["gradient"]);
                gradient.iter_mut().zip(&own_gradient).for_each(|(sum, value)| *sum += share * value);
                loss += share * said["loss"].as_f64().unwrap();
                // Each user's function is its share of the mean, times how many users there are.
                let times = share * own.len() as f64;
                let mut hessian = vec![0.0; dim * dim];
                assert!(problem.hessian(user, &point, &mut hessian));
                let expected: Vec<f64> = sgq::answer::packed(&hessian, dim);
                assert_close(&numbers(&said["hessian"]).iter().map(|it| times * it).collect::<Vec<_>>(), &expected);
                let mut expected = vec![0.0; dim];
                problem.gradient(user, &point, &mut expected);
                assert_close(&own_gradient.iter().map(|it| times * it).collect::<Vec<_>>(), &expected);
            }
            let users = own.len() as f64;
            let mut expected = vec![0.0; dim];
            for user in 0..own.len() {
                let mut each = vec![0.0; dim];
                problem.gradient(user, &point, &mut each);
                expected.iter_mut().zip(each).for_each(|(sum, value)| *sum += value / users);
            }
            assert_close(&gradient, &expected);
            assert_close(&[loss], &[problem.value(&point)]);
        }
    }
}

#[test]
fn closings_are_those_of_a_fit() {
    let (_, own) = sites();
    for (formula, family, weight, l2) in CASES {
        let plan = StudyPlan { weight: weight.map(str::to_owned), l2, ..lenient(formula, family) };
        let agreed = agreed(&plan, &own);
        let point: Vec<f64> = (0..agreed.encoding.dim()).map(|k| 0.1 * k as f64).collect();
        for site in &own {
            let mut clinic = clinic(&plan, site, &Options::default());
            let asked = question(&plan, &site.0, 900, &["closing"], Some((&point, &agreed)));
            let reply = clinic.answer(&asked.to_string());
            let said: Closing = serde_json::from_value(value(&reply)["closing"].clone()).unwrap();
            let data = agreed.encoding.encode(site.1.as_bytes(), &site.0, true).unwrap();
            let Dataset { rows, targets, weights, offsets, .. } = &data;
            let observations = Observations {
                rows,
                targets,
                weights: Some(weights),
                offsets: offsets.as_deref(),
                family: plan.family,
            };
            let missing = data.dropped_rows as u64;
            assert_eq!(said, Closing::of(&observations, observations.all(), missing, &point).unwrap());
            assert!(
                reply.words.starts_with(&format!("the closing question: {} numbers given: ", said.numbers())),
                "{}",
                reply.words
            );
        }
    }
}

#[test]
fn answers_say_what_was_wanted_and_no_more() {
    let (_, own) = sites();
    let plan = lenient("died ~ age", "binomial");
    let agreed = agreed(&plan, &own);
    let mut clinic = clinic(&plan, &own[1], &Options::default());
    let first = clinic.answer(&question(&plan, "site-1", 3, &["summary"], None).to_string());
    let said: Summary = serde_json::from_value(value(&first)["summary"].clone()).unwrap();
    assert_eq!((&said, clinic.summary()), (&summary(&own[1].1, &plan), &said));
    assert!(first.words.contains("\n  33 rows used\n  2 rows left out, where a value is missing"), "{}", first.words);
    let keys = |reply: &str| -> Vec<String> {
        serde_json::from_str::<serde_json::Map<_, _>>(reply).unwrap().keys().cloned().collect()
    };
    for wants in [&["gradient"][..], &["gradient", "loss"], &["gradient", "hessian"]] {
        let asked = question(&plan, "site-1", 4, wants, Some((&[0.0, 0.1], &agreed)));
        let mut expected: Vec<&str> = ["ticket", "user"].into_iter().chain(wants.iter().copied()).collect();
        expected.sort_unstable();
        let mut found = keys(&clinic.answer(&asked.to_string()).line);
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    let asked = question(&plan, "site-1", 5, &["gradient"], Some((&[0.0, 0.1], &agreed)));
    assert_eq!(
        clinic.answer(&asked.to_string()).words,
        "question 5: 2 numbers given: the gradient of the mean loss over 33 rows; answer 4 of 50"
    );
}

/// Its rows are clipped, and noise of the stated size is added: the mean and the spread of many answers say so.
#[test]
fn noise_is_what_is_said_of_it() {
    let (_, own) = sites();
    let rules = Rules { answers_each: 10_000, answers: Detail::Loss, ..Rules::default() };
    let plan = StudyPlan { rules, weight: Some("w".into()), l2: 0.2, ..plan("cost ~ age + days", "gaussian") };
    let agreed = agreed(&plan, &own);
    let options = Options { clip: Some(0.4), noise: Some(0.05), log: None };
    let mut clinic = clinic(&plan, &own[2], &options);
    let data = agreed.encoding.encode(own[2].1.as_bytes(), "site-2", true).unwrap();
    let point = [0.3, -0.2, 0.5];
    let total: f64 = data.weights.iter().sum();
    let mut clipped = [0.0, 0.2 * point[1], 0.2 * point[2]];
    let mut any = false;
    for (row, line) in dense(&data.rows).iter().enumerate() {
        let slope = line.iter().zip(&point).map(|(a, b)| a * b).sum::<f64>() - data.targets[row];
        let length = line.iter().map(|value| (slope * value).powi(2)).sum::<f64>().sqrt();
        any |= length > 0.4;
        let factor = data.weights[row] / total * slope * (0.4 / length).min(1.0);
        clipped.iter_mut().zip(line).for_each(|(sum, value)| *sum += factor * value);
    }
    assert!(any, "some rows are clipped");
    let count = 2000;
    let (mut sums, mut squares) = (vec![0.0; 3], 0.0);
    for ticket in 0..count {
        let asked = question(&plan, "site-2", ticket, &["gradient", "loss"], Some((&point, &agreed)));
        let said = value(&clinic.answer(&asked.to_string()));
        assert!(said.get("loss").is_none());
        let heaviest = data.weights.iter().copied().fold(0.0, f64::max);
        assert_close(&[said["privacy"]["sensitivity"].as_f64().unwrap()], &[0.8 * heaviest / total]);
        assert_eq!(said["privacy"]["noise"], json!(0.05));
        for (k, value) in numbers(&said["gradient"]).iter().enumerate() {
            sums[k] += value - clipped[k];
            squares += (value - clipped[k]).powi(2);
        }
    }
    let count = count as f64;
    // Seven standard errors.
    sums.iter().for_each(|sum| assert!((sum / count).abs() < 7.0 * 0.05 / count.sqrt(), "{sums:?}"));
    let deviation = (squares / (3.0 * count)).sqrt();
    assert!((deviation / 0.05 - 1.0).abs() < 7.0 / (6.0 * count).sqrt(), "{deviation}");
    // What was given is given again, with the noise that it had.
    let asked = question(&plan, "site-2", 7, &["gradient", "loss"], Some((&point, &agreed))).to_string();
    let again = clinic.answer(&asked);
    assert_eq!((again.outcome, clinic.given()), (Outcome::Again, (2000, 0)));
    assert_eq!(again, clinic.answer(&asked));
    for (wants, words) in [
        ("closing", "it is a closing question, which this clinic does not answer: noise is added to gradients only"),
        ("hessian", "it asks for the hessian, and the plan allows no more than the loss"),
    ] {
        let wants = if wants == "closing" { vec!["closing"] } else { vec!["gradient", wants] };
        let reply = clinic.answer(&question(&plan, "site-2", 1, &wants, Some((&point, &agreed))).to_string());
        assert_eq!(value(&reply)["error"], json!(words));
    }
}

/// Five clinics and a coordinator that has nothing but their answers: the coefficients are those of all rows in one place.
#[test]
fn a_consortium_ends_at_the_fit_of_all_rows() {
    let (all, own) = sites();
    for (formula, family, weight) in [
        ("died ~ age + sex + factor(kind)", "binomial", Some("w")),
        ("events ~ age * sex + offset(log(days))", "poisson", None),
    ] {
        let rules = Rules { parameters_per_row: 0.5, answers_each: 500, ..Rules::default() };
        let plan = StudyPlan { rules, weight: weight.map(str::to_owned), ..plan(formula, family) };
        let agreed = agreed(&plan, &own);
        let mut clinics: Vec<_> = own.iter().map(|site| clinic(&plan, site, &Options::default())).collect();
        let settings = Settings::new(agreed.start.clone(), own.len());
        let settings = settings.weights(agreed.totals.clone()).tolerance(1e-16).budget(500);
        let mut session = Session::new(method::frugal(), settings).unwrap();
        while let Some(query) = session.ask().unwrap() {
            let name = &own[query.user].0;
            let asked = question(&plan, name, query.ticket.0, &["gradient"], Some((&query.point, &agreed)));
            let reply = clinics[query.user].answer(&asked.to_string());
            session.tell(query.ticket, &numbers(&value(&reply)["gradient"])).unwrap();
        }
        let options = sgq_data::csv::Options {
            weight: plan.weight.clone(),
            drop_missing: true,
            loss: plan.family.into(),
            ..sgq_data::csv::Options::with_formula("site", plan.formula.clone())
        };
        let data = sgq_data::csv::from_reader(all.as_bytes(), &options).unwrap();
        let problem = data.builder(plan.family.into()).unwrap().user_weights(data.row_totals()).build().unwrap();
        let expected = data.encoding.as_ref().unwrap().on_original_scale(&problem.optimum().unwrap().point).unwrap();
        let found = agreed.encoding.on_original_scale(session.point()).unwrap();
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found} and {expected}");
        }
    }
}
