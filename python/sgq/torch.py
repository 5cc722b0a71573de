"""Users made of a PyTorch model and each user's batches.

>>> import sgq
>>> import torch
>>> from sgq.torch import Users
>>> _ = torch.manual_seed(0)
>>> model = torch.nn.Linear(2, 1)
>>> rows = {name: torch.randn(20, 2) for name in ("clinic a", "clinic b", "clinic c")}
>>> data = {name: [(inputs, inputs.sum(1, keepdim=True))] for name, inputs in rows.items()}  # or a DataLoader each
>>> users = Users(model, data, torch.nn.MSELoss())
>>> result = sgq.minimize(users, users.start, "saga", step_size=0.1, budget=200)
>>> users.load(result.x)
>>> model.weight.detach().numpy().round(3).tolist()
[[1.0, 1.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from operator import length_hint
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ._minimize import Vector

try:
    import torch
    from torch import Tensor, nn
    from torch.func import functional_call
except ModuleNotFoundError as error:
    raise ImportError("sgq.torch needs PyTorch 2.2 or newer: pip install torch") from error

__all__ = ["TorchUser", "Users"]


class Users(Sequence["TorchUser"]):
    """A model, a loss and each user's data, as users that `sgq.minimize` can ask.

    model: any module. Its parameters that require a gradient become one vector, in the order of `named_parameters`;
        one that is shared counts once. Which ones these are is settled here, once.
    data: for each user's name its batches: a `DataLoader`, a list, or whatever gives pairs of input and target each
        time it is gone through. A pair may hold tensors, or lists and dicts of them; they are moved to the model's
        device.
    loss: from the model's output and the target to one number, the mean over the batch's rows.
    l2: adds `l2 / 2 ‖x‖²` to every user's loss, biases included.

    names: the users' names, in order. start: the model's parameters when this was made.

    A user's loss is the mean over all its rows, however they are split into batches. (Not so with class weights or
    `ignore_index`, where PyTorch's mean divides by something else than the rows: give each user one batch then.)

    The same point gives the same numbers, bit for bit on the same processor and number of threads: while a user is
    asked the model is in evaluation mode, so that dropout is off and running statistics are used but not changed, and
    PyTorch's global random numbers begin at the same place, so that a `DataLoader` shuffles the same way each time.
    Where it shuffles with a generator of its own, sums differ by rounding. Data that is drawn anew each time, as with
    augmentation, gives a gradient that is not one; nothing here can see that. On a GPU, bits are PyTorch's affair
    (`torch.use_deterministic_algorithms`), and cuDNN's recurrent layers refuse gradients in evaluation mode
    (`torch.backends.cudnn.enabled = False` makes PyTorch use its own).

    Asking leaves the model as it was: its weights, their `grad`, its mode, and the global random numbers. But while a
    user is asked the model is in use: ask one at a time.

    The vector is in float64; the parameters keep their type, so the model is evaluated at the vector rounded to it.

    >>> users = Users(nn.Linear(1, 1), {"a": [(torch.ones(4, 1), torch.zeros(4, 1))]}, nn.MSELoss())
    >>> users.names, len(users), users.start.shape
    (('a',), 1, (2,))
    >>> users[0].value([2.0, 1.0]), users[0].gradient([2.0, 1.0]).tolist()
    (9.0, [6.0, 6.0])
    """

    def __init__(
        self,
        model: nn.Module,
        data: Mapping[Any, Iterable[Any]],
        loss: Callable[[Any, Any], Tensor],
        *,
        l2: float = 0.0,
    ) -> None:
        if not isinstance(data, Mapping):
            raise TypeError(f"data is {_kind(data)}: it must be a dict from each user's name to its batches")
        if not data:
            raise ValueError("data is empty: there must be at least one user")
        if getattr(loss, "reduction", "mean") == "sum":
            raise ValueError("the loss sums over the rows of a batch: it must take their mean (reduction='mean')")
        if not (isfinite(l2) and l2 >= 0):
            raise ValueError(f"l2 is {l2}: it must be a number that is not negative")
        self._model = _Model(model, loss, float(l2))
        self._users = tuple(TorchUser(self._model, name, batches) for name, batches in data.items())
        self.names: tuple[Any, ...] = tuple(data)
        self.start: Vector = self._model.vector()
        self.start.flags.writeable = False

    def __len__(self) -> int:
        return len(self._users)

    @overload
    def __getitem__(self, number: int, /) -> TorchUser: ...
    @overload
    def __getitem__(self, number: slice, /) -> tuple[TorchUser, ...]: ...
    def __getitem__(self, number: int | slice, /) -> TorchUser | tuple[TorchUser, ...]:
        return self._users[number]

    def __repr__(self) -> str:
        return f"Users({len(self)} users, {len(self.start)} parameters)"

    def load(self, x: ArrayLike, /) -> None:
        """Writes a point into the model's parameters. Frozen parameters and running statistics stay as they are.

        >>> model = nn.Linear(1, 1)
        >>> Users(model, {"a": [(torch.ones(1, 1), torch.ones(1, 1))]}, nn.MSELoss()).load([0.5, 2.0])
        >>> model(torch.ones(1, 1)).item()
        2.5
        """
        self._model.load(x)


class TorchUser:
    """One user: `name`, and its `gradient` and `value` at a point. `Users` makes them."""

    def __init__(self, model: _Model, name: Hashable, batches: Iterable[Any]) -> None:
        if not isinstance(batches, Iterable):
            raise TypeError(f"the data of user {name!r} is {_kind(batches)}: give a DataLoader or a list of batches")
        if isinstance(batches, Iterator):
            raise TypeError(f"the data of user {name!r} can be read only once: give a DataLoader or a list of batches")
        if length_hint(batches, 1) == 0:
            raise ValueError(f"user {name!r} has no batches")
        self._model = model
        self._batches = batches
        self.name = name

    def __repr__(self) -> str:
        return f"TorchUser({self.name!r})"

    def gradient(self, x: ArrayLike, /) -> Vector:
        """The gradient of `value` at a point."""
        point = self._model.point(x)
        leaves = {name: part.requires_grad_() for name, part in self._model.parts(point).items()}
        total = np.zeros_like(point)
        rows = 0
        with torch.enable_grad(), self._model.asked():
            for size, loss in self._losses(leaves):
                if not loss.requires_grad:
                    raise ValueError(f"the loss of user {self.name!r} depends on no parameter: was it detached?")
                gradients = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
                total += size * self._model.flat(gradients)
                rows += size
        gradient: Vector = total / rows + self._model.l2 * point
        if not np.isfinite(gradient).all():
            raise FloatingPointError(f"the gradient of user {self.name!r} is not finite, though its loss is")
        return gradient

    def value(self, x: ArrayLike, /) -> float:
        """The mean loss over all rows at a point, and the penalty."""
        point = self._model.point(x)
        total, rows = 0.0, 0
        with torch.no_grad(), self._model.asked():
            for size, loss in self._losses(self._model.parts(point)):
                total += size * loss.item()
                rows += size
        return total / rows + self._model.l2 / 2 * float(point @ point)

    def _losses(self, parts: dict[str, Tensor]) -> Iterator[tuple[int, Tensor]]:
        """For each batch its rows and its loss."""
        empty = True
        for number, batch in enumerate(self._batches):
            where = f"batch {number} of user {self.name!r}"
            if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
                raise TypeError(f"{where} is {_kind(batch)}: it must be a pair of input and target")
            if size := _rows(batch, where):
                empty = False
                inputs, target = batch
                yield size, self._model.loss(parts, inputs, target, where)
        if empty:
            raise ValueError(f"user {self.name!r} has no rows")


class _Model:
    """What the users share: the module, seen as a function of a flat vector."""

    def __init__(self, module: nn.Module, loss: Callable[[Any, Any], Tensor], l2: float) -> None:
        if not isinstance(module, nn.Module):
            raise TypeError(f"the model is {_kind(module)}: it must be a torch.nn.Module")
        self.l2 = l2
        self._module = module
        self._loss = loss
        self._parameters = {name: part for name, part in module.named_parameters() if part.requires_grad}
        if not self._parameters:
            raise ValueError("the model has no parameters that require a gradient: there is nothing to choose")
        for name, part in self._parameters.items():
            if part.is_complex():
                raise TypeError(f"parameter {name!r} is complex: only real ones can be in the vector")

    def vector(self) -> Vector:
        """The parameters as they stand."""
        return self.flat(self._parameters.values())

    def flat(self, parts: Iterable[Tensor | None]) -> Vector:
        """One vector from a tensor for each parameter; None, for a parameter that was not used, is zero."""
        vector = np.empty(sum(part.numel() for part in self._parameters.values()))
        begin = 0
        for part, parameter in zip(parts, self._parameters.values(), strict=True):
            end = begin + parameter.numel()
            # First to the CPU, since some devices know no float64; dense, since an embedding's gradient may not be.
            vector[begin:end] = 0.0 if part is None else part.detach().to_dense().cpu().double().reshape(-1).numpy()
            begin = end
        return vector

    def point(self, x: ArrayLike) -> Vector:
        """A point as a vector, if it has one number for each of the parameters."""
        point = np.asarray(x, dtype=np.float64)
        wanted = sum(part.numel() for part in self._parameters.values())
        if point.shape != (wanted,):
            raise ValueError(f"the point has shape {point.shape}: it must have {wanted} numbers, as the parameters do")
        return point

    def parts(self, point: Vector) -> dict[str, Tensor]:
        """A point as a tensor for each parameter, which shares no memory with the module's own nor with the point."""
        parts = {}
        begin = 0
        for name, parameter in self._parameters.items():
            end = begin + parameter.numel()
            numbers = torch.tensor(point[begin:end], dtype=parameter.dtype, device=parameter.device)
            parts[name] = numbers.reshape(parameter.shape)
            begin = end
        return parts

    def load(self, x: ArrayLike) -> None:
        parts = self.parts(self.point(x))
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(parts[name])

    def loss(self, parts: dict[str, Tensor], inputs: Any, target: Any, where: str) -> Tensor:
        device = next(iter(parts.values())).device
        output = functional_call(self._module, parts, (_moved(inputs, device),))
        loss = self._loss(output, _moved(target, device))
        if not isinstance(loss, Tensor):
            raise TypeError(f"the loss of {where} is {_kind(loss)}: it must be a tensor with one number")
        if loss.ndim:
            shape = tuple(loss.shape)
            raise ValueError(f"the loss of {where} has shape {shape}: it must be one number, the mean over the rows")
        if not isfinite(number := loss.item()):
            raise FloatingPointError(f"the loss of {where} is {number}: it must be finite; try a smaller step size")
        return loss

    @contextmanager
    def asked(self) -> Iterator[None]:
        """While a user is asked: evaluation mode, and the same random numbers each time.

        The flags are set one by one, since a module may do more than that in a `train` of its own.
        """
        modes = [(module, module.training) for module in self._module.modules()]
        # Only the CPU's generator: it is the one that a DataLoader shuffles with.
        random = torch.default_generator.get_state()
        try:
            for module, _ in modes:
                module.training = False
            torch.default_generator.manual_seed(0)
            yield
        finally:
            torch.default_generator.set_state(random)
            for module, mode in modes:
                module.training = mode


def _rows(batch: Sequence[Any], where: str) -> int:
    """The target's rows; the input's, where the target has no tensor."""
    for thing in reversed(batch):
        for tensor in _tensors(thing):
            return len(tensor) if tensor.ndim else 1
    raise TypeError(f"{where} has no tensor in it")


def _tensors(thing: Any) -> Iterator[Tensor]:
    if isinstance(thing, Tensor):
        yield thing
    elif isinstance(thing, Mapping):
        for part in thing.values():
            yield from _tensors(part)
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            yield from _tensors(part)


def _moved(thing: Any, device: torch.device) -> Any:
    """The same with its tensors on the device."""
    if isinstance(thing, Tensor):
        return thing.to(device)
    if type(thing) is dict:
        return {key: _moved(part, device) for key, part in thing.items()}
    if type(thing) in (tuple, list):
        return type(thing)(_moved(part, device) for part in thing)
    return thing


def _kind(thing: Any) -> str:
    """What a thing is, in a word or two: its type, and how long it is."""
    length = f" of length {len(thing)}" if isinstance(thing, (tuple, list, dict)) else ""
    return f"a {type(thing).__name__}{length}"
