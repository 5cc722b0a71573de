//! Users who are away, and several questions out at once: MIFA, DAve-QN.

use sgq::{Method, Query, Random, Session, Sight};

use super::{
    Asked, Case, Run,
    algebra::{Matrix, Vector, apply, dot, matrix_plus, mean, minus, norm, outer, scaled_identity, solve, sum, times},
    cases, close,
};

const STEPS: usize = 80;

/// Everybody once in random order, then again. Whoever is away when its turn comes is asked as soon as it is back, in this round or
/// first in the next one.
struct Rounds {
    asked: Vec<usize>,
    waiting: Vec<usize>,
    draws: Random,
}

impl Rounds {
    fn new(case: &Case) -> Self {
        Self { asked: (0..case.users()).collect(), waiting: Vec::new(), draws: case.draws() }
    }

    fn next(&mut self, is_away: &[bool]) -> usize {
        let place = |waiting: &[usize]| waiting.iter().position(|user| !is_away[*user]);
        if place(&self.waiting).is_none() {
            self.draws.shuffle(&mut self.asked);
            self.waiting.append(&mut self.asked);
        }
        let user = self.waiting.remove(place(&self.waiting).unwrap());
        self.asked.push(user);
        user
    }
}

/// Who is away before each question; somebody is always there.
fn absences(case: &Case) -> Vec<Vec<bool>> {
    let mut random = Random::new(case.seed, "absences");
    let mut is_away = vec![false; case.users()];
    (0..STEPS)
        .map(|_| {
            for away in &mut is_away {
                *away = if *away { random.unit() > 0.1 } else { random.unit() < 0.1 };
            }
            let one = random.index(case.users());
            is_away[one] = false;
            is_away.clone()
        })
        .collect()
}

/// MIFA, Gu, Huang, Zhang & Huang 2021, Algorithm 1 with one local step and one active device a round: the active device's update is
/// `G_i ← ∇f_i(x)`, all others keep theirs, and `x ← x − (η/N) Σ G_j`. The authors have everybody active in the first round.
/// Without that, those who were never there are left out of the mean.
fn mifa(case: &Case, away: &[Vec<bool>], all_at_first: bool) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut memory: Vec<Option<Vector>> = vec![None; case.users()];
    if all_at_first {
        memory = run.ask_all().into_iter().map(Some).collect();
    }
    let mut rounds = Rounds::new(case);
    for is_away in away {
        let i = rounds.next(is_away);
        memory[i] = Some(run.ask(i));
        let updates: Vec<Vector> = memory.iter().flatten().cloned().collect();
        let to = minus(&run.x, &times(run.alpha(), &mean(&updates)));
        run.go(to);
    }
    run.asked
}

#[test]
fn users_who_are_away() {
    for case in cases() {
        let away = absences(&case);
        for all_at_first in [false, true] {
            let method = Method::by_name("mifa").unwrap().with("lazy", (!all_at_first).into()).unwrap();
            let mut session = Session::with_sight(method, case.settings(), Sight::Problem(&*case.problem)).unwrap();
            let naive = mifa(&case, &away, all_at_first);
            let first = if all_at_first { case.users() } else { 0 };
            case.compare(&mut session, &naive[..first], first);
            for (is_away, naive) in away.iter().zip(&naive[first..]) {
                for (user, away) in is_away.iter().enumerate() {
                    if *away { session.away(user).unwrap() } else { session.back(user).unwrap() }
                }
                let query = session.ask().unwrap().unwrap();
                let place = format!("problem {}", case.seed);
                assert_eq!(query.user, naive.user, "user in {place}");
                close(&query.point, &naive.at, 1e-12, &place);
                session.tell(query.ticket, &case.gradient(query.user, &query.point)).unwrap();
                close(session.point(), &naive.after, 1e-12, &place);
            }
        }
    }
}

/// DAve-QN, Soori et al. 2020. The master has `u = Σ B_j z_j`, `g = Σ ∇f_j(z_j)` and `B = Σ B_j`; a worker that was sent `x` answers
/// with the changes `s = x − z_i` and `y = ∇f_i(x) − ∇f_i(z_i)`, by which `B_i` changes as in BFGS, and is sent the new
/// `x = B⁻¹ (u − g)`. At first `z_j = x_0` and `B_j = I/α`, and a gradient step from there is the first `x` for all.
///
/// With fewer workers than users, a worker takes the next user in turn that no other has. `arrives` says which of the workers
/// answers next. Ends before the first change so short that its rounding would count.
fn dave_qn(case: &Case, workers: usize, mut arrives: impl FnMut(usize) -> usize) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut gradients = run.ask_all();
    let longest = gradients.iter().map(|gradient| norm(gradient)).fold(0.0, f64::max);
    let (users, dim) = (case.users(), run.x.len());
    let mut points = vec![run.x.clone(); users];
    let mut matrices: Vec<Matrix> = vec![scaled_identity(dim, 1.0 / run.alpha()); users];
    let step = minus(&run.x, &times(run.alpha(), &mean(&gradients)));
    run.go(step);
    let mut next_user = 0;
    let mut out: Vec<(usize, Vector)> = Vec::new();
    for _ in 0..STEPS {
        while out.len() < workers.min(users) {
            while out.iter().any(|(user, _)| *user == next_user) {
                next_user = (next_user + 1) % users;
            }
            out.push((next_user, run.x.clone()));
            next_user = (next_user + 1) % users;
        }
        let (i, x) = out.remove(arrives(out.len()));
        let gradient = run.ask_at(i, &x);
        let (s, y) = (minus(&x, &points[i]), minus(&gradient, &gradients[i]));
        if norm(&y) < 1e-4 * longest {
            run.asked.pop();
            break;
        }
        let q = apply(&matrices[i], &s);
        matrices[i] = matrix_plus(&matrices[i], 1.0 / dot(&y, &s), &outer(&y, &y));
        matrices[i] = matrix_plus(&matrices[i], -1.0 / dot(&s, &q), &outer(&q, &q));
        (points[i], gradients[i]) = (x, gradient);
        let total = matrices.iter().fold(scaled_identity(dim, 0.0), |total, matrix| matrix_plus(&total, 1.0, matrix));
        let u = sum(&matrices.iter().zip(&points).map(|(matrix, z)| apply(matrix, z)).collect::<Vec<_>>());
        let to = solve(&total, &minus(&u, &sum(&gradients)));
        run.go(to);
    }
    run.asked
}

/// The first to be asked answers first, or any of them; with as many questions out as there are users, as the authors have it,
/// with fewer, and with one.
#[test]
fn answers_from_several_workers() {
    let mut compared = 0;
    for case in cases() {
        for (open, in_order) in [(1, true), (3, true), (case.users(), true), (case.users(), false)] {
            let order = || {
                let mut random = Random::new(case.seed, "arrivals");
                move |out: usize| if in_order { 0 } else { random.index(out) }
            };
            let naive = dave_qn(&case, open, order());
            compared += naive.len() - case.users();
            let settings = case.settings().open(open);
            let method = Method::by_name("dave-qn").unwrap();
            let mut session = Session::with_sight(method, settings, Sight::Problem(&*case.problem)).unwrap();
            let (mut arrives, mut out): (_, Vec<Query>) = (order(), Vec::new());
            for (number, naive) in naive.iter().enumerate() {
                while out.len() < open
                    && let Some(query) = session.ask().unwrap()
                    && out.iter().all(|other| other.ticket != query.ticket)
                {
                    out.push(query);
                }
                let arrived = if number < case.users() { 0 } else { arrives(out.len()) };
                let query = out.remove(arrived);
                let place = format!("problem {}, {open} out, query {number}", case.seed);
                assert_eq!(query.user, naive.user, "user in {place}");
                close(&query.point, &naive.at, 1e-10, &place);
                session.tell(query.ticket, &case.gradient(query.user, &query.point)).unwrap();
                close(session.point(), &naive.after, 1e-10, &place);
            }
        }
    }
    assert!(compared > 40 * 4 * 20, "{compared}");
}
