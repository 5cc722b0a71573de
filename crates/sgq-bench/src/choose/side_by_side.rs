//! Two searches for the same user, each timed.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use sgq::{Choice, ChoiceError, Chosen, LastGradient, Needs, Random, Reply, Scene, SettingError, choice::SurrogateEi};

/// Asks whom the lazy search chooses, and has the naive one choose beside it from the same scene and the same random
/// numbers, at every step or at some.
///
/// They take turns at going first, so that neither always finds the table as the other left it in the cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SideBySide {
    naive: SurrogateEi,
    lazy: SurrogateEi,
    /// Every how many choices the naive search runs; 0 for never.
    naive_every: u64,
    choices: u64,
    #[serde(skip)]
    slate: Slate,
}

/// Where the last turn is written down for whoever drives the session, which keeps the choice to itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Slate(Arc<Mutex<Turn>>);

impl Slate {
    /// What happened since it was last wiped.
    pub(super) fn wipe(&self) -> Turn {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, write: impl FnOnce(&mut Turn)) {
        write(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// One choice and what came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Whom the naive search chose, if it was asked.
    pub(super) naive: Option<usize>,
    pub(super) lazy: usize,
    pub(super) explored: bool,
    pub(super) rows_read: usize,
    /// What each spent on choosing, and on taking in the answer.
    pub(super) naive_time: Duration,
    pub(super) lazy_time: Duration,
}

impl SideBySide {
    pub(super) fn new(naive: SurrogateEi, lazy: SurrogateEi, naive_every: u64) -> Self {
        Self { naive, lazy, naive_every, choices: 0, slate: Slate::default() }
    }

    pub(super) fn slate(&self) -> Slate {
        self.slate.clone()
    }
}

impl Choice<LastGradient> for SideBySide {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.naive.begin(users)?;
        self.lazy.begin(users)
    }

    fn needs(&self) -> Needs {
        self.lazy.needs()
    }

    fn choose(&mut self, scene: &Scene<'_, LastGradient>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        self.choices += 1;
        let runs_naive = self.naive_every > 0 && self.choices.is_multiple_of(self.naive_every);
        let naive_goes_first = runs_naive && (self.choices / self.naive_every).is_multiple_of(2);
        let mut same_random = random.clone();
        let mut naive = || timed(|| self.naive.choose(scene, &mut same_random));
        let before = naive_goes_first.then(&mut naive);
        let (lazy, lazy_time) = timed(|| self.lazy.choose(scene, random));
        let (naive, naive_time) = match before {
            None if runs_naive => naive(),
            None => (lazy.clone(), Duration::ZERO),
            Some(before) => before,
        };
        let (naive, lazy) = (naive?, lazy?);
        let rows_read = self.lazy.rows_read();
        self.slate.write(|turn| {
            *turn = Turn {
                naive: runs_naive.then_some(naive.user),
                lazy: lazy.user,
                explored: lazy.explored == Some(true),
                rows_read,
                naive_time,
                lazy_time,
            }
        });
        Ok(lazy)
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        let mut same_random = random.clone();
        let ((), naive_time) = timed(|| self.naive.observe(reply, &mut same_random));
        let ((), lazy_time) = timed(|| self.lazy.observe(reply, random));
        self.slate.write(|turn| {
            turn.naive_time += naive_time;
            turn.lazy_time += lazy_time;
        });
    }
}

/// What it gives, and how long it took.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
