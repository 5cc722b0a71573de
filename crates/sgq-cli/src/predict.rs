//! `sgq predict`: a fitted model on new rows.

use std::{
    error::Error,
    fmt::Write as _,
    fs::File,
    path::{Path, PathBuf},
};

use serde::Serialize;
use sgq_bench::output::{check_file, quoted, write_file};
use sgq_data::{InFile, PredictError, ReadError, Target};

use crate::{Outcome, model::Model, terminal};

/// Predict for new rows, with a model that `sgq fit` wrote.
///
/// The new file needs the columns that the model was fitted to, by name and in any order; others are not looked at.
/// Nobody is asked anything.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq predict out/patients/model.json new.csv --out predictions.csv\n\nOne line a row, \
                  counted from 1 below the header: a number, the expected count, or, for two levels, the likelier one and \
                  the probability of the one that the column names."
)]
pub struct Args {
    /// What `sgq fit` wrote
    #[arg(value_name = "model.json")]
    model: PathBuf,
    /// The new rows: a CSV file with a header, plain or gzip
    #[arg(value_name = "NEW.csv")]
    file: PathBuf,
    /// File to write to, instead of printing
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file even if it holds no predictions
    #[arg(long)]
    force: bool,
    /// JSON instead of CSV
    #[arg(long)]
    json: bool,
}

/// One row's prediction.
#[derive(Serialize)]
struct Prediction<'m> {
    row: usize,
    prediction: Predicted<'m>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Predicted<'m> {
    Number(f64),
    Level(&'m str),
}

/// How predictions begin, as CSV and as JSON: earlier ones may be replaced.
const BEGINNINGS: [&str; 2] = ["row,prediction", "{\n  \"predictions\": ["];

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if let Some(path) = &args.out {
        check_file(path, &[&args.model, &args.file], &BEGINNINGS, args.force)?;
    }
    let model = Model::read(&args.model)?;
    if model.diverged {
        let path = args.model.display();
        return Err(format!(
            "the fit of {path} diverged, and its coefficients mean nothing: fit again with a smaller step"
        )
        .into());
    }
    let values = predict(&model, &args.file)?;
    let target = &model.encoding.target;
    let predictions: Vec<Prediction<'_>> =
        values.into_iter().enumerate().map(|(index, value)| Prediction::new(index + 1, value, target)).collect();
    let text = if args.json { json(&model, &predictions)? } else { csv(target, &predictions) };
    if model.interrupted {
        let path = args.model.display();
        terminal::complain(&format!("note: the fit of {path} was interrupted; its coefficients are not final"));
    }
    match &args.out {
        None if args.json => terminal::say(text.trim_end())?,
        None => terminal::say_data(text.trim_end())?,
        Some(path) => write_file(path, &text)?,
    }
    Ok(Outcome::Done)
}

fn predict(model: &Model, path: &Path) -> Result<Vec<f64>, InFile<PredictError>> {
    let in_file = |error| InFile { path: path.to_owned(), error };
    let file = File::open(path).map_err(|error| in_file(ReadError::Io(error).into()))?;
    model.encoding.predict(file, &model.point()).map_err(in_file)
}

impl<'m> Prediction<'m> {
    fn new(row: usize, value: f64, target: &'m Target) -> Self {
        match target {
            Target::Levels { negative, positive } => {
                let level = if value >= 0.5 { positive } else { negative };
                Self { row, prediction: Predicted::Level(level), probability: Some(value) }
            }
            Target::Number(_) | Target::Count => Self { row, prediction: Predicted::Number(value), probability: None },
        }
    }
}

fn csv(target: &Target, predictions: &[Prediction<'_>]) -> String {
    let mut csv = "row,prediction".to_owned();
    if let Target::Levels { positive, .. } = target {
        csv += &format!(",{}", quoted(&format!("probability of {positive}")));
    }
    csv.push('\n');
    for Prediction { row, prediction, probability } in predictions {
        // `{:?}` prints the shortest digits that read back as the same number.
        let _ = match prediction {
            Predicted::Number(number) => write!(csv, "{row},{number:?}"),
            Predicted::Level(level) => write!(csv, "{row},{}", quoted(level)),
        };
        if let Some(probability) = probability {
            let _ = write!(csv, ",{probability:?}");
        }
        csv.push('\n');
    }
    csv
}

fn json(model: &Model, predictions: &[Prediction<'_>]) -> serde_json::Result<String> {
    let level = match &model.encoding.target {
        Target::Levels { positive, .. } => Some(positive),
        _ => None,
    };
    let object = serde_json::json!({
        "target": model.target,
        "probability_of": level,
        "predictions": predictions,
    });
    Ok(serde_json::to_string_pretty(&object)? + "\n")
}
