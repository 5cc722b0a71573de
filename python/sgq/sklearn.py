"""Estimators for scikit-learn, for data in one place or of users who are asked one at a time: `GroupedLogisticRegression`,
`GroupedPoissonRegressor` and `GroupedRidge`.

>>> import numpy as np
>>> from sgq.sklearn import GroupedRidge
>>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0])
>>> model = GroupedRidge(l2=1e-6, random_state=0).fit(X, y, groups=["east", "east", "west", "west"])
>>> model.predict([[4.0]]).round(2).tolist(), model.groups_.tolist()
([9.0], ['east', 'west'])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from scipy import sparse
    from scipy.special import expit
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.utils.class_weight import compute_class_weight
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import validate_data

    from . import _newton
    from ._estimator import Estimator, Vector, centred, checked_weights
except ImportError as error:
    raise ImportError("sgq.sklearn needs scikit-learn 1.6 or newer: pip install -U scikit-learn") from error

__all__ = ["GroupedLogisticRegression", "GroupedPoissonRegressor", "GroupedRidge"]


class GroupedRidge(RegressorMixin, Estimator):  # type: ignore[misc] # scikit-learn has no types
    """Least squares with an L2 penalty, on data in one place or asking one user at a time for the gradient on its rows.

    It minimises the mean over rows of `½ (w·x + b − y)²`, plus `l2 / 2 ‖w‖²`: the model is scikit-learn's
    `Ridge(alpha=len(X) * l2)`, with groups and without. With `weigh="users"` the mean is over users, of the mean over each
    one's rows: users count the same, however many rows they have.

    The intercept `b` is not penalised. With groups or a method `X` and `y` are centred at their means, which makes a sparse
    `X` dense; elsewhere it stays sparse.

    Without groups and `method` nobody has to be asked: the rows are gone through by SAGA that remembers one number a row.
    With groups a session asks users, and a question is what is paid for.

    A step is at most one over the largest curvature that any user has. With features on different scales that is slow:
    put a `StandardScaler` before it.

    Parameters
    ----------
    method : str, default=None
        Whom to ask and how to step: a name of `sgq.methods()`, or a choice and an update with " + " between them. By
        default frugal, which needs few queries for small gaps; saga for more than 100,000 users, where frugal is slow; SAGA
        on data in one place without groups. All converge to the optimum itself, with nothing to tune.
    l2 : float, default=0.01
        The penalty. It belongs to the mean, not to a sum: it need not grow with the data, nor with weights.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    weigh : "rows" or "users", default="rows"
        Which of them count alike. With "rows" the answer is that of the pooled fit, which is what a statistician expects of
        weights and of groups that are only where the data are kept. With "users" `sample_weight` counts within a user.
        Without groups it changes nothing.
    budget : int, default=None
        The most queries to pay for; by default 100 for each user, or 200,000 if that is more. On data in one place a query is
        a look at one row, and all rows are looked at once in any case.
    tol : float, default=1e-4
        The run stops once the gradient is this part of the gradient at zero: the mean of everybody's last gradients where
        users are asked, and the gradient itself on data in one place. With 0 it spends its budget, which is all that a method
        can do that keeps no gradients, such as SGD.
    step_size : float, "auto" or "theory", default="auto"
        The step size; "auto" is the method's own.
    warm_start : bool, default=False
        Whether to begin at the coefficients of the last fit.
    random_state : int, RandomState or None, default=None
        A whole number is the session's seed.
    method_options : dict, default=None
        Settings of the method, such as `{"p": 0.3}`.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features_in_,), and float
    groups_ : array
        The users' names, in sorted order; without groups the numbers of the rows. Those who count nothing are left out.
    n_queries_, queries_per_user_ : int, and array of int
        All that was paid for, and by whom it was answered; without groups the looks at rows.
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

    def fit(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> GroupedRidge:
        """Fits the model; `groups` says whose row each one is, and `sample_weight` what it counts.
        `GridSearchCV.fit(…, groups=…)` passes groups on by metadata routing only, and there is a warning where it did not.
        """
        given = X
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True)
        targets = np.asarray(y, dtype=np.float64)
        rows = self._begin(given, X, targets, groups, checked_weights(sample_weight, len(targets)))
        X, targets, shares, direct = rows.X, rows.y, rows.shares, self._in_one_place(rows)
        # A sparse X is not centred where the intercept can be a parameter of its own.
        free = self.fit_intercept and direct and sparse.issparse(X)
        center, middle = np.zeros(X.shape[1]), 0.0
        if self.fit_intercept:
            # From the first target on, so that one that never changes is centred at itself.
            middle = float(targets[0] + (targets - targets[0]) @ shares)
            targets = targets - middle
            if not free:
                center = X.T @ shares
                X = (X.toarray() if sparse.issparse(X) else X) - center
        # A point past 1e9 counts as divergence, which must not depend on the unit of y.
        unit = float(np.abs(targets).max()) or 1.0
        targets = targets / unit
        start, before = np.zeros(X.shape[1] + free), self._before((X.shape[1],))
        if before is not None:
            start[: X.shape[1]] = before[0][0] / unit
            start[X.shape[1] :] = (before[1][0] - middle) / unit
        if direct:
            point = self._saga(rows, X, targets, "squares", float(self.l2), free, start, self._seed())
        else:
            point = self._session(rows, X, targets, "squares", float(self.l2), False, start, -targets, self._seed())
        self.coef_ = unit * point[: X.shape[1]]
        self.intercept_ = middle + unit * float(point[X.shape[1] :].sum()) - float(center @ self.coef_)
        return self

    def predict(self, X: Any) -> Vector:
        """The expected target of each row."""
        return self._scores(X)


class GroupedPoissonRegressor(RegressorMixin, Estimator):  # type: ignore[misc] # scikit-learn has no types
    """Poisson regression (log link) with an L2 penalty, on data in one place or asking one user at a time.

    It minimises the mean over rows of `exp(w·x + b) − y (w·x + b)`, plus `l2 / 2 ‖w‖²`; with `weigh="users"` the mean over
    users. Without groups the model is scikit-learn's `PoissonRegressor(alpha=l2)`.

    Without groups and `method` nobody has to be asked, and Newton's method needs a few looks at all rows (more with over 1,000
    parameters, where its equation is solved by conjugate gradients): the curvature of Poisson's loss has no bound, so that no step size of SAGA is safe. `step_size` and
    `random_state` mean nothing then, and `n_iter_` counts its steps.

    With groups or a method a session asks users. The `L_i` that it sees are those of rates up to the larger of the mean and the
    count itself; with counts that vary much take a method that learns them, such as the default, frugal.

    Parameters
    ----------
    method, l2, fit_intercept, weigh, budget, tol, step_size, warm_start, random_state, method_options
        As in `GroupedRidge`.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features_in_,), and float
    groups_, n_queries_, queries_per_user_, n_iter_, converged_, message_, n_features_in_, feature_names_in_
        As in `GroupedRidge`.

    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [1, 2, 4, 8]
    >>> model = GroupedPoissonRegressor(l2=0, tol=1e-9).fit(X, y)
    >>> model.predict([[4.0]]).round(3).tolist(), bool(abs(model.coef_[0] - np.log(2)) < 1e-6)
    ([16.0], True)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> GroupedPoissonRegressor:
        """Fits the model; `groups` says whose row each one is, and `sample_weight` what it counts."""
        given = X
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", y_numeric=True)
        counts = np.asarray(y, dtype=np.float64)
        if (counts < 0).any():
            row = int(np.flatnonzero(counts < 0)[0])
            raise ValueError(f"y is {counts[row]} in row {row}: Poisson regression needs counts, which are not negative")
        rows = self._begin(given, X, counts, groups, checked_weights(sample_weight, len(counts)))
        X, counts, direct, seed = rows.X, rows.y, self._in_one_place(rows), self._seed()
        if not counts.any():
            raise ValueError("y is zero in every row: the rate that fits is zero, and has no logarithm")
        # With rates in units of their mean the intercept is zero where nothing else matters, and the loss that much smaller.
        unit = float(counts @ rows.shares) if self.fit_intercept else 1.0
        l2, scaled, columns = float(self.l2) / unit, counts / unit, X.shape[1]
        before = self._before((columns,))
        start = np.zeros(columns + self.fit_intercept)
        if before is not None:
            start[:columns], start[columns:] = before[0][0], before[1][0] - np.log(unit)
        if direct:
            most = max(self._most() // len(counts), 1)
            found = _newton.poisson(X, scaled, rows.shares, l2, self.fit_intercept, start, float(self.tol), most)
            self._count(found.steps, found.looks * len(counts), np.full(len(counts), found.looks))
            reached = found.norm <= found.tolerance
            words = f"the gradient is small ({unit * found.norm:.3e})" if reached else f"{found.looks} looks at all rows"
            if not reached and found.looks >= most:
                words = f"the budget of {self.n_queries_} queries is spent"
            self._say("gradient" if reached else "budget", words, unit * found.norm, unit * found.tolerance)
            point = found.point
        else:
            point = self._session(rows, X, scaled, "poisson", l2, self.fit_intercept, start, 1 - scaled, seed)
        self.coef_ = point[:columns]
        self.intercept_ = float(point[columns:].sum()) + float(np.log(unit))
        return self

    def predict(self, X: Any) -> Vector:
        """The expected count of each row."""
        return np.exp(self._scores(X))


class GroupedLogisticRegression(ClassifierMixin, Estimator):  # type: ignore[misc] # scikit-learn has no types
    """Logistic regression with an L2 penalty, on data in one place or asking one user at a time for the gradient on its rows.

    With `y = ±1` it minimises the mean over rows of `ln(1 + exp(−y (w·x + b)))`, plus `l2 / 2 ‖w‖²`. Weights, of samples and
    classes, weigh that mean. With `weigh="users"` it is over users, of the mean over each one's rows: users count the same,
    however many rows they have.

    The intercept `b` is not penalised, and the model is scikit-learn's `LogisticRegression(C=1 / (len(X) * l2))`, with groups and
    without; with weights `C=1 / (sum of the weights * l2)`.

    Without groups and `method` nobody has to be asked: the rows are gone through by SAGA that remembers one number a row. With
    groups or a method a session asks users.

    More than two classes are told apart one against the rest, each in a run of its own: the queries of all of them are
    paid for, and the budget is that of each. That is not the multinomial model of scikit-learn: the probabilities are scaled
    to add up to one.

    A step is at most one over the largest curvature that any user has. With features on different scales that is slow:
    put a `StandardScaler` before it.

    Parameters
    ----------
    method, l2, fit_intercept, weigh, budget, tol, step_size, warm_start, random_state, method_options
        As in `GroupedRidge`.
    class_weight : dict, "balanced" or None, default=None
        What each class counts, times `sample_weight`; "balanced" makes all classes count the same.

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
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        weigh: Literal["rows", "users"] = "rows",
        budget: int | None = None,
        tol: float = 1e-4,
        step_size: float | Literal["auto", "theory"] = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        method_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            method, l2=l2, fit_intercept=fit_intercept, weigh=weigh, budget=budget, tol=tol, step_size=step_size,
            warm_start=warm_start, random_state=random_state, method_options=method_options,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> GroupedLogisticRegression:
        """Fits the model; `groups` says whose row each one is, and `sample_weight` what it counts."""
        given = X
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        answers = np.asarray(y)
        weights = self._weights(answers, checked_weights(sample_weight, len(answers)))
        rows = self._begin(given, X, answers, groups, weights)
        self.classes_, labels = np.unique(rows.y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}: a classifier needs two or more")
        direct, columns = self._in_one_place(rows), X.shape[1]
        X, center = rows.X, np.zeros(columns)
        if self.fit_intercept and direct:
            X, center = centred(X, rows.shares)
        # Of two classes the second is told from the first; of more each one from the rest.
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        starts, before = np.zeros((len(positives), columns + 1)), self._before((len(positives), columns))
        if before is not None:
            starts[:, :columns] = before[0]
            starts[:, columns] = before[1] + before[0] @ center
        if not self.fit_intercept:
            starts = starts[:, :columns]
        l2, free, seed, found = float(self.l2), self.fit_intercept, self._seed(), np.zeros((len(positives), columns + 1))
        for run, positive in enumerate(positives):
            signs = np.where(labels == positive, 1.0, -1.0)
            if direct:
                point = self._saga(rows, X, signs, "logistic", l2, free, starts[run], seed)
            else:
                point = self._session(rows, X, signs, "logistic", l2, free, starts[run], -signs / 2, seed)
            found[run, : len(point)] = point
        self.coef_ = found[:, :columns]
        self.intercept_ = found[:, columns] - self.coef_ @ center
        return self

    def _weights(self, y: NDArray[Any], weights: Vector | None) -> Vector | None:
        """What each row counts, its class included."""
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise ValueError(f'class_weight is {self.class_weight!r}: it must be a dict, "balanced" or None')
        counted = np.ones(len(y)) if weights is None else weights
        # Classes of which no row counts are none.
        present, labels = np.unique(y[counted > 0], return_inverse=True)
        of_class = compute_class_weight(self.class_weight, classes=present, y=y[counted > 0], sample_weight=counted[counted > 0])
        if not (np.isfinite(of_class).all() and (of_class >= 0).all() and of_class.any()):
            raise ValueError(f"class_weight is {self.class_weight!r}: weights must be finite, not negative and not all zero")
        all_weights: Vector = counted.astype(np.float64)
        all_weights[counted > 0] *= of_class[labels]
        return all_weights

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
