"""Experiments: many methods on problems, and how many queries each needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._sgq import Experiment, Problem

Columns = dict[str, NDArray[Any]]
StepSize = float | Literal["auto", "theory"]


def run(
    what: str | os.PathLike[str] | Problem | Mapping[str, Problem],
    methods: Sequence[str | Mapping[str, Any]] | None = None,
    *,
    x0: ArrayLike | None = None,
    step_size: StepSize | None = None,
    trials: int | None = None,
    budget: int | None = None,
    seed: int | None = None,
    relative: bool = False,
    problems: Sequence[str] | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Columns:
    """Runs methods on problems, many trials each, and returns the mean gap after 0, 1, 2 … queries as a dict of columns.

    `what` is a problem, a dict of them by name, or the path of an experiment's TOML file; "fig1" and "fig2" are the paper's.
    For a file, `methods` and `problems` keep only some of it, and the numbers given here replace those in it.

    For a problem, a method is a name of `sgq.methods()`, two parts such as "shuffled + saga", or a dict such as
    `{"method": "sgq", "p": 0.1, "step_size": 0.02, "name": "SGQ, p = 0.1"}`. All start at `x0` (zero, where there is none);
    `step_size` is "auto" unless something is said; 20 trials, 500 queries, and seed 0. With `relative` gaps are parts of the
    gap at the start.

    The columns: problem, method, queries, gap, gap_sem (its standard error over the trials), step_size, diverged (how many
    trials did), sees_more (what the method looks at without paying for it: empty for all that could really be run). Gaps are
    diagnostic and not billed. The same seed gives the same numbers, whatever the number of threads.
    `progress` is called with the trials done and their total, now and then and at the end. Ctrl-C raises
    KeyboardInterrupt with the finished curves as its attribute `columns`.

    >>> import sgq
    >>> toy = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])
    >>> curves = sgq.run(toy, ["sgd", "sgq"], x0=[5.0], step_size=0.015, trials=50, budget=100)
    >>> sorted(set(curves["method"].tolist())), curves["gap"][0].item()
    (['sgd', 'sgq'], 25.0)
    """
    if isinstance(what, (str, os.PathLike)):
        for name, given in [("x0", x0), ("step_size", step_size), ("relative", relative or None)]:
            if given is not None:
                raise TypeError(f"{name} is the file's to say: {os.fspath(what)} has it for every problem and method")
        names = _chosen("methods", methods)
        experiments = [Experiment.read(what, _chosen("problems", problems), names, trials, budget, seed)]
    else:
        named = {"problem": what} if isinstance(what, Problem) else what
        if not isinstance(named, Mapping):
            raise TypeError(f"a {type(what).__name__} cannot be run: give a problem, a dict of them by name, or a file")
        if not named:
            raise ValueError("there are no problems: give at least one")
        if problems is not None:
            raise TypeError("problems is for files: give a dict with only those that are wanted")
        if methods is None:
            raise TypeError("methods is missing: give a list of names (sgq.methods() has them)")
        methods = methods if isinstance(methods, (str, Mapping)) else list(methods)
        # Zero is a mistake, and not the same as nothing said.
        step_size = "auto" if step_size is None else step_size
        trials = 20 if trials is None else trials
        budget = 500 if budget is None else budget
        experiments = [
            on_problem(problem, methods, x0, step_size, trials, budget, seed or 0, relative, name)
            for name, problem in named.items()
        ]
    curves: list[Any] = []
    finished = True
    for before, experiment in enumerate(experiments):
        rows, finished = experiment.run(progress and _overall(progress, before, len(experiments)))
        curves += rows
        if not finished:
            break
    columns = _columns(curves)
    if not finished:
        interrupted = KeyboardInterrupt("the finished curves are in the attribute columns")
        interrupted.columns = columns  # type: ignore[attr-defined]
        raise interrupted
    return columns


def queries_to(columns: Mapping[str, ArrayLike], targets: Sequence[float]) -> Columns:
    """The first number of queries after which the mean gap is at each target, from the columns of `sgq.run`.

    The columns: problem, method, target, queries (NaN where the target was not reached).

    >>> import sgq
    >>> curves = sgq.run("fig1", trials=20)
    >>> table = sgq.queries_to(curves, [10, 0.1])
    >>> table["target"][:2].tolist(), bool((table["queries"][:2] > 0).all())
    ([10.0, 0.1], True)
    """
    gap, queries = np.asarray(columns["gap"]), np.asarray(columns["queries"])
    out: dict[str, list[Any]] = {"problem": [], "method": [], "target": [], "queries": []}
    for problem, method, rows in curves_of(columns):
        for target in targets:
            # The least, and not the first row: a frame may have been sorted by something else.
            reached = queries[rows][gap[rows] <= target]
            first = float(reached.min()) if len(reached) else np.nan
            for name, value in zip(out, (problem, method, float(target), first)):
                out[name].append(value)
    kinds = {"problem": "U", "method": "U", "target": "f8", "queries": "f8"}
    return {name: np.array(values, kinds[name]) for name, values in out.items()}


def curves_of(columns: Mapping[str, ArrayLike]) -> list[tuple[str, str, NDArray[np.int64]]]:
    """Each curve's problem, method, and rows among the columns, in order of appearance."""
    keys = list(zip(np.asarray(columns["problem"]).tolist(), np.asarray(columns["method"]).tolist()))
    rows: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return [(problem, method, np.array(at)) for (problem, method), at in rows.items()]


def on_problem(
    problem: Problem,
    methods: Sequence[str | Mapping[str, Any]],
    x0: ArrayLike | None,
    step_size: StepSize,
    trials: int,
    budget: int,
    seed: int,
    relative: bool,
    name: str,
    targets: Sequence[float] = (),
) -> Experiment:
    if isinstance(methods, (str, Mapping)):
        raise TypeError(f"methods is {methods!r}: give a list of methods")
    if not isinstance(problem, Problem):
        raise TypeError(f"{name} is a {type(problem).__name__}: make a problem with sgq.problems")
    start = np.zeros(problem.dim) if x0 is None else x0
    given = [_method(method, step_size) for method in methods]
    return Experiment.on(problem, name, start, given, trials, budget, seed, relative, list(targets))


def _chosen(what: str, names: Sequence[Any] | None) -> list[str]:
    """Names of what to keep of a file; none where all of it is wanted."""
    if names is None:
        return []
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what} is {names!r}: give a list of names that the file has")
    if not len(names):
        raise ValueError(f"there are no {what}: give at least one, or leave it out to keep all")
    return list(names)


def _overall(progress: Callable[[int, int], Any], before: int, parts: int) -> Callable[[int, int], None]:
    """Counts the trials of all parts, which have equally many."""

    def tell(done: int, total: int) -> None:
        progress(before * total + done, parts * total)

    return tell


def _method(method: str | Mapping[str, Any], step_size: StepSize) -> tuple[str, str, StepSize, dict[str, Any]]:
    if isinstance(method, str):
        return method, method, step_size, {}
    if not isinstance(method, Mapping):
        raise TypeError(f"{method!r} is not a method: give its name, or a dict with its name under \"method\"")
    options = dict(method)
    try:
        base = options.pop("method")
    except KeyError:
        raise ValueError(f"{method!r} has no \"method\": name one, or two parts such as \"shuffled + saga\"") from None
    return options.pop("name", base), base, options.pop("step_size", step_size), options


def _columns(curves: Sequence[Any]) -> Columns:
    lengths = np.array([len(curve[5]) for curve in curves], int)

    def repeated(field: int, kind: str) -> NDArray[Any]:
        return np.repeat(np.array([curve[field] or "" if kind == "U" else curve[field] for curve in curves], kind), lengths)

    def joined(field: int) -> NDArray[np.float64]:
        return np.concatenate([curve[field] for curve in curves]) if curves else np.array([])

    return {
        "problem": repeated(0, "U"),
        "method": repeated(1, "U"),
        "queries": np.concatenate([np.arange(length) for length in lengths]) if curves else np.array([], int),
        "gap": joined(5),
        "gap_sem": joined(6),
        "step_size": repeated(3, "f8"),
        "diverged": repeated(4, "i8"),
        "sees_more": repeated(2, "U"),
    }
