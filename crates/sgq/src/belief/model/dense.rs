//! The model with a matrix of curvature: a few hundred parameters at most.

use serde::{Deserialize, Serialize};

use super::{
    Change, TINY, Thought, View,
    estimate::{Estimate, certain_gain, part_of_the_way},
    expected_curvature,
    outside::Traces,
    secants::{SecantSums, residual},
    secants_kept,
};
use crate::{kernel, matrix::Square};

/// Part of the first gradient's square that is taken for spread among users before any is seen.
pub(super) const FIRST_SPREAD: f64 = 0.05;
/// How far typical curvature is from what is expected, as a part of it.
pub(super) const EXPECTED_WITHIN: f64 = 0.2;
/// Curvature is taken to be larger than it seems by so many of its standard deviations.
pub(super) const WARY: f64 = 0.6;

/// Sums over the last answers, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dense {
    /// Where the first answer was taken: points count from here.
    start: Vec<f64>,
    /// The first gradient.
    first: Vec<f64>,
    /// `K = Σ s_i` over those asked.
    weight: f64,
    /// `Σ s x`, `Σ s g`, `Σ s x xᵀ`, `Σ s g xᵀ`, `Σ s g gᵀ`, gradients with their sizes taken out.
    points: Vec<f64>,
    gradients: Vec<f64>,
    points_squared: Square,
    mixed: Square,
    gradients_squared: Square,
    /// All secants, older ones less, without what users' own gradients explain of them.
    secants: SecantSums,
    /// Each user's latest secant, weighted by its size.
    own: SecantSums,
    feedback: Feedback,
    /// `β`: curvature in a typical direction.
    typical: f64,
    /// How much curvature varies from direction to direction, as a part of `β`.
    varies: f64,
    /// `B`.
    curvature: Square,
    fit: Option<Fit>,
    /// Answers since that fit.
    since: usize,
}

/// The point moves with the noise of earlier answers, which biases a regression of gradients on points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Feedback {
    /// `F`: how the last move followed the mean gradient.
    last: Square,
    /// `Σ F` over first answers.
    total: Square,
    count: f64,
}

/// Sums taken about the mean.
struct Centred {
    points: Square,
    mixed: Square,
    gradients: Square,
}

/// The metric in which users spread equally in all directions: `T`, symmetric, and its inverse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Metric {
    to: Square,
    from: Square,
    /// The inverse twice.
    from_twice: Square,
}

/// What to step by, until curvature is fitted anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fit {
    metric: Metric,
    own_curvature: f64,
    /// Curvature along each column of the basis, in the metric.
    bends: Vec<f64>,
    basis: Square,
}

/// What is believed of the users' differences, once curvature is fitted.
pub(super) struct Known {
    /// `K C`.
    spread: Square,
    /// `tr C`.
    pub spread_size: f64,
    /// `h² d`.
    pub own_curvature: f64,
}

impl Fit {
    fn fits(&self, dim: usize) -> bool {
        let Metric { to, from, from_twice } = &self.metric;
        self.bends.len() == dim && [to, from, from_twice, &self.basis].iter().all(|square| square.fits(dim))
    }
}

impl Dense {
    pub fn new(dim: usize, scale: f64) -> Self {
        Self::with(dim, expected_curvature(dim, scale), 0.7)
    }

    /// In coordinates along directions of a large space, none at first. Answers picked them, so that they are less alike.
    pub fn in_coordinates(dim: usize, scale: f64) -> Self {
        Self::with(0, expected_curvature(dim, scale), 1.0)
    }

    fn with(dim: usize, expected: f64, varies: f64) -> Self {
        let zero = || Square::zero(dim);
        Self {
            start: Vec::new(),
            first: Vec::new(),
            weight: 0.0,
            points: vec![0.0; dim],
            gradients: vec![0.0; dim],
            points_squared: zero(),
            mixed: zero(),
            gradients_squared: zero(),
            secants: SecantSums::new(dim),
            own: SecantSums::new(dim),
            feedback: Feedback { last: zero(), total: zero(), count: 0.0 },
            typical: expected,
            varies,
            curvature: Square::identity(dim, expected),
            fit: None,
            since: 0,
        }
    }

    pub fn fits(&self, dim: usize) -> bool {
        let vectors = [&self.start, &self.first, &self.points, &self.gradients];
        let Feedback { last, total, .. } = &self.feedback;
        let squares = [&self.points_squared, &self.mixed, &self.gradients_squared, &self.curvature, last, total];
        vectors.iter().all(|vector| vector.len() == dim)
            && squares.iter().all(|square| square.fits(dim))
            && self.secants.fit(dim)
            && self.own.fit(dim)
            && self.fit.as_ref().is_none_or(|fit| fit.fits(dim))
    }

    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        for vector in [&mut self.start, &mut self.first, &mut self.points, &mut self.gradients] {
            vector.push(0.0);
        }
        let Feedback { last, total, .. } = &mut self.feedback;
        for sum in [&mut self.points_squared, &mut self.mixed, &mut self.gradients_squared, last, total] {
            sum.grow();
        }
        self.secants.grow();
        self.own.grow();
        self.curvature.grow();
        let new = self.curvature.dim() - 1;
        self.curvature.set(new, new, self.typical);
        self.fit = None;
    }

    /// The traces of all sums.
    pub fn traces(&self) -> Traces {
        let centred = self.centred();
        Traces {
            first_squared: kernel::norm_squared(&self.first),
            points: centred.points.trace(),
            mixed: centred.mixed.trace(),
            gradients: centred.gradients.trace(),
            secants: self.secants.traces(),
            own: self.own.traces(),
        }
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { size, before, now, .. } = *change;
        if self.weight == 0.0 {
            self.start.clone_from(&now.point);
            self.first = now.gradient.iter().map(|value| value / size).collect();
        }
        match before {
            Some(before) => {
                self.account(-size, size, &before.point, &before.gradient);
                if let Some(secant) = &before.secant {
                    self.own.add(-size, secant);
                }
                if before.times == 1 && self.feedback.count > 0.0 {
                    let count = self.feedback.count;
                    self.feedback.total.scale((count - 1.0) / count);
                    self.feedback.count -= 1.0;
                }
            }
            None => {
                self.weight += size;
                self.feedback.total.add(1.0, &self.feedback.last);
                self.feedback.count += 1.0;
            }
        }
        self.account(size, size, &now.point, &now.gradient);
        if let Some(secant) = &now.secant {
            self.own.add(size, secant);
        }
        if let Some(secant) = change.news {
            self.secants.forget(secants_kept(change.users));
            self.secants.add(1.0, secant);
        }
    }

    fn account(&mut self, weight: f64, size: f64, point: &[f64], gradient: &[f64]) {
        let x: Vec<f64> = point.iter().zip(&self.start).map(|(x, start)| x - start).collect();
        let g: Vec<f64> = gradient.iter().map(|value| value / size).collect();
        kernel::add_scaled(&mut self.points, weight, &x);
        kernel::add_scaled(&mut self.gradients, weight, &g);
        self.points_squared.add_outer(weight, &x, &x);
        self.mixed.add_outer(weight, &g, &x);
        self.gradients_squared.add_outer(weight, &g, &g);
    }

    fn centred(&self) -> Centred {
        let mean = |sum: &[f64]| sum.iter().map(|value| value / self.weight).collect::<Vec<f64>>();
        let (anchor, mean) = (mean(&self.points), mean(&self.gradients));
        let about = |sum: &Square, one: &[f64], other: &[f64]| {
            let mut sum = sum.clone();
            sum.add_outer(-self.weight, one, other);
            sum
        };
        Centred {
            points: about(&self.points_squared, &anchor, &anchor),
            mixed: about(&self.mixed, &mean, &anchor),
            gradients: about(&self.gradients_squared, &mean, &mean),
        }
    }

    /// `R + P`: what the users differ by, and what is assumed before that is seen.
    fn spread(&self, centred: &Centred) -> (Square, Square) {
        let residual = residual(&centred.gradients, &centred.mixed, &centred.points, &self.curvature);
        let mut spread = residual.clone();
        spread.add_outer(FIRST_SPREAD, &self.first, &self.first);
        (residual, spread)
    }

    /// Fits curvature, and says where the objective is smallest. None where numbers are past what can be held.
    pub fn think(&mut self, view: &View<'_>) -> Option<Thought> {
        let known = self.refit(view)?;
        let shared = |directions: &[f64]| self.shared(directions);
        let estimate = Estimate::new(view, known.spread_size, known.own_curvature, shared);
        let Estimate { mut anchor, gradient, unsure } = estimate;
        kernel::add_scaled(&mut anchor, -1.0, &self.start);
        let mut minimiser = self.step(&known, &anchor, &gradient, unsure, view.caution)?;
        kernel::add_scaled(&mut minimiser, 1.0, &self.start);
        kernel::add_scaled(&mut anchor, 1.0, &self.start);
        let fading = known.own_curvature / known.spread_size;
        Some(Thought { anchor, gradient_norm: kernel::norm(&gradient), fading, minimiser })
    }

    /// Fits curvature, where it is time to. None where numbers are past what can be held.
    pub fn refit(&mut self, view: &View<'_>) -> Option<Known> {
        let centred = self.centred();
        // With many parameters a fit takes long, and one answer changes little.
        let every = 1 + self.start.len() / 32;
        self.since += 1;
        if self.fit.is_none() || self.since >= every || view.answers.count() <= 2 * every {
            self.fit = Some(self.fit(&centred, view)?);
            self.since = 0;
        }
        let (_, spread) = self.spread(&centred);
        let spread_size = (spread.trace() / self.weight).max(TINY);
        Some(Known { spread, spread_size, own_curvature: self.fit.as_ref()?.own_curvature })
    }

    /// `B u`.
    pub fn shared(&self, directions: &[f64]) -> Vec<f64> {
        self.curvature.times_vector(directions)
    }

    /// `T = C̃^¼` scaled: in `T x` the users' gradients spread alike in all directions, as far as is known.
    fn metric(&self, spread: &Square) -> Option<Metric> {
        let dim = spread.dim();
        let total = (spread.trace() / self.weight).max(TINY);
        let mut pooled = spread.clone();
        pooled.add_to_diagonal(total);
        pooled.scale(1.0 / (self.weight + dim as f64));
        let (values, vectors) = pooled.eigen()?;
        let roots: Vec<f64> = values.iter().map(|value| value.max(1e-3 * total / dim as f64).sqrt()).collect();
        let mean = roots.iter().sum::<f64>() / dim as f64;
        let stretch: Vec<f64> = roots.iter().map(|root| (root / mean).sqrt()).collect();
        let shrink: Vec<f64> = stretch.iter().map(|value| 1.0 / value).collect();
        let shrink_twice: Vec<f64> = shrink.iter().map(|value| value * value).collect();
        let matrix = |values: &[f64]| Square::with_eigen(&vectors, values);
        Some(Metric { to: matrix(&stretch), from: matrix(&shrink), from_twice: matrix(&shrink_twice) })
    }

    /// Shared curvature, by a regression of gradients on points and of changes on directions.
    fn fit(&mut self, centred: &Centred, view: &View<'_>) -> Option<Fit> {
        let dim = self.start.len() as f64;
        let (residual, spread) = self.spread(centred);
        let metric = self.metric(&spread)?;
        let Metric { to, from, from_twice } = &metric;
        let noise = (spread.trace_with(from_twice) / (dim * self.weight)).max(TINY);
        let wandering = self.secants.residual(&self.curvature).trace_with(from_twice).max(0.0);
        let own_curvature = (wandering + self.typical * self.typical) / (dim * (self.secants.count + 1.0));
        let mut mixed = centred.mixed.clone();
        let pairs = self.weight * (self.weight - 1.0).max(1.0);
        mixed.add(-1.0 / pairs, &residual.times(&self.feedback.total));
        let points = centred.points.between(to, to);
        let mixed = mixed.between(from, to);
        let directions = self.secants.directions.between(to, to);
        let changes = self.secants.changes.between(from, to);
        let trusted = noise / own_curvature;

        // The typical curvature first, then each direction's, drawn to it.
        let floor = view.flattest(self.secants.count);
        let expected = expected_curvature(view.point.len(), view.scale);
        let pull = noise / (EXPECTED_WITHIN * expected).powi(2);
        let seen = mixed.trace() + trusted * changes.trace() + pull * expected;
        let looked = points.trace() + trusted * directions.trace() + pull;
        let typical = seen / looked;
        // Past what can be held: keep what was believed, or it would be lost for good.
        if !typical.is_nan() {
            self.typical = typical.clamp((0.01 * view.scale).max(floor), view.scale.max(floor));
        }
        let pull = dim * noise / (self.varies * self.typical).powi(2);
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
                let unsure = if row == column { WARY * (noise / values[row]).sqrt() } else { 0.0 };
                fitted.set(row, column, entry + unsure);
            }
        }
        let (bends, basis) = fitted.between(&vectors, &vectors.transposed()).eigen()?;
        let (low, high) = ((0.2 * self.typical).max(floor), view.scale.max(self.typical));
        let bends: Vec<f64> = bends.iter().map(|bend| bend.clamp(low, high.max(low))).collect();
        let shared = Square::with_eigen(&basis, &bends);
        self.curvature = shared.between(to, to);
        let own_spread = own_curvature * dim;
        if self.own.count <= 0.0 {
            return Some(Fit { metric, own_curvature: own_spread, bends, basis });
        }
        // The mean over users of shared curvature and that along secants: a step by less would overshoot what the model itself
        // predicts.
        let mut own = self.own.changes.clone();
        own.add(-1.0, &self.curvature.times(&self.own.directions));
        own.add(1.0, &own.transposed());
        own.scale(0.5 / self.weight);
        let mut whole = own.between(from, from);
        whole.add(1.0, &shared);
        let flattest = bends.iter().copied().fold(f64::INFINITY, f64::min);
        let (bends, basis) = whole.eigen()?;
        let bends = bends.into_iter().map(|bend| bend.max(flattest)).collect();
        Some(Fit { metric, own_curvature: own_spread, bends, basis })
    }

    /// The way from the start to the minimiser of the model, drawn back by how unsure it is; `anchor` counts from the start too.
    pub fn step(
        &mut self,
        known: &Known,
        anchor: &[f64],
        gradient: &[f64],
        unsure: f64,
        caution: f64,
    ) -> Option<Vec<f64>> {
        let Fit { metric, bends, basis, .. } = self.fit.as_ref()?;
        let dim = bends.len();
        let back = metric.from.times(basis);
        let bends: Vec<f64> = bends.iter().map(|bend| bend * caution).collect();
        let there = basis.transposed_times_vector(&metric.to.times_vector(anchor));
        let slope = back.transposed_times_vector(gradient);
        let newton: Vec<f64> = (0..dim).map(|k| there[k] - slope[k] / bends[k]).collect();
        // The diagonal of backᵀ · spread · back.
        let (columns, images) = (back.transposed(), known.spread.times(&back).transposed());
        let noise = |k: usize| kernel::dot(columns.row(k), images.row(k));
        let loss = |k: usize| (0.5 * noise(k) / self.weight / bends[k] * unsure).max(0.0);
        let losses: Vec<f64> = (0..dim).map(loss).collect();
        let gain: f64 = (0..dim).map(|k| 0.5 * bends[k] * newton[k] * newton[k]).sum();
        let each = certain_gain(gain, losses.iter().sum(), dim);
        let shrunk: Vec<f64> = losses.iter().map(|loss| part_of_the_way(each, *loss)).collect();
        let drawn: Vec<f64> = shrunk.iter().zip(&newton).map(|(part, value)| part * value).collect();
        let followed: Vec<f64> = shrunk.iter().zip(&bends).map(|(part, bend)| part / bend).collect();
        self.feedback.last = Square::with_eigen(&back, &followed);
        Some(back.times_vector(&drawn))
    }
}
