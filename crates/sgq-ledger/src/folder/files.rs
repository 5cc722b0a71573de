//! Files that are written whole or not at all, and read only if they are plain.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::FolderError;

/// Writes a file so that whoever looks sees all of it or nothing, after a power cut too. One that is there with the same text stays.
pub fn write_whole(path: &Path, text: &str) -> Result<(), FolderError> {
    if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    // A name alone has an empty folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".partial");
    let partial = folder.join(hidden);
    let write = || -> io::Result<()> {
        // What a program that was killed has left is written over.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&partial)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)?;
        sync_folder(folder)
    };
    write().map_err(|error| FolderError::at("write", path, error))
}

/// Moves a file into a folder beside it, under its own name or one with a number.
pub(super) fn set_aside(path: &Path, folder: &str) -> Result<PathBuf, FolderError> {
    let place = path.parent().unwrap_or(Path::new(".")).join(folder);
    make_folder(&place)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, end) = name.rsplit_once('.').unwrap_or((&name, ""));
    let numbered = |number: u32| match number {
        1 => place.join(&name),
        _ => place.join(format!("{stem}-{number}.{end}")),
    };
    let free =
        (1..).map(numbered).find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_else(|| place.join(&name));
    fs::rename(path, &free).map_err(|error| FolderError::at("move", path, error))?;
    Ok(free)
}

pub(super) fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|error| FolderError::at("make the folder", path, error))
}

/// A rename is on the disk once its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The files of a folder that may be answers, by name.
pub(super) fn answers_in(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    Ok(seen_in(folder)?.into_iter().filter(|path| is_named_like_answer(path)).collect())
}

/// The other files of a folder: nobody reads them.
pub(super) fn strangers_in(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    Ok(seen_in(folder)?.into_iter().filter(|path| !is_named_like_answer(path) && !path.is_dir()).collect())
}

fn is_named_like_answer(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"))
}

/// What lies in a folder. Programs that copy files write to hidden ones first.
fn seen_in(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |error| FolderError::at("look into", folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !path.file_name().unwrap_or_default().to_string_lossy().starts_with('.') {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a plain file of at most so many bytes, or what is wrong with it.
pub fn read_plain(path: &Path, longest: usize) -> Result<String, String> {
    let kind = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !kind.is_file() {
        return Err("it is no plain file: links, folders and pipes are not read".to_owned());
    }
    let too_long = || format!("it has {} bytes, and no answer has more than {longest}", kind.len());
    if kind.len() > longest as u64 {
        return Err(too_long());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(longest as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > longest {
        return Err(too_long());
    }
    String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
}

/// When a file has changed last.
pub(super) fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).and_then(|about| about.modified()).ok()
}

/// For how long a file has not changed.
pub(super) fn unchanged_for(path: &Path) -> Duration {
    // A clock that was set back makes a file of the future: it has just changed.
    changed_at(path).and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
}
