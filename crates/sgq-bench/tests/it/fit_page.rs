//! The page and the forest plot of a fit, from what `sgq fit --json` prints.

mod forest;
mod hostile;

use serde_json::{Value, json};
use sgq_bench::{
    figure::{Curve, Figure, Point},
    fit_page::{forest_png, forest_svg, html},
};

/// A coefficient with an interval of 95%.
pub(crate) fn coefficient(name: &str, estimate: f64, std_error: f64) -> Value {
    let half = 1.959_963_984_540_054 * std_error;
    json!({
        "name": name, "estimate": estimate, "std_error": std_error, "z": estimate / std_error, "p": 0.012,
        "lower": estimate - half, "upper": estimate + half,
    })
}

/// A whole fit, with everything that `sgq fit` says.
pub(crate) fn fit() -> Value {
    json!({
        "data": "patients.csv", "target": "died", "formula": "died ~ age + ward", "family": "binomial", "weigh": "rows", "l2": 0.0,
        "coefficients": [
            coefficient("intercept", -4.97, 0.5), coefficient("age", 0.0424, 0.0045), coefficient("ward=north", 0.65, 0.13),
            coefficient("ward=west", -0.12, 0.15),
        ],
        "reference_levels": [{ "column": "ward", "level": "east" }],
        "std_error_kind": "model", "level": 0.95, "deviance": 1856.114, "null_deviance": 1922.866, "aic": 1870.11,
        "log_likelihood": -928.056, "dispersion": 1.0, "rows": 1495, "rows_missing": 39, "df_residual": 1491, "users": 54, "notes": [],
        "missing_by_column": [{ "column": "age", "rows": 30 }, { "column": "ward", "rows": 9 }],
        "queries": 161, "first_answers": 54, "closing_answers": 54, "numbers": 4205, "method": "frugal",
        "converged": true, "diverged": false, "verdict": "converged", "believed_off": 0.0089,
        "remaining": { "gap": 1e-9, "low": 1e-10, "high": 1e-8, "at_start": 1e-3 }, "certified": null, "uncertified": "no proof was asked for",
        "asked": {
            "numbers_of": { "gradients": 1127, "losses": 0, "hessians": 0, "first": 864, "closing": 2214 },
            "most_asked": [{ "user": "H1", "queries": 5 }], "steps": 161, "per_user": { "min": 2, "median": 3.0, "max": 5 },
        },
        "settings": { "step_size": null, "step_size_rule": "none: the method goes its own way", "seed": 0, "budget": 540 },
        "influence": { "users": 54, "flagged": 2, "threshold": 0.272, "largest": [
            { "user": "H1", "coefficient": "ward=north", "in_std_errors": -1.46, "flagged": true },
            { "user": "H2", "coefficient": "age", "in_std_errors": 0.2, "flagged": false },
            { "user": "H3", "coefficient": "ward=west", "in_std_errors": null, "flagged": true },
        ] },
        "diagnostic": { "gap": 3.2e-9, "relative_gap": 1.4e-7 },
    })
}

/// The gap against queries.
fn gap() -> Figure {
    let points =
        [1.0, 0.1, 0.01].iter().enumerate().map(|(x, mean)| Point { x: x as f64, mean: *mean, error: f64::NAN });
    let curve = Curve { label: "frugal".into(), points: points.collect(), ..Curve::default() };
    Figure { title: "the gap".into(), x_label: "queries".into(), curves: vec![curve], ..Figure::default() }
}

fn position(page: &str, part: &str) -> usize {
    page.find(part).unwrap_or_else(|| panic!("{part:?} is not in {page}"))
}

#[test]
fn coefficients_come_first_and_the_methods_numbers_last() {
    let page = html(&fit(), Some(&gap())).unwrap();
    let parts = [
        "<h1>died in patients.csv</h1>",
        "<code><bdi>died ~ age + ward</bdi></code>",
        ">converged</span>",
        "<h2>Coefficients</h2>",
        "<th scope=\"row\"><bdi>age</bdi></th><td>0.0424</td><td>0.0045</td><td>9.4</td><td>0.012</td>\
         <td>0.0336 … 0.0512</td><td>1.043</td><td>1.034 … 1.053</td>",
        "<bdi>ward=east</bdi></th><td>reference</td>",
        "<bdi>ward=north</bdi>",
        "<h2>Forest plot</h2>",
        "<h2>What was minimised</h2>",
        "<dd>rows count alike</dd>",
        "<dt>penalty</dt><dd>none</dd>",
        "<bdi>ward</bdi> = <bdi>east</bdi>",
        "<h2>Standard errors</h2>",
        "<dd>model</dd>",
        "<dd>1922.87 on 1494 degrees of freedom</dd>",
        "<dd>1856.11 on 1491 degrees of freedom</dd>",
        "<dd>1, fixed by the family</dd>",
        "<dd>−928.056</dd>",
        "<dd>1870.11</dd>",
        "<dd>39, left out (<bdi>age</bdi> 30, <bdi>ward</bdi> 9)</dd>",
        "<dd>161, besides 54 to a first question (rows, means, deviations, levels), and 54 to the closing one</dd>",
        "<dd>4205: 1127 in gradients, 864 at first, 2214 in closing</dd>",
        "within 0.0089 standard errors",
        "1.0e-6 (1.0e-7 to 1.0e-5) of the gap at the start",
        "nothing: no proof was asked for",
        "<h2>Influence of users</h2>",
        "For 2 of 54 users some change is above the usual threshold of 2/√G = 0.27",
        "<td>−1.46</td>",
        "<td>none without it</td>",
        "<td>+0.20</td>",
        "And 51 more users",
        "<h2>The method's own numbers</h2>",
        "<dd>frugal</dd>",
        "-title\">the gap</title>",
    ];
    let places: Vec<usize> = parts.iter().map(|part| position(&page, part)).collect();
    let first_out_of_place = (1..parts.len()).find(|k| places[k - 1] >= places[*k]);
    assert_eq!(first_out_of_place.map(|k| parts[k]), None);
    assert!(!page.contains("class=\"warnings\"") && !page.contains("approximate"), "{page}");
}

/// It opens from disk: nothing is fetched, and nothing but the page's own script runs.
#[test]
fn the_page_needs_no_network() {
    let page = html(&fit(), Some(&gap())).unwrap();
    let addresses = page.matches("http").count();
    let namespaces = page.matches("\"http://www.w3.org/2000/svg\"").count();
    assert_eq!(addresses, namespaces + page.matches("http-equiv").count());
    for part in [" src=", " href=", "@import", "<link", "javascript:", " style=", " onclick="] {
        assert!(!page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert_eq!(page, html(&fit(), Some(&gap())).unwrap());
}

#[test]
fn approximate_errors_are_marked_and_trouble_is_said() {
    let mut it = fit();
    it["std_error_kind"] = "clustered by user (approximate)".into();
    it["converged"] = false.into();
    it["verdict"] = "not converged: give a larger --budget".into();
    it["notes"] = json!(["12 users are few"]);
    it["warnings"] = json!(["`a` is a multiple of `b`"]);
    it["coefficients"][2] = coefficient("ward=north", 18.2, 2400.0);
    let page = html(&it, None).unwrap();
    let head = &page[..position(&page, "<h2>Coefficients</h2>")];
    for part in [
        ">not converged</span>",
        "<p>Not converged: give a larger --budget.</p>",
        "<p>12 users are few.</p>",
        "<p>`a` is a multiple of `b`</p>",
        "<bdi>ward=north</bdi>: its interval spans a factor of more than 10<sup>12</sup>",
    ] {
        position(head, part);
    }
    position(&page, "<span class=\"mark\">approximate</span>: clustered by user (approximate)");
    position(&page, "G/(G−1) · (N−1)/(N−K)");
    position(&page, "Dashed: the standard errors are approximate.");
    it["diverged"] = true.into();
    position(&html(&it, None).unwrap(), "<p>The fit diverged: its coefficients mean nothing.</p>");
}

/// What another program says of a fit may be little.
#[test]
fn little_is_enough() {
    let least = json!({ "coefficients": [{ "name": "x", "estimate": 1.5 }] });
    let page = html(&least, None).unwrap();
    position(&page, "<h1>A fit</h1>");
    position(&page, "<bdi>x</bdi></th><td>1.5</td><td>NA</td><td>NA</td><td>NA</td><td>NA</td></tr>");
    position(&page, "There are no standard errors: none are known.");
    assert!(!page.contains("<dl>\n</dl>") && !page.contains("odds ratio") && !page.contains("Influence"), "{page}");
    let mut many = least;
    many["notes"] = "not everybody was asked".into();
    many["family"] = "a new one".into();
    position(&html(&many, None).unwrap(), "There are no standard errors: not everybody was asked.");
}

#[test]
fn what_is_no_fit_is_refused_in_words() {
    let refused = |fit: Value| {
        let why = html(&fit, None).unwrap_err();
        assert_eq!(forest_svg(&fit).unwrap_err(), why);
        assert_eq!(forest_png(&fit).unwrap_err(), why);
        why
    };
    let none = "the fit has no list `coefficients`: give what `sgq fit --json` prints";
    for fit in [Value::Null, json!([1]), json!("x"), json!({}), json!({ "coefficients": 3 })] {
        assert_eq!(refused(fit), none);
    }
    assert_eq!(
        refused(json!({ "coefficients": [] })),
        "the fit has no coefficient at all: its list `coefficients` is empty"
    );
    let one = json!({ "name": "a", "estimate": 1 });
    assert_eq!(refused(json!({ "coefficients": [one, { "estimate": 1 }] })), "coefficient 2 has no `name`");
    assert_eq!(refused(json!({ "coefficients": [one, { "name": "b" }] })), "coefficient 2 (\"b\") has no `estimate`");
}

/// Long lists end, and say so.
#[test]
fn long_tables_end() {
    let mut it = fit();
    it["coefficients"] = (0..2_100).map(|k| coefficient(&format!("x{k}"), 0.1, 0.1)).collect();
    let largest = (0..150)
        .map(|k| json!({ "user": format!("U{k}"), "coefficient": "x", "in_std_errors": 0.1, "flagged": k >= 120 }));
    it["influence"] =
        json!({ "users": 10_000, "flagged": 400, "threshold": 0.02, "largest": largest.collect::<Vec<_>>() });
    let page = html(&it, None).unwrap();
    position(&page, "<bdi>x1999</bdi>");
    position(&page, "And 100 more coefficients, which model.json has.");
    assert!(!page.contains("<th scope=\"row\"><bdi>x2000</bdi>"));
    // Flagged ones come first, wherever they stood.
    assert!(position(&page, "<bdi>U149</bdi>") < position(&page, "<bdi>U0</bdi>"));
    assert!(page.contains("<bdi>U69</bdi>") && !page.contains("<bdi>U70</bdi>"));
    position(&page, "And 9900 more users");
    position(&page, "The table of coefficients has 1700 more.");
}
