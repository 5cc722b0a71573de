//! The inner loops over rows of the n×d table.
//!
//! Every reduction runs over [`LANES`] independent accumulators that are folded in one fixed order, with separate
//! multiplications and additions. The result is therefore the same, bit for bit, on every processor, and the
//! compiler is free to use whatever vector registers it finds.

// Named, because a benchmark has this file as a module of its own.
#[path = "kernel/square.rs"]
mod square;
#[cfg(test)]
#[path = "kernel/tests.rs"]
mod tests;

use std::{cmp::Ordering, ops::Range};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

pub(crate) use square::{Reflections, Sweep, add_product, add_symmetric_product, reflect_row, reflect_rows, turned};

const LANES: usize = 16;

/// Sums over more numbers are sums over pieces of this many, always the same ones: several threads may work on them.
const PIECE: usize = 1 << 14;

/// With fewer numbers, threads would take longer to wake than to work.
pub(crate) const FEW: usize = 1 << 16;

/// What a thread takes at a time, where there are more.
pub(crate) const SHARE: usize = 1 << 14;

/// The sum of what each piece of so many numbers comes to, in order.
#[inline(always)]
fn in_pieces(len: usize, of_piece: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
    sums_in_pieces(len, |piece| [of_piece(piece)])[0]
}

/// The same for several sums.
#[inline(always)]
fn sums_in_pieces<const SUMS: usize>(len: usize, of_piece: impl Fn(Range<usize>) -> [f64; SUMS] + Sync) -> [f64; SUMS] {
    if len <= PIECE {
        return of_piece(0..len);
    }
    let mut pieces = vec![[0.0; SUMS]; len.div_ceil(PIECE)];
    let fill = |(k, sums): (usize, &mut [f64; SUMS])| *sums = of_piece(k * PIECE..((k + 1) * PIECE).min(len));
    match len <= FEW {
        true => pieces.iter_mut().enumerate().for_each(fill),
        false => pieces.par_iter_mut().with_min_len(SHARE / PIECE).enumerate().for_each(fill),
    }
    pieces.into_iter().fold([0.0; SUMS], |sums, piece| std::array::from_fn(|k| sums[k] + piece[k]))
}

/// Calls `each` with pieces of `y` and the same pieces of the others, in several threads where there are many numbers.
#[inline(always)]
pub(crate) fn each_piece<const OTHERS: usize>(
    y: &mut [f64],
    others: [&[f64]; OTHERS],
    each: impl Fn(&mut [f64], [&[f64]; OTHERS]) + Sync,
) {
    if y.len() <= FEW {
        return each(y, others);
    }
    y.par_chunks_mut(SHARE).enumerate().for_each(|(k, y)| {
        let others = others.map(|other| &other[k * SHARE..][..y.len()]);
        each(y, others);
    });
}

/// `⟨a, b⟩`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    in_pieces(a.len(), |piece| reduce(&a[piece.clone()], &b[piece], |x, y| Product.of_numbers(x, y)))
}

/// `⟨v, to − from⟩`.
pub(crate) fn dot_with_difference(v: &[f64], from: &[f64], to: &[f64]) -> f64 {
    in_pieces(v.len(), |piece| way_of_piece(v, from, to, piece)[1])
}

/// `‖to − from‖²` and `⟨v, to − from⟩`.
pub(crate) fn way(v: &[f64], from: &[f64], to: &[f64]) -> (f64, f64) {
    let [far, along] = sums_in_pieces(v.len(), |piece| way_of_piece(v, from, to, piece));
    (far, along)
}

#[inline(always)]
fn way_of_piece(v: &[f64], from: &[f64], to: &[f64], piece: Range<usize>) -> [f64; 2] {
    let mut lanes = [[0.0; LANES]; 2];
    let [(v, v_rest), (from, from_rest), (to, to_rest)] =
        [v, from, to].map(|vector| vector[piece.clone()].as_chunks::<LANES>());
    for ((v, from), to) in v.iter().zip(from).zip(to) {
        for lane in 0..LANES {
            let way = to[lane] - from[lane];
            lanes[0][lane] += way * way;
            lanes[1][lane] += v[lane] * way;
        }
    }
    for (lane, v) in v_rest.iter().enumerate() {
        let way = to_rest[lane] - from_rest[lane];
        lanes[0][lane] += way * way;
        lanes[1][lane] += v * way;
    }
    lanes.map(fold)
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
    match vector.len() <= PIECE {
        true => Arch::new().dispatch(EveryRow(rows, vector, out, Product)),
        false => every_long_row(rows, vector, out, Product),
    }
}

/// [`dot_with_rows`] of rows in half the precision: the bits of [`dot`] with the numbers converted first.
pub(crate) fn dot_with_short_rows(rows: &[f32], vector: &[f64], out: &mut [f64]) {
    Arch::new().dispatch(EveryShortRow(rows, vector, out));
}

/// [`dot`] with a row of which only the numbers that are not zero are given, by column: to the same bits, as zeros change no
/// sum.
pub(crate) fn dot_sparse(columns: &[u32], values: &[f64], vector: &[f64]) -> f64 {
    let mut entries = columns.iter().map(|column| *column as usize).zip(values).peekable();
    let mut sum = 0.0;
    while let Some((first, _)) = entries.peek() {
        let (piece, mut lanes) = (first / PIECE, [0.0; LANES]);
        while let Some((column, value)) = entries.next_if(|(column, _)| column / PIECE == piece) {
            lanes[column % LANES] += value * vector[column];
        }
        sum += fold(lanes);
    }
    sum
}

struct EveryShortRow<'a>(&'a [f32], &'a [f64], &'a mut [f64]);

impl WithSimd for EveryShortRow<'_> {
    type Output = ();

    // Inlined into the dispatch, where the compiler finds the registers by itself.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self(rows, vector, out) = self;
        for (row, out) in rows.chunks_exact(vector.len()).zip(out) {
            *out = in_pieces(vector.len(), |piece| {
                reduce(&row[piece.clone()], &vector[piece], |x, y| Product.of_numbers(x, y))
            });
        }
    }
}

/// Writes `‖row − vector‖²` of every row into `out`, or of as many as that has: the bits of [`distance_squared`].
pub(crate) fn distance_squared_to_rows(rows: &[f64], vector: &[f64], out: &mut [f64]) {
    match vector.len() <= PIECE {
        true => Arch::new().dispatch(EveryRow(rows, vector, out, SquaredDifference)),
        false => every_long_row(rows, vector, out, SquaredDifference),
    }
}

/// What a reduction adds up: by numbers and by registers, to the same bits.
trait Term: Copy + Sync {
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
            *out = reduce_wide(simd, row, vector, term);
        }
    }
}

/// [`reduce`] in the widest registers at hand.
#[inline(always)]
fn reduce_wide<S: Simd>(simd: S, a: &[f64], b: &[f64], term: impl Term) -> f64 {
    match LANES / S::F64_LANES {
        2 => reduce_in_registers::<S, 2>(simd, a, b, term),
        4 => reduce_in_registers::<S, 4>(simd, a, b, term),
        // Registers that every processor of its kind has: the compiler finds them by itself.
        _ => reduce(a, b, |x, y| term.of_numbers(x, y)),
    }
}

/// What every row of a table comes to with a vector that is longer than a piece.
fn every_long_row(rows: &[f64], vector: &[f64], out: &mut [f64], term: impl Term) {
    for (row, out) in rows.chunks_exact(vector.len()).zip(out) {
        *out = in_pieces(vector.len(), |piece| {
            let mut sum = [0.0];
            Arch::new().dispatch(EveryRow(&row[piece.clone()], &vector[piece], &mut sum, term));
            sum[0]
        });
    }
}

/// [`dot_with_rows`] for several vectors at once, which reads the rows once: the products with all rows of one vector after those
/// of the other.
pub(crate) fn dots_with_rows(rows: &[f64], vectors: &[&[f64]]) -> Vec<f64> {
    let dim = vectors.first().map_or(1, |vector| vector.len());
    let count = rows.len() / dim.max(1);
    let mut products = vec![0.0; count * vectors.len()];
    if dim <= PIECE || count == 0 {
        for (vector, out) in vectors.iter().zip(products.chunks_mut(count.max(1))) {
            dot_with_rows(rows, vector, out);
        }
        return products;
    }
    let piece = |k: usize| {
        let (from, to) = (k * PIECE, ((k + 1) * PIECE).min(dim));
        let mut sums = vec![0.0; products.len()];
        for (row, place) in rows.chunks_exact(dim).zip(0..) {
            for (vector, number) in vectors.iter().zip(0..) {
                let sum = &mut sums[number * count + place..][..1];
                Arch::new().dispatch(EveryRow(&row[from..to], &vector[from..to], sum, Product));
            }
        }
        sums
    };
    let pieces: Vec<Vec<f64>> = (0..dim.div_ceil(PIECE)).into_par_iter().map(piece).collect();
    for sums in pieces {
        products.iter_mut().zip(sums).for_each(|(product, sum)| *product += sum);
    }
    products
}

/// `x += Σ factor · vector`, in order: the bits of [`add_scaled`] for one after the other, a piece of `x` at a time.
pub(crate) fn add_all<'a>(x: &mut [f64], terms: impl IntoIterator<Item = (f64, &'a [f64])>) {
    let few = x.len() <= FEW;
    let terms: Vec<(f64, &[f64])> = terms.into_iter().collect();
    let add = |(number, x): (usize, &mut [f64])| {
        Arch::new().dispatch(AddAll { x, from: number * PIECE, terms: &terms });
    };
    match few {
        true => x.chunks_mut(PIECE).enumerate().for_each(add),
        false => x.par_chunks_mut(PIECE).enumerate().for_each(add),
    }
}

struct AddAll<'a> {
    x: &'a mut [f64],
    from: usize,
    terms: &'a [(f64, &'a [f64])],
}

impl WithSimd for AddAll<'_> {
    type Output = ();

    // Inlined into the dispatch, where the compiler finds the registers by itself.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { x, from, terms } = self;
        // Four at a time: memory can be read at several places at once, and `x` is written a quarter as often.
        let (fours, rest) = terms.as_chunks::<4>();
        for four in fours {
            let [a, b, c, d] = four.map(|(_, vector)| &vector[from..][..x.len()]);
            let [fa, fb, fc, fd] = four.map(|(factor, _)| factor);
            for ((((x, a), b), c), d) in x.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *x = (((*x + fa * a) + fb * b) + fc * c) + fd * d;
            }
        }
        for (factor, vector) in rest {
            add_to_piece(x, *factor, &vector[from..][..x.len()]);
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
    let within = |numbers: &[f64]| numbers.iter().fold(true, |within, number| within & (number.abs() <= limit));
    if numbers.len() <= FEW { within(numbers) } else { numbers.par_chunks(SHARE).all(within) }
}

/// `y += factor · x`.
pub(crate) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    debug_assert_eq!(y.len(), x.len());
    each_piece(y, [x], |y, [x]| add_to_piece(y, factor, x));
}

#[inline(always)]
fn add_to_piece(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
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
