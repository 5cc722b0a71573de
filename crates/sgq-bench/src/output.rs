//! Turning results into files.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::{
    Experiment,
    figure::{Curve, Figure, FigureError, Point},
    run::{MethodResult, Results, file_name},
};

/// A folder that results are written to. Every file is written whole or not at all.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    written: Vec<String>,
}

impl Folder {
    /// Makes the folder if need be, and makes sure that it can be written to: before anything is computed.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        let unwritable = |cause| OutputError::Folder { path: path.to_owned(), cause };
        fs::create_dir_all(path).map_err(unwritable)?;
        let probe = path.join(".sgq-probe");
        fs::write(&probe, b"").map_err(unwritable)?;
        fs::remove_file(&probe).map_err(unwritable)?;
        Ok(Self { path: path.to_owned(), written: Vec::new() })
    }

    /// Writes a file.
    pub fn write(&mut self, name: &str, contents: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let path = self.path.join(name);
        let partial = self.path.join(format!("{name}.partial"));
        let result = fs::write(&partial, contents).and_then(|()| fs::rename(&partial, &path));
        if let Err(cause) = result {
            let _ = fs::remove_file(&partial);
            return Err(OutputError::File { path, cause });
        }
        self.written.push(name.to_owned());
        Ok(())
    }

    /// Writes a figure as `name.svg` and `name.png`, and returns the SVG.
    fn write_figure(&mut self, name: &str, figure: &Figure) -> Result<String, OutputError> {
        let svg = figure.svg();
        self.write(&format!("{name}.svg"), &svg)?;
        self.write(&format!("{name}.png"), figure.png()?)?;
        Ok(svg)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files written so far.
    pub fn written(&self) -> &[String] {
        &self.written
    }
}

/// Writes an experiment's curves as CSV, and a figure for each problem, under names that begin with `stem`.
///
/// Returns the figures as SVG, in the order of the problems. Without a finished method nothing is written.
pub fn write_curves(
    folder: &mut Folder,
    stem: &str,
    with_problem: bool,
    experiment: &Experiment,
    results: &Results,
) -> Result<Vec<String>, OutputError> {
    if results.rows.is_empty() {
        return Ok(Vec::new());
    }
    let csv = curves_csv(&results.rows, with_problem);
    folder.write(&format!("{stem}.csv"), csv)?;
    let mut svgs = Vec::new();
    for problem in &experiment.problems {
        let name = match experiment.problems.len() {
            1 => stem.to_owned(),
            _ => format!("{stem}-{}", file_name(&problem.name)),
        };
        let figure = figure(experiment, results, &problem.name);
        svgs.push(folder.write_figure(&name, &figure)?);
    }
    Ok(svgs)
}

/// The curves as CSV: `[problem,]method,queries,gap_mean,gap_sem`.
fn curves_csv(rows: &[MethodResult], with_problem: bool) -> String {
    let mut csv = String::new();
    if with_problem {
        csv.push_str("problem,");
    }
    csv.push_str("method,queries,gap_mean,gap_sem\n");
    for row in rows {
        let mut name = quoted(&row.method);
        if with_problem {
            name = format!("{},{name}", quoted(&row.problem));
        }
        for (queries, (mean, sem)) in row.gap_mean.iter().zip(&row.gap_sem).enumerate() {
            // `{:?}` prints the shortest digits that read back as the same number.
            let _ = writeln!(csv, "{name},{queries},{mean:?},{sem:?}");
        }
    }
    csv
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// The figure of one problem: mean gap against queries, with bands of one standard error.
fn figure(experiment: &Experiment, results: &Results, problem: &str) -> Figure {
    let rows = results.rows.iter().filter(|row| row.problem == problem);
    let curves = rows.map(|row| {
        let points = row.gap_mean.iter().zip(&row.gap_sem).enumerate();
        Curve {
            label: row.label(),
            points: points.map(|(queries, (&mean, &error))| Point { x: queries as f64, mean, error }).collect(),
            dashed: row.oracle,
        }
    });
    Figure {
        title: experiment.title_on(problem),
        x_label: "queries".into(),
        y_label: format!("objective gap, mean of {} trials", experiment.trials),
        curves: curves.collect(),
        y_range: experiment.gap_axis,
    }
}

/// Why results could not be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The folder cannot be made or written to.
    #[error("cannot write to the folder {}: {cause}; choose another one with --out", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A figure cannot be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_csv_needs_it() {
        assert_eq!(quoted("SGQ p=0.1"), "SGQ p=0.1");
        assert_eq!(quoted("a,b \"c\""), "\"a,b \"\"c\"\"\"");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::open(place.path()).unwrap();
        folder.write("a.csv", "old").unwrap();
        // A folder in the way of the partial file makes the write fail.
        fs::create_dir(place.path().join("a.csv.partial")).unwrap();
        assert!(matches!(folder.write("a.csv", "new"), Err(OutputError::File { .. })));
        assert_eq!(fs::read_to_string(place.path().join("a.csv")).unwrap(), "old");
        assert_eq!(folder.written(), ["a.csv"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Folder::open(&file.join("below")).unwrap_err();
        assert!(error.to_string().contains("--out"), "{error}");
    }
}
