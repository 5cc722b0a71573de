"""The loop between a session and the users' nodes."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .._glm_result import GlmResult
from .._minimize import PARTS, Answered, OptimizeResult, _outcome
from .._sgq import Ledger, Query, Session
from ._flwr import Grid, Network, RecordDict, Reply, Word, arrays_in, log, one_line, records, words_in
from ._presence import Presence, some

# The longest wait before a question is put again, in seconds.
LONGEST_WAIT = 60.0
# More questions than a session ever lets be out.
ALL_QUESTIONS = 1 << 30
# Seconds between two looks for replies: this part of the time since something came, within bounds.
POLL_SHARE, SHORTEST_POLL, LONGEST_POLL = 0.1, 0.02, 0.5
# What everybody is asked in a study by a plan.
TO_EVERYBODY = ("summary", "closing")


class Stalled(RuntimeError):
    """Users who must answer are not connected, or do not answer. All answers so far are in the session: run it again."""


@dataclass(frozen=True)
class Limits:
    """How long `run` waits, in seconds, and how often a question is put again."""

    timeout: float
    ttl: float
    retries: int
    wait: float
    patience: float

    def __post_init__(self) -> None:
        for name in ("timeout", "ttl", "wait", "patience"):
            value = getattr(self, name)
            if not 0 <= value < float("inf") or (name == "timeout" and value == 0):
                least = "more than 0" if name == "timeout" else "0 or more"
                raise ValueError(f"{name} is {value!r}: it must be a number of seconds, {least}")
        if self.ttl < self.timeout:
            raise ValueError(f"ttl is {self.ttl:g} s, less than the timeout of {self.timeout:g} s: Flower would forget questions too early")
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries!r}: it must be 0 or more")


@dataclass
class Out:
    """A question that is out."""

    query: Query
    # How often it came to nothing, and when to put it (again).
    tries: int = 0
    due: float = 0.0
    # The message that waits for its answer, the node that has it, and since when.
    message: str | None = None
    node: int = 0
    sent: float = 0.0
    # Whether its answer is there and waits for those before it; the answer itself, where no ledger keeps it.
    is_held: bool = False
    early: dict[str, Any] | None = None


def run(
    grid: Grid,
    session: Session,
    *,
    timeout: float = 300.0,
    ttl: float = 3600.0,
    retries: int = 2,
    wait: float = 1.0,
    patience: float = 120.0,
    in_order: bool = False,
    callback: Callable[[Session], Any] | None = None,
) -> OptimizeResult | GlmResult:
    """Puts the questions of a session to its users' nodes, until it stops. Returns what `sgq.minimize` does; for a study by a plan, its
    `GlmResult`.

    As many questions are out as the session has `open`. Answers are used as they come; with in_order, in the order of the questions, so
    that the time they take does not matter: the same seed gives the same bytes. With one question open that is so anyway.

    timeout: seconds after which a question fails, and somebody else is asked. Its answer is taken all the same, until ttl seconds after it
    was put: then Flower forgets it.
    retries, wait: a question whose answer is an error, or cannot be right, is put again so often before it fails, after a wait of so many
    seconds that doubles each time.
    patience: seconds to wait for users who are not connected: at the beginning for everybody, later where nobody else can be asked. Who
    is not connected by then is away, and back when it is connected again.
    callback: called with the session after every answer; a true value ends the run.

    A node is that of the user by whose name its key was registered (`flwr supernode register north.pub --name north`). Where no node was
    registered by a name, each is asked whose it is, and believed.

    Everything that lasts is in the session: on a ledger (`sgq.open`), the same call in another `flwr run` goes on at the same question.
    """
    asking = _Asking(Network(grid), session, Limits(timeout, ttl, retries, wait, patience), in_order, callback)
    try:
        return asking.run()
    except BaseException as error:
        # Flower has forgotten the replies that were pulled already.
        asking.keep_what_came()
        error.session = session  # type: ignore[attr-defined]
        raise
    finally:
        asking.presence.close()


class _Asking:
    def __init__(
        self,
        network: Network,
        session: Session,
        limits: Limits,
        in_order: bool,
        callback: Callable[[Session], Any] | None,
    ) -> None:
        self.network = network
        self.session = session
        self.ledger = session if isinstance(session, Ledger) else None
        self.is_study = self.ledger is not None and self.ledger.plan is not None
        self.limits = limits
        self.in_order = in_order
        self.callback = callback
        self.presence = Presence(network, session)
        self.nodes = self.presence.nodes
        self.out: dict[tuple[int, int], Out] = {}
        # Every message that may still be answered, also where its question has failed since, and until when.
        self.messages: dict[str, tuple[Query, float]] = {}
        # Replies that were pulled and not looked at yet.
        self.inbox: deque[Reply] = deque()
        self.history: list[Answered] = []
        # Whether the callback has ended the run.
        self.ended = False
        # When a reply last came; and since when there has been nothing to wait for but users who are not connected.
        self.last_reply = time.monotonic()
        self.stalled_since: float | None = None

    def run(self) -> OptimizeResult | GlmResult:
        for query in self.session.pending():
            self.take_up(query)
        # A session that has stopped needs nobody, unless there are closing questions.
        if self.session.stop_reason is not None:
            self.ask()
            if not self.out and not self.may_come_back():
                return self.result()
        self.gather()
        while not self.ended:
            self.nodes.look()
            self.look_who_is_there()
            self.ask()
            self.release()
            if not self.out and not self.may_come_back():
                break
            self.put()
            self.wait_for_replies()
        # What is out is paid for once it comes.
        while any(out.message is not None for out in self.out.values()):
            self.wait_for_replies()
        return self.result()

    def result(self) -> OptimizeResult | GlmResult:
        if self.ledger is None or not self.is_study:
            outcome = _outcome(self.session, self.history, self.ended, stacklevel=5)
            if not outcome.success and (silent := self.never_answered()):
                outcome["message"] += f"; never answered: {some(silent)}, without whom the gap may not fall{self.presence.said()}"
                log.warning("%s", outcome.message)
            return outcome
        found = self.ledger.result()
        if not self.ended:
            without = dict(self.ledger.refusals())
            if not without and (without := dict(self.ledger.failing())):
                reasons = {self.presence.users[user]: why for user, _, why in self.session.failures() if why}
                without = {name: reasons.get(name, words) for name, words in without.items()}
            if without:
                who = "; ".join(f"{name}: {one_line(why)}" for name, why in without.items())
                raise Stalled(
                    f"without an answer, and nobody else is asked meanwhile: {who}; put it right and run again, or go on without them: "
                    "session.leave(name), or sgq session leave"
                )
            if waits := {self.name_of(query) for query in self.session.pending()}:
                raise Stalled(f"questions to {some(waits)} are out without an answer: run again")
        if found is None:
            raise Stalled(f"there are no coefficients yet: {self.session.message or 'not everybody has answered the first question'}")
        return found

    def never_answered(self) -> list[str]:
        """Users who are part of the objective, and of whom nothing is known."""
        counts = self.session.queries_per_user
        return [name for user, name in enumerate(self.presence.users) if counts[user] == 0 and not self.session.has_left(user)]

    def keep_what_came(self) -> None:
        """Takes the answers that were pulled before an exception: nobody must be asked for them again."""
        self.callback, self.ended = None, True
        while self.inbox:
            with suppress(Exception):
                self.take(self.inbox.popleft())

    def name_of(self, query: Query) -> str:
        return self.presence.users[query.user]

    def may_come_back(self) -> bool:
        """Whether there may be more to ask once somebody is connected again."""
        return bool(self.presence.absent) and self.session.stop_reason == "nobody answers"

    def ask(self) -> None:
        """Takes up as many further questions as may be out."""
        for query in self.session.ask_many(ALL_QUESTIONS):
            self.take_up(query)

    def take_up(self, query: Query) -> None:
        is_held = self.ledger is not None and query.ticket[1] in self.ledger.held
        self.out.setdefault(query.ticket, Out(query, is_held=is_held))

    def gather(self) -> None:
        """Waits for everybody, as long as patience lasts: whom to ask first must not depend on who was quicker."""
        log.info("waiting for %d users to be connected", len(self.presence.users))
        until = time.monotonic() + self.limits.patience
        self.nodes.look()
        while missing := self.presence.missing():
            if time.monotonic() >= until:
                if not self.nodes.connected():
                    raise Stalled(f"nobody is connected after {self.limits.patience:g} s: start the nodes of {some(missing)}{self.presence.said()}")
                break
            self.receive()
            self.sleep()
            self.nodes.look()
        log.info("%d users are connected%s", len(self.nodes.connected()), f", and not {some(missing)}" if missing else "")

    def look_who_is_there(self) -> None:
        """Users who are not connected are away, and their questions fail; but what everybody is asked waits for them."""
        connected = self.nodes.connected()
        for out in self.out.values():
            if out.query.wants in TO_EVERYBODY and self.name_of(out.query) not in connected:
                out.message = None
        if any(out.query.wants in TO_EVERYBODY for out in self.out.values()):
            return
        for user in self.presence.update():
            for out in [out for out in self.out.values() if out.query.user == user and not out.is_held]:
                self.fail(out, "its node is not connected any more")
            self.presence.gone(user)

    def put(self) -> None:
        """Sends the questions whose time has come to those who are connected."""
        now = time.monotonic()
        for out in list(self.out.values()):
            if out.message is not None or out.is_held or out.due > now:
                continue
            node = self.nodes.node_of(self.name_of(out.query))
            if node is None:
                continue
            out.message = self.network.send("gradient", node, self.content(out.query), self.limits.ttl)
            if out.message is None:
                self.came_to_nothing(out, "it could not be sent: Flower did not take the message")
                continue
            out.node, out.sent = node, now
            self.messages[out.message] = (out.query, now + self.limits.ttl)

    def content(self, query: Query) -> RecordDict:
        words: dict[str, Word | None] = {"ticket": query.ticket[1], "user": self.name_of(query), "wants": query.wants}
        if self.is_study:
            return records({**words, "question": query.line}, {})
        return records(words, {"point": query.point})

    def wait_for_replies(self) -> None:
        self.receive()
        self.look_at_clocks()
        self.sleep()

    def receive(self) -> None:
        """Takes in what has come."""
        self.inbox.extend(self.network.receive([*self.messages, *self.nodes.greeted]))
        while self.inbox:
            self.last_reply = time.monotonic()
            self.take(self.inbox.popleft())

    def take(self, reply: Reply) -> None:
        if self.nodes.take(reply):
            return
        query, _ = self.messages.pop(reply.to)
        out = self.out.get(query.ticket)
        # An answer is welcome whenever it comes; an error counts where the question is still out there.
        is_out = out is not None and out.message == reply.to
        if out is not None and is_out:
            out.message = None
        why: str | None = reply.error
        if reply.content is not None:
            try:
                why = self.tell(query, out, reply.content)
            except (TypeError, ValueError) as error:
                why = str(error)
        if why is None:
            return
        log.warning("%s: %s: %s", title(query), self.name_of(query), one_line(why))
        if out is not None and is_out:
            if reply.content is None:
                self.nodes.did_not_answer(out.node)
            self.came_to_nothing(out, one_line(why))

    def tell(self, query: Query, out: Out | None, content: RecordDict) -> str | None:
        """Takes an answer, at once or when its turn comes. Returns what its user says in place of one."""
        words, name = words_in(content), self.name_of(query)
        if error := words.get("error"):
            return f"it says: {error}"
        if words.get("user") != name:
            raise ValueError(f"it is in the name of {words.get('user')!r}, and the question is for {name!r}")
        waits = self.in_order and query.wants not in TO_EVERYBODY and out is not None and out is not self.first()
        if self.ledger is not None and self.is_study:
            line = words.get("answer")
            if not isinstance(line, str):
                raise ValueError("it is no answer by a plan: the node's app must be made with sgq.flower.clinic")
            if ticket_in(line) not in (None, query.ticket[1]):
                raise ValueError(f"it answers question {ticket_in(line)}, and this is question {query.ticket[1]}")
            error = self.ledger.tell_line(line, name, hold=waits)
            if error is not None:
                return f"it says: {error}"
        else:
            parts = parts_in(words, content)
            if self.ledger is not None:
                self.ledger.tell(query, hold=waits, **parts)
            elif waits and out is not None:
                out.early = parts
            else:
                self.session.tell(query, **without_privacy(parts))
        if waits and out is not None:
            out.is_held = True
        else:
            self.was_told(query)
        return None

    def first(self) -> Out | None:
        """The earliest question that is out."""
        return next(iter(self.out.values()), None)

    def release(self) -> None:
        """Tells the answers whose turn it is, and those of an earlier run."""
        while not self.ended and (out := next((out for out in self.out.values() if out.is_held), None)) is not None:
            if self.in_order and out is not self.first():
                return
            try:
                if self.ledger is not None:
                    self.ledger.tell_held(out.query)
                elif out.early is not None:
                    self.session.tell(out.query, **without_privacy(out.early))
            except (TypeError, ValueError) as error:
                out.is_held, out.early = False, None
                self.came_to_nothing(out, str(error))
                continue
            self.was_told(out.query)

    def was_told(self, query: Query) -> None:
        out = self.out.pop(query.ticket, None)
        session, took = self.session, f" after {time.monotonic() - out.sent:.1f} s" if out is not None and out.sent else ""
        if query.wants not in TO_EVERYBODY:
            self.history.append(([query.user], [-1 if query.explored is None else int(query.explored)], [session.steps]))
        left = f", {session.remaining.part:.1e} of the gap believed to be left" if session.remaining is not None else ""
        log.info("%s: %s answered%s; %d queries%s", title(query), self.name_of(query), took, session.queries, left)
        if self.ended:
            return
        if self.callback is not None and self.callback(session):
            self.ended = True
        else:
            # At once, so that whom to ask does not depend on how many answers came together.
            self.ask()

    def came_to_nothing(self, out: Out, why: str) -> None:
        """A question is put again after a while, or fails; after the end it stays out, for another run."""
        if self.ended:
            return
        out.tries += 1
        if out.tries > self.limits.retries:
            self.fail(out, f"{why} (tried {out.tries} times)" if out.tries > 1 else why)
        else:
            out.due = time.monotonic() + min(LONGEST_WAIT, self.limits.wait * 2 ** (out.tries - 1))

    def fail(self, out: Out, why: str) -> None:
        log.warning("%s: %s failed: %s", title(out.query), self.name_of(out.query), why)
        del self.out[out.query.ticket]
        self.session.fail(out.query, why)

    def look_at_clocks(self) -> None:
        """Timeouts, messages that Flower has forgotten, and patience."""
        now = time.monotonic()
        for out in list(self.out.values()):
            if out.message is not None and now - out.sent >= self.limits.timeout:
                self.took_too_long(out)
        self.messages = {message: (query, until) for message, (query, until) in self.messages.items() if until > now}
        connected = self.nodes.connected()
        waited_for = {self.name_of(out.query) for out in self.out.values() if not out.is_held}
        if any(name in connected for name in waited_for) or not (waited_for or self.may_come_back()):
            self.stalled_since = None
        elif self.stalled_since is None:
            self.stalled_since = now
        elif now - self.stalled_since >= self.limits.patience:
            who = waited_for or {self.presence.users[user] for user in self.presence.absent}
            raise Stalled(
                f"not connected after {self.limits.patience:g} s, and nobody else can be asked: {some(who)}; start their nodes and run "
                f"again: all answers so far are in the session{self.presence.said()}"
            )

    def took_too_long(self, out: Out) -> None:
        why = f"no answer after {self.limits.timeout:g} s"
        self.nodes.did_not_answer(out.node)
        out.message = None
        if out.query.wants in TO_EVERYBODY or self.ended:
            # Nobody else can answer it: it is put again, and the first answer is taken, whichever it is.
            self.came_to_nothing(out, why)
        else:
            self.fail(out, why)

    def sleep(self) -> None:
        """Looks often where answers come quickly."""
        time.sleep(min(LONGEST_POLL, max(SHORTEST_POLL, POLL_SHARE * (time.monotonic() - self.last_reply))))


def title(query: Query) -> str:
    """What a person calls a question: those that everybody is asked have no number worth reading."""
    return {"summary": "the first question", "closing": "the closing question"}.get(query.wants, f"question {query.ticket[1]}")


def ticket_in(line: str) -> Any:
    """The ticket that a line of JSON names; None where it names none."""
    try:
        return json.loads(line).get("ticket")
    except (AttributeError, ValueError, RecursionError):
        return None


def parts_in(words: dict[str, Any], content: RecordDict) -> dict[str, Any]:
    """What `tell` takes, from an answer."""
    parts = {key: part for key, part in {**words, **arrays_in(content)}.items() if key in (*PARTS, "privacy")}
    if "gradient" not in parts:
        raise ValueError("it has no gradient: the node's app must be made with sgq.flower.user")
    if (privacy := parts.get("privacy")) is not None:
        if not isinstance(privacy, list) or len(privacy) != 2 or not all(isinstance(number, float) for number in privacy):
            raise ValueError("its privacy is no pair of numbers: the sensitivity, and the standard deviation of the noise")
        parts["privacy"] = tuple(privacy)
    return parts


def without_privacy(parts: dict[str, Any]) -> dict[str, Any]:
    """What a session in memory takes: of noise that was added at home, its variance."""
    privacy = parts.pop("privacy", None)
    if privacy is not None:
        parts.setdefault("variance", privacy[1] ** 2)
    return parts
