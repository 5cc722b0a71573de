//! A single file of results, which the user names.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    path::Path,
};

use super::{OutputError, claim::refuse_input, partial_path};

/// Finds out whether a file may be written: it must be none that is read, and where it is there already it must begin as
/// our own do, or be empty, unless `force` is given. Nothing is written.
pub fn check_file(path: &Path, inputs: &[&Path], ours_begin: &[&str], force: bool) -> Result<(), OutputError> {
    refuse_input(path, inputs.iter().copied())?;
    // Folders, devices and pipes are not to be replaced, whatever is forced.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(OutputError::InTheWay { path: path.to_owned() });
    }
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let longest = ours_begin.iter().map(|begin| begin.len()).max().unwrap_or(0);
    let mut beginning = Vec::new();
    let read = File::open(path).is_ok_and(|file| file.take(longest as u64).read_to_end(&mut beginning).is_ok());
    let ours = read && (beginning.is_empty() || ours_begin.iter().any(|begin| beginning.starts_with(begin.as_bytes())));
    match force || ours {
        true => Ok(()),
        false => Err(OutputError::ForeignFile { path: path.to_owned() }),
    }
}

/// Writes a file whole or not at all, in a folder that is made if need be.
pub fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), OutputError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|cause| OutputError::Folder { path: folder.to_owned(), cause })?;
    let partial = partial_path(path);
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(contents.as_ref())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    });
    written.map_err(|cause| {
        let _ = fs::remove_file(&partial);
        OutputError::File { path: path.to_owned(), cause }
    })
}
