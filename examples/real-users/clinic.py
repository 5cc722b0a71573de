"""A clinic that answers questions: Python's standard library alone.

Questions come on the standard input, a line of JSON each, and answers go to the standard output. Each clinic's rows stay where they
are, in a file of its name beside this one; what it tells is the gradient of its own least squares, and its loss:

    days = b0 + b1 age + b2 severity

With --pause it thinks for so many seconds before each answer, as if a person had to look first.
"""

import csv
import json
import pathlib
import sys
import time

PAUSE = float(sys.argv[sys.argv.index("--pause") + 1]) if "--pause" in sys.argv else 0.0


def rows(user):
    with open(pathlib.Path(__file__).parent / f"{user}.csv", newline="") as file:
        return [([1.0, float(row["age"]), float(row["severity"])], float(row["days"])) for row in csv.DictReader(file)]


def answer(question):
    point, data = question["point"], rows(question["user"])
    gradient, loss = [0.0] * len(point), 0.0
    for features, days in data:
        error = sum(b * x for b, x in zip(point, features)) - days
        loss += error * error / (2 * len(data))
        for place, x in enumerate(features):
            gradient[place] += error * x / len(data)
    return {"ticket": question["ticket"], "user": question["user"], "gradient": gradient, "loss": loss}


for line in sys.stdin:
    question = json.loads(line)
    time.sleep(PAUSE)
    try:
        said = answer(question)
    except Exception as error:  # whatever goes wrong here is said, and asked again later
        said = {"ticket": question["ticket"], "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(said), flush=True)
