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
import statistics
import sys
import tempfile
from pathlib import Path

from environment import ROOT, Failure, build, python_with, run, with_threads

REQUIREMENTS = ROOT / "scripts" / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-scripts"

SIZES = [(100, 10), (1_000, 100), (10_000, 100)]
ROUNDS = 7
THREADS = {"1 thread": 1, "all threads": None}
# Distances from expanded squares lose digits; up to this relative error they count as the same distances.
ACCEPTABLE_ERROR = 1e-9


def main():
    python = python_with(REQUIREMENTS, ENVIRONMENT)
    scan = build("scan", ["--package", "sgq", "--example", "scan"])
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


def time_numpy_in_child(python, folder, library, threads):
    command = [python, str(Path(__file__).resolve()), "--time-numpy"]
    arguments = [folder, str(library["users"]), str(library["dim"])]
    return json.loads(run([*command, *arguments], "the numpy side failed", env=with_threads(threads)))


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
    from numpy_choice import Table, aligned

    table = Table(folder, users, dim)
    points = table.read("points", users, dim)
    point, errors = table.point, table.errors

    def plain():
        return table.plain_choice(np.linalg.norm(points - point, axis=1))

    # The tuned versions: the same sum, ordered for few passes, in buffers that are there already.
    differences = aligned(users, dim)

    def with_einsum():
        np.subtract(points, point, out=differences)
        np.einsum("ij,ij->i", differences, differences, out=errors)
        np.sqrt(errors, out=errors)
        return table.choice_by_distances_in_errors()

    def with_vecdot():
        np.subtract(points, point, out=differences)
        np.vecdot(differences, differences, out=errors)
        np.sqrt(errors, out=errors)
        return table.choice_by_distances_in_errors()

    expanded_squares = table.expanded_squares(points)

    def with_expanded_squares():
        expanded_squares(out=errors)
        np.sqrt(errors, out=errors)
        return table.choice_by_distances_in_errors()

    acceptable = table.acceptable(expanded_squares, points, ACCEPTABLE_ERROR)
    versions = {PLAIN: plain, EINSUM: with_einsum, VECDOT: with_vecdot, EXPANDED: with_expanded_squares}
    return versions, {EXPANDED: acceptable}


def time_numpy(folder, users, dim):
    """Prints, for every version, the median time of a scan in microseconds and the user it chose."""
    from numpy_choice import time_versions

    versions, acceptable = numpy_versions(folder, users, dim)
    results = time_versions(versions)
    for version, result in results.items():
        result["acceptable"] = acceptable.get(version, True)
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
