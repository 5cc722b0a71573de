"""A whole run in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._sgq import Problem, Session

Vector = NDArray[np.float64]


@runtime_checkable
class User(Protocol):
    """A user with a gradient. It may also have `value(x)`, its loss, and `smoothness`, its constant `L_i`."""

    def gradient(self, x: Vector, /) -> ArrayLike: ...


class OptimizeResult(dict[str, Any]):
    """The outcome of a run, with scipy's names: `result.x` is `result["x"]`.

    x: the point reached.
    fun: the objective there, where all users have a `value`; else None. Not billed.
    success: whether the run did not diverge.
    status: why it stopped, in a word; message: in a sentence.
    nit: steps; queries: all that was paid for; queries_per_user: user by user; cost: what that came to.
    history: a dict of arrays, one entry for each query: "user", "explored" (−1 where it does not apply), "step".
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:>{width}}: {value!r}" for name, value in self.items() if name != "history")


def minimize(
    users: Sequence[Callable[[Vector], ArrayLike] | User] | Problem,
    x0: ArrayLike | None = None,
    method: str | None = None,
    *,
    smoothness: ArrayLike | None = None,
    step_size: float | Literal["auto", "theory"] = "auto",
    budget: int | None = None,
    seed: int = 0,
    callback: Callable[[Session], Any] | None = None,
    session: Session | None = None,
    **options: Any,
) -> OptimizeResult:
    """Minimises the mean of the users' functions, asking one user at a time for its gradient.

    `users` are functions from a point to a gradient, or objects with a method `gradient` (and perhaps `value` and
    `smoothness`), or a problem of `sgq.problems`, which starts at zero where there is no `x0`. `callback` is called with
    the session after every answer; a true value ends the run. Without a method it is `frugal` (for more than 10,000 users
    `saga`), which has no step size and nothing else to tune; give it `smoothness` where you can, which saves a sixth of the queries or more on average,
    and half of them for counts. All other settings are those of `Session`. Without a budget there are 500 queries, or 10
    for each user if that is more.

    Nothing that was paid for is lost: an exception of a user or of the callback passes through as it is, Ctrl-C
    included, with the session as its attribute `session`. Give that as `session=` to go on from there: it keeps its own
    method, budget and other settings, and those given beside it count for nothing.

    >>> import sgq
    >>> users = [lambda x: x - 1.0, lambda x: x + 3.0]
    >>> result = sgq.minimize(users, [4.0], "saga", smoothness=1.0, budget=200)
    >>> result.x.round(6).tolist(), result.queries, result.status
    ([-1.0], 200, 'budget')
    """
    problem = users if isinstance(users, Problem) else None
    if session is None:
        if budget is None:
            budget = max(500, 10 * len(users))
        if problem is None and smoothness is None:
            constants = [getattr(user, "smoothness", None) for user in users]  # type: ignore[union-attr]
            if constants and all(constant is not None for constant in constants):
                smoothness = np.array(constants, dtype=float)
        session = Session(
            method,
            x0=x0,
            users=len(users),
            problem=problem,
            smoothness=smoothness,
            step_size=step_size,
            budget=budget,
            seed=seed,
            **options,
        )
    elif session.problem is not problem:
        raise ValueError("the session sees another problem than the one given as users: give the same one, or neither")
    elif len(session.queries_per_user) != len(users):
        there = len(session.queries_per_user)
        raise ValueError(f"the session has {there} users, and {len(users)} are given: give the same ones again")
    history: list[tuple[Any, Any, Any]] = []
    answer = _by_problem(session, 1 if callback else 4096) if problem else _by_users(session, users)  # type: ignore[arg-type]
    ended = False
    try:
        while not ended and (answered := answer()) is not None:
            history.append(answered)
            ended = callback is not None and bool(callback(session))
        point = session.point
        fun = problem.value(point) if problem else _mean_value(users, point)  # type: ignore[arg-type]
    except BaseException as error:
        error.session = session  # type: ignore[attr-defined]
        raise
    asked, explored, steps = (np.concatenate(part) for part in zip(*history)) if history else (np.array([], int),) * 3
    return OptimizeResult(
        x=point,
        fun=fun,
        success=session.stop_reason != "diverged",
        status="callback" if ended else session.stop_reason,
        message="the callback ended the run" if ended else session.message,
        nit=session.steps,
        queries=session.queries,
        queries_per_user=session.queries_per_user,
        cost=session.cost,
        session=session,
        history={"user": asked, "explored": explored, "step": steps},
    )


Answered = tuple[Any, Any, Any]


def _by_problem(session: Session, at_once: int) -> Callable[[], Answered | None]:
    """The problem answers many questions in one call."""

    def answer() -> Answered | None:
        return None if session.stop_reason else session.simulate(at_once)

    return answer


def _by_users(
    session: Session, users: Sequence[Callable[[Vector], ArrayLike] | User]
) -> Callable[[], Answered | None]:
    gradients = [_gradient_of(user, number) for number, user in enumerate(users)]

    def answer() -> Answered | None:
        query = session.ask()
        if query is None:
            return None
        session.tell(query.ticket, gradients[query.user](query.point))
        return [query.user], [-1 if query.explored is None else int(query.explored)], [session.steps]

    return answer


def _mean_value(users: Sequence[Any], point: Vector) -> float | None:
    values = [getattr(user, "value", None) for user in users]
    return float(np.mean([value(point) for value in values])) if all(map(callable, values)) else None  # type: ignore[misc]


def _gradient_of(user: Callable[[Vector], ArrayLike] | User, number: int) -> Callable[[Vector], ArrayLike]:
    if isinstance(user, User):
        return user.gradient
    if callable(user):
        return user
    raise TypeError(f"user {number} is {user!r}: it must be a function from a point to a gradient, or have a method gradient")
