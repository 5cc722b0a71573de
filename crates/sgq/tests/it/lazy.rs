//! The lazy search finds whom the scan finds: every choice of a million, ties included.

mod scripts;

use serde::{Deserialize, Serialize};
use sgq::{
    Choice, ChoiceError, Chosen, Format, LastGradient, Method, Needs, Random, Reply, Scene, Session, SettingError,
    Settings, Sight,
    choice::{Search, SurrogateEi},
    update::{Saga, Sgd},
};

/// Both searches at every step; whoever they agree on, or somebody else, is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Both {
    scan: SurrogateEi,
    lazy: SurrogateEi,
    /// The share of steps at which neither is followed: the table then changes elsewhere.
    overruled: f64,
    /// Whether the searches are not told of answers, against their contract: they must see by themselves.
    deaf: bool,
    steps: u64,
}

impl Both {
    fn new(bonus_weight: f64, explore: f64, overruled: f64, deaf: bool) -> Self {
        let with = |search| SurrogateEi::new(explore).bonus_weight(bonus_weight).search(search);
        Self { scan: with(Search::Scan), lazy: with(Search::Lazy), overruled, deaf, steps: 0 }
    }
}

impl Choice<LastGradient> for Both {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.scan.begin(users)?;
        self.lazy.begin(users)
    }

    fn needs(&self) -> Needs {
        self.scan.needs()
    }

    fn choose(&mut self, scene: &Scene<'_, LastGradient>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let scan = self.scan.choose(scene, &mut random.clone());
        let lazy = self.lazy.choose(scene, random);
        assert_eq!(lazy, scan, "at step {}", self.steps);
        self.steps += 1;
        if random.unit() < self.overruled {
            return Ok(Chosen::user(random.index(scene.users)));
        }
        lazy
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        if !self.deaf {
            self.scan.observe(reply, random);
            self.lazy.observe(reply, random);
        }
    }
}

/// Takes that many steps, or fewer if the run ends; returns how many.
fn run(
    update: AnyStep,
    choice: Both,
    settings: Settings,
    steps: u64,
    answer: impl Fn(usize, &[f64]) -> Vec<f64>,
) -> u64 {
    fn drive(method: Method, settings: Settings, steps: u64, answer: impl Fn(usize, &[f64]) -> Vec<f64>) -> u64 {
        let mut session = Session::new(method, settings).unwrap();
        while session.steps() < steps
            && let Ok(Some(query)) = session.ask()
        {
            session.tell(query.ticket, &answer(query.user, &query.point)).unwrap();
        }
        session.steps()
    }
    match update {
        AnyStep::Sgd => drive(Method::new("both", LastGradient::new(), choice, Sgd), settings, steps, answer),
        AnyStep::Saga => drive(Method::new("both", LastGradient::new(), choice, Saga), settings, steps, answer),
    }
}

#[derive(Clone, Copy)]
enum AnyStep {
    Sgd,
    Saga,
}

const BONUS_WEIGHTS: [f64; 5] = [1.0, 0.0, 10.0, 0.3, 3.0];

/// Rounds of random problems, each with its own size, weights and step; returns the steps taken.
fn rounds(
    name: &str,
    count: u64,
    steps: u64,
    most_users: usize,
    mut problem: impl FnMut(&mut Random, usize, usize) -> (Settings, Box<dyn Fn(usize, &[f64]) -> Vec<f64>>),
) -> u64 {
    let mut random = Random::new(1, name);
    let mut taken = 0;
    for round in 0..count {
        let (users, dim) = (2 + random.index(most_users), 1 + random.index(12));
        let (settings, answer) = problem(&mut random, users, dim);
        let bonus_weight = BONUS_WEIGHTS[random.index(BONUS_WEIGHTS.len())];
        // One in four runs is driven by somebody else at every other step.
        let choice = Both::new(
            bonus_weight,
            [0.0, 0.3][random.index(2)],
            [0.0, 0.0, 0.0, 0.5][random.index(4)],
            random.index(8) == 0,
        );
        let update = [AnyStep::Sgd, AnyStep::Saga][random.index(2)];
        taken += run(update, choice, settings.seed(round), steps, answer);
    }
    taken
}

/// `h_ij (x_j − b_ij)` with curvatures that many powers of e apart, and the largest of each user's as its `L_i`.
fn quadratic(
    random: &mut Random,
    users: usize,
    dim: usize,
    spread: f64,
) -> (Vec<f64>, impl Fn(usize, &[f64]) -> Vec<f64> + 'static) {
    let curvature: Vec<f64> = (0..users * dim).map(|_| (spread * (random.unit() - 0.5)).exp()).collect();
    let center: Vec<f64> = (0..users * dim).map(|_| 2.0 * random.unit() - 1.0).collect();
    let smoothness = curvature.chunks(dim).map(|row| row.iter().copied().fold(0.0, f64::max)).collect();
    let answer = move |user: usize, x: &[f64]| -> Vec<f64> {
        let row = user * dim..(user + 1) * dim;
        x.iter().zip(curvature[row.clone()].iter().zip(&center[row])).map(|(x, (h, b))| h * (x - b)).collect()
    };
    (smoothness, answer)
}

fn start(random: &mut Random, dim: usize, scale: f64) -> Vec<f64> {
    (0..dim).map(|_| scale * (6.0 * random.unit() - 3.0)).collect()
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(0.0, f64::max)
}

#[test]
fn quadratics() {
    let taken = rounds("quadratics", 200, 2_500, 400, |random, users, dim| {
        let spread = [0.0, 1.0, 4.0][random.index(3)];
        let (smoothness, answer) = quadratic(random, users, dim, spread);
        let step_size = [0.02, 0.2, 1.0][random.index(3)] / largest(&smoothness);
        let start = start(random, dim, 1.0);
        (Settings::new(start, users).smoothness(smoothness).step_size(step_size), Box::new(answer))
    });
    assert!(taken > 400_000, "{taken}");
}

#[test]
fn logistic_users() {
    let taken = rounds("logistic users", 80, 2_500, 300, |random, users, dim| {
        let rows: Vec<f64> = (0..users * dim).map(|_| 2.0 * random.unit() - 1.0).collect();
        let label: Vec<f64> = (0..users).map(|_| if random.unit() < 0.5 { 1.0 } else { -1.0 }).collect();
        let ridge = 0.01;
        let smoothness: Vec<f64> =
            rows.chunks(dim).map(|row| ridge + row.iter().map(|a| a * a).sum::<f64>() / 4.0).collect();
        let answer = move |user: usize, x: &[f64]| -> Vec<f64> {
            let row = &rows[user * dim..(user + 1) * dim];
            let margin: f64 = label[user] * row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            let scalar = -label[user] / (1.0 + margin.exp());
            row.iter().zip(x).map(|(a, x)| scalar * a + ridge * x).collect()
        };
        let step_size = [0.1, 1.0][random.index(2)] / largest(&smoothness);
        let start = start(random, dim, 1.0);
        (Settings::new(start, users).smoothness(smoothness).step_size(step_size), Box::new(answer))
    });
    assert!(taken > 150_000, "{taken}");
}

/// Few kinds of users, in numbers that are exact: ties wherever one looks, and among many at a time.
#[test]
fn ties_and_identical_users() {
    let taken = rounds("ties", 100, 2_000, 300, |random, users, dim| {
        let kinds = 1 + random.index(4);
        let kind: Vec<usize> = (0..users).map(|_| random.index(kinds)).collect();
        let smoothness: Vec<f64> = kind.iter().map(|kind| [1.0, 2.0, 1.0, 0.0][*kind]).collect();
        let smoothness = if largest(&smoothness) == 0.0 { vec![1.0; users] } else { smoothness };
        // Signs alone differ between two of the kinds: equal norms, opposite inner products.
        let center = [1.0, -1.0, 2.0, 0.0];
        let answer = move |user: usize, x: &[f64]| -> Vec<f64> {
            x.iter().map(|x| [1.0, 2.0, 1.0, 0.0][kind[user]] * (x - center[kind[user]])).collect()
        };
        let start = (0..dim).map(|_| random.index(5) as f64 - 2.0).collect();
        let step_size = [0.5, 0.25, 0.0625][random.index(3)];
        (Settings::new(start, users).smoothness(smoothness).step_size(step_size), Box::new(answer))
    });
    assert!(taken > 150_000, "{taken}");
}

/// Points and gradients of any size, from 1e-150 to 1e150: sums and squares of them overflow and vanish.
#[test]
fn huge_and_tiny_scales() {
    let mut scales = 0;
    let taken = rounds("scales", 300, 600, 200, |random, users, dim| {
        let (smoothness, answer) = quadratic(random, users, dim, 1.0);
        let power = |random: &mut Random| 10f64.powi(random.index(301) as i32 - 150);
        let (of_points, of_gradients) = (power(random), power(random));
        let scaled = of_gradients / of_points;
        let smoothness: Vec<f64> = smoothness.iter().map(|each| each * scaled).collect();
        let step_size = 0.3 / largest(&smoothness);
        if !(step_size.is_normal() && largest(&smoothness).is_normal()) {
            // Not to be had in these numbers: one that is.
            let (smoothness, answer) = quadratic(random, users, dim, 1.0);
            return (
                Settings::new(start(random, dim, 1.0), users).smoothness(smoothness).step_size(0.1),
                Box::new(answer),
            );
        }
        scales += 1;
        let start = start(random, dim, of_points);
        let answer = move |user: usize, x: &[f64]| -> Vec<f64> {
            let x: Vec<f64> = x.iter().map(|x| x / of_points).collect();
            answer(user, &x).iter().map(|g| g * of_gradients).collect()
        };
        (Settings::new(start, users).smoothness(smoothness).step_size(step_size), Box::new(answer))
    });
    assert!(taken > 100_000 && scales > 200, "{taken} {scales}");
}

/// Everybody's center has the same numbers in another order, and the start is the same in every coordinate: scores that are
/// equal but for rounding.
#[test]
fn ties_but_for_rounding() {
    let taken = rounds("ties but for rounding", 1_500, 40, 200, |random, users, dim| {
        let mut numbers: Vec<f64> = (0..dim).map(|_| 2.0 * random.unit() - 1.0).collect();
        numbers.extend_from_within(..);
        let smoothness = vec![1.0 + random.unit(); users];
        let step_size = 0.3 / smoothness[0];
        let curvature = smoothness[0];
        let answer = move |user: usize, x: &[f64]| -> Vec<f64> {
            let center = &numbers[user % dim..][..dim];
            x.iter().zip(center).map(|(x, center)| curvature * (x - center)).collect()
        };
        let start = vec![3.0 * random.unit(); dim];
        (Settings::new(start, users).smoothness(smoothness).step_size(step_size), Box::new(answer))
    });
    assert!(taken > 50_000, "{taken}");
}

/// The table is kept in other ways, and both searches see what is kept.
#[test]
fn other_storage() {
    let taken = rounds("other storage", 60, 2_000, 400, |random, users, dim| {
        let spread = [0.0, 1.0, 4.0][random.index(3)];
        let (smoothness, answer) = quadratic(random, users, dim, spread);
        let step_size = [0.02, 0.2][random.index(2)] / largest(&smoothness);
        let format =
            [Format::F32, Format::F32, Format::Sparse { l2: 0.0 }, Format::Sparse { l2: 0.1 }][random.index(4)].clone();
        let start = start(random, dim, 1.0);
        (Settings::new(start, users).smoothness(smoothness).step_size(step_size).storage(format), Box::new(answer))
    });
    assert!(taken > 100_000, "{taken}");
}

/// Answers that follow from nothing: everything jumps at every step.
#[test]
fn answers_at_random() {
    let taken = rounds("answers at random", 60, 1_500, 300, |random, users, dim| {
        let smoothness: Vec<f64> = (0..users).map(|_| 0.5 + random.unit()).collect();
        let spread = 6.0 * random.unit();
        let answers: Vec<Vec<f64>> = (0..997)
            .map(|_| {
                let scale = (spread * (random.unit() - 0.5)).exp();
                (0..dim).map(|_| scale * (random.unit() - 0.5)).collect()
            })
            .collect();
        let answer = move |user: usize, x: &[f64]| -> Vec<f64> {
            answers[(x[0].to_bits() as usize ^ user.wrapping_mul(7919)) % answers.len()].clone()
        };
        let start = start(random, dim, 1.0);
        (Settings::new(start, users).smoothness(smoothness).step_size(0.05), Box::new(answer))
    });
    assert!(taken > 80_000, "{taken}");
}

/// What the search has found out is not saved: a restored session finds it out anew, and asks the same users.
#[test]
fn a_restored_session_asks_the_same_users() {
    let mut random = Random::new(1, "restored");
    let (users, dim) = (500, 8);
    let (smoothness, answer) = quadratic(&mut random, users, dim, 2.0);
    let settings = Settings::new(start(&mut random, dim, 1.0), users)
        .step_size(0.1 / largest(&smoothness))
        .smoothness(smoothness)
        .storage(Format::F32);
    let choice = SurrogateEi::new(0.2).search(Search::Lazy);
    let method = || Method::new("lazy", LastGradient::new(), choice.clone(), Saga);
    let run = |interrupted: bool| -> Vec<usize> {
        let mut session = Session::new(method(), settings.clone()).unwrap();
        let mut asked = Vec::new();
        while session.steps() < 600 {
            let query = session.ask().unwrap().unwrap();
            if interrupted && session.steps() % 97 == 13 {
                session = Session::restore(method(), &session.snapshot().unwrap(), Sight::Blind).unwrap();
            }
            asked.push(query.user);
            session.tell(query.ticket, &answer(query.user, &query.point)).unwrap();
        }
        asked
    };
    assert_eq!(run(true), run(false));
}
