//! A ledger as its users see it: what survives, what is refused, what is found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests

mod clinics;
mod faults;
mod flood;
mod held;
mod hostile;
mod killing;
mod kills;
mod life;
mod lines;
mod protection;
mod study;
mod unexpected;
#[cfg(unix)]
mod users;
mod versions;
