//! The Python package: built into a virtual environment of its own, and tested there.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What is run in the environment, once the package is in it.
const CHECKS: &[(&str, &[&str])] = &[
    ("pytest and doctests", &["-m", "pytest", "-q"]),
    ("mypy", &["-m", "mypy"]),
    ("stubs", &["-m", "mypy.stubtest", "sgq._sgq"]),
];

/// The types and docstrings of the compiled half, as the code says them.
const STUBS: &str = "sgq/_sgq.pyi";

/// Builds the package and runs its checks; on failure, says what to do.
pub fn test() -> Result<(), String> {
    let package = Package::install()?;
    // One build serves the tests and the stubs: what is described in it is not run.
    package.run(&["-m", "maturin", "develop", "--quiet", "--features", "stubs"], "the package cannot be built")?;
    let generated = package.environment.join("stubs");
    package.generate_stubs(&generated)?;
    // By lines, whatever the checkout ends them with.
    if !read(&generated.join(STUBS))?.lines().eq(read(&package.folder.join(STUBS))?.lines()) {
        return Err(format!("python/{STUBS} is not what the code says: run cargo xtask stubs"));
    }
    for (name, arguments) in CHECKS {
        package.run(arguments, &format!("{name} failed"))?;
    }
    Ok(())
}

/// Writes the stubs.
pub fn stubs() -> Result<(), String> {
    let package = Package::install()?;
    package.generate_stubs(&package.folder)
}

/// The package's folder, and the environment that it is built and tested in.
struct Package {
    folder: PathBuf,
    environment: PathBuf,
    python: PathBuf,
}

impl Package {
    fn install() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
        let (folder, environment) = (root.join("python"), root.join("target").join("python"));
        let python = environment.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python");
        install(&environment, &python, &folder.join("requirements-test.txt"))?;
        Ok(Self { folder, environment, python })
    }

    fn run(&self, arguments: &[&str], failure: &str) -> Result<(), String> {
        let mut command = Command::new(&self.python);
        run(command.args(arguments).current_dir(&self.folder).env("VIRTUAL_ENV", &self.environment), failure)
    }

    fn generate_stubs(&self, folder: &Path) -> Result<(), String> {
        let out = folder.to_str().ok_or_else(|| format!("{} is not UTF-8", folder.display()))?;
        let arguments = ["-m", "maturin", "generate-stubs", "--quiet", "--features", "stubs", "--out", out];
        self.run(&arguments, "the stubs cannot be generated")?;
        let unknown = |line: &str| line.starts_with("from _typeshed import") && line.contains("Incomplete");
        if read(&folder.join(STUBS))?.lines().any(unknown) {
            return Err("a type is Incomplete in the stubs: give it a name in python/src/types.rs".into());
        }
        Ok(())
    }
}

/// Makes the environment, unless it is there with the same requirements.
fn install(environment: &Path, python: &Path, requirements: &Path) -> Result<(), String> {
    let wanted = read(requirements)?;
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

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn run(command: &mut Command, failure: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{failure} ({status})")),
        Err(error) => Err(format!("{failure} ({}: {error})", command.get_program().display())),
    }
}
