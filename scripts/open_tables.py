#!/usr/bin/env python3
"""Writes the tables of docs/open.md from the folders of three runs:

    sgq run experiments/time.toml && sgq run experiments/failing.toml && sgq run experiments/noise.toml
    python3 scripts/open_tables.py out/time out/failing out/noise
"""

import csv
import math
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "open.md"
OUT = ["", " 4 out", " 16 out"]
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(heading, rows):
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def targets(folder, column):
    """By set, method and target: what the run spent; nothing where it did not get there."""
    with open(Path(folder) / "targets.csv", newline="") as file:
        return {
            (row["problem"], row["method"], float(row["target"])): float(row[column])
            for row in csv.DictReader(file)
            if row[column]
        }


def sets_of(folder):
    with open(Path(folder) / "targets.csv", newline="") as file:
        return list(dict.fromkeys(row["problem"] for row in csv.DictReader(file)))


def short(value):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


def time(folder):
    spent, sets, methods = targets(folder, "time"), sets_of(folder), ["frugal", "SAGA", "IAG"]
    rows = [[s] + [short(spent.get((s, m + out, 0.01))) for m in methods for out in OUT] for s in sets]
    return table(["data set", "`frugal`", "4 out", "16 out", "SAGA", "4 out", "16 out", "IAG", "4 out", "16 out"], rows)


def gains(folder):
    spent, sets = targets(folder, "time"), sets_of(folder)
    rows = []
    for method in ["frugal", "SAGA", "IAG"]:
        for out in OUT[1:]:
            row = [f"`{method}`" if method == "frugal" else method, out.split()[0]]
            for target in [0.1, 0.01, 0.001]:
                pairs = [(spent.get((s, method, target)), spent.get((s, method + out, target))) for s in sets]
                ratios = [one / several for one, several in pairs if one and several]
                row.append(f"{geometric_mean(ratios):.1f} ({len(ratios)})" if ratios else "–")
            rows.append(row)
    return table(["method", "out", "10%", "1%", "0.1%"], rows)


def failing(folder):
    spent, sets = targets(folder, "queries"), sets_of(folder)
    methods = ["frugal", "frugal learned", "frugal 4 out", "SAGA"]
    ratios = {m: [] for m in methods}
    rows = []
    for s in sets:
        row = [s]
        for m in methods:
            plain, failing = spent.get((s, m, 0.01)), spent.get((s, m + " failing", 0.01))
            if plain and failing:
                ratios[m].append(failing / plain)
            row += [short(failing), f"{failing / plain:.2f}" if plain and failing else "–"]
        rows.append(row)
    means = [cell for m in methods for cell in ["", f"{geometric_mean(ratios[m]):.2f}"]]
    heading = ["data set", "`frugal`", "ratio", "`frugal` learned", "ratio", "`frugal` 4 out", "ratio", "SAGA", "ratio"]
    return table(heading, [*rows, ["geometric mean", *means]])


def scientific(value):
    exponent = math.floor(math.log10(value))
    if round(value / 10**exponent, 1) >= 10:
        exponent += 1
    return f"{value / 10**exponent:.1f}·10" + str(exponent).translate(RAISED)


def noise(folder):
    last = {}
    with open(Path(folder) / "curves.csv", newline="") as file:
        for row in csv.DictReader(file):
            last[row["problem"], row["method"]] = float(row["gap_mean"]), float(row["gap_sem"])
    noisy = [f"{m} {part} noise{stated}" for m in ["frugal", "frugal learned"] for part in ["1%", "10%"] for stated in ["", " stated"]]
    methods = [*noisy, "SAGA", "SAGA 1% noise", "SAGA 10% noise"]
    sets = sets_of(folder)

    def cell(name, method):
        mean, error = last[name, method]
        return scientific(mean) + (" *" if error > mean / 2 else "")

    rows = [[s] + [cell(s, m) for m in methods] for s in sets]
    rows.append(["geometric mean"] + [scientific(geometric_mean([last[s, m][0] for s in sets])) for m in methods])
    heading = ["data set", "`frugal`, 1%", "stated", "10%", "stated", "learned, 1%", "stated", "10%", "stated", "SAGA, exact", "1%", "10%"]
    return table(heading, rows)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    _, of_time, of_failing, of_noise = sys.argv
    page = PAGE.read_text()
    for name, text in [("time", time(of_time)), ("gains", gains(of_time)), ("failing", failing(of_failing)), ("noise", noise(of_noise))]:
        page, count = re.subn(
            rf"(<!-- table: {name} -->\n).*?(<!-- /table -->)", lambda found: found[1] + text + found[2], page, flags=re.S
        )
        if count != 1:
            sys.exit(f"docs/open.md has {count} places for the table {name!r}, and not one")
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
