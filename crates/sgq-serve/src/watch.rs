//! The ledgers that are served: one file, or every ledger of a folder, found anew each time.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;
use sgq_ledger::{Follower, Glance};
use tokio::sync::broadcast;

use crate::{
    history::part_of,
    live::{Live, Stamp},
};

/// How often a folder is looked through for ledgers that have grown.
const PAUSE: Duration = Duration::from_millis(150);
/// So many ledgers are followed at most: one more, and the one that was looked at least lately is let go.
const MOST_FOLLOWED: usize = 16;
/// Whoever listens and is behind by so many changes misses some, and hears of the later ones.
const CHANGES_KEPT: usize = 256;
/// A line of a list takes at most one part in so many of a processor's time.
const SHARE: u32 = 10;

/// A ledger has grown.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    pub id: String,
    pub seq: i64,
    pub queries: u64,
}

/// Where changes are told.
#[derive(Clone)]
pub struct Changes(broadcast::Sender<Changed>);

impl Changes {
    pub fn tell(&self, changed: Changed) {
        // Nobody may be listening.
        let _ = self.0.send(changed);
    }

    pub fn listen(&self) -> broadcast::Receiver<Changed> {
        self.0.subscribe()
    }

    fn somebody_listens(&self) -> bool {
        self.0.receiver_count() > 0
    }
}

/// One line of the list of ledgers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    pub id: String,
    pub file: String,
    pub method: Option<String>,
    pub formula: Option<String>,
    pub users: Option<usize>,
    pub queries: Option<u64>,
    pub budget: Option<u64>,
    pub cost: Option<f64>,
    pub part: Option<f64>,
    pub stopped: Option<String>,
    pub out: Option<usize>,
    pub last_event: Option<i64>,
    pub error: Option<String>,
}

/// Everything that is served.
pub struct Watch {
    path: PathBuf,
    is_folder: bool,
    followed: Mutex<BTreeMap<String, Arc<Live>>>,
    /// Held while a ledger is read for the first time: a page asks for several things at once.
    opening: Mutex<()>,
    summaries: Mutex<BTreeMap<String, Listed>>,
    pub changes: Changes,
}

/// A line of the list, as it was.
struct Listed {
    stamp: Stamp,
    summary: Summary,
    /// When it may be made anew.
    after: Instant,
}

impl Watch {
    /// Watches a file or a folder.
    pub fn new(path: &Path) -> io::Result<Arc<Self>> {
        let is_folder = fs::metadata(path)?.is_dir();
        let watch = Arc::new(Self {
            path: path.into(),
            is_folder,
            followed: Mutex::default(),
            opening: Mutex::default(),
            summaries: Mutex::default(),
            changes: Changes(broadcast::channel(CHANGES_KEPT).0),
        });
        let patrol = Arc::downgrade(&watch);
        thread::spawn(move || Self::patrol(&patrol));
        Ok(watch)
    }

    /// Every ledger that is served, by its id: the name of its file.
    pub fn ledgers(&self) -> BTreeMap<String, PathBuf> {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !self.is_folder {
            return [(name(&self.path), self.path.clone())].into();
        }
        let entries = self.path.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        let is_ledger = |path: &PathBuf| path.extension().is_some_and(|end| end == "sgq") && path.is_file();
        entries.filter(is_ledger).map(|path| (name(&path), path)).collect()
    }

    /// A ledger by its id, followed from now on; none where none has it.
    pub fn live(&self, id: &str) -> Option<Arc<Live>> {
        if let Some(live) = self.followed_now(id) {
            return Some(live);
        }
        let path = self.ledgers().remove(id)?;
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = self.followed_now(id) {
            return Some(live);
        }
        let live = Live::follow(id.to_owned(), path, self.changes.clone());
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, live| !live.has_ended());
        while followed.len() >= MOST_FOLLOWED
            && let Some(least) = followed.values().min_by_key(|live| live.last_wanted()).map(|live| live.id.clone())
        {
            followed.remove(&least).iter().for_each(|live| live.end());
        }
        followed.insert(id.to_owned(), Arc::clone(&live));
        Some(live)
    }

    /// One line for each ledger.
    pub fn summaries(&self) -> Vec<Summary> {
        let ledgers = self.ledgers();
        let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        summaries.retain(|id, _| ledgers.contains_key(id));
        let summary = |(id, path): (String, PathBuf)| {
            let stamp = Stamp::of(&path);
            if let Some(live) = self.followed_now(&id) {
                return live_summary(&live);
            }
            let begun = Instant::now();
            if let Some(known) = summaries.get(&id).filter(|known| known.stamp == stamp || begun < known.after) {
                return known.summary.clone();
            }
            let summary = match Follower::open(&path) {
                Ok(follower) => summary_of(&id, &follower, None),
                Err(error) => {
                    Summary { id: id.clone(), file: id.clone(), error: Some(error.to_string()), ..Summary::default() }
                }
            };
            let after = Instant::now() + SHARE * begun.elapsed();
            summaries.insert(id, Listed { stamp, summary: summary.clone(), after });
            summary
        };
        ledgers.into_iter().map(summary).collect()
    }

    /// A ledger that is followed anyway; it is not kept by this.
    fn followed_now(&self, id: &str) -> Option<Arc<Live>> {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.get(id).filter(|live| !live.has_ended()).cloned()
    }

    /// Tells of changes of those that are not followed, while somebody listens.
    fn patrol(watch: &Weak<Self>) {
        let mut known: BTreeMap<String, (Stamp, Glance)> = BTreeMap::new();
        loop {
            thread::sleep(PAUSE);
            let Some(watch) = watch.upgrade() else { return };
            if !watch.changes.somebody_listens() {
                continue;
            }
            for (id, path) in watch.ledgers() {
                // Somebody may listen only: the page asks for little while nothing changes.
                if let Some(live) = watch.followed_now(&id) {
                    live.want();
                    known.remove(&id);
                    continue;
                }
                let stamp = Stamp::of(&path);
                let before = known.get(&id).copied();
                if before.is_some_and(|(before, _)| before == stamp) {
                    continue;
                }
                let glance = before.map_or(Glance::default(), |(_, glance)| glance);
                let Ok(now) = glance.again(&path) else { continue };
                known.insert(id.clone(), (stamp, now));
                if before.is_some() && now != glance {
                    watch.changes.tell(Changed { id, seq: now.seq, queries: now.queries });
                }
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let followed = self.followed.get_mut().unwrap_or_else(PoisonError::into_inner);
        followed.values().for_each(|live| live.end());
    }
}

fn live_summary(live: &Live) -> Summary {
    let state = live.look_at();
    match &state.follower {
        Some(follower) => {
            let summary = summary_of(&live.id, follower, state.book.last_event);
            Summary { error: state.error.clone(), ..summary }
        }
        None => {
            Summary { id: live.id.clone(), file: live.id.clone(), error: state.error.clone(), ..Summary::default() }
        }
    }
}

fn summary_of(id: &str, follower: &Follower, last_event: Option<i64>) -> Summary {
    let session = follower.session();
    let last = || follower.events_before(i64::MAX, &[], 1).ok()?.first().map(|event| event.at);
    Summary {
        id: id.to_owned(),
        file: id.to_owned(),
        method: Some(session.name().to_owned()),
        formula: follower.terms().map(|terms| terms.plan.formula.to_string()),
        users: Some(follower.users().len()),
        queries: Some(follower.queries()),
        budget: follower.budgets().0,
        cost: Some(follower.cost()),
        part: part_of(session).map(|part| part[0]),
        stopped: follower.stop_message(),
        out: Some(session.pending().len()),
        last_event: last_event.or_else(last),
        error: None,
    }
}
