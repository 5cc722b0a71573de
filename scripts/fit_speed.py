#!/usr/bin/env python3
"""Prints docs/fit.md's table of how long `sgq fit` takes on many rows, with and without diagnostics.

    cargo build --release
    python3 scripts/fit_speed.py

The rows are made here, the same in every run: 100 hospitals, a logistic outcome, four numbers or texts of a patient, and a factor. Times are
of the processor, in seconds, for the whole command: other work on the machine hardly changes them.
"""

import csv
import json
import math
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
HOSPITALS = 100
CASES = [(1_000_000, 5), (100_000, 200), (100_000, 1_000)]


def write(path, rows, levels):
    rng = random.Random(3)
    effects = [rng.gauss(0, 0.5) for _ in range(levels)]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["hospital", "age", "bmi", "sex", "severity", "level", "died"])
        for _ in range(rows):
            age, bmi, severity = rng.gauss(60, 12), rng.gauss(26, 4), rng.gauss(0, 1)
            sex, level = rng.random() < 0.5, rng.randrange(levels)
            z = -1 + 0.03 * (age - 60) + 0.02 * (bmi - 26) + 0.3 * sex + 0.5 * severity + effects[level]
            died = rng.random() < 1 / (1 + math.exp(-z))
            hospital = f"H{rng.randrange(HOSPITALS)}"
            writer.writerow([hospital, f"{age:.1f}", f"{bmi:.1f}", "fm"[sex], f"{severity:.3f}", f"L{level}", int(died)])


def measure(program, folder, options):
    command = [program, "fit", "rows.csv", "--user", "hospital", "--target", "died", "--json", "--force", *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(done.stderr)
    fit = json.loads(done.stdout)
    state = "" if fit["converged"] else " (not converged)"
    return f"{after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime:.1f} s", f"{fit['queries']}{state}"


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/sgq")
    print("| rows | levels of a factor | answers | with diagnostics | `--no-diagnostics` |\n|---|---|---|---|---|")
    for rows, levels in CASES:
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder) / "rows.csv", rows, levels)
            with_all, answers = measure(program, folder, [])
            without, _ = measure(program, folder, ["--no-diagnostics"])
        print(f"| {rows:,} | {levels:,} | {answers} | {with_all} | {without} |", flush=True)


if __name__ == "__main__":
    main()
