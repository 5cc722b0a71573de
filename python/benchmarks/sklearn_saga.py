"""The estimators on data in one place against scikit-learn: same objective, same gap, time and epochs.

    pip install './python[sklearn]' pandas && python python/benchmarks/sklearn_saga.py

Each run is a whole fit with a fixed number of epochs that starts at zero, its checks of the input included; neither side is
tuned. An epoch is a look at every row: the estimators' first one moves nowhere. The intercept has no penalty. Numbers of
epochs grow by a fifth to a half until the gap is reached. The gap is relative to the one at zero. Medians of five rounds, each with a
seed of its own; contestants take turns within a round, on one thread each. Times are those of
the processor, which other jobs on the machine disturb less than those of a clock. Beside SAGA stands L-BFGS, scikit-learn's default
for logistic regression, whose epochs are its iterations; Poisson regression is against L-BFGS and Newton's method.

With data/*.csv (scripts/datasets.py) it also counts queries to real users.
"""

import itertools
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

import sgq
from sgq.sklearn import GroupedLogisticRegression, GroupedPoissonRegressor, GroupedRidge

L2 = 0.01
ROUNDS = 5
EPOCHS = [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512]
TARGETS = [1e-4, 1e-8]
DATA = Path(__file__).parents[2] / "data"


def problems():
    """Name, loss, penalty, whether there is an intercept, rows and targets; logistic targets are ±1."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", "logistic", L2, True, scaled(X), 2.0 * y - 1.0
    X, y = load_digits(return_X_y=True)
    yield "digits, odd or even", "logistic", L2, True, scaled(X), 2.0 * (y % 2) - 1.0
    random = np.random.default_rng(0)
    X, truth = random.normal(size=(20_000, 50)), random.normal(size=50) / np.sqrt(50)
    signs = random_signs(random, 2 * X @ truth)
    yield "synthetic", "logistic", L2, True, X, signs
    yield "synthetic, penalty 1/n", "logistic", 1 / len(X), True, X, signs
    yield "synthetic", "squares", L2, False, *centred(X, X @ truth + random.normal(size=len(X)))
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", "squares", L2, False, *centred(X, y)
    X, signs = categories(random, 32_561, 123, 14)
    yield "like a9a, penalty 1/n", "logistic", 1 / X.shape[0], False, X, signs
    yield "like a9a, penalty 1/n", "logistic", 1 / X.shape[0], True, X, signs
    X, signs = words(random, 10_000, 20_000)
    yield "like words, penalty 1e-3", "logistic", 1e-3, True, X, signs
    random = np.random.default_rng(1)
    X = random.normal(size=(20_000, 50))
    yield "synthetic counts", "poisson", L2, True, X, random.poisson(np.exp(X @ truth + 1)).astype(float)


def scaled(X):
    X = StandardScaler().fit_transform(X)
    return X[:, X.std(axis=0) > 0]


def with_ones(X):
    return np.column_stack([np.ones(len(X)), StandardScaler().fit_transform(X)])


def centred(X, y):
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


def random_signs(random, scores):
    return np.where(random.random(len(scores)) < 1 / (1 + np.exp(-scores)), 1.0, -1.0)


def categories(random, rows, columns, groups):
    """A one in each of some groups of columns, some of which are common and some rare, as in the set "a9a"."""
    bounds = np.linspace(0, columns, groups + 1).astype(int)
    picked = [
        random.choice(np.arange(low, high), size=rows, p=random.dirichlet(np.full(high - low, 0.7)))
        for low, high in itertools.pairwise(bounds)
    ]
    indices = np.sort(np.column_stack(picked), axis=1).reshape(-1).astype(np.int32)
    starts = np.arange(0, rows * groups + 1, groups, dtype=np.int32)
    X = sparse.csr_matrix((np.ones(rows * groups), indices, starts), shape=(rows, columns))
    scores = X @ random.normal(size=columns)
    return X, random_signs(random, scores - np.quantile(scores, 0.77))


def words(random, rows, columns):
    """Counts of words of which few are common, in rows of length one."""
    chances = 1 / np.arange(10, columns + 10)
    lengths = random.integers(20, 200, size=rows)
    indices = random.choice(columns, size=lengths.sum(), p=chances / chances.sum())
    X = sparse.csr_matrix((np.ones(len(indices)), (np.repeat(np.arange(rows), lengths), indices)), shape=(rows, columns))
    X = normalize(X)
    return X, random_signs(random, 8 * X @ random.normal(size=columns))


KINDS = {"logistic": GroupedLogisticRegression, "squares": GroupedRidge, "poisson": GroupedPoissonRegressor}


def by_estimator(loss, l2, intercept, X, y, epochs, seed):
    return KINDS[loss](l2=l2, fit_intercept=intercept, tol=0, budget=epochs * X.shape[0], random_state=seed).fit(X, y)


def by_saga(loss, l2, intercept, X, y, epochs, seed):
    settings = {"solver": "saga", "fit_intercept": intercept, "tol": 1e-300, "max_iter": epochs, "random_state": seed}
    if loss == "logistic":
        return LogisticRegression(C=1 / (X.shape[0] * l2), **settings).fit(X, y)
    return Ridge(alpha=X.shape[0] * l2, **settings).fit(X, y)


def by_lbfgs(loss, l2, intercept, X, y, epochs, seed):
    settings = {"solver": "lbfgs", "fit_intercept": intercept, "tol": 1e-300, "max_iter": epochs}
    if loss == "logistic":
        return LogisticRegression(C=1 / (X.shape[0] * l2), **settings).fit(X, y)
    return PoissonRegressor(alpha=l2, **settings).fit(X, y)


def by_newton(loss, l2, intercept, X, y, epochs, seed):
    return PoissonRegressor(alpha=l2, fit_intercept=intercept, solver="newton-cholesky", tol=1e-300, max_iter=epochs).fit(X, y)


CONTESTANTS = {
    "logistic": {"estimator": by_estimator, "scikit-learn's SAGA": by_saga, "scikit-learn's L-BFGS": by_lbfgs},
    "squares": {"estimator": by_estimator, "scikit-learn's SAGA": by_saga},
    "poisson": {"estimator": by_estimator, "scikit-learn's L-BFGS": by_lbfgs, "scikit-learn's Newton": by_newton},
}


def objective(loss, l2, X, y, w, b):
    z = X @ w + b
    if loss == "logistic":
        each = np.logaddexp(0, -y * z)
    else:
        each = 0.5 * (z - y) ** 2 if loss == "squares" else np.exp(z) - y * z
    return each.mean() + l2 / 2 * (w @ w)


def best(loss, l2, intercept, X, y):
    """The smallest value that any of several long runs finds."""
    n = X.shape[0]
    exact = {"tol": 1e-13, "fit_intercept": intercept, "max_iter": 20_000}
    if loss == "squares":
        models = [Ridge(alpha=n * l2, solver="cholesky", fit_intercept=intercept).fit(X, y)]
    elif loss == "poisson":
        models = [PoissonRegressor(alpha=l2, solver="newton-cholesky", **exact).fit(X, y)]
    elif X.shape[1] <= 1000:
        models = [LogisticRegression(C=1 / (n * l2), solver="newton-cholesky", **exact).fit(X, y)]
    else:
        models = [LogisticRegression(C=1 / (n * l2), solver=solver, **exact).fit(X, y) for solver in ("newton-cg", "lbfgs")]
        models.append(GroupedLogisticRegression(l2=l2, fit_intercept=intercept, tol=1e-11, budget=2000 * n).fit(X, y))
    return min(objective(loss, l2, X, y, *parameters(model)) for model in models)


def parameters(model):
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) if np.size(model.intercept_) else 0.0


def race(loss, l2, intercept, X, y):
    """For each contestant and target, a list of (epochs, seconds), one for each round."""
    smallest = best(loss, l2, intercept, X, y)
    at_zero = objective(loss, l2, X, y, np.zeros(X.shape[1]), 0.0) - smallest
    contestants = CONTESTANTS[loss]
    arrived = {name: {target: [] for target in TARGETS} for name in contestants}
    for contestant in contestants.values():
        contestant(loss, l2, intercept, X[:400], y[:400], 2, 0)  # what happens on the first call only
    for seed in range(ROUNDS):
        for name, contestant in contestants.items():
            open_targets = list(TARGETS)
            for epochs in EPOCHS:
                begin = time.process_time()
                model = contestant(loss, l2, intercept, X, y, epochs, seed)
                seconds = time.process_time() - begin
                gap = (objective(loss, l2, X, y, *parameters(model)) - smallest) / at_zero
                while open_targets and gap <= open_targets[0]:
                    arrived[name][open_targets.pop(0)].append((epochs, seconds))
                if not open_targets:
                    break
    return arrived


def report(arrived):
    for target in TARGETS:
        for name, targets in arrived.items():
            runs = targets[target]
            if len(runs) < ROUNDS:
                print(f"  gap {target:.0e}  {name:22} not in {EPOCHS[-1]} epochs in {ROUNDS - len(runs)} of {ROUNDS} rounds")
                continue
            epochs, seconds = (list(part) for part in zip(*runs))
            print(
                f"  gap {target:.0e}  {name:22}{statistics.median(epochs):5.0f} epochs  "
                f"{1e3 * statistics.median(seconds):9.1f} ms ({1e3 * min(seconds):.1f} to {1e3 * max(seconds):.1f})",
                flush=True,
            )


def grouped():
    """Queries until the estimator stops by itself, and those of scipy's L-BFGS, which asks everybody each time, to
    SAGA's gap.

    That one is told the gap, which no real run knows; the estimators see only what was answered.
    """
    import pandas

    print("\nreal users: queries with the defaults, and the relative gap where the estimator stopped")
    for name, about in json.loads((DATA / "index.json").read_text(encoding="utf-8")).items():
        loss = about["loss"]
        if loss == "poisson":
            continue
        frame = pandas.read_csv(DATA / about["file"])[[about["user"], about["target"], *about["features"]]].dropna()
        for category in about["categories"]:
            frame[category] = frame[category].astype(str)
        features = pandas.get_dummies(frame[about["features"]], drop_first=True).to_numpy(dtype=float)
        X = with_ones(features[:, features.std(axis=0) > 0])
        y, groups = frame[about["target"]], frame[about["user"]]
        y = np.where(y == y.max(), 1.0, -1.0) if loss == "logistic" else centred(X, y.to_numpy())[1]
        problem = sgq.problems.regression(X, y, groups, loss=loss, l2=L2)
        kind = GroupedLogisticRegression if loss == "logistic" else GroupedRidge
        at_zero = problem.gap(np.zeros(problem.dim))
        print(f"  {name:14}{problem.users:4} users", end="")
        for method in ("saga", "frugal", "iqn"):
            models = [
                kind(method, l2=L2, fit_intercept=False, weigh="users", random_state=seed).fit(X, y, groups)
                for seed in range(ROUNDS)
            ]
            counts = [model.n_queries_ for model in models]
            gap = statistics.median(problem.gap(model.coef_.reshape(-1)) / at_zero for model in models)
            failed = "" if all(model.converged_ for model in models) else " not converged"
            if method == "saga":
                everybody = lbfgs(problem, gap * at_zero)
            print(f"  {method} {statistics.median(counts):,.0f} ({min(counts):,} to {max(counts):,}) {gap:.0e}{failed}", end="")
        print(f"  L-BFGS {everybody:,}", flush=True)


def lbfgs(problem, gap):
    asked, reached = 0, 0

    def value_and_gradient(x):
        nonlocal asked, reached
        asked += problem.users
        if not reached and problem.gap(x) <= gap:
            reached = asked
        return problem.value(x), np.mean([problem.gradient(user, x) for user in range(problem.users)], axis=0)

    minimize(value_and_gradient, np.zeros(problem.dim), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-10})
    return reached or asked


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        for name, loss, l2, intercept, X, y in problems():
            with_or_without = "an intercept" if intercept else "no intercept"
            filled = f", {X.nnz / np.prod(X.shape):.2%} not 0" if sparse.issparse(X) else ""
            print(f"{name}: {loss}, {X.shape[0]:,} rows, {X.shape[1]:,} columns{filled}, {with_or_without}", flush=True)
            report(race(loss, l2, intercept, X, y))
    if (DATA / "index.json").is_file():
        grouped()


if __name__ == "__main__":
    main()
