//! A benchmark's files: summary.csv, curves, heat maps, performance profiles, and a page with all of it.

use std::{cmp::Ordering, fmt::Write as _};

use sgq::{Detail, Method, StepSize};

use super::{CellResult, HeatMap, Outcome, Row, Status, Tuned, distance, page};
use crate::{
    Experiment,
    experiment::NamedMethod,
    figure::{Curve, Figure, Point},
    limit,
    output::{Folder, OutputError, file_name, quoted},
    readable::readable,
    report,
    web::{Chart, Extra},
};
use page::{Shown, What};

/// What figures are drawn of.
const DRAWN: [Tuned; 2] = [Tuned::Tuned, Tuned::Untuned];

/// Points of a curve in the report: hundreds of curves have to open quickly.
const MOST_POINTS: usize = 150;

/// More curves than that in one figure nobody can follow: of profiles, which only rise, and of gaps, which cross.
const MOST_PROFILES: usize = 12;
const MOST_GAPS: usize = 8;

/// More jagged curves than that, with bands, hide each other: of more, the smallest gap so far is drawn.
const MOST_JAGGED: usize = 6;

/// Writes everything.
pub fn write(folder: &mut Folder, experiment: &Experiment, outcome: &Outcome) -> Result<(), OutputError> {
    let rows: Vec<&Row> = outcome.cells.iter().flat_map(|cell| &cell.rows).collect();
    folder.write("summary.csv", summary_csv(experiment, &rows))?;
    folder.write("overview.csv", overview_csv(experiment, outcome))?;
    folder.write("tuning.csv", tuning_csv(experiment, outcome))?;
    let mut notes = Vec::new();
    if !outcome.limits.is_empty() {
        folder.write("limit.csv", outcome.limits.csv(&experiment.targets))?;
        notes.push(limit::EXPLANATION);
    }
    let mut sections = Vec::new();
    for (name, panels) in
        [("distance", distance::queries(experiment, outcome)), ("share", distance::shares(experiment, outcome))]
    {
        if let Some(panels) = panels {
            let svg = folder.write_drawing(name, panels.svg())?;
            sections.push(Shown::new(What::Always, panels.title, svg, None));
        }
    }
    for tuning in DRAWN {
        let name = tuning.name();
        let profile = profile(experiment, outcome, tuning);
        let svg = folder.write_figure(&format!("profile-{name}"), &profile)?;
        sections.push(Shown::new(What::Explored, profile.title, svg, None));
        for &target in experiment.targets.iter().filter(|target| shown(experiment, **target)) {
            let map = heat_map(experiment, outcome, tuning, target);
            let svg = map.svg();
            let name = format!("heat-{name}-{}.svg", readable(target));
            folder.write(&name, &svg)?;
            sections.push(Shown::new(What::Explored, map.title, svg, None));
        }
    }
    for (place, problem) in experiment.problems.iter().enumerate() {
        let cells = of_problem(outcome, &problem.name);
        if cells.is_empty() {
            continue;
        }
        let drawn = drawn_of(MOST_GAPS, experiment, &cells);
        let figure = curves(experiment, &problem.name, &drawn, cells.len(), drawn.len() > MOST_JAGGED);
        let svg = folder.write_figure(&format!("curves-{}", file_name(&problem.name)), &figure)?;
        let chart = chart(experiment, &problem.name, &cells);
        sections.push(Shown::new(What::Problem(place), curves_title(&problem.name), svg, Some(chart)));
    }
    let cards = experiment.problems.iter().filter_map(|problem| Some((problem.name.clone(), problem.card.clone()?)));
    let cards: Vec<(String, String)> = cards.collect();
    folder.write("report.html", page::html(experiment, outcome, &sections, &notes, &cards))
}

/// The files that [`write()`] may write.
pub fn files(experiment: &Experiment) -> Vec<String> {
    let mut names =
        ["summary.csv", "overview.csv", "tuning.csv", "limit.csv", "report.html"].map(str::to_owned).to_vec();
    let mut figures = vec!["distance".to_owned(), "share".to_owned()];
    for tuning in DRAWN.map(Tuned::name) {
        figures.push(format!("profile-{tuning}"));
        let targets = experiment.targets.iter().filter(|target| shown(experiment, **target));
        names.extend(targets.map(|target| format!("heat-{tuning}-{}.svg", readable(*target))));
    }
    figures.extend(experiment.problems.iter().map(|problem| format!("curves-{}", file_name(&problem.name))));
    names.extend(figures.iter().flat_map(|figure| ["svg", "png"].map(|kind| format!("{figure}.{kind}"))));
    names
}

/// Two heat maps are enough: the second target and the one before the last.
fn shown(experiment: &Experiment, target: f64) -> bool {
    let count = experiment.targets.len();
    let places = [1.min(count - 1), count.saturating_sub(2)];
    places.iter().any(|place| experiment.targets[*place] == target)
}

fn of_problem<'o>(outcome: &'o Outcome, problem: &str) -> Vec<&'o CellResult> {
    outcome.cells.iter().filter(|cell| cell.rows.first().is_some_and(|row| row.problem == problem)).collect()
}

/// One method on one problem, if it is finished.
pub(super) fn cell_of<'o>(outcome: &'o Outcome, problem: &str, method: &str) -> Option<&'o CellResult> {
    let is_it =
        |cell: &&CellResult| cell.rows.first().is_some_and(|row| row.problem == problem && row.method == method);
    outcome.cells.iter().find(is_it)
}

/// With a column for the numbers that all answers up to the target held, where users say more than gradients.
fn summary_csv(experiment: &Experiment, rows: &[&Row]) -> String {
    let says_more = experiment.methods.iter().any(|method| method.answers > Detail::Gradient);
    let mut csv =
        "problem,method,tuning,target,queries,queries_lo,queries_hi,status,step_size,decay,rate,settings".to_owned();
    csv += if says_more { ",numbers\n" } else { "\n" };
    let count = |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
    let number = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:?}"));
    for row in rows {
        let status = match row.status {
            Status::Reached => "reached",
            Status::NotReached => "not reached",
            Status::Diverged => "diverged",
        };
        let _ = write!(
            csv,
            "{},{},{},{:?},{},{},{},{status},{},{},{},{}",
            quoted(&row.problem),
            quoted(&row.method),
            row.tuning.name(),
            row.target,
            count(row.queries),
            count(row.queries_lo),
            count(row.queries_hi),
            number(row.step_size),
            row.decay,
            number(row.rate),
            quoted(&row.settings),
        );
        if says_more {
            let numbers = row.queries.zip(numbers_of_answer(experiment, row)).map(|(queries, each)| queries * each);
            let _ = write!(csv, ",{}", count(numbers));
        }
        csv.push('\n');
    }
    csv
}

/// How many numbers an answer to the method of a row has.
fn numbers_of_answer(experiment: &Experiment, row: &Row) -> Option<u64> {
    let problem = experiment.problems.iter().find(|problem| problem.name == row.problem)?;
    let method = experiment.methods.iter().find(|method| method.name == row.method)?;
    // Whatever its step size, which may be for a search to find.
    let method = NamedMethod { step_size: StepSize::Constant(1.0), ..method.clone() };
    Some(experiment.open(problem, &method, 0).ok()?.numbers_wanted())
}

/// What tuning took, and what each method is told.
fn tuning_csv(experiment: &Experiment, outcome: &Outcome) -> String {
    let mut csv = "problem,method,settings_tried,queries,told_tuned,told_untuned,sees_more\n".to_owned();
    for method in &experiment.methods {
        for problem in &experiment.problems {
            let Some(cell) = cell_of(outcome, &problem.name, &method.name) else {
                continue;
            };
            let _ = writeln!(
                csv,
                "{},{},{},{},{},{},{}",
                quoted(&problem.name),
                quoted(&method.name),
                cell.tried,
                cell.tuning_queries,
                told(&method.method, Tuned::Tuned),
                told(&method.method, Tuned::Untuned),
                quoted(cell.sees_more.as_deref().unwrap_or_default()),
            );
        }
    }
    csv
}

/// What a method is told of the users' smoothness: each `L_i`, one number that follows from them, or nothing.
fn told(method: &Method, tuning: Tuned) -> &'static str {
    match tuning {
        _ if method.uses_each_smoothness() => "each L_i",
        Tuned::Untuned if method.has_step_size() => "a step from the L_i",
        _ => "nothing",
    }
}

/// Each method over all problems: on how many it reaches a target, the geometric mean of its queries there over the fewest of
/// any method that pays, and on how many it is that method.
fn overview_csv(experiment: &Experiment, outcome: &Outcome) -> String {
    let mut csv = "method,tuning,target,problems,reached,mean_ratio,fewest_on\n".to_owned();
    for tuning in Tuned::ALL {
        for method in &experiment.methods {
            for &target in &experiment.targets {
                let (mut problems, mut fewest_on, mut logarithms) = (0, 0, Vec::new());
                for problem in &experiment.problems {
                    let Some(best) = fewest(&of_problem(outcome, &problem.name), tuning, target) else {
                        continue;
                    };
                    problems += 1;
                    let cell = cell_of(outcome, &problem.name, &method.name);
                    if let Some(queries) = cell.and_then(|cell| queries(cell, tuning, target)) {
                        logarithms.push((queries.max(1) as f64 / best.max(1) as f64).ln());
                        fewest_on += u32::from(queries == best);
                    }
                }
                let reached = logarithms.len();
                let mean = (logarithms.iter().sum::<f64>() / reached as f64).exp();
                let mean = if reached > 0 { format!("{mean:.2}") } else { String::new() };
                let name = quoted(&method.name);
                let tuning = tuning.name();
                let _ = writeln!(csv, "{name},{tuning},{target:?},{problems},{reached},{mean},{fewest_on}");
            }
        }
    }
    csv
}

/// A method's name in figures and tables.
pub(super) fn label(cell: &CellResult) -> String {
    let name = cell.rows.first().map_or("", |row| &row.method);
    match &cell.sees_more {
        Some(words) => format!("{name} ({words})"),
        None => name.to_owned(),
    }
}

/// The queries of one line of one cell.
pub(super) fn queries(cell: &CellResult, tuning: Tuned, target: f64) -> Option<u64> {
    cell.rows.iter().find(|row| row.tuning == tuning && row.target == target)?.queries
}

/// The fewest queries that a method which pays for what it sees needs.
pub(super) fn fewest(cells: &[&CellResult], tuning: Tuned, target: f64) -> Option<u64> {
    cells.iter().filter(|cell| cell.sees_more.is_none()).filter_map(|cell| queries(cell, tuning, target)).min()
}

fn heat_map(experiment: &Experiment, outcome: &Outcome, tuning: Tuned, target: f64) -> HeatMap {
    let problems: Vec<String> = experiment.problems.iter().map(|problem| problem.name.clone()).collect();
    let rows = experiment.methods.iter().map(|method| {
        let ratio = |problem: &String| {
            let best = fewest(&of_problem(outcome, problem), tuning, target)?.max(1);
            let cell = cell_of(outcome, problem, &method.name)?;
            Some(queries(cell, tuning, target)? as f64 / best as f64)
        };
        let cell = problems.iter().find_map(|problem| cell_of(outcome, problem, &method.name));
        (cell.map_or(method.name.clone(), label), problems.iter().map(ratio).collect())
    });
    HeatMap {
        title: format!(
            "Queries to {}, {}, over the fewest of any method that pays",
            match experiment.relative {
                true => format!("{}% of the gap at the start", readable(100.0 * target)),
                false => format!("a gap of {}", readable(target)),
            },
            tuning.words()
        ),
        rows: rows.collect(),
        problems,
    }
}

/// Dolan & Moré's profile: for each method, on which part of all problems and targets it needs at most so many times the
/// fewest queries.
fn profile(experiment: &Experiment, outcome: &Outcome, tuning: Tuned) -> Figure {
    let mut curves = Vec::new();
    for method in &experiment.methods {
        let mut ratios = Vec::new();
        let mut instances = 0;
        let mut first = None;
        for problem in &experiment.problems {
            for &target in &experiment.targets {
                let Some(best) = fewest(&of_problem(outcome, &problem.name), tuning, target) else {
                    continue;
                };
                instances += 1;
                let cell = cell_of(outcome, &problem.name, &method.name);
                first = first.or(cell);
                ratios.extend(
                    cell.and_then(|cell| queries(cell, tuning, target))
                        .map(|queries| (queries.max(1) as f64 / best.max(1) as f64).log2()),
                );
            }
        }
        let Some(cell) = first else {
            continue;
        };
        let part =
            |ratio: f64| ratios.iter().filter(|other| **other <= ratio + 1e-12).count() as f64 / f64::from(instances);
        let places = (0..=200).map(|k| 5.0 * f64::from(k) / 200.0);
        curves.push(Curve {
            label: label(cell),
            points: places.map(|x| Point { x, mean: part(x), error: f64::NAN }).collect(),
            dashed: cell.oracle,
            ..Curve::default()
        });
    }
    let all = curves.len();
    // The highest: what lies below the curve counts.
    let below = |curve: &Curve| curve.points.iter().map(|point| -point.mean).sum::<f64>();
    let curves = best_of(MOST_PROFILES, curves, |one, other| below(one).total_cmp(&below(other)));
    Figure {
        title: format!("Performance profile, {}{}", tuning.words(), left_out(curves.len(), all)),
        x_label: "queries over the fewest, as a power of 2".into(),
        y_label: "part of all problems and targets".into(),
        curves,
        y_range: None,
        parts: true,
    }
}

/// As many as can be drawn, the best ones, in the order in which they came.
fn best_of<T>(most: usize, all: Vec<T>, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut ranked: Vec<(usize, T)> = all.into_iter().enumerate().collect();
    ranked.sort_by(|(_, one), (_, other)| order(one, other));
    ranked.truncate(most);
    ranked.sort_by_key(|(place, _)| *place);
    ranked.into_iter().map(|(_, it)| it).collect()
}

/// For a title, where not all are drawn.
fn left_out(drawn: usize, all: usize) -> String {
    if drawn < all { format!("; the best {drawn} of {all}") } else { String::new() }
}

/// The cells whose curves are drawn: those that are first at the smallest gap, then at the next.
fn drawn_of<'o>(most: usize, experiment: &Experiment, cells: &[&'o CellResult]) -> Vec<&'o CellResult> {
    let arrivals = |cell: &CellResult| -> Vec<u64> {
        let targets = experiment.targets.iter().rev();
        targets.map(|target| queries(cell, Tuned::Tuned, *target).unwrap_or(u64::MAX)).collect()
    };
    best_of(most, cells.to_vec(), |one, other| arrivals(one).cmp(&arrivals(other)))
}

/// All curves of a problem as they are: a reader can take them one by one. A few are shown at first.
fn chart(experiment: &Experiment, problem: &str, cells: &[&CellResult]) -> Chart {
    let shown = drawn_of(MOST_JAGGED, experiment, cells);
    let is_shown = |cell: &CellResult| shown.iter().any(|it| std::ptr::eq(*it, cell));
    let place = |cell: &CellResult| {
        let name = cell.rows.first().map_or("", |row| &row.method);
        experiment.methods.iter().position(|method| method.name == name)
    };
    let figure = curves(experiment, problem, cells, cells.len(), false);
    Chart::with(&[("queries", true, &figure)], MOST_POINTS, |curve| Extra {
        hidden: !is_shown(cells[curve]),
        // The same in all charts.
        colour: place(cells[curve]),
    })
}

fn curves_title(problem: &str) -> String {
    format!("{problem}, with settings picked for the smallest gap reached")
}

/// The figure of some cells of all; `are_many` where their curves would hide each other as they are.
fn curves(experiment: &Experiment, problem: &str, drawn: &[&CellResult], all: usize, are_many: bool) -> Figure {
    let left_out = left_out(drawn.len(), all);
    let title = format!("{}{left_out}", curves_title(problem));
    let curves = drawn.iter().map(|cell| {
        let points = cell.curve.iter().zip(&cell.curve_error).enumerate().map(|(queries, (mean, error))| Point {
            x: queries as f64,
            mean: mean.unwrap_or(f64::INFINITY),
            error: error.unwrap_or(f64::NAN),
        });
        Curve {
            label: label(cell),
            points: if are_many { smallest_so_far(points) } else { points.collect() },
            dashed: cell.oracle,
            ..Curve::default()
        }
    });
    let smallest = experiment.targets.last().copied().unwrap_or(1e-3);
    Figure {
        title,
        x_label: if are_many { "queries, until the gap is at its smallest" } else { "queries" }.into(),
        y_label: format!(
            "{}{}gap{}, mean of {} trials",
            if are_many { "smallest " } else { "" },
            if experiment.relative { "relative " } else { "" },
            if are_many { " so far" } else { "" },
            experiment.trials
        ),
        curves: curves.collect(),
        y_range: experiment.gap_axis.or(experiment.relative.then_some((0.1 * smallest, 3.0))),
        parts: false,
    }
}

/// A curve that never rises, and ends where it last fell. It crosses a target where the tables say so.
fn smallest_so_far(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut smallest: Vec<Point> = Vec::new();
    let mut last_fall = 0;
    for point in points {
        let before = smallest.last().map_or(f64::INFINITY, |before| before.mean);
        if point.mean < before {
            last_fall = smallest.len();
        }
        smallest.push(Point { mean: point.mean.min(before), error: f64::NAN, ..point });
    }
    smallest.truncate(last_fall + 1);
    smallest
}

/// A table for each problem and each of these ways to tune: queries to each target; then how far it is to the limit and to the
/// oracle.
pub fn report_tables(experiment: &Experiment, outcome: &Outcome, tunings: &[Tuned]) -> Vec<report::Table> {
    let of_problems = tunings.iter().flat_map(|tuning| problem_tables(experiment, outcome, *tuning));
    of_problems.map(|(_, table)| table).chain(distance::tables(experiment, outcome)).collect()
}

/// A table for each problem that has something, after its place in the experiment: queries to each target.
pub(super) fn problem_tables(experiment: &Experiment, outcome: &Outcome, tuning: Tuned) -> Vec<(usize, report::Table)> {
    let mut tables = Vec::new();
    for (place, problem) in experiment.problems.iter().enumerate() {
        let cells = of_problem(outcome, &problem.name);
        if cells.is_empty() {
            continue;
        }
        let lines = cells.iter().map(|cell| {
            let mut line = vec![label(cell)];
            line.extend(experiment.targets.iter().map(|target| {
                let row = cell.rows.iter().find(|row| row.tuning == tuning && row.target == *target);
                row.map_or(String::new(), entry)
            }));
            line
        });
        let limit = outcome.limits.on(&problem.name).map(|queries| {
            let queries = queries.iter().map(u64::to_string);
            [limit::LABEL.to_owned()].into_iter().chain(queries).collect()
        });
        let mut heading = vec!["queries to a gap of".to_owned()];
        heading.extend(experiment.targets.iter().map(|target| readable(*target)));
        let title = format!("{}, {}", problem.name, tuning.words());
        tables.push((place, report::Table { title, heading, lines: lines.chain(limit).collect() }));
    }
    tables
}

/// `83 (80–91)`, or why not.
fn entry(row: &Row) -> String {
    match (row.queries, row.status) {
        (Some(queries), _) => {
            let end = |end: Option<u64>| end.map_or("…".to_owned(), |end| end.to_string());
            match (row.queries_lo, row.queries_hi) {
                (low, high) if low == high && low == Some(queries) => queries.to_string(),
                (low, high) => format!("{queries} ({}–{})", end(low), end(high)),
            }
        }
        (None, Status::Diverged) => "diverged".into(),
        (None, _) => "–".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_so_far_falls_and_ends_where_it_last_fell() {
        let smallest = |means: &[f64]| -> Vec<f64> {
            let points = means.iter().enumerate().map(|(x, mean)| Point { x: x as f64, mean: *mean, error: 0.1 });
            let drawn = smallest_so_far(points);
            assert!(drawn.iter().enumerate().all(|(x, point)| point.x == x as f64 && point.error.is_nan()));
            drawn.iter().map(|point| point.mean).collect()
        };
        assert_eq!(smallest(&[1.0, 4.0, 0.5, f64::INFINITY, 0.6, 0.1, 0.3, 0.3]), [1.0, 1.0, 0.5, 0.5, 0.5, 0.1]);
        assert_eq!(smallest(&[1.0, 2.0, 3.0]), [1.0]);
        assert!(smallest(&[]).is_empty());
    }
}
