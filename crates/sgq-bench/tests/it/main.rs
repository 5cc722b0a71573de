//! What is made of results, from outside.

#![recursion_limit = "256"] // for a whole fit as JSON
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests

mod fit_page;
mod web;
