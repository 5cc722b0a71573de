//! The Python package: built into a virtual environment of its own, and tested there.

use std::{
    env, fs, io,
    path::{self, Path, PathBuf},
    process::{Child, Command},
};

use crate::virtual_environment::{VirtualEnvironment, read, root, run};

type Check = (&'static str, &'static [&'static str]);

/// What the package is tested with.
const REQUIREMENTS: &[&str] = &["requirements-test.txt", "requirements-flower.txt"];

/// What is run in the environment, once the package is in it.
const CHECKS: &[Check] = &[
    ("pytest and doctests", &["-m", "pytest", "-q", "--ignore", "tests/flower"]),
    ("mypy", &["-m", "mypy"]),
    ("stubs", &["-m", "mypy.stubtest", "sgq._sgq"]),
];

/// Federations of real processes, which wait most of the time: they run beside the other checks.
const FLOWER: &[&str] = &["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/flower"];

/// The same checks see more where PyTorch is: `sgq.torch`, its tests and its types. The example needs real data.
const TORCH_CHECKS: &[Check] = &[
    ("pytest and doctests", &["-m", "pytest", "-q"]),
    ("mypy", &["-m", "mypy"]),
    ("the data", &["../scripts/datasets.py"]),
    ("the example", &["examples/torch/nonconvex.py"]),
];

/// Unpacks the first file into the second, a folder. As if written now: cargo goes by the time of a file.
const UNPACK: &str = "\
import sys, pathlib, shutil
shutil.unpack_archive(sys.argv[1], sys.argv[2])
for path in pathlib.Path(sys.argv[2]).rglob('*'):
    path.touch()";

/// A session of what was installed into the folder that is named, and not of the package beside us.
const SESSION: &str = "\
import sys, pathlib, sgq
assert pathlib.Path(sys.argv[1]).resolve() in pathlib.Path(sgq.__file__).resolve().parents, sgq.__file__
session = sgq.Session('sgq', x0=[5.0], users=4, smoothness=2.0, step_size=0.015, budget=60)
for query in session:
    session.tell(query.ticket, 2.0 * (query.point - [2.0, 1.0, -1.0, -2.0][query.user]))
assert session.queries == 60 and abs(session.point[0] + 0.1665) < 1e-4, session.point";

/// The types and docstrings of the compiled half, as the code says them.
const STUBS: &str = "sgq/_sgq.pyi";

/// Builds the package and runs its checks; on failure, says what to do.
pub fn test() -> Result<(), String> {
    let environment = Environment::new("python", REQUIREMENTS)?;
    environment.build()?;
    let generated = environment.folder.join("stubs");
    environment.generate_stubs(&generated)?;
    // By lines, whatever the checkout ends them with.
    if !read(&generated.join(STUBS))?.lines().eq(read(&environment.package.join(STUBS))?.lines()) {
        return Err(format!("python/{STUBS} is not what the code says: run cargo xtask stubs"));
    }
    let flower = environment.start_beside(FLOWER, "flower.log")?;
    let others = environment.check(CHECKS).and_then(|()| environment.install_from_sdist());
    // Also where another check has failed: nothing is to be left running.
    let flower = flower.finish("the tests with Flower failed");
    others.and(flower)
}

/// The same with PyTorch, which is too large a download for every change.
pub fn torch() -> Result<(), String> {
    let environment = Environment::new("torch", &["requirements-test.txt", "requirements-torch.txt"])?;
    environment.build()?;
    environment.check(TORCH_CHECKS)
}

/// Writes the stubs.
pub fn stubs() -> Result<(), String> {
    let environment = Environment::new("python", REQUIREMENTS)?;
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
        let package = root()?.join("python");
        let requirements: Vec<_> = requirements.iter().map(|file| package.join(file)).collect();
        let VirtualEnvironment { folder, python } = VirtualEnvironment::new(name, &requirements)?;
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

    /// Builds the source distribution, installs it the way pip does where no wheel fits, and opens a session. Only the
    /// profile is another, so that dependencies are not compiled again. Skipped for one that has passed before.
    fn install_from_sdist(&self) -> Result<(), String> {
        let (built, passed) = (self.folder.join("sdist"), self.folder.join("passed.tar.gz"));
        let (unpacked, site) = (self.folder.join("unpacked"), self.folder.join("site"));
        for folder in [&built, &unpacked, &site] {
            if folder.exists() {
                fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            }
        }
        let name = |path: &Path| path.display().to_string();
        self.run(&["-m", "maturin", "sdist", "--out", &name(&built)], "no source distribution can be made")?;
        let archive = only_entry(&built)?;
        let bytes = fs::read(&archive).map_err(|error| format!("{}: {error}", archive.display()))?;
        if fs::read(&passed).is_ok_and(|passed| passed == bytes) {
            return Ok(());
        }
        self.run(&["-c", UNPACK, &name(&archive), &name(&unpacked)], "the source distribution cannot be unpacked")?;
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.folder.join(".."), PathBuf::from);
        let target = path::absolute(target).map_err(|error| error.to_string())?;
        // Without isolation the build finds maturin where everything else does.
        let search = env::var_os("PATH").unwrap_or_default();
        let search = self.python.parent().map(PathBuf::from).into_iter().chain(env::split_paths(&search));
        let search = env::join_paths(search).map_err(|error| error.to_string())?;
        let mut pip = Command::new(&self.python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
        ]);
        pip.arg("--target").arg(&site).arg(only_entry(&unpacked)?);
        pip.env("PATH", search)
            .env("CARGO_TARGET_DIR", target)
            .env("MATURIN_PEP517_ARGS", "--profile dev --features stubs");
        run(&mut pip, "pip cannot install the source distribution")?;
        let mut session = Command::new(&self.python);
        session.args(["-P", "-c", SESSION]).arg(&site).env("PYTHONPATH", &site);
        run(&mut session, "what was installed from the source distribution does not work")?;
        fs::write(&passed, bytes).map_err(|error| format!("{}: {error}", passed.display()))
    }

    fn check(&self, checks: &[Check]) -> Result<(), String> {
        checks.iter().try_for_each(|(name, arguments)| self.run(arguments, &format!("{name} failed")))
    }

    /// Starts a check whose output goes to a file of the environment.
    fn start_beside(&self, arguments: &[&str], log: &str) -> Result<Beside, String> {
        let log = self.folder.join(log);
        let error = |error: io::Error| format!("{}: {error}", log.display());
        let output = fs::File::create(&log).map_err(error)?;
        let mut command = Command::new(&self.python);
        command.args(arguments).current_dir(&self.package).env("VIRTUAL_ENV", &self.folder);
        let process = command.stderr(output.try_clone().map_err(error)?).stdout(output).spawn().map_err(error)?;
        Ok(Beside { process, log })
    }

    fn run(&self, arguments: &[&str], failure: &str) -> Result<(), String> {
        let mut command = Command::new(&self.python);
        run(command.args(arguments).current_dir(&self.package).env("VIRTUAL_ENV", &self.folder), failure)
    }
}

/// A check that runs beside others.
struct Beside {
    process: Child,
    log: PathBuf,
}

impl Beside {
    /// Waits for it, and shows what it has printed.
    fn finish(mut self, failure: &str) -> Result<(), String> {
        let status = self.process.wait().map_err(|error| error.to_string())?;
        println!("{}", read(&self.log)?.trim_end());
        if status.success() { Ok(()) } else { Err(format!("{failure} ({status})")) }
    }
}

fn only_entry(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match <[PathBuf; 1]>::try_from(paths) {
        Ok([path]) => Ok(path),
        Err(paths) => Err(format!("{} has {} entries: it must have one", folder.display(), paths.len())),
    }
}
