//! One ledger that somebody looks at: its session, its book and its history, kept up to date by a thread of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use sgq::Scores;
use sgq_ledger::{Follower, LedgerError, Missing, Progress};

use crate::{
    book::Book,
    history::History,
    watch::{Changed, Changes},
};

/// How often it is looked whether the file has changed.
const PAUSE: Duration = Duration::from_millis(80);
/// It is read after this even where the file does not seem to have changed: not every file system says so at once.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Nobody has asked for it for so long: it is let go.
const IDLE: Duration = Duration::from_secs(90);
/// So many events happen at a time, and lines are read: in between, others may look.
const EVENTS_AT_ONCE: usize = 64;
const LINES_AT_ONCE: usize = 4096;
/// What is costly takes at most one part in so many of a processor's time.
const SHARE: u32 = 10;

/// Milliseconds since 1970.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// Lets a thread wait where others want a processor: whoever follows a session does all that its writer does, and is not to take its time.
fn give_way() {
    /// Between the usual 0 and 19, the most: a tenth of what another thread gets.
    #[cfg(target_os = "linux")]
    const NICE: i32 = 10;
    // Where the system does not let it, it is only less polite.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
}

/// A file and its log, as far as a change of either is seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp([Option<(SystemTime, u64)>; 2]);

impl Stamp {
    /// As they are now.
    pub fn of(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let of = |path: &Path| {
            let about = fs::metadata(path).ok()?;
            Some((about.modified().ok()?, about.len()))
        };
        Self([of(path), of(Path::new(&log))])
    }
}

/// What is known of a ledger.
#[derive(Default)]
pub struct State {
    /// Its session; none before it was read, or where it cannot be.
    pub follower: Option<Follower>,
    /// Why it cannot be read, for a person.
    pub error: Option<String>,
    pub book: Book,
    /// Which ledger the book is of.
    number: Option<u64>,
    pub history: History,
    /// Queries that were replayed so far, while they are.
    pub replaying: Option<u64>,
    /// Everybody's scores, and after which event.
    scores: Option<(i64, Option<Arc<Scores>>)>,
    /// When they may be computed again.
    scores_after: Option<Instant>,
    /// Who is missing, after which event that was found, and when it may be looked for again.
    missing: Option<(i64, Instant, Vec<Missing>)>,
    /// Which reading of the ledger this is: what was made for another one is of no use.
    reading: u64,
}

/// A ledger that somebody looks at.
pub struct Live {
    pub id: String,
    pub path: PathBuf,
    state: Mutex<State>,
    last_wanted: AtomicI64,
    has_ended: AtomicBool,
    changes: Changes,
}

impl Live {
    /// Begins to follow a ledger. The first reading is over when this returns: within a second for 10⁴ queries and 10⁵ users.
    pub fn follow(id: String, path: PathBuf, changes: Changes) -> Arc<Self> {
        let live = Arc::new(Self {
            id,
            path,
            state: Mutex::default(),
            last_wanted: AtomicI64::new(now()),
            has_ended: AtomicBool::new(false),
            changes,
        });
        let stamp = Stamp::of(&live.path);
        live.look();
        let following = Arc::clone(&live);
        thread::spawn(move || {
            give_way();
            following.go_on(stamp);
        });
        live
    }

    /// What is known now. Whoever looks keeps it from being let go.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.last_wanted.store(now(), Ordering::Relaxed);
        self.lock()
    }

    /// The same for whoever does not keep it.
    pub fn look_at(&self) -> MutexGuard<'_, State> {
        self.lock()
    }

    /// When somebody looked at it, in milliseconds since 1970.
    pub fn last_wanted(&self) -> i64 {
        self.last_wanted.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody follows it any more.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Ends its threads soon.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// Keeps it although nobody asks for it.
    pub fn want(&self) {
        self.last_wanted.store(now(), Ordering::Relaxed);
    }

    fn go_on(self: &Arc<Self>, mut stamp: Stamp) {
        let mut read_at = Instant::now();
        let mut wait_until = Instant::now();
        while !self.has_ended() {
            thread::sleep(PAUSE);
            if now() - self.last_wanted.load(Ordering::Relaxed) > IDLE.as_millis() as i64 {
                break;
            }
            let stamp_now = Stamp::of(&self.path);
            if (stamp_now == stamp && read_at.elapsed() < LONGEST_PAUSE) || Instant::now() < wait_until {
                continue;
            }
            let begun = Instant::now();
            let is_new = self.look();
            (stamp, read_at) = (stamp_now, Instant::now());
            // A session that has to be read anew each time is not to take all there is of a processor.
            if is_new {
                wait_until = Instant::now() + SHARE * begun.elapsed();
            }
        }
        self.end();
    }

    /// Takes in what is new; returns whether the session had to be read from the file anew.
    fn look(self: &Arc<Self>) -> bool {
        let before = self.lock().book.seq;
        let has_follower = self.lock().follower.is_some();
        let mut is_new = !has_follower;
        if has_follower {
            match self.catch_up() {
                Ok(Progress::Anew) => is_new = true,
                Ok(_) => {}
                Err(error) => self.fail(&error),
            }
        }
        if is_new {
            self.read_anew();
        }
        if let Err(error) = self.read_lines() {
            self.fail(&error);
        }
        let state = self.lock();
        if state.book.seq != before {
            let queries = state.follower.as_ref().map_or(0, Follower::queries);
            self.changes.tell(Changed { id: self.id.clone(), seq: state.book.seq, queries });
        }
        is_new
    }

    /// Something is wrong with the file: what was known stays, and the error is said. It is opened anew with the next change.
    fn fail(&self, error: &LedgerError) {
        let mut state = self.lock();
        (state.error, state.follower) = (Some(error.to_string()), None);
    }

    fn catch_up(&self) -> Result<Progress, LedgerError> {
        loop {
            let mut state = self.lock();
            let State { follower, history, scores_after, .. } = &mut *state;
            let Some(follower) = follower else { return Ok(Progress::Anew) };
            let progress = follower.catch_up(EVENTS_AT_ONCE, |step| {
                let begun = Instant::now();
                let may_look = scores_after.is_none_or(|after| begun >= after);
                history.see(step, || may_look);
                if !step.has_happened && step.is_last_question && may_look {
                    *scores_after = Some(Instant::now() + SHARE * begun.elapsed());
                }
            })?;
            drop(state);
            if progress != Progress::More || self.has_ended() {
                return Ok(progress);
            }
            // A lock that is taken again at once keeps others waiting.
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// From the last snapshot of the file. What happened before is replayed meanwhile.
    fn read_anew(self: &Arc<Self>) {
        let follower = match Follower::open(&self.path) {
            Ok(follower) => follower,
            Err(error) => return self.fail(&error),
        };
        let mut state = self.lock();
        state.reading += 1;
        let (reading, until) = (state.reading, follower.seq());
        (state.error, state.scores, state.missing, state.history) = (None, None, None, History::default());
        state.history.note_part(until, follower.session());
        // The events of the same ledger stay what they were.
        if state.number != Some(follower.number()) || state.book.seq > until {
            state.book = Book::new(follower.users().len());
        }
        state.number = Some(follower.number());
        state.replaying = Some(0);
        state.follower = Some(follower);
        drop(state);
        let live = Arc::clone(self);
        thread::spawn(move || {
            give_way();
            live.replay(reading, until);
        });
    }

    /// Goes through everything before the state that was read, for what was believed then.
    fn replay(&self, reading: u64, until: i64) {
        let mut history = History::default();
        let is_over = |state: &State| state.reading != reading;
        if let Ok(mut follower) = Follower::from_beginning(&self.path) {
            let mut progress = Progress::More;
            while progress == Progress::More && !self.has_ended() {
                let next = follower.go_on(until, EVENTS_AT_ONCE, |step| history.see(step, || true));
                // What cannot be replayed stays unknown: the session itself is there, and says why.
                progress = next.unwrap_or(Progress::Anew);
                let mut state = self.lock();
                if is_over(&state) {
                    return;
                }
                state.replaying = Some(follower.queries());
            }
        }
        let mut state = self.lock();
        if !is_over(&state) {
            state.history.put_before(history);
            state.replaying = None;
        }
        let (seq, queries) = (state.book.seq, state.follower.as_ref().map_or(0, Follower::queries));
        drop(state);
        self.changes.tell(Changed { id: self.id.clone(), seq, queries });
    }

    /// Brings the book to where the session is.
    fn read_lines(&self) -> Result<(), LedgerError> {
        loop {
            let mut state = self.lock();
            let State { follower: Some(follower), book, .. } = &mut *state else { return Ok(()) };
            let until = follower.seq();
            let is_more = follower.lines(book.seq, LINES_AT_ONCE, |line| {
                if line.seq <= until {
                    book.take(line);
                }
            })?;
            if !is_more || book.seq >= until || self.has_ended() {
                return Ok(());
            }
        }
    }
}

impl State {
    /// Users who are part of the objective and cannot be asked; of a moment ago, where a long record has to be gone through.
    pub fn missing(&mut self) -> Vec<Missing> {
        let Some(follower) = &self.follower else { return Vec::new() };
        let begun = Instant::now();
        let is_fresh = |(seq, after, _): &(i64, Instant, Vec<Missing>)| *seq == follower.seq() || begun < *after;
        if !self.missing.as_ref().is_some_and(is_fresh) {
            // What cannot be read is said by whoever follows it.
            let missing = follower.missing().unwrap_or_default();
            self.missing = Some((follower.seq(), Instant::now() + SHARE * begun.elapsed(), missing));
        }
        self.missing.as_ref().map_or_else(Vec::new, |(.., missing)| missing.clone())
    }

    /// What asking each user now would be worth to the method; of a moment ago, where that takes long to say.
    pub fn scores(&mut self) -> Option<Arc<Scores>> {
        let follower = self.follower.as_ref()?;
        let seq = follower.seq();
        let begun = Instant::now();
        let is_fresh = self.scores.as_ref().is_some_and(|(at, _)| *at == seq);
        if !is_fresh && self.scores_after.is_none_or(|after| begun >= after) {
            self.scores = Some((seq, follower.session().scores().map(Arc::new)));
            self.scores_after = Some(Instant::now() + SHARE * begun.elapsed());
        }
        self.scores.as_ref()?.1.clone()
    }
}
