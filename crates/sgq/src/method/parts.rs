//! The three parts at work: one answer's way, belief → update → choice.

use std::fmt::Debug;

use dyn_clone::DynClone;

use crate::{
    Belief, Choice, ChoiceError, Chosen, DefaultStep, Needs, Order, Problem, Random, Reply, Scene, Setting,
    SettingsError, Smoothness, Step, Update,
    choice::{Purpose, Scores},
    step_size::Known,
    theory::Theorem,
    update::Wants,
};

/// Three parts that fit, of whichever types.
pub(crate) trait Parts: DynClone + Debug + Send + Sync {
    fn belief(&self) -> &dyn Belief;
    fn belief_mut(&mut self) -> &mut dyn Belief;
    fn type_names(&self) -> [String; 3];
    fn settings(&mut self) -> Vec<Setting<'_>>;
    fn facts(&self) -> Facts;
    fn default_step(&self, known: &Known<'_>) -> DefaultStep;
    /// Checks the settings, then lets the choice and the update begin. The belief, which takes the most room, is left.
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingsError>;
    fn save(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String>;
    fn load(&mut self, bytes: &[u8]) -> Option<()>;
    fn wants(&self) -> Wants<'_>;
    /// Forgets a user; false where some part cannot.
    fn leave(&mut self, user: usize) -> bool;
    fn choose(&mut self, scenery: &Scenery<'_>, random: &mut Random) -> Result<Chosen, ChoiceError>;
    /// What asking each user now would be worth to the choice, where it goes by scores.
    fn scores(&self, scenery: &Scenery<'_>) -> Option<Scores>;
    /// How the choice picks a user, in a sentence.
    fn how(&self) -> &'static str;
    /// One answer's way: the belief takes it in, the update moves `next` on it, the choice sees it. Returns whether that was a
    /// step.
    fn take(&mut self, taken: &Taken<'_>, random: &mut Random, next: &mut [f64]) -> bool;
}

dyn_clone::clone_trait_object!(Parts);

/// What can be said of a method without running it.
pub(crate) struct Facts {
    pub needs: Needs,
    pub order: Order,
    pub own_step: bool,
    pub theorem: Option<Theorem>,
}

/// What a session shows of itself to a choice: a [`Scene`] without the belief.
pub(crate) struct Scenery<'a> {
    pub users: usize,
    pub point: &'a [f64],
    pub step_size: f64,
    pub smoothness: Option<&'a Smoothness>,
    pub costs: &'a [f64],
    pub busy: &'a [bool],
    pub all_gradients: Option<&'a [f64]>,
    pub problem: Option<&'a dyn Problem>,
}

impl<'a> Scenery<'a> {
    fn with_belief<B>(&self, belief: &'a B, own_step: bool) -> Scene<'a, B> {
        let Self { users, point, step_size, smoothness, costs, busy, all_gradients, problem } = *self;
        Scene { users, point, step_size, own_step, belief, smoothness, costs, busy, all_gradients, problem }
    }
}

/// An accepted answer, and what an update may know: a [`Step`] without the belief.
pub(crate) struct Taken<'a> {
    pub reply: Reply<'a>,
    pub weight: f64,
    pub size: f64,
    pub smoothness: Option<&'a Smoothness>,
    /// Whether the update moves on it: a sweep may be for the belief alone.
    pub for_update: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Triple<B> {
    pub belief: B,
    pub choice: Box<dyn Choice<B>>,
    pub update: Box<dyn Update<B>>,
}

impl<B: Belief + Clone> Parts for Triple<B> {
    fn belief(&self) -> &dyn Belief {
        &self.belief
    }

    fn belief_mut(&mut self) -> &mut dyn Belief {
        &mut self.belief
    }

    fn type_names(&self) -> [String; 3] {
        [self.belief.type_name(), (*self.choice).type_name(), (*self.update).type_name()]
    }

    fn settings(&mut self) -> Vec<Setting<'_>> {
        let mut settings = self.choice.settings();
        settings.extend(self.belief.settings());
        settings.extend(self.update.settings());
        settings
    }

    fn facts(&self) -> Facts {
        let theorem = self.update.theorem(self.choice.theorem());
        // SAGA's theorem and Theorem 2 are about methods that begin with a sweep; Algorithm 2 is also given every L_i.
        let swept = self.belief.wants_first_sweep();
        let is_as_proven = |theorem: &Theorem| match theorem {
            Theorem::Saga => swept,
            Theorem::Two { .. } => swept && !self.belief.learns_smoothness(),
            _ => true,
        };
        Facts {
            needs: self.choice.needs().and(self.update.needs()),
            order: self.choice.order(),
            own_step: self.update.has_own_step(),
            theorem: theorem.filter(is_as_proven),
        }
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        self.update.default_step(known)
    }

    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingsError> {
        self.settings().iter().try_for_each(Setting::check)?;
        self.choice.begin(users)?;
        Ok(self.update.begin(users, dim)?)
    }

    fn save(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let bytes = (*self.choice).save(bytes)?;
        let bytes = (*self.update).save(bytes)?;
        self.belief.save(bytes)
    }

    fn load(&mut self, bytes: &[u8]) -> Option<()> {
        let bytes = (*self.choice).load(bytes)?;
        let bytes = (*self.update).load(bytes)?;
        let rest = self.belief.load(bytes)?;
        rest.is_empty().then_some(())
    }

    fn wants(&self) -> Wants<'_> {
        self.update.wants()
    }

    fn leave(&mut self, user: usize) -> bool {
        self.update.lets_users_go() && self.choice.lets_users_go() && self.belief.leave(user)
    }

    fn choose(&mut self, scenery: &Scenery<'_>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let scene = scenery.with_belief(&self.belief, self.update.has_own_step());
        self.choice.choose(&scene, random)
    }

    fn scores(&self, scenery: &Scenery<'_>) -> Option<Scores> {
        self.choice.scores(&scenery.with_belief(&self.belief, self.update.has_own_step()))
    }

    fn how(&self) -> &'static str {
        self.choice.how()
    }

    fn take(&mut self, taken: &Taken<'_>, random: &mut Random, next: &mut [f64]) -> bool {
        let Taken { reply, weight, size, smoothness, for_update } = *taken;
        // An answer at another point is for the update alone.
        let here = reply.purpose != Purpose::Elsewhere;
        if here {
            self.belief.observe(&reply);
        }
        let step = Step { belief: &mut self.belief, reply, weight, size, smoothness };
        let moved = for_update && self.update.step(step, random, next);
        if here {
            self.choice.observe(&reply, random);
        }
        moved
    }
}
