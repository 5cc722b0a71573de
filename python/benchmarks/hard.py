"""The default on somebody else's functions: nothing is known and nothing tuned, and nothing is easy.

    pip install ./python scipy && python python/benchmarks/hard.py

Each problem is made here and solved by `sgq.minimize(users, x0)`: gradients alone, no smoothness, and a budget. Beside it is
scipy's L-BFGS, each of whose evaluations asks every user once, and which is told losses too. Gaps are parts of the gap at the
start. Every problem is run twice: with the whole budget (`tol=None`), and with a tolerance, by default sgq's own, 1e-4.

    sgq, L-BFGS   queries to 1e-1, 1e-2, 1e-4 and 1e-6; the median over the seeds, "-" where most do not get there
    worst         the largest gap on the way, in the worst run
    back          the query from which on the gap stays below that at the start; the median
    left          runs whose gap is above 1e-3 once the budget is spent
    stops         with the tolerance: queries spent, the median
    runs on       with the tolerance: runs that spend the whole budget, though it is enough for 1e-6
    gap there     with the tolerance: the true gap at the end, in the worst run
    wrong         with the tolerance: runs that claim success with a true gap above 1e-3
    a query       the time that sgq and the users took
"""

import statistics
import time
import warnings

import numpy as np
from scipy.optimize import minimize as scipy_minimize

import sgq

TARGETS = (0.1, 0.01, 1e-4, 1e-6)
LARGE = 1e-3


class Problem:
    """A mean of users' functions, whose optimum is known."""

    def prepare(self, start, optimum, noise=0.0):
        """`noise` is a part of the length of the mean gradient at the start: the length of the noise in each answer."""
        self.start, self.optimum = start, optimum
        self.noise = noise * np.linalg.norm(np.mean([user(start) for user in self.exact()], axis=0)) / np.sqrt(len(start))
        self.at_start = self.value(start) - self.value(optimum)

    def gap(self, x):
        return (self.value(x) - self.value(self.optimum)) / self.at_start

    def users(self):
        """The users' gradients, with the same noise each time that they are made."""
        random = np.random.default_rng(0)

        def noisy(user):
            return lambda x: user(x) + self.noise * random.normal(size=len(x))

        return [noisy(user) for user in self.exact()] if self.noise else self.exact()


class Regression(Problem):
    """Least squares, or logistic regression with a ridge; `units` multiply columns, `curvatures` whole users. Where `turned`, columns
    are mixed after that, so that no units of coordinates make the problem easy."""

    def __init__(
        self,
        seed,
        users=30,
        dim=4,
        rows=20,
        units=None,
        turned=False,
        curvatures=None,
        noise=0.0,
        close=None,
        logistic=False,
        start=0.0,
    ):
        random = np.random.default_rng(seed)
        truth = random.normal(size=dim)
        units = np.diag(np.ones(dim) if units is None else np.asarray(units, float))
        if turned:
            units = units @ np.linalg.qr(np.random.default_rng(1000 + seed).normal(size=(dim, dim)))[0]
        curvatures = np.ones(users) if curvatures is None else curvatures(random, users)
        self.logistic, self.ridge, self.data = logistic, 0.01 if logistic else 0.0, []
        for curvature in curvatures:
            features = random.normal(size=(rows, dim))
            target = features @ (truth + 0.5 * random.normal(size=dim)) + 0.5 * random.normal(size=rows)
            target = np.where(target > 0, 1.0, -1.0) if logistic else np.sqrt(curvature) * target
            self.data.append((np.sqrt(curvature) * features @ units, target))
        optimum = self.newton(np.zeros(dim))
        self.prepare(optimum + close * random.normal(size=dim) if close else np.full(dim, start), optimum, noise)

    def slopes(self, z, target):
        return -target / (1 + np.exp(np.minimum(target * z, 700))) if self.logistic else z - target

    def value(self, x):
        def loss(z, target):
            return np.logaddexp(0, -target * z).mean() if self.logistic else ((z - target) ** 2).mean() / 2

        return float(np.mean([loss(a @ x, b) for a, b in self.data])) + self.ridge / 2 * float(x @ x)

    def exact(self):
        def user(a, b):
            return lambda x: a.T @ self.slopes(a @ x, b) / len(b) + self.ridge * x

        return [user(a, b) for a, b in self.data]

    def hessian(self, a, x):
        weights = 0.25 / np.cosh(np.clip(a @ x, -700, 700) / 2) ** 2 if self.logistic else np.ones(len(a))
        return a.T @ (weights[:, None] * a) / len(a) + self.ridge * np.eye(len(x))

    def smoothness(self):
        zero = np.zeros_like(self.start)
        return np.array([np.linalg.eigvalsh(self.hessian(a, zero))[-1] for a, _ in self.data])

    def newton(self, x):
        for _ in range(30 if self.logistic else 2):
            hessian = np.mean([self.hessian(a, x) for a, _ in self.data], axis=0)
            unit = 1 / np.sqrt(np.diag(hessian))
            gradient = np.mean([user(x) for user in self.exact()], axis=0)
            x = x - unit * np.linalg.solve(unit[:, None] * hessian * unit, unit * gradient)
        return x


class Rosenbrock(Problem):
    """One user, who is not convex."""

    def __init__(self, seed):
        near = 0.3 * np.random.default_rng(seed).normal(size=2) if seed else 0.0
        self.prepare(np.array([-1.2, 1.0]) + near, np.ones(2))

    def value(self, x):
        return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)

    def exact(self):
        return [lambda x: np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])]


def by_sgq(problem, budget, tol, options):
    """The gap after each query of the budget, what a run with the tolerance returns, and seconds a query."""
    gaps = []

    def look(session):
        gaps.append(problem.gap(session.point))

    sgq.minimize(problem.users(), problem.start, budget=budget, tol=None, callback=look, **options)
    begun = time.perf_counter()
    result = sgq.minimize(problem.users(), problem.start, budget=budget, tol=tol, **options)
    return gaps, result, (time.perf_counter() - begun) / result.queries


def by_lbfgs(problem):
    gaps, users = [], problem.users()

    def look(x):
        gaps.append(problem.gap(x))
        return problem.value(x), np.mean([user(x) for user in users], axis=0)

    scipy_minimize(look, problem.start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12})
    return gaps


def first(gaps, target, each=1):
    return next((each * (k + 1) for k, gap in enumerate(gaps) if gap <= target), None)


def back(gaps):
    return max((k + 2 for k, gap in enumerate(gaps) if not gap <= 1 + 1e-9), default=1)


def median(queries):
    found = [query for query in queries if query is not None]
    return "-" if 2 * len(found) <= len(queries) else str(round(statistics.median(found)))


def report(name, make=Regression, budget=500, seeds=20, tol="auto", told=False, **settings):
    problems = [make(seed, **settings) for seed in range(seeds)]
    ours = [by_sgq(problem, budget, tol, {"smoothness": problem.smoothness()} if told else {}) for problem in problems]
    theirs = [by_lbfgs(problem) for problem in problems]
    users = len(problems[0].users())
    ends = [problem.gap(result.x) for problem, (_, result, _) in zip(problems, ours)]
    print(
        f"  {name:<31}",
        f"{'/'.join(median([first(gaps, target) for gaps, *_ in ours]) for target in TARGETS):>16}",
        f"{'/'.join(median([first(gaps, target, users) for gaps in theirs]) for target in TARGETS):>18}",
        f"{max(max(gaps) for gaps, *_ in ours):>8.1e}",
        f"{median([back(gaps) for gaps, *_ in ours]):>4}",
        f"{sum(not gaps[-1] <= LARGE for gaps, *_ in ours):>2} of {seeds:<2}",
        f"{median([result.queries for _, result, _ in ours]):>5}",
        f"{sum(first(gaps, 1e-6) is not None and not result.success for gaps, result, _ in ours):>2} of {seeds:<2}",
        f"{max(ends):>9.1e}",
        f"{sum(result.success and not end <= LARGE for end, (_, result, _) in zip(ends, ours)):>2} of {seeds:<2}",
        f"{1e3 * statistics.median(spent for *_, spent in ours):>6.2f} ms",
        flush=True,
    )


def spread(random, users):
    return np.exp(random.uniform(np.log(0.003), np.log(4000.0), users))


def main():
    warnings.simplefilter("ignore", RuntimeWarning)  # of runs that did not converge: they are counted here
    ways = f"{'sgq':>16} {'L-BFGS':>18} {'worst':>8} {'back':>4} {'left':>8}"
    print(f"  {'':<31} {ways} {'stops':>5} {'runs on':>8} {'gap there':>9} {'wrong':>8} {'a query':>9}")
    report("30 users, 4 columns")
    for unit in (10, 100, 1000, 0.1, 0.01, 0.001):
        report(f"one column times {unit:g}", units=[1, 1, 1, unit])
    report("units from 0.001 to 1000", units=[1e-3, 0.1, 10, 1e3])
    report("5 users, units 0.001 to 10,000", users=5, dim=3, units=[1, 1e-3, 1e4])
    report("noise of 1%", noise=0.01)
    report("noise of 10%", noise=0.1)
    report("users' curvature 0.003 to 4000", curvatures=spread, seeds=40)
    report("start 0.001 from the optimum", close=1e-3)
    report("  the same, tol=1e-6", close=1e-3, tol=1e-6)
    report("logistic, start at 20", logistic=True, start=20.0)
    report("logistic, start at 20, with L_i", logistic=True, start=20.0, told=True)
    report("1 user", users=1, dim=10, rows=40)
    report("1 user, condition 10,000", users=1, dim=10, rows=40, units=np.logspace(0, 2, 10))
    report("  the same, tol=1e-6", users=1, dim=10, rows=40, units=np.logspace(0, 2, 10), tol=1e-6)
    report("3 users, condition 1,000", users=3, dim=10, units=np.logspace(0, 1.5, 10))
    for users, budget in ((1, 500), (3, 500), (8, 500), (30, 1500)):
        of = "user" if users == 1 else "users"
        report(f"{users} {of}, turned, condition 1,000", users=users, dim=10, units=np.logspace(0, 1.5, 10), turned=True, budget=budget)
    report("30 users, turned, 10,000", users=30, dim=10, units=np.logspace(0, 2, 10), turned=True, budget=1500)
    report("Rosenbrock, 1 user, not convex", make=Rosenbrock)
    report("  the same, tol=1e-6", make=Rosenbrock, tol=1e-6)
    for dim in (100, 200, 250, 300):
        report(f"20 users, {dim} columns", users=20, dim=dim, rows=60, budget=200, seeds=5)


if __name__ == "__main__":
    main()
