//! Lines that users send: whose they are, and what becomes of them.

use super::{Ledger, Told};
use crate::{LedgerError, Message, Rejected, Saying, wire::kept};

/// What is to become of an answer in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Taking {
    /// It is used, where it is not out of line.
    #[default]
    Checked,
    /// It is used: a person has looked at it.
    Accepted,
    /// It waits for its turn. An answer to a question to everybody has none, and is used.
    Held,
}

/// What a line was.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// An answer, and what became of it.
    Told(Told),
    /// There is no answer, and this is what its user says of it. The question is still out.
    Error(String),
}

/// A line that makes sense.
pub(crate) struct Line {
    pub ticket: u64,
    /// Who says it, as far as anybody can tell.
    pub user: Option<usize>,
    pub saying: Saying,
}

/// A line that makes none.
pub(crate) struct WrongLine {
    pub ticket: Option<u64>,
    pub user: Option<usize>,
    pub why: Rejected,
}

impl Ledger {
    /// Takes a line of JSON as a user has sent it: an answer, an answer to a question to everybody, or `{"ticket": …, "error": …}`, which
    /// is noted in the record. What cannot be taken is recorded with the reason, and is an error; its question stays open.
    ///
    /// `sender` is who has sent it, where that is known: it speaks for itself alone, whatever the line says.
    pub fn tell_line(&mut self, line: &str, sender: Option<usize>, taking: Taking) -> Result<Heard, LedgerError> {
        self.check_fresh()?;
        let Line { ticket, user, saying } = match self.read_line(line, sender) {
            Ok(read) => read,
            Err(WrongLine { ticket, user, why }) => {
                self.refuse(ticket, user, &why, line)?;
                return Err(why.into());
            }
        };
        let told = match (saying, taking) {
            (Saying::Error(words), _) => return self.hear_error(ticket, user, words, line),
            (Saying::Report(report), _) => self.tell_report(ticket, &report, user),
            (Saying::Answer(reply), Taking::Held) => self.hold(ticket, &reply, user),
            (Saying::Answer(reply), _) => self.tell_from(ticket, &reply, user, taking == Taking::Accepted),
        };
        told.map(Heard::Told)
    }

    /// What a line says, and who says it.
    pub(crate) fn read_line(&self, line: &str, sender: Option<usize>) -> Result<Line, WrongLine> {
        let wrong = |ticket, user, why: String| WrongLine { ticket, user, why: Rejected::Unreadable(why) };
        let message = Message::from_json(line).map_err(|nonsense| {
            let user = sender.or_else(|| nonsense.user.and_then(|name| self.user(&name).ok()));
            wrong(nonsense.ticket, user, nonsense.why)
        })?;
        let said = message.user.as_deref().map(|name| self.user(name)).transpose();
        let said = said.map_err(|error| wrong(message.ticket, sender, error.to_string()))?;
        // Whoever is known to have sent it speaks for itself alone.
        if let (Some(sender), Some(said)) = (sender, said)
            && sender != said
        {
            let name = |user: usize| self.users().get(user).map_or("", |it| &*it.name);
            let why = format!("it is in the name of {:?}, and was sent by {:?}", name(said), name(sender));
            return Err(wrong(message.ticket, Some(sender), why));
        }
        let user = sender.or(said);
        let ticket = message
            .ticket
            .ok_or_else(|| wrong(None, user, "it has no \"ticket\": send back that of the question".to_owned()))?;
        Ok(Line { ticket, user, saying: message.saying })
    }

    fn hear_error(
        &mut self,
        ticket: u64,
        user: Option<usize>,
        words: String,
        line: &str,
    ) -> Result<Heard, LedgerError> {
        let owner = self.pending().into_iter().find(|question| question.ticket == ticket).map(|it| it.user);
        // An answer that is there is not lost by what else comes.
        if owner.is_none() || self.is_held(ticket) || user.is_some_and(|user| owner != Some(user)) {
            let why = not_out(ticket);
            self.refuse(Some(ticket), user, &why, line)?;
            return Err(why.into());
        }
        self.note_error(ticket, owner, &words)?;
        Ok(Heard::Error(words))
    }

    /// Writes down why a user says that it does not answer.
    pub(crate) fn note_error(&mut self, ticket: u64, user: Option<usize>, words: &str) -> Result<(), LedgerError> {
        self.note(user, &format!("question {ticket}: it said: {}", kept(words)))
    }
}

/// An error for a question that nobody waits for, or that is somebody else's.
pub(crate) fn not_out(ticket: u64) -> Rejected {
    Rejected::Earlier(format!("it is an error for the question {ticket}, which is not out to it"))
}
