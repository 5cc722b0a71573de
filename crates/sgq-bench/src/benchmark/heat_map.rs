//! A table of colours: methods against problems.

use std::fmt::Write as _;

use crate::figure::escape as escaped;

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
const TOP: f64 = 118.0;

impl HeatMap {
    /// As an SVG document.
    pub fn svg(&self) -> String {
        let width = NAMES + CELL.0 * self.problems.len() as f64 + 64.0;
        let height = TOP + CELL.1 * self.rows.len() as f64 + 16.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" role=\"img\" font-family=\"'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"13\" \
             fill=\"#222\">\n<title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"16\" y=\"28\" font-size=\"17\">{title}</text>\n",
            title = escaped(&self.title)
        );
        for (column, problem) in self.problems.iter().enumerate() {
            let x = NAMES + CELL.0 * (column as f64 + 0.5);
            let place = format!("translate({x},{}) rotate(-30)", TOP - 8.0);
            let _ = writeln!(svg, "<text transform=\"{place}\">{}</text>", escaped(problem));
        }
        for (line, (name, ratios)) in self.rows.iter().enumerate() {
            let y = TOP + CELL.1 * line as f64;
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
        svg.push_str("</svg>\n");
        svg
    }
}

/// From dark for the best to pale for sixteen times as many and more; grey where the target was not reached.
fn colour(ratio: Option<f64>) -> (String, &'static str) {
    let Some(ratio) = ratio else {
        return ("#eeeeee".into(), "#999");
    };
    let part = (ratio.max(1.0).log2() / 4.0).min(1.0);
    // Between a dark and a pale blue.
    let mix = |dark: f64, pale: f64| (dark + (pale - dark) * part).round() as u8;
    let fill = format!("#{:02x}{:02x}{:02x}", mix(0.0, 236.0), mix(84.0, 243.0), mix(140.0, 250.0));
    (fill, if part < 0.5 { "#fff" } else { "#222" })
}
