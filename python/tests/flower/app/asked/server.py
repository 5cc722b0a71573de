"""Asks until the budget is spent; one that is larger than before goes on."""

import sgq
import sgq.flower
from flwr.serverapp import ServerApp

app = ServerApp()


@app.main()
def main(grid, context):
    config = context.run_config
    smoothness = [1.0 + number for number in range(len(config["users"].split(",")))]
    given = {"users": config["users"].split(","), "x0": [5.0, 5.0], "seed": 7, "tol": None, "smoothness": smoothness}
    with sgq.open(config["ledger"], budget=config["budget"], **given) as session:
        sgq.flower.run(grid, session, patience=config["patience"], retries=config["retries"], wait=0.1)
