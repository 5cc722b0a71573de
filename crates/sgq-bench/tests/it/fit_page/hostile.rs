//! Names that try to be more than names.

use resvg::usvg::roxmltree::Document;
use serde_json::json;
use sgq_bench::fit_page::{forest_png, forest_svg, html};

use super::{coefficient, fit};

#[test]
fn names_are_text() {
    let names = [
        "<script>alert(1)</script>",
        "</title></svg><img src=x onerror=alert(2)>",
        "\"' onload='alert(3)",
        "&lt;b&gt;",
        "a\u{1b}[31m\u{0}\nb",
        "\u{202e}moor\u{2066}",
        "עברית",
        "😀 ∑ é̂",
        "]]> --> {{x}} ${x}",
        "",
    ];
    let mut it = fit();
    it["coefficients"] = names.iter().map(|name| coefficient(name, 0.5, 0.1)).collect();
    for (k, name) in names.iter().enumerate() {
        for key in ["data", "target", "formula", "std_error_kind", "verdict", "stop", "method"] {
            it[key] = (*name).into();
        }
        it["notes"] = json!([name]);
        it["warnings"] = json!([name]);
        it["reference_levels"] = json!([{ "column": name, "level": name }]);
        it["missing_by_column"] = json!([{ "column": name, "rows": 1 }]);
        it["asked"]["most_asked"] = json!([{ "user": name, "queries": 1 }]);
        it["influence"]["largest"] =
            json!([{ "user": name, "coefficient": name, "in_std_errors": 1.0, "flagged": true }]);
        let (page, svg) = (html(&it, None).unwrap(), forest_svg(&it).unwrap());
        for text in [&page, &svg] {
            // The page has scripts of its own.
            let foreign = ["<script>alert", "<img", "onload='"];
            assert!(!foreign.iter().any(|it| text.contains(it)), "{k}: {text}");
            let steers = |c: char| {
                (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(!text.contains(steers), "{k}");
        }
        let document = Document::parse(&svg).unwrap();
        let shown: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        assert!(shown.contains(&"<script>alert(1)</script>") && shown.contains(&"&lt;b&gt;"), "{shown:?}");
        assert!(forest_png(&it).unwrap().starts_with(b"\x89PNG"));
    }
}

#[test]
fn endless_names_end() {
    let mut it = fit();
    let long = "x".repeat(10_000);
    it["coefficients"] = (0..20).map(|_| coefficient(&long, 0.5, 0.1)).collect();
    it["influence"]["largest"] = json!([{ "user": long, "coefficient": long, "in_std_errors": 1.0, "flagged": true }]);
    (it["target"], it["data"]) = (long.clone().into(), long.clone().into());
    let page = html(&it, None).unwrap();
    assert!(!page.contains(&"x".repeat(200)) && page.contains(&("x".repeat(120) + "…")), "{}", page.len());
    assert!(!forest_svg(&it).unwrap().contains(&"x".repeat(130)));
    // The formula is shown as a whole, in a box of its own.
    it["formula"] = long.clone().into();
    assert!(html(&it, None).unwrap().contains(&format!("<p class=\"formula\" tabindex=\"0\"><code><bdi>{long}</bdi>")));
}
