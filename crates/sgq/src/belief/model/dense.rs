//! Shared curvature as a matrix, docs/frugal.md § 4: a few hundred parameters at most.

use serde::{Deserialize, Serialize};

use super::{
    Change, View,
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
    /// What is believed of the users' differences since the last answer.
    #[serde(skip)]
    known: Option<Known>,
}

/// The metric in which users spread equally in all directions: `T`, symmetric, and its inverse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Metric {
    pub to: Square,
    pub from: Square,
    /// The inverse twice.
    from_twice: Square,
}

/// What to step by, until curvature is fitted anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fit {
    pub metric: Metric,
    own_curvature: f64,
    /// Curvature along each column of the basis, in the metric.
    pub bends: Vec<f64>,
    pub basis: Square,
    /// `W`, the columns of the basis as directions; none after a snapshot was read.
    #[serde(skip)]
    directions: Option<Square>,
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
        let Metric { to, from, from_twice } = &mut self.metric;
        for matrix in [to, from, from_twice, &mut self.basis].into_iter().chain(&mut self.directions) {
            matrix.grow();
            let new = matrix.dim() - 1;
            matrix.set(new, new, 1.0);
        }
        self.bends.push(bend);
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
            known: None,
        }
    }

    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        self.sums.grow();
        self.curvature.grow();
        let new = self.curvature.dim() - 1;
        self.curvature.set(new, new, self.typical);
        match &mut self.fit {
            // It is believed to bend as others do, until the next fit.
            Some(fit) if new >= FRUGAL.fitted_at_once => fit.grow(self.typical),
            fit => *fit = None,
        }
    }

    pub fn take(&mut self, change: &Change<'_>) {
        self.sums.take(change);
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

    /// `R + P`, Eq. (8): what the users differ by, and what is assumed before that is seen.
    fn spread(&self, centred: &Centred<Square>) -> (Square, Square) {
        let residual = residual(&centred.gradients, &centred.mixed, &centred.points, &self.curvature);
        let mut spread = residual.clone();
        spread.add_outer(FRUGAL.first_spread, &self.sums.first, &self.sums.first);
        (residual, spread)
    }

    /// Fits curvature, where it is time to. None where numbers are past what can be held.
    pub fn refit(&mut self, view: &View<'_>) -> Option<&Known> {
        self.known = None;
        let centred = self.sums.centred();
        // With many parameters a fit takes long, and one answer changes little.
        let dim = self.sums.start.len();
        let every = 1 + dim / FRUGAL.dim_per_fit;
        let is_early = view.answers.count() <= 2 * every && dim <= FRUGAL.fitted_at_once;
        self.since += 1;
        if self.fit.is_none() || self.since >= every || is_early {
            self.fit = Some(self.fit(&centred, view)?);
            self.since = 0;
        }
        let (_, spread) = self.spread(&centred);
        let spread_size = (spread.trace() / self.sums.weight).max(TINY);
        let fit = self.fit.as_mut()?;
        let directions = fit.directions.get_or_insert_with(|| fit.metric.from.times(&fit.basis));
        let (columns, images) = (directions.transposed(), spread.times(directions).transposed());
        let variance = |k: usize| kernel::dot(columns.row(k), images.row(k)) / self.sums.weight;
        let variances = (0..fit.bends.len()).map(variance).collect();
        let own_curvature = fit.own_curvature;
        Some(self.known.insert(Known { variances, spread_size, own_curvature }))
    }

    /// `B u`.
    pub fn shared(&self, directions: &[f64]) -> Vec<f64> {
        self.curvature.times_vector(directions)
    }

    /// `T = C̃^¼` scaled, Eq. (9): in `T x` the users' gradients spread alike in all directions, as far as is known.
    fn metric(&self, spread: &Square) -> Option<Metric> {
        let dim = spread.dim();
        let total = (spread.trace() / self.sums.weight).max(TINY);
        let mut pooled = spread.clone();
        pooled.add_to_diagonal(total);
        pooled.scale(1.0 / (self.sums.weight + dim as f64));
        let (values, vectors) = pooled.eigen()?;
        let least = FRUGAL.least_spread * total / dim as f64;
        let roots: Vec<f64> = values.iter().map(|value| value.max(least).sqrt()).collect();
        let mean = roots.iter().sum::<f64>() / dim as f64;
        let stretch: Vec<f64> = roots.iter().map(|root| (root / mean).sqrt()).collect();
        let shrink: Vec<f64> = stretch.iter().map(|value| 1.0 / value).collect();
        let shrink_twice: Vec<f64> = shrink.iter().map(|value| value * value).collect();
        let matrix = |values: &[f64]| Square::with_eigen(&vectors, values);
        Some(Metric { to: matrix(&stretch), from: matrix(&shrink), from_twice: matrix(&shrink_twice) })
    }

    /// Shared curvature, by a regression of gradients on points and of changes on directions: Eq. (10) to (17).
    fn fit(&mut self, centred: &Centred<Square>, view: &View<'_>) -> Option<Fit> {
        let Sums { weight, secants, own, feedback, start, .. } = &self.sums;
        let (weight, dim) = (*weight, start.len() as f64);
        let (residual, spread) = self.spread(centred);
        let metric = self.metric(&spread)?;
        let Metric { to, from, from_twice } = &metric;
        let noise = if secants.noise > 0.0 { secants.noise * from_twice.trace() / dim } else { 0.0 };
        let wandering = (secants.residual(&self.curvature).trace_with(from_twice) - noise).max(0.0);
        let own_curvature = (wandering + self.typical * self.typical) / (dim * (secants.count + 1.0));
        let mut mixed = centred.mixed.clone();
        let pairs = weight * (weight - 1.0).max(1.0);
        mixed.add(-1.0 / pairs, &residual.times(&feedback.total));
        let points = centred.points.between(to, to);
        let mixed = mixed.between(from, to);
        let directions = secants.directions.between(to, to);
        let changes = secants.changes.between(from, to);

        // The typical curvature first, then each direction's, drawn to it.
        let evidence = Evidence {
            dim,
            noise: (spread.trace_with(from_twice) / (dim * weight)).max(TINY),
            own_curvature,
            points: points.trace(),
            mixed: mixed.trace(),
            directions: directions.trace(),
            changes: changes.trace(),
            secants: secants.count,
        };
        let (trusted, floor) = (evidence.trusted(), view.flattest(secants.count));
        self.typical = evidence.typical(self.typical, view);
        let pull = evidence.pull(self.typical, self.varies);
        let mut information = points;
        information.add(trusted, &directions);
        information.add_to_diagonal(pull);
        let (values, vectors) = information.eigen()?;
        let values: Vec<f64> = values.iter().map(|value| value.max(0.5 * pull)).collect();
        let mut right = mixed;
        right.add(trusted, &changes);
        right.add_to_diagonal(pull * self.typical);
        let right = right.between(&vectors.transposed(), &vectors);
        let mut fitted = Square::zero(right.dim());
        for row in 0..right.dim() {
            for column in 0..right.dim() {
                let entry = (right.at(row, column) + right.at(column, row)) / (values[row] + values[column]);
                // Curvature that is unsure is taken for larger than it seems.
                let margin = FRUGAL.curvature_margin_sd * (evidence.noise / values[row]).sqrt();
                fitted.set(row, column, entry + if row == column { margin } else { 0.0 });
            }
        }
        let (bends, basis) = fitted.between(&vectors, &vectors.transposed()).eigen()?;
        let (low, high) = ((FRUGAL.least_bend * self.typical).max(floor), view.scale.max(self.typical));
        let bends: Vec<f64> = bends.iter().map(|bend| bend.clamp(low, high.max(low))).collect();
        let shared = Square::with_eigen(&basis, &bends);
        self.curvature = shared.between(to, to);
        let own_curvature = own_curvature * dim;
        if own.count <= 0.0 {
            return Some(Fit { metric, own_curvature, bends, basis, directions: None });
        }
        // The mean over users of shared curvature and that along secants: a step by less would overshoot what the model itself
        // predicts.
        let mut along = own.changes.clone();
        along.add(-1.0, &self.curvature.times(&own.directions));
        along.add(1.0, &along.transposed());
        along.scale(0.5 / weight);
        let mut whole = along.between(from, from);
        whole.add(1.0, &shared);
        let flattest = bends.iter().copied().fold(f64::INFINITY, f64::min);
        let (bends, basis) = whole.eigen()?;
        let bends = bends.into_iter().map(|bend| bend.max(flattest)).collect();
        Some(Fit { metric, own_curvature, bends, basis, directions: None })
    }
}
