//! The paper's two choices: the user with the largest expected improvement, by an oracle (OGQ) or by belief (SGQ).

use serde::{Deserialize, Serialize};

use super::{
    Choice, ChoiceError, Chosen, Needs, Order, Reply, Scene, ScorePart, Scored, Scores,
    lazy::{Found, Lazy, Situation},
};
use crate::{
    Belief, LastGradient, Random, Setting, SettingError, Smoothness, best_improvement, expected_improvement, kernel,
    score::Scoring, setting::Range, theory::Theorem,
};

/// Whether a table is so small that a scan of it is the faster way in any case.
fn is_small(users: usize, dim: usize) -> bool {
    users <= 128 || users * (dim + 32) <= 1 << 16
}

/// `argmax_i EI_i(x_t)` with everybody's true gradients: Algorithm 1 (OGQ).
///
/// No real run can look at all gradients before it asks for one; this is the yardstick for those that can not.
/// The look is counted as diagnostic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OracleEi {
    sharp: bool,
    #[serde(skip)]
    mean: Vec<f64>,
}

impl OracleEi {
    /// The oracle's choice.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses f's own smoothness, where it is known, in place of the mean `L_i`: also valid, and sharper.
    pub fn sharp(mut self, sharp: bool) -> Self {
        self.sharp = sharp;
        self
    }
}

/// `L` in the expected improvement: the paper's mean, or f's own constant.
fn constant(smoothness: &Smoothness, sharp: bool) -> f64 {
    smoothness.objective().filter(|_| sharp).unwrap_or(smoothness.mean())
}

const SHARP: &str = "true: f's own smoothness in place of the mean L_i";

impl<B: Belief> Choice<B> for OracleEi {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        vec![Setting::switch("sharp", &mut self.sharp, SHARP)]
    }

    fn needs(&self) -> Needs {
        Needs { smoothness: true, oracle: true, ..Needs::none() }
    }

    fn order(&self) -> Order {
        Order::ByScore
    }

    fn theorem(&self) -> Option<Theorem> {
        Some(Theorem::One)
    }

    fn choose(&mut self, scene: &Scene<'_, B>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let gradients = scene.all_gradients()?;
        let smoothness = constant(scene.smoothness()?, self.sharp);
        self.mean.resize(scene.point.len(), 0.0);
        kernel::mean_of_rows(gradients, &mut self.mean);
        Ok(Chosen::user(scene.best_free(improvements(scene, gradients, &self.mean, smoothness))?))
    }

    fn scores(&self, scene: &Scene<'_, B>) -> Option<Scores> {
        let (gradients, smoothness) = (scene.all_gradients().ok()?, scene.smoothness().ok()?);
        let mut mean = vec![0.0; scene.point.len()];
        kernel::mean_of_rows(gradients, &mut mean);
        let improvements = improvements(scene, gradients, &mean, constant(smoothness, self.sharp));
        let scored =
            |(user, score): (usize, f64)| Scored { user, score, parts: [score, 0.0], may_win: scene.is_free(user) };
        Some(Scores {
            rule: "The user with the largest score is asked.",
            parts: &[ScorePart {
                name: "improvement",
                words: "by how much a step along its true gradient must improve",
            }],
            explore: 0.0,
            users: improvements.enumerate().map(scored).collect(),
        })
    }

    fn how(&self) -> &'static str {
        "The user whose true gradient promises the largest improvement is asked: an oracle, and a yardstick only."
    }
}

/// `EI_i` of every user.
fn improvements<B>(
    scene: &Scene<'_, B>,
    gradients: &[f64],
    mean: &[f64],
    smoothness: f64,
) -> impl Iterator<Item = f64> + Clone {
    let (step_size, own_step) = (scene.step_size, scene.own_step);
    gradients.chunks_exact(mean.len()).map(move |gradient| {
        let (inner_product, norm) = (kernel::dot(mean, gradient), kernel::norm(gradient));
        match own_step {
            true => best_improvement(inner_product, 0.0, norm, 0.0, 0.0, 0.0),
            false => expected_improvement(step_size, smoothness, inner_product, norm),
        }
    })
}

/// What the scores of [`SurrogateEi`] are made of.
const PARTS: &[ScorePart] = &[
    ScorePart {
        name: "improvement",
        words: "what a step along its last gradient promises, were all last gradients still true",
    },
    ScorePart { name: "bonus", words: "how far off that promise may be: the more, the farther away users were asked" },
];

/// How the largest score is found. All ways find the same user, to the last bit of a tie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Search {
    /// Whichever is faster for that many users.
    #[default]
    Auto,
    /// Reads every user's last gradient.
    Scan,
    /// Bounds every score first, and reads only those gradients that can still win.
    Lazy,
}

/// `argmax_i ẼI_i + w·r_i` over the last gradients, with a uniform pick now and then: Algorithm 2 (SGQ).
///
/// One uniform draw decides between the two; a second one picks the user, only when exploring.
///
/// Three things are not the paper's, and follow from the parts it goes with:
///
/// - Over a [lazy](LastGradient::lazy) table those who have not been asked, whose bonus has no bound, come first, in random order.
/// - Over a table that [learns](LastGradient::learning) how smooth users are, its `L_i` take the place of those given, and
///   their mean that of `L`. Users are asked at random until something was learned.
/// - With an update that finds its own step size, the score is what the best step may promise,
///   [`best_improvement`]. If it must also learn `L`, every second query of a lazy start asks again the user who was asked
///   farthest away: first answers teach nothing of curvature.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SurrogateEi {
    explore: f64,
    bonus_weight: f64,
    sharp: bool,
    /// Whether scores are for each unit of what a query costs.
    cost_aware: bool,
    search: Search,
    #[serde(skip)]
    rows_read: usize,
    #[serde(skip)]
    lazy: Box<Lazy>,
    #[serde(skip)]
    room: Room,
}

/// Room to work in, kept from one choice to the next.
#[derive(Clone, Debug, Default)]
struct Room {
    inner_products: Vec<f64>,
    distances: Vec<f64>,
    errors: Vec<f64>,
    believed: Vec<f64>,
    scores: Vec<f64>,
}

impl SurrogateEi {
    /// Explores with probability `explore` (the paper's `p`).
    pub fn new(explore: f64) -> Self {
        let (lazy, room) = (Box::default(), Room::default());
        Self {
            explore,
            bonus_weight: 1.0,
            sharp: false,
            cost_aware: false,
            search: Search::Auto,
            rows_read: 0,
            lazy,
            room,
        }
    }

    /// Weighs Lemma 2's bonus `r_i` by `weight`; the paper, and the default, has 1.
    pub fn bonus_weight(mut self, weight: f64) -> Self {
        self.bonus_weight = weight;
        self
    }

    /// Uses f's own smoothness, where it is known, in place of the mean `L_i`: also valid, and sharper.
    pub fn sharp(mut self, sharp: bool) -> Self {
        self.sharp = sharp;
        self
    }

    /// Weighs what queries cost: the largest score for each unit of cost. Where no score is positive, the one that is closest to
    /// zero, times the cost.
    pub fn cost_aware(mut self, cost_aware: bool) -> Self {
        self.cost_aware = cost_aware;
        self
    }

    /// Finds the largest score in another way than the one that suits the number of users.
    pub fn search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// How many last gradients the last choice read; none when it explored.
    pub fn rows_read(&self) -> usize {
        self.rows_read
    }

    fn best(&mut self, situation: &Situation<'_>) -> Result<usize, ChoiceError> {
        let lazy = match self.search {
            // Its bounds are for the paper's score, and for constants that stay as they are.
            _ if situation.own_step || situation.belief.learned().is_some() => false,
            Search::Auto => !is_small(situation.belief.users(), situation.point.len()),
            Search::Scan => false,
            Search::Lazy => true,
        };
        if !lazy {
            return self.scan(situation);
        }
        let (found, rows_read) = self.lazy.search(situation);
        self.rows_read = rows_read;
        match found {
            Found::User(user) => Ok(user),
            Found::Among(users) => self.scan_some(situation, users),
            Found::Everybody { keep } => {
                let best = self.scan(situation);
                if keep {
                    self.lazy.lay_anchor(situation, &self.room.inner_products);
                }
                best
            }
        }
    }

    /// The largest of all scores.
    fn scan(&mut self, situation: &Situation<'_>) -> Result<usize, ChoiceError> {
        let Situation { belief, scoring, .. } = *situation;
        self.rows_read = belief.users();
        self.room.inner_products.resize(belief.users(), 0.0);
        belief.inner_products(belief.mean(), &mut self.room.inner_products);
        let mean_error = self.mean_error(situation);
        let of_users = self.room.inner_products.iter().zip(belief.gradient_norms()).zip(&self.room.errors);
        self.room.scores.clear();
        // Into memory first: a loop without a comparison runs in registers.
        if situation.own_step {
            let promise =
                |((inner, norm), error): ((&f64, &f64), &f64)| scoring.promise(*inner, *norm, *error, mean_error);
            self.room.scores.extend(of_users.map(promise));
        } else {
            self.room
                .scores
                .extend(of_users.map(|((inner, norm), error)| scoring.score(*inner, *norm, *error, mean_error)));
        }
        kernel::argmax(self.room.scores.iter().copied()).ok_or(ChoiceError::NoScore)
    }

    /// The largest score of these users.
    fn scan_some(&mut self, situation: &Situation<'_>, mut users: Vec<usize>) -> Result<usize, ChoiceError> {
        let Situation { belief, scoring, .. } = *situation;
        users.sort_unstable();
        let mean_error = self.mean_error(situation);
        let scores = users.iter().map(|user| {
            let inner_product = belief.inner_product(belief.mean(), *user);
            scoring.score(inner_product, belief.gradient_norm(*user), self.room.errors[*user], mean_error)
        });
        let best = kernel::argmax(scores).ok_or(ChoiceError::NoScore)?;
        Ok(users[best])
    }

    /// `ε̄`, exactly; everybody's `ε_i` are in `errors` then.
    fn mean_error(&mut self, situation: &Situation<'_>) -> f64 {
        let Situation { belief, point, smoothness, .. } = *situation;
        self.room.errors.resize(belief.users(), 0.0);
        belief.errors(point, smoothness, &mut self.room.distances, &mut self.room.errors);
        belief.left().for_each(|user| self.room.errors[user] = 0.0);
        kernel::sum(&self.room.errors) / belief.users_in_mean() as f64
    }
}

impl Choice<LastGradient> for SurrogateEi {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let Self { explore, bonus_weight, sharp, cost_aware, .. } = self;
        let p = "probability of asking a user at random instead, in [0, 1]";
        let bonus = "weight of the bonus, not negative; the paper has 1";
        vec![
            Setting::number("p", explore, Range::closed(0.0, 1.0), p),
            Setting::number("bonus", bonus_weight, Range::closed(0.0, f64::INFINITY), bonus),
            Setting::switch("sharp", sharp, SHARP),
            Setting::switch("cost_aware", cost_aware, "true: scores for each unit of what a query costs"),
        ]
    }

    fn begin(&mut self, _users: usize) -> Result<(), SettingError> {
        *self.lazy = Lazy::default();
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { smoothness: true, or_learned: true, ..Needs::none() }
    }

    fn theorem(&self) -> Option<Theorem> {
        (self.bonus_weight == 1.0 && !self.cost_aware).then_some(Theorem::Two { explore: self.explore })
    }

    fn observe(&mut self, reply: &Reply<'_>, _random: &mut Random) {
        self.lazy.observe(reply.user);
    }

    fn choose(&mut self, scene: &Scene<'_, LastGradient>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        self.rows_read = 0;
        let belief = scene.belief;
        if belief.unasked() > 0 {
            let again = scene.own_step && belief.learned().is_some();
            let elsewhere = again.then(|| asked_elsewhere(scene)).flatten();
            let first = |random: &mut Random| unasked(scene, random);
            return match elsewhere.or_else(|| first(random)) {
                Some(user) => Ok(Chosen::user(user)),
                // Those who were not asked are out, or away: others may be asked again, at random.
                None => Ok(Chosen { explored: Some(true), ..Chosen::user(scene.any_free(random)?) }),
            };
        }
        let mut believed = std::mem::take(&mut self.room.believed);
        let chosen = self.choose_by_score(scene, random, &mut believed);
        self.room.believed = believed;
        chosen
    }

    fn scores(&self, scene: &Scene<'_, LastGradient>) -> Option<Scores> {
        if scene.belief.unasked() > 0 {
            return None;
        }
        let rule = match self.cost_aware {
            true => {
                "The user with the largest score for each unit of cost is asked, unless one is picked at random to explore."
            }
            false => "The user with the largest score is asked, unless one is picked at random to explore.",
        };
        let users = self.all_scores(scene)?;
        Some(Scores { rule, parts: PARTS, explore: self.explore, users })
    }

    fn how(&self) -> &'static str {
        "Users not asked yet come first, in random order; then the one with the largest surrogate improvement plus bonus, and now and \
         then one at random, to explore."
    }
}

impl SurrogateEi {
    /// Algorithm 2, once everybody was asked. `believed` is room for constants that are learned.
    fn choose_by_score(
        &mut self,
        scene: &Scene<'_, LastGradient>,
        random: &mut Random,
        believed: &mut Vec<f64>,
    ) -> Result<Chosen, ChoiceError> {
        let explored = random.unit() < self.explore;
        let Some(situation) = self.situation(scene, believed)? else {
            // Without any curvature no score means anything.
            return Ok(Chosen { explored: Some(true), ..Chosen::user(scene.any_free(random)?) });
        };
        if !scene.all_free() || self.cost_aware {
            // The search by bounds is for one question at a time, and for scores as they are.
            *self.lazy = Lazy::default();
            let user = match explored {
                true => scene.any_free(random)?,
                false => {
                    self.scan(&situation)?;
                    let for_each_unit = |(user, score): (usize, &f64)| self.for_each_unit(scene.cost(user), *score);
                    scene.best_free(self.room.scores.iter().enumerate().map(for_each_unit))?
                }
            };
            return Ok(Chosen { explored: Some(explored), ..Chosen::user(user) });
        }
        self.lazy.catch_up(&situation);
        let user = if explored { random.index(scene.users) } else { self.best(&situation)? };
        self.lazy.will_ask(&situation, user);
        Ok(Chosen { explored: Some(explored), ..Chosen::user(user) })
    }

    /// What scores rest on; none while nothing is known of anybody's curvature.
    fn situation<'a>(
        &self,
        scene: &Scene<'a, LastGradient>,
        believed: &'a mut Vec<f64>,
    ) -> Result<Option<Situation<'a>>, ChoiceError> {
        let belief = scene.belief;
        let (each, mean) = match belief.learned() {
            None => (scene.smoothness()?.each(), constant(scene.smoothness()?, self.sharp)),
            Some(learned) => {
                let Some(mean) = learned.mean() else { return Ok(None) };
                learned.believed(mean, believed);
                let own = scene.smoothness.and_then(Smoothness::objective).filter(|_| self.sharp);
                (&**believed, own.unwrap_or(mean))
            }
        };
        let scoring = Scoring {
            step_size: scene.step_size,
            smoothness: mean,
            bonus_weight: self.bonus_weight,
            mean_norm: kernel::norm(belief.mean()),
        };
        Ok(Some(Situation { belief, point: scene.point, smoothness: each, own_step: scene.own_step, scoring }))
    }

    /// A score for each unit of what a query costs, where that counts.
    fn for_each_unit(&self, cost: f64, score: f64) -> f64 {
        match self.cost_aware {
            true if score > 0.0 => score / cost,
            true => score * cost,
            false => score,
        }
    }

    /// Everybody's score, as a scan computes it, with its parts.
    fn all_scores(&self, scene: &Scene<'_, LastGradient>) -> Option<Vec<Scored>> {
        let mut believed = Vec::new();
        let situation = self.situation(scene, &mut believed).ok()??;
        let Situation { belief, point, smoothness, own_step, scoring } = situation;
        let users = belief.users();
        let (mut inner_products, mut errors, mut distances) = (vec![0.0; users], vec![0.0; users], Vec::new());
        belief.inner_products(belief.mean(), &mut inner_products);
        belief.errors(point, smoothness, &mut distances, &mut errors);
        belief.left().for_each(|user| errors[user] = 0.0);
        let mean_error = kernel::sum(&errors) / belief.users_in_mean() as f64;
        let without = Scoring { bonus_weight: 0.0, ..scoring };
        let scored = |user: usize| {
            let (inner, norm, error) = (inner_products[user], belief.gradient_norm(user), errors[user]);
            let by = |scoring: &Scoring| match own_step {
                true => scoring.promise(inner, norm, error, mean_error),
                false => scoring.score(inner, norm, error, mean_error),
            };
            let (whole, promised) = (by(&scoring), by(&without));
            let score = self.for_each_unit(scene.cost(user), whole);
            // Both parts are for the same unit of cost.
            let unit = if whole == 0.0 || score == whole { 1.0 } else { score / whole };
            let parts = [promised * unit, (whole - promised) * unit];
            Scored { user, score, parts, may_win: scene.is_free(user) }
        };
        Some((0..users).map(scored).collect())
    }
}

/// One of those who have not been asked, each as likely as the others: step by step a random order of all.
fn unasked(scene: &Scene<'_, LastGradient>, random: &mut Random) -> Option<usize> {
    let unasked = || scene.free().filter(|user| !scene.belief.is_asked(*user));
    let count = if scene.all_free() { scene.belief.unasked() } else { unasked().count() };
    if count == 0 { None } else { unasked().nth(random.index(count)) }
}

/// The user who was asked farthest from the point, if there are more first answers than others, and it is not the point itself.
fn asked_elsewhere(scene: &Scene<'_, LastGradient>) -> Option<usize> {
    let (belief, point) = (scene.belief, scene.point);
    let asked = belief.users() - belief.unasked();
    if belief.answers() >= 2 * asked as u64 {
        return None;
    }
    let distance = |user| {
        if belief.is_asked(user) && scene.is_free(user) { kernel::distance(belief.point(user), point) } else { 0.0 }
    };
    kernel::argmax((0..belief.users()).map(distance)).filter(|user| distance(*user) > 0.0)
}
