//! The Python package: built into a virtual environment of its own, and tested there.

use std::{env, fs, path::Path, process::Command};

/// What is run in the environment, once the package is in it.
const CHECKS: &[(&str, &[&str])] = &[
    ("pytest and doctests", &["-m", "pytest", "-q"]),
    ("mypy", &["-m", "mypy"]),
    ("stubs", &["-m", "mypy.stubtest", "sgq._sgq"]),
];

/// Builds the package and runs its checks; on failure, says what to do.
pub fn test() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    let (package, environment) = (root.join("python"), root.join("target").join("python"));
    let python = environment.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python");
    install(&environment, &python, &package.join("requirements-test.txt"))?;
    let in_package = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(arguments).current_dir(&package).env("VIRTUAL_ENV", &environment);
        command
    };
    run(&mut in_package(&["-m", "maturin", "develop", "--quiet"]), "the package cannot be built")?;
    for (name, arguments) in CHECKS {
        run(&mut in_package(arguments), &format!("{name} failed"))?;
    }
    Ok(())
}

/// Makes the environment, unless it is there with the same requirements.
fn install(environment: &Path, python: &Path, requirements: &Path) -> Result<(), String> {
    let wanted = fs::read_to_string(requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let interpreter = env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    run(
        Command::new(&interpreter).args(["-m", "venv", "--clear"]).arg(environment),
        "no virtual environment can be made: install Python 3.11 or newer with venv and pip (on Debian and Ubuntu: \
         python3-venv), or name another interpreter in the variable PYTHON",
    )?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(python).args(pip).arg(requirements), "pip cannot install the requirements: it needs the network")?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}

fn run(command: &mut Command, failure: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{failure} ({status})")),
        Err(error) => Err(format!("{failure} ({}: {error})", command.get_program().display())),
    }
}
