//! Steps with rows of which every number is there: all coordinates move at each one.

use pulp::{Arch, Simd, WithSimd};

use super::{RowState, Stepping};

const LANES: usize = 16;
/// Numbers in a line of the cache, on most processors.
pub(super) const LINE: usize = 8;
/// What is left of a row after the lanes goes in pieces of this many.
const FEW: usize = 4;

/// The point and `Σ (w_r / Σ w) s_r a_r`.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    pub(super) x: Vec<f64>,
    pub(super) mean: Vec<f64>,
}

/// `⟨a, b⟩`, added up in one order on every processor.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let mut few: [f64; FEW] = std::array::from_fn(|k| (lanes[k] + lanes[k + 8]) + (lanes[k + 4] + lanes[k + 12]));
    let ((a, a_rest), (b, b_rest)) = (a_rest.as_chunks::<FEW>(), b_rest.as_chunks::<FEW>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..FEW {
            few[lane] += a[lane] * b[lane];
        }
    }
    let rest = a_rest.iter().zip(b_rest).fold(0.0, |sum, (a, b)| sum + a * b);
    ((few[0] + few[2]) + (few[1] + few[3])) + rest
}

/// `x ← keep x − α mean − down a` and `mean ← mean + more a`.
#[inline(always)]
fn step<const N: usize>(x: &mut [f64; N], mean: &mut [f64; N], a: &[f64; N], by: [f64; 4]) {
    let [keep, alpha, down, more] = by;
    for k in 0..N {
        x[k] = keep * x[k] - alpha * mean[k] - down * a[k];
        mean[k] += more * a[k];
    }
}

impl Dense {
    /// Takes that many steps, in the widest registers at hand.
    pub(super) fn take(&mut self, steps: u64, values: &[f64], stepping: Stepping<'_>) {
        Arch::new().dispatch(Take { steps, values, at: self, stepping });
    }

    /// Computes the mean from the slopes, which are computed anew or those that are remembered.
    pub(super) fn refresh(&mut self, anew: bool, values: &[f64], stepping: Stepping<'_>) {
        Arch::new().dispatch(Refresh { anew, values, at: self, stepping });
    }
}

struct Take<'a> {
    steps: u64,
    values: &'a [f64],
    at: &'a mut Dense,
    stepping: Stepping<'a>,
}

impl WithSimd for Take<'_> {
    type Output = ();

    // Everything below the dispatch must be inlined into it, or it is compiled for the oldest processor.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { steps, values, at, mut stepping } = self;
        let (loss, step_size, l2) = (stepping.loss, stepping.step_size, stepping.l2);
        let dim = at.x.len();
        let (x, mean) = (&mut at.x[..dim], &mut at.mean[..dim]);
        let keep = 1.0 - step_size * l2;
        for _ in 0..steps {
            let row = stepping.draw();
            fetch(values, &stepping.users[stepping.next[0]], dim);
            let (user, intercept) = (&mut stepping.users[row], &mut *stepping.intercept);
            let a = &values[user.start..][..dim];
            let (down, more) = user.answer(loss, dot(a, x) + intercept.value());
            let by = [keep, step_size, step_size * down, more];
            let ((x, x_rest), (mean, mean_rest), (a, a_rest)) =
                (x.as_chunks_mut::<8>(), mean.as_chunks_mut::<8>(), a.as_chunks::<8>());
            for ((x, mean), a) in x.iter_mut().zip(mean).zip(a) {
                step(x, mean, a, by);
            }
            for ((x, mean), a) in x_rest.iter_mut().zip(mean_rest).zip(a_rest) {
                step(std::array::from_mut(x), std::array::from_mut(mean), std::array::from_ref(a), by);
            }
            intercept.step(step_size, down, more);
        }
    }
}

/// Reads a number of each line of the cache that a row takes, a step before it is needed: by then all have come from the memory,
/// at the same time.
#[inline(always)]
fn fetch(values: &[f64], user: &RowState, dim: usize) {
    let row = &values[user.start..][..dim];
    std::hint::black_box(row.iter().step_by(LINE).fold(row[dim - 1], |sum, value| sum + value));
}

struct Refresh<'a> {
    anew: bool,
    values: &'a [f64],
    at: &'a mut Dense,
    stepping: Stepping<'a>,
}

impl WithSimd for Refresh<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { anew, values, at, stepping: Stepping { users, intercept, loss, .. } } = self;
        let dim = at.x.len();
        let (x, mean) = (&at.x[..dim], &mut at.mean[..dim]);
        mean.fill(0.0);
        intercept.mean = 0.0;
        // At zero, where most runs start, nothing has to be multiplied.
        let still = x.iter().all(|x| *x == 0.0);
        for (user, a) in users.iter_mut().zip(values.chunks_exact(dim)) {
            if anew {
                user.slope = user.slope_at(loss, if still { 0.0 } else { dot(a, x) } + intercept.value());
            }
            let more = user.part * user.slope;
            for (mean, a) in mean.iter_mut().zip(a) {
                *mean += more * a;
            }
            intercept.mean += intercept.constant * more;
        }
    }
}
