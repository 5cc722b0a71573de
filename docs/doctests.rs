//! The code in the README and in the docs, compiled and run with the other doctests.
//!
//! In a crate of its own that is not published: the pages are outside of the published ones, whose packages would not
//! compile with them.

#![cfg(doctest)]

#[doc = include_str!("../README.md")]
struct Readme;
#[doc = include_str!("answers.md")]
struct Answers;
#[doc = include_str!("data.md")]
struct Data;
#[doc = include_str!("ledger.md")]
struct Ledger;
#[doc = include_str!("methods.md")]
struct Methods;
#[doc = include_str!("sgq-in-practice.md")]
struct SgqInPractice;
#[doc = include_str!("theory.md")]
struct Theory;
