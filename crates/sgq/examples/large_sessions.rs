//! What a query costs with a million parameters, beside what it takes to move its numbers through memory.
//!
//!     cargo run --release -p sgq --example large_sessions [-- d n]

use std::{env, error::Error, hint::black_box, time::Instant};

use sgq::{Method, Random, Session, Settings, method};

const PASSES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let (dim, users) = match numbers[..] {
        [dim, users] => (dim, users),
        _ => (1_000_000, 20),
    };
    let each = seconds_a_number(dim);
    println!("{dim} parameters, {users} users; memory moves {:.1} GB/s in one thread", 8e-9 / each);
    println!("{:>8} {:>14} {:>18} {:>10}", "method", "a query, ms", "its numbers, ms", "ratio");
    // A step of SGD reads a gradient and a point, and writes the point. SAGA reads a gradient, and reads and writes the point, the
    // user's row of the table, and the mean.
    let methods = [
        ("sgd", method::shuffled_sgd(), Some(3.0)),
        ("saga", method::saga(), Some(7.0)),
        ("frugal", method::frugal(), None),
    ];
    for (name, method, moved) in methods {
        let spent = 1e3 * seconds_a_query(method, dim, users)?;
        match moved.map(|moved| 1e3 * moved * dim as f64 * each) {
            Some(moved) => println!("{name:>8} {spent:>14.2} {moved:>18.2} {:>10.2}", spent / moved),
            None => println!("{name:>8} {spent:>14.2}"),
        }
    }
    Ok(())
}

/// What it takes to read or to write a number in memory: vectors as long as these, and so many of them that they are in no cache.
fn seconds_a_number(dim: usize) -> f64 {
    let vectors = (1 << 26) / dim + 2;
    let (mut y, x) = (vec![1.0; vectors * dim], vec![1e-3; vectors * dim]);
    let pairs = y.chunks_exact_mut(dim).zip(x.chunks_exact(dim));
    let times = pairs.map(|(y, x)| {
        let started = Instant::now();
        y.iter_mut().zip(x).for_each(|(y, x)| *y += 0.5 * x);
        black_box(y);
        started.elapsed().as_secs_f64()
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2] / (3 * dim) as f64
}

/// For `ask` and `tell`, in the fastest pass over all users after the first two.
fn seconds_a_query(method: Method, dim: usize, users: usize) -> Result<f64, Box<dyn Error>> {
    let mut random = Random::new(1, "cost");
    let centers: Vec<f64> = (0..dim * users).map(|_| random.unit()).collect();
    let settings = Settings::new(vec![0.0; dim], users).smoothness(vec![2.0; users]);
    let mut session = Session::new(method, settings)?;
    let (mut gradient, mut least) = (vec![0.0; dim], f64::INFINITY);
    for pass in 0..PASSES {
        let mut spent = 0.0;
        for _ in 0..users {
            let started = Instant::now();
            let Some(query) = session.ask()? else { break };
            spent += started.elapsed().as_secs_f64();
            let center = &centers[query.user * dim..][..dim];
            for (k, gradient) in gradient.iter_mut().enumerate() {
                *gradient = (0.5 + ((k + query.user) % 4) as f64 / 2.0) * (query.point[k] - center[k]);
            }
            let started = Instant::now();
            session.tell(query.ticket, &gradient)?;
            spent += started.elapsed().as_secs_f64();
        }
        if pass >= 2 {
            least = f64::min(least, spent / users as f64);
        }
    }
    Ok(least)
}
