//! What makes a cell another one.

use std::sync::{Arc, atomic::AtomicBool};

use sgq::problem::{Loss, Quadratic, Regression, Rows};

use super::*;
use crate::{
    Experiment,
    experiment::{NamedProblem, TunedSetting},
};

fn experiment() -> Experiment {
    let text = "name = \"e\"\nbudget = 20\ntrials = 2\n[tuning]\ntrials = 2\nfrom = -2\nto = 1\n[[problem]]\nname = \"p\"\n\
                kind = \"quadratic\"\ncurvature = [1, 2, 3]\ncenter = [0, 1, 2]\nstart = 3\n[[method]]\nmethod = \"sgd\"\n\
                [[method]]\nmethod = \"frugal\"\n";
    Experiment::from_toml("e.toml", text).unwrap()
}

/// Whether a store that holds the first cell of one experiment has that of another.
fn is_found(stored: &Experiment, wanted: &Experiment) -> bool {
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(place.path()).unwrap();
    let interrupt = AtomicBool::new(false);
    let cell = |experiment| Cell {
        experiment,
        problem: &experiment.problems[0],
        method: &experiment.methods[0],
        interrupt: &interrupt,
    };
    store.put(&cell(stored), &cell(stored).run().unwrap().unwrap()).unwrap();
    assert!(store.get(&cell(stored)).is_some());
    store.get(&cell(wanted)).is_some()
}

#[test]
fn a_cell_is_found_again_and_not_by_code_from_other_sources() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment();
    let computed = |store: &Store| {
        let computed = std::sync::atomic::AtomicU64::new(0);
        let on_cell = |new: bool| {
            computed.fetch_add(u64::from(new), std::sync::atomic::Ordering::Relaxed);
        };
        super::super::run(&experiment, store, &AtomicBool::new(false), &on_cell).unwrap();
        computed.into_inner()
    };
    let store = Store::open(place.path()).unwrap();
    assert_eq!((computed(&store), computed(&store)), (2, 0));
    assert_eq!(SOURCES.len(), 16, "the build script says what the sources are");
    let other = store.built_from("other sources");
    assert_eq!((computed(&other), computed(&other)), (2, 0));
    // The old ones stay.
    assert_eq!(computed(&Store::open(place.path()).unwrap()), 0);
}

#[test]
fn every_setting_counts() {
    type Change = fn(&mut Experiment);
    let changes: [Change; 13] = [
        |it| it.trials = 3,
        |it| it.budget = 21,
        |it| it.seed = 1,
        |it| it.relative = true,
        |it| it.targets = vec![0.2],
        |it| it.tuning = None,
        |it| it.tuning.as_mut().unwrap().trials = 3,
        |it| it.methods[0].tuned = vec![TunedSetting { name: "p", values: Vec::new() }],
        |it| it.methods.swap(0, 1),
        |it| it.methods[0].name = "SGD".into(),
        |it| it.problems[0].name = "q".into(),
        |it| it.problems[0].start = vec![2.0],
        |it| it.problems[0].costs = Some(vec![1.0; 3]),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = experiment();
        change(&mut other);
        assert!(!is_found(&experiment(), &other), "change {number}");
    }
    assert!(is_found(&experiment(), &experiment()));
}

#[test]
fn a_cell_with_other_costs_is_another_one() {
    let with = |costs: [f64; 3]| {
        let mut it = experiment();
        it.problems[0].costs = Some(costs.into());
        it
    };
    assert!(is_found(&with([1.0, 1.0, 4.0]), &with([1.0, 1.0, 4.0])));
    assert!(!is_found(&with([1.0, 1.0, 4.0]), &with([1.0, 4.0, 1.0])));
}

/// Names that look the same in a file's name are told apart, and long ones fit into it.
#[test]
fn names_of_files_are_safe() {
    let named = |name: &str| {
        let mut it = experiment();
        it.problems[0].name = name.into();
        it.methods[0].name = "𝑚".repeat(50);
        it
    };
    assert!(is_found(&named("a/b"), &named("a/b")));
    assert!(!is_found(&named("a/b"), &named("a:b")));
    assert!(is_found(&named(&"𝑛".repeat(50)), &named(&"𝑛".repeat(50))));
}

fn on(problem: Arc<dyn Problem + Send>) -> Experiment {
    let start = vec![0.0; problem.dim()];
    let problem = NamedProblem { start, problem, ..experiment().problems.remove(0) };
    Experiment { problems: vec![problem], ..experiment() }
}

/// The same users, dimension, smoothness and optimum, and yet other gradients.
#[test]
fn gradients_count_and_not_only_constants() {
    // A center moves one way and another one back: the optimum and its value stay, as the curvatures do.
    let centers = |shift: f64| {
        let rows = [vec![shift, 1.0], vec![-shift, 1.0], vec![1.0, shift], vec![1.0, -shift]];
        Quadratic::diagonal(&vec![vec![1.0, 1.0]; 4], &rows).unwrap()
    };
    let mirrored = |one: &Quadratic, other: &Quadratic| {
        assert_eq!((one.smoothness(), one.optimum()), (other.smoothness(), other.optimum()));
        is_found(&on(Arc::new(one.clone())), &on(Arc::new(other.clone())))
    };
    assert!(mirrored(&centers(2.0), &centers(2.0)));
    assert!(!mirrored(&centers(2.0), &centers(-2.0)));
}

/// Beyond Huber's threshold an outlier's gradient does not say how far out it is; its cost does.
#[test]
fn data_loss_and_penalty_count() {
    let regression = |outlier: f64, loss: Loss, l2: f64| {
        let rows = Rows::Dense { dim: 1, values: vec![1.0, 1.0, 1.0, 2.0, 1.0] };
        let targets = vec![0.1, 0.2, outlier, 0.3, -0.1];
        on(Arc::new(Regression::new(rows, targets, &[0, 3, 5], loss, l2).unwrap()))
    };
    let huber = Loss::Huber { delta: 1.0 };
    assert!(is_found(&regression(100.0, huber, 0.1), &regression(100.0, huber, 0.1)));
    for other in [
        regression(101.0, huber, 0.1),
        regression(100.0, Loss::Huber { delta: 1.1 }, 0.1),
        regression(100.0, Loss::Squares, 0.1),
        regression(100.0, huber, 0.1 + 1e-15),
    ] {
        assert!(!is_found(&regression(100.0, huber, 0.1), &other));
    }
}
