//! What somebody should look at before a fit begins.

use super::{Moments, StudyPlan, Summary, TargetSummary, VariableSummary, pooled::Pooled, rules::counted};
use crate::{Encoding, Variable, encoding::Levels};

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
            notes.push(format!("{user} alone has the level {level:?} of {column:?}, in {rows}{like}"));
        }
    }
    for ((user, _), counts) in users.iter().zip(&counts) {
        let mut there = levels.iter().zip(counts).filter(|(_, count)| **count > 0);
        if let (Some((level, _)), None) = (there.next(), there.next()) {
            notes.push(format!("{user} has the level {level:?} of {column:?} in every row"));
        }
    }
    notes
}

/// A level without what people write differently: capital letters and blanks.
fn simple(level: &str) -> String {
    let letters = level.chars().filter(|letter| !letter.is_whitespace() && !matches!(letter, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

fn of_numbers(name: &str, users: &[(&str, u64, Moments)]) -> Vec<String> {
    let mut notes = Vec::new();
    for (place, (user, _, own)) in users.iter().enumerate() {
        if own.deviation == 0.0 {
            notes.push(format!("{user} has the same {name} in every row"));
        }
        let others = users.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<(u64, Moments)> = others.map(|(_, (_, rows, moments))| (*rows, *moments)).collect();
        let centre = Pooled::of(others.iter().copied()).mean;
        let within = others.iter().map(|(rows, moments)| (*rows, Moments { mean: 0.0, ..*moments }));
        // Deviations from each clinic's own mean.
        let rows: f64 = others.iter().map(|(rows, _)| *rows as f64).sum();
        let within = within.map(|(rows, it)| rows as f64 * it.deviation * it.deviation).sum::<f64>() / rows;
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
    for (user, summary) in users {
        match &summary.target {
            TargetSummary::Number { moments: own, .. } => moments.push((*user, summary.rows, *own)),
            TargetSummary::Levels { levels, .. } => {
                let mut there = levels.iter().filter(|level| level.rows > 0);
                if let (Some(only), None) = (there.next(), there.next()) {
                    notes.push(format!("{user} has the target {name} at {:?} in every row", only.level));
                }
            }
            TargetSummary::Count { mean, .. } if *mean == 0.0 => {
                notes.push(format!("{user} has the target {name} at 0 in every row"));
            }
            TargetSummary::Count { .. } | TargetSummary::Positive { .. } => {}
        }
    }
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
