"""The estimators against scikit-learn's SAGA, and against SAGA written in numpy: same objective, same gap, time and
epochs.

    pip install './python[sklearn]' pandas && python python/benchmarks/sklearn_saga.py

The penalty is 0.01 on every parameter. Where there is an intercept it is a column of ones, so that everybody penalises
it; ridge is centred. Each run is a whole fit with a fixed number of epochs and starts at zero. An epoch is n gradients:
the estimators' first one asks everybody once and moves nowhere. The gap is relative to the one at zero. Medians of five
rounds, each with a seed of its own; contestants take turns within a round.

With data/*.csv (scripts/datasets.py) it also counts queries to real users.
"""

import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

import sgq
from sgq.sklearn import GroupedLogisticRegression, GroupedRidge

L2 = 0.01
ROUNDS = 5
EPOCHS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512]
TARGETS = [1e-4, 1e-8]
DATA = Path(__file__).parents[2] / "data"


def problems():
    """Name, loss, rows and targets; logistic targets are ±1."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", "logistic", with_ones(X), 2.0 * y - 1.0
    X, y = load_digits(return_X_y=True)
    yield "digits, odd or even", "logistic", with_ones(X), 2.0 * (y % 2) - 1.0
    random = np.random.default_rng(0)
    X, truth = random.normal(size=(20_000, 50)), random.normal(size=50) / np.sqrt(50)
    chances = 1 / (1 + np.exp(-2 * X @ truth))
    yield "synthetic", "logistic", with_ones(X), np.where(random.random(len(X)) < chances, 1.0, -1.0)
    yield "synthetic", "squares", *centred(X, X @ truth + random.normal(size=len(X)))
    yield "diabetes", "squares", *centred(*load_diabetes(return_X_y=True))


def with_ones(X):
    return np.column_stack([np.ones(len(X)), StandardScaler().fit_transform(X)])


def centred(X, y):
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


def by_estimator(loss, X, y, epochs, seed):
    kind = GroupedLogisticRegression if loss == "logistic" else GroupedRidge
    settings = {"l2": L2, "fit_intercept": False, "tol": 0, "budget": epochs * len(X)}
    return kind(random_state=seed, **settings).fit(X, y).coef_.reshape(-1)


def by_scikit_learn(loss, X, y, epochs, seed):
    settings = {"solver": "saga", "fit_intercept": False, "tol": 1e-300, "max_iter": epochs, "random_state": seed}
    if loss == "logistic":
        return LogisticRegression(C=1 / (len(X) * L2), **settings).fit(X, y).coef_[0]
    return Ridge(alpha=len(X) * L2, **settings).fit(X, y).coef_


def by_numpy(loss, X, y, epochs, seed):
    """The estimator's steps: everybody is asked once, then one at a time; the step size is 1 / (3 L_max)."""
    n, d = X.shape
    logistic = loss == "logistic"
    step = 1 / (3 * ((X**2).sum(axis=1).max() * (0.25 if logistic else 1.0) + L2))
    x = np.zeros(d)
    table = X * (-y / 2 if logistic else -y)[:, np.newaxis]
    mean = table.mean(axis=0)
    for user in np.random.default_rng(seed).integers(n, size=(epochs - 1) * n):
        row, target = X[user], y[user]
        z = row @ x
        slope = -target / (1 + np.exp(target * z)) if logistic else z - target
        gradient = slope * row + L2 * x
        change = gradient - table[user]
        x = x - step * (change + mean)
        mean += change / n
        table[user] = gradient
    return x


CONTESTANTS = {"estimator": by_estimator, "scikit-learn": by_scikit_learn, "numpy": by_numpy}


def race(loss, X, y):
    """For each contestant and target, a list of (epochs, seconds), one for each round."""
    problem = sgq.problems.regression(X, y, loss=loss, l2=L2)
    at_zero = problem.gap(np.zeros(X.shape[1]))
    arrived = {name: {target: [] for target in TARGETS} for name in CONTESTANTS}
    for contestant in CONTESTANTS.values():
        contestant(loss, X[:400], y[:400], 2, 0)  # what happens on the first call only
    for seed in range(ROUNDS):
        for name, contestant in CONTESTANTS.items():
            open_targets = list(TARGETS)
            for epochs in EPOCHS:
                begin = time.perf_counter()
                x = contestant(loss, X, y, epochs, seed)
                seconds = time.perf_counter() - begin
                gap = problem.gap(x) / at_zero
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
                print(f"  gap {target:.0e}  {name:14} not in {EPOCHS[-1]} epochs in {ROUNDS - len(runs)} of {ROUNDS} rounds")
                continue
            epochs, seconds = (list(part) for part in zip(*runs))
            print(
                f"  gap {target:.0e}  {name:14}{statistics.median(epochs):5.0f} epochs  "
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
            models = [kind(method, l2=L2, fit_intercept=False, random_state=seed).fit(X, y, groups) for seed in range(ROUNDS)]
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
    for name, loss, X, y in problems():
        print(f"{name}: {loss}, {len(X):,} rows, {X.shape[1]} parameters", flush=True)
        report(race(loss, X, y))
    if (DATA / "index.json").is_file():
        grouped()


if __name__ == "__main__":
    main()
