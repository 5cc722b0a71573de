use super::*;
use crate::figure::png;
use resvg::usvg::roxmltree::{Document, Node};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn panels(count: usize) -> Panels {
    let never = Some(f64::INFINITY);
    let series = |label: &str, look: Look| Series { label: label.into(), look };
    let panel = |index: usize| Panel {
        name: format!("problem <{index}>"),
        values: vec![
            vec![Some(5.0), Some(50.0), never],
            vec![Some(2.0), never, never],
            vec![Some(3.0), Some(4.0), Some(60.0)],
            vec![Some(1.0), None, Some(9.0)],
        ],
        below: Vec::new(),
    };
    Panels {
        title: "Queries & gaps".into(),
        x_label: "gap".into(),
        y_label: "queries".into(),
        targets: vec![(0.3, "30%".into()), (0.1, "10%".into()), (0.001, "0.1%".into())],
        vertical: Vertical::Queries { budget: 200 },
        series: vec![
            series("one", Look::Line(1)),
            series("oracle", Look::Dashed(3)),
            series("ours", Look::Strong(0)),
            series("limit", Look::Limit),
        ],
        panels: (0..count).map(panel).collect(),
        notes: vec!["A note that is so long that it takes more than one line under a figure of one panel, which is the narrowest \
                     that there is."
            .into()],
    }
}

fn size(svg: &str) -> Outcome<(f64, f64)> {
    let document = Document::parse(svg)?;
    let number = |name: &str| document.root_element().attribute(name).unwrap_or_default().parse::<f64>();
    Ok((number("width")?, number("height")?))
}

fn texts(svg: &str) -> Outcome<Vec<(String, f64, f64)>> {
    let document = Document::parse(svg)?;
    let place = |node: &Node<'_, '_>, name: &str| node.attribute(name).and_then(|it| it.parse().ok());
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    Ok(texts.filter_map(|node| Some((node.text()?.to_owned(), place(&node, "x")?, place(&node, "y")?))).collect())
}

#[test]
fn everything_is_inside_whatever_the_number_of_panels() -> Outcome {
    for count in [0, 1, 2, 3, 4, 7, 11, 13] {
        let figure = panels(count);
        let svg = figure.svg();
        assert_eq!(svg, figure.clone().svg());
        let (wide, high) = size(&svg)?;
        for (words, x, y) in texts(&svg)? {
            assert!(x >= 0.0 && x <= wide && y > 0.0 && y < high, "{words} at {x}, {y} of {wide} × {high}");
        }
        let names = texts(&svg)?.iter().filter(|(words, ..)| words.starts_with("problem <")).count();
        assert_eq!(names, count);
        assert_eq!(png(&svg)?[..8], *b"\x89PNG\r\n\x1a\n");
    }
    Ok(())
}

#[test]
fn who_does_not_get_there_stands_in_the_strip_beside_the_others() {
    let figure = panels(1);
    let layout = figure.layout();
    assert_eq!(layout.strip, STRIP);
    let area = Area { left: 100.0, right: 100.0 + layout.panel_width, top: 50.0, bottom: 200.0 };
    let marks = |series: usize| figure.marks(&layout, &area, &figure.panels[0], series);
    let (one, oracle) = (marks(0), marks(1));
    let missed =
        |mark: &Option<Mark>| mark.as_ref().filter(|mark| mark.end == End::Missed).map(|mark| (mark.x, mark.y));
    let (first, second) = (missed(&one[2]), missed(&oracle[2]));
    let (Some(first), Some(second)) = (first, second) else { panic!("not in the strip") };
    assert!(first.1 < area.top && second.1 < area.top);
    assert!((second.0 - first.0 - ASIDE).abs() < 1e-9, "{first:?} {second:?}");
    assert!(second.0 < area.right);
    // Alone, it stands where its target is.
    let alone = missed(&oracle[1]).map(|(x, _)| x);
    assert_eq!(alone, Some(figure.across(&layout, area.left, 1)));
    assert!(missed(&one[0]).is_none());
    // A line is broken where a value is not inside.
    assert_eq!(line(Look::Line(1), &one, &area).matches('M').count(), 1);
    assert_eq!(line(Look::Dashed(3), &oracle, &area), "");
    assert_eq!(line(Look::Limit, &marks(3), &area), "");
    // Where everybody gets there is no strip.
    let mut figure = figure;
    figure.panels[0].values = vec![vec![Some(7.0); 3]; 4];
    assert_eq!(figure.layout().strip, 0.0);
    assert!(!figure.svg().contains("&gt; 200"));
}

#[test]
fn no_tick_is_above_the_budget() -> Outcome {
    for budget in [150, 200, 800, 950, 1000, 5000] {
        let figure = Panels { vertical: Vertical::Queries { budget }, ..panels(2) };
        let svg = figure.svg();
        let labels: Vec<f64> =
            texts(&svg)?.iter().filter_map(|(words, ..)| words.replace(',', "").parse::<f64>().ok()).collect();
        assert!(labels.len() > 1 && labels.iter().all(|label| *label <= budget as f64), "{labels:?}");
        assert!(svg.contains(&format!("&gt; {budget}")));
    }
    Ok(())
}

#[test]
fn parts_outside_become_arrows() {
    let mut figure = panels(1);
    figure.vertical = Vertical::Parts { low: -1.0, high: 2.0 };
    figure.series = vec![
        Series { label: "dots".into(), look: Look::Dots(-0.4) },
        Series { label: "median".into(), look: Look::Strong(0) },
    ];
    figure.panels[0].values =
        vec![vec![Some(101.0), Some(f64::NEG_INFINITY), Some(0.5)], vec![Some(0.0), Some(0.1), None]];
    figure.panels[0].below = vec!["1 of 1".into(); 3];
    let layout = figure.layout();
    let area = Area { left: 0.0, right: layout.panel_width, top: 50.0, bottom: 200.0 };
    let dots = figure.marks(&layout, &area, &figure.panels[0], 0);
    let ends: Vec<bool> =
        dots.iter().flatten().zip([End::Above, End::Below, End::Inside]).map(|(mark, end)| mark.end == end).collect();
    assert_eq!(ends, [true; 3]);
    assert!(dots.iter().flatten().all(|mark| mark.x > 0.0 && (area.top..=area.bottom).contains(&mark.y)));
    let svg = figure.svg();
    assert!(svg.contains("m0,1l5,8h-10z") && svg.contains("m0-1l5-8h-10z"));
    assert_eq!(svg.matches("1 of 1").count(), 3);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn one_target_and_none_at_all_are_drawn() -> Outcome {
    for targets in [1, 0] {
        let mut figure = panels(1);
        figure.targets.truncate(targets);
        figure.panels[0].values.iter_mut().for_each(|values| values.truncate(targets));
        png(&figure.svg())?;
    }
    Ok(())
}

#[test]
fn labels_that_would_touch_are_left_out() -> Outcome {
    let mut figure = panels(11);
    figure.targets = (0..40).map(|index| (0.9f64.powi(index), format!("{index} %"))).collect();
    for panel in &mut figure.panels {
        panel.values = vec![vec![Some(3.0); 40]; 4];
    }
    let svg = figure.svg();
    let shown = texts(&svg)?.iter().filter(|(words, ..)| words.ends_with(" %")).count();
    assert!((11 * 4..11 * 10).contains(&shown), "{shown}");
    Ok(())
}
