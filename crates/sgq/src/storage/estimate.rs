//! How much room a table takes, before it is allocated.

use std::{fmt, path::PathBuf};

use super::{Format, Storage};

/// How much room a table of last gradients takes. Its `Display` is a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// How many users.
    pub users: usize,
    /// How many parameters.
    pub dim: usize,
    /// Bytes of the table. A sparse one grows by 12 for each number in it that is not zero.
    pub table: u64,
    /// Bytes of all else that a session keeps of its users: norms, places, counts, constants and scores.
    pub besides: u64,
    /// Bytes of each distinct point at which users were asked last: one after the first sweep, and at most one more a step.
    pub point: u64,
    /// The folder of the table's file; none where it is in memory.
    pub folder: Option<PathBuf>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F64,
    F32,
    Sparse,
    Scalars,
}

/// Bytes that are kept of each user besides its row: ‖g̃_i‖, L_i, the inner product, the error and the score in 8 each, two
/// counts and a fingerprint of its first answer in 8 each, the place of its point in 4, whether it was asked in 1, and 52 for
/// what the lazy search knows of it.
const BESIDES: u64 = 8 * 8 + 4 + 1 + 52;

impl Estimate {
    pub(super) fn new(storage: &Storage, users: usize, dim: usize) -> Self {
        let (kind, row) = match storage.format {
            Format::F64 => (Kind::F64, 8u64.saturating_mul(dim as u64)),
            Format::F32 => (Kind::F32, 4u64.saturating_mul(dim as u64)),
            // Two boxed slices.
            Format::Sparse { .. } => (Kind::Sparse, 32),
            Format::Scalars { .. } => (Kind::Scalars, 8),
        };
        let table = row.saturating_mul(users as u64);
        let besides = BESIDES.saturating_mul(users as u64);
        Self { users, dim, table, besides, point: 8u64.saturating_mul(dim as u64), folder: storage.folder(table), kind }
    }
}

impl Estimate {
    /// What to do where it does not fit.
    pub(super) fn advice(&self) -> &'static str {
        match self.kind {
            Kind::F64 => "keep it in f32, give a folder with enough room for a file, or take fewer users or parameters",
            Kind::F32 => "give a folder with enough room for a file, or take fewer users or parameters",
            Kind::Sparse | Kind::Scalars => "free some memory",
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&readable_bytes(self.table))?;
        match &self.folder {
            None => f.write_str(" in memory")?,
            Some(folder) => write!(f, " in a file in {}", folder.display())?,
        }
        if self.besides > self.table / 2 && self.besides > 1_000_000 {
            write!(f, " and {} besides", readable_bytes(self.besides))?;
        }
        if self.kind == Kind::Sparse {
            f.write_str(", and 12 bytes for each number that is not zero")?;
        }
        let (users, dim) = (readable_count(self.users), readable_count(self.dim));
        match self.kind {
            Kind::F64 => write!(f, ": {users} users × {dim} parameters in f64"),
            Kind::F32 => write!(f, ": {users} users × {dim} parameters in f32"),
            Kind::Sparse => write!(f, ": {users} users × {dim} parameters"),
            Kind::Scalars => write!(f, ": {users} users × 1 number in f64"),
        }
    }
}

/// Bytes to three digits, in powers of a thousand: `4.00 GB`.
pub fn readable_bytes(bytes: u64) -> String {
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let (mut size, mut unit) = (bytes as f64 / 1e3, 0);
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    // 999.9 would be written with four digits.
    while size >= 999.5 && unit + 1 < units.len() {
        size /= 1e3;
        unit += 1;
    }
    let digits = if size < 9.995 { 2 } else { usize::from(size < 99.95) };
    format!("{size:.digits$} {}", units[unit])
}

/// A whole number with commas between thousands: `1,234,567`.
pub fn readable_count(number: usize) -> String {
    let digits = number.to_string();
    let mut words = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_by_people() {
        let words =
            [0, 999, 1_000, 4_000_000_000, 999_499_999, 999_500_000, 12_345, 123_456, u64::MAX].map(readable_bytes);
        assert_eq!(
            words,
            ["0 bytes", "999 bytes", "1.00 kB", "4.00 GB", "999 MB", "1.00 GB", "12.3 kB", "123 kB", "18.4 EB"]
        );
        assert_eq!([0, 999, 1_000, 1_234_567].map(readable_count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn little_is_kept_besides_the_table() {
        for format in [Format::F64, Format::F32] {
            let estimate = Storage::from(format).in_memory().estimate(1_000_000, 1_000);
            assert!((estimate.table + estimate.besides) as f64 <= 1.1 * estimate.table as f64, "{estimate:?}");
            assert_eq!(estimate.point, 8_000);
        }
    }
}
