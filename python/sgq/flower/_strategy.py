"""A `Strategy` for those who have an app with a `train` function already."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._minimize import Vector
from .._sgq import Ledger, Query, Session
from .._sgq import open as open_ledger
from ._flwr import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Grid,
    Message,
    MetricRecord,
    Network,
    RecordDict,
    Result,
    Strategy,
    array_in,
    error_of,
    log,
)
from ._nodes import names
from ._presence import Presence

# Seconds that a round waits for nodes that are new to say whose they are, and between two looks.
SETTLE_TIME, SETTLE_POLL_PERIOD = 20.0, 0.02


class StrategicQuery(Strategy):
    """Asks the users whom a method chooses, in place of a random sample: where a `ServerApp` has `FedAvg()`, it takes this.

        strategy = StrategicQuery(users=12, ledger="/srv/study.sgq", budget=200)
        result = strategy.start(grid=grid, initial_arrays=ArrayRecord(model.state_dict()), num_rounds=200)

    A user's `train` function gets the arrays and sends others back, as with `FedAvg`. Their difference, divided by `local_rate`, is taken
    for the user's gradient: which it is where the user takes one step of that size along the gradient over all its rows. After more steps, or
    on batches, it is not, and what theorems and the believed rest say does not hold. In arrays of float32 the difference is exact to some seven
    digits of the arrays, and near the optimum that is noise: use float64 for more. The app needs one more line, `sgq.flower.introduce(app)`, so that
    users are known by name whatever their nodes are called, and `ClientApp(mods=[sgq.flower.discreet])` keeps the words of exceptions at the node.

    users: the names, or how many there are, who are then all waited for. With a ledger that is there, they are its users.
    method, and all other settings (`budget`, `tol`, `costs`, `seed`, `smoothness`, …): as in `sgq.open`.
    at_a_time: how many users are asked in a round. ledger: the file of the session, which another run goes on with; None keeps it in memory.
    weighted_by_key: the metric in a user's reply that says what it counts, as in `FedAvg`; None for all the same.
    patience: seconds to wait for users at the beginning.

    All arrays of floating point in `initial_arrays` are parameters, also a running mean: leave out what is none. Whole numbers stay what they are.
    A round in which nobody answers changes nothing, and rounds after the session has stopped ask nobody. Users are not asked to evaluate, which
    would be a question too: give `evaluate_fn` to `start`.
    """

    # The session of the last start; a ledger is closed at its end.
    session: Session | None

    def __init__(
        self,
        method: str | None = None,
        *,
        users: Sequence[str] | int,
        at_a_time: int = 1,
        local_rate: float = 1.0,
        ledger: str | PathLike[str] | None = None,
        weighted_by_key: str | None = "num-examples",
        arrayrecord_key: str = "arrays",
        configrecord_key: str = "config",
        patience: float = 120.0,
        **settings: Any,
    ) -> None:
        if not (local_rate > 0 and np.isfinite(local_rate)):
            raise ValueError(f"local_rate is {local_rate!r}: it must be a positive number, the step size of users")
        if at_a_time < 1:
            raise ValueError(f"at_a_time is {at_a_time!r}: at least one user is asked in a round")
        if isinstance(users, str) or (isinstance(users, int) and users < 1):
            raise ValueError(f"users is {users!r}: give a list of their names, or how many there are")
        if "x0" in settings or "open" in settings:
            raise TypeError("x0 is initial_arrays of start, and open is at_a_time")
        self.method, self.users, self.at_a_time, self.settings = method, users, at_a_time, settings
        self.local_rate, self.ledger, self.patience = local_rate, ledger, patience
        self.weighted_by_key = weighted_by_key
        self.arrayrecord_key, self.configrecord_key = arrayrecord_key, configrecord_key
        self.session = None
        self.layout = _Layout(ArrayRecord())
        # The questions of this round, each with its message.
        self.asked: list[tuple[Query, Message]] = []

    def start(self, *arguments: Any, **keywords: Any) -> Result:
        """As `Strategy.start`."""
        self.session = None
        try:
            return super().start(*arguments, **keywords)
        finally:
            if isinstance(self.session, Ledger):
                self.session.close()

    def summary(self) -> None:
        log.info("\t├──> Method: %s, %d user(s) a round", self.method or "the default", self.at_a_time)
        log.info("\t└──> Ledger: %s", self.ledger or "none: a crash loses what was paid for")

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """The questions of a round: each to its user's node."""
        if self.session is None:
            self._open(arrays, grid)
        session = self._session()
        self._settle()
        self.asked = []
        for query in [*session.pending(), *session.ask_many(self.at_a_time)]:
            node = self.presence.nodes.node_of(self._name_of(query))
            if node is None:
                session.fail(query, "its node is not connected")
                continue
            words = ConfigRecord({**config, "server-round": server_round})
            content = RecordDict({self.arrayrecord_key: self.layout.arrays(query.point), self.configrecord_key: words})
            self.asked.append((query, Message(content, node, "train")))
        names_asked = ", ".join(self._name_of(query) for query, _ in self.asked)
        log.info("configure_train: %s", f"asked {names_asked}" if self.asked else f"nobody is asked: {session.message or 'nobody is connected'}")
        return [message for _, message in self.asked]

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Tells the answers, in the order of the questions, whoever was quicker."""
        session, by_message = self._session(), {reply.metadata.reply_to_message_id: reply for reply in replies}
        metrics: list[Mapping[str, Any]] = []
        for query, message in self.asked:
            reply = by_message.get(message.metadata.message_id)
            try:
                if reply is None:
                    raise ValueError("no answer in time")
                if reply.has_error():
                    raise ValueError(error_of(reply))
                metric = dict(next(iter(reply.content.metric_records.values()), {}))
                weight = metric.get(self.weighted_by_key or "")
                gradient = (self.layout.rounded(query.point) - self._answered(reply.content)) / self.local_rate
                session.tell(query, gradient, weight=weight if isinstance(weight, (int, float)) and "weights" not in self.settings else None)
                metrics.append(metric)
            except (TypeError, ValueError) as error:
                log.warning("aggregate_train: %s failed: %s", self._name_of(query), error)
                session.fail(query, str(error))
        self.asked = []
        return self.layout.arrays(session.point), MetricRecord({**_mean(metrics, self.weighted_by_key), **self._standing()})

    def configure_evaluate(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """Nobody: to evaluate is a question too."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        return None

    def _open(self, arrays: ArrayRecord, grid: Grid) -> None:
        self.layout = _Layout(arrays)
        x0 = self.layout.vector(arrays)
        is_there = self.ledger is not None and Path(self.ledger).exists()
        users = [] if is_there else self._names(grid)
        if self.ledger is None:
            self.session = Session(self.method, users=len(users), x0=x0, open=self.at_a_time, **self.settings)
        elif is_there:
            self.session = open_ledger(self.ledger, self.method, open=self.at_a_time, **self.settings)
            if (size := self.session.point.size) != x0.size:
                raise ValueError(f"{self.ledger} is of a model of {size} numbers, and initial_arrays has {x0.size}")
        else:
            given = {"x0": x0, "open": self.at_a_time, **self.settings}
            self.session = open_ledger(self.ledger, self.method, users=users, **given)
        self.presence = Presence(Network(grid), self.session, users)
        self._settle(self.patience)

    def _names(self, grid: Grid) -> list[str]:
        if not isinstance(self.users, int):
            return list(self.users)
        there = names(grid, self.users, self.patience)
        if len(there) != self.users:
            raise ValueError(f"{len(there)} users are connected, and users is {self.users}: give the names of those who take part")
        return there

    def _settle(self, patience: float | None = None) -> None:
        """Looks who is connected; those who are not are away: after patience or, without it, once nodes that are new have said whose they
        are."""
        until, nodes = time.monotonic() + (SETTLE_TIME if patience is None else patience), self.presence.nodes
        nodes.look()
        while self.presence.missing() and time.monotonic() < until and (nodes.greeted or patience is not None):
            for reply in nodes.network.receive(list(nodes.greeted)):
                nodes.take(reply)
            time.sleep(SETTLE_POLL_PERIOD)
            nodes.look()
        for user in self.presence.update():
            self.presence.gone(user)

    def _name_of(self, query: Query) -> str:
        return self.presence.users[query.user]

    def _session(self) -> Session:
        if self.session is None:
            raise RuntimeError("nobody was asked yet: configure_train comes first")
        return self.session

    def _answered(self, content: RecordDict) -> Vector:
        record = content.get(self.arrayrecord_key)
        if not isinstance(record, ArrayRecord):
            record = next(iter(content.array_records.values()), None)
        if record is None:
            raise ValueError("its reply has no arrays")
        return self.layout.vector(record)

    def _standing(self) -> dict[str, int | float]:
        session = self._session()
        left = {"believed-left": session.remaining.part} if session.remaining is not None else {}
        return {"queries": session.queries, "cost": session.cost, **left}


class _Layout:
    """A model's arrays as one vector. Arrays of whole numbers, such as counters, stay what they were."""

    def __init__(self, arrays: ArrayRecord) -> None:
        self.first: dict[str, NDArray[Any]] = {name: array.numpy() for name, array in arrays.items()}
        self.names = [name for name, array in self.first.items() if np.issubdtype(array.dtype, np.floating)]

    def vector(self, arrays: ArrayRecord) -> Vector:
        if set(arrays) != set(self.first):
            odd = sorted(set(arrays) ^ set(self.first))[0]
            raise ValueError(f"the arrays have other names than the model's: {odd!r} is only on one side")
        parts = []
        for name in self.names:
            array = array_in(ArrayRecord({name: arrays[name]}))
            if array.shape != self.first[name].shape:
                raise ValueError(f"the array {name!r} has the shape {array.shape}, and the model's has {self.first[name].shape}")
            parts.append(array.ravel())
        return np.concatenate(parts) if parts else np.array([])

    def arrays(self, point: Vector) -> ArrayRecord:
        record, at = ArrayRecord(), 0
        for name, array in self.first.items():
            if name in self.names:
                array, at = point[at : at + array.size].reshape(array.shape).astype(array.dtype), at + array.size
            record[name] = Array(array)
        return record

    def rounded(self, point: Vector) -> Vector:
        """The point as users get it, in the precision of their arrays."""
        return self.vector(self.arrays(point))


def _mean(metrics: list[Mapping[str, Any]], weighted_by: str | None) -> dict[str, float]:
    """The mean of each metric over the replies that have it, weighted where they say by what."""
    found: dict[str, list[tuple[float, float]]] = {}
    for metric in metrics:
        counts = metric.get(weighted_by or "", 1.0)
        weight = float(counts) if isinstance(counts, (int, float)) else 1.0
        for name, value in metric.items():
            if isinstance(value, (int, float)) and name != weighted_by:
                found.setdefault(name, []).append((float(value), weight))
    means = {}
    for name, pairs in found.items():
        values, weights = zip(*pairs)
        means[name] = float(np.average(values, weights=weights if sum(weights) > 0 else None))
    return means
