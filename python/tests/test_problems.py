"""Problems: every value and gradient against the formula in numpy, however the data come in."""

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse
from scipy.special import expit

import sgq
from sgq.problems import quadratics, regression

RANDOM = np.random.default_rng(1)
ROWS, DIM = 60, 4
X = RANDOM.normal(size=(ROWS, DIM)) * (RANDOM.random((ROWS, DIM)) < 0.6)
GROUPS = RANDOM.choice(["north", "east", "south", "west", "far, away"], ROWS)
WEIGHTS = RANDOM.random(ROWS) + 0.1
TARGETS = {
    "squares": X @ [1.0, -2.0, 0.5, 0.0] + RANDOM.normal(size=ROWS),
    "huber": X @ [1.0, -2.0, 0.5, 0.0] + 2 * RANDOM.standard_t(2, size=ROWS),
    "poisson": RANDOM.poisson(2.0, ROWS),
    "logistic": np.where(X[:, 0] + RANDOM.normal(size=ROWS) > 0, "yes", "no"),
}
POINTS = [np.zeros(DIM), *RANDOM.normal(size=(3, DIM))]


def loss_and_slope(loss, margin, y, delta=1.345):
    """Of each row, from the definitions."""
    if loss == "squares":
        return (margin - y) ** 2 / 2, margin - y
    if loss == "huber":
        far = np.abs(margin - y) > delta
        return (
            np.where(far, delta * (np.abs(margin - y) - delta / 2), (margin - y) ** 2 / 2),
            np.clip(margin - y, -delta, delta),
        )
    if loss == "poisson":
        return np.exp(margin) - y * margin, np.exp(margin) - y
    sign = np.where(y == "yes", 1.0, -1.0)
    return np.logaddexp(0, -sign * margin), -sign * expit(-sign * margin)


def naive(loss, x, rows, y, weights, l2):
    """A user's value and gradient."""
    each, slopes = loss_and_slope(loss, rows @ x, y)
    parts = weights / weights.sum()
    return parts @ each + l2 / 2 * x @ x, rows.T @ (parts * slopes) + l2 * x


def check(problem, loss, names, rows=X, y=None, groups=GROUPS, weights=None, l2=0.1):
    y = TARGETS[loss] if y is None else y
    weights = np.ones(len(y)) if weights is None else weights
    for x in POINTS:
        x = np.concatenate([[0.3] * (rows.shape[1] - DIM), x])
        values = []
        for user, name in enumerate(names):
            mine = groups == name
            value, gradient = naive(loss, x, rows[mine], y[mine], weights[mine], l2)
            assert problem.value(x, user) == pytest.approx(value, rel=1e-12, abs=1e-12)
            assert problem.gradient(user, x) == pytest.approx(gradient, rel=1e-11, abs=1e-12)
            values.append(value)
        assert problem.value(x) == pytest.approx(np.mean(values), rel=1e-12)
        assert problem.gap(x) == pytest.approx(np.mean(values) - problem.minimum, rel=1e-9, abs=1e-12)


LOSSES = pytest.mark.parametrize("loss", list(TARGETS))


@LOSSES
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("of", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_matrix])
def test_dense_and_sparse_rows_in_any_order(loss, weights, of):
    order = RANDOM.permutation(ROWS)
    mixed = None if weights is None else weights[order]
    problem = regression(of(X[order]), TARGETS[loss][order], GROUPS[order], loss=loss, l2=0.1, weights=mixed)
    assert (problem.users, len(problem), problem.dim) == (5, 5, DIM)
    assert problem.user_names == sorted(set(GROUPS.tolist())) and problem.column_names is None
    check(problem, loss, problem.user_names, weights=weights)


@LOSSES
@pytest.mark.parametrize("of", [np.asarray, scipy.sparse.csr_array])
def test_an_intercept_comes_first(loss, of):
    problem = regression(of(X), TARGETS[loss], GROUPS, loss=loss, l2=0.1, intercept=True)
    check(problem, loss, problem.user_names, rows=np.column_stack([np.ones(ROWS), X]))


@LOSSES
def test_without_groups_every_row_is_a_user(loss):
    problem = regression(X, TARGETS[loss], loss=loss, l2=0.1)
    assert problem.users == ROWS and problem.user_names is None
    check(problem, loss, range(ROWS), groups=np.arange(ROWS))


@LOSSES
def test_the_optimum_and_the_constants(loss):
    problem = regression(X, TARGETS[loss], GROUPS, loss=loss, l2=0.1)
    mean = np.mean([problem.gradient(user, problem.optimum) for user in range(5)], axis=0)
    assert np.abs(mean).max() < 1e-9
    assert problem.value(problem.optimum) == pytest.approx(problem.minimum) and problem.gap(problem.optimum) < 1e-12
    # Gradients change by no more than L_i allows; a Poisson loss has no such constant everywhere.
    if loss != "poisson":
        x, z = POINTS[1], POINTS[2]
        for user, constant in enumerate(problem.smoothness):
            change = np.linalg.norm(problem.gradient(user, x) - problem.gradient(user, z))
            assert change <= constant * np.linalg.norm(x - z) * (1 + 1e-12)
        assert 0 < problem.pl_constant <= problem.objective_smoothness <= problem.smoothness.mean() * (1 + 1e-12)
    unsolved = regression(X, TARGETS[loss], GROUPS, loss=loss, l2=0.1, solve=False)
    assert unsolved.optimum is None and unsolved.minimum is None
    with pytest.raises(ValueError, match="solve=True"):
        unsolved.gap(POINTS[0])


def test_sparse_rows_may_have_duplicates_and_be_unsorted_and_are_left_as_they_are():
    data, columns, starts = np.array([1.0, 2.0, 4.0, 3.0, 0.0]), np.array([2, 0, 2, 1, 0]), np.array([0, 3, 3, 5])
    messy = scipy.sparse.csr_matrix((data, columns, starts), shape=(3, 3))
    y = [1.0, 2.0, 3.0]
    problem, clean = regression(messy, y, intercept=True), regression(messy.toarray(), y, intercept=True)
    assert messy.indices.tolist() == [2, 0, 2, 1, 0] and messy.data.tolist() == [1.0, 2.0, 4.0, 3.0, 0.0]
    x = np.array([0.5, 1.0, -1.0, 2.0])
    for user in range(3):
        assert problem.gradient(user, x) == pytest.approx(clean.gradient(user, x), rel=1e-14)


def test_frames_and_other_arrays_are_arrays():
    y, plain = TARGETS["squares"], regression(X, TARGETS["squares"], GROUPS)
    packed = np.array([(0, value) for value in y], dtype=[("flag", "u1"), ("y", "f8")])
    unaligned = np.frombuffer(b"-" + y.tobytes(), dtype=np.float64, offset=1)
    assert not unaligned.flags.aligned
    for rows, targets, groups in [
        (pandas.DataFrame(X), pandas.Series(y), pandas.Series(GROUPS)),
        (pandas.DataFrame(X), pandas.Series(y), pandas.Categorical(GROUPS)),
        (polars.DataFrame(X), polars.Series(y), polars.Series(GROUPS)),
        (np.asfortranarray(X), y[::-1][::-1], GROUPS.tolist()),
        (X.tolist(), y.tolist(), list(GROUPS)),
        (X, packed["y"], GROUPS),
        (X, unaligned, GROUPS),
    ]:
        assert regression(rows, targets, groups).optimum.tobytes() == plain.optimum.tobytes()
    single = regression(X.astype(np.float32), y, GROUPS)
    assert single.optimum == pytest.approx(plain.optimum, rel=1e-4)
    assert regression(np.eye(3), [True, False, True]).value([0.0, 0.0, 0.0]) == pytest.approx(1 / 3)


def test_two_values_of_any_kind_are_classes():
    yes = TARGETS["logistic"] == "yes"
    optima = {
        regression(X, y, GROUPS, loss="logistic").optimum.tobytes()
        for y in (TARGETS["logistic"], yes, np.where(yes, 2.5, -1.0), pandas.Series(yes, dtype="boolean"))
    }
    assert len(optima) == 1


Y = TARGETS["squares"]
NAN = np.where(np.arange(ROWS) == 7, np.nan, Y)


@pytest.mark.parametrize(
    ("rows", "y", "settings", "kind", "words"),
    [
        (np.where(X == X[0, 0], np.nan, X), Y, {}, ValueError, "finite"),
        (scipy.sparse.csr_array(np.where(X == X.max(), np.inf, X)), Y, {}, ValueError, "finite"),
        (X.astype(object), Y, {}, TypeError, "X has the type object"),
        (X + 1j, Y, {}, TypeError, "X has the type complex128"),
        (scipy.sparse.csr_array(X + 1j), Y, {}, TypeError, "complex128"),
        (scipy.sparse.coo_array(Y), Y, {}, TypeError, r"shape \(60,\)"),
        (Y, Y, {}, ValueError, "2 dimensions"),
        (X, NAN, {}, ValueError, "the target of row 7 is NaN"),
        (X, Y[:9], {}, ValueError, "X has 60 rows, and y 9 numbers"),
        (X, Y[:, np.newaxis], {}, ValueError, "1 dimension$"),
        (X, Y.astype(str), {}, TypeError, "y has the type"),
        (X, Y, {"groups": GROUPS[:9]}, ValueError, "groups the shape"),
        (X, Y, {"groups": NAN}, ValueError, "groups has nothing in row 7"),
        (X, Y, {"groups": pandas.array([1, None] * 30, dtype="Int64")}, ValueError, "groups has nothing in row 1"),
        (X, Y, {"groups": np.array(["a", 1] * 30, dtype=object)}, TypeError, "cannot be sorted"),
        (X, Y, {"weights": WEIGHTS[:9]}, ValueError, "9 weights"),
        (X, Y, {"weights": -WEIGHTS}, ValueError, "weight"),
        (X, Y, {"weights": NAN}, ValueError, "weight"),
        (X, Y, {"groups": GROUPS, "weights": (GROUPS != "east") * 1.0}, ValueError, "must be positive"),
        (X, np.ones(ROWS), {"loss": "logistic"}, ValueError, "1 different values"),
        (X, GROUPS, {"loss": "logistic"}, ValueError, "5 different values"),
        (X, np.where(Y > 0, 1.0, np.nan), {"loss": "logistic"}, ValueError, "y has nothing in row"),
        (X, np.where(Y > 0, 1, 0)[:, np.newaxis], {"loss": "logistic"}, ValueError, "1 dimension$"),
        (X, Y, {"loss": "poisson"}, ValueError, "not negative"),
        (X, Y, {"loss": "hinge"}, ValueError, "no loss \"hinge\"; there are squares"),
        (X, Y, {"loss": "huber", "delta": 0.0}, ValueError, "delta is 0"),
        (X, Y, {"l2": -1.0}, ValueError, "must not be negative"),
        (X[:0], Y[:0], {}, ValueError, "no users"),
        (X[:0], Y[:0], {"groups": GROUPS[:0]}, ValueError, "no users"),
        (X[:, :0], Y, {}, ValueError, "no columns"),
        (scipy.sparse.csr_array((ROWS, 0)), Y, {}, ValueError, "no columns"),
    ],
)
def test_data_that_make_no_regression(rows, y, settings, kind, words):
    with pytest.raises(kind, match=words):
        regression(rows, y, **settings)


def test_an_intercept_alone_is_enough():
    for nothing in (X[:, :0], scipy.sparse.csr_array((ROWS, 0))):
        assert regression(nothing, Y, l2=0.0, intercept=True).optimum == pytest.approx([Y.mean()])


def test_quadratics_of_every_depth():
    centers = RANDOM.normal(size=(5, 3))
    roots = RANDOM.normal(size=(5, 3, 3))
    diagonals = RANDOM.random((5, 3))
    for given, whole, center in [
        (roots @ roots.transpose(0, 2, 1), roots @ roots.transpose(0, 2, 1), centers),
        (diagonals, np.array([np.diag(row) for row in diagonals]), centers),
        (diagonals[:, 0], diagonals[:, :1, np.newaxis], centers[:, :1]),
    ]:
        problem = quadratics(given, center[:, 0] if given.ndim == 1 else center)
        x = RANDOM.normal(size=center.shape[1])
        values = [(x - b) @ A @ (x - b) for A, b in zip(whole, center)]
        for user, (A, b) in enumerate(zip(whole, center)):
            assert problem.value(x, user) == pytest.approx(values[user], rel=1e-12)
            assert problem.gradient(user, x) == pytest.approx(2 * A @ (x - b), rel=1e-11)
        assert problem.value(x) == pytest.approx(np.mean(values), rel=1e-12)
        assert problem.smoothness == pytest.approx([2 * np.linalg.eigvalsh(A)[-1] for A in whole], rel=1e-9)
        optimum = np.linalg.solve(whole.sum(axis=0), np.einsum("uij,uj->i", whole, center))
        assert problem.optimum == pytest.approx(optimum, rel=1e-8)
        assert problem.gap(x) == pytest.approx(problem.value(x) - problem.minimum, rel=1e-9)


@pytest.mark.parametrize(
    ("curvature", "center", "kind", "words"),
    [
        ([], [], ValueError, "no users"),
        (1.0, 1.0, ValueError, "1 or 2 or 3 dimensions"),
        ([1.0, 2.0], [1.0], ValueError, "give each user both"),
        ([1.0, -1.0], [1.0, 2.0], ValueError, "must not be negative"),
        ([np.nan], [1.0], ValueError, "finite"),
        ([1.0, 1.0], [[1.0, 2.0], [1.0, 2.0]], ValueError, "expected 2"),
        ([[[1.0, 2.0], [0.0, 1.0]]], [[0.0, 0.0]], ValueError, "not symmetric"),
        ([[[1.0, 2.0, 3.0], [0.0, 1.0, 3.0]]], [[0.0, 0.0]], ValueError, "square matrix"),
        ([[1.0], [1.0, 2.0]], [1.0, 2.0], ValueError, "inhomogeneous"),
        (["1"], [1.0], TypeError, "real numbers"),
    ],
)
def test_quadratics_that_are_none(curvature, center, kind, words):
    with pytest.raises(kind, match=words):
        quadratics(curvature, center)


@pytest.mark.parametrize("user", [5, -1, 2**40, np.int64(-5)])
def test_a_user_who_is_not_there(user):
    problem = regression(X, Y, GROUPS)
    for look in (lambda: problem.gradient(user, POINTS[0]), lambda: problem.value(POINTS[0], user)):
        with pytest.raises(IndexError, match=f"no user {user}: they are numbered from 0 to 4"):
            look()
    with pytest.raises(TypeError):
        problem.gradient(1.5, POINTS[0])
    assert problem.gradient(np.int64(1), POINTS[0]).shape == (DIM,)


@pytest.mark.parametrize(
    ("point", "kind", "words"),
    [([0.0], ValueError, "has 1 numbers: it must have 4"), ([POINTS[0]], ValueError, "one dimension"),
     (None, TypeError, "the point is None: it must be"), ("abcd", TypeError, "real numbers")],
)  # fmt: skip
def test_a_point_that_is_none(point, kind, words):
    problem = regression(X, Y, GROUPS)
    for look in (lambda: problem.gradient(0, point), lambda: problem.value(point), lambda: problem.gap(point)):
        with pytest.raises(kind, match=words):
            look()


def test_users_can_count_by_their_rows(tmp_path):
    rng = np.random.default_rng(4)
    X, y, groups = rng.normal(size=(40, 3)), rng.normal(size=40), rng.integers(4, size=40) ** 2
    pooled = sgq.problems.regression(X, y, np.zeros(40), l2=0.1)
    by_rows = sgq.problems.regression(X, y, groups, l2=0.1, user_weights="rows")
    equal = sgq.problems.regression(X, y, groups, l2=0.1)
    assert np.allclose(by_rows.optimum, pooled.optimum) and not np.allclose(equal.optimum, pooled.optimum)
    assert by_rows.minimum == pytest.approx(pooled.minimum)
    result = sgq.minimize(by_rows, tol=1e-12)
    assert np.allclose(result.x, pooled.optimum, atol=1e-6)
    with pytest.raises(ValueError, match='user_weights is "size": it must be "equal" or "rows"'):
        sgq.problems.regression(X, y, groups, user_weights="size")
    weights = rng.random(40) + 0.5
    path = tmp_path / "data.csv"
    lines = [",".join(map(repr, [int(g), *map(float, x), float(t), float(w)])) for g, x, t, w in zip(groups, X, y, weights)]
    path.write_text("\n".join(["who,a,b,c,y,w", *lines, ""]))
    from_csv = sgq.problems.from_csv(path, "who", "y", weight="w", user_weights="rows", l2=0.0, standardise=False)
    design = np.sqrt(weights)[:, np.newaxis] * np.column_stack([np.ones(40), X])
    expected = np.linalg.lstsq(design, np.sqrt(weights) * y, rcond=None)[0]
    assert np.allclose(from_csv.optimum, expected)
    # One row a user, of unequal weight: every user has another penalty.
    each = sgq.problems.regression(X, y, weights=weights, user_weights="rows")
    with pytest.raises(ValueError, match="users that count the same, or no penalty"):
        sgq.Session("saga", problem=each, table="scalars")
