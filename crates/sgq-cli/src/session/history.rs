//! `sgq session history`: everything that has happened.

use std::{collections::VecDeque, error::Error, path::PathBuf};

use serde_json::{Value, json};
use sgq_bench::{experiment::suggestion, output::quoted};
use sgq_ledger::{Event, Kind, LedgerError, Reader, Reply, money};
use thiserror::Error;

use super::{open, whole};
use crate::{Outcome, terminal};

/// Print what has happened, oldest first: every question, answer, failure and refusal.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq session history study.sgq --last 20\n  sgq session history study.sgq --kind refused --user clinic-7\n  \
                        sgq session history study.sgq --json --answers > all.jsonl"
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Only the last so many
    #[arg(long, value_name = "N", value_parser = whole::number, allow_negative_numbers = true)]
    last: Option<u64>,
    /// Only those of a kind: asked, answered, late, refused, flagged, failed, noted …; may be given several times
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only those about a user
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    user: Option<String>,
    /// With --json: what users answered as well, and where they were asked
    #[arg(long, requires = "json")]
    answers: bool,
    /// Print each event as a line of JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print each event as a line of CSV
    #[arg(long)]
    csv: bool,
}

#[derive(Debug, Error)]
#[error("--kind {name}: there is no such event{hint}")]
struct NoKind {
    name: String,
    hint: String,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let kinds = args.kind.iter().map(|name| {
        let known = Kind::ALL.into_iter().find(|kind| kind.word() == name);
        let hint = || suggestion(name, Kind::ALL.iter().map(|kind| kind.word()));
        known.ok_or_else(|| NoKind { name: name.clone(), hint: hint() })
    });
    let kinds = kinds.collect::<Result<Vec<Kind>, _>>()?;
    let reader = open::to_look(&args.file)?;
    let user = args.user.as_deref().map(|name| open::user(reader.users(), name)).transpose()?;
    let most = args.last.map_or(usize::MAX, |last| usize::try_from(last).unwrap_or(usize::MAX));
    let mut kept = VecDeque::new();
    reader.history(|event| {
        let is_meant =
            (kinds.is_empty() || kinds.contains(&event.kind)) && user.is_none_or(|user| event.user == Some(user));
        if is_meant && most > 0 {
            if kept.len() == most {
                kept.pop_front();
            }
            kept.push_back(event);
        }
        Ok(())
    })?;
    if args.csv {
        terminal::say_data("seq,time,kind,ticket,user,cost,numbers,words")?;
    }
    for event in &kept {
        let text = match (args.json, args.csv) {
            (true, _) => serde_json::to_string(&as_json(&reader, event, args.answers)?)?,
            (_, true) => as_csv(&reader, event),
            _ => as_text(&reader, event),
        };
        terminal::say_data(&text)?;
    }
    if kept.is_empty() && !args.json && !args.csv {
        terminal::say("  no such event")?;
    }
    Ok(Outcome::Done)
}

fn name<'a>(reader: &'a Reader, event: &Event) -> &'a str {
    event.user.and_then(|user| reader.users().get(user)).map_or("", |user| &user.name)
}

fn as_json(reader: &Reader, event: &Event, with_answers: bool) -> Result<Value, LedgerError> {
    let mut json = serde_json::to_value(event)?;
    json["time"] = sgq_ledger::time(event.at).into();
    json["user"] = event.user.map(|_| name(reader, event)).into();
    if with_answers && let Some((point, reply)) = reader.answer(event)? {
        json["point"] = json!(point);
        let Reply { gradient, loss, hessian, variance, weight, .. } = reply;
        json["answer"] =
            json!({ "gradient": gradient, "loss": loss, "hessian": hessian, "variance": variance, "weight": weight });
    }
    Ok(json)
}

fn as_csv(reader: &Reader, event: &Event) -> String {
    let optional = |it: Option<String>| it.unwrap_or_default();
    let cells = [
        event.seq.to_string(),
        sgq_ledger::time(event.at),
        event.kind.to_string(),
        optional(event.ticket.map(|it| it.to_string())),
        quoted(name(reader, event)),
        optional(event.cost.map(|it| it.to_string())),
        optional(event.numbers.map(|it| it.to_string())),
        quoted(event.words.as_deref().unwrap_or_default()),
    ];
    cells.join(",")
}

fn as_text(reader: &Reader, event: &Event) -> String {
    let ticket = event.ticket.map(|it| it.to_string()).unwrap_or_default();
    let cost = event.cost.map(|cost| format!("  cost {}", money(cost))).unwrap_or_default();
    // Whole answers are in --json.
    let is_long = matches!(event.kind, Kind::Round | Kind::Reported | Kind::Begun);
    let words = event.words.as_deref().filter(|_| !is_long);
    let words = words.map(|words| format!("  {}", terminal::one_line(words))).unwrap_or_default();
    let line = format!(
        "{:>6}  {}  {:<9} {ticket:>6}  {:<16}{cost}{words}",
        event.seq,
        sgq_ledger::time(event.at),
        event.kind.to_string(),
        terminal::one_line(name(reader, event)),
    );
    line.trim_end().to_owned()
}
