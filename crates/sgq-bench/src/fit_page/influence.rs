//! What each user does to the coefficients.

use std::fmt::Write as _;

use serde_json::Value;

use super::{named, told::Told, typeset};

/// As many users as somebody looks through.
const MOST_ROWS: usize = 200;

/// Writes the section; nothing where influence is not known.
pub(super) fn write(page: &mut String, told: &Told<'_>) {
    let users = told.list(&["influence", "largest"]);
    let all = told.count(&["influence", "users"]).unwrap_or(users.len() as u64);
    if users.is_empty() {
        return;
    }
    let is_flagged = |it: &Value| it.get("flagged").and_then(Value::as_bool).unwrap_or(false);
    let flagged =
        told.count(&["influence", "flagged"]).unwrap_or(users.iter().filter(|it| is_flagged(it)).count() as u64);
    let threshold = told.number(&["influence", "threshold"]).map_or(String::new(), |it| format!(", {it:.2} here"));
    let how_many = match flagged {
        0 => "Nobody's absence".to_owned(),
        1 => "One user's absence".to_owned(),
        flagged => format!("The absence of each of {flagged} users"),
    };
    let _ = writeln!(
        page,
        "<h2>Influence of users</h2>\n<p>What would change without a user, to first order, in standard errors. {how_many} \
         changes a coefficient by more than 2/√G for G users{threshold}: look at the rows of such users for other units, other \
         codes, or another population.</p>\n<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Influence of \
         users\"><table>\n<thead><tr><th scope=\"col\">user</th><th scope=\"col\">change without it, in standard errors</th>\
         <th scope=\"col\">of the coefficient</th><th scope=\"col\">above 2/√G</th></tr></thead>\n<tbody>"
    );
    // Flagged users first; within each part the order is that of the fit, the largest first.
    let (first, then): (Vec<&Value>, Vec<&Value>) = users.iter().partition(|it| is_flagged(it));
    for it in first.into_iter().chain(then).take(MOST_ROWS) {
        let text = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default();
        let change = match it.get("in_std_errors").and_then(Value::as_f64) {
            Some(change) => typeset(&format!("{change:+.2}")),
            None => "it alone determines it".to_owned(),
        };
        let mark = if is_flagged(it) { "<span class=\"mark\">yes</span>" } else { "no" };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{change}</td><td>{}</td><td>{mark}</td></tr>",
            named(text("user")),
            named(text("coefficient"))
        );
    }
    page.push_str("</tbody></table></div>\n");
    let shown = users.len().min(MOST_ROWS) as u64;
    if all > shown {
        let _ = writeln!(page, "<p>And {} more users with less influence, whom influence.csv has.</p>", all - shown);
    }
}
