"""The tables of docs/results.md on the limit: frugal's queries, untuned, over the limit for random order, and the part of the
way from shuffled SGD to each oracle that it goes, both tuned in hindsight.

    cargo run --release -- run experiments/grouped.toml
    python3 scripts/limit_table.py out/grouped
"""

import csv
import math
import statistics
import sys
from pathlib import Path

METHOD, START, ORACLES = "frugal", "shuffled SGD", ["OGQ", "OGQ own L"]


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(problems, targets, entry, value):
    percent = [f"{100 * float(target):g}%" for target in targets]
    print(f"| data set | {' | '.join(percent)} |")
    print("|---" * (len(targets) + 1) + "|")
    for problem in problems:
        print(f"| {problem} | {' | '.join(entry(problem, target) for target in targets)} |")
    medians = []
    for target in targets:
        values = [value(problem, target) for problem in problems]
        values = [value for value in values if value is not None]
        # Who does not get there counts as worse than all others, but has no number.
        median = statistics.median(values) if values else math.nan
        medians.append(number(median) if math.isfinite(median) else "–")
    print(f"| median | {' | '.join(medians)} |\n")


def number(value):
    return f"{value:.2f}".replace("-", "−")


def main(folder):
    limits = {(row["problem"], row["target"]): int(row["queries"]) for row in rows(Path(folder, "limit.csv"))}
    results = rows(Path(folder, "summary.csv"))
    problems = list(dict.fromkeys(row["problem"] for row in results))
    targets = list(dict.fromkeys(row["target"] for row in results))
    queries = {
        (row["problem"], row["method"], row["tuning"], row["target"]): int(row["queries"]) if row["queries"] else math.inf
        for row in results
    }

    def ratio(problem, target):
        limit, ours = limits.get((problem, target)), queries.get((problem, METHOD, "untuned", target))
        return None if limit is None or ours is None else ours / max(limit, 1)

    def ratio_entry(problem, target):
        limit, value = limits.get((problem, target)), ratio(problem, target)
        if value is None:
            return "–"
        return f"{number(value)} ({limit})" if math.isfinite(value) else f"not reached ({limit})"

    table(problems, targets, ratio_entry, ratio)

    for oracle in ORACLES:

        def share(problem, target):
            known = [(START, "tuned"), (oracle, "tuned"), (METHOD, "untuned")]
            start, end, ours = (queries.get((problem, method, tuning, target)) for method, tuning in known)
            if start is None or end is None or ours is None or not end < start < math.inf:
                return None
            start, end, ours = max(start, 1), max(end, 1), max(ours, 1)
            if start == end:
                return None
            return math.log(start / ours) / math.log(start / end) if ours < math.inf else -math.inf

        def share_entry(problem, target):
            value = share(problem, target)
            if value is None:
                return "–"
            return number(value) if math.isfinite(value) else "not reached"

        print(f"From {START} to {oracle}:\n")
        table(problems, targets, share_entry, share)


if __name__ == "__main__":
    main(*sys.argv[1:])
