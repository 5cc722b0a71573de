//! Answers that are not believed, docs/frugal.md § 8: the last move led where the model does not hold.

use serde::{Deserialize, Serialize};

use crate::frugal::FRUGAL;

/// Whether the last answer is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    #[default]
    Believed,
    /// On the way back it was about as long as the one set aside before: it was not the way that made that one so long.
    BelievedAfterAll,
    /// Set aside. On the way back to where its user was last believed, this part is to be kept: half or less where the answer
    /// is so long that only something like an exponential explains it.
    SetAside { keep: f64 },
}

/// Sets answers aside that are far too long, uphill along the last move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outliers {
    /// Whose answer was the last one, and how long it was, the size taken out, if that was set aside.
    last: Option<(usize, f64)>,
    /// How often each user was set aside, of those who were at all.
    times: Vec<(usize, u32)>,
}

impl Outliers {
    /// The user whose answer was the last one, and set aside.
    pub fn last(&self) -> Option<usize> {
        self.last.map(|(user, _)| user)
    }

    /// Judges an answer of this length, where the longest held has that one; or one that is long enough, if any is.
    pub fn judge(&mut self, user: usize, length: f64, uphill: bool, longest: impl FnOnce(f64) -> f64) -> Verdict {
        let verdict = self.look(user, length, uphill, longest);
        self.last = None;
        if let Verdict::SetAside { .. } = verdict {
            match self.times.iter_mut().find(|(who, _)| *who == user) {
                Some((_, times)) => *times += 1,
                None => self.times.push((user, 1)),
            }
            self.last = Some((user, length));
        }
        verdict
    }

    /// How that would be: Eq. (34) and (35).
    pub fn look(&self, user: usize, length: f64, uphill: bool, longest: impl FnOnce(f64) -> f64) -> Verdict {
        if self.last.is_some_and(|(who, before)| who == user && length > FRUGAL.as_long * before) {
            return Verdict::BelievedAfterAll;
        }
        // Uphill along the last move, and longer by far than anything before: the move went where the model does not hold.
        let times_longer = if uphill { length / longest(length) } else { 0.0 };
        let times = self.times.iter().find(|(who, _)| *who == user).map_or(0, |(_, times)| *times);
        if times >= FRUGAL.set_aside_times || times_longer.is_nan() || times_longer <= FRUGAL.set_aside_length {
            return Verdict::Believed;
        }
        let keep = FRUGAL.fairly_long.ln() / times_longer.ln();
        Verdict::SetAside { keep: keep.clamp(FRUGAL.least_way_kept, FRUGAL.most_way_kept) }
    }

    /// While steps with a proof are taken, every answer is believed.
    pub fn believe(&mut self) -> Verdict {
        self.last = None;
        Verdict::Believed
    }
}
