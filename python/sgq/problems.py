"""Problems whose objective is known, to compare methods on: quadratics, and regressions on data grouped by users.

>>> import sgq
>>> toy = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])  # the paper's: (x − b)²
>>> toy.users, toy.minimum, toy.gap([5.0])
(4, 2.5, 25.0)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _sgq
from ._sgq import Problem
from ._tables import of_frame

__all__ = ["Loss", "Problem", "UserWeights", "from_csv", "from_frame", "quadratics", "regression"]

Loss = Literal["squares", "logistic", "poisson", "huber"]
UserWeights = Literal["equal", "rows"]


def quadratics(curvature: ArrayLike, center: ArrayLike) -> Problem:
    """`f_i(x) = (x − b_i)ᵀ A_i (x − b_i)`, from each user's curvature `A_i` and center `b_i`.

    One number each where there is one parameter; a row of numbers each where there are several and no cross terms; a
    symmetric matrix and a row each in general.

    >>> problem = quadratics([[[2, 1], [1, 2]], [[1, 0], [0, 1]]], [[1, 0], [0, 1]])
    >>> problem.dim, problem.smoothness.round(6).tolist()
    (2, [6.0, 2.0])
    """
    curvatures = _numbers(curvature, "the curvature", (1, 2, 3))
    centers = _numbers(center, "the center", (1, 2))
    if centers.ndim == 1:
        centers = centers[:, np.newaxis]
    if curvatures.ndim == 1:
        curvatures = curvatures[:, np.newaxis]
    if not len(curvatures):
        raise ValueError("there are no users: give at least one curvature and center")
    dense = curvatures.ndim == 3
    if dense and curvatures.shape[1] != curvatures.shape[2]:
        raise ValueError(f"the curvature has the shape {curvatures.shape}: each user's must be a square matrix")
    flat = curvatures.reshape(len(curvatures), -1)
    return _sgq.quadratics(flat.tolist(), centers.tolist(), dense)


def regression(
    X: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    loss: Loss = "squares",
    l2: float = 0.01,
    delta: float = 1.345,
    weights: ArrayLike | None = None,
    intercept: bool = False,
    free_intercept: bool = False,
    solve: bool = True,
    user_weights: UserWeights = "equal",
) -> Problem:
    """Each user's part is the mean loss over its own rows, plus `l2 / 2 ‖x‖²`; the objective is the mean over users, each of
    which counts the same, or with `user_weights="rows"` as many times as it has rows: the mean over all rows.

    `X` is an array with a row for each observation, or any sparse matrix of scipy; it is taken as it is, with a column of
    ones put first where `intercept` is true; `free_intercept` does so too, and takes the penalty off it. `groups` says whose row it is, and the users come in the sorted order of their
    names; without it every row is a user. `weights` say how much a row counts within its user. For the logistic loss `y` has
    two different values, of which the larger is the positive one. `delta` is where Huber's loss becomes linear. Without
    `solve` the minimum is not computed, which saves time where nobody wants the gap.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> problem = regression(X, [0.0, 1.0, 2.0, 4.0], groups=["west", "west", "east", "east"])
    >>> problem.user_names, problem.optimum.round(2).tolist()
    (['east', 'west'], [-0.18, 1.29])
    """
    values, starts, columns, count, dim = _rows(X)
    intercept = intercept or free_intercept
    if dim == 0 and not intercept:
        raise ValueError("X has no columns: give at least one feature, or intercept=True")
    targets = _numbers(y, "y", (1,)) if loss != "logistic" else _signs(y)
    if len(targets) != count:
        raise ValueError(f"X has {count} rows, and y {len(targets)} numbers: give one for each row")
    counts = None if weights is None else _numbers(weights, "the weights", (1,))
    if counts is not None and len(counts) != count:
        raise ValueError(f"X has {count} rows, and there are {len(counts)} weights: give one for each row")
    names = None
    blocks = np.arange(count + 1, dtype=np.int64)
    if groups is not None:
        labels = np.asarray(groups)
        if labels.shape != (count,):
            raise ValueError(f"X has {count} rows, and groups the shape {labels.shape}: give one name for each row")
        found, group = levels(labels, "groups")
        names = [str(name) for name in found]
        order = np.argsort(group, kind="stable")
        blocks = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(found)))]).astype(np.int64)
        targets = targets[order]
        counts = None if counts is None else counts[order]
        if starts is None or columns is None:
            values = values.reshape(count, dim)[order].reshape(-1)
        else:
            values, starts, columns = _sparse_in_order(values, starts, columns, order)
    if intercept:
        values, starts, columns, dim = _with_intercept(values, starts, columns, count, dim)
    return _sgq.regression(
        np.ascontiguousarray(values), dim, starts, columns, targets, counts, blocks, names, loss, l2, delta, solve,
        user_weights, free_intercept,
    )  # fmt: skip


def from_csv(
    path: str | os.PathLike[str],
    user: str,
    target: str,
    *,
    loss: Loss | None = None,
    l2: float = 0.01,
    delta: float = 1.345,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    weight: str | None = None,
    drop_missing: bool = False,
    drop_constant: bool = False,
    standardise: bool = True,
    user_weights: UserWeights = "equal",
) -> Problem:
    """A regression of one column of a CSV file (plain or gzip) on the others, grouped by the column `user`.

    It is what `sgq fit` does with the file: an intercept first, levels coded, all features standardised, and for
    squares and Huber's loss the target too. Without a `loss` it is logistic where the target has two levels, and
    squares otherwise. `user_weights` is its `--weights`.
    """
    return _sgq.table(
        os.fspath(path), None, user, target, loss, delta, l2, _names(features), _names(exclude), weight, drop_missing,
        drop_constant, standardise, user_weights,
    )  # fmt: skip


def from_frame(
    frame: Any,
    user: str,
    target: str,
    *,
    loss: Loss | None = None,
    l2: float = 0.01,
    delta: float = 1.345,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    weight: str | None = None,
    drop_missing: bool = False,
    drop_constant: bool = False,
    standardise: bool = True,
    user_weights: UserWeights = "equal",
) -> Problem:
    """The same of a frame of pandas or polars. It passes as the CSV text that it would be written as: the same numbers,
    and the same rules.

    A column of digits is a number then, even if the frame has it as text or as a category. A frame's index is no column.

    >>> import pandas
    >>> frame = pandas.DataFrame({"school": ["e", "w", "e", "w"], "hours": [1, 3, 2, 6], "score": [2, 4, 4, 8]})
    >>> problem = from_frame(frame, user="school", target="score")
    >>> problem.user_names, problem.column_names
    (['e', 'w'], ['intercept', 'hours'])
    """
    features, exclude = _names(features), _names(exclude)
    if hasattr(frame, "collect") and not hasattr(frame, "write_csv"):
        frame = frame.collect()  # a lazy frame of polars
    text, _ = of_frame(frame)
    left_out = exclude or [] if features is None else set(frame.columns) - {*features}
    for name in frame.columns:
        # As text it would be one level of a category, beside all the other numbers.
        if name not in left_out and _any_infinite(np.asarray(frame[name])):
            raise ValueError(f"the frame: the column {name!r} has an infinite number: leave out its row, or the column")
    return _sgq.table(
        None, text, user, target, loss, delta, l2, features, exclude, weight, drop_missing, drop_constant, standardise,
        user_weights,
    )  # fmt: skip


def _any_infinite(column: NDArray[Any]) -> bool:
    if column.dtype.kind == "O":
        return any(isinstance(value, float) and np.isinf(value) for value in column.flat)
    return column.dtype.kind == "f" and bool(np.isinf(column).any())


def _names(names: Sequence[str] | None) -> list[str] | None:
    if isinstance(names, str):
        raise TypeError(f"{names!r} is one name: give a list of names")
    return None if names is None else list(names)


def _numbers(values: ArrayLike, what: str, depths: tuple[int, ...]) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} has the type {array.dtype}: it must be an array of real numbers")
    if array.ndim not in depths:
        wanted = " or ".join(map(str, depths)) + (" dimension" if depths == (1,) else " dimensions")
        raise ValueError(f"{what} has the shape {array.shape}: it must have {wanted}")
    return np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def _signs(y: ArrayLike) -> NDArray[np.float64]:
    """−1 for the smaller of two values, 1 for the larger."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has the shape {labels.shape}: it must have 1 dimension")
    found, which = levels(labels, "y")
    if len(found) != 2:
        raise ValueError(f"y has {len(found)} different values: a logistic loss needs 2")
    return np.where(which == 1, 1.0, -1.0)


def levels(labels: NDArray[Any], what: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different values, sorted, and which of them stands where."""
    for row, label in enumerate(labels.tolist()):
        if label is None or (label == label) is not True:  # neither NaN nor the NA of pandas is
            raise ValueError(f"{what} has nothing in row {row}: leave the rows out where it is missing")
    try:
        found, which = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"{what} has values that cannot be sorted ({error}): give numbers or text, not both") from None
    return found, which.reshape(-1)


Indices = NDArray[np.int64]


def _rows(X: Any) -> tuple[NDArray[np.float64], Indices | None, Indices | None, int, int]:
    """Numbers, starts and columns of the rows (the last two of sparse ones only), how many rows, and how many numbers in each."""
    if not hasattr(X, "tocsr"):
        array = _numbers(X, "X", (2,))
        return array.reshape(-1), None, None, array.shape[0], array.shape[1]
    if len(X.shape) != 2 or X.dtype.kind not in "fiub":
        raise TypeError(f"X is sparse, of type {X.dtype} and shape {X.shape}: it must have rows of real numbers")
    sparse = X.tocsr().astype(np.float64)
    if not sparse.has_canonical_format:
        sparse = sparse.copy()
        sparse.sum_duplicates()
    return sparse.data, sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), *sparse.shape


def _sparse_in_order(
    values: NDArray[np.float64], starts: Indices, columns: Indices, order: Indices
) -> tuple[NDArray[np.float64], Indices, Indices]:
    lengths = np.diff(starts)[order]
    new_starts = np.concatenate([[0], np.cumsum(lengths)])
    taken = np.repeat(starts[order] - new_starts[:-1], lengths) + np.arange(new_starts[-1])
    return values[taken], new_starts, columns[taken]


def _with_intercept(
    values: NDArray[np.float64], starts: Indices | None, columns: Indices | None, count: int, dim: int
) -> tuple[NDArray[np.float64], Indices | None, Indices | None, int]:
    if starts is None or columns is None:
        dense = np.column_stack([np.ones(count), values.reshape(count, dim)])
        return dense.reshape(-1), None, None, dim + 1
    ends = starts[:-1]
    values = np.insert(values, ends, 1.0)
    columns = np.insert(columns + 1, ends, 0)
    return values, starts + np.arange(count + 1), columns, dim + 1
