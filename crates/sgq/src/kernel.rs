//! The inner loops over rows of the n×d table.
//!
//! Every reduction runs over [`LANES`] independent accumulators that are folded in one fixed order, with separate
//! multiplications and additions. The result is therefore the same, bit for bit, on every processor, and the
//! compiler is free to use whatever vector registers it finds.

use std::cmp::Ordering;

use pulp::{Arch, Simd, WithSimd};

const LANES: usize = 16;

/// `⟨a, b⟩`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    reduce(a, b, |x, y| Product.of_numbers(x, y))
}

/// The sum of all numbers.
pub(crate) fn sum(numbers: &[f64]) -> f64 {
    reduce(numbers, numbers, |x, _| x)
}

/// `‖a‖²`.
pub(crate) fn norm_squared(a: &[f64]) -> f64 {
    dot(a, a)
}

/// `‖a‖`, also where its square is past what numbers can hold.
pub(crate) fn norm(a: &[f64]) -> f64 {
    let squared = norm_squared(a);
    if squared.is_normal() {
        return squared.sqrt();
    }
    if squared.is_nan() {
        return squared;
    }
    let largest = a.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let scaled: f64 = a.iter().map(|x| (x / largest) * (x / largest)).sum();
    largest * scaled.sqrt()
}

/// `‖a − b‖²`, in the widest registers at hand.
pub(crate) fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    let mut squared = [0.0];
    distance_squared_to_rows(a, b, &mut squared);
    squared[0]
}

/// `‖a − b‖`.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    distance_squared(a, b).sqrt()
}

#[inline(always)]
fn reduce<A: Copy + Into<f64>>(a: &[A], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += term(x[lane].into(), y[lane]);
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += term((*x).into(), *y);
    }
    fold(lanes)
}

/// Adds the lanes up, always in the same order.
#[inline(always)]
fn fold(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Writes `⟨row, vector⟩` of every row into `out`: the bits of [`dot`], in the widest registers at hand.
pub(crate) fn dot_with_rows(rows: &[f64], vector: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(EveryRow(rows, vector, out, Product));
}

/// [`dot_with_rows`] of rows in half the precision: the bits of [`dot`] with the numbers converted first.
pub(crate) fn dot_with_short_rows(rows: &[f32], vector: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(EveryShortRow(rows, vector, out));
}

/// [`dot`] with a row of which only the numbers that are not zero are given, by column: to the same bits, as zeros change no
/// sum.
pub(crate) fn dot_sparse(columns: &[u32], values: &[f64], vector: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for (column, value) in columns.iter().zip(values) {
        let column = *column as usize;
        lanes[column % LANES] += value * vector[column];
    }
    fold(lanes)
}

struct EveryShortRow<'a>(&'a [f32], &'a [f64], &'a mut [f64]);

impl WithSimd for EveryShortRow<'_> {
    type Output = ();

    // Inlined into the dispatch, where the compiler finds the registers by itself.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self(rows, vector, out) = self;
        for (row, out) in rows.chunks_exact(vector.len()).zip(out) {
            *out = reduce(row, vector, |x, y| Product.of_numbers(x, y));
        }
    }
}

/// Writes `‖row − vector‖²` of every row into `out`, or of as many as that has: the bits of [`distance_squared`].
pub(crate) fn distance_squared_to_rows(rows: &[f64], vector: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(EveryRow(rows, vector, out, SquaredDifference));
}

/// What a reduction adds up: by numbers and by registers, to the same bits.
trait Term: Copy {
    fn of_numbers(self, x: f64, y: f64) -> f64;
    fn of_registers<S: Simd>(self, simd: S, x: S::f64s, y: S::f64s) -> S::f64s;
}

#[derive(Clone, Copy)]
struct Product;

impl Term for Product {
    #[inline(always)]
    fn of_numbers(self, x: f64, y: f64) -> f64 {
        x * y
    }

    #[inline(always)]
    fn of_registers<S: Simd>(self, simd: S, x: S::f64s, y: S::f64s) -> S::f64s {
        simd.mul_f64s(x, y)
    }
}

#[derive(Clone, Copy)]
struct SquaredDifference;

impl Term for SquaredDifference {
    #[inline(always)]
    fn of_numbers(self, x: f64, y: f64) -> f64 {
        (x - y) * (x - y)
    }

    #[inline(always)]
    fn of_registers<S: Simd>(self, simd: S, x: S::f64s, y: S::f64s) -> S::f64s {
        let difference = simd.sub_f64s(x, y);
        simd.mul_f64s(difference, difference)
    }
}

struct EveryRow<'a, T>(&'a [f64], &'a [f64], &'a mut [f64], T);

impl<T: Term> WithSimd for EveryRow<'_, T> {
    type Output = ();

    // Everything below the dispatch must be inlined into it, or it is compiled for the oldest processor.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(rows, vector, out, term) = self;
        for (row, out) in rows.chunks_exact(vector.len()).zip(out) {
            *out = match LANES / S::F64_LANES {
                2 => reduce_in_registers::<S, 2>(simd, row, vector, term),
                4 => reduce_in_registers::<S, 4>(simd, row, vector, term),
                // Registers that every processor of its kind has: the compiler finds them by itself.
                _ => reduce(row, vector, |x, y| term.of_numbers(x, y)),
            };
        }
    }
}

/// [`reduce`] with its lanes in that many registers. What is missing at the end of a row counts as zeros, which change
/// no sum: a lane starts at +0 and can never become −0.
#[inline(always)]
fn reduce_in_registers<S: Simd, const REGISTERS: usize>(simd: S, a: &[f64], b: &[f64], term: impl Term) -> f64 {
    let (a_registers, a_rest) = S::as_simd_f64s(a);
    let (b_registers, b_rest) = S::as_simd_f64s(b);
    let (a_blocks, a_registers) = a_registers.as_chunks::<REGISTERS>();
    let (b_blocks, b_registers) = b_registers.as_chunks::<REGISTERS>();
    let mut lanes = [simd.splat_f64s(0.0); REGISTERS];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for register in 0..REGISTERS {
            let term = term.of_registers(simd, x[register], y[register]);
            lanes[register] = simd.add_f64s(lanes[register], term);
        }
    }
    let whole = a_registers.len();
    // Over all registers with a condition, not over the remaining ones: an index unknown to the compiler would put the
    // lanes into memory.
    for register in 0..REGISTERS {
        let (x, y) = match register.cmp(&whole) {
            Ordering::Less => (a_registers[register], b_registers[register]),
            Ordering::Equal if !a_rest.is_empty() => (simd.partial_load_f64s(a_rest), simd.partial_load_f64s(b_rest)),
            _ => break,
        };
        lanes[register] = simd.add_f64s(lanes[register], term.of_registers(simd, x, y));
    }
    fold_registers(simd, lanes)
}

/// [`fold`] of lanes in registers.
#[inline(always)]
fn fold_registers<S: Simd, const REGISTERS: usize>(simd: S, mut lanes: [S::f64s; REGISTERS]) -> f64 {
    let mut width = REGISTERS / 2;
    while width > 0 {
        for register in 0..width {
            lanes[register] = simd.add_f64s(lanes[register], lanes[register + width]);
        }
        width /= 2;
    }
    simd.reduce_sum_f64s(lanes[0])
}

/// `‖a − factor · b‖`.
pub(crate) fn distance_from_multiple(a: &[f64], factor: f64, b: &[f64]) -> f64 {
    reduce(a, b, |x, y| SquaredDifference.of_numbers(x, factor * y)).sqrt()
}

/// Whether no number is larger than `limit` in absolute value, and all are numbers. All are looked at, many at a time: to
/// stop at the first would take longer.
pub(crate) fn all_within(numbers: &[f64], limit: f64) -> bool {
    numbers.iter().fold(true, |within, number| within & (number.abs() <= limit))
}

/// `y += factor · x`.
pub(crate) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    debug_assert_eq!(y.len(), x.len());
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// `product += left · right`, all square with rows of that length. Every entry adds up its terms in order, so that it has the bits of
/// the plain loops; a few rows and columns at a time stay in registers.
pub(crate) fn add_product(product: &mut [f64], left: &[f64], right: &[f64], dim: usize) {
    Arch::new().dispatch(AddProduct { product, left, right, dim, is_symmetric: false });
}

/// [`add_product`] where the product is known to be symmetric: the lower half is computed.
pub(crate) fn add_symmetric_product(product: &mut [f64], left: &[f64], right: &[f64], dim: usize) {
    Arch::new().dispatch(AddProduct { product, left, right, dim, is_symmetric: true });
    for row in 0..dim {
        for column in row + 1..dim {
            product[row * dim + column] = product[column * dim + row];
        }
    }
}

struct AddProduct<'a> {
    product: &'a mut [f64],
    left: &'a [f64],
    right: &'a [f64],
    dim: usize,
    is_symmetric: bool,
}

impl WithSimd for AddProduct<'_> {
    type Output = ();

    // Inlined into the dispatch, where the compiler finds the registers by itself.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { product, left, right, dim, is_symmetric } = self;
        let mut row = 0;
        while row < dim {
            let rows = if dim - row >= 4 { 4 } else { 1 };
            let columns = if is_symmetric { row + rows } else { dim };
            let mut column = 0;
            while column < columns {
                column += match (rows, dim - column) {
                    (4, 8..) => tile::<4, 8>(product, left, right, dim, row, column),
                    (4, 4..) => tile::<4, 4>(product, left, right, dim, row, column),
                    (4, _) => tile::<4, 1>(product, left, right, dim, row, column),
                    (_, 8..) => tile::<1, 8>(product, left, right, dim, row, column),
                    _ => tile::<1, 1>(product, left, right, dim, row, column),
                };
            }
            row += rows;
        }
    }
}

/// So many rows and columns of a product; returns how many columns.
#[inline(always)]
fn tile<const ROWS: usize, const COLUMNS: usize>(
    product: &mut [f64],
    left: &[f64],
    right: &[f64],
    dim: usize,
    row: usize,
    column: usize,
) -> usize {
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for (r, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&product[(row + r) * dim + column..][..COLUMNS]);
    }
    let rows: [&[f64]; ROWS] = std::array::from_fn(|r| &left[(row + r) * dim..][..dim]);
    for middle in 0..dim {
        let across: &[f64] = &right[middle * dim + column..][..COLUMNS];
        for (sums, row) in sums.iter_mut().zip(rows) {
            let factor = row[middle];
            for (sum, value) in sums.iter_mut().zip(across) {
                *sum += factor * value;
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        product[(row + r) * dim + column..][..COLUMNS].copy_from_slice(sums);
    }
    COLUMNS
}

/// `row −= v · w′ + w · v′`, where `v` and `w` are the row's own numbers, and `v′` and `w′` everybody's.
pub(crate) fn reflect_row(row: &mut [f64], (v, w): (f64, f64), (all_v, all_w): (&[f64], &[f64])) {
    for (entry, (other_v, other_w)) in row.iter_mut().zip(all_v.iter().zip(all_w)) {
        *entry = *entry - v * other_w - w * other_v;
    }
}

/// [`reflect_row`] for all rows from `first` on, from column `start` on, and then the product of each with the last of the vectors,
/// which all begin at that column.
pub(crate) fn reflect_rows(
    matrix: &mut [f64],
    dim: usize,
    start: usize,
    first: usize,
    vectors: (&[f64], &[f64], &[f64]),
    products: &mut [f64],
) {
    Arch::new().dispatch(ReflectRows { matrix, dim, start, first, vectors, products });
}

struct ReflectRows<'a> {
    matrix: &'a mut [f64],
    dim: usize,
    start: usize,
    first: usize,
    vectors: (&'a [f64], &'a [f64], &'a [f64]),
    products: &'a mut [f64],
}

impl WithSimd for ReflectRows<'_> {
    type Output = ();

    // Inlined into the dispatch, or it is compiled for the oldest processor.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { matrix, dim, start, first, vectors, products } = self;
        for row in first..dim {
            let own = (vectors.0[row - start], vectors.1[row - start]);
            let entries = &mut matrix[row * dim + start..(row + 1) * dim];
            products[row - start] = match LANES / S::F64_LANES {
                2 => reflect_in_registers::<S, 2>(simd, entries, own, vectors),
                4 => reflect_in_registers::<S, 4>(simd, entries, own, vectors),
                _ => {
                    reflect_row(entries, own, (vectors.0, vectors.1));
                    dot(entries, vectors.2)
                }
            };
        }
    }
}

/// [`reflect_row`] and [`dot`] at once, to the same bits.
#[inline(always)]
fn reflect_in_registers<S: Simd, const REGISTERS: usize>(
    simd: S,
    row: &mut [f64],
    (v, w): (f64, f64),
    (all_v, all_w, mirror): (&[f64], &[f64], &[f64]),
) -> f64 {
    let (v, w) = (simd.splat_f64s(v), simd.splat_f64s(w));
    let reflected = |entry: S::f64s, other_v: S::f64s, other_w: S::f64s| {
        simd.sub_f64s(simd.sub_f64s(entry, simd.mul_f64s(v, other_w)), simd.mul_f64s(w, other_v))
    };
    let (entries, entries_rest) = S::as_mut_simd_f64s(row);
    let [(v_all, v_rest), (w_all, w_rest), (mirrors, mirror_rest)] = [all_v, all_w, mirror].map(S::as_simd_f64s);
    let (blocks, entries) = entries.as_chunks_mut::<REGISTERS>();
    let (v_blocks, v_all) = v_all.as_chunks::<REGISTERS>();
    let (w_blocks, w_all) = w_all.as_chunks::<REGISTERS>();
    let (mirror_blocks, mirrors) = mirrors.as_chunks::<REGISTERS>();
    let mut lanes = [simd.splat_f64s(0.0); REGISTERS];
    for (((block, v), w), mirror) in blocks.iter_mut().zip(v_blocks).zip(w_blocks).zip(mirror_blocks) {
        for register in 0..REGISTERS {
            block[register] = reflected(block[register], v[register], w[register]);
            lanes[register] = simd.add_f64s(lanes[register], simd.mul_f64s(block[register], mirror[register]));
        }
    }
    let whole = entries.len();
    // As in `reduce_in_registers`.
    for register in 0..REGISTERS {
        let product = match register.cmp(&whole) {
            Ordering::Less => {
                entries[register] = reflected(entries[register], v_all[register], w_all[register]);
                simd.mul_f64s(entries[register], mirrors[register])
            }
            Ordering::Equal if !entries_rest.is_empty() => {
                let [v, w, mirror] = [v_rest, w_rest, mirror_rest].map(|rest| simd.partial_load_f64s(rest));
                let entry = reflected(simd.partial_load_f64s(entries_rest), v, w);
                simd.partial_store_f64s(entries_rest, entry);
                simd.mul_f64s(entry, mirror)
            }
            _ => break,
        };
        lanes[register] = simd.add_f64s(lanes[register], product);
    }
    fold_registers(simd, lanes)
}

/// Reflections `I − factor · v vᵀ`: row `k` of the square matrix has `v` from column `k + 1` on, and a factor of zero means none.
pub(crate) struct Reflections<'a> {
    pub mirrors: &'a [f64],
    pub factors: &'a [f64],
}

/// Rotations of columns `k` and `k + 1` by a sine and a cosine: from `k + 1 = last` downwards.
pub(crate) struct Sweep {
    pub last: usize,
    pub turns: Vec<(f64, f64)>,
}

/// Writes the product of all reflections and rotations, in order, into a square matrix; columns in the order that is given.
pub(crate) fn turned(out: &mut [f64], reflections: &Reflections<'_>, sweeps: &[Sweep], order: &[usize]) {
    let dim = order.len();
    for (block, rows) in out.chunks_mut((LANES * dim).max(1)).enumerate() {
        Arch::new().dispatch(Turned { first: block * LANES, rows, reflections, sweeps, order });
    }
}

/// A few rows of that.
struct Turned<'a> {
    first: usize,
    rows: &'a mut [f64],
    reflections: &'a Reflections<'a>,
    sweeps: &'a [Sweep],
    order: &'a [usize],
}

impl WithSimd for Turned<'_> {
    type Output = ();

    // Inlined into the dispatch, or it is compiled for the oldest processor.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { first, rows, reflections, sweeps, order } = self;
        let dim = order.len();
        // Column by column: a lane is a row.
        let mut columns = vec![0.0; LANES * dim];
        for lane in 0..LANES.min(dim - first) {
            columns[(first + lane) * LANES + lane] = 1.0;
        }
        let (registers, _) = S::as_mut_simd_f64s(&mut columns);
        match LANES / S::F64_LANES {
            2 => turn_in_registers::<S, 2>(simd, registers.as_chunks_mut().0, reflections, sweeps),
            4 => turn_in_registers::<S, 4>(simd, registers.as_chunks_mut().0, reflections, sweeps),
            8 => turn_in_registers::<S, 8>(simd, registers.as_chunks_mut().0, reflections, sweeps),
            _ => turn_in_registers::<S, 16>(simd, registers.as_chunks_mut().0, reflections, sweeps),
        }
        for (lane, row) in rows.chunks_exact_mut(dim).enumerate() {
            for (entry, from) in row.iter_mut().zip(order) {
                *entry = columns[from * LANES + lane];
            }
        }
    }
}

#[inline(always)]
fn turn_in_registers<S: Simd, const REGISTERS: usize>(
    simd: S,
    columns: &mut [[S::f64s; REGISTERS]],
    Reflections { mirrors, factors }: &Reflections<'_>,
    sweeps: &[Sweep],
) {
    let dim = factors.len();
    for (k, factor) in factors.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
        let (columns, mirror) = (&mut columns[k + 1..], &mirrors[k * dim..][k + 1..dim]);
        let mut along = [simd.splat_f64s(0.0); REGISTERS];
        for (column, v) in columns.iter().zip(mirror) {
            let v = simd.splat_f64s(*v);
            for register in 0..REGISTERS {
                along[register] = simd.add_f64s(along[register], simd.mul_f64s(v, column[register]));
            }
        }
        let factor = simd.splat_f64s(*factor);
        for along in &mut along {
            *along = simd.mul_f64s(*along, factor);
        }
        for (column, v) in columns.iter_mut().zip(mirror) {
            let v = simd.splat_f64s(*v);
            for register in 0..REGISTERS {
                column[register] = simd.sub_f64s(column[register], simd.mul_f64s(v, along[register]));
            }
        }
    }
    for Sweep { last, turns } in sweeps {
        let columns = &mut columns[last - turns.len()..=*last];
        let Some((lowest, uppers)) = columns.split_last_mut() else { continue };
        // Each column is loaded once and written once: it stays in registers in between.
        let mut lower = *lowest;
        let mut place = lowest;
        for (upper, (sine, cosine)) in uppers.iter_mut().rev().zip(turns) {
            let (sine, cosine) = (simd.splat_f64s(*sine), simd.splat_f64s(*cosine));
            for register in 0..REGISTERS {
                let (above, below) = (upper[register], lower[register]);
                place[register] = simd.add_f64s(simd.mul_f64s(sine, above), simd.mul_f64s(cosine, below));
                lower[register] = simd.sub_f64s(simd.mul_f64s(cosine, above), simd.mul_f64s(sine, below));
            }
            place = upper;
        }
        *place = lower;
    }
}

/// Writes the mean of the rows into `mean`, adding them in order.
pub(crate) fn mean_of_rows(rows: &[f64], mean: &mut [f64]) {
    mean.fill(0.0);
    let count = rows.len() / mean.len();
    for row in rows.chunks_exact(mean.len()) {
        add_scaled(mean, 1.0, row);
    }
    for value in mean {
        *value /= count as f64;
    }
}

/// The index of the largest score; the lowest one among equals. Scores that are not a number never win, and `None`
/// means that there was no other.
pub(crate) fn argmax(scores: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let mut best = (None, f64::NEG_INFINITY);
    for (index, score) in scores.clone().enumerate() {
        if score > best.1 {
            best = (Some(index), score);
        }
    }
    // Nobody is above −∞: the first who is not NaN is exactly there.
    best.0.or_else(|| scores.clone().position(|score| !score.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_match_the_plain_sum_at_every_length() {
        for length in 1..70 {
            let a: Vec<f64> = (0..length).map(|i| (i as f64 * 0.7).sin()).collect();
            let b: Vec<f64> = (0..length).map(|i| (i as f64 * 1.3).cos()).collect();
            let plain_dot: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let plain_distance: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
            assert!((dot(&a, &b) - plain_dot).abs() <= 1e-13);
            assert!((distance_squared(&a, &b) - plain_distance).abs() <= 1e-12);
        }
    }

    #[test]
    fn whole_tables_give_the_bits_of_single_rows() {
        for length in 1..70 {
            let numbers =
                |scale: f64, count: usize| -> Vec<f64> { (0..count).map(|i| (i as f64 * scale).sin()).collect() };
            let (rows, vector) = (numbers(0.7, 3 * length), numbers(1.3, length));
            let mut dots = [0.0; 3];
            dot_with_rows(&rows, &vector, &mut dots);
            for (index, row) in rows.chunks_exact(length).enumerate() {
                assert_eq!(dots[index].to_bits(), dot(row, &vector).to_bits());
                let distance = reduce(row, &vector, |x, y| SquaredDifference.of_numbers(x, y));
                assert_eq!(distance_squared(row, &vector).to_bits(), distance.to_bits());
            }
        }
    }

    #[test]
    fn short_and_sparse_rows_give_the_bits_of_long_ones() {
        for length in 1..70 {
            let rows: Vec<f32> = (0..3 * length).map(|i| (i as f32 * 0.7).sin()).collect();
            let vector: Vec<f64> = (0..length).map(|i| (i as f64 * 1.3).cos()).collect();
            let mut dots = [0.0; 3];
            dot_with_short_rows(&rows, &vector, &mut dots);
            for (found, row) in dots.iter().zip(rows.chunks_exact(length)) {
                let mut row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
                assert_eq!(found.to_bits(), dot(&row, &vector).to_bits());
                row.iter_mut().enumerate().for_each(|(i, x)| *x *= f64::from(i % 3 == 1));
                let columns: Vec<u32> = (0..length as u32).filter(|i| row[*i as usize] != 0.0).collect();
                let values: Vec<f64> = columns.iter().map(|i| row[*i as usize]).collect();
                assert_eq!(dot_sparse(&columns, &values, &vector).to_bits(), dot(&row, &vector).to_bits());
            }
        }
    }

    #[test]
    fn rows_reflected_together_have_the_bits_of_single_ones() {
        for dim in 1..70 {
            let numbers =
                |scale: f64, count: usize| -> Vec<f64> { (0..count).map(|i| (i as f64 * scale).sin()).collect() };
            let [v, w, mirror] = [0.7, 1.3, 1.7].map(|scale| numbers(scale, dim));
            let (mut matrix, first) = (numbers(0.3, dim * dim), dim / 3);
            let (mut expected, mut products) = (matrix.clone(), vec![0.0; dim]);
            reflect_rows(&mut matrix, dim, 0, first, (&v, &w, &mirror), &mut products);
            for (k, row) in expected.chunks_exact_mut(dim).enumerate().skip(first) {
                reflect_row(row, (v[k], w[k]), (&v, &w));
                assert_eq!(products[k].to_bits(), dot(row, &mirror).to_bits());
            }
            assert_eq!(matrix, expected);
        }
    }

    #[test]
    fn limits_hold_for_every_number() {
        assert!(all_within(&[1.0, -2.0, 0.0], 2.0) && all_within(&[], 0.0));
        for wrong in [2.1, -2.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for position in 0..20 {
                let mut numbers = [1.0; 20];
                numbers[position] = wrong;
                assert!(!all_within(&numbers, 2.0));
                assert_eq!(all_within(&numbers, f64::MAX), wrong.is_finite());
            }
        }
    }

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        assert_eq!(norm(&[3.0, 4.0]), 5.0);
        assert!((norm(&[3e-170, 4e-170]) / 5e-170 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert_eq!(norm(&[0.0, 0.0]), 0.0);
    }

    #[test]
    fn argmax_prefers_the_lowest_index_and_skips_nan() {
        assert_eq!(argmax([1.0, 3.0, 3.0].into_iter()), Some(1));
        assert_eq!(argmax([f64::NAN, 2.0, f64::NAN].into_iter()), Some(1));
        assert_eq!(argmax([f64::NAN, f64::NEG_INFINITY].into_iter()), Some(1));
        assert_eq!(argmax([f64::NAN, f64::NAN].into_iter()), None);
        assert_eq!(argmax([-1.0, -1.0].into_iter()), Some(0));
    }
}
