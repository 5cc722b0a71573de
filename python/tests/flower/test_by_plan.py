"""A study by a plan over Flower: the same as over pipes and folders, and what keeps it from ending well."""

import logging

import numpy as np
import pytest
from flwr.clientapp import ClientApp
from grid import Loopback, Node, federation
from studies import NAMES, answer_all, clinics, make, opened

import sgq
import sgq.flower


@pytest.fixture
def folder(tmp_path):
    make(tmp_path)
    return tmp_path


def configured(folder, name, **more):
    return {"user": name, "plan": str(folder / "model.plan"), "data": str(folder / f"{name}.csv"), **more}


def nodes(folder, **more):
    """A node for each clinic, with its own configuration."""
    app = ClientApp()
    sgq.flower.clinic(app)
    return Loopback({300 - number: Node(app, configured(folder, name, **more)) for number, name in enumerate(NAMES)})


def test_the_same_bytes_as_without_a_network(folder):
    with clinics(folder, log=False) as answering, sgq.open(folder / "here.sgq", plan=folder / "model.plan", users=NAMES) as ledger:
        asked = answer_all(ledger, answering)
        expected = ledger.result()
    grid = nodes(folder)
    with opened(folder) as ledger:
        result = sgq.flower.run(grid, ledger)
    assert isinstance(result, sgq.GlmResult)
    assert list(result.params) == list(expected.params) and list(result.bse) == list(expected.bse)
    assert grid.asked() == [name for name, _ in asked]
    assert result.converged


def test_an_interrupted_study_goes_on_and_the_clinics_logs_say_so(folder):
    def stop(session):
        if session.queries == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), opened(folder) as ledger:
        sgq.flower.run(nodes(folder), ledger, callback=stop)
    with opened(folder) as ledger:
        result = sgq.flower.run(nodes(folder), ledger)
    with clinics(folder) as answering:
        assert dict(result.queries_per_user) == {name: answering[name].given[0] for name in NAMES}
    assert result.converged


def test_in_a_simulation_the_configuration_comes_from_a_function(folder):
    app = ClientApp()
    sgq.flower.clinic(app, of=lambda context: configured(folder, NAMES[context.node_config["partition-id"]], log=False))
    with opened(folder) as ledger:
        assert sgq.flower.run(federation(app, parts=len(NAMES)), ledger).converged


def test_a_clinic_that_may_not_answer_so_often_refuses_in_its_own_words(folder):
    with opened(folder) as ledger:
        grid = nodes(folder)
        # Its rows change in the middle of the study.
        def change(session):
            if session.queries == 3:
                data = folder / f"{NAMES[0]}.csv"
                data.write_bytes(data.read_bytes() + data.read_bytes().splitlines()[-1] + b"\n")

        with pytest.raises(sgq.flower.Stalled, match=f"{NAMES[0]}.*file has changed since the first answer"):
            sgq.flower.run(grid, ledger, callback=change, wait=0.0)


def test_an_absent_clinic_is_waited_for_by_name_and_the_study_goes_on_later(folder):
    grid = nodes(folder)
    away = next(number for number, node in grid.nodes.items() if node.config["user"] == NAMES[1])
    grid.kill(away)
    with opened(folder) as ledger, pytest.raises(sgq.flower.Stalled, match=f"not connected after 0.05 s, and nobody else can be asked: {NAMES[1]}"):
        sgq.flower.run(grid, ledger, patience=0.05)
    with opened(folder) as ledger:
        assert [user for user in (row["user"] for row in ledger.history()) if user == NAMES[0]]
        assert sgq.flower.run(nodes(folder), ledger).converged


def test_a_line_of_another_question_is_no_answer(folder):
    grid = nodes(folder)
    node = next(node for node in grid.nodes.values() if node.config["user"] == NAMES[0])
    app, first = node.app, []

    def repeats(message, context):
        reply = app(message, context)
        if message.metadata.message_type == "query.gradient":
            first.append(reply.content["sgq"]["answer"])
            reply.content["sgq"]["answer"] = first[min(len(first) - 1, 1)]
        return reply

    node.app = repeats
    with opened(folder, open=3) as ledger, pytest.raises(sgq.flower.Stalled, match=f"{NAMES[0]}: it answers question"):
        sgq.flower.run(grid, ledger, wait=0.0)
    with sgq.open(folder / "study.sgq", read_only=True) as ledger:
        assert ledger.queries < 40


def test_a_clinic_slower_than_the_timeout_takes_part_in_what_everybody_is_asked(folder):
    grid = nodes(folder)
    next(node for node in grid.nodes.values() if node.config["user"] == NAMES[3]).slow = 30
    with opened(folder) as ledger:
        first = sgq.flower.run(grid, ledger, timeout=0.05, retries=100, wait=0.0, callback=lambda session: session.queries >= 1)
    assert first is not None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"plan": ""}, "its node's configuration has no plan: it takes user, plan and data"),
        ({"data": "nowhere.csv"}, "FileNotFoundError in its app: its node's log has the rest"),
        ({"clip": 1.0}, "ValueError in its app"),
    ],
)
def test_a_node_that_is_configured_wrongly_is_told_apart(folder, config, words):
    grid = nodes(folder)
    node = next(node for node in grid.nodes.values() if node.config["user"] == NAMES[2])
    node.config.update(config)
    with opened(folder) as ledger:
        with pytest.raises(sgq.flower.Stalled, match=NAMES[2]):
            sgq.flower.run(grid, ledger, patience=0.1, wait=0.0)
        assert words in str([event["words"] for event in ledger.history()])


def test_an_app_of_the_other_kind_says_what_it_is(folder, tmp_path):
    with sgq.open(tmp_path / "points.sgq", users=NAMES, x0=np.zeros(2), budget=10) as session:
        sgq.flower.run(nodes(folder), session, retries=0)
        assert "it answers by a plan, and the coordinator's session has none" in str(session.failures())


def test_questions_to_everybody_are_called_by_what_they_are(folder, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    with caplog.at_level(logging.INFO, "flwr"), opened(folder) as ledger:
        sgq.flower.run(nodes(folder), ledger)
    answered = [line.split(":")[0] for line in caplog.messages if " answered" in line]
    assert answered.count("the first question") == answered.count("the closing question") == len(NAMES)
    assert answered[len(NAMES)] == "question 0"
