"""A `Strategy` for those who have an app with a `train` function already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._minimize import Vector
from .._sgq import Query, Session
from .._sgq import open as open_ledger
from ._asking import How, _Asking
from ._flwr import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Grid,
    Message,
    MetricRecord,
    Network,
    RecordDict,
    Strategy,
    error_of,
    log,
)
from ._members import names


class StrategicQuery(Strategy):
    """Asks the users whom a method chooses, in place of a random sample: where a `ServerApp` has `FedAvg()`, it takes this.

        strategy = StrategicQuery(ledger="/srv/study.sgq", budget=200)
        result = strategy.start(grid=grid, initial_arrays=ArrayRecord(model.state_dict()), num_rounds=200)

    A user's `train` function gets the arrays and sends others back, as with `FedAvg`. Their difference, divided by `local_rate`, is taken
    for the user's gradient: which it is where the user takes one step of that size along the gradient over all its rows. After more steps, or
    on batches, it is not, and what theorems and the believed rest say does not hold. The app needs one more line,
    `sgq.flower.introduce(app)`, so that users are known by name whatever their nodes are called.

    method, and all other settings (`budget`, `tol`, `costs`, `seed`, `smoothness`, …): as in `sgq.open`. users: the names, or how many to
    wait for; None waits for one and takes all who are connected then.
    at_a_time: how many users are asked in a round. ledger: the file of the session, which another run goes on with; None keeps it in memory.
    weighted_by_key: the metric in a user's reply that says what it counts, as in `FedAvg`; None for all the same.
    patience: seconds to wait for users at the beginning.

    A round in which nobody answers changes nothing, and rounds after the session has stopped ask nobody. Users are not asked to evaluate, which
    would be a question too: give `evaluate_fn` to `start`.
    """

    # The session; None before the first round.
    session: Session | None

    def __init__(
        self,
        method: str | None = None,
        *,
        users: Sequence[str] | int | None = None,
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

    def summary(self) -> None:
        log.info("\t├──> Method: %s, %d user(s) a round", self.method or "the default", self.at_a_time)
        log.info("\t└──> Ledger: %s", self.ledger or "none: a crash loses what was paid for")

    def configure_train(self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid) -> Iterable[Message]:
        """The questions of a round: each to its user's node."""
        if self.session is None:
            self._open(arrays, grid)
        session, asking = self._session(), self.asking
        asking.settle()
        self.asked = []
        for query in [*session.pending(), *session.ask_many(self.at_a_time)]:
            node = asking.members.node_of(asking.name_of(query))
            if node is None:
                session.fail(query, "its node is not connected")
                continue
            words = ConfigRecord({**config, "server-round": server_round})
            content = RecordDict({self.arrayrecord_key: self.layout.arrays(query.point), self.configrecord_key: words})
            self.asked.append((query, Message(content, node, "train")))
        if not self.asked:
            log.info("nobody is asked: %s", session.message or "nobody is connected")
        else:
            log.info("configure_train: asked %s", ", ".join(asking.name_of(query) for query, _ in self.asked))
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
                log.warning("aggregate_train: %s failed: %s", self.asking.name_of(query), error)
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
        users = self.users if isinstance(self.users, Sequence) else names(grid, self.users or 1, self.patience)
        if self.ledger is not None and Path(self.ledger).exists():
            self.session = open_ledger(self.ledger, self.method, users=list(users), **self.settings)
            if self.session.point.shape != x0.shape:
                size = self.session.point.size
                raise ValueError(f"{self.ledger} is of a model of {size} numbers, and initial_arrays has {x0.size}")
        elif self.ledger is not None:
            given = {"x0": x0, "open": self.at_a_time, **self.settings}
            self.session = open_ledger(self.ledger, self.method, users=list(users), **given)
        else:
            self.session = Session(self.method, users=len(users), x0=x0, open=self.at_a_time, **self.settings)
        self.asking = _Asking(Network(grid), self.session, list(users), How(patience=self.patience), callback=None)
        self.asking.take_up_record()
        self.asking.gather()

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
            array = arrays[name].numpy()
            if array.shape != self.first[name].shape:
                raise ValueError(f"the array {name!r} has the shape {array.shape}, and the model's has {self.first[name].shape}")
            parts.append(array.astype(float).ravel())
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
        weight = float(metric.get(weighted_by, 1.0)) if weighted_by is not None else 1.0
        for name, value in metric.items():
            if isinstance(value, (int, float)) and name != weighted_by:
                found.setdefault(name, []).append((float(value), weight))
    means = {}
    for name, pairs in found.items():
        values, weights = zip(*pairs)
        means[name] = float(np.average(values, weights=weights if sum(weights) > 0 else None))
    return means
