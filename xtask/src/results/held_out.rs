//! Sets that `frugal` is only measured on: chosen by a rule before any method ran on them.

use std::collections::BTreeMap;

use super::{
    blocks::{by_target, is_fewer, mean_cell, row},
    compare::Mean,
    data::{FRUGAL, LEARNED, Method, Results, Tuning},
    figures,
    text::{number, or_dash},
};

/// What the names of its blocks and figures begin with.
pub const NAME: &str = "held-out";

/// Queries of `frugal` with and without `L_i`, and of the best competitor.
pub fn queries(run: &Results) -> Result<String, String> {
    for name in [FRUGAL, LEARNED] {
        run.method(name)?;
    }
    let rows = run.sets.iter().map(|set| {
        row(run, set, |target| {
            let [own, learned] = [FRUGAL, LEARNED].map(|name| run.queries(set, name, Tuning::Untuned, target));
            let best = run.best(set, Tuning::Tuned, target);
            let mark = |own| if is_fewer(own, best) { "**" } else { "" };
            let [own, learned] = [own, learned].map(|own| format!("{0}{1}{0}", mark(own), or_dash(own)));
            let best = best.map_or("–".to_owned(), |(queries, other)| format!("{queries} {}", other.title()));
            format!("{own} / {learned} / {best}")
        })
    });
    Ok(by_target(run, "data set", &rows.collect::<Vec<_>>()))
}

/// The means over all sets.
pub fn means(run: &Results) -> Result<String, String> {
    let (frugal, learned) = (run.method(FRUGAL)?, run.method(LEARNED)?);
    let mut rows = Vec::new();
    for (method, words) in [(frugal, "`frugal`"), (learned, "`frugal` without `L_i`")] {
        let over = |tuning: Tuning, what: &str| {
            row(run, format!("{words} over the best {what} competitor"), |target| {
                mean_cell(run, &run.untuned_over_fewest(method, tuning, target))
            })
        };
        let interval = row(run, "95% interval of this mean, over data sets", |target| {
            let interval = run.interval_over_sets(method, target);
            interval.map_or("–".to_owned(), |(low, high)| format!("{} to {}", number(low), number(high)))
        });
        let wins = row(run, "sets on which it needs fewer, and more", |target| {
            let score = run.score(method, Tuning::Tuned, target);
            format!("{}, {}", score.wins, score.losses)
        });
        rows.extend([over(Tuning::Tuned, "tuned"), interval, wins, over(Tuning::Untuned, "untuned")]);
    }
    rows.push(row(run, "the same over the best tuned one without each `L_i`", |target| {
        let among = |other: &Method| !other.is_told_each();
        mean_cell(run, &run.untuned_over_fewest_of(learned, Tuning::Tuned, target, among))
    }));
    rows.push(row(run, "`frugal` without `L_i` over `frugal`", |target| {
        mean_cell(run, &without_over_with(run, target))
    }));
    Ok(by_target(run, "geometric mean of queries", &rows))
}

fn without_over_with(run: &Results, target: &str) -> Mean {
    run.mean(|set| {
        let queries = |name| run.queries(set, name, Tuning::Untuned, target).map(|queries| queries as f64);
        Some(queries(LEARNED)? / queries(FRUGAL)?)
    })
}

/// The same figures as the benchmark's, and what the `L_i` save.
pub fn figures(run: &Results) -> BTreeMap<String, String> {
    let mut figures = figures::figures(run);
    for target in &run.targets {
        figures.insert(format!("without-over-with.{target}"), mean_cell(run, &without_over_with(run, target)));
    }
    figures.into_iter().map(|(name, value)| (format!("{NAME}.{name}"), value)).collect()
}

#[cfg(test)]
mod tests;
