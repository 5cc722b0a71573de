//! What somebody should look at before a fit begins.

use std::collections::BTreeMap;

use super::{Moments, StudyPlan, Summary, TargetSummary, VariableSummary, rules::counted};
use crate::{Encoding, Variable, encoding::Levels, first_few};

/// A mean that is so many standard deviations within the other clinics away from theirs is hardly in the same unit.
const FAR: f64 = 10.0;

pub(super) fn notes(plan: &StudyPlan, users: &[(&str, &Summary)], encoding: &Encoding) -> Vec<String> {
    let mut notes = Vec::new();
    for (user, summary) in users {
        let refusals =
            [plan.rules.refuses_rows(summary.rows), plan.rules.refuses_parameters(encoding.dim(), summary.rows)];
        notes.extend(refusals.into_iter().flatten().next().map(|why| format!("{user} will not answer: {why}")));
    }
    if users.len() > 1 {
        for variable in encoding.variables() {
            match variable {
                Variable::Factor { column, levels } => notes.extend(of_levels(column, levels, users)),
                Variable::Number(expression) => {
                    let moments = users.iter().filter_map(|(user, summary)| {
                        let told = summary.variables.iter().find_map(|told| match told {
                            VariableSummary::Number { of, moments } if of == expression => Some(*moments),
                            _ => None,
                        });
                        told.map(|moments| (*user, summary.rows, moments))
                    });
                    notes.extend(of_numbers(&expression.label(), &moments.collect::<Vec<_>>()));
                }
            }
        }
        notes.extend(of_target(plan, users));
    }
    notes
}

/// Levels that one clinic alone has, and clinics that have a single one.
fn of_levels(column: &str, levels: &[String], users: &[(&str, &Summary)]) -> Vec<String> {
    let finder = Levels::new(levels);
    // How many rows of each level each clinic has.
    let counts: Vec<Vec<u64>> = users
        .iter()
        .map(|(_, summary)| {
            let mut counts = vec![0; levels.len()];
            let told = summary.variables.iter().filter_map(|told| match told {
                VariableSummary::Factor { of, levels } if of == column => Some(levels),
                _ => None,
            });
            for count in told.flatten() {
                if let Some(level) = finder.find(&count.level) {
                    counts[level] += count.rows;
                }
            }
            counts
        })
        .collect();
    let mut notes = Vec::new();
    for (place, level) in levels.iter().enumerate() {
        let mut have = users.iter().zip(&counts).filter(|(_, counts)| counts[place] > 0);
        if let (Some(((user, _), counts)), None) = (have.next(), have.next()) {
            let like = levels.iter().find(|other| *other != level && simple(other) == simple(level));
            let like = like.map(|like| format!("; others write {like:?}: is it the same?")).unwrap_or_default();
            let rows = counted(counts[place], "row", "rows");
            let reference =
                if place == 0 { "; it is the reference level, which all others are compared with" } else { "" };
            notes.push(format!("{user} alone has the level {level:?} of {column:?}, in {rows}{like}{reference}"));
        }
    }
    for (place, level) in levels.iter().enumerate() {
        let is_only =
            |counts: &&Vec<u64>| counts.iter().enumerate().all(|(other, count)| (*count > 0) == (other == place));
        let have = users.iter().zip(&counts).filter(|(_, counts)| is_only(counts)).map(|((user, _), _)| *user);
        notes.extend(in_every_row(format!("{column:?} has the level {level:?}"), &have.collect::<Vec<_>>()));
    }
    notes
}

/// What clinics have in every row, if any do.
fn in_every_row(what: String, users: &[&str]) -> Option<String> {
    (!users.is_empty()).then(|| format!("{what} in every row of {}", first_few(users)))
}

/// A level without what people write differently: capital letters and blanks.
fn simple(level: &str) -> String {
    let letters = level.chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

fn of_numbers(name: &str, users: &[(&str, u64, Moments)]) -> Vec<String> {
    let mut notes = Vec::new();
    let constant = users.iter().filter(|(.., own)| own.deviation == 0.0).map(|(user, ..)| *user);
    notes.extend(in_every_row(format!("{name} is the same"), &constant.collect::<Vec<_>>()));
    // Of every clinic beside all others: what is left of the sums without it.
    let sums = |(_, rows, own): &(&str, u64, Moments)| {
        let rows = *rows as f64;
        [rows, rows * own.mean, rows * own.deviation * own.deviation]
    };
    let all = users.iter().map(sums).fold([0.0; 3], |all, own| [0, 1, 2].map(|k| all[k] + own[k]));
    for user_and_own in users {
        let (user, _, own) = user_and_own;
        let of_it = sums(user_and_own);
        let [rows, sum, squares] = [0, 1, 2].map(|k| all[k] - of_it[k]);
        // Deviations are from each clinic's own mean.
        let (centre, within) = (sum / rows, squares / rows);
        let distance = (own.mean - centre).abs() / within.sqrt();
        if within > 0.0 && distance > FAR {
            notes.push(format!(
                "the mean of {name} is {} at {user} and {} at the others, {distance:.0} standard deviations away: is it in \
                 the same unit?",
                short(own.mean),
                short(centre)
            ));
        }
    }
    notes
}

fn of_target(plan: &StudyPlan, users: &[(&str, &Summary)]) -> Vec<String> {
    let name = plan.formula.response().label();
    let mut notes = Vec::new();
    let mut moments = Vec::new();
    let mut alike: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (user, summary) in users {
        match &summary.target {
            TargetSummary::Number { moments: own, .. } => moments.push((*user, summary.rows, *own)),
            TargetSummary::Levels { levels, .. } => {
                let mut there = levels.iter().filter(|level| level.rows > 0);
                if let (Some(only), None) = (there.next(), there.next()) {
                    alike.entry(&only.level).or_default().push(user);
                }
            }
            TargetSummary::Count { mean, .. } if *mean == 0.0 => alike.entry("0").or_default().push(user),
            TargetSummary::Count { .. } | TargetSummary::Positive { .. } => {}
        }
    }
    notes.extend(
        alike.iter().filter_map(|(value, users)| in_every_row(format!("the target {name} is {value:?}"), users)),
    );
    notes.extend(of_numbers(&name, &moments));
    let offsets = users.iter().filter_map(|(user, summary)| Some((*user, summary.rows, summary.offset?)));
    notes.extend(of_numbers("the offset", &offsets.collect::<Vec<_>>()));
    notes
}

/// Four digits, for a message.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-4..1e6).contains(&size) => format!("{number:.3e}"),
        size => {
            let digits = (3.0 - size.log10().floor()).max(0.0) as usize;
            format!("{number:.digits$}")
        }
    }
}
