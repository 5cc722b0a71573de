//! Steps with rows of which only the numbers that are not zero are there: coordinates wait until a row needs them.

use std::{hint::black_box, ops::Range};

use super::{
    Stepping,
    dense::LINE,
    lag::{Coordinate, Lags},
};

/// The numbers that are not zero, and the column of each.
pub(super) type Entries<'d> = (&'d [f64], &'d [u32]);

/// The point, `Σ (w_r / Σ w) s_r a_r`, and how far each coordinate is behind.
#[derive(Clone, Debug)]
pub(super) struct Sparse {
    pub(super) coordinates: Vec<Coordinate>,
    pub(super) lags: Lags,
}

impl Sparse {
    /// Takes that many steps, which must not be more than [`Lags::room`].
    pub(super) fn take(&mut self, steps: u64, (values, columns): Entries<'_>, mut stepping: Stepping<'_>) {
        let Self { coordinates, lags } = self;
        let coordinates = &mut **coordinates;
        let (loss, step_size) = (stepping.loss, stepping.step_size);
        for _ in 0..steps {
            let row = stepping.draw();
            fetch(values, columns, stepping.users[stepping.next[0]].row());
            let (user, intercept) = (&mut stepping.users[row], &mut *stepping.intercept);
            let row = user.row();
            let (columns, values) = (&columns[row.clone()], &values[row]);
            // Two sums, so that an addition need not wait for the one before.
            let mut sums = [0.0; 2];
            let mut numbers = columns.iter().zip(values);
            while let Some((column, value)) = numbers.next() {
                sums[0] += value * lags.catch_up(&mut coordinates[*column as usize]);
                if let Some((column, value)) = numbers.next() {
                    sums[1] += value * lags.catch_up(&mut coordinates[*column as usize]);
                }
            }
            let (down, more) = user.answer(loss, sums[0] + sums[1] + intercept.value());
            let alpha_down = step_size * down;
            for (column, value) in columns.iter().zip(values) {
                lags.step(&mut coordinates[*column as usize], alpha_down * value, more * value);
            }
            intercept.step(step_size, down, more);
            lags.advance();
        }
    }

    /// Computes the mean from the slopes, which are computed anew or those that are remembered.
    pub(super) fn refresh(&mut self, anew: bool, (values, columns): Entries<'_>, stepping: Stepping<'_>) {
        let Stepping { users, intercept, loss, .. } = stepping;
        // A coordinate must take the steps it has missed by the mean as it was then.
        self.lags.catch_up_all(&mut self.coordinates);
        self.coordinates.iter_mut().for_each(|coordinate| coordinate.mean = 0.0);
        intercept.mean = 0.0;
        for user in users {
            let row = user.row();
            let numbers = || columns[row.clone()].iter().map(|column| *column as usize).zip(&values[row.clone()]);
            if anew {
                let prediction: f64 = numbers().map(|(column, value)| value * self.coordinates[column].x).sum();
                user.slope = user.slope_at(loss, prediction + intercept.value());
            }
            let more = user.part * user.slope;
            for (column, value) in numbers() {
                self.coordinates[column].mean += more * value;
            }
            intercept.mean += intercept.constant * more;
        }
    }
}

/// Reads a number of each line of the cache that a row takes, a step before it is needed.
#[inline(always)]
fn fetch(values: &[f64], columns: &[u32], row: Range<usize>) {
    let (values, columns) = (&values[row.clone()], &columns[row]);
    let first = values.iter().step_by(LINE).fold(0.0, |sum, value| sum + value);
    let second = columns.iter().step_by(2 * LINE).fold(0, |all, column| all | column);
    black_box((first, second, values.last(), columns.last()));
}
