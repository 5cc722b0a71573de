use std::sync::{Arc, atomic::AtomicU64};

use sgq::{Problem, Session, Settings, method, random::derive_seed, simulate::gap_curve};

use super::*;
use crate::{
    output::{Claim, Folder},
    random_problem::Traits,
    renumbered::Renumbered,
};

fn options() -> Options {
    Options {
        problems: 5,
        seed: 1,
        limits: Limits { users: 12, dim: 4 },
        methods: vec!["saga".into(), "iqn".into()],
        learned: false,
        against: "shuffled-sgd".into(),
        trials: 3,
        tuning_trials: 4,
        budget_per_user: 4.0,
        targets: vec![0.1, 0.01],
    }
}

fn measured(options: &Options) -> Outcome {
    let place = tempfile::tempdir().unwrap();
    run(options, &Store::open(place.path()).unwrap(), &AtomicBool::new(false), &|| {}).unwrap()
}

#[test]
fn every_method_is_measured_on_every_problem() {
    let outcome = measured(&options());
    assert_eq!((outcome.cells.len(), outcome.unfinished, outcome.kept), (15, 0, 0));
    for (place, cell) in outcome.cells.iter().enumerate() {
        let (method, tuning) =
            [("shuffled-sgd", Tuned::Tuned), ("saga", Tuned::Untuned), ("iqn", Tuned::Untuned)][place % 3];
        assert_eq!((cell.problem.index, &*cell.method, cell.tuning), (place as u64 / 3, method, tuning));
        assert_eq!((cell.budget, cell.curve.len()), (60, 61));
        // Gaps are relative to the start, which no highest gap is below.
        assert!((cell.curve[0].unwrap() - 1.0).abs() < 1e-12);
        assert!(cell.transient.is_none_or(|it| it >= 1.0 - 1e-12));
        assert!(cell.trial_transient.is_none_or(|it| it >= cell.transient.unwrap() - 1e-12));
        assert!(cell.targets[0].queries.is_none_or(|it| it >= 1 && it <= cell.targets[1].queries.unwrap_or(u64::MAX)));
        // The curve is that of the smallest target that is reached, and crosses it there.
        if let Some(at) = cell.targets.iter().rfind(|at| at.queries.is_some()) {
            let first = cell.curve.iter().position(|gap| gap.is_some_and(|gap| gap <= at.target));
            assert_eq!(first.map(|first| first as u64), at.queries);
        }
        if cell.tuning == Tuned::Tuned {
            assert_eq!(outcome.ratio(cell, 0), cell.targets[0].queries.map(|_| 1.0));
        }
    }
}

/// The competitor's queries are those of its settings on the trials of everybody else, and it was tuned on others.
#[test]
fn the_competitor_is_tuned_at_each_target() {
    let options = Options { methods: vec!["shuffled-sgd".into()], problems: 3, ..options() };
    let outcome = measured(&options);
    for pair in outcome.cells.as_chunks::<2>().0 {
        let problem = random_problem(options.seed, pair[0].problem.index, options.limits).unwrap();
        // Its default is another step, the same for every target.
        assert_eq!(pair[1].tuning, Tuned::Untuned);
        assert_eq!(pair[1].targets[0].step_size, pair[1].targets[1].step_size);
        for (tuned, untuned) in pair[0].targets.iter().zip(&pair[1].targets) {
            assert_eq!(untuned.queries, by_library(&options, &problem, untuned.step_size, untuned.target));
            assert!(tuned.step_size > 0.0 && tuned.step_size != untuned.step_size);
        }
    }
    let reached =
        |place: usize| outcome.cells.iter().skip(place).step_by(2).filter(|it| it.targets[1].queries.is_some());
    assert!(reached(0).count() >= reached(1).count());
    // More tuning trials are other results; the methods that are not tuned are kept.
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(place.path()).unwrap();
    run(&options, &store, &AtomicBool::new(false), &|| {}).unwrap();
    let other = Options { tuning_trials: 5, ..options };
    assert_eq!(run(&other, &store, &AtomicBool::new(false), &|| {}).unwrap().kept, 3);
}

/// The first query at which shuffled SGD's mean gap is at a target, straight from the library.
fn by_library(options: &Options, it: &RandomProblem, step_size: f64, target: f64) -> Option<u64> {
    let budget = options.budget(it.traits.users);
    let start = vec![0.0; it.traits.dim];
    let curves: Vec<Vec<f64>> = (0..options.trials)
        .map(|trial| {
            let seed = derive_seed(options.seed, &format!("random {}", it.traits.index), trial);
            let problem = Renumbered::new(&(Arc::new(it.problem.clone()) as Arc<dyn Problem + Send>), seed);
            let settings = Settings::for_problem(start.clone(), &problem).step_size(step_size).seed(seed);
            let mut session = Session::new(method::shuffled_sgd(), settings).unwrap();
            gap_curve(&mut session, &problem, budget, |_| Ok(())).unwrap().gaps
        })
        .collect();
    let at = target * it.problem.gap(&start).unwrap() * options.trials as f64;
    (0..=budget).find(|queries| curves.iter().map(|gaps| gaps[*queries as usize]).sum::<f64>() <= at)
}

#[test]
fn the_result_does_not_depend_on_the_threads_and_goes_on_after_an_interrupt() {
    let options = Options { problems: 3, ..options() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let whole = pool.install(|| measured(&options));
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(place.path()).unwrap();
    let interrupt = AtomicBool::new(false);
    let finished = AtomicU64::new(0);
    let stop_after_four = || {
        let now = finished.fetch_add(1, Ordering::Relaxed) + 1;
        interrupt.store(now == 4, Ordering::Relaxed);
    };
    let first = run(&options, &store, &interrupt, &stop_after_four).unwrap();
    assert_eq!((first.cells.len(), first.unfinished), (4, 5));
    assert_eq!(first.cells, whole.cells[..4]);
    // A summary of what is there does not trip over what is not.
    assert_eq!(first.summaries(&options)[1].problems, 1);
    let rest = run(&options, &store, &AtomicBool::new(false), &|| {}).unwrap();
    assert_eq!((rest.kept, rest.unfinished), (4, 0));
    assert_eq!(rest.cells, whole.cells);
    // Other settings are other results.
    let other = run(&Options { trials: 2, ..options.clone() }, &store, &AtomicBool::new(false), &|| {}).unwrap();
    assert_eq!(other.kept, 0);
    // And so is what other code measures.
    let other = run(&options, &store.built_from("other sources"), &AtomicBool::new(false), &|| {}).unwrap();
    assert_eq!((other.kept, other.cells), (0, whole.cells));
}

fn cell(index: u64, method: &str, tuning: Tuned, queries: [Option<u64>; 2], transient: Option<f64>) -> Measured {
    let traits = Traits {
        index,
        loss: sgq::problem::Loss::Squares,
        users: 20,
        dim: 3,
        condition: 123.4,
        heterogeneity: 0.5,
        shift: 0.0,
        spread: 1.5,
        rows: 7.6,
        l2: 1.23e-4,
    };
    let at = [0.1, 0.01].into_iter().zip(queries);
    Measured {
        problem: traits,
        budget: 79,
        method: method.into(),
        tuning,
        targets: at.map(|(target, queries)| AtTarget { target, queries, step_size: 0.25 }).collect(),
        transient,
        trial_transient: transient.map(|it| 2.0 * it),
        diverged: transient.is_none_or(|it| it > 1e6),
        curve: vec![Some(1.0), transient, None],
    }
}

/// Five problems by hand: even, twice as slow, not reached, only the method reaches, neither does.
fn by_hand() -> (Options, Outcome) {
    let sgd = |index, queries| cell(index, "sgd", Tuned::Tuned, [queries, None], Some(1.0));
    let saga = |index, queries, transient| cell(index, "saga", Tuned::Untuned, [queries, None], transient);
    let cells = vec![
        sgd(0, Some(10)),
        saga(0, Some(12), Some(1.0)),
        sgd(1, Some(10)),
        saga(1, Some(20), Some(1.5)),
        sgd(2, Some(10)),
        saga(2, None, None),
        sgd(3, None),
        saga(3, Some(5), Some(2.5)),
        sgd(4, None),
        saga(4, None, Some(1e7)),
    ];
    let options = Options { methods: vec!["saga".into()], against: "sgd".into(), ..options() };
    (options, Outcome { cells, ..Outcome::default() })
}

#[test]
fn the_summary_by_hand() {
    let (options, outcome) = by_hand();
    let summary = &outcome.summaries(&options)[0];
    assert_eq!((summary.problems, summary.transient_above_2, summary.trial_transient_above_2), (5, 3, 4));
    assert_eq!(summary.diverged, 2);
    let at = &summary.targets[0];
    assert_eq!((at.problems, at.reached, at.within, at.only_method), (3, 2, 1, 1));
    // Ratios 1.2, 2, and at least 80 / 10.
    assert!((at.mean_ratio.unwrap() - (1.2f64 * 2.0 * 8.0).cbrt()).abs() < 1e-12);
    let worst: Vec<_> = at.worst.iter().map(|it| (it.problem, it.queries, it.against, it.ratio)).collect();
    assert_eq!(worst, [(2, None, 10, 8.0), (1, Some(20), 10, 2.0)]);
    let nobody = &summary.targets[1];
    assert_eq!((nobody.problems, nobody.mean_ratio, nobody.only_method), (0, None, 0));
    assert_eq!(nobody.worst, []);

    let tables = tables(&options, &outcome);
    assert_eq!(tables[0].title, "relative gap 0.1: tuned sgd reaches it on 3 of 5 problems");
    assert_eq!(tables[0].lines, [["saga", "1 of 3", "2 of 3", "≥ 2.68", "1"]]);
    assert_eq!(tables[1].lines, [["saga", "0 of 0", "0 of 0", "–", "0"]]);
    assert_eq!(tables[2].lines, [["saga", "3 of 5", "4 of 5", "2 of 5"]]);
    let kind = "squares, n 20, d 3, κ 120, h 0.5, shift 0, spread 1.5, 8 rows, λ 1.2e-4";
    assert_eq!(tables[3].lines[0], [&*format!("saga on 2: {kind}"), "0.1", "–", "10", "> 8"]);
}

#[test]
fn files_by_hand() {
    let (options, outcome) = by_hand();
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path(), Claim::new("bench random", &()).writes(FILES)).unwrap();
    write(&mut folder, &options, &outcome).unwrap();
    folder.commit().unwrap();
    assert_eq!(folder.written(), FILES);
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let csv = read("problems.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 11);
    assert_eq!(
        lines[0],
        "problem,loss,users,dim,condition,heterogeneity,shift,spread,rows,l2,budget,method,tuning,queries_0.1,ratio_0.1,\
         step_size_0.1,queries_0.01,ratio_0.01,step_size_0.01,transient,trial_transient,diverged"
    );
    let kind = "squares,20,3,123.4,0.5,0.0,1.5,7.6,0.000123,79";
    assert_eq!(lines[4], format!("1,{kind},saga,untuned,20,2.0,0.25,,,0.25,1.5,3.0,false"));
    assert_eq!(lines[6], format!("2,{kind},saga,untuned,,,0.25,,,0.25,,,true"));
    let curves = read("curves.csv");
    assert!(
        curves.starts_with("problem,method,tuning,queries,gap_mean\n0,sgd,tuned,0,1.0\n0,sgd,tuned,1,1.0\n0,saga,")
    );
    let json: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    assert_eq!(json["cells"][3]["targets"][0]["ratio"], 2.0);
    assert_eq!(json["cells"][5]["transient"], serde_json::Value::Null);
    assert_eq!(json["methods"][0]["targets"][0]["worst"][0]["problem"], 2);
}

#[test]
fn budgets_go_with_the_users_within_limits() {
    let budgets =
        |per_user: f64| [4, 50, 1000].map(|users| Options { budget_per_user: per_user, ..options() }.budget(users));
    assert_eq!(budgets(4.0), [60, 200, 600]);
    assert_eq!(budgets(0.5), [60, 60, 500]);
    assert_eq!(budgets(1e300), [600, 600, 600]);
}

/// Methods that are told no `L_i` have another name, and other numbers.
#[test]
fn learned_smoothness() {
    let known = Options { methods: vec!["frugal".into()], ..options() };
    let learned = Options { learned: true, ..known.clone() };
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(place.path()).unwrap();
    let [known, learned] = [known, learned].map(|options| {
        let outcome = run(&options, &store, &AtomicBool::new(false), &|| {}).unwrap();
        outcome.summaries(&options).remove(0)
    });
    assert_eq!((known.method.as_str(), learned.method.as_str()), ("frugal", "frugal-learned"));
    assert_eq!((known.problems, learned.problems), (5, 5));
    assert_ne!(known.targets, learned.targets);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (wrong, expected) in [
        (Options { problems: 0, ..options() }, "0 problems: give between 1 and 100000"),
        (Options { trials: 0, ..options() }, "0 trials: give between 1 and 1000000"),
        (Options { tuning_trials: 0, ..options() }, "0 tuning trials: give between 1 and 1000000"),
        (Options { methods: names(&["sqg"]), ..options() }, "there is no method \"sqg\"; did you mean \"sgq\"?"),
        (Options { methods: names(&["saga", "saga"]), ..options() }, "the method saga is there twice"),
        (Options { methods: Vec::new(), ..options() }, "there are no methods"),
        (Options { learned: true, ..options() }, "saga cannot do without L_i: take methods that learn them"),
        (Options { against: "adam".into(), ..options() }, "there is no method \"adam\"; there are: frugal, "),
        (Options { targets: vec![1.0], ..options() }, "the target is 1: it must lie between 0 and 1"),
        (Options { targets: vec![f64::NAN], ..options() }, "the target is NaN: it must lie between 0 and 1"),
        (Options { targets: vec![0.1, 0.1], ..options() }, "the target 0.1 is there twice"),
        (Options { targets: vec![0.01, 0.1], ..options() }, "the target 0.1 comes after 0.01: give the largest first"),
        (Options { targets: Vec::new(), ..options() }, "there are no targets"),
        (Options { budget_per_user: -1.0, ..options() }, "the budget is -1 queries a user: it must be positive"),
        (Options { budget_per_user: f64::INFINITY, ..options() }, "the budget is inf queries a user"),
    ] {
        let message = wrong.check().unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
