//! Turning results into files.

mod claim;
mod folder;
mod single;

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process,
};

use thiserror::Error;

use crate::{
    Experiment,
    choices::ChoicesAtQuery,
    figure::{Curve, Figure, FigureError, Point},
    readable::readable,
    report::Drawn,
    run::{Axis, MethodResult, Results},
    web::Chart,
};

pub use claim::Claim;
pub use folder::Folder;
pub use single::{check_file, write_file};

/// Points of a curve in a report: as many as a screen can show, where it has bends for them.
const MOST_POINTS: usize = 1500;

/// A name as a file can bear it: only what no file system objects to.
pub fn file_name(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || " =+-_.,()".contains(c);
    let name: String = name.chars().map(|c| if kept(c) { c } else { '_' }).collect();
    match name.trim_matches(['.', ' ']) {
        "" => "_".into(),
        trimmed => trimmed.into(),
    }
}

/// Where a file is written until it is whole; runs side by side do not get into each other's way.
pub(crate) fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", process::id()));
    path.with_file_name(name)
}

/// Writes an experiment's curves as CSV, and a figure for each problem, under names that begin with `stem`.
///
/// Returns each problem's figures. Where no method is finished, there are none, and nothing is written.
pub fn write_curves(
    folder: &mut Folder,
    stem: &str,
    with_problem: bool,
    experiment: &Experiment,
    results: &Results,
) -> Result<Vec<Option<Drawn>>, OutputError> {
    if !results.rows.is_empty() {
        folder.write(&format!("{stem}.csv"), curves_csv(results, with_problem))?;
    }
    if results.rows.iter().any(|row| row.choices.is_some()) {
        folder.write(&choices_name(stem), choices_csv(&results.rows, with_problem))?;
    }
    if !results.rows.is_empty() && !results.limits.is_empty() {
        folder.write("limit.csv", results.limits.csv(&experiment.targets))?;
    }
    if !results.rows.is_empty() && experiment.measures_spending() {
        folder.write(&targets_name(stem), targets_csv(experiment, &results.rows))?;
    }
    let mut drawn = Vec::new();
    for problem in &experiment.problems {
        if results.rows.iter().all(|row| row.problem != problem.name) {
            drawn.push(None);
            continue;
        }
        let name = figure_name(stem, experiment, &problem.name);
        let mut figures = vec![("queries", figure(experiment, results, &problem.name, None))];
        let mut svg = folder.write_figure(&name, &figures[0].1)?;
        for axis in Axis::shown(experiment) {
            let figure = figure(experiment, results, &problem.name, Some(axis));
            svg += &folder.write_figure(&format!("{name}-{}", axis.name()), &figure)?;
            figures.push((axis.name(), figure));
        }
        let is_whole = |axis: &str| matches!(axis, "queries" | "numbers");
        let axes: Vec<_> = figures.iter().map(|(name, figure)| (*name, is_whole(name), figure)).collect();
        drawn.push(Some(Drawn { svg, chart: Chart::of(&axes, MOST_POINTS) }));
    }
    Ok(drawn)
}

/// The files that [`write_curves`] may write, with choices or without.
pub fn curve_files(stem: &str, experiment: &Experiment, choices: bool) -> Vec<String> {
    let mut names = vec![format!("{stem}.csv")];
    if stem == "curves" {
        names.push("limit.csv".to_owned());
    }
    if choices {
        names.push(choices_name(stem));
    }
    if experiment.measures_spending() {
        names.push(targets_name(stem));
    }
    for problem in &experiment.problems {
        let name = figure_name(stem, experiment, &problem.name);
        names.extend(["svg", "png"].map(|kind| format!("{name}.{kind}")));
        for axis in Axis::shown(experiment) {
            names.extend(["svg", "png"].map(|kind| format!("{name}-{}.{kind}", axis.name())));
        }
    }
    names
}

fn choices_name(stem: &str) -> String {
    if stem == "curves" { "choices.csv".into() } else { format!("{stem}-choices.csv") }
}

fn targets_name(stem: &str) -> String {
    if stem == "curves" { "targets.csv".into() } else { format!("{stem}-targets.csv") }
}

fn figure_name(stem: &str, experiment: &Experiment, problem: &str) -> String {
    match experiment.problems.len() {
        1 => stem.to_owned(),
        _ => format!("{stem}-{}", file_name(problem)),
    }
}

/// The curves as CSV: `[problem,]method,queries,gap_mean,gap_sem[,gap_bound][,time_mean,cost_mean,numbers_mean]`; no bound, no
/// entry.
fn curves_csv(results: &Results, with_problem: bool) -> String {
    let with_bound = !results.certificates.is_empty();
    let mut csv = first_columns(with_problem).to_owned();
    let with_spent = results.rows.iter().any(|row| row.spent.is_some());
    csv.push_str(if with_bound { "queries,gap_mean,gap_sem,gap_bound" } else { "queries,gap_mean,gap_sem" });
    csv.push_str(if with_spent { ",time_mean,cost_mean,numbers_mean\n" } else { "\n" });
    for row in &results.rows {
        let name = name_columns(row, with_problem);
        let bound = results.bound(row);
        for (queries, (mean, sem)) in row.gap_mean.iter().zip(&row.gap_sem).enumerate() {
            // `{:?}` prints the shortest digits that read back as the same number.
            let _ = write!(csv, "{name}{queries},{mean:?},{sem:?}");
            if with_bound {
                let bound = bound.map(|bound| format!("{:?}", bound.at(queries as u64)));
                let _ = write!(csv, ",{}", bound.unwrap_or_default());
            }
            if let Some(spent) = &row.spent {
                for axis in Axis::ALL {
                    let _ = write!(csv, ",{:?}", spent.along(axis).get(queries).copied().unwrap_or(f64::NAN));
                }
            }
            csv.push('\n');
        }
    }
    csv
}

/// What it takes to reach each target, as CSV; no entry where it is not reached.
fn targets_csv(experiment: &Experiment, rows: &[MethodResult]) -> String {
    let mut csv = "problem,method,target,queries,time,cost,numbers\n".to_owned();
    for row in rows {
        let name = name_columns(row, true);
        let spent = Axis::ALL.map(|axis| row.spent_to_target(axis).unwrap_or_default());
        for (place, (target, queries)) in experiment.targets.iter().zip(&row.queries_to_target).enumerate() {
            let _ = write!(csv, "{name}{},{}", readable(*target), queries.map_or(String::new(), |it| it.to_string()));
            for spent in &spent {
                let spent = spent.get(place).copied().flatten();
                let _ = write!(csv, ",{}", spent.map_or(String::new(), |spent| format!("{spent:?}")));
            }
            csv.push('\n');
        }
    }
    csv
}

/// How good the choices were, as CSV: Proposition 1's regret and its bound, and the part of Lemma 2's bonus that is used.
fn choices_csv(rows: &[MethodResult], with_problem: bool) -> String {
    let mut csv = first_columns(with_problem).to_owned();
    csv.push_str("queries,guided_trials,regret_mean,regret_bound_mean,largest_part_of_bound,largest_part_of_bonus\n");
    for row in rows {
        let name = name_columns(row, with_problem);
        let choices = row.choices.iter().flat_map(|choices| choices.by_query.iter().enumerate());
        for (queries, here) in choices.filter(|(_, here)| here.guided > 0) {
            let (regret, bound) = (here.mean(here.regret), here.mean(here.bound));
            let ChoicesAtQuery { guided, largest_part, tightness, .. } = here;
            let _ = writeln!(csv, "{name}{queries},{guided},{regret:?},{bound:?},{largest_part:?},{tightness:?}");
        }
    }
    csv
}

fn first_columns(with_problem: bool) -> &'static str {
    if with_problem { "problem,method," } else { "method," }
}

fn name_columns(row: &MethodResult, with_problem: bool) -> String {
    let problem = if with_problem { quoted(&row.problem) + "," } else { String::new() };
    format!("{problem}{},", quoted(&row.method))
}

/// A text as a field of a CSV file, in quotes where it needs them.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// The figure of one problem: mean gap against queries, or against the mean of what else is spent by then, with bands of one
/// standard error.
fn figure(experiment: &Experiment, results: &Results, problem: &str, axis: Option<Axis>) -> Figure {
    let rows: Vec<&MethodResult> = results.rows.iter().filter(|row| row.problem == problem).collect();
    let curves = rows.iter().map(|row| {
        let points = row.gap_mean.iter().zip(&row.gap_sem).enumerate();
        let spent = axis.map(|axis| row.spent.as_ref().map_or(&[][..], |spent| spent.along(axis)));
        let across = |queries: usize| match spent {
            Some(spent) => spent.get(queries).copied().unwrap_or(f64::NAN),
            None => queries as f64,
        };
        Curve {
            label: row.label(),
            points: points.map(|(queries, (&mean, &error))| Point { x: across(queries), mean, error }).collect(),
            dashed: row.oracle,
            ..Curve::default()
        }
    });
    let bounds = rows.iter().enumerate().filter_map(|(index, row)| {
        // Bounds are about queries.
        let bound = results.bound(row).filter(|_| axis.is_none())?;
        let guaranteed = results.certificate(row).is_some_and(|it| it.guaranteed().is_some());
        let points = (0..row.gap_mean.len() as u64).map(|queries| (queries as f64, bound.at(queries)));
        Some(Curve {
            label: format!("{}: bound{}", row.method, if guaranteed { "" } else { ", not guaranteed" }),
            points: points.map(|(x, mean)| Point { x, mean, error: f64::NAN }).collect(),
            companion_of: Some(index),
            ..Curve::default()
        })
    });
    Figure {
        title: experiment.title_on(problem),
        x_label: axis.map_or("queries", Axis::words).into(),
        y_label: match experiment.trials {
            1 => "objective gap, one trial".into(),
            trials => format!("objective gap, mean of {trials} trials"),
        },
        curves: curves.chain(bounds).collect(),
        y_range: experiment.gap_axis.or_else(|| axis_without_outliers(results, problem)),
        parts: false,
    }
}

/// Curves that go far above their start leave the figure at the top, rather than squeeze all others into a corner.
fn axis_without_outliers(results: &Results, problem: &str) -> Option<(f64, f64)> {
    let rows = || results.rows.iter().filter(|row| row.problem == problem);
    let top = 100.0 * rows().filter_map(|row| row.gap_mean.first()).copied().fold(0.0, f64::max);
    let gaps = || rows().flat_map(|row| &row.gap_mean).copied().filter(|gap| *gap > 0.0);
    let lowest = gaps().fold(f64::INFINITY, f64::min);
    gaps().any(|gap| gap > top).then_some((lowest, top)).filter(|(low, high)| low < high)
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
    /// What is to be written is also read.
    #[error("{} is a file that this run reads, and it would be replaced: choose another --out", .path.display())]
    Input {
        /// The file.
        path: PathBuf,
    },
    /// The folder is another run's.
    #[error(
        "{} has the results of another run: {difference}; choose another --out, or pass --force to replace them",
        .path.display()
    )]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// What is another thing now.
        difference: String,
    },
    /// There are files that may be anybody's.
    #[error(
        "{} has files that would be replaced, and no record of sgq says that a run wrote them: {names}; choose another \
         --out, or pass --force to replace them",
        .path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The files.
        names: String,
    },
    /// There is a file that may be anybody's.
    #[error(
        "{} is there already, and is nothing that this command writes: choose another --out, or pass --force to replace it",
        .path.display()
    )]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// A folder or a device where a file is to be, or a file in the place of a folder.
    #[error(
        "{} is in the way: it is no file where a file is to be written, or no folder where there is to be one; move it, or \
         choose another --out",
        .path.display()
    )]
    InTheWay {
        /// Where.
        path: PathBuf,
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

    fn row(problem: &str, method: &str, gap_mean: Vec<f64>) -> MethodResult {
        MethodResult {
            problem: problem.into(),
            method: method.into(),
            oracle: false,
            sees_more: None,
            step_size: 0.1,
            gap_sem: vec![0.0; gap_mean.len()],
            gap_mean,
            queries_to_target: Vec::new(),
            diverged: 0,
            billed_per_user: Vec::new(),
            diagnostic: 0,
            choices: None,
            spent: None,
        }
    }

    #[test]
    fn curves_are_written_with_their_problem() {
        let rows = [row("a,b", "M", vec![2.0]), row("c", "N", vec![1e-7])];
        let results = Results { rows: rows.into(), ..Results::default() };
        assert_eq!(
            curves_csv(&results, true),
            "problem,method,queries,gap_mean,gap_sem\n\"a,b\",M,0,2.0,0.0\nc,N,0,1e-7,0.0\n"
        );
    }

    #[test]
    fn a_curve_that_blows_up_does_not_set_the_axis() {
        let calm = row("p", "calm", vec![10.0, 1.0, 0.1]);
        let wild = row("p", "wild", vec![10.0, 1e9, f64::INFINITY]);
        let axis = |rows: Vec<MethodResult>| axis_without_outliers(&Results { rows, ..Results::default() }, "p");
        assert_eq!(axis(vec![calm.clone(), wild.clone()]), Some((0.1, 1000.0)));
        assert_eq!(axis(vec![calm, row("other", "wild", vec![1.0, 1e9])]), None);
    }

    #[test]
    fn names_become_harmless_file_names() {
        assert_eq!(file_name("SGQ p=0.1"), "SGQ p=0.1");
        assert_eq!(file_name("../a\\b:c"), "_a_b_c");
        assert_eq!(file_name(".."), "_");
    }
}
