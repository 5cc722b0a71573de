//! A CSV file in memory: its header, its records, and which line each one stands on.

use std::{collections::HashMap, io::Read};

use csv::{ByteRecord, Position, ReaderBuilder};
use thiserror::Error;

use crate::{ReadError, file::unpack};

/// Why a file is not a table.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum TableError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the file is empty: it needs a line with the names of the columns, and rows below it")]
    Empty,
    #[error("the delimiter {0:?} cannot separate columns: give a comma, a semicolon, a tab or the like")]
    Delimiter(char),
    #[error("columns {first} and {second} are both named {name:?}: rename one of them")]
    DuplicateColumn { name: String, first: usize, second: usize },
    #[error(
        "line {line}: {found} values, but the header names {expected} columns: the row is cut off, or a value needs quotes"
    )]
    Ragged { line: usize, found: usize, expected: usize },
    #[error("line {line}: a quote is opened and never closed: the file is cut off there, or a quote is missing")]
    UnclosedQuote { line: usize },
}

/// Everything in a file, and the names of its columns.
pub(crate) struct Table {
    text: Vec<u8>,
    delimiter: u8,
    pub names: Vec<String>,
    body: Position,
}

impl Table {
    /// Reads all of it. Without a delimiter the header tells.
    pub fn read(reader: impl Read, delimiter: Option<u8>) -> Result<Self, TableError> {
        let mut text = Vec::new();
        unpack(reader)?.read_to_end(&mut text).map_err(ReadError::from)?;
        if text.starts_with(b"\xef\xbb\xbf") {
            // The byte order mark that some programs put first is no part of the first name.
            text.drain(..3);
        }
        let delimiter = delimiter.unwrap_or_else(|| guess_delimiter(&text));
        if matches!(delimiter, b'"' | b'\n' | b'\r') || !delimiter.is_ascii() {
            return Err(TableError::Delimiter(delimiter.into()));
        }
        let mut table = Self { text, delimiter, names: Vec::new(), body: Position::new() };
        let mut records = table.records();
        if !records.read()? {
            return Err(TableError::Empty);
        }
        let mut names = Vec::new();
        for position in 0..records.record.len() {
            names.push(records.text(position)?.to_owned());
        }
        let body = records.reader.position().clone();
        let mut seen = HashMap::new();
        for (position, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            if let Some(first) = seen.insert(name, position) {
                let (name, first, second) = (name.clone(), first + 1, position + 1);
                return Err(TableError::DuplicateColumn { name, first, second });
            }
        }
        (table.names, table.body) = (names, body);
        Ok(table)
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The records below the header; all of them as long as the header has not been read.
    pub fn records(&self) -> Records<'_> {
        let rest = &self.text[self.body.byte() as usize..];
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(self.delimiter).from_reader(rest);
        Records { table: self, reader, record: ByteRecord::new(), last: 0 }
    }

    /// Where a record begins in the text; the reader may still stand before the line break of the record above.
    fn start_of(&self, record: &ByteRecord) -> usize {
        let start = self.body.byte() + record.position().map_or(0, Position::byte);
        let breaks = self.text[start as usize..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        start as usize + breaks.count()
    }

    /// Whether the text from a record's first byte on ends inside quotes.
    fn ends_in_quotes(&self, start: usize) -> bool {
        let (mut quoted, mut field_begins) = (false, true);
        let mut bytes = self.text[start..].iter().peekable();
        while let Some(byte) = bytes.next() {
            if quoted {
                // Two quotes stand for one.
                if *byte == b'"' && bytes.next_if_eq(&&b'"').is_none() {
                    quoted = false;
                }
            } else {
                quoted = *byte == b'"' && field_begins;
                field_begins = *byte == self.delimiter || matches!(byte, b'\n' | b'\r');
            }
        }
        quoted
    }

    /// The line on which a byte stands, from 1. Counted only where something is wrong: the reader's own count is one
    /// too low after `\r\n`.
    fn line_at(&self, byte: usize) -> usize {
        let ends_line = |k: &usize| match self.text[*k] {
            b'\n' => true,
            b'\r' => self.text.get(k + 1) != Some(&b'\n'),
            _ => false,
        };
        1 + (0..byte).filter(ends_line).count()
    }
}

/// A walk over the records of a table.
pub(crate) struct Records<'t> {
    table: &'t Table,
    reader: csv::Reader<&'t [u8]>,
    record: ByteRecord,
    /// Where the record begins: at first the header.
    last: usize,
}

impl Records<'_> {
    /// Goes on to the next record, which has as many fields as the header; `false` at the end.
    pub fn advance(&mut self) -> Result<bool, TableError> {
        if !self.read()? {
            return Ok(false);
        }
        let (found, expected) = (self.record.len(), self.table.names.len());
        if found != expected {
            return Err(TableError::Ragged { line: self.line(), found, expected });
        }
        Ok(true)
    }

    fn read(&mut self) -> Result<bool, TableError> {
        let more = self.reader.read_byte_record(&mut self.record);
        let more = more.map_err(|error| ReadError::Io(error.into()))?;
        if more {
            self.last = self.table.start_of(&self.record);
        } else if self.table.ends_in_quotes(self.last) {
            // The reader takes the end of the file for the missing quote.
            return Err(TableError::UnclosedQuote { line: self.table.line_at(self.last) });
        }
        Ok(more)
    }

    /// A value, without the blanks around it.
    pub fn bytes(&self, position: usize) -> &[u8] {
        self.record[position].trim_ascii()
    }

    /// A value as text.
    pub fn text(&self, position: usize) -> Result<&str, TableError> {
        let text = str::from_utf8(self.bytes(position));
        text.map_err(|_| TableError::Read(ReadError::NotUtf8 { line: self.line() }))
    }

    /// A value as a finite number.
    pub fn number(&self, position: usize) -> Option<f64> {
        let text = str::from_utf8(self.bytes(position)).ok()?;
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// A value for a message.
    pub fn excerpt(&self, position: usize) -> String {
        String::from_utf8_lossy(self.bytes(position)).chars().take(60).collect()
    }

    /// Whether a value is missing: empty, `.`, or `NA`, `N/A`, `NaN` or `null` in any case.
    pub fn is_missing(&self, position: usize) -> bool {
        let value = self.bytes(position);
        match value.len() {
            0 => true,
            1 => value == b".",
            2..=4 => [&b"na"[..], b"n/a", b"nan", b"null"].iter().any(|word| value.eq_ignore_ascii_case(word)),
            _ => false,
        }
    }

    /// The line on which the record begins, from 1.
    pub fn line(&self) -> usize {
        self.table.line_at(self.last)
    }
}

/// The comma, semicolon or tab that stands most often in the first line, outside quotes.
fn guess_delimiter(text: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    for byte in text.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n')) {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' | b'\n' if !quoted => break,
            _ if quoted => {}
            _ => counts.iter_mut().filter(|(delimiter, _)| delimiter == byte).for_each(|(_, count)| *count += 1),
        }
    }
    // The first of equals: a header with none of them has a single column.
    let mut best = counts[0];
    for candidate in counts {
        if candidate.1 > best.1 {
            best = candidate;
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, Vec<String>)> {
        let table = Table::read(text.as_bytes(), None).unwrap();
        let mut records = table.records();
        let mut all = Vec::new();
        while records.advance().unwrap() {
            let fields = (0..table.names.len()).map(|k| records.text(k).unwrap().to_owned());
            all.push((records.line(), fields.collect()));
        }
        all
    }

    fn refused(text: &str) -> String {
        let run = || -> Result<(), TableError> {
            let table = Table::read(text.as_bytes(), None)?;
            let mut records = table.records();
            while records.advance()? {}
            Ok(())
        };
        run().unwrap_err().to_string()
    }

    fn owned(fields: &[&str]) -> Vec<String> {
        fields.iter().map(|field| (*field).to_owned()).collect()
    }

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("a,b{end}1,\"x\ny\"{end}{end}2,z{end}3, w {end}");
            let expected = [(2, owned(&["1", "x\ny"])), (5, owned(&["2", "z"])), (6, owned(&["3", "w"]))];
            assert_eq!(lines(&text), expected, "{end:?}");
        }
    }

    #[test]
    fn the_header_tells_the_delimiter_and_a_byte_order_mark_is_no_name() {
        for (text, name) in [("\u{feff}a;b,c;d\n1;2;3", "a"), ("\"a,;\"\tb\tc\n1\t2\t3", "a,;"), ("a,b;,c\n1,2,3", "a")]
        {
            let table = Table::read(text.as_bytes(), None).unwrap();
            assert_eq!(table.names.len(), 3, "{text:?}");
            assert_eq!(table.names[0], name);
            assert_eq!(lines(text)[0].1, ["1", "2", "3"]);
        }
        let table = Table::read("a|b\n".as_bytes(), Some(b'|')).unwrap();
        assert_eq!(table.names, ["a", "b"]);
        assert!(matches!(Table::read("a\n".as_bytes(), Some(b'"')), Err(TableError::Delimiter('"'))));
    }

    #[test]
    fn broken_tables_are_refused_by_line() {
        assert!(refused("").starts_with("the file is empty"));
        assert!(refused("\r\n\n").starts_with("the file is empty"));
        assert!(refused("a,b,a\n").starts_with("columns 1 and 3 are both named \"a\""));
        assert!(refused("a,b\r\n1,2\r\n3\r\n").starts_with("line 3: 1 values, but the header names 2"));
        assert!(refused("a,b\n\"x\n\",2\n1,2,3").starts_with("line 4: 3 values"));
        assert!(refused("a,b\n1,2\n3,\"open\n4,5\n").starts_with("line 3: a quote is opened"));
        assert!(refused("a,\"b").starts_with("line 1: a quote is opened"));
        // A quote inside an unquoted value is a mere character.
        assert_eq!(lines("a,b\n1,5\"\n")[0].1, ["1", "5\""]);
        assert_eq!(lines("a,b\n1,\"say \"\"no\"\"\"")[0].1, ["1", "say \"no\""]);
        let latin = Table::read(&b"a\nb\xe9\n"[..], None).unwrap();
        let mut records = latin.records();
        assert!(records.advance().unwrap());
        assert_eq!(records.text(0).unwrap_err().to_string(), "line 2: the text is not UTF-8: convert the file to it");
    }

    #[test]
    fn missing_is_what_the_documentation_says() {
        for missing in ["", " ", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", ".", "\"\""] {
            let text = format!("a,b\n{missing},1");
            let table = Table::read(text.as_bytes(), None).unwrap();
            let mut records = table.records();
            assert!(records.advance().unwrap() && records.is_missing(0) && !records.is_missing(1), "{missing:?}");
        }
        for present in ["0", "-", "none", "Nana", "n", ".."] {
            let table_text = format!("a\n{present}");
            let table = Table::read(table_text.as_bytes(), None).unwrap();
            let mut records = table.records();
            assert!(records.advance().unwrap() && !records.is_missing(0), "{present:?}");
        }
    }
}
