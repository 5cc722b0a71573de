//! One process that answers for users, and the threads that speak with it.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write as _},
    process::{Child, ChildStdin, ExitStatus},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use super::Command;

/// The most bytes that are kept of a line on standard error.
const LONGEST_WORDS: usize = 300;
/// How many such lines are kept.
const KEPT_WORDS: usize = 5;
/// How long a process that has closed its output may take to end.
const LAST_BREATH: Duration = Duration::from_millis(500);

/// Which process: that of a user by number, or 0 for all; and the how manieth in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub slot: usize,
    pub generation: u64,
}

/// Something that a process did.
pub(super) struct Came {
    pub from: Id,
    pub what: What,
}

pub(super) enum What {
    /// A line on its standard output.
    Line(String),
    /// A line on its standard output that is no text, or longer than any answer.
    Unreadable(String),
    /// A line on its standard error.
    Words(String),
    /// It will say no more.
    Closed,
}

impl Came {
    /// How many bytes it holds.
    pub fn len(&self) -> usize {
        match &self.what {
            What::Line(text) | What::Unreadable(text) | What::Words(text) => text.len(),
            What::Closed => 0,
        }
    }
}

/// A process that runs. Dropping it ends it.
pub(super) struct Worker {
    pub id: Id,
    child: Child,
    /// Lines to write. A process that does not read keeps nobody waiting but its own thread.
    lines: Option<Sender<String>>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    /// Answers of it that were taken.
    pub answers: u64,
    is_over: bool,
}

impl Worker {
    pub fn start(
        command: &Command,
        user: Option<&str>,
        id: Id,
        longest: usize,
        came: &SyncSender<Came>,
    ) -> io::Result<Self> {
        let mut child = command.process(user).spawn()?;
        let (lines, to_write) = mpsc::channel();
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stdin) = child.stdin.take() {
            thread::Builder::new().name("to a user".into()).spawn(move || write_all(stdin, &to_write))?;
        }
        if let Some(stdout) = child.stdout.take() {
            let came = came.clone();
            thread::Builder::new().name("from a user".into()).spawn(move || {
                read_lines(BufReader::new(stdout), longest, |line| {
                    let what = match line {
                        Ok(line) => What::Line(line),
                        Err(why) => What::Unreadable(why),
                    };
                    came.send(Came { from: id, what }).is_ok()
                });
                let _ = came.send(Came { from: id, what: What::Closed });
            })?;
        }
        if let Some(stderr) = child.stderr.take() {
            let (came, last_words) = (came.clone(), Arc::clone(&last_words));
            thread::Builder::new().name("words of a user".into()).spawn(move || {
                read_lines(BufReader::new(stderr), LONGEST_WORDS, |line| {
                    let line = line.unwrap_or_else(|why| format!("({why})"));
                    let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() == KEPT_WORDS {
                        kept.pop_front();
                    }
                    kept.push_back(line.clone());
                    drop(kept);
                    // They are for whoever looks on: where there are too many, answers come first.
                    let _ = came.try_send(Came { from: id, what: What::Words(line) });
                    true
                });
            })?;
        }
        Ok(Self { id, child, lines: Some(lines), last_words, answers: 0, is_over: false })
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Says that there will be no more questions.
    pub fn close(&mut self) {
        self.lines = None;
    }

    /// Hands over a question. Whether it arrives shows in whether it is answered.
    pub fn send(&self, line: String) {
        let _ = self.lines.iter().try_for_each(|lines| lines.send(line.clone()));
    }

    /// How it ended, and the last thing it wrote to its standard error. What closes its output is over.
    pub fn end(&mut self) -> (Option<ExitStatus>, String) {
        self.lines = None;
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if begun.elapsed() < LAST_BREATH => thread::sleep(Duration::from_millis(5)),
                Ok(Some(status)) => break Some(status),
                _ => break None,
            }
        };
        self.kill();
        // What it wrote last may still be on its way: the thread that reads it holds the words as well, until there are no more.
        while Arc::strong_count(&self.last_words) > 1 && begun.elapsed() < LAST_BREATH {
            thread::sleep(Duration::from_millis(2));
        }
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let last = words.iter().rev().find(|line| !line.trim().is_empty()).cloned().unwrap_or_default();
        (status, last)
    }

    /// Ends it and whatever it has started.
    pub fn kill(&mut self) {
        self.lines = None;
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        #[cfg(unix)]
        if let Ok(group) = i32::try_from(self.child.id()) {
            use nix::{
                sys::signal::{Signal, killpg},
                unistd::Pid,
            };
            // Its group is its own, and is there as long as nobody has waited for it, or something that it started goes on.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

fn write_all(mut stdin: ChildStdin, lines: &mpsc::Receiver<String>) {
    for line in lines {
        let written = stdin.write_all(line.as_bytes()).and_then(|()| stdin.write_all(b"\n"));
        if written.and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Reads lines of at most so many bytes, until there are no more or `each` has enough. The rest of a longer line is passed over
/// without being kept.
fn read_lines(mut from: impl BufRead, longest: usize, mut each: impl FnMut(Result<String, String>) -> bool) {
    let (mut line, mut passed_over) = (Vec::new(), 0_usize);
    loop {
        let (used, is_whole) = match from.fill_buf() {
            Ok([]) => break,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let piece = &bytes[..end.unwrap_or(bytes.len())];
                let kept = piece.len().min(longest.saturating_sub(line.len()));
                line.extend_from_slice(&piece[..kept]);
                passed_over = passed_over.saturating_add(piece.len() - kept);
                (piece.len() + usize::from(end.is_some()), end.is_some())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        from.consume(used);
        if is_whole && !each(whole(std::mem::take(&mut line), std::mem::take(&mut passed_over), longest)) {
            return;
        }
    }
    if !line.is_empty() {
        each(whole(line, passed_over, longest));
    }
}

fn whole(mut line: Vec<u8>, passed_over: usize, longest: usize) -> Result<String, String> {
    if passed_over > 0 {
        let bytes = line.len() + passed_over;
        let beginning = crate::wire::shown(&String::from_utf8_lossy(&line[..line.len().min(300)]));
        return Err(format!("a line of {bytes} bytes, and no answer has more than {longest}: {beginning}"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|error| {
        let bytes = error.into_bytes();
        let beginning = crate::wire::shown(&String::from_utf8_lossy(&bytes[..bytes.len().min(300)]));
        format!("a line that is not text in UTF-8: {beginning}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], longest: usize) -> Vec<Result<String, String>> {
        let mut lines = Vec::new();
        // A small buffer, so that lines come in pieces.
        read_lines(BufReader::with_capacity(3, bytes), longest, |line| {
            lines.push(line);
            true
        });
        lines
    }

    #[test]
    fn lines_are_bounded() {
        let found = lines(b"short\r\n\n0123456789\n0123456789a\nab\xff\nlast", 10);
        assert_eq!(found[..3], [Ok("short".to_owned()), Ok(String::new()), Ok("0123456789".to_owned())]);
        let long = found[3].as_ref().unwrap_err();
        assert!(long.contains("11 bytes") && long.contains("0123456789"), "{long}");
        assert!(found[4].as_ref().unwrap_err().contains("UTF-8"));
        assert_eq!(found[5..], [Ok("last".to_owned())]);
    }
}
