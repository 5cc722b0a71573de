//! Questions that lie in a folder, as `sgq session exchange` puts them there.

use std::{
    cmp::Ordering,
    collections::HashMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use sgq_data::plan::{Clinic, Outcome as Answered};
use sgq_ledger::folder::{folder_name, read_plain, write_whole};

use super::{Args, single::LONGEST};
use crate::{
    Outcome,
    session::interrupts::Interrupts,
    terminal::{self, counted},
};

/// How often to look whether somebody has interrupted.
const PAUSE: Duration = Duration::from_millis(50);

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    answered: u64,
    refused: u64,
    /// Whose answer lies there, or was fetched.
    before: u64,
}

/// One clinic's side of a folder.
struct Exchange<'a> {
    args: &'a Args,
    to: PathBuf,
    from: PathBuf,
    /// The questions that were looked at, as they were.
    seen: HashMap<PathBuf, String>,
}

pub fn run(args: &Args, root: &Path, clinic: &mut Clinic) -> Result<Outcome, Box<dyn Error>> {
    let interrupts = Interrupts::watch()?;
    let mut has_waited = false;
    let name = loop {
        match (own_folder(root, &args.name), args.watch) {
            (Ok(name), _) => break name,
            (Err(why), false) => return Err(why.into()),
            (Err(why), true) => {
                if !has_waited {
                    terminal::complain(&format!("waiting: {why}"));
                    has_waited = true;
                }
                sleep(args.every, interrupts);
                if interrupts.are_there() {
                    return Ok(interrupted());
                }
            }
        }
    };
    let (to, from) = (root.join("to").join(&name), root.join("from").join(&name));
    let mut exchange = Exchange { args, to, from, seen: HashMap::new() };
    let done = exchange.answer(clinic)?;
    if !args.watch {
        if !args.quiet {
            terminal::say(&summary(done, &exchange))?;
        }
        return Ok(Outcome::Done);
    }
    loop {
        sleep(args.every, interrupts);
        if interrupts.are_there() {
            return Ok(interrupted());
        }
        exchange.answer(clinic)?;
    }
}

fn interrupted() -> Outcome {
    terminal::complain("interrupted; every answer that was given is in the log: go on with the same command");
    Outcome::Interrupted
}

fn sleep(time: Duration, interrupts: &Interrupts) {
    let begun = Instant::now();
    while begun.elapsed() < time && !interrupts.are_there() {
        thread::sleep(PAUSE.min(time));
    }
}

fn summary(done: Done, exchange: &Exchange<'_>) -> String {
    let Done { answered, refused, before } = done;
    let (to, from) = (shown(&exchange.to), shown(&exchange.from));
    match answered + refused + before {
        0 => format!("  no question lies in {to}"),
        _ => format!(
            "  {} answered, {refused} refused, {before} answered before; answers lie in {from} until they are fetched",
            counted(answered, "question")
        ),
    }
}

fn shown(path: &Path) -> String {
    terminal::one_line(&path.display().to_string())
}

/// The name of the clinic's own folder. Where others are called alike but for capital letters, a `~` and a number follow.
fn own_folder(root: &Path, name: &str) -> Result<String, String> {
    let plain = folder_name(name);
    let to = root.join("to");
    if to.join(&plain).is_dir() {
        return Ok(plain);
    }
    let entries = fs::read_dir(&to).map_err(|error| {
        format!("{} cannot be read ({error}): the coordinator makes it with sgq session exchange", to.display())
    })?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|it| !it.starts_with('.'))
        .collect();
    names.sort();
    let stem = plain.split('~').next().unwrap_or_default();
    let alike: Vec<&String> =
        names.iter().filter(|it| it.split_once('~').is_some_and(|(before, _)| before == stem)).collect();
    match alike[..] {
        [only] => Ok(only.clone()),
        _ => Err(format!(
            "{} has no folder {plain}: is {name} what the coordinator calls this clinic? there are: {}",
            to.display(),
            sgq_data::first_few(&names)
        )),
    }
}

impl Exchange<'_> {
    /// Answers whatever is open.
    fn answer(&mut self, clinic: &mut Clinic) -> Result<Done, Box<dyn Error>> {
        let mut done = Done::default();
        for path in self.questions()? {
            let Some(file) = path.file_name().map(ToOwned::to_owned) else { continue };
            let text = match read_plain(&path, LONGEST) {
                Ok(text) => text.trim().to_owned(),
                // The coordinator takes questions away.
                Err(_) if fs::symlink_metadata(&path).is_err() => continue,
                Err(why) => {
                    self.complain_once(&path, &why);
                    continue;
                }
            };
            if self.seen.get(&path) == Some(&text) {
                continue;
            }
            let question: Value = match serde_json::from_str(&text) {
                Ok(question) => question,
                Err(error) => {
                    self.complain_once(&path, &format!("it is no question yet, and may be half copied: {error}"));
                    continue;
                }
            };
            // Names of folders may be alike: nobody answers in another's name.
            if let Some(other) = question.get("user").and_then(Value::as_str).filter(|user| *user != self.args.name) {
                self.seen.insert(path.clone(), text.clone());
                let (path, name) = (path.display(), &self.args.name);
                terminal::complain(&format!("{path}: it is for {other}, and this is {name}: it is not answered"));
                continue;
            }
            let answer = self.from.join(&file);
            if let Some(why) = self.was_answered(&answer, clinic, &text) {
                done.before += 1;
                if !why.is_empty() {
                    self.complain_once(&path, &why);
                }
                continue;
            }
            let reply = clinic.answer(&text);
            let line = format!("{}\n", reply.line);
            self.seen.insert(path.clone(), text);
            if let Some(place) = self.was_sent(&answer, &line) {
                done.before += 1;
                let why = fs::read_to_string(place.with_extension("reason.txt")).unwrap_or_default();
                let why = if why.is_empty() { "it was fetched already".to_owned() } else { why.trim().to_owned() };
                terminal::complain(&format!(
                    "{}: the answer would be that in {}: {why}",
                    path.display(),
                    place.display()
                ));
                continue;
            }
            write_whole_in(&answer, &line)?;
            match reply.outcome {
                Answered::Refused => done.refused += 1,
                Answered::Answered | Answered::Again => done.answered += 1,
            }
            if reply.outcome == Answered::Refused {
                terminal::complain_in_lines(&reply.words);
            } else if !self.args.quiet {
                terminal::say(&reply.words)?;
            }
        }
        Ok(done)
    }

    /// The files that may be questions: the first, those with tickets in their order, and the closing ones.
    fn questions(&self) -> Result<Vec<PathBuf>, Box<dyn Error>> {
        let failed = |error| format!("cannot look into {}: {error}", self.to.display());
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.to).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with('.') && path.extension().is_some_and(|end| end == "json") {
                files.push(path);
            }
        }
        files.sort_by(|one, other| in_order(one, other));
        Ok(files)
    }

    /// Why a question needs no answer, if so: one lies there, or was fetched. Empty where that is as it should be.
    fn was_answered(&self, answer: &Path, clinic: &Clinic, question: &str) -> Option<String> {
        if answer.exists() {
            return Some(String::new());
        }
        if clinic.has_answered(question) {
            // The same answer again, unless it was sent.
            return None;
        }
        let fetched = aside(answer, "taken").into_iter().find(|place| {
            let said = fs::read_to_string(place).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
            said.is_some_and(|said| said.get("error").is_none())
        });
        fetched.map(|place| {
            let place = place.display();
            format!("an answer to it was fetched already, {place}, and this log has none: if it is of another study, take it away")
        })
    }

    /// Where the very same answer is that was fetched or refused.
    fn was_sent(&self, answer: &Path, line: &str) -> Option<PathBuf> {
        let places = ["taken", "refused"].into_iter().flat_map(|folder| aside(answer, folder));
        places.into_iter().find(|place| fs::read(place).is_ok_and(|there| there == line.as_bytes()))
    }

    fn complain_once(&mut self, path: &Path, why: &str) {
        if self.seen.insert(path.to_owned(), why.to_owned()).as_deref() != Some(why) {
            terminal::complain(&format!("{}: {why}", path.display()));
        }
    }
}

/// The files in a folder beside an answer that were moved there under its name: `17.json`, `17-2.json`, …
fn aside(answer: &Path, folder: &str) -> Vec<PathBuf> {
    let place = answer.parent().unwrap_or(Path::new(".")).join(folder);
    let stem = answer.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = |number: u32| match number {
        1 => place.join(format!("{stem}.json")),
        _ => place.join(format!("{stem}-{number}.json")),
    };
    (1..).map(name).take_while(|path| path.exists()).collect()
}

fn in_order(one: &Path, other: &Path) -> Ordering {
    let key = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let ticket = stem.parse::<u64>().ok();
        (if stem == "first" { 0 } else { 1 + u8::from(ticket.is_none()) }, ticket, stem)
    };
    key(one).cmp(&key(other))
}

fn write_whole_in(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    }
    Ok(write_whole(path, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_come_in_their_order() {
        let mut files =
            ["10", "closing-2", "9", "first", "closing", "100"].map(|it| PathBuf::from(format!("{it}.json")));
        files.sort_by(|one, other| in_order(one, other));
        let names = files.map(|it| it.file_stem().unwrap().to_string_lossy().into_owned());
        assert_eq!(names, ["first", "9", "10", "100", "closing", "closing-2"]);
    }
}
