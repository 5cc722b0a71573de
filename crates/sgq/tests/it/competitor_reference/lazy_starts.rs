//! SAGA, SAG, IAG, DIAG and IQN that begin with the first answer: users not asked yet are left out of the means and sums.

use sgq::{
    LastGradient, Method, PaidAnswer, Session, Settings, Sight, StepSize, StepSizeError, Update,
    choice::{CHOICES, Cyclic, Sequence, SurrogateEi, Uniform},
    method,
    theory::Theorem,
    update::{Aggregated, DoublyAggregated, QuasiNewton, Saga},
};

use super::{
    Asked, Case, DECAY, Run,
    algebra::{
        Matrix, Vector, apply, dot, matrix_plus, mean, minus, norm, outer, plus, scaled_identity, solve, sum, times,
    },
    cases, close,
    unbiased::Given,
};

const STEPS: usize = 80;

/// The last answer of each user asked so far: where, and what.
type Answers = Vec<Option<(Vector, Vector)>>;

fn points(answers: &Answers) -> Vec<Vector> {
    answers.iter().flatten().map(|(point, _)| point.clone()).collect()
}

fn gradients(answers: &Answers) -> Vec<Vector> {
    answers.iter().flatten().map(|(_, gradient)| gradient.clone()).collect()
}

/// `g_i ← ∇f_i(x)`, `x ← x − α · mean g_j` over the users asked so far.
fn aggregated(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut answers: Answers = vec![None; case.users()];
    for &i in users {
        answers[i] = Some((run.x.clone(), run.ask(i)));
        let to = minus(&run.x, &times(run.alpha(), &mean(&gradients(&answers))));
        run.go(to);
    }
    run.asked
}

/// `x ← mean y_j − α · mean ∇f_j(y_j)` over the users asked so far.
fn diag(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut answers: Answers = vec![None; case.users()];
    for &i in users {
        answers[i] = Some((run.x.clone(), run.ask(i)));
        let to = minus(&mean(&points(&answers)), &times(run.alpha(), &mean(&gradients(&answers))));
        run.go(to);
    }
    run.asked
}

/// `x ← (Σ B_j)⁻¹ (Σ B_j z_j − Σ ∇f_j(z_j))` over the users asked so far; `B_j = I/α_0` at user `j`'s first answer, and then by
/// BFGS.
///
/// Ends before the first change so short that its rounding would count: a few users' minimum is soon found.
fn iqn(case: &Case, users: &[usize]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut answers: Answers = vec![None; case.users()];
    let first = scaled_identity(run.x.len(), 1.0 / case.initial_step);
    let mut matrices: Vec<Matrix> = vec![first; case.users()];
    let mut longest = 0.0;
    for &i in users {
        let g = run.ask(i);
        if let Some((point, gradient)) = &answers[i] {
            let (s, y) = (minus(&run.x, point), minus(&g, gradient));
            if norm(&y) < 1e-4 * longest {
                run.asked.pop();
                break;
            }
            let b_s = apply(&matrices[i], &s);
            matrices[i] = matrix_plus(&matrices[i], 1.0 / dot(&y, &s), &outer(&y, &y));
            matrices[i] = matrix_plus(&matrices[i], -1.0 / dot(&s, &b_s), &outer(&b_s, &b_s));
        }
        longest = f64::max(longest, norm(&g));
        answers[i] = Some((run.x.clone(), g));
        let asked: Vec<usize> = (0..case.users()).filter(|j| answers[*j].is_some()).collect();
        let zero = scaled_identity(run.x.len(), 0.0);
        let total = asked.iter().fold(zero, |total, j| matrix_plus(&total, 1.0, &matrices[*j]));
        let images: Vec<Vector> =
            asked.iter().zip(points(&answers)).map(|(j, point)| apply(&matrices[*j], &point)).collect();
        let to = solve(&total, &minus(&sum(&images), &sum(&gradients(&answers))));
        run.go(to);
    }
    run.asked
}

/// `x ← x − α (w (∇f_i(x) − g̃_i) + ḡ)`, with `ḡ` over the users asked before; for a user not asked before `g̃_i` is `ḡ`. With
/// weight 1 a first answer makes the plain step `x ← x − α ∇f_i(x)`.
fn saga(case: &Case, users: &[(usize, f64)]) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut answers: Answers = vec![None; case.users()];
    for &(i, w) in users {
        let g = run.ask(i);
        let before = gradients(&answers);
        let direction = match &answers[i] {
            None if before.is_empty() || w == 1.0 => times(w, &g),
            None => plus(&times(w, &g), &times(1.0 - w, &mean(&before))),
            Some((_, last)) => plus(&times(w, &minus(&g, last)), &mean(&before)),
        };
        answers[i] = Some((run.x.clone(), g));
        let to = minus(&run.x, &times(run.alpha(), &direction));
        run.go(to);
    }
    run.asked
}

fn plain_saga(case: &Case, users: &[usize]) -> Vec<Asked> {
    saga(case, &users.iter().map(|user| (*user, 1.0)).collect::<Vec<_>>())
}

fn lazy() -> LastGradient {
    LastGradient::new().lazy(true)
}

/// On users in turn and on users at random, of whom some are asked again before all were asked.
///
/// Returns how many queries were compared.
fn compare<U: Update<LastGradient> + Clone>(
    update: &U,
    naive: impl Fn(&Case, &[usize]) -> Vec<Asked>,
    tolerance: f64,
) -> usize {
    let mut compared = 0;
    for case in cases() {
        let in_turn: Vec<usize> = (0..STEPS).map(|step| step % case.users()).collect();
        for users in [in_turn, case.injected(STEPS)] {
            let naive = naive(&case, &users);
            let mut session = case.session(lazy(), Sequence::new(users), update.clone());
            case.compare_within(tolerance, &mut session, &naive, naive.len());
            assert_eq!(session.steps(), naive.len() as u64, "every answer is a step");
            compared += naive.len();
        }
    }
    compared
}

#[test]
fn sag_and_iag() {
    assert_eq!(compare(&Aggregated, aggregated, 1e-12), 2 * 40 * STEPS);
}

#[test]
fn doubly_aggregated() {
    assert_eq!(compare(&DoublyAggregated::new(), diag, 1e-12), 2 * 40 * STEPS);
}

#[test]
fn incremental_quasi_newton() {
    // Its matrices come from differences of answers, which make more of rounding: up to 2e-11.
    let compared = compare(&QuasiNewton::new(), iqn, 1e-10);
    assert!(compared > 2_000, "{compared}");
}

#[test]
fn saga_with_weights_and_without() {
    assert_eq!(compare(&Saga, plain_saga, 1e-12), 2 * 40 * STEPS);
    for case in cases() {
        let weight = |step: usize| [1.0, 0.4, 1.7][step % 3];
        let users: Vec<_> = case.injected(STEPS).into_iter().enumerate().map(|(t, user)| (user, weight(t))).collect();
        let mut session = case.session(lazy(), Given(users.clone()), Saga);
        case.compare(&mut session, &saga(&case, &users), STEPS);
    }
}

/// Any choice that reads the last gradients, or nothing, goes with a lazy start; each step is that of the equations.
#[test]
fn every_choice() {
    for case in cases().take(10) {
        for choice in CHOICES {
            for update in ["saga", "aggregated", "doubly-aggregated", "quasi-newton"] {
                let Ok(method) = Method::compose(None, choice.name, update) else {
                    assert_eq!(choice.name, "informative");
                    continue;
                };
                let method = method.with("lazy", true.into()).unwrap();
                let open =
                    || Session::with_sight(method.clone(), case.settings(), Sight::Problem(&*case.problem)).unwrap();
                let users: Vec<usize> = case.log(&mut open(), STEPS).iter().map(|asked| asked.user).collect();
                let naive = match update {
                    // Weights are compared above.
                    "saga" if ["by-norm", "by-smoothness"].contains(&choice.name) => continue,
                    "saga" => plain_saga(&case, &users),
                    "aggregated" => aggregated(&case, &users),
                    "doubly-aggregated" => diag(&case, &users),
                    _ => iqn(&case, &users),
                };
                let tolerance = if update == "quasi-newton" { 1e-10 } else { 1e-12 };
                case.compare_within(tolerance, &mut open(), &naive, naive.len());
            }
        }
    }
}

/// Every first answer of a user enters with the curvature of the first step of all, however small steps have become.
#[test]
fn a_late_user_enters_like_the_first() {
    // f_i(x) = ½ (x − i)², from 4: user 0 at step 0, user 1 at step 1.
    let initial = 0.5;
    let settings = Settings::new(vec![4.0], 2).step_size(StepSize::Decay { initial, rate: 100.0 * DECAY });
    let method = Method::new("iqn", lazy(), Cyclic::new(), QuasiNewton::new());
    let mut session = Session::new(method, settings).unwrap();
    // x = 4 − α · 4, and then (B (4 + 2) − (4 + 1)) / (2 B) with B = 1 / 0.5.
    for (from, to) in [(4.0, 2.0), (2.0, 7.0 / 4.0)] {
        let query = session.ask().unwrap().unwrap();
        close(&query.point, &[from], 1e-12, "a quadratic of two users");
        session.tell(query.ticket, &[query.point[0] - query.user as f64]).unwrap();
        close(session.point(), &[to], 1e-12, "a quadratic of two users");
    }
}

/// Means that users join are those of what they hold, long after everything has been replaced many times.
#[test]
fn lazy_starts_do_not_drift() {
    const LONG: usize = 3_000;
    for case in cases().take(6) {
        let users = case.injected(LONG);
        let sequence = || Sequence::new(users.clone());
        case.compare(&mut case.session(lazy(), sequence(), Aggregated), &aggregated(&case, &users), LONG);
        case.compare(&mut case.session(lazy(), sequence(), DoublyAggregated::new()), &diag(&case, &users), LONG);
        case.compare(&mut case.session(lazy(), sequence(), Saga), &plain_saga(&case, &users), LONG);
    }
}

/// SAGA's theorem is about a table that begins with a sweep.
#[test]
fn no_theorem_is_claimed_for_a_lazy_start() {
    let settings = || Settings::new(vec![5.0], 4).smoothness(vec![2.0; 4]).pl_constant(2.0);
    let theorem = |belief: LastGradient| {
        Session::new(Method::new("x", belief, Uniform, Saga), settings().step_size(0.1)).unwrap().theorem()
    };
    assert_eq!(theorem(LastGradient::new()), Some(Theorem::Saga));
    assert_eq!(theorem(LastGradient::new().learning(true)), Some(Theorem::Saga));
    assert_eq!(theorem(lazy()), None);
    let by_theory = Method::new("x", lazy(), Uniform, Saga);
    let refused = Session::new(by_theory, settings().step_size(StepSize::Theory)).unwrap_err();
    assert_eq!(refused, StepSizeError::NoTheorem { method: "x".to_owned() }.into());
    // SGD's is about steps that do not read the table.
    let sgd = Method::new("x", lazy(), Uniform, sgq::update::Sgd);
    assert_eq!(Session::new(sgd, settings().step_size(0.1)).unwrap().theorem(), Some(Theorem::UniformSgd));
    let sgq = Method::new("x", lazy(), SurrogateEi::new(0.3), Saga);
    assert_eq!(Session::new(sgq, settings().step_size(0.1)).unwrap().theorem(), None);
}

/// Earlier answers past the divergence limit go to the belief alone; whoever keeps a mean or a sum of its own notices.
#[test]
fn answers_for_the_belief_alone_are_not_missed() {
    // f_i(x) = (x − i)².
    let answer = |user: usize, x: f64| PaidAnswer::new(user, &[x], &[2.0 * (x - user as f64)]);
    let (alpha, far) = (0.1, -1e9);
    let settings = Settings::new(vec![1.0], 2).step_size(alpha).divergence_limit(1e6);
    let open = |method: Method, paid: &[PaidAnswer]| {
        let method = method.with("lazy", true.into()).unwrap();
        Session::with_answers(method, settings.clone(), Sight::Blind, paid).unwrap()
    };
    let paid = [answer(1, 1.5), answer(0, far), answer(0, 3.0)];
    let diag = open(method::diag(), &paid);
    let mean = |a: f64, b: f64| (a + b) / 2.0;
    close(diag.point(), &[mean(1.5, 3.0) - alpha * mean(1.0, 6.0)], 1e-12, "diag");
    assert_eq!(diag.steps(), 2);
    // Whoever was asked at two points has its true curvature, and with both of them the minimum is found.
    let paid = [answer(1, 1.5), answer(0, far), answer(0, 3.0), answer(1, far), answer(1, 2.0)];
    let iqn = open(method::iqn(), &paid);
    close(iqn.point(), &[0.5], 1e-6, "iqn");
    assert_eq!(iqn.steps(), 3);
}
