//! Eigenvalues and eigenvectors of symmetric matrices.

use super::{LANES, SMALL, Square, add_scaled, dot, wide_dot};
use crate::kernel::{self, Reflections, Sweep};

/// A symmetric matrix as `Q T Qᵀ`, where `T` is tridiagonal and `Q` a product of reflections.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// What stands beside the diagonal, and a zero.
    off: Vec<f64>,
    /// `I − factor · v vᵀ`, of which row `k` has `v` from column `k + 1` on; a factor of zero where there is none.
    mirrors: Square,
    factors: Vec<f64>,
}

impl Square {
    /// Eigenvalues, smallest first, and eigenvectors as columns, of the symmetric part. None where a number is not finite.
    ///
    /// Householder's reduction to a tridiagonal matrix, then QL steps with implicit shifts (Golub & Van Loan, 8.3). Rotations are
    /// written down, and made on a few rows of the eigenvectors at a time, which stay in the fastest memory.
    pub fn eigen(&self) -> Option<(Vec<f64>, Self)> {
        let n = self.dim;
        let (matrix, scale) = self.scaled_symmetric_part()?;
        let Tridiagonal { mut diagonal, mut off, mirrors, factors } = matrix.tridiagonal();
        let sweeps = ql(&mut diagonal, &mut off)?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| diagonal[*a].total_cmp(&diagonal[*b]));
        let mut vectors = Self::zero(n);
        kernel::turned(
            &mut vectors.values,
            &Reflections { mirrors: &mirrors.values, factors: &factors },
            &sweeps,
            &order,
        );
        Some((order.iter().map(|k| scale * diagonal[*k]).collect(), vectors))
    }

    /// The smallest and the largest eigenvalue of the symmetric part, in a fraction of the time that [`eigen`](Self::eigen)
    /// takes. None where a number is not finite, and where there is none at all.
    pub fn extreme_eigenvalues(&self) -> Option<(f64, f64)> {
        let (matrix, scale) = self.scaled_symmetric_part()?;
        let Tridiagonal { diagonal, off, .. } = matrix.tridiagonal();
        let last = self.dim.checked_sub(1)?;
        Some((scale * bisect(&diagonal, &off, 0), scale * bisect(&diagonal, &off, last)))
    }

    /// The symmetric part divided by its largest number, and that number: squares of what is tiny, or huge, would not be
    /// numbers. None where a number is not finite.
    fn scaled_symmetric_part(&self) -> Option<(Self, f64)> {
        let mut matrix = self.symmetric_part();
        if !kernel::all_within(&matrix.values, f64::MAX) {
            return None;
        }
        let scale = matrix.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        if scale > 0.0 {
            matrix.values.iter_mut().for_each(|value| *value /= scale);
        }
        Some((matrix, scale))
    }

    /// Makes a symmetric matrix of numbers up to 1 tridiagonal. One that is a multiple of the identity, but for a few directions,
    /// takes as many reflections as there are directions.
    fn tridiagonal(mut self) -> Tridiagonal {
        let n = self.dim;
        let dot = if n > SMALL { wide_dot } else { dot };
        // What is left by rounding is nothing.
        let least = if n > SMALL { n as f64 * f64::EPSILON } else { 0.0 };
        let [mut diagonal, mut off, mut factors] = [(); 3].map(|()| vec![0.0; n]);
        // The last reflection, `A ← A − v wᵀ − w vᵀ`: rows hear of it when they are next looked at.
        let (mut v, mut w) = (vec![0.0; n], vec![0.0; n]);
        let mut is_reflected = false;
        for k in 0..n {
            // What is before column k is done with. A multiple of the kernel's lanes, so that every sum has the bits that it
            // has over whole rows.
            let start = k - k % LANES;
            if is_reflected {
                kernel::reflect_row(&mut self.row_mut(k)[start..], (v[k], w[k]), (&v[start..], &w[start..]));
            }
            diagonal[k] = self.at(k, k);
            // A reflection that leaves one number beside the diagonal of row k.
            let mut mirror = vec![0.0; n];
            mirror[k + 1..].copy_from_slice(&self.row(k)[k + 1..]);
            let length = kernel::norm(&mirror[start..]);
            let is_needed = k + 2 < n && length > least;
            if is_needed {
                let sign = if mirror[k + 1] > 0.0 { 1.0 } else { -1.0 };
                mirror[k + 1] += sign * length;
                off[k] = -sign * length;
                factors[k] = 2.0 / kernel::norm_squared(&mirror[start..]);
                self.row_mut(k)[k + 1..].copy_from_slice(&mirror[k + 1..]);
            } else if k + 2 == n {
                off[k] = mirror[k + 1];
            }
            if !is_needed && !is_reflected {
                continue;
            }
            // w = p − ½ f (pᵀv) v with p = f A v, where A has to hear of the last reflection first.
            let mut image = vec![0.0; n];
            if is_reflected {
                let vectors = (&v[start..], &w[start..], &mirror[start..]);
                kernel::reflect_rows(&mut self.values, n, start, k + 1, vectors, &mut image[start..]);
            } else {
                for (row, image) in image.iter_mut().enumerate().skip(k + 1) {
                    *image = dot(&self.row(row)[start..], &mirror[start..]);
                }
            }
            is_reflected = is_needed;
            image.iter_mut().for_each(|value| *value *= factors[k]);
            let along = 0.5 * factors[k] * dot(&image[start..], &mirror[start..]);
            add_scaled(&mut image[start..], -along, &mirror[start..]);
            (v, w) = (mirror, image);
        }
        Tridiagonal { diagonal, off, mirrors: self, factors }
    }
}

/// An eigenvalue of a tridiagonal matrix of numbers up to about 1, by its place among them, from the smallest: halves an
/// interval by counting how many are below its middle, which are the negative pivots (Golub & Van Loan, 8.4.1).
fn bisect(diagonal: &[f64], off: &[f64], place: usize) -> f64 {
    let below = |x: f64| {
        let (mut count, mut pivot, mut beside) = (0, 1.0, 0.0);
        for (entry, off) in diagonal.iter().zip(off) {
            pivot = entry - x - beside * beside / pivot;
            // Dividing by it must give a number.
            if f64::abs(pivot) < f64::MIN_POSITIVE {
                pivot = -f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
            beside = *off;
        }
        count
    };
    // Gershgorin's circles.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut before = 0.0;
    for (entry, off) in diagonal.iter().zip(off) {
        let radius = f64::abs(before) + off.abs();
        (low, high) = (low.min(entry - radius), high.max(entry + radius));
        before = *off;
    }
    loop {
        let middle = 0.5 * (low + high);
        // Closer than the matrix itself is known.
        if high - low <= f64::EPSILON * middle.abs().max(f64::EPSILON) {
            return middle;
        }
        if below(middle) > place {
            high = middle;
        } else {
            low = middle;
        }
    }
}

/// Makes a tridiagonal matrix diagonal; returns the rotations that do. None if it does not end.
fn ql(diagonal: &mut [f64], off: &mut [f64]) -> Option<Vec<Sweep>> {
    let n = diagonal.len();
    let mut sweeps = Vec::with_capacity(2 * n);
    for first in 0..n {
        for attempt in 0.. {
            let small = |k: &usize| {
                let around = diagonal[*k].abs() + diagonal[*k + 1].abs();
                off[*k].abs() <= f64::EPSILON * around
            };
            let last = (first..n.saturating_sub(1)).find(small).unwrap_or(n - 1);
            if last == first {
                break;
            }
            if attempt == 60 {
                return None;
            }
            // Wilkinson's shift.
            let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * off[first]);
            let root = hypotenuse(half, 1.0);
            let mut g = diagonal[last] - diagonal[first] + off[first] / (half + root.copysign(half));
            let (mut sine, mut cosine, mut carried) = (1.0, 1.0, 0.0);
            let mut turns = Vec::with_capacity(last - first);
            let mut deflated = false;
            for k in (first..last).rev() {
                let (f, b) = (sine * off[k], cosine * off[k]);
                let length = hypotenuse(f, g);
                off[k + 1] = length;
                if length == 0.0 {
                    diagonal[k + 1] -= carried;
                    off[last] = 0.0;
                    deflated = true;
                    break;
                }
                (sine, cosine) = (f / length, g / length);
                let moved = diagonal[k + 1] - carried;
                let turned = (diagonal[k] - moved) * sine + 2.0 * cosine * b;
                carried = sine * turned;
                diagonal[k + 1] = moved + carried;
                g = cosine * turned - b;
                turns.push((sine, cosine));
            }
            if !deflated {
                diagonal[first] -= carried;
                off[first] = g;
                off[last] = 0.0;
            }
            sweeps.push(Sweep { last, turns });
        }
    }
    Some(sweeps)
}

/// `√(a² + b²)`, also where a square is past what numbers can hold.
fn hypotenuse(a: f64, b: f64) -> f64 {
    let squared = a * a + b * b;
    if squared > 1e-280 && squared < 1e280 { squared.sqrt() } else { a.hypot(b) }
}
