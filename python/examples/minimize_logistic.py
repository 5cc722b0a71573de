"""Logistic regression over hospitals, each with patients of its own: how many questions does it take?"""

import numpy as np

import sgq


class Hospital:
    """Patients' rows and outcomes, which stay where they are."""

    def __init__(self, rows, outcomes, ridge=0.1):
        self.rows, self.outcomes, self.ridge = rows, outcomes, ridge
        self.smoothness = np.linalg.norm(rows, 2) ** 2 / (4 * len(rows)) + ridge

    def gradient(self, x):
        chance = 1 / (1 + np.exp(-self.rows @ x))
        return self.rows.T @ (chance - self.outcomes) / len(self.rows) + self.ridge * x

    def value(self, x):
        margin = self.rows @ x
        return np.mean(np.logaddexp(0, margin) - self.outcomes * margin) + self.ridge / 2 * x @ x


def hospitals(count=30, dim=5, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        rows = random.normal(size=(random.integers(20, 80), dim)) + random.normal(size=dim) / 2
        truth = np.linspace(-1, 1, dim) + random.normal(size=dim) / 2
        yield Hospital(rows, (random.random(len(rows)) < 1 / (1 + np.exp(-rows @ truth))).astype(float))


users = list(hospitals())
start = np.zeros(5)
best = sgq.minimize(users, start, "saga", budget=20_000).fun
gap_at_start = np.mean([user.value(start) for user in users]) - best
print("gap left, in per cent of the gap at the start:")
for method in ("sgd", "shuffled-sgd", "saga", "sgq", "iqn"):
    gaps = [sgq.minimize(users, start, method, budget=300, seed=seed).fun - best for seed in range(5)]
    print(f"  {method:14}{100 * np.mean(gaps) / gap_at_start:8.2f} after 300 queries")
