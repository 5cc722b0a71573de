//! Whom to ask: importance sampling, SRG, power-of-choice, Oort, GPFL, GraB, and users in turn. All step as SGD does.

use sgq::{
    LastGradient, Random,
    belief::Nothing,
    choice::{Balanced, ByNorm, BySmoothness, Cyclic, Oort, PowerOfChoice, Projection},
    update::{Sgd, Svrg},
};

use super::{
    Asked, Case, Run,
    algebra::{Vector, dot, minus, norm, plus, times},
    cases,
};

const QUERIES: usize = 120;

/// The first `i` with `u < p_0 + … + p_i`, where the `p` add up to 1.
fn pick(p: &[f64], u: f64) -> usize {
    let mut below = 0.0;
    for (i, p) in p.iter().enumerate() {
        below += p;
        if u < below {
            return i;
        }
    }
    p.iter().rposition(|p| *p > 0.0).unwrap()
}

fn argmax(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, j| if scores[j] > scores[best] { j } else { best })
}

/// Needell, Srebro & Ward 2014: `p_i = L_i / Σ L_j`, `x ← x − α ∇f_i(x) / (n p_i)`.
pub fn by_smoothness(case: &Case) -> (Vec<Asked>, Vec<Vector>) {
    let n = case.users();
    let smoothness = case.smoothness();
    let total: f64 = smoothness.iter().sum();
    let p = times(1.0 / total, &smoothness);
    let (mut run, mut random) = (Run::new(case), case.draws());
    while run.asked.len() < QUERIES {
        let i = pick(&p, random.unit());
        let g = run.ask(i);
        let to = minus(&run.x, &times(run.alpha() / (n as f64 * p[i]), &g));
        run.go(to);
    }
    (run.asked, vec![p; QUERIES])
}

/// SRG, El Hanchi, Stephens & Maddison 2022: `p_i = (1 − θ) ‖g_i‖ / Σ ‖g_j‖ + θ/n`, `x ← x − α ∇f_i(x) / (n p_i)`; then
/// `‖g_i‖ ← ‖∇f_i(x)‖` with probability `θ / (n p_i)`. All alike while no norm is known.
pub fn srg(case: &Case, theta: f64) -> (Vec<Asked>, Vec<Vector>) {
    let n = case.users();
    let uniform = vec![1.0 / n as f64; n];
    let mut norms = vec![0.0; n];
    let mut probabilities = Vec::new();
    let (mut run, mut random) = (Run::new(case), case.draws());
    while run.asked.len() < QUERIES {
        let total: f64 = norms.iter().sum();
        let q = if total > 0.0 { times(1.0 / total, &norms) } else { uniform.clone() };
        let p = plus(&times(1.0 - theta, &q), &times(theta, &uniform));
        // From the mixture: first which of the two, then from that one.
        let i = if random.unit() < theta || total == 0.0 { random.index(n) } else { pick(&q, random.unit()) };
        let g = run.ask(i);
        let to = minus(&run.x, &times(run.alpha() / (n as f64 * p[i]), &g));
        run.go(to);
        if random.unit() < theta / (n as f64 * p[i]) {
            norms[i] = norm(&g);
        }
        probabilities.push(p);
    }
    (run.asked, probabilities)
}

/// Cho, Wang & Joshi 2020 with one user a round: `d` candidates without replacement, then the one with the largest loss.
fn power_of_choice(case: &Case, candidates: usize) -> Vec<Asked> {
    let (mut run, mut random) = (Run::new(case), case.draws());
    let mut users: Vec<usize> = (0..case.users()).collect();
    while run.asked.len() < QUERIES {
        for first in 0..candidates {
            let drawn = first + random.index(case.users() - first);
            users.swap(first, drawn);
        }
        let losses: Vec<f64> = users[..candidates].iter().map(|i| case.problem.user_value(*i, &run.x)).collect();
        let i = users[argmax(&losses)];
        let g = run.ask(i);
        let to = minus(&run.x, &times(run.alpha(), &g));
        run.go(to);
    }
    run.asked
}

/// Oort, Lai et al. 2021, Algorithm 1 with one user a round and no durations: in round `R = 1, 2, …` with probability
/// `ε_R = max(0.9 · 0.98^(R−1), 0.2)` a user that was never asked; else `Util(i) = U(i) + √(0.1 ln R / L(i))` over those
/// that were, `L(i)` the round it was last asked in; among those with at least 95% of the best, by utility.
fn oort(case: &Case) -> Vec<Asked> {
    let n = case.users();
    let (mut run, mut random) = (Run::new(case), case.draws());
    let mut utility = vec![None; n];
    let mut last_round = vec![0.0; n];
    let mut epsilon: f64 = 0.9;
    for round in 1..=QUERIES {
        let unexplored: Vec<usize> = (0..n).filter(|i| utility[*i].is_none()).collect();
        let nobody_explored = unexplored.len() == n;
        let i = if !unexplored.is_empty() && (nobody_explored || random.unit() < epsilon) {
            unexplored[random.index(unexplored.len())]
        } else {
            let util: Vec<f64> = (0..n)
                .map(|i| utility[i].map_or(0.0, |u: f64| u + (0.1 * (round as f64).ln() / last_round[i]).sqrt()))
                .collect();
            let best = util[argmax(&util)];
            let kept: Vec<f64> = util.iter().map(|u| if *u >= 0.95 * best { *u } else { 0.0 }).collect();
            let total: f64 = kept.iter().sum();
            pick(&times(1.0 / total, &kept), random.unit())
        };
        let loss = case.problem.user_value(i, &run.x);
        let g = run.ask(i);
        let to = minus(&run.x, &times(run.alpha(), &g));
        run.go(to);
        utility[i] = Some(loss);
        last_round[i] = round as f64;
        epsilon = (0.98 * epsilon).max(0.2);
    }
    run.asked
}

/// GPFL, Na, Liang & Yiu 2024 with one user a round, as the part documents it: `argmax c_i + √(2 ln t / n_i)`, where `c_i` is
/// `⟨g_i, d⟩ / ‖d‖` scaled to `[0, 1]`, and `d ← 0.9 d + g` over all answers, those of the first round included.
fn gpfl(case: &Case) -> Vec<Asked> {
    let n = case.users();
    let mut run = Run::new(case);
    let mut last = run.ask_all();
    let mut history = last.clone();
    let mut asked = vec![1.0; n];
    while run.asked.len() < QUERIES {
        // d = Σ 0.9^age g
        let ages = (0..history.len()).rev();
        let d = history
            .iter()
            .zip(ages)
            .fold(vec![0.0; run.x.len()], |d, (g, age)| plus(&d, &times(0.9f64.powi(age as i32), g)));
        let c: Vec<f64> = last.iter().map(|g| dot(g, &d) / norm(&d)).collect();
        let low = c.iter().copied().fold(f64::INFINITY, f64::min);
        let high = c.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let t: f64 = asked.iter().sum();
        let scores: Vec<f64> = (0..n)
            .map(|i| {
                let c = if high > low { (c[i] - low) / (high - low) } else { 0.0 };
                c + (2.0 * t.ln() / asked[i]).sqrt()
            })
            .collect();
        let i = argmax(&scores);
        let g = run.ask(i);
        let to = minus(&run.x, &times(run.alpha(), &g));
        run.go(to);
        last[i] = g.clone();
        history.push(g);
        asked[i] += 1.0;
    }
    run.asked
}

/// GraB, Lu, Guo & De Sa 2022, Algorithm 4: along an epoch `c = g − m` with the mean `m` of the last one; `ε = +1` if
/// `‖s + c‖ ≤ ‖s − c‖`, else −1; `s ← s + ε c`; a plus goes to the front of the next order, a minus to its back.
fn grab(case: &Case) -> Vec<Asked> {
    let n = case.users();
    let (mut run, mut random) = (Run::new(case), case.draws());
    let mut order: Vec<usize> = (0..n).collect();
    shuffle(&mut order, &mut random);
    let mut stale_mean = vec![0.0; run.x.len()];
    while run.asked.len() < QUERIES {
        let (mut left, mut right) = (0, n);
        let mut next_order = vec![usize::MAX; n];
        let mut s = vec![0.0; run.x.len()];
        let mut fresh_mean = vec![0.0; run.x.len()];
        for i in order {
            let g = run.ask(i);
            fresh_mean = plus(&fresh_mean, &times(1.0 / n as f64, &g));
            let c = minus(&g, &stale_mean);
            if norm(&plus(&s, &c)) <= norm(&minus(&s, &c)) {
                s = plus(&s, &c);
                next_order[left] = i;
                left += 1;
            } else {
                s = minus(&s, &c);
                right -= 1;
                next_order[right] = i;
            }
            let to = minus(&run.x, &times(run.alpha(), &g));
            run.go(to);
        }
        order = next_order;
        stale_mean = fresh_mean;
    }
    run.asked
}

/// Fisher and Yates, from the back.
fn shuffle(order: &mut [usize], random: &mut Random) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.index(last + 1));
    }
}

#[test]
fn importance_sampling() {
    for case in cases() {
        case.compare(&mut case.session(Nothing, BySmoothness, Sgd), &by_smoothness(&case).0, QUERIES);
    }
}

#[test]
fn stochastic_reweighted_gradient() {
    for case in cases() {
        for theta in [0.1, 0.5, 1.0] {
            case.compare(&mut case.session(Nothing, ByNorm::new(theta), Sgd), &srg(&case, theta).0, QUERIES);
        }
    }
}

#[test]
fn power_of_choice_with_one_some_and_all_candidates() {
    for case in cases() {
        for candidates in [1, case.users().div_ceil(2), case.users()] {
            let mut session = case.session(Nothing, PowerOfChoice::new(Some(candidates)), Sgd);
            case.compare(&mut session, &power_of_choice(&case, candidates), QUERIES);
            assert_eq!(session.meter().polled(), (candidates * QUERIES) as u64);
            assert_eq!(session.meter().diagnostic(), 0);
        }
    }
}

#[test]
fn oort_as_published() {
    for case in cases() {
        case.compare(&mut case.session(Nothing, Oort::new(), Sgd), &oort(&case), QUERIES);
    }
}

#[test]
fn gpfl_as_documented() {
    for case in cases() {
        case.compare(&mut case.session(LastGradient::new(), Projection::new(), Sgd), &gpfl(&case), QUERIES);
    }
}

#[test]
fn gradient_balancing() {
    for case in cases() {
        case.compare(&mut case.session(Nothing, Balanced::new(), Sgd), &grab(&case), QUERIES);
    }
}

/// Answers of a sweep are nothing to the order: between SVRG's snapshots everybody still has a turn in each epoch.
#[test]
fn gradient_balancing_with_snapshots() {
    for case in cases() {
        let n = case.users();
        // A snapshot after 3 steps: within an epoch.
        let log = case.log(&mut case.session(Nothing, Balanced::new(), Svrg::new(Some(3))), 20 * n);
        let steps: Vec<usize> =
            log.iter().enumerate().filter(|(query, _)| query % (n + 3) >= n).map(|(_, asked)| asked.user).collect();
        for epoch in steps.chunks_exact(n) {
            let mut users = epoch.to_vec();
            users.sort_unstable();
            assert_eq!(users, (0..n).collect::<Vec<_>>(), "problem {}", case.seed);
        }
    }
}

#[test]
fn users_in_turn() {
    for case in cases() {
        let log = case.log(&mut case.session(Nothing, Cyclic::new(), Sgd), QUERIES);
        for (number, asked) in log.iter().enumerate() {
            assert_eq!(asked.user, number % case.users());
        }
    }
}
