"""A grid in this process: real messages to real apps, and whatever can go wrong on the way.

What Flower does with messages was watched on version 1.41: an error comes with the SuperLink's own number as its sender.
"""

from collections import deque

import numpy as np
from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

import sgq.flower

SUPERLINK = 1
GONE, FAILED = 5, 2


class Node:
    """A node: an app, its configuration, and how it misbehaves."""

    def __init__(self, app, config, registered=""):
        self.app, self.config, self.registered = app, config, registered
        # Messages that it has taken and not answered; for how many looks each answer takes; what becomes of the next ones.
        self.taken = deque()
        self.slow = 0
        self.next = deque()


class Loopback(Grid):
    """Nodes by number. Each look for replies lets every node answer one message."""

    def __init__(self, nodes):
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, SUPERLINK, 1
        self.nodes, self.replies, self.sent, self.count = dict(nodes), {}, [], 0
        # What happens before a look, by its number.
        self.looks, self.plan = 0, {}

    def set_run(self, run):
        pass

    @property
    def run(self):
        return None

    def create_message(self, *_, **__):
        raise NotImplementedError

    def send_and_receive(self, messages, *, timeout=None):
        waiting, replies = set(self.push_messages(messages)), []
        for _ in range(20):
            got = list(self.pull_messages(waiting))
            replies += got
            waiting -= {message.metadata.reply_to_message_id for message in got}
        return replies

    def get_node_ids(self):
        return list(self.nodes)

    def get_nodes(self):
        return [NodeInfo(node_id=number, name=node.registered) for number, node in self.nodes.items()]

    def push_messages(self, messages):
        ids = []
        for message in messages:
            self.count += 1
            message.metadata.__dict__["_message_id"] = f"m{self.count}"
            ids.append(f"m{self.count}")
            self.sent.append(message)
            if node := self.nodes.get(message.metadata.dst_node_id):
                node.taken.append([message, node.slow])
            else:
                self.fail(message, GONE)
        return ids

    def fail(self, message, code):
        reply = Message(Error(code, "Traceback: the name of a patient"), reply_to=message)
        self.replies[message.metadata.message_id] = reply

    def pull_messages(self, message_ids):
        self.looks += 1
        self.plan.pop(self.looks, lambda: None)()
        for number, node in list(self.nodes.items()):
            if not node.taken:
                continue
            if node.taken[0][1] > 0:
                node.taken[0][1] -= 1
                continue
            message, _ = node.taken.popleft()
            what = node.next.popleft() if node.next and message.metadata.message_type == "query.gradient" else "answer"
            if what == "lose":
                continue
            if what == "crash":
                self.fail(message, FAILED)
                continue
            context = Context(1, number, node.config, RecordDict(), {})
            try:
                self.replies[message.metadata.message_id] = node.app(message, context)
            except Exception:
                self.fail(message, FAILED)
        return [self.replies.pop(message) for message in list(message_ids) if message in self.replies]

    def kill(self, number):
        """The node is gone, with all that it had taken."""
        node = self.nodes.pop(number)
        for message, _ in node.taken:
            self.fail(message, GONE)
        node.taken.clear()
        return node

    def asked(self):
        """The users of all questions that were sent, in order."""
        return [message.content["sgq"]["user"] for message in self.sent if message.metadata.message_type == "query.gradient"]


CENTRES = np.array([[2.0, 0.5], [1.0, -1.0], [-1.0, 3.0], [-2.0, 1.5]])


def gradient(number, x):
    """User number's gradient, of a quadratic of its own."""
    return (1.0 + number) * (x - CENTRES[number])


def quadratic_app(seen=None):
    """An app for nodes that are parts of a simulation, or have a number in their configuration."""
    app = ClientApp()

    @sgq.flower.user(app)
    def answer(x, context):
        number = int(context.node_config.get("partition-id", context.node_config.get("number", 0)))
        if seen is not None:
            seen.append(number)
        return gradient(number, x)

    return app


def federation(app=None, parts=4, first=100):
    """Nodes that are parts of a simulation, in another order than the parts."""
    app = app or quadratic_app()
    return Loopback({first + 7 * (parts - part): Node(app, {"partition-id": part, "num-partitions": parts}) for part in range(parts)})


def number_of(grid, part):
    return next(number for number, node in grid.nodes.items() if node.config["partition-id"] == part)
