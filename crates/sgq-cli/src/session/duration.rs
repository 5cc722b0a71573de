//! Times as people type them: 90, 90s, 5m, 2h, 7d.

use std::time::Duration;

const UNITS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
/// Longer than any study.
const LONGEST: f64 = 100.0 * 365.0 * 86_400.0;

pub fn parse(text: &str) -> Result<Duration, String> {
    let end = text.find(|letter: char| letter.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = if unit.is_empty() { "s" } else { unit };
    let seconds = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| seconds);
    let number = number.trim().parse::<f64>().ok().zip(seconds).map(|(number, seconds)| number * seconds);
    let number = number.filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST);
    number.map(Duration::from_secs_f64).ok_or_else(|| "expected a time, such as 90s, 5m, 2h or 7d".to_owned())
}

/// A time for a person: of two units at most the larger one.
pub fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, milliseconds) in
            [("90", 90_000), ("1.5s", 1_500), ("5m", 300_000), ("2h", 7_200_000), ("250ms", 250)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for wrong in ["", "0", "-1s", "5 weeks", "s", "NaN", "inf", "1e300d"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            [90, 600, 9_000, 864_000].map(|it| words(Duration::from_secs(it))),
            ["90 s", "10 min", "2 h", "10 days"]
        );
    }
}
