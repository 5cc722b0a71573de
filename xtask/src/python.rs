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

/// The types and docstrings of the compiled half, as the code says them.
const STUBS: &str = "sgq/_sgq.pyi";

/// Builds the package and runs its checks; on failure, says what to do.
pub fn test() -> Result<(), String> {
    let environment = Environment::new("python", &["requirements-test.txt"])?;
    environment.build()?;
    let generated = environment.folder.join("stubs");
    environment.generate_stubs(&generated)?;
    // By lines, whatever the checkout ends them with.
    if !read(&generated.join(STUBS))?.lines().eq(read(&environment.package.join(STUBS))?.lines()) {
        return Err(format!("python/{STUBS} is not what the code says: run cargo xtask stubs"));
    }
    environment.check(CHECKS)
}

/// The same with PyTorch, which is too large a download for every change.
pub fn torch() -> Result<(), String> {
    let environment = Environment::new("torch", &["requirements-test.txt", "requirements-torch.txt"])?;
    environment.build()?;
    environment.check(TORCH_CHECKS)
}

/// Writes the stubs.
pub fn stubs() -> Result<(), String> {
    let environment = Environment::new("python", &["requirements-test.txt"])?;
    environment.generate_stubs(&environment.package)
}

/// A virtual environment in `target/`, for the package.
struct Environment {
    folder: PathBuf,
    python: PathBuf,
    package: PathBuf,
}

impl Environment {
    /// Makes the environment, unless it is there with the same requirements.
    fn new(name: &str, requirements: &[&str]) -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
        let (package, folder) = (root.join("python"), root.join("target").join(name));
        let python = folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python");
        let requirements: Vec<_> = requirements.iter().map(|file| package.join(file)).collect();
        install(&folder, &python, &requirements)?;
        Ok(Self { folder, python, package })
    }

    /// Builds the package into the environment. One build serves the tests and the stubs: what is described in it is not run.
    fn build(&self) -> Result<(), String> {
        self.run(
            &["-m", "maturin", "develop", "--quiet", "--profile", "dev", "--features", "stubs"],
            "the package cannot be built",
        )
    }

    fn generate_stubs(&self, folder: &Path) -> Result<(), String> {
        let out = folder.to_str().ok_or_else(|| format!("{} is not UTF-8", folder.display()))?;
        let arguments =
            ["-m", "maturin", "generate-stubs", "--quiet", "--profile", "dev", "--features", "stubs", "--out", out];
        self.run(&arguments, "the stubs cannot be generated")?;
        let unknown = |line: &str| line.starts_with("from _typeshed import") && line.contains("Incomplete");
        if read(&folder.join(STUBS))?.lines().any(unknown) {
            return Err("a type is Incomplete in the stubs: give it a name in python/src/types.rs".into());
        }
        Ok(())
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
