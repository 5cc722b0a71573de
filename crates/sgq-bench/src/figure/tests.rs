use super::outline::Font;
use super::style::Style;
use super::text::{escape, number, shorten, width};
use super::trace::{Span, band, line, runs};
use super::*;
use std::collections::BTreeSet;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn curve(label: &str, means: &[f64]) -> Curve {
    let points =
        means.iter().enumerate().map(|(index, mean)| Point { x: index as f64, mean: *mean, error: 0.2 * mean.abs() });
    Curve { label: label.to_owned(), points: points.collect(), ..Curve::default() }
}

fn decay(rate: f64) -> Curve {
    let means: Vec<f64> = (0..=400).map(|query| 25.0 * (-rate * f64::from(query)).exp()).collect();
    curve("decay", &means)
}

fn figure(curves: Vec<Curve>) -> Figure {
    Figure {
        title: "Gap".to_owned(),
        x_label: "Queries".to_owned(),
        y_label: "f − f*".to_owned(),
        curves,
        y_range: None,
        parts: false,
    }
}

#[test]
fn equal_figures_give_equal_bytes() -> Outcome {
    let one = figure(vec![decay(0.01), decay(0.02)]);
    let other = one.clone();
    assert_eq!(one.svg(), other.svg());
    assert_eq!(one.png()?, other.png()?);
    Ok(())
}

#[test]
fn identifiers_differ_between_figures_in_one_page() -> Outcome {
    let svgs = [figure(vec![decay(0.01)]).svg(), figure(vec![decay(0.02)]).svg()];
    let mut seen = BTreeSet::new();
    for svg in &svgs {
        let document = usvg::roxmltree::Document::parse(svg)?;
        for node in document.descendants() {
            if let Some(id) = node.attribute("id") {
                assert!(seen.insert(id.to_owned()), "{id} stands twice");
            }
        }
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        assert!(seen.contains(root.attribute("aria-labelledby").unwrap_or_default()));
        let clip = document.descendants().find_map(|node| node.attribute("clip-path"));
        let clip = clip.unwrap_or_default().trim_start_matches("url(#").trim_end_matches(')');
        assert!(seen.contains(clip), "{clip} is not defined");
    }
    assert_eq!(seen.len(), 8);
    Ok(())
}

#[test]
fn words_stand_above_their_points() -> Outcome {
    let plain = Figure { y_range: Some((0.5, 50.0)), ..figure(vec![curve("one", &[1.0, 10.0, 100.0])]) };
    let mut worded = plain.clone();
    worded.curves[0].points.reverse();
    worded.curves[0].words = ["cut off", "< middle", "first"].map(str::to_owned).to_vec();
    let svg = worded.svg();
    let document = usvg::roxmltree::Document::parse(&svg)?;
    let find = |word: &str| document.descendants().find(|node| node.has_tag_name("text") && node.text() == Some(word));
    let place = |word: &str| -> Option<(f64, f64)> {
        let node = find(word)?;
        Some((node.attribute("x")?.parse().ok()?, node.attribute("y")?.parse().ok()?))
    };
    let drawing = Drawing::of(&worded);
    for (word, x, mean) in [("first", 0.0, 1.0), ("< middle", 1.0, 10.0)] {
        let at = drawing.line_span(&Point { x, mean, error: 0.0 }).ok_or("no place")?;
        let (across, up) = place(word).ok_or("no word")?;
        assert!((across - at.x).abs() < 0.01 && (3.0..20.0).contains(&(at.top - up)), "{word}: {across}, {up}");
    }
    assert!(find("cut off").is_none());
    // Without words nothing of it is left.
    worded.curves[0].words.clear();
    assert_eq!(worded.svg(), plain.svg());
    Ok(())
}

#[test]
fn labels_are_escaped() -> Outcome {
    let awkward = "<b> & \"q\" 'a' σ−×é";
    let mut figure = figure(vec![curve(awkward, &[1.0, 2.0])]);
    figure.title = awkward.to_owned();
    figure.y_label = "a\u{0}b\u{ffff}\nc".to_owned();
    let svg = figure.svg();
    let document = usvg::roxmltree::Document::parse(&svg)?;
    let found = document.descendants().filter(|node| node.is_element() && node.text() == Some(awkward));
    // Title, its accessible copy and the legend.
    assert_eq!(found.count(), 3);
    assert_eq!(escape("a\u{0}\n"), "a\u{fffd} ");
    figure.png()?;
    Ok(())
}

#[test]
fn bad_values_neither_panic_nor_reach_the_file() -> Outcome {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let at = |x: f64, mean: f64, error: f64| Point { x, mean, error };
    let of = |points: Vec<Point>| Curve { points, ..Curve::default() };
    let cases = [
        vec![],
        vec![of(vec![])],
        vec![curve("one point", &[3.0])],
        vec![curve("equal", &[3.0; 5])],
        vec![curve("zero", &[0.0; 3])],
        vec![curve("signs", &[1.0, 0.0, -1.0, -infinity, 1e-3])],
        vec![curve("infinite", &[1.0, infinity, 1.0, infinity])],
        vec![curve("all infinite", &[infinity; 3])],
        vec![curve("gaps", &[nan, 1.0, nan, 2.0, 3.0, nan])],
        vec![curve("all gaps", &[nan; 3])],
        vec![curve("decades", &[f64::MAX, 1e-300, f64::MIN_POSITIVE, 5e-324])],
        vec![curve("tiny", &[5e-324, 5e-324])],
        vec![curve("huge", &[f64::MAX, f64::MAX])],
        vec![of(vec![at(0.0, 1.0, 5.0), at(1.0, 1.0, infinity)])],
        vec![of(vec![at(0.0, 1.0, nan), at(1.0, 1.0, -2.0)])],
        vec![of(vec![at(0.0, infinity, infinity), at(1.0, 1.0, 1.0)])],
        vec![of(vec![at(7.0, 1.0, 0.0), at(7.0, 2.0, 0.0)])],
        vec![of(vec![at(nan, 1.0, 0.0), at(infinity, 2.0, 0.0)])],
        vec![of(vec![at(-1e308, 1.0, 0.0), at(1e308, 2.0, 0.0)])],
        vec![of(vec![at(-1e300, 1.0, 0.0), at(1e300, 2.0, 0.0)])],
        vec![of(vec![at(0.0, 1.0, 0.0), at(5e-324, 2.0, 0.0)])],
        vec![of(vec![at(1e15, 1.0, 0.0), at(1e15 + 1.0, 2.0, 0.0)])],
        (0..60).map(|index| decay(0.001 * f64::from(index))).collect(),
    ];
    let ranges =
        [None, Some((1e-3, 10.0)), Some((10.0, 1e-3)), Some((2.0, 2.0)), Some((0.0, nan)), Some((5e-324, f64::MAX))];
    for curves in cases {
        for y_range in ranges {
            let figure = Figure { y_range, ..figure(curves.clone()) };
            let svg = figure.svg();
            let document = usvg::roxmltree::Document::parse(&svg)?;
            for node in document.descendants() {
                for attribute in node.attributes() {
                    // "inf" alone would also be found in ordinary words.
                    let value = attribute.value().replace("figure", "");
                    assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
                }
            }
        }
        figure(curves).png()?;
    }
    Ok(())
}

#[test]
fn means_without_logarithm_have_their_place() {
    let means = [1.0, 0.0, -5.0, f64::INFINITY, f64::NAN, 1e-3, 2.0];
    let figure = figure(vec![curve("bad", &means)]);
    let drawing = Drawing::of(&figure);
    let tops: Vec<Option<f64>> =
        figure.curves[0].points.iter().map(|point| drawing.line_span(point).map(|span| span.top)).collect();
    let inside = |top: Option<f64>| top.is_some_and(|y| y > drawing.top && y < drawing.bottom);
    assert!(inside(tops[0]) && inside(tops[5]));
    assert_eq!(tops[1], Some(drawing.bottom));
    assert_eq!(tops[2], Some(drawing.bottom));
    assert!(tops[3].is_some_and(|y| y < drawing.top));
    assert_eq!(tops[4], None);

    let spans = figure.curves[0].points.iter().map(|point| drawing.line_span(point));
    assert_eq!(line(&runs(spans)).matches('M').count(), 2);
}

#[test]
fn a_band_that_reaches_zero_goes_on_to_the_bottom() {
    let point = Point { x: 0.0, mean: 1.0, error: 1.5 };
    let mut figure = figure(vec![curve("band", &[1.0, 0.5])]);
    figure.curves[0].points[0] = point;
    let drawing = Drawing::of(&figure);
    let bottom = drawing.band_span(&point).map(|span| span.bottom);
    assert!(bottom.is_some_and(|y| y >= drawing.bottom));
    let without = Point { error: f64::NAN, ..point };
    assert!(drawing.band_span(&without).is_none());
}

#[test]
fn a_fixed_range_cuts_the_curve_and_its_markers() {
    let mut figure = figure(vec![decay(0.02)]);
    figure.y_range = Some((0.1, 10.0));
    let drawing = Drawing::of(&figure);
    let span = |index: usize| drawing.line_span(&figure.curves[0].points[index]);
    assert!(span(0).is_some_and(|span| span.top < drawing.top));
    assert!(span(400).is_some_and(|span| span.top > drawing.bottom));
    let marked = drawing.marked(0, &figure.curves[0].points);
    assert!(marked.len() > 1);
    assert!(marked.iter().all(|(_, y)| *y >= drawing.top && *y <= drawing.bottom));

    let useless = Figure { y_range: Some((-1.0, 10.0)), ..figure.clone() };
    figure.y_range = None;
    assert_eq!(useless.svg(), figure.svg());
}

#[test]
fn thinning_keeps_the_extremes() {
    let spike = |index: u32| match index {
        500_000 => 7.0,
        500_001 => 93.0,
        _ => 50.0,
    };
    let spans = (0..1_000_000).map(|index| {
        let y = spike(index);
        Some(Span { x: f64::from(index) * 0.0005, top: y, bottom: y })
    });
    let runs = runs(spans);
    // One vertex in each of the 500 columns, and two in that of the spike.
    let data = line(&runs);
    assert_eq!(data.matches(['M', 'l']).count(), 501);
    assert!(data.contains("l1-43l0,86"));
    assert!(band(&runs).matches(['M', 'l']).count() <= 1000);
}

#[test]
fn a_million_points_make_a_small_file() {
    let noise = |index: u32| f64::from(index.wrapping_mul(2_654_435_761) % 1000 + 1);
    let means: Vec<f64> = (0..1_000_000).map(noise).collect();
    let holes: Vec<f64> = (0..1_000_000).map(|index| if index % 2 == 0 { f64::NAN } else { 1.0 }).collect();
    let figure = figure(vec![curve("noise", &means), curve("holes", &holes)]);
    assert!(figure.svg().len() < 60_000);
}

#[test]
fn gaps_narrower_than_a_pixel_are_closed_and_wider_ones_kept() {
    let span = |x: f64| Some(Span { x, top: 1.0, bottom: 1.0 });
    let narrow = [span(0.1), None, span(0.9), span(1.5)];
    assert_eq!(runs(narrow.into_iter()).len(), 1);
    let wide = [None, span(0.1), None, None, span(3.9), span(4.5), None];
    let wide = runs(wide.into_iter());
    assert_eq!(line(&wide), "M0.1,1l0,0M3.9,1l0.6,0");
}

#[test]
fn extremes_of_a_column_come_in_the_order_of_the_points() {
    let path = |heights: [f64; 4]| {
        let places = [0.1, 0.2, 0.3, 0.4].into_iter();
        let spans = places.zip(heights).map(|(x, y)| Some(Span { x, top: y, bottom: y }));
        line(&runs(spans))
    };
    assert_eq!(path([5.0, 9.0, 1.0, 5.0]), "M0.2,9l0.1-8");
    assert_eq!(path([5.0, 1.0, 9.0, 5.0]), "M0.2,1l0.1,8");
}

#[test]
fn points_are_joined_from_left_to_right() {
    let ordered = figure(vec![decay(0.01)]);
    let mut shuffled = ordered.clone();
    shuffled.curves[0].points.reverse();
    assert_eq!(ordered.svg(), shuffled.svg());
}

#[test]
fn points_without_a_place_on_the_axis_are_left_out() {
    let clean = figure(vec![decay(0.01)]);
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
        let mut dirty = clean.clone();
        let (mean, error) = (1.0, 0.5);
        dirty.curves[0].points.insert(7, Point { x, mean, error });
        assert_eq!(clean.svg(), dirty.svg());
    }
}

#[test]
fn png_has_the_right_size_and_shows_the_curve() -> Outcome {
    let png = figure(vec![decay(0.02)]).png()?;
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!(png[16..24], [0, 0, 0x06, 0x90, 0, 0, 0x03, 0xcc]);
    let image = tiny_skia::Pixmap::decode_png(&png)?;
    let count = |red: u8, green: u8, blue: u8| {
        let same = |pixel: &&tiny_skia::PremultipliedColorU8| {
            (pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()) == (red, green, blue, 255)
        };
        image.pixels().iter().filter(same).count()
    };
    assert!(count(0, 0x4a, 0x9f) > 2000, "no curve");
    assert!(count(0x22, 0x22, 0x22) > 500, "no text");
    assert!(count(255, 255, 255) > 1_000_000, "no white background");
    Ok(())
}

#[test]
fn a_point_alone_shows() -> Outcome {
    let means = [1.0, f64::NAN, 2.0, f64::NAN, 3.0, f64::NAN];
    let means: Vec<f64> = means.iter().cycle().take(60).copied().collect();
    let svg = figure(vec![curve("dots", &means)]).svg();
    let markers = svg.matches("a3.6,3.6 0 1,0 7.2,0").count();
    assert!(markers < 10, "the dots must come from the line");
    let tree = usvg::Tree::from_str(&svg, &usvg::Options::default())?;
    let mut canvas = tiny_skia::Pixmap::new(840, 486).ok_or("no canvas")?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut canvas.as_mut());
    let blue = |pixel: &tiny_skia::PremultipliedColorU8| pixel.red() < 60 && pixel.blue() > 150;
    let columns: BTreeSet<usize> =
        (0..840 * 486).filter(|index| blue(&canvas.pixels()[*index])).map(|index| index % 840).collect();
    assert!(columns.len() > 30, "{} columns", columns.len());
    Ok(())
}

#[test]
fn the_embedded_font_has_the_characters_of_our_labels() -> Outcome {
    let words = "AZaz09é−×≤≥…‖∇∞′⁰¹²³⁴⁵⁶⁷⁸⁹⁻·–—“”’Ẽx̃αβγδεησωΔΣΩ√∑∈ℝ≈≠±→";
    let (glyphs, _) = Font::embedded()?.line(words);
    assert_eq!(glyphs.len(), words.chars().count());
    assert!(glyphs.iter().all(|(glyph, _)| glyph.0 != 0), "{glyphs:?}");
    Ok(())
}

#[test]
fn the_legend_fits_beside_the_plot() -> Outcome {
    for words in ["OGQ (oracle, not billed)", "WWW mmm", "ẼI × 10 − α", "il.,"] {
        let drawn = 14.0 * Font::embedded()?.line(words).1;
        let expected = width(words, 14.0);
        assert!(drawn <= expected + 1.0 && drawn > 0.7 * expected, "{words}: {drawn}, not {expected}");
    }
    let long = "a name that is much too long to stand beside the plot";
    let short = shorten(long, 14.0, 250.0);
    assert!(short.ends_with('…') && width(&short, 14.0) <= 250.0);

    let names = ["second", "OGQ (oracle, not billed)", long, "first"];
    let figure = figure(names.map(|name| curve(name, &[1.0, 2.0])).to_vec());
    let (svg, right) = (figure.svg(), Drawing::of(&figure).right);
    let document = usvg::roxmltree::Document::parse(&svg)?;
    let rows: Vec<(f64, String)> = document
        .descendants()
        .filter(|node| node.has_tag_name("text") && !node.has_attribute("text-anchor"))
        .filter(|node| !node.has_attribute("font-size") && !node.has_attribute("transform"))
        .map(|node| {
            let x = node.attribute("x").and_then(|x| x.parse().ok());
            (x.unwrap_or(0.0), node.text().unwrap_or_default().to_owned())
        })
        .collect();
    let shown: Vec<&str> = rows.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(shown, [names[0], names[1], short.as_str(), names[3]]);
    for (x, name) in &rows {
        assert!(*x > right && x + width(name, 14.0) < 840.0, "{name} at {x}");
    }
    Ok(())
}

#[test]
fn looks_do_not_repeat() {
    let plain = Curve::default();
    let looks: BTreeSet<String> = (0..42)
        .map(|index| {
            let style = Style::of(index, &plain);
            style.line("") + &style.markers(&[(0.0, 0.0)])
        })
        .collect();
    assert_eq!(looks.len(), 42);
    assert!(!Style::of(0, &plain).line("").contains("dash"));
    assert!(Style::of(7, &plain).line("").contains("dash"));
    assert_ne!(Style::of(7, &plain).line(""), Style::of(7, &Curve { dashed: true, ..Curve::default() }).line(""));
    // A bound has the colour of its curve, and no markers.
    let bound = Style::of(9, &Curve { companion_of: Some(2), ..Curve::default() });
    assert_eq!(bound.colour, Style::of(2, &plain).colour);
    assert!(bound.line("").contains("dash") && bound.markers(&[(0.0, 0.0)]).is_empty());
}

#[test]
fn coordinates_have_two_decimals_at_most() {
    let written = [0.0, -0.001, 1.0, 1.5, -1.005, 12.345].map(number);
    assert_eq!(written, ["0", "0", "1", "1.5", "-1", "12.35"]);
}
