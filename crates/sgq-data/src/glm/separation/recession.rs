//! Recession directions of a logistic loss, and their proof.

use sgq::problem::Rows;

use super::{
    super::{
        Observations,
        matrix::{self, Cholesky},
    },
    ROUNDING, VISIBLE,
};

/// Newton's method takes a dozen steps where there is an optimum, and one for each unit of the margins where there is none.
const STEPS: usize = 100;

/// Where no margin moves by more, Newton's method has converged: without an optimum, some move by about 1 in each step.
const STANDSTILL: f64 = 1e-6;

/// A row's part in a direction that is below one of these, relative to the largest, is tried as rounding. The direction
/// without that part must then pass the checks.
const ROUNDING_TRIED: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];

/// What is left of a column, squared, by which rows that must stay are said to determine it.
const DETERMINED: f64 = 1e-12;

/// The directions sought: `a_r·δ ≥ 0` for some rows, `x_r·δ = 0` for others.
#[derive(Clone)]
pub(super) struct Cone<'a> {
    rows: &'a Rows,
    /// The rows that may move, each with its sign: `a_r = sign · x_r`.
    free: Vec<(usize, f64)>,
    /// The rows that must stay.
    fixed: Vec<usize>,
    /// `Σ x_r x_rᵀ` over those, packed.
    gram: Vec<f64>,
    /// Each column's length over all rows.
    lengths: Vec<f64>,
}

/// What was found.
pub(super) enum Outcome {
    /// A direction that was checked.
    Direction(Vec<f64>),
    /// There is none.
    None,
    /// Neither.
    Undecided { steps: usize },
}

impl<'a> Cone<'a> {
    pub fn new(data: &Observations<'a>, counts: bool) -> Self {
        let rows = data.rows;
        let dim = rows.dim();
        let gram = vec![0.0; matrix::packed_len(dim)];
        let mut cone = Self { rows, free: Vec::new(), fixed: Vec::new(), gram, lengths: vec![0.0; dim] };
        for row in data.used(data.all()) {
            cone.add_squares(row);
            let target = data.targets[row];
            if counts && target > 0.0 {
                matrix::add_row_square(&mut cone.gram, 1.0, rows, row);
                cone.fixed.push(row);
            } else {
                cone.free.push((row, if counts { -1.0 } else { target }));
            }
        }
        cone.lengths.iter_mut().for_each(|length| *length = length.sqrt());
        cone
    }

    /// Adds a row's squares to the columns' lengths.
    fn add_squares(&mut self, row: usize) {
        match self.rows {
            Rows::Dense { dim, values } => {
                let row = &values[row * dim..][..*dim];
                self.lengths.iter_mut().zip(row).for_each(|(length, x)| *length += x * x);
            }
            Rows::Sparse { starts, columns, values, .. } => {
                let range = starts[row]..starts[row + 1];
                let row = columns[range.clone()].iter().zip(&values[range]);
                row.for_each(|(column, x)| self.lengths[*column as usize] += x * x);
            }
        }
    }

    /// The direction without what is rounding compared with the rest of it: beside a zero, rounding would look like much.
    fn cleaned(&self, direction: &[f64]) -> Vec<f64> {
        let size = |(d, length): (&f64, &f64)| (d * length).abs();
        let largest = direction.iter().zip(&self.lengths).map(size).fold(0.0, f64::max);
        let clean = |(d, length)| if size((d, length)) <= VISIBLE * largest { 0.0 } else { *d };
        direction.iter().zip(&self.lengths).map(clean).collect()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.free.len() + self.fixed.len()
    }

    /// The rows that a direction moves.
    pub fn separated(&self, direction: &[f64]) -> Vec<usize> {
        let moved = |row: &usize| {
            let (value, size) = self.product(*row, direction);
            value.abs() > VISIBLE * size
        };
        self.free.iter().map(|(row, _)| *row).filter(moved).collect()
    }

    /// Goes on without these rows, given in order.
    pub fn leave_out(&mut self, rows: &[usize]) {
        self.free.retain(|(row, _)| rows.binary_search(row).is_err());
    }

    /// `x_r·δ`, and the sum of its terms without signs.
    fn product(&self, row: usize, direction: &[f64]) -> (f64, f64) {
        let (mut value, mut size) = (0.0, 0.0);
        let mut take = |term: f64| {
            value += term;
            size += term.abs();
        };
        match self.rows {
            Rows::Dense { dim, values } => {
                values[row * dim..][..*dim].iter().zip(direction).for_each(|(x, d)| take(x * d));
            }
            Rows::Sparse { starts, columns, values, .. } => {
                let range = starts[row]..starts[row + 1];
                columns[range.clone()].iter().zip(&values[range]).for_each(|(k, x)| take(x * direction[*k as usize]));
            }
        }
        (value, size)
    }

    /// The proof, row by row.
    fn certifies(&self, direction: &[f64]) -> bool {
        let mut some = false;
        for (row, sign) in &self.free {
            let (value, size) = self.product(*row, direction);
            if sign * value < -ROUNDING * size {
                return false;
            }
            some |= sign * value > VISIBLE * size;
        }
        let stays = |row: &usize| {
            let (value, size) = self.product(*row, direction);
            value.abs() <= ROUNDING * size
        };
        some && self.fixed.iter().all(stays)
    }

    /// A direction in the cone that is orthogonal to the vectors held, and moves all rows that can be moved.
    ///
    /// A direction `δ` may leave rows where they are that another, `δ'`, moves without looking at those that `δ` has moved.
    /// `tδ + δ'` then moves both, for a `t` large enough.
    pub fn widest(&self, held: &[&[f64]]) -> Outcome {
        let mut left = self.clone();
        let mut widest: Option<Vec<f64>> = None;
        loop {
            let next = match (left.recession(held), widest.take()) {
                (Outcome::Direction(next), None) => next,
                (Outcome::Direction(next), Some(widest)) => {
                    let both = self.both(&widest, &next);
                    let wider = self.separated(&both).len() > self.separated(&widest).len();
                    if !(wider && self.certifies(&both)) {
                        return Outcome::Direction(widest);
                    }
                    both
                }
                (_, Some(widest)) => return Outcome::Direction(widest),
                (outcome, None) => return outcome,
            };
            left.leave_out(&self.separated(&next));
            widest = Some(next);
        }
    }

    /// `tδ + δ'`, with twice the `t` that no row moves back for.
    fn both(&self, first: &[f64], second: &[f64]) -> Vec<f64> {
        let needed = self.free.iter().filter_map(|(row, sign)| {
            let (value, size) = self.product(*row, first);
            (value.abs() > VISIBLE * size).then(|| -sign * self.product(*row, second).0 / value.abs())
        });
        let factor = 2.0 * needed.fold(0.0, f64::max);
        first.iter().zip(second).map(|(a, b)| factor * a + b).collect()
    }

    /// A direction in the cone that is orthogonal to the vectors held.
    fn recession(&self, held: &[&[f64]]) -> Outcome {
        let dim = self.rows.dim();
        let mut gram = self.gram.clone();
        let trace: f64 = (0..dim).map(|k| matrix::at(&gram, k, k)).sum();
        for vector in held {
            // As long as the rows, so that neither is lost in the other's rounding.
            let square = matrix::dot(vector, vector);
            let wanted = if trace > 0.0 { trace / dim as f64 } else { 1.0 };
            if square > 0.0 {
                matrix::add_square(&mut gram, wanted / square, vector);
            }
        }
        let basis = Cholesky::new(&gram, dim, DETERMINED).null_vectors();
        let basis = basis.iter().map(|vector| self.cleaned(vector)).collect();
        let Some(table) = Table::new(self, basis) else {
            return Outcome::None;
        };
        table.recession(self)
    }
}

/// The rows that may move, in coordinates of the directions in which the others stay.
struct Table {
    basis: Vec<Vec<f64>>,
    /// `a_r · basis_k`, row by row.
    values: Vec<f64>,
}

impl Table {
    /// None where no row can move.
    fn new(cone: &Cone<'_>, mut basis: Vec<Vec<f64>>) -> Option<Self> {
        let coordinates = |basis: &[Vec<f64>]| {
            let mut values = Vec::with_capacity(cone.free.len() * basis.len());
            for (row, sign) in &cone.free {
                values.extend(basis.iter().map(|vector| {
                    let (value, size) = cone.product(*row, vector);
                    if value.abs() <= ROUNDING * size { 0.0 } else { sign * value }
                }));
            }
            values
        };
        let values = coordinates(&basis);
        if values.iter().all(|value| *value == 0.0) {
            return None;
        }
        // Directions in which no row moves, and those that others make up for.
        let table = Self { values, basis };
        let gram = table.gram(|_| 1.0);
        let dim = table.dim();
        let factor = Cholesky::new(&gram, dim, DETERMINED);
        let dropped: Vec<usize> = factor.dependent.iter().map(|(column, _)| *column).collect();
        basis = table.basis;
        let kept: Vec<usize> = (0..dim).filter(|k| !dropped.contains(k)).collect();
        basis = kept.iter().map(|k| basis[*k].clone()).collect();
        // Coordinates in which the rows have length 1 on average.
        let rows = cone.free.len() as f64;
        for (vector, k) in basis.iter_mut().zip(&kept) {
            let scale = (matrix::at(&gram, *k, *k) / rows).sqrt();
            vector.iter_mut().for_each(|value| *value /= scale);
        }
        Some(Self { values: coordinates(&basis), basis })
    }

    fn dim(&self) -> usize {
        self.basis.len()
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.dim().max(1))
    }

    fn gram(&self, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut gram = vec![0.0; matrix::packed_len(self.dim())];
        for (index, row) in self.rows().enumerate() {
            let weight = weight(index);
            if weight != 0.0 {
                matrix::add_square(&mut gram, weight, row);
            }
        }
        gram
    }

    fn margins(&self, point: &[f64]) -> Vec<f64> {
        self.rows().map(|row| matrix::dot(row, point)).collect()
    }

    /// Newton's method on `Σ ln(1 + e^{−a_r·η})`, whose optimum is finite just where there is no recession direction.
    fn recession(&self, cone: &Cone<'_>) -> Outcome {
        let mut point = vec![0.0; self.dim()];
        let loss = |margins: &[f64]| margins.iter().map(|m| (-m).max(0.0) + (-m.abs()).exp().ln_1p()).sum::<f64>();
        let mut margins = self.margins(&point);
        let mut value = loss(&margins);
        for _ in 0..STEPS {
            let missing: Vec<f64> = margins.iter().map(|m| 1.0 / (1.0 + m.exp())).collect();
            let mut gradient = vec![0.0; self.dim()];
            self.rows().zip(&missing).for_each(|(row, p)| matrix::add(&mut gradient, *p, row));
            // No curvature is quite lost, so that a step far out still points outwards.
            let weight = |row: usize| (missing[row] * (1.0 - missing[row])).max(1e-14);
            let factor = Cholesky::new(&self.gram(weight), self.dim(), 0.0);
            let step = factor.solve(&gradient);
            let change = self.margins(&step);
            if let Some(direction) = self.certified(cone, &step, &change) {
                return Outcome::Direction(direction);
            }
            if let Some(direction) = self.certified(cone, &point, &margins) {
                return Outcome::Direction(direction);
            }
            if change.iter().all(|change| change.abs() <= STANDSTILL) {
                return Outcome::None;
            }
            let mut length = 1.0;
            loop {
                let tried: Vec<f64> = margins.iter().zip(&change).map(|(m, c)| m + length * c).collect();
                let tried_value = loss(&tried);
                if tried_value <= value || length < 1e-8 {
                    value = tried_value;
                    break;
                }
                length *= 0.5;
            }
            matrix::add(&mut point, length, &step);
            margins = self.margins(&point);
        }
        Outcome::Undecided { steps: STEPS }
    }

    /// The direction without rounding, where that makes it a recession direction of the rows themselves.
    fn certified(&self, cone: &Cone<'_>, step: &[f64], change: &[f64]) -> Option<Vec<f64>> {
        let largest = change.iter().fold(0.0, |largest: f64, change| largest.max(change.abs()));
        for part in ROUNDING_TRIED {
            let rounding = part * largest;
            if largest == 0.0 || change.iter().any(|change| *change < -rounding) {
                continue;
            }
            // Coordinates that the rows with rounding only leave free; the others follow from them.
            let stay = self.gram(|row| f64::from(u8::from(change[row].abs() <= rounding)));
            let vectors = Cholesky::new(&stay, self.dim(), DETERMINED);
            let mut direction = vec![0.0; cone.rows.dim()];
            for ((column, _), vector) in vectors.dependent.iter().zip(vectors.null_vectors()) {
                for (coordinate, basis) in vector.iter().zip(&self.basis) {
                    matrix::add(&mut direction, step[*column] * coordinate, basis);
                }
            }
            let found = [cone.cleaned(&direction), direction].into_iter().find(|direction| cone.certifies(direction));
            if found.is_some() {
                return found;
            }
        }
        None
    }
}
