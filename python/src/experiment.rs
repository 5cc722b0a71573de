//! Experiments and certificates: many methods on problems, and what theory says of them.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use numpy::PyArray1;
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
};
use sgq_bench::{
    Experiment,
    certify::{CertificateFile, Options, RegionSpec, certify},
    experiment::{MAX_BUDGET, MAX_TRIALS, NamedMethod, NamedProblem, PAPER},
    run::{Control, run},
};

use crate::{
    errors,
    keywords::step_rule,
    method,
    problem::Problem,
    types::{ArrayLike, Floats, Keywords, StepRule},
};

/// How often a run looks for Ctrl-C and tells how far it is.
const PAUSE: Duration = Duration::from_millis(10);

/// What to run: read from a file, or put together.
#[pyclass(frozen, module = "sgq", name = "Experiment")]
pub struct PyExperiment {
    inner: Experiment,
}

#[pymethods]
impl PyExperiment {
    /// From a TOML file; "fig1" and "fig2" are the paper's.
    #[staticmethod]
    #[pyo3(signature = (path, problems, methods, trials, budget, seed))]
    fn read(
        path: PathBuf,
        problems: Vec<String>,
        methods: Vec<String>,
        trials: Option<u64>,
        budget: Option<u64>,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        let ours = PAPER.iter().find(|(name, ..)| path.as_os_str() == *name);
        let (file, text) = match ours {
            Some((_, file, text)) => ((*file).to_owned(), (*text).to_owned()),
            None => {
                let file = path.display().to_string();
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| PyOSError::new_err(format!("cannot read the experiment {file}: {error}")))?;
                (file, text)
            }
        };
        let read = Experiment::with_problems(&file, &text, &problems);
        let mut inner = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        inner.keep_methods(&methods).map_err(PyValueError::new_err)?;
        inner.trials = trials.unwrap_or(inner.trials);
        inner.budget = budget.unwrap_or(inner.budget);
        inner.seed = seed.unwrap_or(inner.seed);
        if inner.tuning.is_some() {
            return Err(PyValueError::new_err(format!(
                "{file} tunes its step sizes: run it with the command line (sgq run {file}), or take out [tuning]"
            )));
        }
        Self::checked(inner)
    }

    /// On one problem; a method is (its name here, its name in the catalogue, its step size, its own settings).
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // one caller
    fn on(
        problem: &Bound<'_, Problem>,
        name: String,
        x0: ArrayLike<'_>,
        methods: Vec<(String, String, StepRule<'_>, Keywords<'_>)>,
        trials: u64,
        budget: u64,
        seed: u64,
        relative: bool,
        targets: Vec<f64>,
    ) -> PyResult<Self> {
        let problem = problem.get();
        let start = problem.point(&x0)?;
        let mut named = Vec::new();
        for (label, method, rule, options) in methods {
            if named.iter().any(|other: &NamedMethod| other.name == label) {
                return Err(PyValueError::new_err(format!(
                    "two methods are called {label:?}: give each one a \"name\" of its own"
                )));
            }
            let method = method::method(&method, Some(&options))?.named(&*label);
            named.push(NamedMethod {
                name: label,
                method,
                step_size: step_rule(Some(&rule))?,
                tuned: Vec::new(),
                open: 1,
                answers: sgq::Detail::Gradient,
                users: None,
            });
        }
        if named.is_empty() {
            return Err(PyValueError::new_err("there are no methods: give at least one"));
        }
        let inner = Experiment {
            name: name.clone(),
            title: name.clone(),
            trials,
            budget,
            seed,
            targets,
            gap_axis: None,
            relative,
            tuning: None,
            users: None,
            problems: vec![NamedProblem {
                name,
                start,
                problem: Arc::clone(&problem.inner),
                card: None,
                costs: None,
                slowness: None,
                files: Vec::new(),
            }],
            methods: named,
        };
        for problem in &inner.problems {
            for method in &inner.methods {
                inner.open(problem, method, 0).map_err(errors::settings)?;
            }
        }
        Self::checked(inner)
    }

    /// Runs all of it. Returns the finished curves, and whether nobody pressed Ctrl-C on the way; a curve is (problem,
    /// method, what it sees without paying, first step size, trials that diverged, mean gap after 0, 1, 2 … queries, its
    /// standard error).
    #[pyo3(signature = (progress = None))]
    fn run<'py>(&self, py: Python<'py>, progress: Option<Bound<'py, PyAny>>) -> PyResult<(Vec<CurveOf<'py>>, bool)> {
        let (interrupt, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let total = self.inner.trials * (self.inner.problems.len() * self.inner.methods.len()) as u64;
        let on_trial = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        let control = Control { interrupt: &interrupt, on_trial: &on_trial, trace: None, choices: false };
        let tell = || progress.as_ref().map_or(Ok(()), |it| it.call1((done.load(Ordering::Relaxed), total)).map(drop));
        let mut stopped = None;
        let results = thread::scope(|scope| {
            let worker = scope.spawn(|| run(&self.inner, &control));
            while !worker.is_finished() {
                py.detach(|| thread::sleep(PAUSE));
                if stopped.is_none()
                    && let Err(error) = py.check_signals().and_then(|()| tell())
                {
                    interrupt.store(true, Ordering::Relaxed);
                    stopped = Some(error);
                }
            }
            worker.join()
        });
        let results = results.map_err(|_| PyRuntimeError::new_err("the experiment failed; please report this"))?;
        if let Some(failure) = results.failure {
            return Err(PyRuntimeError::new_err(failure.to_string()));
        }
        let rows = results.rows.into_iter().map(|row| {
            let [mean, error] = [row.gap_mean, row.gap_sem].map(|column| Floats(PyArray1::from_vec(py, column)));
            (row.problem, row.method, row.sees_more, row.step_size, row.diverged, mean, error)
        });
        // The last trials are told of too, and a Ctrl-C between them is heard.
        let stopped = stopped.or_else(|| py.check_signals().and_then(|()| tell()).err());
        match stopped {
            // Ctrl-C is for the caller, who has the finished curves then; a failure of `progress` is its own.
            Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
            stopped => Ok((rows.collect(), stopped.is_none())),
        }
    }

    /// What theory guarantees, as JSON.
    fn certify(&self, py: Python<'_>, region: &str, samples: usize, seed: u64) -> PyResult<String> {
        let region: RegionSpec = region.parse().map_err(PyValueError::new_err)?;
        if samples == 0 {
            return Err(PyValueError::new_err("samples is 0: it must be at least 1"));
        }
        let options = Options { region, samples, seed };
        let certificates = py.detach(|| certify(&self.inner, &options));
        let certificates = certificates.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let file = CertificateFile::new(&self.inner, &certificates);
        serde_json::to_string(&file).map_err(|error| PyTypeError::new_err(error.to_string()))
    }
}

type CurveOf<'py> = (String, String, Option<&'static str>, f64, u64, Floats<'py>, Floats<'py>);

impl PyExperiment {
    fn checked(inner: Experiment) -> PyResult<Self> {
        for (what, found, most) in [("trials", inner.trials, MAX_TRIALS), ("budget", inner.budget, MAX_BUDGET)] {
            if !(1..=most).contains(&found) {
                return Err(PyValueError::new_err(format!("{what} is {found}: it must be from 1 to {most}")));
            }
        }
        Ok(Self { inner })
    }
}
