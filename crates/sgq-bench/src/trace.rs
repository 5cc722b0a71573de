//! A record of every billed query, for outsiders to check.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use sgq::drive::Billed;

use crate::{
    Experiment,
    experiment::NamedProblem,
    output::{Folder, OutputError, file_name, partial_path},
};

/// The folder of all traces, in that of the results.
pub const FOLDER: &str = "trace";

/// Where an experiment's traces are to be written, for [`Control`](crate::run::Control), until [`adopt`] takes them over.
pub fn stage(folder: &Folder) -> PathBuf {
    folder.stage(FOLDER)
}

/// Counts the staged traces of an experiment among a run's files, in the place of what an earlier run traced of the same
/// methods: it would mix with the new.
pub fn adopt(folder: &mut Folder, experiment: &Experiment) -> Result<(), OutputError> {
    let (staged, old) = (stage(folder), folder.path().join(FOLDER));
    let unreadable = |cause| OutputError::Folder { path: old.clone(), cause };
    let methods = || experiment.methods.iter().map(|method| &*method.name);
    for problem in &experiment.problems {
        let name = |file: &str| format!("{FOLDER}/{}{file}", below(experiment, problem));
        let new = traces_in(&staged.join(below(experiment, problem)), methods()).map_err(unreadable)?;
        for stale in traces_in(&old.join(below(experiment, problem)), methods()).map_err(unreadable)? {
            if !new.contains(&stale) {
                folder.remove(name(&stale));
            }
        }
        new.iter().for_each(|file| folder.adopt(name(file)));
    }
    Ok(())
}

/// The folder of one problem's traces, in that of all: its own only where there are several.
pub(crate) fn below(experiment: &Experiment, problem: &NamedProblem) -> String {
    if experiment.problems.len() > 1 { file_name(&problem.name) + "/" } else { String::new() }
}

/// The names of the traces of these methods in a folder, which need not be there.
fn traces_in<'m>(folder: &Path, methods: impl Iterator<Item = &'m str> + Clone) -> io::Result<BTreeSet<String>> {
    let mut traces = BTreeSet::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(traces),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let is_trial = |stem: &str, method: &str| {
            let trial = stem.strip_prefix(&file_name(method)).and_then(|rest| rest.strip_prefix('-'));
            trial.is_some_and(|trial| trial.parse::<u64>().is_ok())
        };
        let stem = name.strip_suffix(".jsonl");
        let ours = stem.is_some_and(|stem| methods.clone().any(|method| is_trial(stem, method)));
        if ours && entry.file_type()?.is_file() {
            traces.insert(name);
        }
    }
    Ok(traces)
}

/// One line of a trace: a billed query.
#[derive(Serialize)]
struct TraceLine<'a> {
    queries: u64,
    user: usize,
    explored: Option<bool>,
    point: &'a [f64],
    gradient: &'a [f64],
}

/// Every billed query of one trial, a line each. The file gets its name once it is whole.
pub(crate) struct Trace {
    path: PathBuf,
    partial: PathBuf,
    writer: BufWriter<File>,
}

impl Trace {
    pub(crate) fn create(folder: &Path, method: &str, trial: u64) -> io::Result<Self> {
        let name = format!("{}-{trial}.jsonl", file_name(method));
        let path = folder.join(name);
        let partial = partial_path(&path);
        let writer = BufWriter::new(File::create(&partial)?);
        Ok(Self { path, partial, writer })
    }

    pub(crate) fn record(&mut self, billed: &Billed<'_>) -> io::Result<()> {
        let Billed { queries, query, answer, .. } = *billed;
        let gradient = answer.gradient;
        let line = TraceLine { queries, user: query.user, explored: query.explored, point: &query.point, gradient };
        serde_json::to_writer(&mut self.writer, &line)?;
        self.writer.write_all(b"\n")
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        fs::rename(&self.partial, &self.path)
    }
}

impl Drop for Trace {
    /// Leaves no half-written trial behind; after `finish` there is nothing to remove.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}
