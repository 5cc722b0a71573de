//! Frugal against a naive version of it, written from docs/frugal.md: the same answers, whom it asks and where it goes.

mod hessians;
mod naive;
mod remaining;

use sgq::{
    Problem, Query, Random, Session, Settings,
    belief::Model,
    method,
    problem::{Loss, Quadratic, Regression, Rows},
};

use naive::Naive;
use remaining::Expected;

struct Case {
    name: String,
    problem: Box<dyn Problem>,
    start: Vec<f64>,
    costs: Option<Vec<f64>>,
    /// Whether `L_i` are told.
    known: bool,
    seed: u64,
}

/// Users with 3 to 8 rows each, of features whose sizes differ from user to user.
fn regression(loss: Loss, users: usize, dim: usize, seed: u64) -> Regression {
    let mut random = Random::new(seed, "frugal reference");
    let (mut values, mut targets, mut blocks) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..users {
        let (size, own) = (0.5 + 1.5 * random.unit(), random.unit() - 0.5);
        for _ in 0..3 + random.index(6) {
            let row: Vec<f64> = (0..dim).map(|_| size * (2.0 * random.unit() - 1.0)).collect();
            let z = row.iter().sum::<f64>() + own + random.unit() - 0.5;
            values.extend(row);
            targets.push(match loss {
                Loss::Logistic => {
                    if z > 0.0 {
                        1.0
                    } else {
                        -1.0
                    }
                }
                _ => z,
            });
        }
        blocks.push(targets.len());
    }
    Regression::new(Rows::Dense { dim, values }, targets, &blocks, loss, 0.05).unwrap()
}

/// `‖x − b_i‖²`, all users alike but for their centers.
fn equal_curvatures(users: usize, dim: usize, seed: u64) -> Quadratic {
    let mut random = Random::new(seed, "frugal reference");
    let centers: Vec<Vec<f64>> = (0..users).map(|_| (0..dim).map(|_| 4.0 * random.unit() - 2.0).collect()).collect();
    Quadratic::diagonal(&vec![vec![1.0; dim]; users], &centers).unwrap()
}

fn cases(dim: usize) -> Vec<Case> {
    cases_of(dim, |seed| 8 + (5 * seed as usize) % 13)
}

fn cases_of(dim: usize, users: impl Fn(u64) -> usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..12 {
        let users = users(seed);
        let problems: [(&str, Box<dyn Problem>); 3] = [
            ("squares", Box::new(regression(Loss::Squares, users, dim, seed))),
            ("logistic", Box::new(regression(Loss::Logistic, users, dim, seed))),
            ("quadratic", Box::new(equal_curvatures(users, dim, seed))),
        ];
        let mut random = Random::new(seed, "frugal start");
        let start: Vec<f64> = (0..dim).map(|_| 2.0 * random.unit() - 1.0).collect();
        let costs = (seed % 2 == 1).then(|| (0..users).map(|_| 0.5 + 2.0 * random.unit()).collect());
        for (kind, problem) in problems {
            let name = format!("{kind}, n = {users}, d = {dim}, seed {seed}");
            cases.push(Case { name, problem, start: start.clone(), costs: costs.clone(), known: true, seed });
        }
    }
    cases
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// One answer: how far the two are apart after it, how far the method moved, and how often everybody was asked before.
struct Step {
    apart: f64,
    moved: f64,
    asked_at_least: usize,
    /// How what remains differs.
    remaining: Option<String>,
    /// How what is said of this answer and of wrong ones in its place differs.
    out_of_line: Option<String>,
}

/// An honest answer, and wrong ones in its place.
const TIMES: [f64; 4] = [1.0, -1.0, -30.0, 1e4];

/// What a session says of them.
fn lines(session: &Session<'_>, query: &Query, gradient: &[f64]) -> [Option<f64>; 4] {
    TIMES.map(|factor| session.out_of_line(query.user, &query.point, &times(factor, gradient)))
}

fn times(factor: f64, gradient: &[f64]) -> Vec<f64> {
    gradient.iter().map(|value| factor * value).collect()
}

/// How that differs from what a naive version says.
fn differing_lines(
    case: &Case,
    found: [Option<f64>; 4],
    gradient: &[f64],
    naive: impl Fn(&[f64]) -> Option<f64>,
) -> Option<String> {
    // The secant of a probe is of a way of 10⁻⁴, and has fewer digits.
    let within = if case.known { 1e-12 } else { 1e-10 };
    found.into_iter().zip(TIMES).find_map(|(found, factor)| {
        let expected = naive(&times(factor, gradient));
        let differs = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() > within * (1.0 + expected),
            (found, expected) => found.is_some() != expected.is_some(),
        };
        differs.then(|| format!("{factor} times the answer: {found:?} and not {expected:?}"))
    })
}

/// Before everybody was asked.
#[derive(Default)]
struct FirstPass {
    /// Whether the last one had been asked before.
    again: bool,
    /// How often that was for curvature, where no `L_i` are known.
    looked: usize,
}

/// Whether a user is one of those who may be asked.
fn check_choice(naive: &Naive, point: &[f64], user: usize, costs: &[f64], before: &mut FirstPass, place: &str) {
    let largest = |scores: &[Option<f64>]| scores.iter().flatten().copied().fold(0.0, f64::max);
    let is_largest = |scores: &[Option<f64>]| {
        let score = scores[user].expect("a user of the less recently asked half");
        assert!(score >= largest(scores) * (1.0 - 1e-12), "{place}: {score} and not {}", largest(scores));
    };
    if let Some(probed) = naive.probes() {
        assert_eq!(user, probed, "{place}: a probe");
        return;
    }
    if let Some(set_aside) = naive.set_aside_last() {
        assert_eq!(user, set_aside, "{place}: set aside");
        return;
    }
    if let Some(scores) = naive.scores(point, costs) {
        is_largest(&scores);
        return;
    }
    let unasked: Vec<usize> = (0..costs.len()).filter(|user| naive.times_asked(*user) == 0).collect();
    let asked = costs.len() - unasked.len();
    let may_ask_again = !before.again && asked >= 8;
    before.again = naive.times_asked(user) > 0;
    if naive.has_learned_smoothness() && before.looked < 2.min(asked / 2) {
        is_largest(&naive.scores_far(point, costs));
        before.looked += 1;
        return;
    }
    let scores = naive.scores_again(point, costs);
    if before.again {
        assert!(may_ask_again, "{place}: again");
        is_largest(&scores);
        let least = unasked.iter().map(|user| naive.score_unasked(*user, costs)).fold(f64::INFINITY, f64::min);
        assert!(largest(&scores) >= 2.0 * least * (1.0 - 1e-12), "{place}: again, for so little");
    } else if may_ask_again {
        let enough = 2.0 * naive.score_unasked(user, costs);
        assert!(largest(&scores) <= enough * (1.0 + 1e-12), "{place}: somebody would tell far more");
    }
}

fn run(case: &Case, passes: usize) -> Vec<Step> {
    let users = case.problem.users();
    let smoothness = case.problem.smoothness().unwrap();
    let mut settings = Settings::new(case.start.clone(), users).seed(case.seed);
    let mut naive = Naive::without_smoothness(&case.start, users);
    if case.known {
        settings = settings.smoothness(smoothness.to_vec());
        naive = Naive::new(&case.start, smoothness);
    }
    if let Some(costs) = &case.costs {
        settings = settings.costs(costs.clone());
    }
    let costs = case.costs.clone().unwrap_or_else(|| vec![1.0; users]);
    let mut session = Session::new(method::frugal(), settings).unwrap();
    let mut gradient = vec![0.0; case.problem.dim()];
    let (mut steps, mut first_pass) = (Vec::new(), FirstPass::default());
    while steps.len() < passes * users {
        let query = session.ask().unwrap().unwrap();
        let place = format!("{}, query {}", case.name, steps.len());
        check_choice(&naive, &query.point, query.user, &costs, &mut first_pass, &place);
        let asked_at_least = (0..users).map(|user| naive.times_asked(user)).min().unwrap();
        case.problem.gradient(query.user, &query.point, &mut gradient);
        let line = |answer: &[f64]| naive.out_of_line(query.user, &query.point, answer);
        let out_of_line = differing_lines(case, lines(&session, &query, &gradient), &gradient, line);
        session.tell(query.ticket, &gradient).unwrap();
        let next = naive.answer(query.user, &query.point, &gradient);
        let (apart, moved) = (distance(session.point(), &next), distance(&query.point, session.point()));
        let remaining = Expected::differs(naive.remaining(), session.remaining());
        steps.push(Step { apart, moved, asked_at_least, remaining, out_of_line });
    }
    steps
}

/// To 1e-11 of the longest move, and to 1e-8 of each that is not a millionth of it: rounding grows as the points come together.
fn agree(case: &Case, steps: &[Step], compared: impl Fn(usize) -> bool) {
    let longest = steps.iter().map(|step| step.moved).fold(0.0, f64::max);
    for (number, step) in steps.iter().enumerate().filter(|(number, _)| compared(*number)) {
        let Step { apart, moved, remaining, out_of_line, .. } = step;
        let place = format!("{}, query {number}: {apart:e} apart after {moved:e}", case.name);
        assert!(out_of_line.is_none(), "{place}: {out_of_line:?}");
        assert!(*apart <= 1e-11 * longest, "{place}");
        assert!(*apart <= 1e-8 * moved || *moved < 1e-6 * longest, "{place}");
        // What remains depends on earlier points too.
        if steps[..number].iter().all(|step| step.apart <= 1e-11 * longest) {
            assert!(remaining.is_none(), "{place}: {remaining:?}");
        }
    }
}

#[test]
fn each_point_with_few_parameters() {
    for case in [1, 2].into_iter().flat_map(cases) {
        agree(&case, &run(&case, 3), |_| true);
    }
}

#[test]
fn each_point_without_smoothness() {
    for case in [1, 2].into_iter().flat_map(cases) {
        let case = Case { name: format!("{}, no L_i", case.name), known: false, ..case };
        agree(&case, &run(&case, 3), |_| true);
    }
}

/// With several secants of each user, and estimates that have to be small several times in a row.
#[test]
fn each_point_with_few_users() {
    for case in [1, 2].into_iter().flat_map(|dim| cases_of(dim, |seed| 1 + seed as usize % 4)) {
        let passes = 14usize.div_ceil(case.problem.users());
        until_it_arrives(&case, &run(&case, passes));
        // So far off that no first secant is doubted.
        let start = case.start.iter().map(|x| x + 3.0 * x.signum()).collect();
        let case = Case { name: format!("{}, no L_i", case.name), start, known: false, ..case };
        until_it_arrives(&case, &run(&case, passes));
    }
}

/// Secants between points that differ by rounding say nothing.
fn until_it_arrives(case: &Case, steps: &[Step]) {
    let longest = steps.iter().map(|step| step.moved).fold(0.0, f64::max);
    // Nothing moves at the start.
    let first = steps.iter().position(|step| step.moved > 0.0).unwrap_or(0);
    let arrived = steps.iter().skip(first).position(|step| step.moved < 1e-6 * longest);
    let until = arrived.map_or(steps.len(), |number| first + number);
    agree(case, steps, |number| number < until);
}

/// While fewer directions were seen than there are, some eigenvalues of `H` are equal, and how much a step is shrunk depends on
/// which of their eigenvectors rounding picks. That is over once `S_F` is, which remembers it, and `B` has forgotten it.
#[test]
fn each_point_with_more_parameters() {
    for case in cases(5) {
        let steps = run(&case, 5);
        let settled = 15 + steps.iter().position(|step| step.asked_at_least > 1).unwrap();
        assert!(settled + case.problem.users() / 2 < steps.len(), "{}: compare for longer", case.name);
        agree(&case, &steps, |number| number == 0 || number >= settled);
    }
}

/// Many parameters, in coordinates of the span of all answers: Gram and Schmidt's, anew for each vector.
struct Span(Vec<Vec<f64>>);

impl Span {
    fn coordinates(&self, x: &[f64]) -> Vec<f64> {
        self.0.iter().map(|direction| direction.iter().zip(x).map(|(direction, x)| direction * x).sum()).collect()
    }

    fn point(&self, start: &[f64], coordinates: &[f64]) -> Vec<f64> {
        let moved = |k: usize| self.0.iter().zip(coordinates).map(|(direction, by)| by * direction[k]).sum::<f64>();
        start.iter().enumerate().map(|(k, start)| start + moved(k)).collect()
    }

    /// Whether there was anything to add.
    fn add(&mut self, x: &[f64]) -> bool {
        let mut rest = x.to_vec();
        for _ in 0..3 {
            let along: Vec<f64> = self.coordinates(&rest).iter().map(|along| -along).collect();
            rest = self.point(&rest, &along);
        }
        let zero = vec![0.0; x.len()];
        let length = distance(&rest, &zero);
        let new = length > 1e-9 * distance(x, &zero);
        if new {
            self.0.push(rest.iter().map(|x| x / length).collect());
        }
        new
    }
}

/// While there are fewer answers than the rank may be, and every one is fitted.
#[test]
fn each_point_with_many_parameters() {
    for dim in [100, 300] {
        each_point_in_the_span(dim);
    }
}

fn each_point_in_the_span(dim: usize) {
    let mut compared = 0;
    for mut case in cases(dim).into_iter().filter(|case| case.problem.users() <= 14) {
        case.costs = None;
        let smoothness = case.problem.smoothness().unwrap();
        let settings = Settings::for_problem(case.start.clone(), &*case.problem).seed(case.seed);
        let mut session = Session::new(method::frugal(), settings).unwrap();
        let (mut naive, mut span) = (Naive::in_span(dim, smoothness), Span(Vec::new()));
        let mut gradient = vec![0.0; dim];
        let mut steps = Vec::new();
        for number in 0..28 {
            let query = session.ask().unwrap().unwrap();
            case.problem.gradient(query.user, &query.point, &mut gradient);
            let found = lines(&session, &query, &gradient);
            session.tell(query.ticket, &gradient).unwrap();
            if session.belief::<Model>().unwrap().set_aside_last().is_some() {
                // Its direction is not in the span, in which the naive version could tell.
                break;
            }
            if span.add(&gradient) {
                naive.grow();
            }
            let way: Vec<f64> = query.point.iter().zip(&case.start).map(|(x, start)| x - start).collect();
            let way = span.coordinates(&way);
            if let Some(scores) = naive.scores(&way, &vec![1.0; smoothness.len()]) {
                let most = scores.iter().flatten().copied().fold(0.0, f64::max);
                let score = scores[query.user].expect("a user of the less recently asked half");
                assert!(score >= most * (1.0 - 1e-9), "{}, query {number}: {score} and not {most}", case.name);
            }
            let line = |answer: &[f64]| naive.out_of_line(query.user, &way, &span.coordinates(answer));
            let out_of_line = differing_lines(&case, found, &gradient, line);
            let next = naive.answer(query.user, &way, &span.coordinates(&gradient));
            let next = span.point(&case.start, &next);
            let (apart, moved) = (distance(session.point(), &next), distance(&query.point, session.point()));
            let remaining = Expected::differs(naive.remaining(), session.remaining());
            steps.push(Step { apart, moved, asked_at_least: 0, remaining, out_of_line });
        }
        compared += steps.len();
        // Where all users have the same curvature, eigenvalues come to be equal, and rounding picks the vectors.
        let until = if case.name.starts_with("quadratic") { smoothness.len() } else { steps.len() };
        agree(&case, &steps, |number| number < until);
    }
    assert!(compared > 500, "{compared}");
}

/// The first one is drawn in proportion to `s_i / √c_i`.
#[test]
fn larger_and_cheaper_users_come_first() {
    const DRAWS: u64 = 20_000;
    let (smoothness, costs) = ([1.0, 4.0, 16.0, 1.0], [1.0, 1.0, 4.0, 0.25]);
    let mut times = [0.0; 4];
    for seed in 0..DRAWS {
        let settings = Settings::new(vec![0.0], 4).smoothness(smoothness.to_vec()).costs(costs.to_vec()).seed(seed);
        let mut session = Session::new(method::frugal(), settings).unwrap();
        times[session.ask().unwrap().unwrap().user] += 1.0 / DRAWS as f64;
    }
    for (part, expected) in times.iter().zip([1.0, 2.0, 2.0, 2.0]) {
        // Four standard deviations.
        assert!((part - expected / 7.0).abs() < 4.0 * (0.25 / DRAWS as f64).sqrt(), "{times:?}");
    }
}
