//! Frugal where users tell their Hessians, against a naive version: the same answers, whom it asks and where it goes.

mod algebra;
mod reference;

use std::{collections::VecDeque, f64::consts::TAU};

use sgq::{
    Answer, Detail, Oracle, Problem, Query, Random, Session, Settings,
    answer::packed,
    method,
    problem::{Loss, Regression, Rows},
};

use algebra::{Matrix, dot, minus};
use reference::Reference;

use super::{naive::Naive, remaining::Expected};

/// Which answers come without a Hessian.
#[derive(Clone, Copy)]
enum Silent {
    Nobody,
    /// A third of the users, but not the first one that is asked.
    Users,
    /// A third of the answers, but not the first one.
    Answers,
    /// All but the first answer of each user.
    Later,
    /// So many answers at the beginning.
    First(usize),
    /// So many answers at the beginning, and a third of the users later too.
    FirstAndUsers(usize),
}

struct Case {
    name: String,
    problem: Regression,
    start: Vec<f64>,
    /// Whether `L_i` are told.
    known: bool,
    open: usize,
    silent: Silent,
    /// The variance of each coordinate of all answers, or one number for all coordinates.
    variance: Option<Vec<f64>>,
    seed: u64,
}

/// Users with 3 to 8 rows each, of features whose sizes differ from user to user.
fn regression(loss: Loss, users: usize, dim: usize, random: &mut Random) -> Regression {
    let (mut values, mut targets, mut blocks) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..users {
        let (size, own) = (0.5 + 1.5 * random.unit(), random.unit() - 0.5);
        for _ in 0..3 + random.index(6) {
            let row: Vec<f64> = (0..dim).map(|_| size * (2.0 * random.unit() - 1.0)).collect();
            let z = row.iter().sum::<f64>() + own + random.unit() - 0.5;
            values.extend(row);
            targets.push(match loss {
                Loss::Logistic => z.signum(),
                Loss::Poisson => z.min(3.0).exp().round(),
                _ => z,
            });
        }
        blocks.push(targets.len());
    }
    let weights = vec![1.0; targets.len()];
    Regression::unsolved(Rows::Dense { dim, values }, targets, &weights, &blocks, loss, 0.05).unwrap()
}

/// Each loss with 1, 3 and 7 questions open, with `L_i` and without.
fn cases(rounds: u64, silent: impl Fn(&mut Random, usize) -> Silent) -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..rounds {
        for (kind, loss) in [("logistic", Loss::Logistic), ("squares", Loss::Squares), ("poisson", Loss::Poisson)] {
            for open in [1, 3, 7] {
                for known in [true, false] {
                    let mut random = Random::new(seed, &format!("{kind} {open} {known}"));
                    let (users, dim) = (3 + random.index(23), 1 + random.index(6));
                    let problem = regression(loss, users, dim, &mut random);
                    let start = (0..dim).map(|_| 2.0 * random.unit() - 1.0).collect();
                    let silent = silent(&mut random, users);
                    let l = if known { "L_i" } else { "no L_i" };
                    let name = format!("{kind}, n = {users}, d = {dim}, {open} open, {l}, seed {seed}");
                    cases.push(Case { name, problem, start, known, open, silent, variance: None, seed });
                }
            }
        }
    }
    cases
}

impl Case {
    fn session(&self) -> Session<'static> {
        let mut settings = Settings::new(self.start.clone(), self.problem.users())
            .answers(Detail::Hessian)
            .open(self.open)
            .seed(self.seed);
        if self.known {
            settings = settings.smoothness(self.problem.smoothness().unwrap().to_vec());
        }
        Session::new(method::frugal(), settings).unwrap()
    }

    /// The ordinary model until the first Hessian comes, where one question is out.
    fn ordinary(&self) -> Option<Naive> {
        let ordinary = match self.problem.smoothness().filter(|_| self.known) {
            Some(smoothness) => Naive::new(&self.start, smoothness),
            None => Naive::without_smoothness(&self.start, self.problem.users()),
        };
        (self.open == 1).then_some(ordinary)
    }

    fn reference(&self) -> Reference {
        let smoothness = self.problem.smoothness().filter(|_| self.known);
        Reference::new(&self.start, self.problem.users(), smoothness)
    }

    /// Whether the next answer, a user's, comes with a Hessian.
    fn tells_hessian(&self, user: usize, told: &Told, random: &mut Random) -> bool {
        let answers = told.answers;
        let is_silent_user = told.first_user.is_some_and(|first| user != first && (user + first).is_multiple_of(3));
        match self.silent {
            Silent::Nobody => true,
            Silent::Users => !is_silent_user,
            Silent::Answers => answers == 0 || random.index(3) > 0,
            Silent::Later => !told.is_asked[user],
            Silent::First(many) => answers >= many,
            Silent::FirstAndUsers(many) => answers >= many && !is_silent_user,
        }
    }
}

/// What was asked and told so far.
struct Told {
    first_user: Option<usize>,
    answers: usize,
    is_asked: Vec<bool>,
}

/// How often the rarer rules were met.
#[derive(Debug, Default)]
struct Met {
    for_reach: usize,
    for_error: usize,
    fitted: usize,
    /// Queries of users that had been asked, before the first Hessian.
    again_before_hessians: usize,
}

fn normal(random: &mut Random) -> f64 {
    (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (TAU * random.unit()).cos()
}

fn length(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

fn hessian(problem: &Regression, user: usize, point: &[f64]) -> (Vec<f64>, Matrix) {
    let dim = point.len();
    let mut whole = vec![0.0; dim * dim];
    assert!(problem.hessian(user, point, &mut whole));
    (packed(&whole, dim), whole.chunks(dim).map(<[f64]>::to_vec).collect())
}

/// Whether a session says the right thing of what remains.
fn remains(expected: Option<Expected>, session: &Session<'_>) -> Result<(), String> {
    Expected::differs(expected, session.remaining()).map_or(Ok(()), Err)
}

/// Asks until as many questions are out as may be, and answers the oldest one, so many times as there are users.
fn run(case: &Case, passes: usize, met: &mut Met) -> Result<(), String> {
    let (users, dim) = (case.problem.users(), case.problem.dim());
    let (mut session, mut reference, mut ordinary) = (case.session(), case.reference(), case.ordinary());
    let mut random = Random::new(case.seed, "answers");
    let mut out: VecDeque<Query> = VecDeque::new();
    let mut gradient = vec![0.0; dim];
    let mut told = Told { first_user: None, answers: 0, is_asked: vec![false; users] };
    if let Some(variance) = &case.variance {
        reference.set_noise(&(0..dim).map(|k| variance[k % variance.len()]).collect::<Vec<f64>>());
    }
    while told.answers < passes * users {
        let place = format!("{}, answer {}", case.name, told.answers);
        while out.len() < case.open.min(users) {
            let query = session.ask().unwrap().expect(&place);
            assert_eq!(query.wants, Detail::Hessian, "{place}");
            told.first_user.get_or_insert(query.user);
            let busy: Vec<usize> = out.iter().map(|query| query.user).collect();
            if reference.has_started() || told.answers == 0 {
                let checked = reference.check_choice(query.user, &query.point, &busy);
                checked.map_err(|why| format!("{place}: {why}"))?;
            } else {
                met.again_before_hessians += usize::from(told.is_asked[query.user]);
                reference.asked_before(query.user);
            }
            out.push_back(query);
        }
        let Query { ticket, user, point, .. } = out.pop_front().unwrap();
        case.problem.gradient(user, &point, &mut gradient);
        let mut answer = Answer::new(&gradient);
        let noisy: Vec<f64>;
        if let Some(variance) = &case.variance {
            let deviation = |k: usize| variance[k % variance.len()].sqrt();
            noisy = (0..dim).map(|k| gradient[k] + deviation(k) * normal(&mut random)).collect();
            answer = Answer::new(&noisy).variance(variance);
        }
        let tells = case.tells_hessian(user, &told, &mut random);
        let (packed, whole) = hessian(&case.problem, user, &point);
        if tells {
            answer = answer.hessian(&packed);
        }
        if reference.has_started() && case.variance.is_none() {
            let wrong: Vec<f64> = gradient.iter().map(|value| -20.0 * value).collect();
            for told in [&gradient, &wrong] {
                let found = session.out_of_line(user, &point, &told[..]);
                let expected = reference.out_of_line(user, &point, told);
                let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * (1.0 + expected);
                if found.is_some() != expected.is_some()
                    || !found.zip(expected).is_none_or(|(found, expected)| close(found, expected))
                {
                    return Err(format!("{place}: out of line by {found:?} and not {expected:?}"));
                }
            }
        }
        session.tell(ticket, answer).unwrap();
        told.is_asked[user] = true;
        told.answers += 1;
        if tells || reference.has_started() {
            ordinary = None;
            reference.tell(user, &point, answer.gradient, tells.then_some(&whole));
            let apart = length(&minus(session.point(), reference.point()));
            let far = length(&minus(reference.point(), &case.start));
            if apart.is_nan() || apart > 1e-7 * far {
                return Err(format!("{place}: the points are {apart:e} apart, {far:e} from the start"));
            }
            remains(reference.remaining(), &session).map_err(|why| format!("{place}: {why}"))?;
        } else {
            reference.told_before(user, &point, answer.gradient);
            if let Some(ordinary) = &mut ordinary {
                ordinary.answer(user, &point, answer.gradient);
                // While few directions were seen, some bend nearly alike, and rounding picks among them.
                let differs = Expected::differs_by(1e-4, ordinary.remaining(), session.remaining());
                differs.map_or(Ok(()), |why| Err(format!("{place}: {why}")))?;
            }
        }
    }
    met.for_reach += reference.reasked[0];
    met.for_error += reference.reasked[1];
    met.fitted += reference.fitted;
    Ok(())
}

fn run_all(cases: &[Case], passes: usize) -> Met {
    let mut met = Met::default();
    let differ: Vec<String> = cases.iter().filter_map(|case| run(case, passes, &mut met).err()).collect();
    assert!(differ.is_empty(), "{} of {} cases differ:\n{}", differ.len(), cases.len(), differ.join("\n"));
    met
}

#[test]
fn each_choice_and_point() {
    let met = run_all(&cases(6, |_, _| Silent::Nobody), 4);
    assert!(met.for_reach > 40 && met.for_error > 40, "{met:?}");
}

#[test]
fn a_third_of_the_users_tell_no_hessian() {
    let met = run_all(&cases(4, |_, _| Silent::Users), 3);
    assert!(met.for_reach > 40 && met.for_error > 40 && met.fitted > 100, "{met:?}");
}

#[test]
fn the_first_hessian_comes_late() {
    let met = run_all(&cases(4, |random, users| Silent::First(1 + random.index(2 * users))), 5);
    assert!(met.again_before_hessians > 100, "{met:?}");
}

#[test]
fn the_first_hessian_comes_late_and_a_third_of_the_users_tell_none() {
    let met = run_all(&cases(4, |random, users| Silent::FirstAndUsers(1 + random.index(2 * users))), 5);
    assert!(met.fitted > 100, "{met:?}");
}

/// The noise of a coordinate, between 0.01 and 0.3, is the same in all answers.
fn add_noise(cases: &mut [Case]) {
    for (number, case) in cases.iter_mut().enumerate() {
        let mut random = Random::new(case.seed, &case.name);
        let numbers = if number % 2 == 0 { 1 } else { case.problem.dim() };
        let deviation = 0.01 + 0.29 * random.unit();
        case.variance = Some((0..numbers).map(|_| (deviation * (0.5 + random.unit())).powi(2)).collect());
    }
}

#[test]
fn gradients_with_noise() {
    let mut cases = cases(4, |_, _| Silent::Nobody);
    add_noise(&mut cases);
    let met = run_all(&cases, 4);
    assert!(met.for_reach > 40 && met.for_error > 40, "{met:?}");
}

#[test]
fn gradients_with_noise_of_which_a_third_have_no_hessian() {
    // Not before the first Hessian: the ordinary model averages answers in its own way.
    let mut cases = cases(8, |_, _| Silent::Users);
    add_noise(&mut cases);
    let met = run_all(&cases, 4);
    assert!(met.fitted > 100, "{met:?}");
}

/// A user that told a Hessian counts as one with a Hessian from then on, also where a later answer has none.
#[test]
fn a_user_tells_hessians_with_some_answers() {
    let mut some = cases(4, |_, _| Silent::Answers);
    some.extend(cases(4, |_, _| Silent::Later));
    let met = run_all(&some, 4);
    assert!(met.fitted > 100, "{met:?}");
    add_noise(&mut some);
    run_all(&some, 4);
}
