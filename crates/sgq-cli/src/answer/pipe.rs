//! Questions from the standard input, answers to the standard output.

use std::{
    error::Error,
    io::{self, BufRead as _, Write as _},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::{Args, owner::Owner};
use crate::{Outcome, session::interrupts::Interrupts, terminal};

/// How often to look whether somebody has interrupted.
const PAUSE: Duration = Duration::from_millis(50);

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let owner = Owner::beside(&args.log(), args.quiet);
    let mut clinic = args.open().map_err(|error| owner.keeps(error))?;
    let interrupts = Interrupts::watch()?;
    // Reading waits, and whoever waits sees no Ctrl-C.
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = match input.read_until(b'\n', &mut line) {
                Ok(0) => return,
                read => read.map(|_| line),
            };
            let is_broken = read.is_err();
            if sender.send(read).is_err() || is_broken {
                return;
            }
        }
    });
    loop {
        let line = match lines.recv_timeout(PAUSE) {
            Ok(line) => line.map_err(|error| format!("the standard input cannot be read: {error}"))?,
            Err(RecvTimeoutError::Timeout) if interrupts.are_there() => {
                terminal::complain("interrupted; every answer that was given is in the log");
                return Ok(Outcome::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Ok(Outcome::Done),
        };
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        let reply = clinic.answer(line.trim());
        owner.hears(&reply);
        let mut output = io::stdout().lock();
        match writeln!(output, "{}", reply.line).and_then(|()| output.flush()) {
            // Nobody listens any more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Outcome::Done),
            written => {
                written.map_err(|error| format!("the answer cannot be written to the standard output: {error}"))?
            }
        }
    }
}
