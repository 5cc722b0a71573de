//! `sgq run`: any experiment from a file.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    slice,
};

use sgq_bench::{
    Experiment,
    output::{Claim, file_name},
};

use crate::{
    Outcome, benchmark,
    experiments::{Files, Job, Options},
    terminal,
};

/// Run an experiment from a file: problems, methods, step sizes, trials, budget, targets.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq run experiments/paper-fig1.toml --trials 50 --trace\n\nIt writes curves.csv, \
                  curves.svg and curves.png (one pair for each problem), summary.json and report.html. The file's \
                  format is described in docs/experiments.md; `sgq methods` lists what can stand in it. With a table \
                  [tuning] it is a benchmark: settings are picked on some trials and counted on others, and it writes \
                  summary.csv, tuning.csv, figures and report.html. Ctrl-C keeps every finished method on a problem, and \
                  the same command goes on.")]
pub struct Args {
    /// The experiment, a TOML file
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Folder to write to [default: out/ and the experiment's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write every billed query of every trial, to trace/<method>-<trial>.jsonl
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    options: Options,
}

/// Reads an experiment from its file, with only some of its problems where any are named.
pub fn read(path: &Path, only: &[String]) -> Result<Experiment, Box<dyn Error>> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read the experiment {file}: {error}"))?;
    Ok(Experiment::with_problems(&file, &text, only)?)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let mut experiment = read(&args.file, &args.options.problems)?;
    args.options.apply(&mut experiment)?;
    // A quick look does not replace what was measured.
    let quick = if args.options.quick { "-quick" } else { "" };
    let default_out = Path::new("out").join(file_name(&format!("{}{quick}", experiment.name)));
    let out = args.out.as_ref().unwrap_or(&default_out);
    if experiment.tuning.is_some() && (args.trace || args.options.bounds) {
        return Err("--trace and --bounds are for experiments without [tuning]".into());
    }
    let title = experiment.title.clone();
    let job =
        Job { title: &title, options: &args.options, out, trace: args.trace, files: Files::Curves, headline_gap: None };
    let names = match experiment.tuning {
        Some(_) => sgq_bench::benchmark::files(&experiment),
        None => job.file_names(slice::from_ref(&experiment)),
    };
    let data = experiment.problems.iter().flat_map(|problem| &problem.files).map(|file| &**file);
    let claim = Claim::new("run", &args.options).about(&args.file).reads(data).writes(names).force(args.options.force);
    claim.check(out)?;
    if args.options.talks() {
        for problem in &experiment.problems {
            if let Some(card) = &problem.card {
                terminal::say(&format!("\n  {}\n{}", problem.name, indented(card)))?;
            }
        }
    }
    match experiment.tuning {
        Some(_) => benchmark::run(&experiment, &args.options, out, claim),
        None => job.run(vec![experiment], claim),
    }
}
