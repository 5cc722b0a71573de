//! Times SAGA on logistic regression, each row of a LIBSVM file a user, for `scripts/compare_saga.py`.
//!
//! ```sh
//! cargo run --release -p sgq-bench --example saga_epoch -- FILE EPOCHS L2 SEED [--own-step] [--session]
//! ```
//!
//! Prints `{"epochs": …, "seconds": …, "objective": …}`. An epoch is as many steps as users; the time includes the first
//! question to every user, and neither reading the file nor finding the optimum. The step size is scikit-learn's,
//! `1 / (2L + min(2nλ, L))` with `L = L_max`, so that speed is compared and nothing else; `--own-step` takes `1 / (3L)`.
//! `--session` runs the general session, which keeps every user's whole gradient.

use std::{error::Error, process::ExitCode, time::Instant};

use sgq::{
    LinearSaga, Oracle as _, Problem, Session, Settings, StopReason, method,
    problem::{Loss, Regression},
};
use sgq_data::libsvm::{Options, Users, read};

const USAGE: &str = "usage: saga_epoch FILE EPOCHS L2 SEED [--own-step] [--session]";

fn main() -> ExitCode {
    let (flags, arguments): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let task = match Task::parse(&arguments, &flags) {
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
    file: String,
    epochs: u64,
    l2: f64,
    seed: u64,
    own_step: bool,
    session: bool,
}

impl Task {
    fn parse(arguments: &[String], flags: &[String]) -> Result<Self, String> {
        let [file, epochs, l2, seed] = arguments else {
            return Err(format!("{} arguments were given, expected 4", arguments.len()));
        };
        if let Some(flag) = flags.iter().find(|flag| !["--own-step", "--session"].contains(&flag.as_str())) {
            return Err(format!("there is no {flag}"));
        }
        let has = |name: &str| flags.iter().any(|flag| flag == name);
        Ok(Self {
            file: file.clone(),
            epochs: epochs.parse().map_err(|_| format!("the epochs are {epochs:?}: they must be a whole number"))?,
            l2: l2.parse().map_err(|_| format!("the penalty is {l2:?}: it must be a number"))?,
            seed: seed.parse().map_err(|_| format!("the seed is {seed:?}: it must be a whole number, from 0"))?,
            own_step: has("--own-step"),
            session: has("--session"),
        })
    }

    fn run(&self) -> Result<String, Box<dyn Error>> {
        let options = Options { users: Users::EachRow, loss: Some(Loss::Logistic), intercept: false };
        let problem = read(&self.file, &options)?.regression(Loss::Logistic, self.l2)?;
        let steps = self.epochs.checked_mul(problem.users() as u64).ok_or("so many epochs cannot be counted")?;
        let step_size = self.step_size(&problem);
        let start = Instant::now();
        let point = if self.session {
            self.in_session(&problem, step_size, steps)?
        } else {
            let mut saga = LinearSaga::new(&problem, &vec![0.0; problem.dim()], step_size, self.seed)?;
            if let reason @ StopReason::Diverged { .. } = saga.run(steps) {
                return Err(reason.to_string().into());
            }
            saga.point()
        };
        let seconds = start.elapsed().as_secs_f64();
        let (epochs, objective) = (self.epochs, problem.value(&point));
        Ok(format!(r#"{{"epochs": {epochs}, "seconds": {seconds}, "objective": {objective}}}"#))
    }

    fn step_size(&self, problem: &Regression) -> f64 {
        let largest = problem.smoothness().unwrap_or_default().iter().copied().fold(0.0, f64::max);
        if self.own_step {
            1.0 / (3.0 * largest)
        } else {
            1.0 / (2.0 * largest + largest.min(2.0 * problem.users() as f64 * self.l2))
        }
    }

    fn in_session(&self, problem: &Regression, step_size: f64, steps: u64) -> Result<Vec<f64>, Box<dyn Error>> {
        let (users, dim) = (problem.users(), problem.dim());
        let settings = Settings::new(vec![0.0; dim], users).step_size(step_size).seed(self.seed);
        let mut session = Session::new(method::saga(), settings.budget(users as u64 + steps))?;
        let mut gradient = vec![0.0; dim];
        while let Some(query) = session.ask()? {
            problem.gradient(query.user, &query.point, &mut gradient);
            session.tell(query.ticket, &gradient)?;
        }
        Ok(session.point().to_vec())
    }
}
