"""Flower's own random sampling beside sgq, by the same number of queries, on a logistic regression over 54 hospitals.

    python compare.py            about 10 minutes on two cores; --no-flower leaves Flower out, and takes 5

A query is one gradient of one hospital at one point: each client that FedAvg asks in a round counts as one. Everything is computed here,
by the arithmetic of Flower's FedAvg. Flower's simulation engine then runs the compared methods with 54 nodes (the app in compare/), and
each point there is compared with the one computed here.

Writes docs/results/flower/compare.txt, compare.csv and curves.csv, and docs/figures/flower-compare.svg and .png.
"""

import argparse
import csv
import json
import random
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from deployment import Federation
from matplotlib import pyplot

import sgq
from sgq.plot import COLOURS, DASHED, GREY, MARKERS, PALE

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "medpar.csv"
RESULTS = HERE.parents[1] / "docs" / "results" / "flower"
FIGURES = HERE.parents[1] / "docs" / "figures"
sys.path.insert(0, str(HERE / "compare"))
from hospitals import L2, Hospitals  # noqa: E402

QUERIES = 540
BUDGETS = (54, 108, 216, 540)
TARGETS = (0.1, 0.01, 0.001)
SEEDS = range(40)
# FedAvg's step sizes: quarters of a power of two; and its decays, rate / (1 + decay · round).
RATES = [2.0 ** (power / 4) for power in range(-24, 17)]
DECAYS = [0.0, *(2.0**power / 54 for power in (-2, -1, 0, 1, 2, 3, 4))]
# SGQ's.
STEPS = [2.0 ** (power / 2) for power in range(-14, 5)]

hospitals = Hospitals(DATA)


class Curves:
    """The gap after 0, 1, 2 … queries: a row for each seed."""

    def __init__(self, gaps):
        self.gaps = np.asarray(gaps)
        self.median = np.median(self.gaps, axis=0)

    def queries_to(self, target):
        """For each seed the first query with the gap at or below the target; infinite where there is none."""
        below = self.gaps <= target
        return np.where(below.any(1), below.argmax(1), np.inf)


def gaps_at(points):
    """The relative gaps at many points at once; the last axis is the point."""
    rows = np.concatenate([rows * signs[:, None] for rows, signs in zip(hospitals.rows, hospitals.signs)])
    weight = np.concatenate([np.full(len(rows), 1 / len(rows) / hospitals.users) for rows in hospitals.rows])
    flat = points.reshape(-1, hospitals.dim)
    with np.errstate(over="ignore", invalid="ignore"):
        values = [np.logaddexp(0, -part @ rows.T) @ weight + L2 / 2 * (part * part).sum(1) for part in np.array_split(flat, len(flat) // 2000 + 1)]
        gaps = (np.concatenate(values) - hospitals.minimum) / (np.log(2) - hospitals.minimum)
    return np.nan_to_num(np.maximum(gaps, 1e-16), nan=np.inf).reshape(points.shape[:-1])


# Flower's FedAvg, one local step on all of a hospital's rows.


def sampled(seed, rounds):
    """Whom FedAvg would ask, one a round: it draws with the module random."""
    generator = random.Random(seed)
    return [generator.sample(range(hospitals.users), 1)[0] for _ in range(rounds)]


def fedavg_one(rates, decay, users):
    """The points of FedAvg with one client a round, for all rates at once."""
    points = np.zeros((len(rates), len(users) + 1, hospitals.dim))
    for number, user in enumerate(users):
        x, rows, signs = points[:, number], hospitals.rows[user], hospitals.signs[user]
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = 1 / (1 + np.exp(signs * (x @ rows.T)))
            gradient = -(signs * wrong) @ rows / len(rows) + L2 * x
            points[:, number + 1] = x - (np.array(rates) / (1 + decay * number))[:, None] * gradient
    return points


def fedavg_all(rate, rounds):
    """The points of FedAvg with all clients in each round."""
    points = [hospitals.start]
    for _ in range(rounds):
        points.append(np.mean([points[-1] - rate * hospitals.answer(user, points[-1])[1] for user in range(hospitals.users)], axis=0))
    return np.array(points)


# Ours, by the protocol that sgq.flower uses.


def by_session(method, queries=QUERIES, **settings):
    """Whom a method asks, and the points."""
    session = sgq.Session(method, users=hospitals.users, x0=hospitals.start, budget=queries, tol=None, **settings)
    users, points = [], [hospitals.start]
    for query in session:
        loss, gradient, hessian = hospitals.answer(query.user, query.point)
        session.tell(query, gradient, **({"loss": loss, "hessian": hessian} if query.wants == "hessian" else {}))
        users.append(query.user)
        points.append(session.point.copy())
    # One that diverges stops there.
    points += [np.full(hospitals.dim, np.inf)] * (queries + 1 - len(points))
    return users, np.array(points)


def curves_of(method, **settings):
    return Curves(gaps_at(np.array([by_session(method, seed=seed, **settings)[1] for seed in SEEDS])))


# The table.


def score(curves, column):
    """What tuning makes small: the median of the queries to a target, then the gap after all; or the median gap after a budget."""
    kind, value = column
    return (np.median(curves.queries_to(value)), curves.median[-1]) if kind == "to" else (curves.median[value], 0.0)


def all_round(curves):
    """What the one setting for all columns makes small."""
    return np.log(curves.median[list(BUDGETS)]).sum()


COLUMNS = [("to", target) for target in TARGETS] + [("after", budget) for budget in BUDGETS]


def cell(curves, column):
    """Median, and the range over seeds."""
    kind, value = column
    numbers = curves.queries_to(value) if kind == "to" else curves.gaps[:, value]
    words = [("–" if not np.isfinite(n) else f"{n:.0f}" if kind == "to" else percent(n)) for n in (np.median(numbers), numbers.min(), numbers.max())]
    return words[0] if words[1] == words[2] else f"{words[0]} ({words[1]} … {words[2]})"


def percent(part):
    if not np.isfinite(part):
        return "–"
    return f"{100 * part:.0f}%" if 0.1 <= part else f"{100 * part:.2g}%" if part >= 1e-5 else f"{100 * part:.0e}%"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-flower", action="store_true", help="only what is computed here")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    RESULTS.mkdir(parents=True, exist_ok=True)
    smoothness = hospitals.smoothness

    orders = [sampled(seed, QUERIES) for seed in SEEDS]
    one = {}
    for decay in DECAYS:
        gaps = gaps_at(np.array([fedavg_one(RATES, decay, users) for users in orders]))
        one |= {(rate, decay): Curves(gaps[:, at]) for at, rate in enumerate(RATES)}
    constant = {key: curves for key, curves in one.items() if key[1] == 0}
    every = {(rate, 0.0): Curves(np.repeat(gaps_at(fedavg_all(rate, QUERIES // hospitals.users)), hospitals.users)[None, : QUERIES + 1]) for rate in RATES}
    stepped = {(step,): curves_of("sgq", smoothness=smoothness, step_size=step) for step in STEPS}
    rows = [
        ("FedAvg, 1 client a round, constant rate", constant, "tuned for each column"),
        ("FedAvg, 1 client a round, constant rate", constant, "one rate"),
        ("FedAvg, 1 client a round, falling rate", one, "tuned for each column"),
        ("FedAvg, 1 client a round, falling rate", one, "one rate and decay"),
        ("FedAvg, all clients in each round", every, "tuned for each column"),
        ("FedAvg, all clients in each round", every, "one rate"),
        ("SGQ, step size by theory", {(): curves_of("sgq", smoothness=smoothness, step_size="theory", pl_constant=L2, objective_smoothness=objective_smoothness())}, "nothing, told each L_i"),
        ("SGQ, default step size", {(): curves_of("sgq", smoothness=smoothness)}, "nothing, told each L_i"),
        ("SGQ", stepped, "tuned for each column, told each L_i"),
        ("SGQ", stepped, "one step size, told each L_i"),
        ("frugal (our default)", {(): curves_of(None)}, "nothing"),
        ("frugal (our default)", {(): curves_of(None, smoothness=smoothness)}, "nothing, told each L_i"),
        ("frugal, with Hessians", {(): curves_of(None, answers="hessian")}, "nothing"),
    ]  # fmt: skip
    lines, table, picked = [], [], {}
    for name, tried, tuned in rows:
        fixed = min(tried, key=lambda key: all_round(tried[key]))
        picked[name, tuned] = fixed
        best = {column: tried[min(tried, key=lambda key: score(tried[key], column)) if "each column" in tuned else fixed] for column in COLUMNS}
        lines.append([name, tuned, *(cell(best[column], column) for column in COLUMNS)])
        for column in COLUMNS:
            numbers = best[column].queries_to(column[1]) if column[0] == "to" else best[column].gaps[:, column[1]]
            table.append([name, tuned, *column, *(f"{number:.4g}" for number in (np.median(numbers), numbers.min(), numbers.max()))])
    head = ["method", "tuned", *(f"to {100 * target:g}%" for target in TARGETS), *(f"after {budget}" for budget in BUDGETS)]
    text = [*markdown(head, lines), "", f"Median over {len(SEEDS)} seeds (smallest … largest). – : not within {QUERIES} queries, for that seed or the median.", "", "One setting for all columns:"]
    text += [f"  {name}: {', '.join(f'{value:.4g}' for value in key)}" for (name, tuned), key in picked.items() if "one" in tuned]
    (RESULTS / "compare.csv").write_text(comma(["method", "tuned", "measure", "at", "median", "smallest", "largest"], table))
    drawn = {
        "FedAvg, 1 client, tuned anew for each query": best_at_each(one),
        "FedAvg, all clients, tuned": every[picked["FedAvg, all clients in each round", "one rate"]],
        "SGQ, step size by theory": rows[6][1][()],
        "SGQ, tuned anew for each query": best_at_each(stepped),
        "frugal (default), nothing tuned": rows[10][1][()],
        "frugal with Hessians": rows[12][1][()],
    }
    draw(drawn)
    if not arguments.no_flower:
        text += ["", *flower(picked)]
    (RESULTS / "compare.txt").write_text("\n".join(text) + "\n")
    print("\n".join(text))


def objective_smoothness():
    """The objective's own L."""
    return float(np.linalg.eigvalsh(np.mean([rows.T @ rows / len(rows) / 4 for rows in hospitals.rows], 0))[-1] + L2)


def best_at_each(tried):
    """At each query the setting with the lowest median there: better than any one run."""
    every = list(tried.values())
    best = np.argmin([curves.median for curves in every], axis=0)
    return Curves(np.stack([every[which].gaps[:, at] for at, which in enumerate(best)], axis=1))


def markdown(head, lines):
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines)]


def comma(head, rows):
    return "\n".join(",".join(f'"{word}"' if "," in str(word) else str(word) for word in row) for row in (head, *rows)) + "\n"


def draw(drawn):
    """Medians as lines, in a band from the smallest to the largest."""
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sgq", "font.family": "DejaVu Sans"})
    figure, axes = pyplot.subplots(figsize=(8.0, 4.6), dpi=150, layout="constrained")
    rows = []
    for place, (name, curves) in enumerate(drawn.items()):
        low, high = curves.gaps.min(0), curves.gaps.max(0)
        seen = np.maximum(curves.median, 1e-12)
        axes.plot(seen, label=name, color=COLOURS[place], linewidth=1.6, marker=MARKERS[place], markevery=(20 + 12 * place, 90), markersize=5.5, markeredgecolor="white", zorder=3)
        axes.fill_between(range(QUERIES + 1), np.maximum(low, 1e-12), high, color=COLOURS[place], alpha=0.12, linewidth=0, zorder=2)
        rows += [[name, at, *(f"{number:.4g}" for number in (curves.median[at], low[at], high[at]))] for at in range(QUERIES + 1)]
    (RESULTS / "curves.csv").write_text(comma(["method", "queries", "median", "smallest", "largest"], rows))
    axes.set(yscale="log", xlim=(0, QUERIES), ylim=(1e-6, 3), xlabel="queries", ylabel="gap, as a part of that at the start")
    axes.set_xticks(range(0, QUERIES + 1, 54))
    axes.grid(True, color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    for target in TARGETS:
        axes.axhline(target, color=GREY, linewidth=0.8, linestyle=DASHED, zorder=1)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(FIGURES / "flower-compare.svg", metadata={"Date": None})
    figure.savefig(FIGURES / "flower-compare.png", metadata={"Software": None})


# The same in Flower's simulation engine.


def flower(picked):
    """Runs what the table compares with 54 nodes, and returns a line on each: how far its points are from those computed here."""
    rate, decay = picked["FedAvg, 1 client a round, falling rate", "one rate and decay"]
    [rate_all, _] = picked["FedAvg, all clients in each round", "one rate"]
    (step,) = picked["SGQ", "one step size, told each L_i"]
    ours = {"tol": None, "budget": 216}
    jobs = [
        *({"how": "run", "method": None, "settings": {**ours, "seed": seed}} for seed in range(3)),
        {"how": "run", "method": None, "settings": {**ours, "seed": 0, "answers": "hessian"}},
        {"how": "run", "method": "sgq", "settings": {**ours, "seed": 0, "smoothness": hospitals.smoothness, "step_size": step}},
        {"how": "FedAvg", "clients": 54, "rounds": 10, "seed": 0, "rate": rate_all, "decay": 0.0},
        *({"how": "FedAvg", "clients": 1, "rounds": 216, "seed": seed, "rate": rate, "decay": decay} for seed in range(3)),
        {"how": "StrategicQuery", "method": None, "rounds": 216, "seed": 0, "rate": 1.0, "decay": 0.0, "settings": {**ours, "seed": 0}},
    ]
    with tempfile.TemporaryDirectory() as folder, Federation(folder, simulated_nodes=hospitals.users) as federation:
        (Path(folder) / "jobs.json").write_text(json.dumps(jobs))
        federation.start_superlink()
        files = {"data": str(DATA), "jobs": f"{folder}/jobs.json", "out": f"{folder}/out.json"}
        run = federation.run(HERE / "compare", files)
        status = federation.wait(run, 3600)
        if status != "finished:completed":
            sys.exit(f"Flower's run ended as {status}:\n{federation.run_log(run)[-3000:]}")
        done = json.loads((Path(folder) / "out.json").read_text())
    return ["In Flower's simulation engine, beside what is computed here:", "", *markdown(["run", "queries", "seconds", "gap at the end", "largest difference of a coordinate", "same users"], map(verified, done))]


def verified(job):
    """A run of Flower beside the same computed here."""
    points, users, settings = np.array(job["points"]), job["users"], dict(job.get("settings", {}))
    here = users
    if job["how"] == "FedAvg":
        name = f"FedAvg, {job['clients']} a round, rate {job['rate']:.3g}, decay {job['decay']:.2g}"
        expected = fedavg_all(job["rate"], job["rounds"]) if job["clients"] > 1 else fedavg_one([job["rate"]], job["decay"], users)[0]
        queries = job["clients"] * job["rounds"]
    else:
        name = f"{'sgq.flower.run' if job['how'] == 'run' else 'StrategicQuery'}, {job['method'] or 'frugal'}, {settings.get('answers', 'gradient')}s, seed {settings['seed']}"
        queries = len(points) - 1
        settings = {key: value for key, value in settings.items() if key not in ("budget", "tol")}
        here, expected = by_session(job["method"], queries, **settings)
    difference = np.abs(points - expected).max()
    same = "yes" if users == here else "NO"
    return [name, str(queries), f"{job['seconds']:.0f}", percent(gaps_at(points[-1:])[0]), f"{difference:.0e}" if difference else "0", same]


if __name__ == "__main__":
    main()
