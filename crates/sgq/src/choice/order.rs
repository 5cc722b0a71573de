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
        Ok(Chosen::user(random.index(scene.users)))
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

    fn choose(&mut self, _scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        if self.next == self.order.len() {
            random.shuffle(&mut self.order);
            self.next = 0;
        }
        let user = self.order[self.next];
        self.next += 1;
        Ok(Chosen::user(user))
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

    fn choose(&mut self, _scene: &Scene<'_, B>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let user = *self.users.get(self.next).ok_or(ChoiceError::SequenceEnded { length: self.users.len() })?;
        self.next += 1;
        Ok(Chosen::user(user))
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
        let user = self.next;
        self.next = (user + 1) % scene.users;
        Ok(Chosen::user(user))
    }
}
