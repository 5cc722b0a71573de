"""The coordinator: a logistic regression over all hospitals, by a plan. It has no data."""

import csv

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

import sgq
import sgq.flower

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    with open(config["users"], newline="") as file:
        users = [row["user"] for row in csv.DictReader(file)]
    with sgq.open(config["ledger"], plan=config["plan"], users=users, open=config["open"]) as session:
        print(sgq.flower.run(grid, session).summary())
