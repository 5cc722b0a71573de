"""The example's regression in Flower's simulation: sixteen hospitals, and what sgq.glm says of their rows together."""

import csv
import json
import subprocess

import numpy as np
from conftest import EXAMPLE

import sgq

FORMULA = "died ~ los + hmo + white + age80 + type2 + type3"
RULES = {"answers": "hessian", "answers_each": 50, "closing": 3, "min_rows": 10, "parameters_per_row": 0.33, "largest_coefficient": 50.0}


def test_the_regression_is_that_of_all_rows(tmp_path):
    from deployment import Federation

    medpar = EXAMPLE.parent / "medpar.csv"
    subprocess.run(["sh", EXAMPLE / "split.sh", medpar], cwd=tmp_path, check=True)
    plan = {"format": 1, "formula": FORMULA, "family": "binomial", "weigh": "rows", "l2": 0.0, "rules": RULES}
    (tmp_path / "model.plan").write_text(json.dumps(plan))
    ledger = tmp_path / "study.sgq"
    config = {"ledger": ledger, "plan": tmp_path / "model.plan", "users": tmp_path / "users.csv", "data": tmp_path / "data"}
    with Federation(tmp_path / "federation", simulated_nodes=16) as federation:
        federation.start_superlink()
        run = federation.run(EXAMPLE / "regression", {key: str(value) for key, value in config.items()})
        assert federation.wait(run, 150) == "finished:completed", federation.run_log(run)
    with open(tmp_path / "users.csv") as file:
        users = [row["user"] for row in csv.DictReader(file)]
    with open(medpar) as file:
        rows = [row for row in csv.DictReader(file) if f"hospital-{row['provnum']}" in users]
    assert len(users) == 16
    data = {name: [float(row[name]) if name != "provnum" else row[name] for row in rows] for name in rows[0]}
    together = sgq.glm(FORMULA, data, user="provnum", precision=1e-7)
    with sgq.open(ledger, read_only=True) as session:
        result = session.result()
    off = np.abs((np.array(list(result.params)) - np.array(list(together.params))) / np.array(list(together.bse)))
    assert off.max() < 0.01 and result.converged and result.std_error_kind == "model"
