"""The table of docs/fit.md: the gap that is left after 4 and after 10 queries for each user, by method.

    python3 scripts/datasets.py
    cargo build --release
    python3 scripts/fit_table.py

In percent of the gap at the start, the median over five seeds of `sgq fit` with its own step sizes.
"""

import json
import statistics
import subprocess
import tempfile
import tomllib

SGQ = "target/release/sgq"
METHODS = ["frugal", "saga", "saga-sgq", "l-bfgs", "shuffled-sgd", "sgq"]
SETS = ["medpar", "exam", "contraception", "radon", "epilepsy", "grouseticks"]


def fit(problem, method, queries, seed, folder):
    """One fit as JSON."""
    command = [SGQ, "fit", problem["file"].removeprefix("../"), "--user", problem["user"], "--target", problem["target"]]
    command += ["--family", problem["loss"], "--method", method, "--seed", str(seed), "--tol", "off"]
    command += ["--budget", str(queries), "--json", "--quiet", "--force", "--out", folder]
    for option in ["features", "exclude", "factors"]:
        if option in problem:
            command += [f"--{option}", ",".join(problem[option])]
    # A fit that diverges says so on standard output, and fails.
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if not run.stdout:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def written(part):
    """A part in percent, two digits of it."""
    if part is None:
        return "diverged"
    percent = 100 * max(part, 0.0)
    return f"{percent:.0f}" if percent >= 10 else f"{percent:.1g}" if percent < 0.1 else f"{percent:.1f}"


def main():
    with open("experiments/grouped.toml", "rb") as file:
        problems = {problem["name"]: problem for problem in tomllib.load(file)["problem"]}
    print(f"| method | {' | '.join(name + (' (Poisson)' if problems[name]['loss'] == 'poisson' else '') for name in SETS)} |")
    print("|---" * (len(SETS) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            cells = []
            for name in SETS:
                users = fit(problems[name], method, 1, 0, folder)["problem"]["users"]
                parts = []
                for each in [4, 10]:
                    fits = [fit(problems[name], method, each * users, seed, folder) for seed in range(5)]
                    gaps = [one["diagnostic"]["relative_gap"] for one in fits]
                    parts.append(None if None in gaps else statistics.median(gaps))
                cells.append(" / ".join(map(written, parts)))
            print(f"| `{method}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
