"""A whole run in one call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._sgq import Ledger, Problem, Query, Remaining, Session
from ._sgq import open as open_ledger

Vector = NDArray[np.float64]

# What a user may return: g, (f, g), (f, g, H), or a dict of what `Session.tell` takes.
Answer = (
    ArrayLike
    | tuple[float | None, ArrayLike]
    | tuple[float | None, ArrayLike, ArrayLike | None]
    | dict[str, Any]
)


# Why a run ended.
Status = Literal[
    "converged",
    "certified",
    "target gap",
    "surrogate gradient",
    "budget",
    "cost budget",
    "numbers budget",
    "diverged",
    "nobody answers",
    "callback",
]

# A result with more than this part of the gap left is warned of.
LOUD = 0.1


@runtime_checkable
class User(Protocol):
    """A user with a gradient. It may also have `value(x)`, its loss, and `smoothness`, its constant `L_i`."""

    def gradient(self, x: Vector, /) -> Answer: ...


class OptimizeResult(dict[str, Any]):
    """The outcome of a run, with scipy's names: `result.x` is `result["x"]`.

    x: the point reached.
    fun: the objective there, where all users have a `value`; else None. Not billed.
    jac: the mean of everybody's last gradient, once everybody was asked; else None. It is made of answers at older points.
    success: whether the run has converged: by `tol`, or by another target that was given. A budget that is spent is no success.
    status: why it stopped. With success: "converged" (by `tol`), "certified" (by `certified_gap`), "target gap" or "surrogate
    gradient" (by `gradient_tolerance`). Without: "budget", "cost budget", "numbers budget", "diverged", "nobody answers", or
    "callback", which ended the run.
    message: the same in a sentence, and what to do where it has not converged.
    remaining: how far it is still to go, with an interval, as the method believes; None where it cannot tell.
    certified: what is proven to remain at most, where smoothness and pl_constant are known; else None.
    nit: steps; queries and nfev: all that was paid for; queries_per_user: user by user; cost: what that came to.
    numbers: how many numbers all answers held; failures: whose questions were not answered, how often, and the last reason.
    history: a dict of arrays, one entry for each query: "user", "explored" (−1 where it does not apply), "step".
    """

    x: Vector
    fun: float | None
    jac: Vector | None
    success: bool
    status: Status
    message: str
    remaining: Remaining | None
    certified: float | None
    nit: int
    nfev: int
    queries: int
    queries_per_user: NDArray[np.uint64]
    cost: float
    numbers: int
    failures: list[tuple[int, int, str | None]]
    session: Session
    history: dict[str, NDArray[np.int64]]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:>{width}}: {value!r}" for name, value in self.items() if name != "history")


def minimize(
    users: Sequence[Callable[[Vector], Answer] | User] | Problem,
    x0: ArrayLike | None = None,
    method: str | None = None,
    *,
    smoothness: ArrayLike | None = None,
    step_size: float | Literal["auto", "theory"] = "auto",
    budget: int | None = None,
    tol: float | Literal["auto"] | None = "auto",
    seed: int | None = None,
    callback: Callable[[Session], Any] | None = None,
    session: Session | None = None,
    ledger: str | PathLike[str] | None = None,
    jobs: int | Executor | None = None,
    on_error: Literal["raise", "fail"] = "raise",
    **options: Any,
) -> OptimizeResult:
    """Minimises the mean of the users' functions, asking one user at a time for its gradient.

    `users` are functions from a point to a gradient, or objects with a method `gradient` (and perhaps `value` and
    `smoothness`), or a problem of `sgq.problems`, which starts at zero where there is no `x0`. `callback` is called with
    the session after every answer; a true value ends the run. Without a method it is `frugal` (for more than 100,000 users
    `saga`), which has no step size and nothing else to tune; give it `smoothness` where you can, which saves a sixth of the queries or more on average,
    and half of them for counts. All other settings are those of `Session`. Without any budget there are 500 queries, or 10
    for each user if that is more.

    A result that is above its start, or of which a tenth of the gap at the start is believed to be left, is warned of
    (`RuntimeWarning`). A run that has converged goes on with a smaller tolerance: `result.session.extend(tol=1e-8)`, and the
    session given as `session=`.

    The run stops once at most `tol` of the gap at the start is believed to remain: 0.0001 where the method can tell, which
    `frugal` can. `result.success` says whether it got there before the budget was spent; `tol=None` spends the whole budget.

    A user may say more than its gradient g: it may return `(f, g)` with its loss, `(f, g, H)` with its Hessian too, or a
    dict with "gradient" and any of "loss", "hessian", "variance", "weight" and "cost", as in `Session.tell`. Only a tuple
    whose second entry is an array is read as `(f, g)` or `(f, g, H)`; with one parameter g and H may be numbers. A method uses
    what it can.

    `jobs=k` asks k users at the same time, each in a thread of its own; an executor of `concurrent.futures` does as well
    (functions must pickle where it has processes), with as many questions out as it has workers, or as `open=` says. Answers
    are used in the order in which their questions were asked, so that the same seed and the same number out give the same
    bytes whatever the timing.

    Nothing that was paid for is lost: an exception of a user or of the callback passes through as it is, Ctrl-C
    included, with the session as its attribute `session`. Give that as `session=` to go on from there: it keeps its own
    method, budget and other settings, and those given beside it count for nothing. With several jobs an exception passes
    through once all that is out has been collected; Ctrl-C does not wait, and what was still out is asked again.
    `on_error="fail"` notes an exception of a user as a failed question, and asks others: `session.failures()` lists them.

    `ledger="study.sgq"` keeps the run in a file that survives anything: the same call, made again after a crash, goes on where it was,
    and asks nobody again whose answer was told. Settings that are given must then be those that the file was made with, and what they
    are by default comes from the file, `open` included; `users` alone will do. Users with an attribute `name` are called that. The
    file is closed at the end, and `sgq.open("study.sgq")` goes on with it. `result.history` has the queries of this call, and
    `result.session.history()` everything.

    >>> import sgq
    >>> users = [lambda x: x - 1.0, lambda x: x + 3.0]
    >>> result = sgq.minimize(users, [4.0], "saga", smoothness=1.0, budget=200)
    >>> result.x.round(6).tolist(), result.queries, result.status, result.success
    ([-1.0], 200, 'budget', False)

    Two at a time, with losses and Hessians:

    >>> users = [lambda x, b=b: (float((x - b) @ (x - b)), 2 * (x - b), 2 * np.eye(2)) for b in (1.0, -3.0)]
    >>> result = sgq.minimize(users, [4.0, 0.0], jobs=2, budget=30)
    >>> result.x.round(6).tolist(), result.status, result.success
    ([-1.0, -1.0], 'converged', True)
    """
    if on_error not in ("raise", "fail"):
        raise ValueError(f'on_error is {on_error!r}: it must be "raise" or "fail"')
    problem = users if isinstance(users, Problem) else None
    if ledger is not None and (session is not None or problem is not None):
        other = "session=" if session is not None else "a problem"
        raise ValueError(f"ledger= and {other} do not go together: a ledger is for users that are functions, and is a session itself")
    is_there = session is not None or (ledger is not None and Path(ledger).exists())
    # A session that is there knows how many may be out.
    executor, at_once = _workers(jobs, 1 if is_there else options.get("open"))
    if problem is not None and jobs is not None:
        raise ValueError("jobs is for users that are functions, and a problem answers by itself: give open= instead")
    if session is None:
        if problem is None and smoothness is None:
            smoothness = _constants(users)  # type: ignore[arg-type]
        given = {"x0": x0, "smoothness": smoothness, "budget": budget, "seed": seed, **options}
        if is_there:
            # What nobody says is as it was.
            said = {"step_size": step_size, "tol": tol}
            given.update((key, value) for key, value in said.items() if value != "auto")
            names = _names(users)  # type: ignore[arg-type]
            if not isinstance(names, int):
                given["users"] = names
            session = open_ledger(ledger, method, **given)  # type: ignore[arg-type]
        else:
            if budget is None and options.get("cost_budget") is None and options.get("numbers_budget") is None:
                given["budget"] = max(500, 10 * len(users))
            if problem is None:
                # A function says what it says, whatever it is asked for.
                given.setdefault("answers", "hessian")
            if at_once is not None:
                given["open"] = at_once
            given.update(step_size=step_size, tol=tol)
            # The users are the caller's own functions: an odd answer is warned of, and taken.
            if ledger is not None:
                given.setdefault("protection", {"unexpected": "flag"})
            if ledger is None:
                session = Session(method, users=len(users), problem=problem, **given)
            else:
                session = open_ledger(ledger, method, users=_names(users), **given)  # type: ignore[arg-type]
    elif session.problem is not problem:
        raise ValueError("the session sees another problem than the one given as users: give the same one, or neither")
    with session if ledger is not None and isinstance(session, Ledger) else nullcontext():
        return _run(session, users, problem, callback, jobs, executor, on_error == "fail")


def _run(
    session: Session,
    users: Sequence[Callable[[Vector], Answer] | User] | Problem,
    problem: Problem | None,
    callback: Callable[[Session], Any] | None,
    jobs: int | Executor | None,
    executor: Executor | None,
    failing: bool,
) -> OptimizeResult:
    """Asks until the session stops, and says what came of it."""
    if len(session.queries_per_user) != len(users):
        there = len(session.queries_per_user)
        raise ValueError(f"the session has {there} users, and {len(users)} are given: give the same ones again")
    if isinstance(session, Ledger) and session.plan is not None:
        raise ValueError(f"{session.path} is a study by a plan, whose users answer with lines: loop over it, and give it each by tell_line")
    history: list[Answered] = []
    ended = False
    start = session.point if session.steps == 0 else None
    try:
        if problem is not None:
            at_a_time = 1 if callback else 4096
            while not ended and not session.stop_reason:
                history.append(session.simulate(at_a_time))
                ended = callback is not None and bool(callback(session))
        else:
            asking = _Asking(session, users, history, failing)  # type: ignore[arg-type]
            with executor or nullcontext() as pool:
                ended = asking.run(jobs if isinstance(jobs, Executor) else pool, callback)
        point = session.point
        fun = _value(users, problem, point, session)
        at_start = None if fun is None else _value(users, problem, start, session)
    except BaseException as error:
        error.session = session  # type: ignore[attr-defined]
        raise
    return _outcome(session, history, ended, fun, at_start, stacklevel=4)


def _outcome(
    session: Session,
    history: list[Answered],
    ended: bool,
    fun: float | None = None,
    at_start: float | None = None,
    *,
    stacklevel: int,
) -> OptimizeResult:
    """What came of a run; fun and at_start are the objective now and before, where it is known."""
    message, is_loud = _message(session, ended, fun, at_start)
    if is_loud:
        warn(message, RuntimeWarning, stacklevel=stacklevel)
    asked, explored, steps = (np.concatenate(part) for part in zip(*history)) if history else (np.array([], int),) * 3
    return OptimizeResult(
        x=session.point,
        fun=fun,
        jac=session.surrogate_gradient,
        success=session.stop_reason in CONVERGED,
        status="callback" if ended else session.stop_reason,
        message=message,
        remaining=session.remaining,
        certified=session.certified,
        nit=session.steps,
        nfev=session.queries,
        queries=session.queries,
        queries_per_user=session.queries_per_user,
        cost=session.cost,
        numbers=session.numbers,
        failures=session.failures(),
        session=session,
        history={"user": asked, "explored": explored, "step": steps},
    )


Answered = tuple[Any, Any, Any]

# The reasons to stop that are what was wanted.
CONVERGED = ("converged", "certified", "target gap", "surrogate gradient")


def _message(session: Session, ended: bool, fun: float | None, at_start: float | None) -> tuple[str, bool]:
    """Why a run ended, where it stands if that is not where it should be, and whether nobody should overlook that."""
    message = "the callback ended the run" if ended else session.message or ""
    remaining = session.remaining
    if session.stop_reason == "diverged":
        return f"{message}; DIVERGED: the point means nothing", True
    if fun is not None and at_start is not None and not fun <= at_start + 1e-9 * abs(at_start):
        way_out = "give a larger budget, or take another method"
        return f"{message}; NOT CONVERGED: it ended above its start, at {fun:.6g} after {at_start:.6g}; {way_out}", True
    if session.stop_reason in CONVERGED or remaining is None:
        return message, False
    if remaining.part > 1:
        return f"{message}; NOT CONVERGED: it is believed to be above its start: give a larger budget", True
    words = "NOT CONVERGED" if remaining.part > LOUD else "not converged"
    low, high = remaining.low / remaining.at_start, remaining.high / remaining.at_start
    left = f"{remaining.part:.1e} ({low:.1e} to {high:.1e}) of the gap at the start is believed to remain"
    way_out = "" if ended else "; give a larger budget"
    return f"{message}; {words}: {left}{way_out}", remaining.part > LOUD


def _constants(users: Sequence[Callable[[Vector], Answer] | User]) -> ArrayLike | None:
    """The smoothness of the users, where all of them say it."""
    constants = [getattr(user, "smoothness", None) for user in users]
    return np.array(constants, dtype=float) if constants and all(constant is not None for constant in constants) else None


def _names(users: Sequence[Callable[[Vector], Answer] | User]) -> list[str] | int:
    """What the users are called, where all of them say it; else how many there are."""
    names = [name for user in users if isinstance(name := getattr(user, "name", None), str)]
    return names if names and len(names) == len(users) else len(users)


def _workers(jobs: int | Executor | None, given: int | None) -> tuple[ThreadPoolExecutor | None, int | None]:
    """An executor of our own, where one is wanted, and how many questions may be out; None where the session says."""
    if jobs is None:
        return None, None
    if isinstance(jobs, Executor):
        workers = getattr(jobs, "_max_workers", None) if given is None else given
        if workers is None:
            raise ValueError("the executor does not say how many workers it has: give open=, the questions that may be out")
        return None, workers
    try:
        if isinstance(jobs, bool):
            raise TypeError
        count = index(jobs)
    except TypeError:
        message = f"jobs is {jobs!r}: it must be a whole number, or an executor of concurrent.futures"
        raise TypeError(message) from None
    if count < 1:
        raise ValueError(f"jobs is {count}: at least one is needed")
    return (_Threads(count) if count > 1 else None), (count if given is None else given)


class _Threads(ThreadPoolExecutor):
    """Threads that Ctrl-C does not wait for."""

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        patient = kind is None or issubclass(kind, Exception)
        self.shutdown(wait=patient, cancel_futures=not patient)


class _Asking:
    """Puts the questions of a session to users that are functions, and tells the answers in the order of the questions.

    On a file, an answer that comes before its turn is kept there until then: nobody is asked for it again, whatever happens.
    """

    def __init__(
        self,
        session: Session,
        users: Sequence[Callable[[Vector], Answer] | User],
        history: list[Answered],
        failing: bool,
    ) -> None:
        self.session = session
        self.users = [_function_of(user, number) for number, user in enumerate(users)]
        self.history = history
        self.failing = failing
        self.known = (*PARTS, "privacy") if isinstance(session, Ledger) else PARTS
        # A question, and its answer to come: begun already where there is an executor.
        self.out: deque[tuple[Query, Future[Answer] | None]] = deque()
        # Why answers that came before their turn cannot be taken: said when it comes.
        self.refused: dict[tuple[int, int], Exception] = {}

    def run(self, executor: Executor | None, callback: Callable[[Session], Any] | None) -> bool:
        """Asks until the session stops, or the callback ends it: then true."""
        try:
            self._put(self.session.pending(), executor)
            while True:
                self._ask(executor)
                if not self.out:
                    return False
                query, future = self.out.popleft()
                self._receive(query, future)
                if callback is not None and callback(self.session):
                    self._collect()
                    return True
        except Exception as error:
            try:
                self._collect(error)
            except BaseException as interrupt:
                self._keep_what_is_done()
                raise interrupt from error
            raise
        except BaseException:
            self._keep_what_is_done()
            raise

    def _ask(self, executor: Executor | None) -> None:
        known = {query.ticket for query, _ in self.out}
        while (query := self.session.ask()) is not None and query.ticket not in known:
            known.add(query.ticket)
            self._put([query], executor)

    def _put(self, queries: list[Query], executor: Executor | None) -> None:
        for query in queries:
            to_ask = executor if not self._is_held(query) else None
            future = to_ask.submit(self.users[query.user], query.point) if to_ask else None
            self.out.append((query, future))

    def _is_held(self, query: Query) -> bool:
        return isinstance(self.session, Ledger) and query.ticket[1] in self.session.held

    def _hold(self, query: Query, future: Future[Answer] | None) -> None:
        """Keeps an answer that is there on the file."""
        if not isinstance(self.session, Ledger) or future is None or future.cancelled() or future.exception() is not None:
            return
        try:
            self.session.tell(query, hold=True, **_parts(future.result(), query.point.size, self.known))
        except Exception as error:
            self.refused[query.ticket] = error

    def _wait(self, first: Future[Answer]) -> None:
        """Until the first answer is there; others may come before it."""
        early = {future: query for query, future in self.out if future is not None}
        while isinstance(self.session, Ledger) and not first.done():
            done, _ = wait([first, *early], return_when=FIRST_COMPLETED)
            for future in done - {first}:
                self._hold(early.pop(future), future)

    def _receive(self, query: Query, future: Future[Answer] | None) -> None:
        if future is not None:
            self._wait(future)
        if error := self.refused.pop(query.ticket, None):
            raise error
        if self._is_held(query):
            self.session.tell_held(query)  # type: ignore[attr-defined]
            self._note(query)
            return
        try:
            answer = future.result() if future else self.users[query.user](query.point)
        except Exception as error:
            if not self.failing:
                raise
            self.session.fail(query, f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
            return
        self.session.tell(query, **_parts(answer, query.point.size, self.known))
        self._note(query)

    def _note(self, query: Query) -> None:
        explored = -1 if query.explored is None else int(query.explored)
        self.history.append(([query.user], [explored], [self.session.steps]))

    def _collect(self, error: Exception | None = None) -> None:
        """Takes in what was begun; a further exception becomes a note of the first one."""
        while self.out:
            query, future = self.out.popleft()
            if future is None:
                continue
            try:
                if error is not None and isinstance(self.session, Ledger):
                    # What comes after the one that failed waits until that is answered, in another run.
                    future.result()
                    self._hold(query, future)
                    if refused := self.refused.get(query.ticket):
                        raise refused
                else:
                    self._receive(query, future)
            except Exception as other:
                if error is None:
                    self._collect(other)
                    raise
                if hasattr(error, "add_note"):  # not before Python 3.11
                    error.add_note(f"user {query.user} failed too: {type(other).__name__}: {other}")

    def _keep_what_is_done(self) -> None:
        """Takes in the answers that are there; what is not is asked again some other time."""
        while self.out:
            query, future = self.out.popleft()
            if future is None or future.cancel() or not future.done() or future.exception() is not None:
                continue
            if isinstance(self.session, Ledger):
                self._hold(query, future)
                continue
            try:
                self._receive(query, future)
            except Exception:
                continue


# What `Session.tell` takes.
PARTS = ("gradient", "loss", "hessian", "variance", "weight", "cost")


def _parts(answer: Answer, dim: int, known: tuple[str, ...]) -> dict[str, Any]:
    """What `tell` takes, from what a user returned."""
    if isinstance(answer, dict):
        for key in answer:
            if key not in known:
                raise TypeError(f"an answer has no part {key!r}: it has {', '.join(known)}")
        if answer.get("gradient") is None:
            raise TypeError('the answer has no "gradient": give it, whatever else there is to say')
        return answer
    # A gradient may be a tuple of numbers too, but not of more than there are parameters.
    if isinstance(answer, tuple) and len(answer) in (2, 3) and (dim == 1 or np.ndim(answer[1]) > 0):
        return dict(zip(("loss", "gradient", "hessian"), answer))
    return {"gradient": answer}


def _value(users: Any, problem: Problem | None, point: Vector | None, session: Session) -> float | None:
    """The objective, where it is known; not billed."""
    if point is None:
        return None
    return problem.value(point) if problem else _mean_value(users, point, session)


def _mean_value(users: Sequence[Any], point: Vector, session: Session) -> float | None:
    values = [getattr(user, "value", None) for user in users]
    if not all(map(callable, values)):
        return None
    return float(np.average([value(point) for value in values], weights=session.weights))  # type: ignore[misc]


def _function_of(user: Callable[[Vector], Answer] | User, number: int) -> Callable[[Vector], Answer]:
    if isinstance(user, User):
        return user.gradient
    if callable(user):
        return user
    raise TypeError(f"user {number} is {user!r}: it must be a function from a point to a gradient, or have a method gradient")
