//! Numbers as people read them.

use sgq::storage::readable_count;

/// A number with four digits that count.
pub fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    if (1e-3..1e6).contains(&number.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// A factor close to 1: as many digits as show by how much it is below.
pub fn short_factor(factor: f64) -> String {
    match 1.0 - factor {
        rest if rest > 0.0 && rest < 0.01 => format!("(1 − {})", short(rest)),
        _ => short(factor),
    }
}

/// A number as short as a reader likes it; it reads back as the same number.
pub fn readable(number: f64) -> String {
    if (1e-4..1e6).contains(&number) { number.to_string() } else { format!("{number:e}") }
}

/// `12,345`; below a hundred with a digit behind the point, where it has one.
pub fn grouped(number: f64) -> String {
    match number {
        number if number < 100.0 => ((number * 10.0).round() / 10.0).to_string(),
        number => readable_count(number.round() as usize),
    }
}

/// Microseconds in a unit that fits, with three digits that count.
pub fn readable_time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let digits = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [0.025, 7.438_016e-4, 2.0, 25.0, 0.963_907_5, 1e-300, 0.0, 1_234_567.0, -0.123_45];
        let expected = ["0.025", "7.438e-4", "2", "25", "0.9639", "1e-300", "0", "1.235e6", "-0.1235"];
        assert_eq!(numbers.map(short), expected);
        assert_eq!([0.97, 0.999_5, 0.0].map(short_factor), ["0.97", "(1 − 5e-4)", "0"]);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0.05, 10.0, 1e-300, 5e7].map(readable), ["0.05", "10", "1e-300", "5e7"]);
    }
}
