//! Numbers in a file, for tables that memory cannot hold.

use std::{
    fs::File,
    io::{self, Write},
    marker::PhantomData,
    path::{Path, PathBuf},
};

use memmap2::MmapMut;

use super::numbers::Number;

/// Numbers in a file that has no name, mapped into memory.
///
/// The file is gone as soon as the mapping is, however the process ends. Its room is reserved before it is mapped: a write
/// to a full disk would otherwise end the process. Nobody can read it but us.
pub(super) struct Mapped<T> {
    map: MmapMut,
    folder: PathBuf,
    numbers: PhantomData<T>,
}

impl<T: Number> Mapped<T> {
    /// All zeros, at least one.
    pub(super) fn zeros(length: usize, folder: &Path) -> io::Result<Self> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::FileTooLarge)?;
        let file = tempfile::tempfile_in(folder)?;
        reserve(&file, bytes as u64)?;
        Ok(Self { map: map(&file)?, folder: folder.to_owned(), numbers: PhantomData })
    }

    pub(super) fn numbers(&self) -> &[T] {
        bytemuck::cast_slice(&self.map)
    }

    pub(super) fn numbers_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.map)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Gives the file its length, with blocks of its own.
fn reserve(mut file: &File, bytes: u64) -> io::Result<()> {
    match fs4::FileExt::allocate(file, bytes) {
        // A file system that cannot reserve anything: zeros take up the room as well.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            let zeros = [0; 1 << 16];
            let mut left = bytes;
            while left > 0 {
                let part = left.min(zeros.len() as u64) as usize;
                file.write_all(&zeros[..part])?;
                left -= part as u64;
            }
        }
        other => other?,
    }
    // Where reserving left the length alone.
    if file.metadata()?.len() == bytes { Ok(()) } else { file.set_len(bytes) }
}

/// The only unsafe call of the library.
#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<MmapMut> {
    // SAFETY: a mapping is unsound if the file changes or shrinks under it. This one was made a moment ago for us alone,
    // and nobody else can open it: it has no name, or, on systems where it must have one, is locked against others.
    unsafe { MmapMut::map_mut(file) }
}
