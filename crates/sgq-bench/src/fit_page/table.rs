//! The table of coefficients.

use std::fmt::Write as _;

use sgq_data::glm::{Cells, Coefficient, percent};

use super::{named, told::Told, typeset};
use crate::readable::short;

/// More rows than anybody reads.
const MOST_ROWS: usize = 2_000;

/// How a coefficient's numbers are written.
pub(super) fn cells(line: &Coefficient) -> Cells {
    // Without a standard error nothing says how many digits there are.
    if line.std_error.is_nan() || line.std_error <= 0.0 {
        let written = |value: f64| typeset(&short(value));
        let ratio = |value: Option<f64>| value.map(written).unwrap_or_default();
        return Cells {
            estimate: written(line.estimate),
            std_error: written(line.std_error),
            z: written(line.z),
            p: written(line.p),
            lower: written(line.lower),
            upper: written(line.upper),
            ratio: ratio(line.ratio),
            ratio_lower: ratio(line.ratio_lower),
            ratio_upper: ratio(line.ratio_upper),
        };
    }
    let Cells { estimate, std_error, z, p, lower, upper, ratio, ratio_lower, ratio_upper } = line.cells();
    let [estimate, std_error, z, lower, upper] = [estimate, std_error, z, lower, upper].map(|it| typeset(&it));
    let [p, ratio, ratio_lower, ratio_upper] = [p, ratio, ratio_lower, ratio_upper].map(|it| typeset(&it));
    Cells { estimate, std_error, z, p, lower, upper, ratio, ratio_lower, ratio_upper }
}

/// `0.40 … 0.91`, or that there is none.
pub(super) fn interval(lower: &str, upper: &str) -> String {
    match (lower, upper) {
        ("NA" | "", _) | (_, "NA" | "") => "NA".to_owned(),
        (lower, upper) => format!("{lower} … {upper}"),
    }
}

/// Writes the table with its heading.
pub(super) fn write(page: &mut String, told: &Told<'_>) {
    let ratio_name = told.ratio_name();
    let level = percent(told.level());
    let _ = writeln!(
        page,
        "<h2>Coefficients</h2>\n<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Coefficients\"><table>\n\
         <thead><tr><th scope=\"col\">coefficient</th><th scope=\"col\">estimate</th><th scope=\"col\">std. error</th>\
         <th scope=\"col\">z</th><th scope=\"col\">p</th><th scope=\"col\">{level} interval</th>{}</tr></thead>\n<tbody>",
        ratio_name.map_or(String::new(), |name| {
            format!("<th scope=\"col\">{name}</th><th scope=\"col\">{level} interval</th>")
        })
    );
    for (place, line) in told.coefficients.iter().enumerate().take(MOST_ROWS) {
        for (factor, level) in told.references_before(place) {
            let empty = "<td></td>".repeat(if ratio_name.is_some() { 6 } else { 4 });
            let _ = writeln!(
                page,
                "<tr class=\"quiet\"><th scope=\"row\">{}</th><td>reference</td>{empty}</tr>",
                named(&format!("{factor}={level}"))
            );
        }
        let cells = cells(line);
        let ratios = match (ratio_name, line.ratio) {
            (None, _) => String::new(),
            (Some(_), None) => "<td></td><td></td>".to_owned(),
            (Some(_), Some(_)) => {
                format!("<td>{}</td><td>{}</td>", cells.ratio, interval(&cells.ratio_lower, &cells.ratio_upper))
            }
        };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{ratios}</tr>",
            named(&line.name),
            cells.estimate,
            cells.std_error,
            cells.z,
            cells.p.replace('<', "&lt;"),
            interval(&cells.lower, &cells.upper),
        );
    }
    page.push_str("</tbody></table></div>\n");
    if let Some(more) = told.coefficients.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(page, "<p>And {more} more coefficients, which model.json has.</p>");
    }
}
