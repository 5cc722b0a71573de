//! Runs made by hand, where a bound that forgets some rounding rules the right user out.

use serde::{Deserialize, Serialize};
use sgq::{
    Choice, ChoiceError, Chosen, LastGradient, Method, Needs, Random, Reply, Scene, Session, SettingError, Settings,
    Step, Update,
};

use super::Both;

/// Both searches, and then whoever the script says; where it says nobody, whom they chose.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Directed {
    both: Both,
    asked: Vec<Option<usize>>,
}

impl Choice<LastGradient> for Directed {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.asked.reverse();
        self.both.begin(users)
    }

    fn needs(&self) -> Needs {
        self.both.needs()
    }

    fn choose(&mut self, scene: &Scene<'_, LastGradient>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let chosen = self.both.choose(scene, random)?;
        Ok(self.asked.pop().flatten().map_or(chosen, Chosen::user))
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        self.both.observe(reply, random);
    }
}

/// Goes from point to point in the first coordinate, whatever is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Walk(Vec<f64>);

impl Update<LastGradient> for Walk {
    fn step(&mut self, _step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        point[0] = self.0.pop().unwrap_or(point[0]);
        true
    }
}

/// Everybody is asked at `start`; then user by user as the script says, each followed by a move. `answer` is told how many
/// moves there were.
fn play(
    bonus_weight: f64,
    settings: Settings,
    script: Vec<(Option<usize>, f64)>,
    answer: impl Fn(usize, usize) -> Vec<f64>,
) {
    let steps = script.len() + 1;
    let (asked, mut points): (Vec<_>, Vec<_>) = script.into_iter().unzip();
    points.reverse();
    let choice = Directed { both: Both::new(bonus_weight, 0.0, 0.0, false), asked };
    let method = Method::new("script", LastGradient::new(), choice, Walk(points));
    let mut session = Session::new(method, settings.divergence_limit(1e150)).unwrap();
    let mut answers = 0;
    let users = session.meter().billed_per_user().len();
    while session.steps() < steps as u64 {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &answer(query.user, (answers + 1_usize).saturating_sub(users))).unwrap();
        answers += 1;
    }
}

/// `x` and then zeros: sums over more numbers leave more room for rounding.
fn first(x: f64, dim: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; dim];
    numbers[0] = x;
    numbers
}

/// The mean turns by an angle whose sine cannot be squared, or shrinks until its product with the anchor vanishes.
#[test]
fn a_mean_that_all_but_vanishes() {
    for (before, after) in [
        ([1e-100, 0.0], [1e-168, 1e-161]),
        ([1e-139, 0.0], [1e-186, 0.0]),
        ([1e-100, 0.0], [1e-100, 1e-161]),
        ([1e-137, 0.0], [1e-187, 1e-190]),
    ] {
        for small in [0.0, 1e-20] {
            let settings = Settings::new(vec![0.0; 2], 64).smoothness(vec![1e-270; 64]).step_size(1.0);
            play(0.0, settings, vec![(Some(0), 0.0), (Some(0), 0.0)], |user, moves| match (user, moves) {
                (0, 0) => before.to_vec(),
                (0, _) => after.to_vec(),
                (1, _) => vec![0.0, -1.0],
                (2, _) => vec![0.0, 1.0],
                (3, _) => vec![-1.0, 0.0],
                (4, _) => vec![1.0, 0.0],
                (5, _) => vec![small, 0.0],
                (6, _) => vec![-small, 0.0],
                _ => vec![0.0; 2],
            });
        }
    }
}

/// Thirty users at a point whose distance, or `L_i` over it, is below what can be kept track of.
#[test]
fn distances_that_all_but_vanish() {
    for (near, last, smoothness, step_size, large) in
        [(2.7e-162, 1.0, 1.0, 1.0, 2.0), (1e134, 1e134, 1e-190, 1e134, 1.3)]
    {
        let mut each = vec![smoothness; 64];
        each[..4].fill(0.0);
        let mut script = vec![(Some(5), near)];
        script.extend((20..50).map(|user| (Some(user), if user == 49 { 2.0 * near } else { near })));
        script.push((None, last));
        let settings = Settings::new(first(0.0, 400), 64).smoothness(each).step_size(step_size);
        play(1.0, settings, script, |user, _| {
            let answer = [large, 0.1, -large, -0.1].get(user).copied();
            first(answer.unwrap_or(if user % 2 == 0 { 10.0 } else { -10.0 }), 400)
        });
    }
}

/// Users gather at a place that few were at first: one with an `L_i` so large that those of the others vanish beside it.
#[test]
fn a_crowd_that_grows() {
    let (ordinary, dim) = (2_000, 300);
    let users = ordinary + 16;
    let mut smoothness = vec![1.0; users];
    smoothness[..16].fill(0.0);
    smoothness[0] = 2f64.powi(53);
    smoothness[7..12].fill(1e-3);
    // Everybody at a point of their own, then five at 0; there the point stays, until it jumps.
    let apart = (0..users).filter(|user| !(7..12).contains(user));
    let mut script: Vec<_> = apart.map(|user| (Some(user), 1.0 + 1e-3 * user as f64)).collect();
    for user in 7..12 {
        script.last_mut().unwrap().1 = 0.0;
        script.push((Some(user), 0.0));
    }
    script.push((Some(7), 0.0));
    script.extend(vec![(None, 0.0); ordinary + 900]);
    script.last_mut().unwrap().1 = 1.0;
    let (large, small) = (3e17, 0.1 + 1000.0 * f64::EPSILON);
    let settings = Settings::new(first(0.5, dim), users).smoothness(smoothness).step_size(1.0);
    play(1.0, settings, script, |user, moves| {
        let gathering = moves > users;
        let answer = match user {
            0 if gathering => large,
            0 | 6 | 15 => 0.0,
            1 => -large,
            2..=5 => [1.9, small, -1.9, -small][user - 2],
            user if user >= 16 && !gathering => 0.0,
            user if user % 2 == 0 => 10.0,
            _ => -10.0,
        };
        first(answer, dim)
    });
}
