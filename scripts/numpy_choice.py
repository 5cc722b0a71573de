"""SGQ's choice in numpy, as fast as numpy allows: what the comparisons share. Runs inside a virtual environment."""

import gc
import statistics
import time
from pathlib import Path

import numpy as np


def aligned(*shape):
    """Zeros. numpy promises 16 bytes; matrix-vector products are faster on whole cache lines."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 8)
    skip = -memory.ctypes.data // 8 % 8
    return memory[skip : skip + size].reshape(shape)


class Table:
    """A table that the library wrote, without its points: those are for each comparison to keep as it likes.

    What changes for one user at a time, or never, is kept from choice to choice, as the library keeps it.
    """

    def __init__(self, folder, users, dim):
        self.folder = folder
        self.users = users
        self.gradients = self.read("gradients", users, dim)
        self.mean = self.read("mean", dim)
        self.point = self.read("point", dim)
        self.user_smoothness = self.read("smoothness", users)
        self.step = float(self.read("step_size", 1)[0])
        smoothness = float(self.user_smoothness.mean())
        self.curvature = self.step * self.step * smoothness
        self.norms = np.sqrt(np.einsum("ij,ij->i", self.gradients, self.gradients))
        self.own_loss = -self.curvature / 2 * self.norms**2
        self.scaled_norms = self.step * self.norms
        self.curved_norms = self.curvature * self.norms
        self.errors, self.scores, self.terms = aligned(users), aligned(users), aligned(users)
        self.scaled_mean = aligned(dim)

    def read(self, name, *shape):
        """The numbers of a file. For one whose rows are not known, leave them out: `read(name, -1, dim)`."""
        path = Path(self.folder, f"{name}.f64")
        if shape[0] == -1:
            shape = (path.stat().st_size // 8 // int(np.prod(shape[1:])), *shape[1:])
        numbers = aligned(*shape)
        with path.open("rb") as file:
            file.readinto(numbers.reshape(-1).view(np.uint8))
        return numbers

    def plain_choice(self, distances):
        """As one would write it."""
        step, curvature, norms = self.step, self.curvature, self.norms
        errors = self.user_smoothness * distances
        mean_error = errors.mean()
        improvements = step * (self.gradients @ self.mean) - curvature / 2 * norms**2
        bonuses = (
            (step * np.linalg.norm(self.mean) + curvature * norms) * errors
            + step * norms * mean_error
            + step * errors * mean_error
            + curvature / 2 * errors**2
        )
        return int(np.argmax(improvements + bonuses))

    def choice_by_distances_in_errors(self):
        """The same sum, ordered for few passes, in buffers that are there already."""
        errors, scores, terms = self.errors, self.scores, self.terms
        np.multiply(errors, self.user_smoothness, out=errors)
        mean_error = float(np.add.reduce(errors)) / self.users
        mean_norm = float(np.dot(self.mean, self.mean)) ** 0.5
        np.multiply(self.mean, self.step, out=self.scaled_mean)
        np.dot(self.gradients, self.scaled_mean, out=scores)
        np.add(scores, self.own_loss, out=scores)
        np.multiply(self.scaled_norms, mean_error, out=terms)
        np.add(scores, terms, out=scores)
        np.multiply(errors, self.curvature / 2, out=terms)
        np.add(terms, self.curved_norms, out=terms)
        np.add(terms, self.step * (mean_norm + mean_error), out=terms)
        np.multiply(terms, errors, out=terms)
        np.add(scores, terms, out=scores)
        return int(scores.argmax())

    def expanded_squares(self, points):
        """A function that writes |p - x|² of all points p into `out`.

        |p - x|² = |p|² - 2<p, x> + |x|² is one matrix-vector product, but cancels where the points lie close together and
        far from the origin, as they do late in a run. So all points are kept relative to a centre among them, which a real
        run would have to move along now and then.
        """
        centre = points.mean(axis=0)
        centred = aligned(*points.shape)
        np.subtract(points, centre, out=centred)
        centred_squares = np.einsum("ij,ij->i", centred, centred)
        centred_point = aligned(len(centre))

        def squares(out):
            np.subtract(self.point, centre, out=centred_point)
            square = float(np.dot(centred_point, centred_point))
            np.multiply(centred_point, -2, out=centred_point)
            np.dot(centred, centred_point, out=out)
            np.add(out, centred_squares, out=out)
            np.add(out, square, out=out)
            np.maximum(out, 0, out=out)

        return squares

    def acceptable(self, expanded_squares, points, error):
        """Whether distances from expanded squares are right, up to this relative error."""
        found = aligned(len(points))
        expanded_squares(out=found)
        distances = np.linalg.norm(points - self.point, axis=1)
        return bool(np.all(np.abs(np.sqrt(found) - distances) <= error * distances))


def time_versions(versions):
    """The median time of every version in microseconds, and the user it chose. They take turns."""
    times = {version: [] for version in versions}
    chosen = {version: choose() for version, choose in versions.items()}
    gc.disable()
    for _ in range(3):
        for version, choose in versions.items():
            choose()
            end = time.perf_counter() + 0.04
            start = 0.0
            while start < end:
                start = time.perf_counter()
                choose()
                times[version].append(time.perf_counter() - start)
    return {
        version: {"median_us": statistics.median(times[version]) * 1e6, "chosen": chosen[version]}
        for version in versions
    }
