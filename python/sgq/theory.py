"""What theory guarantees for a method on a problem, and what not."""

from __future__ import annotations

import json
import os
from typing import Any

from numpy.typing import ArrayLike

from ._run import StepSize, on_problem
from ._sgq import Experiment, Problem

__all__ = ["certify"]


def certify(
    what: str | os.PathLike[str] | Problem,
    method: str | None = None,
    *,
    x0: ArrayLike | None = None,
    step_size: StepSize | None = None,
    region: str = "sublevel",
    samples: int = 1000,
    seed: int = 0,
    **options: Any,
) -> dict[str, Any]:
    """What `sgq certify --json` prints, as a dict: which of the paper's assumptions hold on the region, each constant and where
    it comes from, the largest step that the method's theorem allows, and the rate and floor that follow.

    For a problem: of one method, "sgq" unless another is named, its settings as keywords. For the path of an experiment's
    file ("fig1" and "fig2" are the paper's): a dict with one such certificate for each method of it, under "certificates".
    Regions: "sublevel" (no worse than the start), "ball:5", "ball:5@1,2", "box:-5..5", "trajectory". Nobody is asked anything.

    >>> import sgq
    >>> toy = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])
    >>> certificate = sgq.theory.certify(toy, "sgd", x0=[5.0], step_size=0.015)
    >>> certificate["guaranteed"], certificate["L"], certificate["mu"]
    (True, 2.0, 2.0)
    """
    if isinstance(what, Problem):
        named = {"method": method or "sgq", **options}
        rule = "auto" if step_size is None else step_size
        experiment = on_problem(what, [named], x0, rule, 1, 400, seed, False, "problem", (1.0, 0.1))
        found: dict[str, Any] = json.loads(experiment.certify(region, samples, seed))["certificates"][0]
        return found
    said = [name for name, given in [("x0", x0), ("step_size", step_size), *options.items()] if given is not None]
    if said:
        raise TypeError(f"{', '.join(said)}: that is the file's to say, of every problem and method")
    experiment = Experiment.read(what, [], [method] if method else [], None, None, None)
    whole: dict[str, Any] = json.loads(experiment.certify(region, samples, seed))
    return whole
