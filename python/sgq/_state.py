"""What a stored session is made of."""

from typing import Any, TypedDict


class State(TypedDict):
    """A session as `Session.state_dict()` gives it: to be stored, not to be read."""

    method: str
    options: dict[str, Any]
    number: int
    snapshot: bytes
