//! Experiments for `sgq`: many methods, problems and trials; statistics, figures and a report.
//!
//! An [`Experiment`] is read from a file, [run](run::run) gives a [`Results`](run::Results), and [`output`] turns
//! results into files.

pub mod benchmark;
pub mod certify;
pub mod choices;
pub mod choose;
pub mod experiment;
pub mod figure;
mod fingerprint;
pub mod fit_page;
pub mod limit;
pub mod memory;
pub mod output;
pub mod palette;
pub mod random_bench;
pub mod random_problem;
pub mod readable;
mod renumbered;
pub mod report;
pub mod run;
pub mod statistics;
pub mod summary;
pub mod trace;
pub mod web;

pub use experiment::Experiment;
