"""`StrategicQuery` where an app has `FedAvg`."""

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from grid import CENTRES, federation, gradient, number_of

import sgq
import sgq.flower

RATE = 0.1
SETTINGS = {"smoothness": [1.0, 2.0, 3.0, 4.0], "seed": 7, "budget": 30, "tol": None}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("sgq.flower._nodes.NAMES_POLL_PERIOD", 0.001)


def an_app(dtype=np.float64, fails=()):
    """An app as for `FedAvg`: one step along the gradient over all rows, of a model of two arrays and a counter."""
    app = ClientApp()
    sgq.flower.introduce(app)

    @app.train()
    def train(message, context):
        number = context.node_config["partition-id"]
        if number in fails:
            raise ValueError("the name of a patient")
        arrays = {name: array.numpy() for name, array in message.content["arrays"].items()}
        x = np.concatenate([arrays["a"].ravel(), arrays["b"]]).astype(float)
        moved = x - RATE * gradient(number, x)
        sent = record(a=moved[:1].reshape(1, 1).astype(dtype), b=moved[1:].astype(dtype), seen=np.asarray(arrays["seen"] + 1))
        metrics = MetricRecord({"loss": float(number), "num-examples": 1})
        content = RecordDict({"arrays": sent, "metrics": metrics})
        return Message(content, reply_to=message)

    return app


def start(dtype=np.float64):
    return record(a=np.full((1, 1), 5, dtype), b=np.full(1, 5, dtype), seen=np.array(3))


def record(**arrays):
    return ArrayRecord({name: Array(array) for name, array in arrays.items()})


def point(arrays):
    return np.concatenate([arrays["a"].numpy().ravel(), arrays["b"].numpy()])


def test_it_asks_whom_the_method_chooses_and_gets_where_it_gets():
    users = [lambda x, number=number: gradient(number, x) for number in range(4)]
    expected = sgq.minimize(users, [5.0, 5.0], answers="gradient", **SETTINGS)
    strategy = sgq.flower.StrategicQuery(users=4, local_rate=RATE, **SETTINGS)
    result = strategy.start(federation(an_app()), start(), num_rounds=33)
    np.testing.assert_allclose(point(result.arrays), expected.x, rtol=1e-6)
    assert strategy.session.queries == 30 and strategy.session.stop_reason == "budget"
    assert int(result.arrays["seen"].numpy()) == 3 and result.arrays["a"].numpy().shape == (1, 1)
    metrics = result.train_metrics_clientapp[10]
    assert metrics["queries"] == 10 and 0 <= metrics["loss"] <= 3 and metrics["believed-left"] > 0


def test_several_a_round_on_a_ledger_that_another_run_goes_on_with(tmp_path):
    def run(rounds, first):
        path = tmp_path / "study.sgq"
        strategy = sgq.flower.StrategicQuery(users=4, at_a_time=3, local_rate=RATE, ledger=path, **SETTINGS)
        try:
            grid = federation(an_app(np.float32), first=first)
            return strategy.start(grid, start(np.float32), num_rounds=rounds), strategy.session.queries, grid.asked
        finally:
            assert strategy.session.closed

    _, queries, _ = run(4, 100)
    assert queries == 12
    result, queries, _ = run(20, 500)
    assert queries == 30 and result.arrays["a"].numpy().dtype == np.float32
    weights = np.arange(1.0, 5.0)
    np.testing.assert_allclose(point(result.arrays), weights @ CENTRES / weights.sum(), atol=0.1)


def test_who_fails_or_is_gone_is_not_waited_for():
    grid = federation(an_app(fails={2}))
    strategy = sgq.flower.StrategicQuery(users=4, local_rate=RATE, **SETTINGS)
    grid.plan[60] = lambda: grid.kill(number_of(grid, 0))
    strategy.start(grid, start(), num_rounds=40)
    failures = {user: why for user, _, why in strategy.session.failures()}
    assert "its app failed" in failures[2] and "patient" not in str(failures)
    counts = strategy.session.queries_per_user
    assert counts[2] == 0 and counts[1] > 0 and counts[3] > 0


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"local_rate": 0}, ValueError, "local_rate is 0"),
        ({"at_a_time": 0}, ValueError, "at_a_time is 0"),
        ({"x0": [1.0]}, TypeError, "x0 is initial_arrays"),
        ({"users": 0}, ValueError, "users is 0: give a list of their names"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        sgq.flower.StrategicQuery(**{"users": 4, **settings})


def test_another_run_with_other_nodes_goes_on_and_another_number_at_a_time_is_said(tmp_path):
    path = tmp_path / "study.sgq"
    sgq.flower.StrategicQuery(users=4, local_rate=RATE, ledger=path, **SETTINGS).start(federation(an_app()), start(), num_rounds=6)
    grid = federation(an_app(), first=700)
    grid.kill(number_of(grid, 3))
    strategy = sgq.flower.StrategicQuery(users=4, local_rate=RATE, ledger=path, patience=0.05, **SETTINGS)
    strategy.start(grid, start(), num_rounds=4)
    assert strategy.session.queries == 10
    with pytest.raises(ValueError, match="open is 1, and 3 is given"):
        sgq.flower.StrategicQuery(users=4, at_a_time=3, ledger=path, **SETTINGS).start(grid, start(), num_rounds=1)


def test_more_users_than_said_are_refused():
    with pytest.raises(ValueError, match="4 users are connected, and users is 3: give the names"):
        sgq.flower.StrategicQuery(users=3, **SETTINGS).start(federation(an_app()), start(), num_rounds=1)


def test_the_mod_keeps_the_words_of_exceptions_at_the_node():
    app = ClientApp(mods=[sgq.flower.discreet])
    sgq.flower.introduce(app)

    @app.train()
    def train(message, context):
        raise ValueError("the name of a patient")

    grid = federation(app)
    [number, *_] = grid.nodes
    [reply] = grid.send_and_receive([Message(RecordDict(), number, "train")])
    assert reply.has_error() and reply.error.reason == "ValueError: the node's log has the rest"


def test_a_ledger_of_another_model_is_refused(tmp_path):
    path = tmp_path / "study.sgq"
    sgq.open(path, users=[f"user-{part}" for part in range(4)], x0=np.zeros(5), budget=10).close()
    strategy = sgq.flower.StrategicQuery(users=4, ledger=path)
    with pytest.raises(ValueError, match="of a model of 5 numbers, and initial_arrays has 2"):
        strategy.start(federation(an_app()), start(), num_rounds=1)
