//! Where a session stands, and what has come of it.

use serde_json::{Value, json};
use sgq_data::glm::StdErrors;
use sgq_ledger::{Follower, Missing, Reader};

use crate::{
    book::Book,
    expected::{Course, Expected, parts},
    history::{Questioned, part_of},
    live::{Live, State},
    routes::{Wrong, unreadable},
};
use hyper::StatusCode;

/// So many coordinates have a name in the answer.
const NAMES: usize = 64;
/// So many questions that are out are listed.
const OUT: usize = 100;
/// So many users who fail are listed.
const FAILING: usize = 50;
/// The pace is that of so many of the last answers.
const PACE_ANSWERS: usize = 30;

/// `/api/s/ID/head`.
pub fn head(live: &Live) -> Result<Value, Wrong> {
    let mut state = live.state();
    let missing = state.missing();
    let State { follower: Some(follower), book, history, replaying, .. } = &*state else {
        drop(state);
        return Err(unreadable(live));
    };
    let session = follower.session();
    let failed = |error: sgq_ledger::LedgerError| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string());
    let study = follower.study().map_err(failed)?;
    let pending = follower.pending().map_err(failed)?;
    let (budget, cost_budget, numbers_budget) = follower.budgets();
    let part = part_of(session);
    let stopped = follower.stop_message();
    let queries = follower.queries();
    let out = |question: &sgq_ledger::Question| {
        // What everybody is asked has a time of its own.
        let at = book.out.get(&question.ticket).copied().or(Some(question.asked_at).filter(|at| *at > 0));
        let why = question.report.as_ref().map_or(question.why.word(), |round| round.word());
        let wants = question.report.as_ref().map_or_else(|| question.wants.to_string(), ToString::to_string);
        json!({ "ticket": question.ticket, "user": question.name, "why": why, "asked_at": at, "wants": wants })
    };
    let expected = stopped.is_none().then(|| expected(follower, book, &state)).flatten();
    let name = |user: u32| follower.users().get(user as usize).map_or("", |user| &*user.name);
    let failing = book.failing.iter().filter_map(|user| Some((*user, book.users.get(*user as usize)?)));
    let mut failing: Vec<_> = failing.collect();
    failing.sort_by_key(|(_, of)| std::cmp::Reverse(of.failures_in_a_row));
    let failing = failing.iter().take(FAILING).map(|(user, of)| {
        json!({ "name": name(*user), "words": failing_words(of.failures_in_a_row, of.failures, of.reason.as_deref()) })
    });
    let last = history.questions.back();
    let answered = history.questions.iter().rev().find(|question| question.answered_at.is_some());
    let question = |question: Option<&Questioned>| question.map(|question| question_json(question, follower));
    Ok(json!({
        "file": live.id,
        "method": session.name(),
        "summary": session.how_it_asks(),
        "dim": dim(follower),
        "coordinates": coordinates(follower),
        "users": follower.users().len(),
        "seq": follower.seq(),
        "status": {
            "queries": queries,
            "budget": budget,
            "cost": follower.cost(),
            "cost_budget": cost_budget,
            "numbers": follower.numbers(),
            "numbers_budget": numbers_budget,
            "pending": pending.len(),
            "part": part.map(|part| part[0]),
            "low": part.map(|part| part[1]),
            "high": part.map(|part| part[2]),
            "tolerance": session.tolerance(),
            "certified": session.certified(),
            "stopped": stopped,
            "converged": session.stop_reason().is_some_and(sgq::StopReason::is_converged),
            "diverged": matches!(session.stop_reason(), Some(sgq::StopReason::Diverged { .. })),
            "last_event": book.last_event,
            "expected": expected,
            "study": study,
            "warnings": warnings(follower, &missing, state.error.as_deref()),
            "replayed": replaying.map_or(queries, |replayed| replayed.min(queries)),
        },
        "failing": failing.collect::<Vec<_>>(),
        "last": question(last),
        "answered": question(answered),
        "out": pending.iter().take(OUT).map(out).collect::<Vec<_>>(),
    }))
}

/// How many parameters there are; none in a study that has no model yet.
pub fn dim(follower: &Follower) -> usize {
    let has_model = follower.terms().is_none() || follower.encoding().is_some();
    if has_model { follower.session().point().len() } else { 0 }
}

/// Names of the first coordinates.
fn coordinates(follower: &Follower) -> Vec<String> {
    match follower.encoding() {
        Some(encoding) => encoding.column_names().into_iter().take(NAMES).collect(),
        None => (0..dim(follower).min(NAMES)).map(|place| format!("x{place}")).collect(),
    }
}

fn failing_words(in_a_row: u32, in_all: u32, reason: Option<&str>) -> String {
    let times = |count: u32| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let row = if in_a_row == 1 { String::new() } else { " in a row".to_owned() };
    let all = if in_all > in_a_row { format!(", {in_all} in all") } else { String::new() };
    let reason = reason.filter(|it| !it.is_empty()).map(|it| format!(": {it}")).unwrap_or_default();
    format!("failed {}{row}{all}{reason}", times(in_a_row))
}

fn warnings(follower: &Follower, missing: &[Missing], error: Option<&str>) -> Vec<String> {
    let mut warnings: Vec<String> = error.into_iter().chain(follower.lost()).map(ToOwned::to_owned).collect();
    if let Some(why) = follower.made_anew() {
        warnings.push(format!("this version of sgq would have asked otherwise, and goes on from the answers ({why})"));
    }
    let missing = missing.iter().take(5);
    warnings.extend(
        missing.map(|it| format!("{} cannot be asked ({}): what remains may not fall without it", it.name, it.words)),
    );
    warnings
}

fn question_json(question: &Questioned, follower: &Follower) -> Value {
    let name = |user: usize| follower.users().get(user).map_or("", |user| &*user.name);
    let Questioned { ticket, user, why, explored, asked_at, answered_at, moved, part_before, part_after, scored } =
        question;
    let candidates = scored.iter().flat_map(|scored| &scored.shown).map(|it| {
        let parts = &it.parts[..scored.as_ref().map_or(0, |scored| scored.parts.len())];
        json!({ "user": name(it.user), "score": it.score, "parts": parts })
    });
    let parts = scored.iter().flat_map(|scored| scored.parts).map(|part| json!([part.name, part.words]));
    json!({
        "ticket": ticket,
        "user": name(*user),
        "why": why.map(|why| why.word()),
        "words": why.map(|why| why.to_string()),
        "rule": scored.as_ref().map(|scored| scored.rule),
        "explored": explored,
        "asked_at": asked_at,
        "answered_at": answered_at,
        "point_moved": moved,
        "part_before": part_before,
        "part_after": part_after,
        "candidates": candidates.collect::<Vec<_>>(),
        "parts": parts.collect::<Vec<_>>(),
        "rank": scored.as_ref().map(|scored| scored.rank),
        "of": scored.as_ref().map(|scored| scored.of),
    })
}

/// The stop that is expected next.
fn expected(follower: &Follower, book: &Book, state: &State) -> Option<Expected> {
    let session = follower.session();
    let (budget, cost_budget, numbers_budget) = follower.budgets();
    let queries = follower.queries();
    let mut limits: Vec<(u64, &'static str)> = budget.map(|budget| (budget, "budget")).into_iter().collect();
    // Further answers are like those so far.
    let so_far = |spent: f64, budget: Option<f64>, name: &'static str| {
        let each = spent / queries as f64;
        let all = budget.filter(|_| each > 0.0 && each.is_finite())? / each;
        (all < 1e15).then_some(((all.floor() as u64).max(queries), name))
    };
    limits.extend(so_far(follower.cost(), cost_budget, "cost budget"));
    limits.extend(so_far(follower.numbers() as f64, numbers_budget.map(|it| it as f64), "numbers budget"));
    let queries_at = |seq: i64| book.paid.partition_point(|paid| paid.seq <= seq) as u64;
    let times = book.paid.iter().rev().take(PACE_ANSWERS).map(|paid| paid.at);
    let mut times: Vec<i64> = times.collect();
    times.reverse();
    let course = Course {
        queries,
        parts: parts(&state.history.believed, queries_at),
        tolerance: session.tolerance(),
        limits,
        times,
    };
    course.next_stop()
}

/// `/api/s/ID/result`: what `sgq session result --json` prints; null where there is none.
pub fn result(live: &Live) -> Result<Value, Wrong> {
    let is_study = live.state().follower.as_ref().is_some_and(|follower| follower.terms().is_some());
    if !is_study {
        return Ok(Value::Null);
    }
    let failed = |words: String| (StatusCode::UNPROCESSABLE_ENTITY, words);
    let results = Reader::open(&live.path).and_then(|reader| reader.results(StdErrors::default()));
    match results.map_err(|error| failed(error.to_string()))? {
        Some(results) => results.to_model_json().map_err(|error| failed(error.to_string())),
        None => Ok(Value::Null),
    }
}
