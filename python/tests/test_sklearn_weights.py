"""The estimators: weights of rows, users and classes, Poisson regression, warm starts, warnings, Ctrl-C."""

import _thread
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pandas
import polars
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from sgq import _sgq
from sgq.sklearn import GroupedLogisticRegression, GroupedPoissonRegressor, GroupedRidge
from test_sklearn import ALL, EXACT, data, shares, target

L2 = 0.05
# Poisson's gradient loses its digits sooner than others' do.
TOLERANCE = {GroupedRidge: 1e-7, GroupedLogisticRegression: 1e-7, GroupedPoissonRegressor: 1e-6}


def weighted():
    X, y, groups = data()
    return X, y, groups, np.random.default_rng(3).choice([0.0, 0.5, 1.0, 7.0], size=len(y))


def theirs(kind, total, **settings):
    """scikit-learn's model of the same objective, with weights of that sum."""
    if kind is GroupedRidge:
        return Ridge(alpha=L2 * total, solver="cholesky", **settings)
    if kind is GroupedPoissonRegressor:
        return PoissonRegressor(alpha=L2, solver="newton-cholesky", tol=1e-12, max_iter=1000, **settings)
    return LogisticRegression(C=1 / (L2 * total), solver="newton-cholesky", tol=1e-12, max_iter=1000, **settings)


def assert_same(ours, other, tolerance):
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(other.coef_), atol=tolerance)
    np.testing.assert_allclose(np.ravel(ours.intercept_), np.ravel(other.intercept_), atol=10 * tolerance)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_scikit_learns(kind, fit_intercept, form):
    X, y, _, weights = weighted()
    y = target(kind, y)
    ours = kind(l2=L2, fit_intercept=fit_intercept, **EXACT).fit(form(X), y, sample_weight=weights)
    other = theirs(kind, weights.sum(), fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    assert ours.converged_
    assert_same(ours, other, TOLERANCE[kind])
    # Their unit is nothing, and rows that count nothing are not there.
    again = kind(l2=L2, fit_intercept=fit_intercept, **EXACT).fit(form(X), y, sample_weight=1e-300 * weights)
    assert_same(again, other, TOLERANCE[kind])
    assert ours.groups_.tolist() == np.flatnonzero(weights).tolist() and len(ours.queries_per_user_) == len(ours.groups_)
    assert ours.queries_per_user_.min() >= 1 and ours.queries_per_user_.sum() == ours.n_queries_


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("method", [None, "saga"])
@pytest.mark.parametrize("intercept", [True, False])
def test_groups_by_default_make_no_difference(kind, method, intercept):
    X, y, groups, weights = weighted()
    # Counts whose mean is far from one.
    y = (20 if kind is GroupedPoissonRegressor and intercept else 1) * target(kind, y)
    model = kind(method, l2=L2, fit_intercept=intercept, **EXACT).fit(X, y, groups, sample_weight=weights)
    other = theirs(kind, weights.sum(), fit_intercept=intercept).fit(X, y, sample_weight=weights)
    assert_same(model, other, 1e-6)
    assert len(model.groups_) == len(set(groups[weights > 0]))


def test_a_user_whose_rows_count_nothing_is_not_asked():
    X, y, groups, weights = weighted()
    weights[groups == "user 03"] = 0
    model = GroupedRidge(random_state=0).fit(X, y, groups, sample_weight=weights)
    assert "user 03" not in model.groups_ and len(model.groups_) == 11
    without = GroupedRidge(random_state=0).fit(X[weights > 0], y[weights > 0], groups[weights > 0], weights[weights > 0])
    assert model.coef_.tobytes() == without.coef_.tobytes()


def of_users(groups, weights):
    """Each user's rows add up to its part."""
    totals = {name: weights[groups == name].sum() for name in set(groups[weights > 0])}
    return np.array([weight / (len(totals) * totals[name]) if weight else 0.0 for name, weight in zip(groups, weights)])


@pytest.mark.parametrize("kind", ALL)
def test_users_count_alike_if_wanted(kind):
    X, y, groups, weights = weighted()
    y = target(kind, y)
    parts = of_users(groups, weights)
    np.testing.assert_allclose(of_users(groups, np.ones(len(y))), shares(groups))
    model = kind(l2=L2, weigh="users", **EXACT).fit(X, y, groups, sample_weight=weights)
    assert_same(model, theirs(kind, 1.0).fit(X, y, sample_weight=parts), 1e-6)
    rows = kind(l2=L2, **EXACT).fit(X, y, groups, sample_weight=weights)
    assert np.abs(rows.coef_ - model.coef_).max() > 1e-3
    # Without groups rows are all there is.
    one, other = (kind(l2=L2, weigh=weigh, **EXACT).fit(X, y, sample_weight=weights) for weigh in ("rows", "users"))
    assert one.coef_.tobytes() == other.coef_.tobytes()


@pytest.mark.parametrize("wide", [False, True])
def test_many_parameters_go_by_conjugate_gradients(wide):
    random = np.random.default_rng(2)
    X = random.normal(size=(120, 1100 if wide else 300)) / 30
    counts = random.poisson(np.exp(X[:, :20].sum(axis=1) + 3))
    model = GroupedPoissonRegressor(l2=0.5, tol=1e-8).fit(X, counts)
    other = PoissonRegressor(alpha=0.5, tol=1e-12, max_iter=10_000).fit(X, counts)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)
    thin = GroupedPoissonRegressor(l2=0.5, tol=1e-8).fit(sparse.csr_array(X), counts)
    np.testing.assert_allclose(thin.coef_, model.coef_, atol=1e-7)


def test_poisson_far_from_zero():
    """Rates of a million, features of a thousand, the same column twice, and no penalty."""
    X = np.array([[0.0], [1000.0], [2000.0], [3000.0]])
    model = GroupedPoissonRegressor(l2=0, tol=1e-10).fit(np.hstack([X, X]), [1.0, 100.0, 10_000.0, 1_000_000.0])
    assert model.converged_ and model.predict([[4000.0, 4000.0]])[0] == pytest.approx(1e8)
    model = GroupedPoissonRegressor(l2=0, fit_intercept=False, tol=1e-10).fit(X[1:], np.exp([1.0, 2.0, 3.0]))
    assert model.converged_ and model.coef_[0] == pytest.approx(1e-3) and model.intercept_ == 0.0
    with pytest.warns(ConvergenceWarning, match="budget of 8 queries is spent"):
        model = GroupedPoissonRegressor(l2=0, budget=8).fit(X, [1.0, 100.0, 10_000.0, 1_000_000.0])
    assert not model.converged_ and model.n_queries_ == 8 and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("balance", ["balanced", {False: 3.0, True: 0.2}, {True: 5.0}])
@pytest.mark.parametrize("grouped", [True, False])
def test_class_weights_are_scikit_learns(balance, grouped):
    X, y, groups, weights = weighted()
    y = y > 1.5
    settings = {"l2": L2, "class_weight": balance}
    groups = groups if grouped else None
    ours = GroupedLogisticRegression(**settings, **EXACT).fit(X, y, groups, sample_weight=weights)
    each = sklearn.utils.class_weight.compute_class_weight(
        balance, classes=np.array([False, True]), y=y[weights > 0], sample_weight=weights[weights > 0]
    )
    together = weights * each[y.astype(int)]
    other = theirs(GroupedLogisticRegression, together.sum())
    assert_same(ours, other.fit(X, y, sample_weight=together), 1e-6)
    if balance == "balanced":
        assert together[y].sum() == pytest.approx(together[~y].sum())


def test_classes_that_count_nothing_are_none():
    X, y, _ = data()
    y = np.digitize(y, [-1.0, 1.0])
    model = GroupedLogisticRegression(random_state=0).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2] and model.coef_.shape == (1, 4)
    with pytest.raises(ValueError, match="only one class"):
        GroupedLogisticRegression().fit(X, y, sample_weight=y == 1)
    with pytest.raises(ValueError, match="only one class"):
        GroupedLogisticRegression(class_weight={0: 0.0, 1: 0.0}).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "words"),
    [({1: -1.0}, "class_weight"), ({1: np.nan}, "class_weight"), ("even", "balanced"), ({0: 0, 1: 0}, "zero")],
)
def test_wrong_class_weights(weight, words):
    X, y, _ = data()
    with pytest.raises(ValueError, match=words):
        GroupedLogisticRegression(class_weight=weight).fit(X, (y > 0).astype(int))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample_weight": [-1.0, *[1.0] * 199]}, "sample_weight is -1.0 in row 0"),
        ({"sample_weight": [1.0, np.nan, *[1.0] * 198]}, "sample_weight is nan in row 1"),
        ({"sample_weight": [np.inf, *[1.0] * 199]}, "sample_weight is inf in row 0"),
        ({"sample_weight": np.zeros(200)}, "zero in every row"),
        ({"sample_weight": np.ones(100)}, r"200 rows, and sample_weight the shape \(100,\)"),
        ({"sample_weight": np.ones((200, 1))}, r"sample_weight the shape \(200, 1\)"),
        ({"sample_weight": ["much"] * 200}, "could not convert"),
        ({"X": np.zeros((0, 4)), "y": [], "groups": None}, "0 sample"),
        ({"y": np.full(200, np.nan)}, "NaN"),
        ({"X": np.full((200, 4), np.inf)}, "infinity"),
    ],
)
def test_wrong_data(kind, grouped, change, words):
    X, y, groups, _ = weighted()
    given = {"X": X, "y": target(kind, y), "groups": groups if grouped else None}
    with pytest.raises(ValueError, match=words):
        kind().fit(**{**given, **change})


def test_what_poisson_cannot_count():
    X, y, groups = data()
    counts = target(GroupedPoissonRegressor, y)
    with pytest.raises(ValueError, match="y is -2.0 in row 1: .*not negative"):
        GroupedPoissonRegressor().fit(X, [1, -2, *counts[2:]])
    for given in (groups, None):
        with pytest.raises(ValueError, match="zero in every row"):
            GroupedPoissonRegressor().fit(X, np.zeros(200), given)
    with pytest.raises(ValueError, match="weigh"):
        GroupedPoissonRegressor(weigh="everybody").fit(X, counts, groups)
    with pytest.raises(ValueError, match="zero in every row"):
        GroupedPoissonRegressor().fit(X, counts, sample_weight=counts == 0)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("grouped", [True, False])
def test_a_warm_start_begins_where_the_last_fit_ended(kind, grouped):
    X, y, groups, weights = weighted()
    X, y, groups = X + 2.0, target(kind, y), groups if grouped else None
    settings = {"l2": L2, "tol": 1e-7, "budget": 1_000_000, "random_state": 0}
    cold = kind(**settings).fit(X, y, groups, sample_weight=weights)
    warm = kind(warm_start=True, **settings).fit(X, y, groups, sample_weight=weights)
    assert warm.coef_.tobytes() == cold.coef_.tobytes()
    first = warm.n_queries_
    warm.set_params(tol=1e-6).fit(X, y, groups, sample_weight=weights)
    assert warm.converged_ and warm.n_queries_ < (first if grouped else first / 2)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
    # From elsewhere it comes to the same place, and other columns begin anew.
    warm.set_params(tol=1e-7).fit(X, y, groups)
    again = kind(**settings).fit(X, y, groups)
    np.testing.assert_allclose(warm.coef_, again.coef_, atol=1e-4)
    warm.fit(X[:, :3], y, groups)
    assert warm.coef_.tobytes() == kind(**settings).fit(X[:, :3], y, groups).coef_.tobytes()


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_groups_that_are_a_feature_too_are_warned_of(frame):
    X, y, groups = data()
    columns = frame({"clinic": np.unique(groups, return_inverse=True)[1].astype(float), "age": X[:, 0]})
    with pytest.warns(UserWarning, match="column 'clinic' of X"):
        GroupedRidge(random_state=0).fit(columns, y, groups=columns["clinic"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        GroupedRidge(random_state=0, budget=10**6).fit(columns, y, groups=groups)
        GroupedRidge(random_state=0, budget=10**6).fit(columns, y, groups=pandas.Series(groups, name="clinic"))


def test_groups_that_reach_the_split_alone_are_warned_of():
    X, y, groups = data()
    model, search = GroupedRidge(random_state=0), {"cv": GroupKFold(3), "param_grid": {"l2": [0.01, 0.1]}}
    with pytest.warns(UserWarning, match="reached the split, but not GroupedRidge"):
        cross_val_score(model, X, y, groups=groups, cv=GroupKFold(3))
    with pytest.warns(UserWarning, match="reached the split"):
        GridSearchCV(model, **search).fit(X, y, groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        cross_val_score(model, X, y, cv=3)
        with sklearn.config_context(enable_metadata_routing=True):
            routed = GroupedRidge(random_state=0).set_fit_request(groups=True, sample_weight=False)
            GridSearchCV(routed, **search).fit(X, y, groups=groups)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_arrays_that_cannot_be_written_to_are_taken_and_left_alone(form):
    X, y, _ = data()
    X = form(X)
    (X.data if form is sparse.csr_array else X).setflags(write=False)
    before = X.copy()
    model = GroupedLogisticRegression(random_state=0).fit(X, y > 0)
    wide = sparse.csr_array(X) if form is sparse.csr_array else X
    if form is sparse.csr_array:
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    again = GroupedLogisticRegression(random_state=0).fit(wide, y > 0)
    assert abs(X - before).max() == 0 and model.coef_.tobytes() == again.coef_.tobytes()


def test_columns_in_any_order_and_twice():
    X, y, _ = data(dim=3)
    starts, columns = np.arange(0, 801, 4), np.tile([2, 0, 1, 2], 200)
    values = np.column_stack([X[:, 2] / 4, X[:, 0], X[:, 1], 3 * X[:, 2] / 4]).reshape(-1)
    mixed = sparse.csr_array((values, columns, starts), shape=(200, 3))
    model, plain = (GroupedLogisticRegression(random_state=0).fit(rows, y > 0) for rows in (mixed, sparse.csr_array(X)))
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
    assert mixed.nnz == 800


def test_what_the_binding_refuses():
    X, y = np.ones(6), np.array([1.0, -1.0, 1.0])
    rest = {
        "weights": None,
        "loss": "logistic",
        "l2": 0.1,
        "intercept": False,
        "step_size": None,
        "tol": 0.0,
        "budget": 9,
        "seed": 0,
    }
    dense = {"values": X, "dim": 2, "starts": None, "columns": None, "targets": y, "start": np.zeros(2), **rest}
    assert _sgq.linear_saga(**dense).queries == 9
    for change, words in [
        ({"dim": 4}, "rows of 4"),
        ({"targets": y[:2]}, "2 targets"),
        ({"targets": np.zeros(3)}, "target of row 0"),
        ({"weights": np.array([1.0, 2.0])}, "2 weights"),
        ({"start": np.zeros(3)}, "parameters"),
        ({"step_size": -1.0}, "step size"),
        ({"loss": "poisson", "targets": np.ones(3)}, "no bound"),
        ({"values": np.array([1.0, np.nan, 1.0, 1.0, 1.0, 1.0])}, "row 0 is NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            _sgq.linear_saga(**{**dense, **change})
    starts, columns = np.array([0, 2, 4, 6]), np.array([0, 1] * 3, dtype=np.uint32)
    thin = {**dense, "starts": starts, "columns": columns}
    assert _sgq.linear_saga(**thin).point.tolist() == pytest.approx(_sgq.linear_saga(**dense).point.tolist())
    for change, words in [
        ({"starts": np.array([0, 2, 4, -6])}, "starts has -6"),
        ({"starts": np.array([0, 2, 5, 4])}, "starts"),
        ({"columns": np.array([-1] * 6, dtype=np.int32).view(np.uint32)}, "column past the last"),
        ({"columns": np.zeros(6, dtype=np.uint32)}, "do not rise"),
    ]:
        with pytest.raises(ValueError, match=words):
            _sgq.linear_saga(**{**thin, **change})


def test_a_fit_listens_to_ctrl_c_and_lets_others_work():
    X, y, _ = data()
    model = GroupedLogisticRegression(tol=0, budget=10**12)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    timer = threading.Timer(0.3, _thread.interrupt_main)
    begin = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y > 0)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - begin < 30
    assert not hasattr(model, "coef_")


def test_poisson_is_pickled_and_cloned():
    X, y, _ = data()
    model = GroupedPoissonRegressor().fit(X, target(GroupedPoissonRegressor, y))
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()
    assert not hasattr(clone(model), "coef_") and model.n_queries_ % 200 == 0
