//! How to move with Hessians: Fisher scoring, NIM, the stochastic Newton method, FedNL.

use sgq::{
    Method, Session, Sight,
    belief::Nothing,
    choice::Sequence,
    update::{IncrementalNewton, NewtonLearning},
};

use super::{
    Asked, Case, Run,
    algebra::{
        Matrix, Vector, apply, eigen, matrix_plus, mean, minus, norm, outer, scaled_identity, solve, sum, times,
    },
    cases,
};

const STEPS: usize = 60;

/// `Σ A_j`.
fn matrix_sum(matrices: &[Matrix]) -> Matrix {
    let zero = scaled_identity(matrices[0].len(), 0.0);
    matrices.iter().fold(zero, |sum, matrix| matrix_plus(&sum, 1.0, matrix))
}

/// `‖A‖_F`.
fn frobenius(a: &[Vector]) -> f64 {
    norm(&a.concat())
}

/// Newton's method: `x ← x − (Σ ∇²f_j(x))⁻¹ Σ ∇f_j(x)`.
fn fisher_scoring(case: &Case, rounds: usize) -> Vec<Asked> {
    let mut run = Run::new(case);
    for _ in 0..rounds {
        let gradients = run.ask_all();
        let hessians: Vec<Matrix> = (0..case.users()).map(|j| case.hessian(j, &run.x)).collect();
        let to = minus(&run.x, &solve(&matrix_sum(&hessians), &sum(&gradients)));
        run.go(to);
    }
    run.asked
}

/// Rodomanov & Kropotov 2016 (in turn, unit steps), and Kovalev, Mishchenko & Richtárik 2019 (at random, one a step):
/// `x ← (mean ∇²f_j(w_j))⁻¹ mean (∇²f_j(w_j) w_j − ∇f_j(w_j))`, then `w_i ← x`. At first every `w_j = x_0`.
fn incremental_newton(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut gradients = run.ask_all();
    let mut points = vec![run.x.clone(); case.users()];
    for step in 0..=users.len() {
        let hessians: Vec<Matrix> = (0..case.users()).map(|j| case.hessian(j, &points[j])).collect();
        let pulls: Vec<Vector> =
            (0..case.users()).map(|j| minus(&apply(&hessians[j], &points[j]), &gradients[j])).collect();
        let share = 1.0 / case.users() as f64;
        let mean_hessian: Matrix = matrix_sum(&hessians).iter().map(|row| times(share, row)).collect();
        let to = solve(&mean_hessian, &mean(&pulls));
        run.go(to);
        if let Some(&i) = users.get(step) {
            points[i] = run.x.clone();
            gradients[i] = run.ask(i);
        }
    }
    run.asked
}

/// FedNL-PP, Safaryan et al. 2022, Algorithm 2 with one device a round, rank `R` and `α = 1`: the server goes to
/// `x = (H + l I)⁻¹ g` with the means of all `H_j`, `l_j` and `g_j`; device `i` takes `w_i = x`, then
/// `H_i ← H_i + C(∇²f_i(w_i) − H_i)`, `l_i ← ‖H_i − ∇²f_i(w_i)‖_F`, `g_i ← (H_i + l_i I) w_i − ∇f_i(w_i)`.
fn fednl(case: &Case, users: &[usize], rank: usize, exact_start: bool) -> Vec<Asked> {
    struct Device {
        hessian: Matrix,
        l: f64,
        g: Vector,
    }
    let mut run = Run::new(case);
    let dim = run.x.len();
    let device = |j: usize, hessian: Matrix, w: &[f64], gradient: &[f64]| {
        let l = frobenius(&matrix_plus(&hessian, -1.0, &case.hessian(j, w)));
        let g = minus(&apply(&matrix_plus(&hessian, l, &scaled_identity(dim, 1.0)), w), gradient);
        Device { hessian, l, g }
    };
    let start = run.x.clone();
    let first = run.ask_all();
    let mut devices: Vec<Device> = (0..case.users())
        .map(|j| {
            let hessian = if exact_start { case.hessian(j, &start) } else { scaled_identity(dim, 0.0) };
            device(j, hessian, &start, &first[j])
        })
        .collect();
    for step in 0..=users.len() {
        let n = case.users() as f64;
        let l = devices.iter().map(|device| device.l).sum::<f64>() / n;
        let hessians: Vec<Matrix> = devices.iter().map(|device| device.hessian.clone()).collect();
        let hessian: Matrix = matrix_sum(&hessians).iter().map(|row| times(1.0 / n, row)).collect();
        let g = mean(&devices.iter().map(|device| device.g.clone()).collect::<Vec<_>>());
        let to = solve(&matrix_plus(&hessian, l, &scaled_identity(dim, 1.0)), &g);
        run.go(to);
        let Some(&i) = users.get(step) else {
            break;
        };
        let gradient = run.ask(i);
        let mut learned = devices[i].hessian.clone();
        let mut pairs = eigen(&matrix_plus(&case.hessian(i, &run.x), -1.0, &learned));
        pairs.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        for (value, vector) in pairs.iter().take(rank) {
            learned = matrix_plus(&learned, *value, &outer(vector, vector));
        }
        devices[i] = device(i, learned, &run.x, &gradient);
    }
    run.asked
}

fn in_turn(case: &Case) -> Vec<usize> {
    (0..STEPS).map(|step| step % case.users()).collect()
}

/// What a uniform choice draws.
fn at_random(case: &Case) -> Vec<usize> {
    let mut draws = case.draws();
    (0..STEPS).map(|_| draws.index(case.users())).collect()
}

fn open<'a>(case: &'a Case, name: &str) -> Session<'a> {
    Session::with_sight(Method::by_name(name).unwrap(), case.settings(), Sight::Problem(&*case.problem)).unwrap()
}

#[test]
fn newton_over_everybody() {
    for case in cases() {
        let naive = fisher_scoring(&case, 8);
        case.compare(&mut open(&case, "fisher-scoring"), &naive, naive.len());
    }
}

#[test]
fn newton_in_turn() {
    for case in cases() {
        let naive = incremental_newton(&case, &in_turn(&case));
        case.compare(&mut open(&case, "nim"), &naive, naive.len());
    }
}

#[test]
fn newton_at_random() {
    for case in cases() {
        let naive = incremental_newton(&case, &at_random(&case));
        case.compare(&mut open(&case, "stochastic-newton"), &naive, naive.len());
        let users = case.injected(STEPS);
        let mut session = case.session(Nothing, Sequence::new(users.clone()), IncrementalNewton::new());
        let naive = incremental_newton(&case, &users);
        case.compare(&mut session, &naive, naive.len());
    }
}

#[test]
fn newton_learned() {
    for case in cases() {
        let users = at_random(&case);
        let naive = fednl(&case, &users, 1, true);
        case.compare(&mut open(&case, "fednl"), &naive, naive.len());
        for (rank, exact_start) in [(1, false), (2, true), (2, false)] {
            let users = case.injected(STEPS);
            let update = NewtonLearning::new(rank).exact_start(exact_start);
            let mut session = case.session(Nothing, Sequence::new(users.clone()), update);
            let naive = fednl(&case, &users, rank, exact_start);
            case.compare(&mut session, &naive, naive.len());
        }
    }
}

/// With whole Hessians learned at once, FedNL is the stochastic Newton method.
#[test]
fn newton_learned_whole() {
    for case in cases() {
        let users = case.injected(STEPS);
        let mut session = case.session(Nothing, Sequence::new(users.clone()), NewtonLearning::new(8));
        let naive = incremental_newton(&case, &users);
        case.compare(&mut session, &naive, naive.len());
    }
}

/// Running sums stay those of what they sum, long after everything has been replaced many times.
#[test]
fn newton_does_not_drift() {
    for case in cases().take(6) {
        let users: Vec<usize> = (0..3_000).map(|step| step % case.users()).collect();
        let naive = incremental_newton(&case, &users);
        case.compare(&mut open(&case, "nim"), &naive, naive.len());
    }
}
