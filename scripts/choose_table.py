#!/usr/bin/env python3
"""How the cost of a choice grows with the users and the parameters: `sgq bench choose` for many sizes, as a table.

    python3 scripts/choose_table.py            # up to 100,000 users: a minute, and 1 GB of memory
    python3 scripts/choose_table.py --large    # a million users too, the largest table in f32: 5 GB of memory
    python3 scripts/choose_table.py --long     # runs of ten times as many steps as users

Every choice that is compared must agree with the scan's.
"""

import json
import sys

from environment import Failure, build, run

USERS = [100, 1_000, 10_000, 100_000]
DIMS = [10, 100, 1_000]
LARGE = [(1_000_000, 10, "f64"), (1_000_000, 100, "f64"), (1_000_000, 1_000, "f32")]
LONG = [(100, 100), (1_000, 10), (1_000, 100), (1_000, 1_000), (10_000, 100)]
# The scan takes part at so many steps: with every one, the largest tables would take an hour.
COMPARED = 100


def main(option):
    sgq = build("sgq", ["--package", "sgq-cli"])
    cases = [(users, dim, "f64", 1_000) for users in USERS for dim in DIMS]
    if option == "--large":
        cases += [(*size, 1_000) for size in LARGE]
    if option == "--long":
        cases = [(users, dim, "f64", 10 * users) for users, dim in LONG]
    print("| users n × parameters d | scan, µs | search, µs | scan / search | rows read | distinct points | memory / table |")
    print("|---|---|---|---|---|---|---|")
    for users, dim, table, steps in cases:
        options = ["--users", users, "--dim", dim, "--table", table, "--steps", steps]
        options += ["--naive-every", max(steps // COMPARED, 1), "--json", "--quiet"]
        it = json.loads(run([sgq, "bench", "choose", *map(str, options)], "sgq bench choose failed"))
        if it["agree"] is not True:
            raise Failure(f"{users} x {dim}: the search and the scan chose different users")
        room = f"{it['peak_rss_bytes'] / it['table_bytes']:.2f}" if it["table_bytes"] > 5e7 else ""
        columns = [
            f"{users:,} × {dim:,}" + (", f32" if table == "f32" else ""),
            three_digits(it["naive_us_per_step"]),
            three_digits(it["lazy_us_per_step"]),
            three_digits(it["ratio"]),
            three_digits(it["rows_read_mean"]),
            f"{it['distinct_points_mean']:,.0f}",
            room,
        ]
        print("| " + " | ".join(columns) + " |", flush=True)


def three_digits(value):
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f}"


if __name__ == "__main__":
    try:
        if len(sys.argv) > 2 or sys.argv[1:2] not in ([], ["--large"], ["--long"]):
            raise Failure("usage: choose_table.py [--large | --long]")
        main(*(sys.argv[1:] or [None]))
    except Failure as failure:
        sys.exit(f"choose_table: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
