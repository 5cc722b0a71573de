//! Users that are folders: for those who release every file by hand, or whose files are carried by another program.
//!
//! ```text
//! exchange/to/clinic-7/17.json      the question with ticket 17, until it is answered
//! exchange/from/clinic-7/17.json    what clinic-7 puts there: its answer
//! exchange/from/clinic-7/taken/     answers that were taken
//! exchange/from/clinic-7/refused/   answers that were not, each with its reason beside it: 17.reason.txt
//! ```
//!
//! What everybody is asked in a study by a plan is called `first.json`, `closing.json`, `closing-2.json`. Whoever answers that with an
//! error has it back in `failed/`, and the question stays out: the study waits for everybody.
//!
//! Files are written whole: under a hidden name first. A file that is no JSON yet may be half copied, and waits until it has not
//! changed for [a while](Folder::settle).

mod files;
mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sgq::session::Failure;
use thiserror::Error;

use self::files::{answers_in, changed_at, make_folder, set_aside, strangers_in, unchanged_for};
pub use self::{
    files::{read_plain, write_whole},
    names::{folder_name, log_beside},
};
use crate::{
    Ledger, LedgerError, Message, Nonsense, Rejected, Saying, Told, User, Watcher,
    event::now,
    notice::{Doing, Notice},
    rounds::{file_stem, of_ticket, ticket_of_stem},
    wire::{kept, longest_answer},
};

/// So many answers are written to the ledger at once.
const FILES_AT_ONCE: usize = 64;

/// A folder through which questions and answers go.
#[derive(Debug)]
#[non_exhaustive]
pub struct Folder {
    root: PathBuf,
    /// Each user's folder.
    names: Vec<String>,
    /// A file that is no JSON is set aside once it has not changed for so long.
    pub settle: Duration,
    /// A question fails so long after it was asked. Its answer is welcome all the same.
    pub lease: Option<Duration>,
    /// What was said before of files that are still there.
    said: BTreeMap<PathBuf, Option<SystemTime>>,
}

/// What an exchange did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchanged {
    /// Answers that were taken.
    pub taken: u64,
    /// Files that were set aside.
    pub refused: u64,
    /// Questions that failed: users said so, or their lease has ended.
    pub failed: u64,
    /// Files that are not complete yet.
    pub waiting: u64,
    /// Questions that are out.
    pub out: usize,
}

/// Why an exchange could not go on. What was taken is in the ledger.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum FolderError {
    #[error("cannot {what} {}: {error}", .path.display())]
    File { what: &'static str, path: PathBuf, error: io::Error },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl FolderError {
    fn at(what: &'static str, path: &Path, error: io::Error) -> Self {
        Self::File { what, path: path.into(), error }
    }
}

/// What is to become of a file once its row is on the disk.
enum Fate {
    Taken,
    Refused(String),
    /// It is an error, and its question stays out.
    Failed,
    /// It may be half copied.
    Waits(String),
}

struct Arrived {
    path: PathBuf,
    user: usize,
    /// By its name.
    ticket: Option<u64>,
}

impl Folder {
    /// A folder for these users. Nothing is written yet.
    pub fn new(root: impl Into<PathBuf>, users: &[User]) -> Self {
        Self {
            root: root.into(),
            names: names::folder_names(users),
            settle: Duration::from_secs(10),
            lease: None,
            said: BTreeMap::new(),
        }
    }

    fn to(&self, user: usize) -> PathBuf {
        self.root.join("to").join(self.names.get(user).map_or("", String::as_str))
    }

    fn from(&self, user: usize) -> PathBuf {
        self.root.join("from").join(self.names.get(user).map_or("", String::as_str))
    }

    /// Whether there is a file that an exchange would take or set aside.
    pub fn has_news(&self) -> bool {
        let mut files = (0..self.names.len()).filter_map(|user| answers_in(&self.from(user)).ok()).flatten();
        let is_news = |path: &PathBuf| self.said.get(path) != Some(&changed_at(path));
        let mut strangers = (0..self.names.len()).filter_map(|user| strangers_in(&self.from(user)).ok()).flatten();
        files.any(|path| is_news(&path) || unchanged_for(&path) >= self.settle) || strangers.any(|path| is_news(&path))
    }

    /// Takes what users have put there, asks as many further questions as may be out, and puts there what is out.
    pub fn exchange(&mut self, ledger: &mut Ledger, watcher: &mut dyn Watcher) -> Result<Exchanged, FolderError> {
        let mut done = Exchanged::default();
        for user in 0..self.names.len() {
            make_folder(&self.to(user))?;
            make_folder(&self.from(user))?;
        }
        self.name_strangers(ledger, watcher)?;
        let arrived = self.arrived()?;
        for some in arrived.chunks(FILES_AT_ONCE) {
            let mut notices = Vec::new();
            let fates = ledger.group(|ledger| {
                let take = |file: &Arrived| self.take(ledger, file, &mut notices, &mut done);
                some.iter().map(take).collect::<Result<Vec<Fate>, LedgerError>>()
            })?;
            notices.iter().for_each(|notice| watcher.notice(notice));
            for (file, fate) in some.iter().zip(fates) {
                self.put_away(ledger, file, fate, watcher, &mut done)?;
            }
        }
        self.end_leases(ledger, watcher, &mut done)?;
        ledger.ask_many(usize::MAX)?;
        self.put_questions(ledger, watcher)?;
        done.out = ledger.pending().len();
        watcher.moved(ledger);
        Ok(done)
    }

    /// Whether nothing was said of a file as it is now.
    fn is_news(&mut self, path: &Path) -> bool {
        let changed = changed_at(path);
        self.said.insert(path.into(), changed) != Some(changed)
    }

    /// Folders of nobody are somebody's slip, and so are files that are not named like answers.
    fn name_strangers(&mut self, ledger: &Ledger, watcher: &mut dyn Watcher) -> Result<(), FolderError> {
        for user in 0..self.names.len() {
            for path in strangers_in(&self.from(user))? {
                if self.is_news(&path) {
                    let words = format!("{} is not named like an answer (17.json)", path.display());
                    let name = ledger.users().get(user).map(|user| &*user.name);
                    watcher.notice(&Notice::new(Doing::Waits, None, name, words));
                }
            }
        }
        let Ok(entries) = std::fs::read_dir(self.root.join("from")) else { return Ok(()) };
        let known: BTreeSet<String> = self.names.iter().map(|name| name.to_lowercase()).collect();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.starts_with('.') && !known.contains(&name.to_lowercase()) && self.is_news(&path) {
                let words = format!("{}: no user has this folder; nothing in it is read", path.display());
                watcher.notice(&Notice::new(Doing::Waits, None, None, words));
            }
        }
        Ok(())
    }

    /// All files, in the order of their questions.
    fn arrived(&self) -> Result<Vec<Arrived>, FolderError> {
        let mut arrived = Vec::new();
        for user in 0..self.names.len() {
            for path in answers_in(&self.from(user))? {
                let ticket = path.file_stem().and_then(|stem| ticket_of_stem(stem.to_str()?, user));
                arrived.push(Arrived { path, user, ticket });
            }
        }
        arrived.sort_by_key(|file| file.ticket.unwrap_or(u64::MAX));
        Ok(arrived)
    }

    fn take(
        &self,
        ledger: &mut Ledger,
        file: &Arrived,
        notices: &mut Vec<Notice>,
        done: &mut Exchanged,
    ) -> Result<Fate, LedgerError> {
        let name = ledger.users()[file.user].name.clone();
        let text = read_plain(&file.path, longest_answer(ledger));
        let read = text.clone().map_err(|why| Nonsense { why, ..Nonsense::default() });
        let read = read.and_then(|text| Message::from_json(&text)).and_then(|message| {
            let Message { ticket, user, .. } = &message;
            let wrong = |why: String| Err(Nonsense { why, ticket: *ticket, ..Nonsense::default() });
            match (ticket.or(file.ticket), file.ticket) {
                (None, _) => wrong("neither its name nor its \"ticket\" says which question it answers".to_owned()),
                (Some(ticket), Some(named)) if ticket != named => {
                    wrong(format!("its name has the ticket {named}, and it says {ticket}"))
                }
                _ if user.as_ref().is_some_and(|user| *user != name) => {
                    wrong(format!("it is in the name of {:?}", user.as_deref().unwrap_or_default()))
                }
                (Some(ticket), _) => Ok((ticket, message.saying)),
            }
        });
        let mut refuse = |ledger: &mut Ledger, ticket: Option<u64>, why: Rejected, is_written: bool| {
            if !is_written {
                ledger.refuse(ticket, Some(file.user), &why, text.as_deref().unwrap_or_default())?;
            }
            notices.push(Notice::new(Doing::Refused, ticket, Some(&name), why.to_string()));
            done.refused += 1;
            Ok(Fate::Refused(why.to_string()))
        };
        let (ticket, saying) = match read {
            Ok(read) => read,
            Err(nonsense) if nonsense.not_json && unchanged_for(&file.path) < self.settle => {
                return Ok(Fate::Waits(nonsense.why));
            }
            Err(nonsense) => {
                return refuse(ledger, nonsense.ticket.or(file.ticket), Rejected::Unreadable(nonsense.why), false);
            }
        };
        let told = match &saying {
            Saying::Answer(reply) => Some(ledger.tell_from(ticket, reply, Some(file.user), false)),
            Saying::Report(report) => Some(ledger.tell_report(ticket, report, Some(file.user))),
            Saying::Error(_) => None,
        };
        match (told, saying) {
            (Some(told), _) => match told {
                Ok(told) => {
                    done.taken += u64::from(told != Told::Known);
                    notices.push(Notice::new(Doing::Taken, Some(ticket), Some(&name), told.words()));
                    // What follows from everybody's first answers may be an error, and the file is to be put away all the same.
                    if of_ticket(ticket).is_none() {
                        ledger.ask_many(usize::MAX)?;
                    }
                    Ok(Fate::Taken)
                }
                Err(LedgerError::Rejected(why)) => refuse(ledger, Some(ticket), why, true),
                Err(error) => Err(error),
            },
            (None, Saying::Answer(_) | Saying::Report(_)) => Ok(Fate::Taken),
            (None, Saying::Error(reason)) => {
                let is_out = |it: &crate::Question| it.ticket == ticket && it.user == file.user;
                if !ledger.pending().iter().any(is_out) {
                    let why =
                        Rejected::Earlier(format!("it is an error for the question {ticket}, which is not out to it"));
                    return refuse(ledger, Some(ticket), why, false);
                }
                let reason = format!("it said: {}", kept(&reason));
                if of_ticket(ticket).is_some() {
                    ledger.note(Some(file.user), &format!("the {} question: {reason}", file_stem(ticket)))?;
                    done.failed += 1;
                    notices.push(Notice::new(Doing::Failed, Some(ticket), Some(&name), reason));
                    return Ok(Fate::Failed);
                }
                ledger.fail(ticket, Failure::new().because(&reason))?;
                done.failed += 1;
                notices.push(Notice::new(Doing::Failed, Some(ticket), Some(&name), reason));
                ledger.ask_many(usize::MAX)?;
                Ok(Fate::Taken)
            }
        }
    }

    fn put_away(
        &mut self,
        ledger: &Ledger,
        file: &Arrived,
        fate: Fate,
        watcher: &mut dyn Watcher,
        done: &mut Exchanged,
    ) -> Result<(), FolderError> {
        match fate {
            Fate::Taken => drop(set_aside(&file.path, "taken")?),
            Fate::Failed => drop(set_aside(&file.path, "failed")?),
            Fate::Refused(why) => {
                let place = set_aside(&file.path, "refused")?;
                write_whole(&place.with_extension("reason.txt"), &format!("{why}\n"))?;
            }
            Fate::Waits(why) => {
                done.waiting += 1;
                if self.is_news(&file.path) {
                    let words = format!("{}: {why}; it may not be complete yet", file.path.display());
                    let name = ledger.users().get(file.user).map(|user| &*user.name);
                    watcher.notice(&Notice::new(Doing::Waits, None, name, words));
                }
                return Ok(());
            }
        }
        self.said.remove(&file.path);
        Ok(())
    }

    fn end_leases(
        &self,
        ledger: &mut Ledger,
        watcher: &mut dyn Watcher,
        done: &mut Exchanged,
    ) -> Result<(), FolderError> {
        let Some(lease) = self.lease else { return Ok(()) };
        let oldest = now().saturating_sub(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX));
        // What everybody is asked is waited for.
        let ends = |question: &crate::Question| question.report.is_none() && question.asked_at <= oldest;
        for question in ledger.pending().into_iter().filter(ends) {
            let why = format!("its lease of {} s has ended", lease.as_secs_f64());
            ledger.fail(question.ticket, Failure::new().because(&why))?;
            done.failed += 1;
            watcher.notice(&Notice::new(Doing::Failed, Some(question.ticket), Some(&question.name), why));
        }
        Ok(())
    }

    /// One file for each question that is out, and none for others.
    fn put_questions(&self, ledger: &Ledger, watcher: &mut dyn Watcher) -> Result<(), FolderError> {
        let mut out: BTreeMap<usize, BTreeSet<PathBuf>> = BTreeMap::new();
        for question in ledger.pending() {
            let path = self.to(question.user).join(format!("{}.json", file_stem(question.ticket)));
            let is_new = !path.exists();
            // What is asked anew is not answered by what was taken before.
            let taken = self.from(question.user).join("taken").join(path.file_name().unwrap_or_default());
            if question.report.is_some() && taken.exists() {
                set_aside(&taken, "earlier")?;
            }
            let mut text = question.to_json().map_err(LedgerError::from)?;
            text.push('\n');
            write_whole(&path, &text)?;
            out.entry(question.user).or_default().insert(path);
            if is_new {
                watcher.notice(&Notice::new(Doing::Sent, Some(question.ticket), Some(&question.name), ""));
            }
        }
        for user in 0..self.names.len() {
            for path in answers_in(&self.to(user))? {
                let stem = path.file_stem().and_then(|stem| stem.to_str());
                let is_ours = stem.is_some_and(|stem| ticket_of_stem(stem, user).is_some());
                if is_ours && !out.get(&user).is_some_and(|paths| paths.contains(&path)) {
                    std::fs::remove_file(&path).map_err(|error| FolderError::at("remove", &path, error))?;
                }
            }
        }
        Ok(())
    }
}
