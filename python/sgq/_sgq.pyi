"""
The compiled half of the package `sgq`, which has all of it under better names.
"""

from numpy import float64, uint64
from numpy.typing import ArrayLike, NDArray
from os import PathLike
from sgq._state import State
from typing import Any, Final, Literal, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "Query", "Session", "methods"]

__version__: Final[str]

@final
class Query:
    """
    A question to put to a user.
    """
    def __repr__(self, /) -> str: ...
    @property
    def explored(self, /) -> bool | None:
        """
        Whether the user was picked at random in order to explore; None for methods without exploration.
        """
    @property
    def point(self, /) -> NDArray[float64]:
        """
        The point at which the user's gradient is wanted. The array is not a copy, and cannot be written to.
        """
    @property
    def ticket(self, /) -> tuple[int, int]:
        """
        What to give back with the answer: a pair of the session's number and the question's.
        """
    @property
    def user(self, /) -> int:
        """
        The user to ask, from 0.
        """

@final
class Session:
    """
    One run of one method.
    """
    def __iter__(self, /) -> Session: ...
    def __new__(cls, /, method: str = "sgq", *, x0: ArrayLike, users: SupportsIndex, smoothness: ArrayLike | None = None, step_size: SupportsFloat | SupportsIndex | Literal["auto", "theory"] | None = None, budget: SupportsIndex | None = None, gradient_tolerance: SupportsFloat | SupportsIndex | None = None, divergence_limit: SupportsFloat | SupportsIndex | None = None, costs: ArrayLike | None = None, pl_constant: SupportsFloat | SupportsIndex | None = None, objective_smoothness: SupportsFloat | SupportsIndex | None = None, seed: SupportsIndex = 0, table: str = "f64", table_folder: str | PathLike[str] | None = None, **options: "float | bool") -> Session: ...
    def __next__(self, /) -> Query:
        """
        The next question; a question that was not answered comes again.
        """
    def __reduce__(self, /) -> tuple[Any, tuple[State]]: ...
    def __repr__(self, /) -> str: ...
    def ask(self, /) -> Query | None:
        """
        Whom to ask next, and where; None once the run has stopped. Until the answer is told, asking again gives the same
        question.
        """
    @property
    def cost(self, /) -> float:
        """
        What all queries so far have cost.
        """
    @classmethod
    def from_state_dict(cls, /, state: State) -> Session:
        """
        A session from a stored state.
        """
    def load_state_dict(self, /, state: State) -> None:
        """
        Goes on from a stored state, bit for bit as the session that stored it would. What this session did is forgotten.
        """
    @property
    def message(self, /) -> str | None:
        """
        Why the run stopped, in a sentence.
        """
    @property
    def method(self, /) -> str:
        """
        The method's name.
        """
    @property
    def point(self, /) -> NDArray[float64]:
        """
        Where the run stands.
        """
    @property
    def queries(self, /) -> int:
        """
        Queries paid for so far.
        """
    @property
    def queries_per_user(self, /) -> NDArray[uint64]:
        """
        Queries paid for so far, user by user.
        """
    def state_dict(self, /) -> State:
        """
        All of the session, its randomness and its open question included, to be stored.
        """
    @property
    def step_size(self, /) -> float:
        """
        The step size of the coming step.
        """
    @property
    def steps(self, /) -> int:
        """
        Steps taken so far: moves of the point.
        """
    @property
    def stop_reason(self, /) -> str | None:
        """
        Why the run stopped, in a word: "budget", "surrogate gradient" or "diverged"; None while it goes on.
        """
    @property
    def surrogate_gradient_norm(self, /) -> float | None:
        """
        The norm of the mean of everybody's last gradient, once there is one.
        """
    def tell(self, /, ticket: tuple[SupportsIndex, SupportsIndex], gradient: ArrayLike) -> None:
        """
        Takes the answer to a question: bills it, then uses it. Telling the same answer again changes nothing; on an error
        nothing is billed, and the question stays open.
        """

def methods() -> list[tuple[str, str, str, list[str]]]:
    """
    The built-in methods: a list of (name, summary, what it charges, its own settings).
    """
