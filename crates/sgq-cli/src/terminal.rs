//! What a person sees: progress, tables, messages.

use std::{
    error::Error,
    io::{self, IsTerminal as _, Write},
    time::Duration,
};

use console::{Term, measure_text_width, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use sgq_bench::{Experiment, experiment::FileError, output::Folder};

/// The most characters of a message.
const LONGEST_MESSAGE: usize = 2_000;

/// Prints a result for a person, or JSON. A reader that has gone away (`sgq methods | head`) is no error; a full disk is.
pub fn say(text: &str) -> io::Result<()> {
    print(&visible(text))
}

/// Prints data as they are, but to a terminal as a person can read them.
pub fn say_data(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { say(text) } else { print(text) }
}

fn print(text: &str) -> io::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write the result to the standard output: {error}");
            Err(io::Error::new(error.kind(), message))
        }
        _ => Ok(()),
    }
}

/// Says where a run's files are.
pub fn say_written(folder: &Folder, more: &str) -> io::Result<()> {
    let path = one_line(&folder.path().display().to_string());
    say(&format!("\n  written to {path}: {}{more}", folder.written().join(" ")))
}

/// Prints a message that is not a result, in one line.
pub fn complain(text: &str) {
    complain_in_lines(&one_line(&shortened(text)));
}

/// Prints a message that has lines of its own.
pub fn complain_in_lines(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(text));
}

/// Prints what went wrong, in one line, and below it the line of the file where it did.
pub fn complain_of(error: &(dyn Error + 'static)) {
    match error.downcast_ref::<FileError>() {
        Some(it) if !it.excerpt.is_empty() => {
            complain(&format!("error: {}", FileError { excerpt: String::new(), ..it.clone() }));
            complain(&format!("  {} | {}", it.line, it.excerpt));
        }
        _ => complain(&format!("error: {error}")),
    }
}

/// A text in which nothing steers the terminal: what does is written as JSON writes it, `\u001b`, so that JSON stays JSON.
/// Lines and columns are ours, and stay.
pub fn visible(text: &str) -> String {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// The same of a name, which has no lines.
pub fn one_line(name: &str) -> String {
    escaped(name, |_| false)
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let steers = |c: char| {
        // Control characters, line and paragraph separators, and what turns the direction of writing.
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !steers(c) || keep(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out
}

/// The beginning, which says what is wrong, and the end, which says what to do.
fn shortened(text: &str) -> String {
    const END: usize = LONGEST_MESSAGE / 4;
    let count = text.chars().count();
    if count <= LONGEST_MESSAGE {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(LONGEST_MESSAGE - END).collect();
    let end: String = text.chars().skip(count - END).collect();
    format!("{beginning} … {end}")
}

/// A progress bar over the trials of an experiment; none where nobody is watching.
pub fn progress(name: &str, experiment: &Experiment, hidden: bool) -> ProgressBar {
    let runs = (experiment.methods.len() * experiment.problems.len()) as u64;
    let name = format!(
        "{:<10} {} × {}",
        one_line(name),
        counted(experiment.methods.len() as u64, "method"),
        counted(experiment.trials, "trial")
    );
    let words = |state: &ProgressState| {
        let part = (100.0 * state.fraction()).floor();
        let done = format!("{part:>3.0}%  {}", seconds(state));
        let left = state.eta();
        match state.is_finished() || state.elapsed() < KNOWN_AFTER || left.is_zero() {
            true => [done.clone(), done],
            false => [format!("{done}, {} left", rounded(left)), format!("{part:>3.0}%  {} left", rounded(left))],
        }
    };
    bar(runs * experiment.trials, name, words, 0, hidden)
}

/// What is left is a guess before so much time.
const KNOWN_AFTER: Duration = Duration::from_secs(1);

/// A progress bar over the queries of one run, with room for a message; none where nobody is watching. A run often ends before its
/// budget: what is left of the budget is the most that it takes.
pub fn query_progress(name: &str, budget: u64, hidden: bool) -> ProgressBar {
    let words = |state: &ProgressState| {
        let (at, of) = (state.pos(), state.len().unwrap_or(0));
        let left = state.eta();
        match state.is_finished() || state.elapsed() < KNOWN_AFTER || left.is_zero() {
            true => [format!("{at} of {of} queries  {}", seconds(state)), format!("{at}/{of}  {}", seconds(state))],
            false => {
                let left = rounded(left);
                [
                    format!("{at} of {of} queries  {}, at most {left} left", seconds(state)),
                    format!("{at}/{of}  ≤ {left} left"),
                ]
            }
        }
    };
    bar(budget, one_line(name), words, MESSAGE_ROOM, hidden)
}

/// A line over a session, whose text is [`session_line`]; none where nobody is watching.
pub fn session_progress(hidden: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(hidden));
    bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Where a bar is drawn: nowhere if nobody is watching.
fn target(hidden: bool) -> ProgressDrawTarget {
    match hidden || !io::stderr().is_terminal() {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::term_like_with_hz(Box::new(WithRoom(Term::stderr())), 20),
    }
}

/// Columns for what is believed to remain, such as `remaining 1.2e-3 (4.5e-4 to 6.7e-3)`.
const MESSAGE_ROOM: usize = 36;

/// Terminals with fewer columns have no room for a bar.
const NARROW: usize = 60;
const BAR: u64 = 24;
/// What a terminal prints for Ctrl-C has to stand in the same line, or the line is not found to be written over.
const ROOM: u16 = 3;

/// A terminal whose last columns stay free.
#[derive(Debug)]
struct WithRoom(Term);

impl TermLike for WithRoom {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(ROOM).max(1)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

/// How far a session is: method, bar, queries, and what else there is to say, in so many columns.
pub fn session_line(name: &str, queries: u64, budget: Option<u64>, more: &str, columns: usize) -> String {
    let name = one_line(name);
    let of = budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let text = match (columns < NARROW, budget) {
        (true, _) => format!("  {queries}{of}  {more}"),
        (_, None) => format!("  {name}  {queries} queries  {more}"),
        (_, Some(budget)) => {
            let full = (BAR * queries.min(budget)).checked_div(budget).unwrap_or(BAR);
            let words = format!("{queries}{of} queries  {more}");
            let with_bar = format!("  {name}  {} {words}", cells(full));
            // Words say more than a bar does.
            let fits = measure_text_width(with_bar.trim_end()) + usize::from(ROOM) <= columns;
            if fits { with_bar } else { format!("  {name}  {words}") }
        }
    };
    truncate_str(text.trim_end(), columns.saturating_sub(ROOM.into()), "…").into_owned()
}

/// The columns of the terminal that messages go to.
pub fn columns() -> usize {
    Term::stderr().size().1.into()
}

/// The columns that a result has room for; none where it goes to no terminal, and has all it needs.
pub fn result_columns() -> Option<usize> {
    let term = Term::stdout();
    term.is_term().then(|| term.size().1.into())
}

/// A progress bar over methods on problems; none where nobody is watching.
pub fn cell_progress(name: &str, cells: u64, hidden: bool) -> ProgressBar {
    let words = |state: &ProgressState| {
        let (at, of, left) = (state.pos(), state.len().unwrap_or(0), rounded(state.eta()));
        [format!("{at}/{of} methods on problems  {left} left"), format!("{at}/{of}  {left} left")]
    };
    bar(cells, one_line(name), words, 0, hidden)
}

/// A bar with a name before it and words behind it, long ones and short ones, and room for a message of so many columns.
fn bar(
    length: u64,
    name: String,
    words: impl Fn(&ProgressState) -> [String; 2] + Clone + Send + Sync + 'static,
    room: usize,
    hidden: bool,
) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), target(hidden));
    let style = ProgressStyle::with_template("{line}{wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("line", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let [long, short] = words(state);
            let _ = out.write_str(&bar_line(&name, state.fraction().into(), &long, &short, room, columns()));
        });
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// What stands before a bar's message, in so many columns: the bar goes first, then the name and all that has a short form.
fn bar_line(name: &str, part: f64, long: &str, short: &str, room: usize, columns: usize) -> String {
    let columns = columns.saturating_sub(ROOM.into());
    let gap = if room > 0 { "  " } else { "" };
    let forms = [
        format!("  {name}  {} {long}{gap}", cells((part * BAR as f64) as u64)),
        format!("  {name}  {long}{gap}"),
        format!("  {name}  {short}{gap}"),
        format!("  {short}{gap}"),
    ];
    let fits = forms.iter().find(|form| measure_text_width(form) + room <= columns);
    truncate_str(fits.unwrap_or(&forms[3]), columns, "…").into_owned()
}

/// A bar of which so many cells are full.
fn cells(full: u64) -> String {
    (0..BAR).map(|cell| if cell < full { '━' } else { '╌' }).collect()
}

fn seconds(state: &ProgressState) -> String {
    format!("{:.1} s", state.elapsed().as_secs_f64())
}

/// A time that nobody knows to the second: `12 s`, `3 min`, `5 h`.
fn rounded(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 99.5 => format!("{seconds:.0} s"),
        seconds if seconds < 5_970.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    }
}

/// `1 answer`, `2 answers`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(
            visible("a\tb\n\u{1b}[31mred\r\u{7f}\u{9b}2J\u{202e}é ×"),
            "a\tb\n\\u001b[31mred\\r\\u007f\\u009b2J\\u202eé ×"
        );
        assert_eq!(one_line("a\tb\nc"), "a\\tb\\nc");
        // JSON that is printed is still JSON, and says the same.
        let json = serde_json::json!({ "name": "\u{1b}[2J\u{9b}\n\u{202e}" });
        let printed = visible(&serde_json::to_string_pretty(&json).unwrap());
        assert!(!printed.contains(|c: char| c.is_control() && c != '\n'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), json);
    }

    #[test]
    fn the_line_of_a_session_fits_into_the_terminal() {
        let more = "cost 12.50 (87.50 left)  remaining 1.2e-3 (4.5e-4 to 6.7e-3)  asks north (not asked before)";
        let line = |columns| session_line("frugal", 12, Some(60), more, columns);
        for columns in 1..200 {
            assert!(line(columns).chars().count() <= columns.saturating_sub(3).max(1), "{columns}: {}", line(columns));
        }
        assert!(
            line(180).starts_with("  frugal  ━━━━╌╌") && line(180).ends_with("(not asked before)"),
            "{}",
            line(180)
        );
        assert!(
            line(80).starts_with("  frugal  12 of 60 queries  cost 12.50 (87.50 left)  remaining 1.2e-3 "),
            "{}",
            line(80)
        );
        assert_eq!(line(40), "  12 of 60  cost 12.50 (87.50 left) …");
        assert_eq!(session_line("saga", 12, None, "cost 12", 80), "  saga  12 queries  cost 12");
    }

    #[test]
    fn the_line_of_a_bar_fits_into_the_terminal() {
        let line = |columns| {
            bar_line(
                "frugal",
                0.3,
                "161 of 540 queries  2.0 s, at most 5 s left",
                "161/540  ≤ 5 s left",
                MESSAGE_ROOM,
                columns,
            )
        };
        for columns in 0..200 {
            assert!(line(columns).chars().count() <= columns.saturating_sub(3).max(1), "{columns}: {}", line(columns));
        }
        assert!(line(140).starts_with("  frugal  ━━━━━━━╌╌"), "{}", line(140));
        assert_eq!(line(100), "  frugal  161 of 540 queries  2.0 s, at most 5 s left  ");
        assert_eq!(line(80), "  frugal  161/540  ≤ 5 s left  ");
        // There is still room for `remaining 1.2e-3`.
        assert_eq!(line(40), "  161/540  ≤ 5 s left  ");
        assert_eq!(line(14), "  161/540 …");
        assert_eq!(bar_line("x", 1.0, "long", "short", 0, 80), format!("  x  {} long", cells(BAR)));
    }

    #[test]
    fn times_are_rounded() {
        let times = [0.2, 12.4, 99.0, 100.0, 5_960.0, 7_300.0].map(Duration::from_secs_f64);
        assert_eq!(times.map(rounded), ["0 s", "12 s", "99 s", "2 min", "99 min", "2 h"]);
    }

    #[test]
    fn a_message_has_a_length_that_is_read() {
        assert_eq!(shortened("short"), "short");
        let long = "é".repeat(1_000_000) + ": choose another --out";
        let short = shortened(&long);
        assert_eq!(short.chars().count(), LONGEST_MESSAGE + 3);
        assert!(short.starts_with("éé") && short.ends_with("é: choose another --out"));
    }
}
