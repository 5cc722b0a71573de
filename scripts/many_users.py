#!/usr/bin/env python3
"""The table of docs/performance.md for fits with many users: `sgq fit` with its defaults on users with ten rows each.

    python3 scripts/many_users.py

The data are generated, the same for every run. Time is that of the processor, for the whole command: reading the file, asking, the
table, and the gap on all data that is diagnostic.
"""

import json
import math
import os
import random
import subprocess
import tempfile
from pathlib import Path

from environment import build

USERS = [1_000, 10_000, 100_000]
ROWS = 10


def main():
    sgq = build("sgq", ["--package", "sgq-cli"])
    print("| users | rows | answers | for each user | seconds | converged |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for users in USERS:
            file = Path(folder) / f"{users}.csv"
            write(file, users)
            before = os.times()
            command = [sgq, "fit", file, "--user", "user", "--formula", "died ~ age + sex + ward + days", "--json", "--quiet"]
            run = subprocess.run([*command, "--out", Path(folder) / "out", "--force"], stdout=subprocess.PIPE, check=True)
            after = os.times()
            seconds = after.children_user + after.children_system - before.children_user - before.children_system
            found = json.loads(run.stdout)
            answers = found["queries"]
            done = "yes" if found["converged"] else "no"
            print(f"| {users:,} | {ROWS * users:,} | {answers:,} | {answers / users:.2f} | {seconds:.1f} | {done} |")


def write(file, users):
    """Patients of clinics that differ a little."""
    draw = random.Random(1)
    with open(file, "w", encoding="utf-8") as out:
        out.write("user,died,age,sex,ward,days\n")
        for user in range(users):
            own = draw.gauss(0, 0.3)
            for _ in range(ROWS):
                age, sex, ward, days = draw.gauss(65, 12), draw.choice("fm"), draw.choice("abc"), draw.expovariate(1 / 7)
                z = -5 + 0.045 * age + 0.1 * (sex == "m") + {"a": 0, "b": 0.3, "c": -0.2}[ward] + 0.02 * days + own
                died = int(draw.random() < 1 / (1 + math.exp(-z)))
                out.write(f"u{user},{died},{age:.1f},{sex},{ward},{days:.1f}\n")


if __name__ == "__main__":
    main()
