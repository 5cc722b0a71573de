//! Loops over square matrices: products, and what an eigenvalue solver does most of the time.

use std::cmp::Ordering;

use pulp::{Arch, Simd, WithSimd};

use super::{LANES, dot, fold_registers};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
