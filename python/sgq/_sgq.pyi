from typing import Any, Literal, TypedDict, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

__all__ = ["Query", "Session", "__version__", "methods"]

__version__: str

class _State(TypedDict):
    method: str
    options: dict[str, Any]
    number: int
    snapshot: bytes

def methods() -> list[tuple[str, str, str, list[str]]]: ...
@final
class Query:
    @property
    def ticket(self) -> tuple[int, int]: ...
    @property
    def user(self) -> int: ...
    @property
    def explored(self) -> bool | None: ...
    @property
    def point(self) -> NDArray[np.float64]: ...

@final
class Session:
    def __new__(
        cls,
        method: str = "sgq",
        *,
        x0: ArrayLike,
        users: int,
        smoothness: ArrayLike | None = None,
        step_size: float | Literal["auto", "theory"] | None = None,
        budget: int | None = None,
        gradient_tolerance: float | None = None,
        divergence_limit: float | None = None,
        costs: ArrayLike | None = None,
        pl_constant: float | None = None,
        objective_smoothness: float | None = None,
        seed: int = 0,
        table: str = "f64",
        table_folder: str | None = None,
        **options: float | bool,
    ) -> Self: ...
    def ask(self) -> Query | None: ...
    def tell(self, ticket: tuple[int, int], gradient: ArrayLike) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Query: ...
    @property
    def point(self) -> NDArray[np.float64]: ...
    @property
    def method(self) -> str: ...
    @property
    def queries(self) -> int: ...
    @property
    def queries_per_user(self) -> NDArray[np.uint64]: ...
    @property
    def cost(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def step_size(self) -> float: ...
    @property
    def surrogate_gradient_norm(self) -> float | None: ...
    @property
    def stop_reason(self) -> str | None: ...
    @property
    def message(self) -> str | None: ...
    def state_dict(self) -> _State: ...
    def load_state_dict(self, state: _State) -> None: ...
    @classmethod
    def from_state_dict(cls, state: _State) -> Self: ...
