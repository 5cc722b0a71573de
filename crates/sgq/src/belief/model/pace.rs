//! How often the model looks at everybody, docs/frugal.md § 8.5: with many users one answer changes little, and a look takes long.

use serde::{Deserialize, Serialize};

use crate::frugal::FRUGAL;

/// Counts answers from one move to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pace {
    /// Answers since the last look.
    since: usize,
    /// Answers from the look before to the last one.
    last: usize,
    /// Whether the next answer is not to wait for others.
    at_once: bool,
}

impl Pace {
    /// How many answers make a move, where so many users were asked.
    pub fn answers_per_move(asked: usize) -> usize {
        1 + asked / FRUGAL.users_per_move
    }

    /// The next answer is followed at once.
    pub fn hurry(&mut self) {
        self.at_once = true;
    }

    /// Takes note of an answer; returns whether it is time to look at everybody.
    pub fn turn_comes(&mut self, asked: usize) -> bool {
        self.since += 1;
        let is_due = self.at_once || self.since >= Self::answers_per_move(asked);
        if is_due {
            *self = Self { since: 0, last: self.since, at_once: false };
        }
        is_due
    }

    /// Whether more answers are to come at this point first.
    pub fn waits(self) -> bool {
        self.since > 0 && !self.at_once
    }

    /// How many answers the last look was at.
    pub fn answers_of_last(self) -> usize {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers_until_due(pace: &mut Pace, asked: usize) -> usize {
        (1..).find(|_| pace.turn_comes(asked)).unwrap_or(0)
    }

    #[test]
    fn the_more_were_asked_the_more_answers_make_a_move() {
        let mut pace = Pace::default();
        for (asked, answers) in [(1, 1), (255, 1), (256, 2), (511, 2), (512, 3), (10_000, 40)] {
            assert_eq!(answers_until_due(&mut pace, asked), answers);
            assert_eq!(pace.answers_of_last(), answers);
            assert!(!pace.waits());
        }
    }

    #[test]
    fn nothing_waits_after_an_answer_that_was_set_aside() {
        let mut pace = Pace::default();
        assert!(!pace.turn_comes(512) && pace.waits());
        pace.hurry();
        assert!(!pace.waits());
        assert!(pace.turn_comes(512));
        assert_eq!(pace.answers_of_last(), 2);
        assert_eq!(answers_until_due(&mut pace, 512), 3);
    }
}
