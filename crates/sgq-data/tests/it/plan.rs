//! What a consortium agrees to.

mod agreeing;
mod answers;
mod file;
mod logs;
mod oracles;
mod refusals;
mod summaries;

use serde_json::{Value, json};
use sgq::Random;
use sgq_data::plan::{Agreed, Clinic, Options, Reply, StudyPlan, Summary, agree};

fn plan(formula: &str, family: &str) -> StudyPlan {
    StudyPlan::new(formula.parse().unwrap(), family.parse().unwrap())
}

fn summary(text: &str, plan: &StudyPlan) -> Summary {
    Summary::of(text.as_bytes(), plan).unwrap()
}

const COLUMNS: &str = "site,age,sex,kind,days,events,died,cost,w";

/// The rows of a file of five sites of unequal size, whole and by site. Some values are missing.
fn sites() -> (String, Vec<(String, String)>) {
    let mut random = Random::new(11, "plan");
    let mut own: Vec<(String, String)> = (0..5).map(|site| (format!("site-{site}"), format!("{COLUMNS}\n"))).collect();
    for (site, (name, text)) in own.iter_mut().enumerate() {
        for row in 0..20 + 15 * site {
            // The first ones have every level.
            let sex = ["m", "f"][if row < 6 { row % 2 } else { random.index(2) }];
            let kind = [1, 2, 10][if row < 6 { row % 3 } else { random.index(3) }];
            let age = 30.0 + 40.0 * random.unit() + site as f64;
            let age = if row % 13 == 12 { "NA".to_owned() } else { age.to_string() };
            let (days, events) = (1.0 + 9.0 * random.unit(), random.index(5));
            let died = if random.unit() < 0.35 { "yes" } else { "no" };
            let (cost, w) = (100.0 * (1.0 + random.unit()), 0.5 + random.unit());
            *text += &format!("{name},{age},{sex},{kind},{days},{events},{died},{cost},{w}\n");
        }
    }
    let rows = own.iter().flat_map(|(_, text)| text.lines().skip(1)).map(|line| line.to_owned() + "\n");
    (format!("{COLUMNS}\n") + &rows.collect::<String>(), own)
}

/// What all five sites agree on.
fn agreed(plan: &StudyPlan, own: &[(String, String)]) -> Agreed {
    let summaries: Vec<Summary> = own.iter().map(|(_, text)| summary(text, plan)).collect();
    let users: Vec<(&str, &Summary)> = own.iter().map(|(name, _)| &**name).zip(&summaries).collect();
    agree(plan, &users).unwrap()
}

fn clinic(plan: &StudyPlan, (name, text): &(String, String), options: &Options) -> Clinic {
    Clinic::new(plan.clone(), text.clone().into_bytes(), name, options).unwrap()
}

fn question(plan: &StudyPlan, user: &str, ticket: u64, wants: &[&str], at: Option<(&[f64], &Agreed)>) -> Value {
    let mut question = json!({"ticket": ticket, "user": user, "wants": wants, "plan": plan.id()});
    if let Some((point, agreed)) = at {
        question["point"] = json!(point);
        question["model"] = json!(agreed.encoding);
    }
    question
}

fn value(reply: &Reply) -> Value {
    serde_json::from_str(&reply.line).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}
