"""Users who are not connected are away, in the session and in its record, until they are connected again."""

from __future__ import annotations

from collections.abc import Collection

from .._sgq import Ledger, Session
from ._flwr import Network, log
from ._nodes import Nodes

# Why a user is away, in the record: only such a user is taken back.
NOT_CONNECTED = "not connected"


class Presence:
    """The users of a session, and which of them are away because they are not connected."""

    def __init__(self, network: Network, session: Session, names: list[str] | None = None) -> None:
        """names: of a session in memory, whose users have none; "user-0" and so on where there are none here either."""
        self.session = session
        self.ledger = session if isinstance(session, Ledger) else None
        self.users = session.names if isinstance(session, Ledger) else names or [f"user-{number}" for number in range(len(session.weights))]
        self.nodes = Nodes(network, self.users, self.note)
        self.absent: set[int] = set()
        self.seen = -1
        self.notes: list[str] = []
        number = {name: number for number, name in enumerate(self.users)}
        for event in self.ledger.history() if self.ledger is not None else ():
            if event["kind"] in ("away", "back", "left") and event["user"] is not None:
                change = self.absent.add if event["words"] == NOT_CONNECTED else self.absent.discard
                change(number[event["user"]])

    def note(self, words: str) -> None:
        """Writes a line into the record, where there is one."""
        log.info("%s", words)
        self.notes.append(words)
        if self.ledger is not None:
            self.ledger.note(words)

    def said(self) -> str:
        """The last things that were noted of nodes, to stand at the end of a message."""
        return "".join(f"; {words}" for words in self.notes[-3:])

    def can_be_asked(self, user: int) -> bool:
        """Whether nothing but its connection keeps a user from being asked."""
        return not self.session.has_left(user) and (user in self.absent or not self.session.is_away(user))

    def missing(self) -> set[str]:
        """Users who could be asked, were they connected."""
        connected = self.nodes.connected()
        return {name for user, name in enumerate(self.users) if name not in connected and self.can_be_asked(user)}

    def update(self) -> list[int]:
        """Takes users back who are connected again. Returns those who are not connected and not away yet: for `gone`."""
        if self.seen == self.nodes.version:
            return []
        self.seen = self.nodes.version
        connected = self.nodes.connected()
        for user in [user for user in self.absent if self.users[user] in connected]:
            self.take_back(user)
        # Whoever is away for another reason stays so.
        return [
            user
            for user, name in enumerate(self.users)
            if name not in connected and user not in self.absent and self.can_be_asked(user)
        ]

    def take_back(self, user: int) -> None:
        self.absent.discard(user)
        try:
            self.session.back(user, "connected")
        except ValueError as error:
            log.info("%s is connected again, and not asked: %s", self.users[user], error)
        else:
            log.info("%s is connected again", self.users[user])

    def gone(self, user: int) -> None:
        self.absent.add(user)
        self.session.away(user, NOT_CONNECTED)
        log.info("%s is not connected", self.users[user])

    def close(self) -> None:
        """A session in memory has no record to know by why a user is away."""
        if self.ledger is None:
            for user in list(self.absent):
                self.take_back(user)


def some(names: Collection[str]) -> str:
    """A few names, and how many others."""
    return ", ".join(sorted(names)[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
