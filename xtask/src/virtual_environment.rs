//! Virtual environments in `target/`, with the packages of pinned requirements.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A folder of its own, and the interpreter in it.
pub struct VirtualEnvironment {
    pub folder: PathBuf,
    pub python: PathBuf,
}

impl VirtualEnvironment {
    /// Makes the environment, unless it is there with the same requirements.
    pub fn new(name: &str, requirements: &[PathBuf]) -> Result<Self, String> {
        let folder = root()?.join("target").join(name);
        let python = folder.join(if cfg!(windows) { "Scripts" } else { "bin" }).join("python");
        install(&folder, &python, requirements)?;
        Ok(Self { folder, python })
    }
}

/// The folder of the repository.
pub fn root() -> Result<&'static Path, String> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or_else(|| "xtask has no parent folder".into())
}

fn install(environment: &Path, python: &Path, requirements: &[PathBuf]) -> Result<(), String> {
    let wanted = requirements.iter().map(|file| read(file)).collect::<Result<String, _>>()?;
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let interpreter = env::var("PYTHON").unwrap_or_else(|_| if cfg!(windows) { "python" } else { "python3" }.into());
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

pub fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Runs a command to its end; where it fails, says what failed.
pub fn run(command: &mut Command, failure: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{failure} ({status})")),
        Err(error) => Err(format!("{failure} ({}: {error})", command.get_program().display())),
    }
}
