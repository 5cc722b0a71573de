//! `C_1` and `C_2` by the paper's proposition for one parameter, at a point and on an interval.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{Heterogeneity, ROUNDING};

/// What rounding can explain of the square of a difference of squares.
const ROUNDING_OF_SQUARES: f64 = 1e-26;

/// Cells that a bound may take.
const CELLS: usize = 1_000;

/// The derivatives `f_i'(x)` at a point, as far as the proposition looks at them: in units of the largest of them, so that
/// their fourth powers stay within the range of numbers. The proposition's constants do not depend on the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// `ḡ`, the mean.
    pub mean: f64,
    /// `V`, the variance.
    pub variance: f64,
    /// The third central moment, `S_g V^{3/2}` with the skewness `S_g`.
    pub third: f64,
    /// The variance of the squared deviations, `(κ − 1) V²` with the kurtosis `κ`.
    pub variance_of_squares: f64,
}

impl Moments {
    /// The moments of these derivatives.
    pub fn of(derivatives: &[f64]) -> Self {
        let users = derivatives.len() as f64;
        let unit = unit_of(derivatives.iter());
        let average = |term: &dyn Fn(f64) -> f64| derivatives.iter().map(|g| term(g / unit)).sum::<f64>() / users;
        let mean = average(&|g| g);
        let variance = average(&|g| (g - mean).powi(2));
        Self {
            mean,
            variance,
            third: average(&|g| (g - mean).powi(3)),
            variance_of_squares: average(&|g| ((g - mean).powi(2) - variance).powi(2)),
        }
    }

    /// `δ = 1 − |S_g| / √(κ − 1)`, in `[0, 1]`: one less the correlation between the deviations and their squares.
    ///
    /// The paper has `S_g` without the bars; a negative skewness would then make `δ` exceed 1. Where all deviations are
    /// equally long, `κ = 1`, they cannot be skewed, and `δ = 1`.
    pub fn delta(&self) -> f64 {
        if self.variance_of_squares <= ROUNDING_OF_SQUARES * self.variance * self.variance {
            return 1.0;
        }
        let delta = 1.0 - self.third.abs() / (self.variance * self.variance_of_squares).sqrt();
        if delta > ROUNDING { delta } else { 0.0 }
    }

    /// `C_1 = δ V / 4ḡ²` (none at an optimum, where nothing is asked of it) and `C_2 = δ (κ − 1) V² / 4(V + ḡ²)²` (none
    /// where every derivative is zero).
    pub fn heterogeneity(&self) -> (Option<f64>, Option<f64>) {
        let delta = self.delta();
        let (mean_square, second) = (self.mean * self.mean, self.variance + self.mean * self.mean);
        if self.variance <= ROUNDING * ROUNDING * mean_square {
            // All derivatives are the same.
            let zero = Some(0.0).filter(|_| mean_square > 0.0);
            return (zero, zero);
        }
        // In units of the largest derivative, a mean that rounding can explain is that of an optimum.
        let c1 = (mean_square > ROUNDING * ROUNDING).then(|| delta * self.variance / (4.0 * mean_square));
        let squares = if self.variance_of_squares <= ROUNDING_OF_SQUARES * self.variance * self.variance {
            0.0
        } else {
            self.variance_of_squares
        };
        (c1.filter(|c1| c1.is_finite()), Some(delta * squares / (4.0 * second * second)))
    }
}

/// The power of two below the largest of some numbers, by size: dividing by it rounds nothing. 1 where all are zero.
fn unit_of<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    let largest = numbers.fold(0.0, |largest: f64, number| largest.max(number.abs()));
    let power = f64::from_bits(largest.to_bits() & f64::INFINITY.to_bits());
    if power > 0.0 && power.is_finite() { power } else { 1.0 }
}

/// The least of the proposition's constants over points; zero where no point asks anything.
pub(super) fn over_points(derivatives: impl Iterator<Item = Vec<f64>>) -> Heterogeneity {
    let mut least = (None, None);
    for (c1, c2) in derivatives.map(|values| Moments::of(&values).heterogeneity()) {
        least.0 = smaller(least.0, c1);
        least.1 = smaller(least.1, c2);
    }
    Heterogeneity { c1: least.0.unwrap_or(0.0), c2: least.1.unwrap_or(0.0) }
}

fn smaller(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Derivatives that are affine on an interval: `f_i'` is `middle_i + slope_i t` for `t` from −1 to 1.
pub(super) struct Affine {
    /// Whether the users differ by constants alone.
    pub identical_slopes: bool,
    derivatives: Vec<Polynomial>,
    mean: Polynomial,
    variance: Polynomial,
    third: Polynomial,
    variance_of_squares: Polynomial,
    second: Polynomial,
}

impl Affine {
    /// From the derivatives at both ends, in units of the largest.
    pub fn between(low: &[f64], high: &[f64]) -> Self {
        let unit = unit_of(low.iter().chain(high));
        let ends = || low.iter().zip(high).map(|(low, high)| (low / unit, high / unit));
        let derivatives: Vec<Polynomial> =
            ends().map(|(low, high)| Polynomial::linear(0.5 * (high + low), 0.5 * (high - low))).collect();
        let mean = average(derivatives.iter().copied());
        let deviations: Vec<Polynomial> = derivatives.iter().map(|g| *g - mean).collect();
        let variance = average(deviations.iter().map(|z| *z * *z));
        let slope = |g: &Polynomial| g.terms[1].abs();
        let largest = derivatives.iter().map(slope).fold(0.0, f64::max);
        let third = average(deviations.iter().map(|z| *z * *z * *z));
        let mut variance_of_squares = average(deviations.iter().map(|z| (*z * *z - variance).square()));
        if variance_of_squares.size() <= ROUNDING_OF_SQUARES * variance.size() * variance.size() {
            variance_of_squares = Polynomial::default();
        }
        Self {
            identical_slopes: deviations.iter().all(|z| slope(z) <= ROUNDING * largest),
            second: average(derivatives.iter().map(|g| g.square())),
            derivatives,
            mean,
            variance,
            third,
            variance_of_squares,
        }
    }

    /// Certified lower bounds of the proposition's infima over the interval, tight to a part in 10¹⁰ wherever that can
    /// be had with a few thousand cells.
    pub fn infimum(&self) -> Heterogeneity {
        let c1 = |t: f64| self.at(t).heterogeneity().0.unwrap_or(f64::INFINITY);
        let c2 = |t: f64| self.at(t).heterogeneity().1.unwrap_or(f64::INFINITY);
        let c1_in = |cell: Cell| {
            let ratio = Ratio {
                numerator: cell.zoom(&self.variance),
                denominator: cell.zoom(&self.mean).square(),
                other: cell.zoom(&self.variance_of_squares),
                third: cell.zoom(&self.third),
            };
            ratio.lower_bound(c1(cell.middle))
        };
        let c2_in = |cell: Cell| {
            let ratio = Ratio {
                numerator: cell.zoom(&self.variance_of_squares),
                denominator: cell.zoom(&self.second).square(),
                other: cell.zoom(&self.variance),
                third: cell.zoom(&self.third),
            };
            ratio.lower_bound(c2(cell.middle))
        };
        Heterogeneity { c1: lower_bound(CELLS, c1_in, c1), c2: lower_bound(CELLS, c2_in, c2) }
    }

    /// A certified upper bound of Lemma 1's `c̃` over the interval, for steps of `s = αL`; `n − 1` where there is none
    /// better.
    pub fn imbalance(&self, relative_step: f64) -> f64 {
        let users = self.derivatives.len();
        let improvement = |g: &Polynomial| self.mean * *g - g.square().scaled(0.5 * relative_step);
        let mean = average(self.derivatives.iter().map(improvement));
        let above: Vec<Polynomial> = self.derivatives.iter().map(|g| improvement(g) - mean).collect();
        // 1/c̃ = (max − mean) / (mean − min) is at least this in a cell.
        let inverse = |cell: Cell| {
            let (mut most, mut least) = (0.0f64, 0.0f64);
            for low in above.iter().map(|above| cell.zoom(above).least()) {
                most = most.max(low);
                least = least.min(low);
            }
            if least < 0.0 { most / -least } else { 0.0 }
        };
        let value = |t: f64| match inverse(Cell { middle: t, radius: 0.0 }) {
            ratio if ratio > 0.0 => ratio,
            _ => f64::INFINITY,
        };
        // Every cell looks at every user.
        let bound = lower_bound((2_000_000 / users).clamp(100, 50 * CELLS), inverse, value);
        let largest = users as f64 - 1.0;
        if bound > 0.0 { (1.0 / bound).min(largest) } else { largest }
    }

    fn at(&self, t: f64) -> Moments {
        let value = |p: &Polynomial| Cell { middle: t, radius: 0.0 }.zoom(p).terms[0];
        Moments {
            mean: value(&self.mean),
            variance: value(&self.variance).max(0.0),
            third: value(&self.third),
            variance_of_squares: value(&self.variance_of_squares).max(0.0),
        }
    }
}

/// `δ·numerator / (4·denominator)` on a cell, with `δ = 1 − |third| / √(numerator·other)`: both of the proposition's
/// constants have this form.
struct Ratio {
    numerator: Polynomial,
    denominator: Polynomial,
    other: Polynomial,
    third: Polynomial,
}

impl Ratio {
    /// A number that the ratio is nowhere below in the cell, and that is at most `value`.
    fn lower_bound(&self, value: f64) -> f64 {
        let (mut proven, mut open) = (0.0, value);
        if !open.is_finite() {
            // The middle of the cell is an optimum, where nothing is limited: twice what its edges allow is enough.
            open = self.numerator.terms[0] / (2.0 * self.denominator.most());
        }
        if !(open > 0.0 && open.is_finite()) {
            return 0.0;
        }
        if self.is_at_least(open) {
            return open;
        }
        while open - proven > 1e-12 * open {
            let middle = 0.5 * (proven + open);
            if self.is_at_least(middle) {
                proven = middle;
            } else {
                open = middle;
            }
        }
        proven
    }

    /// Whether `δ·numerator ≥ 4λ·denominator` is proven: with `rest = numerator − 4λ·denominator` that is
    /// `rest ≥ 0` and `rest²·other ≥ third²·numerator`, two polynomials.
    fn is_at_least(&self, lambda: f64) -> bool {
        let rest = self.numerator - self.denominator.scaled(4.0 * lambda);
        let equally_long = self.other.size() == 0.0;
        rest.least() >= 0.0
            && (equally_long || (rest.square() * self.other - self.third.square() * self.numerator).least() >= 0.0)
    }
}

/// A polynomial of degree 10 at most, and how far rounding may have taken it from the true one on `[−1, 1]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Polynomial {
    terms: [f64; 11],
    error: f64,
}

impl Polynomial {
    fn linear(constant: f64, slope: f64) -> Self {
        let mut terms = [0.0; 11];
        (terms[0], terms[1]) = (constant, slope);
        Self { terms, error: f64::EPSILON * (constant.abs() + slope.abs()) }
    }

    fn square(self) -> Self {
        self * self
    }

    fn scaled(self, factor: f64) -> Self {
        let terms = self.terms.map(|term| factor * term);
        Self { terms, error: factor.abs() * (self.error + f64::EPSILON * self.size()) }
    }

    fn size(&self) -> f64 {
        self.terms.iter().map(|term| term.abs()).sum()
    }

    /// It is nowhere below this on `[−1, 1]`.
    fn least(&self) -> f64 {
        self.terms[0] - self.reach()
    }

    /// It is nowhere above this on `[−1, 1]`.
    fn most(&self) -> f64 {
        self.terms[0] + self.reach()
    }

    /// How far it can be from its constant term.
    fn reach(&self) -> f64 {
        self.terms[1..].iter().map(|term| term.abs()).sum::<f64>() + self.error
    }
}

impl std::ops::Sub for Polynomial {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let rounding = f64::EPSILON * (self.size() + other.size());
        Self {
            terms: std::array::from_fn(|k| self.terms[k] - other.terms[k]),
            error: self.error + other.error + rounding,
        }
    }
}

impl std::ops::Mul for Polynomial {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let mut product = [0.0; 11];
        for (i, a) in self.terms.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            for (out, b) in product[i..].iter_mut().zip(other.terms) {
                *out += a * b;
            }
        }
        let (one, two) = (self.size(), other.size());
        let rounding = 12.0 * f64::EPSILON * one * two;
        Self { terms: product, error: self.error * (two + other.error) + other.error * one + rounding }
    }
}

fn average(polynomials: impl Iterator<Item = Polynomial>) -> Polynomial {
    let (mut sum, mut errors, mut sizes) = ([0.0; 11], 0.0, 0.0);
    let mut count = 0.0;
    for polynomial in polynomials {
        count += 1.0;
        sum.iter_mut().zip(polynomial.terms).for_each(|(sum, term)| *sum += term);
        errors += polynomial.error;
        sizes += polynomial.size();
    }
    let rounding = f64::EPSILON * sizes * f64::max(count, 2.0);
    Polynomial { terms: sum.map(|sum| sum / count), error: (errors + rounding) / count }
}

/// A piece of `[−1, 1]`.
#[derive(Clone, Copy)]
struct Cell {
    middle: f64,
    radius: f64,
}

impl Cell {
    /// The polynomial as one of `[−1, 1]`, to which the cell is stretched.
    fn zoom(self, polynomial: &Polynomial) -> Polynomial {
        let mut terms = polynomial.terms;
        let degree = terms.iter().rposition(|term| *term != 0.0).unwrap_or(0);
        // The coefficients around another point, by repeated synthetic division.
        for done in 0..degree {
            for k in (done..degree).rev() {
                terms[k] += self.middle * terms[k + 1];
            }
        }
        let mut scale = 1.0;
        for term in &mut terms {
            *term *= scale;
            scale *= self.radius;
        }
        // Each of the coefficients went through as many additions as the degree has steps.
        let rounding = 12.0 * f64::EPSILON * polynomial.size() * (1.0 + self.middle.abs()).powi(degree as i32);
        Polynomial { terms, error: polynomial.error + if degree > 0 { rounding } else { 0.0 } }
    }

    fn halves(self) -> [Self; 2] {
        let radius = 0.5 * self.radius;
        [-1.0, 1.0].map(|side| Self { middle: self.middle + side * radius, radius })
    }
}

/// A cell with what is known of it; the least bound comes first out of a heap.
struct Open {
    bound: f64,
    cell: Cell,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then_with(|| other.cell.middle.total_cmp(&self.cell.middle))
    }
}

/// Branch and bound: a number that `value` is nowhere below on `[−1, 1]`, by splitting the cell with the least bound.
fn lower_bound(cells: usize, bound: impl Fn(Cell) -> f64, value: impl Fn(f64) -> f64) -> f64 {
    const PRECISION: f64 = 1e-10;
    let whole = Cell { middle: 0.0, radius: 1.0 };
    let mut least = value(-1.0).min(value(1.0)).min(value(0.0));
    let mut open = BinaryHeap::from([Open { bound: bound(whole), cell: whole }]);
    for _ in 0..cells {
        let Some(worst) = open.peek() else {
            break;
        };
        if least <= ROUNDING || worst.bound >= least * (1.0 - PRECISION) {
            break;
        }
        let halves = worst.cell.halves();
        open.pop();
        for cell in halves {
            least = least.min(value(cell.middle));
            open.push(Open { bound: bound(cell), cell });
        }
    }
    let bound = open.peek().map_or(0.0, |worst| worst.bound).min(least);
    // A constant this small is of no use to anybody.
    if bound > ROUNDING && bound.is_finite() { bound } else { 0.0 }
}
