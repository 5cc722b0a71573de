//! The paper's two choices: the user with the largest expected improvement, by an oracle (OGQ) or by belief (SGQ).

use serde::{Deserialize, Serialize};

use super::{
    Choice, ChoiceError, Chosen, Needs, Order, Reply, Scene,
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
        let scores = gradients.chunks_exact(self.mean.len()).map(|gradient| {
            let (inner_product, norm) = (kernel::dot(&self.mean, gradient), kernel::norm(gradient));
            match scene.own_step {
                true => best_improvement(inner_product, 0.0, norm, 0.0, 0.0, 0.0),
                false => expected_improvement(scene.step_size, smoothness, inner_product, norm),
            }
        });
        Ok(Chosen::user(scene.best_free(scores)?))
    }
}

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
}

impl SurrogateEi {
    /// Algorithm 2, once everybody was asked. `believed` is room for constants that are learned.
    fn choose_by_score(
        &mut self,
        scene: &Scene<'_, LastGradient>,
        random: &mut Random,
        believed: &mut Vec<f64>,
    ) -> Result<Chosen, ChoiceError> {
        let belief = scene.belief;
        let explored = random.unit() < self.explore;
        let (each, mean) = match belief.learned() {
            None => (scene.smoothness()?.each(), constant(scene.smoothness()?, self.sharp)),
            Some(learned) => {
                let Some(mean) = learned.mean() else {
                    // Without any curvature no score means anything.
                    return Ok(Chosen { explored: Some(true), ..Chosen::user(scene.any_free(random)?) });
                };
                learned.believed(mean, believed);
                let own = scene.smoothness.and_then(Smoothness::objective).filter(|_| self.sharp);
                (&**believed, own.unwrap_or(mean))
            }
        };
        let situation = Situation {
            belief,
            point: scene.point,
            smoothness: each,
            own_step: scene.own_step,
            scoring: Scoring {
                step_size: scene.step_size,
                smoothness: mean,
                bonus_weight: self.bonus_weight,
                mean_norm: kernel::norm(belief.mean()),
            },
        };
        if !scene.all_free() || self.cost_aware {
            // The search by bounds is for one question at a time, and for scores as they are.
            *self.lazy = Lazy::default();
            let user = match explored {
                true => scene.any_free(random)?,
                false => {
                    self.scan(&situation)?;
                    let for_each_unit = |(user, score): (usize, &f64)| match (self.cost_aware, scene.cost(user)) {
                        (true, cost) if *score > 0.0 => score / cost,
                        (true, cost) => score * cost,
                        (false, _) => *score,
                    };
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
