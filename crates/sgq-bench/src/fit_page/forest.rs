//! A fit's forest plot.

use sgq_data::glm::percent;

use super::{
    table::{cells, interval},
    told::Told,
};
use crate::figure::{Forest, Mark, Row};

/// More rows than a picture can hold.
const MOST_ROWS: usize = 400;

/// The plot of all coefficients but the intercept.
pub(super) fn of(told: &Told<'_>) -> Forest {
    let ratio_name = told.ratio_name();
    let level = percent(told.level());
    let intercept = usize::from(told.has_intercept());
    let mut rows = Vec::new();
    for (place, line) in told.coefficients.iter().enumerate().skip(intercept) {
        for (factor, level) in told.references_before(place) {
            rows.push(Row {
                label: format!("{factor}={level}"),
                numbers: "reference".to_owned(),
                mark: Mark::Reference,
            });
        }
        let cells = cells(line);
        let (estimate, ends) = match ratio_name {
            Some(_) => (&cells.ratio, interval(&cells.ratio_lower, &cells.ratio_upper)),
            None => (&cells.estimate, interval(&cells.lower, &cells.upper)),
        };
        let mark = match (line.estimate, line.lower, line.upper) {
            (estimate, ..) if !estimate.is_finite() => Mark::Nothing,
            (estimate, lower, upper) if lower.is_nan() || upper.is_nan() => Mark::Alone(estimate),
            (estimate, lower, upper) => Mark::Interval { estimate, lower, upper },
        };
        let numbers = match mark {
            Mark::Nothing => "NA".to_owned(),
            Mark::Alone(_) => format!("{estimate} (NA)"),
            _ => format!("{estimate} ({ends})"),
        };
        rows.push(Row { label: line.name.clone(), numbers, mark });
    }
    let more = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);

    let count = told.coefficients.len() - intercept;
    let described = rows.len();
    let unit = match ratio_name {
        Some(ratio) => format!("coefficient: logarithm of the {ratio}"),
        None if told.family.is_some() => "coefficient, in units of the target".to_owned(),
        None => "coefficient".to_owned(),
    };
    let errors = match told.std_error_kind() {
        Some(kind) => format!("{level} intervals; standard errors: {kind}"),
        None => match told.why_no_errors() {
            Some(why) => format!("no standard errors: {why}"),
            None => format!("{level} intervals"),
        },
    };
    let mut notes = Vec::new();
    if told.is_approximate() {
        notes.push("Dashed: the standard errors are approximate.".to_owned());
    }
    if more > 0 {
        notes.push(format!("The table of coefficients has {more} more."));
    }
    Forest {
        title: told.title(),
        subtitle: errors,
        description: format!(
            "Forest plot of {count} coefficients, the intercept left out: for each of {described} rows the estimate and its \
             {level} interval around a line at zero. The table of coefficients has the same numbers."
        ),
        rows,
        x_label: unit,
        ratio_label: ratio_name.map(str::to_owned),
        numbers_label: format!("{} ({level} interval)", ratio_name.unwrap_or("estimate")),
        dashed: told.is_approximate(),
        notes,
    }
}
