//! What `reproduce` and `run` share: options, interrupts, and running one experiment after the other.

use std::{
    error::Error,
    path::Path,
    process,
    sync::atomic::{AtomicBool, Ordering},
};

use sgq_bench::{
    Experiment,
    experiment::{MAX_BUDGET, MAX_TRIALS},
    output::{Folder, write_curves},
    report::{self, Section},
    run::{Control, Results, run},
    summary::{Summary, headline},
};

use crate::{Outcome, terminal};

#[derive(clap::Args)]
pub struct Options {
    /// Independent trials of each method [default: the file's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_TRIALS))]
    trials: Option<u64>,
    /// Queries in each trial [default: the file's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_BUDGET))]
    queries: Option<u64>,
    /// Seed of all randomness: the same seed gives the same bytes [default: the file's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Threads to use; the result does not depend on it [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print nothing but errors (and the result, with --json)
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the summary as JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Lets the options override what the file says.
    pub fn apply(&self, experiment: &mut Experiment) {
        experiment.trials = self.trials.unwrap_or(experiment.trials);
        experiment.budget = self.queries.unwrap_or(experiment.budget);
        experiment.seed = self.seed.unwrap_or(experiment.seed);
    }

    fn talks(&self) -> bool {
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
    /// Runs the experiments, writes all files, and prints the tables.
    pub fn run(&self, experiments: Vec<Experiment>) -> Result<Outcome, Box<dyn Error>> {
        if let Some(threads) = self.options.threads {
            rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
        }
        let interrupt = interrupt_flag()?;
        let mut folder = Folder::open(self.out)?;
        let trace = self.trace.then(|| self.out.join("trace"));
        let mut runs = Vec::new();
        let mut figures = Vec::new();
        for experiment in experiments {
            let results = self.run_one(&experiment, trace.as_deref(), interrupt)?;
            let (stem, with_problem) = match self.files {
                Files::NamedByExperiment => (&*experiment.name, false),
                Files::Curves => ("curves", true),
            };
            let svgs = write_curves(&mut folder, stem, with_problem, &experiment, &results)?;
            figures.push(svgs);
            runs.push((experiment, results));
        }

        if runs.iter().all(|(_, results)| results.rows.is_empty()) {
            terminal::complain("interrupted before any method was finished: nothing was written");
            return Ok(Outcome::Interrupted);
        }
        let mut sections = Vec::new();
        for ((experiment, results), svgs) in runs.iter().zip(figures) {
            for (problem, svg) in experiment.problems.iter().zip(svgs) {
                let problem = &problem.name;
                sections.push(Section {
                    experiment,
                    results,
                    problem,
                    svg,
                    headline: headline(experiment, results, problem, self.headline_gap),
                });
            }
        }
        let summary = Summary::new(&runs);
        let json = serde_json::to_string_pretty(&summary)? + "\n";
        folder.write("summary.json", &json)?;
        folder.write("report.html", report::html(self.title, &sections))?;
        if self.options.json {
            terminal::say(json.trim_end());
        }
        if self.options.talks() {
            print(&sections, &folder, self.trace);
        }
        if !summary.interrupted {
            return Ok(Outcome::Done);
        }
        let missing: Vec<String> = runs
            .iter()
            .filter(|(_, results)| !results.unfinished.is_empty())
            .map(|(experiment, results)| format!("{} of {}", results.unfinished.join(", "), experiment.name))
            .collect();
        terminal::complain(&format!(
            "interrupted: what was finished is in {}; not finished and left out: {}",
            self.out.display(),
            missing.join("; ")
        ));
        Ok(Outcome::Interrupted)
    }

    fn run_one(
        &self,
        experiment: &Experiment,
        trace: Option<&Path>,
        interrupt: &AtomicBool,
    ) -> Result<Results, Box<dyn Error>> {
        let bar = terminal::progress(&experiment.name, experiment, self.options.quiet);
        let results = run(experiment, &Control { interrupt, on_trial: &|| bar.inc(1), trace });
        if interrupt.load(Ordering::Relaxed) {
            bar.abandon();
        } else {
            bar.finish();
        }
        Ok(results?)
    }
}

fn print(sections: &[Section<'_>], folder: &Folder, trace: bool) {
    for section in sections {
        let table = terminal::table(section.experiment, section.results, section.problem);
        terminal::say(&format!("\n  {}\n{table}", section.title()));
        if let Some(headline) = &section.headline {
            terminal::say(&format!("\n  {headline}"));
        }
    }
    let mut written = folder.written().join(" ");
    if trace {
        written += " trace/";
    }
    let place = folder.path().display();
    terminal::say(&format!("\n  written to {place}: {written}"));
}

/// A flag that Ctrl-C sets; a second Ctrl-C ends the program at once.
fn interrupt_flag() -> Result<&'static AtomicBool, ctrlc::Error> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    })?;
    Ok(&INTERRUPTED)
}
