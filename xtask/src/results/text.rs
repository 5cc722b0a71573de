//! Numbers and tables as pages show them.

/// A table with a heading.
pub fn table(heading: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(heading), "|---".repeat(heading.len()) + "|"];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

/// `0.001` as `0.1%`, smaller powers of ten as `10⁻⁴`; what is no number stays as it is.
pub fn percent(target: &str) -> String {
    let Ok(part) = target.parse::<f64>() else {
        return target.to_owned();
    };
    if part > 0.0 && part < 0.000_99 && (part.log10() - part.log10().round()).abs() < 1e-9 {
        let power = (-part.log10()).round().to_string();
        let digit = |digit: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10).unwrap_or_default() as usize);
        return format!("10⁻{}", power.chars().filter_map(digit).collect::<String>());
    }
    // Rounded, for 100 · 0.07 is 7.000000000000001.
    format!("{}%", (1e8 * part).round() / 1e6)
}

/// `12345` as `12,345`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A dash for what was not reached.
pub fn or_dash(queries: Option<u64>) -> String {
    queries.map_or("–".to_owned(), |queries| queries.to_string())
}

/// Two digits, with a minus and not a hyphen.
pub fn number(value: f64) -> String {
    format!("{value:.2}").replace('-', "−")
}

/// None of nothing.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// None of nothing, and infinite where half of the values are.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    match odd {
        true => values.get(middle).copied(),
        false => Some((values.get(middle.checked_sub(1)?)? + values.get(middle)?) / 2.0),
    }
}
