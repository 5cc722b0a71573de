"""All that is used of Flower, and the only file that imports it: written for flwr 1.41, whose interfaces move.

What goes over the network: a message has a record `sgq` with small things by name, and arrays as Flower keeps them, so that numbers
arrive to the last bit. `query.hello` asks a node who it is; `query.gradient` is a question.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid
    from flwr.serverapp.strategy import Strategy
except ModuleNotFoundError as error:
    raise ImportError('sgq.flower needs Flower 1.41: pip install "flwr[simulation]==1.41.*"') from error

__all__ = [
    "Array",
    "ArrayRecord",
    "ClientApp",
    "ConfigRecord",
    "Context",
    "Grid",
    "Message",
    "MetricRecord",
    "Network",
    "RecordDict",
    "Reply",
    "Strategy",
    "Word",
    "arrays_in",
    "error_of",
    "log",
    "records",
    "register",
    "reply_to",
    "words_in",
]

# What `flwr run --stream` and the nodes' own consoles show.
log = logging.getLogger("flwr")

# The record of small things.
WORDS = "sgq"

# Flower's words for what went wrong can hold a user's data, as those of a traceback do: they are not passed on.
ERRORS = {
    1: "its app cannot be loaded: its node's log has the reason",
    2: "its app failed: its node's log has the reason",
    3: "the question, or its answer, is no longer there: it was lost with a process, or is too old",
    4: "no answer came in time",
    5: "its node is gone",
    6: "its app failed in a mod: its node's log has the reason",
    7: "its node does not accept this app",
    8: "its app's process crashed: its node's log has the reason",
}

Word = str | int | float | list[float]


@dataclass(frozen=True)
class Reply:
    """What came back for a message: a content, or why there is none."""

    to: str
    content: RecordDict | None
    error: str


class Network:
    """The nodes that are connected, and messages to and from them."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def nodes(self) -> dict[int, str]:
        """The nodes that are connected, each with the name by which its key was registered; an empty one where none was."""
        return {node.node_id: node.name for node in self.grid.get_nodes()}

    def send(self, kind: str, node: int, content: RecordDict, ttl: float) -> str | None:
        """The message's id, to know its reply by; None where it could not be sent."""
        # One by one: of several, Flower does not say which one could not be sent.
        ids = list(self.grid.push_messages([Message(content, node, f"query.{kind}", ttl=ttl)]))
        return (ids[0] or None) if ids else None

    def receive(self, ids: Iterable[str]) -> Iterator[Reply]:
        """What has come for these messages. A reply to another one is left alone, whoever seems to have sent it."""
        waiting = list(ids)
        for message in self.grid.pull_messages(waiting) if waiting else ():
            to = message.metadata.reply_to_message_id
            if to not in waiting:
                continue
            if message.has_error():
                yield Reply(to, None, error_of(message))
            else:
                yield Reply(to, message.content, "")


def error_of(message: Message) -> str:
    """What went wrong, without what is a user's own."""
    return ERRORS.get(message.error.code, f"Flower's error {message.error.code}")


def records(words: Mapping[str, Word | None], arrays: Mapping[str, Any]) -> RecordDict:
    """A content of small things by name, and of arrays. What is None is left out."""
    content = RecordDict({WORDS: ConfigRecord({name: word for name, word in words.items() if word is not None})})
    for name, array in arrays.items():
        if array is not None:
            content[name] = ArrayRecord([np.ascontiguousarray(array, dtype=float)])
    return content


def words_in(content: RecordDict) -> dict[str, Any]:
    """The small things of a content."""
    found = content.get(WORDS)
    if not isinstance(found, ConfigRecord):
        raise ValueError("it has no record sgq: the node's app must be made with sgq.flower")
    return dict(found)


def arrays_in(content: RecordDict) -> dict[str, NDArray[np.float64]]:
    """The arrays of a content by name, each alone in its record."""
    arrays = {}
    for name, record in content.items():
        if isinstance(record, ArrayRecord):
            (array,) = record.to_numpy_ndarrays()
            arrays[str(name)] = array.astype(float)
    return arrays


def register(app: ClientApp, kind: str, answer: Callable[[RecordDict, Context], RecordDict]) -> None:
    """Lets an app answer messages of a kind."""

    @app.query(kind)
    def _answer(message: Message, context: Context) -> Message:
        return reply_to(message, answer(message.content, context))


def reply_to(message: Message, content: RecordDict) -> Message:
    return Message(content, reply_to=message)
