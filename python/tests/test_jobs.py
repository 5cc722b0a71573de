"""Several users at the same time, users that say more, and users that fail."""

import itertools
import signal
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import sgq

CENTERS = [2.0, 1.0, -1.0, -2.0, 5.0, 1.0]
USERS = [lambda x, b=b: 2.0 * (x - b) for b in CENTERS]
SETTINGS = {"method": "shuffled-sgd", "step_size": 0.05, "budget": 40, "seed": 3}


class Slow:
    """Takes as long as chance has it."""

    def __init__(self, center, seed=0):
        self.center, self.seed = center, seed

    def __call__(self, x):
        time.sleep(np.random.default_rng([self.seed, int(1e6 * abs(x[0]))]).random() / 200)
        return 2.0 * (x - self.center)


def same(one, other):
    assert one.x.tobytes() == other.x.tobytes()
    for column in one.history:
        assert (one.history[column] == other.history[column]).all()


@pytest.mark.parametrize("method", ["shuffled-sgd", "frugal", "saga"])
def test_the_same_bytes_whatever_the_timing(method):
    settings = {**SETTINGS, "method": method, "smoothness": 2.0}
    if method == "frugal":
        del settings["step_size"]
        settings["tol"] = None
    runs = [sgq.minimize([Slow(b, seed) for b in CENTERS], [5.0], jobs=3, **settings) for seed in range(3)]
    # As many out without threads are the same run; one at a time is another one.
    alone = sgq.minimize(USERS, [5.0], open=3, **settings)
    for run in runs:
        same(run, alone)
    in_turn = sgq.minimize(USERS, [5.0], **settings)
    assert any((alone.history[column] != in_turn.history[column]).any() for column in alone.history)
    same(in_turn, sgq.minimize(USERS, [5.0], jobs=1, **settings))


def test_users_work_at_the_same_time():
    meeting = threading.Barrier(3, timeout=30)

    def user(x):
        meeting.wait()
        return 2.0 * x

    result = sgq.minimize([user] * 6, [5.0], jobs=3, **{**SETTINGS, "budget": 12})
    assert result.queries == 12


def test_executors_of_ones_own():
    by_open = sgq.minimize(USERS, [5.0], open=2, **SETTINGS)
    with ThreadPoolExecutor(2) as pool:
        same(sgq.minimize(USERS, [5.0], jobs=pool, **SETTINGS), by_open)
        same(sgq.minimize(USERS, [5.0], jobs=pool, open=3, **SETTINGS), sgq.minimize(USERS, [5.0], open=3, **SETTINGS))
        # It is not ours to shut down.
        assert pool.submit(int, "7").result() == 7

    class Plain(Executor):
        def submit(self, function, /, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    with pytest.raises(ValueError, match="give open="):
        sgq.minimize(USERS, [5.0], jobs=Plain(), **SETTINGS)
    same(sgq.minimize(USERS, [5.0], jobs=Plain(), open=2, **SETTINGS), by_open)
    # A session that is there knows how many may be out.
    session = sgq.Session("shuffled-sgd", x0=[5.0], users=6, step_size=0.05, budget=40, seed=3, open=2)
    same(sgq.minimize(USERS, session=session, jobs=Plain()), by_open)


def test_processes():
    users = [Slow(center) for center in CENTERS]
    with ProcessPoolExecutor(2) as pool:
        same(sgq.minimize(users, [5.0], jobs=pool, **SETTINGS), sgq.minimize(USERS, [5.0], open=2, **SETTINGS))


@pytest.mark.parametrize(
    ("jobs", "kind", "words"),
    [
        (0, ValueError, "jobs is 0: at least one"),
        (-3, ValueError, "jobs is -3"),
        (1.5, TypeError, "jobs is 1.5: it must be a whole number"),
        ("2", TypeError, "whole number"),
        (True, TypeError, "jobs is True"),
    ],
)
def test_wrong_jobs_are_refused(jobs, kind, words):
    with pytest.raises(kind, match=words):
        sgq.minimize(USERS, [5.0], jobs=jobs, **SETTINGS)


def test_other_mistakes_are_refused():
    problem = sgq.problems.quadratics(np.ones((3, 2)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="a problem answers by itself"):
        sgq.minimize(problem, jobs=2)
    with pytest.raises(ValueError, match="on_error is 'ignore'"):
        sgq.minimize(USERS, [5.0], on_error="ignore", **SETTINGS)
    with pytest.raises(ValueError, match="let one question be open"):
        sgq.minimize(USERS, [5.0], "katyusha", smoothness=2.0, jobs=2)


def test_an_exception_passes_through_once_all_that_is_out_is_collected():
    class Offline(Exception):
        pass

    def user(center, fails):
        calls = []

        def gradient(x):
            calls.append(1)
            if fails and len(calls) == 2:
                raise Offline(center)
            return 2.0 * (x - center)

        return gradient

    for failing in ([3], range(6)):
        users = [user(center, number in failing) for number, center in enumerate(CENTERS)]
        with pytest.raises(Offline) as caught:
            sgq.minimize(users, [5.0], jobs=3, **SETTINGS)
        session = caught.value.session
        # Everything that was answered was told, and what was not is still out: everybody fails in the second round.
        out = session.pending()
        assert [query.user for query in out] == [3] if failing == [3] else (len(out), session.queries) == (3, 6)
        if sys.version_info >= (3, 11) and len(out) == 3:
            assert ["failed too: Offline" in note for note in caught.value.__notes__] == [True, True]
        paid = session.queries
        if failing == [3]:
            result = sgq.minimize(users, session=session, jobs=3)
            assert result.queries == 40 and len(result.history["user"]) == 40 - paid


def test_a_wrong_answer_of_one_loses_none_of_the_others():
    users = [*USERS[:5], lambda x: [np.nan]]
    with pytest.raises(ValueError, match="user 5 is NaN|of user 5") as caught:
        sgq.minimize(users, [5.0], jobs=4, **SETTINGS)
    session = caught.value.session
    assert [query.user for query in session.pending()] == [5]
    assert sgq.minimize(USERS, session=session).queries == 40


@pytest.mark.parametrize("jobs", [None, 3])
def test_failures_can_be_noted_and_others_asked(jobs):
    def broken(x):
        raise TimeoutError("no answer within 60 s")

    result = sgq.minimize([*USERS[:5], broken], [5.0], jobs=jobs, on_error="fail", **SETTINGS)
    assert result.status == "budget" and result.queries == 40 and result.queries_per_user[5] == 0
    [(user, times, reason)] = result.failures
    assert (user, reason) == (5, "TimeoutError: no answer within 60 s") and 2 <= times < 20
    nobody = sgq.minimize([broken] * 3, [5.0], jobs=jobs, on_error="fail", **SETTINGS)
    assert not nobody.success and nobody.status == "nobody answers" and "no answer within 60 s" in nobody.message


def test_a_callback_ends_the_run_and_what_is_out_is_collected():
    result = sgq.minimize(USERS, [5.0], jobs=3, callback=lambda session: session.queries == 7, **SETTINGS)
    assert (result.status, result.queries, result.session.pending()) == ("callback", 9, [])
    with pytest.raises(ZeroDivisionError) as caught:
        sgq.minimize(USERS, [5.0], jobs=3, callback=lambda session: 1 / 0, **SETTINGS)
    assert caught.value.session.queries == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_ctrl_c_leaves_a_session_that_goes_on():
    release, numbers = threading.Event(), itertools.count(1)

    def user(x):
        number = next(numbers)
        if number == 9:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
        if number >= 9:
            release.wait(30)
        return 2.0 * x

    # As Ctrl-C would, also where the tests run in the background and do not hear it.
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            sgq.minimize([user] * 6, [5.0], jobs=3, **SETTINGS)
    finally:
        signal.signal(signal.SIGALRM, before)
        release.set()
    session = caught.value.session
    assert 0 < session.queries < 40 and session.pending()
    assert sgq.minimize([user] * 6, session=session, jobs=3).queries == 40


def said(center, form):
    """A user with the function (x − b)ᵀ(x − b) in two dimensions, that says as much as the form has it."""

    def user(x):
        off = x - center
        loss, gradient, hessian = float(off @ off), 2.0 * off, 2.0 * np.eye(2)
        return {
            "g": gradient,
            "list": gradient.tolist(),
            "tuple": tuple(gradient.tolist()),
            "fg": (loss, gradient),
            "fgH": (loss, gradient, hessian),
            "none": (None, gradient, None),
            "dict": {"gradient": gradient, "loss": loss, "hessian": hessian, "variance": 0.0, "cost": 2.5},
        }[form]

    return user


@pytest.mark.parametrize(
    ("form", "numbers"), [("g", 2), ("list", 2), ("tuple", 2), ("fg", 3), ("fgH", 6), ("none", 2), ("dict", 7)]
)
def test_users_say_as_much_as_they_like(form, numbers):
    result = sgq.minimize([said(b, form) for b in CENTERS], [5.0, 0.0], "saga", step_size=0.1, budget=60)
    plain = sgq.minimize([said(b, "g") for b in CENTERS], [5.0, 0.0], "saga", step_size=0.1, budget=60)
    assert result.x.tobytes() == plain.x.tobytes() and result.numbers == 60 * numbers
    assert result.cost == 60 * (2.5 if form == "dict" else 1.0)


def test_a_method_that_needs_hessians():
    users = [said(b, "fgH") for b in CENTERS]
    result = sgq.minimize(users, [5.0, 0.0], "ciag", smoothness=2.0, budget=12)
    assert np.allclose(result.x, np.mean(CENTERS))
    with pytest.raises(ValueError, match="has no Hessian, and the method cannot do without"):
        sgq.minimize([said(b, "fg") for b in CENTERS], [5.0, 0.0], "ciag", smoothness=2.0, budget=12)
    with pytest.raises(ValueError, match="Hessian"):
        sgq.minimize(users, [5.0, 0.0], "ciag", smoothness=2.0, answers="gradient")
    with pytest.raises(TypeError, match="no part 'hesian'"):
        sgq.minimize([lambda x: {"gradient": x, "hesian": np.eye(2)}], [5.0, 0.0], "sgd", step_size=0.1)
    with pytest.raises(TypeError, match='no "gradient"'):
        sgq.minimize([lambda x: {"loss": 1.0}], [5.0, 0.0], "sgd", step_size=0.1)


def test_many_parameters_take_no_room_for_hessians():
    result = sgq.minimize([lambda x: x] * 2, np.ones(200_000), "sgd", step_size=0.5, budget=4)
    assert result.queries == 4


def test_weights_and_budgets_of_other_kinds():
    class Clinic:
        def __init__(self, center):
            self.center = center

        def gradient(self, x):
            return 2.0 * (x - self.center)

        def value(self, x):
            return float(((x - self.center) ** 2).sum())

    users, weights = [Clinic(center) for center in CENTERS], np.arange(1.0, 7.0)
    result = sgq.minimize(users, [5.0], smoothness=2.0, weights=weights, tol=1e-15)
    best = np.average(CENTERS, weights=weights)
    assert result.x[0] == pytest.approx(best, abs=1e-6)
    assert result.fun == pytest.approx(np.average((best - np.array(CENTERS)) ** 2, weights=weights))
    # A budget of another kind is the only one then.
    assert sgq.minimize(users, [5.0], "sgd", step_size=0.01, cost_budget=700.0).queries == 700
    assert sgq.minimize(users, [5.0], "sgd", step_size=0.01, numbers_budget=600).status == "numbers budget"
