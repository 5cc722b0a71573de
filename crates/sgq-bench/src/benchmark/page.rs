//! A benchmark's page: figures and tables of everything, and where scripts are on, a choice of methods, data sets, settings and
//! targets for all of them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    Outcome, Tuned, distance,
    output::{cell_of, label, problem_tables, queries},
};
use crate::{
    Experiment,
    figure::escape,
    readable::readable,
    report::{Table, table_begins},
    web::{Chart, Page},
};

/// When a figure is seen.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum What {
    /// Whatever a reader chooses.
    Always,
    /// Until scripts show the same for any choice.
    Explored,
    /// With its problem, by its place in the experiment.
    Problem(usize),
}

/// A figure of the page.
pub(super) struct Shown {
    what: What,
    title: String,
    svg: String,
    chart: Option<Chart>,
}

impl Shown {
    /// A figure, and what takes its place where scripts are on.
    pub fn new(what: What, title: String, svg: String, chart: Option<Chart>) -> Self {
        Self { what, title, svg, chart }
    }
}

/// The whole page.
pub(super) fn html(
    experiment: &Experiment,
    outcome: &Outcome,
    figures: &[Shown],
    notes: &[&str],
    cards: &[(String, String)],
) -> String {
    let mut page = Page::new(&experiment.title, "");
    if outcome.unfinished > 0 {
        let unfinished = outcome.unfinished;
        let _ = writeln!(
            page.body,
            "<p class=\"warning\">{unfinished} methods on problems are not finished, and missing.</p>"
        );
    }
    page.body.push_str(
        "<p>First number of billed queries at which the mean gap over trials is at or below the target, with a bootstrap \
         interval of 95%. Tuned: the best step size of a grid, for each target its own. Untuned: each method's own default. \
         An oracle sees more than it pays for: a yardstick, which no real run can be.</p>\n",
    );
    for note in notes {
        let _ = writeln!(page.body, "<p>{}</p>", escape(note));
    }
    page.body.push_str("<div id=\"explore\"></div>\n");
    for figure in figures {
        let _ = match figure.what {
            What::Always => writeln!(page.body, "<section>"),
            What::Explored => writeln!(page.body, "<section class=\"explored\">"),
            What::Problem(place) => writeln!(page.body, "<section data-problem=\"{place}\">"),
        };
        let _ = writeln!(page.body, "<h2>{}</h2>", escape(&figure.title));
        page.figure(&figure.svg, figure.chart.as_ref());
        page.body.push_str("</section>\n");
    }
    let methods = labels(experiment, outcome);
    for (place, tuning) in Tuned::ALL.into_iter().enumerate() {
        for (problem, table) in problem_tables(experiment, outcome, tuning) {
            let _ = writeln!(page.body, "<section data-problem=\"{problem}\" data-tuning=\"{place}\">");
            write_table(&mut page.body, &table, &methods);
            page.body.push_str("</section>\n");
        }
    }
    for table in distance::tables(experiment, outcome) {
        write_table(&mut page.body, &table, &methods);
    }
    page.benchmark = Some(choices(experiment, outcome));
    for (problem, card) in cards {
        let card: Vec<String> = card.lines().map(escape).collect();
        let _ = writeln!(
            page.body,
            "<h2>{}: what kind of problem</h2>\n<pre tabindex=\"0\">{}</pre>",
            escape(problem),
            card.join("\n")
        );
    }
    page.finish()
}

fn write_table(body: &mut String, table: &Table, methods: &[String]) {
    let _ = writeln!(body, "<h2>{}</h2>\n{}<thead><tr>", escape(&table.title), table_begins(&table.title).trim_end());
    for cell in &table.heading {
        let _ = write!(body, "<th scope=\"col\">{}</th>", escape(cell));
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for line in &table.lines {
        let method = methods.iter().position(|label| line.first() == Some(label));
        let method = method.map_or(String::new(), |method| format!(" data-method=\"{method}\""));
        let cells: String = line.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        let _ = writeln!(body, "<tr{method}>{cells}</tr>");
    }
    body.push_str("</tbody></table></div>\n");
}

/// Each method's name in figures and tables.
fn labels(experiment: &Experiment, outcome: &Outcome) -> Vec<String> {
    let named = |name: &str| {
        let cell = experiment.problems.iter().find_map(|problem| cell_of(outcome, &problem.name, name));
        cell.map_or(name.to_owned(), label)
    };
    experiment.methods.iter().map(|method| named(&method.name)).collect()
}

/// What scripts make heat maps and profiles of: the queries of each method on each problem to each target, for each way to tune.
fn choices(experiment: &Experiment, outcome: &Outcome) -> Value {
    let labels = labels(experiment, outcome);
    let methods: Vec<Value> = experiment
        .methods
        .iter()
        .zip(labels)
        .map(|(method, label)| {
            json!({ "name": method.name, "label": label, "pays": method.sees_more().is_none(), "oracle": method.is_oracle() })
        })
        .collect();
    let of_method = |tuning: Tuned, problem: &str, method: &str| -> Vec<Option<u64>> {
        let cell = cell_of(outcome, problem, method);
        experiment.targets.iter().map(|target| queries(cell?, tuning, *target)).collect()
    };
    let of_problem = |tuning: Tuned, problem: &str| -> Vec<Vec<Option<u64>>> {
        experiment.methods.iter().map(|method| of_method(tuning, problem, &method.name)).collect()
    };
    let of_tuning = |tuning: Tuned| -> Vec<Vec<Vec<Option<u64>>>> {
        experiment.problems.iter().map(|problem| of_problem(tuning, &problem.name)).collect()
    };
    json!({
        "problems": experiment.problems.iter().map(|problem| &problem.name).collect::<Vec<_>>(),
        "methods": methods,
        "targets": experiment.targets.iter().map(|target| readable(*target)).collect::<Vec<_>>(),
        "tunings": Tuned::ALL.map(Tuned::words),
        "queries": Tuned::ALL.map(of_tuning),
        "relative": experiment.relative,
    })
}
