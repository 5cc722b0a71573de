//! `sgq plan check`: a plan tried on a clinic's file. Nothing leaves the machine.

use std::{error::Error, path::PathBuf};

use sgq_data::plan::{Clinic, Options, StudyPlan, Summary, TargetSummary, VariableSummary, agree};

use crate::{
    Outcome,
    terminal::{self, counted},
};

/// Try a plan on a file: what the first answer would disclose, which rows are left out, and whether the plan's rules would refuse.
///
/// Nothing leaves the machine, and nothing is written.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq plan check model.plan --data mine.csv\n\nThe exit code is 1 where the plan's rules would refuse every \
                  question, and 2 where the file does not have what the plan needs."
)]
pub struct Args {
    /// The plan
    #[arg(value_name = "MODEL.plan")]
    file: PathBuf,
    /// The clinic's rows: a CSV file with a header, plain or gzip; columns that the plan does not name are not looked at
    #[arg(long, value_name = "MINE.csv")]
    data: PathBuf,
}

/// Fewer rows at a level are few persons, who may be known.
const FEW: u64 = 5;

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let plan = StudyPlan::read(&args.file)?;
    let clinic = Clinic::open(plan.clone(), &args.data, "this clinic", &Options::default())?;
    let summary = clinic.summary();
    let mut text =
        format!("\n  The first answer would disclose {}, and no more:\n", counted(summary.numbers(), "number"));
    summary.in_words().lines().for_each(|line| text += &format!("\n    {line}"));
    text += "\n";
    let notes = few_rows(summary);
    notes.iter().for_each(|note| text += &format!("\n  note: {note}"));
    text += if notes.is_empty() { "" } else { "\n" };
    // Others may have more levels, and so the model more coefficients.
    let parameters = agree(&plan, &[("this clinic", summary)]).ok().map(|agreed| agreed.encoding.dim());
    let by_rows = plan.rules.refuses_rows(summary.rows);
    let refusal =
        by_rows.or_else(|| parameters.and_then(|parameters| plan.rules.refuses_parameters(parameters, summary.rows)));
    text += &match (&refusal, parameters) {
        (Some(why), _) => format!("\n  The plan's rules would refuse: {why}."),
        (None, Some(parameters)) => format!(
            "\n  The plan's rules would answer: {} for a model of {} or a few more.",
            counted(summary.rows, "row"),
            counted(parameters as u64, "coefficient")
        ),
        (None, None) => format!(
            "\n  The plan's rules would answer: {}. The model's coefficients are not known from these rows alone.",
            counted(summary.rows, "row")
        ),
    };
    terminal::say(&text)?;
    Ok(if refusal.is_some() { Outcome::Failed } else { Outcome::Done })
}

/// Levels with so few rows that the count alone may tell of somebody.
fn few_rows(summary: &Summary) -> Vec<String> {
    let mut counts: Vec<(String, &str, u64)> = Vec::new();
    for variable in &summary.variables {
        let VariableSummary::Factor { of, levels } = variable else { continue };
        counts.extend(levels.iter().map(|count| (format!("{of:?}"), &*count.level, count.rows)));
    }
    if let TargetSummary::Levels { levels, .. } = &summary.target {
        counts.extend(levels.iter().map(|count| ("the target".to_owned(), &*count.level, count.rows)));
    }
    let few = counts.into_iter().filter(|(.., rows)| *rows < FEW);
    few.map(|(of, level, rows)| format!("{} of {of} at {level:?}: few persons", counted(rows, "row"))).collect()
}
