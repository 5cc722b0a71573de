//! What happened, the last first.

use hyper::StatusCode;
use serde_json::{Value, json};
use sgq_ledger::{Event, Kind};

use crate::{
    live::{Live, State},
    routes::{Query, Wrong, bad, unreadable},
};

/// So many events at a time.
const MOST: u64 = 500;
const USUAL: u64 = 100;
/// A reason may be a whole page of a program's errors.
const LONGEST_WORDS: usize = 2000;

/// `/api/s/ID/events?before=SEQ&count=&kinds=`.
pub fn events(live: &Live, query: &Query) -> Result<Value, Wrong> {
    let count = query.number("count").map_err(bad)?.unwrap_or(USUAL).clamp(1, MOST) as usize;
    let before = query.number("before").map_err(bad)?.and_then(|it| i64::try_from(it).ok()).unwrap_or(i64::MAX);
    let kind = |word: &str| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word);
        kind.ok_or_else(|| bad(format!("there is no kind {word:?}: {}", Kind::ALL.map(Kind::word).join(", "))))
    };
    let kinds: Vec<Kind> =
        query.get("kinds").into_iter().flat_map(|kinds| kinds.split(',')).map(kind).collect::<Result<_, _>>()?;
    let state = live.state();
    let State { follower: Some(follower), book, .. } = &*state else {
        drop(state);
        return Err(unreadable(live));
    };
    let found = follower.events_before(before, &kinds, count + 1);
    let mut found = found.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    let more = found.len() > count;
    found.truncate(count);
    let row = |event: Event| {
        let user = event.user.and_then(|user| follower.users().get(user)).map(|user| &user.name);
        let why = event.ticket.filter(|_| event.kind == Kind::Asked).and_then(|it| book.question(it)?.why);
        let words = match event.kind {
            Kind::Asked => why.map(|why| why.to_string()),
            // These are what everybody was asked and has told, for programs.
            Kind::Round | Kind::Reported | Kind::Begun => None,
            _ => event.words.map(|words| shortened(&words)),
        };
        json!({
            "seq": event.seq, "at": event.at, "kind": event.kind, "ticket": event.ticket, "user": user, "words": words,
            "cost": event.cost, "numbers": event.numbers,
        })
    };
    Ok(json!({ "rows": found.into_iter().map(row).collect::<Vec<_>>(), "more": more }))
}

fn shortened(words: &str) -> String {
    match words.char_indices().nth(LONGEST_WORDS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}
