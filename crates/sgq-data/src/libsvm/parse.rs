//! Line by line from text to numbers.

use std::io::{BufRead as _, Read};

use super::LibsvmError;
use crate::{ReadError, file::unpack};

/// An index past this is a mistake: a column is then named and given a coefficient for each one below it.
const LARGEST_INDEX: u32 = 1 << 24;

/// What is in a file, as it is there.
#[derive(Default)]
pub(super) struct Parsed {
    pub labels: Vec<f64>,
    /// The `qid` of every row, where they were asked for.
    pub qids: Vec<u64>,
    /// Row `r` is at `starts[r]..starts[r + 1]` of the next two.
    pub starts: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    /// The largest index, that of a zero value included.
    pub largest: Option<u32>,
    pub has_zero: bool,
}

impl Parsed {
    pub fn read(reader: impl Read, with_qids: bool) -> Result<Self, LibsvmError> {
        let mut reader = unpack(reader)?;
        let mut parsed = Self { starts: vec![0], ..Self::default() };
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            if reader.read_until(b'\n', &mut bytes).map_err(ReadError::from)? == 0 {
                break;
            }
            if line == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
                bytes.drain(..3);
            }
            let content = bytes.iter().position(|byte| *byte == b'#').map_or(&bytes[..], |hash| &bytes[..hash]);
            parsed.add(line, content, with_qids)?;
        }
        if parsed.labels.is_empty() {
            return Err(LibsvmError::Empty);
        }
        if parsed.largest.is_none() {
            return Err(LibsvmError::NoFeatures);
        }
        Ok(parsed)
    }

    fn add(&mut self, line: usize, content: &[u8], with_qids: bool) -> Result<(), LibsvmError> {
        let mut tokens = content.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty()).peekable();
        let Some(label) = tokens.next() else {
            return Ok(()); // nothing, or only a comment
        };
        let Some(number) = finite(label) else {
            return Err(LibsvmError::Label { line, text: excerpt(label) });
        };
        self.labels.push(number);
        let qid = tokens.next_if(|token| token.starts_with(b"qid:"));
        if with_qids {
            let token = qid.ok_or(LibsvmError::NoQid { line })?;
            let number = str::from_utf8(&token[4..]).ok().and_then(|text| text.parse().ok());
            self.qids.push(number.ok_or_else(|| LibsvmError::Qid { line, text: excerpt(token) })?);
        }
        let mut before = None;
        for token in tokens {
            let text = || excerpt(token);
            let colon = token.iter().position(|byte| *byte == b':');
            let colon = colon.ok_or_else(|| LibsvmError::Pair { line, text: text() })?;
            let index = whole(&token[..colon]);
            let index = index.ok_or_else(|| LibsvmError::Index { line, text: text(), largest: LARGEST_INDEX })?;
            let value = finite(&token[colon + 1..]).ok_or_else(|| LibsvmError::Value { line, text: text() })?;
            if let Some(before) = before
                && index <= before
            {
                return Err(LibsvmError::Order { line, before, index });
            }
            before = Some(index);
            self.has_zero |= index == 0;
            if value != 0.0 {
                self.indices.push(index);
                self.values.push(value);
            }
        }
        self.largest = self.largest.max(before);
        self.starts.push(self.indices.len());
        Ok(())
    }
}

/// A whole number up to the largest index, in plain digits.
fn whole(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    let mut number = 0u32;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u32::from(digit - b'0');
        if number > LARGEST_INDEX {
            return None;
        }
    }
    Some(number)
}

fn finite(token: &[u8]) -> Option<f64> {
    str::from_utf8(token).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

fn excerpt(token: &[u8]) -> String {
    String::from_utf8_lossy(token).chars().take(60).collect()
}
