//! What each address answers.

use std::{sync::Arc, time::Duration};

use hyper::{
    Request, StatusCode,
    body::{Bytes, Incoming},
};
use serde_json::{Value, json};
use tokio::{
    sync::{broadcast::error::RecvError, mpsc},
    task,
};

use crate::{
    assets, events, head,
    live::Live,
    reply::{self, Reply},
    series, users,
    watch::Watch,
};

/// A sign of life where nothing happens.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// The part of an address behind the `?`.
pub struct Query(Vec<(String, String)>);

impl Query {
    fn new(text: &str) -> Self {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
        };
        Self(text.split('&').filter(|pair| !pair.is_empty()).map(pair).collect())
    }

    /// A value; none where it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| &**value)
    }

    /// A number; the error says what is wrong with it.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("{name} must be a number from 0, and is {text:?}"));
        self.get(name).map(number).transpose()
    }

    /// Whether something is wanted.
    pub fn is_true(&self, name: &str) -> bool {
        matches!(self.get(name), Some("1" | "true"))
    }
}

/// What `%41` and the like stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let two = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match two.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Why a question has no answer: a status, and words.
pub type Wrong = (StatusCode, String);

pub fn bad(words: impl Into<String>) -> Wrong {
    (StatusCode::BAD_REQUEST, words.into())
}

/// Answers a request that was let in.
pub async fn answer(watch: &Arc<Watch>, request: &Request<Incoming>) -> Reply {
    let (path, headers) = (request.uri().path(), request.headers());
    let Some(path) = path.strip_prefix("/api/") else {
        return match assets::find(path) {
            Some((kind, text)) => reply::file(kind, text, headers),
            None => reply::error(StatusCode::NOT_FOUND, "there is nothing at this address: / is the page"),
        };
    };
    if path == "live" {
        return reply::events(live(watch));
    }
    let query = Query::new(request.uri().query().unwrap_or_default());
    let (watch, path) = (Arc::clone(watch), path.to_owned());
    // Files are read by threads that may wait for a disk.
    match task::spawn_blocking(move || ask(&watch, &path, &query)).await {
        Ok(Ok(value)) => reply::json(&value, headers),
        Ok(Err((status, words))) => reply::error(status, &words),
        Err(_) => {
            reply::error(StatusCode::INTERNAL_SERVER_ERROR, "this went wrong, and is a fault of sgq: please report it")
        }
    }
}

fn ask(watch: &Watch, path: &str, query: &Query) -> Result<Value, Wrong> {
    if path == "sessions" {
        return Ok(json!(watch.summaries()));
    }
    let nothing = || (StatusCode::NOT_FOUND, "there is nothing at this address".to_owned());
    let (id, what) = path.strip_prefix("s/").and_then(|rest| rest.split_once('/')).ok_or_else(nothing)?;
    let id = decoded(id);
    let no_ledger = || (StatusCode::NOT_FOUND, format!("there is no ledger {id:?} here: /api/sessions lists them"));
    let live = watch.live(&id).ok_or_else(no_ledger)?;
    match what {
        "head" => head::head(&live),
        "curve" => series::curve(&live, query),
        "asked" => series::asked(&live, query),
        "path" => series::path(&live, query),
        "users" => users::users(&live, query),
        "events" => events::events(&live, query),
        "result" => head::result(&live),
        _ => Err(nothing()),
    }
}

/// Why a ledger has nothing to show.
pub fn unreadable(live: &Live) -> Wrong {
    let words = live.state().error.clone();
    (StatusCode::UNPROCESSABLE_ENTITY, words.unwrap_or_else(|| "this ledger is being read: ask again".to_owned()))
}

/// Tells of changes for as long as somebody listens.
fn live(watch: &Watch) -> mpsc::Receiver<Bytes> {
    let mut changes = watch.changes.listen();
    let (tell, told) = mpsc::channel(16);
    task::spawn(async move {
        let mut next = Bytes::from_static(b": listening\n\n");
        while tell.send(next).await.is_ok() {
            next = match tokio::time::timeout(SIGN_OF_LIFE, changes.recv()).await {
                Ok(Ok(changed)) => format!("event: changed\ndata: {}\n\n", json!(changed)).into(),
                // Some were missed; the next one says the same and more.
                Ok(Err(RecvError::Lagged(_))) => Bytes::from_static(b": behind\n\n"),
                Ok(Err(RecvError::Closed)) => return,
                Err(_) => Bytes::from_static(b": here\n\n"),
            };
        }
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded() {
        assert_eq!(decoded("a%20b%2Fc%"), "a b/c%");
        assert_eq!(decoded("%E2%82%AC%zz"), "€%zz");
        let query = Query::new("search=a+b%26&from=3&count=&desc=1");
        assert_eq!((query.get("search"), query.get("count")), (Some("a b&"), None));
        assert_eq!(query.number("from"), Ok(Some(3)));
        assert!(query.is_true("desc") && query.number("search").is_err());
    }
}
