//! The server over real ledgers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests

mod access;
mod followed;
mod ledgers;
mod live;
mod studies;
mod wrong;
