"""Who is connected, by name: a node's number is another one after each start without a key of its own.

A node whose key was registered by a name (`flwr supernode register north.pub --name north`) is that user, and no other. Others are asked
once whose they are, and believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from ._flwr import Grid, Network, Reply, records, words_in

# How often to look who is connected.
LOOK = 2.0
# How long a node may take to say who it is, and how long to wait before it is asked again where that came to nothing.
HELLO = 60.0
AGAIN = 10.0
# How often to look for replies.
POLL = 0.1


class Members:
    """The users' nodes. A node says the name of its user once, when it is first seen."""

    def __init__(
        self,
        network: Network,
        names: Collection[str] | None,
        note: Callable[[str], None] = lambda words: None,
    ) -> None:
        self.network = network
        self.names = None if names is None else set(names)
        self.note = note
        # The user of each node that has said who it is, in the order in which they said so; None where it is nobody's.
        self.user_of: dict[int, str | None] = {}
        # Nodes that were asked who they are, by message; and when to ask the others.
        self.greeted: dict[str, int] = {}
        self.due: dict[int, float] = {}
        self.next_look = 0.0

    def look(self) -> None:
        """Asks new nodes who they are, and forgets those that are gone."""
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + LOOK
        there = self.network.nodes()
        for node in set(self.user_of) - set(there):
            del self.user_of[node]
        self.due = {node: at for node, at in self.due.items() if node in there}
        for node in sorted(set(there) - set(self.user_of) - set(self.greeted.values())):
            if self.due.setdefault(node, now) <= now:
                self.due[node] = now + AGAIN
                if there[node]:
                    self._is(node, there[node])
                    continue
                message = self.network.send("hello", node, records({"protocol": 1}, {}), HELLO)
                if message is not None:
                    self.greeted[message] = node

    def take(self, reply: Reply) -> bool:
        """Takes what a node says of itself; False where the reply is to something else."""
        node = self.greeted.pop(reply.to, None)
        if node is None:
            return False
        if reply.content is None:
            self.note(f"node {node} does not say whose it is: {reply.error}")
            return True
        try:
            words = words_in(reply.content)
            if error := words.get("error"):
                raise ValueError(str(error))
            name = words.get("user")
            if not isinstance(name, str):
                raise ValueError("it gives no name")
        except ValueError as error:
            self.note(f"node {node} does not say whose it is: {error}")
            return True
        self._is(node, name)
        return True

    def _is(self, node: int, name: str) -> None:
        """Takes note of whose a node is."""
        is_user = self.names is None or name in self.names
        if not is_user:
            self.note(f"node {node} is of {name[:80]!r}, who is no user of this session: it is not asked")
        elif (other := self.node_of(name)) is not None:
            self.note(f"node {node} is of {name!r}, and so is node {other}: it is asked once that one is gone")
        self.user_of[node] = name if is_user else None

    def node_of(self, name: str) -> int | None:
        """A user's node: the first one that has said so."""
        return next((node for node, user in self.user_of.items() if user == name), None)

    def drop(self, node: int) -> None:
        """Does not ask a node until it has said again who it is: it may be gone, and be listed still."""
        if self.user_of.pop(node, None) is not None:
            self.due[node] = time.monotonic() + AGAIN

    def connected(self) -> set[str]:
        return {user for user in self.user_of.values() if user is not None}


def names(grid: Grid, at_least: int = 1, patience: float = 120.0) -> list[str]:
    """The names of the users whose nodes are connected, in alphabetical order: for `users=` of `sgq.open`.

    at_least: how many to wait for, and patience: for how many seconds at most; then it is an error (TimeoutError).
    """
    network = Network(grid)
    said: list[str] = []
    members = Members(network, None, note=said.append)
    until = time.monotonic() + patience
    while True:
        members.look()
        for reply in network.receive(list(members.greeted)):
            members.take(reply)
        connected = members.connected()
        if len(connected) >= at_least and not members.greeted:
            return sorted(connected)
        if time.monotonic() >= until:
            if len(connected) >= at_least:
                return sorted(connected)
            more = "".join(f"; {words}" for words in said[-3:])
            raise TimeoutError(f"{len(connected)} users are connected after {patience:g} s, and {at_least} are waited for{more}")
        time.sleep(POLL)
