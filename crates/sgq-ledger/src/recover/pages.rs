//! The pages of a damaged file and of its log, without SQLite, which reads nothing beyond the first page that is wrong.
//!
//! The layout is SQLite's published file format, version 3: <https://www.sqlite.org/fileformat2.html>.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use crate::lock::beside;

const LOG_HEADER: u64 = 32;
const FRAME_HEADER: usize = 24;

/// A file, and the pages in its log that are newer.
pub(super) struct Pages {
    page_size: usize,
    file: File,
    in_file: u64,
    log: Option<File>,
    /// Where the log has a page, the newest last.
    frames: Vec<u64>,
    /// The newest place of each page that the log has.
    newest: BTreeMap<u64, u64>,
}

impl Pages {
    /// Takes the file for one with pages of that size.
    pub fn open(path: &Path, page_size: usize) -> io::Result<Self> {
        let file = File::open(path)?;
        // A file that was cut short may end within a page.
        let in_file = file.metadata()?.len().div_ceil(page_size as u64);
        let mut pages = Self { page_size, file, in_file, log: None, frames: Vec::new(), newest: BTreeMap::new() };
        match File::open(beside(path, "-wal")) {
            Ok(log) => pages.read_log(log)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(pages)
    }

    /// Frames count by the salt that all of one log share; their checksums go on from one to the next, so that one wrong byte would
    /// make all that follow wrong. Rows have checksums of their own.
    fn read_log(&mut self, mut log: File) -> io::Result<()> {
        let length = log.metadata()?.len();
        let frame_length = (FRAME_HEADER + self.page_size) as u64;
        let mut headers = Vec::new();
        let mut at = LOG_HEADER;
        while at + frame_length <= length {
            let mut header = [0; FRAME_HEADER];
            log.seek(SeekFrom::Start(at))?;
            log.read_exact(&mut header)?;
            let number = |place: usize| header[place..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
            headers.push((number(0), [number(8), number(12)], at + FRAME_HEADER as u64));
            at += frame_length;
        }
        // The first ones are of this log, and what follows them may be left of the one before.
        let salt = headers
            .iter()
            .take(3)
            .map(|header| header.1)
            .max_by_key(|salt| headers.iter().take(3).filter(|header| header.1 == *salt).count());
        for (page, own, place) in headers {
            if Some(own) == salt && page > 0 {
                self.frames.push(place);
                self.newest.insert(u64::from(page), place);
            }
        }
        self.log = Some(log);
        Ok(())
    }

    /// The bytes that there are.
    pub fn bytes(&self) -> u64 {
        (self.in_file + self.frames.len() as u64) * self.page_size as u64
    }

    /// The newest version of a page.
    pub fn newest(&mut self, number: u64) -> Option<Vec<u8>> {
        match (self.newest.get(&number), &mut self.log) {
            (Some(place), Some(log)) => read(log, *place, self.page_size),
            _ => self.of_file(number),
        }
    }

    fn of_file(&mut self, number: u64) -> Option<Vec<u8>> {
        let place = number.checked_sub(1).filter(|place| *place < self.in_file)?;
        read(&mut self.file, place * self.page_size as u64, self.page_size)
    }

    /// Every version of every page: those of the file, then those of the log.
    pub fn each(&mut self, mut each: impl FnMut(&mut Self, &[u8])) {
        for number in 1..=self.in_file {
            if let Some(page) = self.of_file(number) {
                each(self, &page);
            }
        }
        for index in 0..self.frames.len() {
            let place = self.frames[index];
            if let Some(page) = self.log.as_mut().and_then(|log| read(log, place, self.page_size)) {
                each(self, &page);
            }
        }
    }
}

/// What there is of a page: the disk may refuse a part of it, and the file may end in it.
fn read(file: &mut File, place: u64, page_size: usize) -> Option<Vec<u8>> {
    let mut page = vec![0; page_size];
    file.seek(SeekFrom::Start(place)).ok()?;
    let mut filled = 0;
    while filled < page_size {
        match file.read(&mut page[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    (filled > 0).then_some(page)
}
