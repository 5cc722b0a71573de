//! Frugal with so many users that the point stays for several answers: docs/frugal.md § 8.5.

use std::collections::HashSet;

use sgq::{
    Answer, Detail, Oracle as _, Problem, Random, Session, Settings, Sight,
    answer::packed,
    belief::Model,
    method,
    problem::{Loss, Regression, Rows},
};

use crate::frugal::goes_on_bit_for_bit;

type Frugal = Session<'static>;

const USERS: usize = 600;

/// Four rows each.
fn logistic() -> Regression {
    let mut random = Random::new(1, "many users");
    let (mut values, mut targets) = (Vec::new(), Vec::new());
    for _ in 0..4 * USERS {
        let row = [random.unit() - 0.5, random.unit() - 0.5, 1.0];
        let is_one = random.unit() < 1.0 / (1.0 + (-3.0 * row[0] + row[1]).exp());
        values.extend(row);
        targets.push(if is_one { 1.0 } else { -1.0 });
    }
    let blocks: Vec<usize> = (0..=USERS).map(|user| 4 * user).collect();
    Regression::new(Rows::Dense { dim: 3, values }, targets, &blocks, Loss::Logistic, 0.01).unwrap()
}

fn settings(problem: &Regression, known: bool) -> Settings {
    let settings = Settings::new(vec![1.0; 3], USERS).seed(3);
    if known { settings.smoothness(problem.smoothness().unwrap().to_vec()) } else { settings }
}

fn open(problem: &Regression, known: bool) -> Frugal {
    Session::new(method::frugal(), settings(problem, known)).unwrap()
}

/// Asks once; returns who was asked, and where.
fn advance(session: &mut Frugal, problem: &Regression) -> (usize, Vec<f64>) {
    let query = session.ask().unwrap().expect("no stop condition is set");
    let mut gradient = [0.0; 3];
    problem.gradient(query.user, &query.point, &mut gradient);
    let mut hessian = Vec::new();
    if session.answers() == Detail::Hessian {
        let mut full = vec![0.0; 9];
        problem.hessian(query.user, &query.point, &mut full);
        hessian = packed(&full, 3);
    }
    let mut answer = Answer::new(&gradient);
    answer.hessian = Some(&*hessian).filter(|it| !it.is_empty());
    session.tell(query.ticket, answer).unwrap();
    (query.user, query.point.to_vec())
}

/// Every point is for as many answers as § 8.5 says, of different users.
fn stays_as_long_as_it_should(session: &mut Frugal, problem: &Regression, queries: usize) {
    let (mut asked, mut here) = (HashSet::new(), Vec::new());
    for number in 0..queries {
        let (user, point) = advance(session, problem);
        asked.insert(user);
        assert!(!here.contains(&user), "query {number}: {user} again at the same point");
        here.push(user);
        let moved = point != session.point();
        let most = 1 + asked.len() / 256;
        // The first three are asked at the start.
        assert!(number < 4 || moved == (here.len() == most), "query {number}: {} answers at a point", here.len());
        if moved {
            here.clear();
        }
    }
    assert_eq!(asked.len(), USERS);
}

#[test]
fn a_point_is_for_several_answers() {
    let problem = logistic();
    stays_as_long_as_it_should(&mut open(&problem, true), &problem, 1_500);
}

#[test]
fn a_point_is_for_several_hessians() {
    let problem = logistic();
    let settings = settings(&problem, true).answers(Detail::Hessian);
    let mut session = Session::new(method::frugal(), settings).unwrap();
    stays_as_long_as_it_should(&mut session, &problem, 900);
    let gap = problem.gap(session.point()).unwrap() / problem.gap(&[1.0; 3]).unwrap();
    assert!(gap < 1e-7, "{gap:e}");
}

/// With and without `L_i`, half as many answers again as there are users leave next to nothing, and what is believed to remain says so.
#[test]
fn it_needs_no_more_answers_for_that() {
    let problem = logistic();
    let at_start = problem.gap(&[1.0; 3]).unwrap();
    for (known, most) in [(true, 1e-6), (false, 3e-5)] {
        let mut session = open(&problem, known);
        (0..USERS + USERS / 2).for_each(|_| _ = advance(&mut session, &problem));
        let gap = problem.gap(session.point()).unwrap() / at_start;
        assert!(gap < most, "{gap:e}, L_i known: {known}");
        let remaining = session.remaining().expect("it has moved");
        assert!(remaining.gap / at_start < 1e-3, "{remaining:?}");
    }
}

#[test]
fn a_session_restored_between_two_moves_goes_on_bit_for_bit() {
    let problem = logistic();
    for known in [true, false] {
        let mut session = open(&problem, known);
        (0..520).for_each(|_| _ = advance(&mut session, &problem));
        let before = |query| query < 4 || query > 250 && query < 255;
        goes_on_bit_for_bit(&mut session, 300, before, |session| advance(session, &problem));
    }
}

/// An answer that is far too long is not one of several: its user is asked again at once, elsewhere.
#[test]
fn an_answer_set_aside_does_not_wait() {
    let problem = logistic();
    let mut session = open(&problem, true);
    (0..560).for_each(|_| _ = advance(&mut session, &problem));
    let is_set_aside = |sign: f64| {
        let bytes = session.snapshot().unwrap();
        let mut session: Frugal = Session::restore(method::frugal(), &bytes, Sight::Blind).unwrap();
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[sign * 1e3, 0.0, 0.0]).unwrap();
        let is_set_aside = session.belief::<Model>().unwrap().set_aside_last() == Some(query.user);
        assert_eq!(is_set_aside, *session.point() != *query.point);
        let (again, _) = advance(&mut session, &problem);
        assert!(!is_set_aside || again == query.user);
        assert_eq!(session.belief::<Model>().unwrap().set_aside_last(), None);
        // The honest answer is followed at once.
        assert!(!is_set_aside || session.remaining().is_some());
        is_set_aside
    };
    // Uphill in one of the two directions.
    assert!(is_set_aside(1.0) != is_set_aside(-1.0));
}
