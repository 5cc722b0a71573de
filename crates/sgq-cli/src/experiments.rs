//! What `reproduce` and `run` share: options, interrupts, and running one experiment after the other.

use std::{
    error::Error,
    io,
    path::Path,
    process,
    sync::atomic::{AtomicBool, Ordering},
};

use serde::Serialize;
use sgq_bench::{
    Experiment,
    certify::{self, certify},
    experiment::{MAX_BUDGET, MAX_TRIALS, Tuning},
    limit::Limits,
    output::{Claim, Folder, curve_files, write_curves},
    report::{self, Section},
    run::{Control, Results, run},
    summary::{Summary, headline, notes},
    trace,
};
use sgq_data::first_few;

use crate::{Outcome, tables, terminal};

#[derive(clap::Args, Serialize)]
pub struct Options {
    /// Independent trials of each method [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_TRIALS))]
    trials: Option<u64>,
    /// Queries in each trial [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BUDGET))]
    queries: Option<u64>,
    /// Seed of all randomness: the same seed gives the same bytes [default: the experiment's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads to use; the result does not depend on it [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[serde(skip)]
    pub threads: Option<u16>,
    /// Only these problems of the file
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[serde(skip)]
    pub problems: Vec<String>,
    /// Only these methods of the file
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    #[serde(skip)]
    methods: Vec<String>,
    /// Few trials, queries and step sizes: to see that everything works
    #[arg(long)]
    pub quick: bool,
    /// Also draw what theory guarantees, and measure how good SGQ's choices are; see `sgq certify`
    #[arg(long)]
    pub bounds: bool,
    /// Replace the results of another run, and files that sgq did not write; other problems and methods need no force
    #[arg(long)]
    #[serde(skip)]
    pub force: bool,
    /// Print nothing but errors (and the result, with --json)
    #[arg(long, short)]
    #[serde(skip)]
    pub quiet: bool,
    /// Print the summary as JSON instead of a table
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

impl Options {
    /// Lets the options override what the file says.
    pub fn apply(&self, experiment: &mut Experiment) -> Result<(), String> {
        if self.quick {
            experiment.trials = experiment.trials.min(2);
            experiment.budget = experiment.budget.min(200);
            if let Some(tuning) = &mut experiment.tuning {
                // A step in four octaves: to see that everything works, not to measure.
                let (from, to) = (tuning.from.max(-2), tuning.to.min(1));
                *tuning = Tuning { trials: tuning.trials.min(2), from, to, rates: vec![0] };
            }
        }
        experiment.trials = self.trials.unwrap_or(experiment.trials);
        experiment.budget = self.queries.unwrap_or(experiment.budget);
        experiment.seed = self.seed.unwrap_or(experiment.seed);
        experiment.keep_methods(&self.methods)
    }

    pub fn talks(&self) -> bool {
        !self.quiet && !self.json
    }
}

/// Everything about one run of one or more experiments.
pub struct Job<'a> {
    pub title: &'a str,
    pub options: &'a Options,
    pub out: &'a Path,
    pub trace: bool,
    pub files: Files,
    /// The gap that the sentence under the table is about; by default the smallest that everybody reaches.
    pub headline_gap: Option<f64>,
}

/// How an experiment's curves and figures are called.
pub enum Files {
    /// `fig1.csv`, with one problem to an experiment.
    NamedByExperiment,
    /// `curves.csv`, with a column for the problem.
    Curves,
}

impl Job<'_> {
    /// Runs the experiments, writes all files where the claim lets it, and prints the tables.
    pub fn run(&self, experiments: Vec<Experiment>, claim: Claim) -> Result<Outcome, Box<dyn Error>> {
        use_threads(self.options.threads)?;
        claim.check(self.out)?;
        // First, so that a question that makes no sense is answered before anything is computed.
        let mut certificates = Vec::new();
        for experiment in &experiments {
            certificates.push(match self.options.bounds {
                true => certify(experiment, &certify::Options::default())?,
                false => Vec::new(),
            });
        }
        let interrupt = interrupt_flag()?;
        let mut folder = Folder::open(self.out, claim)?;
        let staged = self.trace.then(|| trace::stage(&folder));
        let mut runs = Vec::new();
        let mut figures = Vec::new();
        for (experiment, certificates) in experiments.into_iter().zip(certificates) {
            let mut results = self.run_one(&experiment, staged.as_deref(), interrupt);
            results.certificates = certificates;
            let with_problem = match self.files {
                // The paper's figures have no such line: its results stay as they are.
                Files::NamedByExperiment => false,
                Files::Curves => {
                    results.limits = Limits::of(&experiment);
                    true
                }
            };
            figures.push(write_curves(&mut folder, self.stem(&experiment), with_problem, &experiment, &results)?);
            if self.trace {
                trace::adopt(&mut folder, &experiment)?;
            }
            runs.push((experiment, results));
        }

        let mut sections = Vec::new();
        for ((experiment, results), figures) in runs.iter().zip(figures) {
            for (problem, drawn) in experiment.problems.iter().zip(figures) {
                let Some(drawn) = drawn else {
                    continue;
                };
                sections.push(Section {
                    experiment,
                    results,
                    problem: &problem.name,
                    drawn,
                    headline: headline(experiment, results, &problem.name, self.headline_gap),
                    notes: notes(experiment, results, problem),
                });
            }
        }
        let summary = Summary::new(&runs);
        let json = serde_json::to_string_pretty(&summary)? + "\n";
        if !sections.is_empty() {
            folder.write("summary.json", &json)?;
            let warning = runs.iter().any(|(_, results)| !results.unfinished.is_empty());
            let warning = warning.then(|| format!("This run ended early{}", self.what_is_left(&runs)));
            folder.write("report.html", report::html(self.title, warning.as_deref(), &sections))?;
        }
        folder.commit()?;
        if !sections.is_empty() {
            if self.options.json {
                terminal::say(json.trim_end())?;
            }
            if self.options.talks() {
                print(&sections, &folder, self.trace)?;
            }
        }
        if let Some(failure) = runs.iter().find_map(|(_, results)| results.failure.as_ref()) {
            return Err(format!("{failure}{}", self.what_is_left(&runs)).into());
        }
        if summary.interrupted {
            terminal::complain(&format!("interrupted{}", self.what_is_left(&runs)));
            return Ok(Outcome::Interrupted);
        }
        Ok(Outcome::Done)
    }

    /// What the files of an experiment's curves begin with.
    fn stem<'e>(&self, experiment: &'e Experiment) -> &'e str {
        match self.files {
            Files::NamedByExperiment => &experiment.name,
            Files::Curves => "curves",
        }
    }

    /// The names of all files that may be written.
    pub fn file_names(&self, experiments: &[Experiment]) -> Vec<String> {
        let mut names = vec!["summary.json".to_owned(), "report.html".to_owned()];
        for experiment in experiments {
            names.extend(curve_files(self.stem(experiment), experiment, self.options.bounds));
        }
        if self.trace {
            names.push(format!("{}/", trace::FOLDER));
        }
        names
    }

    /// What was finished before it ended early, and what was not.
    fn what_is_left(&self, runs: &[(Experiment, Results)]) -> String {
        let mut missing = Vec::new();
        for (experiment, results) in runs {
            for unfinished in &results.unfinished {
                let on = match experiment.problems.len() {
                    1 => String::new(),
                    _ => format!(" on {}", unfinished.problem),
                };
                missing.push(format!("{}{on} of {}", unfinished.method, experiment.name));
            }
        }
        let finished = if runs.iter().all(|(_, results)| results.rows.is_empty()) {
            let apart = if self.trace { " apart from traces" } else { "" };
            format!("no method was finished, and no results were written{apart}")
        } else {
            format!("what was finished is in {}", self.out.display())
        };
        format!(": {finished}; not finished and left out: {}", first_few(&missing))
    }

    fn run_one(&self, experiment: &Experiment, trace: Option<&Path>, interrupt: &AtomicBool) -> Results {
        let hidden = self.options.quiet || interrupt.load(Ordering::Relaxed);
        let bar = terminal::progress(&experiment.name, experiment, hidden);
        let results =
            run(experiment, &Control { interrupt, on_trial: &|| bar.inc(1), trace, choices: self.options.bounds });
        if results.unfinished.is_empty() {
            bar.finish();
        } else {
            bar.abandon();
        }
        results
    }
}

fn print(sections: &[Section<'_>], folder: &Folder, trace: bool) -> io::Result<()> {
    for section in sections {
        let table = tables::table(section.experiment, section.results, section.problem, terminal::result_columns());
        terminal::say(&format!("\n  {}\n{table}", section.title()))?;
        if section.headline.is_some() || !section.notes.is_empty() {
            terminal::say("")?;
        }
        for line in section.headline.iter().chain(&section.notes) {
            terminal::say(&format!("  {line}"))?;
        }
    }
    terminal::say_written(folder, if trace { " trace/" } else { "" })
}

/// As many threads as were asked for.
pub fn use_threads(threads: Option<u16>) -> Result<(), Box<dyn Error>> {
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
    }
    Ok(())
}

/// A flag that Ctrl-C, or being told to terminate, sets; a second one ends the program at once.
pub fn interrupt_flag() -> Result<&'static AtomicBool, ctrlc::Error> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    })?;
    Ok(&INTERRUPTED)
}
