//! What a step of `frugal` costs, by users and parameters, on users who answer at once; with gradients, and with Hessians too.
//!
//!     cargo run --release -p sgq --example frugal_cost

use std::{error::Error, time::Instant};

use sgq::{Answer, Detail, Random, Session, Settings, answer::packed, method};

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:>8} {:>8} {:>10} {:>14} {:>14} {:>14}",
        "n", "d", "answers", "first pass, µs", "second, µs", "sixth, µs"
    );
    let gradients = [
        (60, 10),
        (1_000, 10),
        (60, 30),
        (60, 100),
        (60, 200),
        (60, 250),
        (60, 256),
        (60, 257),
        (60, 1_000),
        (60, 100_000),
        (20, 1_000_000),
        (1_000_000, 10),
    ];
    let hessians = [(60, 10), (1_000, 10), (60, 30), (60, 100), (60, 200)];
    let cases = gradients.map(|case| (case, Detail::Gradient)).into_iter();
    for ((users, dim), answers) in cases.chain(hessians.map(|case| (case, Detail::Hessian))) {
        let steps = users.min(60);
        let mut random = Random::new(1, "cost");
        let centers: Vec<f64> = (0..dim * users.min(1_000)).map(|_| random.unit()).collect();
        let settings = Settings::new(vec![0.0; dim], users).smoothness(vec![2.0; users]).answers(answers);
        let mut session = Session::new(method::frugal(), settings)?;
        let mut take = |steps: usize| -> Result<f64, Box<dyn Error>> {
            let mut spent = 0.0;
            for _ in 0..steps {
                let started = Instant::now();
                let Some(query) = session.ask()? else { break };
                spent += started.elapsed().as_secs_f64();
                let center = &centers[query.user % 1_000.min(users) * dim..][..dim];
                let curvature = |k: usize| 0.5 + ((k + query.user) % 4) as f64 / 2.0;
                let gradient: Vec<f64> = (0..dim).map(|k| curvature(k) * (query.point[k] - center[k])).collect();
                let mut answer = Answer::new(&gradient);
                let hessian = match answers {
                    Detail::Hessian => {
                        let mut hessian = vec![0.0; dim * dim];
                        (0..dim).for_each(|k| hessian[k * (dim + 1)] = curvature(k));
                        packed(&hessian, dim)
                    }
                    _ => Vec::new(),
                };
                answer.hessian = (answers == Detail::Hessian).then_some(&*hessian);
                let started = Instant::now();
                session.tell(query.ticket, answer)?;
                spent += started.elapsed().as_secs_f64();
            }
            Ok(1e6 * spent / steps as f64)
        };
        let early = take(steps)?;
        let (mut second, mut sixth) = (f64::NAN, f64::NAN);
        if users <= 1_000 {
            take(users - steps.min(users))?;
            second = take(steps)?;
        }
        if users <= 60 && dim <= 1_000 {
            // By now 300 directions were answered.
            take(4 * users - steps)?;
            sixth = take(steps)?;
        }
        println!("{users:>8} {dim:>8} {:>10} {early:14.1} {second:14.1} {sixth:14.1}", answers.to_string());
    }
    Ok(())
}
