//! The files of the page.

const HTML: &str = "text/html; charset=utf-8";

/// A file by its address.
pub fn find(path: &str) -> Option<(&'static str, &'static [u8])> {
    match path {
        "/" => Some((HTML, PAGE.as_bytes())),
        _ => None,
    }
}

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>sgq serve</title><p>/api/sessions";
