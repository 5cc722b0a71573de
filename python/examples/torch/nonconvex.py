"""A small neural network over America's states: who reaches a low loss with how many questions?

    python3 scripts/datasets.py                     makes data/, once
    python python/examples/torch/nonconvex.py

Users: 51 states, each with its displaced workers; which of them claim unemployment benefits? The model is a network
with one layer of tanh, so the loss is not convex, and no theorem of the paper covers SGQ. Every method is tuned in
hindsight: for each budget it gets the step size, out of one grid for all, with the lowest mean loss over the seeds.

SGQ needs constants of smoothness L_i, which a network does not have. Here they are estimated: the largest curvature of
each state's loss at the start, by ten power iterations on differences of gradients. That is 20 questions a state, as
many as the largest budget, and they are not billed. The rows "L = 1" do without: a guess, the same for all states.
"""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

import sgq
from sgq.torch import Users

DATA = Path(__file__).resolve().parents[3] / "data" / "benefits.csv"
BUDGETS = (255, 510, 1020)  # 5, 10 and 20 questions a state
STEP_SIZES = [2.0**power for power in range(-6, 4)]
SEEDS = range(5)
HIDDEN = 12


def states():
    """Each state's workers, one batch a state: features on one scale over all states, and who claims benefits."""
    if not DATA.exists():
        raise SystemExit(f"{DATA.name} is not there: run python3 scripts/datasets.py, which makes it")
    with DATA.open(newline="") as file:
        rows = list(csv.DictReader(file))
    features = torch.tensor(np.column_stack([column for name in list(rows[0])[2:] for column in encoded(rows, name)]))
    claims = torch.tensor([[float(row["ui"] == "yes")] for row in rows], dtype=torch.float64)
    members = defaultdict(list)
    for number, row in enumerate(rows):
        members[row["state"]].append(number)
    return {state: [(features[numbers], claims[numbers])] for state, numbers in members.items()}


def encoded(rows, name):
    """A column of numbers, or zeros and ones for each word but the first; with mean zero and variance one."""
    words = [row[name] for row in rows]
    try:
        columns = [np.array(words, dtype=float)]
    except ValueError:
        columns = [np.array([word == level for word in words], dtype=float) for level in sorted(set(words))[1:]]
    return [(column - column.mean()) / column.std() for column in columns]


def curvature(user, x, iterations=10, width=1e-4):
    """The largest curvature at a point, in absolute value. A diagnostic: two gradients an iteration, not billed."""
    direction = np.random.default_rng(0).normal(size=len(x))
    for _ in range(iterations):
        direction /= np.linalg.norm(direction)
        direction = (user.gradient(x + width * direction) - user.gradient(x - width * direction)) / (2 * width)
    return float(np.linalg.norm(direction))


def objective(users, x):
    """The mean loss over states. A diagnostic: not billed."""
    return np.mean([user.value(x) for user in users])


def losses(users, method, smoothness, step_size, seed):
    """The loss after each of the budgets; infinite where the run diverged before."""
    reached = dict.fromkeys(BUDGETS, np.inf)

    def look(session):
        if session.queries in reached:
            reached[session.queries] = objective(users, session.point)

    settings = {"smoothness": smoothness, "step_size": step_size, "budget": max(BUDGETS), "seed": seed}
    try:
        sgq.minimize(users, users.start, method, callback=look, **settings)
    except FloatingPointError:  # the loss is no number any more
        pass
    return list(reached.values())


def tuned(users, method, smoothness):
    """For each budget the mean loss and its standard deviation over seeds, and the step size which that took."""
    runs = np.array([[losses(users, method, smoothness, step, seed) for seed in SEEDS] for step in STEP_SIZES])
    best = runs.mean(axis=1).argmin(axis=0)
    chosen = [runs[step, :, budget] for budget, step in enumerate(best)]
    return [(some.mean(), some.std(ddof=1), STEP_SIZES[step]) for some, step in zip(chosen, best)]


def main():
    torch.set_num_threads(1)  # so small a network gains nothing from more
    torch.manual_seed(0)
    data = states()
    width = next(iter(data.values()))[0][0].shape[1]
    model = nn.Sequential(nn.Linear(width, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1)).double()
    users = Users(model, data, nn.BCEWithLogitsLoss(), l2=1e-3)
    estimated = np.array([curvature(user, users.start) for user in users])
    far = sgq.minimize(users, users.start, "saga", step_size=0.25, budget=30_000)
    print(f"{len(users)} states, {len(users.start)} parameters")
    start = objective(users, users.start)
    print(f"mean loss at the start {start:.4f}, after {far.queries} queries of SAGA {far.fun:.4f}")
    print(f"L_i estimated at the start (not billed): {estimated.min():.2f} to {estimated.max():.2f}")
    print(f"mean loss ± standard deviation over {len(SEEDS)} seeds, and the step size tuned for it:")
    print(f"  {'queries':19}" + "".join(f"{budget:^28}" for budget in BUDGETS))
    for label, method, smoothness in [
        ("SGD", "sgd", None),
        ("shuffled SGD", "shuffled-sgd", None),
        ("GraB", "grab", None),
        ("SAGA", "saga", None),
        ("SGQ", "sgq", estimated),
        ("SGQ, L = 1", "sgq", 1.0),
        ("SAGA + SGQ", "saga-sgq", estimated),
        ("SAGA + SGQ, L = 1", "saga-sgq", 1.0),
    ]:
        best = tuned(users, method, smoothness)
        cells = (f"{mean:.4f} ± {deviation:.4f} at {step:g}" for mean, deviation, step in best)
        print(f"  {label:19}" + "".join(f"{cell:^28}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
