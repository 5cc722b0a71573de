"""What the scripts share: a virtual environment for each, and errors that a person can read."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Failure(Exception):
    """What the user should read instead of a traceback."""


def python_with(requirements, environment):
    """The interpreter of a virtual environment with these requirements, which is made on first use."""
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = environment / "installed.txt"
    wanted = requirements.read_text(encoding="utf-8")
    if python.exists() and installed.exists() and installed.read_text(encoding="utf-8") == wanted:
        return str(python)
    print(f"Making the virtual environment {environment.name} ...", file=sys.stderr)
    run(
        [sys.executable, "-m", "venv", "--clear", str(environment)],
        "no virtual environment could be made: install Python's venv and pip (on Debian and Ubuntu: python3-venv)",
    )
    run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
        f"pip could not install {', '.join(wanted.split())}: it needs Python 3.11 or newer, and the network once",
    )
    installed.write_text(wanted, encoding="utf-8")
    return str(python)


def run(command, failure, **options):
    """Runs a command, its error output shown as it comes, and returns what it prints."""
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout
    except OSError as error:
        raise Failure(f"{failure} ({error})") from error
    except subprocess.CalledProcessError as error:
        raise Failure(f"{failure} (exit status {error.returncode})") from error


def build(name, arguments, hint=""):
    """Builds one of the repository's programs, and returns its path."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Failure("cargo was not found: install Rust from https://rustup.rs, or add cargo to the PATH")
    print(f"Building {name} ...", file=sys.stderr)
    command = [cargo, "build", "--release", *arguments, "--message-format=json-render-diagnostics"]
    for line in run(command, f"{name} could not be built{hint}", cwd=ROOT).splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == name:
            return message["executable"]
    raise Failure(f"cargo built {name} but did not say where it is")


def with_threads(limit):
    """The environment of a process whose linear algebra has that many threads; as many as it likes for None.

    BLAS reads the number once, when it is loaded: each setting needs a process of its own.
    """
    environment = dict(os.environ)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        environment.pop(variable, None)
        if limit is not None:
            environment[variable] = str(limit)
    return environment
