use std::collections::BTreeSet;

use sgq::Format;

use super::*;
use crate::output::Claim;

fn options() -> Options {
    Options {
        // Enough for the lazy search to be the faster one.
        users: 1_000,
        dim: 4,
        steps: 250,
        method: StepKind::Sgq,
        explore: 0.0,
        bonus_weight: 1.0,
        step_size: None,
        naive_every: 1,
        seed: 3,
        storage: Storage::default(),
    }
}

fn control(interrupt: &AtomicBool) -> Control<'_> {
    Control { interrupt, on_answer: &|_| {} }
}

fn measured(options: &Options) -> Measurement {
    choose(options, &control(&AtomicBool::new(false)), None).unwrap()
}

#[test]
fn both_searches_choose_alike_and_the_gap_falls() {
    for (method, explore, format) in
        [(StepKind::Sgq, 0.0, Format::F64), (StepKind::SagaSgq, 0.0, Format::F32), (StepKind::Sgq, 0.3, Format::F64)]
    {
        let it = measured(&Options { method, explore, storage: format.into(), dim: 100, ..options() });
        assert!(it.rows_read_mean < Some(200.0), "{:?}", it.rows_read_mean);
        assert_eq!((it.agree, it.compared, it.steps, it.averaged_from_step), (Some(true), 250, 250, 100));
        assert!(it.gap_at_end < 0.5 * it.gap_at_start, "{method:?}: {} to {}", it.gap_at_start, it.gap_at_end);
        assert!((it.explored > 40 && it.explored < 110) || explore == 0.0, "{}", it.explored);
        assert!(it.distinct_points_mean > Some(10.0) && it.distinct_points_mean <= Some(251.0));
    }
}

#[test]
fn the_naive_scan_can_be_rare_or_left_out() {
    for (naive_every, compared) in [(7, 35), (250, 1), (251, 0), (0, 0)] {
        let it = measured(&Options { naive_every, ..options() });
        assert_eq!((it.compared, it.agree), (compared, (compared > 0).then_some(true)));
        assert_eq!(it.naive_us_per_step.is_some(), compared > 0);
        assert!(it.lazy_us_per_step > Some(0.0));
    }
}

/// A search that looks for something else is found out, at its first step that differs.
#[test]
fn a_wrong_search_is_found_out() {
    let options = options();
    let interrupt = AtomicBool::new(false);
    let other = SurrogateEi::new(0.0).bonus_weight(0.0);
    let run = Run {
        dump: None,
        options: &options,
        control: &control(&interrupt),
        problem: HashedQuadratics::new(options.users, options.dim, options.seed, &AtomicBool::new(false)).unwrap(),
        choice: SideBySide::new(other, SurrogateEi::new(0.0), 1),
    };
    let it = run.measure(Sgd).unwrap();
    assert_eq!(it.agree, Some(false));
    let first = it.disagreement.unwrap();
    assert!(first.naive != first.lazy && first.step < 250);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let interrupt = AtomicBool::new(false);
    let answers = std::cell::Cell::new(0);
    let on_answer = |stage: Stage| {
        answers.set(answers.get() + 1);
        assert_eq!(stage, if answers.get() <= 1_000 { Stage::Sweep } else { Stage::Steps });
        interrupt.store(answers.get() == 1_010, Ordering::Relaxed);
    };
    let it = choose(&options(), &Control { interrupt: &interrupt, on_answer: &on_answer }, None).unwrap();
    assert_eq!((it.steps, it.ended_early, it.averaged_from_step), (10, Some(EndedEarly::Interrupted), 0));
    assert!(it.lazy_us_per_step.is_some() && it.agree == Some(true));
}

#[test]
fn divergence_is_no_error() {
    let it = measured(&Options { step_size: Some(1e3), ..options() });
    assert_eq!(it.ended_early, Some(EndedEarly::Diverged));
    assert!(it.steps < 250);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_computed() {
    for (wrong, expected) in [
        (Options { users: 0, ..options() }, "there are no users"),
        (Options { dim: 0, ..options() }, "no coordinates"),
        (Options { explore: 1.5, ..options() }, "p is 1.5: it must lie in [0, 1]"),
        (Options { explore: f64::NAN, ..options() }, "p is NaN"),
        (Options { bonus_weight: -1.0, ..options() }, "bonus is -1"),
        (Options { step_size: Some(f64::NAN), ..options() }, "the step size is NaN"),
        (Options { users: usize::MAX / 2, dim: 1000, ..options() }, "more than this machine can address"),
    ] {
        let message = wrong.check().unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let bytes = (Options { users: 1000, dim: 100, ..options() }).estimate().table;
    assert_eq!(bytes, 800_000);
}

#[test]
fn the_table_is_dumped_with_each_point_once() {
    let place = tempfile::tempdir().unwrap();
    let small = Options { users: 5, steps: 2, ..options() };
    let mut folder = Folder::open(&place.path().join("t"), Claim::new("bench choose", &()).writes(DUMP_FILES)).unwrap();
    choose(&small, &control(&AtomicBool::new(false)), Some(&mut folder)).unwrap();
    assert_eq!(folder.written().iter().collect::<BTreeSet<_>>(), DUMP_FILES.map(str::to_owned).iter().collect());
    let numbers = |name: &str| -> Vec<f64> {
        let bytes = std::fs::read(place.path().join("t").join(name)).unwrap();
        bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    let (gradients, places) = (numbers("gradients.f64"), numbers("places.f64"));
    assert_eq!((gradients.len(), places.len()), (20, 5));
    let distinct = places.iter().copied().fold(0.0, f64::max) + 1.0;
    assert!(distinct == 2.0 || distinct == 3.0);
    assert_eq!(numbers("points.f64").len() as f64, 4.0 * distinct);
    for coordinate in 0..4 {
        let sum: f64 = gradients.iter().skip(coordinate).step_by(4).sum();
        assert!((numbers("mean.f64")[coordinate] - sum / 5.0).abs() < 1e-12);
    }
    assert!(numbers("chosen.f64")[0] < 5.0);
}
