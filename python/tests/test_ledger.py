"""Sessions on a file: what a program that ends in any way leaves behind, and what it does not ask again."""

import copy
import errno
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

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
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_ledger import *\n"
    program = start + textwrap.dedent(program)
    return subprocess.Popen([*before, sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(process, code=0):
    out, errors = process.communicate(timeout=100)
    assert process.returncode == code, errors
    return out


def test_it_is_a_session_and_goes_on_where_it_was(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, budget=40, **SETTINGS) as session:
        assert isinstance(session, sgq.Session) and session.names == NAMES and session.path == path
        answer_all(session, 13)
        [out] = session.pending()
        assert out.name == NAMES[out.user] and session.queries == 13 and not session.closed
    assert session.closed and session.queries == 13 and session.pending()[0].ticket == out.ticket
    assert not path.with_name("study.sgq-wal").exists()
    with sgq.open(path) as again:
        assert again.ask().ticket == out.ticket and again.ask().point.tobytes() == out.point.tobytes()
        assert again.point.tobytes() == session.point.tobytes() and again.made_anew is None
        answer_all(again)
    whole = in_memory(budget=40)
    assert again.point.tobytes() == whole.point.tobytes() and again.stop_reason == whole.stop_reason == "budget"
    for name in ("queries", "cost", "numbers", "steps", "certified", "uncertified", "message", "has_step_size", "method", "answers"):
        assert getattr(again, name) == getattr(whole, name), name
    assert again.remaining == whole.remaining
    for name in ("queries_per_user", "weights", "surrogate_gradient"):
        assert getattr(again, name).tobytes() == getattr(whole, name).tobytes(), name


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit(7)"])
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_a_program_that_ends_in_any_way_loses_nothing(tmp_path, end):
    path, told = tmp_path / "study.sgq", tmp_path / "told.txt"
    program = f"""
        session = sgq.open({str(path)!r}, "frugal", users=NAMES, budget=30, open=2, **SETTINGS)
        told = open({str(told)!r}, "a")
        for count, query in enumerate(session):
            if count == 5:
                {end}
            session.tell(query, clinic(query.name, query.point))
            print(query.ticket[1], query.name, file=told, flush=True)
    """
    code = -signal.SIGKILL if "kill" in end else 7
    for runs in range(1, 4):
        ended(python(program), code)
        # What was out when it ended is out still.
        with sgq.open(path, read_only=True) as session:
            assert session.queries == 5 * runs and len(session.pending()) == 1
    with sgq.open(path) as session:
        answer_all(session)
    whole = in_memory(budget=30, open=2)
    assert session.point.tobytes() == whole.point.tobytes() and session.queries == 30
    lines = told.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 15
    assert session.verify().sound and session.verify().replays


def test_a_program_that_ends_leaves_one_file(tmp_path):
    """Also where nobody closes it: the log goes into the file."""
    path = tmp_path / "study.sgq"
    ended(python(f"session = sgq.open({str(path)!r}, users=NAMES, **SETTINGS); answer_all(session, 3)"))
    assert not path.with_name("study.sgq-wal").exists()
    with sgq.open(path) as session:
        assert session.queries == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_kills_at_any_instant(tmp_path):
    """Answers are used once, and asked for at most once more than they were told: at a kill, one is out."""
    path, calls = tmp_path / "study.sgq", tmp_path / "calls.txt"
    program = f"""
        calls = open({str(calls)!r}, "a")
        with sgq.open({str(path)!r}, "frugal", users=NAMES, budget=300, tol=None, **SETTINGS) as session:
            for query in session:
                print(query.ticket[1], file=calls, flush=True)
                print(flush=True)
                session.tell(query, clinic(query.name, query.point))
    """
    random, kills = np.random.default_rng(0), 0
    while True:
        with python(program) as process:
            # After so many questions, and a moment: the disk may be at work.
            if all(process.stdout.readline() for _ in range(random.integers(1, 40))):
                time.sleep(0.003 * random.random())
                process.kill()
            code, errors = process.wait(), process.stderr.read()
        if code == 0:
            break
        assert code == -signal.SIGKILL, errors
        kills += 1
    whole = in_memory(budget=300, tol=None)
    with sgq.open(path, read_only=True) as session:
        assert session.point.tobytes() == whole.point.tobytes() and session.queries == 300
    asked = [int(line) for line in calls.read_text().split()]
    assert set(asked) == set(range(300)) and len(asked) - 300 <= kills and kills >= 3
    kinds = [event["kind"] for event in session.history()]
    assert kinds.count("asked") == kinds.count("answered") == 300


def test_only_one_may_write_and_anybody_may_read(tmp_path):
    path = tmp_path / "study.sgq"
    program = f"""
        session = sgq.open({str(path)!r}, "frugal", users=NAMES, **SETTINGS)
        answer_all(session, 7)
        print(os.getpid(), flush=True)
        sys.stdin.readline()
    """
    other = python(program, stdin=subprocess.PIPE)
    try:
        process = other.stdout.readline().strip()
        with pytest.raises(sgq.LedgerInUse, match=f"in use by process {process} .*only one program"):
            sgq.open(path)
        with pytest.raises(sgq.LedgerInUse):
            sgq.minimize([abs] * 6, ledger=path)
        session = sgq.open(path, read_only=True)
        assert session.queries == 7 and session.closed and len(session.history()) == 15
        with pytest.raises(sgq.LedgerError, match="opened to be read"):
            session.ask()
    finally:
        other.communicate("\n", timeout=60)
    with sgq.open(path) as session:
        assert session.queries == 7
        # Another session of this program is another writer as well.
        with pytest.raises(sgq.LedgerInUse, match=f"process {os.getpid()} .*this program itself"):
            sgq.open(path)
    sgq.open(path).close()


def test_the_same_call_starts_and_resumes_and_differences_are_named(tmp_path):
    path = tmp_path / "study.sgq"
    settings = {"users": NAMES, "budget": 20, "costs": 2.0, "open": 2, "protection": {"answers_each": 9}, **SETTINGS}
    for _ in range(3):
        with sgq.open(path, "frugal", **settings) as session:
            answer_all(session, 4)
    assert session.queries == 12
    session = sgq.open(path)
    session.extend(5)
    session.close()
    # What was extended since then is no difference; and what is not said is none.
    sgq.open(path, "frugal", **settings).close()
    sgq.open(path, seed=3, users=6).close()
    for changed, words in [
        ({"budget": 25}, "budget is 20, and 25 is given"),
        ({"x0": [5.0, 3.0]}, "x0 is -3.0 at place 1, and 3.0 is given"),
        ({"x0": [5.0]}, "x0 has 2 numbers, and 1 are given"),
        ({"seed": 4, "open": 3}, "(open is 2, and 3 is given|seed is 3, and 4 is given|; ){3}"),
        ({"tol": 0.01}, "tol is not set, and 0.01 is given"),
        ({"costs": [2, 2, 2, 2, 2, 3]}, "costs is 2.0 at place 5, and 3.0 is given"),
        ({"weights": 1.0}, "weights is not set, and a list of 6 is given"),
        ({"users": NAMES[:5]}, "it has 6 users, and 5 are given"),
        ({"users": [*NAMES[:5], "hil"]}, "user 5 is \"hill\", and \"hil\" is given"),
        ({"users": 7}, "it has 6 users, and 7 are given"),
        ({"method": "saga"}, "the method is frugal, and saga is given"),
        ({"protection": {"answers_each": 10}}, "protection answers_each is 9, and 10 is given"),
    ]:
        with pytest.raises(ValueError, match=f"was made with other settings: {words}; give the same ones"):
            sgq.open(path, **{"method": "frugal", **settings, **changed})
    with pytest.raises(ValueError, match="read_only is for a session that is there"):
        sgq.open(path, seed=3, read_only=True)
    # None of this changed anything, and the file is free.
    with sgq.open(path) as session:
        assert session.queries == 12
    path = tmp_path / "sgq.sgq"
    sgq.open(path, "sgq", users=3, x0=[0.0], smoothness=1.0, step_size=0.1, p=0.25).close()
    sgq.open(path, "sgq", p=0.25).close()
    sgq.open(path, "sgq").close()
    for changed, words in [({"p": 0.5}, "p is 0.25, and 0.5 is given"), ({"step_size": "theory"}, "step_size is .*0.1.*, and .*given")]:
        with pytest.raises(ValueError, match=words):
            sgq.open(path, **changed)


def test_mistakes_make_no_file(tmp_path):
    path = tmp_path / "study.sgq"
    for wrong, kind, words in [
        ({}, FileNotFoundError, "no such file; with users= and x0="),
        ({"read_only": True}, FileNotFoundError, "study.sgq"),
        ({"x0": [1.0]}, TypeError, "users is missing"),
        ({"users": NAMES}, TypeError, "x0 is missing"),
        ({"users": "north", "x0": [1.0]}, TypeError, "a list of names, or a number"),
        ({"users": [1, 2], "x0": [1.0]}, TypeError, "each a str"),
        ({"users": 0, "x0": [1.0]}, ValueError, "user"),
        ({"users": ["a", "a"], "x0": [1.0]}, ValueError, "two users are called \"a\""),
        ({"users": ["a", " b"], "x0": [1.0]}, ValueError, "no blanks around"),
        ({"users": 2, "x0": [1.0], "budgte": 3}, TypeError, "no keyword budgte .*did you mean.*budget"),
        ({"users": 2, "x0": [1.0], "certified_gap": "small"}, TypeError, "certified_gap: "),
        ({"users": 2, "x0": [1.0], "step_size": 0.1}, ValueError, "no step size"),
        ({"users": 2, "x0": [1.0], "method": "frugl"}, ValueError, "did you mean.*frugal"),
        ({"users": 2, "x0": [1.0], "method": "sgq"}, ValueError, "smoothness"),
        ({"users": 2, "x0": [1.0], "problem": 3}, TypeError, "no keyword problem"),
        ({"users": 2, "x0": [1.0], "protection": {"answer_each": 3}}, ValueError, "protection: unknown field `answer_each`"),
        ({"users": 2, "x0": [1.0], "protection": {"answers_each": 0}}, ValueError, "at least one"),
    ]:
        with pytest.raises(kind, match=words):
            sgq.open(path, **wrong)
        assert list(tmp_path.iterdir()) == [], wrong
    with pytest.raises(FileNotFoundError):
        sgq.open(tmp_path / "nowhere" / "study.sgq", users=2, x0=[1.0])


def test_wrong_answers_are_refused_recorded_and_asked_for_again(tmp_path):
    session = sgq.open(tmp_path / "study.sgq", "frugal", users=NAMES, **SETTINGS)
    query = session.ask()
    for wrong, words in [
        ([1.0], "2"),
        ([1.0, np.nan], "finite|NaN"),
        ([1.0, 1e300], "as large as"),
        ("none", f"the answer of user {query.name}: the gradient"),
        (None, f"the answer of user {query.name}"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            session.tell(query, wrong)
        assert session.queries == 0 and session.pending()[0].ticket == query.ticket
    for ticket, kind, words in [
        (17, ValueError, "no question has the ticket 17"),
        ((1, 2), ValueError, "another session"),
        ("a", TypeError, "give back the ticket"),
        (-1, OverflowError, "negative"),
    ]:
        with pytest.raises(kind, match=words):
            session.tell(ticket, [1.0, 1.0])
    refused = [event for event in session.history() if event["kind"] == "refused"]
    assert len(refused) == 6 and refused[0]["user"] == query.name and "NaN" in refused[1]["words"]
    # The ticket is the question, the pair, what JSON makes of that, or the number alone.
    gradient = clinic(query.name, query.point)
    for ticket in (query, query.ticket, json.loads(json.dumps(query.ticket)), query.ticket[1]):
        session.tell(ticket, gradient)
    assert session.queries == 1
    with pytest.raises(ValueError, match="another answer|already"):
        session.tell(query, 2 * gradient)
    account = session.accounts()[query.user]
    assert (account["user"], account["answers"], account["numbers"], account["refused"]) == (query.name, 1, 2, 6)


def test_answers_out_of_line_are_refused_or_flagged(tmp_path):
    def opened(name, **protection):
        session = sgq.open(tmp_path / name, "frugal", users=NAMES, x0=[5.0], smoothness=2.0, protection=protection, open=6)
        queries = session.ask_many(6)
        for query in queries[:5]:
            session.tell(query, [1.0])
        return session, queries[5]

    session, last = opened("refused.sgq")
    with pytest.raises(ValueError, match="accept it by hand"):
        session.tell(last, [1e9])
    # One who has looked at it says so.
    with pytest.warns(RuntimeWarning, match="taken and is odd"):
        session.tell(last, [1e9], accepted=True)
    assert session.queries == 6
    session, last = opened("flagged.sgq", length="flag", length_factor=100.0)
    with pytest.warns(RuntimeWarning, match="taken and is odd"):
        session.tell(last, [1e9])
    assert session.accounts()[last.user]["flagged"] == 1 and session.queries == 6


def test_nobody_is_asked_past_its_limits(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, protection={"answers_each": 2}, tol=None, **SETTINGS) as session:
        answer_all(session)
        assert session.stop_reason == "nobody answers" and session.queries_per_user.tolist() == [2] * 6
    assert all(account["away"] and account["answers"] == 2 for account in session.accounts())
    path = tmp_path / "private.sgq"
    with sgq.open(path, "frugal", users=NAMES, protection={"epsilon": 3.0}, tol=None, **SETTINGS) as session:
        random = np.random.default_rng(0)
        for query in session:
            noise = 2.0 * random.normal(size=2)
            session.tell(query, clinic(query.name, query.point) + noise, privacy=(0.5, 2.0))
        assert session.stop_reason == "nobody answers" and session.queries >= 12
        # The noise that was stated is a variance.
        assert session.paid()[0][2]["variance"].tolist() == [4.0]
    assert all(0 < account["epsilon"] <= 3.0 and account["without_noise"] == 0 for account in session.accounts())
    with pytest.raises(ValueError, match="must both be positive"):
        session.tell(0, [1.0, 1.0], privacy=(0.0, 1.0))


def test_users_by_name(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, **SETTINGS) as session:
        answer_all(session, 12)
        session.away("north", "a holiday")
        session.back("north")
        session.leave("hill", reason="has closed")
        session.away(1)
        session.note("everybody was called", "east")
        assert session.has_left("hill") and session.has_left(5) and not session.has_left("north")
        query = session.ask()
        session.fail(query, "no answer within a day", billed=True)
        assert session.failures() == [(query.user, 1, "no answer within a day")]
        with pytest.raises(ValueError, match='no user "hil".*did you mean "hill"'):
            session.join("hil")
        with pytest.raises(ValueError, match="6"):
            session.away(6)
    assert session.queries == 13
    with sgq.open(path) as again:
        assert again.has_left("hill") and again.queries == 13 and again.failures() == session.failures()
        again.join("hill")
        answer_all(again, 5)
    told = {(event["kind"], event["user"], event["words"]) for event in again.history()}
    assert {("away", "north", "a holiday"), ("left", "hill", "has closed"), ("noted", "east", "everybody was called")} <= told
    with pytest.raises(ValueError, match="have numbers"):
        sgq.Session("frugal", users=6, **SETTINGS).away("north")


def test_the_history_is_rows_and_the_answers_are_ones_own(tmp_path):
    path = tmp_path / "study.sgq"
    before = datetime.now(timezone.utc)
    with sgq.open(path, "frugal", users=NAMES, budget=9, **SETTINGS) as session:
        answer_all(session)
    history = session.history()
    assert [event["seq"] for event in history] == list(range(1, len(history) + 1))
    assert [event["kind"] for event in history[:2]] == ["asked", "answered"]
    first, second = history[:2]
    assert first["user"] == second["user"] in NAMES and first["words"] == "new" and second["cost"] == 1.0 and second["numbers"] == 2
    assert first["at"].tzinfo is timezone.utc and -1 < (first["at"] - before).total_seconds() < 60
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(history).groupby("kind").size()["answered"] == 9
    # Another method goes on with what was paid for.
    other = sgq.Session("saga", users=6, **SETTINGS, earlier=session.paid())
    assert (other.queries, other.earlier) == (0, 9)
    user, point, said = session.paid()[0]
    assert NAMES[user] == first["user"] and said["gradient"].tobytes() == clinic(NAMES[user], point).tobytes()


def test_all_that_users_say_comes_back(tmp_path):
    path = tmp_path / "study.sgq"
    users = {"x0": [5.0, 3.0], "users": 2, "answers": "hessian"}
    plain = sgq.Session("frugal", **users)
    with sgq.open(path, "frugal", **users) as session:
        for _ in range(2):
            assert session.ask().wants == "hessian"
            query, same = session.ask(), plain.ask()
            said = {"gradient": 2 * query.point, "loss": 3.0, "hessian": 2 * np.eye(2), "weight": 7.0, "cost": 0.5}
            session.tell(query, **said)
            plain.tell(same, **said)
    user, point, back = session.paid()[1]
    assert back["hessian"].tolist() == [2.0, 0.0, 2.0] and (back["loss"], back["weight"], back["cost"]) == (3.0, 7.0, 0.5)
    assert (session.cost, session.numbers, session.queries) == (plain.cost, plain.numbers, 2) == (1.0, 12, 2)
    with sgq.open(path) as again:
        assert again.point.tobytes() == plain.point.tobytes() and again.names == ["user-0", "user-1"]


def test_iteration_begins_with_what_was_out(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "shuffled-sgd", users=NAMES, step_size=0.05, open=3, budget=12, x0=[1.0]) as session:
        out = [query.ticket for query in session.ask_many(3)]
    with sgq.open(path) as session:
        seen = []
        for query in session:
            seen.append(query.ticket)
            session.tell(query, query.point)
        assert seen[:3] == out and len(set(seen)) == len(seen) == 12


def test_extensions_are_recorded(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, budget=10, tol=0.5, **SETTINGS) as session:
        answer_all(session)
        reason, queries = session.stop_reason, session.queries
        session.extend(30, tol=1e-6)
        with pytest.raises(ValueError, match="tolerance"):
            session.extend(tol=-1.0)
        with pytest.raises(TypeError, match="nothing to extend by"):
            session.extend()
    assert reason in ("converged", "budget")
    with sgq.open(path) as session:
        answer_all(session)
    assert session.queries > queries and session.stop_reason in ("converged", "budget")
    whole = sgq.Session("frugal", users=6, budget=10, tol=0.5, **SETTINGS)
    for _ in range(2):
        for query in whole:
            whole.tell(query, clinic(NAMES[query.user], query.point))
        if whole.queries == queries:
            whole.extend(30, tol=1e-6)
    assert session.point.tobytes() == whole.point.tobytes()


def test_it_is_not_copied(tmp_path):
    with sgq.open(tmp_path / "study.sgq", "frugal", users=NAMES, **SETTINGS) as session:
        query = session.ask()
        for wrong in (pickle.dumps, copy.copy, copy.deepcopy, lambda session: session.state_dict()):
            with pytest.raises(TypeError, match="not to be copied or pickled"):
                wrong(session)
        with pytest.raises(TypeError, match="not to be copied"):
            session.load_state_dict(sgq.Session("frugal", users=6, **SETTINGS).state_dict())
        with pytest.raises(ValueError, match="nobody is there to answer"):
            session.simulate(3)
        again = pickle.loads(pickle.dumps(query))
        assert again.name == query.name and repr(again) == repr(query) and f"name={query.name!r}".replace("'", '"') in repr(query)
        session.tell(again, clinic(query.name, query.point))
    with pytest.raises(TypeError, match="not to be copied"):
        pickle.dumps(session)


def test_a_closed_one_is_to_look_at(tmp_path):
    path = tmp_path / "study.sgq"
    session = sgq.open(path, "frugal", users=NAMES, **SETTINGS)
    query = session.ask()
    assert "running>" in repr(session) and str(path) in repr(session)
    session.close()
    session.close()
    assert "closed>" in repr(session)
    for wrong in (
        session.ask,
        lambda: session.ask_many(2),
        lambda: next(session),
        lambda: session.tell(query, [1.0, 1.0]),
        lambda: session.tell(query, "x"),
        lambda: session.fail(query),
        lambda: session.away(0),
        lambda: session.extend(3),
        lambda: session.note("x"),
    ):
        with pytest.raises(sgq.LedgerError, match="was closed.*sgq.open"):
            wrong()
    assert session.queries == 0 and session.point.tolist() == [5.0, -3.0] and len(session.history()) == 1
    with pytest.raises(ZeroDivisionError), sgq.open(path) as session:
        1 / 0
    assert session.closed


def test_files_that_are_no_ledgers(tmp_path):
    text, database = tmp_path / "text.sgq", tmp_path / "database.sgq"
    text.write_text("user,cost\nnorth,1\n" * 300)
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for path in (text, database):
        before = path.read_bytes()
        for read_only in (False, True):
            with pytest.raises(sgq.LedgerError, match="is no ledger of sgq"):
                sgq.open(path, read_only=read_only)
        with pytest.raises(sgq.LedgerError):
            sgq.open(path, users=NAMES, **SETTINGS)
        assert path.read_bytes() == before
    with pytest.raises(OSError):
        sgq.open(tmp_path)


def test_damage_is_found_named_and_recovered_from(tmp_path):
    path, new = tmp_path / "study.sgq", tmp_path / "new.sgq"
    with sgq.open(path, "frugal", users=NAMES, budget=20, **SETTINGS) as session:
        answer_all(session)
    verdict = session.verify()
    assert (verdict.sound, verdict.events, verdict.answers, verdict.replays) == (True, len(session.history()), 20, True)
    assert repr(verdict) == f"Verdict(sound=True, events={verdict.events}, answers=20, replays=True, findings=[])"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET cost = 0.0 WHERE kind = 'answered' AND seq = 8")
    connection.close()
    verdict = session.verify()
    assert not verdict.sound and "8" in verdict.findings[0]
    with pytest.raises(sgq.LedgerDamaged, match=r"damaged: .*event 8.*sgq.recover\(damaged, new\)"):
        sgq.open(path)
    before = path.read_bytes()
    saved = sgq.recover(path, new)
    assert saved["answers"] == 20 and saved["lost_answers"] == [] and path.read_bytes() == before
    for read_only in (False, True):
        with sgq.open(new, read_only=read_only) as again:
            # What was paid before is not forgotten, and not asked again.
            assert again.queries == again.queries_per_user.sum() == 20 and again.stop_reason == "budget"
            assert again.queries_per_user.tolist() == session.queries_per_user.tolist() and again.earlier == 20
            assert again.cost == pytest.approx(20.0) and again.numbers == 40
            np.testing.assert_allclose(again.point, session.point, atol=0.2)
    with sgq.open(new) as again:
        again.extend(5)
        answer_all(again)
        assert again.queries == again.queries_per_user.sum() == 25
    with pytest.raises(FileExistsError):
        sgq.recover(path, new)
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(sgq.LedgerDamaged):
        sgq.open(path)


def test_a_file_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with sgq.open("study.sgq", "frugal", users=NAMES, **SETTINGS) as session:
        monkeypatch.chdir(tmp_path / "elsewhere")
        answer_all(session, 3)
        assert len(session.history()) == 7 and session.path == tmp_path / "study.sgq"
    assert session.verify().sound and list(Path().iterdir()) == []


FULL = """
        told = 0
        try:
            for query in session:
                session.tell(query, query.point)
                told += 1
        except OSError as error:
            assert "open the ledger again" in str(error) and told > 5, error
            number = error.errno
        else:
            raise AssertionError("it fits")
        try:
            session.ask()
        except sgq.LedgerError as error:
            assert "open the ledger again" in str(error), error
        else:
            raise AssertionError("it goes on")
        session.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of this kind are another matter there")
def test_files_that_may_not_grow(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, x0=np.ones(2000), answers="gradient"):
        pass
    program = f"""
        import resource
        session = sgq.open({str(path)!r})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
        {FULL}
        print(told)
    """
    told = int(ended(python(program)))
    with sgq.open(path) as session:
        assert session.queries == told
        query = session.ask()
        session.tell(query, query.point)


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of our own takes Linux")
def test_a_full_disk(tmp_path):
    """On a file system of 1 MB, which only this test sees; then it becomes larger."""
    mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=1m tmpfs {tmp_path} && exec \"$@\"", "sh"]
    if subprocess.run([*mount, "true"], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    program = f"""
        path = {str(tmp_path / "study.sgq")!r}
        session = sgq.open(path, "frugal", users=NAMES, x0=np.ones(2000), answers="gradient")
        {FULL}
        assert number == errno.ENOSPC, number
        subprocess.run(["mount", "-o", "remount,size=64m", {str(tmp_path)!r}], check=True)
        with sgq.open(path) as session:
            assert session.queries == told and len(session.pending()) <= 1
            answer = session.ask()
            session.tell(answer, answer.point)
        assert session.verify().sound
    """
    ended(python(program, before=mount))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_copy_of_the_program_does_not_touch_it(tmp_path):
    path = tmp_path / "study.sgq"
    program = f"""
        session = sgq.open({str(path)!r}, "frugal", users=NAMES, budget=20, **SETTINGS)
        answer_all(session, 3)
        child = os.fork()
        if child == 0:
            try:
                session.ask()
            except sgq.LedgerError as error:
                assert "copy" in str(error)
                del session
                sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        # It is still ours, and goes on.
        try:
            sgq.open({str(path)!r})
        except sgq.LedgerInUse:
            answer_all(session)
        # Another copy, which lives on, does not keep the file.
        child = os.fork()
        if child == 0:
            time.sleep(60)
        session.close()
        sgq.open({str(path)!r}).close()
        os.kill(child, signal.SIGKILL)
    """
    ended(python(program))
    with sgq.open(path) as session:
        assert session.queries == 20 and session.verify().sound


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_ctrl_c_leaves_a_session_that_goes_on(tmp_path):
    path = tmp_path / "study.sgq"
    session = sgq.open(path, "frugal", users=NAMES, budget=3000, tol=None, **SETTINGS)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            answer_all(session)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    paid = session.queries
    assert 0 < paid < 3000 and len(session.pending()) <= 1
    answer_all(session, 10)
    assert session.queries == paid + 10
    session.close()
    assert session.verify().sound


@pytest.mark.skipif(sys.platform == "win32", reason="short sleeps are long there")
def test_others_run_while_it_writes(tmp_path):
    """The interpreter is free while the disk writes: another thread counts on."""
    session = sgq.open(tmp_path / "study.sgq", "shuffled-sgd", users=2, x0=np.ones(200_000), step_size=0.1)
    counts, done = [], threading.Event()

    def count():
        while not done.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.0002)

    thread = threading.Thread(target=count)
    thread.start()
    told = []
    for _ in range(5):
        query = session.ask()
        gradient = query.point * 1.5
        start = time.perf_counter()
        session.tell(query, gradient)
        told.append((start, time.perf_counter()))
    done.set()
    thread.join()
    inside = [sum(start < at < end for at in counts) for start, end in told]
    longest = max(end - start for start, end in told)
    # Without the interpreter nobody would count at all from beginning to end.
    assert max(inside) >= 2, (inside, longest)


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
    if jobs is None:
        assert result.x.tobytes() == plain.x.tobytes() and result.queries == plain.queries
    else:
        # Answers that were there were taken, in another order than without Ctrl-C.
        assert result.x[0] == pytest.approx(plain.x[0], abs=0.1)


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


def test_other_programs_can_read_it(tmp_path):
    """The file is SQLite's, for any program that knows it."""
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, budget=6, **SETTINGS) as session:
        answer_all(session)
    connection = sqlite3.connect(path)
    assert [name for (name,) in connection.execute("SELECT name FROM users ORDER BY user")] == NAMES
    [(point,)] = connection.execute("SELECT point FROM questions ORDER BY ticket LIMIT 1")
    assert np.frombuffer(point).tolist() == [5.0, -3.0]
    connection.close()
