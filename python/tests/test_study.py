"""Studies by a plan: `sgq.open(plan=…)` asks, and what has come of it."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from clinics import NAMES as USERS
from clinics import SETTINGS
from studies import FORMULA, NAMES, answer_all, clinics, make, opened, write_plan

import sgq


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A folder with the plan and the clinics' files, where nobody has answered yet."""
    return shutil.copytree(made, tmp_path / "study")


@pytest.fixture(scope="module")
def together(made):
    """The regression of all rows in one place."""
    return sgq.glm(FORMULA, made / "all.csv", user="user", family="binomial", precision=1e-7)


def difference(result, together):
    """The largest between two fits, in standard errors."""
    ours, theirs = np.array(list(result.params)), np.array(list(together.params))
    return np.abs((ours - theirs) / np.array(list(together.bse))).max()


def test_a_study_is_the_fit_of_all_rows_together(folder, together):
    with clinics(folder) as answering, opened(folder, precision=1e-4) as ledger:
        asked = answer_all(ledger, answering)
        assert asked[:4] == [(name, "summary") for name in NAMES]
        assert asked[-4:] == [(name, "closing") for name in NAMES]
        assert {wants for _, wants in asked[4:-4]} == {"gradient"}
        result = ledger.result()
        given = {name: answering[name].given for name in NAMES}
    assert isinstance(result, sgq.GlmResult)
    assert difference(result, together) < 1e-6
    np.testing.assert_allclose(list(result.bse), list(together.bse), rtol=1e-6)
    np.testing.assert_allclose(np.array(result.cov_params()), np.array(together.cov_params()), rtol=1e-5)
    assert (result.converged, result.std_error_kind, result.rows, result.users) == (True, together.std_error_kind, 360, 4)
    assert result.queries == len(asked) - 8 == sum(points for points, _ in given.values())
    assert dict(result.queries_per_user) == {name: points for name, (points, _) in given.items()}
    assert {closing for _, closing in given.values()} == {1}
    data = {"age": [50.0], "sex": ["m"]}
    np.testing.assert_allclose(result.predict(data), together.predict(data), rtol=1e-6)


@pytest.mark.parametrize("most", [0, 1, 3, 4, 5, 11, 10**9])
def test_an_interrupted_study_goes_on_with_nobody_asked_again(folder, most):
    with clinics(folder, log=False) as answering, sgq.open(folder / "whole.sgq", plan=folder / "model.plan", users=NAMES) as ledger:
        whole = answer_all(ledger, answering)
        expected = ledger.result()
    most = min(most, len(whole) - 2)  # the last is in the middle of the closing round
    with clinics(folder) as answering, opened(folder) as ledger:
        before = answer_all(ledger, answering, most)
    # `answer_all` sees that no clinic is asked what it has answered.
    with clinics(folder) as answering, opened(folder) as ledger:
        after = answer_all(ledger, answering)
        result = ledger.result()
        assert ledger.verify().sound and ledger.verify().replays
    assert before + after == whole
    assert list(result.params) == list(expected.params)
    assert list(result.bse) == list(expected.bse)


def look(ledger):
    """Everything that can be looked at."""
    made = [ledger.history(), ledger.paid(), ledger.accounts(), ledger.verify(), ledger.pending(), ledger.failing(), ledger.refusals()]
    made += [ledger.queries, ledger.queries_per_user, ledger.cost, ledger.numbers, ledger.weights, ledger.answers, ledger.steps]
    made += [ledger.step_size, ledger.remaining, ledger.stop_reason, ledger.message, ledger.surrogate_gradient_norm, ledger.held]
    made += [ledger.certified, ledger.uncertified, ledger.failures(), ledger.names, ledger.method, repr(ledger), ledger.made_anew]
    assert ledger.verify().sound
    return ledger.pending()


# Answers, and what the study waits for then: how many questions are out, what they ask for, whether there is a model, why it stopped.
STAGES = {
    "nobody asked": (0, 0, None, False, None),
    "half of the first answers": (2, 2, "summary", False, None),
    "all first answers": (4, 0, None, False, None),
    "at points": (9, 0, None, True, None),
    "half of the closing answers": (-2, 2, "closing", True, "converged"),
    "closed": (10**9, 0, None, True, "converged"),
}


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_can_be_looked_at(folder, stage):
    most, out, wants, has_model, stopped = STAGES[stage]
    with clinics(folder) as answering:
        if most < 0:
            with sgq.open(folder / "whole.sgq", plan=folder / "model.plan", users=NAMES) as whole, clinics(folder, log=False) as others:
                most += len(answer_all(whole, others))
        ledger = opened(folder)
        for asked, query in zip(range(most), ledger):
            assert ledger.tell_line(answering[query.name].answer(query.line).line, query.name) is None
    with ledger:
        with sgq.open(folder / "study.sgq", read_only=True) as reading:
            for session in [ledger, reading]:
                pending = look(session)
                assert [query.wants for query in pending] == [wants] * out
                assert all(query.point.size == 0 and json.loads(query.line)["wants"] == [wants] for query in pending)
                assert session.stop_reason == stopped
                assert (session.result() is not None) == has_model
                assert session.plan == ledger.plan and len(session.plan) == 64
                if has_model:
                    assert session.point.shape == (3,)
                else:
                    with pytest.raises(ValueError, match="no point yet: not everybody has answered the first question"):
                        session.point  # noqa: B018
            with pytest.raises(sgq.LedgerError, match="opened to be read"):
                reading.tell_line("{}")
    look(ledger)
    assert ledger.closed and (ledger.result() is not None) == has_model
    with pytest.raises(sgq.LedgerError, match="was closed"):
        ledger.tell_line("{}")


def test_settings_of_a_study_are_kept(folder):
    settings = {"precision": 0.001, "close": False, "budget": 70, "seed": 4, "open": 2, "costs": [1, 2, 3, 4], "protection": {"answers_each": 90}}
    with opened(folder, **settings) as ledger:
        assert [query.wants for query in ledger.ask_many(10)] == ["summary"] * 4
        assert ledger.plan == sgq.Clinic(folder / "model.plan", folder / "north.csv", "north", log=False).plan
    # A program may be started again as it is; the plan's own limit is below that of the protection.
    opened(folder, **settings).close()
    sgq.open(folder / "study.sgq").close()
    write_plan(folder / "other.plan", formula="died ~ age")
    path = folder / "study.sgq"
    for changed, message in [
        ({"precision": 0.1}, r"precision is 0\.001, and 0\.1 is given"),
        ({"close": True}, "close is False, and True is given"),
        ({"seed": 5}, "seed is 4, and 5 is given"),
        ({"users": NAMES[:3]}, "it has 4 users, and 3 are given"),
        ({"protection": {"answers_each": 20}}, "protection answers_each is 50, and 20 is given"),
        ({"plan": folder / "other.plan"}, rf"study\.sgq is not of this plan: its own is {ledger.plan}, and .*other\.plan is [0-9a-f]{{64}}; give"),
        ({"x0": [0.0, 0.0, 0.0]}, "x0 does not go with a plan"),
    ]:
        with pytest.raises(ValueError, match=message):
            sgq.open(path, **changed)
    sgq.open(folder / "none.sgq", users=3, x0=[0.0]).close()
    for given, message in [
        ({"plan": folder / "model.plan"}, r"none\.sgq is of no plan: leave out plan"),
        ({"precision": 0.1}, "is of no plan: precision is for a study by a plan"),
    ]:
        with pytest.raises(ValueError, match=message):
            sgq.open(folder / "none.sgq", **given)


def test_what_does_not_go_with_a_plan_is_refused(folder):
    for given, error, message in [
        ({"x0": [0.0]}, ValueError, "x0 does not go with a plan: start, weights, smoothness and what users say follow from the plan"),
        ({"answers": "loss"}, ValueError, "answers does not go with a plan"),
        ({"weights": [1, 2, 3, 4]}, ValueError, "weights does not go with a plan"),
        ({"smoothness": 1.0}, ValueError, "smoothness does not go with a plan"),
        ({"certified_gap": 0.1}, ValueError, "certified_gap does not go with a plan: precision says when a study stops"),
        ({"precision": 0.1, "tol": 0.1}, ValueError, "precision and tol take each other's place"),
        ({"precision": -1.0}, ValueError, "precision is -1: it must be a positive number"),
        ({"protection": {"epsilon": 1.0}}, ValueError, "epsilon cannot be kept in a study by a plan"),
        ({"users": None}, TypeError, "users is missing"),
        ({"users": ["a", "a"]}, ValueError, "two users are called"),
        ({"plan": folder / "no.plan"}, FileNotFoundError, r"cannot read the plan .*no\.plan"),
        ({"plan": folder / "north.csv"}, ValueError, r"north\.csv: this is not a plan of sgq"),
        ({"read_only": True}, ValueError, "give its path alone"),
        ({"plan": None, "precision": 0.1}, ValueError, "there is no plan: precision is for a study by a plan"),
    ]:
        with pytest.raises(error, match=message):
            sgq.open(folder / "study.sgq", **{"plan": folder / "model.plan", "users": NAMES, **given})
        assert not (folder / "study.sgq").exists()
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        sgq.open(folder / "study.sgq")


def test_lines_are_looked_at(folder):
    """What is no answer is recorded, refused and changes nothing."""
    with clinics(folder) as answering, opened(folder) as ledger:
        north, south = ledger.ask_many(2)
        line = answering["north"].answer(north.line).line
        unknown = json.dumps({**json.loads(line), "ticket": 99})
        nameless = {key: value for key, value in json.loads(line).items() if key != "user"}
        for sent, sender, message in [
            (line, "south", 'in the name of "north", and was sent by "south"'),
            (line, 1, 'in the name of "north", and was sent by "south"'),
            (json.dumps(nameless), "south", "is for north, and not for south"),
            (unknown, "north", "no question has the ticket 99"),
            (line[:40], "north", "it is not JSON"),
            ("[1, 2]", "north", "not a JSON object"),
            ('{"gradient": [1.0]}', "north", 'it has no "ticket"'),
            (json.dumps({**json.loads(line), "user": "nobody"}), "north", 'the user "nobody" is not in the ledger'),
            (json.dumps({"ticket": north.ticket[1], "gradient": [1.0]}), "north", "the question asks for a summary, and this is a gradient"),
            (json.dumps({"ticket": south.ticket[1], "error": "no"}), "north", "which is not out to it"),
            (json.dumps({"ticket": 7, "error": "no"}), None, "which is not out to it"),
        ]:
            before = len(ledger.history())
            with pytest.raises(ValueError, match=message):
                ledger.tell_line(sent, sender)
            [refused] = ledger.history()[before:]
            assert refused["kind"] == "refused" and message in refused["words"]
        with pytest.raises(ValueError, match='there is no user "nort"; did you mean "north"'):
            ledger.tell_line(line, "nort")
        with pytest.raises(ValueError, match="hold and accepted do not go together"):
            ledger.tell_line(line, accepted=True, hold=True)
        assert len(ledger.pending()) == 4
        assert ledger.tell_line(json.dumps({"ticket": north.ticket[1], "error": "the database is down"}), "north") == "the database is down"
        last = ledger.history()[-1]
        assert (last["kind"], last["user"], last["words"]) == ("noted", "north", f"question {north.ticket[1]}: it said: the database is down")
        assert len(ledger.pending()) == 4
        with pytest.raises(ValueError, match="the question asks for a summary, and this is a gradient"):
            ledger.tell(north, [1.0])
        # A line that says who has sent it needs nobody else to say so; and it may come twice.
        assert ledger.tell_line(line) is None
        assert ledger.tell_line(line, "north") is None
        assert ledger.history()[-1]["words"] == "the same answer came again"
        assert [query.name for query in ledger.pending()] == NAMES[1:]


def test_gradients_can_be_told_as_arrays(folder):
    with clinics(folder) as answering, opened(folder) as ledger:
        answer_all(ledger, answering, 4)
        query = ledger.ask()
        assert query.wants == "gradient" and query.point.shape == (3,)
        ledger.tell(query, json.loads(answering[query.name].answer(query.line).line)["gradient"])
        assert ledger.queries == 1
        with pytest.raises(ValueError, match="in a study by a plan weights follow from the first answers"):
            ledger.tell(ledger.ask(), [0.0, 0.0, 0.0], weight=3.0)


def test_whoever_refuses_the_first_question_is_named(folder):
    words = "fewer rows are used than the plan asks for, which is at least 10"
    rows = (folder / "west.csv").read_text().splitlines()
    (folder / "west.csv").write_text("\n".join(rows[:6]) + "\n")
    with clinics(folder) as answering, opened(folder) as ledger:
        for query in ledger:
            said = ledger.tell_line(answering[query.name].answer(query.line).line, query.name)
            assert said == (words if query.name == "west" else None)
            if said:
                ledger.fail(query, said)
        assert ledger.refusals() == [("west", words)]
        assert (ledger.ask(), ledger.stop_reason, ledger.result(), ledger.queries) == (None, None, None, 0)
    assert ledger.refusals() == [("west", words)]
    with sgq.open(folder / "study.sgq", read_only=True) as reading:
        assert reading.refusals() == []
    # Opening it again asks again, and the others have answered.
    with clinics(folder) as answering, opened(folder) as ledger:
        assert [query.name for query in ledger.pending()] == ["west"]
        ledger.leave("west", "too few rows")
        asked = answer_all(ledger, answering)
        assert {name for name, _ in asked} == set(NAMES) - {"west"}
        assert ledger.result().users == 3


def test_whose_questions_fail_again_and_again_is_named(folder):
    with clinics(folder) as answering, opened(folder) as ledger:
        for query in ledger:
            if query.name == "east" and query.wants == "gradient":
                ledger.fail(query, "the line is dead")
            else:
                assert ledger.tell_line(answering[query.name].answer(query.line).line, query.name) is None
        [(name, words)] = ledger.failing()
        assert name == "east" and words.startswith("failing since question ")
        assert ledger.ask() is None and ledger.stop_reason is None
        assert ledger.result().converged is not True
        with sgq.open(folder / "study.sgq", read_only=True) as reading:
            assert reading.failing() == [(name, words)]
    assert ledger.failing() == [(name, words)]
    with clinics(folder) as answering, opened(folder) as ledger:
        assert ledger.failing() == []
        answer_all(ledger, answering)
        assert ledger.result().converged is True


def test_results_are_those_of_the_command_line(folder):
    """`GlmResult.from_json` reads what `to_json` has, and other standard errors can be had."""
    with clinics(folder) as answering, opened(folder) as ledger:
        answer_all(ledger, answering)
        result, clustered = ledger.result(), ledger.result(errors="clustered")
        with pytest.raises(ValueError, match='errors is "robust": it must be "model" or "clustered"'):
            ledger.result("robust")
    result.to_json(folder / "model.json")
    again = sgq.GlmResult.from_json(folder / "model.json")
    assert list(again.params) == list(result.params) and again.fit == result.fit
    assert list(clustered.params) == list(result.params)
    assert list(clustered.bse) != list(result.bse) and clustered.std_error_kind.startswith("clustered")
    assert (result.fit["plan"], result.fit["closed"], result.fit["first_answers"]) == (ledger.plan, True, 4)
    assert "died" in result.to_html() and len(result.influence) == 4


def test_without_the_closing_question_standard_errors_are_approximate(folder):
    with clinics(folder) as answering, opened(folder, close=False) as ledger:
        assert {wants for _, wants in answer_all(ledger, answering)} == {"summary", "gradient"}
        assert ledger.result().fit["closed"] is False


def test_a_study_of_an_earlier_version_goes_on(tmp_path):
    fixture = Path(__file__).parents[2] / "crates/sgq-ledger/tests/fixtures/study-2.sgq"
    path = shutil.copy(fixture, tmp_path / "study.sgq")
    for read_only in [True, False]:
        with sgq.open(path, read_only=read_only) as ledger:
            assert ledger.queries == 18 and ledger.result().users == 12
            assert [query.wants for query in ledger.pending()] == ["gradient"]


def test_minimize_is_not_for_studies(folder):
    opened(folder).close()
    functions = [lambda x: x] * 4
    for x0, message in [(None, "is a study by a plan, whose users answer with lines"), ([0.0], "x0 does not go with a plan")]:
        with pytest.raises(ValueError, match=message):
            sgq.minimize(functions, x0, ledger=folder / "study.sgq")
    opened(folder).close()


def test_what_was_saved_of_a_study_goes_on(folder):
    with clinics(folder) as answering:
        with opened(folder) as ledger:
            answer_all(ledger, answering, 11)
        sgq.recover(folder / "study.sgq", folder / "saved.sgq")
        with sgq.open(folder / "saved.sgq") as saved:
            assert saved.queries == saved.queries_per_user.sum() == 7
            answer_all(saved, answering)
            assert saved.result().converged is True


def test_questions_to_everybody_are_out_at_once(folder):
    with opened(folder) as ledger:
        assert [query.name for query in ledger.ask_many(2)] == NAMES[:2]
        assert ledger.ask_many(2) == []
        assert [query.name for query in ledger.pending()] == NAMES


def test_questions_can_be_pickled(folder):
    with opened(folder) as ledger:
        query = ledger.ask()
        same = pickle.loads(pickle.dumps(query))
        assert (same.line, same.wants, same.name, same.ticket, same.point.size) == (query.line, "summary", "north", query.ticket, 0)


def test_other_ledgers_have_lines_too(tmp_path):
    with sgq.open(tmp_path / "study.sgq", "frugal", users=USERS, budget=20, **SETTINGS) as ledger:
        assert ledger.plan is None and ledger.failing() == [] and ledger.refusals() == []
        with pytest.raises(ValueError, match=r"study\.sgq is of no plan, and has no coefficients with names"):
            ledger.result()
        query = ledger.ask()
        question = json.loads(query.line)
        assert question == {"ticket": 0, "user": query.name, "point": [5.0, -3.0], "wants": ["gradient"]}
        answer = json.dumps({"ticket": 0, "user": query.name, "gradient": [1.0, -1.0]})
        assert ledger.tell_line(answer, query.user, hold=True) is None
        assert ledger.held == [0] and ledger.queries == 0
        ledger.tell_held(0)
        assert ledger.queries == 1
        far = json.dumps({"ticket": ledger.ask().ticket[1], "gradient": [1e12, 0.0]})
        with pytest.raises(ValueError, match="accepted=True"):
            ledger.tell_line(far)
        with pytest.warns(RuntimeWarning, match="taken and is odd"):
            ledger.tell_line(far, accepted=True)
        assert ledger.queries == 2
    session = sgq.Session("frugal", users=6, **SETTINGS)
    assert session.ask().line is None
