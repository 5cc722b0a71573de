//! The project's own tasks: `cargo xtask test` runs every check that a change must pass, `cargo xtask results` writes the
//! benchmark's figures into the pages, `cargo xtask stubs` writes what Python's tools know of the compiled half of the
//! package.

mod browser;
mod package;
mod python;
mod results;
mod virtual_environment;

use std::{
    env,
    process::{Command, ExitCode},
    time::Instant,
};

/// Every check, in the order in which a failure is cheapest to find.
const CHECKS: &[(&str, &[&str])] = &[
    ("formatting", &["fmt", "--all", "--check"]),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps", "--locked"]),
    // Unit tests, integration tests and doctests.
    ("tests", &["test", "--workspace", "--locked"]),
];

const USAGE: &str = "\
usage: cargo xtask test     formatting, clippy, documentation, all tests and doctests, published figures, packages, the
                            Python package, the pages in a browser
       cargo xtask package  the packages alone: that they have their files, and need no newer compiler than we claim
       cargo xtask python   the Python package alone
       cargo xtask browser  the pages in a headless Chromium alone
       cargo xtask screenshots  the pictures of pages in docs/figures, taken in it
       cargo xtask torch    the Python package with PyTorch, which is a download of gigabytes, and its example
       cargo xtask stubs    the Python package's types and docstrings, from the code
       cargo xtask results  the benchmark's tables and figures in README.md and docs, from the files in docs/results
           FOLDER                 takes in a run of `sgq run experiments/grouped.toml` first
           --ablation FOLDER      takes in a run of `sgq run experiments/ablation.toml` first
           --hessians FOLDER      takes in a run of `sgq run experiments/hessians.toml` first
           --sites FOLDER         takes in a run of `sgq run experiments/sites.toml` first
           --open FOLDER          takes in a run of `sgq run experiments/open.toml` first
           --random NAME=FOLDER   takes in a run of `sgq bench random` first; may be given several times
           --check                writes nothing, and fails where a page is not what docs/results says
           --list                 prints the name and the value of every figure for `<!--=NAME-->…<!--/-->`";

const PACKAGE: &str = "what is published, and the oldest compiler for it";
const BROWSER: &str = "the pages in a headless Chromium";
const RESULTS: &str = "the pages' figures, and docs/results";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(|task| &**task) {
        Some("test") => test(),
        Some("package") => timed("package", PACKAGE, package::check),
        Some("python") => timed("python", "the package in target/python", python::test),
        Some("browser") => timed("browser", BROWSER, browser::test),
        Some("screenshots") => timed("screenshots", "written to docs/figures", browser::screenshots),
        Some("torch") => timed("torch", "the package in target/torch", python::torch),
        Some("stubs") => timed("stubs", "written to python/sgq", python::stubs),
        Some("results") => match results::run(&arguments[1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(message) => {
                eprintln!("{message}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn test() -> ExitCode {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    for (name, arguments) in CHECKS {
        println!("── {name}: cargo {}", arguments.join(" "));
        let started = Instant::now();
        let status = Command::new(&cargo).args(*arguments).env("RUSTDOCFLAGS", "--deny warnings").status();
        match status {
            Ok(status) if status.success() => {
                println!("── {name}: passed in {:.0} s", started.elapsed().as_secs_f64());
            }
            Ok(_) => {
                eprintln!("── {name}: FAILED");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("── {name}: cannot run {cargo}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if timed("results", RESULTS, results::check) != ExitCode::SUCCESS
        || timed("package", PACKAGE, package::check) != ExitCode::SUCCESS
        || timed("python", "the package in target/python", python::test) != ExitCode::SUCCESS
    {
        return ExitCode::FAILURE;
    }
    timed("browser", BROWSER, browser::test)
}

fn timed(name: &str, what: &str, check: fn() -> Result<(), String>) -> ExitCode {
    println!("── {name}: {what}");
    let started = Instant::now();
    match check() {
        Ok(()) => {
            println!("── {name}: passed in {:.0} s", started.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("── {name}: FAILED: {message}");
            ExitCode::FAILURE
        }
    }
}
