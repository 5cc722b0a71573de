//! Random convex quadratics and regressions, and a log of what a session did on one.

use sgq::{
    Oracle, Problem, Random, Session, Settings,
    problem::{DenseQuadratic, Loss, Regression, Rows},
};

/// A problem with `A_i = M_iᵀM_i / d + 0.1·I`, whose users differ in scale and in center, and a starting point.
pub fn random_quadratic(random: &mut Random, users: usize, dim: usize) -> (DenseQuadratic, Vec<f64>) {
    let mut curvatures = Vec::new();
    let mut centers = Vec::new();
    for _ in 0..users {
        let scale = 0.2 + 2.0 * random.unit();
        let m: Vec<f64> = (0..dim * dim).map(|_| random.unit() - 0.5).collect();
        let mut a = vec![0.0; dim * dim];
        for row in 0..dim {
            for column in 0..=row {
                let inner: f64 = (0..dim).map(|k| m[k * dim + row] * m[k * dim + column]).sum();
                let entry = scale * (inner / dim as f64 + if row == column { 0.1 } else { 0.0 });
                a[row * dim + column] = entry;
                a[column * dim + row] = entry;
            }
        }
        curvatures.push(a);
        centers.push((0..dim).map(|_| 4.0 * random.unit() - 2.0).collect());
    }
    let start = (0..dim).map(|_| 10.0 * random.unit() - 5.0).collect();
    (DenseQuadratic::new(&curvatures, &centers).unwrap(), start)
}

/// Users with 2 to 6 rows, whose features differ in size.
pub fn random_regression(loss: Loss, users: usize, dim: usize, size: f64, random: &mut Random) -> Regression {
    let (mut values, mut targets, mut blocks) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..users {
        let size = size * (0.3 + random.unit());
        for _ in 0..2 + random.index(5) {
            values.extend((0..dim).map(|_| size * (2.0 * random.unit() - 1.0)));
            targets.push(match loss {
                Loss::Logistic => [-1.0, 1.0][random.index(2)],
                Loss::Poisson => random.index(9) as f64,
                _ => 4.0 * random.unit() - 2.0,
            });
        }
        blocks.push(targets.len());
    }
    Regression::new(Rows::Dense { dim, values }, targets, &blocks, loss, 0.02).unwrap()
}

/// A constant step well inside stability.
pub fn safe_settings(problem: &dyn Problem, start: Vec<f64>) -> Settings {
    let largest = problem.smoothness().unwrap().iter().copied().fold(0.0, f64::max);
    Settings::for_problem(start, problem).step_size(0.3 / largest)
}

/// One line of a log: a step, not a start-up query.
pub struct Logged {
    pub user: usize,
    pub explored: Option<bool>,
    pub asked_at: Vec<f64>,
    pub gradient: Vec<f64>,
    pub point_after: Vec<f64>,
    pub queries: usize,
}

/// Runs a session for that many steps.
pub fn log_steps(session: &mut Session<'_>, problem: &dyn Oracle, steps: usize) -> Vec<Logged> {
    let mut log = Vec::new();
    let mut gradient = vec![0.0; problem.dim()];
    while log.len() < steps {
        let before = session.steps();
        let query = session.ask().unwrap().expect("no stop condition is set");
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
        if session.steps() > before {
            log.push(Logged {
                user: query.user,
                explored: query.explored,
                asked_at: query.point.to_vec(),
                gradient: gradient.clone(),
                point_after: session.point().to_vec(),
                queries: session.meter().billed() as usize,
            });
        }
    }
    log
}
