//! Tables in a terminal: one that is wider goes on below, with the first column again.

use console::{measure_text_width as width, truncate_str};
use sgq_bench::{
    Experiment,
    readable::{readable, short},
    report::Table,
    run::{Axis, Results},
};

/// A benchmark's table: its title, and its columns, the first of them flush left, in so many columns of a terminal.
pub fn titled_table(table: &Table, columns: Option<usize>) -> String {
    let lines: Vec<Vec<String>> = std::iter::once(&table.heading).chain(&table.lines).cloned().collect();
    let mut text = format!("\n  {}", table.title);
    for line in laid_out(&lines, columns) {
        text += &format!("\n{line}");
    }
    text
}

/// Queries to each target, a line for each method; and what else is spent, where that tells more.
pub fn table(experiment: &Experiment, results: &Results, problem: &str, columns: Option<usize>) -> String {
    let heading = |what: &str| {
        let targets: Vec<String> = experiment.targets.iter().map(|gap| readable(*gap)).collect();
        (format!("{what} to reach a gap of"), targets)
    };
    let mut lines = vec![heading("queries")];
    for row in results.rows.iter().filter(|row| row.problem == problem) {
        let cells: Vec<String> = row
            .queries_to_target
            .iter()
            .map(|queries| queries.map_or("–".to_owned(), |queries| queries.to_string()))
            .collect();
        lines.push((row.label(), cells));
    }
    for axis in Axis::shown(experiment) {
        lines.push(heading(axis.words()));
        for row in results.rows.iter().filter(|row| row.problem == problem) {
            let cell = |spent: Option<f64>| spent.map_or("–".to_owned(), short);
            let cells = row.spent_to_target(axis).unwrap_or_default().into_iter().map(cell).collect();
            lines.push((row.label(), cells));
        }
    }
    let others = lines.iter().flat_map(|line| &line.1).map(|cell| width(cell)).max().unwrap_or(0);
    // All columns are as wide as the widest.
    let lines: Vec<Vec<String>> = lines
        .into_iter()
        .map(|(name, cells)| {
            let cells = cells.iter().map(|cell| format!("{cell:>others$}"));
            std::iter::once(name).chain(cells).collect()
        })
        .collect();
    laid_out(&lines, columns).join("\n")
}

/// Lines of cells, the first of each flush left and the others flush right. Where they are too wide, the columns that do not fit
/// follow below, after an empty line; names take half of the room at most.
fn laid_out(lines: &[Vec<String>], columns: Option<usize>) -> Vec<String> {
    const GAP: usize = 2;
    let widest =
        |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| width(cell)).max().unwrap_or(0);
    let room = columns.unwrap_or(usize::MAX);
    let all = lines.iter().map(Vec::len).max().unwrap_or(0);
    let whole: usize = (0..all).map(|column| GAP + widest(column)).sum();
    let first = if whole > room { widest(0).min((room / 2).saturating_sub(GAP).max(1)) } else { widest(0) };
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = GAP + first;
    for column in 1..all {
        let more = GAP + widest(column);
        if used + more > room && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(Vec::new());
            used = GAP + first;
        }
        used += more;
        if let Some(part) = parts.last_mut() {
            part.push(column);
        }
    }
    let line = |line: &Vec<String>, part: &[usize]| {
        let name = line.first().map_or("", |name| name);
        let name = truncate_str(name, first, "…");
        let mut text = format!("  {name}{}", " ".repeat(first.saturating_sub(width(&name))));
        for (column, cell) in part.iter().filter_map(|column| Some((*column, line.get(*column)?))) {
            text += &format!("  {}{cell}", " ".repeat(widest(column).saturating_sub(width(cell))));
        }
        text
    };
    let mut text = Vec::new();
    for part in &parts {
        if !text.is_empty() {
            text.push(String::new());
        }
        text.extend(lines.iter().map(|cells| line(cells, part)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[&[&str]]) -> Vec<Vec<String>> {
        of.iter().map(|line| line.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_below() {
        let table =
            lines(&[&["queries to", "0.1", "0.01", "0.001"], &["SGD", "9", "99", "–"], &["SAGA", "8", "88", "888"]]);
        let wide =
            ["  queries to  0.1  0.01  0.001", "  SGD           9    99      –", "  SAGA          8    88    888"];
        assert_eq!(laid_out(&table, None), wide);
        assert_eq!(laid_out(&table, Some(30)), wide);
        let narrow = [
            "  queries to  0.1  0.01",
            "  SGD           9    99",
            "  SAGA          8    88",
            "",
            "  queries to  0.001",
            "  SGD             –",
            "  SAGA          888",
        ];
        assert_eq!(laid_out(&table, Some(29)), narrow);
        // The first column, and one beside it.
        for columns in 19..40 {
            assert!(laid_out(&table, Some(columns)).iter().all(|line| width(line) <= columns), "{columns}");
        }
        // A cell that fits nowhere still stands there.
        assert!(laid_out(&table, Some(3)).iter().any(|line| line.contains("0.001")));
        assert!(laid_out(&[], Some(3)).is_empty());
    }

    #[test]
    fn long_names_leave_room_for_numbers() {
        let table = lines(&[&["a method whose name is as long as a line", "1", "2"]]);
        assert_eq!(laid_out(&table, Some(24)), ["  a method …  1  2"]);
    }
}
