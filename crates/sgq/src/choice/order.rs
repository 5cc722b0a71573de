//! Choices that look at nothing: uniform, shuffled, and a fixed sequence.

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Scene};
use crate::{Belief, Order, Random, SettingError, theory::Theorem};

/// Every user equally likely, independently each time: SGD's choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Uniform;

impl<B: Belief> Choice<B> for Uniform {
    fn theorem(&self) -> Option<Theorem> {
        Some(Theorem::UniformSgd)
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        Ok(Chosen::user(scene.any_free(random)?))
    }

    fn how(&self) -> &'static str {
        "A user is picked at random, each with the same chance."
    }
}

/// Every user once, in random order, then again in a fresh random order: sampling without replacement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shuffled {
    order: Vec<usize>,
    next: usize,
}

impl Shuffled {
    /// A shuffled order; the session gives it its length.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Choice<B> for Shuffled {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.order = (0..users).collect();
        self.next = users;
        Ok(())
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        if self.next == self.order.len() {
            random.shuffle(&mut self.order);
            self.next = 0;
        }
        // Whoever cannot be asked now comes later in the round; where that is all of the rest, first in the next one.
        let free = |choice: &Self| (choice.next..choice.order.len()).find(|place| scene.is_free(choice.order[*place]));
        let place = match free(self) {
            Some(place) => place,
            None => {
                self.order.rotate_left(self.next);
                let rest = self.order.len() - self.next;
                random.shuffle(&mut self.order[rest..]);
                self.next = 0;
                free(self).ok_or(ChoiceError::AnswersFirst)?
            }
        };
        self.order[self.next..=place].rotate_right(1);
        let user = self.order[self.next];
        self.next += 1;
        Ok(Chosen::user(user))
    }

    fn how(&self) -> &'static str {
        "Every user is asked once in a random order, then again in another one."
    }
}

/// A given sequence of users, for tests and for replaying somebody else's choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    users: Vec<usize>,
    next: usize,
}

impl Sequence {
    /// Asks these users in this order, and then refuses to go on.
    pub fn new(users: Vec<usize>) -> Self {
        Self { users, next: 0 }
    }
}

impl<B: Belief> Choice<B> for Sequence {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        match self.users.iter().position(|user| *user >= users) {
            Some(position) => Err(SettingError::NoSuchUser { position, user: self.users[position], users }),
            None => Ok(()),
        }
    }

    fn lets_users_go(&self) -> bool {
        false
    }

    fn choose(&mut self, scene: &Scene<'_, B>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let user = *self.users.get(self.next).ok_or(ChoiceError::SequenceEnded { length: self.users.len() })?;
        if !scene.is_free(user) {
            return Err(ChoiceError::AnswersFirst);
        }
        self.next += 1;
        Ok(Chosen::user(user))
    }

    fn how(&self) -> &'static str {
        "Users are asked in an order that was given."
    }
}

/// Every user in turn, from the first to the last, and then again: the order of the incremental methods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cyclic {
    next: usize,
}

impl Cyclic {
    /// From user 0 on.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Choice<B> for Cyclic {
    fn order(&self) -> Order {
        Order::InTurn
    }

    fn choose(&mut self, scene: &Scene<'_, B>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let in_turn = (0..scene.users).map(|ahead| (self.next + ahead) % scene.users);
        let user = in_turn.into_iter().find(|user| scene.is_free(*user)).ok_or(ChoiceError::AnswersFirst)?;
        self.next = (user + 1) % scene.users;
        Ok(Chosen::user(user))
    }

    fn how(&self) -> &'static str {
        "Users are asked in turn, from the first to the last."
    }
}
