"""Clinics that answer by a plan."""

import gc
import json
import shutil

import pytest
from studies import NAMES, answer_all, clinics, make, opened, write_plan

import sgq


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    make(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "study")


def north(folder, **options):
    return sgq.Clinic(folder / "model.plan", folder / "north.csv", "north", **options)


@pytest.fixture
def first(folder):
    """The first question to north."""
    with opened(folder) as ledger:
        return ledger.ask().line


def test_a_clinic_says_what_it_discloses(folder, first):
    with north(folder) as clinic:
        assert (clinic.name, clinic.log, clinic.given) == ("north", folder / "north.csv.north.answers.log", (0, 0))
        reply = clinic.answer(first)
        assert reply.outcome == "answered" and repr(reply).startswith("<sgq.ClinicReply, answered: the first question: ")
        assert json.loads(reply.line)["summary"]["rows"] == 60
        assert "60 rows used" in reply.words and reply.public_words == reply.words
        again = clinic.answer(first)
        assert (again.outcome, again.line) == ("again", reply.line)
        assert "0 answers at points" in repr(clinic)
    assert "closed" in repr(clinic)
    for use in [lambda: clinic.answer(first), lambda: clinic.given]:
        with pytest.raises(ValueError, match="the clinic north is closed"):
            use()
    clinic.close()
    # The log knows it after a restart.
    with north(folder) as clinic:
        assert clinic.answer(first).outcome == "again"


def test_a_clinic_refuses_what_the_plan_does_not_allow(folder, first):
    with north(folder) as clinic:
        for line, message in [
            ("{}", "no \"ticket\""),
            ("no question", "not JSON"),
            (first.replace('"north"', '"south"'), "it is for south, and this is north"),
            (first.replace('"plan":"', '"plan":"0'), "everybody needs the same file"),
        ]:
            reply = clinic.answer(line)
            assert reply.outcome == "refused" and message in json.loads(reply.line)["error"] and message in reply.public_words
        assert clinic.given == (0, 0)
    rows = (folder / "north.csv").read_text().splitlines()
    (folder / "north.csv").write_text("\n".join(rows[:8]) + "\n")
    with north(folder) as clinic:
        reply = clinic.answer(first)
    # How few rows there are is for their owner alone.
    assert "7" in reply.words.removeprefix(reply.public_words)
    assert reply.words != reply.public_words and reply.outcome == "refused"


def test_answers_at_points_are_counted(folder):
    with clinics(folder) as answering, opened(folder) as ledger:
        asked = answer_all(ledger, answering)
        for name in NAMES:
            assert answering[name].given == (asked.count((name, "gradient")), 1)
    with clinics(folder) as answering:
        assert answering["north"].given == (asked.count(("north", "gradient")), 1)


def test_the_log_is_of_one_clinic_at_a_time(folder, first):
    clinic = north(folder)
    with pytest.raises(RuntimeError, match=r"north\.answers\.log is in use by another program"):
        north(folder)
    del clinic
    gc.collect()
    north(folder).close()
    with north(folder), north(folder, log=folder / "mine.log") as other:
        assert other.answer(first).outcome == "answered"
    assert (folder / "mine.log").read_text().count("\n") == 1
    with north(folder, log=False) as one, north(folder, log=False) as two:
        assert one.log is None and one.answer(first).outcome == two.answer(first).outcome == "answered"
    with north(folder, log=False) as nobody:
        assert nobody.answer(first).outcome == "answered"


def test_what_is_no_clinic_is_said(folder):
    (folder / "odd.csv").write_text("age,died\n1,yes\n")
    (folder / "broken.log").write_text("no answer\n{}\n")
    write_plan(folder / "later.plan", format=9)
    usual = {"plan": folder / "model.plan", "data": folder / "north.csv", "name": "north"}
    for changed, error, message in [
        ({"data": folder / "no.csv"}, FileNotFoundError, r"no\.csv"),
        ({"data": folder / "odd.csv"}, ValueError, r"odd\.csv.*sex"),
        ({"data": folder}, OSError, "study"),
        ({"plan": folder / "no.plan"}, FileNotFoundError, r"cannot read the plan .*no\.plan"),
        ({"plan": folder / "all.csv"}, ValueError, "this is not a plan of sgq"),
        ({"plan": folder / "later.plan"}, ValueError, "the plan has format 9"),
        ({"clip": 1.0}, ValueError, "clip and noise go together"),
        ({"clip": 1.0, "noise": -1.0}, ValueError, "the noise is -1: it must be a positive number"),
        ({"name": " north"}, ValueError, "a name has no blanks before or after it"),
        ({"log": folder / "none" / "a.log"}, FileNotFoundError, r"a\.log cannot be opened"),
        ({"log": folder / "broken.log"}, ValueError, r"line 1 of the log .*broken\.log is damaged"),
        ({"log": True}, TypeError, "log is True: give a path, False to keep it in memory"),
        ({"log": 3}, TypeError, "int"),
    ]:
        with pytest.raises(error, match=message):
            sgq.Clinic(**{**usual, **changed})


def test_noise_is_stated(folder):
    with clinics(folder, clip=1.0, noise=0.05) as answering, opened(folder, budget=8, close=False) as ledger:
        answer_all(ledger, answering)
        assert all(account["epsilon"] is not None for account in ledger.accounts() if account["answers"])
        assert any("clipped rows and added noise" in note for note in ledger.result().fit["warnings"])
