//! Finished cells, kept so that an interrupted benchmark goes on where it was.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use sgq::{Problem, Random};

use super::{CellResult, cell::Cell};
use crate::{
    fingerprint::Fingerprint,
    output::{OutputError, file_name, partial_path},
};

/// The sources that this code was built from, as the build script found them: another build's cells do not count.
const SOURCES: &str = env!("SGQ_SOURCES");

/// The most characters of a problem's and of a method's name in a file's name, which may have 255 bytes; the fingerprint
/// has all of them.
const LONGEST_NAME: usize = 25;

/// A folder with a file for each finished cell. A cell counts only if nothing that it depends on has changed since: its
/// settings, its problem, and the code that computed it.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    sources: &'static str,
}

/// What a result is called, and a fingerprint of all that it depends on, but for the code.
pub(crate) struct Key {
    pub name: String,
    pub depends_on: Fingerprint,
}

impl Store {
    /// Makes the folder if need be.
    pub fn open(folder: &Path) -> Result<Self, OutputError> {
        fs::create_dir_all(folder).map_err(|cause| OutputError::Folder { path: folder.to_owned(), cause })?;
        Ok(Self { folder: folder.to_owned(), sources: SOURCES })
    }

    /// The same folder, for code from other sources.
    #[cfg(test)]
    pub(crate) fn built_from(self, sources: &'static str) -> Self {
        Self { sources, ..self }
    }

    pub(super) fn get(&self, cell: &Cell<'_>) -> Option<CellResult> {
        self.read(&key_of(cell))
    }

    pub(super) fn put(&self, cell: &Cell<'_>, result: &CellResult) -> Result<(), OutputError> {
        self.write(&key_of(cell), result)
    }

    /// What is kept under a key, if it is still what it was written as.
    pub(crate) fn read<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let text = fs::read_to_string(self.path(key)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps a result.
    pub(crate) fn write<T: Serialize>(&self, key: &Key, result: &T) -> Result<(), OutputError> {
        let path = self.path(key);
        let partial = partial_path(&path);
        let text = serde_json::to_string(result).unwrap_or_default();
        let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path));
        written.map_err(|cause| {
            let _ = fs::remove_file(&partial);
            OutputError::File { path, cause }
        })
    }

    fn path(&self, key: &Key) -> PathBuf {
        let mut depends_on = key.depends_on;
        depends_on.add_text(key.name.as_bytes());
        depends_on.add_text(self.sources.as_bytes());
        self.folder.join(format!("{}-{:016x}.json", file_name(&key.name), depends_on.finish()))
    }
}

/// All that a cell's result depends on: settings, names (which decide the seeds), and the problem.
fn key_of(cell: &Cell<'_>) -> Key {
    let (experiment, problem) = (cell.experiment, cell.problem);
    let mut hash = Fingerprint::default();
    for number in [experiment.trials, experiment.budget, experiment.seed, u64::from(experiment.relative)] {
        hash.add(number);
    }
    add_numbers(&mut hash, &experiment.targets);
    for text in [
        &*problem.name,
        &cell.method.name,
        &format!("{:?} {} {:?} {}", experiment.tuning, cell.method.method, cell.method.tuned, cell.method.open),
        &format!("{:?} {:?} {} {:?}", experiment.users, cell.method.users, cell.method.answers, problem.slowness),
    ] {
        hash.add_text(text.as_bytes());
    }
    add_numbers(&mut hash, &problem.start);
    add_optional(&mut hash, problem.costs.as_deref());
    add_problem(&mut hash, &*problem.problem, &problem.start);
    let short = |name: &str| name.chars().take(LONGEST_NAME).collect::<String>();
    Key { name: format!("{}-{}", short(&problem.name), short(&cell.method.name)), depends_on: hash }
}

/// Everything that a method can learn of a problem: its constants, and every user's cost and gradient at its start, at its
/// optimum and at two points around the start that nothing else depends on.
///
/// A problem does not show its data. But a row, a loss or a penalty that is another changes some user's cost or gradient at
/// points that are chosen without regard to it.
fn add_problem(hash: &mut Fingerprint, problem: &dyn Problem, start: &[f64]) {
    hash.add(problem.users() as u64);
    hash.add(u64::from(problem.is_quadratic()));
    add_optional(hash, problem.smoothness());
    add_optional(hash, problem.objective_smoothness().as_ref().map(std::slice::from_ref));
    add_optional(hash, problem.pl_constant().as_ref().map(std::slice::from_ref));
    let optimum = problem.optimum();
    add_optional(hash, optimum.map(|it| std::slice::from_ref(&it.value)));
    let mut random = Random::new(0, "fingerprint of a problem");
    let mut nearby = || start.iter().map(|x| x + random.unit() - 0.5).collect::<Vec<f64>>();
    let points = [Some(start.to_vec()), optimum.map(|it| it.point.clone()), Some(nearby()), Some(nearby())];
    let mut gradient = vec![0.0; problem.dim()];
    for point in points.into_iter().flatten() {
        add_numbers(hash, &point);
        for user in 0..problem.users() {
            problem.gradient(user, &point, &mut gradient);
            add_numbers(hash, &gradient);
            hash.add(bits(problem.user_value(user, &point)));
        }
    }
}

/// What is not there is another thing than what is empty.
fn add_optional(hash: &mut Fingerprint, numbers: Option<&[f64]>) {
    hash.add(u64::from(numbers.is_some()));
    add_numbers(hash, numbers.unwrap_or_default());
}

fn add_numbers(hash: &mut Fingerprint, numbers: &[f64]) {
    hash.add(numbers.len() as u64);
    numbers.iter().for_each(|number| hash.add(bits(*number)));
}

/// What is not a number has many bit patterns, and processors differ in which they give.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

#[cfg(test)]
mod tests;
