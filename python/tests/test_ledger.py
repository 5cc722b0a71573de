"""Sessions on a file: what they are, and what they record."""

import copy
import json
import pickle
import sqlite3
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

import sgq
from clinics import NAMES, SETTINGS, answer_all, clinic, in_memory


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
        ({"users": ["a", " b"], "x0": [1.0]}, ValueError, "no blanks before or after"),
        ({"users": ["a", "b\tc"], "x0": [1.0]}, ValueError, "no line breaks, tabs or other control characters"),
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


@pytest.mark.parametrize(
    "more, budget",
    [({}, 500), ({"users": 60}, 600), ({"budget": 7}, 7), ({"cost_budget": 5.0}, None), ({"numbers_budget": 9}, None)],
)
def test_without_a_budget_there_is_one(tmp_path, more, budget):
    path = tmp_path / "study.sgq"
    settings = {"users": NAMES, "tol": None, **SETTINGS, **more}
    for _ in range(2):
        sgq.open(path, "frugal", **settings).close()
    with sqlite3.connect(path) as connection:
        [[text]] = connection.execute("SELECT value FROM ledger WHERE name = 'settings'")
    connection.close()
    assert json.loads(text)["budget"] == budget


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
        (-1, ValueError, "no question has the ticket -1"),
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
    with pytest.raises(ValueError, match=r"if it is right, tell it with accepted=True$"):
        session.tell(last, [1e9])
    # One who has looked at it says so.
    with pytest.warns(RuntimeWarning, match="taken and is odd"):
        session.tell(last, [1e9], accepted=True)
    assert session.queries == 6
    session, last = opened("flagged.sgq", length="flag", length_factor=100.0, unexpected="ignore")
    with pytest.warns(RuntimeWarning, match="taken and is odd"):
        session.tell(last, [1e9])
    assert session.accounts()[last.user]["flagged"] == 1 and session.queries == 6
    # A thousand times as far from what the model expects as the others are long.
    session, last = opened("unexpected.sgq", unexpected="refuse", unexpected_factor=20.0)
    with pytest.raises(ValueError, match="times as far .* the limit is 20"):
        session.tell(last, [-1e3])
    session, last = opened("ignored.sgq", unexpected="ignore")
    session.tell(last, [-1e3])
    assert session.accounts()[last.user]["flagged"] == 0 and session.queries == 6


def test_nobody_is_asked_past_its_limits(tmp_path):
    path = tmp_path / "study.sgq"
    with sgq.open(path, "frugal", users=NAMES, protection={"answers_each": 2}, tol=None, **SETTINGS) as session:
        answer_all(session)
        assert session.stop_reason == "nobody answers" and session.queries_per_user.tolist() == [2] * 6
    for account in session.accounts():
        assert not account["away"] and account["answers"] == 2
        assert account["limit_spent"] == "it has given 2 answers, and may give 2"
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


def test_a_file_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with sgq.open("study.sgq", "frugal", users=NAMES, **SETTINGS) as session:
        monkeypatch.chdir(tmp_path / "elsewhere")
        answer_all(session, 3)
        assert len(session.history()) == 7 and session.path == tmp_path / "study.sgq"
    assert session.verify().sound and list(Path().iterdir()) == []


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
