//! `sgq reproduce`: the paper's Section 4.

use std::{error::Error, path::PathBuf};

use clap::ValueEnum;
use sgq_bench::{Experiment, experiment::PAPER, output::Claim};

use crate::{
    Outcome,
    experiments::{Files, Job, Options},
};

/// Reproduce the paper's experiment: both figures, as CSV, SVG and PNG, with a table and a report.
///
/// OGQ looks at every gradient before each query and pays for one; it is a yardstick, and marked as such everywhere.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq reproduce fig1 --trials 1000 --out out/fig1\n\nIt writes fig1.csv, fig1.svg, \
                  fig1.png (and the same for fig2), summary.json and report.html. By default: 200 trials of 400 queries, \
                  seed 1, as experiments/paper-fig1.toml and paper-fig2.toml have it.")]
pub struct Args {
    /// Which figure
    #[arg(value_enum, default_value = "all")]
    figure: Which,
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = "out/paper")]
    out: PathBuf,
    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    Fig1,
    Fig2,
    All,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let files = match args.figure {
        Which::Fig1 => &PAPER[..1],
        Which::Fig2 => &PAPER[1..],
        Which::All => PAPER,
    };
    let mut experiments = Vec::new();
    for (_, file, text) in files {
        let mut experiment = Experiment::with_problems(file, text, &args.options.problems)?;
        args.options.apply(&mut experiment)?;
        experiments.push(experiment);
    }
    let job = Job {
        title: "Stochastic Gradient Descent with Strategic Querying: Section 4, reproduced",
        options: &args.options,
        out: &args.out,
        trace: false,
        files: Files::NamedByExperiment,
        headline_gap: Some(0.1),
    };
    let claim = Claim::new("reproduce", &args.options).writes(job.file_names(&experiments)).force(args.options.force);
    job.run(experiments, claim)
}
