//! A record of every billed query, for outsiders to check.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use sgq::drive::Answer;

use crate::output::{file_name, partial_path};

/// Makes the folder if need be, and takes away what an earlier run traced of the same methods: it would mix with the new.
pub(crate) fn prepare_folder<'m>(folder: &Path, methods: impl Iterator<Item = &'m str> + Clone) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot make the folder {}: {error}", folder.display()))
    })?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let trial = name.to_str().and_then(|name| {
            let stem = name.strip_suffix(".jsonl")?;
            methods.clone().find_map(|method| stem.strip_prefix(&file_name(method))?.strip_prefix('-'))
        });
        let ours = trial.is_some_and(|trial| trial.parse::<u64>().is_ok());
        if ours && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
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

    pub(crate) fn record(&mut self, answer: &Answer<'_>) -> io::Result<()> {
        let Answer { queries, query, gradient, .. } = *answer;
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
