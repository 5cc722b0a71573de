//! `sgq plan show`: what everybody agrees to.

use std::{error::Error, path::PathBuf};

use sgq_data::plan::StudyPlan;

use crate::{Outcome, terminal};

/// Say in words what a plan agrees to, and the number by which everybody can see that it is the same.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq plan show model.plan")]
pub struct Args {
    /// The plan
    #[arg(value_name = "MODEL.plan")]
    file: PathBuf,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    terminal::say(&words(&StudyPlan::read(&args.file)?))?;
    Ok(Outcome::Done)
}

/// The agreement, a little to the right, and its id.
pub fn words(plan: &StudyPlan) -> String {
    let words = format!("{}\nplan {}", plan.in_words(), plan.id());
    let lines = words.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") });
    lines.collect::<Vec<_>>().join("\n")
}
