//! Any built-in part, of one type: a session of a method that is only known at run time then needs to be compiled once.

use serde::{Deserialize, Serialize};

use super::{ChoiceKind, UpdateKind, default_candidates, default_inner_steps};
use crate::{
    Choice, ChoiceError, Chosen, LastGradient, Needs, Random, Reply, Scene, SettingsError, Step, Update,
    belief::Model,
    choice::{
        Balanced, ByNorm, BySmoothness, Cyclic, Informative, Oort, OracleEi, PowerOfChoice, Projection, Shuffled,
        SurrogateEi, Uniform,
    },
    theory::Theorem,
    update::{
        Aggregated, BestStep, CurvatureAided, DoublyAggregated, FullGradient, Katyusha, Lbfgs, Loopless, QuasiNewton,
        Recursive, Saga, Sgd, Svrg,
    },
};

/// Declares an enum of parts, and a macro that does the same with whichever it is.
macro_rules! any_part {
    ($(#[$doc:meta])* $name:ident, $each:ident: $($part:ident),* $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub(crate) enum $name {
            $($part($part),)*
        }

        macro_rules! $each {
            ($any:expr, $it:ident => $action:expr) => {
                match $any {
                    $($name::$part($it) => $action,)*
                }
            };
        }
    };
}

any_part! {
    /// Any built-in choice.
    AnyChoice, each_choice:
    Uniform, Shuffled, Cyclic, BySmoothness, ByNorm, Balanced, Projection, PowerOfChoice, Oort, OracleEi, SurrogateEi,
}

any_part! {
    /// Any built-in update.
    AnyUpdate, each_update:
    Sgd, Saga, Aggregated, DoublyAggregated, Svrg, Loopless, Katyusha, Recursive, QuasiNewton, CurvatureAided,
    FullGradient, Lbfgs, BestStep,
}

any_part! {
    /// Any built-in choice that a model can go with.
    ModelChoice, each_model_choice:
    Informative, Uniform, Shuffled, Cyclic,
}

type B = LastGradient;

impl Choice<Model> for ModelChoice {
    fn begin(&mut self, users: usize) -> Result<(), SettingsError> {
        each_model_choice!(self, it => Choice::<Model>::begin(it, users))
    }

    fn choose(&mut self, scene: &Scene<'_, Model>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        each_model_choice!(self, it => it.choose(scene, random))
    }
}

impl Choice<B> for AnyChoice {
    fn begin(&mut self, users: usize) -> Result<(), SettingsError> {
        each_choice!(self, it => Choice::<B>::begin(it, users))
    }

    fn needs(&self) -> Needs {
        each_choice!(self, it => Choice::<B>::needs(it))
    }

    fn theorem(&self) -> Option<Theorem> {
        each_choice!(self, it => Choice::<B>::theorem(it))
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        each_choice!(self, it => it.choose(scene, random))
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        each_choice!(self, it => Choice::<B>::observe(it, reply, random));
    }
}

impl Update<B> for AnyUpdate {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingsError> {
        each_update!(self, it => Update::<B>::begin(it, users, dim))
    }

    fn wants_sweep(&self) -> bool {
        each_update!(self, it => Update::<B>::wants_sweep(it))
    }

    fn observe_sweep(&mut self, reply: &Reply<'_>) {
        each_update!(self, it => Update::<B>::observe_sweep(it, reply));
    }

    fn finish_sweep(&mut self, step_size: f64, point: &mut [f64]) -> bool {
        each_update!(self, it => Update::<B>::finish_sweep(it, step_size, point))
    }

    fn extra_point(&self) -> Option<&[f64]> {
        each_update!(self, it => Update::<B>::extra_point(it))
    }

    fn observe_extra(&mut self, gradient: &[f64]) {
        each_update!(self, it => Update::<B>::observe_extra(it, gradient));
    }

    fn needs_hessians(&self) -> bool {
        each_update!(self, it => Update::<B>::needs_hessians(it))
    }

    fn needs_smoothness(&self) -> bool {
        each_update!(self, it => Update::<B>::needs_smoothness(it))
    }

    fn needs_everybody(&self) -> bool {
        each_update!(self, it => Update::<B>::needs_everybody(it))
    }

    fn has_own_step(&self) -> bool {
        each_update!(self, it => Update::<B>::has_own_step(it))
    }

    fn arrive(&mut self, step: &Step<'_, B>, point: &mut [f64]) {
        each_update!(self, it => Update::<B>::arrive(it, step, point));
    }

    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        each_update!(self, it => Update::<B>::theorem(it, of_sgd))
    }

    fn step(&mut self, step: &Step<'_, B>, random: &mut Random, point: &mut [f64]) {
        each_update!(self, it => it.step(step, random, point));
    }
}

impl ChoiceKind {
    /// The part itself, for that many users.
    ///
    /// None for the one that goes with a model only.
    pub(super) fn part(self, users: usize) -> Option<AnyChoice> {
        Some(match self {
            Self::Informative => return None,
            Self::Uniform => AnyChoice::Uniform(Uniform),
            Self::Shuffled => AnyChoice::Shuffled(Shuffled::new()),
            Self::Cyclic => AnyChoice::Cyclic(Cyclic::new()),
            Self::BySmoothness => AnyChoice::BySmoothness(BySmoothness),
            Self::ByNorm { mixture, cost_aware } => AnyChoice::ByNorm(ByNorm::new(mixture).cost_aware(cost_aware)),
            Self::Balanced => AnyChoice::Balanced(Balanced::new()),
            Self::Projection => AnyChoice::Projection(Projection::new()),
            Self::PowerOfChoice { candidates } => {
                AnyChoice::PowerOfChoice(PowerOfChoice::new(candidates.unwrap_or(default_candidates(users))))
            }
            Self::Oort => AnyChoice::Oort(Oort::new()),
            Self::OracleEi { sharp } => AnyChoice::OracleEi(OracleEi::new().sharp(sharp)),
            // The other two are the table's.
            Self::SurrogateEi { explore, bonus_weight, sharp, .. } => {
                AnyChoice::SurrogateEi(SurrogateEi::new(explore).bonus_weight(bonus_weight).sharp(sharp))
            }
        })
    }

    /// The part where a model is believed in; none where it needs a table of last gradients, or more.
    pub(super) fn part_by_model(self) -> Option<ModelChoice> {
        Some(match self {
            Self::Informative => ModelChoice::Informative(Informative::new()),
            Self::Uniform => ModelChoice::Uniform(Uniform),
            Self::Shuffled => ModelChoice::Shuffled(Shuffled::new()),
            Self::Cyclic => ModelChoice::Cyclic(Cyclic::new()),
            _ => return None,
        })
    }
}

impl UpdateKind {
    /// The part itself, for that many users.
    ///
    /// None for the one that goes with a model.
    pub(super) fn part(self, users: usize) -> Option<AnyUpdate> {
        Some(match self {
            Self::ToMinimiser { .. } => return None,
            Self::Sgd => AnyUpdate::Sgd(Sgd),
            Self::BestStep { sharp } => AnyUpdate::BestStep(BestStep::new().sharp(sharp)),
            Self::Saga => AnyUpdate::Saga(Saga),
            Self::Aggregated => AnyUpdate::Aggregated(Aggregated),
            Self::DoublyAggregated => AnyUpdate::DoublyAggregated(DoublyAggregated::new()),
            Self::Svrg { inner_steps } => AnyUpdate::Svrg(Svrg::new(inner_steps.unwrap_or(default_inner_steps(users)))),
            Self::Loopless { probability } => AnyUpdate::Loopless(Loopless::new(probability)),
            Self::Katyusha { inner_steps, momentum } => AnyUpdate::Katyusha(Katyusha::new(inner_steps, momentum)),
            Self::Recursive { inner_steps } => AnyUpdate::Recursive(Recursive::new(inner_steps)),
            Self::QuasiNewton => AnyUpdate::QuasiNewton(QuasiNewton::new()),
            Self::CurvatureAided => AnyUpdate::CurvatureAided(CurvatureAided::new()),
            Self::FullGradient => AnyUpdate::FullGradient(FullGradient::new()),
            Self::Lbfgs => AnyUpdate::Lbfgs(Lbfgs::new()),
        })
    }
}
