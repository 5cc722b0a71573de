//! What is meant for the owner of a clinic's rows, where the standard error goes to whoever started the program.

use std::{
    error::Error,
    fs::OpenOptions,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use sgq_data::plan::{ClinicError, LogError, Outcome, Reply};

use crate::terminal;

/// The owner's notes: a file beside the log, and the screen where there is one.
///
/// `sgq session run` forwards a child's standard error to the coordinator, and keeps its last line. What goes there tells no more than the
/// answers do.
pub struct Owner {
    notes: PathBuf,
    has_screen: bool,
    is_quiet: bool,
}

impl Owner {
    /// The owner of a clinic with this log.
    pub fn beside(log: &Path, is_quiet: bool) -> Self {
        let mut notes = log.as_os_str().to_owned();
        match log.extension().is_some_and(|end| end == "log") {
            true => notes = log.with_extension("notes").into_os_string(),
            false => notes.push(".notes"),
        }
        Self { notes: notes.into(), has_screen: io::stderr().is_terminal(), is_quiet }
    }

    /// Says what a reply discloses.
    pub fn hears(&self, reply: &Reply) {
        let is_refused = reply.outcome == Outcome::Refused;
        if self.is_quiet && !is_refused {
            return;
        }
        let noted = self.note(&reply.words);
        if self.has_screen {
            terminal::complain_in_lines(&reply.words);
        } else if is_refused {
            terminal::complain(&reply.public_words);
        }
        if let Err(why) = noted {
            terminal::complain(&why);
        }
    }

    /// The error that may go out, where one may name what the file has. The owner finds all of it in the notes.
    pub fn keeps(&self, error: Box<dyn Error>) -> Box<dyn Error> {
        let noted = self.note(&format!("error: {error}"));
        if self.has_screen || error.downcast_ref::<ClinicError>().is_some_and(names_no_value) {
            return error;
        }
        let name = self.notes.file_name().unwrap_or_default().display();
        match noted {
            Ok(()) => format!("this clinic cannot answer: what is wrong is for its owner, in {name}").into(),
            Err(why) => format!("this clinic cannot answer, and what is wrong is for its owner alone: {why}").into(),
        }
    }

    fn note(&self, words: &str) -> Result<(), String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = sgq_ledger::time(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
        let text = format!("{now} {}\n", terminal::visible(words));
        let file = OpenOptions::new().create(true).append(true).open(&self.notes);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            let name = self.notes.file_name().unwrap_or_default().display();
            format!("the notes {name} cannot be written: {error}")
        })
    }
}

/// Whether an error is about options and files, and not about what is in them.
fn names_no_value(error: &ClinicError) -> bool {
    matches!(
        error,
        ClinicError::File(_)
            | ClinicError::Log(LogError::InUse { .. } | LogError::File { .. })
            | ClinicError::NotPositive { .. }
            | ClinicError::OneOfTwo
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_lie_beside_the_log() {
        for (log, notes) in [
            ("a/mine.csv.x.answers.log", "a/mine.csv.x.answers.notes"),
            ("log", "log.notes"),
            ("x.notes", "x.notes.notes"),
        ] {
            assert_eq!(Owner::beside(Path::new(log), false).notes, Path::new(notes));
        }
    }
}
