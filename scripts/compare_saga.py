#!/usr/bin/env python3
"""Times SAGA of the library against scikit-learn's, on sparse logistic regression of the size of the set "a9a".

    python3 scripts/compare_saga.py                   # both, on synthetic data
    python3 scripts/compare_saga.py --data FILE       # both, on a file in LIBSVM's format with labels 1 and -1
    python3 scripts/compare_saga.py --without-sgq     # scikit-learn alone

The synthetic data have 32,561 rows with 123 binary features, 11% of them 1, from a fixed seed; each row is a user. The
objective is the mean logistic loss + (l2 / 2) |x|^2, without an intercept, and l2 = 1 / rows unless told otherwise.
Both sides read the same file, start at 0, and run for the same numbers of epochs (an epoch: as many steps as rows) on
one thread. They take turns, in 5 rounds with a seed each; the table has medians. Reading the file is not timed.

Both take scikit-learn's step size, 1 / (2 L_max + min(2 rows l2, L_max)), so that speed is compared and nothing else. The
library asks every row once before its first step, which is in its time and not among its epochs. scikit-learn's time is
that of a whole `fit`, which also checks and converts its input: the lines "an epoch" take both away, as they divide the
time between the fewest and the most epochs by their number. They are from each round: the median, least and most.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from environment import ROOT, Failure, build, python_with, run, with_threads

REQUIREMENTS = ROOT / "scripts" / "saga-requirements.txt"
ENVIRONMENT = ROOT / ".venv-saga"
SYNTHETIC = ROOT / "out" / "compare_saga" / "synthetic.libsvm"
EXAMPLE = "saga_epoch"

ROWS, COLUMNS, GROUPS = 32_561, 123, 14
ROUNDS = 5
EPOCHS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40]
# Relative gaps, (f(x) - f*) / (f(0) - f*), to which the time is given.
TARGETS = [1e-2, 1e-3, 1e-4, 1e-6]


def main():
    options = parse()
    python = python_with(REQUIREMENTS, ENVIRONMENT)
    program = None if options.without_sgq else build_program()
    if options.data is None:
        SYNTHETIC.parent.mkdir(parents=True, exist_ok=True)
        child(python, "--generate", SYNTHETIC)
    data = (options.data or SYNTHETIC).resolve()
    problem = json.loads(child(python, "--solve", data, options.l2 or 0))
    if options.l2 is None:
        options.l2 = problem["l2"]
    print(f"{problem['rows']} rows, {problem['columns']} columns, {problem['density']:.1%} not 0, l2 = {options.l2:.4g}")
    print(f"f(0) = {problem['at_zero']:.12f}, f* = {problem['minimum']:.12f} (gradient {problem['gradient']:.0e})")
    rounds = {"scikit-learn": []}
    if program is not None:
        rounds["sgq"] = []
    for seed in range(ROUNDS):
        print(f"Round {seed + 1} of {ROUNDS} ...", file=sys.stderr)
        found = child(python, "--time", data, options.l2, seed, *options.epochs)
        rounds["scikit-learn"].append(json.loads(found))
        if program is not None:
            rounds["sgq"].append([time_sgq(program, data, epochs, options.l2, seed) for epochs in options.epochs])
    report(options.epochs, problem, rounds)


def parse():
    parser = argparse.ArgumentParser(description="SAGA: the library against scikit-learn.")
    parser.add_argument("--data", type=Path, help="a file in LIBSVM's format (default: synthetic data)")
    parser.add_argument("--l2", type=float, help="the penalty (default: 1 / rows)")
    parser.add_argument("--epochs", type=int, nargs="+", default=EPOCHS, help="after how many epochs to look")
    parser.add_argument("--without-sgq", action="store_true", help="time scikit-learn alone")
    options = parser.parse_args()
    options.epochs = sorted(set(options.epochs))
    if options.epochs[0] < 1 or len(options.epochs) < 2:
        parser.error("give two or more numbers of epochs, all positive")
    if options.l2 is not None and options.l2 <= 0:
        parser.error("the penalty must be positive")
    if options.data is not None and not options.data.is_file():
        parser.error(f"there is no file {options.data}")
    return options


# ---- The library's side -------------------------------------------------------------------------------------------


def build_program():
    arguments = ["--package", "sgq-bench", "--example", EXAMPLE]
    return build(EXAMPLE, arguments, "; --without-sgq does without")


def time_sgq(program, data, epochs, l2, seed):
    """`saga_epoch FILE EPOCHS L2 SEED` prints {"epochs": ..., "seconds": ..., "objective": ...}."""
    command = [program, str(data), str(epochs), repr(l2), str(seed)]
    result = json.loads(run(command, f"the {EXAMPLE} example failed", env=single_threaded()))
    if result["epochs"] != epochs:
        raise Failure(f"the {EXAMPLE} example made {result['epochs']} epochs, not {epochs}")
    return result


# -------------------------------------------------------------------------------------------------------------------


def child(python, *arguments):
    command = [python, str(Path(__file__).resolve()), *map(str, arguments)]
    return run(command, "scikit-learn's side failed", env=single_threaded())


def single_threaded():
    return {**with_threads(1), "RAYON_NUM_THREADS": "1"}


def report(epochs, problem, rounds):
    """Prints the medians side by side."""
    scale = problem["at_zero"] - problem["minimum"]
    seconds, gaps = {}, {}
    for side, results in rounds.items():
        seconds[side] = [statistics.median(one[k]["seconds"] for one in results) for k in range(len(epochs))]
        objectives = [statistics.median(one[k]["objective"] for one in results) for k in range(len(epochs))]
        gaps[side] = [(objective - problem["minimum"]) / scale for objective in objectives]
    print(f"\n{'':18}" + "".join(f"{side:>30}" for side in rounds))
    print(f"{'epochs':18}" + f"{'seconds':>15}{'relative gap':>15}" * len(rounds))
    for k, count in enumerate(epochs):
        print(f"{count:<18}" + "".join(f"{seconds[side][k]:15.4f}{gaps[side][k]:15.2e}" for side in rounds))
    an_epoch = {side: [epoch_time(epochs, one) for one in results] for side, results in rounds.items()}
    for name, summary in [("median", statistics.median), ("least", min), ("most", max)]:
        row(f"an epoch, {name}", rounds, lambda side: summary(an_epoch[side]))
    if "sgq" in rounds:
        ratios = sorted(theirs / ours for theirs, ours in zip(an_epoch["scikit-learn"], an_epoch["sgq"]))
        print("round by round, scikit-learn's epoch is " + ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times sgq's")
    for target in TARGETS:

        def time_to_target(side):
            return next((time for time, gap in zip(seconds[side], gaps[side]) if gap <= target), None)

        row(f"gap <= {target:.0e}", rounds, time_to_target)


def epoch_time(epochs, results):
    """Seconds for an epoch, without what happens once a run."""
    return (results[-1]["seconds"] - results[0]["seconds"]) / (epochs[-1] - epochs[0])


def row(title, sides, time_of):
    """A line of seconds, and how many times the library's the other side's are."""
    times = {side: time_of(side) for side in sides}
    cells = "".join(f"{'-':>15}{'':15}" if time is None else f"{time:15.4f}{'':15}" for time in times.values())
    ours, theirs = times.get("sgq"), times["scikit-learn"]
    ratio = f"scikit-learn: {theirs / ours:.2f} times sgq's" if ours and theirs else ""
    print(f"{title:18}{cells}{ratio}".rstrip())


# From here on: what runs inside the virtual environment.


def generate(path):
    """Rows like a9a's: in each of 14 groups of columns at most one is 1, as in a category."""
    import numpy as np

    random = np.random.default_rng(20240209)
    bounds = np.linspace(0, COLUMNS, GROUPS + 1).astype(int)
    columns = np.empty((ROWS, GROUPS), dtype=int)
    for group in range(GROUPS):
        low, high = bounds[group], bounds[group + 1]
        # Some categories are common, some rare.
        shares = random.dirichlet(np.full(high - low, 0.7))
        columns[:, group] = random.choice(np.arange(low, high), size=ROWS, p=shares)
    known = random.random((ROWS, GROUPS)) >= 0.01
    weights = random.normal(size=COLUMNS)
    scores = (weights[columns] * known).sum(axis=1)
    # A quarter of the labels are 1, as in a9a.
    scores -= np.quantile(scores, 0.77)
    labels = random.random(ROWS) < 1 / (1 + np.exp(-scores))
    with open(path, "w", encoding="ascii", newline="\n") as file:
        for label, row, there in zip(labels, columns, known):
            ones = " ".join(f"{column + 1}:1" for column in row[there])
            file.write(f"{'+1' if label else '-1'} {ones}\n")


def read(path):
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file

    rows, labels = load_svmlight_file(path)
    if set(np.unique(labels)) != {-1.0, 1.0}:
        raise Failure(f"{path}: the labels must be 1 and -1")
    # SAGA takes indices of 32 bits only.
    indices, starts = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix((rows.data, indices, starts), shape=rows.shape), labels


def objective(rows, labels, l2, x):
    import numpy as np

    return float(np.logaddexp(0, -labels * (rows @ x)).mean() + l2 / 2 * (x @ x))


def regression(rows, l2, **options):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / (rows.shape[0] * l2), fit_intercept=False, **options)


def solve(path, l2):
    """Prints the size of the problem, its value at 0 and its minimum."""
    import numpy as np
    from scipy.special import expit

    rows, labels = read(path)
    count, dim = rows.shape
    l2 = l2 or 1 / count
    x = regression(rows, l2, solver="newton-cholesky", tol=1e-14, max_iter=1000).fit(rows, labels).coef_[0]
    gradient = rows.T @ (-labels * expit(-labels * (rows @ x))) / count + l2 * x
    result = {
        "rows": count,
        "columns": dim,
        "density": rows.nnz / (count * dim),
        "l2": l2,
        "at_zero": objective(rows, labels, l2, np.zeros(dim)),
        "minimum": objective(rows, labels, l2, x),
        "gradient": float(np.linalg.norm(gradient)),
    }
    print(json.dumps(result))


def time_scikit_learn(path, l2, seed, epochs):
    """Prints seconds and objective after each number of epochs: whole runs, as the library's."""
    import gc
    import time
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)
    rows, labels = read(path)

    def model(count):
        return regression(rows, l2, solver="saga", tol=1e-300, max_iter=count, random_state=seed)

    # What happens on the first call only.
    model(1).fit(rows, labels)
    results = []
    gc.disable()
    for count in epochs:
        one = model(count)
        start = time.perf_counter()
        one.fit(rows, labels)
        seconds = time.perf_counter() - start
        if one.n_iter_[0] != count:
            raise Failure(f"scikit-learn made {one.n_iter_[0]} epochs, not {count}")
        results.append({"epochs": count, "seconds": seconds, "objective": objective(rows, labels, l2, one.coef_[0])})
    print(json.dumps(results))


if __name__ == "__main__":
    try:
        match sys.argv[1:]:
            case ["--generate", path]:
                generate(path)
            case ["--solve", path, l2]:
                solve(path, float(l2))
            case ["--time", path, l2, seed, *epochs]:
                time_scikit_learn(path, float(l2), int(seed), [int(count) for count in epochs])
            case _:
                main()
    except Failure as failure:
        sys.exit(f"compare_saga: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
