//! Numbers in whole pages: in a file, for tables that memory cannot hold, or in memory.

use std::{
    fs::File,
    io::{self, Write},
    marker::PhantomData,
    path::{Path, PathBuf},
};

use memmap2::MmapMut;

use super::numbers::Number;

/// Numbers in pages of memory, or in a file that has no name and is mapped into memory.
///
/// The file is gone as soon as the mapping is, however the process ends. Its room is reserved before it is mapped: a write
/// to a full disk would otherwise end the process. Nobody can read it but us.
pub(super) struct Mapped<T> {
    map: MmapMut,
    /// Of the file, if there is one.
    folder: Option<PathBuf>,
    numbers: PhantomData<T>,
}

impl<T: Number> Mapped<T> {
    /// All zeros, at least one, in a file in that folder or else in memory.
    pub(super) fn zeros(length: usize, folder: Option<&Path>) -> io::Result<Self> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::FileTooLarge)?;
        let map = match folder {
            Some(folder) => {
                let file = tempfile::tempfile_in(folder)?;
                reserve(&file, bytes as u64)?;
                map(&file)?
            }
            None => {
                let mut map = MmapMut::map_anon(bytes)?;
                // Large pages where there are any: a scan through small ones waits for their addresses.
                #[cfg(target_os = "linux")]
                let _ = map.advise(memmap2::Advice::HugePage);
                // Memory is given out where it is written to: now, and not in the middle of a run that was paid for.
                map.fill(0);
                map
            }
        };
        Ok(Self { map, folder: folder.map(Path::to_owned), numbers: PhantomData })
    }

    pub(super) fn numbers(&self) -> &[T] {
        bytemuck::cast_slice(&self.map)
    }

    pub(super) fn numbers_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.map)
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
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
