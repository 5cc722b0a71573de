//! Users who tell their Hessians, few sites, and several questions out: tables and figures of the runs beside the benchmark.
//! Methods with a step size count as tuned; the others have nothing to tune.

use std::collections::BTreeMap;

use super::{
    blocks::{by_target, mean_cell, row},
    compare::Mean,
    data::{Cell, FRUGAL, Method, Results, Tuning},
    text::{count, geometric_mean, number, percent, table},
};

const FISHER: &str = "Fisher scoring";

/// The targets of tables in which methods stand beside each other.
const BESIDE: [&str; 2] = ["0.01", "1e-6"];
/// The smallest target of tables with several questions out.
const SMALLEST_OUT: f64 = 0.001;
/// How many questions are out, in the names of methods.
const OUT: [&str; 2] = ["4 out", "16 out"];
/// As many users as there have to be where several questions are out.
const MANY_USERS: u64 = 50;

impl Results {
    /// A method's queries over another's; none where one of them does not get there.
    fn over(&self, set: &str, method: &str, other: &str, target: &str) -> Option<f64> {
        let queries = |name: &str| self.queries(set, name, Tuning::Tuned, target).map(|queries| queries.max(1) as f64);
        Some(queries(method)? / queries(other)?)
    }

    /// Poisson's regressions, apart in means: they start where the quadratic model at the optimum is far off.
    fn is_counts(&self, set: &str) -> bool {
        self.about(set).is_some_and(|about| about.loss == "poisson")
    }

    fn is_logistic(&self, set: &str) -> bool {
        self.about(set).is_some_and(|about| about.loss == "logistic")
    }

    fn users(&self, set: &str) -> u64 {
        self.about(set).map_or(0, |about| about.users)
    }

    fn finite_over_limit(&self, set: &str, target: &str) -> Option<f64> {
        self.over_limit(set, target).filter(|ratio| ratio.is_finite())
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), number)
}

/// The largest of those that are there.
fn largest(ratios: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    ratios.flatten().reduce(f64::max)
}

/// A mean over some of the sets, and the number behind it where that is not all of these.
fn mean_of(run: &Results, among: impl Fn(&str) -> bool, ratio: impl Fn(&str) -> Option<f64>) -> String {
    let all = run.sets.iter().filter(|set| among(set)).count();
    let Mean { value, sets } = run.mean(|set| ratio(set).filter(|_| among(set)));
    let some = if sets < all { format!(" ({sets})") } else { String::new() };
    value.map_or("–".to_owned(), |value| number(value) + &some)
}

/// Methods beside each other, with one question out, by what is counted.
fn beside(run: &Results, counted: fn(Cell) -> Option<u64>, shown: fn(u64) -> String) -> Result<String, String> {
    run.method(FRUGAL)?;
    let is_one_out = |method: &&Method| !method.name.ends_with(" out");
    let methods: Vec<&str> = run.methods.iter().filter(is_one_out).map(|method| &*method.name).collect();
    let line = |first: &str, cell: &dyn Fn(&str) -> String| -> Vec<String> {
        [first.to_owned()].into_iter().chain(methods.iter().map(|method| cell(method))).collect()
    };
    let tables = run.targets.iter().filter(|target| BESIDE.contains(&&***target)).map(|target| {
        let of = |set: &str, method: &str| counted(run.cell(set, method, Tuning::Tuned, target));
        let cells = |set: &String| line(set, &|method| of(set, method).map_or("–".to_owned(), shown));
        let mut rows: Vec<Vec<String>> = run.sets.iter().map(cells).collect();
        rows.push(line("mean ratio to `frugal`", &|method| {
            let ratio = |set: &str| Some(of(set, method)?.max(1) as f64 / of(set, FRUGAL)?.max(1) as f64);
            mean_cell(run, &run.mean(ratio))
        }));
        format!("To {}:\n\n{}", percent(target), table(&line("data set", &str::to_owned), &rows))
    });
    Ok(tables.collect::<Vec<_>>().join("\n\n"))
}

pub fn queries(run: &Results) -> Result<String, String> {
    beside(run, |cell| cell.queries, |queries| queries.to_string())
}

/// In thousands.
pub fn numbers(run: &Results) -> Result<String, String> {
    beside(run, |cell| cell.numbers, |numbers| format!("{:.1}", numbers as f64 / 1e3))
}

pub fn over_fisher(run: &Results) -> Result<String, String> {
    run.method(FISHER)?;
    let sets: Vec<&String> = run.sets.iter().filter(|set| run.is_logistic(set)).collect();
    let over = |set: &str, target: &str| run.over(set, FRUGAL, FISHER, target);
    let mut rows: Vec<Vec<String>> =
        sets.iter().map(|set| row(run, *set, |target| or_dash(over(set, target)))).collect();
    let mean = |target: &str| mean_of(run, |set| run.is_logistic(set), |set| over(set, target));
    rows.push(row(run, "geometric mean", mean));
    rows.push(row(run, "largest", |target| or_dash(largest(sets.iter().map(|set| over(set, target))))));
    Ok(by_target(run, "data set", &rows))
}

pub fn over_limit(run: &Results) -> Result<String, String> {
    let cell = |set: &str, target: &str| match (run.finite_over_limit(set, target), run.limit(set, target)) {
        (Some(ratio), Some(limit)) => format!("{} ({limit})", number(ratio)),
        (None, Some(limit)) => format!("not reached ({limit})"),
        _ => "–".to_owned(),
    };
    let mut rows: Vec<Vec<String>> = run.sets.iter().map(|set| row(run, set, |target| cell(set, target))).collect();
    for (words, counts) in [("geometric mean without counts", false), ("geometric mean of counts", true)] {
        let mean =
            |target: &str| mean_of(run, |set| run.is_counts(set) == counts, |set| run.finite_over_limit(set, target));
        rows.push(row(run, words, mean));
    }
    Ok(by_target(run, "data set", &rows))
}

type IsIn = fn(&Results, &str) -> bool;

/// Groups of sets by what several questions out are expected to cost: name of figures, words, which they are.
const GROUPS: [(&str, &str, IsIn); 4] = [
    ("all", "all sets", |_, _| true),
    ("many", "50 users or more", |run, set| run.users(set) >= MANY_USERS),
    ("many-no-counts", "50 users or more, without counts", |run, set| {
        run.users(set) >= MANY_USERS && !run.is_counts(set)
    }),
    ("counts", "counts", Results::is_counts),
];

fn targets_out(run: &Results) -> impl Iterator<Item = &String> {
    run.targets.iter().filter(|target| target.parse::<f64>().is_ok_and(|target| target >= SMALLEST_OUT))
}

/// What several questions out cost `frugal`, set by set.
pub fn out(run: &Results) -> Result<String, String> {
    let pairs: Vec<(&str, &String)> = OUT.iter().flat_map(|out| targets_out(run).map(move |to| (*out, to))).collect();
    for out in OUT {
        run.method(&format!("{FRUGAL} {out}"))?;
    }
    let ratio = |set: &str, out: &str, target: &str| run.over(set, &format!("{FRUGAL} {out}"), FRUGAL, target);
    let line = |first: &str, users: String, cell: &dyn Fn(&str, &str) -> String| -> Vec<String> {
        [first.to_owned(), users].into_iter().chain(pairs.iter().map(|(out, target)| cell(out, target))).collect()
    };
    let of_set = |set: &String| line(set, count(run.users(set)), &|out, target| or_dash(ratio(set, out, target)));
    let mut rows: Vec<Vec<String>> = run.sets.iter().map(of_set).collect();
    for (_, words, is_in) in GROUPS {
        rows.push(line(&format!("mean, {words}"), String::new(), &|out, target| {
            mean_of(run, |set| is_in(run, set), |set| ratio(set, out, target))
        }));
    }
    let heading = line("data set", "users".into(), &|out, target| format!("{out}, {}", percent(target)));
    Ok(table(&heading, &rows))
}

/// What several questions out cost each method that the run has with several.
pub fn out_by_method(run: &Results) -> Result<String, String> {
    let mut rows = Vec::new();
    for method in &run.methods {
        for several in OUT.map(|out| format!("{} {out}", method.name)) {
            if run.method(&several).is_ok() {
                let mean = |target: &str| mean_of(run, |_| true, |set| run.over(set, &several, &method.name, target));
                rows.push(row(run, &several, mean));
            }
        }
    }
    Ok(by_target(run, "method", &rows))
}

/// The number of sites, which a problem's name has after its set's.
fn sites_of(set: &str) -> Option<u64> {
    set.split(' ').nth(1)?.parse().ok()
}

fn numbers_of_sites(run: &Results) -> Vec<u64> {
    let mut all: Vec<u64> = run.sets.iter().filter_map(|set| sites_of(set)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Every method's answers over those of Fisher scoring; of `frugal` also by the number of sites.
pub fn sites(run: &Results) -> Result<String, String> {
    run.method(FISHER)?;
    let mut rows = Vec::new();
    for method in run.methods.iter().filter(|method| method.name != FISHER) {
        let over = |set: &str, target: &str| run.over(set, &method.name, FISHER, target);
        let own = method.name == FRUGAL;
        for sites in numbers_of_sites(run).into_iter().filter(|_| own) {
            let mean = |target: &str| mean_of(run, |set| sites_of(set) == Some(sites), |set| over(set, target));
            rows.push(row(run, format!("{}, {sites} sites", method.name), mean));
        }
        rows.push(row(run, format!("{}, all", method.name), |target| mean_of(run, |_| true, |set| over(set, target))));
        let most = |target: &str| or_dash(largest(run.sets.iter().map(|set| over(set, target))));
        rows.push(row(run, format!("{}, largest", method.name), most));
    }
    Ok(by_target(run, "", &rows))
}

/// Every figure of a run beside the benchmark, by the run's name; none of one that has blocks of other kinds.
pub fn figures(name: &str, run: &Results) -> BTreeMap<String, String> {
    let mut figures = BTreeMap::new();
    // Geometric mean, smallest and largest of what is there.
    let mut add = |figure: String, ratios: Vec<f64>| {
        let ends = [("min", ratios.iter().copied().reduce(f64::min)), ("max", ratios.iter().copied().reduce(f64::max))];
        for (end, value) in ends {
            figures.extend(value.map(|value| (format!("{name}.{figure}.{end}"), number(value))));
        }
        figures.extend(geometric_mean(&ratios).map(|mean| (format!("{name}.{figure}"), number(mean))));
    };
    match name {
        "hessians" => of_hessians(run, &mut add),
        "sites" => of_sites(run, &mut add),
        "open" => of_out(run, &mut add),
        _ => {}
    }
    figures
}

fn ratios(run: &Results, among: impl Fn(&str) -> bool, ratio: impl Fn(&str) -> Option<f64>) -> Vec<f64> {
    run.sets.iter().filter(|set| among(set)).filter_map(|set| ratio(set)).collect()
}

fn of_hessians(run: &Results, add: &mut impl FnMut(String, Vec<f64>)) {
    let over = |set: &str, target: &str| run.over(set, FRUGAL, FISHER, target);
    for target in &run.targets {
        add(format!("fisher.{target}"), ratios(run, |set| run.is_logistic(set), |set| over(set, target)));
        let limit = |set: &str| run.finite_over_limit(set, target);
        add(format!("limit.{target}"), ratios(run, |set| !run.is_counts(set), limit));
        add(format!("limit.counts.{target}"), ratios(run, |set| run.is_counts(set), limit));
        for method in run.methods.iter().filter(|method| method.name != FRUGAL) {
            let name = &method.name;
            add(format!("over.{name}.{target}"), ratios(run, |_| true, |set| run.over(set, FRUGAL, name, target)));
            let numbers = |set: &str, name: &str| run.cell(set, name, Tuning::Tuned, target).numbers;
            let ratio = |set: &str| Some(numbers(set, FRUGAL)?.max(1) as f64 / numbers(set, name)?.max(1) as f64);
            add(format!("numbers-over.{name}.{target}"), ratios(run, |_| true, ratio));
        }
    }
    let all = run.targets.iter().flat_map(|to| ratios(run, |set| run.is_logistic(set), |set| over(set, to)));
    add("fisher".into(), all.collect());
    of_out(run, add);
}

fn of_sites(run: &Results, add: &mut impl FnMut(String, Vec<f64>)) {
    let over = |set: &str, target: &str| run.over(set, FRUGAL, FISHER, target);
    for target in &run.targets {
        add(format!("fisher.{target}"), ratios(run, |_| true, |set| over(set, target)));
        for sites in numbers_of_sites(run) {
            let of_these = |set: &str| sites_of(set) == Some(sites);
            add(format!("fisher.{sites}.{target}"), ratios(run, of_these, |set| over(set, target)));
        }
    }
    let all = run.targets.iter().flat_map(|target| ratios(run, |_| true, |set| over(set, target)));
    add("fisher".into(), all.collect());
}

fn of_out(run: &Results, add: &mut impl FnMut(String, Vec<f64>)) {
    for (out, target) in OUT.iter().flat_map(|out| targets_out(run).map(move |target| (out, target))) {
        let ratio = |set: &str| run.over(set, &format!("{FRUGAL} {out}"), FRUGAL, target);
        let number = out.trim_end_matches(" out");
        for (group, _, is_in) in GROUPS {
            add(format!("out.{number}.{group}.{target}"), ratios(run, |set| is_in(run, set), ratio));
        }
        add(format!("out.{number}.others.{target}"), ratios(run, |set| !run.is_counts(set), ratio));
        for method in run.methods.iter().filter(|method| method.name != FRUGAL) {
            let over = |set: &str| run.over(set, &format!("{FRUGAL} {out}"), &format!("{} {out}", method.name), target);
            add(format!("out.{number}.over.{}.{target}", method.name), ratios(run, |_| true, over));
        }
    }
}
