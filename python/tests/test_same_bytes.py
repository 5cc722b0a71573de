"""Rust and Python go the same way, to the bit: both are held against one file, for every method."""

from pathlib import Path

import numpy as np
import pytest

import sgq

FIXTURE = Path(__file__).parents[2] / "crates" / "sgq" / "tests" / "fixtures" / "trajectories.tsv"
CENTERS = np.array([[2.0, 0.5], [1.0, -1.5], [-1.0, 0.25], [-2.0, 3.0]])
CURVATURES = np.array([1.0, 2.0, 0.5, 3.0])
LINES = [line.split("\t") for line in FIXTURE.read_text(encoding="utf-8").splitlines()]


NEED_A_PROBLEM = {"power-of-choice", "oort", "ogq", "ciag", "nim", "stochastic-newton", "fednl", "fisher-scoring"}
NO_STEP_SIZE = {"frugal", "practical-sgq", "nim", "stochastic-newton", "fednl", "fisher-scoring"}


def settings(method):
    step_size = None if method in NO_STEP_SIZE else 0.05
    return {"x0": [5.0, -3.0], "smoothness": CURVATURES, "step_size": step_size, "budget": 60, "seed": 7}


def test_the_file_has_every_method():
    assert [name for name, *_ in LINES] == [name for name, *_ in sgq.methods()]


def check(session, asked, users, point):
    assert asked == users
    assert " ".join(f"{bits:016x}" for bits in session.point.view(np.uint64)) == point


@pytest.mark.parametrize(("method", "users", "point"), [line for line in LINES if line[0] not in NEED_A_PROBLEM])
def test_the_same_users_and_the_same_bits_by_ask_and_tell(method, users, point):
    session = sgq.Session(method, users=4, **settings(method))
    asked = ""
    for query in session:
        asked += str(query.user)
        session.tell(query.ticket, CURVATURES[query.user] * (query.point - CENTERS[query.user]))
    check(session, asked, users, point)


@pytest.mark.parametrize(("method", "users", "point"), LINES)
def test_the_same_users_and_the_same_bits_on_a_problem(method, users, point):
    problem = sgq.problems.quadratics(np.repeat(CURVATURES[:, None] / 2, 2, axis=1), CENTERS)
    session = sgq.Session(method, problem=problem, **settings(method))
    asked, _, _ = session.simulate(1000)
    check(session, "".join(map(str, asked)), users, point)
