//! Curvature from gradients alone: what users' answers at different points say of `∇²f`, for standard errors where nobody told more.

use super::matrix::{self, Cholesky};

/// Users' answers so far, as much of them as says something of curvature.
///
/// A user's gradients at two points differ by its curvature along the way between them. A regression on all ways of all users gives the
/// curvature that they share, drawn to a prior; each user's own ways then correct what is believed of it, and the mean over users is the result.
#[derive(Clone, Debug)]
pub struct Secants {
    dim: usize,
    /// What each user counts, 1 on average.
    weights: Vec<f64>,
    last: Vec<Option<(Vec<f64>, Vec<f64>)>>,
    ways: Vec<Vec<Way>>,
    count: usize,
}

/// From one point of a user to its next.
#[derive(Clone, Debug)]
struct Way {
    /// Of length 1.
    direction: Vec<f64>,
    /// How the gradient changed, for each unit of the way and of the user's weight.
    change: Vec<f64>,
}

/// How many ways the prior counts for: on the eleven data sets of docs/fit.md, errors are about the same from 1 to 10.
const PRIOR_WAYS: f64 = 3.0;
/// The shared curvature has `d (d + 1) / 2` numbers, and its equations take the cube of that.
const MOST_PARAMETERS: usize = 32;
/// More ways say little more, and take memory.
const MOST_WAYS: usize = 100_000;
/// Each user's own ways are gone through so often: they are not orthogonal, and one pass does not satisfy all of them.
const PASSES: usize = 20;

impl Secants {
    /// No answers yet, of users that count so much, in any unit.
    pub fn new(dim: usize, weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let users = weights.len();
        Self {
            dim,
            weights: weights.iter().map(|weight| weight / mean).collect(),
            last: vec![None; users],
            ways: vec![Vec::new(); users],
            count: 0,
        }
    }

    /// Takes note of a user's gradient at a point.
    pub fn take(&mut self, user: usize, point: &[f64], gradient: &[f64]) {
        if self.dim > MOST_PARAMETERS || self.count >= MOST_WAYS {
            return;
        }
        if let Some((before, there)) = &self.last[user] {
            let length = point.iter().zip(before).map(|(x, there)| (x - there) * (x - there)).sum::<f64>().sqrt();
            if length > 0.0 {
                let over = |new: &[f64], old: &[f64], unit: f64| -> Vec<f64> {
                    new.iter().zip(old).map(|(new, old)| (new - old) / unit).collect()
                };
                let way = Way {
                    direction: over(point, before, length),
                    change: over(gradient, there, length * self.weights[user]),
                };
                if way.change.iter().chain(&way.direction).all(|value| value.is_finite()) {
                    self.ways[user].push(way);
                    self.count += 1;
                }
            }
        }
        self.last[user] = Some((point.to_vec(), gradient.to_vec()));
    }

    /// `∇²f`, drawn to a prior; the prior itself where there are too many parameters for that, and where the result would not be
    /// positive definite.
    pub fn curvature(&self, prior: &[f64]) -> Vec<f64> {
        let dim = self.dim;
        if dim > MOST_PARAMETERS || self.count == 0 || prior.len() != dim * dim {
            return prior.to_vec();
        }
        let Some(shared) = self.shared(prior) else {
            return prior.to_vec();
        };
        let mut mean = shared.clone();
        let users = self.weights.len() as f64;
        for (ways, weight) in self.ways.iter().zip(&self.weights).filter(|(ways, _)| !ways.is_empty()) {
            let mut own = shared.clone();
            for _ in 0..PASSES {
                ways.iter().for_each(|way| way.correct(&mut own));
            }
            let change = own.iter().zip(&shared).map(|(own, shared)| own - shared);
            mean.iter_mut().zip(change).for_each(|(mean, change)| *mean += weight / users * change);
        }
        let is_definite = solver(&matrix::pack(&mean, dim), dim).is_some();
        if is_definite { mean } else { prior.to_vec() }
    }

    /// The symmetric `B` with the least `Σ w ‖y − B u‖² + r ‖B − prior‖²`, over all ways of all users.
    fn shared(&self, prior: &[f64]) -> Option<Vec<f64>> {
        let dim = self.dim;
        let place = |i: usize, j: usize| if i >= j { i * (i + 1) / 2 + j } else { j * (j + 1) / 2 + i };
        let unknowns = dim * (dim + 1) / 2;
        let (mut left, mut right) = (vec![0.0; unknowns * unknowns], vec![0.0; unknowns]);
        for (ways, weight) in self.ways.iter().zip(&self.weights) {
            // A user of twice the weight tells as much as two.
            for Way { direction, change } in ways {
                for i in 0..dim {
                    for j in 0..dim {
                        for k in 0..dim {
                            left[place(i, j) * unknowns + place(i, k)] += weight.sqrt() * direction[j] * direction[k];
                        }
                        right[place(i, j)] += weight.sqrt() * direction[j] * change[i];
                    }
                }
            }
        }
        for i in 0..dim {
            for j in 0..=i {
                let times = if i == j { PRIOR_WAYS } else { 2.0 * PRIOR_WAYS };
                left[place(i, j) * (unknowns + 1)] += times;
                right[place(i, j)] += times * prior[i * dim + j];
            }
        }
        let found = solver(&matrix::pack(&left, unknowns), unknowns)?.solve(&right);
        Some((0..dim * dim).map(|k| found[place(k / dim, k % dim)]).collect())
    }
}

/// The factor of a packed matrix; none where it is not positive definite.
fn solver(packed: &[f64], dim: usize) -> Option<Cholesky> {
    const LEAST_PIVOT: f64 = 1e-12;
    let factor = Cholesky::new(packed, dim, LEAST_PIVOT);
    factor.null_vectors().is_empty().then_some(factor)
}

impl Way {
    /// The least symmetric change of a matrix after which it maps the direction to the change: `r uᵀ + u rᵀ − (rᵀu) u uᵀ`, with the residual
    /// `r = y − H u` (Powell's symmetric Broyden update).
    fn correct(&self, matrix: &mut [f64]) {
        let Self { direction, change } = self;
        let dim = direction.len();
        let residual: Vec<f64> = change
            .iter()
            .zip(matrix.chunks_exact(dim))
            .map(|(change, row)| change - matrix::dot(row, direction))
            .collect();
        let along = matrix::dot(&residual, direction);
        for (i, row) in matrix.chunks_exact_mut(dim).enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value += residual[i] * direction[j] + direction[i] * residual[j] - along * direction[i] * direction[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
        matrix.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    }

    /// Two users with quadratics of their own: with ways in all directions the mean of the two is found, whatever the prior.
    #[test]
    fn quadratics_are_found() {
        let (one, other) = ([2.0, 0.5, 0.5, 1.0], [4.0, -0.5, -0.5, 3.0]);
        let weights = [3.0, 1.0];
        let mut secants = Secants::new(2, &weights);
        let points = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-0.3, 2.0], [0.7, -1.0]];
        for point in points {
            for (user, matrix) in [one, other].iter().enumerate() {
                // Weights are 1 on average.
                let gradient: Vec<f64> =
                    times(matrix, &point).iter().map(|slope| slope * weights[user] / 2.0).collect();
                secants.take(user, &point, &gradient);
            }
        }
        let found = secants.curvature(&[1.0, 0.0, 0.0, 1.0]);
        for (k, value) in found.iter().enumerate() {
            let expected = (3.0 * one[k] + other[k]) / 4.0;
            assert!((value - expected).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn nothing_known_is_the_prior() {
        let prior = [2.0, 0.0, 0.0, 1.0];
        let mut secants = Secants::new(2, &[1.0]);
        assert_eq!(secants.curvature(&prior), prior);
        // The same point again, and numbers past all bounds, say nothing.
        secants.take(0, &[1.0, 1.0], &[0.0, 1.0]);
        secants.take(0, &[1.0, 1.0], &[5.0, 1.0]);
        secants.take(0, &[2.0, 1.0], &[f64::INFINITY, 1.0]);
        assert_eq!(secants.curvature(&prior), prior);
        // A user that is not convex does not make standard errors imaginary.
        secants.take(0, &[2.0, 1.0], &[0.0, 0.0]);
        (3..40).for_each(|k| secants.take(0, &[k as f64, 1.0], &[-9.0 * k as f64, 0.0]));
        assert_eq!(secants.curvature(&prior), prior);
    }
}
