//! The numbers that somebody chose for `frugal`: each with its reason and the section of docs/frugal.md that it belongs to.

/// Every constant of the model, the step and the choice. Found by a search over real and random problems, unless it says why.
pub(crate) struct Constants {
    // § 1: what it believes.
    /// No user's size is smaller: one without curvature has a size all the same.
    pub smallest_size: f64,
    /// A size that is learned is at most so many times the mean one, and at least one in so many.
    pub largest_size: f64,
    /// Up to so many parameters shared curvature is a whole matrix, § 11,
    pub dense_up_to: usize,
    /// and up to so many it is that from the start, over all parameters: with more, over the directions of the answers.
    pub dense_at_once: usize,

    // § 2: the scale where no `L_i` are known.
    /// The mean `L_i` is taken for so many times the largest curvature seen, until everybody was asked and more is seen of it:
    /// twice too much costs few queries then, twice too little more.
    pub scale_margin: f64,
    /// What each secant leaves of the largest curvature before, once everybody was asked: where curvature falls on the way,
    /// steps may become longer.
    pub scale_kept: f64,
    /// How many times more, at most, where others have longer answers: somebody near its own optimum says little of them.
    pub scale_longer: f64,
    /// The first probe's length, in units of `1 + ‖x₀‖`; it is ten times as long each time there was no curvature.
    pub probe_length: f64,
    /// How often it becomes longer.
    pub probe_growths: i32,
    /// Answers of one user in search of curvature, the last of them a long way off, before others are asked.
    pub probes: u32,

    // § 3: secants.
    /// A new secant makes all others count `1 − 1/max(2n, this)` as much.
    pub secant_memory: f64,
    /// Users keep so many secants a parameter together, and one at least: enough for few users to know their own curvature.
    pub secants_per_parameter: usize,

    // § 4: shared curvature.
    /// Part of the first gradient's square that is taken for spread among users before any is seen.
    pub first_spread: f64,
    /// The curvature expected in a typical direction, as a part of the scale: `2/(2 + d)`, but not less than this.
    pub least_expected: f64,
    /// How far typical curvature is from what is expected, as a part of it.
    pub expected_within: f64,
    /// How much curvature varies from direction to direction, as a part of the typical one.
    pub varies: f64,
    /// The same along directions of a large space, which answers picked, so that they are less alike: § 11.
    pub varies_low_rank: f64,
    /// Curvature is taken to be larger than it seems by so many of its standard deviations.
    pub curvature_margin_sd: f64,
    /// The floor of all curvature, as a part of the scale: at first, and at last.
    pub floor_at_first: f64,
    pub floor_at_last: f64,
    /// How fast it falls with every answer: this times `d/(d + 20)`.
    pub floor_fall: f64,
    pub floor_dim: f64,
    /// Where curvature is known within a few of its standard deviations, it may be below the floor: down to so many of them,
    pub floor_sd: f64,
    /// and to this part of the scale. Less is rounding.
    pub least_curvature: f64,
    /// The metric's smallest eigenvalue, as a part of their mean.
    pub least_spread: f64,
    /// A matrix is fitted anew after every `1 + d/32 + k/256` answers;
    pub dim_per_fit: usize,
    /// and the point moves after every `1 + k/256`: a move looks at everybody asked, so that an answer never costs more than looking at
    /// so many.
    pub users_per_move: usize,
    /// up to so many directions also with every new one, and while few users were asked.
    pub fitted_at_once: usize,

    // § 5: own curvature along own gradients.
    /// Before any secant is seen, `η` is believed to be zero: that counts as so many average secants.
    pub alignment_doubt: f64,

    // § 7: the step.
    /// What each direction brings for certain is at least this part of what it may bring.
    pub least_certain_gain: f64,

    // § 8: the trust region.
    /// So many users are asked at the start before the first move: one answer says nothing of how different users are, and two may
    /// agree by chance. So many are asked before units are looked at, too.
    pub at_start: usize,
    /// The next point is at most so many times as far from the anchor as this one, where answers keep pointing downhill.
    pub widening: f64,
    /// What each good answer makes of the reach, at least: after an answer was set aside, and where no `L_i` are known.
    pub reach_growth: f64,
    pub reach_growth_unknown: f64,
    /// An answer this many times longer than all others, uphill along the last move, is set aside.
    pub set_aside_length: f64,
    /// After so many times a user is believed.
    pub set_aside_times: u32,
    /// An answer on the way back that is more than this part of the one before is not long because of the way.
    pub as_long: f64,
    /// An answer set aside leads back to where one that grows like `e^way` would be so many times as long as the longest held,
    /// and keeps at least and at most these parts of the way.
    pub fairly_long: f64,
    pub least_way_kept: f64,
    pub most_way_kept: f64,

    /// So many moves are remembered, for answers that come late; fewer where they would be more numbers than that.
    pub moves_kept: usize,
    pub numbers_kept: usize,

    // § 9: the safeguard.
    /// Passes within which the model must halve the bound on the gradient; `n` answers are one, or `2d`, if that is more: few users must have
    /// time to show their curvature.
    pub passes_to_halve: u64,
    pub answers_per_parameter: u64,
    /// SAGA's step is `1/(this · L_max)`: Defazio et al. 2014.
    pub saga_step: f64,

    // § 10: whom to ask.
    /// So many times what a user who was not asked would tell is reason to ask another one again instead.
    pub reask_gain_ratio: f64,
    /// While fewer were asked, nobody is asked again.
    pub reask_after: usize,
    /// Where no `L_i` are known, so often somebody is asked again all the same, after every second user.
    pub early_looks: usize,

    // § 11: many parameters.
    /// At most so many directions have a matrix: twice as many bring little, at twice the cost and memory.
    pub rank: usize,
    /// What is left of a vector outside of them, if it is no more than this part of it, is taken for rounding.
    pub rounding: f64,

    // § 12: users who tell their Hessians.
    /// Before any Hessian, curvature is believed to be the same in all directions: that counts as so many users.
    pub first_curvature: f64,
    /// Before anybody is asked again, users depart from their quadratics as logistic losses do, `r = 1`: this is the weight of
    /// that belief, a pair of answers at distance 1.
    pub first_roughness: f64,
    /// So much of the mean curvature is added to a user's own, where it is to say how far off its quadratic may be: users
    /// without curvature are asked again too.
    pub least_own_curvature: f64,
    /// So many times what a new user would tell is reason to ask another one again instead.
    pub reask_error_ratio: f64,
    /// While fewer were asked, what a new one would tell is not known well enough for that.
    pub reask_error_after: usize,
    /// Curvature is fitted to two answers where there is at least this part of what was expected.
    pub least_fitted: f64,

    // § 13: noise.
    /// A change counts as more than noise where it is so many times as long as the noise's standard deviation.
    pub clear_sd: f64,
    /// Contradictions between answers are taken for noise where they are more than this part of the answers: rounding is less.
    pub least_noise: f64,
    /// One contradiction counts at most so many times as much as the mean of those before it.
    pub noise_growth: f64,
    /// The first secant without any `L_i` may be noise where it says that the user's gradient vanishes within this part of a unit.
    pub doubted_radius: f64,
    /// The part of a user's own curvature by which an answer may be off where it is carried, as a multiple of its variance: the
    /// error of shared curvature is the same for all, and does not average out.
    pub carried_doubt: f64,
    /// Where users tell their Hessians, it is noise if they depart from their quadratics faster than this, as `r²`, and the
    /// square of what the mean of two Hessians leaves is so many times that of their change. On the real data sets no user
    /// without noise does both.
    pub roughest: f64,
    pub least_bent: f64,
    /// And the way is at most this part of what a move may be.
    pub shortest_way: f64,

    // § 15: units.
    /// They are changed where two of them are off by so many powers of two from each other,
    pub units_apart: f64,
    /// and by so many more over the number of users asked, while somebody was not: a few answers may be small by chance.
    pub units_by_chance: f64,

    // § 16: answers out of line.
    /// Nothing is said of an answer before so many others were asked.
    pub others_to_compare: usize,

    // § 14: what remains.
    /// The standard deviation of the logarithm of the truth over the estimate: before anything is seen of it, and at least.
    pub first_doubt: f64,
    pub least_doubt: f64,
    /// The ends of the interval, in standard deviations: 95% on each side, for a normal variable.
    pub interval_sd: f64,
    /// How often a pass earlier estimates are looked back at; with more parameters less often, to keep fewer points.
    pub looks_back: usize,
    pub looks_back_low_rank: usize,
    /// What each look back leaves of the ones before.
    pub looks_kept: f64,
    /// The square of shared curvature's error, as a part of it: it carries all answers alike, and does not average out.
    pub shared_doubt: f64,
    /// Part of users' departures from their quadratics that all have in common, so that it does not average out.
    pub rough_alike: f64,
    /// So many users are asked before an estimate ends a run, and so much do the looks back weigh before it is taken at its word.
    pub asked_to_stop: usize,
    pub looks_to_stop: f64,
    /// A run does not end while its interval reaches so near the gap at the start.
    pub surely_less: f64,
    /// So many estimates in a row end a run, and one more for each `n` parameters: curvature that nobody has shown yet may be small.
    pub steady: usize,
    /// The mean logarithm of later estimates over earlier ones is not taken for less: that estimates were too large for a while does not
    /// make the last one too large.
    pub least_log: f64,
}

pub(crate) const FRUGAL: Constants = Constants {
    smallest_size: 1e-3,
    largest_size: 4.0,
    dense_up_to: 256,
    dense_at_once: 32,
    scale_margin: 2.0,
    scale_kept: 0.9,
    scale_longer: 10.0,
    probe_length: 1e-4,
    probe_growths: 4,
    probes: 6,
    secant_memory: 20.0,
    secants_per_parameter: 4,
    first_spread: 0.05,
    least_expected: 0.1,
    expected_within: 0.2,
    varies: 0.7,
    varies_low_rank: 1.0,
    curvature_margin_sd: 0.6,
    floor_at_first: 0.2,
    floor_at_last: 0.002,
    floor_fall: 0.1,
    floor_dim: 20.0,
    floor_sd: 2.0,
    least_curvature: 1e-7,
    least_spread: 1e-3,
    dim_per_fit: 32,
    users_per_move: 256,
    fitted_at_once: 64,
    alignment_doubt: 3.0,
    least_certain_gain: 0.05,
    at_start: 3,
    widening: 2.0,
    reach_growth: 1.05,
    reach_growth_unknown: 2.0,
    set_aside_length: 3.0,
    set_aside_times: 30,
    as_long: 0.7,
    fairly_long: 6.0,
    least_way_kept: 0.02,
    most_way_kept: 0.5,
    moves_kept: 64,
    numbers_kept: 1_000_000,
    passes_to_halve: 8,
    answers_per_parameter: 2,
    saga_step: 3.0,
    reask_gain_ratio: 2.0,
    reask_after: 8,
    early_looks: 2,
    rank: 64,
    rounding: 1e-9,
    first_curvature: 1.5,
    first_roughness: 0.25,
    least_own_curvature: 0.1,
    reask_error_ratio: 4.0,
    reask_error_after: 4,
    least_fitted: 1e-3,
    clear_sd: 3.0,
    least_noise: 1e-6,
    noise_growth: 4.0,
    doubted_radius: 0.08,
    carried_doubt: 4.0,
    roughest: 100.0,
    least_bent: 10.0,
    shortest_way: 0.1,
    units_apart: 3.0,
    units_by_chance: 15.0,
    others_to_compare: 3,
    first_doubt: 1.5,
    least_doubt: 0.7,
    interval_sd: 1.645,
    looks_back: 8,
    looks_back_low_rank: 2,
    looks_kept: 0.8,
    shared_doubt: 0.1,
    rough_alike: 0.25,
    asked_to_stop: 8,
    looks_to_stop: 3.0,
    surely_less: 0.1,
    steady: 1,
    least_log: -1.0,
};

/// Where all is zero, something has to be divided by.
pub(crate) const TINY: f64 = 1e-100;
