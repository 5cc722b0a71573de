//! Vectors and matrices as lists of numbers, a function an operation.

pub type Vector = Vec<f64>;
pub type Matrix = Vec<Vec<f64>>;

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn plus(a: &[f64], c: f64, b: &[f64]) -> Vector {
    a.iter().zip(b).map(|(a, b)| a + c * b).collect()
}

pub fn minus(a: &[f64], b: &[f64]) -> Vector {
    plus(a, -1.0, b)
}

pub fn scaled(c: f64, a: &[f64]) -> Vector {
    a.iter().map(|a| c * a).collect()
}

pub fn zeros(dim: usize) -> Matrix {
    vec![vec![0.0; dim]; dim]
}

/// `c I`.
pub fn identity(dim: usize, c: f64) -> Matrix {
    let mut identity = zeros(dim);
    for (k, row) in identity.iter_mut().enumerate() {
        row[k] = c;
    }
    identity
}

/// `a + c b`.
pub fn matrix_plus(a: &Matrix, c: f64, b: &Matrix) -> Matrix {
    a.iter().zip(b).map(|(a, b)| plus(a, c, b)).collect()
}

pub fn matrix_scaled(c: f64, a: &Matrix) -> Matrix {
    a.iter().map(|row| scaled(c, row)).collect()
}

pub fn times(a: &Matrix, x: &[f64]) -> Vector {
    a.iter().map(|row| dot(row, x)).collect()
}

pub fn transposed(a: &Matrix) -> Matrix {
    (0..a.len()).map(|column| a.iter().map(|row| row[column]).collect()).collect()
}

pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transposed(b);
    a.iter().map(|row| columns.iter().map(|column| dot(row, column)).collect()).collect()
}

/// `xᵀ a x`.
pub fn form(a: &Matrix, x: &[f64]) -> f64 {
    dot(x, &times(a, x))
}

pub fn outer(a: &[f64], b: &[f64]) -> Matrix {
    a.iter().map(|a| scaled(*a, b)).collect()
}

pub fn trace(a: &Matrix) -> f64 {
    (0..a.len()).map(|k| a[k][k]).sum()
}

/// `a⁻¹ b`, by elimination with the largest pivot of each column.
pub fn solve(a: &Matrix, b: &[f64]) -> Vector {
    let dim = b.len();
    let mut rows: Vec<Vec<f64>> = a.iter().zip(b).map(|(row, b)| [row.as_slice(), &[*b]].concat()).collect();
    for column in 0..dim {
        let pivot = (column..dim).max_by(|i, j| rows[*i][column].abs().total_cmp(&rows[*j][column].abs())).unwrap();
        rows.swap(column, pivot);
        for below in column + 1..dim {
            let factor = rows[below][column] / rows[column][column];
            rows[below] = plus(&rows[below], -factor, &rows[column]);
        }
    }
    let mut x = vec![0.0; dim];
    for row in (0..dim).rev() {
        x[row] = (rows[row][dim] - dot(&rows[row][row + 1..dim], &x[row + 1..])) / rows[row][row];
    }
    x
}

pub fn inverse(a: &Matrix) -> Matrix {
    let columns: Matrix = identity(a.len(), 1.0).iter().map(|axis| solve(a, axis)).collect();
    transposed(&columns)
}

/// The lower triangular `L` with `a = L Lᵀ`; none where `a` is not positive definite.
pub fn cholesky(a: &Matrix) -> Option<Matrix> {
    let mut lower = zeros(a.len());
    for row in 0..a.len() {
        for column in 0..=row {
            let rest = a[row][column] - dot(&lower[row][..column], &lower[column][..column]);
            if row == column && rest <= 0.0 {
                return None;
            }
            lower[row][column] = if row == column { rest.sqrt() } else { rest / lower[column][column] };
        }
    }
    Some(lower)
}
