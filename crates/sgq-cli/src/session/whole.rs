//! Whole numbers as people type them.

/// The largest that every program which reads JSON keeps as it is.
const LARGEST: u64 = 1 << 53;

pub fn ticket(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "the ticket must be a whole number: sgq session pending lists those that are out".to_owned())
}

/// From 0.
pub fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// How many there may be, at least one.
pub fn count(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count| (1..=LARGEST).contains(count));
    count.ok_or_else(|| format!("expected a whole number from 1 to {LARGEST}"))
}

/// How often something is done again.
pub fn times(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u32::MAX))
}
