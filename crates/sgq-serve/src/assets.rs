//! The files of the page. They hold no data: whoever has no token sees an empty page.

use sgq_bench::web;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Files of a folder, by their names.
macro_rules! files {
    ($kind:expr, $($name:literal),+ $(,)?) => {
        [$(($name, $kind, include_bytes!(concat!("../assets/", $name)) as &'static [u8])),+]
    };
}

const STYLES: [(&str, &str, &[u8]); 1] = files!(CSS, "page.css");
const SCRIPTS: [(&str, &str, &[u8]); 14] = files!(
    SCRIPT,
    "api.js",
    "app.js",
    "coefficients.js",
    "coordinates.js",
    "dom.js",
    "events.js",
    "folder.js",
    "history.js",
    "last.js",
    "session.js",
    "standing.js",
    "users.js",
    "view.js",
    "words.js",
);

/// A file by its address: what it is, and its text.
pub fn find(path: &str) -> Option<(&'static str, &'static [u8])> {
    if path == "/" {
        return Some((HTML, include_bytes!("../assets/index.html")));
    }
    let name = path.strip_prefix("/assets/")?;
    if name == "theme.css" {
        return Some((CSS, web::THEME_CSS.as_bytes()));
    }
    let shared = web::MODULES.iter().find(|(known, _)| *known == name).map(|(_, text)| (SCRIPT, text.as_bytes()));
    let own = STYLES.iter().chain(&SCRIPTS).find(|(known, ..)| *known == name);
    shared.or(own.map(|(_, kind, text)| (*kind, *text)))
}
