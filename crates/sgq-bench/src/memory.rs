//! How much memory was used: what Linux says, and nothing elsewhere.

use std::fs;

/// The most memory that this process has had at once, in bytes.
pub fn peak() -> Option<u64> {
    bytes("/proc/self/status", "VmHWM:")
}

/// The value of a line such as `VmHWM:    1234 kB`.
fn bytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn linux_says() {
        assert!(peak().unwrap() > 100_000);
        assert_eq!(bytes("/proc/self/status", "NoSuchKey:"), None);
    }
}
