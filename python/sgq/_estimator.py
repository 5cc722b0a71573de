"""What the estimators of `sgq.sklearn` share: the settings, who counts how much, and the run."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from . import problems
from ._sgq import Session, linear_saga

Vector = NDArray[np.float64]

# In one call, which returns who was asked.
AT_ONCE = 1 << 16

# Columns are centred where one has a mean above this part of its root mean square: the intercept then takes up the difference.
CENTRED = 1e-2

SEEN_BY_THE_SPLIT_ALONE = (
    "groups reached the split, but not {name}, which takes every row for a user of its own. Without metadata routing "
    "they are given to the split alone: see the section on scikit-learn in the package's README"
)


@dataclass
class Rows:
    """What a fit goes by: the rows that count."""

    X: Any
    y: NDArray[Any]
    # The user of each row, by number; None where nobody is given.
    group: NDArray[np.int64] | None
    # What each row counts; None where all count the same.
    weights: Vector | None
    # Its part of the objective; they add up to 1.
    shares: Vector


class Estimator(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Settings, users and runs."""

    def __init__(
        self,
        method: str | None = None,
        *,
        l2: float = 0.01,
        fit_intercept: bool = True,
        weigh: Literal["rows", "users"] = "rows",
        budget: int | None = None,
        tol: float = 1e-4,
        step_size: float | Literal["auto", "theory"] = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        method_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.weigh = weigh
        self.budget = budget
        self.tol = tol
        self.step_size = step_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.method_options = method_options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _begin(self, given: Any, X: Any, y: NDArray[Any], groups: ArrayLike | None, weights: Vector | None) -> Rows:
        """Checks the settings and the groups, and sets all counts to zero. Rows that count nothing are left out.

        `given` is X as it came, perhaps with names.
        """
        check_scalar(self.l2, "l2", Real, min_val=0)
        check_scalar(self.tol, "tol", Real, min_val=0)
        if self.budget is not None:
            check_scalar(self.budget, "budget", Integral, min_val=1)
        if self.weigh not in ("rows", "users"):
            raise ValueError(f'weigh is {self.weigh!r}: it must be "rows" or "users"')
        if self.step_size not in ("auto", "theory") and not isinstance(self.step_size, Real):
            raise ValueError(f'the step size is {self.step_size!r}: it must be a positive number, "auto" or "theory"')
        names = None
        if groups is None:
            _look_for_groups(type(self).__name__)
        else:
            names = np.asarray(groups)
            if names.shape not in ((len(y),), (len(y), 1)):
                raise ValueError(f"X has {len(y)} rows, and groups the shape {names.shape}: give one name for each row")
            names = names.reshape(-1)
            problems.levels(names, "groups")  # those of rows that count nothing, too
            _look_for_column(given, groups, names)
        numbers = np.arange(len(y))
        if weights is not None and (weights == 0).any():
            numbers = np.flatnonzero(weights)
            X, y, weights = X[numbers], y[numbers], weights[numbers]
        group = None
        if names is None:
            self.groups_ = numbers
        else:
            self.groups_, group = problems.levels(names[numbers], "groups")
        counts = np.ones(len(y)) if weights is None else weights
        shares = counts / counts.max()
        if group is not None and self.weigh == "users":
            shares = shares / (len(self.groups_) * np.bincount(group, weights=shares)[group])
        shares /= shares.sum()
        self.n_iter_ = self.n_queries_ = 0
        self.queries_per_user_ = np.zeros(len(self.groups_), dtype=np.int64)
        self.converged_ = True
        return Rows(X, y, group, weights, shares)

    def _in_one_place(self, rows: Rows) -> bool:
        """Whether nobody has to be asked, and nobody says by which method."""
        return rows.group is None and self.method is None and self.step_size != "theory" and not self.method_options

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _most(self) -> int:
        return max(100 * len(self.groups_), 200_000) if self.budget is None else int(self.budget)

    def _before(self, shape: tuple[int, ...]) -> tuple[Vector, Vector] | None:
        """The coefficients and intercepts of the last fit, where they are wanted and fit."""
        if not self.warm_start or getattr(self, "coef_", np.empty(0)).shape != shape:
            return None
        coefficients = np.asarray(self.coef_, dtype=np.float64).reshape(-1, shape[-1])
        return coefficients, np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), len(coefficients))

    def _saga(
        self, rows: Rows, X: Any, y: Vector, loss: problems.Loss, l2: float, intercept: bool, start: Vector, seed: int
    ) -> Vector:
        """Where SAGA stops on data in one place; the intercept, if there is one, comes last."""
        values, starts, columns = X, None, None
        if sparse.issparse(X):
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            values, starts, columns = X.data, X.indptr.astype(np.int64), X.indices
            # Numbers without a sign, in place where they have four bytes.
            columns = columns.view(np.uint32) if columns.dtype == np.int32 else columns.astype(np.uint32)
        fit = linear_saga(
            np.ascontiguousarray(values).reshape(-1), X.shape[1], starts, columns, np.ascontiguousarray(y), rows.weights,
            loss, l2, intercept, start, None if self.step_size == "auto" else float(self.step_size), float(self.tol),
            self._most(), seed,
        )  # fmt: skip
        self._count(fit.steps, fit.queries, fit.queries_per_user)
        self._say(fit.stop_reason, fit.message, fit.gradient_norm, fit.tolerance)
        return fit.point

    def _session(
        self, rows: Rows, X: Any, y: Vector, loss: problems.Loss, l2: float, intercept: bool, start: Vector, slopes: Vector, seed: int
    ) -> Vector:
        """The point where a session stops; the intercept, if there is one, comes last. `slopes` are those of the rows at zero."""
        equal = self.weigh == "users" and rows.group is not None
        problem = problems.regression(
            X, y, rows.group, loss=loss, l2=l2, weights=rows.weights, free_intercept=intercept, solve=False,
            user_weights="equal" if equal else "rows",
        )  # fmt: skip
        slopes = rows.shares * slopes
        of_intercept = [slopes.sum(), abs(slopes).sum()] if intercept else [0.0, 0.0]
        # Where zero is the optimum its gradient is nothing but rounding, and no part of that is ever reached.
        rounding = 1e-13 * np.hypot(np.linalg.norm(abs(X).T @ abs(slopes)), of_intercept[1]) + np.finfo(float).tiny
        tolerance = float(max(self.tol * np.hypot(np.linalg.norm(X.T @ slopes), of_intercept[0]), rounding))
        # Where every row is a user no question is expensive, and frugal's look at everybody with each would be.
        method = "saga" if self.method is None and rows.group is None else self.method
        try:
            session = Session(
                method,
                x0=np.roll(start, 1) if intercept else start,
                problem=problem,
                step_size=self.step_size,
                budget=self._most(),
                gradient_tolerance=tolerance if self.tol > 0 else None,
                seed=seed,
                **(self.method_options or {}),
            )
        except ValueError as error:
            if "no surrogate gradient" in str(error):
                raise ValueError(
                    f"{method} keeps no gradients, so that tol={self.tol} cannot be seen: give tol=0, to spend the budget"
                ) from error
            raise
        while session.stop_reason is None:
            session.simulate(AT_ONCE)
        self._count(session.steps, session.queries, session.queries_per_user)
        self._say(str(session.stop_reason), str(session.message), session.surrogate_gradient_norm, tolerance)
        return np.roll(session.point, -1) if intercept else session.point

    def _count(self, steps: int, queries: int, per_user: NDArray[Any]) -> None:
        self.n_iter_ += steps
        self.n_queries_ += queries
        self.queries_per_user_ += per_user.astype(np.int64)

    def _say(self, reason: str, message: str, norm: float | None, tolerance: float) -> None:
        """Says how a run ended, where that is not well."""
        if reason == "diverged":
            raise ValueError(f'the fit {message}, and means nothing: give a smaller step_size, or "auto"')
        self.message_ = message
        if reason != "budget":
            return
        self.converged_ = False
        if self.tol > 0:
            known = "not known, as not everybody was asked" if norm is None else f"{norm:.1e}"
            warnings.warn(
                f"{message} before the fit has converged. The gradient is {known}, and tol asks for {tolerance:.1e}: give "
                "a larger budget or tol, or scale the features (StandardScaler)",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _scores(self, X: Any) -> Vector:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores: Vector = X @ self.coef_.T + self.intercept_
        return scores


def checked_weights(sample_weight: ArrayLike | None, rows: int) -> Vector | None:
    """One finite number for each row, not negative, and not all zero."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.ndim == 0:
        given = np.full(rows, given)
    if given.shape != (rows,):
        raise ValueError(f"X has {rows} rows, and sample_weight the shape {given.shape}: give one number for each row")
    weights: Vector = given.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        row = wrong[0]
        raise ValueError(f"sample_weight is {weights[row]} in row {row}: it must be finite and not negative")
    if not weights.any():
        raise ValueError("sample_weight is zero in every row: at least one weight must not be zero")
    return weights


def centred(X: Any, shares: Vector) -> tuple[Any, Vector]:
    """Dense columns less their means, and the means; as they are where that would change little, and where they are sparse."""
    if sparse.issparse(X):
        return X, np.zeros(X.shape[1])
    center = shares @ X
    # Two sums that need no copy of X.
    squares = np.einsum("r,rk,rk->k", shares, X, X)
    if (center**2 <= CENTRED**2 * squares).all():
        return X, np.zeros(X.shape[1])
    return X - center, center


def _look_for_column(given: Any, groups: Any, names: NDArray[Any]) -> None:
    """Warns where the groups are a column of X as well: the model would learn users by heart."""
    name, columns = getattr(groups, "name", None), getattr(given, "columns", None)
    if name is None or columns is None or name not in list(columns):
        return
    if np.array_equal(np.asarray(given[name]).reshape(-1), names):
        warnings.warn(
            f"the groups are the column {name!r} of X, which is a feature, too: drop it from X, unless that is meant",
            UserWarning,
            stacklevel=4,
        )


def _look_for_groups(name: str) -> None:
    """Warns where a search or a cross-validation that is under way has groups, and kept them to itself.

    A fit is not told of them, so that the callers are looked at. Those in other processes or threads are not there to be seen.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection."):
            local = frame.f_locals
            params = local.get("params")
            if local.get("groups") is not None or (isinstance(params, dict) and params.get("groups") is not None):
                # Once a search, and not once a fit: by default Python shows one of those that come from the same place.
                warnings.warn(SEEN_BY_THE_SPLIT_ALONE.format(name=name), UserWarning, stacklevel=4)
                return
        frame = frame.f_back  # type: ignore[assignment] # None at the outermost
