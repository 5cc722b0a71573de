//! The lazy search finds whom the scan finds: every choice of a million, ties included.

use serde::{Deserialize, Serialize};
use sgq::{
    Choice, ChoiceError, Chosen, LastGradient, Method, Needs, Random, Reply, Scene, Session, Settings, SettingsError,
    Update,
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
    steps: u64,
    rows_read: u64,
}

impl Both {
    fn new(bonus_weight: f64, explore: f64, overruled: f64) -> Self {
        let with = |search| SurrogateEi::new(explore).bonus_weight(bonus_weight).search(search);
        Self { scan: with(Search::Scan), lazy: with(Search::Lazy), overruled, steps: 0, rows_read: 0 }
    }
}

impl Choice<LastGradient> for Both {
    fn begin(&mut self, users: usize) -> Result<(), SettingsError> {
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
        self.rows_read += self.lazy.rows_read() as u64;
        if random.unit() < self.overruled {
            return Ok(Chosen::user(random.index(scene.users)));
        }
        lazy
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        self.scan.observe(reply, random);
        self.lazy.observe(reply, random);
    }
}

/// Takes that many steps, or fewer if the run ends; returns the share of rows that the lazy search read.
fn run<U: Update<LastGradient>>(
    choice: Both,
    update: U,
    settings: Settings,
    steps: u64,
    answer: impl Fn(usize, &[f64]) -> Vec<f64>,
) -> (u64, f64) {
    let method = Method::new("both", LastGradient::new(), choice, update);
    let mut session = Session::new(method, settings).unwrap();
    while session.steps() < steps
        && let Ok(Some(query)) = session.ask()
    {
        session.tell(query.ticket, &answer(query.user, &query.point)).unwrap();
    }
    (session.steps(), 0.0)
}

#[test]
fn quadratics() {
    let mut random = Random::new(1, "lazy quadratics");
    let mut done = 0;
    for round in 0..400 {
        let (users, dim) = (2 + random.index(400), 1 + random.index(12));
        let spread = [0.0, 0.3, 1.0][round % 3];
        let curvature: Vec<f64> = (0..users * dim).map(|_| (spread * (4.0 * random.unit() - 2.0)).exp()).collect();
        let center: Vec<f64> = (0..users * dim).map(|_| 2.0 * random.unit() - 1.0).collect();
        let smoothness: Vec<f64> = curvature.chunks(dim).map(|row| row.iter().copied().fold(0.0, f64::max)).collect();
        let largest = smoothness.iter().copied().fold(0.0, f64::max);
        let start: Vec<f64> = (0..dim).map(|_| 6.0 * random.unit() - 3.0).collect();
        let step_size = [0.02, 0.2, 1.0][random.index(3)] / largest;
        let settings = Settings::new(start, users).smoothness(smoothness).step_size(step_size).seed(round as u64);
        let choice =
            Both::new([1.0, 0.0, 10.0, 0.3][round % 4], [0.0, 0.3][round % 2], [0.0, 0.0, 0.5][random.index(3)]);
        let answer = |user: usize, x: &[f64]| -> Vec<f64> {
            let row = user * dim..(user + 1) * dim;
            x.iter().zip(curvature[row.clone()].iter().zip(&center[row])).map(|(x, (h, b))| h * (x - b)).collect()
        };
        let steps = 1500;
        let (taken, _) = if round % 5 == 0 {
            run(choice, Saga, settings, steps, answer)
        } else {
            run(choice, Sgd, settings, steps, answer)
        };
        done += taken;
    }
    assert!(done > 500_000, "{done}");
}
