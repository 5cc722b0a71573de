"""A regression over users in one call, with the table that a statistician expects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal
from warnings import warn

from . import _sgq
from ._glm_result import GlmResult
from ._tables import source


def glm(
    formula: str,
    data: str | os.PathLike[str] | Mapping[str, Any] | Any,
    *,
    user: str,
    family: str | None = None,
    weigh: Literal["rows", "users"] = "rows",
    l2: float = 0.0,
    weights: str | None = None,
    close: bool = True,
    std_errors: Literal["model", "clustered"] = "model",
    method: str | None = None,
    budget: int | None = None,
    precision: float | None = None,
    answers: Literal["gradient", "loss", "hessian"] = "gradient",
    open: int = 1,
    seed: int = 0,
    step_size: float | Literal["auto", "theory"] = "auto",
    method_options: Mapping[str, Any] | None = None,
    drop_missing: bool = True,
    standardise: bool = True,
    diagnostics: bool = True,
) -> GlmResult:
    """Fits a regression by asking one user at a time for the gradient on its rows: R's `glm` on all rows, with fewer questions.

    It is what `sgq fit` does, with the same answer. All data are in one place, so that this is a simulation: questions are counted
    user by user, as in a real run.

    formula: the model as in R, such as `"died ~ age + sex * ward + offset(log(days))"`.
    data: the path of a CSV file (plain or gzip), a frame of pandas or polars, or a dict of columns. A column is a factor where it is
        text (codes such as "1" too) or a category, or where the formula says `factor(ward)`. Levels are in sorted order, whatever
        order a category has, and the first is the reference; `factor(ward, ref="b")` takes another.
    user: the column that says whose row it is.
    family: "gaussian", "binomial", "poisson", "negbin:THETA", "gamma" (log link), "huber" or "huber:DELTA"; without it binomial where the
        target has two levels, else gaussian.
    weigh: "rows" count alike, as in the pooled fit; or "users", however many rows each has.
    l2: a penalty on the mean loss, on standardised coefficients and never on the intercept.
    weights: a column that says how much each row counts: R's prior weights, statsmodels' `var_weights`.
    close: whether every user is asked one more question at the end, which makes standard errors, deviance and AIC exact. Without it
        standard errors are learned from gradients and approximate, and there is no deviance.
    std_errors: "model", as if the family were the truth and rows independent; or "clustered" by user.
    method: a name of `sgq.methods()`; by default frugal, and saga for more than 100,000 users. `method_options` are its settings.
    budget: the most queries; 500, or 10 for each user where that is more.
    precision: stops once every coefficient is believed to be within so many standard errors of the finished fit; 0.01 where the method
        can tell. Give 1e-6 to compare with other programs digit by digit.
    answers: how much users are asked to say at most.
    open: how many questions may be out at once.
    seed: the same seed gives the same result.
    step_size: for methods that have one.
    drop_missing: leaves out rows with a missing value, and counts them; otherwise they are an error.
    standardise: whether the method sees columns of mean 0 and standard deviation 1. Coefficients are those of the columns as they are in
        any case.
    diagnostics: looks for collinear columns and separation, which takes all data in one place; a real run cannot do that.

    Raises ValueError where the formula or the data are wrong, or coefficients do not exist, and warns (RuntimeWarning) where the run
    stopped early. Ctrl-C raises KeyboardInterrupt with the unfinished fit as its attribute `result`.

    >>> import sgq
    >>> hospitals = {"died": [0, 0, 1, 0, 0, 1, 0, 1], "age": [3, 4, 5, 6, 4, 6, 7, 8], "hospital": ["a"] * 4 + ["b"] * 4}
    >>> result = sgq.glm("died ~ age", hospitals, user="hospital", precision=1e-6)
    >>> result.params.round(2).to_dict(), result.bse.round(2).to_dict(), round(result.aic, 2)
    ({'intercept': -4.55, 'age': 0.73}, {'intercept': 3.52, 'age': 0.6}, 12.67)
    """
    path, text, text_columns = source(data)
    told, interrupted = _sgq.glm(
        path, text, text_columns, formula, user, family, weigh, float(l2), weights, close, std_errors, drop_missing, standardise,
        diagnostics, method, None if method_options is None else dict(method_options), step_size, budget, precision, answers, open,
        seed,
    )  # fmt: skip
    result = GlmResult(told)
    if interrupted:
        stopped = KeyboardInterrupt("the unfinished fit is in the attribute result")
        stopped.result = result  # type: ignore[attr-defined]
        raise stopped
    if result.diverged:
        remedy = 'take method="saga"' if result.fit["settings"]["step_size"] is None else "give a smaller step_size"
        raise ValueError(f"the fit {result.stop}, and its coefficients mean nothing: {remedy}")
    if result.converged is False:
        off = result.believed_off
        far = "" if off is None else f": coefficients are believed to be up to {off:.2g} standard errors off"
        warn(f"{result.stop} before the fit has converged{far}; give a larger budget", RuntimeWarning, stacklevel=2)
    return result
