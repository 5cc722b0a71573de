"""Rewrites the tables of all methods in docs/results.md from a run's folder.

    cargo run --release -- run experiments/grouped.toml
    python3 scripts/results_tables.py out/grouped docs/results.md

The fewest queries are those of the methods that pay for what they see, without frugal.
"""

import csv
import math
import sys
from pathlib import Path

from frugal_table import YARDSTICKS


def main(folder, page):
    with open(Path(folder) / "summary.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    targets = list(dict.fromkeys(row["target"] for row in rows))
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    queries = {(row["method"], row["problem"], row["tuning"], row["target"]): row["queries"] for row in rows}
    methods = [method for method in dict.fromkeys(row["method"] for row in rows) if method != "frugal"]
    paying = [method for method in methods if method not in YARDSTICKS]

    def over_the_fewest(method, tuning):
        cells = []
        for target in targets:
            logarithms = []
            for problem in problems:
                others = [int(found) for other in paying if (found := queries[other, problem, tuning, target])]
                if (own := queries[method, problem, tuning, target]) and others:
                    logarithms.append(math.log(int(own) / min(others)))
            missing = f" ({len(logarithms)})" if len(logarithms) < len(problems) else ""
            cells.append(f"{math.exp(sum(logarithms) / len(logarithms)):.2f}{missing}" if logarithms else "–")
        return cells

    def all_numbers(method, some):
        return ["/".join(queries[method, problem, "tuned", target] or "–" for target in targets) for problem in some]

    tunings = iter(["tuned", "untuned"])
    lines, cells_of = [], None
    for line in Path(page).read_text(encoding="utf-8").splitlines():
        names = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not names:
            cells_of = None
        elif names[0] == "method" and names[1:] == [f"{100 * float(target):g}%" for target in targets]:
            tuning = next(tunings)
            cells_of = lambda method, tuning=tuning: over_the_fewest(method, tuning)
        elif names[0] == "method" and set(names[1:]) <= set(problems):
            cells_of = lambda method, some=names[1:]: all_numbers(method, some)
        elif cells_of and (method := names[0].strip("*")) in methods:
            line = f"| {names[0]} | {' | '.join(cells_of(method))} |"
        lines.append(line)
    Path(page).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
