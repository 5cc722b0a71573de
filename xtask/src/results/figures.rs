//! Single numbers for prose, each by a name: `<!--=NAME-->value<!--/-->`. Targets are written as in summary.csv.

use std::collections::BTreeMap;

use super::{
    blocks::{mean_cell, median_cell},
    compare::ORACLES,
    data::{FRUGAL, LEARNED, Results, Tuning},
    text::{count, or_dash},
};

/// Every figure that there is.
pub fn figures(results: &Results) -> BTreeMap<String, String> {
    let mut figures = BTreeMap::new();
    let mut add = |name: String, value: String| {
        figures.insert(name, value);
    };
    counts(results, &mut add);
    for (target, tuning) in results.targets.iter().flat_map(|target| Tuning::ALL.map(|tuning| (target, tuning))) {
        of_frugal(results, target, tuning, &mut add);
        of_methods(results, target, tuning, &mut add);
        of_sets(results, target, tuning, &mut add);
    }
    for (run, random) in &results.random {
        for (name, value) in random.figures() {
            add(format!("random.{run}.{name}"), value);
        }
    }
    figures
}

fn counts(results: &Results, add: &mut impl FnMut(String, String)) {
    let methods =
        |is: fn(&super::data::Method) -> bool| results.methods.iter().filter(|method| is(method)).count().to_string();
    add("methods".into(), methods(|_| true));
    add("methods.competitors".into(), methods(|method| method.is_competitor()));
    add("methods.unpaid".into(), methods(|method| !method.pays));
    add("sets".into(), results.sets.len().to_string());
    let about: Vec<_> = results.sets.iter().filter_map(|set| Some((set, results.about(set)?))).collect();
    for (set, about) in &about {
        add(format!("users.{set}"), count(about.users));
        add(format!("rows.{set}"), count(about.rows));
    }
    let users = about.iter().map(|(_, about)| about.users);
    add("users.min".into(), count(users.clone().min().unwrap_or_default()));
    add("users.max".into(), count(users.max().unwrap_or_default()));
    let all = || results.sets.iter().flat_map(|set| results.targets.iter().map(move |target| (set, target)));
    let best = |(set, target): (&String, &String), tuning| {
        let competitors = results.methods.iter().filter(|method| method.is_competitor());
        competitors.filter_map(|method| results.queries(set, &method.name, tuning, target)).min().unwrap_or(u64::MAX)
    };
    let ahead = all().filter(|cell| best(*cell, Tuning::Untuned) < best(*cell, Tuning::Tuned));
    add("cells".into(), all().count().to_string());
    add("untuned-ahead".into(), ahead.count().to_string());
    let tried = results.efforts.iter().map(|effort| effort.settings_tried).max();
    add("tuning.settings.max".into(), count(tried.unwrap_or_default()));
    add("tuning.queries".into(), count(results.efforts.iter().map(|effort| effort.queries).sum()));
}

/// What is told of `frugal`, with the `L_i` and without: it is never tuned; the best competitor is, or is not.
fn of_frugal(results: &Results, target: &str, tuning: Tuning, add: &mut impl FnMut(String, String)) {
    let ways = tuning.name();
    for method in [FRUGAL, LEARNED].into_iter().filter_map(|name| results.method(name).ok()) {
        let name = &method.name;
        let mean = results.untuned_over_fewest(method, tuning, target);
        add(format!("{name}.ratio.{ways}.{target}"), mean_cell(results, &mean));
        if let Some(value) = mean.value {
            add(format!("{name}.percent.{ways}.{target}"), format!("{:.0}%", 100.0 * value));
        }
        let score = results.score(method, tuning, target);
        add(format!("{name}.wins.{ways}.{target}"), score.wins.to_string());
        add(format!("{name}.losses.{ways}.{target}"), score.losses.to_string());
        add(format!("{name}.ties.{ways}.{target}"), score.ties.to_string());
        if let Some(queries) = results.mean_queries(method, Tuning::Untuned, target).value {
            add(format!("{name}.queries.{target}"), format!("{queries:.0}"));
        }
    }
    if results.method(FRUGAL).is_ok() {
        add(format!("frugal.limit.{target}"), median_cell(results.median_over_limit(target)));
        for oracle in ORACLES {
            add(format!("frugal.share.{oracle}.{target}"), median_cell(results.median_share(oracle, target)));
        }
    }
}

fn of_methods(results: &Results, target: &str, tuning: Tuning, add: &mut impl FnMut(String, String)) {
    let ways = tuning.name();
    for method in &results.methods {
        let name = &method.name;
        let mean = results.over_fewest(method, tuning, target);
        add(format!("ratio.{name}.{ways}.{target}"), mean_cell(results, &mean));
        let reached = results.mean_queries(method, tuning, target).sets;
        add(format!("reached.{name}.{ways}.{target}"), reached.to_string());
        add(format!("fewest-on.{name}.{ways}.{target}"), results.fewest_on(method, tuning, target).to_string());
    }
}

fn of_sets(results: &Results, target: &str, tuning: Tuning, add: &mut impl FnMut(String, String)) {
    let ways = tuning.name();
    for set in &results.sets {
        for method in &results.methods {
            let queries = results.queries(set, &method.name, tuning, target);
            add(format!("queries.{set}.{}.{ways}.{target}", method.name), or_dash(queries));
        }
        if let Some((queries, method)) = results.best(set, tuning, target) {
            add(format!("best.{set}.{ways}.{target}"), queries.to_string());
            add(format!("winner.{set}.{ways}.{target}"), method.title());
        }
        if let Some(limit) = results.limit(set, target) {
            add(format!("limit.{set}.{target}"), limit.to_string());
        }
    }
}
