//! Finished cells, kept so that an interrupted benchmark goes on where it was.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

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
        let text = fs::read_to_string(self.path(cell)).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn put(&self, cell: &Cell<'_>, result: &CellResult) -> Result<(), OutputError> {
        let path = self.path(cell);
        let partial = partial_path(&path);
        let text = serde_json::to_string(result).unwrap_or_default();
        let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path));
        written.map_err(|cause| OutputError::File { path, cause })
    }

    /// Named by all that the result depends on: settings, step sizes, the problem's own numbers, and the version.
    fn path(&self, cell: &Cell<'_>) -> PathBuf {
        let (experiment, problem) = (cell.experiment, &*cell.problem.problem);
        let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        let mut hash = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hash);
        (experiment.trials, experiment.budget, experiment.seed, experiment.relative).hash(&mut hash);
        bits(&experiment.targets).hash(&mut hash);
        format!("{:?} {:?}", experiment.tuning, cell.method.recipe).hash(&mut hash);
        (problem.users(), problem.dim(), bits(&cell.problem.start)).hash(&mut hash);
        bits(problem.smoothness().unwrap_or_default()).hash(&mut hash);
        if let Some(optimum) = problem.optimum() {
            (bits(&optimum.point), optimum.value.to_bits()).hash(&mut hash);
        }
        let name = format!("{}-{}", cell.problem.name, cell.method.name);
        self.folder.join(format!("{}-{:016x}.json", file_name(&name), hash.finish()))
    }
}
