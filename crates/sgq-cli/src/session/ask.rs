//! `sgq session ask`: whom to ask, and where.

use std::{error::Error, path::PathBuf};

use sgq_bench::readable::short;
use sgq_ledger::Question;

use super::{open, whole};
use crate::{Outcome, terminal};

/// Print the questions that are out, and put further ones until there are as many as may be.
///
/// Asking again prints the same questions until they are answered or have failed.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq session ask study.sgq\n  sgq session ask study.sgq --json | python3 clinic.py | sgq session tell \
                        study.sgq --lines -\n\nWith --json each question is a line, with its point to the last bit:\n\n  \
                        {\"ticket\":17,\"user\":\"clinic-7\",\"point\":[0.5,-1.0],\"wants\":[\"gradient\"]}"
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// At most so many [default: as many as may be out]
    #[arg(long, value_name = "N", value_parser = whole::count, allow_negative_numbers = true)]
    count: Option<u64>,
    /// Print each question as a line of JSON, as its user gets it
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let mut ledger = open::to_write(&args.file)?;
    let count = args.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let questions = ledger.questions(count)?;
    // Before anything is shown: what is printed is on the disk.
    let (stop, stands) = (ledger.stop_reason(), open::stands(&ledger));
    let look = if ledger.terms().is_some() { "result" } else { "point" };
    ledger.close()?;
    let file = terminal::one_line(&args.file.display().to_string());
    if args.json {
        print_json(&questions)?;
    } else if !questions.is_empty() {
        terminal::say(&table(&questions))?;
        terminal::say(&format!("\n  sgq session tell {file} {} answer.json", questions[0].ticket))?;
    }
    if questions.is_empty() {
        terminal::complain(&match stop {
            Some(_) => format!("nobody is asked any more: {stands} (sgq session {look} {file})"),
            None => "nobody can be asked now: everybody is away, has left, has a question, or has spent what it may disclose".to_owned(),
        });
    }
    Ok(Outcome::Done)
}

/// Each question in a line, as its user gets it.
pub fn print_json(questions: &[Question]) -> Result<(), Box<dyn Error>> {
    for question in questions {
        terminal::say_data(&question.to_json()?)?;
    }
    Ok(())
}

/// What a question asks for, in a word.
pub fn wants(question: &Question) -> String {
    question.report.map_or_else(|| question.wants.to_string(), |report| report.to_string())
}

/// Why it is put.
fn why(question: &Question) -> String {
    question.report.map_or_else(|| question.why.to_string(), |report| report.in_words().to_owned())
}

/// Each question in a line for a person. A long point is cut.
pub fn table(questions: &[Question]) -> String {
    const SHOWN: usize = 6;
    let names: Vec<String> = questions.iter().map(|question| terminal::one_line(&question.name)).collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
    let tickets = questions.iter().map(|question| question.ticket.to_string().len()).max().unwrap_or(0).max(6);
    let mut text = format!("  {:>tickets$}  {:<widest$}  {:<8}  {:<40}  point", "ticket", "user", "wants", "why");
    for (question, name) in questions.iter().zip(names) {
        let mut point: Vec<String> = question.point.iter().take(SHOWN).map(|number| short(*number)).collect();
        if question.point.len() > SHOWN {
            point.push("…".to_owned());
        }
        text += &format!(
            "\n  {:>tickets$}  {name:<widest$}  {:<8}  {:<40}  {}",
            question.ticket,
            wants(question),
            why(question),
            point.join(" ")
        );
    }
    text
}
