//! What is printed of coefficients, whether rows are in one place or at clinics.

use std::fmt::Write as _;

use sgq_bench::{output::quoted, readable::short};
use sgq_data::{
    Encoding,
    glm::{Inference, Influence, Statistics},
};

use crate::terminal::one_line;

/// How many levels of a factor are shown.
const MOST_LEVELS: usize = 6;

/// How many of those who matter too much are named.
const MOST_FLAGGED: usize = 3;

/// A fact under the table.
pub fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<19}{value}");
}

/// What is penalised, and how much.
pub fn penalty(l2: f64, encoding: &Encoding) -> String {
    let intercept = if encoding.has_intercept() { ", not on the intercept" } else { "" };
    match l2 {
        0.0 => "no penalty".to_owned(),
        l2 => format!("penalty λ = {l2} on standardised coefficients{intercept}"),
    }
}

/// The table; estimates alone where there are no standard errors, and why there are none.
pub fn write_table(text: &mut String, encoding: &Encoding, point: &[f64], statistics: &Statistics) {
    if let Some(inference) = &statistics.inference {
        let mut inference = inference.clone();
        inference.coefficients.iter_mut().for_each(|line| line.name = one_line(&line.name));
        inference.table().lines().for_each(|row| {
            let _ = writeln!(text, "  {row}");
        });
        return;
    }
    let names: Vec<String> = encoding.column_names().iter().map(|name| one_line(name)).collect();
    let estimates = encoding.original_scale().coefficients(point);
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let _ = writeln!(text, "  {:<widest$}{:>14}", "", "estimate");
    for (name, estimate) in names.iter().zip(estimates) {
        let _ = writeln!(text, "  {name:<widest$}{:>14}", short(estimate));
    }
    if let Some(why) = &statistics.why_none {
        let _ = writeln!(text, "\n  no standard errors: {why}");
    }
}

/// Dispersion, deviances and likelihood; the rows are said elsewhere.
pub fn write_statistics(text: &mut String, inference: Option<&Inference>) {
    let rows = inference.map(Inference::fit_statistics).unwrap_or_default();
    for row in rows.lines().filter(|row| !row.starts_with("rows ")) {
        match row.strip_prefix("Note: ") {
            Some(note) => line(text, "note", note),
            None => {
                let (name, value) = row.split_at(row.len().min(19));
                line(text, name.trim_end(), value);
            }
        }
    }
}

/// The level of each factor that has no coefficient of its own.
pub fn write_references(text: &mut String, encoding: &Encoding) {
    for (column, levels) in encoding.reference_levels() {
        let shown: Vec<String> = levels.iter().take(MOST_LEVELS).map(|level| one_line(level)).collect();
        let more = if levels.len() > shown.len() { ", …" } else { "" };
        let words = format!("{} = {} (of {}{more})", one_line(column), shown[0], shown.join(", "));
        line(text, "reference level", &words);
    }
}

/// Who matters too much.
pub fn write_influence(text: &mut String, statistics: &Statistics, users: &[String]) {
    for influence in statistics.influence.iter().filter(|it| it.flagged).take(MOST_FLAGGED) {
        let Influence { largest, largest_in_std_errors: change, .. } = influence;
        let user = users.get(influence.user).map_or_else(String::new, |name| one_line(name));
        let largest = one_line(largest);
        let words = match change.is_finite() {
            true => format!("without {user}, {largest} would change by {change:+.1} standard errors"),
            false => format!("{user} alone determines {largest}"),
        };
        line(text, "influence", &words);
    }
}

/// What leaving a user out would change, in standard errors; nothing below the heading where that is not known.
pub fn influence_csv(encoding: &Encoding, statistics: &Statistics, users: &[String]) -> String {
    let names = encoding.column_names();
    let heading: Vec<String> = names.iter().map(|name| quoted(name).to_string()).collect();
    let lines = statistics.influence.iter().map(|it| {
        let changes = match &it.in_std_errors {
            Some(changes) => changes.iter().map(|change| format!("{change:?}")).collect(),
            None => vec![String::new(); names.len()],
        };
        let user = users.get(it.user).map_or_else(String::new, |name| quoted(name).to_string());
        format!("{user},{},{},{}\n", quoted(&it.largest), it.flagged, changes.join(","))
    });
    format!("user,largest,flagged,{}\n", heading.join(",")) + &lines.collect::<String>()
}
