//! A page with what theory guarantees: each problem's constants, each method's verdict in words, and the bounds as curves.

use std::fmt::Write as _;

use sgq::theory::{Certificate, Constant};

use super::{CertificateFile, MethodCertificate};
use crate::{
    Experiment,
    figure::{Curve, Figure, Point, escape},
    output::{Folder, OutputError, file_name},
    readable::short,
    report::{Drawn, table_begins},
    web::{Chart, Page},
};

/// Points of a bound: it has no bends that more would show.
const MOST_POINTS: u64 = 500;

/// The constants of a certificate, each with its name and what it means.
pub fn constants(certificate: &Certificate) -> [(&'static str, &'static str, Option<Constant>); 6] {
    let it = &certificate.constants;
    [
        ("L", "mean smoothness of the users", it.mean_smoothness),
        ("L_max", "largest smoothness of a user", it.max_smoothness),
        ("L_f", "smoothness of f itself", it.objective_smoothness),
        ("mu", "Polyak-Łojasiewicz constant", it.pl_constant),
        ("sigma*", "mean squared gradient at the optimum", it.sigma_star),
        ("Delta", "how far users' gradients differ, on the region", it.delta),
    ]
}

/// The files that [`write()`] may write.
pub fn files(experiment: &Experiment) -> Vec<String> {
    let figures = experiment.problems.iter().map(|problem| stem(experiment, &problem.name));
    let figures = figures.flat_map(|stem| ["svg", "png"].map(|kind| format!("{stem}.{kind}")));
    ["report.html", "certificate.json"].map(str::to_owned).into_iter().chain(figures).collect()
}

/// Writes the page, its figures, and the certificates as JSON.
pub fn write(
    folder: &mut Folder,
    experiment: &Experiment,
    certificates: &[MethodCertificate],
) -> Result<(), OutputError> {
    let mut page = Page::new(&format!("{}: what theory guarantees", experiment.title), "");
    for problem in &experiment.problems {
        let of_problem: Vec<&MethodCertificate> = certificates.iter().filter(|it| it.problem == problem.name).collect();
        let figure = bounds(experiment, &problem.name, &of_problem);
        let drawn = match figure.curves.is_empty() {
            true => None,
            false => Some(Drawn {
                svg: folder.write_figure(&stem(experiment, &problem.name), &figure)?,
                chart: Chart::of(&[("queries", true, &figure)], MOST_POINTS as usize),
            }),
        };
        write_problem(&mut page, experiment, &problem.name, &of_problem, drawn.as_ref());
    }
    page.body.push_str(
        "<p>The gap is how far the objective is above its minimum; the floor is what remains of it however long one asks. A \
         dotted bound is not guaranteed: what it wants besides is said with its method.</p>\n",
    );
    let json = serde_json::to_string_pretty(&CertificateFile::new(experiment, certificates)).unwrap_or_default();
    folder.write("certificate.json", json + "\n")?;
    folder.write("report.html", page.finish())
}

fn stem(experiment: &Experiment, problem: &str) -> String {
    if experiment.problems.len() == 1 { "bounds".to_owned() } else { format!("bounds-{}", file_name(problem)) }
}

/// The bounds on the gap, proven or not.
fn bounds(experiment: &Experiment, problem: &str, certificates: &[&MethodCertificate]) -> Figure {
    let step = (experiment.budget / MOST_POINTS).max(1);
    let curves = certificates.iter().filter_map(|it| {
        let bound = it.bound()?;
        let proven = it.guaranteed().is_some();
        let queries = (0..experiment.budget).step_by(step as usize).chain([experiment.budget]);
        let point = |queries: u64| Point { x: queries as f64, mean: bound.at(queries), error: f64::NAN };
        Some(Curve {
            label: format!("{}{}", it.method, if proven { "" } else { ", not guaranteed" }),
            points: queries.map(point).collect(),
            dashed: !proven,
            ..Curve::default()
        })
    });
    Figure {
        title: format!("{}: bounds", experiment.title_on(problem)),
        x_label: "queries".into(),
        y_label: "bound on the mean gap".into(),
        curves: curves.collect(),
        ..Figure::default()
    }
}

fn write_problem(
    page: &mut Page,
    experiment: &Experiment,
    problem: &str,
    certificates: &[&MethodCertificate],
    drawn: Option<&Drawn>,
) {
    let _ = writeln!(page.body, "<h2>{}</h2>", escape(&experiment.title_on(problem)));
    match drawn {
        Some(Drawn { svg, chart }) => page.figure(svg, Some(chart)),
        None => page.body.push_str("<p>No theorem bounds the gap of any method here.</p>\n"),
    }
    let body = &mut page.body;
    body.push_str(&table_begins("Methods"));
    body.push_str(
        "<thead><tr><th scope=\"col\">method</th><th scope=\"col\">step size</th><th scope=\"col\">largest step allowed</th>\
         <th scope=\"col\">guaranteed</th><th scope=\"col\" class=\"words\">what that means</th></tr></thead>\n<tbody>\n",
    );
    for it in certificates {
        let cap = it.cap.map_or("–".to_owned(), |cap| match cap.value {
            value if value.is_finite() => format!("{} = {}", cap.formula, short(value)),
            _ => cap.formula.to_owned(),
        });
        let guaranteed = if it.guaranteed().is_some() { "yes" } else { "no" };
        let words: Vec<String> = it.words(&experiment.targets).iter().map(|line| escape(line)).collect();
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{guaranteed}</td><td class=\"words\">{}</td></tr>",
            escape(&it.method),
            short(it.certificate.step_size),
            escape(&cap),
            words.join(" ")
        );
    }
    body.push_str("</tbody></table></div>\n");
    // Methods on one problem differ in nothing but the region, where that is a trajectory.
    let Some(first) = certificates.first() else {
        return;
    };
    let _ = writeln!(body, "<h3>Constants</h3>\n<p>Region: {}.</p>", escape(&first.certificate.region.to_string()));
    body.push_str(&table_begins("Constants"));
    body.push_str(
        "<thead><tr><th scope=\"col\">constant</th><th scope=\"col\" class=\"words\">meaning</th><th scope=\"col\">value</th>\
         <th scope=\"col\" class=\"words\">known how</th></tr></thead>\n<tbody>\n",
    );
    for (name, meaning, constant) in constants(&first.certificate) {
        let (value, source) = match constant {
            Some(constant) => (short(constant.value), constant.provenance.to_string()),
            None => ("–".to_owned(), "not known".to_owned()),
        };
        let _ = writeln!(
            body,
            "<tr><td>{name}</td><td class=\"words\">{meaning}</td><td>{value}</td><td class=\"words\">{}</td></tr>",
            escape(&source)
        );
    }
    body.push_str("</tbody></table></div>\n<ul>\n");
    for assumption in &first.certificate.assumptions {
        let status = escape(&assumption.status.to_string());
        let statement = escape(assumption.statement);
        let _ = writeln!(body, "<li>Assumption {}, {statement}: {status}</li>", assumption.number);
    }
    body.push_str("</ul>\n");
}
