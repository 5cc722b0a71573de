//! The table, as text.

use std::fmt::{self, Write as _};

use super::{Coefficient, Family, Inference};

/// Digits of a standard error that are shown; everything else in its line has as many decimals.
const STD_ERROR_DIGITS: i32 = 2;

/// Decimals beyond which numbers are written with a power of ten.
const MOST_DECIMALS: i32 = 7;

/// Probabilities below this are not told apart.
const TINY_P: f64 = 1e-15;

/// What stands between two columns.
const GAP: &str = "   ";

impl Inference {
    /// The table of coefficients: the estimate and what goes with it, to as many decimals as its standard error supports.
    pub fn table(&self) -> String {
        let ratio_name = self.family.ratio_name();
        let mut lines = vec![vec![
            String::new(),
            "estimate".into(),
            "std. error".into(),
            "z".into(),
            "p".into(),
            format!("{} interval", percent(self.level)),
        ]];
        lines[0].extend(ratio_name.map(String::from));
        for line in &self.coefficients {
            let cells = line.cells();
            let mut row = vec![
                line.name.clone(),
                cells.estimate,
                cells.std_error,
                cells.z,
                cells.p,
                format!("{} … {}", cells.lower, cells.upper),
            ];
            row.extend(ratio_name.map(|_| cells.ratio));
            lines.push(row);
        }
        aligned(&lines)
    }

    /// What goes below the table: what the standard errors are, how well the model fits, and notes.
    pub fn fit_statistics(&self) -> String {
        let mut lines: Vec<(&str, String)> = vec![("standard errors", self.std_error_kind.clone())];
        if let Some(dispersion) = self.dispersion {
            let how = match self.family {
                family if family.has_fixed_dispersion() => "1, fixed".into(),
                Family::Huber { .. } => format!("{}, for Huber's loss", significant(dispersion)),
                _ => format!("{}, Pearson's statistic over its degrees of freedom", significant(dispersion)),
            };
            lines.push(("dispersion", how));
        }
        let freedom = |value: Option<u64>| match value {
            Some(1) => " on 1 degree of freedom".to_owned(),
            Some(value) => format!(" on {value} degrees of freedom"),
            None => String::new(),
        };
        if let Some(deviance) = self.null_deviance {
            let rows = self.rows.map(|rows| rows.saturating_sub(1));
            lines.push(("null deviance", format!("{}{}", significant(deviance), freedom(rows))));
        }
        if let Some(deviance) = self.deviance {
            lines.push(("residual deviance", format!("{}{}", significant(deviance), freedom(self.df_residual))));
        }
        if let Some(log_likelihood) = self.log_likelihood {
            let aic = self.aic.map(|aic| format!(", AIC {}", significant(aic))).unwrap_or_default();
            lines.push(("log-likelihood", format!("{}{aic}", significant(log_likelihood))));
        }
        if let Some(rows) = self.rows {
            let missing = match self.rows_missing {
                None => String::new(),
                Some(0) => ", none missing".into(),
                Some(missing) => format!(", {missing} left out because a value is missing"),
            };
            lines.push(("rows", format!("{rows} used{missing}")));
        }
        lines.push(("users", self.users.to_string()));
        let mut text = String::new();
        for (name, value) in lines {
            let _ = writeln!(text, "{name:<19}{value}");
        }
        for note in &self.notes {
            let _ = writeln!(text, "Note: {note}.");
        }
        text
    }
}

/// The numbers of one line of the table, as they are written: to as many decimals as the standard error supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // as in [`Coefficient`]
pub struct Cells {
    pub estimate: String,
    pub std_error: String,
    pub z: String,
    pub p: String,
    pub lower: String,
    pub upper: String,
    /// Empty where there is none.
    pub ratio: String,
    pub ratio_lower: String,
    pub ratio_upper: String,
}

impl Coefficient {
    /// Its numbers as they are written everywhere.
    pub fn cells(&self) -> Cells {
        let decimals = decimals(self.std_error, STD_ERROR_DIGITS);
        Cells {
            estimate: fixed(self.estimate, decimals),
            std_error: fixed(self.std_error, decimals),
            z: format!("{:.1}", self.z),
            p: p_value(self.p),
            lower: fixed(self.lower, decimals),
            upper: fixed(self.upper, decimals),
            ratio: ratio(self, self.ratio),
            ratio_lower: ratio(self, self.ratio_lower),
            ratio_upper: ratio(self, self.ratio_upper),
        }
    }
}

impl fmt::Display for Inference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.table(), self.fit_statistics())
    }
}

/// The first column to the left, the others to the right; the header as the rest.
fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut written = format!("{:<width$}", line[0], width = widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(written, "{GAP}{cell:>width$}");
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text
}

/// Decimals that show this many digits of a number; none where they are too many, or there is no such number.
fn decimals(value: f64, digits: i32) -> Option<usize> {
    if !(value > 0.0 && value.is_finite()) {
        return None;
    }
    // Of the number as it will be written: 0.0996 is 0.10.
    let written = format!("{value:.*e}", (digits - 1).max(0) as usize);
    let exponent: i32 = written.rsplit('e').next()?.parse().ok()?;
    let decimals = (digits - 1 - exponent).max(0);
    (decimals <= MOST_DECIMALS && exponent < 9).then_some(decimals as usize)
}

fn fixed(value: f64, decimals: Option<usize>) -> String {
    match decimals {
        Some(decimals) => {
            let text = format!("{value:.decimals$}");
            // Not −0.00.
            if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
                text.trim_start_matches('-').to_owned()
            } else {
                text
            }
        }
        None if value == 0.0 => "0".to_owned(),
        None if (0.1..1e4).contains(&value.abs()) => format!("{value:.3}"),
        None => format!("{value:.3e}"),
    }
}

fn p_value(p: f64) -> String {
    match p {
        p if p.is_nan() => "NaN".into(),
        p if p < TINY_P => "< 1e-15".into(),
        p if p < 0.0001 => format!("{p:.1e}"),
        p if p < 0.1 => fixed(p, decimals(p, 2)),
        p => format!("{p:.2}"),
    }
}

/// A ratio, or an end of its interval, to one digit of the ratio's standard error, `e^β · SE(β)`; two decimals and two digits at
/// least where it is small.
fn ratio(line: &Coefficient, value: Option<f64>) -> String {
    let Some(value) = value else {
        return String::new();
    };
    let least = if value < 10.0 { 2 } else { 0 };
    let own = if value < 0.1 { decimals(value, 2) } else { Some(0) };
    let supported = line.ratio.and_then(|ratio| decimals(ratio * line.std_error, 1));
    fixed(value, supported.zip(own).map(|(supported, own)| supported.max(least).max(own)))
}

/// A number with six digits, as many as anybody compares.
pub fn significant(value: f64) -> String {
    let Some(decimals) = decimals(value.abs(), 6) else {
        return if value == 0.0 { "0".into() } else { format!("{value:.5e}") };
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A part of 1, such as `95%`.
pub fn percent(level: f64) -> String {
    let text = format!("{:.4}", 100.0 * level);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::{Fit, OriginalScale};

    #[test]
    fn the_table_reads_as_it_should() {
        let names = ["(intercept)", "age", "sex=f"].map(String::from);
        let point = [-4.971, 0.0424, 0.3];
        let fit = Fit::new(Family::Binomial, &names, &point, OriginalScale::identity(3));
        let variances = [0.25, 0.0, 0.0045 * 0.0045, 0.0, 0.0, 0.0996 * 0.0996];
        let mut inference = Inference::finish(&fit, &variances, 38);
        let expected = "              \
            estimate   std. error      z         p     95% interval   odds ratio\n\
(intercept)      -4.97         0.50   -9.9   < 1e-15    -5.95 … -3.99\n\
age             0.0424       0.0045    9.4   < 1e-15  0.0336 … 0.0512        1.043\n\
sex=f             0.30         0.10    3.0    0.0026      0.10 … 0.50         1.35\n";
        let squeeze = |text: &str| {
            text.lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let table = inference.table();
        assert_eq!(squeeze(&table), squeeze(expected));
        let ends: Vec<usize> = table.lines().skip(2).map(|line| line.chars().count()).collect();
        assert_eq!(ends, vec![table.lines().next().unwrap().chars().count(); 2]);
        let cells = inference.coefficients[2].cells();
        assert_eq!((&*cells.lower, &*cells.upper, &*cells.p), ("0.10", "0.50", "0.0026"));
        assert_eq!((&*cells.ratio, &*cells.ratio_lower, &*cells.ratio_upper), ("1.35", "1.11", "1.64"));
        assert_eq!(
            (inference.coefficients[0].cells().ratio, ratio(&inference.coefficients[2], Some(0.001_234))),
            (String::new(), "0.0012".into())
        );
        (inference.rows, inference.rows_missing, inference.df_residual) = (Some(412), Some(3), Some(409));
        (inference.deviance, inference.null_deviance) = (Some(430.1), Some(512.345_678));
        (inference.log_likelihood, inference.aic) = (Some(-215.05), Some(436.1));
        let expected = "\
standard errors    model
dispersion         1, fixed
null deviance      512.346 on 411 degrees of freedom
residual deviance  430.1 on 409 degrees of freedom
log-likelihood     -215.05, AIC 436.1
rows               412 used, 3 left out because a value is missing
users              38
";
        assert_eq!(inference.fit_statistics(), expected);
        assert_eq!(inference.to_string(), format!("{table}\n{expected}"));
    }

    #[test]
    fn numbers_are_written_to_their_digits() {
        assert_eq!(p_value(0.5), "0.50");
        assert_eq!(p_value(0.0123), "0.012");
        assert_eq!(p_value(3.21e-7), "3.2e-7");
        assert_eq!(p_value(1e-200), "< 1e-15");
        assert_eq!(fixed(-0.0001, Some(2)), "0.00");
        assert_eq!(fixed(1e-9, decimals(1e-10, 2)), "1.000e-9");
        assert_eq!([3.0, 0.0, -20.1, 2e300].map(|it| fixed(it, None)), ["3.000", "0", "-20.100", "2.000e300"]);
        assert_eq!(decimals(0.0996, 2), Some(2));
        assert_eq!(decimals(123.0, 2), Some(0));
        assert_eq!(
            (significant(1234567.0), significant(0.0), significant(2.0)),
            ("1234567".into(), "0".into(), "2".into())
        );
        assert_eq!((percent(0.95), percent(0.999)), ("95%".into(), "99.9%".into()));
    }
}
