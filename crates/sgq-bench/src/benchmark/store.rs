//! Finished cells, kept so that an interrupted benchmark goes on where it was.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use super::{CellResult, cell::Cell};
use crate::output::{OutputError, file_name, partial_path};

/// A folder with a file for each finished cell. A cell counts only if nothing that it depends on has changed since.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folder if need be.
    pub fn open(folder: &Path) -> Result<Self, OutputError> {
        fs::create_dir_all(folder).map_err(|cause| OutputError::Folder { path: folder.to_owned(), cause })?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub(super) fn get(&self, cell: &Cell<'_>) -> Option<CellResult> {
        self.read(&name_of(cell))
    }

    pub(super) fn put(&self, cell: &Cell<'_>, result: &CellResult) -> Result<(), OutputError> {
        self.write(&name_of(cell), result)
    }

    /// What is kept under a name, if it is still what it was written as.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = fs::read_to_string(self.path(name)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps a result under a name that says all that it depends on.
    pub(crate) fn write<T: Serialize>(&self, name: &str, result: &T) -> Result<(), OutputError> {
        let path = self.path(name);
        let partial = partial_path(&path);
        let text = serde_json::to_string(result).unwrap_or_default();
        let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path));
        written.map_err(|cause| OutputError::File { path, cause })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.json", file_name(name)))
    }
}

/// All that a cell's result depends on: settings, step sizes, the problem's own numbers, and the version.
fn name_of(cell: &Cell<'_>) -> String {
    let (experiment, problem) = (cell.experiment, &*cell.problem.problem);
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let mut hash = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hash);
    (experiment.trials, experiment.budget, experiment.seed, experiment.relative).hash(&mut hash);
    bits(&experiment.targets).hash(&mut hash);
    format!("{:?} {}", experiment.tuning, cell.method.method).hash(&mut hash);
    (problem.users(), problem.dim(), bits(&cell.problem.start)).hash(&mut hash);
    bits(problem.smoothness().unwrap_or_default()).hash(&mut hash);
    if let Some(optimum) = problem.optimum() {
        (bits(&optimum.point), optimum.value.to_bits()).hash(&mut hash);
    }
    format!("{}-{}-{:016x}", cell.problem.name, cell.method.name, hash.finish())
}
