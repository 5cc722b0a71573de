"""Poisson regression on data in one place: there nobody has to be asked, and Newton's method needs a few looks at all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

Vector = NDArray[np.float64]

# With more parameters the Hessian is only multiplied with.
MOST_FOR_CHOLESKY = 1000
# Newton's equation is solved by conjugate gradients to this part of the gradient, or better near the optimum.
ROUGHLY = 0.1
# A step is halved at most so often before it counts as rounding.
HALVINGS = 40
# The part of the decrease that a step promises and must bring (Armijo).
SUFFICIENT = 1e-4


@dataclass
class Found:
    """Where a run stopped. `looks` is how often all rows were looked at, products with the Hessian included."""

    point: Vector
    norm: float
    tolerance: float
    steps: int
    looks: int


class _Objective:
    """`Σ share_r (e^{z_r} − y_r z_r) + l2/2 ‖w‖²` with `z = X w + b`; the intercept, if there is one, comes last."""

    def __init__(self, X: Any, y: Vector, shares: Vector, l2: float, intercept: bool) -> None:
        self.X, self.y, self.shares, self.l2 = X, y, shares, l2
        self.dim, self.size = X.shape[1], X.shape[1] + intercept
        self.looks = 0

    def __call__(self, point: Vector) -> tuple[float, Vector, Vector]:
        """The value, the gradient, and the rates; the value is infinite where a rate is past what numbers can hold."""
        self.looks += 1
        w = point[: self.dim]
        z = self.X @ w + point[self.dim :].sum()
        with np.errstate(over="ignore", invalid="ignore"):
            rates: Vector = np.exp(z)
            value = float(self.shares @ (rates - self.y * z) + self.l2 / 2 * (w @ w))
            slopes = self.shares * (rates - self.y)
            gradient = np.empty(self.size)
            gradient[: self.dim] = self.X.T @ slopes + self.l2 * w
            gradient[self.dim :] = slopes.sum()
        return (value if np.isfinite(value) else np.inf), gradient, rates

    def times(self, rates: Vector, vector: Vector) -> Vector:
        """The Hessian times a vector."""
        self.looks += 1
        w = vector[: self.dim]
        weighted = self.shares * rates * (self.X @ w + vector[self.dim :].sum())
        image = np.empty(self.size)
        image[: self.dim] = self.X.T @ weighted + self.l2 * w
        image[self.dim :] = weighted.sum()
        return image

    def hessian(self, rates: Vector) -> NDArray[np.float64]:
        weights = self.shares * rates
        roots = np.sqrt(weights)[:, np.newaxis]
        # A matrix times itself takes half as long as one times another.
        scaled = self.X.multiply(roots).tocsr() if sparse.issparse(self.X) else roots * self.X
        inner = scaled.T @ scaled
        hessian = np.empty((self.size, self.size))
        hessian[: self.dim, : self.dim] = inner.toarray() if sparse.issparse(inner) else inner
        hessian[range(self.dim), range(self.dim)] += self.l2
        if self.size > self.dim:
            cross = np.asarray(self.X.T @ weights).reshape(-1)
            hessian[self.dim, : self.dim] = hessian[: self.dim, self.dim] = cross
            hessian[self.dim, self.dim] = weights.sum()
        return hessian


def poisson(
    X: Any, y: Vector, shares: Vector, l2: float, intercept: bool, start: Vector, tol: float, most_looks: int
) -> Found:
    """Runs until the gradient is `tol` times as long as at zero, or all rows were looked at so often."""
    objective = _Objective(X, y, shares, l2, intercept)
    point = np.zeros(objective.size)
    value, gradient, rates = objective(point)
    slopes = abs(shares * (1 - y))
    rounding = 1e-13 * np.hypot(np.linalg.norm(abs(X).T @ slopes), slopes.sum()) + np.finfo(float).tiny
    tolerance = float(max(tol * np.linalg.norm(gradient), rounding))
    if start.any():
        tried = objective(start)
        # Worse than zero it would be no help.
        if tried[0] < value:
            point, (value, gradient, rates) = start, tried
    point, gradient, steps = _newton(objective, point, value, gradient, rates, tolerance, most_looks)
    return Found(point, float(np.linalg.norm(gradient)), tolerance, steps, objective.looks)


def _newton(
    objective: _Objective, point: Vector, value: float, gradient: Vector, rates: Vector, tolerance: float, most: int
) -> tuple[Vector, Vector, int]:
    steps = 0
    while np.linalg.norm(gradient) > tolerance and objective.looks < most:
        if objective.size <= MOST_FOR_CHOLESKY:
            direction = _solve(objective.hessian(rates), gradient)
        else:
            direction = _conjugate_gradients(objective, rates, gradient, tolerance, most)
        promised, length = float(direction @ gradient), 1.0
        for _ in range(HALVINGS):
            tried = point - length * direction
            found, slope, there = objective(tried)
            # Near the optimum the value no longer tells, and the gradient does.
            shorter = np.linalg.norm(slope) < 0.5 * np.linalg.norm(gradient)
            if np.isfinite(found) and (found <= value - SUFFICIENT * length * promised or shorter):
                break
            if objective.looks >= most:
                return point, gradient, steps
            length /= 2
        else:
            return point, gradient, steps
        point, value, gradient, rates = tried, found, slope, there
        steps += 1
    return point, gradient, steps


def _solve(hessian: NDArray[np.float64], gradient: Vector) -> Vector:
    try:
        direction: Vector = linalg.cho_solve(linalg.cho_factor(hessian, lower=True), gradient)
        if np.isfinite(direction).all():
            return direction
    except linalg.LinAlgError:
        pass
    # Without a penalty columns may say the same twice: the shortest way is then as good as any.
    return np.linalg.lstsq(hessian, gradient, rcond=None)[0].astype(np.float64)


def _conjugate_gradients(objective: _Objective, rates: Vector, gradient: Vector, tolerance: float, most: int) -> Vector:
    """Roughly `H⁻¹ ∇f`, without forming `H`."""
    direction = np.zeros_like(gradient)
    residual, along = gradient.copy(), gradient.copy()
    square = float(residual @ residual)
    # Close to the tolerance no better than that.
    enough = max(ROUGHLY * min(1.0, np.sqrt(np.sqrt(square))) * np.sqrt(square), 0.1 * tolerance)
    for _ in range(2 * len(gradient)):
        if np.sqrt(square) <= enough or objective.looks >= most:
            break
        image = objective.times(rates, along)
        curved = float(along @ image)
        if curved <= 0:
            break
        direction += square / curved * along
        residual -= square / curved * image
        before, square = square, float(residual @ residual)
        along = residual + square / before * along
    return direction if direction.any() else gradient
