//! What scripts draw in a report is what the files beside it say.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use super::{read_text, succeeds};

/// A title and names that would be markup, end a script, or turn the line around.
const HOSTILE: &str = "name = \"x\"
title = \"A </script><script>alert(1)</script> <!-- \\\"title\\\"\"
trials = 3
budget = 40
targets = [1, 0.1]
[[problem]]
name = \"p</script><b>\"
kind = \"quadratic\"
curvature = [1, 2, 5]
center = [0, 1, -1]
start = 3
costs = [1, 2, 3]
[[method]]
name = \"a<b>&\\\"' </script>\"
method = \"sgd\"
step_size = 0.05
[[method]]
name = \"\\u202Eesrever\"
method = \"saga\"
step_size = 9
";

/// The page's data, which nothing but its own end tag ends.
fn data(page: &str) -> Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn near(written: &Value, number: f64, part: f64) -> bool {
    written.as_f64().map_or(!number.is_finite(), |written| (written - number).abs() <= part * number.abs())
}

#[test]
fn charts_hold_the_rows_of_the_curves() {
    let place = tempdir().unwrap();
    let text = HOSTILE
        .replace("step_size = 9", "step_size = 0.1")
        .replace("[[problem]]", "[users]\nlatency = { exponential = 1 }\n[[problem]]");
    fs::write(place.path().join("x.toml"), text).unwrap();
    succeeds(place.path(), &["run", "x.toml", "--out", "o"]);
    let page = read_text(place.path().join("o/report.html"));
    let data = data(&page);
    let chart = &data["charts"][0];
    let keys: Vec<&str> = chart["x"].as_array().unwrap().iter().map(|axis| axis["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["queries", "time", "cost"]);

    // problem, method, queries, gap_mean, gap_sem, time, cost, numbers
    let csv = read_text(place.path().join("o/curves.csv"));
    let numbers = |line: &str| -> Vec<f64> {
        let mut last: Vec<f64> = line.rsplitn(7, ',').take(6).map(|field| field.parse().unwrap()).collect();
        last.reverse();
        last
    };
    let series = chart["series"].as_array().unwrap();
    assert_eq!(series.len(), 2);
    for (one, begin) in series.iter().zip(["a<b>&", "\u{202E}esrever"]) {
        assert!(one["name"].as_str().unwrap().starts_with(begin));
        let rows: Vec<Vec<f64>> = csv.lines().filter(|line| line.contains(begin)).map(numbers).collect();
        let list = |value: &Value| value.as_array().unwrap().clone();
        let (queries, cost, y, error) =
            (list(&one["x"]["queries"]), list(&one["x"]["cost"]), list(&one["y"]), list(&one["error"]));
        assert!(y.len() > 5 && queries.len() == y.len() && cost.len() == y.len() && error.len() == y.len());
        for (place, query) in queries.iter().enumerate() {
            let row = rows.iter().find(|row| row[0] == query.as_f64().unwrap()).unwrap();
            assert!(near(&y[place], row[1], 5e-5), "{} at {query}: {}", y[place], row[1]);
            assert!(near(&error[place], row[2], 5e-3), "{} at {query}: {}", error[place], row[2]);
            assert!(near(&cost[place], row[4], 5e-9), "{} at {query}: {}", cost[place], row[4]);
        }
        assert_eq!((&queries[0], queries.last().unwrap().as_f64()), (&Value::from(0), rows.last().map(|row| row[0])));
    }
}

#[test]
fn names_stay_text() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("x.toml"), HOSTILE).unwrap();
    succeeds(place.path(), &["run", "x.toml", "--out", "o"]);
    succeeds(place.path(), &["run", "x.toml", "--out", "again"]);
    let page = read_text(place.path().join("o/report.html"));
    assert_eq!(page, read_text(place.path().join("again/report.html")), "the same results give the same bytes");
    // The page's own two, and no other.
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert!(!page.contains("<!--") && !page.contains("<b>"));
    assert!(page.contains("<h1>A &lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; &lt;!-- &quot;title&quot;</h1>"));
    let policy = "content=\"default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy) && !page.contains("unsafe-inline") && !page.contains(" style=\""));
}

#[test]
fn a_benchmarks_choices_are_its_summary() {
    let place = tempdir().unwrap();
    let text =
        HOSTILE.replace("step_size = 0.05\n", "").replace("step_size = 9\n", "").replace("costs = [1, 2, 3]\n", "");
    let text = text.replace("[[problem]]", "[tuning]\ntrials = 2\nfrom = -2\nto = 1\n[[problem]]");
    fs::write(place.path().join("x.toml"), text).unwrap();
    succeeds(place.path(), &["run", "x.toml", "--out", "o"]);
    let page = read_text(place.path().join("o/report.html"));
    let choices = &data(&page)["benchmark"];
    assert_eq!(choices["tunings"].as_array().unwrap().len(), 3);
    let csv = read_text(place.path().join("o/summary.csv"));
    let mut seen = 0;
    for line in csv.lines().skip(1) {
        let method = usize::from(line.contains("esrever"));
        let rest = line.split(if method == 1 { "esrever," } else { "</script>\"," }).last().unwrap();
        let fields: Vec<&str> = rest.split(',').collect();
        let tuning = ["tuned", "hindsight", "untuned"].iter().position(|name| *name == fields[0]).unwrap();
        let target =
            choices["targets"].as_array().unwrap().iter().position(|target| {
                target.as_str().unwrap().parse::<f64>().unwrap() == fields[1].parse::<f64>().unwrap()
            });
        let told = &choices["queries"][tuning][0][method][target.unwrap()];
        assert_eq!(told.as_u64().map(|queries| queries.to_string()).unwrap_or_default(), fields[2], "{line}");
        seen += 1;
    }
    assert_eq!(seen, 2 * 3 * 2);
}

#[test]
fn a_certificate_has_a_page() {
    let place = tempdir().unwrap();
    let tamed = HOSTILE.replace("step_size = 9", "step_size = 0.01");
    fs::write(place.path().join("x.toml"), tamed).unwrap();
    let told = succeeds(place.path(), &["certify", "x.toml", "--out", "o"]);
    assert!(told.contains("written to o: bounds.svg bounds.png certificate.json report.html"), "{told}");
    let page = read_text(place.path().join("o/report.html"));
    let series = &data(&page)["charts"][0]["series"];
    assert!(series[0]["name"].as_str().unwrap().starts_with("a<b>&"), "{series}");
    let json: Value = serde_json::from_str(&read_text(place.path().join("o/certificate.json"))).unwrap();
    let start = json["certificates"][0]["start_gap"].as_f64().unwrap();
    assert!(series[0]["y"][0].as_f64().unwrap() >= 0.9999 * start, "{series}");
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    // What another command wrote stays.
    let refused = super::refuses(place.path(), &["run", "x.toml", "--out", "o"]);
    assert!(refused.contains("--force"), "{refused}");
}
