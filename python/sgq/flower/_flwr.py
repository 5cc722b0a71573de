"""All that is used of Flower, and the only file that imports it: written for flwr 1.41, whose interfaces move.

A message has a record `sgq` with small things by name, and arrays as Flower keeps them, so that numbers arrive to the last bit. The message
`query.hello` asks a node whose it is; `query.gradient` is a question.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid
    from flwr.serverapp.strategy import Result, Strategy
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
    "Result",
    "Strategy",
    "Word",
    "array_in",
    "arrays_in",
    "discreet",
    "error_of",
    "log",
    "one_line",
    "records",
    "register",
    "words_in",
]

# What `flwr run --stream` and the nodes' own consoles show.
log = logging.getLogger("flwr")

# The record of small things, and the version of what they mean.
WORDS = "sgq"
PROTOCOL = 1

# By Flower's codes. Flower's own words can hold a user's data, as those of a traceback do: they are not passed on.
ERRORS = {
    0: "its app failed: its node's log has the reason",
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

# The most characters of a node's words that are shown or kept.
LONGEST_WORDS = 200


def one_line(words: object) -> str:
    """Words from elsewhere, as they may stand in a log: short, and without control characters."""
    text = str(words)[: LONGEST_WORDS + 1]
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown if len(shown) <= LONGEST_WORDS else shown[:LONGEST_WORDS] + "…"


@dataclass(frozen=True)
class Reply:
    """The answer to a message, or the reason why there is none."""

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

    def receive(self, ids: Collection[str]) -> list[Reply]:
        """The replies to these messages that are there. A reply to another message is left alone, whoever seems to have sent it."""
        waiting, replies = set(ids), []
        for message in self.grid.pull_messages(list(ids)) if ids else ():
            if (to := message.metadata.reply_to_message_id) in waiting:
                has_error = message.has_error()
                replies.append(Reply(to, None if has_error else message.content, error_of(message) if has_error else ""))
        return replies


def error_of(message: Message) -> str:
    """What went wrong, without what is a user's own."""
    return ERRORS.get(message.error.code, f"Flower's error {message.error.code}")


def records(words: Mapping[str, Word | None], arrays: Mapping[str, Any]) -> RecordDict:
    """A content of small things by name, and of arrays. What is None is left out."""
    known = {name: word for name, word in words.items() if word is not None}
    content = RecordDict({WORDS: ConfigRecord({"protocol": PROTOCOL, **known})})
    for name, array in arrays.items():
        if array is not None:
            content[name] = ArrayRecord([np.ascontiguousarray(array, dtype=float)])
    return content


def words_in(content: RecordDict) -> dict[str, Any]:
    """The small things of a content."""
    found = content.get(WORDS)
    if not isinstance(found, ConfigRecord):
        raise ValueError("it has no record sgq: the node's app must be made with sgq.flower")
    if (protocol := found.get("protocol")) != PROTOCOL:
        raise ValueError(f"it is of protocol {protocol!r} of sgq.flower, and here is {PROTOCOL}: both sides need the same version of sgq")
    return dict(found)


def arrays_in(content: RecordDict) -> dict[str, NDArray[np.float64]]:
    """The arrays of a content by name, each alone in its record."""
    return {str(name): array_in(record) for name, record in content.items() if isinstance(record, ArrayRecord)}


def array_in(record: ArrayRecord) -> NDArray[np.float64]:
    """The only array of a record. Its bytes come from somebody else, and NumPy raises whatever they make it raise."""
    try:
        (array,) = record.to_numpy_ndarrays()
        if array.dtype.kind not in "fiu":
            raise TypeError(f"it is of type {array.dtype}")
        return array.astype(float)
    except Exception as error:
        raise ValueError(f"it has an array that cannot be read as numbers ({type(error).__name__})") from None


def register(app: ClientApp, kind: str, answer: Callable[[RecordDict, Context], RecordDict]) -> None:
    """Lets an app answer messages of a kind."""

    @app.query(kind)
    def _answer(message: Message, context: Context) -> Message:
        return Message(answer(message.content, context), reply_to=message)


def discreet(message: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
    """A mod that keeps the words of exceptions at the node, where Flower would send them to the coordinator:
    `ClientApp(mods=[sgq.flower.discreet])`. They are in the node's log. For apps that have a `train` function of their own."""
    try:
        return call_next(message, context)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        log.exception("no answer, because of an exception")
        return Message(Error(2, f"{type(error).__name__}: the node's log has the rest"), reply_to=message)
