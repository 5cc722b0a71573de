//! Scores say why somebody is asked: whoever has the largest one is who is asked.

use std::collections::BTreeMap;

use sgq::{
    Detail, Method, Oracle as _, Problem as _, Random, Session, Settings, Sight, Why,
    method::{self, METHODS},
    problem::Quadratic,
    setting::Value,
};

/// How a session differs from the plainest one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Plain,
    /// No smoothness is given: where a method needs it, there is no such session.
    Unknown,
    /// Queries cost different amounts, several are out, and some fail.
    Busy,
    Hessians,
}

const DIM: usize = 3;

fn problem(users: usize, random: &mut Random) -> Quadratic {
    let row = |random: &mut Random| (0..DIM).map(|_| 0.2 + 2.0 * random.unit()).collect::<Vec<f64>>();
    let curvatures: Vec<Vec<f64>> = (0..users).map(|_| row(random)).collect();
    let centers: Vec<Vec<f64>> = (0..users).map(|_| row(random)).collect();
    Quadratic::diagonal(&curvatures, &centers).unwrap()
}

/// Runs a session, and counts the questions whose user is the best by the scores; all others must have been put for another reason.
fn count_scored(method: Method, variant: Variant, seed: u64) -> Option<usize> {
    let mut random = Random::new(seed, "scores");
    let users = [4, 13, 40][seed as usize % 3];
    let problem = problem(users, &mut random);
    let mut settings =
        Settings::for_problem(vec![5.0; DIM], &problem).step_size(0.05).budget(6 * users as u64).seed(seed);
    match variant {
        Variant::Plain => {}
        Variant::Unknown => settings.smoothness = None,
        Variant::Busy => settings = settings.open(3).costs((0..users).map(|_| 0.5 + random.unit()).collect()),
        Variant::Hessians => settings = settings.answers(Detail::Hessian),
    }
    let mut session = Session::with_sight(method, settings, Sight::Problem(&problem)).ok()?;
    let mut scored = 0;
    loop {
        let (scores, next) = (session.scores(), session.next_ticket());
        assert_eq!(scores, session.scores(), "looking changes nothing");
        let Some(query) = session.ask().unwrap() else {
            if session.pending().len() == 0 {
                return Some(scored);
            }
            answer(&mut session, &problem, &mut random, variant);
            continue;
        };
        let is_by_chance = query.explored == Some(true);
        if let Some(scores) = scores.filter(|_| query.ticket == next && !is_by_chance) {
            let name = session.name();
            assert_eq!(
                scores.best(),
                Some(query.user),
                "{name}, {variant:?}, seed {seed}: {:?}, {scores:?}",
                query.why
            );
            assert_eq!(scores.ranked()[0].user, query.user);
            assert!(scores.of(query.user).unwrap().may_win);
            scored += usize::from(matches!(query.why, Why::Scored | Why::Again | Why::New | Why::Chosen));
        }
        if variant != Variant::Busy || random.unit() < 0.5 {
            answer(&mut session, &problem, &mut random, variant);
        }
    }
}

fn answer(session: &mut Session<'_>, problem: &Quadratic, random: &mut Random, variant: Variant) {
    let pending: Vec<_> = session.pending().collect();
    let query = &pending[random.index(pending.len())];
    if variant == Variant::Busy && random.unit() < 0.1 {
        return session.fail(query.ticket).unwrap();
    }
    let mut gradient = vec![0.0; DIM];
    problem.gradient(query.user, &query.point, &mut gradient);
    let mut answer = sgq::Answer::from(&gradient[..]).loss(problem.user_value(query.user, &query.point));
    let mut hessian = vec![0.0; DIM * DIM];
    problem.hessian(query.user, &query.point, &mut hessian);
    // The lower triangle, row by row.
    let lower: Vec<f64> = (0..DIM).flat_map(|row| hessian[row * DIM..=row * DIM + row].to_vec()).collect();
    if query.wants == Detail::Hessian {
        answer = answer.hessian(&lower);
    }
    session.tell(query.ticket, answer).unwrap();
}

/// Over all methods, index for index: who has the largest score is asked, or the method says that it has none.
#[test]
fn the_largest_score_is_asked() {
    let mut by_method: BTreeMap<String, usize> = BTreeMap::new();
    let set = |method: Method, name: &str, value| method.with(name, value).unwrap();
    let more = [
        set(method::sgq(0.2), "cost_aware", Value::Switch(true)).named("sgq for each unit of cost"),
        set(method::practical_sgq(0.2), "cost_aware", Value::Switch(true)).named("practical-sgq for each unit of cost"),
        set(method::ogq(), "sharp", Value::Switch(true)).named("sharp ogq"),
        set(method::frugal(), "learned", Value::Switch(true)).named("frugal that learns"),
    ];
    for method in METHODS.iter().map(|entry| entry.method()).chain(more) {
        for variant in [Variant::Plain, Variant::Unknown, Variant::Busy, Variant::Hessians] {
            for seed in 0..12 {
                if let Some(scored) = count_scored(method.clone(), variant, seed) {
                    *by_method.entry(method.name().to_owned()).or_default() += scored;
                }
            }
        }
    }
    by_method.retain(|_, scored| *scored > 0);
    let with_scores: Vec<&str> = by_method.keys().map(|name| &**name).collect();
    let expected = [
        "frugal",
        "frugal that learns",
        "gpfl",
        "ogq",
        "practical-sgq",
        "practical-sgq for each unit of cost",
        "saga-sgq",
        "sgq",
        "sgq for each unit of cost",
        "sharp ogq",
    ];
    assert_eq!(with_scores, expected);
    assert!(by_method.values().all(|scored| *scored > 500), "{by_method:?}");
}

/// With many users the point stays for several answers, and a ranking that was made before them holds.
#[test]
fn a_ranking_is_what_is_asked() {
    let users = 3000;
    let mut random = Random::new(1, "scores");
    let problem = problem(users, &mut random);
    let settings = Settings::for_problem(vec![5.0; DIM], &problem).budget(3 * users as u64).seed(1);
    let mut session = Session::new(method::frugal(), settings).unwrap();
    let mut scored = 0;
    while session.queries() < 2 * users as u64 + 500 {
        // They are looked at now and then: each look costs as much as a choice among all users.
        let scores = if session.queries().is_multiple_of(7) { session.scores() } else { None };
        let Some(query) = session.ask().unwrap() else { break };
        if let Some(scores) = scores {
            assert_eq!(scores.best(), Some(query.user), "query {}", session.queries());
            scored += usize::from(query.why == Why::Again);
        }
        let mut gradient = vec![0.0; DIM];
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
    }
    assert!(scored > 50, "{scored}");
}

/// What has no scores says how it picks.
#[test]
fn every_method_says_how_it_asks() {
    for entry in METHODS {
        let settings = Settings::new(vec![5.0], 3).smoothness(vec![2.0; 3]).step_size(0.1).budget(3);
        let problem = Quadratic::scalar(&[1.0; 3], &[2.0, 1.0, -1.0]).unwrap();
        let session = Session::with_sight(entry.method(), settings, Sight::Problem(&problem)).unwrap();
        let how = session.how_it_asks();
        assert!(
            how.ends_with('.') && !how.contains("of the method's own") && !how.contains("  "),
            "{}: {how}",
            entry.name
        );
    }
}
