//! What `sgq reproduce` costs: both figures of the paper at 200 trials, computed, drawn and written.

use std::{error::Error, hint::black_box, sync::atomic::AtomicBool};

use criterion::Criterion;
use sgq_bench::{
    Experiment,
    output::{Claim, Folder, write_curves},
    run::{Control, Results, run},
    summary::Summary,
};

const FILES: [(&str, &str); 2] = [
    ("paper-fig1.toml", include_str!("../experiments/paper-fig1.toml")),
    ("paper-fig2.toml", include_str!("../experiments/paper-fig2.toml")),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    // A measurement cannot return an error: the first one waits here, and the measurement is void.
    let mut failure = Ok(());
    let mut group = criterion.benchmark_group("reproduce all");
    group.bench_function("compute", |bencher| {
        bencher.iter(|| note(&mut failure, compute().map(|runs| drop(black_box(runs)))));
    });
    group.bench_function("compute, draw and write", |bencher| {
        bencher.iter(|| note(&mut failure, compute_and_write()));
    });
    group.finish();
    criterion.final_summary();
    failure
}

fn note(failure: &mut Result<(), Box<dyn Error>>, result: Result<(), Box<dyn Error>>) {
    if failure.is_ok() {
        *failure = result;
    }
}

fn compute() -> Result<Vec<(Experiment, Results)>, Box<dyn Error>> {
    let interrupt = AtomicBool::new(false);
    let control = Control { interrupt: &interrupt, on_trial: &|| {}, trace: None, choices: false };
    let mut runs = Vec::new();
    for (file, text) in FILES {
        let experiment = Experiment::from_toml(file, text)?;
        let results = run(&experiment, &control);
        runs.push((experiment, results));
    }
    Ok(runs)
}

fn compute_and_write() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let mut folder = Folder::open(place.path(), Claim::new("reproduce", &()))?;
    let runs = compute()?;
    for (experiment, results) in &runs {
        write_curves(&mut folder, &experiment.name, false, experiment, results)?;
    }
    folder.write("summary.json", serde_json::to_string_pretty(&Summary::new(&runs))?)?;
    Ok(folder.commit()?)
}
