//! `sgq session point`: where the run stands.

use std::{error::Error, path::PathBuf};

use sgq_bench::readable::short;
use sgq_data::glm::StdErrors;

use super::open;
use crate::{Outcome, terminal};

/// Print where the run stands: the parameters, and nothing else.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq session point study.sgq --json\n\nWith --json and --csv the numbers read back to the last bit."
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Print a list of numbers
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print a line for each parameter
    #[arg(long)]
    csv: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let reader = open::to_look(&args.file)?;
    if reader.terms().is_some() && reader.results(StdErrors::default())?.is_none() {
        let file = terminal::one_line(&args.file.display().to_string());
        return Err(format!("{file} has no point yet: not everybody has answered the first question").into());
    }
    let session = reader.session()?;
    let point = session.point();
    let text = if args.json {
        serde_json::to_string(point)?
    } else if args.csv {
        // `{:?}` prints the shortest digits that read back as the same number.
        let lines = point.iter().enumerate().map(|(place, number)| format!("\n{place},{number:?}"));
        "parameter,value".to_owned() + &lines.collect::<String>()
    } else {
        point.iter().map(|number| short(*number)).collect::<Vec<_>>().join(" ")
    };
    terminal::say_data(&text)?;
    Ok(Outcome::Done)
}
