//! Steps that a coordinate has missed, taken at once.

/// One coordinate of the point.
#[derive(Clone, Debug)]
pub(super) struct Coordinate {
    /// As it was at `seen`.
    pub(super) x: f64,
    /// The mean of the remembered slopes times this feature.
    pub(super) mean: f64,
    /// The step up to which `x` is current, counted as [`Lags`] does.
    seen: usize,
}

impl Coordinate {
    pub(super) fn new(x: f64) -> Self {
        Self { x, mean: 0.0, seen: 0 }
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        self.x.abs() <= limit
    }
}

/// What `k` steps `x ← x − α (mean + λx)` make of a coordinate: `ρᵏ x − α (1 + ρ + … + ρᵏ⁻¹) mean`, with `ρ = 1 − αλ`.
#[derive(Clone, Debug)]
pub(super) struct Lags {
    /// `ρᵏ` and `α (1 + … + ρᵏ⁻¹)` for every lag `k` there can be.
    powers: Vec<(f64, f64)>,
    /// The same for one step.
    one: (f64, f64),
    /// Steps since all coordinates were current.
    now: usize,
}

/// Coordinates lag by no more steps than this, or than there are coordinates: bringing all of them up to date then costs
/// little, and the table of powers stays small.
const LONGEST: usize = 1024;

impl Lags {
    pub(super) fn new(step_size: f64, l2: f64, dim: usize) -> Self {
        let keep = 1.0 - step_size * l2;
        let next = |(power, sum): &(f64, f64)| Some((keep * power, keep * sum + step_size));
        let powers = std::iter::successors(Some((1.0, 0.0)), next).take(dim.max(LONGEST) + 1).collect();
        Self { powers, one: (keep, step_size), now: 0 }
    }

    /// How many more steps there can be before all coordinates must catch up.
    pub(super) fn room(&self) -> u64 {
        (self.powers.len() - 1 - self.now) as u64
    }

    /// Takes the coming step with a coordinate that is up to date: the part that all steps have, this much more down, and
    /// this much more for the mean from now on.
    #[inline(always)]
    pub(super) fn step(&self, coordinate: &mut Coordinate, down: f64, more: f64) {
        let (power, sum) = self.one;
        coordinate.x = power * coordinate.x - sum * coordinate.mean - down;
        coordinate.mean += more;
        coordinate.seen = self.now + 1;
    }

    /// One more step.
    pub(super) fn advance(&mut self) {
        self.now += 1;
    }

    /// Takes the steps that a coordinate has missed, and returns where it is then.
    #[inline(always)]
    pub(super) fn catch_up(&self, coordinate: &mut Coordinate) -> f64 {
        let (power, sum) = self.powers[self.now - coordinate.seen];
        coordinate.x = power * coordinate.x - sum * coordinate.mean;
        coordinate.seen = self.now;
        coordinate.x
    }

    pub(super) fn catch_up_all(&mut self, coordinates: &mut [Coordinate]) {
        for coordinate in coordinates {
            self.catch_up(coordinate);
            coordinate.seen = 0;
        }
        self.now = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_steps_are_those_taken_one_by_one() {
        for (step_size, l2) in [(0.1, 0.0), (0.1, 0.03), (0.5, 3.0)] {
            let mut lags = Lags::new(step_size, l2, 5);
            let mut late = Coordinate { mean: -0.7, ..Coordinate::new(2.0) };
            let mut x = late.x;
            for steps in 1..=LONGEST {
                lags.advance();
                x -= step_size * (late.mean + l2 * x);
                let caught_up = lags.catch_up(&mut late.clone());
                assert!((caught_up - x).abs() <= 1e-13 * x.abs().max(1.0), "{steps} steps: {caught_up}, not {x}");
            }
            assert_eq!(lags.room(), 0);
            lags.catch_up_all(std::slice::from_mut(&mut late));
            assert_eq!((lags.room(), lags.catch_up(&mut late)), (LONGEST as u64, late.x));
        }
    }
}
