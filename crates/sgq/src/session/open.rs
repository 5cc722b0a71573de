//! Building a session: everything that can be wrong is found here, before anybody is asked anything.

use std::any::type_name;

use super::{Session, Sight, State, StopRules};
use crate::{
    Belief, Choice, Meter, Method, Needs, Problem, Random, Settings, SettingsError, Smoothness, StepSize, Update,
    step_size::Schedule, theory::Theorem,
};

impl<B: Belief, C: Choice<B>, U: Update<B>> Session<'static, B, C, U> {
    /// A session for users somewhere else: it sees only the answers.
    ///
    /// A method that needs an oracle is refused here.
    pub fn new(method: Method<B, C, U>, settings: Settings) -> Result<Self, SettingsError> {
        Self::with_sight(method, settings, Sight::Blind)
    }
}

impl<'s, B: Belief, C: Choice<B>, U: Update<B>> Session<'s, B, C, U> {
    /// A session that can also see an oracle, or a whole problem: for simulations.
    pub fn with_sight(
        mut method: Method<B, C, U>,
        settings: Settings,
        sight: Sight<'s>,
    ) -> Result<Self, SettingsError> {
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
        check_sight(&sight, users, dim)?;
        method.choice.begin(users)?;
        method.update.begin(users, dim)?;
        let needs = method.choice.needs();
        check_needs(&method.name, needs, method.update.needs_hessians(), &sight)?;
        let learns = method.belief.learns_smoothness();
        let given_or_learned = needs.or_learned || !needs.smoothness;
        let needs_smoothness = needs.smoothness || method.update.needs_smoothness();
        if settings.smoothness.is_none() && needs_smoothness && !(learns && given_or_learned) {
            return Err(SettingsError::NeedsSmoothness { method: method.name });
        }
        if method.update.needs_everybody() && !method.belief.wants_first_sweep() {
            return Err(SettingsError::NeedsEverybody { method: method.name });
        }
        let stop_rules = StopRules::new(&settings)?;
        if settings.gradient_tolerance.is_some() && !method.belief.has_surrogate() {
            return Err(SettingsError::NeedsSurrogate { method: method.name });
        }
        if settings.target_gap.is_some() && sight.gap(&settings.start).is_none() {
            return Err(SettingsError::NeedsOptimum);
        }
        let costs = settings.costs.unwrap_or_default();
        if !costs.is_empty() && costs.len() != users {
            return Err(SettingsError::CostsLength { users, found: costs.len() });
        }
        if let Some(user) = costs.iter().position(|cost| !(*cost > 0.0 && cost.is_finite())) {
            return Err(SettingsError::Cost { user, value: costs[user] });
        }
        let objective = settings.objective_smoothness;
        let smoothness = settings.smoothness.map(|each| Smoothness::new(each, users)?.with_objective(objective));
        let smoothness = smoothness.transpose()?;
        // Where the update knows its own way, what is said of the step size does not matter.
        let rule = match settings.step_size {
            _ if method.update.has_own_step() => StepSize::Constant(1.0),
            Some(rule) => rule,
            None => return Err(SettingsError::NoStepSize),
        };
        let schedule = Schedule::new(rule, || theory_step(&method, smoothness.as_ref(), settings.pl_constant))?;
        // The last to be asked, because it takes the most room.
        method.belief.begin(users, dim, &settings.storage, smoothness.as_ref())?;

        let begins_with_sweep = method.belief.wants_first_sweep() || method.update.wants_sweep();
        let mut session = Self::from_parts(
            State {
                name: method.name,
                parts: part_names::<B, C, U>(),
                belief: method.belief,
                choice: method.choice,
                update: method.update,
                smoothness,
                schedule,
                stop_rules,
                random: Random::new(settings.seed, "choice"),
                meter: Meter::new(users, costs),
                point: settings.start.into(),
                steps: 0,
                sweep: begins_with_sweep.then_some(0),
                pending: None,
                extra_done: false,
                answers: Vec::new(),
                stop: None,
            },
            sight,
        );
        session.state.stop = session.reason_to_stop(true);
        Ok(session)
    }
}

pub(super) fn check_sight(sight: &Sight<'_>, users: usize, dim: usize) -> Result<(), SettingsError> {
    let Some(oracle) = sight.oracle() else {
        return Ok(());
    };
    for (what, expected, found) in [("users", oracle.users(), users), ("parameters", oracle.dim(), dim)] {
        if expected != found {
            return Err(SettingsError::Mismatch { what, expected, found });
        }
    }
    Ok(())
}

/// Refuses a method that needs to see more than this session can.
pub(super) fn check_needs(name: &str, needs: Needs, hessians: bool, sight: &Sight<'_>) -> Result<(), SettingsError> {
    let method = || name.to_owned();
    if needs.oracle && sight.oracle().is_none() {
        return Err(SettingsError::NeedsOracle { method: method() });
    }
    if needs.losses && sight.problem().is_none() {
        return Err(SettingsError::NeedsLosses { method: method() });
    }
    let has_hessians = |problem: &dyn Problem| {
        let dim = problem.dim();
        problem.hessian(0, &vec![0.0; dim], &mut vec![0.0; dim * dim])
    };
    if hessians && !sight.problem().is_some_and(has_hessians) {
        return Err(SettingsError::NeedsHessians { method: method() });
    }
    Ok(())
}

/// The theorem that bounds the step size of a method, where there is one.
pub(super) fn theorem<B: Belief, C: Choice<B>, U: Update<B>>(belief: &B, choice: &C, update: &U) -> Option<Theorem> {
    let theorem = update.theorem(choice.theorem())?;
    // Theorem 2 is about Algorithm 2, which begins with a sweep and is given every L_i.
    let as_proven = belief.wants_first_sweep() && !belief.learns_smoothness();
    (as_proven || !matches!(theorem, Theorem::Two { .. })).then_some(theorem)
}

/// The largest step that the method's theorem allows.
fn theory_step<B: Belief, C: Choice<B>, U: Update<B>>(
    method: &Method<B, C, U>,
    smoothness: Option<&Smoothness>,
    pl_constant: Option<f64>,
) -> Result<f64, SettingsError> {
    let Some(theorem) = theorem(&method.belief, &method.choice, &method.update) else {
        return Err(SettingsError::NoTheorem { method: method.name.clone() });
    };
    let missing = |missing| SettingsError::TheoryNeeds { theorem, missing };
    let smoothness = smoothness.ok_or_else(|| missing("each user's smoothness L_i"))?;
    let pl_constant = match pl_constant {
        // f is smooth with at most the mean L_i, and no μ is larger than that.
        Some(value) if value > 0.0 && value <= smoothness.mean() * (1.0 + 1e-9) => value,
        Some(value) => return Err(SettingsError::PlConstant { value, smoothness: smoothness.mean() }),
        None if theorem.needs_pl_constant() => {
            return Err(missing("the Polyak-Łojasiewicz constant μ"));
        }
        None => f64::INFINITY,
    };
    let cap = theorem.step_cap(smoothness, pl_constant);
    if cap > 0.0 { Ok(cap) } else { Err(SettingsError::NoStepAllowed { theorem, cap }) }
}

/// The names of the three types without their paths, which may change from one compiler to the next.
pub(super) fn part_names<B, C, U>() -> [String; 3] {
    [type_name::<B>(), type_name::<C>(), type_name::<U>()].map(|name| {
        let words = name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        words.map(|word| word.rsplit("::").next().unwrap_or(word)).collect()
    })
}
