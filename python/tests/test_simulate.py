"""Sessions that see a problem: it answers, is not part of what is stored, and lets every method run."""

import copy
import pickle

import numpy as np
import pytest

import sgq

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + RANDOM.normal(size=60) / 2
PROBLEM = sgq.problems.regression(X, Y, np.arange(60) % 8, l2=0.1)
METHODS = [name for name, *_ in sgq.methods()]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_a_regression(method):
    result = sgq.minimize(PROBLEM, method=method, budget=400, tol=None, seed=3)
    assert not result.success and result.queries >= 400 and result.status == "budget"
    assert result.queries == result.queries_per_user.sum() == len(result.history["user"])
    assert (np.bincount(result.history["user"], minlength=8) == result.queries_per_user).all()
    assert result.fun == PROBLEM.value(result.x) < PROBLEM.value(np.zeros(3))


@pytest.mark.parametrize("method", ["sgd", "sgq", "saga", "svrg", "iqn"])
def test_the_problem_answers_as_anybody_would(method):
    simulated = sgq.Session(method, problem=PROBLEM, budget=100, seed=3)
    user, explored, steps = simulated.simulate(1_000)
    asked = sgq.Session(method, problem=PROBLEM, budget=100, seed=3)
    told = []
    for query in asked:
        asked.tell(query.ticket, PROBLEM.gradient(query.user, query.point))
        told.append((query.user, -1 if query.explored is None else int(query.explored), asked.steps))
    assert told == list(zip(user.tolist(), explored.tolist(), steps.tolist()))
    assert simulated.point.tobytes() == asked.point.tobytes()


def test_a_session_takes_from_the_problem_what_nobody_says():
    session = sgq.Session("sgq", problem=PROBLEM, budget=10)
    assert session.problem is PROBLEM and (session.point == np.zeros(3)).all()
    alone = sgq.Session(
        "sgq", x0=np.zeros(3), users=8, smoothness=PROBLEM.smoothness, pl_constant=PROBLEM.pl_constant,
        objective_smoothness=PROBLEM.objective_smoothness, budget=10,
    )  # fmt: skip
    assert session.step_size == alone.step_size


def test_looks_are_not_billed():
    session = sgq.Session("ogq", problem=PROBLEM, budget=50)
    session.simulate(50)
    assert (session.queries, session.diagnostic) == (50, 8 * 50)


def test_a_target_gap_ends_the_run():
    session = sgq.Session("saga", problem=PROBLEM, target_gap=1e-3)
    user, *_ = session.simulate(10_000)
    assert session.stop_reason == "target gap" and len(user) < 10_000 and PROBLEM.gap(session.point) <= 1e-3
    assert len(session.simulate(10)[0]) == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_stored_session_goes_on_bit_for_bit(method):
    def new():
        return sgq.Session(method, problem=PROBLEM, budget=120, seed=3)

    whole, session = new(), new()
    users, *_ = whole.simulate(1_000)
    begun, *_ = session.simulate(37)
    session.ask()
    state = session.state_dict()
    later = sgq.Session.from_state_dict(state, problem=PROBLEM)
    rest, *_ = later.simulate(1_000)
    assert np.concatenate([begun, rest]).tolist() == users.tolist()
    assert later.point.tobytes() == whole.point.tobytes() and later.diagnostic == whole.diagnostic
    session.load_state_dict(state)
    session.simulate(1_000)
    assert session.point.tobytes() == whole.point.tobytes() and session.problem is PROBLEM


def test_a_state_fits_its_problem_only():
    session = sgq.Session("ogq", problem=PROBLEM, budget=120)
    session.simulate(10)
    state = session.state_dict()
    for other, words in [
        (sgq.problems.regression(X[:, :2], Y, np.arange(60) % 8), "the problem has 2 parameters"),
        (sgq.problems.regression(X, Y, np.arange(60) % 5), "the problem has 5 users"),
        (None, "simulate it against a problem"),
    ]:
        with pytest.raises(ValueError, match=words):
            sgq.Session.from_state_dict(state, problem=other)


def test_a_session_that_sees_a_problem_is_not_pickled():
    session = sgq.Session("sgq", problem=PROBLEM, budget=120)
    for store in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"store its state_dict\(\)"):
            store(session)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(PROBLEM)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"x0": [0.0]}, ValueError, "the problem has 3 parameters, the settings 1"),
        ({"x0": [0.0, 0.0, np.nan]}, ValueError, "finite"),
        ({"users": 7}, ValueError, "users is 7, and the problem has 8: leave it out"),
        ({"problem": X}, TypeError, "Problem"),
        ({"problem": None}, TypeError, "x0 is missing"),
        ({"problem": None, "x0": [0.0]}, TypeError, "users is missing"),
        ({"table": "scalars"}, ValueError, "one row each"),
        ({"target_gap": -1.0}, ValueError, "gap"),
    ],
)
def test_settings_that_do_not_fit(settings, kind, words):
    with pytest.raises(kind, match=words):
        sgq.Session("saga", **{"problem": PROBLEM, "step_size": 0.1, **settings})


def test_nobody_answers_without_a_problem():
    session = sgq.Session("sgd", x0=[0.0], users=2, step_size=0.1)
    with pytest.raises(ValueError, match="nobody is there to answer"):
        session.simulate(1)


@pytest.mark.parametrize("table", ["f64", "sparse", "scalars"])
def test_tables_that_fit_the_problem_go_the_same_way(table):
    rows = sgq.problems.regression(X, Y, l2=0.1)
    ends = [sgq.minimize(rows, method="saga", budget=500, table=kind).x for kind in ("f64", table)]
    assert ends[1] == pytest.approx(ends[0], rel=1e-9)
