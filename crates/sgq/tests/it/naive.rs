//! The naive reference: the six methods written straight from their equations, as plainly as possible.
//!
//! Everything is recomputed in full at every step; nothing is cached, updated incrementally or optimised.
//! The tests compare the library with this module, so it must never share code with the library: neither
//! call it, nor be called by it, nor be "tidied up" by reusing pieces of it.
//!
//! Throughout, `n` is the number of users, `f = (1/n) Σ f_i`, `L_i` the smoothness of `f_i`, `L = (1/n) Σ L_i`
//! and `α` the step size `α_t`, where `t` counts the steps taken so far, from 0. User `i`'s last answer is `g̃_i`,
//! the point it was asked at is `x_τi`, and `ḡ = (1/n) Σ g̃_i`.

/// One user's answers: the gradient `∇f_i(x)` of user `i` at `x`.
pub type Gradient<'a> = &'a dyn Fn(usize, &[f64]) -> Vec<f64>;

/// The problem and the step sizes, as every method takes them.
pub struct Setup<'a> {
    /// `n`.
    pub users: usize,
    /// `x_0`.
    pub start: Vec<f64>,
    /// `L_i` of every user.
    pub smoothness: Vec<f64>,
    /// `α_t`, where `t` is the number of steps taken so far, from 0.
    pub step_size: &'a dyn Fn(usize) -> f64,
    /// `∇f_i(x)`.
    pub gradient: Gradient<'a>,
}

/// Whom the method asks in a step.
pub enum Ask {
    /// This user: an injected (uniform, exploring) draw.
    Forced(usize),
    /// The user with the highest score of the method.
    Argmax,
}

/// What happened in one step.
pub struct Step {
    /// The user that was asked.
    pub user: usize,
    /// The point it was asked at: the point before the step.
    pub asked_at: Vec<f64>,
    /// Its answer, `∇f_i` at that point.
    pub gradient: Vec<f64>,
    /// The point after the step.
    pub point_after: Vec<f64>,
    /// The queries billed so far, including those of the start-up and of the snapshots.
    pub queries: usize,
}

/// SGD: `x ← x − α ∇f_i(x)`, with the given users.
///
/// Billed: 1 a step.
pub fn sgd(setup: &Setup<'_>, users: &[usize]) -> Vec<Step> {
    let mut x = setup.start.clone();
    let mut steps = Vec::new();

    for (t, &i) in users.iter().enumerate() {
        let alpha = (setup.step_size)(t);

        // ∇f_i(x)
        let asked_at = x.clone();
        let gradient = (setup.gradient)(i, &x);

        // x ← x − α ∇f_i(x)
        x = minus(&x, &times(alpha, &gradient));

        steps.push(Step { user: i, asked_at, gradient, point_after: x.clone(), queries: t + 1 });
    }
    steps
}

/// OGQ: `i = argmax_j EI_j(x)` with the true gradients, then `x ← x − α ∇f_i(x)`.
///
/// Billed: 1 a step. The oracle's look at all the gradients is not billed.
pub fn ogq(setup: &Setup<'_>, steps: usize) -> Vec<Step> {
    let smoothness = mean(&setup.smoothness);
    let mut x = setup.start.clone();
    let mut taken = Vec::new();

    for t in 0..steps {
        let alpha = (setup.step_size)(t);

        // i = argmax_j EI_j(x), EI_j(x) = α⟨∇f(x), ∇f_j(x)⟩ − (α² L/2) ‖∇f_j(x)‖²
        let gradients = all_gradients(setup, &x);
        let mean_gradient = mean_of_rows(&gradients);
        let mut scores = Vec::new();
        for gradient in &gradients {
            scores.push(expected_improvement(alpha, smoothness, &mean_gradient, gradient));
        }
        let i = argmax(&scores);

        // ∇f_i(x)
        let asked_at = x.clone();
        let gradient = (setup.gradient)(i, &x);

        // x ← x − α ∇f_i(x)
        x = minus(&x, &times(alpha, &gradient));

        taken.push(Step { user: i, asked_at, gradient, point_after: x.clone(), queries: t + 1 });
    }
    taken
}

/// SGQ: the forced user or `i = argmax_j ẼI_j + w r_j`, then `x ← x − α ∇f_i(x)`.
///
/// Score with the table as it stands, choose, query at `x`, store `g̃_i = ∇f_i(x)` and `x_τi = x`, step.
///
/// Billed: n at the start (`∇f_j(x_0)` of every user), then 1 a step.
pub fn sgq(setup: &Setup<'_>, asks: &[Ask], bonus_weight: f64) -> Vec<Step> {
    let mut x = setup.start.clone();

    // g̃_j = ∇f_j(x_0), x_τj = x_0
    let mut answers = all_gradients(setup, &x);
    let mut asked_points = vec![x.clone(); setup.users];
    let mut steps = Vec::new();

    for (t, ask) in asks.iter().enumerate() {
        let alpha = (setup.step_size)(t);

        // i forced, or i = argmax_j ẼI_j + w r_j
        let i = match ask {
            Ask::Forced(user) => *user,
            Ask::Argmax => argmax(&sgq_scores(setup, alpha, &x, &answers, &asked_points, bonus_weight)),
        };

        // ∇f_i(x)
        let asked_at = x.clone();
        let gradient = (setup.gradient)(i, &x);

        // g̃_i ← ∇f_i(x), x_τi ← x
        answers[i] = gradient.clone();
        asked_points[i] = x.clone();

        // x ← x − α ∇f_i(x)
        x = minus(&x, &times(alpha, &gradient));

        steps.push(Step { user: i, asked_at, gradient, point_after: x.clone(), queries: setup.users + t + 1 });
    }
    steps
}

/// SAGA: `x ← x − α (∇f_i(x) − g̃_i + ḡ)`, with the given users; `g̃_i` and `ḡ` are those from before the query.
///
/// Billed: n at the start (`∇f_j(x_0)` of every user), then 1 a step.
pub fn saga(setup: &Setup<'_>, users: &[usize]) -> Vec<Step> {
    let mut x = setup.start.clone();

    // g̃_j = ∇f_j(x_0)
    let mut answers = all_gradients(setup, &x);
    let mut steps = Vec::new();

    for (t, &i) in users.iter().enumerate() {
        let alpha = (setup.step_size)(t);

        // ∇f_i(x)
        let asked_at = x.clone();
        let gradient = (setup.gradient)(i, &x);

        // ∇f_i(x) − g̃_i + ḡ
        let mean_answer = mean_of_rows(&answers);
        let direction = plus(&minus(&gradient, &answers[i]), &mean_answer);

        // g̃_i ← ∇f_i(x)
        answers[i] = gradient.clone();

        // x ← x − α (∇f_i(x) − g̃_i + ḡ)
        x = minus(&x, &times(alpha, &direction));

        steps.push(Step { user: i, asked_at, gradient, point_after: x.clone(), queries: setup.users + t + 1 });
    }
    steps
}

/// SVRG: `x ← x − α (∇f_i(x) − ∇f_i(x_snap) + ∇f(x_snap))`, with the given users.
///
/// A new snapshot `x_snap = x` is taken just before the inner steps number 0, m, 2m, …, `m = inner_steps`. No
/// snapshot follows the last step.
///
/// Billed: n a snapshot, then 1 an inner step (the n gradients of the snapshot are kept).
pub fn svrg(setup: &Setup<'_>, users: &[usize], inner_steps: usize) -> Vec<Step> {
    let mut x = setup.start.clone();
    let mut snapshot_gradients = Vec::new();
    let mut queries = 0;
    let mut steps = Vec::new();

    for (t, &i) in users.iter().enumerate() {
        let alpha = (setup.step_size)(t);

        // every m inner steps: x_snap = x, and ∇f_j(x_snap) of every user
        if t % inner_steps == 0 {
            snapshot_gradients = all_gradients(setup, &x);
            queries += setup.users;
        }

        // ∇f_i(x)
        let asked_at = x.clone();
        let gradient = (setup.gradient)(i, &x);
        queries += 1;

        // ∇f_i(x) − ∇f_i(x_snap) + ∇f(x_snap)
        let snapshot_mean = mean_of_rows(&snapshot_gradients);
        let direction = plus(&minus(&gradient, &snapshot_gradients[i]), &snapshot_mean);

        // x ← x − α (∇f_i(x) − ∇f_i(x_snap) + ∇f(x_snap))
        x = minus(&x, &times(alpha, &direction));

        steps.push(Step { user: i, asked_at, gradient, point_after: x.clone(), queries });
    }
    steps
}

/// SAGA with SGQ's choice: the forced user or `i = argmax_j ẼI_j + w r_j`, then
/// `x ← x − α (∇f_i(x) − g̃_i + ḡ)`; `g̃_i` and `ḡ` are those from before the query.
///
/// Billed: n at the start (`∇f_j(x_0)` of every user), then 1 a step.
pub fn saga_with_sgq_choice(setup: &Setup<'_>, asks: &[Ask], bonus_weight: f64) -> Vec<Step> {
    let mut x = setup.start.clone();

    // g̃_j = ∇f_j(x_0), x_τj = x_0
    let mut answers = all_gradients(setup, &x);
    let mut asked_points = vec![x.clone(); setup.users];
    let mut steps = Vec::new();

    for (t, ask) in asks.iter().enumerate() {
        let alpha = (setup.step_size)(t);

        // i forced, or i = argmax_j ẼI_j + w r_j
        let i = match ask {
            Ask::Forced(user) => *user,
            Ask::Argmax => argmax(&sgq_scores(setup, alpha, &x, &answers, &asked_points, bonus_weight)),
        };

        // ∇f_i(x)
        let asked_at = x.clone();
        let gradient = (setup.gradient)(i, &x);

        // ∇f_i(x) − g̃_i + ḡ
        let mean_answer = mean_of_rows(&answers);
        let direction = plus(&minus(&gradient, &answers[i]), &mean_answer);

        // g̃_i ← ∇f_i(x), x_τi ← x
        answers[i] = gradient.clone();
        asked_points[i] = x.clone();

        // x ← x − α (∇f_i(x) − g̃_i + ḡ)
        x = minus(&x, &times(alpha, &direction));

        steps.push(Step { user: i, asked_at, gradient, point_after: x.clone(), queries: setup.users + t + 1 });
    }
    steps
}

/// `EI_i = α⟨g, g_i⟩ − (α² L/2) ‖g_i‖²`, where `g` is the mean gradient and `g_i` user i's.
///
/// With the true gradients at `x` this is `EI_i(x)`; with the table's, `ẼI_i`.
pub fn expected_improvement(step_size: f64, mean_smoothness: f64, mean_gradient: &[f64], gradient: &[f64]) -> f64 {
    let alpha = step_size;
    let l = mean_smoothness;
    alpha * dot(mean_gradient, gradient) - (alpha * alpha * l / 2.0) * dot(gradient, gradient)
}

/// `r_i = (α‖ḡ‖ + α² L‖g̃_i‖) ε_i + α‖g̃_i‖ ε̄ + α ε_i ε̄ + (α² L/2) ε_i²`.
///
/// `error` is `ε_i = L_i ‖x_τi − x‖` and `mean_error` is `ε̄ = (1/n) Σ ε_j`.
pub fn bonus(
    step_size: f64,
    mean_smoothness: f64,
    mean_gradient: &[f64],
    gradient: &[f64],
    error: f64,
    mean_error: f64,
) -> f64 {
    let alpha = step_size;
    let l = mean_smoothness;
    (alpha * norm(mean_gradient) + alpha * alpha * l * norm(gradient)) * error
        + alpha * norm(gradient) * mean_error
        + alpha * error * mean_error
        + (alpha * alpha * l / 2.0) * error * error
}

/// `ẼI_j + w r_j` of every user `j`, from the table as it stands.
fn sgq_scores(
    setup: &Setup<'_>,
    alpha: f64,
    x: &[f64],
    answers: &[Vec<f64>],
    asked_points: &[Vec<f64>],
    bonus_weight: f64,
) -> Vec<f64> {
    // L = (1/n) Σ L_j
    let smoothness = mean(&setup.smoothness);

    // ḡ = (1/n) Σ g̃_j
    let mean_answer = mean_of_rows(answers);

    // ε_j = L_j ‖x_τj − x‖
    let mut errors = Vec::new();
    for (smoothness_j, asked_point) in setup.smoothness.iter().zip(asked_points) {
        errors.push(smoothness_j * norm(&minus(asked_point, x)));
    }

    // ε̄ = (1/n) Σ ε_j
    let mean_error = mean(&errors);

    // ẼI_j + w r_j
    let mut scores = Vec::new();
    for (answer, &error) in answers.iter().zip(&errors) {
        let improvement = expected_improvement(alpha, smoothness, &mean_answer, answer);
        let r = bonus(alpha, smoothness, &mean_answer, answer, error, mean_error);
        scores.push(improvement + bonus_weight * r);
    }
    scores
}

/// `∇f_j(x)` of every user `j`.
fn all_gradients(setup: &Setup<'_>, x: &[f64]) -> Vec<Vec<f64>> {
    let mut gradients = Vec::new();
    for j in 0..setup.users {
        gradients.push((setup.gradient)(j, x));
    }
    gradients
}

/// The index of the largest score; of equal ones, the lowest.
fn argmax(scores: &[f64]) -> usize {
    let mut best = 0;
    for j in 1..scores.len() {
        if scores[j] > scores[best] {
            best = j;
        }
    }
    best
}

/// `(1/n) Σ v_j`.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `(1/n) Σ v_j` of vectors, coordinate by coordinate.
fn mean_of_rows(rows: &[Vec<f64>]) -> Vec<f64> {
    let mut result = Vec::new();
    for k in 0..rows[0].len() {
        let column: Vec<f64> = rows.iter().map(|row| row[k]).collect();
        result.push(mean(&column));
    }
    result
}

/// `⟨a, b⟩`.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(p, q)| p * q).sum()
}

/// `‖a‖`.
fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `a + b`.
fn plus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(p, q)| p + q).collect()
}

/// `a − b`.
fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(p, q)| p - q).collect()
}

/// `c a`.
fn times(c: f64, a: &[f64]) -> Vec<f64> {
    a.iter().map(|p| c * p).collect()
}
