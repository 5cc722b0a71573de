"""A study by a plan: the plan, four clinics with rows of their own, and whoever asks them."""

import json
from contextlib import ExitStack, contextmanager

import numpy as np

import sgq

NAMES = ["north", "south", "west", "east"]
FORMULA = "died ~ age + sex"
RULES = {"answers": "gradient", "answers_each": 50, "closing": 3, "min_rows": 10, "parameters_per_row": 0.33, "largest_coefficient": 50.0}
PLAN = {"format": 1, "formula": FORMULA, "family": "binomial", "weigh": "rows", "l2": 0.0}


def write_plan(path, *, rules=None, **changes):
    """As `sgq plan new` writes it."""
    path.write_text(json.dumps({**PLAN, **changes, "rules": {**RULES, **(rules or {})}}))
    return path


def make(folder):
    """The plan, a file for each clinic, and one with all rows together."""
    random = np.random.default_rng(3)
    everybody = ["user,age,sex,died\n"]
    for place, name in enumerate(NAMES):
        age = random.integers(30, 90, 60 + 20 * place)
        male = random.random(len(age)) < 0.5
        died = random.random(len(age)) < 1 / (1 + np.exp(4 - 0.05 * age - 0.5 * male))
        rows = [f"{a},{'fm'[int(m)]},{'yes' if d else 'no'}\n" for a, m, d in zip(age, male, died)]
        (folder / f"{name}.csv").write_text("age,sex,died\n" + "".join(rows))
        everybody += [f"{name},{row}" for row in rows]
    (folder / "all.csv").write_text("".join(everybody))
    return write_plan(folder / "model.plan")


@contextmanager
def clinics(folder, plan="model.plan", **options):
    with ExitStack() as stack:
        yield {name: stack.enter_context(sgq.Clinic(folder / plan, folder / f"{name}.csv", name, **options)) for name in NAMES}


def opened(folder, **settings):
    return sgq.open(folder / "study.sgq", plan=folder / "model.plan", users=NAMES, **settings)


def answer_all(ledger, clinics, most=10**9):
    """Answers at most so many questions; returns who was asked for what."""
    asked = []
    for query in ledger:
        if len(asked) == most:
            break
        reply = clinics[query.name].answer(query.line)
        assert reply.outcome == "answered", reply.words
        assert ledger.tell_line(reply.line, query.name) is None
        asked.append((query.name, query.wants))
    return asked
