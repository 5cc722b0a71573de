"""The estimators: scikit-learn's own checks, the models they must agree with, and everything that can go wrong."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas
import polars
import pytest
import sklearn
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sgq
from sgq.sklearn import GroupedLogisticRegression, GroupedPoissonRegressor, GroupedRidge

ALL = [GroupedLogisticRegression, GroupedRidge, GroupedPoissonRegressor]
EXACT = {"tol": 1e-10, "budget": 10_000_000, "random_state": 0}
# Far below what the checks compare to.
TIGHT = {"tol": 1e-11, "budget": 20_000_000}


def weights_are_rows(estimator):
    """Two runs to the usual tolerance agree to that, and not to the 1e-7 of the checks: those that are tight have them pass."""
    if estimator.tol != 1e-4 or isinstance(estimator, GroupedPoissonRegressor):
        return {}
    why = "the fits agree to their tolerance"
    kinds = ["dense", "sparse"]
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # on features that are not scaled
@parametrize_with_checks(
    [
        GroupedLogisticRegression(),
        GroupedLogisticRegression(class_weight="balanced", **TIGHT),
        GroupedRidge(),
        GroupedRidge(**TIGHT),
        GroupedRidge("iqn", fit_intercept=False),
        GroupedPoissonRegressor(),
        GroupedPoissonRegressor(tol=1e-11),
    ],
    expected_failed_checks=weights_are_rows,
)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def data(rows=200, dim=4, users=12, seed=0):
    """Rows that are not centred, with users of different sizes and tastes."""
    random = np.random.default_rng(seed)
    groups = random.choice(users, size=rows, p=np.arange(1, users + 1) / (users * (users + 1) / 2))
    X = random.normal(size=(rows, dim)) + 0.7
    y = X @ np.linspace(-1, 1, dim) + random.normal(size=users)[groups] + random.normal(size=rows) - 0.5
    return X, y, np.array([f"user {user:02}" for user in range(users)])[groups]


def target(kind, y):
    """Targets of the estimator's kind."""
    return {GroupedRidge: y, GroupedLogisticRegression: y > 0, GroupedPoissonRegressor: np.abs(y).round()}[kind]


def shares(groups):
    _, group, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return 1 / (len(counts) * counts[group])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_row_a_user_is_scikit_learns_ridge(fit_intercept):
    X, y, _ = data()
    ours = GroupedRidge(l2=0.05, fit_intercept=fit_intercept, **EXACT).fit(X, 1e12 * y)
    theirs = Ridge(alpha=0.05 * len(X), fit_intercept=fit_intercept).fit(X, 1e12 * y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-8)
    looks = (ours.n_queries_ - ours.n_iter_) / len(X)
    assert ours.converged_ and ours.n_queries_ == ours.queries_per_user_.sum() and looks in (2, 3)


@pytest.mark.parametrize("method", [None, "saga"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_row_a_user_is_scikit_learns_logistic_regression(method, fit_intercept):
    X, y, _ = data()
    # Far from the origin: the columns are centred.
    X = X + 5.0
    ours = GroupedLogisticRegression(method, l2=0.05, fit_intercept=fit_intercept, **EXACT).fit(X, y > 0)
    settings = {"C": 1 / (0.05 * len(X)), "tol": 1e-12, "max_iter": 10_000, "fit_intercept": fit_intercept}
    theirs = LogisticRegression(solver="newton-cholesky", **settings).fit(X, y > 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)


def test_groups_of_ridge_against_the_normal_equations():
    X, y, groups = data()
    weights = shares(groups)
    ones = np.column_stack([np.ones(len(X)), X])
    penalty = np.diag([0.0, *[0.02] * X.shape[1]])
    expected = np.linalg.solve(ones.T @ (weights[:, np.newaxis] * ones) + penalty, ones.T @ (weights * y))
    model = GroupedRidge(l2=0.02, weigh="users", **EXACT).fit(X, y, groups)
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected, rtol=1e-8)
    assert model.groups_.tolist() == sorted(set(groups)) and len(model.queries_per_user_) == 12


def test_groups_of_logistic_regression_against_the_formula():
    X, y, groups = data()
    weights, signs = shares(groups), np.sign(y)

    def objective(x):
        margins = signs * (X @ x[1:] + x[0])
        return weights @ np.logaddexp(0, -margins) + 0.01 * x[1:] @ x[1:]

    expected = optimize.minimize(objective, np.zeros(5), tol=1e-12).x
    model = GroupedLogisticRegression(l2=0.02, weigh="users", **EXACT).fit(X, signs, groups=pandas.Series(groups))
    np.testing.assert_allclose([*model.intercept_, *model.coef_[0]], expected, atol=1e-5)
    assert model.score(X, signs) > 0.7 and model.coef_.shape == (1, 4)


def test_three_classes_are_each_told_from_the_rest():
    X, y = load_iris(return_X_y=True)
    X, names = StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]
    model = GroupedLogisticRegression(random_state=0).fit(X, names)
    alone = [GroupedLogisticRegression(random_state=0).fit(X, names == name) for name in "abc"]
    np.testing.assert_array_equal(model.coef_, np.vstack([one.coef_ for one in alone]))
    assert model.n_queries_ == sum(one.n_queries_ for one in alone) == model.queries_per_user_.sum()
    assert model.score(X, names) > 0.8 and model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


@pytest.mark.parametrize("kind", ALL)
def test_the_seed_decides(kind):
    X, y, groups = data()
    y = target(kind, y)

    def coefficients(state):
        return kind(random_state=state, tol=1e-2).fit(X, y, groups).coef_.tobytes()

    assert coefficients(3) == coefficients(3) == coefficients(np.int64(3)) != coefficients(4)
    assert coefficients(np.random.RandomState(3)) == coefficients(np.random.RandomState(3))


def test_a_whole_number_is_the_sessions_seed():
    X, y, groups = data()
    model = GroupedRidge(fit_intercept=False, random_state=5, tol=0, budget=300).fit(X, y / np.abs(y).max(), groups)
    problem = sgq.problems.regression(X, y / np.abs(y).max(), groups, solve=False, user_weights="rows")
    # With groups the default is that of `minimize`.
    assert sgq.minimize(problem, budget=300, tol=None, seed=5).x.tobytes() == model.coef_.tobytes()
    rows = sgq.problems.regression(X, y / np.abs(y).max(), solve=False)
    model = GroupedRidge("saga", fit_intercept=False, random_state=5, tol=0, budget=300).fit(X, y / np.abs(y).max())
    assert sgq.minimize(rows, method="saga", budget=300, seed=5).x.tobytes() == model.coef_.tobytes()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_is_dense(kind, fit_intercept, grouped, form):
    X, y, groups = data()
    groups = groups if grouped else None
    # Without groups the two take other ways to the same place.
    settings = {"random_state": 0} if grouped else EXACT
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    y = target(kind, y)
    dense, thin = (kind(fit_intercept=fit_intercept, **settings).fit(rows, y, groups) for rows in (X, form(X)))
    close = {"rtol": 1e-9, "atol": 1e-12} if grouped else {"rtol": 1e-7, "atol": 1e-8}
    np.testing.assert_allclose(thin.coef_, dense.coef_, **close)
    np.testing.assert_allclose(thin.predict(form(X)).astype(float), dense.predict(X).astype(float), **close)


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_frames_have_names(frame):
    X, y, groups = data()
    columns = frame({name: X[:, k] for k, name in enumerate("abcd")})
    model = GroupedRidge(random_state=0).fit(columns, y, groups=groups)
    assert model.feature_names_in_.tolist() == list("abcd") and model.n_features_in_ == 4
    assert model.predict(columns).tobytes() == model.predict(columns).tobytes()


def test_pipelines_grids_clones_and_pickles():
    X, y, groups = data()
    search = GridSearchCV(make_pipeline(StandardScaler(), GroupedRidge(random_state=0)), {"groupedridge__l2": [1e-3, 10.0]})
    search.fit(X, y, groupedridge__groups=groups)
    assert search.best_params_ == {"groupedridge__l2": 1e-3}
    model = search.best_estimator_[-1]
    assert len(model.groups_) == 12 and not hasattr(clone(model), "coef_")
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


def test_groups_are_routed():
    X, y, groups = data()
    with sklearn.config_context(enable_metadata_routing=True):
        model = GroupedLogisticRegression(random_state=0).set_fit_request(groups=True)
        scores = cross_val_score(model, X, y > 0, cv=GroupKFold(3), params={"groups": groups})
    assert scores.mean() > 0.6


@pytest.mark.parametrize("kind", ALL)
def test_a_budget_that_is_too_small_is_said(kind):
    X, y, groups = data()
    y = target(kind, y)
    with pytest.warns(ConvergenceWarning, match="budget of 40 queries is spent.*larger budget"):
        model = kind(budget=40, random_state=0).fit(X, y, groups)
    assert not model.converged_ and model.n_queries_ == 40 and "budget" in model.message_
    with pytest.warns(ConvergenceWarning, match="not everybody was asked"):
        kind(budget=5).fit(X, y, groups)
    with pytest.raises(ValueError, match="sgd keeps no gradients.*tol=0"):
        kind("sgd", budget=40).fit(X, y, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind("sgd", budget=40, tol=0, random_state=0).fit(X, y, groups).n_iter_ == 40


def test_settings_of_the_method():
    X, y, groups = data()
    settings = {"budget": 500, "tol": 0, "random_state": 0, "step_size": 0.01}
    one, other = (GroupedRidge("sgq", method_options={"p": p}, **settings).fit(X, y, groups) for p in (0.1, 0.9))
    assert one.queries_per_user_.tolist() != other.queries_per_user_.tolist()
    with pytest.raises(TypeError, match="has no setting"):
        GroupedRidge(method_options={"pp": 0.1}).fit(X, y)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"method": "sagga"}, ValueError, "no method.*saga"),
        ({"l2": -1.0}, ValueError, "l2"),
        ({"l2": "much"}, TypeError, "l2"),
        ({"tol": -1e-3}, ValueError, "tol"),
        ({"budget": 0}, ValueError, "budget"),
        ({"budget": 10.5}, TypeError, "budget"),
        ({"step_size": "large"}, ValueError, "step size"),
        ({"step_size": 1e6}, ValueError, "diverged.*smaller step_size"),
        ({"random_state": "seed"}, ValueError, "seed"),
    ],
)
def test_wrong_settings(kind, settings, error, words):
    X, y, groups = data()
    # Newton's method takes no step size.
    groups = groups if kind is GroupedPoissonRegressor and settings == {"step_size": 1e6} else None
    method = {"method": "saga"} if groups is not None else {}
    with pytest.raises(error, match=words):
        kind(**method, **settings).fit(X, y > 0, groups)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": ["a", "b"]}, r"200 rows, and groups the shape \(2,\)"),
        ({"groups": np.zeros((200, 2))}, r"groups the shape \(200, 2\)"),
        ({"groups": [None, *["a"] * 199]}, "groups has nothing in row 0"),
        ({"groups": [1.0, np.nan, *[2.0] * 198]}, "groups has nothing in row 1"),
        ({"groups": pandas.Series([pandas.NA, *["a"] * 199])}, "groups has nothing in row 0"),
        ({"X": np.full((200, 4), np.nan)}, "NaN"),
        ({"X": np.full((200, 4), "word")}, "could not convert"),
        ({"y": [0, 1]}, "inconsistent numbers of samples"),
        ({"X": np.zeros((200, 0))}, "0 feature"),
    ],
)
def test_wrong_data(kind, change, words):
    X, y, groups = data()
    with pytest.raises(ValueError, match=words):
        kind().fit(**{"X": X, "y": y > 0, "groups": groups, **change})


def test_one_class_or_none():
    X, y, _ = data()
    with pytest.raises(ValueError, match="only one class"):
        GroupedLogisticRegression().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="continuous"):
        GroupedLogisticRegression().fit(X, y)


def test_a_target_that_never_changes():
    model = GroupedRidge(random_state=0).fit(data()[0], np.full(200, 3.0))
    assert model.converged_ and model.predict(data()[0]).tolist() == [3.0] * 200


def test_nothing_to_learn():
    X, y = np.array([[-1.1, -1.3], [-1.1, 1.3], [1.1, -1.3], [1.1, 1.3]] * 25), np.array([0, 1, 1, 0] * 25)
    model = GroupedLogisticRegression(random_state=0).fit(X, y)
    assert model.converged_ and np.abs(model.coef_).max() < 1e-9


def test_scikit_learn_is_not_needed_for_the_rest():
    code = """
import sys, sgq
assert "sklearn" not in sys.modules
sys.modules["sklearn"] = None
try:
    import sgq.sklearn
except ImportError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install -U scikit-learn" in ran.stdout
