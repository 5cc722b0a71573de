//! How to move on the last answers of all: SAG, IAG, DIAG, IQN, CIAG.

use sgq::{
    LastGradient, Method, Oracle, Problem, Random, Session, Update,
    belief::Nothing,
    choice::{Cyclic, Sequence},
    update::{Aggregated, CurvatureAided, DoublyAggregated, QuasiNewton},
};

use super::{
    Asked, Case, Run,
    algebra::{
        Matrix, Vector, apply, dot, matrix_plus, mean, minus, norm, outer, plus, scaled_identity, solve, sum, times,
    },
    cases,
};
use crate::random_problem::{random_quadratic, safe_settings};

const STEPS: usize = 80;

/// Blatt, Hero & Gauchman 2007 (in turn), Schmidt, Le Roux & Bach 2017 (at random): `g_i ← ∇f_i(x)`, `x ← x − (α/n) Σ g_j`.
fn aggregated(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut table = run.ask_all();
    for &i in users {
        table[i] = run.ask(i);
        let to = minus(&run.x, &times(run.alpha(), &mean(&table)));
        run.go(to);
    }
    run.asked
}

/// DIAG, Mokhtari, Gürbüzbalaban & Ribeiro 2018: `x ← (1/n) Σ y_j − (α/n) Σ ∇f_j(y_j)`.
fn diag(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut table = run.ask_all();
    let mut points = vec![run.x.clone(); case.users()];
    for &i in users {
        table[i] = run.ask(i);
        points[i] = run.x.clone();
        let to = minus(&mean(&points), &times(run.alpha(), &mean(&table)));
        run.go(to);
    }
    run.asked
}

/// IQN, Mokhtari, Eisen & Ribeiro 2018: `B_i ← B_i + yyᵀ/(yᵀs) − B_i ssᵀB_i/(sᵀB_i s)` with the changes `s` of the user's point
/// and `y` of its gradient; `x ← (Σ B_j)⁻¹ (Σ B_j z_j − Σ ∇f_j(z_j))`. At first `B_j = I/α_0`.
///
/// Ends where the run has converged: the changes are then nothing but rounding.
fn iqn(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut table = run.ask_all();
    let first_gradient = norm(&mean(&table));
    let mut points = vec![run.x.clone(); case.users()];
    let mut matrices: Vec<Matrix> = vec![scaled_identity(run.x.len(), 1.0 / run.alpha()); case.users()];
    for &i in users {
        let g = run.ask(i);
        let (s, y) = (minus(&run.x, &points[i]), minus(&g, &table[i]));
        if norm(&s) > 0.0 {
            let b_s = apply(&matrices[i], &s);
            matrices[i] = matrix_plus(&matrices[i], 1.0 / dot(&y, &s), &outer(&y, &y));
            matrices[i] = matrix_plus(&matrices[i], -1.0 / dot(&s, &b_s), &outer(&b_s, &b_s));
        }
        table[i] = g;
        points[i] = run.x.clone();
        let zero = scaled_identity(run.x.len(), 0.0);
        let total = matrices.iter().fold(zero, |total, b| matrix_plus(&total, 1.0, b));
        let images: Vec<Vector> = matrices.iter().zip(&points).map(|(b, z)| apply(b, z)).collect();
        let to = solve(&total, &minus(&sum(&images), &sum(&table)));
        run.go(to);
        let gradients: Vec<Vector> = (0..case.users()).map(|j| case.gradient(j, &run.x)).collect();
        if norm(&mean(&gradients)) < 1e-7 * first_gradient {
            break;
        }
    }
    run.asked
}

/// CIAG, Wai et al. 2018: `x ← x − (α/n) Σ (∇f_j(y_j) + ∇²f_j(y_j) (x − y_j))`, where user i's `y_i = x`.
fn ciag(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut table = run.ask_all();
    let mut points = vec![run.x.clone(); case.users()];
    for &i in users {
        table[i] = run.ask(i);
        points[i] = run.x.clone();
        let carried: Vec<Vector> = (0..case.users())
            .map(|j| plus(&table[j], &apply(&case.hessian(j, &points[j]), &minus(&run.x, &points[j]))))
            .collect();
        let to = minus(&run.x, &times(run.alpha(), &mean(&carried)));
        run.go(to);
    }
    run.asked
}

/// Users in turn, from the first.
fn in_turn(case: &Case, steps: usize) -> Vec<usize> {
    (0..steps).map(|step| step % case.users()).collect()
}

#[test]
fn sag() {
    for case in cases() {
        let users = case.injected(STEPS);
        let mut session = case.session(LastGradient::new(), Sequence::new(users.clone()), Aggregated);
        case.compare(&mut session, &aggregated(&case, &users), case.users() + STEPS);
    }
}

#[test]
fn iag() {
    for case in cases() {
        let mut session = case.session(LastGradient::new(), Cyclic::new(), Aggregated);
        case.compare(&mut session, &aggregated(&case, &in_turn(&case, STEPS)), case.users() + STEPS);
    }
}

#[test]
fn doubly_aggregated() {
    for case in cases() {
        let mut session = case.session(LastGradient::new(), Cyclic::new(), DoublyAggregated::new());
        case.compare(&mut session, &diag(&case, &in_turn(&case, STEPS)), case.users() + STEPS);
        let users = case.injected(STEPS);
        let injected = Sequence::new(users.clone());
        let mut session = case.session(LastGradient::new(), injected, DoublyAggregated::new());
        case.compare(&mut session, &diag(&case, &users), case.users() + STEPS);
    }
}

#[test]
fn incremental_quasi_newton() {
    let mut rounds = 0;
    for case in cases() {
        let naive = iqn(&case, &in_turn(&case, STEPS));
        rounds += naive.len() / case.users();
        let mut session = case.session(LastGradient::new(), Cyclic::new(), QuasiNewton::new());
        // Its matrices come from differences of answers, which make more of rounding: up to 1.4e-12.
        case.compare_within(1e-11, &mut session, &naive, naive.len());
    }
    // On average everybody's matrix has learned several times before a run has converged.
    assert!(rounds > 40 * 4, "{rounds}");
}

#[test]
fn curvature_aided() {
    for case in cases() {
        let mut session = case.session(Nothing, Cyclic::new(), CurvatureAided::new());
        case.compare(&mut session, &ciag(&case, &in_turn(&case, STEPS)), case.users() + STEPS);
        let users = case.injected(STEPS);
        let mut session = case.session(Nothing, Sequence::new(users.clone()), CurvatureAided::new());
        case.compare(&mut session, &ciag(&case, &users), case.users() + STEPS);
    }
}

/// Running sums stay those of what they sum, long after everything has been replaced many times.
#[test]
fn curvature_aided_does_not_drift() {
    const LONG: usize = 3_000;
    for case in cases().take(4) {
        let mut session = case.session(Nothing, Cyclic::new(), CurvatureAided::new());
        case.compare(&mut session, &ciag(&case, &in_turn(&case, LONG)), case.users() + LONG);
    }
}

/// Where a run of 100,000 steps ends, from the optimum.
fn final_distance<U: Update<LastGradient>>(update: U) -> f64 {
    let (problem, start) = random_quadratic(&mut Random::new(11, "competitors"), 8, 4);
    let settings = safe_settings(&problem, start);
    let method = Method::new("drift", LastGradient::new(), Cyclic::new(), update);
    let mut session = Session::new(method, settings.budget(100_000)).unwrap();
    let mut gradient = vec![0.0; 4];
    while let Some(query) = session.ask().unwrap() {
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
    }
    norm(&minus(session.point(), &problem.optimum().unwrap().point))
}

#[test]
fn iag_does_not_drift() {
    assert!(final_distance(Aggregated) < 1e-13);
}

#[test]
fn diag_does_not_drift() {
    let distance = final_distance(DoublyAggregated::new());
    assert!(distance < 1e-12, "{distance:e}");
}
