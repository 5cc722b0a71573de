//! One self-contained page with the figures and the tables, which opens from disk without a network.

use std::fmt::Write as _;

use crate::{
    Experiment,
    figure::escape as escaped,
    limit,
    readable::{readable, short},
    run::{Axis, Results},
    web::{Chart, Page},
};

/// A problem's figures, drawn.
pub struct Drawn {
    /// As SVG, one after the other.
    pub svg: String,
    /// What stands in their place where scripts are on.
    pub chart: Chart,
}

/// What the page shows of one problem of one experiment.
pub struct Section<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its results.
    pub results: &'a Results,
    /// The problem's name.
    pub problem: &'a str,
    /// Its figures.
    pub drawn: Drawn,
    /// What the numbers say, in a sentence.
    pub headline: Option<String>,
    /// What a reader must know before believing them.
    pub notes: Vec<String>,
}

impl Section<'_> {
    /// The experiment's title, with the problem's name where there are several.
    pub fn title(&self) -> String {
        self.experiment.title_on(self.problem)
    }
}

/// The whole page; `warning` says what is missing from it.
pub fn html(title: &str, warning: Option<&str>, sections: &[Section<'_>]) -> String {
    let mut page = Page::new(title, "");
    if let Some(warning) = warning {
        let _ = writeln!(page.body, "<p class=\"warning\">{}</p>", escaped(warning));
    }
    for section in sections {
        write_section(&mut page, section);
    }
    page.finish()
}

/// A table of a benchmark's page.
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The first line.
    pub heading: Vec<String>,
    /// The others.
    pub lines: Vec<Vec<String>>,
}

fn write_section(page: &mut Page, section: &Section<'_>) {
    let Section { experiment, results, problem, .. } = section;
    let rows = || results.rows.iter().filter(|row| row.problem == *problem);
    let _ = writeln!(page.body, "<h2>{}</h2>", escaped(&section.title()));
    if let Some(headline) = &section.headline {
        let _ = writeln!(page.body, "<p>{}</p>", escaped(headline));
    }
    page.figure(&section.drawn.svg, Some(&section.drawn.chart));
    let page = &mut page.body;
    page.push_str(&table_begins(&section.title()));
    page.push_str("<tr><th scope=\"col\">queries to reach a gap of</th>");
    for target in &experiment.targets {
        let _ = write!(page, "<th scope=\"col\">{}</th>", readable(*target));
    }
    page.push_str("<th scope=\"col\">gap at the end</th></tr>\n");
    for row in rows() {
        let class = if row.oracle { " class=\"oracle\"" } else { "" };
        let _ = write!(page, "<tr{class}><td>{}</td>", escaped(&row.label()));
        for queries in &row.queries_to_target {
            let _ = match queries {
                Some(queries) => write!(page, "<td>{queries}</td>"),
                None => write!(page, "<td>–</td>"),
            };
        }
        let _ = match row.gap_mean.last() {
            Some(gap) if row.diverged == 0 => writeln!(page, "<td>{gap:.2e}</td></tr>"),
            _ => writeln!(page, "<td>{} diverged</td></tr>", row.diverged),
        };
    }
    let limit = results.limits.on(problem);
    if let Some(queries) = limit {
        let cells: String = queries.iter().map(|queries| format!("<td>{queries}</td>")).collect();
        let _ = writeln!(page, "<tr class=\"oracle\"><td>{}</td>{cells}<td></td></tr>", escaped(limit::LABEL));
    }
    let _ = writeln!(
        page,
        "</table></div>\n<p>First number of billed queries at which the mean gap is at or below the target; bands show \
         one standard error. Trials: {}. Seed: {}.</p>",
        experiment.trials, experiment.seed
    );
    write_spending(page, section);
    for note in &section.notes {
        let _ = writeln!(page, "<p class=\"warning\">{}</p>", escaped(note));
    }
    if rows().any(|row| row.oracle) {
        page.push_str(
            "<p>An oracle looks at every user's gradient before each query and pays for one: a yardstick, \
             which no real run can be.</p>\n",
        );
    }
    if limit.is_some() {
        let _ = writeln!(page, "<p>{}</p>", escaped(limit::EXPLANATION));
    }
}

/// The beginning of a table that scrolls where it is too wide, and says so to who cannot see it.
pub(crate) fn table_begins(what: &str) -> String {
    format!("<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n", escaped(what))
}

/// Tables of what else is spent to reach each target, where that tells more than queries do.
fn write_spending(page: &mut String, section: &Section<'_>) {
    let Section { experiment, results, problem, .. } = section;
    let targets: String =
        experiment.targets.iter().map(|gap| format!("<th scope=\"col\">{}</th>", readable(*gap))).collect();
    for axis in Axis::shown(experiment) {
        let what = axis.words();
        page.push_str(&table_begins(&format!("{}: {what}", section.title())));
        let _ = writeln!(page, "<tr><th scope=\"col\">{what} to reach a gap of</th>{targets}</tr>");
        for row in results.rows.iter().filter(|row| row.problem == *problem) {
            let cell = |spent: Option<f64>| format!("<td>{}</td>", spent.map_or("–".to_owned(), short));
            let cells: String = row.spent_to_target(axis).unwrap_or_default().into_iter().map(cell).collect();
            let class = if row.oracle { " class=\"oracle\"" } else { "" };
            let _ = writeln!(page, "<tr{class}><td>{}</td>{cells}</tr>", escaped(&row.label()));
        }
        let _ = writeln!(
            page,
            "</table></div>\n<p>Mean {what} over trials at the query at which the mean gap is there.</p>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::MethodResult;

    #[test]
    fn names_are_escaped_and_divergence_is_shown() {
        let text = "budget = 1\nstep_size = 1\n[[problem]]\nname = \"p\"\nkind = \"quadratic\"\ncurvature = [1]\n\
                    center = [0]\nstart = 3\n[[method]]\nname = \"a<b>&\"\nmethod = \"sgd\"\n";
        let experiment = Experiment::from_toml("x.toml", text).unwrap();
        let row = MethodResult {
            problem: "p".into(),
            method: "a<b>&".into(),
            oracle: false,
            sees_more: None,
            step_size: 1.0,
            gap_mean: vec![9.0, f64::INFINITY],
            gap_sem: vec![0.0, f64::NAN],
            queries_to_target: vec![Some(0), None],
            diverged: 2,
            billed_per_user: vec![1],
            diagnostic: 0,
            choices: None,
            spent: None,
        };
        let results = Results { rows: vec![row], ..Results::default() };
        let section = Section {
            experiment: &experiment,
            results: &results,
            problem: "p",
            drawn: Drawn { svg: "<svg></svg>".into(), chart: Chart::of(&[], 0) },
            headline: Some("x < y".into()),
            notes: vec!["mind & see".into()],
        };
        let page = html("A \"title\"", Some("ended <early>"), &[section]);
        for expected in [
            "<h1>A &quot;title&quot;</h1>",
            "<td>a&lt;b&gt;&amp;</td><td>0</td><td>–</td><td>2 diverged</td>",
            "<p class=\"warning\">ended &lt;early&gt;</p>",
            "<p>x &lt; y</p>",
            "<p class=\"warning\">mind &amp; see</p>",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
    }
}
