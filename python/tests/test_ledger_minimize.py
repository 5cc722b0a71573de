"""Runs on a file: what is not asked again."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

import sgq
from clinics import NAMES, SETTINGS, Clinic, ended, python, run


def test_minimize_starts_and_resumes(tmp_path):
    path, calls = tmp_path / "study.sgq", tmp_path / "calls.txt"
    plain = sgq.minimize([Clinic(name, tmp_path / "plain.txt") for name in NAMES], [5.0, -3.0], smoothness=10.0)
    with pytest.raises(ConnectionError) as caught:
        run(path, calls, fails_at=8)
    session = caught.value.session
    assert session.closed and session.queries == 7 and session.names == NAMES
    result = run(path, calls)
    assert result.x.tobytes() == plain.x.tobytes() and (result.status, result.queries) == (plain.status, plain.queries)
    assert result.success and len(result.history["user"]) == plain.queries - 7
    # The one that failed was asked twice, and nobody else.
    asked = calls.read_text().splitlines()
    assert len(asked) == plain.queries + 1 and asked[7] == asked[8] and len(set(asked)) == len(asked) - 1
    # A run that is over asks nobody, and says the same.
    again = run(path, calls)
    assert again.x.tobytes() == result.x.tobytes() and again.success and again.queries == result.queries
    assert len(calls.read_text().splitlines()) == len(asked)
    # More of it, from the same file.
    with sgq.open(path) as session:
        session.extend(tol=1e-9)
        closer = sgq.minimize([Clinic(name, calls) for name in NAMES], session=session)
        assert not session.closed
    assert closer.queries > result.queries and closer.success


def test_minimize_says_what_does_not_fit(tmp_path):
    path, calls = tmp_path / "study.sgq", tmp_path / "calls.txt"
    run(path, calls, budget=7, tol=None)
    for changed, words in [
        ({"budget": 8}, "budget is 7, and 8 is given"),
        ({"method": "saga"}, "the method is frugal, and saga"),
        ({"seed": 1}, "seed is 0, and 1 is given"),
        ({"tol": 0.5}, "tol is not set, and 0.5"),
    ]:
        with pytest.raises(ValueError, match=words):
            run(path, calls, **changed)
    users = [Clinic(name, calls) for name in NAMES]
    with pytest.raises(ValueError, match="has 6 users, and 5 are given"):
        sgq.minimize(users[:5], ledger=path)
    with pytest.raises(ValueError, match="the session has 6 users, and 5 are given"):
        sgq.minimize([user.gradient for user in users[:5]], ledger=path)
    with pytest.raises(ValueError, match="do not go together"):
        sgq.minimize(users, ledger=path, session=sgq.Session("frugal", users=6, **SETTINGS))
    with pytest.raises(ValueError, match="do not go together"):
        sgq.minimize(sgq.problems.quadratics([1, 1], [2, 1]), ledger=path)
    with pytest.raises(TypeError, match="no keyword earlier"):
        sgq.minimize(users, [5.0, -3.0], ledger=tmp_path / "other.sgq", earlier=[])
    assert len(calls.read_text().splitlines()) == 7
    # Users alone will do to go on.
    assert sgq.minimize(users, ledger=path).queries == 7


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGKILL)"])
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_minimize_with_jobs_after_a_death(tmp_path, end):
    path, calls = tmp_path / "study.sgq", tmp_path / "calls.txt"
    program = f"""
        def ending(session):
            if session.queries == 11:
                {end}
        run({str(path)!r}, {str(calls)!r}, jobs=4, callback=ending)
    """
    ended(python(program), -signal.SIGKILL if "kill" in end else 7)
    with sgq.open(path, read_only=True) as session:
        assert session.queries == 11
        answered = session.paid()
    paid = {f"{NAMES[user]} {point.tobytes().hex()}" for user, point, _ in answered}
    before = calls.read_text().splitlines()
    assert len(before) <= 11 + 4 and paid <= set(before)
    # With fewer threads it is the same run: the file says how many questions are out.
    result = run(path, calls, jobs=2)
    plain = sgq.minimize([Clinic(name, tmp_path / "plain.txt") for name in NAMES], [5.0, -3.0], smoothness=10.0, jobs=4)
    assert result.x.tobytes() == plain.x.tobytes() and result.queries == plain.queries and result.success
    # Nobody was asked again for an answer that was told: at most what was out.
    after = calls.read_text().splitlines()[len(before) :]
    assert not paid & set(after) and len(before) + len(after) <= result.queries + 4


def test_answers_before_their_turn_survive(tmp_path):
    path, calls = tmp_path / "study.sgq", tmp_path / "calls.txt"
    program = f"""
        class Dying(Clinic):
            def gradient(self, x):
                with sgq.open({str(path)!r}, read_only=True) as session:
                    is_first = session.pending()[0].name == self.name
                if is_first:
                    while True:
                        with sgq.open({str(path)!r}, read_only=True) as session:
                            if [event["kind"] for event in session.history()].count("held") == 2:
                                os._exit(7)
                        time.sleep(0.01)
                return super().gradient(x)
        users = [Dying(name, {str(calls)!r}) for name in NAMES]
        sgq.minimize(users, [5.0, -3.0], smoothness=10.0, ledger={str(path)!r}, jobs=3)
    """
    ended(python(program), 7)
    with sgq.open(path) as session:
        assert session.queries == 0 and len(session.held) == 2 and len(session.pending()) == 3
        query = next(query for query in session.pending() if query.ticket[1] in session.held)
        with pytest.raises(ValueError, match="waits for its turn"):
            session.tell(query, [0.0, 0.0])
        with pytest.raises(ValueError, match="do not go together"):
            session.tell(query, [0.0, 0.0], hold=True, accepted=True)
    result = run(path, calls, jobs=3)
    plain = sgq.minimize([Clinic(name, tmp_path / "plain.txt") for name in NAMES], [5.0, -3.0], smoothness=10.0, jobs=3)
    assert result.x.tobytes() == plain.x.tobytes() and result.session.verify().sound
    # Nobody was asked again for what was there.
    assert len(calls.read_text().splitlines()) == result.queries


def test_minimize_with_jobs_is_the_same_run(tmp_path):
    users = [Clinic(name, tmp_path / "calls.txt") for name in NAMES]
    settings = {"smoothness": 10.0, "jobs": 4, "seed": 5}
    plain = sgq.minimize(users, [5.0, -3.0], **settings)
    result = sgq.minimize(users, [5.0, -3.0], ledger=tmp_path / "study.sgq", **settings)
    assert result.x.tobytes() == plain.x.tobytes() and result.message == plain.message
    for column in plain.history:
        assert (plain.history[column] == result.history[column]).all(), column


def test_minimize_with_processes(tmp_path):
    path, users = tmp_path / "study.sgq", [Clinic(name, tmp_path / "calls.txt") for name in NAMES]
    with ProcessPoolExecutor(2) as pool:
        sgq.minimize(users, [5.0, -3.0], smoothness=10.0, ledger=path, jobs=pool, budget=9, tol=None)
        # The processes of the pool, which are copies of this one, do not keep the file.
        with sgq.open(path) as session:
            session.extend(500, tol=1e-4)
        result = sgq.minimize(users, ledger=path, jobs=pool)
    assert result.success and result.session.verify().sound
    assert len((tmp_path / "calls.txt").read_text().splitlines()) == result.queries


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
@pytest.mark.parametrize("jobs", [None, 3])
def test_ctrl_c_in_minimize(tmp_path, jobs):
    def clinic(number, stops):
        def gradient(x):
            calls.append(number)
            if stops and len(calls) == 7:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
                time.sleep(0.05)
            return 2.0 * (x - number) + 0.1 * x**3

        return gradient

    path, calls = tmp_path / "study.sgq", []
    settings = {"smoothness": 10.0, "jobs": jobs}
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            sgq.minimize([clinic(number, True) for number in range(5)], [5.0], ledger=path, **settings)
    finally:
        signal.signal(signal.SIGALRM, before)
    paid = caught.value.session.queries
    assert caught.value.session.closed and 0 < paid < 7
    users = [clinic(number, False) for number in range(5)]
    result, plain = sgq.minimize(users, ledger=path, **settings), sgq.minimize(users, [5.0], **settings)
    assert result.success and len(result.history["user"]) == result.queries - paid
    # Answers that were there before their turn were kept until it came.
    assert result.x.tobytes() == plain.x.tobytes() and result.queries == plain.queries


def test_failures_are_recorded(tmp_path):
    def broken(x):
        raise TimeoutError("no answer within 60 s")

    users = [lambda x, b=b: 2.0 * (x - b) for b in (2.0, 1.0, -1.0)]
    path = tmp_path / "study.sgq"
    result = sgq.minimize([*users, broken], [5.0], ledger=path, budget=12, tol=None, on_error="fail")
    assert result.queries == 12 and result.failures[0][2] == "TimeoutError: no answer within 60 s"
    account = result.session.accounts()[3]
    assert account["user"] == "user-3" and account["failures"] == result.failures[0][1] and account["answers"] == 0
    # Noise that users say they added is in the account; a session in memory keeps none.
    private = [lambda x: {"gradient": 2.0 * x, "privacy": (1.0, 4.0)}] * 2
    result = sgq.minimize(private, [5.0], ledger=tmp_path / "private.sgq", budget=4, tol=None)
    assert all(account["epsilon"] > 0 for account in result.session.accounts())
    with pytest.raises(TypeError, match="no part 'privacy'"):
        sgq.minimize(private, [5.0], budget=4)
