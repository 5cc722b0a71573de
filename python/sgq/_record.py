"""What a file has recorded of a session, and what can go wrong with it."""

from datetime import datetime
from typing import Literal, TypedDict


class LedgerError(Exception):
    """A file that cannot be opened, or a session that is behind its record or closed: open it again."""


class LedgerInUse(LedgerError):
    """Another program writes to the file, or another session of this one; the message says who and since when."""


class LedgerDamaged(LedgerError):
    """The file is not what was written; the message says what is wrong, and how to save what is intact."""


Policy = Literal["ignore", "flag", "refuse"]


class Protection(TypedDict, total=False):
    """Limits on what users disclose, and on what one user can do to the run: see `sgq.open`."""

    answers_each: int
    epsilon: float
    delta: float
    smoothness: Policy
    smoothness_slack: float
    length: Policy
    length_factor: float
    unexpected: Policy
    unexpected_factor: float


class Event(TypedDict):
    """A row of the record. user: the name. words: why, or what else there is to say. cost: what was billed for it."""

    seq: int
    at: datetime
    kind: Literal[
        "asked",
        "held",
        "answered",
        "late",
        "refused",
        "flagged",
        "failed",
        "withdrawn",
        "away",
        "back",
        "left",
        "joined",
        "extended",
        "rebuilt",
        "waited",
        "round",
        "reported",
        "begun",
        "noted",
    ]
    ticket: int | None
    user: str | None
    words: str | None
    cost: float | None
    numbers: int | None


class Account(TypedDict):
    """What a user has disclosed: how many answers, of how many numbers, and the ε spent, where all of them had noise.

    without_noise: answers of which no noise was stated. failures, last_reason: questions that it did not answer, and why.
    refused, flagged: answers that were not taken, and that were taken and odd. limit_spent: why it is not asked any more, where it has
    disclosed all that it may.
    """

    user: str
    answers: int
    numbers: int
    without_noise: int
    epsilon: float | None
    failures: int
    last_reason: str | None
    refused: int
    flagged: int
    away: bool
    left: bool
    limit_spent: str | None


class Recovered(TypedDict):
    """What was saved of a damaged file: answers, and events, these included.

    lost: events that are lost, as far as is known. lost_answers: tickets of questions whose answers came and are lost. Told again,
    they are taken.
    """

    answers: int
    events: int
    lost: int
    lost_answers: list[int]
