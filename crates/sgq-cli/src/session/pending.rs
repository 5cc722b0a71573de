//! `sgq session pending`: what is out, without asking anybody.

use std::{collections::BTreeMap, error::Error, path::PathBuf};

use sgq_bench::output::quoted;

use super::{ask, open};
use crate::{Outcome, terminal};

/// Print the questions that are out, oldest first. Nothing changes.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq session pending study.sgq\n  sgq session pending study.sgq --json")]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Print each question as a line of JSON, as its user gets it
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print ticket, user, what it wants, why, and when it was asked
    #[arg(long)]
    csv: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let reader = open::to_look(&args.file)?;
    let questions = reader.pending()?;
    if args.json {
        ask::print_json(&questions)?;
    } else if args.csv {
        let mut text = "ticket,user,wants,why,asked".to_owned();
        for question in &questions {
            let (ticket, name) = (question.ticket, quoted(&question.name));
            text += &format!(
                "\n{ticket},{name},{},{},{}",
                ask::wants(question),
                question.report.map_or(question.why.word(), |_| "everybody"),
                sgq_ledger::time(question.asked_at)
            );
        }
        terminal::say_data(&text)?;
    } else if questions.is_empty() {
        terminal::say("  no question is out")?;
    } else {
        let asked: BTreeMap<u64, i64> = questions.iter().map(|it| (it.ticket, it.asked_at)).collect();
        terminal::say(&ask::table(&questions))?;
        if let Some(oldest) = asked.values().min() {
            terminal::say(&format!("\n  the oldest was asked {}", sgq_ledger::time(*oldest)))?;
        }
    }
    Ok(Outcome::Done)
}
