"""The default on somebody else's functions: nothing is known and nothing tuned, and nothing is easy.

    pip install ./python scipy && python python/benchmarks/hard.py

Each problem is made here, least squares of `users` with `dim` columns, and solved by `sgq.minimize(users, x0)`: gradients
alone, no smoothness, a budget, and a tolerance of 1e-4. Beside it is scipy's L-BFGS, each of whose evaluations asks every
user once. Printed are the queries to 10%, 1% and 0.01% of the gap at the start (the median of SEEDS problems; "-" where
most do not get there), the largest gap on the way and the gap at the end in the worst of them, how many ended with
`success`, and the time that sgq took for a query.
"""

import statistics
import time

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import sgq

SEEDS = 5
TARGETS = (0.1, 0.01, 1e-4)


class Problem:
    """Least squares; `units` multiply columns, `curvatures` whole users, and `noise` is a part of the first gradient's length."""

    def __init__(self, seed, users=30, dim=4, rows=20, units=None, curvatures=None, noise=0.0, start=None):
        random = np.random.default_rng(seed)
        truth = random.normal(size=dim)
        units = np.ones(dim) if units is None else np.asarray(units, float)
        curvatures = np.ones(users) if curvatures is None else curvatures(random, users)
        self.data = []
        for curvature in curvatures:
            features = random.normal(size=(rows, dim))
            target = features @ (truth + 0.5 * random.normal(size=dim)) + 0.5 * random.normal(size=rows)
            self.data.append((np.sqrt(curvature) * features * units, np.sqrt(curvature) * target))
        hessian = np.mean([a.T @ a / len(b) for a, b in self.data], axis=0)
        self.optimum = np.linalg.solve(hessian, np.mean([a.T @ b / len(b) for a, b in self.data], axis=0))
        self.start = np.zeros(dim) if start is None else self.optimum + start * random.normal(size=dim)
        self.noise = noise * np.linalg.norm(self.gradient(self.start))
        self.random = random
        self.at_start = self.value(self.start) - self.value(self.optimum)

    def value(self, x):
        return float(np.mean([((a @ x - b) ** 2).mean() / 2 for a, b in self.data]))

    def gradient(self, x):
        return np.mean([a.T @ (a @ x - b) / len(b) for a, b in self.data], axis=0)

    def gap(self, x):
        return (self.value(x) - self.value(self.optimum)) / self.at_start

    def users(self):
        def user(a, b):
            def gradient(x):
                exact = a.T @ (a @ x - b) / len(b)
                return exact + self.noise / np.sqrt(len(x)) * self.random.normal(size=len(x)) if self.noise else exact

            return gradient

        return [user(a, b) for a, b in self.data]


def first(gaps, target, each=1):
    return next((each * (k + 1) for k, gap in enumerate(gaps) if gap <= target), None)


def by_sgq(problem, budget, options):
    gaps, users = [], problem.users()
    begun = time.perf_counter()
    result = sgq.minimize(users, problem.start, budget=budget, **options)
    spent = (time.perf_counter() - begun) / result.queries
    # The same run again, with a look at the gap after each query.
    problem.random = np.random.default_rng(0)
    sgq.minimize(problem.users(), problem.start, budget=budget, **options, callback=lambda session: gaps.append(problem.gap(session.point)))
    return gaps, result, spent


def by_lbfgs(problem):
    gaps = []

    def look(x):
        gaps.append(problem.gap(x))
        return problem.value(x), problem.gradient(x)

    scipy_minimize(look, problem.start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12})
    return gaps


def median(queries):
    found = [query for query in queries if query is not None]
    return "-" if 2 * len(found) <= len(queries) else str(round(statistics.median(found)))


def report(name, budget=500, options=None, **settings):
    ours, theirs = [], []
    for seed in range(SEEDS):
        problem = Problem(seed, **settings)
        ours.append(by_sgq(problem, budget, options or {}))
        theirs.append(by_lbfgs(problem))
    users = len(problem.data)
    counts = "/".join(median([first(gaps, target) for gaps, *_ in ours]) for target in TARGETS)
    lbfgs = "/".join(median([first(gaps, target, users) for gaps in theirs]) for target in TARGETS)
    worst, last = max(max(gaps) for gaps, *_ in ours), max(gaps[-1] for gaps, *_ in ours)
    good = sum(result.success for _, result, _ in ours)
    speed = 1e3 * statistics.median(spent for *_, spent in ours)
    print(f"  {name:<34} {counts:>14} {lbfgs:>14} {worst:>9.1e} {last:>9.1e} {good:>4} of {SEEDS} {speed:>8.2f} ms", flush=True)


def spread(random, users):
    return np.exp(random.uniform(np.log(0.003), np.log(4000.0), users))


def main():
    print(f"  {'':<34} {'sgq':>14} {'L-BFGS':>14} {'worst':>9} {'at the end':>10} {'success':>8} {'a query':>10}")
    report("30 users, 4 columns")
    for unit in (10, 100, 1000, 0.1, 0.01, 0.001):
        report(f"one column times {unit:g}", units=[1, 1, 1, unit])
    report("units from 0.001 to 1000", units=[1e-3, 0.1, 10, 1e3])
    report("5 users, units 0.001 to 10,000", users=5, dim=3, units=[1, 1e-3, 1e4])
    report("noise of 1%", noise=0.01)
    report("noise of 10%", noise=0.1)
    report("users' curvature 0.003 to 4000", curvatures=spread)
    report("start close to the optimum", start=1e-3)
    report("1 user", users=1, dim=10, rows=40)
    report("1 user, condition 10,000", users=1, dim=10, rows=40, units=np.logspace(0, 2, 10))
    report("3 users, condition 1,000", users=3, dim=10, units=np.logspace(0, 1.5, 10))
    for dim in (100, 200, 250, 300):
        report(f"20 users, {dim} columns", users=20, dim=dim, rows=60, budget=200)


if __name__ == "__main__":
    main()
