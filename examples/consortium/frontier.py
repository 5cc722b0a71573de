"""How many answers it takes to come how close to the fit of all rows, beside Fisher scoring: python3 frontier.py

It needs sgq in the PATH, and data/ and clinics.csv from split.sh.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

FORMULA = "died ~ los + hmo + white + age80 + type2 + type3"
LINE = "{:<16} {:>9} {:>8} {:>8} {:>8}  {}"


def sgq(*words):
    return subprocess.run(["sgq", *map(str, words)], check=True, capture_output=True, text=True).stdout


def fisher():
    files = sorted(map(str, Path("data").glob("*.csv")))
    lines = subprocess.run(["python3", "fisher.py", *files], check=True, capture_output=True, text=True).stdout.splitlines()
    return int(lines[0].split()[0]), [float(line.split()[1]) for line in lines[1:]]


def study(folder, answers, precision):
    plan, ledger = folder / f"{answers}.plan", folder / f"{answers}-{precision}.sgq"
    sgq("plan", "new", plan, "--formula", FORMULA, "--family", "binomial", "--answers", answers, "--force", "--quiet")
    sgq("session", "new", ledger, "--plan", plan, "--users", "clinics.csv", "--precision", precision, "--quiet")
    log = folder / f"{answers}-{precision}-{{user}}.log"
    clinic = f"sgq answer --plan {plan} --data {os.getcwd()}/data/{{user}}.csv --as {{user}} --log {log} --quiet"
    sgq("session", "run", ledger, "--command", clinic, "--quiet")
    return json.loads(sgq("session", "result", ledger, "--json"))


def main():
    answers_of_fisher, exact = fisher()
    size = len(exact)
    print(LINE.format("asked for", "precision", "at first", "closing", "answers", "numbers  largest error"))
    numbers = answers_of_fisher * (size + size * (size + 1) // 2 + 1)
    print(LINE.format("Fisher scoring", "", "", "", answers_of_fisher, f"{numbers:>7}"))
    with tempfile.TemporaryDirectory() as name:
        for answers in ["gradient", "hessian"]:
            for precision in ["1e-2", "1e-3", "1e-4", "1e-5"]:
                result = study(Path(name), answers, precision)
                counts = [result[key] for key in ("first_answers", "closing_answers", "queries")]
                found = [line["estimate"] for line in result["coefficients"]]
                error = max(abs(a - b) / abs(b) for a, b in zip(found, exact))
                # Fisher scoring itself is no closer than that.
                words = f"{result['numbers']:>7}  {'below 1e-8' if error < 1e-8 else f'{error:.0e}'}"
                print(LINE.format(answers, precision, counts[0], counts[1], sum(counts), words))


main()
