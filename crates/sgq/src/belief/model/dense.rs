//! Shared curvature as a matrix, docs/frugal.md § 4: a few hundred parameters at most.

use serde::{Deserialize, Serialize};

use super::{
    Answer, Change, View,
    bent::Bent,
    moments::{Centred, Sums},
    secants::residual,
    typical::{Evidence, expected_curvature},
};
use crate::{
    frugal::{FRUGAL, TINY},
    kernel,
    matrix::Square,
};

/// Sums over the last answers, and the curvature that follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Dense {
    pub sums: Sums<Square>,
    /// `β`: curvature in a typical direction.
    typical: f64,
    /// How much curvature varies from direction to direction, as a part of `β`.
    varies: f64,
    /// `B`.
    curvature: Square,
    fit: Option<Fit>,
    /// Answers since that fit.
    since: usize,
    /// `F` of the last move, which is not in the sums yet.
    followed: Option<Followed>,
    /// What is believed of the users' differences since the last answer.
    #[serde(skip)]
    known: Option<Known>,
    /// Users' own curvature, where it was asked for since shared curvature or the user's answer changed.
    #[serde(skip)]
    bent: Vec<Option<Bent>>,
}

/// The metric in which users spread equally in all directions: `T`, symmetric, and its inverse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Metric {
    to: Square,
    from: Square,
}

/// `F = W diag(f/l) Wᵀ`, Eq. (29): a matrix only where one is needed, which is for first answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Followed {
    values: Vec<f64>,
    /// `W`, where that is no longer the fit's.
    directions: Option<Square>,
}

/// What to step by, until curvature is fitted anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fit {
    metric: Metric,
    own_curvature: f64,
    /// Curvature along each column of the basis, in the metric.
    pub bends: Vec<f64>,
    basis: Square,
    /// `W`, the columns of the basis as directions; none after a snapshot was read.
    #[serde(skip)]
    directions: Option<Square>,
    /// What shared curvature leaves of all answers, `Σ s (g − B x)(g − B x)ᵀ`, kept up to date: its trace, and its diagonal along `W`.
    left: f64,
    left_along: Vec<f64>,
}

/// What is believed of the users' differences, once curvature is fitted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The variance of users' offsets along each direction: the diagonal of `Wᵀ C W`.
    variances: Vec<f64>,
    /// `tr C`.
    pub spread_size: f64,
    /// `h² d`.
    pub own_curvature: f64,
}

impl Known {
    /// `v_j`, Eq. (27): what an error of the mean gradient, which is unsure by that part of users' spread, costs along each
    /// direction that bends so much.
    pub fn losses(&self, bends: &[f64], unsure: f64) -> Vec<f64> {
        let loss = |(variance, bend): (&f64, &f64)| (0.5 * variance / bend * unsure).max(0.0);
        self.variances.iter().zip(bends).map(loss).collect()
    }
}

impl Fit {
    /// One more direction, by itself, that bends so much.
    fn grow(&mut self, bend: f64) {
        let Metric { to, from } = &mut self.metric;
        for matrix in [to, from, &mut self.basis].into_iter().chain(&mut self.directions) {
            matrix.grow();
            let new = matrix.dim() - 1;
            matrix.set(new, new, 1.0);
        }
        self.bends.push(bend);
        self.left_along.push(0.0);
    }

    /// `W`.
    fn directions(&mut self) -> &Square {
        self.directions.get_or_insert_with(|| self.metric.from.times(&self.basis))
    }

    /// Takes into account what shared curvature leaves of an answer.
    fn account(&mut self, weight: f64, left: &[f64]) {
        self.left += weight * kernel::norm_squared(left);
        let along = self.directions().transposed_times_vector(left);
        self.left_along.iter_mut().zip(along).for_each(|(sum, along)| *sum += weight * along * along);
    }
}

impl Dense {
    pub fn new(dim: usize, scale: f64) -> Self {
        Self::with(dim, expected_curvature(dim, scale), FRUGAL.varies)
    }

    /// In coordinates along directions of a large space, none at first.
    pub fn in_coordinates(dim: usize, scale: f64) -> Self {
        Self::with(0, expected_curvature(dim, scale), FRUGAL.varies_low_rank)
    }

    fn with(dim: usize, expected: f64, varies: f64) -> Self {
        Self {
            sums: Sums::new(dim),
            typical: expected,
            varies,
            curvature: Square::identity(dim, expected),
            fit: None,
            since: 0,
            followed: None,
            known: None,
            bent: Vec::new(),
        }
    }

    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        self.settle();
        self.sums.grow();
        self.curvature.grow();
        let new = self.curvature.dim() - 1;
        self.curvature.set(new, new, self.typical);
        self.bent.clear();
        match &mut self.fit {
            // It is believed to bend as others do, until the next fit.
            Some(fit) if new >= FRUGAL.fitted_at_once => fit.grow(self.typical),
            fit => *fit = None,
        }
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { user, size, before, now, .. } = *change;
        self.bent.get_mut(user).map(Option::take);
        if before.is_none() && change.follows {
            self.settle();
        }
        self.sums.take(change);
        for (weight, answer) in before.map(|before| (-size, before)).into_iter().chain([(size, now)]) {
            let left = self.left(&answer.point, &answer.gradient, size);
            self.fit.iter_mut().for_each(|fit| fit.account(weight, &left));
        }
    }

    /// `g − B x` of an answer, the size taken out, and the point from the start.
    fn left(&self, point: &[f64], gradient: &[f64], size: f64) -> Vec<f64> {
        let way: Vec<f64> = point.iter().zip(&self.sums.start).map(|(x, start)| x - start).collect();
        let explained = self.curvature.times_vector(&way);
        gradient.iter().zip(explained).map(|(slope, explained)| slope / size - explained).collect()
    }

    /// Takes note of how the last move followed the mean gradient, along the directions of the fit.
    pub fn follow(&mut self, values: Vec<f64>) {
        self.followed = Some(Followed { values, directions: None });
    }

    /// Makes a matrix of it.
    fn settle(&mut self) {
        if let Some(Followed { values, directions }) = self.followed.take()
            && let Some(directions) = directions.as_ref().or_else(|| Some(self.fit.as_mut()?.directions()))
        {
            self.sums.feedback.last = Square::with_eigen(directions, &values);
        }
    }

    /// The fit, and what is known beside it since the last answer: what a step needs.
    pub fn believed(&self) -> Option<(&Fit, &Known)> {
        self.fit.as_ref().zip(self.known.as_ref())
    }

    /// `W`.
    pub fn directions(&self) -> Option<&Square> {
        self.fit.as_ref()?.directions.as_ref()
    }

    /// A point, counted from the start, along the directions of the fit.
    pub fn along_directions(&self, from_start: &[f64]) -> Option<Vec<f64>> {
        let fit = self.fit.as_ref()?;
        Some(fit.basis.transposed_times_vector(&fit.metric.to.times_vector(from_start)))
    }

    /// The Newton point along the directions of the fit, counted from the start as the anchor is, Eq. (27): from the mean gradient
    /// at the anchor, where they bend so much.
    pub fn newton(&self, anchor: &[f64], gradient: &[f64], bends: &[f64]) -> Option<Vec<f64>> {
        let there = self.along_directions(anchor)?;
        let slope = self.directions()?.transposed_times_vector(gradient);
        Some((0..bends.len()).map(|k| there[k] - slope[k] / bends[k]).collect())
    }

    /// The smallest curvature to step by.
    pub fn flattest(&self) -> Option<f64> {
        self.fit.as_ref()?.bends.iter().copied().reduce(f64::min)
    }

    /// Fits curvature, where it is time to, with everybody's answer in the coordinates of the matrix. None where numbers are past what
    /// can be held.
    pub fn refit<'a>(&mut self, view: &View<'_>, answers: impl Iterator<Item = (usize, &'a Answer)>) -> Option<&Known> {
        self.known = None;
        // With many parameters or users a fit takes long, and one answer changes little.
        let dim = self.sums.start.len();
        let every = 1 + dim / FRUGAL.dim_per_fit + view.answers.count() / FRUGAL.users_per_move;
        let is_early = view.answers.count() <= 2 * every && dim <= FRUGAL.fitted_at_once;
        self.since += view.news;
        if self.fit.is_none() || self.since >= every || is_early {
            let fit = self.fit(view, answers)?;
            if let (Some(followed), Some(fit)) = (&mut self.followed, &mut self.fit)
                && followed.directions.is_none()
            {
                fit.directions();
                followed.directions = fit.directions.take();
            }
            self.fit = Some(fit);
            self.since = 0;
        }
        let Sums { weight, points, gradients, first, .. } = &self.sums;
        let explained = self.curvature.times_vector(points);
        let mean: Vec<f64> =
            gradients.iter().zip(explained).map(|(sum, explained)| (sum - explained) / weight).collect();
        let fit = self.fit.as_mut()?;
        let assumed = FRUGAL.first_spread * kernel::norm_squared(first);
        let spread_size = (fit.left / weight - kernel::norm_squared(&mean) + assumed / weight).max(TINY);
        let [mean_along, first_along] = [&mean, first].map(|vector| fit.directions().transposed_times_vector(vector));
        let variance = |k: usize| {
            let assumed = FRUGAL.first_spread * first_along[k] * first_along[k];
            (fit.left_along[k] + assumed) / weight - mean_along[k] * mean_along[k]
        };
        let variances = (0..fit.bends.len()).map(variance).collect();
        let own_curvature = fit.own_curvature;
        Some(self.known.insert(Known { variances, spread_size, own_curvature }))
    }

    /// `B u`.
    pub fn shared(&self, directions: &[f64]) -> Vec<f64> {
        self.curvature.times_vector(directions)
    }

    /// `T = C̃^¼` scaled, Eq. (9): in `T x` the users' gradients spread alike in all directions, as far as is known. And its square, and
    /// the inverse of that.
    fn metric(&self, spread: &Square) -> Option<(Metric, Square, Square)> {
        let dim = spread.dim();
        let total = (spread.trace() / self.sums.weight).max(TINY);
        let mut pooled = spread.clone();
        pooled.add_to_diagonal(total);
        pooled.scale(1.0 / (self.sums.weight + dim as f64));
        let (values, vectors) = pooled.eigen()?;
        let least = FRUGAL.least_spread * total / dim as f64;
        let roots: Vec<f64> = values.iter().map(|value| value.max(least).sqrt()).collect();
        let mean = roots.iter().sum::<f64>() / dim as f64;
        let matrix = |of: &dyn Fn(f64) -> f64| {
            let values: Vec<f64> = roots.iter().map(|root| of((root / mean).sqrt())).collect();
            Square::with_eigen(&vectors, &values)
        };
        let metric = Metric { to: matrix(&|stretch| stretch), from: matrix(&|stretch| 1.0 / stretch) };
        Some((metric, matrix(&|stretch| stretch * stretch), matrix(&|stretch| (1.0 / stretch) * (1.0 / stretch))))
    }

    /// Shared curvature, by a regression of gradients on points and of changes on directions: Eq. (10) to (17).
    fn fit<'a>(&mut self, view: &View<'_>, answers: impl Iterator<Item = (usize, &'a Answer)>) -> Option<Fit> {
        let Sums { weight, secants, feedback, start, .. } = &self.sums;
        let (weight, dim) = (*weight, start.len() as f64);
        let Centred { points, mut mixed, gradients } = self.sums.centred();
        let residual = residual(&gradients, &mixed, &points, &self.curvature);
        let mut spread = residual.clone();
        spread.add_outer(FRUGAL.first_spread, &self.sums.first, &self.sums.first);
        let (metric, to_twice, from_twice) = self.metric(&spread)?;
        let Metric { to, from } = &metric;
        let noise = if secants.noise > 0.0 { secants.noise * from_twice.trace() / dim } else { 0.0 };
        let wandering = (secants.residual_with(&self.curvature, &from_twice) - noise).max(0.0);
        let own_curvature = (wandering + self.typical * self.typical) / (dim * (secants.count + 1.0));
        let pairs = weight * (weight - 1.0).max(1.0);
        mixed.add(-1.0 / pairs, &residual.times(&feedback.total));

        // The typical curvature first, then each direction's, drawn to it. The metric does not change the trace of what is on
        // both of its sides.
        let evidence = Evidence {
            dim,
            noise: (spread.trace_with(&from_twice) / (dim * weight)).max(TINY),
            own_curvature,
            points: points.trace_with(&to_twice),
            mixed: mixed.trace(),
            directions: secants.directions.trace_with(&to_twice),
            changes: secants.changes.trace(),
            secants: secants.count,
        };
        let (trusted, floor) = (evidence.trusted(), view.flattest(secants.count));
        self.typical = evidence.typical(self.typical, view);
        let pull = evidence.pull(self.typical, self.varies);
        let mut information = points;
        information.add(trusted, &secants.directions);
        let mut information = information.symmetric_between(to, to);
        information.add_to_diagonal(pull);
        let (values, vectors) = information.eigen()?;
        let values: Vec<f64> = values.iter().map(|value| value.max(0.5 * pull)).collect();
        let across = vectors.transposed();
        let mut right = mixed;
        right.add(trusted, &secants.changes);
        let mut right = right.between(from, to);
        right.add_to_diagonal(pull * self.typical);
        let mut fitted = right.symmetric_part().symmetric_between(&across, &vectors);
        for row in 0..fitted.dim() {
            for column in 0..fitted.dim() {
                fitted.set(row, column, 2.0 * fitted.at(row, column) / (values[row] + values[column]));
            }
            // Curvature that is unsure is taken for larger than it seems.
            let margin = FRUGAL.curvature_margin_sd * (evidence.noise / values[row]).sqrt();
            fitted.set(row, row, fitted.at(row, row) + margin);
        }
        let (bends, basis) = fitted.symmetric_between(&vectors, &across).eigen()?;
        let high = view.scale.max(self.typical).max(floor);
        let along = across.times(&basis);
        let least = FRUGAL.least_curvature * view.scale;
        let within = |(k, bend): (usize, &f64)| {
            let variance: f64 = (0..values.len()).map(|j| along.at(j, k).powi(2) * evidence.noise / values[j]).sum();
            bend.clamp(floor.min((FRUGAL.floor_sd * variance.sqrt()).max(least)), high)
        };
        let bends: Vec<f64> = bends.iter().enumerate().map(within).collect();
        let has_secants = secants.count > 0.0;
        self.curvature = Square::with_eigen(&basis, &bends).symmetric_between(to, to);
        self.bent.clear();
        // Steps are by the mean over users of their own curvature: by less they would overshoot what the model itself predicts.
        let mut mean = self.curvature.clone();
        let mut told = Vec::with_capacity(view.answers.count());
        for (user, answer) in answers {
            self.bent(user, answer);
            told.push(user);
        }
        let bent = told.iter().filter_map(|user| Some((view.sizes[*user] / weight, self.bent[*user].as_ref()?)));
        mean.add_squares(&bent.flat_map(|(part, bent)| bent.squares(part)).collect::<Vec<_>>());
        if !has_secants {
            return Some(self.fitted(metric, own_curvature, bends, basis));
        }
        let (bends, basis) = mean.symmetric_between(from, from).eigen()?;
        let bends = bends.into_iter().map(|bend| bend.max(least)).collect();
        Some(self.fitted(metric, own_curvature, bends, basis))
    }

    /// `H_i − B`.
    fn bent(&mut self, user: usize, answer: &Answer) -> &Bent {
        let curvature = &self.curvature;
        if self.bent.len() <= user {
            self.bent.resize(user + 1, None);
        }
        self.bent[user].get_or_insert_with(|| Bent::new(answer.secants(), |v| curvature.times_vector(v)))
    }

    /// `Σ w_i (H_i − B)(a_w − x_i)` over users with such weights, where the anchor is in the coordinates of the answers.
    pub fn own_change<'a>(
        &mut self,
        answers: impl Iterator<Item = (usize, f64, &'a Answer)>,
        anchor: &[f64],
    ) -> Vec<f64> {
        let mut sum = vec![0.0; anchor.len()];
        for (user, weight, answer) in answers {
            let way: Vec<f64> = anchor.iter().zip(&answer.point).map(|(anchor, x)| anchor - x).collect();
            self.bent(user, answer).add_times(weight, &way, &mut sum);
        }
        sum
    }

    /// A fit, with what shared curvature leaves of the answers.
    fn fitted(&self, metric: Metric, own_curvature: f64, bends: Vec<f64>, basis: Square) -> Fit {
        let Sums { gradients_squared, mixed, points_squared, .. } = &self.sums;
        let left = residual(gradients_squared, mixed, points_squared, &self.curvature);
        let directions = metric.from.times(&basis);
        let (columns, images) = (directions.transposed(), left.times(&directions).transposed());
        let left_along = (0..bends.len()).map(|k| kernel::dot(columns.row(k), images.row(k))).collect();
        let own_curvature = own_curvature * basis.dim() as f64;
        Fit { metric, own_curvature, bends, basis, directions: Some(directions), left: left.trace(), left_along }
    }
}
