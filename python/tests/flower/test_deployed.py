"""Federations of real processes: the same bytes as without a network, whatever is killed on the way."""

import time
from pathlib import Path

import numpy as np
import pytest

import sgq

APP = Path(__file__).parent / "app"
NAMES = ["north", "south", "west"]
# Seconds until the next question has been sent. A node that has half of one waits a minute for the rest, when nobody is there to send it.
ON_ITS_WAY = 1.0
CENTRES = np.array([[2.0, 0.5], [1.0, -1.0], [-1.0, 3.0]])


def here(budget):
    """The run without a network."""
    users = [lambda x, number=number: (1.0 + number) * (x - CENTRES[number]) for number in range(3)]
    settings = {"smoothness": [1.0, 2.0, 3.0], "seed": 7, "tol": None, "answers": "gradient"}
    return sgq.minimize(users, [5.0, 5.0], budget=budget, **settings)


def deployed(tmp_path_factory, **options):
    from certificates import make_keys
    from deployment import Federation

    federation = Federation(tmp_path_factory.mktemp("federation"), **options)
    make_keys(federation.keys, NAMES)
    federation.start_superlink()
    connect(federation)
    return federation


def connect(federation):
    for number, name in enumerate(NAMES):
        federation.register(name)
        federation.start_node(name, {"user": name, "number": number})
    federation.wait_online(*NAMES)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A federation whose SuperLink keeps its state in a file."""
    with deployed(tmp_path_factory, database=True) as federation:
        yield federation


def start(federation, ledger, budget, **config):
    return federation.run(APP, {"ledger": str(ledger), "users": ",".join(NAMES), "budget": budget, **config})


def finish(federation, run, timeout=150):
    assert federation.wait(run, timeout) == "finished:completed", federation.run_log(run)


def look(ledger):
    return sgq.open(ledger, read_only=True)


def wait_for(ledger, queries, timeout=90):
    """Until so many answers are on the disk."""
    end = time.monotonic() + timeout
    while not ledger.exists() or look(ledger).queries < queries:
        assert time.monotonic() < end, f"no {queries} answers after {timeout} s"
        time.sleep(0.1)


def points_asked(federation):
    """The points that each node was asked at."""
    files = [federation.folder / "nodes" / name / "asked.txt" for name in NAMES]
    return [line for file in files if file.exists() for line in file.read_text().splitlines()]


def is_as_here(ledger, budget):
    """The same users in the same order, and the same bytes."""
    session, expected = look(ledger), here(budget)
    answered = [NAMES.index(event["user"]) for event in session.history() if event["kind"] == "answered"]
    assert session.queries == budget
    assert answered == expected.history["user"].tolist()
    assert session.point.tobytes() == expected.x.tobytes()
    assert session.verify().sound and session.verify().replays


def test_in_flowers_simulation_50_queries_give_the_same_bytes(tmp_path):
    from deployment import Federation

    ledger, users = tmp_path / "study.sgq", "user-0,user-1,user-2"
    with Federation(tmp_path / "federation", simulated_nodes=3) as federation:
        federation.start_superlink()
        run = federation.run(APP, {"ledger": str(ledger), "users": users, "budget": 50})
        finish(federation, run)
    session, expected = look(ledger), here(50)
    answered = [int(event["user"][5:]) for event in session.history() if event["kind"] == "answered"]
    assert answered == expected.history["user"].tolist()
    assert session.point.tobytes() == expected.x.tobytes()


def test_with_node_keys_a_study_survives_its_coordinator_and_the_superlink(lasting, tmp_path):
    """10 queries: after 3 the coordinator is killed, after 6 the SuperLink."""
    ledger = tmp_path / "study.sgq"
    start(lasting, ledger, 10)
    wait_for(ledger, 3)
    time.sleep(ON_ITS_WAY)
    assert lasting.kill_server_app() >= 1
    start(lasting, ledger, 10)
    wait_for(ledger, 6)
    time.sleep(ON_ITS_WAY)
    lasting.kill_superlink()
    lasting.start_superlink()
    run = start(lasting, ledger, 10)
    finish(lasting, run)
    is_as_here(ledger, 10)
    asked = points_asked(lasting)
    # At each of the two kills, one question was out whose answer nobody had seen.
    assert len(asked) <= 12
    assert len({line for line in asked}) <= 10


def test_a_second_coordinator_on_a_ledger_is_refused(lasting, tmp_path):
    ledger = tmp_path / "study.sgq"
    with sgq.open(ledger, users=NAMES, x0=[5.0, 5.0], budget=10):
        run = start(lasting, ledger, 10)
        assert lasting.wait(run, 60) == "finished:failed"
        assert "LedgerInUse" in lasting.run_log(run)


def test_a_node_that_is_killed_is_away_and_comes_back(lasting, tmp_path):
    ledger = tmp_path / "study.sgq"
    run = start(lasting, ledger, 6)
    wait_for(ledger, 3)
    lasting.kill_node("west")
    killed = time.monotonic()
    # Flower takes it for alive for up to a minute. Then its question fails, and the others are asked.
    finish(lasting, run, 200)
    events = [(event["kind"], event["user"]) for event in look(ledger).history()]
    if ("away", "west") not in events:
        pytest.fail(f"west was not missed within {time.monotonic() - killed:.0f} s: {events}")
    assert look(ledger).queries == 6
    lasting.restart_node("west")
    with sgq.open(ledger) as session:
        session.extend(4)
    finish(lasting, start(lasting, ledger, 6))
    events = [(event["kind"], event["user"]) for event in look(ledger).history()]
    assert ("back", "west") in events
    assert ("answered", "west") in events[events.index(("back", "west")) :]
    assert look(ledger).queries == 10


def test_a_superlink_without_a_database_forgets_and_the_ledger_does_not(tmp_path_factory, tmp_path):
    ledger = tmp_path / "study.sgq"
    with deployed(tmp_path_factory) as federation:
        start(federation, ledger, 5)
        wait_for(ledger, 2)
        time.sleep(ON_ITS_WAY)
        federation.kill_superlink()
        federation.start_superlink()
        # The nodes have ended by themselves: nobody knows them any more.
        end = time.monotonic() + 60
        while any(federation.processes[name].poll() is None for name in NAMES):
            assert time.monotonic() < end
            time.sleep(0.2)
        connect(federation)
        finish(federation, start(federation, ledger, 5))
        is_as_here(ledger, 5)
