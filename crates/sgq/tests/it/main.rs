//! The library, tested from outside.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod catalogue;
mod competitor_reference;
mod competitors;
mod earlier;
mod few_users;
mod frugal;
mod frugal_many;
mod frugal_reference;
mod lazy;
mod linear;
mod linear_model;
mod many_users;
mod members;
mod naive;
mod noise;
mod open;
mod out_of_line;
mod paper;
mod practical;
mod problems;
mod properties;
mod protocol;
mod random_problem;
mod reference;
mod regression;
mod regression_glm;
mod regression_reference;
mod remaining;
mod scores;
mod storage;
mod theory;
mod trajectories;
mod units;
