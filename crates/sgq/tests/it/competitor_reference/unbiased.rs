//! Weights `1 / (n p_i)` make a step right on average, for any probabilities: exact expectations over all users.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sgq::{
    Belief, Choice, ChoiceError, Chosen, LastGradient, Needs, Random, Reply, Scene, Session, SettingError, Settings,
    Update,
    belief::Nothing,
    choice::{ByNorm, BySmoothness},
    update::{HeavyBall, Katyusha, Loopless, Recursive, Saga, Sgd, Svrg},
};

use super::{
    Case, Vector,
    algebra::{mean, minus, plus, times},
    cases,
    choices::{by_smoothness, srg},
    close,
};

/// Before each choice, finds the weight that every user would have: the choice is repeated, with other random numbers, until
/// everybody has been drawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recorded<C> {
    choice: C,
    #[serde(skip)]
    weights: Arc<Mutex<Vec<Vector>>>,
}

impl<B: Belief, C: Choice<B> + Clone + Serialize + DeserializeOwned> Choice<B> for Recorded<C> {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.choice.begin(users)
    }

    fn needs(&self) -> Needs {
        self.choice.needs()
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let mut weights = vec![f64::NAN; scene.users];
        let mut others = Random::new(0, "others");
        while weights.iter().any(|weight| weight.is_nan()) {
            let chosen = self.choice.clone().choose(scene, &mut others)?;
            weights[chosen.user] = chosen.weight;
        }
        self.weights.lock().unwrap().push(weights);
        self.choice.choose(scene, random)
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        self.choice.observe(reply, random);
    }
}

/// `Σ p_i w_i ∇f_i(x) = ∇f(x)`, with the probabilities of the equations and the weights of the library, at every step.
fn expectations_are_full_gradients<C>(case: &Case, choice: C, probabilities: &[Vector])
where
    C: Choice<Nothing> + Clone + Serialize + DeserializeOwned,
{
    let weights = Arc::default();
    let recorded = Recorded { choice, weights: Arc::clone(&weights) };
    let log = case.log(&mut case.session(Nothing, recorded, Sgd), 40);
    let weights = weights.lock().unwrap();
    assert_eq!(weights.len(), 40);
    for (step, asked) in log.iter().enumerate() {
        let gradients: Vec<Vector> = (0..case.users()).map(|i| case.gradient(i, &asked.at)).collect();
        let p = &probabilities[step];
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let expected = (0..case.users())
            .fold(vec![0.0; asked.at.len()], |sum, i| plus(&sum, &times(p[i] * weights[step][i], &gradients[i])));
        close(&expected, &mean(&gradients), 1e-12, &format!("problem {}, step {step}", case.seed));
    }
}

#[test]
fn importance_sampling_is_unbiased() {
    for case in cases() {
        expectations_are_full_gradients(&case, BySmoothness, &by_smoothness(&case).1);
    }
}

#[test]
fn stochastic_reweighted_gradient_is_unbiased() {
    for case in cases() {
        for theta in [0.2, 0.5, 1.0] {
            expectations_are_full_gradients(&case, ByNorm::new(theta), &srg(&case, theta).1);
        }
    }
}

/// A user with `L_i = 0` has a gradient all the same, one that never changes.
#[test]
fn importance_sampling_reaches_affine_users() {
    // f_0 = x², f_1 = 2x: together least at −1.
    let settings = Settings::new(vec![1.0], 2).smoothness(vec![2.0, 0.0]).step_size(0.01).budget(5_000);
    let method = sgq::Method::new("importance", Nothing, BySmoothness, Sgd);
    let mut session = Session::new(method, settings).unwrap();
    while let Some(query) = session.ask().unwrap() {
        let gradient = [[2.0 * query.point[0], 2.0][query.user]];
        session.tell(query.ticket, &gradient).unwrap();
    }
    assert!((session.point()[0] + 1.0).abs() < 0.2, "ends at {}", session.point()[0]);
}

/// Given users with given weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Given(pub(super) Vec<(usize, f64)>);

impl<B: Belief> Choice<B> for Given {
    fn choose(&mut self, _scene: &Scene<'_, B>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let (user, weight) = self.0.remove(0);
        Ok(Chosen { weight, ..Chosen::user(user) })
    }
}

/// Every update with a corrected gradient takes the weight where it must: after three steps with any users and weights, the
/// mean over the fourth one's user is where the same step without any sampling would lead.
fn the_mean_step_does_not_depend_on_the_sampling<B: Belief + Clone, U: Update<B> + Clone>(
    belief: &B,
    update: &U,
    queries: impl Fn(usize) -> usize,
) {
    for case in cases() {
        let n = case.users();
        let mut random = Random::new(case.seed, "unbiased");
        let prefix: Vec<(usize, f64)> = (0..3).map(|_| (random.index(n), 0.5 + random.unit())).collect();
        let shares: Vec<f64> = (0..n).map(|_| 0.1 + random.unit()).collect();
        let p = times(1.0 / shares.iter().sum::<f64>(), &shares);
        let uniform = vec![1.0 / n as f64; n];
        let mut expectations = Vec::new();
        for p in [uniform, p] {
            let mut expected = vec![0.0; case.start.len()];
            for (i, p) in p.iter().enumerate() {
                let users = [prefix.as_slice(), &[(i, 1.0 / (n as f64 * p))]].concat();
                let mut session = case.session(belief.clone(), Given(users), update.clone());
                let log = case.log(&mut session, queries(n));
                let last = &log[log.len() - 1];
                assert_eq!(last.user, i);
                assert!(minus(&last.after, &last.at).iter().any(|moved| moved.abs() > 1e-9));
                expected = plus(&expected, &times(*p, &last.after));
            }
            expectations.push(expected);
        }
        close(&expectations[0], &expectations[1], 1e-12, &format!("problem {}", case.seed));
    }
}

#[test]
fn weighted_updates_are_unbiased() {
    the_mean_step_does_not_depend_on_the_sampling(&Nothing, &Sgd, |_| 4);
    the_mean_step_does_not_depend_on_the_sampling(&Nothing, &HeavyBall::new(0.7), |_| 4);
    // Some of the fourth step's users are asked for the first time, and some are not.
    the_mean_step_does_not_depend_on_the_sampling(&LastGradient::new().lazy(true), &Saga, |_| 4);
    the_mean_step_does_not_depend_on_the_sampling(&LastGradient::new(), &Saga, |n| n + 4);
    the_mean_step_does_not_depend_on_the_sampling(&Nothing, &Svrg::new(Some(100)), |n| n + 4);
    the_mean_step_does_not_depend_on_the_sampling(&Nothing, &Loopless::new(Some(1e-12)), |n| n + 4);
    the_mean_step_does_not_depend_on_the_sampling(&Nothing, &Katyusha::new(Some(100), 0.3), |n| n + 4);
    the_mean_step_does_not_depend_on_the_sampling(&Nothing, &Recursive::new(Some(100)), |n| n + 8);
}
