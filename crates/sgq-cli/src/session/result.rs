//! `sgq session result`: what has come of a regression by a plan.

use std::{
    error::Error,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sgq_bench::{
    fit_page,
    output::{Claim, Folder},
    readable::short,
};
use sgq_data::plan::StudyPlan;
use sgq_ledger::Results;
use thiserror::Error;

use super::open;
use crate::{
    Outcome,
    coefficients::{influence_csv, line, penalty, write_influence, write_references, write_statistics, write_table},
    fit::Errors,
    terminal::{self, counted, one_line},
};

/// What it writes.
const FILES: [&str; 5] = ["report.html", "model.json", "forest.svg", "forest.png", "influence.csv"];

/// Print the coefficients of a study by a plan, with standard errors, and what they cost. Somebody may write meanwhile.
///
/// Where everybody has answered the closing question, standard errors are exact. Until then they are learned from users' answers, and
/// approximate.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq session result study.sgq\n  sgq session result study.sgq --out out/study\n  sgq predict \
                  out/study/model.json new.csv"
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Which standard errors to print: model, as glm does; or clustered by user
    #[arg(long, value_name = "KIND", default_value = "model")]
    errors: Errors,
    /// Write report.html, model.json (for `sgq predict`), forest.svg, forest.png and influence.csv into this folder as well
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace other results, and files that sgq did not write
    #[arg(long, requires = "out")]
    force: bool,
    /// Print what model.json holds instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Error)]
enum ResultError {
    #[error(
        "{file} is of no plan, and has no coefficients with names: sgq session point {file} prints where it stands"
    )]
    NoPlan { file: String },
    #[error("{file} has no coefficients yet: {waits}; sgq session status {file}")]
    NotBegun { file: String, waits: String },
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let reader = open::to_look(&args.file)?;
    let file = || one_line(&args.file.display().to_string());
    if reader.terms().is_none() {
        return Err(ResultError::NoPlan { file: file() }.into());
    }
    let Some(results) = reader.results(args.errors.into())? else {
        let waits = match reader.status()?.study {
            Some(study) if !study.waits_for.is_empty() => "not everybody has answered the first question",
            Some(study) if study.reported.summaries > 0 => {
                "what follows from the first answers was not looked at yet, or is an error"
            }
            _ => "nobody has been asked",
        };
        return Err(ResultError::NotBegun { file: file(), waits: waits.to_owned() }.into());
    };
    let told = results.to_model_json()?;
    let written = args.out.as_ref().map(|out| write(args, out, &results, &told)).transpose()?;
    if args.json {
        terminal::say(&serde_json::to_string_pretty(&told)?)?;
    } else {
        terminal::say(&text(&results))?;
        if let Some(folder) = &written {
            terminal::say_written(folder, "")?;
        }
    }
    Ok(Outcome::Done)
}

/// Prints what has come of a study, for a person; nothing where there is no study, or no coefficient yet.
pub fn print(file: &Path) -> Result<(), Box<dyn Error>> {
    match open::to_read(file)?.results(Errors::Model.into())? {
        Some(results) => Ok(terminal::say(&text(&results))?),
        None => Ok(()),
    }
}

fn write(args: &Args, out: &Path, results: &Results, told: &Value) -> Result<Folder, Box<dyn Error>> {
    let claim = Claim::new("result", &args.errors).about(&args.file).writes(FILES).force(args.force);
    let mut folder = Folder::open(out, claim)?;
    folder.write("report.html", fit_page::html(told, None)?)?;
    folder.write("model.json", serde_json::to_string_pretty(told)? + "\n")?;
    folder.write_drawing("forest", fit_page::forest_svg(told)?)?;
    folder.write("influence.csv", influence_csv(&results.agreed.encoding, &results.statistics, &results.users))?;
    folder.commit()?;
    Ok(folder)
}

fn text(results: &Results) -> String {
    let StudyPlan { formula, family, weigh, l2, .. } = &results.terms.plan;
    let encoding = &results.agreed.encoding;
    let mut text = format!("\n  {}: {family}\n", one_line(&formula.to_string()));
    let state = match (results.converged, &results.stopped) {
        _ if results.diverged => "DIVERGED: the coefficients mean nothing,",
        (Some(true), _) if !results.unbounded.is_empty() => "converged, but for what may have no finite estimate,",
        (Some(true), _) => "converged",
        (Some(false), _) => "NOT CONVERGED",
        (None, _) => "stopped",
    };
    let (answers, users) = (results.queries, counted(results.users.len() as u64, "user"));
    let _ = writeln!(
        text,
        "  {weigh}, {}; {state} after {}; {users}\n",
        penalty(*l2, encoding),
        counted(answers, "answer")
    );
    write_table(&mut text, encoding, &results.point, &results.statistics);
    text.push('\n');
    let missing: Vec<String> = results
        .missing_by_column
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(column, count)| format!("{} {count}", one_line(column)))
        .collect();
    let study = results.study();
    line(
        &mut text,
        "rows",
        &match study.rows_missing {
            0 => format!("{} used, none missing", study.rows),
            left_out => {
                format!("{} used, {left_out} left out with missing values ({})", study.rows, missing.join(", "))
            }
        },
    );
    write_statistics(&mut text, results.statistics.inference.as_ref());
    write_references(&mut text, encoding);
    let reported = results.reported;
    line(
        &mut text,
        "answers billed",
        &format!(
            "{answers} at a point, {} to the first question (counts, means, deviations, levels), {} to the closing one",
            reported.summaries, reported.closings
        ),
    );
    line(
        &mut text,
        "numbers sent",
        &format!("{}, of these {} in first and closing answers", results.numbers, reported.numbers),
    );
    match (results.last_step, results.believed_off) {
        (Some(moved), _) if results.converged == Some(false) => {
            let words = "standard errors off, the closing answers say: let it go on (sgq session extend)";
            line(&mut text, "unsure", &format!("coefficients are {} {words}", short(moved)));
        }
        (Some(moved), _) => {
            let words = "standard errors at most, by a step of Newton's method that the closing answers give";
            line(&mut text, "last step", &format!("{} {words}", short(moved)));
        }
        (None, Some(off)) => {
            line(&mut text, "unsure", &format!("{} standard errors at most, by stopping here (believed)", short(off)))
        }
        (None, None) => {}
    }
    write_influence(&mut text, &results.statistics, &results.users);
    for warning in results.warnings() {
        line(&mut text, "note", &one_line(&warning));
    }
    line(&mut text, "stopped", results.stopped.as_deref().unwrap_or("it goes on"));
    text.trim_end().to_owned()
}
