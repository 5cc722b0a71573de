//! The search against runs straight from the library.

use std::sync::atomic::AtomicBool;

use sgq::simulate::gap_curve;

use super::*;
use crate::{
    Experiment,
    benchmark::fresh::measure,
    experiment::{NamedProblem, TunedSetting, TunedValue},
    statistics::CurveMean,
};

fn experiment(method: &str) -> Experiment {
    let text = format!(
        "name = \"x\"\nbudget = 150\ntrials = 5\nrelative = true\ntargets = [0.3, 0.03]\n[tuning]\ntrials = 10\n\
         [[problem]]\nname = \"p\"\nkind = \"quadratic\"\ncurvature = [[1, 2], [2, 3], [4, 1], [1, 1], [2, 2]]\n\
         center = [[2, 1], [1, 0], [3, 3], [-2, 1], [0, 1]]\nstart = [9, -7]\n[[method]]\n{method}\n"
    );
    Experiment::from_toml("x.toml", &text).unwrap()
}

fn cell<'e>(experiment: &'e Experiment, interrupt: &'e AtomicBool) -> Cell<'e> {
    Cell { experiment, problem: &experiment.problems[0], method: &experiment.methods[0], interrupt }
}

/// The mean relative gap after 0, 1, 2 … queries.
fn mean_gaps(
    experiment: &Experiment,
    problem: &NamedProblem,
    method: &NamedMethod,
    first: u64,
    trials: u64,
) -> Vec<f64> {
    let mut mean = CurveMean::default();
    for trial in first..first + trials {
        let (mut session, problem) = experiment.open_renumbered(problem, method, trial).unwrap();
        let curve = gap_curve(&mut session, &*problem.problem, experiment.budget, |_| Ok(())).unwrap();
        mean.add(&curve.gaps.iter().map(|gap| gap / curve.gaps[0]).collect::<Vec<f64>>());
    }
    mean.mean().to_vec()
}

fn first_at(gaps: &[f64], target: f64) -> Option<u64> {
    gaps.iter().position(|gap| *gap <= target).map(|queries| queries as u64)
}

#[test]
fn picks_are_worth_what_they_are_said_to_be() {
    for method in ["method = \"shuffled-sgd\"", "method = \"saga\"", "method = \"iag\""] {
        let (experiment, interrupt) = (experiment(method), AtomicBool::new(false));
        let cell = cell(&experiment, &interrupt);
        let found = search(&cell, experiment.tuning.as_ref().unwrap()).unwrap();
        assert_eq!(found.picks.len(), 2);
        assert!(found.tried >= 108 && found.queries > 0, "{}", found.tried);
        for (pick, target) in found.picks.iter().zip(&experiment.targets) {
            // In hindsight: on the tuning trials.
            let tuning = mean_gaps(&experiment, cell.problem, &pick.method, FIRST_TRIAL, 10);
            assert!(pick.hindsight.is_some(), "{method}");
            assert_eq!(pick.hindsight, first_at(&tuning, *target), "{method}");
            // And on the trials that are reported.
            let fresh = measure(&cell, &pick.method, &[*target]).unwrap();
            let reported = mean_gaps(&experiment, cell.problem, &pick.method, 0, 5);
            assert_eq!(fresh.queries_to(*target), first_at(&reported, *target), "{method}");
            let (low, high) = fresh.interval(*target).unwrap();
            assert!(
                low <= fresh.queries_to(*target) && high.is_none_or(|high| Some(high) >= fresh.queries_to(*target))
            );
        }
    }
}

/// Where nothing is left to chance, no step of the grid is clearly better than the one that was picked.
#[test]
fn no_step_of_a_grid_is_better() {
    let (experiment, interrupt) = (experiment("method = \"gd\""), AtomicBool::new(false));
    let cell = cell(&experiment, &interrupt);
    let tuning = experiment.tuning.as_ref().unwrap();
    let found = search(&cell, tuning).unwrap();
    let scale = cell.problem.problem.objective_smoothness().unwrap();
    for (pick, target) in found.picks.iter().zip(&experiment.targets) {
        let queries = (-32..=12).filter_map(|power| {
            let step_size = StepSize::Constant((f64::from(power) / 4.0).exp2() / scale);
            let method = NamedMethod { step_size, ..cell.method.clone() };
            first_at(&mean_gaps(&experiment, cell.problem, &method, 0, 1), *target)
        });
        // Screening looks at every sixteenth part of the queries.
        let best = queries.min().unwrap() as f64;
        assert!(pick.hindsight.unwrap() as f64 <= (best * 17.0 / 16.0).ceil(), "{:?} {best}", pick.hindsight);
    }
}

#[test]
fn a_grid_goes_on_where_its_best_is_at_an_end() {
    let (experiment, interrupt) = (experiment("method = \"iag\""), AtomicBool::new(false));
    let cell = cell(&experiment, &interrupt);
    let whole = search(&cell, experiment.tuning.as_ref().unwrap()).unwrap();
    let narrow = Tuning { trials: 10, from: -8, to: -7, rates: vec![8] };
    let widened = search(&cell, &narrow).unwrap();
    for (one, other) in whole.picks.iter().zip(&widened.picks) {
        let (one, other) = (one.hindsight.unwrap(), other.hindsight.unwrap());
        assert!(other as f64 <= 1.25 * one as f64, "{one} {other}");
    }
}

#[test]
fn other_settings_are_tried_and_decays_only_where_steps_are_taken() {
    let method = "method = \"svrg\"\ntune = { inner_steps = [\"0.4n\", 3] }";
    let (experiment, interrupt) = (experiment(method), AtomicBool::new(false));
    let cell = cell(&experiment, &interrupt);
    let values = vec![TunedValue::PartOfUsers(0.4), TunedValue::Fixed(sgq::setting::Value::Count(3))];
    assert_eq!(cell.method.tuned, [TunedSetting { name: "inner_steps", values }]);
    let problem = &*cell.problem.problem;
    let search = |cell| Search {
        cell,
        tuning: experiment.tuning.as_ref().unwrap(),
        scale: 2.0,
        users: problem.users(),
        tried: BTreeSet::new(),
        queries: 0,
    };
    let grid = search(&cell).first_grid();
    assert_eq!(grid.len(), 12 * (1 + 2 * 4 + 2));
    let place = Place { power: 4, decay: Decay::Root(2), settings: vec![1] };
    let named = search(&cell).method(&place);
    assert_eq!(named.method.setting("inner_steps"), Some(sgq::setting::Value::Count(2)));
    assert_eq!(named.step_size, StepSize::RootDecay { initial: 1.0, rate: 4.0 / 5.0 });
    let around = search(&cell).neighbours(&place, POWERS[0]);
    let expected = [(0, 2, 1), (8, 2, 1), (4, 0, 1), (4, 4, 1), (4, 2, 0), (4, 2, 2)]
        .map(|(power, rate, setting)| Place { power, decay: Decay::Root(rate), settings: vec![setting] });
    assert_eq!(around, expected);
    let iqn = self::experiment("method = \"iqn\"");
    let cell = self::cell(&iqn, &interrupt);
    assert_eq!(search(&cell).first_grid().len(), 12);
    // Steps rise only where a mean over few users becomes one over all.
    let diags = [("method = \"diag\"", 2), ("method = \"diag\"\nlazy = true", 4)];
    let diags = diags.map(|(method, kinds)| (self::experiment(method), kinds));
    let cells = [0, 1].map(|which| (self::cell(&diags[which].0, &interrupt), diags[which].1));
    for (cell, kinds) in &cells {
        assert_eq!(search(cell).first_grid().len(), 12 * (1 + kinds * 4));
        let place = Place { power: 4, decay: Decay::WarmUp(0, 1), settings: Vec::new() };
        let rates = |place: &Place| match place.decay {
            Decay::WarmUp(rate, fall) if place.power == 4 => Some((rate, fall)),
            _ => None,
        };
        let around: Vec<(i32, usize)> = search(cell).neighbours(&place, POWERS[0]).iter().filter_map(rates).collect();
        assert_eq!(around, [(-2, 1), (2, 1), (-1, 1), (1, 1), (0, 0), (0, 2)]);
        assert_eq!(search(cell).method(&place).step_size, StepSize::WarmUp { size: 1.0, steps: 5, fall: 0.5 });
    }
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let picks = |threads: usize| {
        let (experiment, interrupt) = (experiment("method = \"sgd\""), AtomicBool::new(false));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found =
            pool.install(|| search(&cell(&experiment, &interrupt), experiment.tuning.as_ref().unwrap())).unwrap();
        let picks = found.picks.into_iter().map(|pick| (pick.method.step_size, pick.hindsight));
        (picks.collect::<Vec<_>>(), found.tried, found.queries)
    };
    assert_eq!(picks(1), picks(3));
}

#[test]
fn an_interrupt_ends_a_search() {
    let (experiment, interrupt) = (experiment("method = \"sgd\""), AtomicBool::new(true));
    assert!(matches!(
        search(&cell(&experiment, &interrupt), experiment.tuning.as_ref().unwrap()),
        Err(TrialError::Interrupted)
    ));
    assert_eq!(cell(&experiment, &interrupt).run().unwrap(), None);
}
