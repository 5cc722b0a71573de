#!/usr/bin/env python3
"""Times one SGQ step of the library against the same scan in numpy, and checks that both choose the same user.

    python3 scripts/compare_scan.py

It builds what it needs: the library's `scan` example with cargo, and a virtual environment with the numpy of
`requirements.txt`. In every round the library makes a new table and chooses from it, then numpy does, with one BLAS
thread and with all of them; so whatever else the machine is doing meets all of them alike.

The library's time is that of a whole step: choosing a user, taking its answer, and updating the table. numpy's is
that of the choice alone, on buffers allocated beforehand.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from environment import ROOT, Failure, python_with, run

REQUIREMENTS = ROOT / "scripts" / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-scripts"

SIZES = [(100, 10), (1_000, 100), (10_000, 100)]
ROUNDS = 7
THREADS = {"1 thread": "1", "all threads": None}
# Distances from expanded squares lose digits; up to this relative error they count as the same distances.
ACCEPTABLE_ERROR = 1e-9


def main():
    python = python_with(REQUIREMENTS, ENVIRONMENT)
    scan = build_scan()
    all_agree = True
    with tempfile.TemporaryDirectory() as folder:
        for users, dim in SIZES:
            rounds = []
            for seed in range(ROUNDS):
                command = [scan, str(users), str(dim), folder, str(seed)]
                library = json.loads(run(command, "the scan example failed"))
                numpy = {
                    threads: time_numpy_in_child(python, folder, library, limit)
                    for threads, limit in THREADS.items()
                }
                rounds.append((library, numpy))
            all_agree &= report(users, dim, rounds)
    if not all_agree:
        raise Failure("numpy and the library chose different users")


def build_scan():
    """Builds the library's side, and returns the path of its program."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Failure("cargo was not found: install Rust from https://rustup.rs, or add cargo to the PATH")
    print("Building the scan example ...", file=sys.stderr)
    command = [cargo, "build", "--release", "--package", "sgq", "--example", "scan"]
    messages = run(
        [*command, "--message-format=json-render-diagnostics"],
        "the scan example could not be built",
        cwd=ROOT,
    )
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "scan":
            return message["executable"]
    raise Failure("cargo built the scan example but did not say where it is")


def time_numpy_in_child(python, folder, library, threads):
    # BLAS reads its number of threads once, when it is loaded: each setting needs a process of its own.
    environment = dict(os.environ)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        environment.pop(variable, None)
        if threads is not None:
            environment[variable] = threads
    command = [python, str(Path(__file__).resolve()), "--time-numpy"]
    arguments = [folder, str(library["users"]), str(library["dim"])]
    return json.loads(run([*command, *arguments], "the numpy side failed", env=environment))


def report(users, dim, rounds):
    """Prints the table of one size; returns whether all choices agree."""
    ours = [library["median_us"] for library, _ in rounds]
    print(f"\nn = {users}, d = {dim}: one step of the library takes {spread(ours)} µs")
    print(f"  {'numpy':26}{'BLAS':12}{'µs':>31}{'times the library':>24}  same choice")
    all_agree = True
    for threads in THREADS:
        typical = {}
        for version in rounds[0][1][threads]:
            results = [numpy[threads][version] for _, numpy in rounds]
            if not all(result["acceptable"] for result in results):
                print(f"  {version:26}{threads:12}{'too inexact here':>31}")
                continue
            times = [result["median_us"] for result in results]
            ratios = [time / our_time for time, our_time in zip(times, ours)]
            agreed = sum(result["chosen"] == library["chosen"] for result, (library, _) in zip(results, rounds))
            all_agree &= agreed == len(rounds)
            typical[version] = statistics.median(ratios)
            print(f"  {version:26}{threads:12}{spread(times):>31}{spread(ratios):>24}  {agreed} of {len(rounds)}")
        fastest = min(typical, key=typical.get)
        fastest_by_differences = min(typical.keys() - {EXPANDED}, key=typical.get)
        print(f"  -> fastest, {threads}: {fastest}, {typical[fastest]:.2f} times the library's time;")
        print(f"     from differences, as the library: {typical[fastest_by_differences]:.2f} times ({fastest_by_differences})")
    return all_agree


def spread(values):
    """The median, and the least and the greatest of all rounds."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


# From here on: what runs inside the virtual environment.

PLAIN = "plain"
EINSUM = "tuned, einsum"
VECDOT = "tuned, vecdot"
EXPANDED = "tuned, expanded squares"


def numpy_versions(folder, users, dim):
    """The scan in several versions: functions without arguments that return the chosen user."""
    import numpy as np

    def aligned(shape):
        # numpy promises 16 bytes; matrix-vector products are faster on whole cache lines.
        size = int(np.prod(shape))
        memory = np.zeros(size + 8)
        skip = -memory.ctypes.data // 8 % 8
        return memory[skip : skip + size].reshape(shape)

    def read(name, *shape):
        numbers = aligned(shape)
        numbers[...] = np.fromfile(Path(folder, f"{name}.f64"), "<f8").reshape(shape)
        return numbers

    gradients = read("gradients", users, dim)
    points = read("points", users, dim)
    mean = read("mean", dim)
    point = read("point", dim)
    user_smoothness = read("smoothness", users)
    step = float(read("step_size", 1)[0])

    # What changes for one user at a time, or never, is kept from scan to scan, as the library keeps it.
    smoothness = float(user_smoothness.mean())
    curvature = step * step * smoothness
    norms = np.sqrt(np.einsum("ij,ij->i", gradients, gradients))

    def plain():
        errors = user_smoothness * np.linalg.norm(points - point, axis=1)
        mean_error = errors.mean()
        improvements = step * (gradients @ mean) - curvature / 2 * norms**2
        bonuses = (
            (step * np.linalg.norm(mean) + curvature * norms) * errors
            + step * norms * mean_error
            + step * errors * mean_error
            + curvature / 2 * errors**2
        )
        return int(np.argmax(improvements + bonuses))

    # The tuned versions: the same sum, ordered for few passes, in buffers that are there already.
    own_loss = -curvature / 2 * norms**2
    scaled_norms = step * norms
    curved_norms = curvature * norms
    differences = aligned((users, dim))
    errors, scores, terms = aligned((users,)), aligned((users,)), aligned((users,))
    scaled_mean = aligned((dim,))

    def choose_by_squared_distances_in_errors():
        np.sqrt(errors, out=errors)
        np.multiply(errors, user_smoothness, out=errors)
        mean_error = float(np.add.reduce(errors)) / users
        mean_norm = float(np.dot(mean, mean)) ** 0.5
        np.multiply(mean, step, out=scaled_mean)
        np.dot(gradients, scaled_mean, out=scores)
        np.add(scores, own_loss, out=scores)
        np.multiply(scaled_norms, mean_error, out=terms)
        np.add(scores, terms, out=scores)
        np.multiply(errors, curvature / 2, out=terms)
        np.add(terms, curved_norms, out=terms)
        np.add(terms, step * (mean_norm + mean_error), out=terms)
        np.multiply(terms, errors, out=terms)
        np.add(scores, terms, out=scores)
        return int(scores.argmax())

    def with_einsum():
        np.subtract(points, point, out=differences)
        np.einsum("ij,ij->i", differences, differences, out=errors)
        return choose_by_squared_distances_in_errors()

    def with_vecdot():
        np.subtract(points, point, out=differences)
        np.vecdot(differences, differences, out=errors)
        return choose_by_squared_distances_in_errors()

    # |p - x|² = |p|² - 2<p, x> + |x|² is one matrix-vector product, but cancels where the points lie close together
    # and far from the origin, as they do late in a run. So all points are kept relative to a centre among them, which a
    # real run would have to move along now and then.
    centre = points.mean(axis=0)
    centred = aligned((users, dim))
    np.subtract(points, centre, out=centred)
    centred_squares = np.einsum("ij,ij->i", centred, centred)
    centred_point = aligned((dim,))

    def expanded_squares():
        np.subtract(point, centre, out=centred_point)
        square = float(np.dot(centred_point, centred_point))
        np.multiply(centred_point, -2, out=centred_point)
        np.dot(centred, centred_point, out=errors)
        np.add(errors, centred_squares, out=errors)
        np.add(errors, square, out=errors)
        np.maximum(errors, 0, out=errors)

    def with_expanded_squares():
        expanded_squares()
        return choose_by_squared_distances_in_errors()

    def expanded_squares_are_acceptable():
        expanded_squares()
        distances = np.linalg.norm(points - point, axis=1)
        return bool(np.all(np.abs(np.sqrt(errors) - distances) <= ACCEPTABLE_ERROR * distances))

    versions = {PLAIN: plain, EINSUM: with_einsum, VECDOT: with_vecdot, EXPANDED: with_expanded_squares}
    return versions, {EXPANDED: expanded_squares_are_acceptable()}


def time_numpy(folder, users, dim):
    """Prints, for every version, the median time of a scan in microseconds and the user it chose."""
    import gc
    import time

    versions, acceptable = numpy_versions(folder, users, dim)
    times = {version: [] for version in versions}
    chosen = {version: scan() for version, scan in versions.items()}
    gc.disable()
    for _ in range(3):
        for version, scan in versions.items():
            scan()
            end = time.perf_counter() + 0.04
            start = 0.0
            while start < end:
                start = time.perf_counter()
                scan()
                times[version].append(time.perf_counter() - start)
    results = {
        version: {
            "median_us": statistics.median(times[version]) * 1e6,
            "chosen": chosen[version],
            "acceptable": acceptable.get(version, True),
        }
        for version in versions
    }
    print(json.dumps(results))


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["--time-numpy"]:
            time_numpy(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        elif len(sys.argv) > 1:
            raise Failure("usage: compare_scan.py (no arguments)")
        else:
            main()
    except Failure as failure:
        sys.exit(f"compare_scan: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
