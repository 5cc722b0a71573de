//! The readers, tested from outside.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests
