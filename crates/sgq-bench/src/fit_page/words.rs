//! What a fit says of itself besides its tables: a list of names and values for each section.

use std::fmt::Write as _;

use sgq_data::glm::{Family, Weigh, significant};

use super::{named, told::Told, typeset};
use crate::{figure::escape, readable::short};

/// An interval over so large a factor says next to nothing: the natural logarithm of 10¹².
const SAYS_NOTHING: f64 = 12.0 * std::f64::consts::LN_10;

/// Warnings of one kind that are written out.
const MOST_WARNINGS: usize = 10;

/// What stands above the table: the model in a line, whether the fit is done, and what nobody should overlook.
pub(super) fn write_head(page: &mut String, told: &Told<'_>) {
    if let Some(formula) = told.text(&["formula"]) {
        let _ = writeln!(page, "<p class=\"formula\" tabindex=\"0\"><code><bdi>{}</bdi></code></p>", escape(formula));
    }
    let (good, status) = match (told.flag(&["diverged"]), told.flag(&["converged"])) {
        (Some(true), _) => (false, "diverged"),
        (_, Some(true)) => (true, "converged"),
        (_, Some(false)) => (false, "not converged"),
        (_, None) => (true, "stopped"),
    };
    let kind = if good { "good" } else { "bad" };
    let mut said: Vec<String> = Vec::new();
    said.extend(told.text(&["family"]).map(escape));
    said.extend(rows(told));
    match (told.count(&["queries"]), told.count(&["users"])) {
        (Some(queries), Some(users)) => said.push(format!("{queries} answers of {users} users")),
        (None, Some(users)) => said.push(format!("{users} users")),
        _ => {}
    }
    let _ = writeln!(page, "<p><span class=\"status {kind}\">{status}</span> {}</p>", said.join(" · "));
    let warnings = warnings(told);
    if !warnings.is_empty() {
        page.push_str("<div class=\"warnings\" role=\"note\" aria-label=\"Warnings\">\n");
        warnings.iter().for_each(|warning| {
            let _ = writeln!(page, "<p>{warning}</p>");
        });
        page.push_str("</div>\n");
    }
}

/// In a page's own markup.
fn warnings(told: &Told<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    let verdict = told.text(&["verdict"]);
    if told.flag(&["diverged"]) == Some(true) {
        warnings.push("The fit diverged: its coefficients mean nothing.".to_owned());
    } else if told.flag(&["converged"]) == Some(false) && verdict.is_none() {
        warnings.push("The fit has not converged: coefficients are not those of a finished fit.".to_owned());
    }
    if let Some(verdict) = verdict.filter(|verdict| *verdict != "converged" && told.flag(&["diverged"]) != Some(true)) {
        warnings.push(format!("{}.", capital(&escape(verdict))));
    }
    if told.flag(&["interrupted"]) == Some(true) {
        warnings.push("The fit was interrupted: it has what was reached until then.".to_owned());
    }
    warnings.extend(told.texts(&["warnings"]).into_iter().map(escape));
    if let Some(why) = told.why_no_errors() {
        warnings.push(format!("There are no standard errors: {}.", escape(why)));
    } else {
        warnings.extend(told.texts(&["notes"]).into_iter().map(|note| format!("{}.", capital(&escape(note)))));
    }
    if told.ratio_name().is_some() {
        let wide = |span: f64| span > SAYS_NOTHING;
        let says_nothing = told.coefficients.iter().filter(|line| wide(line.upper - line.lower));
        let names: Vec<String> = says_nothing.map(|line| named(&line.name)).collect();
        let more = names.len().saturating_sub(MOST_WARNINGS);
        warnings.extend(names.into_iter().take(MOST_WARNINGS).map(|name| {
            format!(
                "{name}: its interval spans a factor of more than 10<sup>12</sup>. The data say next to nothing of it, as where \
                 some rows are predicted perfectly (separation) or a column hardly varies."
            )
        }));
        if more > 0 {
            warnings.push(format!("The same holds for {more} more coefficients."));
        }
    }
    warnings
}

/// The sections between the table and influence.
pub(super) fn write_sections(page: &mut String, told: &Told<'_>) {
    section(page, "What was minimised", &minimised(told));
    section(page, "Standard errors", &errors(told));
    section(page, "How well it fits", &fit(told));
    section(page, "Rows, users and answers", &spent(told));
    section(page, "What remains unsure", &unsure(told));
}

/// The method's own numbers, which a reader of coefficients need not know.
pub(super) fn write_method(page: &mut String, told: &Told<'_>) {
    let mut lines = Vec::new();
    let mut add = |name: &'static str, value: Option<String>| lines.extend(value.map(|value| (name, value)));
    let number = |path: &[&str]| told.number(path).map(|value| typeset(&short(value)));
    add("method", told.text(&["method"]).map(escape));
    add("what it sees", told.text(&["sees_more"]).map(|words| format!("more than it pays for: {}", escape(words))));
    let rule = told.text(&["settings", "step_size_rule"]).map(escape);
    add(
        "step size",
        match (number(&["settings", "step_size"]), rule) {
            (Some(size), Some(rule)) => Some(format!("{size} ({rule})")),
            (size, rule) => size.or(rule),
        },
    );
    add("model of users", told.text(&["settings", "model"]).map(escape));
    add("seed", told.count(&["settings", "seed"]).map(|seed| seed.to_string()));
    add("budget", told.count(&["settings", "budget"]).map(|budget| format!("{budget} queries")));
    add("steps", told.count(&["asked", "steps"]).map(|steps| steps.to_string()));
    let of_users = |key: &str| told.number(&["asked", "per_user", key]).map(short);
    if let (Some(min), Some(median), Some(max)) = (of_users("min"), of_users("median"), of_users("max")) {
        add("answers a user", Some(format!("{min} at least, {median} in the median, {max} at most")));
    }
    add("surrogate gradient", number(&["surrogate_gradient_norm"]));
    add("stopped", told.text(&["stop"]).map(escape));
    if let (Some(gap), Some(part)) = (told.number(&["diagnostic", "gap"]), told.number(&["diagnostic", "relative_gap"]))
    {
        let (gap, part) = (typeset(&short(gap)), typeset(&short(100.0 * part)));
        add("gap", Some(format!("{gap}, {part}% of that at the start (diagnostic: of all data, not billed)")));
    }
    section(page, "The method's own numbers", &lines);
}

fn section(page: &mut String, title: &str, lines: &[(&str, String)]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(page, "<h2>{title}</h2>\n<dl>");
    for (name, value) in lines {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{value}</dd>");
    }
    page.push_str("</dl>\n");
}

fn minimised(told: &Told<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(told.text(&["formula"]).map(|formula| ("formula", format!("<bdi>{}</bdi>", escape(formula)))));
    if let Some(family) = told.text(&["family"]) {
        let link = told.family.map_or("", |family| match family {
            Family::Gaussian => ": half the squared residual of each row; identity link",
            Family::Binomial => ": minus the log-likelihood; logit link",
            Family::Poisson | Family::NegativeBinomial { .. } | Family::Gamma => ": minus the log-likelihood; log link",
            Family::Huber { .. } => ": Huber's loss of the residual; identity link",
        });
        lines.push(("family", format!("{}{link}", escape(family))));
    }
    if let Some(weigh) = told.text(&["weigh"]) {
        lines.push(("weighing", weigh.parse::<Weigh>().map_or_else(|_| escape(weigh), |weigh| weigh.to_string())));
    }
    lines.extend(told.number(&["l2"]).map(|l2| {
        let penalty = match l2 {
            0.0 => "none".to_owned(),
            l2 => format!("λ = {} on standardised coefficients, none on the intercept", short(l2)),
        };
        ("penalty", penalty)
    }));
    lines.extend(
        told.references()
            .into_iter()
            .map(|(factor, level)| ("reference level", format!("{} = {}", named(factor), named(level)))),
    );
    lines
}

fn errors(told: &Told<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(kind) = told.std_error_kind() {
        let mark = if told.is_approximate() { "<span class=\"mark\">approximate</span>: " } else { "" };
        lines.push(("kind", format!("{mark}{}", escape(kind))));
        let how = match (kind.starts_with("clustered"), told.is_approximate()) {
            (true, _) => {
                "a sandwich: rows of one user may depend on each other in any way, users are independent; with the correction \
                 G/(G−1) · (N−1)/(N−K) for G users, N rows and K coefficients"
            }
            (false, true) => {
                "from the curvature that was learned from users' answers, and not from their closings: right where that is, the family is \
                 the truth and rows are independent"
            }
            (false, false) => {
                "from the information of all users: right where the family is the truth and rows are independent"
            }
        };
        lines.push(("how they are made", how.to_owned()));
        if told.is_approximate() {
            let closing = "a closing question to every user (<code>--close</code>) makes them exact";
            lines.push(("exact ones", closing.to_owned()));
        }
    }
    lines
}

fn fit(told: &Told<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut add = |name: &'static str, key: &str, after: String| {
        lines.extend(told.number(&[key]).map(|value| (name, format!("{}{after}", typeset(&significant(value))))));
    };
    let freedom = |degrees: Option<u64>| match degrees {
        Some(1) => " on 1 degree of freedom".to_owned(),
        Some(degrees) => format!(" on {degrees} degrees of freedom"),
        None => String::new(),
    };
    let rows = told.count(&["rows"]);
    add("null deviance", "null_deviance", freedom(rows.map(|rows| rows.saturating_sub(1))));
    add("residual deviance", "deviance", freedom(told.count(&["df_residual"])));
    let dispersion = match told.family {
        Some(family) if family.has_fixed_dispersion() => ", fixed by the family",
        Some(Family::Huber { .. }) => ", for Huber's loss",
        Some(_) => ", Pearson's statistic over its degrees of freedom",
        None => "",
    };
    add("dispersion", "dispersion", dispersion.to_owned());
    add("log-likelihood", "log_likelihood", String::new());
    add("AIC", "aic", String::new());
    lines
}

/// `1495 rows, none missing`.
fn rows(told: &Told<'_>) -> Option<String> {
    let rows = told.count(&["rows"])?;
    Some(match told.count(&["rows_missing"]) {
        None => format!("{rows} rows"),
        Some(0) => format!("{rows} rows, none missing"),
        Some(missing) => format!("{rows} rows, {missing} left out"),
    })
}

fn spent(told: &Told<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(told.count(&["rows"]).map(|rows| ("rows used", rows.to_string())));
    let missing =
        |it: &serde_json::Value| Some(format!("{} {}", named(it.get("column")?.as_str()?), it.get("rows")?.as_u64()?));
    let by_column: Vec<String> = told.list(&["missing_by_column"]).iter().filter_map(missing).collect();
    lines.extend(told.count(&["rows_missing"]).map(|rows| {
        let columns = if by_column.is_empty() { String::new() } else { format!(" ({})", by_column.join(", ")) };
        (
            "rows with missing values",
            format!("{rows}{}", if rows > 0 { format!(", left out{columns}") } else { String::new() }),
        )
    }));
    lines.extend(told.count(&["users"]).map(|users| ("users", users.to_string())));
    lines.extend(told.count(&["queries"]).map(|queries| {
        let more = |key: &str, what: &str| {
            told.count(&[key]).filter(|count| *count > 0).map(|count| format!("{count} to {what}"))
        };
        let first = more("first_answers", "a first question (rows, means, deviations, levels)");
        let both: Vec<String> = first.into_iter().chain(more("closing_answers", "the closing one")).collect();
        let besides = if both.is_empty() { "" } else { ", besides " };
        ("answers billed", format!("{queries}{besides}{}", both.join(", and ")))
    }));
    if let Some(numbers) = told.count(&["numbers"]) {
        let kinds = [
            ("gradients", "in gradients"),
            ("losses", "in losses"),
            ("hessians", "in Hessians"),
            ("first", "at first"),
            ("closing", "in closing"),
        ];
        let part = |(key, words): (&str, &str)| {
            let count = told.count(&["asked", "numbers_of", key]).filter(|count| *count > 0)?;
            Some(format!("{count} {words}"))
        };
        let parts: Vec<String> = kinds.into_iter().filter_map(part).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        lines.push(("numbers sent", format!("{numbers}{parts}")));
    }
    let asked =
        |it: &serde_json::Value| Some(format!("{} {}", named(it.get("user")?.as_str()?), it.get("queries")?.as_u64()?));
    let most: Vec<String> = told.list(&["asked", "most_asked"]).iter().filter_map(asked).collect();
    if !most.is_empty() {
        lines.push(("asked most often", most.join(", ")));
    }
    lines
}

fn unsure(told: &Told<'_>) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    lines.extend(told.number(&["believed_off"]).map(|off| {
        let off = typeset(&short(off));
        ("coefficients", format!("within {off} standard errors of those of a finished fit (believed)"))
    }));
    let remaining = |key: &str| told.number(&["remaining", key]);
    if let (Some(gap), Some(low), Some(high), Some(start)) =
        (remaining("gap"), remaining("low"), remaining("high"), remaining("at_start"))
    {
        let part = |gap: f64| if gap > 0.0 { format!("{:.1e}", gap / start) } else { "0".to_owned() };
        let words = format!("{} ({} to {}) of the gap at the start (believed)", part(gap), part(low), part(high));
        lines.push(("the objective", words));
    }
    match (told.number(&["certified"]), told.text(&["uncertified"])) {
        (Some(gap), _) => lines.push(("proven", format!("a gap of {} at most", typeset(&short(gap))))),
        (None, Some(why)) => lines.push(("proven", format!("nothing: {}", escape(why)))),
        (None, None) => {}
    }
    lines.extend(told.text(&["verdict"]).map(|verdict| ("verdict", escape(verdict))));
    lines
}

/// With a capital letter.
fn capital(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
