//! A table of colours: methods against problems.

use std::fmt::Write as _;

use crate::figure::{escape as escaped, text_width, wrapped};

/// How many times the fewest queries each method needs on each problem.
pub struct HeatMap {
    /// Stands above it.
    pub title: String,
    /// The columns.
    pub problems: Vec<String>,
    /// A name and a ratio for each problem; none where the target was not reached.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

const CELL: (f64, f64) = (92.0, 24.0);
const NAMES: f64 = 310.0;
const MARGIN: f64 = 16.0;
const SIZE: f64 = 13.0;
const TITLE_SIZE: f64 = 17.0;
const TITLE_ROW: f64 = 23.0;
/// A name of a column goes up and to the right: the cosine and the sine of 30°.
const SLOPE: (f64, f64) = (0.866, 0.5);
/// The narrowest that holds the key in a line.
const LEAST_WIDTH: f64 = 700.0;
const KEY: &str = "dark: as few queries as the best; pale: sixteen times as many, or more; –: not reached";

impl HeatMap {
    /// As an SVG document.
    pub fn svg(&self) -> String {
        let longest = |names: &mut dyn Iterator<Item = f64>| names.fold(0.0, f64::max);
        let ends = self.problems.iter().enumerate().map(|(column, problem)| {
            NAMES + CELL.0 * (column as f64 + 0.5) + SLOPE.0 * text_width(problem, SIZE) + SIZE * SLOPE.1
        });
        let cells = NAMES + CELL.0 * self.problems.len() as f64;
        let width = (longest(&mut ends.chain([cells])) + MARGIN).max(LEAST_WIDTH).ceil();
        let title_lines = wrapped(&self.title, TITLE_SIZE, width - 2.0 * MARGIN);
        let tallest = longest(&mut self.problems.iter().map(|problem| SLOPE.1 * text_width(problem, SIZE)));
        let top = (28.0 + TITLE_ROW * title_lines.len() as f64 + tallest + SIZE).ceil();
        let end = top + CELL.1 * self.rows.len() as f64;
        let height = end + 34.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" role=\"img\" font-family=\"'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"{SIZE}\" \
             fill=\"#222\">\n<title>{}</title>\n<desc>{}</desc>\n<rect width=\"{width}\" height=\"{height}\" \
             fill=\"#fff\"/>\n",
            escaped(&self.title),
            escaped(&self.description()),
        );
        for (row, line) in title_lines.iter().enumerate() {
            let y = 28.0 + TITLE_ROW * row as f64;
            let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\" font-size=\"{TITLE_SIZE}\">{}</text>", escaped(line));
        }
        for (column, problem) in self.problems.iter().enumerate() {
            let x = NAMES + CELL.0 * (column as f64 + 0.5);
            let place = format!("translate({x},{}) rotate(-30)", top - 8.0);
            let _ = writeln!(svg, "<text transform=\"{place}\">{}</text>", escaped(problem));
        }
        for (line, (name, ratios)) in self.rows.iter().enumerate() {
            let y = top + CELL.1 * line as f64;
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                NAMES - 10.0,
                y + 0.7 * CELL.1,
                escaped(name)
            );
            for (column, ratio) in ratios.iter().enumerate() {
                let x = NAMES + CELL.0 * column as f64;
                let (fill, ink) = colour(*ratio);
                // Enough digits to tell the best from the next.
                let words = ratio.map_or("–".to_owned(), |ratio| match ratio {
                    ratio if ratio < 10.0 => format!("{ratio:.2}"),
                    ratio => format!("{ratio:.1}"),
                });
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>\
                     <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{words}</text>",
                    CELL.0 - 1.0,
                    CELL.1 - 1.0,
                    x + 0.5 * CELL.0,
                    y + 0.7 * CELL.1,
                );
            }
        }
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{}\" fill=\"#555\">{KEY}</text>", end + 22.0);
        svg.push_str("</svg>\n");
        svg
    }

    /// In words, for who does not see it: on how many problems each method is the best, and on how many it arrives.
    fn description(&self) -> String {
        let rows = self.rows.iter().map(|(name, ratios)| {
            let reached = ratios.iter().flatten();
            let best = reached.clone().filter(|ratio| **ratio <= 1.0).count();
            format!("{name}: {best}, {}", reached.count())
        });
        format!(
            "A row for each method and a column for each of {} problems. On how many a method needs no more than the fewest, and \
             on how many it reaches the target. {}.",
            self.problems.len(),
            rows.collect::<Vec<_>>().join("; ")
        )
    }
}

/// From dark for the best to pale for sixteen times as many and more; grey where the target was not reached. And the ink that
/// stands out from it.
fn colour(ratio: Option<f64>) -> (String, &'static str) {
    let Some(ratio) = ratio else {
        return ("#eeeeee".into(), "#666");
    };
    let part = (ratio.max(1.0).log2() / 4.0).min(1.0);
    // Between a dark and a pale blue.
    let mix = |dark: f64, pale: f64| (dark + (pale - dark) * part).round() as u8;
    let fill = format!("#{:02x}{:02x}{:02x}", mix(0.0, 236.0), mix(84.0, 243.0), mix(140.0, 250.0));
    (fill, if part < WHITE_INK { "#fff" } else { "#000" })
}

/// Up to this part of the way to pale, white stands out from the blue by 4.5 to 1; from there, black does.
const WHITE_INK: f64 = 0.248;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::contrast;
    use resvg::usvg::roxmltree::Document;

    fn map(problems: &[&str]) -> HeatMap {
        HeatMap {
            title:
                "Queries to 1% of the gap at the start, tuned on other trials, over the fewest of any method that pays"
                    .into(),
            problems: problems.iter().map(|name| (*name).to_owned()).collect(),
            rows: vec![("<one>".into(), vec![Some(1.0); problems.len()]), ("two".into(), vec![None; problems.len()])],
        }
    }

    #[test]
    fn nothing_is_cut_however_few_the_columns() {
        for problems in [&["p"][..], &["a problem with a long name", "b"], &["x"; 13], &[]] {
            let svg = map(problems).svg();
            let document = Document::parse(&svg).unwrap();
            let number = |name: &str| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
            let texts = document.descendants().filter(|node| node.has_tag_name("text"));
            let flush = texts.filter(|text| text.attribute("text-anchor").is_none());
            for text in flush {
                let size = text.attribute("font-size").map_or(SIZE, |size| size.parse().unwrap());
                let (place, slope) = match text.attribute("transform") {
                    Some(it) => (it["translate(".len()..it.find(',').unwrap()].parse::<f64>().unwrap(), SLOPE.0),
                    None => (text.attribute("x").unwrap().parse::<f64>().unwrap(), 1.0),
                };
                let words = text.text().unwrap();
                assert!(place + slope * text_width(words, size) <= number("width"), "{words}");
            }
            assert!(svg.contains("<desc>") && svg.contains("two: 0, 0."), "{svg}");
        }
    }

    #[test]
    fn every_number_stands_out_from_its_colour() {
        for ratio in (0..=400).map(|step| Some(0.5 * 1.01f64.powi(step))).chain([None]) {
            let (fill, ink) = colour(ratio);
            let ink = format!("#{}", ink[1..].chars().flat_map(|digit| [digit; 2]).collect::<String>());
            assert!(contrast(&ink, &fill) >= 4.5, "{ratio:?}: {ink} on {fill} is {}", contrast(&ink, &fill));
        }
    }
}
