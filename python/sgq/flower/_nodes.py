"""The users' nodes by name: the number of a node without a key of its own changes at each start.

A node whose key was registered by a name (`flwr supernode register north.pub --name north`) is that user's node. Where no node was registered by a
name, each node is asked once whose it is, and believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from ._flwr import Grid, Network, Reply, one_line, records, words_in

# Seconds between two looks for nodes.
LOOK_PERIOD = 2.0
# Seconds that a node may take to say whose it is; and until it is asked again, doubled each time up to the longest.
HELLO_TTL = 60.0
FIRST_HELLO_PAUSE, LONGEST_HELLO_PAUSE = 10.0, 600.0
# Seconds between two looks for replies, while names are collected.
NAMES_POLL_PERIOD = 0.1
# The most notes about nodes that one run makes.
MOST_NOTES = 1000


class Nodes:
    """The nodes that are connected. `version` changes whenever a user comes or goes."""

    def __init__(self, network: Network, users: Collection[str] | None, note: Callable[[str], None] = lambda words: None) -> None:
        self.network = network
        self.users = None if users is None else set(users)
        self.note = note
        self.version = 0
        # The nodes of each user, the one to ask first; and the user of each node, None where it is nobody's.
        self.nodes_of: dict[str, list[int]] = {}
        self.user_of: dict[int, str | None] = {}
        # Hellos without a reply, by message; and for each node when to ask it (again), and the pause after that.
        self.greeted: dict[str, int] = {}
        self.due: dict[int, tuple[float, float]] = {}
        self.next_look = 0.0
        self.noted: set[tuple[int, str]] = set()

    def look(self) -> None:
        """Finds nodes that came or went."""
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + LOOK_PERIOD
        there = self.network.nodes()
        # Once names are registered, nobody is believed.
        are_named = any(there.values())
        for node in list(self.user_of):
            if node not in there or (are_named and self.user_of[node] not in (None, there[node])):
                self._forget(node)
        self.due = {node: when for node, when in self.due.items() if node in there}
        asked = set(self.greeted.values())
        for node, name in sorted(there.items()):
            if node in self.user_of or (node in asked and not are_named):
                continue
            if name:
                self._is_of(node, name)
            elif are_named:
                self._note(node, "was not registered by a name, and others were: it is not asked")
                self.user_of[node] = None
            else:
                self._greet(node, now)

    def _greet(self, node: int, now: float) -> None:
        when, pause = self.due.get(node, (now, FIRST_HELLO_PAUSE))
        if when > now:
            return
        self.due[node] = now + pause, min(2 * pause, LONGEST_HELLO_PAUSE)
        message = self.network.send("hello", node, records({}, {}), HELLO_TTL)
        if message is not None:
            self.greeted[message] = node

    def take(self, reply: Reply) -> bool:
        """Takes a node's word on whose it is; False where the reply is to another message."""
        node = self.greeted.pop(reply.to, None)
        if node is None:
            return False
        if node in self.user_of:
            return True
        try:
            if reply.content is None:
                raise ValueError(reply.error)
            words = words_in(reply.content)
            if error := words.get("error"):
                raise ValueError(error)
            if not isinstance(name := words.get("user"), str):
                raise ValueError("it gives no name")
        except ValueError as error:
            self._note(node, f"does not say whose it is: {error}")
        else:
            self._is_of(node, name)
        return True

    def _is_of(self, node: int, name: str) -> None:
        if self.users is not None and name not in self.users:
            self._note(node, f"is of {one_line(name)!r}, who is no user of this session: it is not asked")
            self.user_of[node] = None
            return
        others = self.nodes_of.setdefault(name, [])
        if others:
            self._note(node, f"is of {name!r}, and so is node {others[0]}: it is asked where that one does not answer")
        others.append(node)
        self.user_of[node] = name
        self.version += 1

    def _note(self, node: int, words: str) -> None:
        """Each thing about each node once."""
        if (node, words) not in self.noted and len(self.noted) < MOST_NOTES:
            self.noted.add((node, words))
            self.note(one_line(f"node {node} {words}"))

    def _forget(self, node: int) -> None:
        name = self.user_of.pop(node)
        if name is None:
            return
        self.nodes_of[name].remove(node)
        if not self.nodes_of[name]:
            del self.nodes_of[name]
        self.version += 1

    def node_of(self, name: str) -> int | None:
        """The node to ask of a user's nodes."""
        return self.nodes_of.get(name, [None])[0]

    def connected(self) -> Collection[str]:
        """The users who have a node."""
        return self.nodes_of.keys()

    def did_not_answer(self, node: int) -> None:
        """Another node of the same user is asked next, where there is one; a node that is not listed any more is forgotten at once."""
        name = self.user_of.get(node)
        if name is None:
            return
        if node not in self.network.nodes():
            self._forget(node)
        else:
            self.nodes_of[name].remove(node)
            self.nodes_of[name].append(node)


def names(grid: Grid, at_least: int = 1, patience: float = 120.0) -> list[str]:
    """The names of the users whose nodes are connected, in alphabetical order: for `users=` of `sgq.open`.

    at_least: how many to wait for, and patience: for how many seconds at most; then it is an error (TimeoutError).
    """
    network = Network(grid)
    said: list[str] = []
    nodes = Nodes(network, None, said.append)
    until = time.monotonic() + patience
    while True:
        nodes.look()
        for reply in network.receive(list(nodes.greeted)):
            nodes.take(reply)
        there, is_late = sorted(nodes.connected()), time.monotonic() >= until
        if len(there) >= at_least and (is_late or not nodes.greeted):
            return there
        if is_late:
            more = "".join(f"; {words}" for words in said[-3:])
            raise TimeoutError(f"{len(there)} users are connected after {patience:g} s, and {at_least} are waited for{more}")
        time.sleep(NAMES_POLL_PERIOD)
