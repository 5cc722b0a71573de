"""Rust and Python go the same way, to the bit: both are held against one file, for every method."""

from pathlib import Path

import numpy as np
import pytest

import sgq

FIXTURE = Path(__file__).parents[2] / "crates" / "sgq" / "tests" / "fixtures" / "trajectories.tsv"
CENTERS = np.array([[2.0, 0.5], [1.0, -1.5], [-1.0, 0.25], [-2.0, 3.0]])
CURVATURES = np.array([1.0, 2.0, 0.5, 3.0])
LINES = [line.split("\t") for line in FIXTURE.read_text(encoding="utf-8").splitlines()]


def test_the_file_has_every_method_that_runs_on_answers_alone():
    with_more = {"power-of-choice", "oort", "ogq", "ciag"}
    assert {name for name, *_ in LINES} == {name for name, *_ in sgq.methods()} - with_more


@pytest.mark.parametrize(("method", "users", "point"), LINES)
def test_the_same_users_and_the_same_bits(method, users, point):
    session = sgq.Session(method, x0=[5.0, -3.0], users=4, smoothness=CURVATURES, step_size=0.05, budget=60, seed=7)
    asked = ""
    for query in session:
        asked += str(query.user)
        session.tell(query.ticket, CURVATURES[query.user] * (query.point - CENTERS[query.user]))
    assert asked == users
    assert " ".join(f"{bits:016x}" for bits in session.point.view(np.uint64)) == point
