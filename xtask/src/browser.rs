//! The pages in a real browser: `sgq serve` and the reports, in a headless Chromium.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::virtual_environment::{VirtualEnvironment, root, run};

/// Names a browser, in place of the one that is found.
const BROWSER: &str = "SGQ_CHROMIUM";
/// With `require`, and wherever CI is, a browser that is missing is an error.
const DEMAND: &str = "SGQ_BROWSER";

const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// Where Chrome is on systems that do not put it into PATH.
const PLACES: &[&str] = &[
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

/// Debian's packages: a browser, and letters for it.
const PACKAGES: &[&str] = &["chromium", "fonts-dejavu-core"];
const INSTALLING_SECONDS: &str = "600";

/// Runs the tests; where there is no browser and none is demanded, says that they were skipped.
pub fn test() -> Result<(), String> {
    let Some(browser) = browser() else {
        let what = format!(
            "there is no Chromium: install it (on Debian: apt-get install chromium), or name one in the variable {BROWSER}"
        );
        if is_demanded() {
            return Err(what);
        }
        println!("── browser: SKIPPED, no page was tested: {what}");
        return Ok(());
    };
    python(&browser, &["-m", "pytest", "-q", "tests/browser"], "a page is not as it should be")
}

/// Takes the pictures of pages that the documentation shows.
pub fn screenshots() -> Result<(), String> {
    let browser =
        browser().ok_or_else(|| format!("there is no Chromium: install it, or name one in the variable {BROWSER}"))?;
    python(&browser, &["tests/browser/screenshots.py", "docs/figures"], "the pictures cannot be taken")
}

/// Runs Python with what the tests need: the browser, and programs from the code as it is.
fn python(browser: &Path, arguments: &[&str], failure: &str) -> Result<(), String> {
    let root = root()?;
    let environment = VirtualEnvironment::new("browser", &[root.join("tests/browser/requirements.txt")])?;
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    // Of the whole workspace, as the tests before have built it.
    run(
        Command::new(&cargo)
            .args(["build", "--quiet", "--locked", "--workspace", "--bin", "sgq", "--example", "grow"])
            .current_dir(root),
        "the programs for the browser's tests cannot be built",
    )?;
    let program = |name: &str| target.join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    let mut command = Command::new(&environment.python);
    command.args(arguments).current_dir(root);
    command.env(BROWSER, browser).env("SGQ_BINARY", program("sgq")).env("SGQ_GROW", program("examples/grow"));
    run(&mut command, failure)
}

fn is_demanded() -> bool {
    let is_set = |name: &str| env::var(name).is_ok_and(|value| !value.is_empty() && value != "false" && value != "0");
    is_set("CI") || env::var(DEMAND).is_ok_and(|value| value == "require")
}

/// The browser that is named, or found, or can be installed.
fn browser() -> Option<PathBuf> {
    if let Some(named) = env::var_os(BROWSER).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    found().or_else(|| installed().then(found).flatten())
}

fn found() -> Option<PathBuf> {
    let search = env::var_os("PATH").unwrap_or_default();
    let file = |name: &str| format!("{name}{}", env::consts::EXE_SUFFIX);
    let in_path = NAMES
        .iter()
        .flat_map(|name| env::split_paths(&search).map(|folder| folder.join(file(name))).collect::<Vec<_>>());
    in_path.chain(PLACES.iter().map(PathBuf::from)).find(|path| path.is_file())
}

/// Installs Debian's package, where that is allowed without a question.
fn installed() -> bool {
    let answers =
        |program: &str, arguments: &[&str]| Command::new(program).args(arguments).stderr(Stdio::null()).output();
    let is_root = answers("id", &["-u"]).is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !cfg!(target_os = "linux") || !is_root || answers("apt-get", &["--version"]).is_err() {
        return false;
    }
    println!("── browser: installing {}", PACKAGES.join(" and "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("timeout");
        command
            .args([INSTALLING_SECONDS, "apt-get", "-qq", "-o", "Dpkg::Use-Pty=0", "-o", "Acquire::Retries=3"])
            .args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let install = [&["install", "--yes", "--no-install-recommends"], PACKAGES].concat();
    // A fresh machine has no lists of packages, or old ones.
    apt(&["update"]) && apt(&install) || apt(&install)
}
