//! What reports from disk and the live page share: how they look, charts and tables, and how numbers are written.
//!
//! The scripts are plain JavaScript modules without a build step. A server serves them as files of their own, named as in
//! [`MODULES`], which import each other by `./name.js`; a report has them in one piece.

mod chart;
mod hash;
mod page;
mod thin;

pub use chart::Chart;
pub(crate) use chart::Extra;
pub(crate) use page::Page;

pub use crate::palette::THEME_CSS;

/// Numbers and times as text: `short`, `readable`, `grouped`, `money`, `duration`, …
pub const FORMAT_JS: &str = include_str!("../assets/web/format.js");

/// `table(element, options)` and `sortable(element)`.
pub const TABLE_JS: &str = include_str!("../assets/web/table.js");

/// `chart(element, options)`.
pub const CHART_JS: &str = include_str!("../assets/web/chart.js");

/// The names and texts of all modules; each imports only from those before it.
pub const MODULES: [(&str, &str); 3] = [("format.js", FORMAT_JS), ("table.js", TABLE_JS), ("chart.js", CHART_JS)];

/// All modules and `last` as one script, which imports nothing.
pub fn in_one_piece(last: &str) -> String {
    let mut script = String::new();
    for line in MODULES.iter().flat_map(|(_, text)| text.lines()).chain(last.lines()) {
        if !line.starts_with("import ") {
            script += line.strip_prefix("export ").unwrap_or(line);
            script.push('\n');
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_has_no_imports_and_cannot_end_its_element() {
        let script = in_one_piece("import { chart } from \"./chart.js\";\nchart(document.body, {});\n");
        assert!(!script.contains("import ") && !script.contains("export "), "{script}");
        assert!(!script.contains("</") && !script.contains("<!--"));
        assert!(script.ends_with("chart(document.body, {});\n"));
        assert!(!THEME_CSS.contains("</"));
    }

    #[test]
    fn modules_import_only_those_before_them() {
        for (place, (name, text)) in MODULES.iter().enumerate() {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                assert!(line.ends_with(";"), "an import is one line: {line}");
                assert!(
                    MODULES[..place].iter().any(|(other, _)| line.contains(&format!("\"./{other}\""))),
                    "{name}: {line}"
                );
            }
        }
    }

    #[test]
    fn everything_shared_is_small() {
        const MOST: usize = 60_000;
        let size = THEME_CSS.len() + MODULES.iter().map(|(_, text)| text.len()).sum::<usize>();
        assert!(size <= MOST, "{size} bytes");
    }

    #[test]
    fn nothing_is_set_as_html_and_nothing_is_fetched() {
        for (name, text) in MODULES {
            for word in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://"]
            {
                let found = text.replace("http://www.w3.org/2000/svg", "").contains(word);
                assert!(!found, "{name}: {word}");
            }
        }
    }
}
