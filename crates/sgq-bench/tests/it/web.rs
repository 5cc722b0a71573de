//! `format.js` writes numbers as Rust does.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use sgq_bench::{
    readable::{grouped, readable, readable_time, short},
    web,
};
use sgq_ledger::money;

/// Also for tests in a browser: lists of a function, a number (or `inf`, `-inf`, `NaN`) and what is written.
const CASES: &str = include_str!("web/format-cases.json");

fn written(function: &str, number: f64) -> String {
    match function {
        "short" => short(number),
        "readable" => readable(number),
        "grouped" => grouped(number),
        "readableTime" => readable_time(number),
        "money" => money(number),
        other => panic!("{other}"),
    }
}

fn cases() -> Vec<(String, f64, String)> {
    let cases: Vec<(String, serde_json::Value, String)> = serde_json::from_str(CASES).unwrap();
    let number = |value: serde_json::Value| value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
    cases.into_iter().map(|(function, value, words)| (function, number(value), words)).collect()
}

#[test]
fn rust_writes_what_the_table_of_cases_says() {
    let cases = cases();
    assert!(cases.len() > 80);
    for (function, number, words) in cases {
        assert_eq!(written(&function, number), words, "{function}({number:e})");
    }
}

/// Numbers of every size, and those that lie in the middle between two that are written.
fn numbers() -> Vec<f64> {
    let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
    let mut numbers = Vec::new();
    for k in 0..1500 {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        let part = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        numbers.push((part * 60.0 - 30.0).exp() * if bits & 1 == 0 { 1.0 } else { -1.0 });
        numbers.push((k as f64 + 0.5) / 8.0);
        numbers.push(10_000.0 + k as f64 * 5.0);
    }
    numbers
}

#[test]
fn javascript_writes_the_same() {
    // The browser's tests hold the table of cases against it where node is not there.
    let Ok(mut node) =
        Command::new("node").args(["--input-type=module", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    else {
        eprintln!("skipped: no node on this machine");
        return;
    };
    let mut wanted: Vec<(String, String, String)> =
        cases().into_iter().map(|(function, number, words)| (function, format!("{number:?}"), words)).collect();
    for function in ["short", "readable", "grouped", "readableTime", "money"] {
        wanted.extend(
            numbers()
                .into_iter()
                .filter(|number| function != "readableTime" || *number >= 0.0)
                .map(|number| (function.to_owned(), format!("{number:?}"), written(function, number))),
        );
    }
    let script = format!(
        "{}\nconst all = {{ short, readable, grouped, readableTime, money }};\n\
         const number = (text) => text === \"inf\" ? Infinity : text === \"-inf\" ? -Infinity : Number(text);\n\
         for (const [name, text, words] of {}) {{\n\
         const found = all[name](number(text));\n\
         if (found !== words) console.log(`${{name}}(${{text}}): ${{found}}, but Rust writes ${{words}}`);\n}}\n",
        web::FORMAT_JS.replace("export function", "function"),
        serde_json::to_string(&wanted).unwrap(),
    );
    node.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let differences = String::from_utf8(output.stdout).unwrap();
    assert!(differences.is_empty(), "{differences}");
}
