//! SAGA on rows that somebody else owns: weights, an intercept, unequal chances and a stopping rule, against the equations.

use sgq::{
    LinearSaga, Problem as _, Random, SettingsError, StopReason,
    linear::{LinearError, LinearModel, RowsView},
    problem::{Loss, Regression, Rows},
};

const ROWS: usize = 30;
const DIM: usize = 21;
const SEED: u64 = 4;

struct Data {
    values: Vec<f64>,
    sparse: (Vec<usize>, Vec<u32>, Vec<f64>),
    targets: Vec<f64>,
    weights: Vec<f64>,
    /// With weights there are offsets, too.
    offsets: Vec<f64>,
}

/// Half of the numbers are zero; rows differ in size, so that their chances do.
fn data(loss: Loss) -> Data {
    let mut random = Random::new(9, "linear model");
    let mut values = Vec::new();
    for row in 0..ROWS {
        let size = if row % 10 == 3 { 4.0 } else { 0.6 };
        values.extend((0..DIM).map(|_| if random.index(2) == 0 { 0.0 } else { size * (2.0 * random.unit() - 0.8) }));
    }
    let (mut starts, mut columns, mut numbers) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks_exact(DIM) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            columns.push(column as u32);
            numbers.push(*value);
        }
        starts.push(numbers.len());
    }
    let mut target = || match loss {
        Loss::Logistic => [-1.0, 1.0][random.index(2)],
        _ => 4.0 * random.unit() - 1.0,
    };
    let targets = (0..ROWS).map(|_| target()).collect();
    let weights = (0..ROWS).map(|row| [1.0, 0.0, 2.5, 0.3][row % 4]).collect();
    let offsets = (0..ROWS).map(|row| 0.3 * (row % 5) as f64 - 0.5).collect();
    Data { values, sparse: (starts, columns, numbers), targets, weights, offsets }
}

impl Data {
    fn dense(&self) -> RowsView<'_> {
        RowsView::Dense { dim: DIM, values: &self.values }
    }

    fn thin(&self) -> RowsView<'_> {
        let (starts, columns, values) = &self.sparse;
        RowsView::Sparse { dim: DIM, starts, columns, values }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * DIM..][..DIM]
    }

    fn model(&self, loss: Loss, l2: f64, weighted: bool, intercept: bool) -> LinearModel<'_> {
        let weights = weighted.then_some(&self.weights[..]);
        let offsets = weighted.then_some(&self.offsets[..]);
        LinearModel { rows: self.dense(), targets: &self.targets, weights, offsets, loss, l2, intercept }
    }

    fn shares(&self, weighted: bool) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        let share = |weight: &f64| if weighted { weight / total } else { 1.0 / ROWS as f64 };
        self.weights.iter().map(share).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `∇f` with respect to the columns and the intercept, from the formula.
fn gradient(data: &Data, loss: Loss, l2: f64, shares: &[f64], point: &[f64]) -> Vec<f64> {
    let mut gradient: Vec<f64> = point[..DIM].iter().map(|x| l2 * x).collect();
    let b = point.get(DIM).copied().unwrap_or(0.0);
    let mut of_intercept = 0.0;
    for (row, share) in shares.iter().enumerate() {
        let slope = share * loss.slope(dot(data.row(row), point) + b + data.offsets[row], data.targets[row]);
        gradient.iter_mut().zip(data.row(row)).for_each(|(sum, a)| *sum += slope * a);
        of_intercept += slope;
    }
    gradient.extend((point.len() > DIM).then_some(of_intercept));
    gradient
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// SAGA by the equations, all of every row's gradient kept, with the rows that the run itself asked.
fn naive(data: &Data, model: &LinearModel<'_>, start: &[f64], step_size: Option<f64>, steps: usize) -> (Vec<f64>, f64) {
    let shares = data.shares(model.weights.is_some());
    let curvature = model.loss.largest_curvature().unwrap();
    let n = ROWS as f64;
    // The column of the intercept: a tenth of the rows' mean square.
    let square = |row: usize| dot(data.row(row), data.row(row));
    let mean_square: f64 = (0..ROWS).map(|row| shares[row] * square(row)).sum();
    let constant = if model.intercept { (0.1 * mean_square).sqrt() } else { 0.0 };
    let row = |row: usize| [data.row(row), &[constant]].concat();
    let smoothness: Vec<f64> =
        (0..ROWS).map(|k| n * shares[k] * curvature * (square(k) + constant * constant)).collect();
    let mean: f64 = smoothness.iter().sum::<f64>() / n;
    let more = mean.max(n * model.l2);
    let chance = |k: usize| (smoothness[k] + more) / (n * (mean + more));
    let largest = (0..ROWS).map(|k| smoothness[k] / (n * chance(k))).fold(0.0, f64::max) + model.l2;
    let step_size = step_size.unwrap_or(1.0 / (2.0 * largest + largest.min(2.0 * n * model.l2)));

    let mut x = [&start[..DIM], &[start.get(DIM).map_or(0.0, |b| b / constant)]].concat();
    let offset = |k: usize| model.offsets.map_or(0.0, |offsets| offsets[k]);
    let slope = |k: usize, x: &[f64]| model.loss.slope(dot(&row(k), x) + offset(k), data.targets[k]);
    let mut table: Vec<Vec<f64>> =
        (0..ROWS).map(|k| row(k).iter().map(|a| shares[k] * slope(k, &x) * a).collect()).collect();
    let mut saga = LinearSaga::on(model, start, None, SEED).unwrap();
    let mut before = saga.billed_per_user();
    for _ in 0..steps {
        saga.run(1);
        let after = saga.billed_per_user();
        let asked = (0..ROWS).find(|k| after[*k] != before[*k]).unwrap();
        before = after;
        let s = slope(asked, &x);
        let fresh: Vec<f64> = row(asked).iter().map(|a| shares[asked] * s * a).collect();
        for k in 0..=DIM {
            let mean: f64 = table.iter().map(|kept| kept[k]).sum();
            let penalty = if k < DIM { model.l2 * x[k] } else { 0.0 };
            let pull = (fresh[k] - table[asked][k]) / chance(asked);
            x[k] -= step_size * (pull + mean + penalty);
        }
        table[asked] = fresh;
    }
    x[DIM] *= constant;
    x.truncate(model.parameters());
    (x, step_size)
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance * scale, "{what}: {found} instead of {expected}");
    }
}

#[test]
fn the_steps_are_those_of_the_equations() {
    for loss in [Loss::Squares, Loss::Logistic, Loss::Huber { delta: 0.7 }] {
        let data = data(loss);
        for (weighted, intercept) in [(false, false), (true, false), (false, true), (true, true)] {
            for l2 in [0.0, 0.05] {
                let dense = data.model(loss, l2, weighted, intercept);
                let start: Vec<f64> = (0..dense.parameters()).map(|k| 0.1 - 0.02 * k as f64).collect();
                let (expected, step_size) = naive(&data, &dense, &start, None, 150);
                for rows in [data.dense(), data.thin()] {
                    let model = LinearModel { rows, ..dense };
                    let mut saga = LinearSaga::on(&model, &start, None, SEED).unwrap();
                    assert!((saga.step_size() / step_size - 1.0).abs() < 1e-12);
                    saga.run(150);
                    let what = format!("{loss:?}, weighted {weighted}, intercept {intercept}, l2 {l2}");
                    assert_close(&saga.point(), &expected, 1e-11, &what);
                }
            }
        }
    }
}

#[test]
fn it_stops_where_the_gradient_is_short_and_says_the_truth() {
    for loss in [Loss::Squares, Loss::Logistic] {
        let data = data(loss);
        let shares = data.shares(true);
        for rows in [data.dense(), data.thin()] {
            let model = LinearModel { rows, ..data.model(loss, 0.02, true, true) };
            let mut saga = LinearSaga::on(&model, &[0.0; DIM + 1], None, SEED).unwrap();
            let at_zero = norm(&gradient(&data, loss, 0.02, &shares, &[0.0; DIM + 1]));
            assert!((saga.tolerance(1e-6) / (1e-6 * at_zero) - 1.0).abs() < 1e-12);
            let reason = loop {
                if let Some(reason) = saga.epoch(Some(saga.tolerance(1e-6)), 1_000_000) {
                    break reason;
                }
            };
            let found = norm(&gradient(&data, loss, 0.02, &shares, &saga.point()));
            let StopReason::SurrogateGradient { norm } = reason else { panic!("{reason:?}") };
            assert!(found <= 1e-6 * at_zero && (norm / found - 1.0).abs() < 1e-6, "{norm} and {found}");
            assert_eq!(saga.queries(), saga.billed_per_user().iter().sum::<u64>());

            // From there on it stops at once, and looks at the gradient at zero, too.
            let mut warm = LinearSaga::on(&model, &saga.point(), None, SEED).unwrap();
            assert!((warm.tolerance(1e-6) / saga.tolerance(1e-6) - 1.0).abs() < 1e-12);
            let tolerance = warm.tolerance(1e-6);
            assert!(matches!(warm.epoch(Some(tolerance), 1_000_000), Some(StopReason::SurrogateGradient { .. })));
            assert_eq!((warm.steps(), warm.queries()), (0, 2 * ROWS as u64));
        }
    }
}

/// A weight of two is two rows, and one of zero none; the intercept is what nothing is taken off.
#[test]
fn the_optimum_is_that_of_repeated_rows() {
    let data = data(Loss::Squares);
    let weights: Vec<f64> = (0..ROWS).map(|row| [1.0, 0.0, 2.0][row % 3]).collect();
    let model = LinearModel { weights: Some(&weights), ..data.model(Loss::Squares, 0.1, false, true) };
    let mut saga = LinearSaga::on(&model, &[0.0; DIM + 1], None, SEED).unwrap();
    saga.run(60_000);
    let repeated = |row: usize| std::iter::repeat_n(row, weights[row] as usize);
    let order: Vec<usize> = (0..ROWS).flat_map(repeated).collect();
    // With a column of a thousand the penalty on it is next to nothing.
    let rows: Vec<f64> = order.iter().flat_map(|row| [data.row(*row), &[1e3]].concat()).collect();
    let targets: Vec<f64> = order.iter().map(|row| data.targets[*row]).collect();
    let blocks: Vec<usize> = (0..=order.len()).collect();
    let rows = Rows::Dense { dim: DIM + 1, values: rows };
    let problem = Regression::new(rows, targets, &blocks, Loss::Squares, 0.1).unwrap();
    let mut expected = problem.optimum().unwrap().point.clone();
    expected[DIM] *= 1e3;
    assert_close(&saga.point(), &expected, 1e-6, "the optimum");
}

#[test]
fn the_same_bits_however_a_run_is_divided() {
    let data = data(Loss::Logistic);
    for rows in [data.dense(), data.thin()] {
        let model = LinearModel { rows, ..data.model(Loss::Logistic, 0.05, true, true) };
        let mut whole = LinearSaga::on(&model, &[0.0; DIM + 1], None, SEED).unwrap();
        whole.run(2_999);
        let mut parts = LinearSaga::on(&model, &[0.0; DIM + 1], None, SEED).unwrap();
        for steps in [1, 0, 700, 1_299, 999] {
            parts.run(steps);
        }
        assert_eq!(whole.point(), parts.point());
        let mut other = LinearSaga::on(&model, &[0.0; DIM + 1], None, SEED + 1).unwrap();
        other.run(2_999);
        assert_ne!(whole.point(), other.point());
    }
}

#[test]
fn a_budget_is_kept_and_nothing_to_learn_is_learnt_at_once() {
    let data = data(Loss::Squares);
    let model = data.model(Loss::Squares, 0.0, false, false);
    let mut saga = LinearSaga::on(&model, &[0.0; DIM], None, SEED).unwrap();
    let reason = std::iter::from_fn(|| Some(saga.epoch(None, 100))).flatten().next().unwrap();
    assert_eq!((reason, saga.queries()), (StopReason::Budget { queries: 100 }, 100));
    for values in [[0.0; 4], [1.0, -1.0, 1.0, -1.0]] {
        let rows = RowsView::Dense { dim: 1, values: &values };
        let model = LinearModel { rows, targets: &[1.0, 1.0, -1.0, -1.0], ..model };
        let mut saga = LinearSaga::on(&model, &[0.0], None, SEED).unwrap();
        let tolerance = saga.tolerance(1e-4);
        let reason = saga.epoch(Some(tolerance), 1_000);
        assert!(matches!(reason, Some(StopReason::SurrogateGradient { norm: 0.0 })), "{reason:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let data = data(Loss::Squares);
    let model = data.model(Loss::Squares, 0.1, true, true);
    let refusal = |model: LinearModel<'_>| match LinearSaga::on(&model, &[0.0; DIM + 1], None, SEED) {
        Err(LinearError::Data { message }) => message,
        other => panic!("{other:?}"),
    };
    let with = |row: usize, number: f64| {
        let mut changed = data.weights.clone();
        changed[row] = number;
        changed
    };
    for number in [-1.0, f64::NAN, f64::INFINITY] {
        let weights = with(2, number);
        let words = refusal(LinearModel { weights: Some(&weights), ..model });
        assert!(words.contains("the weight of row 2"), "{words}");
    }
    assert!(refusal(LinearModel { weights: Some(&[0.0; ROWS]), ..model }).contains("weight 0"));
    assert!(refusal(LinearModel { weights: Some(&[1.0]), ..model }).contains("1 weights"));
    assert!(refusal(LinearModel { offsets: Some(&[1.0]), ..model }).contains("1 offsets"));
    assert!(refusal(LinearModel { offsets: Some(&[f64::NAN; ROWS]), ..model }).contains("the offset of row 0"));
    assert!(refusal(LinearModel { targets: &[1.0], ..model }).contains("1 targets"));
    assert!(refusal(LinearModel { loss: Loss::Logistic, ..model }).contains("target of row"));
    assert!(refusal(LinearModel { l2: -1.0, ..model }).contains("penalty"));
    let empty = LinearModel { rows: RowsView::Dense { dim: DIM, values: &[] }, targets: &[], weights: None, ..model };
    assert!(refusal(empty).contains("no rows"));
    let mut values = data.values.clone();
    for (number, word) in [(f64::NAN, "NaN"), (1e200, "scale them")] {
        values[5 * DIM] = number;
        let words = refusal(LinearModel { rows: RowsView::Dense { dim: DIM, values: &values }, ..model });
        assert!(words.contains("row 5") && words.contains(word), "{words}");
    }
    let (starts, columns, numbers) = &data.sparse;
    for (starts, columns) in [(&starts[1..], &columns[..]), (&starts[..], &columns[1..])] {
        let rows = RowsView::Sparse { dim: DIM, starts, columns, values: numbers };
        assert!(refusal(LinearModel { rows, ..model }).contains("starts"));
    }
    let rows = RowsView::Sparse { dim: DIM - 1, starts, columns, values: numbers };
    assert!(refusal(LinearModel { rows, ..model }).contains("past the last"));
    let mut unsorted = columns.clone();
    unsorted.swap(0, 1);
    let rows = RowsView::Sparse { dim: DIM, starts, columns: &unsorted, values: numbers };
    assert!(refusal(LinearModel { rows, ..model }).contains("do not rise"));
    let wrong_start = LinearSaga::on(&model, &[0.0; DIM], None, SEED).unwrap_err();
    let expected = SettingsError::Mismatch { what: "parameters", expected: DIM + 1, found: DIM };
    assert_eq!(wrong_start, LinearError::Settings(expected));
    let counts = LinearModel { loss: Loss::Poisson, targets: &[1.0; ROWS], ..model };
    assert_eq!(LinearSaga::on(&counts, &[0.0; DIM + 1], None, SEED).unwrap_err(), LinearError::NoBound);
    let mut fast = LinearSaga::on(&model, &[0.0; DIM + 1], Some(1e3), SEED).unwrap();
    assert!(matches!(fast.epoch(None, 1_000_000), Some(StopReason::Diverged { .. })));
}

/// Offsets of a problem are seen, and a column without a penalty is refused: both would be another model.
#[test]
fn a_problem_with_offsets_is_taken_as_it_is() {
    let data = data(Loss::Logistic);
    let blocks: Vec<usize> = (0..=ROWS).collect();
    let rows = || Rows::Dense { dim: DIM, values: data.values.clone() };
    let builder = || Regression::builder(rows(), data.targets.clone(), &blocks, Loss::Logistic).l2(0.1);
    let problem = builder().offsets(data.offsets.clone()).build().unwrap();
    let mut saga = LinearSaga::new(&problem, &[0.0; DIM], 0.02, SEED).unwrap();
    saga.run(60_000);
    assert_close(&saga.point(), &problem.optimum().unwrap().point, 1e-9, "the optimum");
    let free = builder().free_intercept().build().unwrap();
    assert_eq!(LinearSaga::new(&free, &[0.0; DIM], 0.02, SEED).unwrap_err(), LinearError::FreeIntercept);
}
