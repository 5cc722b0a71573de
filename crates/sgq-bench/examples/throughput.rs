//! What a durable query costs, beside what the disk itself needs to make as many bytes durable, in the same run. Prints a table, and
//! writes docs/figures/durable.svg:
//!
//!     cargo run --release -p sgq-bench --example throughput [FOLDER]

use std::{
    env, fs,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use sgq::{Session, Settings, method};
use sgq_bench::figure::{Curve, Figure, Point};
use sgq_ledger::{Ledger, LedgerError, Plan, Reply, User};

const USERS: usize = 20;
const FIGURE: &str = "docs/figures/durable.svg";
/// Parameters, and how many queries are timed.
const SIZES: [(usize, usize); 5] = [(10, 960), (100, 960), (1000, 960), (10_000, 384), (100_000, 192)];
const AIM: f64 = 0.5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir_in(env::args().nth(1).unwrap_or_else(|| ".".to_owned()))?;
    println!(
        "milliseconds a query, medians of {ROUNDS} rounds; the disk: appending as many bytes to a file, with fsync as often\n"
    );
    println!("{:>7}  {:<34} {:>8} {:>8} {:>8} {:>10}", "d", "", "ledger", "disk", "share", "in memory");
    let mut curves = Vec::new();
    for (name, way, out) in [
        ("ask, tell", Way::Apart, 1),
        ("tell and the next ask as one", Way::Together, 1),
        ("16 answers and questions as one", Way::Together, 16),
    ] {
        let mut points = Vec::new();
        for (dim, queries) in SIZES {
            let share = Share::measure(folder.path(), dim, queries, way, out)?;
            let [ledger, disk, memory] = [share.ledger, share.disk, share.memory].map(median);
            let part = disk / ledger;
            println!("{dim:>7}  {name:<34} {ledger:>8.3} {disk:>8.3} {part:>8.2} {memory:>10.3}");
            points.push(Point { x: (dim as f64).log10(), mean: part.min(1.0), error: f64::NAN });
        }
        curves.push(Curve { label: name.into(), points, ..Curve::default() });
    }
    let ends = [SIZES[0].0, SIZES[SIZES.len() - 1].0].map(|dim| (dim as f64).log10());
    let points = ends.map(|x| Point { x, mean: AIM, error: f64::NAN }).to_vec();
    curves.push(Curve { label: "the aim".into(), points, dashed: true, ..Curve::default() });
    let figure = Figure {
        title: "How much of what the disk's own fsync allows a ledger reaches".into(),
        x_label: "parameters, as a power of ten".into(),
        y_label: "time of the disk over time of the ledger".into(),
        curves,
        y_range: None,
        parts: true,
    };
    fs::write(FIGURE, figure.svg())?;
    println!("\nwritten to {FIGURE}");
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Every call is a write of its own.
    Apart,
    /// Answers, and the questions after them, are one write.
    Together,
}

/// Milliseconds a query, round by round.
#[derive(Default)]
struct Share {
    ledger: Vec<f64>,
    disk: Vec<f64>,
    memory: Vec<f64>,
}

/// The work is cut into rounds, which take turns with the disk's own: it is not equally fast at all times.
const ROUNDS: usize = 12;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Share {
    fn measure(
        folder: &Path,
        dim: usize,
        queries: usize,
        way: Way,
        out: usize,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let path = folder.join("study.sgq");
        let users = (0..USERS).map(|user| User::named(format!("clinic-{user}"))).collect();
        let settings = Settings::new(vec![1.0; dim], USERS).step_size(0.01).budget(10 * queries as u64).open(out);
        let mut session = Session::new(method::shuffled_sgd(), settings.clone())?;
        let mut ledger = Ledger::create(&path, &Plan::new(method::shuffled_sgd(), settings, users))?;
        let mut file = fs::File::create(folder.join("disk"))?;
        let mut share = Self::default();
        let each = queries / ROUNDS;
        let a_query = |time: Duration| 1e3 * time.as_secs_f64() / each as f64;
        // Files grow before anything is measured.
        ask_and_tell(&mut ledger, out, way, out)?;
        for _ in 0..ROUNDS {
            let began = Instant::now();
            ask_and_tell(&mut ledger, each, way, out)?;
            share.ledger.push(a_query(began.elapsed()));
            let began = Instant::now();
            append(&mut file, dim, each, way, out)?;
            share.disk.push(a_query(began.elapsed()));
            let began = Instant::now();
            for _ in 0..each {
                let query = session.ask()?.ok_or("the budget is spent")?;
                session.tell(query.ticket, &gradient(&query.point))?;
            }
            share.memory.push(a_query(began.elapsed()));
        }
        ledger.close()?;
        for name in ["study.sgq", "study.sgq-lock", "disk"] {
            fs::remove_file(folder.join(name))?;
        }
        Ok(share)
    }
}

fn gradient(point: &[f64]) -> Vec<f64> {
    point.iter().enumerate().map(|(place, x)| x - 1.0 / (1.0 + place as f64)).collect()
}

fn ask_and_tell(ledger: &mut Ledger, queries: usize, way: Way, out: usize) -> Result<(), LedgerError> {
    let tell = |ledger: &mut Ledger| -> Result<(), LedgerError> {
        for question in ledger.pending() {
            ledger.tell(question.ticket, &Reply::new(gradient(&question.point)))?;
        }
        Ok(())
    };
    for _ in 0..queries / out {
        if way == Way::Apart {
            ledger.ask()?;
            tell(ledger)?;
        } else {
            ledger.group(|ledger| {
                tell(ledger)?;
                ledger.ask_many(out).map(drop)
            })?;
        }
    }
    Ok(())
}

/// A point and a gradient for each query, made durable as often as the ledger does.
fn append(file: &mut fs::File, dim: usize, queries: usize, way: Way, out: usize) -> std::io::Result<()> {
    let bytes = vec![1; 8 * dim];
    for _ in 0..queries / out {
        for _ in 0..out {
            file.write_all(&bytes)?;
            if way == Way::Apart {
                file.sync_all()?;
            }
            file.write_all(&bytes)?;
        }
        file.sync_all()?;
    }
    Ok(())
}
