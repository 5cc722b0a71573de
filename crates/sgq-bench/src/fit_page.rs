//! The report of a fit: one self-contained page, and its forest plot.
//!
//! Both are made of what `sgq fit --json` prints, so that whoever has that, in whatever language, has the page. Coefficients
//! come first, then how they came about, and the method's own numbers last. Only `coefficients` must be there, with a `name`
//! and an `estimate` each: what is not said is not shown.

mod forest;
mod influence;
mod style;
mod table;
mod told;
mod words;

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    figure::{Figure, FigureError, Forest, Shape, escape, png},
    web::{Chart, Page},
};
use told::Told;

/// The whole page. `gap` is the picture of the gap against queries.
///
/// Fails where `fit` has no coefficients, or some without a name or an estimate, and says which.
///
/// ```
/// let fit = serde_json::json!({
///     "formula": "died ~ age", "family": "binomial",
///     "coefficients": [{ "name": "age", "estimate": 0.0424, "std_error": 0.0045, "z": 9.4, "p": 4e-21, "lower": 0.0336, "upper": 0.0512 }],
/// });
/// let page = sgq_bench::fit_page::html(&fit, None)?;
/// assert!(page.contains("odds ratio") && page.contains("0.0424"));
/// # Ok::<(), String>(())
/// ```
pub fn html(fit: &Value, gap: Option<&Figure>) -> Result<String, String> {
    let told = Told::read(fit)?;
    let mut whole = Page::new(&told.title(), style::STYLE);
    let page = &mut whole.body;
    words::write_head(page, &told);
    table::write(page, &told);
    // The page has a title of its own.
    let plot = Forest { title: String::new(), ..forest::of(&told) };
    let _ = writeln!(
        page,
        "<h2>Forest plot</h2>\n<figure class=\"forest\"><div class=\"figure wide\">\n{}</div><div class=\"figure narrow\">\n{}</div>\n\
         <figcaption>The numbers are those of the table above.</figcaption></figure>",
        plot.svg(Shape::Wide),
        plot.svg(Shape::Narrow)
    );
    words::write_sections(page, &told);
    influence::write(page, &told);
    words::write_method(page, &told);
    if let Some(gap) = gap {
        page.push_str("<figure>\n");
        whole.figure(&gap.svg(), Some(&Chart::of(&[("queries", true, gap)], MOST_POINTS)));
        whole.body.push_str(
            "<figcaption>How far the objective is above its smallest value: measured on all data, which no real run can \
             do.</figcaption></figure>\n",
        );
    }
    Ok(whole.finish())
}

/// The forest plot alone: every coefficient but the intercept, with its interval.
///
/// Fails as [`html`] does.
pub fn forest_svg(fit: &Value) -> Result<String, String> {
    Ok(forest::of(&Told::read(fit)?).svg(Shape::Wide))
}

/// The same as a PNG image, at twice the size.
pub fn forest_png(fit: &Value) -> Result<Vec<u8>, String> {
    png(&forest_svg(fit)?).map_err(|error: FigureError| error.to_string())
}

/// Points of the curve: as many as a screen can show, where it has bends for them.
const MOST_POINTS: usize = 1500;

/// The most characters of a name that are shown.
const LONGEST_NAME: usize = 120;

/// A name as text in a page: nothing in it is markup, nothing turns the direction of what stands beside it, and it ends.
fn named(name: &str) -> String {
    let mut shown: String = name.chars().take(LONGEST_NAME).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("<bdi>{}</bdi>", escape(&shown))
}

/// A written number with a minus sign as it is printed, and infinity as its sign.
fn typeset(number: &str) -> String {
    match number {
        "NaN" => "NA".to_owned(),
        "inf" => "∞".to_owned(),
        "-inf" => "−∞".to_owned(),
        number => number.strip_prefix('-').map_or_else(|| number.to_owned(), |size| format!("−{size}")),
    }
}
