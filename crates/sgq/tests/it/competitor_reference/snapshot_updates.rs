//! How to move with everybody's gradient now and then: gradient descent, L-BFGS, L-SVRG, Katyusha, SARAH.

use sgq::{
    Method, Problem, Random, Session, Settings, Sight,
    belief::Nothing,
    choice::{Cyclic, Sequence},
    problem::Custom,
    update::{FullGradient, Katyusha, Lbfgs, Loopless, Recursive},
};

use super::{
    Asked, Case, Run,
    algebra::{
        Matrix, Vector, apply, dot, matrix_plus, mean, minus, norm, outer, plus, product, scaled_identity, times,
        transpose,
    },
    case, cases,
};

const QUERIES: usize = 150;

/// `x ← x − α ∇f(x)`.
fn gradient_descent(case: &Case) -> Vec<Asked> {
    let mut run = Run::new(case);
    while run.asked.len() < QUERIES {
        let gradient = mean(&run.ask_all());
        let to = minus(&run.x, &times(run.alpha(), &gradient));
        run.go(to);
    }
    run.asked
}

/// L-BFGS, Liu & Nocedal 1989: `H = Vᵀ H V + ρ ssᵀ` with `ρ = 1/(yᵀs)`, `V = I − ρ ysᵀ`, over the last 10 pairs, from
/// `(sᵀy / yᵀy) I` of the last one, written out. The first `H` is `α I`. As the part documents it, a step that ends on a slope
/// upwards of 0.1 times the first one and more is shortened by the secant (the library: to 0.1 to 0.9 of it, 10 times).
///
/// Ends where the run has converged. Also returns at which queries a step was being shortened.
pub fn lbfgs(case: &Case, sweeps: usize) -> (Vec<Asked>, Vec<usize>) {
    let mut run = Run::new(case);
    let mut pairs: Vec<(Vector, Vector)> = Vec::new();
    let mut shortened = Vec::new();
    let mut gradient = mean(&run.ask_all());
    let first = norm(&gradient);
    while run.asked.len() < sweeps * case.users() && norm(&gradient) > 1e-7 * first {
        let direction = times(-1.0, &apply(&inverse_hessian(&pairs, run.x.len(), run.alpha()), &gradient));
        let slope = dot(&direction, &gradient);
        assert!(slope < 0.0);
        let from = run.x.clone();
        let mut length = 1.0;
        let mut tries = 0;
        let new_gradient = loop {
            run.go(plus(&from, &times(length, &direction)));
            if tries > 0 {
                shortened.extend(run.asked.len()..run.asked.len() + case.users());
            }
            let new_gradient = mean(&run.ask_all());
            let new_slope = dot(&direction, &new_gradient);
            if new_slope <= 0.1 * slope.abs() || tries == 10 {
                break new_gradient;
            }
            // Where the straight line through the two slopes is zero.
            let secant = length * slope / (slope - new_slope);
            length = secant.clamp(0.1 * length, 0.9 * length);
            tries += 1;
        };
        pairs.push((minus(&run.x, &from), minus(&new_gradient, &gradient)));
        if pairs.len() > 10 {
            pairs.remove(0);
        }
        gradient = new_gradient;
    }
    (run.asked, shortened)
}

fn inverse_hessian(pairs: &[(Vector, Vector)], dim: usize, alpha: f64) -> Matrix {
    let gamma = pairs.last().map_or(alpha, |(s, y)| dot(s, y) / dot(y, y));
    let mut h = scaled_identity(dim, gamma);
    for (s, y) in pairs {
        let rho = 1.0 / dot(y, s);
        let v = matrix_plus(&scaled_identity(dim, 1.0), -rho, &outer(y, s));
        h = matrix_plus(&product(&transpose(&v), &product(&h, &v)), rho, &outer(s, s));
    }
    h
}

/// L-SVRG, Kovalev, Horváth & Richtárik 2020: `x ← x − α (∇f_i(x) − ∇f_i(w) + ∇f(w))`, then with probability `p` a new `w`: as
/// the part documents it, the point after the step (the publication has the one before).
fn loopless(case: &Case, users: &[usize], p: f64) -> Vec<Asked> {
    let (mut run, mut random) = (Run::new(case), case.draws());
    let mut snapshot = run.ask_all();
    for &i in users {
        let g = run.ask(i);
        let v = plus(&minus(&g, &snapshot[i]), &mean(&snapshot));
        let to = minus(&run.x, &times(run.alpha(), &v));
        run.go(to);
        if random.unit() < p {
            snapshot = run.ask_all();
        }
    }
    run.asked
}

/// Katyusha, Allen-Zhu 2017, Algorithm 1 without a proximal term, Option I, with `1/(3L) = α` and so `α/τ₁` for `z`; as the
/// part documents it, `x̃` is the plain mean of the `y`, as for `σ = 0`.
fn katyusha(case: &Case, users: &[usize], m: usize, tau: f64) -> Vec<Asked> {
    let mut run = Run::new(case);
    let (mut y, mut z) = (run.x.clone(), run.x.clone());
    for (epoch, users) in users.chunks(m).enumerate() {
        let snapshot_point = run.x.clone();
        let snapshot = run.ask_all();
        let mut ys: Vec<Vector> = Vec::new();
        for (j, &i) in users.iter().enumerate() {
            let x = plus(&plus(&times(tau, &z), &times(0.5, &snapshot_point)), &times(1.0 - tau - 0.5, &y));
            // It goes there with the answer before; the very first x is the start.
            if (epoch, j) != (0, 0) {
                run.go(x);
            }
            let g = run.ask(i);
            let v = plus(&mean(&snapshot), &minus(&g, &snapshot[i]));
            let alpha = run.alpha();
            z = minus(&z, &times(alpha / tau, &v));
            y = minus(&run.x, &times(alpha, &v));
            ys.push(y.clone());
        }
        run.go(mean(&ys));
    }
    run.asked
}

/// SARAH, Nguyen et al. 2017: `v_0 = ∇f(w_0)`, `w_1 = w_0 − α v_0`; then `v_t = ∇f_i(w_t) − ∇f_i(w_{t−1}) + v_{t−1}`,
/// `w_{t+1} = w_t − α v_t` for that many `t`, and again from the last `w` (the publication: from one of them at random).
fn sarah(case: &Case, users: &[usize], recursions: usize) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut users = users.iter();
    while run.asked.len() < QUERIES {
        let mut before = run.x.clone();
        let mut v = mean(&run.ask_all());
        let to = minus(&run.x, &times(run.alpha(), &v));
        run.go(to);
        for &i in users.by_ref().take(recursions) {
            let old = run.ask_at(i, &before);
            let new = run.ask(i);
            v = plus(&minus(&new, &old), &v);
            before = run.x.clone();
            let to = minus(&run.x, &times(run.alpha(), &v));
            run.go(to);
        }
    }
    run.asked
}

#[test]
fn full_gradient() {
    for case in cases() {
        let mut session = case.session(Nothing, Cyclic::new(), FullGradient::new());
        case.compare(&mut session, &gradient_descent(&case), QUERIES);
    }
}

/// With a first step that is far too long, so that it has to be shortened, and with more than ten pairs.
#[test]
fn limited_memory_bfgs() {
    let (mut shortenings, mut most_sweeps) = (0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed, "l-bfgs");
        let (users, dim) = (1 + random.index(6), 1 + random.index(12));
        let mut case = case(&mut random, seed, users, dim);
        case.initial_step *= [1.0, 10.0, 100.0][seed as usize % 3];
        let (naive, shortened) = lbfgs(&case, 40);
        shortenings += shortened.len();
        most_sweeps = most_sweeps.max(naive.len() / users);
        case.compare(&mut case.session(Nothing, Cyclic::new(), Lbfgs::new()), &naive, naive.len() - 1);
    }
    assert!(shortenings > 50 && most_sweeps > 15, "{shortenings} {most_sweeps}");
}

/// A step along which a convex objective has risen must be shortened: the next trial lies on the same line.
#[test]
fn limited_memory_bfgs_goes_downhill() {
    // f(x, y) = −0.1 x + 0.045 ln cosh(20 x − 2) + y²/4: along x it falls with slope 1 up to 0.1 and then rises with 0.8.
    let value = |_: usize, x: &[f64]| -0.1 * x[0] + 0.045 * (20.0 * x[0] - 2.0).cosh().ln() + 0.25 * x[1] * x[1];
    let gradient = |_: usize, x: &[f64], g: &mut [f64]| {
        g.copy_from_slice(&[-0.1 + 0.9 * (20.0 * x[0] - 2.0).tanh(), 0.5 * x[1]]);
    };
    let problem = Custom::new(1, 2, value, gradient);
    let start = [0.0, 1.0];
    let settings = Settings::new(start.to_vec(), 1).step_size(1.0);
    let method = Method::new("l-bfgs", Nothing, Cyclic::new(), Lbfgs::new());
    let mut session = Session::with_sight(method, settings, Sight::Problem(&problem)).unwrap();
    let mut points = Vec::new();
    for _ in 0..2 {
        let query = session.ask().unwrap().unwrap();
        let mut g = [0.0; 2];
        gradient(0, &query.point, &mut g);
        session.tell(query.ticket, &g).unwrap();
        points.push(session.point().to_vec());
    }
    assert!(problem.value(&points[0]) > problem.value(&start) + 0.4, "the first trial is far uphill");
    let (first, second) = (minus(&points[0], &start), minus(&points[1], &start));
    let off_the_line = first[0] * second[1] - first[1] * second[0];
    assert!(off_the_line.abs() < 1e-9, "the trial was taken: {points:?}");
}

#[test]
fn svrg_without_a_loop() {
    for case in cases() {
        let users = case.injected(QUERIES);
        for probability in [None, Some(0.02), Some(0.4), Some(1.0)] {
            let p = probability.unwrap_or(1.0 / case.users() as f64);
            let injected = Sequence::new(users.clone());
            let mut session = case.session(Nothing, injected, Loopless::new(probability));
            case.compare(&mut session, &loopless(&case, &users, p), QUERIES);
        }
    }
}

#[test]
fn katyusha_as_documented() {
    for case in cases() {
        let users = case.injected(QUERIES);
        for (inner_steps, momentum) in [(None, 0.5), (Some(1), 0.5), (Some(7), 0.2), (Some(40), 0.01)] {
            let m = inner_steps.unwrap_or(2 * case.users());
            let injected = Sequence::new(users.clone());
            let mut session = case.session(Nothing, injected, Katyusha::new(inner_steps, momentum));
            case.compare(&mut session, &katyusha(&case, &users, m, momentum), QUERIES);
        }
    }
}

#[test]
fn sarah_as_published() {
    for case in cases() {
        let users = case.injected(QUERIES);
        for inner_steps in [None, Some(1), Some(6), Some(200)] {
            let m = inner_steps.unwrap_or(case.users());
            let mut session = case.session(Nothing, Sequence::new(users.clone()), Recursive::new(inner_steps));
            // After the step along the full gradient.
            case.compare(&mut session, &sarah(&case, &users, m - 1), QUERIES);
        }
    }
}
