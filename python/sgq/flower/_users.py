"""The users' side: what makes a `ClientApp` answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from .._minimize import PARTS, _parts
from .._sgq import Clinic
from ._flwr import ClientApp, Context, RecordDict, Word, arrays_in, log, records, register, words_in

Name = Callable[[Context], str]
Function = TypeVar("Function", bound=Callable[..., Any])

# What `clinic` takes.
OF_A_CLINIC = ("user", "plan", "data", "log", "clip", "noise")


class Refusal(Exception):
    """Raised by a user's function where there is no answer. Its words are told to the coordinator; those of other exceptions are not."""


def user(app: ClientApp, *, name: Name | None = None) -> Callable[[Function], Function]:
    """Lets an app answer by a function of a point:

        app = ClientApp()

        @sgq.flower.user(app)
        def answer(x, context):
            return loss, gradient

    It returns the gradient g at x, or `(f, g)` with the loss, or `(f, g, H)` with the Hessian, or a dict with "gradient" and any of
    "loss", "hessian", "variance", "weight", "cost" and "privacy", as `Ledger.tell` takes them. A function with a parameter `wants`
    gets what would be of use: "gradient", "loss" or "hessian".

    name: from the context to the user's name. By default it is `user` of the node's configuration (`--node-config 'user="north"'`);
    in a simulation, where there is none, it is "user-0" for the first part, and so on, as `sgq.open(…, users=30)` calls them.

    An exception is told to the coordinator by its type alone, as its words may hold data; they are in the node's own log. What the
    coordinator should read is raised as `Refusal`.
    """

    def decorate(answer: Function) -> Function:
        takes_wants = "wants" in inspect.signature(answer).parameters

        def reply(content: RecordDict, context: Context) -> RecordDict:
            words, arrays = words_in(content), arrays_in(content)
            me, point = _checked(words, name, context), arrays.get("point")
            if point is None:
                raise Refusal("it answers at points, and not by a plan: its app is another one than the coordinator's session needs")
            more = {"wants": words.get("wants")} if takes_wants else {}
            answered = answer(point, context, **more)
            if answered is None:
                raise Refusal("its function returned None: it must return g, (f, g), (f, g, H), or a dict with \"gradient\"")
            parts = _parts(answered, point.size, (*PARTS, "privacy"))
            sent = {key: np.asarray(parts[key], dtype=float) for key in ARRAYS if parts.get(key) is not None}
            numbers: dict[str, Word | None] = {key: float(parts[key]) for key in NUMBERS if parts.get(key) is not None}
            if parts.get("privacy") is not None:
                sensitivity, noise = parts["privacy"]
                numbers["privacy"] = [float(sensitivity), float(noise)]
            return records({"ticket": words.get("ticket"), "user": me, **numbers}, sent)

        introduce(app, name=name)
        register(app, "gradient", _kept(reply))
        return answer

    return decorate


# The parts of an answer, by how they are sent.
ARRAYS = ("gradient", "hessian", "variance")
NUMBERS = ("loss", "weight", "cost")


def clinic(app: ClientApp, of: Callable[[Context], Mapping[str, Any]] | None = None) -> None:
    """Lets an app answer by a plan that everybody has agreed to, from a CSV file, as `sgq answer` does: with no code.

    What the plan does not allow is refused, and every answer is in the log before it is given out.

    of: from the context to a dict with user (the name), plan and data (files), and perhaps log, clip and noise, as in `sgq.Clinic`. By
    default these are in the node's own configuration, which the coordinator cannot change:
    `--node-config 'user="north" plan="/srv/study/model.plan" data="/srv/study/north.csv"'`.
    """

    def settings(context: Context) -> dict[str, Any]:
        given = dict(of(context)) if of else {key: context.node_config[key] for key in OF_A_CLINIC if key in context.node_config}
        for key in ("user", "plan", "data"):
            if not given.get(key):
                raise Refusal(f"its node's configuration has no {key}: it takes user, plan and data")
        return given

    def reply(content: RecordDict, context: Context) -> RecordDict:
        words, mine = words_in(content), settings(context)
        me = _checked(words, lambda _: str(mine["user"]), context)
        line = words.get("question")
        if not isinstance(line, str):
            raise Refusal("it answers by a plan, and the coordinator's session has none: open it with sgq.open(…, plan=…)")
        more = {key: mine[key] for key in ("clip", "noise", "log") if key in mine}
        with Clinic(mine["plan"], mine["data"], me, **more) as answering:
            answer = answering.answer(line)
        log.info("%s", answer.words)
        return records({"ticket": words.get("ticket"), "user": me, "answer": answer.line}, {})

    introduce(app, name=lambda context: str(settings(context)["user"]))
    register(app, "gradient", _kept(reply))


def introduce(app: ClientApp, *, name: Name | None = None) -> None:
    """Lets an app say whose its node is. `user` and `clinic` do so already; an app for `StrategicQuery` needs it.

    name: as in `user`.
    """

    def reply(content: RecordDict, context: Context) -> RecordDict:
        words_in(content)
        return records({"user": _name(name, context)}, {})

    register(app, "hello", _kept(reply))


def _name(name: Name | None, context: Context) -> str:
    if name is not None:
        return name(context)
    if given := context.node_config.get("user"):
        return str(given)
    if (part := context.node_config.get("partition-id")) is not None:
        return f"user-{part}"
    raise Refusal("it has no name: start its node with --node-config 'user=\"…\"'")


def _checked(words: Mapping[str, Any], name: Name | None, context: Context) -> str:
    """The user's name, where the question is for it."""
    me = _name(name, context)
    if words.get("user") != me:
        raise Refusal(f"the question is for {words.get('user')!r}, and this is {me!r}")
    return me


def _kept(reply: Callable[[RecordDict, Context], RecordDict]) -> Callable[[RecordDict, Context], RecordDict]:
    """The same, where an exception becomes a reply: Flower would forward its words, and its traceback, to the coordinator."""

    def careful(content: RecordDict, context: Context) -> RecordDict:
        try:
            return reply(content, context)
        except Refusal as refusal:
            log.warning("no answer: %s", refusal)
            return records({"error": str(refusal) or "it refuses"}, {})
        except KeyboardInterrupt:
            raise
        # A SystemExit, too: the process would end without a reply, and Flower would wait a minute for it.
        except BaseException as error:
            log.exception("no answer, because of an exception")
            return records({"error": f"{type(error).__name__} in its app: its node's log has the rest"}, {})

    return careful
