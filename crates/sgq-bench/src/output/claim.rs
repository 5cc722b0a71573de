//! What a run is about to write, and whether it may.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sgq_data::first_few;

use super::OutputError;

/// The file that says which run a folder's results are from.
pub(super) const MARKER: &str = ".sgq-run.json";

/// What a run is, what it reads, and what it will write into a folder.
///
/// A run is its command, the file that it is about, and the settings that decide its results. The same run may replace its
/// own results; another one may not unless it is forced to, and neither may replace what nobody knows to be a run's. What a
/// run reads is never replaced.
#[derive(Debug)]
pub struct Claim {
    command: &'static str,
    settings: Map<String, Value>,
    source: Option<PathBuf>,
    inputs: Vec<PathBuf>,
    names: Vec<String>,
    force: bool,
}

impl Claim {
    /// A command, and those of its settings that decide the results, as an object.
    pub fn new(command: &'static str, settings: &impl Serialize) -> Self {
        let mut settings = match serde_json::to_value(settings) {
            Ok(Value::Object(settings)) => settings,
            _ => Map::new(),
        };
        // What was not asked for: an option that a later version adds makes no other run of an old one.
        settings.retain(|_, value| *value != Value::Null && *value != false && *value != Value::Array(Vec::new()));
        Self { command, settings, source: None, inputs: Vec::new(), names: Vec::new(), force: false }
    }

    /// The file that the run is about, such as the data or the experiment. It may change and the run be the same.
    pub fn about(mut self, file: &Path) -> Self {
        self.source = Some(file.to_owned());
        self.reads([file])
    }

    /// Further files that it reads.
    pub fn reads<'p>(mut self, files: impl IntoIterator<Item = &'p Path>) -> Self {
        self.inputs.extend(files.into_iter().map(Path::to_owned));
        self
    }

    /// The names of the files that it may write; those of folders end with `/`.
    pub fn writes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether it may replace what is not its own.
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Finds out whether the run may write to a folder, which need not be there yet. Nothing is written.
    pub fn check(&self, folder: &Path) -> Result<(), OutputError> {
        self.known_files(folder).map(drop)
    }

    /// The same, and which files in the folder are known to be a run's.
    pub(super) fn known_files(&self, folder: &Path) -> Result<BTreeSet<String>, OutputError> {
        let marker = Marker::read(folder);
        if let Some(marker) = &marker
            && !self.force
            && let Some(difference) = marker.run.difference(&self.run(folder))
        {
            return Err(OutputError::OtherRun { path: folder.to_owned(), difference });
        }
        let known = marker.map(|marker| marker.files).unwrap_or_default();
        self.check_names(folder, &known, self.names.iter().map(|name| &**name))?;
        Ok(known)
    }

    /// Whether these names may be written, where those that are `known` are a run's.
    pub(super) fn check_names<'n>(
        &self,
        folder: &Path,
        known: &BTreeSet<String>,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<(), OutputError> {
        let mut foreign = Vec::new();
        for name in names {
            let path = folder.join(name.trim_end_matches('/'));
            refuse_input(&path, self.inputs.iter().map(|input| &**input))?;
            let Ok(found) = fs::symlink_metadata(&path) else {
                continue;
            };
            let is_folder = name.ends_with('/');
            let replaceable = if is_folder { found.is_dir() } else { found.is_file() || found.is_symlink() };
            if !replaceable {
                return Err(OutputError::InTheWay { path });
            }
            let in_known_folder = || known.iter().any(|known| known.ends_with('/') && name.starts_with(&**known));
            let is_empty = || is_folder && fs::read_dir(&path).is_ok_and(|mut files| files.next().is_none());
            if !self.force && !known.contains(name) && !in_known_folder() && !is_empty() {
                foreign.push(name.to_owned());
            }
        }
        match foreign.is_empty() {
            true => Ok(()),
            false => Err(OutputError::Foreign { path: folder.to_owned(), names: first_few(&foreign) }),
        }
    }

    /// What the folder is to say of itself once it also has these files.
    pub(super) fn marker(&self, folder: &Path, files: BTreeSet<String>) -> String {
        let note = "which run of sgq these files are from, so that no other one replaces them unasked".to_owned();
        let marker = Marker { note, run: self.run(folder), files };
        serde_json::to_string_pretty(&marker).unwrap_or_default() + "\n"
    }

    fn run(&self, folder: &Path) -> Run {
        let source = self.source.as_ref().map(|source| match (fs::canonicalize(folder), fs::canonicalize(source)) {
            (Ok(folder), Ok(source)) => seen_from(&folder, &source),
            _ => source.display().to_string(),
        });
        Run { command: self.command.to_owned(), source, settings: self.settings.clone() }
    }
}

/// Refuses to write over a file that is read, however the two are spelled.
pub(super) fn refuse_input<'p>(path: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), OutputError> {
    match inputs.into_iter().any(|input| is_same_file(path, input)) {
        true => Err(OutputError::Input { path: path.to_owned() }),
        false => Ok(()),
    }
}

/// Whether two paths lead to one file, through links or not. Hard links are only known on Unix.
fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt as _;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// A file as a folder sees it, so that both can be moved together, and no marker names a machine's folders.
fn seen_from(folder: &Path, file: &Path) -> String {
    let shared = folder.components().zip(file.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(file.components().skip(shared)).collect();
    path.to_string_lossy().replace('\\', "/")
}

/// What [`MARKER`] holds.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    note: String,
    run: Run,
    files: BTreeSet<String>,
}

impl Marker {
    /// None where there is none, or none that we understand: the files there are then nobody's that we know.
    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MARKER)).ok()?).ok()
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    command: String,
    source: Option<String>,
    settings: Map<String, Value>,
}

impl Run {
    /// What is another thing in another run, in words.
    fn difference(&self, new: &Self) -> Option<String> {
        if self.command != new.command {
            return Some(format!("they are of `sgq {}`, and this is `sgq {}`", self.command, new.command));
        }
        let file = |run: &Self| run.source.clone().map_or(Value::Null, Value::String);
        let keys: BTreeSet<&String> = self.settings.keys().chain(new.settings.keys()).collect();
        let setting = |run: &Self, key: &String| run.settings.get(key).cloned().unwrap_or(Value::Null);
        let settings = keys.into_iter().map(|key| (key.replace('_', "-"), setting(self, key), setting(new, key)));
        let all = std::iter::once(("the file".to_owned(), file(self), file(new))).chain(settings);
        let differences: Vec<String> = all
            .filter(|(_, old, new)| old != new)
            .map(|(name, old, new)| format!("{name} was {} and is now {}", in_words(&old), in_words(&new)))
            .collect();
        (!differences.is_empty()).then(|| first_few(&differences))
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "not given".to_owned(),
        value => value.to_string(),
    }
}
