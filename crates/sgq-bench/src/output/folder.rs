//! A folder of results, which a run's files reach together.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    process,
};

use super::{
    OutputError,
    claim::{Claim, MARKER},
};
use crate::figure::{self, Figure};

/// What a reader looks at first is replaced last: where it is new, so is everything else.
const LAST: [&str; 3] = ["summary.csv", "summary.json", "model.json"];

/// A folder that results are written to.
///
/// Files are collected in a folder of their own, and [`commit`](Self::commit) puts them in their places, all or none.
/// Without it, and after a failure or a crash, the folder is as it was.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    claim: Claim,
    staging: Staging,
    /// What is to happen to each name: a new file, or none.
    changes: Vec<(String, Change)>,
    written: Vec<String>,
}

#[derive(Debug, PartialEq)]
enum Change {
    Replace,
    Remove,
}

impl Folder {
    /// Makes the folder if need be, and makes sure that the run may write there, and can: before anything is computed.
    pub fn open(path: &Path, claim: Claim) -> Result<Self, OutputError> {
        let unwritable = |cause| OutputError::Folder { path: path.to_owned(), cause };
        fs::create_dir_all(path).map_err(unwritable)?;
        claim.check(path)?;
        let staging = Staging::make(path).map_err(unwritable)?;
        Ok(Self { path: path.to_owned(), claim, staging, changes: Vec::new(), written: Vec::new() })
    }

    /// Writes a file, which is in its place after [`commit`](Self::commit).
    pub fn write(&mut self, name: &str, contents: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let written = File::create(self.staging.file(name)).and_then(|mut file| {
            file.write_all(contents.as_ref())?;
            // On the disk before anything is renamed, or a crash could leave a name without contents.
            file.sync_all()
        });
        written.map_err(|cause| OutputError::File { path: self.path.join(name), cause })?;
        self.add(name);
        Ok(())
    }

    /// Begins a file that is too large to be held in memory.
    pub(crate) fn create(&mut self, name: &str) -> Result<BufWriter<File>, OutputError> {
        let file = File::create(self.staging.file(name));
        let file = file.map_err(|cause| OutputError::File { path: self.path.join(name), cause })?;
        self.add(name);
        Ok(BufWriter::new(file))
    }

    fn add(&mut self, name: &str) {
        self.written.push(name.to_owned());
        self.changes.push((name.to_owned(), Change::Replace));
    }

    /// Where files of a folder below this one are collected; [`adopt`](Self::adopt) each of them once it is whole.
    pub(crate) fn stage(&self, folder: &str) -> PathBuf {
        self.staging.file(folder)
    }

    /// Takes over a file that was written to where [`stage`](Self::stage) says.
    pub(crate) fn adopt(&mut self, name: String) {
        self.changes.push((name, Change::Replace));
    }

    /// Takes a file of an earlier run away.
    pub fn remove(&mut self, name: impl Into<String>) {
        self.changes.push((name.into(), Change::Remove));
    }

    /// Writes a figure as `name.svg` and `name.png`, and returns the SVG.
    pub fn write_figure(&mut self, name: &str, figure: &Figure) -> Result<String, OutputError> {
        self.write_drawing(name, figure.svg())
    }

    /// Writes an SVG document of ours as `name.svg` and `name.png`, and returns it.
    pub fn write_drawing(&mut self, name: &str, svg: String) -> Result<String, OutputError> {
        self.write(&format!("{name}.svg"), &svg)?;
        self.write(&format!("{name}.png"), figure::png(&svg)?)?;
        Ok(svg)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files written so far.
    pub fn written(&self) -> &[String] {
        &self.written
    }

    /// Puts everything that was written in its place, or nothing.
    ///
    /// Each file is replaced at once, but no system replaces several at once. So everything is on the disk before, a
    /// failure puts back what was replaced, and only a crash between two renamings, which take a moment, can leave some
    /// files new and others old. The marker comes first, because it says which names are ours: whatever happens next, the
    /// same run may go on here. The summary comes last.
    pub fn commit(&mut self) -> Result<(), OutputError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let names = self.changes.iter().filter(|(_, change)| *change == Change::Replace).map(|(name, _)| &**name);
        // Once more: computing may have taken hours, and another run may have been here.
        let known = self.claim.known_files(&self.path)?;
        self.claim.check_names(&self.path, &known, names.clone())?;
        let top = |name: &str| name.split_once('/').map_or(name.to_owned(), |(folder, _)| format!("{folder}/"));
        let files: BTreeSet<String> = known.into_iter().chain(names.map(top)).collect();
        let marker = self.claim.marker(&self.path, files);
        self.write(MARKER, marker)?;
        self.written.pop();
        self.changes.sort_by_key(|(name, _)| (name != MARKER, LAST.contains(&&**name)));

        let mut replaced = Vec::new();
        for (number, (name, change)) in self.changes.iter().enumerate() {
            let path = self.path.join(name);
            match self.staging.put(number, name, change, &path) {
                Ok(before) => replaced.push((path, before)),
                Err(cause) => {
                    for (path, before) in replaced.into_iter().rev() {
                        put_back(&path, before);
                    }
                    return Err(OutputError::File { path, cause });
                }
            }
        }
        self.changes.clear();
        Ok(())
    }
}

/// Undoes one change; the failure that it is undone for is the one to tell of.
fn put_back(path: &Path, before: Option<PathBuf>) {
    let _ = match before {
        Some(before) => fs::rename(before, path),
        None => fs::remove_file(path),
    };
}

/// Where a run's files are collected: a hidden folder inside the one that they are for, so that they need only be renamed.
#[derive(Debug)]
struct Staging {
    path: PathBuf,
    /// Locked as long as the run lives: what a run that crashed left behind is told by its lock, which is free.
    lock: Option<File>,
}

impl Staging {
    const BEGINS: &str = ".sgq-";
    const ENDS: &str = ".partial";
    const LOCK: &str = "lock";

    fn make(folder: &Path) -> io::Result<Self> {
        Self::clear_away_leftovers(folder)?;
        let mut number = 0;
        let path = loop {
            let path = folder.join(format!("{}{}-{number}{}", Self::BEGINS, process::id(), Self::ENDS));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                made => break made.map(|()| path)?,
            }
        };
        let lock = File::create(path.join(Self::LOCK))?;
        // A file system without locks has leftovers that stay: they take room, and are in nobody's way.
        let _ = fs4::FileExt::try_lock(&lock);
        let staging = Self { path, lock: Some(lock) };
        for below in ["new", "old"] {
            fs::create_dir(staging.path.join(below))?;
        }
        Ok(staging)
    }

    fn clear_away_leftovers(folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            // `.sgq-<process>-<number>.partial`, and nothing else that may be called alike.
            let numbers = |name: &str| {
                let numbers = name.strip_prefix(Self::BEGINS)?.strip_suffix(Self::ENDS)?.split_once('-')?;
                numbers.0.parse::<u32>().ok().zip(numbers.1.parse::<u64>().ok())
            };
            if name.to_str().and_then(numbers).is_some()
                && let Ok(lock) = File::open(entry.path().join(Self::LOCK))
                && fs4::FileExt::try_lock(&lock).is_ok()
            {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join("new").join(name)
    }

    /// Makes one change, and returns a copy of what was there before.
    fn put(&self, number: usize, name: &str, change: &Change, path: &Path) -> io::Result<Option<PathBuf>> {
        let before = match fs::symlink_metadata(path) {
            Ok(_) => {
                let copy = self.path.join("old").join(number.to_string());
                // A second name for the same file costs nothing; where there is no such thing it is copied.
                fs::hard_link(path, &copy).or_else(|_| fs::copy(path, &copy).map(drop))?;
                Some(copy)
            }
            Err(_) => None,
        };
        match change {
            Change::Replace => {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::rename(self.file(name), path)?;
            }
            Change::Remove if before.is_some() => fs::remove_file(path)?,
            Change::Remove => {}
        }
        Ok(before)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Some systems do not remove a file that is open.
        self.lock = None;
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests;
