//! Runs of `sgq bench random`: their summaries, as commands and tables.

use serde::Deserialize;
use serde_json::Value;

use super::text::{count, percent, table};

#[derive(Deserialize)]
pub struct Random {
    seed: u64,
    max_users: u64,
    max_dim: u64,
    trials: u64,
    tuning_trials: u64,
    budget_per_user: f64,
    learned: bool,
    against: String,
    unfinished: u64,
    methods: Vec<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    method: String,
    problems: u64,
    targets: Vec<AtTarget>,
    transient_above_2: u64,
    trial_transient_above_2: u64,
    diverged: u64,
}

#[derive(Deserialize)]
struct AtTarget {
    target: f64,
    problems: u64,
    reached: u64,
    within: u64,
    mean_ratio: Option<f64>,
    only_method: u64,
}

impl AtTarget {
    /// A lower bound where the target was not always reached.
    fn ratio(&self) -> String {
        let bound = if self.reached < self.problems { "≥ " } else { "" };
        self.mean_ratio.map_or("–".to_owned(), |ratio| format!("{bound}{ratio:.2}"))
    }
}

/// The summary without its long list of every method on every problem.
pub fn without_cells(summary: &str) -> Result<String, String> {
    let mut summary: Value = serde_json::from_str(summary).map_err(|error| error.to_string())?;
    summary.as_object_mut().ok_or("not an object")?.remove("cells").ok_or("no cells: not a run of sgq bench random")?;
    serde_json::to_string_pretty(&summary).map(|text| text + "\n").map_err(|error| error.to_string())
}

impl Random {
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let run: Self = serde_json::from_str(text).map_err(|error| format!("random-{name}.json: {error}"))?;
        if run.unfinished > 0 || run.methods.is_empty() {
            return Err(format!("random-{name}.json: the run is not finished; the same command goes on with it"));
        }
        Ok(run)
    }

    fn problems(&self) -> u64 {
        self.methods.first().map_or(0, |method| method.problems)
    }

    /// The command that makes the run, with every option.
    fn command(&self) -> String {
        let names = self.methods.iter().map(|method| match self.learned {
            true => method.method.trim_end_matches("-learned"),
            false => &method.method,
        });
        let targets = self.methods.iter().take(1).flat_map(|method| &method.targets);
        let targets: Vec<String> = targets.map(|target| target.target.to_string()).collect();
        let learned = if self.learned { " --learned" } else { "" };
        format!(
            "cargo run --release -- bench random --problems {} --seed {} \\\n    --methods {}{learned} --against {} \
             --trials {} --tuning-trials {} \\\n    --budget-per-user {} --targets {} --max-users {} --max-dim {}",
            self.problems(),
            self.seed,
            names.collect::<Vec<_>>().join(","),
            self.against,
            self.trials,
            self.tuning_trials,
            self.budget_per_user,
            targets.join(","),
            self.max_users,
            self.max_dim,
        )
    }

    /// The command, and what it measured.
    pub fn block(&self) -> String {
        let heading = self.methods.iter().map(|method| format!("`{}`", method.method));
        let row = |name: String, cell: &dyn Fn(&Measured) -> String| {
            [name].into_iter().chain(self.methods.iter().map(cell)).collect::<Vec<String>>()
        };
        let mut rows = Vec::new();
        let targets = self.methods.iter().map(|method| method.targets.len()).min().unwrap_or(0);
        for place in 0..targets {
            let at = |method: &Measured, cell: &dyn Fn(&AtTarget) -> String| cell(&method.targets[place]);
            let gap = percent(&self.methods[0].targets[place].target.to_string());
            let against = &self.against;
            let of = |some: u64, all: u64| format!("{} of {}", count(some), count(all));
            rows.push(row(format!("{gap}: at most 1.2 times the queries of tuned `{against}`"), &|method| {
                at(method, &|it| of(it.within, it.problems))
            }));
            rows.push(row(format!("{gap}: reached where tuned `{against}` does"), &|method| {
                at(method, &|it| of(it.reached, it.problems))
            }));
            rows.push(row(format!("{gap}: mean ratio of queries"), &|method| at(method, &AtTarget::ratio)));
            rows.push(row(format!("{gap}: reached where tuned `{against}` does not"), &|method| {
                at(method, &|it| count(it.only_method))
            }));
        }
        let of = |some: u64, method: &Measured| format!("{} of {}", count(some), count(method.problems));
        rows.push(row("mean gap over the trials ever above twice the start".into(), &|it| {
            of(it.transient_above_2, it)
        }));
        rows.push(row("gap of a single trial ever above twice the start".into(), &|it| {
            of(it.trial_transient_above_2, it)
        }));
        rows.push(row("a trial diverged".into(), &|it| of(it.diverged, it)));
        let heading: Vec<String> = [String::new()].into_iter().chain(heading).collect();
        format!("```sh\n{}\n```\n\n{}", self.command(), table(&heading, &rows))
    }

    /// Every number by its name, without the run's own.
    pub fn figures(&self) -> Vec<(String, String)> {
        let mut figures = vec![("problems".to_owned(), count(self.problems()))];
        for method in &self.methods {
            let name = &method.method;
            let mut add = |what: String, value: String| figures.push((format!("{name}.{what}"), value));
            add("above-2".into(), count(method.transient_above_2));
            add("trial-above-2".into(), count(method.trial_transient_above_2));
            add("diverged".into(), count(method.diverged));
            for at in &method.targets {
                let target = at.target;
                add(format!("within.{target}"), count(at.within));
                add(format!("reached.{target}"), count(at.reached));
                add(format!("problems.{target}"), count(at.problems));
                add(format!("alone.{target}"), count(at.only_method));
                add(format!("ratio.{target}"), at.ratio());
            }
        }
        figures
    }
}
