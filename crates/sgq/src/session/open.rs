//! Building a session: everything that can be wrong is found here, before anybody is asked anything.

use std::{any::Any, collections::BTreeSet};

use super::{
    Certifying, GradientSizes, Session, Sight, State, StopRules, Uncertified, Weights,
    failure::FailureLog,
    questions::{Absence, Progress, Questions, Sweep},
};
use crate::{
    Detail, Format, LastGradient, Meter, Method, Need, Needs, Oracle, Problem, Random, Settings, SettingsError,
    Smoothness, StepSizeError,
    step_size::{Known, Schedule},
    theory::Theorem,
    update::Wants,
};

impl Session<'static> {
    /// A session for users somewhere else: it sees only the answers.
    ///
    /// A method that needs an oracle is refused here.
    pub fn new(method: Method, settings: Settings) -> Result<Self, SettingsError> {
        Self::with_sight(method, settings, Sight::Blind)
    }
}

impl<'s> Session<'s> {
    /// A session that can also see an oracle, or a whole problem: for simulations.
    pub fn with_sight(method: Method, settings: Settings, sight: Sight<'s>) -> Result<Self, SettingsError> {
        let (users, dim) = (settings.users, settings.start.len());
        if users == 0 {
            return Err(SettingsError::NoUsers);
        }
        if dim == 0 {
            return Err(SettingsError::EmptyStart);
        }
        // Later on users × dim × bytes is taken for granted, and that users can be numbered in four bytes.
        let largest = isize::MAX as usize / size_of::<f64>();
        if users >= u32::MAX as usize || users.checked_mul(dim).is_none_or(|numbers| numbers > largest) {
            return Err(SettingsError::TooLarge { users, dim });
        }
        if let Some(coordinate) = settings.start.iter().position(|x| !x.is_finite()) {
            return Err(SettingsError::Start { coordinate, value: settings.start[coordinate] });
        }
        if settings.open == 0 {
            return Err(SettingsError::NoneOpen);
        }
        check_sight(&sight, users, dim)?;
        let (name, mut parts) = method.into_parts();
        parts.begin(users, dim)?;
        let facts = parts.facts();
        let needs = facts.needs;
        check_needs(&name, needs, &sight, settings.answers)?;
        if needs.one_at_a_time && settings.open > 1 {
            return Err(SettingsError::Unmet { method: name, need: Need::OneAtATime });
        }
        let unmet = |need| Err(SettingsError::Unmet { method: name.clone(), need });
        let weights = Weights::new(settings.weights.as_deref(), users)?;
        if settings.weights.is_some() && sight.problem().is_some() {
            return Err(SettingsError::WeightsOfProblem);
        }
        let smoothness = settings.known_smoothness()?;
        if needs.smoothness && smoothness.is_none() && !(parts.belief().learns_smoothness() && needs.or_learned) {
            return unmet(Need::Smoothness);
        }
        let stop_rules = StopRules::new(&settings)?;
        if settings.gradient_tolerance.is_some() && !parts.belief().has_surrogate() {
            return unmet(Need::Surrogate);
        }
        if settings.tolerance.is_some() && !parts.belief().can_tell_remaining() {
            return unmet(Need::Remaining);
        }
        if settings.target_gap.is_some() && sight.gap(&settings.start).is_none() {
            return Err(SettingsError::NeedsOptimum);
        }
        let certifying = Certifying::new(&settings);
        if settings.certified_gap.is_some() {
            let belief: &dyn Any = parts.belief();
            let is_rounded = belief.is::<LastGradient>() && settings.storage.format != Format::F64;
            let rounded = is_rounded.then_some(Uncertified::Inexact);
            let forgets = (!parts.belief().has_surrogate()).then_some(Uncertified::Forgotten);
            let why = forgets.or(rounded).or_else(|| certifying.constants(smoothness.as_ref()).err());
            why.map_or(Ok(()), |why| Err(SettingsError::Uncertified(why)))?;
        }
        let costs = settings.costs.unwrap_or_default();
        if !costs.is_empty() && costs.len() != users {
            return Err(SettingsError::CostsLength { users, found: costs.len() });
        }
        if let Some(user) = costs.iter().position(|cost| !(*cost > 0.0 && cost.is_finite())) {
            return Err(SettingsError::Cost { user, value: costs[user] });
        }
        let known = (smoothness.as_ref(), settings.pl_constant);
        let schedule = match facts.own_step {
            false => {
                let missing = || StepSizeError::AutoNeedsSmoothness { method: name.clone() };
                let auto =
                    |smoothness| parts.default_step(&Known::new(smoothness, settings.pl_constant, facts.order)).size;
                let auto = || smoothness.as_ref().map(auto).ok_or_else(missing);
                Schedule::new(settings.step_size, auto, || theory_step(&name, facts.theorem, known))?
            }
            // Where the update goes its own way, what is said of the step size does not matter.
            true => Schedule::constant(1.0),
        };
        // The last to be asked, because it takes the most room.
        parts.belief_mut().begin(users, dim, &settings.storage, smoothness.as_ref())?;

        let begins_with_sweep = parts.belief().wants_first_sweep() || parts.wants() == Wants::Everybody;
        let state = State {
            name,
            part_types: parts.type_names(),
            smoothness,
            schedule,
            stop_rules,
            random: Random::new(settings.seed, "choice"),
            meter: Meter::new(users, costs),
            point: settings.start.into(),
            progress: Progress::default(),
            at_once: settings.open,
            answers: settings.answers,
            certifying,
            gradient_sizes: GradientSizes::default(),
            weights,
            sweep: begins_with_sweep.then(|| Sweep::from(0)),
            follow_up: None,
            questions: Questions::default(),
            absence: Absence::default(),
            left: BTreeSet::new(),
            failures: FailureLog::default(),
            stop: None,
        };
        let mut session = Self::from_parts(parts, state, sight);
        session.state.stop = session.reason_to_stop(true);
        Ok(session)
    }
}

pub(super) fn check_sight(sight: &Sight<'_>, users: usize, dim: usize) -> Result<(), SettingsError> {
    sight.oracle().map_or(Ok(()), |oracle| check_users(oracle, users, dim))
}

/// Refuses users that are not those of a session of so many users and parameters.
fn check_users(oracle: &dyn Oracle, users: usize, dim: usize) -> Result<(), SettingsError> {
    for (what, expected, found) in [("users", oracle.users(), users), ("parameters", oracle.dim(), dim)] {
        if expected != found {
            return Err(SettingsError::Mismatch { what, expected, found });
        }
    }
    Ok(())
}

impl Session<'_> {
    /// Refuses users that are not those of this session.
    pub(crate) fn check_users(&self, oracle: &dyn Oracle) -> Result<(), SettingsError> {
        check_users(oracle, self.state.users(), self.state.point.len())
    }
}

/// Refuses a method that needs to see more than this session can.
pub(super) fn check_needs(name: &str, needs: Needs, sight: &Sight<'_>, answers: Detail) -> Result<(), SettingsError> {
    let unmet = |need| Err(SettingsError::Unmet { method: name.to_owned(), need });
    if needs.oracle && sight.oracle().is_none() {
        return unmet(Need::Oracle);
    }
    let is_asked_for = answers >= Detail::Loss && !needs.polls;
    if needs.losses && !is_asked_for && sight.problem().is_none() {
        return unmet(if needs.polls { Need::Polls } else { Need::Losses });
    }
    let has_hessians = |problem: &dyn Problem| {
        let dim = problem.dim();
        problem.hessian(0, &vec![0.0; dim], &mut vec![0.0; dim * dim])
    };
    let sees_hessians = sight.problem().map_or(answers == Detail::Hessian, has_hessians);
    if needs.hessians && !sees_hessians {
        return unmet(Need::Hessians);
    }
    Ok(())
}

/// `L_i` and `μ`, as far as they are known.
type Constants<'a> = (Option<&'a Smoothness>, Option<f64>);

/// The largest step that the method's theorem allows.
fn theory_step(name: &str, theorem: Option<Theorem>, known: Constants<'_>) -> Result<f64, StepSizeError> {
    let theorem = theorem.ok_or_else(|| StepSizeError::NoTheorem { method: name.to_owned() })?;
    let missing = |missing| StepSizeError::TheoryNeeds { theorem, missing };
    let (smoothness, pl_constant) = known;
    let smoothness = smoothness.ok_or_else(|| missing("each user's smoothness L_i"))?;
    let pl_constant = match pl_constant {
        // f is smooth with at most the mean L_i, and no μ is larger than that.
        Some(value) if value > 0.0 && value <= smoothness.mean() * (1.0 + 1e-9) => value,
        Some(value) => return Err(StepSizeError::PlConstant { value, smoothness: smoothness.mean() }),
        None if theorem.needs_pl_constant() => {
            return Err(missing("the Polyak-Łojasiewicz constant μ"));
        }
        None => f64::INFINITY,
    };
    let cap = theorem.step_cap(smoothness, pl_constant);
    if cap > 0.0 { Ok(cap) } else { Err(StepSizeError::NoStepAllowed { theorem, cap }) }
}
