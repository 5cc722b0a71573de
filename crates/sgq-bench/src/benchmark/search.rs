//! What a method is run with, searched for on trials of their own: a grid of steps and decays, which goes on where its best is
//! at an end and is refined where it is good. Fewer and fewer candidates have more and more trials.

use std::collections::{BTreeMap, BTreeSet};

use sgq::{StepSize, setting::Value};

use super::{
    Cell,
    trials::{Trials, advance},
};
use crate::{
    experiment::{NamedMethod, Tuning},
    run::TrialError,
};

/// The number of the first trial to tune on: far from those that are reported.
const FIRST_TRIAL: u64 = 1 << 32;
/// A first look has this part of the tuning trials, a second look this part; the last one has all of them.
const PARTS_OF_TRIALS: [f64; 2] = [0.1, 0.4];
/// Candidates for each target after the first and the second look.
const KEPT: [usize; 2] = [8, 3];
/// Looks at what is around the best before they end: each moves it by one step of the grid.
const MOVES: usize = 12;
/// A whole, a half and a quarter power of two, in the units of [`Place::power`].
const POWERS: [i32; 3] = [4, 2, 1];
/// Steps are between 2⁻²⁰ and 2²⁰ over f's own smoothness, decays between 2⁻¹⁰ and 2¹⁴ over the number of users.
const POWER_ENDS: (i32, i32) = (-80, 80);
const RATE_ENDS: (i32, i32) = (-10, 14);
/// Updates whose step size is looked at only once: nothing can decay.
const WITHOUT_DECAY: [&str; 2] = ["quasi-newton", "l-bfgs"];
/// Updates whose steps may rise in a lazy start, as their means become those of all users.
const WITH_WARM_UP: [&str; 2] = ["aggregated", "doubly-aggregated"];
/// The powers by which steps that have risen may fall; the first grid has the first and the third.
const FALLS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];

/// A choice of settings, in whole numbers, so that equal ones are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The first step, in quarters of a power of two over f's own smoothness.
    power: i32,
    decay: Decay,
    /// Which of its values each tuned setting has; 0 is what the method came with.
    settings: Vec<usize>,
}

/// How steps fall, or rise at first, with the rate as a power of two over the number of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decay {
    Constant,
    Inverse(i32),
    Root(i32),
    /// And which of [`FALLS`] they fall by.
    WarmUp(i32, usize),
}

impl Decay {
    fn faster(self, by: i32) -> Option<Self> {
        let within = |rate: i32| (RATE_ENDS.0..=RATE_ENDS.1).contains(&(rate + by)).then_some(rate + by);
        match self {
            Self::Constant => None,
            Self::Inverse(rate) => within(rate).map(Self::Inverse),
            Self::Root(rate) => within(rate).map(Self::Root),
            Self::WarmUp(rate, fall) => within(rate).map(|rate| Self::WarmUp(rate, fall)),
        }
    }
}

/// What a search found.
pub(crate) struct Found {
    /// For each target the settings that were best, and the queries to it on the trials that they were picked on.
    pub picks: Vec<Pick>,
    /// Choices of settings that were tried.
    pub tried: usize,
    /// Queries that all of them took.
    pub queries: u64,
}

/// The settings that were best for a target.
pub(crate) struct Pick {
    pub method: NamedMethod,
    pub hindsight: Option<u64>,
}

/// When the mean over trials was first at a target, and the gap there.
type Arrival = (u64, f64);

/// How a candidate did.
#[derive(Clone)]
struct Raced {
    /// The targets that it was tried for.
    tried_for: Vec<bool>,
    arrivals: Vec<Option<Arrival>>,
    /// The mean gap where it was last looked at.
    last: f64,
}

impl Raced {
    /// Who arrives first comes first, then whoever was lowest.
    fn rank(&self, target: usize) -> (u64, f64) {
        self.arrivals[target].unwrap_or((u64::MAX, self.last))
    }
}

type Results = BTreeMap<Place, Raced>;

struct Search<'a, 'p> {
    cell: &'a Cell<'p>,
    tuning: &'a Tuning,
    /// f's own smoothness, or what comes closest.
    scale: f64,
    users: usize,
    tried: BTreeSet<Place>,
    queries: u64,
}

/// Searches for the settings that are best for each target.
pub(crate) fn search(cell: &Cell<'_>, tuning: &Tuning) -> Result<Found, TrialError> {
    let problem = &*cell.problem.problem;
    let mean = |each: &[f64]| each.iter().sum::<f64>() / each.len() as f64;
    let scale = problem.objective_smoothness().or_else(|| problem.smoothness().map(mean)).unwrap_or(1.0);
    let users = problem.users();
    Search { cell, tuning, scale, users, tried: BTreeSet::new(), queries: 0 }.run()
}

impl Search<'_, '_> {
    fn run(mut self) -> Result<Found, TrialError> {
        let all = self.tuning.trials;
        let [few, some] = PARTS_OF_TRIALS.map(|part| ((part * all as f64).ceil() as u64).clamp(1, all));
        let targets = self.cell.experiment.targets.len();
        let everybody =
            |places: BTreeSet<Place>| places.into_iter().map(|place| (place, vec![true; targets])).collect();

        let mut results = self.race(everybody(self.first_grid()), few, KEPT[0], &self.sparse())?;
        for _ in 0..MOVES {
            let best = (0..targets).filter_map(|target| ranked(&results, target).first().cloned());
            let around: BTreeSet<Place> = best.flat_map(|place| self.neighbours(&place, POWERS[0])).collect();
            let new: BTreeSet<Place> = around.into_iter().filter(|place| !results.contains_key(place)).collect();
            if new.is_empty() {
                break;
            }
            results.extend(self.race(everybody(new), few, KEPT[0], &self.sparse())?);
        }
        let second = self.candidates(&results, KEPT[0], POWERS[1]);
        let results = self.race(second, some, KEPT[1], &self.sparse())?;
        let last = self.candidates(&results, KEPT[1], POWERS[2]);
        let every: Vec<u64> = (0..=self.cell.experiment.budget).collect();
        let results = self.race(last, all, 1, &every)?;
        let picks = (0..targets).filter_map(|target| {
            let place = ranked(&results, target).into_iter().next()?;
            let hindsight = results[&place].arrivals[target].map(|(queries, _)| queries);
            Some(Pick { method: self.method(&place), hindsight })
        });
        Ok(Found { picks: picks.collect(), tried: self.tried.len(), queries: self.queries })
    }

    /// Every step with every decay, and each other value of a setting with every step.
    fn first_grid(&self) -> BTreeSet<Place> {
        let method = self.cell.method;
        let powers: Vec<i32> = match method.method.has_step_size() {
            true => (self.tuning.from..=self.tuning.to).map(|power| power * POWERS[0]).collect(),
            false => vec![0],
        };
        let as_it_is = vec![0; method.tuned.len()];
        let mut grid = BTreeSet::new();
        for &power in &powers {
            grid.insert(Place { power, decay: Decay::Constant, settings: as_it_is.clone() });
            for decay in self.decays() {
                grid.insert(Place { power, decay, settings: as_it_is.clone() });
            }
            for settings in self.other_settings(&as_it_is) {
                grid.insert(Place { power, decay: Decay::Constant, settings });
            }
        }
        grid
    }

    fn decays(&self) -> Vec<Decay> {
        let method = &self.cell.method.method;
        if !method.has_step_size() || WITHOUT_DECAY.contains(&&*method.part_names()[2]) {
            return Vec::new();
        }
        let is_lazy = method.setting("lazy") == Some(Value::Switch(true));
        let warms_up = is_lazy && WITH_WARM_UP.contains(&&*method.part_names()[2]);
        let kinds = |rate: &i32| {
            let warm_up = [Decay::WarmUp(*rate, 0), Decay::WarmUp(*rate, 2)].into_iter().filter(|_| warms_up);
            [Decay::Inverse(*rate), Decay::Root(*rate)].into_iter().chain(warm_up).collect::<Vec<_>>()
        };
        self.tuning.rates.iter().flat_map(kinds).collect()
    }

    /// The same with one setting changed.
    fn other_settings(&self, settings: &[usize]) -> Vec<Vec<usize>> {
        let mut others = Vec::new();
        for (number, tuned) in self.cell.method.tuned.iter().enumerate() {
            for value in (0..=tuned.values.len()).filter(|value| *value != settings[number]) {
                let mut changed = settings.to_vec();
                changed[number] = value;
                others.push(changed);
            }
        }
        others
    }

    /// All that differ in one thing: the step by so much, the decay by a step of the first grid, or a setting.
    fn neighbours(&self, place: &Place, by: i32) -> Vec<Place> {
        let mut around: Vec<Place> = Vec::new();
        if self.cell.method.method.has_step_size() {
            let powers = [place.power - by, place.power + by].into_iter();
            let within = powers.filter(|power| (POWER_ENDS.0..=POWER_ENDS.1).contains(power));
            around.extend(within.map(|power| Place { power, ..place.clone() }));
        }
        // Decays are refined as steps are: by a factor of four, of two, and not at all.
        let decays = [-by / 2, by / 2].into_iter().filter(|by| *by != 0).filter_map(|by| place.decay.faster(by));
        around.extend(decays.map(|decay| Place { decay, ..place.clone() }));
        if let Decay::WarmUp(rate, fall) = place.decay {
            // How long steps rise matters more: by a factor of two at once. And another way to fall.
            let finer = [-1, 1].into_iter().filter(|_| by == POWERS[0]).filter_map(|by| place.decay.faster(by));
            let falls =
                [fall.wrapping_sub(1), fall + 1].into_iter().filter(|fall| *fall < FALLS.len() && by > POWERS[2]);
            let others = finer.chain(falls.map(|fall| Decay::WarmUp(rate, fall)));
            around.extend(others.map(|decay| Place { decay, ..place.clone() }));
        }
        if by == POWERS[0] {
            let settings = self.other_settings(&place.settings);
            around.extend(settings.into_iter().map(|settings| Place { settings, ..place.clone() }));
        }
        around
    }

    /// The best so far for each target, and what is around the best of them.
    fn candidates(&self, results: &Results, kept: usize, by: i32) -> BTreeMap<Place, Vec<bool>> {
        let targets = self.cell.experiment.targets.len();
        let mut candidates = BTreeMap::new();
        for target in 0..targets {
            let best: Vec<Place> = ranked(results, target).into_iter().take(kept).collect();
            let around = best.iter().take(kept.div_ceil(2)).flat_map(|place| self.neighbours(place, by));
            for place in around.collect::<Vec<_>>().into_iter().chain(best) {
                candidates.entry(place).or_insert_with(|| vec![false; targets])[target] = true;
            }
        }
        candidates
    }

    /// Runs candidates side by side, each until it is at all the targets that it is tried for, or enough others are.
    fn race(
        &mut self,
        candidates: BTreeMap<Place, Vec<bool>>,
        trials: u64,
        enough: usize,
        checkpoints: &[u64],
    ) -> Result<Results, TrialError> {
        let targets = &self.cell.experiment.targets;
        let mut racers = Vec::new();
        for (place, tried_for) in candidates {
            let trials = Trials::open(self.cell, &self.method(&place), FIRST_TRIAL..FIRST_TRIAL + trials)?;
            self.tried.insert(place.clone());
            racers.push(Racer { place, tried_for, trials, arrivals: vec![None; targets.len()], is_out: false });
        }
        let mut done = 0;
        while done < checkpoints.len() {
            // Long enough to keep the threads busy, short enough that little is computed in vain.
            let block = &checkpoints[done..(done + 4 + done / 8).min(checkpoints.len())];
            let mut running: Vec<&mut Trials> =
                racers.iter_mut().filter(|racer| !racer.is_out).map(|racer| &mut racer.trials).collect();
            if running.is_empty() {
                break;
            }
            advance(&mut running, block, self.cell.interrupt)?;
            done += block.len();
            for racer in racers.iter_mut().filter(|racer| !racer.is_out) {
                racer.see_arrivals(targets, &checkpoints[..done]);
            }
            let arrived = |target: usize| racers.iter().filter(|it| it.arrivals[target].is_some()).count();
            let open: Vec<bool> = (0..targets.len()).map(|target| arrived(target) < enough).collect();
            for racer in &mut racers {
                let arrivals = racer.arrivals.iter().zip(&racer.tried_for).zip(&open);
                let on_the_way = arrivals.into_iter().any(|((it, tried), open)| it.is_none() && *tried && *open);
                racer.is_out |= !on_the_way || racer.trials.has_diverged();
            }
        }
        self.queries += racers.iter().map(|racer| racer.trials.queries()).sum::<u64>();
        let raced = racers.into_iter().map(|racer| {
            let last = racer.trials.mean().last().copied().unwrap_or(f64::INFINITY);
            (racer.place, Raced { tried_for: racer.tried_for, arrivals: racer.arrivals, last })
        });
        Ok(raced.collect())
    }

    /// Every query at first, and then every sixteenth part more: enough to tell candidates apart.
    fn sparse(&self) -> Vec<u64> {
        let budget = self.cell.experiment.budget;
        let next = |queries: &u64| Some(queries + 1 + queries / 16).filter(|queries| *queries < budget);
        std::iter::successors(Some(0), next).chain([budget]).collect()
    }

    /// The method with these settings.
    fn method(&self, place: &Place) -> NamedMethod {
        let mut named = self.cell.method.clone();
        for (tuned, value) in self.cell.method.tuned.iter().zip(&place.settings) {
            if let Some(value) = value.checked_sub(1) {
                let value = tuned.values[value].with_users(self.users);
                // The file was refused if a value has the wrong kind or is out of range.
                let _ = named.method.set(tuned.name, value);
            }
        }
        let initial = (f64::from(place.power) / 4.0).exp2() / self.scale;
        let rate = |power: i32| f64::from(power).exp2() / self.users as f64;
        named.step_size = match place.decay {
            Decay::Constant => StepSize::Constant(initial),
            Decay::Inverse(power) => StepSize::Decay { initial, rate: rate(power) },
            Decay::Root(power) => StepSize::RootDecay { initial, rate: rate(power) },
            Decay::WarmUp(power, fall) => StepSize::WarmUp {
                size: initial,
                steps: (1.0 / rate(power)).round().max(1.0) as u64,
                fall: FALLS[fall],
            },
        };
        named
    }
}

/// A candidate under way.
struct Racer {
    place: Place,
    /// The targets that it is tried for.
    tried_for: Vec<bool>,
    trials: Trials,
    arrivals: Vec<Option<Arrival>>,
    is_out: bool,
}

impl Racer {
    fn see_arrivals(&mut self, targets: &[f64], checkpoints: &[u64]) {
        for (arrival, target) in self.arrivals.iter_mut().zip(targets).filter(|(arrival, _)| arrival.is_none()) {
            let mut means = checkpoints.iter().zip(self.trials.mean());
            *arrival = means.find(|(_, gap)| **gap <= *target).map(|(queries, gap)| (*queries, *gap));
        }
    }
}

/// The candidates for a target, best first. Of equals the one with the smallest step comes first.
fn ranked(results: &Results, target: usize) -> Vec<Place> {
    // Whoever was tried for another target and came past this one has been tried for it as well.
    let was_tried = |raced: &Raced| raced.tried_for[target] || raced.arrivals[target].is_some();
    let candidates = results.iter().filter(|(_, raced)| was_tried(raced));
    let mut ranked: Vec<(&Place, (u64, f64))> = candidates.map(|(place, raced)| (place, raced.rank(target))).collect();
    ranked.sort_by(|(_, one), (_, other)| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    ranked.into_iter().map(|(place, _)| place.clone()).collect()
}

#[cfg(test)]
mod tests;
