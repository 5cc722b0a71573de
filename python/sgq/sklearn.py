"""Estimators for scikit-learn that ask one user at a time: `GroupedLogisticRegression` and `GroupedRidge`.

>>> import numpy as np
>>> from sgq.sklearn import GroupedRidge
>>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0])
>>> model = GroupedRidge(l2=1e-6, random_state=0).fit(X, y, groups=["east", "east", "west", "west"])
>>> model.predict([[4.0]]).round(2).tolist(), model.groups_.tolist()
([9.0], ['east', 'west'])
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from scipy import sparse
    from scipy.special import expit
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_random_state, check_scalar
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("sgq.sklearn needs scikit-learn 1.6 or newer: pip install -U scikit-learn") from error

from . import problems
from ._sgq import Session

__all__ = ["GroupedLogisticRegression", "GroupedRidge"]

Vector = NDArray[np.float64]

# In one call, which returns who was asked.
AT_ONCE = 1 << 16


class _Grouped(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """What both estimators share: the settings, the users, and the run."""

    def __init__(
        self,
        method: str | None = None,
        *,
        l2: float = 0.01,
        fit_intercept: bool = True,
        budget: int | None = None,
        tol: float = 1e-4,
        step_size: float | Literal["auto", "theory"] = "auto",
        random_state: Any = None,
        method_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.budget = budget
        self.tol = tol
        self.step_size = step_size
        self.random_state = random_state
        self.method_options = method_options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _begin(self, groups: ArrayLike | None, rows: int) -> tuple[NDArray[np.int64] | None, Vector]:
        """Checks the settings and the groups, and sets all counts to zero; returns whose each row is, and its part of
        the objective.
        """
        check_scalar(self.l2, "l2", Real, min_val=0)
        check_scalar(self.tol, "tol", Real, min_val=0)
        if self.budget is not None:
            check_scalar(self.budget, "budget", Integral, min_val=1)
        if groups is None:
            self.groups_, group = np.arange(rows), None
            shares = np.full(rows, 1 / rows)
        else:
            names = np.asarray(groups)
            if names.shape not in ((rows,), (rows, 1)):
                raise ValueError(f"X has {rows} rows, and groups the shape {names.shape}: give one name for each row")
            self.groups_, group = problems.levels(names.reshape(-1), "groups")
            shares = 1 / (len(self.groups_) * np.bincount(group)[group])
        self.n_iter_ = self.n_queries_ = 0
        self.queries_per_user_ = np.zeros(len(self.groups_), dtype=np.int64)
        self.converged_ = True
        return group, shares

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _minimize(
        self, X: Any, y: Vector, group: NDArray[np.int64] | None, loss: problems.Loss, slopes: Vector, seed: int
    ) -> Vector:
        """The point where a run stops, whose queries are added to the counts.

        `slopes` are those of the rows at zero, times their parts of the objective.
        """
        problem = problems.regression(X, y, group, loss=loss, l2=float(self.l2), solve=False)
        users = len(self.groups_)
        # Where zero is the optimum its gradient is nothing but rounding, and no part of that is ever reached.
        rounding = 1e-13 * np.linalg.norm(abs(X).T @ abs(slopes)) + np.finfo(float).tiny
        tolerance = float(max(self.tol * np.linalg.norm(X.T @ slopes), rounding))
        # Where every row is a user no question is expensive, and frugal's look at everybody with each would be.
        method = "saga" if self.method is None and group is None else self.method
        try:
            session = Session(
                method,
                problem=problem,
                step_size=self.step_size,
                budget=max(100 * users, 200_000) if self.budget is None else int(self.budget),
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
        if session.stop_reason == "diverged":
            raise ValueError(f'the fit {session.message}, and means nothing: give a smaller step_size, or "auto"')
        self.n_iter_ += session.steps
        self.n_queries_ += session.queries
        self.queries_per_user_ += session.queries_per_user.astype(np.int64)
        self.message_ = str(session.message)
        if session.stop_reason == "budget":
            self.converged_ = False
            if self.tol > 0:
                norm = session.surrogate_gradient_norm
                known = "not known, as not everybody was asked" if norm is None else f"{norm:.1e}"
                warnings.warn(
                    f"{session.message} before the fit has converged. The gradient is {known}, and tol asks for "
                    f"{tolerance:.1e}: give a larger budget or tol, or scale the features (StandardScaler)",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        return session.point

    def _scores(self, X: Any) -> Vector:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores: Vector = X @ self.coef_.T + self.intercept_
        return scores


class GroupedRidge(RegressorMixin, _Grouped):  # type: ignore[misc] # scikit-learn has no types
    """Least squares with an L2 penalty, asking one user at a time for the gradient on its rows.

    It minimises the mean over users of `mean over the user's rows of ½ (w·x + b − y)²`, plus `l2 / 2 ‖w‖²`: users count
    the same, however many rows they have. Without groups every row is a user, and the model is scikit-learn's
    `Ridge(alpha=len(X) * l2)`.

    The intercept `b` is not penalised: `X` and `y` are centred at their means, over users as in the objective. That
    makes a sparse `X` dense; with `fit_intercept=False` it stays sparse.

    A step is at most one over the largest curvature that any user has. With features on different scales that is slow:
    put a `StandardScaler` before it.

    Parameters
    ----------
    method : str, default=None
        Whom to ask and how to step: a name of `sgq.methods()`, or a choice and an update with " + " between them. By
        default frugal, which needs few queries for small gaps; saga without groups, where every row is a user and
        queries cost nothing, and for more than 10,000 users, where frugal is slow. Both converge to the optimum itself,
        with nothing to tune.
    l2 : float, default=0.01
        The penalty. It belongs to the mean, not to a sum: it need not grow with the data.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    budget : int, default=None
        The most queries to pay for; by default 100 for each user, or 200,000 if that is more.
    tol : float, default=1e-4
        The run stops once the mean of everybody's last gradient is this part of the gradient at zero. With 0 it spends
        its budget, which is all that a method can do that keeps no gradients, such as SGD.
    step_size : float, "auto" or "theory", default="auto"
        The step size; "auto" is the method's own.
    random_state : int, RandomState or None, default=None
        A whole number is the session's seed.
    method_options : dict, default=None
        Settings of the method, such as `{"p": 0.3}`.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features_in_,), and float
    groups_ : array
        The users' names, in sorted order; without groups the numbers of the rows.
    n_queries_, queries_per_user_ : int, and array of int
        All that was paid for, and by whom it was answered.
    n_iter_ : int
        Steps taken.
    converged_ : bool
        Whether `tol` was reached.
    message_ : str
        Why the run stopped.
    n_features_in_, feature_names_in_ : int, and array of str
        As everywhere in scikit-learn.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GroupedRidge(l2=1e-5, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.converged_
    (0.52, True)
    """

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> GroupedRidge:
        """Fits the model; `groups` says whose row each one is. `GridSearchCV.fit(…, groups=…)` passes them on by
        metadata routing only.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        targets = np.asarray(y, dtype=np.float64)
        group, shares = self._begin(groups, len(targets))
        center, middle = np.zeros(X.shape[1]), 0.0
        if self.fit_intercept:
            # From the first target on, so that one that never changes is centred at itself.
            center, middle = X.T @ shares, float(targets[0] + (targets - targets[0]) @ shares)
            X = (X.toarray() if sparse.issparse(X) else X) - center
            targets = targets - middle
        # A point past 1e9 counts as divergence, which must not depend on the unit of y.
        unit = float(np.abs(targets).max()) or 1.0
        targets = targets / unit
        self.coef_ = unit * self._minimize(X, targets, group, "squares", -shares * targets, self._seed())
        self.intercept_ = middle - float(center @ self.coef_)
        return self

    def predict(self, X: Any) -> Vector:
        """The expected target of each row."""
        return self._scores(X)


class GroupedLogisticRegression(ClassifierMixin, _Grouped):  # type: ignore[misc] # scikit-learn has no types
    """Logistic regression with an L2 penalty, asking one user at a time for the gradient on its rows.

    With `y = ±1` it minimises the mean over users of `mean over the user's rows of ln(1 + exp(−y (w·x + b)))`, plus
    `l2 / 2 (‖w‖² + (b / intercept_scaling)²)`: users count the same, however many rows they have. Without groups every
    row is a user.

    The intercept is penalised as everything else, as with liblinear: it is the weight of a column that is
    `intercept_scaling` in every row. So where one class is rare its chance is overestimated; a larger scaling mends
    that, and makes the steps smaller. Without groups the model is scikit-learn's
    `LogisticRegression(solver="liblinear", C=1 / (len(X) * l2))`.

    More than two classes are told apart one against the rest, each in a run of its own: the queries of all of them are
    paid for, and the budget is that of each.

    A step is at most one over the largest curvature that any user has. With features on different scales that is slow:
    put a `StandardScaler` before it.

    Parameters
    ----------
    method, l2, fit_intercept, budget, tol, step_size, random_state, method_options
        As in `GroupedRidge`.
    intercept_scaling : float, default=1.0
        The number in the intercept's column.

    Attributes
    ----------
    classes_ : array
        The classes, in sorted order.
    coef_, intercept_ : array of shape (1, n_features_in_), and of shape (1,)
        Of the last of two classes; with more, a row for each.
    n_iter_, n_queries_, queries_per_user_ : int, int, and array of int
        Of all runs together.
    groups_, converged_, message_, n_features_in_, feature_names_in_
        As in `GroupedRidge`; with several runs `message_` is the last one's.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), GroupedLogisticRegression(random_state=0)).fit(X, y)
    >>> round(model.score(X, y), 2), model[-1].converged_
    (0.99, True)
    """

    def __init__(
        self,
        method: str | None = None,
        *,
        l2: float = 0.01,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        budget: int | None = None,
        tol: float = 1e-4,
        step_size: float | Literal["auto", "theory"] = "auto",
        random_state: Any = None,
        method_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            method, l2=l2, fit_intercept=fit_intercept, budget=budget, tol=tol, step_size=step_size,
            random_state=random_state, method_options=method_options,
        )  # fmt: skip
        self.intercept_scaling = intercept_scaling

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> GroupedLogisticRegression:
        """Fits the model; `groups` says whose row each one is."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}: a classifier needs two or more")
        group, shares = self._begin(groups, len(labels))
        scaling = 0.0
        if self.fit_intercept:
            above = {"min_val": 0, "include_boundaries": "neither"}
            scaling = float(check_scalar(self.intercept_scaling, "intercept_scaling", Real, **above))
            column = np.full((len(labels), 1), scaling)
            X = sparse.hstack([column, X], format="csr") if sparse.issparse(X) else np.hstack([column, X])
        seed = self._seed()
        points = []
        # Of two classes the second is told from the first; of more each one from the rest.
        for positive in [1] if len(self.classes_) == 2 else range(len(self.classes_)):
            signs = np.where(labels == positive, 1.0, -1.0)
            points.append(self._minimize(X, signs, group, "logistic", -shares * signs / 2, seed))
        found = np.array(points)
        self.coef_ = found[:, 1:] if self.fit_intercept else found
        self.intercept_ = scaling * found[:, 0] if self.fit_intercept else np.zeros(len(found))
        return self

    def decision_function(self, X: Any) -> Vector:
        """`w·x + b` of each row: positive for the last of two classes; with more, a column for each class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Vector:
        """The probability of each class in each row; with more than two they are scaled to add up to one."""
        chances: Vector = expit(self._scores(X))
        if len(self.classes_) == 2:
            return np.hstack([1 - chances, chances])
        total: Vector = chances.sum(axis=1, keepdims=True)
        return chances / total

    def predict_log_proba(self, X: Any) -> Vector:
        """The logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted
