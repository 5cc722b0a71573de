//! The tables that pages show between `<!-- results: NAME -->` and `<!-- /results -->`.

use super::{
    ablation,
    compare::{Mean, ORACLES, SHUFFLED, UNSEEN},
    data::{Cell, FRUGAL, LEARNED, Method, Results, Tuning},
    held_out, hessians,
    text::{count, median, number, or_dash, percent, table},
};

type Block = fn(&Results) -> Result<String, String>;

/// Every block that needs no further name. Those that begin with the name of a further run are about it, all others about the
/// benchmark.
const BLOCKS: &[(&str, Block)] = &[
    ("sets", sets),
    ("readme", readme),
    ("frugal", |results| main_table(results, FRUGAL)),
    ("frugal-learned", |results| main_table(results, LEARNED)),
    ("learned", learned),
    ("intervals", intervals),
    ("limit", limit),
    ("share", share),
    ("ratios-tuned", |results| Ok(ratios(results, Tuning::Tuned))),
    ("ratios-hindsight", |results| Ok(ratios(results, Tuning::Hindsight))),
    ("ratios-untuned", |results| Ok(ratios(results, Tuning::Untuned))),
    ("all-tuned", |results| Ok(all(results, Tuning::Tuned))),
    ("tuning", |results| Ok(tuning(results))),
    ("ablation", |run| Ok(means(run, Tuning::Tuned, |_| true))),
    ("ablation-untuned", |run| Ok(means(run, Tuning::Untuned, |method| method.has_settings))),
    ("ablation-all", |run| Ok(all(run, Tuning::Tuned))),
    ("hessians", hessians::queries),
    ("hessians-numbers", hessians::numbers),
    ("hessians-fisher", hessians::over_fisher),
    ("hessians-limit", hessians::over_limit),
    ("hessians-out", hessians::out),
    ("hessians-all", |run| Ok(all(run, Tuning::Tuned))),
    ("held-out", held_out::means),
    ("held-out-sets", sets),
    ("held-out-queries", held_out::queries),
    ("held-out-ratios-tuned", |run| Ok(ratios(run, Tuning::Tuned))),
    ("held-out-ratios-untuned", |run| Ok(ratios(run, Tuning::Untuned))),
    ("sites", hessians::sites),
    ("open", hessians::out),
    ("open-methods", hessians::out_by_method),
    ("random", random),
];

/// What comes before the name of a run on random problems.
const RANDOM: &str = "random.";

/// The names of all blocks, for messages.
pub fn names() -> String {
    let names: Vec<&str> = BLOCKS.iter().map(|(name, _)| *name).collect();
    format!("{}, {RANDOM}NAME", names.join(", "))
}

pub fn is_block(name: &str) -> bool {
    name.starts_with(RANDOM) || BLOCKS.iter().any(|(known, _)| *known == name)
}

/// The text of a block, with the results of the run that it is about.
pub fn block(results: &Results, name: &str) -> Result<String, String> {
    if let Some(run) = name.strip_prefix(RANDOM) {
        let run = results.random.get(run).ok_or_else(|| format!("there is no run {run:?} on random problems"))?;
        return Ok(run.block());
    }
    match BLOCKS.iter().find(|(known, _)| *known == name) {
        Some((_, block)) => block(results),
        None => Err(format!("there is no block {name:?}: there are {}", names())),
    }
}

/// A table with a column for each target.
pub fn by_target(results: &Results, corner: &str, rows: &[Vec<String>]) -> String {
    let targets = results.targets.iter().map(|target| percent(target));
    table(&[corner.to_owned()].into_iter().chain(targets).collect::<Vec<_>>(), rows)
}

pub fn row(results: &Results, name: impl Into<String>, cell: impl Fn(&str) -> String) -> Vec<String> {
    [name.into()].into_iter().chain(results.targets.iter().map(|target| cell(target))).collect()
}

/// A mean, and the number of sets behind it where that is not all of them.
pub fn mean_cell(results: &Results, mean: &Mean) -> String {
    let some = if mean.sets < results.sets.len() { format!(" ({})", mean.sets) } else { String::new() };
    mean.value.map_or("–".to_owned(), |value| number(value) + &some)
}

fn sets(results: &Results) -> Result<String, String> {
    let heading = ["data set", "user", "users", "rows", "features", "target", "loss", "source (R package)"];
    let rows: Option<Vec<Vec<String>>> = results
        .sets
        .iter()
        .map(|set| {
            let about = results.about(set)?;
            let source = format!("{} in {}", about.item, about.package);
            let features = count(about.features.len() as u64);
            let (users, rows) = (count(about.users), count(about.rows));
            Some(vec![
                set.clone(),
                about.user.clone(),
                users,
                rows,
                features,
                about.target.clone(),
                about.loss.clone(),
                source,
            ])
        })
        .collect();
    Ok(table(&heading.map(str::to_owned), &rows.ok_or("a set is not described")?))
}

/// A method's queries, untuned, beside those of the best competitor, tuned.
fn main_table(results: &Results, name: &str) -> Result<String, String> {
    let method = results.method(name)?;
    let mut rows: Vec<Vec<String>> = results
        .sets
        .iter()
        .map(|set| {
            row(results, set, |target| {
                let own = results.queries(set, name, Tuning::Untuned, target);
                let best = results.best(set, Tuning::Tuned, target);
                let mark = if is_fewer(own, best) { "**" } else { "" };
                let best = best.map_or("–".to_owned(), |(queries, other)| format!("{queries} {}", other.title()));
                format!("{mark}{}{mark} / {best}", or_dash(own))
            })
        })
        .collect();
    rows.extend(mean_rows(results, method, "mean ratio to"));
    if name == FRUGAL {
        rows.extend(mean_rows(results, results.method(LEARNED)?, "without `L_i`: mean ratio to"));
    } else {
        rows.push(row(results, "mean ratio to the best tuned method without each `L_i`", |target| {
            let among = |other: &Method| !other.is_told_each();
            mean_cell(results, &results.untuned_over_fewest_of(method, Tuning::Tuned, target, among))
        }));
    }
    Ok(by_target(results, "data set", &rows))
}

pub fn is_fewer(own: Option<u64>, best: Option<(u64, &Method)>) -> bool {
    own.is_some_and(|own| best.is_none_or(|(queries, _)| own < queries))
}

fn mean_rows(results: &Results, method: &Method, words: &str) -> [Vec<String>; 2] {
    [("tuned method", Tuning::Tuned), ("method in hindsight", Tuning::Hindsight)].map(|(best, tuning)| {
        row(results, format!("{words} the best {best}"), |target| {
            mean_cell(results, &results.untuned_over_fewest(method, tuning, target))
        })
    })
}

/// What `frugal` wins and loses, at a glance.
fn readme(results: &Results) -> Result<String, String> {
    let (frugal, learned) = (results.method(FRUGAL)?, results.method(LEARNED)?);
    let mut rows: Vec<Vec<String>> = results
        .sets
        .iter()
        .map(|set| {
            row(results, set, |target| {
                let own = results.queries(set, FRUGAL, Tuning::Untuned, target);
                match (own, results.best(set, Tuning::Tuned, target)) {
                    (Some(own), Some((queries, _))) => {
                        let mark = if own < queries { "**" } else { "" };
                        format!("{mark}{}{mark}", number(own as f64 / queries as f64))
                    }
                    (Some(_), None) => "**only frugal**".to_owned(),
                    (None, _) => "–".to_owned(),
                }
            })
        })
        .collect();
    let mean =
        |method: &Method, target: &str| mean_cell(results, &results.untuned_over_fewest(method, Tuning::Tuned, target));
    rows.push(row(results, "geometric mean", |target| mean(frugal, target)));
    rows.push(row(results, "sets won", |target| {
        format!("{} of {}", results.score(frugal, Tuning::Tuned, target).wins, results.sets.len())
    }));
    rows.push(row(results, "95% interval of the mean, over data sets", |target| {
        results
            .interval_over_sets(frugal, target)
            .map_or("–".to_owned(), |(low, high)| format!("{} to {}", number(low), number(high)))
    }));
    let unseen = format!("mean of {}, not seen by the first version", UNSEEN.join(" and "));
    rows.push(row(results, unseen, |target| results.unseen(frugal, target).value.map_or("–".to_owned(), number)));
    rows.push(row(results, "mean to the others in hindsight", |target| {
        mean_cell(results, &results.untuned_over_fewest(frugal, Tuning::Hindsight, target))
    }));
    rows.push(row(results, "mean, `frugal` without `L_i`", |target| mean(learned, target)));
    Ok(by_target(results, "data set", &rows))
}

/// What knowing the `L_i` saves.
fn learned(results: &Results) -> Result<String, String> {
    let names = [("`L_i` known", FRUGAL), ("`L_i` learned", LEARNED)];
    let rows = names.into_iter().map(|(words, name)| {
        let method = results.method(name)?;
        Ok(row(results, words, |target| {
            let mean = results.mean_queries(method, Tuning::Untuned, target);
            let some = if mean.sets < results.sets.len() { format!(" ({})", mean.sets) } else { String::new() };
            mean.value.map_or("–".to_owned(), |value| format!("{value:.0}{some}"))
        }))
    });
    Ok(by_target(results, "", &rows.collect::<Result<Vec<_>, String>>()?))
}

fn intervals(results: &Results) -> Result<String, String> {
    results.method(FRUGAL)?;
    let rows = results.sets.iter().map(|set| {
        row(results, set, |target| {
            let own = results.cell(set, FRUGAL, Tuning::Untuned, target);
            let best = results.best(set, Tuning::Tuned, target).map(|(queries, other)| {
                let ways = [Tuning::Tuned, Tuning::Untuned].map(|way| results.cell(set, &other.name, way, target));
                let cell = ways.into_iter().find(|cell| cell.queries == Some(queries)).unwrap_or_default();
                format!("{} {}", interval(cell), other.title())
            });
            format!("{} / {}", interval(own), best.as_deref().unwrap_or("–"))
        })
    });
    Ok(by_target(results, "data set", &rows.collect::<Vec<_>>()))
}

/// Without an upper end where some resampled means do not get there.
fn interval(cell: Cell) -> String {
    let ends = match (cell.lo, cell.hi) {
        (Some(lo), Some(hi)) => format!(" ({lo} to {hi})"),
        (Some(lo), None) => format!(" (from {lo})"),
        _ => String::new(),
    };
    or_dash(cell.queries) + &ends
}

fn limit(results: &Results) -> Result<String, String> {
    results.method(FRUGAL)?;
    let mut rows: Vec<Vec<String>> = results
        .sets
        .iter()
        .map(|set| {
            row(results, set, |target| match (results.over_limit(set, target), results.limit(set, target)) {
                (Some(ratio), Some(limit)) if ratio.is_finite() => format!("{} ({limit})", number(ratio)),
                (Some(_), Some(limit)) => format!("not reached ({limit})"),
                _ => "–".to_owned(),
            })
        })
        .collect();
    rows.push(row(results, "median", |target| median_cell(results.median_over_limit(target))));
    Ok(by_target(results, "data set", &rows))
}

pub fn median_cell(median: Option<f64>) -> String {
    median.filter(|median| median.is_finite()).map_or("–".to_owned(), number)
}

fn share(results: &Results) -> Result<String, String> {
    for name in [FRUGAL, SHUFFLED] {
        results.method(name)?;
    }
    let tables = ORACLES.map(|oracle| {
        let title = results.method(oracle)?.title();
        let mut rows: Vec<Vec<String>> = results
            .sets
            .iter()
            .map(|set| {
                row(results, set, |target| match results.share(oracle, set, target) {
                    Some(share) if share.is_finite() => number(share),
                    Some(_) => "not reached".to_owned(),
                    None => "–".to_owned(),
                })
            })
            .collect();
        rows.push(row(results, "median", |target| median_cell(results.median_share(oracle, target))));
        Ok(format!("From {SHUFFLED} to {title}:\n\n{}", by_target(results, "data set", &rows)))
    });
    Ok(tables.into_iter().collect::<Result<Vec<_>, String>>()?.join("\n\n"))
}

fn ratios(results: &Results, tuning: Tuning) -> String {
    let rows = results.methods.iter().map(|method| {
        let mut cells =
            row(results, method.title(), |target| mean_cell(results, &results.over_fewest(method, tuning, target)));
        cells.push(method.told(tuning).to_owned());
        cells
    });
    let targets = results.targets.iter().map(|target| percent(target));
    let heading = ["method".to_owned()].into_iter().chain(targets).chain(["told".to_owned()]);
    table(&heading.collect::<Vec<_>>(), &rows.collect::<Vec<_>>())
}

/// Sets in one table of all numbers: as many as fit beside each other.
const SETS_A_TABLE: usize = 4;

fn all(results: &Results, tuning: Tuning) -> String {
    let tables = results.sets.chunks(SETS_A_TABLE).map(|sets| {
        let heading: Vec<String> = ["method".to_owned()].into_iter().chain(sets.iter().cloned()).collect();
        let rows = results.methods.iter().map(|method| {
            let cells = sets.iter().map(|set| {
                let queries = results.targets.iter().map(|to| or_dash(results.queries(set, &method.name, tuning, to)));
                queries.collect::<Vec<_>>().join("/")
            });
            [method.title()].into_iter().chain(cells).collect()
        });
        table(&heading, &rows.collect::<Vec<_>>())
    });
    tables.collect::<Vec<_>>().join("\n\n")
}

/// Mean queries of each method, with sets that are not reached.
fn means(run: &Results, tuning: Tuning, among: impl Fn(&Method) -> bool) -> String {
    let methods = run.methods.iter().filter(|method| among(method));
    let rows = methods.map(|method| row(run, method.title(), |target| ablation::cell(run, method, tuning, target)));
    by_target(run, "method", &rows.collect::<Vec<_>>())
}

fn tuning(results: &Results) -> String {
    let heading = ["method", "settings tried: median", "most", "tuning queries", "told", "told untuned"];
    let rows = results.methods.iter().map(|method| {
        let efforts = results.efforts.iter().filter(|effort| effort.method == method.name);
        let tried: Vec<u64> = efforts.clone().map(|effort| effort.settings_tried).collect();
        let middle = median(tried.iter().map(|tried| *tried as f64).collect()).unwrap_or_default();
        vec![
            method.title(),
            middle.to_string(),
            count(tried.into_iter().max().unwrap_or_default()),
            count(efforts.map(|effort| effort.queries).sum()),
            method.told_tuned.clone(),
            method.told_untuned.clone(),
        ]
    });
    table(&heading.map(str::to_owned), &rows.collect::<Vec<_>>())
}

fn random(results: &Results) -> Result<String, String> {
    if results.random.is_empty() {
        return Err("there is no run on random problems: --random NAME=FOLDER takes one in".into());
    }
    let runs = results.random.iter().map(|(name, run)| format!("Run *{name}*:\n\n{}", run.block()));
    Ok(runs.collect::<Vec<_>>().join("\n\n"))
}
