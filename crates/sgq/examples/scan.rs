//! Writes one table that SGQ chooses from, and the user it chooses, so that other implementations of the same scan can
//! be checked and timed against it; prints the time of a step as one line of JSON.
//!
//! `scan <users> <dim> <folder> [seed]` writes little-endian `f64` files without a header: `gradients` and `points`
//! (a row of `dim` numbers for each user), `mean` and `point` (`dim` numbers), `smoothness` (a number for each user),
//! `step_size` and `chosen` (one number).

#[path = "../benches/steady_state.rs"]
mod steady_state;

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use sgq::{LastGradient, Query};
use steady_state::Answers;

const USAGE: &str = "usage: scan <users> <dim> <folder> [seed]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = match Task::parse(&arguments) {
        Ok(task) => task,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match task.run() {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

struct Task {
    users: usize,
    dim: usize,
    folder: PathBuf,
    seed: u64,
}

impl Task {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let (users, dim, folder, seed) = match arguments {
            [users, dim, folder] => (users, dim, folder, 1),
            [users, dim, folder, seed] => {
                let seed =
                    seed.parse().map_err(|_| format!("the seed is {seed:?}: it must be a whole number, from 0"))?;
                (users, dim, folder, seed)
            }
            _ => {
                return Err(format!("{} arguments were given, expected 3 or 4", arguments.len()));
            }
        };
        let users = positive("number of users", users)?;
        let dim = positive("dimension", dim)?;
        // The table must fit into memory several times over: twice in the session, and once more as bytes.
        if users.checked_mul(dim).is_none_or(|numbers| numbers > 1 << 28) {
            return Err(format!("a table of {users} times {dim} numbers is too large: at most 2^28 fit"));
        }
        Ok(Self { users, dim, folder: folder.into(), seed })
    }

    fn run(&self) -> Result<String, Box<dyn Error>> {
        let Self { users, dim, seed, .. } = *self;
        let smoothness = steady_state::smoothness(users, seed);
        let mut answers = Answers::new(dim, seed);
        let mut session = steady_state::session(steady_state::sgq(), smoothness.clone(), &mut answers, seed)?;

        // Asking leaves the table as it is: what is written now is what the choice was made from.
        let query = session.ask()?.ok_or("the session stopped by itself")?;
        let table = session.belief().ok_or("the method keeps no table")?;
        self.write(table, &query, &smoothness, session.step_size())?;

        let mut times = Vec::new();
        let steps_at_once = steps_at_once(users, dim);
        let begin = Instant::now();
        while times.len() < FEWEST_TIMES || (begin.elapsed() < LONGEST && times.len() < MOST_TIMES) {
            let start = Instant::now();
            steady_state::take_steps(&mut session, &mut answers, steps_at_once)?;
            times.push(start.elapsed().as_secs_f64() / steps_at_once as f64);
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] * 1e6;
        Ok(format!(
            r#"{{"users": {users}, "dim": {dim}, "seed": {seed}, "chosen": {}, "median_us": {:.4}, "lower_quartile_us": {:.4}, "upper_quartile_us": {:.4}}}"#,
            query.user,
            at(0.5),
            at(0.25),
            at(0.75),
        ))
    }

    fn write(&self, belief: &LastGradient, query: &Query, smoothness: &[f64], step_size: f64) -> io::Result<()> {
        let users = 0..self.users;
        let gradients: Vec<f64> = users.clone().flat_map(|user| belief.gradient(user).into_owned()).collect();
        let points: Vec<f64> = users.flat_map(|user| belief.point(user)).copied().collect();
        with_path(fs::create_dir_all(&self.folder), &self.folder)?;
        for (name, numbers) in [
            ("gradients", &*gradients),
            ("points", &*points),
            ("mean", belief.mean()),
            ("point", &query.point),
            ("smoothness", smoothness),
            ("step_size", &[step_size]),
            ("chosen", &[query.user as f64]),
        ] {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let path = self.folder.join(name).with_extension("f64");
            with_path(fs::write(&path, bytes), &path)?;
        }
        Ok(())
    }
}

const FEWEST_TIMES: usize = 21;
const MOST_TIMES: usize = 5_000;
const LONGEST: Duration = Duration::from_millis(300);

/// One step of a small table is too short for the clock.
fn steps_at_once(users: usize, dim: usize) -> u64 {
    (100_000 / (users * dim)).max(1) as u64
}

fn positive(what: &str, argument: &str) -> Result<usize, String> {
    match argument.parse() {
        Ok(0) | Err(_) => Err(format!("the {what} is {argument:?}: it must be a whole number, at least 1")),
        Ok(number) => Ok(number),
    }
}

/// An error of the file system does not say by itself which file it is about.
fn with_path<T>(result: io::Result<T>, path: &Path) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
