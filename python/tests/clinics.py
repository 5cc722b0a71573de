"""Clinics that are asked for gradients, and other programs that ask them."""

import subprocess
import sys
import textwrap
from pathlib import Path

import sgq

NAMES = ["north", "south", "west", "east", "harbour", "hill"]
CENTERS = dict(zip(NAMES, [2.0, 1.0, -1.0, -2.0, 5.0, 1.0]))
SETTINGS = {"x0": [5.0, -3.0], "smoothness": 10.0, "seed": 3}


def clinic(name, x):
    return 2.0 * (x - CENTERS[name]) + 0.1 * x**3


def answer_all(session, most=10**9):
    for count, query in enumerate(session):
        if count == most:
            break
        session.tell(query, clinic(query.name, query.point))


def in_memory(**settings):
    """The run without a file."""
    session = sgq.Session("frugal", users=6, **{**SETTINGS, **settings})
    for query in session:
        session.tell(query, clinic(NAMES[query.user], query.point))
    return session


def python(program, *, before=(), **options):
    """Another program, with what is above."""
    folder = str(Path(__file__).parent)
    start = f"import errno, os, signal, subprocess, sys, time; import numpy as np; sys.path.insert(0, {folder!r})\n"
    program = f"{start}from clinics import *\n{textwrap.dedent(program)}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*before, sys.executable, "-c", program], **pipes, **options)


def ended(process, code=0):
    out, errors = process.communicate(timeout=100)
    assert process.returncode == code, errors
    return out


class Clinic:
    """A user with a name, which notes in a file each time that it is asked."""

    def __init__(self, name, calls, fails_at=None):
        self.name, self.calls, self.fails_at = name, calls, fails_at

    def gradient(self, x):
        with open(self.calls, "a") as calls:
            print(self.name, x.tobytes().hex(), file=calls)
        if self.fails_at is not None and len(Path(self.calls).read_text().splitlines()) >= self.fails_at:
            self.fails_at = None
            raise ConnectionError("the line is dead")
        return clinic(self.name, x)


def run(path, calls, fails_at=None, **options):
    users = [Clinic(name, calls, fails_at) for name in NAMES]
    return sgq.minimize(users, [5.0, -3.0], smoothness=10.0, ledger=path, **options)
