//! Files, plain or compressed.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use thiserror::Error;

/// An error, and the file it is about.
#[derive(Debug, Error)]
#[error("{}: {error}", .path.display())]
pub struct InFile<E> {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub error: E,
}

/// Why bytes could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system says no.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// The end of the compressed data is missing.
    #[error("the gzip data ends too early: the file is cut off; fetch it again")]
    Truncated,
    /// The compressed data are not what was compressed.
    #[error("the gzip data are damaged ({0}): fetch the file again")]
    Damaged(io::Error),
    /// The text is in some other encoding.
    #[error("line {line}: the text is not UTF-8: convert the file to it")]
    NotUtf8 {
        /// The line, from 1.
        line: usize,
    },
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Plain bytes end where they end: only compressed ones can end too early, or be damaged.
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Self::Damaged(error),
            _ => Self::Io(error),
        }
    }
}

/// Opens a file and does something with its contents, so that what goes wrong names the file.
pub(crate) fn with_file<T, E: From<ReadError>>(
    path: &Path,
    read: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, InFile<E>> {
    let opened = File::open(path).map_err(|error| E::from(ReadError::Io(error)));
    opened.and_then(read).map_err(|error| InFile { path: path.to_owned(), error })
}

/// The bytes behind a reader, unpacked where they begin as gzip does. Several gzip members are read as one.
pub(crate) fn unpack<'r>(mut reader: impl Read + 'r) -> Result<Box<dyn BufRead + 'r>, ReadError> {
    const MAGIC: [u8; 2] = [0x1f, 0x8b];
    const BUFFER: usize = 1 << 18;
    let mut head = Vec::new();
    reader.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head)?;
    let packed = head == MAGIC;
    let whole = Cursor::new(head).chain(reader);
    Ok(if packed {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(whole)))
    } else {
        Box::new(BufReader::with_capacity(BUFFER, whole))
    })
}
