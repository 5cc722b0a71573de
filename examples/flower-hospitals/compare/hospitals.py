"""The problem: a logistic regression over the hospitals of medpar.csv, each of which counts the same.

As `sgq.problems.from_csv` makes it of that file: columns with mean 0 and deviation 1 over all rows, an intercept first, and a penalty of
0.01 / 2 ‖x‖² in each hospital's loss.
"""

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

L2 = 0.01


class Hospitals:
    """Everybody's rows, which only a simulation has in one place."""

    def __init__(self, path: str | Path, largest: int = 54) -> None:
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        sizes = Counter(row["provnum"] for row in rows)
        self.names = sorted(name for name, _ in sizes.most_common(largest))
        rows = [row for row in rows if row["provnum"] in self.names]
        names = np.array([row["provnum"] for row in rows])
        columns = np.array([[float(row[name]) for name in row if name not in ("provnum", "died")] for row in rows])
        columns = (columns - columns.mean(0)) / columns.std(0, ddof=1)
        columns = np.column_stack([np.ones(len(rows)), columns])
        sign = np.array([1.0 if row["died"] == "1" else -1.0 for row in rows])
        self.rows = [columns[names == name] for name in self.names]
        self.signs = [sign[names == name] for name in self.names]
        self.users, self.dim = len(self.names), columns.shape[1]
        self.smoothness = [np.linalg.eigvalsh(a.T @ a / len(a) / 4)[-1] + L2 for a in self.rows]
        self.optimum = self._newton()
        self.minimum = self.value(self.optimum)
        self.start = np.zeros(self.dim)

    def value(self, x: np.ndarray) -> float:
        """The objective: the mean of all hospitals' losses."""
        return float(np.mean([self.answer(user, x)[0] for user in range(self.users)]))

    def gap(self, x: np.ndarray) -> float:
        """How far the objective is above its minimum, as a part of that at the start."""
        return (self.value(x) - self.minimum) / (np.log(2) - self.minimum)

    def answer(self, user: int, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """A hospital's mean loss, its gradient and its Hessian."""
        rows, signs = self.rows[user], self.signs[user]
        margin = signs * (rows @ x)
        wrong = 1 / (1 + np.exp(margin))
        loss = np.logaddexp(0, -margin).mean() + L2 / 2 * (x @ x)
        gradient = -(signs * wrong) @ rows / len(rows) + L2 * x
        hessian = (rows.T * (wrong * (1 - wrong))) @ rows / len(rows) + L2 * np.eye(len(x))
        return float(loss), gradient, hessian

    def _newton(self) -> np.ndarray:
        x = np.zeros(self.dim)
        for _ in range(20):
            _, gradients, hessians = zip(*(self.answer(user, x) for user in range(self.users)))
            x = x - np.linalg.solve(np.mean(hessians, 0), np.mean(gradients, 0))
        return x


@cache
def load(path: str, largest: int) -> Hospitals:
    """Read once in each process."""
    return Hospitals(path, largest)
