//! How far a method with nothing to tune is from the limit, and which part of the way from shuffled SGD to the oracle it goes.
//!
//! The method is the first of the experiment that has no step size. [`queries`] is drawn wherever there is one; whoever else of
//! shuffled SGD, the other methods that pay, the limit and OGQ is there is drawn beside it. [`shares`] needs shuffled SGD and
//! OGQ besides.

#[cfg(test)]
mod tests;

use super::{
    Outcome, Tuned,
    output::{cell_of, fewest, queries as queries_of},
};
use crate::{
    Experiment,
    experiment::NamedMethod,
    figure::{Look, Panel, Panels, Series, Vertical},
    readable::readable,
    report::Table,
};

/// Shares outside of these are drawn on the edge.
const SHOWN: (f64, f64) = (-1.0, 2.0);
const PALETTE: Palette = Palette { subject: 0, shuffled: 1, others: 2, oracles: 3 };

/// Places in the palette.
struct Palette {
    subject: usize,
    shuffled: usize,
    others: usize,
    /// The first of them.
    oracles: usize,
}

/// Who is who in an experiment.
struct Cast<'e> {
    experiment: &'e Experiment,
    outcome: &'e Outcome,
    subject: &'e str,
    shuffled: Option<&'e str>,
    oracles: Vec<&'e str>,
}

impl<'e> Cast<'e> {
    /// None where no method without a step size has finished anything.
    fn of(experiment: &'e Experiment, outcome: &'e Outcome) -> Option<Self> {
        let finished = |method: &&NamedMethod| {
            experiment.problems.iter().any(|problem| cell_of(outcome, &problem.name, &method.name).is_some())
        };
        let methods = || experiment.methods.iter().filter(finished);
        let name = |method: &'e NamedMethod| &*method.name;
        let by =
            |choice: &'static str| methods().filter(move |it| it.method.part_names()[1..] == [choice, "sgd"]).map(name);
        Some(Self {
            experiment,
            outcome,
            subject: methods().find(|method| !method.method.has_step_size()).map(name)?,
            shuffled: by("shuffled").next(),
            oracles: by("oracle-ei").collect(),
        })
    }

    /// A method's queries to a target: infinite where the budget is not enough, none where it is not finished.
    fn queries(&self, problem: &str, method: &str, tuning: Tuned, target: f64) -> Option<f64> {
        let cell = cell_of(self.outcome, problem, method)?;
        Some(queries_of(cell, tuning, target).map_or(f64::INFINITY, |queries| queries as f64))
    }

    fn subject(&self, problem: &str, target: f64) -> Option<f64> {
        self.queries(problem, self.subject, Tuned::Untuned, target)
    }

    /// The fewest queries of any other method that pays for what it sees and has a step size, tuned for the target.
    fn others(&self, problem: &str, target: f64) -> Option<f64> {
        let methods = self.experiment.methods.iter().filter(|method| method.method.has_step_size());
        let names = methods.map(|method| &*method.name).filter(|name| Some(*name) != self.shuffled);
        let cells = names.filter_map(|name| cell_of(self.outcome, problem, name));
        let cells: Vec<_> = cells.filter(|cell| cell.sees_more.is_none()).collect();
        (!cells.is_empty()).then(|| {
            let fewest = fewest(&cells, Tuned::Tuned, target);
            fewest.map_or(f64::INFINITY, |queries| queries as f64)
        })
    }

    /// Which part of the way from shuffled SGD to an oracle the subject goes, in logarithms of queries; less than any number
    /// where it does not get to the target. None where one of the two does not, or the oracle needs no fewer queries, so
    /// that there is no way to go.
    fn share(&self, problem: &str, oracle: &str, target: f64) -> Option<f64> {
        let tuned = |method: &str| self.queries(problem, method, Tuned::Tuned, target).filter(|it| it.is_finite());
        let (from, to) = (tuned(self.shuffled?)?.max(1.0), tuned(oracle)?.max(1.0));
        let subject = self.subject(problem, target)?.max(1.0);
        (to < from).then(|| (from / subject).ln() / (from / to).ln())
    }

    fn targets(&self) -> Vec<(f64, String)> {
        let label = |target: f64| match self.experiment.relative {
            true => percent(target),
            false => readable(target),
        };
        self.experiment.targets.iter().map(|target| (*target, label(*target))).collect()
    }

    fn x_label(&self) -> String {
        match self.experiment.relative {
            true => "gap to reach, as a part of the gap at the start".into(),
            false => "gap to reach".into(),
        }
    }

    /// The names of problems on which something is finished.
    fn problems(&self) -> impl Iterator<Item = &'e str> {
        let outcome = self.outcome;
        let names = self.experiment.problems.iter().map(|problem| &*problem.name);
        names.filter(move |name| {
            outcome.cells.iter().any(|cell| cell.rows.first().is_some_and(|row| row.problem == **name))
        })
    }
}

/// `0.1%`, without the digits that multiplying by a hundred makes up.
fn percent(part: f64) -> String {
    let digits = format!("{:.10}", 100.0 * part);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Whose queries a line shows.
#[derive(Clone, Copy)]
enum Whose<'e> {
    Tuned(&'e str),
    Others,
    Subject,
    Limit,
}

/// Queries against targets, a panel for each problem.
pub(super) fn queries(experiment: &Experiment, outcome: &Outcome) -> Option<Panels> {
    let cast = Cast::of(experiment, outcome)?;
    let value = |whose: Whose<'_>, problem: &str, index: usize| {
        let target = experiment.targets[index];
        match whose {
            Whose::Tuned(method) => cast.queries(problem, method, Tuned::Tuned, target),
            Whose::Others => cast.others(problem, target),
            Whose::Subject => cast.subject(problem, target),
            Whose::Limit => Some(*outcome.limits.on(problem)?.get(index)? as f64),
        }
    };
    let mut lines = Vec::new();
    let mut add = |whose, label: String, look| lines.push((whose, Series { label, look }));
    if let Some(shuffled) = cast.shuffled {
        add(Whose::Tuned(shuffled), format!("{shuffled}, tuned"), Look::Line(PALETTE.shuffled));
    }
    add(Whose::Others, "best of the other methods that pay, tuned".into(), Look::Line(PALETTE.others));
    add(Whose::Subject, format!("{}, nothing tuned", cast.subject), Look::Strong(PALETTE.subject));
    add(Whose::Limit, "limit for random order (yardstick)".into(), Look::Limit);
    for (index, oracle) in cast.oracles.iter().enumerate() {
        add(Whose::Tuned(oracle), format!("{oracle}, tuned (oracle)"), Look::Dashed(PALETTE.oracles + index));
    }
    let of = |whose, problem: &str| -> Vec<Option<f64>> {
        (0..experiment.targets.len()).map(|index| value(whose, problem, index)).collect()
    };
    // Who is nowhere needs no place in the legend.
    lines.retain(|(whose, _)| cast.problems().any(|problem| of(*whose, problem).iter().any(Option::is_some)));
    let panel = |problem: &str| Panel {
        name: problem.to_owned(),
        values: lines.iter().map(|(whose, _)| of(*whose, problem)).collect(),
        below: Vec::new(),
    };
    let drawn = |wanted: fn(&Whose<'_>) -> bool| lines.iter().any(|(whose, _)| wanted(whose));
    let mut notes = Vec::new();
    if drawn(|whose| matches!(whose, Whose::Tuned(_) | Whose::Others)) {
        notes.push("Tuned: with the settings that were best for that problem and target on other trials.".to_owned());
    }
    if drawn(|whose| matches!(whose, Whose::Limit)) {
        notes.push(
            "Shaded: below the limit, where a better choice of whom to ask can lead and, at large gaps, steps that stop \
             short."
                .into(),
        );
    }
    let panels: Vec<Panel> = cast.problems().map(panel).collect();
    if panels.iter().flat_map(|panel| &panel.values).flatten().flatten().any(|value| value.is_infinite()) {
        notes.push(format!("Grey strip: not reached within {} queries.", experiment.budget));
    }
    Some(Panels {
        title: format!("Queries to each gap: {} and its yardsticks", cast.subject),
        x_label: cast.x_label(),
        y_label: "queries".into(),
        targets: cast.targets(),
        vertical: Vertical::Queries { budget: experiment.budget },
        series: lines.iter().map(|(_, series)| series.clone()).collect(),
        panels,
        notes,
    })
}

/// The part of the way from shuffled SGD to each oracle that the subject goes, against targets.
pub(super) fn shares(experiment: &Experiment, outcome: &Outcome) -> Option<Panels> {
    let cast = Cast::of(experiment, outcome)?;
    let shuffled = cast.shuffled?;
    if cast.oracles.is_empty() {
        return None;
    }
    let problems: Vec<&str> = cast.problems().collect();
    let count = problems.len();
    let dots = (0..count).map(|index| Series {
        label: if index == 0 { "one problem".into() } else { String::new() },
        look: Look::Dots((index as f64 + 0.5) / count as f64 - 0.5),
    });
    let mut series: Vec<Series> = dots.collect();
    series.push(Series { label: "median over problems".into(), look: Look::Strong(PALETTE.subject) });
    let panel = |oracle: &&str| {
        let of = |problem: &&str| -> Vec<Option<f64>> {
            experiment.targets.iter().map(|target| cast.share(problem, oracle, *target)).collect()
        };
        let mut values: Vec<Vec<Option<f64>>> = problems.iter().map(of).collect();
        let at = |target: usize| values.iter().filter_map(|shares| shares[target]).collect::<Vec<f64>>();
        let medians = (0..experiment.targets.len()).map(|target| median(at(target))).collect();
        let below = (0..experiment.targets.len()).map(|target| format!("{} of {count}", at(target).len())).collect();
        values.push(medians);
        Panel { name: format!("from {shuffled} (0) to {oracle} (1)"), values, below }
    };
    let panels: Vec<Panel> = cast.oracles.iter().map(panel).collect();
    let every = || panels.iter().flat_map(|panel| &panel.values).flatten().flatten();
    let mut notes = vec![format!(
        "In logarithms: (log q({shuffled}) − log q({})) / (log q({shuffled}) − log q(oracle)), with q the queries to that \
         gap; {shuffled} and the oracle with the settings that were best on other trials.",
        cast.subject
    )];
    notes.push(format!(
        "Below each gap: on how many problems. Left out are those on which {shuffled} or the oracle does not get there within \
         {} queries, or the oracle needs no fewer queries than {shuffled}.",
        experiment.budget
    ));
    if every().any(|share| *share < SHOWN.0 || *share > SHOWN.1) {
        notes.push("Arrows: values outside of the figure.".into());
    }
    Some(Panels {
        title: format!("Which part of the way to the oracle {} goes", cast.subject),
        x_label: cast.x_label(),
        y_label: "part of the way (logarithms)".into(),
        targets: cast.targets(),
        vertical: Vertical::Parts { low: SHOWN.0, high: SHOWN.1 },
        series,
        panels,
        notes,
    })
}

/// The subject's queries over the limit's, and its share of the way to each oracle, as tables.
pub(super) fn tables(experiment: &Experiment, outcome: &Outcome) -> Vec<Table> {
    let Some(cast) = Cast::of(experiment, outcome) else {
        return Vec::new();
    };
    let mut tables = Vec::new();
    let mut add = |title: String, value: &dyn Fn(&str, usize, f64) -> Option<f64>| {
        let targets = || experiment.targets.iter().copied().enumerate();
        let line = |problem: &str| -> Vec<Option<f64>> { targets().map(|(at, it)| value(problem, at, it)).collect() };
        let values: Vec<(&str, Vec<Option<f64>>)> = cast.problems().map(|problem| (problem, line(problem))).collect();
        let medians = targets().map(|(at, _)| median(values.iter().filter_map(|(_, line)| line[at]).collect()));
        let medians = ("median", medians.collect());
        let entries = |(name, values): &(&str, Vec<Option<f64>>)| {
            let entry = |value: &Option<f64>| match value {
                Some(value) if value.is_finite() => format!("{value:.2}").replace('-', "−"),
                Some(_) => "not reached".into(),
                None => "–".into(),
            };
            [(*name).to_owned()].into_iter().chain(values.iter().map(entry)).collect()
        };
        let heading = [String::new()].into_iter().chain(cast.targets().into_iter().map(|(_, label)| label));
        let lines = values.iter().chain([&medians]).map(entries).collect();
        tables.push(Table { title, heading: heading.collect(), lines });
    };
    if !outcome.limits.is_empty() {
        add(format!("Queries of {} over the limit for random order", cast.subject), &|problem, at, target| {
            let limit = *outcome.limits.on(problem)?.get(at)?;
            Some(cast.subject(problem, target)? / limit.max(1) as f64)
        });
    }
    for oracle in cast.oracles.iter().filter(|_| cast.shuffled.is_some()) {
        let from = cast.shuffled.unwrap_or_default();
        add(
            format!("Part of the way from {from} to {oracle} that {} goes, in log queries", cast.subject),
            &|problem, _, target| cast.share(problem, oracle, target),
        );
    }
    tables
}

/// The one in the middle, or the mean of the two; none of no numbers.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let (low, high) = (numbers.len().checked_sub(1)? / 2, numbers.len() / 2);
    let middle = 0.5 * numbers[low] + 0.5 * numbers[high];
    Some(middle)
}
