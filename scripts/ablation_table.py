"""The tables of docs/sgq-in-practice.md: what each option of SGQ gave, alone, and what leaving it out of all of them cost.

    cargo run --release -- run experiments/ablation.toml
    python3 scripts/ablation_table.py out/ablation/summary.csv
"""

import csv
import math
import sys

BUDGET = 800


def main(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    targets = list(dict.fromkeys(row["target"] for row in rows))
    queries = {
        (row["tuning"], row["method"], row["problem"], row["target"]): int(row["queries"]) for row in rows if row["queries"]
    }
    percent = [f"{100 * float(target):g}%" for target in targets]
    for tuning in ("tuned", "untuned"):
        print(f"\n{tuning}\n")
        print(f"| method | {' | '.join(percent)} |")
        print("|---" * (len(targets) + 1) + "|")
        for method in methods:
            cells = [mean(queries, tuning, method, problems, target) for target in targets]
            print(f"| {method} | {' | '.join(cells)} |")
    for part in (problems[:4], problems[4:8], problems[8:]):
        print("\nqueries, tuned where there is a step size\n")
        print(f"| method | {' | '.join(part)} |")
        print("|---" * (len(part) + 1) + "|")
        for method in methods:
            cells = []
            for problem in part:
                found = [queries.get(("tuned", method, problem, target)) for target in targets]
                cells.append("/".join("–" if number is None else str(number) for number in found))
            print(f"| {method} | {' | '.join(cells)} |")


def mean(queries, tuning, method, problems, target):
    """The geometric mean over all problems; those on which the method does not arrive count with one query more than the budget."""
    found = [queries.get((tuning, method, problem, target)) for problem in problems]
    arrived = sum(number is not None for number in found)
    if not arrived:
        return "–"
    value = math.exp(sum(math.log(number or BUDGET + 1) for number in found) / len(found))
    return f"{value:.0f}" if arrived == len(found) else f"≥ {value:.0f} ({arrived})"


if __name__ == "__main__":
    main(*sys.argv[1:])
