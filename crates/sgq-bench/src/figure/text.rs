//! Text and numbers as they stand in an SVG file.

/// Width of the characters from space to tilde in DejaVu Sans, in hundredths of the font size.
/// The viewer may fall back on Helvetica or Arial, which are narrower: room for DejaVu is enough.
const ASCII_WIDTHS: [u8; 95] = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69,
    61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63,
    59, 82, 59, 59, 52, 64, 34, 64, 84,
];

/// Width of `text` drawn at `size`, rounded up where the character is not ASCII.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(character_width).sum::<f64>() * size
}

fn character_width(character: char) -> f64 {
    let code = character as usize;
    match code {
        0x20..=0x7e => f64::from(ASCII_WIDTHS[code - 0x20]) / 100.0,
        // Combining marks stand over the letter before them.
        0x300..=0x36f => 0.0,
        0x80..0x2000 => 0.8,
        _ => 1.0,
    }
}

/// `text`, cut with an ellipsis where it would be wider than `room`.
pub(super) fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut used = size;
    let kept: String = text
        .chars()
        .take_while(|character| {
            used += character_width(*character) * size;
            used <= room
        })
        .collect();
    format!("{}…", kept.trim_end())
}

/// A text in lines that are no wider than `room`.
pub(crate) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + 0.4 * size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `text` safe between two tags. Characters that XML forbids would make the whole file unreadable, and those that override the
/// direction of writing would make a name read as another one, so they are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A coordinate in hundredths of a pixel: finer is invisible, and an integer prints the same
/// everywhere.
pub(super) fn hundredths(value: f64) -> i64 {
    (value * 100.0).round() as i64
}

/// A number of hundredths as a decimal without needless digits.
pub(super) fn decimal(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let size = hundredths.unsigned_abs();
    let (whole, part) = (size / 100, size % 100);
    match part {
        0 => format!("{sign}{whole}"),
        part if part % 10 == 0 => format!("{sign}{whole}.{}", part / 10),
        part => format!("{sign}{whole}.{part:02}"),
    }
}

/// A coordinate rounded to two decimals.
pub(super) fn number(value: f64) -> String {
    decimal(hundredths(value))
}
