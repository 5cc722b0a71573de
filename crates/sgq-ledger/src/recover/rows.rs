//! The rows in a page, whatever the page claims to be: only those count that have the checksum of what they hold.

use super::pages::Pages;

/// The header of a page that rows are in.
const HEADER: usize = 8;
/// A page of overflow begins with the number of the next one.
const NEXT: usize = 4;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl Value {
    pub fn integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }

    /// SQLite stores a whole number as an integer.
    pub fn real(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn blob(&self) -> Option<&[u8]> {
        if let Self::Blob(bytes) = self { Some(bytes) } else { None }
    }
}

/// A row: its number, and its columns. The column that is the number itself is null.
pub(super) struct Row {
    pub id: i64,
    pub columns: Vec<Value>,
}

/// Every row in a page that has one of these numbers of columns.
pub(super) fn rows(pages: &mut Pages, page: &[u8], counts: &[usize], mut each: impl FnMut(Row)) {
    // The first page begins with the header of the file.
    let is_first = page.starts_with(b"SQLite format 3");
    let start = if is_first { 100 } else { 0 };
    let claimed = usize::from(u16::from_be_bytes([page[start + 3], page[start + 4]]));
    for index in 0..(page.len() - start - HEADER) / 2 {
        let place = start + HEADER + 2 * index;
        let cell = usize::from(u16::from_be_bytes([page[place], page[place + 1]]));
        if (place + 2..page.len() - 4).contains(&cell) {
            if let Some(row) = row(pages, page, cell, counts) {
                each(row);
            }
        } else if index >= claimed {
            // Beyond the last row there is nothing; the number of rows may be what is wrong.
            break;
        }
    }
}

fn row(pages: &mut Pages, page: &[u8], cell: usize, counts: &[usize]) -> Option<Row> {
    let mut rest = &page[cell..];
    let length = usize::try_from(varint(&mut rest)?).ok()?;
    let id = varint(&mut rest)? as i64;
    if length as u64 > pages.bytes() {
        return None;
    }
    let here = in_page(length, page.len());
    let local = rest.get(..here)?;
    let most = *counts.iter().max()?;
    let kinds = kinds(local, length, most).filter(|kinds| counts.contains(&kinds.len()))?;
    let mut payload = Vec::with_capacity(length);
    payload.extend_from_slice(local);
    let mut next = rest.get(here..here + NEXT).and_then(|it| it.first_chunk()).map(|it| u32::from_be_bytes(*it));
    while payload.len() < length {
        let page = pages.newest(u64::from(next?))?;
        let more = (length - payload.len()).min(page.len() - NEXT);
        payload.extend_from_slice(&page[NEXT..NEXT + more]);
        next = page.first_chunk().map(|it| u32::from_be_bytes(*it));
    }
    Some(Row { id, columns: columns(&payload, &kinds)? })
}

/// How much of a row stands in its page: see "Cell Payload Overflow Pages" in the format.
fn in_page(length: usize, page_size: usize) -> usize {
    let most = page_size - 35;
    if length <= most {
        return length;
    }
    let least = (page_size - 12) * 32 / 255 - 23;
    let more = least + (length - least) % (page_size - NEXT);
    if more <= most { more } else { least }
}

/// What kind of value each column is: none, where that and the length of the row do not agree, or where there are more columns. Most
/// pages of long points are no rows, and what is in them is looked at as if it were.
fn kinds(record: &[u8], length: usize, most: usize) -> Option<Vec<u64>> {
    let mut rest = record;
    let header = usize::try_from(varint(&mut rest)?).ok()?;
    let mut header_rest = record.get(record.len() - rest.len()..header)?;
    let mut kinds = Vec::with_capacity(most);
    let mut total = header;
    while !header_rest.is_empty() {
        if kinds.len() == most {
            return None;
        }
        let kind = varint(&mut header_rest)?;
        total = total.checked_add(size(kind)?)?;
        kinds.push(kind);
    }
    (total == length).then_some(kinds)
}

fn size(kind: u64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => Some(kind as usize),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}

fn columns(payload: &[u8], kinds: &[u64]) -> Option<Vec<Value>> {
    let mut rest = payload;
    let header = usize::try_from(varint(&mut rest)?).ok()?;
    rest = payload.get(header..)?;
    let mut columns = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let (bytes, after) = rest.split_at_checked(size(*kind)?)?;
        rest = after;
        columns.push(match kind {
            0 => Value::Null,
            7 => Value::Real(f64::from_be_bytes(*bytes.first_chunk()?)),
            8 | 9 => Value::Integer(*kind as i64 - 8),
            1..=6 => {
                let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1 };
                Value::Integer(bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte)))
            }
            _ if kind % 2 == 0 => Value::Blob(bytes.to_vec()),
            _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
        });
    }
    Some(columns)
}

/// A number of one to nine bytes: seven bits of each, and all of the ninth.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        if place == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_format_has_them() {
        for (bytes, expected) in [(&[0x7f][..], 127), (&[0x81, 0x00], 128), (&[0xff; 9], u64::MAX)] {
            assert_eq!(varint(&mut &*bytes), Some(expected));
        }
        assert_eq!(varint(&mut &[0x81][..]), None);
        let record = [4, 1, 2, 7, 0xff, 0xff, 0xfe, 0x3f, 0xe0, 0, 0, 0, 0, 0, 0];
        let kinds = kinds(&record, record.len(), 3).unwrap();
        assert_eq!(super::kinds(&record, record.len(), 2), None);
        let expected = [Value::Integer(-1), Value::Integer(-2), Value::Real(0.5)];
        assert_eq!(columns(&record, &kinds).unwrap(), expected);
    }

    /// From the format's own page: 4061 bytes stay, and 489 at least.
    #[test]
    fn long_rows_go_on_elsewhere() {
        assert_eq!(in_page(4061, 4096), 4061);
        assert_eq!(in_page(4062, 4096), 489);
        assert_eq!(in_page(489 + 4092 + 10, 4096), 499);
    }
}
