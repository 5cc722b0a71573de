//! Vectors and matrices, as plainly as possible.

pub type Vector = Vec<f64>;

/// Row by row.
pub type Matrix = Vec<Vector>;

/// `⟨a, b⟩`.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(p, q)| p * q).sum()
}

/// `‖a‖`.
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `a + b`.
pub fn plus(a: &[f64], b: &[f64]) -> Vector {
    a.iter().zip(b).map(|(p, q)| p + q).collect()
}

/// `a − b`.
pub fn minus(a: &[f64], b: &[f64]) -> Vector {
    a.iter().zip(b).map(|(p, q)| p - q).collect()
}

/// `c a`.
pub fn times(c: f64, a: &[f64]) -> Vector {
    a.iter().map(|p| c * p).collect()
}

/// `Σ a_j`.
pub fn sum(rows: &[Vector]) -> Vector {
    rows.iter().fold(vec![0.0; rows[0].len()], |sum, row| plus(&sum, row))
}

/// `(1/n) Σ a_j`.
pub fn mean(rows: &[Vector]) -> Vector {
    times(1.0 / rows.len() as f64, &sum(rows))
}

/// `c I`.
pub fn scaled_identity(dim: usize, c: f64) -> Matrix {
    (0..dim).map(|row| (0..dim).map(|column| if row == column { c } else { 0.0 }).collect()).collect()
}

/// `A + c B`.
pub fn matrix_plus(a: &[Vector], c: f64, b: &[Vector]) -> Matrix {
    a.iter().zip(b).map(|(a, b)| plus(a, &times(c, b))).collect()
}

/// `A x`.
pub fn apply(a: &[Vector], x: &[f64]) -> Vector {
    a.iter().map(|row| dot(row, x)).collect()
}

/// `a bᵀ`.
pub fn outer(a: &[f64], b: &[f64]) -> Matrix {
    a.iter().map(|p| times(*p, b)).collect()
}

/// `A B`.
pub fn product(a: &[Vector], b: &[Vector]) -> Matrix {
    a.iter().map(|row| sum(&row.iter().zip(b).map(|(c, b)| times(*c, b)).collect::<Vec<_>>())).collect()
}

/// `Aᵀ`.
pub fn transpose(a: &[Vector]) -> Matrix {
    (0..a[0].len()).map(|column| a.iter().map(|row| row[column]).collect()).collect()
}

/// `A⁻¹ b`, by Gaussian elimination with the largest pivot of each column.
pub fn solve(a: &[Vector], b: &[f64]) -> Vector {
    let dim = b.len();
    let mut rows: Matrix = a.iter().zip(b).map(|(row, b)| [row.as_slice(), &[*b]].concat()).collect();
    for k in 0..dim {
        let pivot = (k..dim).max_by(|p, q| rows[*p][k].abs().total_cmp(&rows[*q][k].abs())).unwrap();
        rows.swap(k, pivot);
        for row in k + 1..dim {
            let factor = rows[row][k] / rows[k][k];
            rows[row] = minus(&rows[row], &times(factor, &rows[k]));
        }
    }
    let mut x = vec![0.0; dim];
    for k in (0..dim).rev() {
        x[k] = (rows[k][dim] - dot(&rows[k][k + 1..dim], &x[k + 1..])) / rows[k][k];
    }
    x
}

/// Eigenvalues and eigenvectors of a symmetric matrix: Jacobi's rotations, one after the other, ten times over: all but the
/// diagonal is then rounding.
pub fn eigen(a: &[Vector]) -> Vec<(f64, Vector)> {
    let dim = a.len();
    let (mut a, mut vectors) = (a.to_vec(), scaled_identity(dim, 1.0));
    for _ in 0..10 {
        for p in 0..dim {
            for q in p + 1..dim {
                if a[p][q] == 0.0 {
                    continue;
                }
                let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
                let mut rotation = scaled_identity(dim, 1.0);
                (rotation[p][p], rotation[q][q]) = (angle.cos(), angle.cos());
                (rotation[p][q], rotation[q][p]) = (angle.sin(), -angle.sin());
                a = product(&transpose(&rotation), &product(&a, &rotation));
                vectors = product(&vectors, &rotation);
            }
        }
    }
    let vectors = transpose(&vectors);
    (0..dim).map(|k| (a[k][k], vectors[k].clone())).collect()
}
