//! What a run of the benchmark left, read from its files, and what follows from it for one set, method and target.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, de::DeserializeOwned};

use super::{files::Files, random::Random};

/// Our own method. It has nothing to tune, and is compared with the others as it is.
pub const FRUGAL: &str = "frugal";
/// The same without any `L_i`.
pub const LEARNED: &str = "frugal learned";
/// What tuning.csv says of a method that uses every user's `L_i`.
const EACH: &str = "each L_i";

/// How a method's settings were found, and on which trials its queries were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tuning {
    Tuned,
    Hindsight,
    Untuned,
}

impl Tuning {
    pub const ALL: [Self; 3] = [Self::Tuned, Self::Hindsight, Self::Untuned];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Hindsight => "hindsight",
            Self::Untuned => "untuned",
        }
    }
}

#[derive(Default)]
pub struct Method {
    pub name: String,
    pub told_tuned: String,
    pub told_untuned: String,
    /// Whether it is billed for everything that it sees.
    pub pays: bool,
    /// Whether it has a step size or another setting that was searched for.
    pub has_settings: bool,
}

impl Method {
    pub fn told(&self, tuning: Tuning) -> &str {
        if tuning == Tuning::Untuned { &self.told_untuned } else { &self.told_tuned }
    }

    pub fn is_told_each(&self) -> bool {
        self.told_tuned == EACH
    }

    /// Whether it is one that `frugal` is compared with.
    pub fn is_competitor(&self) -> bool {
        self.pays && self.name != FRUGAL && self.name != LEARNED
    }

    /// Its name on a page: † if it uses each `L_i`, in italics if it does not pay.
    pub fn title(&self) -> String {
        let mark = if self.pays { "" } else { "*" };
        let dagger = if self.is_told_each() { "†" } else { "" };
        format!("{mark}{}{mark}{dagger}", self.name)
    }
}

/// Queries to a target; none where it was not reached.
#[derive(Clone, Copy, Default)]
pub struct Cell {
    pub queries: Option<u64>,
    pub lo: Option<u64>,
    pub hi: Option<u64>,
    /// The numbers that all answers up to the target held, where the run counts them.
    pub numbers: Option<u64>,
}

/// What finding a method's settings took on one set.
#[derive(Deserialize)]
pub struct Effort {
    problem: String,
    pub method: String,
    pub settings_tried: u64,
    pub queries: u64,
    told_tuned: String,
    told_untuned: String,
    sees_more: String,
}

/// What `scripts/datasets.py` says of a set; only complete rows are used.
#[derive(Deserialize)]
pub struct About {
    pub package: String,
    pub item: String,
    pub user: String,
    pub target: String,
    pub loss: String,
    pub features: Vec<String>,
    #[serde(rename = "complete_users")]
    pub users: u64,
    #[serde(rename = "complete_rows")]
    pub rows: u64,
}

#[derive(Default)]
pub struct Results {
    /// In the order of the run, as methods and targets are.
    pub sets: Vec<String>,
    pub methods: Vec<Method>,
    /// Written as summary.csv writes them.
    pub targets: Vec<String>,
    pub efforts: Vec<Effort>,
    pub random: BTreeMap<String, Random>,
    cells: HashMap<(String, String, Tuning, String), Cell>,
    limits: HashMap<(String, String), u64>,
    about: BTreeMap<String, About>,
}

#[derive(Deserialize)]
struct SummaryRow {
    problem: String,
    method: String,
    tuning: Tuning,
    target: String,
    queries: Option<u64>,
    queries_lo: Option<u64>,
    queries_hi: Option<u64>,
    /// Nothing where a method has no step size.
    decay: String,
    settings: String,
    #[serde(default)]
    numbers: Option<u64>,
}

#[derive(Deserialize)]
struct LimitRow {
    problem: String,
    target: String,
    queries: u64,
}

fn rows<R: DeserializeOwned>(file: &str, text: &str) -> Result<Vec<R>, String> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{file}: {error}"))
}

fn add_new(known: &mut Vec<String>, name: &str) {
    if !known.iter().any(|it| it == name) {
        known.push(name.to_owned());
    }
}

impl Results {
    /// Reads the files, and refuses a run that is not whole.
    pub fn read(files: &Files) -> Result<Self, String> {
        let mut results = Self::of_summary("summary.csv", &files.summary)?;
        results.add_efforts(&files.tuning)?;
        results.add_limits(&files.limit)?;
        results.add_sets(&files.sets)?;
        if let Some(set) = results.sets.iter().find(|set| !results.about.contains_key(*set)) {
            return Err(format!("sets.json says nothing of {set}"));
        }
        let random = files.random.iter().map(|(name, text)| Ok((name.clone(), Random::read(name, text)?)));
        results.random = random.collect::<Result<_, String>>()?;
        Ok(results)
    }

    /// Adds what finding settings took, and what methods are told.
    pub fn add_efforts(&mut self, text: &str) -> Result<(), String> {
        let efforts: Vec<Effort> = rows("tuning.csv", text)?;
        for method in &mut self.methods {
            let name = &method.name;
            let mut about = self.sets.iter().map(|set| {
                let found = efforts.iter().find(|effort| effort.method == *name && effort.problem == *set);
                found.ok_or_else(|| format!("tuning.csv: no row for {name} on {set}"))
            });
            let first = about.next().ok_or("summary.csv has no rows")??;
            for other in about {
                let other = other?;
                if (&other.told_tuned, &other.told_untuned) != (&first.told_tuned, &first.told_untuned) {
                    return Err(format!("tuning.csv: {name} is told different things on different sets"));
                }
            }
            (method.told_tuned, method.told_untuned) = (first.told_tuned.clone(), first.told_untuned.clone());
            method.pays = first.sees_more.is_empty();
        }
        self.efforts = efforts;
        Ok(())
    }

    pub fn add_limits(&mut self, text: &str) -> Result<(), String> {
        let limits = rows::<LimitRow>("limit.csv", text)?;
        self.limits = limits.into_iter().map(|row| ((row.problem, row.target), row.queries)).collect();
        Ok(())
    }

    pub fn add_sets(&mut self, text: &str) -> Result<(), String> {
        self.about = serde_json::from_str(text).map_err(|error| format!("sets.json: {error}"))?;
        Ok(())
    }

    /// Reads a run's summary alone, which does not say what methods are told.
    pub fn of_summary(file: &str, text: &str) -> Result<Self, String> {
        let mut results = Self::default();
        for row in rows::<SummaryRow>(file, text)? {
            add_new(&mut results.sets, &row.problem);
            add_new(&mut results.targets, &row.target);
            let has_settings = !row.decay.is_empty() || !row.settings.is_empty();
            if results.method(&row.method).is_err() {
                let (name, pays) = (row.method.clone(), true);
                results.methods.push(Method { name, pays, has_settings, ..Method::default() });
            }
            let cell = Cell { queries: row.queries, lo: row.queries_lo, hi: row.queries_hi, numbers: row.numbers };
            let key = (row.problem, row.method, row.tuning, row.target);
            if let Some((set, method, tuning, target)) = results.cells.insert(key.clone(), cell).map(|_| key) {
                return Err(format!("{file}: {method}, {}, has two rows for {target} on {set}", tuning.name()));
            }
        }
        results.check_whole(file)?;
        Ok(results)
    }

    fn check_whole(&self, file: &str) -> Result<(), String> {
        if self.methods.is_empty() {
            return Err(format!("{file} has no rows"));
        }
        for (set, method) in self.sets.iter().flat_map(|set| self.methods.iter().map(move |method| (set, method))) {
            for (tuning, target) in
                Tuning::ALL.iter().flat_map(|tuning| self.targets.iter().map(move |it| (tuning, it)))
            {
                let key = (set.clone(), method.name.clone(), *tuning, target.clone());
                if !self.cells.contains_key(&key) {
                    let (method, tuning) = (&method.name, tuning.name());
                    return Err(format!("{file}: no row for {method}, {tuning}, to {target} on {set}"));
                }
            }
        }
        Ok(())
    }

    pub fn method(&self, name: &str) -> Result<&Method, String> {
        self.methods.iter().find(|method| method.name == name).ok_or_else(|| format!("the run has no method {name:?}"))
    }

    pub fn about(&self, set: &str) -> Option<&About> {
        self.about.get(set)
    }

    pub fn cell(&self, set: &str, method: &str, tuning: Tuning, target: &str) -> Cell {
        let key = (set.to_owned(), method.to_owned(), tuning, target.to_owned());
        self.cells.get(&key).copied().unwrap_or_default()
    }

    pub fn queries(&self, set: &str, method: &str, tuning: Tuning, target: &str) -> Option<u64> {
        self.cell(set, method, tuning, target).queries
    }

    pub fn limit(&self, set: &str, target: &str) -> Option<u64> {
        self.limits.get(&(set.to_owned(), target.to_owned())).copied()
    }

    /// The competitor with the fewest queries, and these; of equals the first in the order of the run. Competitors that are tuned
    /// may also keep their defaults: settings that were best on some trials can fail on others.
    pub fn best(&self, set: &str, tuning: Tuning, target: &str) -> Option<(u64, &Method)> {
        self.best_of(set, tuning, target, |_| true)
    }

    /// The same among some competitors only.
    pub fn best_of(
        &self,
        set: &str,
        tuning: Tuning,
        target: &str,
        among: impl Fn(&Method) -> bool,
    ) -> Option<(u64, &Method)> {
        let competitors = self.methods.iter().filter(|method| method.is_competitor() && among(method));
        let defaults = (tuning == Tuning::Tuned).then_some(Tuning::Untuned);
        let fewest = |method: &Method| {
            let ways = [tuning].into_iter().chain(defaults);
            ways.filter_map(|way| self.queries(set, &method.name, way, target)).min()
        };
        competitors.filter_map(|method| Some((fewest(method)?, method))).min_by_key(|(queries, _)| *queries)
    }
}
