#!/usr/bin/env python3
"""The tables of docs/fit.md: `sgq fit` beside statsmodels on the benchmark's data sets.

    python3 scripts/datasets.py
    python3 scripts/glm_table.py

For each data set, all rows counting alike and no penalty:

- with `--close` and `--precision 1e-6`: the largest difference to statsmodels' GLM of coefficients, in standard errors; of
  standard errors, by the model and clustered by user, relative; of the deviance and of AIC, relative.
- with gradients alone, and without a closing question, five seeds: how far the standard errors are off, relative, the median and
  the largest over coefficients and seeds; and how often an interval of 95% with such an error covers, were estimates normal.
- how many answers users gave until `sgq fit` stopped, with gradients and with Hessians, the median of five seeds; and Fisher
  scoring from the same start, with an answer of each user in each round: until coefficients were in truth within 0.01 standard errors, and
  until its deviance changed by less than 1e-8 of it, as in ds.glm.
"""

import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib

from environment import ROOT, Failure, build, python_with

REQUIREMENTS = ROOT / "scripts" / "glm-requirements.txt"
ENVIRONMENT = ROOT / ".venv-glm"
SEEDS = range(5)
FAMILIES = {"squares": "gaussian", "logistic": "binomial", "poisson": "poisson"}


def main():
    if sys.argv[1:2] == ["--statsmodels"]:
        return reference(json.loads(sys.argv[2]))
    python = python_with(REQUIREMENTS, ENVIRONMENT)
    sgq = build("sgq", ["--package", "sgq-cli"])
    with open(ROOT / "experiments" / "grouped.toml", "rb") as file:
        problems = tomllib.load(file)["problem"]
    exact, learned, answers = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems:
            print(f"{problem['name']} ...", file=sys.stderr)
            rows = measured(sgq, python, problem, folder)
            exact.append(rows[0])
            learned.append(rows[1])
            answers.append(rows[2])
    for heading, rows in [
        ("data set | users | rows | coefficients | standard errors, model | clustered | deviance | AIC", exact),
        ("data set | model: median | largest | coverage | clustered: median | largest | coverage", learned),
        ("data set | users | gradients | Hessians | Fisher scoring, within 0.01 | by its own rule", answers),
    ]:
        print(f"\n| {heading} |")
        print("|---" * (heading.count("|") + 1) + "|")
        for row in rows:
            print(f"| {' | '.join(row)} |")


def fit(sgq, problem, folder, *more):
    """One fit as JSON."""
    command = [sgq, "fit", ROOT / "data" / problem["file"].rsplit("/", 1)[-1], "--user", problem["user"]]
    command += ["--target", problem["target"], "--family", problem["loss"], "--json", "--quiet", "--force", "--out", folder]
    for option in ["features", "exclude", "factors"]:
        if problem.get(option):
            command += [f"--{option}", ",".join(problem[option])]
    run = subprocess.run([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise Failure(f"{problem['name']}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def measured(sgq, python, problem, folder):
    """The three rows of a data set."""
    problem = without_hopeless_columns(sgq, dict(problem), folder)
    tight = ["--precision", "1e-6", "--budget", "1000000", "--close"]
    model, clustered = fit(sgq, problem, folder, *tight), fit(sgq, problem, folder, *tight, "--errors", "clustered")
    names = [line["name"] for line in model["coefficients"]]
    told = {**problem, "names": names, "root": str(ROOT)}
    run = subprocess.run([python, __file__, "--statsmodels", json.dumps(told)], stdout=subprocess.PIPE, text=True, check=True)
    theirs = json.loads(run.stdout)
    ours = {key: [line[key] for line in model["coefficients"]] for key in ["estimate", "std_error"]}
    ours["clustered"] = [line["std_error"] for line in clustered["coefficients"]]
    off = max(abs(a - b) / e for a, b, e in zip(ours["estimate"], theirs["params"], theirs["model"], strict=True))
    exact = [problem["name"], str(model["users"]), str(model["rows"]), f"{off:.0e} SE"]
    exact += [f"{largest(ours['std_error'], theirs['model']):.0e}", f"{largest(ours['clustered'], theirs['clustered']):.0e}"]
    exact += [f"{abs(model[key] / theirs[key] - 1):.0e}" for key in ["deviance", "aic"]]
    errors = {"model": [], "clustered": []}
    for kind, all_errors in errors.items():
        for seed in SEEDS:
            found = fit(sgq, problem, folder, "--errors", kind, "--seed", str(seed), "--budget", "100000")
            if (found["std_error_kind"] or "").startswith(kind):
                pairs = zip([line["std_error"] for line in found["coefficients"]], theirs[kind], strict=True)
                all_errors += [a / b for a, b in pairs]
    learned = [problem["name"]]
    for ratios in errors.values():
        if not ratios:
            learned += ["–", "–", "–"]
            continue
        offs = sorted(abs(ratio - 1) for ratio in ratios)
        coverage = statistics.mean(math.erf(1.959964 * ratio / math.sqrt(2)) for ratio in ratios)
        learned += [f"{100 * statistics.median(offs):.0f}%", f"{100 * offs[-1]:.0f}%", f"{100 * coverage:.0f}%"]
    counts = []
    for detail in ["gradient", "hessian"]:
        queries = [fit(sgq, problem, folder, "--answers", detail, "--seed", str(s), "--budget", "100000")["queries"] for s in SEEDS]
        counts.append(f"{statistics.median(queries):.0f}")
    answers = [problem["name"], str(model["users"]), *counts, *(str(rounds * model["users"]) for rounds in theirs["rounds"])]
    return exact, learned, answers


def largest(ours, theirs):
    """The largest relative difference."""
    return max(abs(a / b - 1) for a, b in zip(ours, theirs, strict=True))


def without_hopeless_columns(sgq, problem, folder):
    """Leaves out what `sgq fit` refuses by name: columns that never change, and those that separate the rows."""
    problem["exclude"] = list(problem.get("exclude", []))
    while True:
        try:
            fit(sgq, problem, folder, "--budget", "1")
            return problem
        except Failure as failure:
            words = str(failure)
            constant = re.search(r"say nothing: leave out (.*)", words)
            separating = re.search(r"no finite coefficients .*? the coefficient of ([^ =]+)", words)
            if constant:
                columns = [name.strip(' "') for name in constant[1].split(",")]
            elif separating:
                columns = [separating[1]]
            else:
                raise
            print(f"  without {', '.join(columns)}: {words}", file=sys.stderr)
            problem["exclude"] += columns


def reference(problem):
    """What statsmodels finds, as JSON: in the environment that has it."""
    import numpy as np
    import pandas as pd
    import statsmodels.api as sm

    data = pd.read_csv(f"{problem['root']}/data/{problem['file'].rsplit('/', 1)[-1]}", dtype=str, keep_default_na=False)
    missing = ["", ".", "NA", "N/A", "NaN", "null"]
    used = {name.split("=")[0] for name in problem["names"] if name != "intercept"}
    used |= {problem["user"], problem["target"]}
    data = data[~data[sorted(used)].isin(missing).any(axis=1)]
    columns = []
    for name in problem["names"]:
        column, _, level = name.partition("=")
        if name == "intercept":
            columns.append(np.ones(len(data)))
        elif level:
            columns.append((data[column] == level).to_numpy(dtype=float))
        else:
            columns.append(data[name].to_numpy(dtype=float))
    X = np.column_stack(columns)
    y = data[problem["target"]]
    if problem["loss"] == "logistic":
        levels = sorted(y.unique(), key=lambda text: (float(text), text) if is_number(text) else (0.0, text))
        y = (y == levels[-1]).to_numpy(dtype=float)
    else:
        y = y.to_numpy(dtype=float)
    family = {"squares": sm.families.Gaussian, "logistic": sm.families.Binomial, "poisson": sm.families.Poisson}
    model = sm.GLM(y, X, family=family[problem["loss"]]())
    found = model.fit(tol=1e-14, maxiter=200)
    groups = pd.factorize(data[problem["user"]])[0]
    clustered = model.fit(tol=1e-14, maxiter=200, cov_type="cluster", cov_kwds={"groups": groups})
    result = {"params": list(found.params), "model": list(found.bse), "clustered": list(clustered.bse)}
    result |= {"deviance": float(found.deviance), "aic": float(found.aic), "rounds": fisher_rounds(X, y, problem["loss"], found)}
    print(json.dumps(result))


def is_number(text):
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def fisher_rounds(X, y, loss, found):
    """Rounds of Fisher scoring from the null model: until it is within 0.01 standard errors, and until it stops."""
    import numpy as np

    mean = float(y.mean())
    beta, before, within = np.zeros(X.shape[1]), None, None
    beta[0] = {"squares": mean, "logistic": math.log(mean / (1 - mean)) if 0 < mean < 1 else 0.0, "poisson": math.log(max(mean, 1e-9))}[loss]
    for answered in range(1, 26):
        z = X @ beta
        if loss == "squares":
            mu, weight, deviance = z, np.ones_like(z), float(np.sum((y - z) ** 2))
        elif loss == "logistic":
            mu = 1 / (1 + np.exp(-z))
            weight, deviance = mu * (1 - mu), 2 * float(np.sum(np.logaddexp(0, z) - y * z))
        else:
            mu = np.exp(z)
            ylog = np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0)
            weight, deviance = mu, 2 * float(np.sum(ylog - y * z - y + mu))
        if before is not None and abs(deviance - before) / (abs(deviance) + 0.1) < 1e-8:
            return within or answered, answered
        before = deviance
        beta = beta + np.linalg.solve(X.T @ (weight[:, None] * X), X.T @ (y - mu))
        if within is None and np.all(np.abs(beta - found.params) <= 0.01 * found.bse):
            within = answered
    return within or 25, 25


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"error: {failure}")
