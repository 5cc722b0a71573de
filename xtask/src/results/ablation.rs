//! The options of SGQ, alone and together: means of queries over all sets, and their ratios.

use std::collections::BTreeMap;

use super::{
    compare::Mean,
    data::{Method, Results, Tuning},
    text::or_dash,
};

/// What the names of its blocks and figures begin with.
pub const NAME: &str = "ablation";

/// Queries in each trial, by `experiments/ablation.toml`; a summary does not say.
pub const BUDGET: u64 = 800;

/// A mean of queries, and the number of sets that were reached where that is not all of them.
pub fn cell(run: &Results, method: &Method, tuning: Tuning, target: &str) -> String {
    let mean = run.mean_within(method, tuning, target, BUDGET);
    let some = if mean.value.is_some() && is_bound(run, &mean) { format!(" ({})", mean.sets) } else { String::new() };
    queries(run, &mean) + &some
}

/// Whether a mean is a lower bound, for sets that were not reached count with too few queries.
fn is_bound(run: &Results, mean: &Mean) -> bool {
    mean.sets < run.sets.len()
}

fn queries(run: &Results, mean: &Mean) -> String {
    let bound = if is_bound(run, mean) { "≥ " } else { "" };
    mean.value.map_or("–".to_owned(), |value| format!("{bound}{value:.0}"))
}

/// How many times as many queries the first takes as the second; a dash where both are bounds, for their ratio is none.
fn ratio(run: &Results, mean: &Mean, other: &Mean) -> String {
    let bound = match (is_bound(run, mean), is_bound(run, other)) {
        (false, false) => "",
        (true, false) => "≥ ",
        (false, true) => "≤ ",
        (true, true) => return "–".to_owned(),
    };
    let values = mean.value.zip(other.value);
    values.map_or("–".to_owned(), |(mean, other)| format!("{bound}{:.1}", mean / other))
}

/// Every figure of the ablation.
pub fn figures(run: &Results) -> BTreeMap<String, String> {
    let mut figures = BTreeMap::new();
    let mut add = |name: String, value: String| {
        figures.insert(format!("{NAME}.{name}"), value);
    };
    add("sets".into(), run.sets.len().to_string());
    for target in &run.targets {
        let mean = |method: &Method, tuning: Tuning| run.mean_within(method, tuning, target, BUDGET);
        for method in &run.methods {
            let (name, tuned) = (&method.name, mean(method, Tuning::Tuned));
            add(format!("{name}.{target}"), queries(run, &tuned));
            add(format!("reached.{name}.{target}"), tuned.sets.to_string());
            add(format!("untuned.{name}.{target}"), queries(run, &mean(method, Tuning::Untuned)));
            for other in run.methods.iter().filter(|other| other.name != *name) {
                let ratio = ratio(run, &tuned, &mean(other, Tuning::Tuned));
                add(format!("over.{name}.{}.{target}", other.name), ratio);
            }
            for set in &run.sets {
                add(format!("queries.{set}.{name}.{target}"), or_dash(run.queries(set, name, Tuning::Tuned, target)));
            }
        }
    }
    figures
}
