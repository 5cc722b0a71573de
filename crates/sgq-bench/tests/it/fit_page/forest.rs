//! What is drawn, read back from the SVG.

use resvg::usvg::roxmltree::{Document, Node};
use serde_json::{Value, json};
use sgq_bench::{
    figure::COLOURS,
    fit_page::{forest_png, forest_svg, html},
};

use super::{coefficient, fit};

const BLUE: &str = COLOURS[0];

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let written = document.descendants().filter(|node| node.has_tag_name("text"));
    written.map(|node| node.descendants().filter_map(|it| it.text().filter(|_| it.is_text())).collect()).collect()
}

/// The horizontal places of the estimates' squares, from top to bottom.
fn squares(svg: &str) -> Vec<f64> {
    let document = Document::parse(svg).unwrap();
    let is_square =
        |node: &Node<'_, '_>| node.attribute("fill") == Some(BLUE) && node.attribute("stroke") == Some("#fff");
    let x = |node: Node<'_, '_>| node.attribute("d").unwrap()[1..].split(',').next().unwrap().parse().unwrap();
    document.descendants().filter(is_square).map(x).collect()
}

/// Where the lines of the intervals begin and end.
fn intervals(svg: &str) -> Vec<(f64, f64)> {
    let document = Document::parse(svg).unwrap();
    let lines = document.descendants().filter(|node| node.attribute("stroke") == Some(BLUE));
    let span = |node: Node<'_, '_>| {
        let (from, to) = node.attribute("d")?.split_once('H')?;
        Some((from[1..].split(',').next()?.parse().ok()?, to.parse().ok()?))
    };
    lines.filter_map(span).collect()
}

/// The dashed line at zero.
fn zero(svg: &str) -> f64 {
    let document = Document::parse(svg).unwrap();
    let mut lines = document.descendants().filter(|node| node.attribute("stroke-dasharray") == Some("4 3"));
    lines.next().unwrap().attribute("d").unwrap()[1..].split(',').next().unwrap().parse().unwrap()
}

fn with(coefficients: Vec<Value>) -> Value {
    let mut it = fit();
    it["coefficients"] = coefficients.into();
    it
}

#[test]
fn marks_stand_where_the_numbers_say() {
    let svg = forest_svg(&fit()).unwrap();
    let texts = texts(&svg);
    for text in ["age", "ward=east", "ward=north", "ward=west", "reference", "0.65"] {
        let shown = texts.iter().any(|it| it == text);
        assert_eq!(shown, text != "0.65", "{text}: {texts:?}");
    }
    for text in
        ["1.92 (1.48 … 2.47)", "odds ratio", "odds ratio (95% interval)", "95% intervals; standard errors: model"]
    {
        assert!(texts.iter().any(|it| it == text), "{text}: {texts:?}");
    }
    assert!(!texts.iter().any(|it| it == "intercept"), "{texts:?}");
    // One scale for all: a coefficient of 0.65 is 0.65 units right of zero.
    let (zero, squares, intervals) = (zero(&svg), squares(&svg), intervals(&svg));
    let unit = (squares[1] - zero) / 0.65;
    assert!(unit > 100.0, "{unit}");
    for (place, (estimate, std_error)) in [(0.0424, 0.0045), (0.65, 0.13), (-0.12, 0.15)].into_iter().enumerate() {
        assert!((squares[place] - zero - unit * estimate).abs() < 0.05, "{place}: {squares:?}");
        let half = 1.96 * std_error * unit;
        assert!((intervals[place].0 - squares[place] + half).abs() < 0.05, "{place}: {intervals:?}");
        assert!((intervals[place].1 - squares[place] - half).abs() < 0.05, "{place}: {intervals:?}");
    }
    // Where the coefficient is 0 the ratio is 1.
    let document = Document::parse(&svg).unwrap();
    let at = |words: &str| {
        let mut nodes = document.descendants().filter(|node| node.has_tag_name("text") && node.text() == Some(words));
        nodes.next().and_then(|node| node.attribute("x")?.parse::<f64>().ok())
    };
    assert_eq!((at("0"), at("1.0")), (Some(zero), Some(zero)), "{texts:?}");
    assert!((at("2.0").unwrap() - zero - unit * 2.0_f64.ln()).abs() < 0.05, "{texts:?}");
}

#[test]
fn a_reader_who_does_not_see_it_is_told() {
    let svg = forest_svg(&fit()).unwrap();
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    let labels: Vec<&str> = root.attribute("aria-labelledby").unwrap().split(' ').collect();
    let by_id =
        |id: &str| document.descendants().find(|node| node.attribute("id") == Some(id)).and_then(|node| node.text());
    assert_eq!((root.attribute("role"), labels.len()), (Some("img"), 2));
    assert_eq!(by_id(labels[0]), Some("died in patients.csv"));
    assert!(by_id(labels[1]).unwrap().starts_with("Forest plot of 3 coefficients, the intercept left out"));
    // Two drawings are in the page, and each has names of its own; the fifth is that of the data.
    let page = html(&fit(), None).unwrap();
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((ids.len(), unique.len()), (5, 5), "{ids:?}");
}

#[test]
fn families_without_a_ratio_have_one_axis() {
    let mut it = fit();
    it["family"] = "gaussian".into();
    let texts = texts(&forest_svg(&it).unwrap());
    assert!(
        texts.iter().any(|it| it == "0.65 (0.40 … 0.90)") && texts.iter().all(|it| !it.contains("ratio")),
        "{texts:?}"
    );
}

#[test]
fn an_endless_interval_leaves_the_others_readable() {
    let wild = |name: &str, estimate: f64, std_error: f64| coefficient(name, estimate, std_error);
    let mut list: Vec<Value> = (0..6).map(|k| wild(&format!("x{k}"), 0.1 * f64::from(k), 0.1)).collect();
    list.push(wild("separated", 18.0, 2_400.0));
    list.push(json!({ "name": "beyond", "estimate": 1.0, "std_error": 1e308, "z": 0.0, "p": 1.0, "lower": null, "upper": null }));
    let svg = forest_svg(&with(list)).unwrap();
    let (intervals, squares) = (intervals(&svg), squares(&svg));
    assert!(intervals[0].1 - intervals[0].0 > 40.0, "{intervals:?}");
    // It goes from edge to edge, and ends at arrows.
    assert_eq!(intervals[6], intervals[7]);
    assert!(intervals[6].0 < intervals[0].0 && intervals[6].1 > intervals[5].1, "{intervals:?}");
    assert!(squares[6] > intervals[5].1, "{squares:?}");
    assert!(texts(&svg).iter().any(|it| it == "2.718 (0 … ∞)"), "{:?}", texts(&svg));
}

#[test]
fn what_is_not_known_is_not_drawn() {
    let none = |name: &str, estimate: Value| json!({ "name": name, "estimate": estimate, "std_error": null, "lower": null, "upper": null });
    let svg =
        forest_svg(&with(vec![none("a", 0.4.into()), none("b", Value::Null), coefficient("c", 0.5, 0.1)])).unwrap();
    assert_eq!((squares(&svg).len(), intervals(&svg).len()), (1, 1));
    let texts = texts(&svg);
    assert!(texts.iter().any(|it| it == "1.492 (NA)") && texts.iter().any(|it| it == "NA"), "{texts:?}");
    let svg = forest_svg(&with(vec![coefficient("intercept", 0.5, 0.1)])).unwrap();
    assert!(svg.contains("no coefficient but the intercept") && squares(&svg).is_empty());
}

#[test]
fn three_hundred_coefficients_have_a_row_each() {
    let list = (0..300).map(|k| coefficient(&format!("region={k}"), f64::from(k) / 100.0, 0.1)).collect();
    let svg = forest_svg(&with(list)).unwrap();
    let squares = squares(&svg);
    assert_eq!(squares.len(), 300);
    assert!(squares.windows(2).all(|pair| pair[0] < pair[1]));
    let texts = texts(&svg);
    assert!((0..300).all(|k| texts.contains(&format!("region={k}"))), "{texts:?}");
    // Width and height stand in its header: twice those of the SVG.
    let png = forest_png(&fit()).unwrap();
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert!(number(16) == 1680 && (500..900).contains(&number(20)), "{} × {}", number(16), number(20));
}

/// Whatever the numbers, the file has no number that is none, and everything lies in the picture.
#[test]
fn no_number_breaks_the_drawing() {
    let extremes = [0.0, -0.0, 1e-320, 1e-300, -1e-9, 1.0, 709.0, -745.0, 1e9, 1e300, -1e308, f64::MAX];
    for one in extremes {
        for other in extremes {
            let list =
                vec![coefficient("a", one, other.abs()), coefficient("b", other, 1.0), coefficient("c", 0.1, 0.1)];
            for family in ["binomial", "gaussian", "gamma"] {
                let mut it = with(list.clone());
                it["family"] = family.into();
                let svg = forest_svg(&it).unwrap();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{one:e} {other:e} {family}: {svg}");
                let places =
                    squares(&svg).into_iter().chain(intervals(&svg).into_iter().flat_map(|(from, to)| [from, to]));
                assert!(places.clone().all(|x| (0.0..=840.0).contains(&x)), "{one:e} {other:e} {family}: {svg}");
                html(&it, None).unwrap();
            }
        }
    }
}
