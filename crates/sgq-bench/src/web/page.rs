//! A report: one page that opens from disk without a network, shows its figures where scripts are off, and lets a reader explore
//! them where they are on.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Chart, THEME_CSS, hash, in_one_piece};
use crate::figure::escape;

const REPORT_CSS: &str = include_str!("../../assets/web/report.css");
const REPORT_JS: &str = include_str!("../../assets/web/report.js");

/// A page in the making.
pub(crate) struct Page {
    title: String,
    style: &'static str,
    /// What stands below the title, as markup.
    pub body: String,
    charts: Vec<Value>,
    /// What a benchmark's reader may choose from.
    pub benchmark: Option<Value>,
}

impl Page {
    /// With rules of its own besides those of every report.
    pub fn new(title: &str, style: &'static str) -> Self {
        Self { title: title.to_owned(), style, body: String::new(), charts: Vec::new(), benchmark: None }
    }

    /// A static figure that gives its place to a chart where scripts are on.
    pub fn figure(&mut self, svg: &str, chart: Option<&Chart>) {
        match chart {
            Some(Chart(chart)) => {
                let _ = writeln!(self.body, "<div class=\"figure\" data-chart=\"{}\">\n{svg}</div>", self.charts.len());
                self.charts.push(chart.clone());
            }
            None => {
                let _ = writeln!(self.body, "<div class=\"figure\">\n{svg}</div>");
            }
        }
    }

    /// The whole page. The same page gives the same bytes.
    pub fn finish(self) -> String {
        let style = format!("\n{THEME_CSS}{REPORT_CSS}{}", self.style);
        let script = format!("\n{}", in_one_piece(REPORT_JS));
        let data = json!({ "charts": self.charts, "benchmark": self.benchmark });
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{script_hash}'; style-src \
             '{style_hash}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}<footer>Made by sgq {version}.</footer>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script type=\"module\">{script}</script>\n\
             </body>\n</html>\n",
            script_hash = hash::source(&script),
            style_hash = hash::source(&style),
            title = escape(&self.title),
            body = self.body,
            version = env!("CARGO_PKG_VERSION"),
            data = inert(&data),
        )
    }
}

/// JSON in which nothing ends the element that it stands in, or begins a comment.
fn inert(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let mut page = Page::new("a <b> \"title\"", "");
        page.benchmark = Some(json!({ "name": "</script><!--<script>\u{2028}" }));
        let page = page.finish();
        assert_eq!(
            (page.matches("<script").count(), page.matches("</script").count(), page.matches("<!--").count()),
            (2, 2, 0)
        );
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["benchmark"]["name"], "</script><!--<script>\u{2028}");
    }

    #[test]
    fn the_policy_names_the_style_and_the_script_that_are_there() {
        let page = Page::new("x", "p { color: red; }").finish();
        let between = |from: &str, to: &str| page.split_once(from).unwrap().1.split_once(to).unwrap().0;
        for text in [between("<style>", "</style>"), between("<script type=\"module\">", "</script>")] {
            assert!(page.contains(&format!("'{}'", hash::source(text))));
        }
        assert!(!REPORT_JS.contains("innerHTML") && !REPORT_JS.contains("</") && !REPORT_CSS.contains("</"));
    }
}
