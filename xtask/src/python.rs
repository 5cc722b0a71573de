//! The Python package: built into a virtual environment of its own, and tested there.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

type Check = (&'static str, &'static [&'static str]);

/// What is run in the environment, once the package is in it.
const CHECKS: &[Check] = &[
    ("pytest and doctests", &["-m", "pytest", "-q"]),
    ("mypy", &["-m", "mypy"]),
    ("stubs", &["-m", "mypy.stubtest", "sgq._sgq"]),
];

/// The same checks see more where PyTorch is: `sgq.torch`, its tests and its types. The example needs real data.
const TORCH_CHECKS: &[Check] = &[
    ("pytest and doctests", &["-m", "pytest", "-q"]),
    ("mypy", &["-m", "mypy"]),
    ("the data", &["../scripts/datasets.py"]),
    ("the example", &["examples/torch/nonconvex.py"]),
];

/// Builds the package and runs its checks; on failure, says what to do.
pub fn test() -> Result<(), String> {
    Environment::new("python", &["requirements-test.txt"])?.check(CHECKS)
}

/// The same with PyTorch, which is too large a download for every change.
pub fn torch() -> Result<(), String> {
    Environment::new("torch", &["requirements-test.txt", "requirements-torch.txt"])?.check(TORCH_CHECKS)
}

/// A virtual environment in `target/`, with the package in it.
struct Environment {
    folder: PathBuf,
    python: PathBuf,
    package: PathBuf,
}

impl Environment {
    /// Makes the environment, unless it is there with the same requirements, and builds the package into it.
    fn new(name: &str, requirements: &[&str]) -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
        let (package, folder) = (root.join("python"), root.join("target").join(name));
        let python = folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python");
        let requirements: Vec<_> = requirements.iter().map(|file| package.join(file)).collect();
        install(&folder, &python, &requirements)?;
        let environment = Self { folder, python, package };
        environment.run(&["-m", "maturin", "develop", "--quiet"], "the package cannot be built")?;
        Ok(environment)
    }

    fn check(&self, checks: &[Check]) -> Result<(), String> {
        checks.iter().try_for_each(|(name, arguments)| self.run(arguments, &format!("{name} failed")))
    }

    fn run(&self, arguments: &[&str], failure: &str) -> Result<(), String> {
        let mut command = Command::new(&self.python);
        run(command.args(arguments).current_dir(&self.package).env("VIRTUAL_ENV", &self.folder), failure)
    }
}

fn install(environment: &Path, python: &Path, requirements: &[PathBuf]) -> Result<(), String> {
    let wanted = requirements.iter().map(|file| read(file)).collect::<Result<String, _>>()?;
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
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    for file in requirements {
        pip.arg("-r").arg(file);
    }
    run(&mut pip, "pip cannot install the requirements: it needs the network")?;
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
