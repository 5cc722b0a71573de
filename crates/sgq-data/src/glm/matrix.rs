//! Small symmetric matrices, and which of their columns depend on earlier ones.
//!
//! A symmetric matrix is *packed*: its lower half row by row, `(k, j ≤ k)` at `k(k+1)/2 + j`.

use sgq::problem::Rows;

/// How many numbers the lower half has.
pub(super) fn packed_len(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// Where row `k` of a packed matrix begins.
fn start(k: usize) -> usize {
    k * (k + 1) / 2
}

/// The number at row `k` and column `j`, whichever comes first.
pub(super) fn at(packed: &[f64], k: usize, j: usize) -> f64 {
    packed[start(k.max(j)) + k.min(j)]
}

/// `sum += factor · packed`.
pub(super) fn add(sum: &mut [f64], factor: f64, packed: &[f64]) {
    for (sum, value) in sum.iter_mut().zip(packed) {
        *sum += factor * value;
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `packed += factor · v vᵀ`.
pub(super) fn add_square(packed: &mut [f64], factor: f64, v: &[f64]) {
    for (k, value) in v.iter().enumerate() {
        add(&mut packed[start(k)..], factor * value, &v[..=k]);
    }
}

/// `packed += factor · row rowᵀ`.
pub(super) fn add_row_square(packed: &mut [f64], factor: f64, rows: &Rows, row: usize) {
    match rows {
        Rows::Dense { dim, values } => add_square(packed, factor, &values[row * dim..][..*dim]),
        Rows::Sparse { starts, columns, values, .. } => {
            let range = starts[row]..starts[row + 1];
            let (columns, values) = (&columns[range.clone()], &values[range]);
            for (k, (column, value)) in columns.iter().zip(values).enumerate() {
                let line = &mut packed[start(*column as usize)..];
                for (other, other_value) in columns[..=k].iter().zip(values) {
                    line[*other as usize] += factor * value * other_value;
                }
            }
        }
    }
}

/// `M packed Mᵀ`, packed, for a row-major square `M`.
pub(super) fn congruence(map: &[f64], packed: &[f64], dim: usize) -> Vec<f64> {
    // Row k of M·packed.
    let half: Vec<f64> = (0..dim * dim)
        .map(|cell| {
            let (k, j) = (cell / dim, cell % dim);
            (0..dim).map(|l| map[k * dim + l] * at(packed, l, j)).sum()
        })
        .collect();
    let mut image = Vec::with_capacity(packed_len(dim));
    for k in 0..dim {
        for j in 0..=k {
            image.push(dot(&half[k * dim..][..dim], &map[j * dim..][..dim]));
        }
    }
    image
}

/// `outer · inner · outer` of two packed matrices, packed.
pub(super) fn sandwich(outer: &[f64], inner: &[f64], dim: usize) -> Vec<f64> {
    congruence(&full(outer, dim), inner, dim)
}

/// The whole matrix, row-major.
pub(super) fn full(packed: &[f64], dim: usize) -> Vec<f64> {
    (0..dim * dim).map(|cell| at(packed, cell / dim, cell % dim)).collect()
}

/// The lower half of a row-major matrix, both halves averaged.
pub(super) fn pack(full: &[f64], dim: usize) -> Vec<f64> {
    let pairs = (0..dim).flat_map(|k| (0..=k).map(move |j| (k, j)));
    pairs.map(|(k, j)| 0.5 * (full[k * dim + j] + full[j * dim + k])).collect()
}

/// Cholesky's factor of a packed positive semidefinite matrix, without the columns that depend on earlier ones.
///
/// Columns are scaled to a diagonal of 1 first, and are kept in their order, as in R's `qr`: a column depends on the
/// earlier ones where what they leave of it is below the tolerance. So neither the units of the columns nor the size of
/// the matrix matters.
pub(super) struct Cholesky {
    dim: usize,
    /// `1/√diagonal`; 0 where that is zero.
    scales: Vec<f64>,
    /// The columns that do not depend on earlier ones.
    kept: Vec<usize>,
    /// Row `k` of the factor of the kept, scaled columns.
    factor: Vec<Vec<f64>>,
    /// The others, each with its combination of the kept columns before it.
    pub dependent: Vec<(usize, Vec<(usize, f64)>)>,
}

impl Cholesky {
    /// Decomposes. `tolerance` is for the square of what remains of a column, relative to its own square.
    pub fn new(packed: &[f64], dim: usize, tolerance: f64) -> Self {
        Self::judged(packed, dim, tolerance, |_, _, _| None)
    }

    /// The same, but before a column is taken for dependent `judge` sees what has been decomposed so far, the column, and
    /// its combination; it may say what remains of it instead, as the square relative to its own.
    pub fn judged(
        packed: &[f64],
        dim: usize,
        tolerance: f64,
        judge: impl Fn(&Self, usize, &[(usize, f64)]) -> Option<f64>,
    ) -> Self {
        let scale = |k: usize| {
            let diagonal = at(packed, k, k);
            if diagonal > 0.0 { 1.0 / diagonal.sqrt() } else { 0.0 }
        };
        let scales: Vec<f64> = (0..dim).map(scale).collect();
        let mut found = Self { dim, scales, kept: Vec::new(), factor: Vec::new(), dependent: Vec::new() };
        for column in 0..dim {
            let scale = found.scales[column];
            if scale == 0.0 {
                found.dependent.push((column, Vec::new()));
                continue;
            }
            let side: Vec<f64> =
                found.kept.iter().map(|other| at(packed, column, *other) * scale * found.scales[*other]).collect();
            let mut line = found.forward(&side);
            let mut pivot = 1.0 - dot(&line, &line);
            if pivot <= tolerance {
                let combination = found.backward(&line);
                let unscaled = found.kept.iter().zip(combination).map(|(k, c)| (*k, c * found.scales[*k] / scale));
                let unscaled: Vec<(usize, f64)> = unscaled.collect();
                match judge(&found, column, &unscaled) {
                    Some(remains) => pivot = remains,
                    None => {
                        found.dependent.push((column, unscaled));
                        continue;
                    }
                }
            }
            line.push(pivot.sqrt());
            found.factor.push(line);
            found.kept.push(column);
        }
        found
    }

    /// Solves `L u = side` in the kept, scaled columns.
    fn forward(&self, side: &[f64]) -> Vec<f64> {
        let mut solved: Vec<f64> = Vec::with_capacity(side.len() + 1);
        for (line, value) in self.factor.iter().zip(side) {
            let k = solved.len();
            solved.push((value - dot(&line[..k], &solved)) / line[k]);
        }
        solved
    }

    /// Solves `Lᵀ v = side` in the kept, scaled columns.
    fn backward(&self, side: &[f64]) -> Vec<f64> {
        let mut solved = side.to_vec();
        for k in (0..solved.len()).rev() {
            solved[k] /= self.factor[k][k];
            let value = solved[k];
            for (other, factor) in solved[..k].iter_mut().zip(&self.factor[k]) {
                *other -= factor * value;
            }
        }
        solved
    }

    /// A solution of `A v = side`, zero at the dependent columns.
    pub fn solve(&self, side: &[f64]) -> Vec<f64> {
        let scaled: Vec<f64> = self.kept.iter().map(|k| side[*k] * self.scales[*k]).collect();
        let mut solution = vec![0.0; self.dim];
        for (k, value) in self.kept.iter().zip(self.backward(&self.forward(&scaled))) {
            solution[*k] = value * self.scales[*k];
        }
        solution
    }

    /// `A⁻¹`, packed; for a matrix without dependent columns.
    pub fn inverse(&self) -> Vec<f64> {
        let mut inverse = Vec::with_capacity(packed_len(self.dim));
        // Row k needs columns up to k of the symmetric inverse: the first k + 1 numbers of the solution for unit vector k.
        for k in 0..self.dim {
            let mut unit = vec![0.0; self.dim];
            unit[k] = 1.0;
            inverse.extend(&self.solve(&unit)[..=k]);
        }
        inverse
    }

    /// Vectors that span the null space: for each dependent column, the column less its combination of the kept ones.
    pub fn null_vectors(&self) -> Vec<Vec<f64>> {
        let vector = |(column, combination): &(usize, Vec<(usize, f64)>)| {
            let mut vector = vec![0.0; self.dim];
            vector[*column] = 1.0;
            combination.iter().for_each(|(k, c)| vector[*k] = -c);
            vector
        };
        self.dependent.iter().map(vector).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 6] = [4.0, 2.0, 5.0, -2.0, 3.0, 9.0];

    #[test]
    fn inverse_undoes() {
        let inverse = Cholesky::new(&A, 3, 1e-12).inverse();
        for k in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|l| at(&A, k, l) * at(&inverse, l, j)).sum();
                assert!((product - f64::from(u8::from(k == j))).abs() < 1e-14);
            }
        }
        let same = sandwich(&inverse, &A, 3);
        assert!(same.iter().zip(&inverse).all(|(a, b)| (a - b).abs() < 1e-14));
        assert_eq!(pack(&full(&A, 3), 3), A);
    }

    #[test]
    fn dependent_columns_are_found_in_any_units() {
        // Columns a, b, 1e8 (a + 2b), 0.
        let (a, b) = ([1.0, 2.0, 0.5, 1.0], [0.0, 1.0, 1.0, -1.0]);
        let mut gram = vec![0.0; packed_len(4)];
        for r in 0..4 {
            add_square(&mut gram, 1.0, &[a[r], b[r], 1e8 * (a[r] + 2.0 * b[r]), 0.0]);
        }
        let found = Cholesky::new(&gram, 4, 1e-12);
        assert_eq!(found.kept, [0, 1]);
        let (column, combination) = &found.dependent[0];
        assert_eq!(*column, 2);
        assert!((combination[0].1 / 1e8 - 1.0).abs() < 1e-12 && (combination[1].1 / 2e8 - 1.0).abs() < 1e-12);
        assert_eq!(found.dependent[1], (3, vec![]));
        let null = found.null_vectors();
        assert!((null[0][0] / -1e8 - 1.0).abs() < 1e-12 && null[0][2] == 1.0 && null[1] == [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn sparse_rows_give_the_same_square() {
        let dense = Rows::Dense { dim: 3, values: vec![0.0, 2.0, -1.0] };
        let sparse = Rows::Sparse { dim: 3, starts: vec![0, 2], columns: vec![1, 2], values: vec![2.0, -1.0] };
        let (mut one, mut other) = (vec![0.0; 6], vec![0.0; 6]);
        add_row_square(&mut one, 1.5, &dense, 0);
        add_row_square(&mut other, 1.5, &sparse, 0);
        assert_eq!(one, other);
    }
}
