#!/usr/bin/env python3
"""Times SGQ's lazy search against the choice that one would otherwise write in numpy, on tables as they are in a run.

    python3 scripts/compare_choose.py              # up to 100,000 users with 100 parameters
    python3 scripts/compare_choose.py --large      # 100,000 users with 1,000 parameters too: 1 GB of memory, and of disk

It builds what it needs: the command line with cargo, and a virtual environment with the numpy of `requirements.txt`. In
every round `sgq bench choose` takes 1,000 steps, and checks its lazy search against a scan at every 50th. The same run
once more, as far as the middle of the steps that are averaged, writes its table there; numpy chooses from that one, with
one BLAS thread and with all of them, and must take the same user.

numpy keeps each distinct point once, as the library does: its choice is one matrix-vector product, the distances to the
distinct points, and a few passes over the users, on buffers allocated beforehand. The library's time is the mean of whole
steps: choosing a user, taking its answer, and updating the table. numpy's is the median of the choice alone.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from environment import ROOT, Failure, build, python_with, run, with_threads

REQUIREMENTS = ROOT / "scripts" / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-scripts"

SIZES = [(1_000, 100), (10_000, 100), (100_000, 100)]
LARGE = (100_000, 1_000)
ROUNDS = 5
STEPS = 1_000
SCAN_EVERY = 50
THREADS = {"1 thread": 1, "all threads": None}
# Distances from expanded squares lose digits; up to this relative error they count as the same distances.
ACCEPTABLE_ERROR = 1e-9


def main(sizes):
    python = python_with(REQUIREMENTS, ENVIRONMENT)
    sgq = build("sgq", ["--package", "sgq-cli"])
    all_agree = True
    for users, dim in sizes:
        rounds = []
        for seed in range(ROUNDS):
            print(f"{users} x {dim}, round {seed + 1} of {ROUNDS} ...", file=sys.stderr)
            with tempfile.TemporaryDirectory() as folder:
                rounds.append(one_round(python, sgq, users, dim, seed, folder))
        all_agree &= report(users, dim, rounds)
    if not all_agree:
        raise Failure("numpy and the library chose different users")


def one_round(python, sgq, users, dim, seed, folder):
    def choose(*options):
        command = [sgq, "bench", "choose", "--json", "--quiet"]
        sizes = ["--users", str(users), "--dim", str(dim), "--seed", str(seed)]
        return json.loads(run([*command, *sizes, *options], "sgq bench choose failed"))

    library = choose("--steps", str(STEPS), "--naive-every", str(SCAN_EVERY))
    middle = (library["averaged_from_step"] + STEPS) // 2
    choose("--steps", str(middle), "--naive-every", "0", "--dump", folder)
    command = [python, str(Path(__file__).resolve()), "--time-numpy", folder, str(users), str(dim)]
    numpy = {
        threads: json.loads(run(command, "the numpy side failed", env=with_threads(limit)))
        for threads, limit in THREADS.items()
    }
    return library, numpy


def report(users, dim, rounds):
    """Prints the table of one size; returns whether all choices agree."""
    lazy, scan, rows, points = (
        [library[key] for library, _ in rounds]
        for key in ("lazy_us_per_step", "naive_us_per_step", "rows_read_mean", "distinct_points_mean")
    )
    print(f"\nn = {users}, d = {dim}: {statistics.median(points):.0f} distinct points")
    print(f"  {'':40}{'µs':>32}{'times the lazy':>26}  same choice")
    print(f"  {'a lazy step':40}{spread(lazy):>32}   ({statistics.median(rows):.0f} of {users} rows read)")
    ratios = [time / ours for time, ours in zip(scan, lazy)]
    print(f"  {'a step that scans':40}{spread(scan):>32}{spread(ratios):>26}")
    all_agree = True
    for threads in THREADS:
        for version in rounds[0][1][threads]["versions"]:
            results = [numpy[threads]["versions"][version] for _, numpy in rounds]
            name = f"numpy, {version}, {threads}"
            if not all(result["acceptable"] for result in results):
                print(f"  {name:40}{'too inexact here':>32}")
                continue
            times = [result["median_us"] for result in results]
            ratios = [time / ours for time, ours in zip(times, lazy)]
            agreed = sum(
                result["chosen"] == numpy[threads]["library_chose"] for result, (_, numpy) in zip(results, rounds)
            )
            all_agree &= agreed == len(rounds)
            print(f"  {name:40}{spread(times):>32}{spread(ratios):>26}  {agreed} of {len(rounds)}")
    return all_agree


def spread(values):
    """The median, and the least and the greatest of all rounds."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


# From here on: what runs inside the virtual environment.


def time_numpy(folder, users, dim):
    """Prints, for every version, the median time of a choice in microseconds and the user it chose."""
    import numpy as np
    from numpy_choice import Table, aligned, time_versions

    table = Table(folder, users, dim)
    points = table.read("points", -1, dim)
    places = table.read("places", users).astype(np.intp)
    differences, distances = aligned(*points.shape), aligned(len(points))

    def plain():
        return table.plain_choice(np.linalg.norm(points - table.point, axis=1)[places])

    def choice_by_squared_distances():
        np.sqrt(distances, out=distances)
        # Without the mode numpy looks at every index first, in a buffer of its own.
        np.take(distances, places, out=table.errors, mode="clip")
        return table.choice_by_distances_in_errors()

    def tuned():
        np.subtract(points, table.point, out=differences)
        np.vecdot(differences, differences, out=distances)
        return choice_by_squared_distances()

    expanded_squares = table.expanded_squares(points)

    def with_expanded_squares():
        expanded_squares(out=distances)
        return choice_by_squared_distances()

    expanded = "expanded squares"
    versions = time_versions({"plain": plain, "tuned": tuned, expanded: with_expanded_squares})
    for result in versions.values():
        result["acceptable"] = True
    versions[expanded]["acceptable"] = table.acceptable(expanded_squares, points, ACCEPTABLE_ERROR)
    print(json.dumps({"versions": versions, "library_chose": int(table.read("chosen", 1)[0])}))


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["--time-numpy"]:
            time_numpy(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        elif sys.argv[1:] == ["--large"]:
            main([*SIZES, LARGE])
        elif len(sys.argv) > 1:
            raise Failure("usage: compare_choose.py [--large]")
        else:
            main(SIZES)
    except Failure as failure:
        sys.exit(f"compare_choose: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
