//! How good the choices of a run were: Lemma 2 and Proposition 1, measured.

use super::heterogeneity::gradients;
use crate::{
    Belief, LastGradient, Need, Problem, Query, Reply, SettingsError, Smoothness, Storage, bonus, choice::Purpose,
    drive::Billed, expected_improvement, kernel,
};

/// Follows a run, answer by answer, and measures at each step how far its choice was from the oracle's.
///
/// It keeps a table of last gradients of its own and looks at every user's true gradient: both are diagnostic, and the
/// run does not see them.
///
/// ```
/// use sgq::{Session, Settings, method, problem::Quadratic, simulate::gap_curve, theory::Choices};
///
/// let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// let settings = Settings::for_problem(vec![5.0], &toy).step_size(0.015);
/// let mut session = Session::new(method::sgq(0.3), settings)?;
/// let mut choices = Choices::new(&toy)?;
/// gap_curve(&mut session, &toy, 100, |answer| {
///     if let Some(measured) = choices.observe(answer) {
///         assert!(measured.tightness <= 1.0 + 1e-9); // Lemma 2
///         assert!(!measured.guided || measured.regret <= 2.0 * measured.bonus + 1e-12); // Proposition 1
///     }
///     Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Choices<'p> {
    problem: &'p dyn Problem,
    smoothness: Smoothness,
    table: LastGradient,
    distances: Vec<f64>,
    errors: Vec<f64>,
}

/// One choice, measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Whether the user was chosen by score, and not at random: Proposition 1 speaks of such choices alone.
    pub guided: bool,
    /// `max_i EI_i(x) − EI_chosen(x)`: what the oracle would have gained over this choice. Never negative.
    pub regret: f64,
    /// `r` of the chosen user, Lemma 2; by Proposition 1 the regret of a guided choice is at most twice this.
    pub bonus: f64,
    /// The largest `|EI_i − ẼI_i| / r_i` over the users: at most 1, by Lemma 2. Zero where every `r_i` is.
    pub tightness: f64,
}

impl<'p> Choices<'p> {
    /// Before the first answer. The problem must know its users' smoothness.
    pub fn new(problem: &'p dyn Problem) -> Result<Self, SettingsError> {
        let unmet = || SettingsError::Unmet { method: "Lemma 2".into(), need: Need::Smoothness };
        let each = problem.smoothness().ok_or_else(unmet)?;
        let mut table = LastGradient::new();
        table.begin(problem.users(), problem.dim(), &Storage::default(), None)?;
        let smoothness = Smoothness::new(each.to_vec(), problem.users())?;
        Ok(Self { problem, smoothness, table, distances: Vec::new(), errors: vec![0.0; problem.users()] })
    }

    /// Takes the next answer of the run, and measures the choice behind it. None as long as some user has not been asked
    /// yet, and for the sweep at the start.
    pub fn observe(&mut self, billed: &Billed<'_>) -> Option<Measured> {
        let Billed { query, step_size, .. } = *billed;
        let everybody_asked = self.table.surrogate_gradient().is_some();
        let measured = everybody_asked.then(|| self.measure(query, step_size));
        self.table.observe(&Reply::new(query.user, &query.point, billed.answer.gradient, Purpose::Step));
        measured
    }

    fn measure(&mut self, query: &Query, step_size: f64) -> Measured {
        let (point, table) = (&query.point, &self.table);
        let truth = gradients(self.problem, point);
        let mut full = vec![0.0; self.problem.dim()];
        kernel::mean_of_rows(&truth, &mut full);
        table.errors(point, self.smoothness.each(), &mut self.distances, &mut self.errors);
        let mean_error = kernel::sum(&self.errors) / self.errors.len() as f64;
        let mean_norm = kernel::norm(table.mean());
        let smoothness = self.smoothness.mean();
        let improvement = |inner: f64, norm: f64| expected_improvement(step_size, smoothness, inner, norm);
        let (mut best, mut chosen, mut tightness) = (f64::NEG_INFINITY, 0.0, 0.0f64);
        let mut chosen_bonus = 0.0;
        for (user, row) in truth.chunks_exact(full.len()).enumerate() {
            let real = improvement(kernel::dot(&full, row), kernel::norm(row));
            let norm = table.gradient_norm(user);
            let surrogate = improvement(table.inner_product(table.mean(), user), norm);
            let bonus = bonus(step_size, smoothness, mean_norm, norm, self.errors[user], mean_error);
            best = best.max(real);
            // Where nothing is stale the two are the same but for rounding.
            if bonus > 1e-12 * real.abs() {
                tightness = tightness.max((real - surrogate).abs() / bonus);
            }
            if user == query.user {
                (chosen, chosen_bonus) = (real, bonus);
            }
        }
        Measured { guided: query.explored == Some(false), regret: best - chosen, bonus: chosen_bonus, tightness }
    }
}
