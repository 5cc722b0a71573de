//! `sgq answer`: a clinic answers by the plan and its file.

mod folder;
mod owner;
mod pipe;
mod single;

use std::{error::Error, path::PathBuf, time::Duration};

use sgq_data::plan::{Clinic, Options, StudyPlan};
use sgq_ledger::{User, folder::log_beside};

use crate::{Outcome, fit::parse, session::duration};

/// Answer a study's questions from a CSV file, by the plan that everybody has agreed to: no code is needed.
///
/// What the plan does not allow is refused, with the reason. Every answer is in the log before it is given out, and counts after a
/// restart. What each answer discloses is said.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  sgq answer --plan model.plan --data mine.csv --as clinic-7 --folder exchange --watch\n  \
                  sgq answer --plan model.plan --data mine.csv --as clinic-7 question.json --out answer.json\n  \
                  sgq answer --plan model.plan --data mine.csv --as clinic-7 < questions.jsonl > answers.jsonl\n\n\
                  With a folder, questions are read from DIR/to/clinic-7 and answers written to DIR/from/clinic-7, as sgq session exchange \
                  wants them. With neither a file nor a folder, questions come from the standard input and answers go to the standard output, \
                  a line of JSON each, for sgq session run. Whoever starts it may read its standard error: unless that is a terminal, what is \
                  for the clinic's owner goes to a file beside the log, MINE.csv.NAME.answers.notes.\n\n\
                  Noise: each row's gradient is clipped to --clip, and normal noise with the standard deviation --noise is added to each \
                  number. The answer says so, and the coordinator counts the privacy that is spent. docs/taking-part.md has all of it."
)]
pub struct Args {
    /// The plan that everybody has agreed to
    #[arg(long, value_name = "MODEL.plan")]
    plan: PathBuf,
    /// The clinic's rows: a CSV file with a header, plain or gzip; columns that the plan does not name are not looked at
    #[arg(long, value_name = "MINE.csv")]
    data: PathBuf,
    /// What the coordinator calls this clinic
    #[arg(long = "as", value_name = "NAME", value_parser = parse_name, allow_hyphen_values = true)]
    name: String,
    /// One question, a file
    #[arg(value_name = "QUESTION.json", conflicts_with = "folder")]
    question: Option<PathBuf>,
    /// Where the answer to the one question goes [default: the standard output]
    #[arg(long, value_name = "FILE", requires = "question")]
    out: Option<PathBuf>,
    /// The folder that the coordinator exchanges files in
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Go on until Ctrl-C
    #[arg(long, requires = "folder")]
    watch: bool,
    /// With --watch, how often to look
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse, requires = "watch", allow_hyphen_values = true)]
    every: Duration,
    /// No row's gradient counts for more than this, as a Euclidean norm on scaled columns
    #[arg(long, value_name = "NORM", value_parser = parse::parse_positive, requires = "noise")]
    clip: Option<f64>,
    /// The standard deviation of the noise that is added to each number of a gradient
    #[arg(long, value_name = "DEVIATION", value_parser = parse::parse_positive, requires = "clip")]
    noise: Option<f64>,
    /// The file that keeps every answer [default: beside the data, MINE.csv.NAME.answers.log]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Print nothing but answers, refusals and errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    match (&args.folder, &args.question) {
        (Some(folder), _) => folder::run(args, folder, &mut args.open()?),
        (None, Some(question)) => single::run(args, question, &mut args.open()?),
        (None, None) => pipe::run(args),
    }
}

impl Args {
    fn open(&self) -> Result<Clinic, Box<dyn Error>> {
        let plan = StudyPlan::read(&self.plan)?;
        let options = Options { clip: self.clip, noise: self.noise, log: Some(self.log()) };
        Ok(Clinic::open(plan, &self.data, &self.name, &options)?)
    }

    fn log(&self) -> PathBuf {
        self.log.clone().unwrap_or_else(|| log_beside(&self.data, &self.name))
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    User::wrong_name(text).map_or_else(|| Ok(text.to_owned()), |why| Err(why.to_owned()))
}
