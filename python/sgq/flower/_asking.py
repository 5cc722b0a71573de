"""The loop between a session and the users' nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from .._glm_result import GlmResult
from .._minimize import PARTS, Answered, OptimizeResult, _outcome
from .._sgq import Ledger, Query, Session
from ._flwr import Grid, Network, RecordDict, Reply, Word, arrays_in, log, records, words_in
from ._members import Members

# The longest wait before a question is put again, in seconds.
LONGEST_WAIT = 60.0
# As many questions as the session lets be out.
MANY = 1 << 30
# How long to sleep before looking for replies: a part of the time since something came, within bounds.
POLL_PART, SHORTEST_POLL, LONGEST_POLL = 0.1, 0.02, 0.5
# Why a user is away, in the record: such a user is back once it is connected.
NOT_CONNECTED = "not connected"
# What everybody is asked in a study by a plan.
TO_EVERYBODY = ("summary", "closing")


class Stalled(RuntimeError):
    """Nobody who has a question is connected, or who must answer does not. All answers so far are in the session: run it again."""


@dataclass(frozen=True)
class How:
    """What `run` is told of waiting; in seconds."""

    timeout: float = 300.0
    ttl: float = 3600.0
    retries: int = 2
    wait: float = 1.0
    patience: float = 120.0
    in_order: bool = False

    def __post_init__(self) -> None:
        for name in ("timeout", "ttl", "wait", "patience"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value!r}: it must be a number of seconds, not negative")
        if not self.timeout > 0:
            raise ValueError(f"timeout is {self.timeout!r}: an answer takes longer than that")
        if self.ttl < self.timeout:
            raise ValueError(f"ttl is {self.ttl:g} s and timeout {self.timeout:g} s: Flower would forget questions that are waited for")
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries!r}: it must not be negative")


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

    A node is that of the user by whose name its key was registered (`flwr supernode register north.pub --name north`); one that was not
    registered by a name is asked whose it is, and believed.

    Everything that lasts is in the session: on a ledger (`sgq.open`), the same call in another `flwr run` goes on at the same question.
    """
    how = How(timeout, ttl, retries, wait, patience, in_order)
    users = [str(name) for name in getattr(session, "names", ())] or [f"user-{number}" for number in range(len(session.weights))]
    try:
        return _Asking(Network(grid), session, users, how, callback).run()
    except BaseException as error:
        error.session = session  # type: ignore[attr-defined]
        raise


class _Asking:
    def __init__(
        self,
        network: Network,
        session: Session,
        users: list[str],
        how: How,
        callback: Callable[[Session], Any] | None,
    ) -> None:
        self.network = network
        self.session = session
        self.ledger = session if isinstance(session, Ledger) else None
        self.is_study = self.ledger is not None and self.ledger.plan is not None
        self.users = users
        self.how = how
        self.callback = callback
        self.members = Members(network, users, self.note)
        self.out: dict[tuple[int, int], Out] = {}
        # Every message that may still be answered, also where its question has failed since, and until when.
        self.messages: dict[str, tuple[Query, float]] = {}
        # Users who are away because they are not connected.
        self.absent: set[int] = set()
        self.history: list[Answered] = []
        # Whether the callback has ended the run.
        self.ended = False
        # When something last came, and since when there has been nothing to wait for but users who are not connected.
        self.moved = time.monotonic()
        self.stalled: float | None = None

    def run(self) -> OptimizeResult | GlmResult:
        self.take_up_record()
        self.gather()
        while not self.ended:
            self.members.look()
            self.look_who_is_there()
            self.ask()
            self.release()
            if not self.out and not self.may_come_back():
                break
            self.put()
            self.receive()
            self.look_at_clocks()
            if not self.ended:
                self.sleep()
        return self.result()

    def result(self) -> OptimizeResult | GlmResult:
        if self.ledger is None or not self.is_study:
            return _outcome(self.session, self.history, self.ended, stacklevel=5)
        found = self.ledger.result()
        without = {} if self.ended else dict(self.ledger.refusals() or self.ledger.failing())
        without.update((self.users[user], why) for user, _, why in self.session.failures() if why and self.users[user] in without)
        if without:
            who = "; ".join(f"{name}: {why}" for name, why in without.items())
            raise Stalled(
                f"without an answer, and nobody else is asked meanwhile: {who}; put it right and run again, or go on without them: "
                "session.leave(name), or sgq session leave"
            )
        if found is None:
            raise Stalled(f"there are no coefficients yet: {self.session.message or 'not everybody has answered the first question'}")
        return found

    def note(self, words: str) -> None:
        """Writes a line into the record, where there is one."""
        log.info("%s", words)
        if self.ledger is not None:
            self.ledger.note(words)

    def name_of(self, query: Query) -> str:
        return self.users[query.user]

    def take_up_record(self) -> None:
        """What an earlier run has left: questions that are out, and users who were not connected."""
        for query in self.session.pending():
            self.take_up(query)
        for event in self.ledger.history() if self.ledger is not None else ():
            if event["kind"] in ("away", "back", "left") and event["user"] is not None:
                change = self.absent.add if event["words"] == NOT_CONNECTED else self.absent.discard
                change(self.users.index(event["user"]))

    def ask(self) -> None:
        """As many further questions as may be out."""
        for query in self.session.ask_many(MANY):
            self.take_up(query)

    def take_up(self, query: Query) -> None:
        is_held = self.ledger is not None and query.ticket[1] in self.ledger.held
        self.out.setdefault(query.ticket, Out(query, is_held=is_held))

    def gather(self) -> None:
        """Waits for everybody, as long as patience lasts: whom to ask first must not depend on who was quicker."""
        wanted = {name for number, name in enumerate(self.users) if not self.session.has_left(number)}
        log.info("waiting for %d users to be connected", len(wanted))
        until = time.monotonic() + self.how.patience
        while missing := wanted - self.members.connected():
            self.members.look()
            self.receive()
            if time.monotonic() >= until:
                if missing == wanted:
                    raise Stalled(f"nobody is connected after {self.how.patience:g} s: start the nodes of {some(missing)}")
                break
            self.sleep()
        log.info("%d users are connected%s", len(wanted - missing), f", and not {some(missing)}" if missing else "")

    def look_who_is_there(self) -> None:
        """Users who are not connected are away, and their questions fail; but what everybody is asked waits for them."""
        if any(out.query.wants in TO_EVERYBODY for out in self.out.values()):
            return
        connected = self.members.connected()
        for number, name in enumerate(self.users):
            if number in self.absent and name in connected:
                self.absent.discard(number)
                self.session.back(number, "connected")
                log.info("%s is connected again", name)
            elif number not in self.absent and name not in connected and not self.session.has_left(number):
                for out in [out for out in self.out.values() if out.query.user == number and not out.is_held]:
                    self.fail(out, "its node is not connected any more")
                self.absent.add(number)
                self.session.away(number, NOT_CONNECTED)
                log.info("%s is not connected", name)

    def settle(self) -> None:
        """Looks who is connected, and waits until nodes that are new have said whose they are."""
        self.members.look()
        while self.members.greeted:
            self.receive()
            self.sleep()
        self.look_who_is_there()

    def may_come_back(self) -> bool:
        """Whether there may be more to ask once somebody is connected again."""
        return bool(self.absent) and self.session.stop_reason == "nobody answers"

    def put(self) -> None:
        """Sends the questions whose time has come to those who are connected."""
        now = time.monotonic()
        for out in list(self.out.values()):
            node = self.members.node_of(self.name_of(out.query))
            if out.message is not None or out.is_held or out.due > now or node is None:
                continue
            out.message = self.network.send("gradient", node, self.content(out.query), self.how.ttl)
            if out.message is None:
                self.came_to_nothing(out, "it could not be sent: Flower did not take the message")
                continue
            out.node, out.sent = node, now
            self.messages[out.message] = (out.query, now + self.how.ttl)

    def content(self, query: Query) -> RecordDict:
        words: dict[str, Word | None] = {"ticket": query.ticket[1], "user": self.name_of(query), "wants": query.wants}
        if self.is_study:
            return records({**words, "question": query.line}, {})
        return records(words, {"point": query.point})

    def receive(self) -> None:
        """Takes in what has come."""
        for reply in self.network.receive([*self.messages, *self.members.greeted]):
            self.moved = time.monotonic()
            if not self.members.take(reply):
                self.take(reply)

    def take(self, reply: Reply) -> None:
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
        log.warning("%s: %s: %s", title(query), self.name_of(query), why)
        if out is not None and is_out:
            if reply.content is None and out.node not in self.network.nodes():
                self.members.drop(out.node)
            self.came_to_nothing(out, why)

    def tell(self, query: Query, out: Out | None, content: RecordDict) -> str | None:
        """Takes an answer, at once or when its turn comes. Returns what its user says in place of one."""
        words, name = words_in(content), self.name_of(query)
        if error := words.get("error"):
            return f"it says: {error}"
        if words.get("user") != name:
            raise ValueError(f"it is in the name of {words.get('user')!r}, and the question is for {name!r}")
        waits = self.how.in_order and query.wants not in TO_EVERYBODY and out is not None and out is not self.first()
        if self.ledger is not None and self.is_study:
            if not isinstance(line := words.get("answer"), str):
                raise ValueError("it is no answer by a plan: the node's app must be made with sgq.flower.clinic")
            error = self.ledger.tell_line(line, name, hold=waits)
            if error is not None:
                return f"it says: {error}"
        else:
            parts = {key: part for key, part in {**words, **arrays_in(content)}.items() if key in (*PARTS, "privacy")}
            if "gradient" not in parts:
                raise ValueError("it has no gradient: the node's app must be made with sgq.flower.user")
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
            if self.how.in_order and out is not self.first():
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
        if self.callback is not None and self.callback(session):
            self.ended = True
        # At once, so that whom to ask does not depend on how many answers came together.
        if not self.ended:
            self.ask()

    def came_to_nothing(self, out: Out, why: str) -> None:
        """A question is put again after a while, or fails."""
        out.tries += 1
        if out.tries > self.how.retries:
            self.fail(out, f"{why} (tried {out.tries} times)" if out.tries > 1 else why)
        else:
            out.due = time.monotonic() + min(LONGEST_WAIT, self.how.wait * 2 ** (out.tries - 1))

    def fail(self, out: Out, why: str) -> None:
        log.warning("%s: %s failed: %s", title(out.query), self.name_of(out.query), why)
        del self.out[out.query.ticket]
        self.session.fail(out.query, why)

    def look_at_clocks(self) -> None:
        """Timeouts, messages that Flower has forgotten, and patience."""
        now = time.monotonic()
        for out in list(self.out.values()):
            if out.message is not None and now - out.sent >= self.how.timeout:
                self.fail(out, f"no answer after {self.how.timeout:g} s")
        self.messages = {message: (query, until) for message, (query, until) in self.messages.items() if until > now}
        connected = self.members.connected()
        waited_for = {self.name_of(out.query) for out in self.out.values() if not out.is_held}
        if self.members.greeted or waited_for & connected or not (waited_for or self.may_come_back()):
            self.stalled = None
        elif self.stalled is None:
            self.stalled = now
        elif now - self.stalled >= self.how.patience:
            who = waited_for or {self.users[number] for number in self.absent}
            raise Stalled(
                f"{some(who)} must be asked, and is not connected after {self.how.patience:g} s: start its node and run again; "
                "all answers so far are in the session"
            )

    def sleep(self) -> None:
        """Looks often where answers come quickly."""
        time.sleep(min(LONGEST_POLL, max(SHORTEST_POLL, POLL_PART * (time.monotonic() - self.moved))))


def title(query: Query) -> str:
    """What a person calls a question: those that everybody is asked have no number worth reading."""
    return {"summary": "the first question", "closing": "the closing question"}.get(query.wants, f"question {query.ticket[1]}")


def some(names: Collection[str]) -> str:
    """A few names, and that there are others."""
    return ", ".join(sorted(names)[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")


def without_privacy(parts: dict[str, Any]) -> dict[str, Any]:
    """What a session in memory takes: of noise that was added at home, its variance."""
    privacy = parts.pop("privacy", None)
    if privacy is not None:
        parts.setdefault("variance", float(privacy[1]) ** 2)
    return parts
