"""The tables of docs/results.md on frugal: its queries, untuned, and the fewest of all others, tuned in hindsight.

    cargo run --release -- run experiments/grouped.toml
    python3 scripts/frugal_table.py out/grouped/summary.csv
"""

import csv
import math
import sys

# They see something that they do not pay for.
YARDSTICKS = {"OGQ", "OGQ own L", "CIAG", "power-of-choice", "Oort"}


def main(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] not in YARDSTICKS]
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    targets = list(dict.fromkeys(row["target"] for row in rows))
    percent = [f"{100 * float(target):g}%" for target in targets]
    print(f"| data set | {' | '.join(percent)} |")
    print("|---" * (len(targets) + 1) + "|")
    ratios = {target: [] for target in targets}
    for problem in problems:
        cells = []
        for target in targets:
            here = [row for row in rows if row["problem"] == problem and row["target"] == target and row["queries"]]
            ours = [int(row["queries"]) for row in here if row["method"] == "frugal" and row["tuning"] == "untuned"]
            others = [(int(row["queries"]), row["method"]) for row in here if row["method"] != "frugal" and row["tuning"] == "tuned"]
            if not ours or not others:
                cells.append("–")
                continue
            fewest, who = min(others)
            ratios[target].append(ours[0] / fewest)
            mark = "**" if ours[0] < fewest else ""
            cells.append(f"{mark}{ours[0]}{mark} / {fewest} {who}")
        print(f"| {problem} | {' | '.join(cells)} |")
    means = [math.exp(sum(map(math.log, ratios[target])) / len(ratios[target])) for target in targets]
    print(f"| mean ratio | {' | '.join(f'{mean:.2f}' for mean in means)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
