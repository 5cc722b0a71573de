"""Runs what it is told to, one after the other, and writes down where each stood after every query or round, and when."""

import json
import random
import time
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from hospitals import load

import sgq
import sgq.flower

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    hospitals, done = load(config["data"], config["largest"]), []
    sgq.flower.names(grid, at_least=hospitals.users)
    for job in json.loads(Path(config["jobs"]).read_text()):
        start = time.monotonic()
        users, points, times = (by_run if job["how"] == "run" else by_strategy)(grid, hospitals, job)
        when = {"times": [each - start for each in times], "seconds": time.monotonic() - start}
        done.append({**job, "users": users, "points": [point.tolist() for point in points], **when})
        Path(config["out"]).write_text(json.dumps(done))


def by_run(grid, hospitals, job):
    """`sgq.flower.run`, on a ledger where the job names one."""
    points, times = [hospitals.start], []

    def note(session):
        points.append(session.point.copy())
        times.append(time.monotonic())

    settings = {"users": hospitals.users, "x0": hospitals.start, **job["settings"]}
    session = sgq.open(job["ledger"], job["method"], **settings) if "ledger" in job else sgq.Session(job["method"], **settings)
    result = sgq.flower.run(grid, session, callback=note)
    return result.history["user"].tolist(), points, times


def by_strategy(grid, hospitals, job):
    """Flower's own loop over rounds, with its FedAvg or with StrategicQuery in its place."""
    points, random_state = [], random.getstate()
    random.seed(job["seed"])
    if job["how"] == "FedAvg":
        # FedAvg asks at least min_train_nodes, and this part of all of them.
        strategy = FedAvg(
            fraction_train=job["clients"] / hospitals.users,
            fraction_evaluate=0.0,
            min_train_nodes=job["clients"],
            min_available_nodes=hospitals.users,
        )
    else:
        names = [f"user-{number}" for number in range(hospitals.users)]
        strategy = sgq.flower.StrategicQuery(job["method"], users=names, local_rate=job["rate"], **job["settings"])
    result = strategy.start(
        grid,
        ArrayRecord({"x": Array(hospitals.start)}),
        num_rounds=job["rounds"],
        train_config=ConfigRecord({"rate": job["rate"], "decay": job["decay"]}),
        evaluate_fn=lambda number, arrays: points.append(np.array(arrays["x"].numpy())),
    )
    random.setstate(random_state)
    rounds = result.train_metrics_clientapp
    return [int(rounds[number]["hospital"]) for number in sorted(rounds)], points, []
