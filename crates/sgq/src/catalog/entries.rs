//! The lists: every method, part and step-size rule, with its name and what it does.

use super::{ChoiceKind, Entry, MethodEntry, PartEntry, Recipe, UpdateKind};

const SURROGATE_EI: ChoiceKind =
    ChoiceKind::SurrogateEi { explore: 0.3, bonus_weight: 1.0, sharp: false, lazy: false, learned: false };
const PRACTICAL_EI: ChoiceKind =
    ChoiceKind::SurrogateEi { explore: 0.3, bonus_weight: 0.1, sharp: false, lazy: true, learned: true };
const ORACLE_EI: ChoiceKind = ChoiceKind::OracleEi { sharp: false };
const BY_NORM: ChoiceKind = ChoiceKind::ByNorm { mixture: 0.5, cost_aware: false };
const BY_NORM_AND_COST: ChoiceKind = ChoiceKind::ByNorm { mixture: 0.5, cost_aware: true };
const POWER: ChoiceKind = ChoiceKind::PowerOfChoice { candidates: None };
const BEST_STEP: UpdateKind = UpdateKind::BestStep { sharp: false };
const SVRG: UpdateKind = UpdateKind::Svrg { inner_steps: None };
const LOOPLESS: UpdateKind = UpdateKind::Loopless { probability: None };
const KATYUSHA: UpdateKind = UpdateKind::Katyusha { inner_steps: None, momentum: 0.5 };
const RECURSIVE: UpdateKind = UpdateKind::Recursive { inner_steps: None };

const fn method(
    name: &'static str,
    choice: ChoiceKind,
    update: UpdateKind,
    charges: &'static str,
    summary: &'static str,
) -> MethodEntry {
    MethodEntry { name, summary, recipe: Recipe { choice, update }, charges }
}

const ONE: &str = "1 a step";
const N_THEN_ONE: &str = "n at the start, then 1 a step";
const SNAPSHOTS: &str = "n a snapshot, then 1 a step";
const EVERYBODY: &str = "n an evaluation";

/// The built-in methods.
pub const METHODS: &[MethodEntry] = {
    use ChoiceKind as C;
    use UpdateKind as U;
    &[
        method(
            "frugal",
            C::Informative,
            U::ToMinimiser { learned: false },
            ONE,
            "a model of all users: asks who tells the most, goes where it is smallest; nothing to tune",
        ),
        method("sgd", C::Uniform, U::Sgd, ONE, "a user at random, a step along its gradient"),
        method(
            "shuffled-sgd",
            C::Shuffled,
            U::Sgd,
            ONE,
            "every user once in random order, then again; steps along the gradients",
        ),
        method(
            "importance-sgd",
            C::BySmoothness,
            U::Sgd,
            ONE,
            "users in proportion to L_i, their steps weighed down accordingly (Needell et al. 2014)",
        ),
        method(
            "srg",
            BY_NORM,
            U::Sgd,
            ONE,
            "users in proportion to their last gradients' norms, half of the time (El Hanchi et al. 2022)",
        ),
        method(
            "hetersgd",
            BY_NORM_AND_COST,
            U::Sgd,
            ONE,
            "as srg, cheap users more often: norms over the root of what a query costs (Chen et al. 2023)",
        ),
        method(
            "grab",
            C::Balanced,
            U::Sgd,
            ONE,
            "every user once an epoch, in an order in which the last epoch's gradients balance (Lu et al. 2022)",
        ),
        method(
            "power-of-choice",
            POWER,
            U::Sgd,
            "1 a step; the losses polled before each are not billed",
            "of a few users at random, the one with the largest loss (Cho et al. 2020)",
        ),
        method(
            "oort",
            C::Oort,
            U::Sgd,
            "1 a step; losses come with the answers",
            "the largest last loss plus a bonus for staleness (Lai et al. 2021)",
        ),
        method(
            "gpfl",
            C::Projection,
            U::Sgd,
            N_THEN_ONE,
            "the farthest projection on the global direction, with a confidence bound (Na et al. 2024)",
        ),
        method(
            "ogq",
            ORACLE_EI,
            U::Sgd,
            "1 a step; its look at all n gradients is diagnostic, never billed",
            "the user with the largest expected improvement, by an oracle (Algorithm 1); a yardstick",
        ),
        method(
            "sgq",
            SURROGATE_EI,
            U::Sgd,
            N_THEN_ONE,
            "the user with the largest surrogate improvement plus bonus (Algorithm 2)",
        ),
        method(
            "practical-sgq",
            PRACTICAL_EI,
            BEST_STEP,
            ONE,
            "as sgq, but starts at once, learns each L_i and finds its own step size; nothing to tune",
        ),
        method(
            "saga",
            C::Uniform,
            U::Saga,
            N_THEN_ONE,
            "a user at random, a step corrected by everybody's last gradient (Defazio et al. 2014)",
        ),
        method(
            "saga-sgq",
            SURROGATE_EI,
            U::Saga,
            N_THEN_ONE,
            "SGQ's choice with SAGA's step (the remark after Theorem 2)",
        ),
        method(
            "sag",
            C::Uniform,
            U::Aggregated,
            N_THEN_ONE,
            "a user at random, a step along everybody's last gradient (Schmidt et al. 2017)",
        ),
        method(
            "iag",
            C::Cyclic,
            U::Aggregated,
            N_THEN_ONE,
            "users in turn, a step along everybody's last gradient (Blatt et al. 2007)",
        ),
        method(
            "diag",
            C::Cyclic,
            U::DoublyAggregated,
            N_THEN_ONE,
            "as iag, from the mean of the points where the gradients were taken (Mokhtari et al. 2018)",
        ),
        method(
            "svrg",
            C::Uniform,
            SVRG,
            SNAPSHOTS,
            "a user at random, a step corrected by a full gradient taken now and then (Johnson & Zhang 2013)",
        ),
        method(
            "l-svrg",
            C::Uniform,
            LOOPLESS,
            SNAPSHOTS,
            "as svrg, with full gradients at random times (Kovalev et al. 2020)",
        ),
        method("katyusha", C::Uniform, KATYUSHA, SNAPSHOTS, "svrg with momentum, accelerated (Allen-Zhu 2017)"),
        method(
            "sarah",
            C::Uniform,
            RECURSIVE,
            "n a full gradient, then 2 a step",
            "a recursive estimate of the full gradient: each user is asked at two points (Nguyen et al. 2017)",
        ),
        method(
            "iqn",
            C::Cyclic,
            U::QuasiNewton,
            N_THEN_ONE,
            "users in turn, a curvature learned for each by BFGS (Mokhtari et al. 2018)",
        ),
        method(
            "ciag",
            C::Cyclic,
            U::CurvatureAided,
            "n at the start, then 1 a step; the Hessians that come with the answers are not billed",
            "as iag, with everybody's Hessian: a stronger oracle, a yardstick (Wai et al. 2018)",
        ),
        method("gd", C::Cyclic, U::FullGradient, EVERYBODY, "full gradient descent"),
        method("l-bfgs", C::Cyclic, U::Lbfgs, EVERYBODY, "limited-memory BFGS on full gradients (Liu & Nocedal 1989)"),
    ]
};

/// The built-in beliefs. A method gets the one that its choice and its update need.
pub const BELIEFS: &[Entry] = &[
    Entry { name: "nothing", summary: "no memory of the users" },
    Entry { name: "last-gradient", summary: "each user's last gradient, where it was taken, and the mean of them all" },
];

const SHARP: Entry =
    Entry { name: "sharp", summary: "true: f's own smoothness in place of the mean L_i; default false" };

/// The built-in choices.
pub const CHOICES: &[PartEntry<ChoiceKind>] = &[
    PartEntry {
        name: "informative",
        summary: "those who were not asked, the larger the sooner; then the one whose answer is the most out of place",
        kind: ChoiceKind::Informative,
        settings: &[],
    },
    PartEntry {
        name: "uniform",
        summary: "every user equally likely, each time anew",
        kind: ChoiceKind::Uniform,
        settings: &[],
    },
    PartEntry {
        name: "shuffled",
        summary: "every user once in random order, then again (without replacement)",
        kind: ChoiceKind::Shuffled,
        settings: &[],
    },
    PartEntry { name: "cyclic", summary: "every user in turn", kind: ChoiceKind::Cyclic, settings: &[] },
    PartEntry {
        name: "by-smoothness",
        summary: "in proportion to L_i; each answer counts 1/(n p_i)",
        kind: ChoiceKind::BySmoothness,
        settings: &[],
    },
    PartEntry {
        name: "by-norm",
        summary: "in proportion to the norms of last gradients, mixed with uniform; each answer counts 1/(n p_i)",
        kind: BY_NORM,
        settings: &[
            Entry { name: "mixture", summary: "the part of uniform choices, in (0, 1]; default 0.5" },
            Entry { name: "cost_aware", summary: "true: norms over the root of what a query costs; default false" },
        ],
    },
    PartEntry {
        name: "balanced",
        summary: "every user once an epoch, in an order in which the last epoch's gradients balance",
        kind: ChoiceKind::Balanced,
        settings: &[],
    },
    PartEntry {
        name: "projection",
        summary: "argmax of the last gradient's projection on the global direction plus a confidence bound",
        kind: ChoiceKind::Projection,
        settings: &[],
    },
    PartEntry {
        name: "power-of-choice",
        summary: "the largest loss among a few users at random (simulation only)",
        kind: POWER,
        settings: &[Entry { name: "candidates", summary: "users polled before each choice; default n/10, at least 2" }],
    },
    PartEntry {
        name: "oort",
        summary: "the largest last loss plus a bonus for staleness (simulation only)",
        kind: ChoiceKind::Oort,
        settings: &[],
    },
    PartEntry {
        name: "oracle-ei",
        summary: "argmax of the expected improvement, with everybody's true gradients (simulation only)",
        kind: ORACLE_EI,
        settings: &[SHARP],
    },
    PartEntry {
        name: "surrogate-ei",
        summary: "argmax of the surrogate improvement plus the bonus of Lemma 2, over the last gradients",
        kind: SURROGATE_EI,
        settings: &[
            Entry { name: "p", summary: "probability of asking a user at random instead, in [0, 1]; default 0.3" },
            Entry { name: "bonus", summary: "weight of the bonus, not negative; default 1, as in the paper" },
            SHARP,
            Entry {
                name: "lazy",
                summary: "true: no sweep at the start, who was not asked comes first; default false",
            },
            Entry { name: "learned", summary: "true: each L_i is learned from repeated answers; default false" },
        ],
    },
];

/// The built-in updates.
pub const UPDATES: &[PartEntry<UpdateKind>] = &[
    PartEntry { name: "sgd", summary: "x −= α ∇f_i(x)", kind: UpdateKind::Sgd, settings: &[] },
    PartEntry {
        name: "best-step",
        summary: "as sgd, with the α at which the expected improvement is largest; no step size",
        kind: BEST_STEP,
        settings: &[SHARP],
    },
    PartEntry {
        name: "saga",
        summary: "x −= α (∇f_i(x) − last gradient of i + mean of all last gradients)",
        kind: UpdateKind::Saga,
        settings: &[],
    },
    PartEntry {
        name: "aggregated",
        summary: "x −= α · mean of all last gradients",
        kind: UpdateKind::Aggregated,
        settings: &[],
    },
    PartEntry {
        name: "doubly-aggregated",
        summary: "x = mean of the last gradients' points − α · mean of all last gradients",
        kind: UpdateKind::DoublyAggregated,
        settings: &[],
    },
    PartEntry {
        name: "svrg",
        summary: "x −= α (∇f_i(x) − snapshot gradient of i + full snapshot gradient)",
        kind: SVRG,
        settings: &[Entry {
            name: "inner_steps",
            summary: "steps between snapshots; default 2n (the paper's experiment: 10)",
        }],
    },
    PartEntry {
        name: "loopless",
        summary: "as svrg, with snapshots at random times",
        kind: LOOPLESS,
        settings: &[Entry { name: "probability", summary: "of a snapshot after each step; default 1/n" }],
    },
    PartEntry {
        name: "katyusha",
        summary: "svrg with momentum",
        kind: KATYUSHA,
        settings: &[
            Entry { name: "inner_steps", summary: "steps between snapshots; default 2n" },
            Entry { name: "momentum", summary: "τ₁, in (0, 0.5]; default 0.5" },
        ],
    },
    PartEntry {
        name: "recursive",
        summary: "v += ∇f_i(x) − ∇f_i(last x), x −= α v: two queries a step",
        kind: RECURSIVE,
        settings: &[Entry { name: "inner_steps", summary: "steps between full gradients; default n" }],
    },
    PartEntry {
        name: "quasi-newton",
        summary: "minimises the sum of quadratics whose curvatures are learned by BFGS",
        kind: UpdateKind::QuasiNewton,
        settings: &[],
    },
    PartEntry {
        name: "to-minimiser",
        summary: "goes where a model of all users is smallest; with choices that need no table",
        kind: UpdateKind::ToMinimiser { learned: false },
        settings: &[Entry {
            name: "learned",
            summary: "true: the L_i are not looked at, and learned from repeated answers; default false",
        }],
    },
    PartEntry {
        name: "curvature-aided",
        summary: "x −= α · mean of all last gradients carried to x by their Hessians (simulation only)",
        kind: UpdateKind::CurvatureAided,
        settings: &[],
    },
    PartEntry {
        name: "full",
        summary: "x −= α ∇f(x): everybody is asked for each step, whatever the choice",
        kind: UpdateKind::FullGradient,
        settings: &[],
    },
    PartEntry {
        name: "l-bfgs",
        summary: "quasi-Newton steps on full gradients, whatever the choice",
        kind: UpdateKind::Lbfgs,
        settings: &[],
    },
];

/// The step-size rules: how each is written in a file, and what it does.
pub const STEP_SIZES: &[Entry] = &[
    Entry { name: "0.015", summary: "the same at every step" },
    Entry { name: "{ initial = 0.1, rate = 0.01 }", summary: "initial / (1 + rate·t) after t steps" },
    Entry { name: "{ pieces = [[0, 0.1], [100, 0.01]] }", summary: "from step 0 on 0.1, from step 100 on 0.01" },
    Entry { name: "\"theory\"", summary: "the largest step that the method's theorem allows (sgd, ogq, sgq, saga)" },
];
