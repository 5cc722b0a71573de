//! Every built-in method: its name, what it does, what it charges, and its three parts.

use super::{Method, MethodEntry};
use crate::{
    belief::{LastGradient, Model, Nothing},
    choice::{
        Balanced, ByNorm, BySmoothness, Cyclic, Informative, Oort, OracleEi, PowerOfChoice, Projection, Shuffled,
        SurrogateEi, Uniform,
    },
    update::{
        Aggregated, BestStep, CurvatureAided, DoublyAggregated, FisherScoring, FullGradient, IncrementalNewton,
        Katyusha, Lbfgs, Loopless, NewtonLearning, QuasiNewton, Recursive, Saga, Sgd, Svrg, ToMinimiser,
    },
};

const ONE: &str = "1 a step";
const N_THEN_ONE: &str = "n at the start, then 1 a step";
const SNAPSHOTS: &str = "n a snapshot, then 1 a step";
const EVERYBODY: &str = "n an evaluation";
const N_THEN_ONE_WITH_HESSIANS: &str = "n at the start, then 1 a step; every answer has a Hessian";

/// Declares methods: the summary, the name, what is charged, the constructor with the paper's settings, and the parts.
macro_rules! methods {
    ($($(#[doc = $summary:literal])+ $name:literal, $charges:expr, $constructor:ident($($setting:ident: $type:ty = $default:expr)?):
        $belief:expr, $choice:expr, $update:expr;)*) => {
        $(
            $(#[doc = $summary])+
            pub fn $constructor($($setting: $type)?) -> Method {
                Method::new($name, $belief, $choice, $update)
            }
        )*

        /// The built-in methods.
        pub const METHODS: &[MethodEntry] = &[$(MethodEntry {
            name: $name,
            summary: concat!($($summary),+).trim_ascii_start(),
            charges: $charges,
            make: || $constructor($($default)?),
        }),*];
    };
}

methods! {
    /// a model of all users: asks who tells the most, goes where it is smallest; nothing to tune
    "frugal", ONE, frugal(): Model::new(), Informative::new(), ToMinimiser::new();

    /// a user at random, a step along its gradient
    "sgd", ONE, sgd(): Nothing, Uniform, Sgd;

    /// every user once in random order, then again; steps along the gradients
    "shuffled-sgd", ONE, shuffled_sgd(): Nothing, Shuffled::new(), Sgd;

    /// users in proportion to L_i, their steps weighed down accordingly (Needell et al. 2014)
    "importance-sgd", ONE, importance_sgd(): Nothing, BySmoothness, Sgd;

    /// users in proportion to their last gradients' norms, half of the time (El Hanchi et al. 2022)
    "srg", ONE, srg(): Nothing, ByNorm::new(0.5), Sgd;

    /// as srg, cheap users more often: norms over the root of what a query costs (Chen et al. 2023)
    "hetersgd", ONE, hetersgd(): Nothing, ByNorm::new(0.5).cost_aware(true), Sgd;

    /// every user once an epoch, in an order in which the last epoch's gradients balance (Lu et al. 2022)
    "grab", ONE, grab(): Nothing, Balanced::new(), Sgd;

    /// of a few users at random, the one with the largest loss (Cho et al. 2020)
    "power-of-choice", "1 a step; the losses polled before each are not billed", power_of_choice():
        Nothing, PowerOfChoice::new(None), Sgd;

    /// the largest last loss plus a bonus for staleness (Lai et al. 2021)
    "oort", "1 a step; losses come with the answers", oort(): Nothing, Oort::new(), Sgd;

    /// the farthest projection on the global direction, with a confidence bound (Na et al. 2024)
    "gpfl", N_THEN_ONE, gpfl(): LastGradient::new(), Projection::new(), Sgd;

    /// the user with the largest expected improvement, by an oracle (Algorithm 1); a yardstick
    "ogq", "1 a step; its look at all n gradients is diagnostic, never billed", ogq(): Nothing, OracleEi::new(), Sgd;

    /// the user with the largest surrogate improvement plus bonus (Algorithm 2)
    "sgq", N_THEN_ONE, sgq(explore: f64 = 0.3): LastGradient::new(), SurrogateEi::new(explore), Sgd;

    /// as sgq, but starts at once, learns each L_i and finds its own step size; nothing to tune
    "practical-sgq", ONE, practical_sgq(explore: f64 = 0.3):
        LastGradient::new().lazy(true).learning(true), SurrogateEi::new(explore).bonus_weight(0.1), BestStep::new();

    /// a user at random, a step corrected by everybody's last gradient (Defazio et al. 2014)
    "saga", N_THEN_ONE, saga(): LastGradient::new(), Uniform, Saga;

    /// SGQ's choice with SAGA's step (the remark after Theorem 2)
    "saga-sgq", N_THEN_ONE, saga_sgq(explore: f64 = 0.3): LastGradient::new(), SurrogateEi::new(explore), Saga;

    /// a user at random, a step along everybody's last gradient (Schmidt et al. 2017)
    "sag", N_THEN_ONE, sag(): LastGradient::new(), Uniform, Aggregated;

    /// users in turn, a step along everybody's last gradient (Blatt et al. 2007)
    "iag", N_THEN_ONE, iag(): LastGradient::new(), Cyclic::new(), Aggregated;

    /// whoever is there, a step along the last gradients of all, those away too (MIFA with one local step, Gu et al. 2021)
    "mifa", ONE, mifa(): LastGradient::new().lazy(true), Shuffled::new(), Aggregated;

    /// as iag, from the mean of the points where the gradients were taken (Mokhtari et al. 2018)
    "diag", N_THEN_ONE, diag(): LastGradient::new(), Cyclic::new(), DoublyAggregated::new();

    /// a user at random, a step corrected by a full gradient taken now and then (Johnson & Zhang 2013)
    "svrg", SNAPSHOTS, svrg(inner_steps: impl Into<Option<usize>> = None::<usize>):
        Nothing, Uniform, Svrg::new(inner_steps.into());

    /// as svrg, with full gradients at random times (Kovalev et al. 2020)
    "l-svrg", SNAPSHOTS, l_svrg(): Nothing, Uniform, Loopless::new(None);

    /// svrg with momentum, accelerated (Allen-Zhu 2017)
    "katyusha", SNAPSHOTS, katyusha(): Nothing, Uniform, Katyusha::new(None, 0.5);

    /// a recursive estimate of the full gradient: each user is asked at two points (Nguyen et al. 2017)
    "sarah", "n a full gradient, then 2 a step", sarah(): Nothing, Uniform, Recursive::new(None);

    /// users in turn, a curvature learned for each by BFGS (Mokhtari et al. 2018)
    "iqn", N_THEN_ONE, iqn(): LastGradient::new(), Cyclic::new(), QuasiNewton::new();

    /// as iqn, for several questions out at once, with a step after the first sweep (DAve-QN, Soori et al. 2020)
    "dave-qn", N_THEN_ONE, dave_qn():
        LastGradient::new(), Cyclic::new(), QuasiNewton::new().step_after_sweep(true);

    /// as iag, with everybody's Hessian: a stronger oracle, a yardstick (Wai et al. 2018)
    "ciag", N_THEN_ONE_WITH_HESSIANS, ciag(): Nothing, Cyclic::new(), CurvatureAided::new();

    /// users in turn, to the minimum of everybody's last quadratic, with Hessians (Rodomanov & Kropotov 2016)
    "nim", N_THEN_ONE_WITH_HESSIANS, nim(): Nothing, Cyclic::new(), IncrementalNewton::new();

    /// as nim, a user at random (Kovalev et al. 2019)
    "stochastic-newton", N_THEN_ONE_WITH_HESSIANS, stochastic_newton(): Nothing, Uniform, IncrementalNewton::new();

    /// as stochastic-newton, with Hessians learned from changes of rank one (FedNL-PP, Safaryan et al. 2022)
    "fednl", N_THEN_ONE_WITH_HESSIANS, fednl(): Nothing, Uniform, NewtonLearning::new(1);

    /// Newton's method over everybody, as DataSHIELD and vantage6 fit a GLM: no step size
    "fisher-scoring", "n a step; every answer has a Hessian", fisher_scoring():
        Nothing, Cyclic::new(), FisherScoring::new();

    /// full gradient descent
    "gd", EVERYBODY, gd(): Nothing, Cyclic::new(), FullGradient::new();

    /// limited-memory BFGS on full gradients (Liu & Nocedal 1989)
    "l-bfgs", EVERYBODY, l_bfgs(): Nothing, Cyclic::new(), Lbfgs::new();
}
