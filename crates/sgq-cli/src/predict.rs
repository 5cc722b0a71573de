//! `sgq predict`: a fitted model on new rows.

use std::{
    error::Error,
    fmt::Write as _,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use sgq_bench::output::{check_file, quoted, write_file};
use sgq_data::{InFile, PredictError, ReadError, Target, glm::Model};

use crate::{Outcome, terminal};

/// Predict for new rows, with a model that `sgq fit` wrote.
///
/// The new file needs the columns that the model was fitted to, by name and in any order; others are not looked at.
/// Nobody is asked anything.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  sgq predict out/patients/model.json new.csv --out predictions.csv\n\nOne line a row, \
                  counted from 1 below the header: a number, the expected count, or, for two levels, the likelier one and \
                  the probability of the one that the column names. NA where a value that is needed is missing."
)]
pub struct Args {
    /// What `sgq fit` wrote
    #[arg(value_name = "model.json")]
    model: PathBuf,
    /// The new rows: a CSV file with a header, plain or gzip; - for the standard input
    #[arg(value_name = "NEW.csv")]
    file: PathBuf,
    /// A column of the new rows that is written beside their numbers, to tell them by
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// None where a value that it needs is missing.
    prediction: Option<Predicted<'m>>,
    /// Only of levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<Option<f64>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Predicted<'m> {
    Number(f64),
    Level(&'m str),
}

/// How predictions begin as JSON: earlier ones may be replaced.
const JSON_BEGINNING: &str = "{\n  \"predictions\": [";

/// How they begin as CSV.
fn heading(id: Option<&str>) -> String {
    match id {
        Some(id) => format!("row,{},prediction", quoted(id)),
        None => "row,prediction".to_owned(),
    }
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if let Some(path) = &args.out {
        let (plain, named) = (heading(None), heading(args.id.as_deref()));
        let mut inputs = vec![&*args.model];
        inputs.extend(Some(&*args.file).filter(|file| !is_input(file)));
        check_file(path, &inputs, &[&plain, &named, JSON_BEGINNING], args.force)?;
    }
    let model = Model::read(&args.model)?;
    if model.diverged {
        let path = args.model.display();
        return Err(format!(
            "the fit of {path} diverged, and its coefficients mean nothing: fit again with a smaller step"
        )
        .into());
    }
    let values = predict(&model, &args.file, args.id.as_deref())?;
    let target = model.encoding.target();
    let predictions: Vec<Prediction<'_>> =
        values.into_iter().enumerate().map(|(index, value)| Prediction::new(index + 1, value, target)).collect();
    let text = if args.json { json(&model, &predictions)? } else { csv(target, args.id.as_deref(), &predictions) };
    if model.interrupted {
        let path = args.model.display();
        terminal::complain(&format!("note: the fit of {path} was interrupted; its coefficients are not final"));
    }
    let without = predictions.iter().filter(|prediction| prediction.prediction.is_none()).count();
    if without > 0 {
        let rows = predictions.len();
        terminal::complain(&format!("note: {without} of {rows} rows have no prediction, since a value is missing"));
    }
    match &args.out {
        None if args.json => terminal::say(text.trim_end())?,
        None => terminal::say_data(text.trim_end())?,
        Some(path) => write_file(path, &text)?,
    }
    Ok(Outcome::Done)
}

/// Whether the rows come from the standard input.
fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn predict(model: &Model, path: &Path, id: Option<&str>) -> Result<Vec<sgq_data::Prediction>, InFile<PredictError>> {
    let shown = if is_input(path) { Path::new("standard input") } else { path };
    let in_file = |error| InFile { path: shown.to_owned(), error };
    let point = &model.standardised;
    if is_input(path) {
        return model.encoding.predict_rows(io::stdin().lock(), point, id).map_err(in_file);
    }
    let file = File::open(path).map_err(|error| in_file(ReadError::Io(error).into()))?;
    model.encoding.predict_rows(file, point, id).map_err(in_file)
}

impl<'m> Prediction<'m> {
    fn new(row: usize, predicted: sgq_data::Prediction, target: &'m Target) -> Self {
        let sgq_data::Prediction { id, value } = predicted;
        match target {
            Target::Levels { negative, positive } => {
                let likelier = |value| Predicted::Level(if value >= 0.5 { positive } else { negative });
                Self { row, id, prediction: value.map(likelier), probability: Some(value) }
            }
            Target::Number(_) | Target::Count | Target::Positive => {
                Self { row, id, prediction: value.map(Predicted::Number), probability: None }
            }
        }
    }
}

fn csv(target: &Target, id: Option<&str>, predictions: &[Prediction<'_>]) -> String {
    let mut csv = heading(id);
    if let Target::Levels { positive, .. } = target {
        csv += &format!(",{}", quoted(&format!("probability of {positive}")));
    }
    csv.push('\n');
    for Prediction { row, id, prediction, probability } in predictions {
        let _ = write!(csv, "{row},");
        if let Some(id) = id {
            let _ = write!(csv, "{},", quoted(id));
        }
        // `{:?}` prints the shortest digits that read back as the same number.
        let _ = match prediction {
            Some(Predicted::Number(number)) => write!(csv, "{number:?}"),
            Some(Predicted::Level(level)) => write!(csv, "{}", quoted(level)),
            None => write!(csv, "NA"),
        };
        let _ = match probability {
            Some(Some(probability)) => write!(csv, ",{probability:?}"),
            Some(None) => write!(csv, ",NA"),
            None => Ok(()),
        };
        csv.push('\n');
    }
    csv
}

fn json(model: &Model, predictions: &[Prediction<'_>]) -> serde_json::Result<String> {
    let level = match model.encoding.target() {
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
