//! What one step costs, asking and telling, with the user's own work left out: SGQ's, which scans the whole table to
//! choose a user, beside SGD's and SAGA's, which draw one.

mod steady_state;

use std::{error::Error, time::Duration, time::Instant};

use criterion::{BenchmarkId, Criterion};
use sgq::{Method, Session, Sight, method};
use steady_state::Answers;

const SIZES: [(usize, usize); 4] = [(4, 1), (100, 10), (1_000, 100), (10_000, 100)];

/// A session remembers every answer it took. Each one measured starts afresh after this many steps, so that neither
/// its memory nor the distances between its points grow with the length of the measurement.
const STEPS_PER_SESSION: u64 = 4_096;

fn main() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .configure_from_args();
    for (users, dim) in SIZES {
        measure(&mut criterion, users, dim, "sgq", steady_state::sgq)?;
        measure(&mut criterion, users, dim, "sgd", method::sgd)?;
        measure(&mut criterion, users, dim, "saga", method::saga)?;
    }
    criterion.final_summary();
    Ok(())
}

fn measure(
    criterion: &mut Criterion,
    users: usize,
    dim: usize,
    name: &str,
    method: impl Fn() -> Method,
) -> Result<(), Box<dyn Error>> {
    const SEED: u64 = 1;
    let mut answers = Answers::new(dim, SEED);
    let smoothness = steady_state::smoothness(users, SEED);
    let steady = steady_state::session(method(), smoothness, &mut answers, SEED)?.snapshot()?;
    // A measurement cannot return an error: the last one waits here, and the measurement is void.
    let mut failure = Ok(());
    criterion.benchmark_group("step").bench_function(BenchmarkId::new(name, format!("n={users},d={dim}")), |bencher| {
        bencher.iter_custom(|steps| {
            time_steps(&method, &steady, &mut answers, steps).unwrap_or_else(|error| {
                failure = Err(error);
                Duration::from_secs(1)
            })
        });
    });
    failure
}

fn time_steps(
    method: &impl Fn() -> Method,
    steady: &[u8],
    answers: &mut Answers,
    steps: u64,
) -> Result<Duration, Box<dyn Error>> {
    let mut elapsed = Duration::ZERO;
    let mut left = steps;
    while left > 0 {
        let now = left.min(STEPS_PER_SESSION);
        let mut session = Session::restore(method(), steady, Sight::Blind)?;
        // The first step fetches the table into the cache, and sizes the scratch space.
        steady_state::take_steps(&mut session, answers, 1)?;
        let start = Instant::now();
        steady_state::take_steps(&mut session, answers, now)?;
        elapsed += start.elapsed();
        left -= now;
    }
    Ok(elapsed)
}
