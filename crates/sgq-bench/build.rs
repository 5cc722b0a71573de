//! A fingerprint of the code that decides a benchmark's numbers, so that finished cells of other code are not taken for
//! this code's.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

#[allow(dead_code)] // the library uses all of it
#[path = "src/fingerprint.rs"]
mod fingerprint;

/// What is compiled into a measurement. In a workspace these are there; a published package has a version that never
/// changes its meaning, and of these only its own sources.
const SOURCES: [&str; 4] = ["src", "../sgq/src", "../sgq-data/src", "../../Cargo.lock"];

/// Files of this crate that only show what was measured: a new colour is no reason to measure again.
const ONLY_SHOWN: [&str; 17] = [
    "src/figure",
    "src/figure.rs",
    "src/certify/page.rs",
    "src/fit_page",
    "src/fit_page.rs",
    "src/palette.rs",
    "src/report.rs",
    "src/output",
    "src/output.rs",
    "src/benchmark/output.rs",
    "src/benchmark/page.rs",
    "src/benchmark/heat_map.rs",
    "src/benchmark/distance.rs",
    "src/benchmark/distance",
    "src/random_bench/output.rs",
    "src/web",
    "src/web.rs",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = fingerprint::Fingerprint::default();
    hash.add_text(env::var("CARGO_PKG_VERSION").unwrap_or_default().as_bytes());
    for source in SOURCES.map(Path::new) {
        // A path that is not there would run this script with every build.
        if source.exists() {
            println!("cargo::rerun-if-changed={}", source.display());
            for file in files(source)? {
                hash.add_text(file.to_string_lossy().replace('\\', "/").as_bytes());
                hash.add_text(&fs::read(&file)?);
            }
        }
    }
    println!("cargo::rustc-env=SGQ_SOURCES={:016x}", hash.finish());
    Ok(())
}

/// A file, or all files below a folder that decide numbers, in an order that does not depend on the machine.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if ONLY_SHOWN.iter().any(|shown| path == Path::new(shown)) || path.ends_with("tests.rs") {
        return Ok(Vec::new());
    }
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = fs::read_dir(path)?.map(|entry| entry.map(|it| it.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut all = Vec::new();
    for entry in entries {
        all.extend(files(&entry)?);
    }
    Ok(all)
}
