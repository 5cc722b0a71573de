//! What is sent back: headers that are the same everywhere, and gzip where it pays.

use std::{
    convert::Infallible,
    io::Write as _,
    pin::Pin,
    task::{Context, Poll},
};

use flate2::{Compression, write::GzEncoder};
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body, Bytes, Frame, SizeHint},
    header::{self, HeaderValue},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// No script, style or picture but those of this server, no frame around the page, and nothing that it could send elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Shorter answers fit into one packet as they are.
const GZIP_FROM: usize = 1200;

/// The body of an answer: all of it, or what comes as it happens.
pub enum Content {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut *self {
            Self::Whole(whole) => Poll::Ready(whole.take()),
            Self::Stream(stream) => stream.poll_recv(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => SizeHint::with_exact(whole.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

pub type Reply = Response<Content>;

fn reply(status: StatusCode, kind: &'static str, content: Content) -> Reply {
    let mut reply = Response::new(content);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // A page that is kept would be that of an earlier version, or of somebody else's session.
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    reply
}

/// A file of the page.
pub fn file(kind: &'static str, text: &'static [u8], request: &HeaderMap) -> Reply {
    whole(StatusCode::OK, kind, text.to_vec(), request)
}

/// An answer of the API.
pub fn json(value: &Value, request: &HeaderMap) -> Reply {
    whole(StatusCode::OK, "application/json", value.to_string().into_bytes(), request)
}

/// Why there is none.
pub fn error(status: StatusCode, words: &str) -> Reply {
    let text = json!({ "error": words }).to_string();
    reply(status, "application/json", Content::Whole(Some(text.into())))
}

/// What comes as it happens.
pub fn events(stream: mpsc::Receiver<Bytes>) -> Reply {
    reply(StatusCode::OK, "text/event-stream", Content::Stream(stream))
}

fn whole(status: StatusCode, kind: &'static str, bytes: Vec<u8>, request: &HeaderMap) -> Reply {
    let accepted = request.get(header::ACCEPT_ENCODING).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let takes_gzip = accepted.split(',').any(|it| it.trim() == "gzip" || it.trim().starts_with("gzip;q=1"));
    let packed = (takes_gzip && bytes.len() >= GZIP_FROM).then(|| gzip(&bytes)).flatten();
    let is_packed = packed.is_some();
    let mut reply = reply(status, kind, Content::Whole(Some(packed.unwrap_or(bytes).into())));
    reply.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_packed {
        reply.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    reply
}

fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}
