"""Each fault and its policy, in one process; test_deployed.py watches those that need processes."""

import numpy as np
import pytest

import sgq
import sgq.flower
from grid import CENTRES, Node, federation, gradient, number_of, quadratic_app
from flwr.clientapp import ClientApp

SETTINGS = {"x0": [5.0, 5.0], "smoothness": [1.0, 2.0, 3.0, 4.0], "seed": 7, "budget": 40, "tol": None}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Waits that fit into a test."""
    monkeypatch.setattr("sgq.flower._nodes.LOOK_PERIOD", 0.0)
    monkeypatch.setattr("sgq.flower._nodes.FIRST_HELLO_PAUSE", 0.02)
    monkeypatch.setattr("sgq.flower._nodes.NAMES_POLL_PERIOD", 0.001)
    monkeypatch.setattr("sgq.flower._asking.SHORTEST_POLL", 0.0005)
    monkeypatch.setattr("sgq.flower._asking.LONGEST_POLL", 0.002)


def here(**settings):
    """The same session without a network."""
    users = [lambda x, number=number: gradient(number, x) for number in range(4)]
    return sgq.minimize(users, answers="gradient", **{**SETTINGS, **settings})


def ledger(tmp_path, **settings):
    return sgq.open(tmp_path / "study.sgq", users=4, **{**SETTINGS, **settings})


@pytest.mark.parametrize("method", [None, "sgq", "saga", "shuffled + saga"])
def test_the_same_users_in_the_same_order_and_the_same_bytes(tmp_path, method):
    step = {} if method is None else {"step_size": 0.05}
    expected = here(method=method, **step)
    with ledger(tmp_path, method=method, **step) as session:
        result = sgq.flower.run(federation(), session)
    assert result.history["user"].tolist() == expected.history["user"].tolist()
    assert result.x.tobytes() == expected.x.tobytes()
    assert (result.queries, result.status) == (expected.queries, expected.status)
    in_memory = sgq.flower.run(federation(), sgq.Session(method, users=4, **SETTINGS, **step))
    assert in_memory.x.tobytes() == expected.x.tobytes()


def test_in_order_the_time_that_answers_take_does_not_matter(tmp_path):
    def run(slow, **how):
        grid = federation()
        for node, looks in zip(grid.nodes.values(), slow):
            node.slow = looks
        with sgq.open(tmp_path / f"{slow}{how}.sgq", "saga", users=4, step_size=0.05, open=3, **SETTINGS) as session:
            return sgq.flower.run(grid, session, **how).x.tobytes()

    assert run((0, 1, 2, 3), in_order=True) == run((3, 0, 5, 1), in_order=True)
    assert run((0, 1, 2, 3)) != run((3, 0, 5, 1))


def test_in_order_works_in_memory_too():
    grid = federation()
    grid.nodes[number_of(grid, 0)].slow = 4
    settings = {"users": 4, "step_size": 0.05, "open": 3, **SETTINGS}
    one = sgq.flower.run(grid, sgq.Session("saga", **settings), in_order=True)
    other = sgq.flower.run(federation(), sgq.Session("saga", **settings), in_order=True)
    assert one.x.tobytes() == other.x.tobytes()


def test_another_run_goes_on_at_the_same_question_and_asks_nobody_again(tmp_path):
    expected = here()
    seen = []

    def stop(session):
        if session.queries == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupt, ledger(tmp_path) as session:
        sgq.flower.run(federation(quadratic_app(seen)), session, callback=stop)
    assert interrupt.value.session.queries == 11
    with ledger(tmp_path) as session:
        result = sgq.flower.run(federation(quadratic_app(seen), first=900), session)
    assert result.x.tobytes() == expected.x.tobytes()
    assert seen == expected.history["user"].tolist()


def test_two_coordinators_on_one_ledger_are_refused(tmp_path):
    with ledger(tmp_path), pytest.raises(sgq.LedgerInUse):
        ledger(tmp_path)


def test_a_node_that_is_killed_with_a_question_is_away_and_back_when_it_comes_back(tmp_path):
    grid = federation()
    number = number_of(grid, 2)
    node = grid.nodes[number]

    def watch(session):
        # It has a question when it goes; it comes back with another number.
        if session.queries == 12:
            grid.plan[grid.looks + 2] = lambda: grid.kill(number)
            node.slow = 3
        if session.queries == 24:
            node.slow = 0
            grid.nodes[5] = node

    with ledger(tmp_path, open=4) as session:
        result = sgq.flower.run(grid, session, callback=watch)
        record = [(event["kind"], event["words"]) for event in session.history() if event["user"] == "user-2"]
    assert ("away", "not connected") in record and ("back", "connected") in record
    assert result.queries == 40 and record[-1][0] in ("answered", "asked")
    away = record.index(("away", "not connected"))
    assert not any(kind == "asked" for kind, _ in record[away : record.index(("back", "connected"))])


def test_a_run_takes_back_whoever_was_away_in_an_earlier_one_for_lack_of_a_connection(tmp_path):
    grid = federation()
    grid.kill(number_of(grid, 1))
    with ledger(tmp_path) as session:
        session.away("user-3", "holidays")
        sgq.flower.run(grid, session, patience=0.05, callback=lambda session: session.queries == 5)
        assert {event["user"] for event in session.history() if event["kind"] == "away"} == {"user-1", "user-3"}
    with ledger(tmp_path) as session:
        sgq.flower.run(federation(), session, callback=lambda session: session.queries == 25)
        asked = {event["user"] for event in session.history()[-30:] if event["kind"] == "asked"}
    assert "user-1" in asked and "user-3" not in asked


@pytest.mark.parametrize("what", ["crash", "raise", "nan", "short", "other name"])
def test_what_is_no_answer_is_asked_for_again_and_then_fails(tmp_path, what):
    app = ClientApp()
    wrong = {"left": 4}

    @sgq.flower.user(app)
    def answer(x, context):
        number = context.node_config["partition-id"]
        if number == 1 and wrong["left"] > 0 and what not in ("crash", "other name"):
            wrong["left"] -= 1
            if what == "raise":
                raise KeyError("the name of a patient")
            return {"nan": [np.nan, 1.0], "short": [1.0]}[what]
        return gradient(number, x)

    grid = federation(app)
    node = grid.nodes[number_of(grid, 1)]
    if what == "crash":
        node.next.extend(["crash"] * 4)
    if what == "other name":
        def in_another_name(message, context):
            reply = app(message, context)
            if message.metadata.message_type == "query.gradient" and wrong["left"] > 0:
                wrong["left"] -= 1
                reply.content["sgq"]["user"] = "user-0"
            return reply
        node.app = in_another_name
    with ledger(tmp_path) as session:
        result = sgq.flower.run(grid, session, wait=0.001)
        assert [(user, times) for user, times, _ in session.failures()] == [(1, 1)]
        text = str([event["words"] for event in session.history()]) + str(session.failures())
    assert "patient" not in text and "tried 3 times" in text
    assert result.queries == 40 and result.queries_per_user[1] > 0


def test_words_of_a_refusal_reach_the_record_and_those_of_other_exceptions_do_not(tmp_path):
    app = ClientApp()

    @sgq.flower.user(app)
    def answer(x, context):
        if context.node_config["partition-id"] == 0:
            raise sgq.flower.Refusal("the database is down")
        raise ValueError("the name of a patient")

    with ledger(tmp_path) as session:
        result = sgq.flower.run(federation(app), session, wait=0.001)
        text = str(session.history())
    assert result.status == "nobody answers" and result.queries == 0
    assert "the database is down" in text and "ValueError in its app" in text and "patient" not in text


def test_a_user_that_always_fails_does_not_stop_the_others(tmp_path):
    app = ClientApp()

    @sgq.flower.user(app)
    def answer(x, context):
        if context.node_config["partition-id"] == 3:
            raise OSError("disk")
        return gradient(context.node_config["partition-id"], x)

    with ledger(tmp_path) as session:
        result = sgq.flower.run(federation(app), session, wait=0.0, retries=0)
    assert result.queries == 40 and result.queries_per_user[3] == 0
    assert result.failures[0][0] == 3


def test_an_answer_that_comes_late_is_taken(tmp_path):
    grid = federation()
    node = grid.nodes[number_of(grid, 0)]
    node.next.clear()

    def watch(session):
        node.slow = 60 if session.queries == 8 else 0

    with ledger(tmp_path) as session:
        result = sgq.flower.run(grid, session, timeout=0.03, callback=watch)
        kinds = [event["kind"] for event in session.history()]
    assert "failed" in kinds and "late" in kinds
    assert result.queries == 40


def test_a_lost_message_fails_after_its_time_and_somebody_else_is_asked(tmp_path):
    grid = federation()
    grid.nodes[number_of(grid, 2)].next.append("lose")
    with ledger(tmp_path) as session:
        result = sgq.flower.run(grid, session, timeout=0.05)
        words = [event["words"] for event in session.history() if event["kind"] == "failed"]
    assert words == ["no answer after 0.05 s"] and result.queries == 40


def test_nobody_connected_is_said_with_names(tmp_path):
    grid = federation()
    for number in list(grid.nodes):
        grid.kill(number)
    with ledger(tmp_path) as session, pytest.raises(sgq.flower.Stalled, match="nobody is connected after 0.05 s.*user-0, user-1") as error:
        sgq.flower.run(grid, session, patience=0.05)
    assert error.value.session is session


def test_everybody_going_is_waited_for_and_then_said(tmp_path):
    grid = federation()

    def watch(session):
        if session.queries == 5:
            for number in list(grid.nodes):
                grid.kill(number)

    with ledger(tmp_path) as session, pytest.raises(sgq.flower.Stalled, match="not connected after 0.1 s"):
        sgq.flower.run(grid, session, patience=0.1, callback=watch)
    assert [event["kind"] for event in sgq.open(tmp_path / "study.sgq", read_only=True).history()].count("waited") <= 1
    with ledger(tmp_path) as session:
        assert sgq.flower.run(federation(), session).queries == 40


def test_strangers_and_doubles_are_not_asked(tmp_path):
    grid = federation()
    grid.nodes[201] = Node(quadratic_app(), {"partition-id": 9, "num-partitions": 4})
    grid.nodes[202] = Node(quadratic_app(), {"partition-id": 3, "num-partitions": 4})
    with ledger(tmp_path) as session:
        result = sgq.flower.run(grid, session)
        notes = str([event["words"] for event in session.history() if event["kind"] == "noted"])
    assert "node 201 is of 'user-9', who is no user of this session" in notes
    assert "node 202 is of 'user-3', and so is node 107: it is asked where that one does not answer" in notes
    assert result.x.tobytes() == here().x.tobytes()
    assert not {201, 202} & {message.metadata.dst_node_id for message in grid.sent if message.metadata.message_type == "query.gradient"}


def test_whoever_was_registered_by_a_name_cannot_speak_in_another(tmp_path):
    grid = federation()
    impostor, real = grid.nodes[number_of(grid, 3)], number_of(grid, 0)
    impostor.config = {"user": "user-0"}
    for node in grid.nodes.values():
        node.registered = f"user-{node.config.get('partition-id', 3)}"
    with ledger(tmp_path) as session:
        sgq.flower.run(grid, session, retries=0)
        failures, counts = session.failures(), session.queries_per_user
    assert counts[3] == 0 and counts[0] > 0
    assert "the question is for 'user-3', and this is 'user-0'" in failures[0][2]
    asked = [message for message in grid.sent if message.metadata.message_type == "query.gradient"]
    assert {message.metadata.dst_node_id for message in asked if message.content["sgq"]["user"] == "user-0"} == {real}
    assert not any(message.metadata.message_type == "query.hello" for message in grid.sent)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"timeout": 0}, "timeout is 0: it must be a number of seconds, more than 0"),
        ({"wait": -1}, "wait is -1: it must be a number of seconds, 0 or more"),
        ({"ttl": 10, "timeout": 20}, "Flower would forget"),
        ({"retries": -1}, "retries is -1"),
        ({"patience": float("nan")}, "patience is nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, how, message):
    with ledger(tmp_path) as session, pytest.raises(ValueError, match=message):
        sgq.flower.run(federation(), session, **how)


def test_a_node_without_a_registered_name_is_not_believed_where_others_have_one(tmp_path):
    grid = federation()
    real = grid.kill(number_of(grid, 0))
    for node in grid.nodes.values():
        node.registered = f"user-{node.config['partition-id']}"
    grid.nodes[5] = Node(quadratic_app(), {"partition-id": 0, "num-partitions": 4})
    with ledger(tmp_path) as session:
        sgq.flower.run(grid, session, patience=0.05)
        notes = str([event["words"] for event in session.history() if event["kind"] == "noted"])
    assert "node 5 was not registered by a name, and others were" in notes and real is not None
    assert 5 not in {message.metadata.dst_node_id for message in grid.sent if message.metadata.message_type == "query.gradient"}


def test_who_has_given_all_that_it_may_is_left_alone_when_it_connects_again(tmp_path):
    grid = federation()
    number = number_of(grid, 1)

    def watch(session):
        if session.queries == 9:
            grid.nodes[7] = grid.kill(number)

    with sgq.open(tmp_path / "study.sgq", users=4, protection={"answers_each": 2}, **SETTINGS) as session:
        sgq.flower.run(grid, session, callback=watch, patience=0.1)
        assert session.queries == 8 and all(session.queries_per_user == 2)
    with sgq.open(tmp_path / "study.sgq") as session:
        assert sgq.flower.run(federation(), session, patience=0.1).queries == 8


def test_a_person_who_said_away_is_not_overruled_by_a_connection(tmp_path):
    grid = federation()
    number = number_of(grid, 2)

    def watch(session):
        if session.queries == 5:
            session.away("user-2", "holidays")
        if session.queries == 8:
            node = grid.kill(number)
            grid.plan[grid.looks + 20] = lambda: grid.nodes.update({7: node})

    with ledger(tmp_path) as session:
        sgq.flower.run(grid, session, callback=watch)
        events = [(event["kind"], event["words"]) for event in session.history() if event["user"] == "user-2"]
    assert ("away", "holidays") == events[-1]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no archive", b"\x93NUMPY\x01\x00", np.lib.format.magic(1, 0) + b"v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,), }"])
def test_an_array_that_cannot_be_read_is_no_answer_and_stops_nobody(tmp_path, data):
    from flwr.app import Array

    app, left = quadratic_app(), [4]

    def broken(message, context):
        reply = app(message, context)
        if message.metadata.message_type == "query.gradient" and left[0]:
            left[0] -= 1
            reply.content["gradient"]["0"] = Array("float64", (2,), "numpy.ndarray", data)
        return reply

    grid = federation()
    grid.nodes[number_of(grid, 1)].app = broken
    with ledger(tmp_path) as session:
        result = sgq.flower.run(grid, session, wait=0.0)
        assert "an array that cannot be read as numbers" in str(session.failures())
    assert result.queries == 40


def test_a_user_who_never_answered_is_named_where_the_gap_does_not_fall(tmp_path):
    grid = federation()
    grid.nodes[number_of(grid, 3)].config = {"user": "user-33"}
    with ledger(tmp_path) as session:
        result = sgq.flower.run(grid, session, patience=0.05)
    assert "never answered: user-3, without whom the gap may not fall" in result.message and "is of 'user-33'" in result.message
    with ledger(tmp_path) as session:
        before = len(session.history())
        sgq.flower.run(federation(), session)
        assert len(session.history()) == before


def test_noise_that_was_added_at_home_is_in_the_account(tmp_path):
    app = ClientApp()

    @sgq.flower.user(app)
    def answer(x, context):
        return {"gradient": gradient(context.node_config["partition-id"], x), "privacy": (1.0, 2.0)}

    with ledger(tmp_path, budget=8) as session:
        sgq.flower.run(federation(app), session)
        assert all(row["epsilon"] > 0 and row["without_noise"] == 0 for row in session.accounts() if row["answers"])


def test_a_stranger_whose_app_has_no_hello_does_not_keep_a_run_alive(tmp_path):
    grid = federation()
    grid.nodes[1] = Node(ClientApp(), {})

    def watch(session):
        if session.queries == 3:
            for number in [number for number in grid.nodes if number != 1]:
                grid.kill(number)

    with ledger(tmp_path) as session, pytest.raises(sgq.flower.Stalled, match="not connected after 0.2 s"):
        sgq.flower.run(grid, session, patience=0.2, callback=watch)
    with sgq.open(tmp_path / "study.sgq", read_only=True) as session:
        assert [event["kind"] for event in session.history()].count("noted") == 1


def test_a_session_in_memory_can_be_run_again(tmp_path):
    grid, session = federation(), sgq.Session(users=4, **SETTINGS)

    def watch(session):
        if session.queries == 5:
            for number in list(grid.nodes):
                grid.kill(number)

    with pytest.raises(sgq.flower.Stalled):
        sgq.flower.run(grid, session, patience=0.05, callback=watch)
    assert sgq.flower.run(federation(), session).queries == 40


def test_answers_that_came_with_one_at_which_the_callback_raises_are_kept(tmp_path):
    seen = []

    def stop(session):
        if session.queries == 6:
            raise OSError("the disk of the callback is full")

    with pytest.raises(OSError, match="the disk"), ledger(tmp_path, open=4) as session:
        sgq.flower.run(federation(quadratic_app(seen)), session, callback=stop)
    with ledger(tmp_path, open=4) as session:
        sgq.flower.run(federation(quadratic_app(seen)), session)
    # What was out and had not come yet is asked again; what had come is not.
    assert len(seen) <= 40 + 3


def test_a_callback_that_ends_the_run_is_called_once_and_what_is_out_is_taken(tmp_path):
    calls, seen = [], []

    def end(session):
        calls.append(session.queries)
        return session.queries == 10

    with ledger(tmp_path, open=4) as session:
        sgq.flower.run(federation(quadratic_app(seen)), session, callback=end)
        assert calls == list(range(1, 11)) and session.queries == len(seen)


def test_a_session_that_has_stopped_needs_nobody(tmp_path):
    with ledger(tmp_path) as session:
        sgq.flower.run(federation(), session)
        grid = federation()
        grid.nodes.clear()
        assert sgq.flower.run(grid, session).queries == 40


def test_a_second_node_of_a_user_is_asked_where_the_first_does_not_answer(tmp_path):
    grid = federation()
    grid.nodes[number_of(grid, 1)].next.extend(["lose"] * 50)
    with ledger(tmp_path) as session:
        grid.nodes[901] = Node(quadratic_app(), {"partition-id": 1, "num-partitions": 4})
        result = sgq.flower.run(grid, session, timeout=0.05)
    assert result.queries_per_user[1] > 2


def test_names_waits_for_as_many_as_are_wanted():
    assert sgq.flower.names(federation(), at_least=4) == [f"user-{part}" for part in range(4)]
    with pytest.raises(TimeoutError, match="4 users are connected after 0.05 s, and 5 are waited for"):
        sgq.flower.names(federation(), at_least=5, patience=0.05)


def test_what_would_be_of_use_reaches_a_function_with_a_parameter_for_it(tmp_path):
    app, wanted = ClientApp(), set()

    @sgq.flower.user(app)
    def answer(x, context, wants):
        wanted.add(wants)
        number = context.node_config["partition-id"]
        scale = 1.0 + number
        loss = 0.5 * scale * float((x - CENTRES[number]) @ (x - CENTRES[number]))
        return loss, scale * (x - CENTRES[number]), scale * np.eye(2)

    with ledger(tmp_path, answers="hessian", tol="auto") as session:
        result = sgq.flower.run(federation(app), session)
    assert "hessian" in wanted and result.success
    weights = np.arange(1.0, 5.0)
    assert np.allclose(result.x, weights @ CENTRES / weights.sum(), atol=0.05)
    assert result.numbers > 2 * result.queries
