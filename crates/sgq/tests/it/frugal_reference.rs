//! Frugal against a naive version of it, written from docs/frugal.md: the same users, asked at the same points.

mod naive;

use sgq::{
    Oracle as _, Problem, Random, Session, Settings, method,
    problem::{Loss, Quadratic, Regression, Rows},
};

use naive::Naive;

struct Case {
    name: String,
    problem: Box<dyn Problem>,
    start: Vec<f64>,
    costs: Option<Vec<f64>>,
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
                Loss::Logistic => if z > 0.0 { 1.0 } else { -1.0 },
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
    let centers: Vec<Vec<f64>> =
        (0..users).map(|_| (0..dim).map(|_| 4.0 * random.unit() - 2.0).collect()).collect();
    Quadratic::diagonal(&vec![vec![1.0; dim]; users], &centers).unwrap()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..12 {
        for dim in [1, 2, 5] {
            let users = 8 + (5 * seed as usize) % 13;
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
                cases.push(Case { name, problem, start: start.clone(), costs: costs.clone(), seed });
            }
        }
    }
    cases
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn explore() {
    for case in cases() {
        let users = case.problem.users();
        let mut settings = Settings::for_problem(case.start.clone(), &*case.problem).seed(case.seed);
        if let Some(costs) = &case.costs {
            settings = settings.costs(costs.clone());
        }
        let mut session = Session::new(method::frugal(), settings).unwrap();
        let mut naive = Naive::new(&case.start, case.problem.smoothness().unwrap());
        let mut gradient = vec![0.0; case.problem.dim()];
        let mut offs = Vec::new();
        let mut asked = Vec::new();
        for _ in 0..3 * users {
            let query = session.ask().unwrap().unwrap();
            case.problem.gradient(query.user, &query.point, &mut gradient);
            session.tell(query.ticket, &gradient).unwrap();
            let next = naive.answer(query.user, &gradient);
            let moved = distance(&query.point, session.point());
            offs.push(format!("{:.0e}", distance(session.point(), &next) / moved));
            asked.push(query.user);
        }
        println!("{} {}", case.name, offs.join(" "));
    }
}
