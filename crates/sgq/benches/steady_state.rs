//! Sessions as they are in the middle of a run: everybody has been asked, each at a point of their own.

use std::error::Error;

use serde::{Deserialize, Serialize};
use sgq::{
    Choice, ChoiceError, Chosen, LastGradient, Method, Needs, Random, Scene, Session, SettingError, Settings,
    choice::{Search, SurrogateEi},
    update::Sgd,
};

/// SGQ without exploration, except that everybody is asked once, in turn, before the first scan.
///
/// The start-up asks everybody at one and the same point. A turn each gives everybody a point of their own, and does
/// so in n steps that scan nothing: with scans, the largest table would take longer to fill than to measure.
pub fn sgq() -> Method {
    let choice = TurnsThenScans { turns: 0, scans: SurrogateEi::new(0.0).search(Search::Scan) };
    Method::new("sgq after a turn each", LastGradient::new(), choice, Sgd)
}

/// The choice of [`sgq`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnsThenScans {
    turns: usize,
    scans: SurrogateEi,
}

impl Choice<LastGradient> for TurnsThenScans {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.turns = users;
        self.scans.begin(users)
    }

    fn needs(&self) -> Needs {
        self.scans.needs()
    }

    fn choose(&mut self, scene: &Scene<'_, LastGradient>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        if self.turns == 0 {
            return self.scans.choose(scene, random);
        }
        self.turns -= 1;
        Ok(Chosen::user(self.turns))
    }
}

/// Made-up answers: only the session's own cost is of interest, and it does not depend on the numbers.
pub struct Answers {
    random: Random,
    prepared: Vec<Vec<f64>>,
    next: usize,
}

impl Answers {
    /// Answers of that many numbers each.
    pub fn new(dim: usize, seed: u64) -> Self {
        // Few enough to stay in the cache beside the session's table, as a fresh answer would.
        const PREPARED: usize = 64;
        let mut random = Random::new(seed, "answers");
        Self { prepared: (0..PREPARED).map(|_| numbers(&mut random, dim)).collect(), random, next: 0 }
    }

    /// An answer unlike any other; making it takes time.
    fn fresh(&mut self) -> Vec<f64> {
        let dim = self.prepared[0].len();
        numbers(&mut self.random, dim)
    }

    /// An answer at no cost; they come round again.
    fn prepared(&mut self) -> &[f64] {
        self.next = (self.next + 1) % self.prepared.len();
        &self.prepared[self.next]
    }
}

/// A session in which every user has been asked at least once since the start-up, if it has one.
pub fn session(
    method: Method,
    smoothness: Vec<f64>,
    answers: &mut Answers,
    seed: u64,
) -> Result<Session<'static>, Box<dyn Error>> {
    let users = smoothness.len();
    let settings = Settings::new(answers.fresh(), users).smoothness(smoothness).step_size(0.01).seed(seed);
    let mut session = Session::new(method, settings)?;
    while session.steps() < users as u64 {
        let query = session.ask()?.ok_or("the session stopped by itself")?;
        session.tell(query.ticket, &answers.fresh())?;
    }
    Ok(session)
}

/// `L_i` of every user: positive, and all different.
pub fn smoothness(users: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed, "smoothness");
    (0..users).map(|_| 0.5 + random.unit()).collect()
}

/// Takes that many steps.
pub fn take_steps(session: &mut Session<'_>, answers: &mut Answers, steps: u64) -> Result<(), Box<dyn Error>> {
    for _ in 0..steps {
        let query = session.ask()?.ok_or("the session stopped by itself")?;
        session.tell(query.ticket, answers.prepared())?;
    }
    Ok(())
}

fn numbers(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| 2.0 * random.unit() - 1.0).collect()
}
