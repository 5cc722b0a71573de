"""A fit in words: the table that statsmodels prints, as text and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._glm_result import GlmResult

TITLE = "Generalized Linear Model Regression Results, over users"

WIDTH = 78

# Of a number in the table of coefficients.
CELL = 11

# Users that matter too much, of whom this many are named.
MOST_FLAGGED = 3

FAMILIES = {
    "gaussian": ("Gaussian", "identity"),
    "binomial": ("Binomial", "logit"),
    "poisson": ("Poisson", "log"),
    "negbin": ("NegativeBinomial", "log"),
    "gamma": ("Gamma", "log"),
    "huber": ("Huber", "identity"),
}


class Summary(str):
    """Text that a console shows as it is printed."""

    def __repr__(self) -> str:
        return str(self)


def table(result: GlmResult, lower: list[float], upper: list[float], alpha: float) -> Summary:
    """The whole summary."""
    lines = [TITLE.center(WIDTH).rstrip(), "=" * WIDTH]
    for (name, value), (other, told) in zip(*facts(result)):
        lines.append(f"{_pair(name, value, 37)}   {_pair(other, told, 38)}".rstrip())
    lines.append("=" * WIDTH)
    heads = ["coef", "std err", "z", "P>|z|", f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"]
    rows = list(coefficients(result, lower, upper))
    room = max([WIDTH - CELL * len(heads), *(len(name) for name, _ in rows)])
    width = room + CELL * len(heads)
    lines.append(" " * room + "".join(f"{head:>{CELL}}" for head in heads))
    lines.append("-" * width)
    lines += [f"{name:<{room}}" + "".join(f"{cell:>{CELL}}" for cell in cells) for name, cells in rows]
    lines.append("=" * width)
    for remark in remarks(result):
        lines += wrap(remark, WIDTH, break_long_words=False)
    return Summary("\n".join(lines))


def coefficients(result: GlmResult, lower: list[float], upper: list[float]) -> Iterator[tuple[str, list[str]]]:
    """Each coefficient's name, and what stands beside it."""
    for line, low, high in zip(result.fit["coefficients"], lower, upper):
        error, z, p = line.get("std_error"), line.get("z"), line.get("p")
        yield line["name"], [_number(line["estimate"]), _error(error), _z(z), _z(p), _error(low), _error(high)]


def facts(result: GlmResult) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What stands above the coefficients, left and right: as many on both sides."""
    fit, kind = result.fit, result.family.split(":")
    name, link = FAMILIES.get(kind[0], (result.family, ""))
    parameter = f"({kind[1]})" if len(kind) > 1 else ""
    df = result.df_resid
    slopes = [line for place, line in enumerate(fit["coefficients"]) if place or line["name"] != "intercept"]
    left = [
        ("Dep. Variable:", str(fit["target"])),
        ("Model Family:", name + parameter),
        ("Link Function:", link),
        ("Method:", str(fit["method"])),
        ("Converged:", {True: "yes", False: "NO", None: "not known"}[result.converged]),
        ("Covariance Type:", result.std_error_kind or "none"),
        ("No. Users:", str(result.users)),
        ("No. Answers:", str(result.queries)),
    ]
    right = [
        ("No. Observations:", str(result.rows)),
        ("Df Residuals:", "" if df is None else str(df)),
        ("Df Model:", str(len(slopes))),
        ("Scale:", _fact(result.scale)),
        ("Log-Likelihood:", _fact(result.llf)),
        ("Null Deviance:", _fact(result.null_deviance)),
        ("Deviance:", _fact(result.deviance)),
        ("AIC:", _fact(result.aic)),
    ]
    return left, right


def remarks(result: GlmResult) -> list[str]:
    """What stands below the coefficients."""
    fit = result.fit
    lines = []
    if result.interrupted or result.diverged or result.converged is False:
        lines.append(f"NOT CONVERGED: {result.stop}.")
    weighing = {"rows": "Rows count alike", "users": "Users count alike, however many rows each has"}[fit["weigh"]]
    penalty = "no penalty" if fit["l2"] == 0 else f"a penalty of {fit['l2']} on standardised coefficients"
    lines.append(f"{weighing}, {penalty}.")
    target = fit["encoding"]["target"]
    if isinstance(target, dict) and "levels" in target:
        lines.append(f"Probability of {fit['target']} = {target['levels']['positive']}.")
    for factor in fit.get("reference_levels") or []:
        lines.append(f"Reference level of {factor['column']}: {factor['level']}.")
    if result.rows_missing:
        missing = ", ".join(f"{line['column']} {line['rows']}" for line in fit.get("missing_by_column") or [])
        lines.append(f"{result.rows_missing} rows left out with missing values" + (f" ({missing})." if missing else "."))
    closing = f" and {fit['closing_answers']} to the closing one" if fit["closing_answers"] else ""
    lines.append(f"Besides {result.queries} answers, {fit['first_answers']} to a first question{closing}.")
    if result.believed_off is not None:
        lines.append(f"Coefficients are believed to be off by {result.believed_off:.2g} standard errors at most.")
    influence = fit.get("influence") or {"largest": []}
    for line in [line for line in influence["largest"] if line["flagged"]][:MOST_FLAGGED]:
        words = f"{line['user']} alone determines {line['coefficient']}."
        if line["in_std_errors"] is not None:
            words = f"Without {line['user']}, {line['coefficient']} would change by {line['in_std_errors']:+.1f} standard errors."
        lines.append(words)
    if result.std_error_kind is None:
        lines += [f"No standard errors: {note}." for note in result.notes]
    else:
        lines += [f"Note: {note}." for note in result.notes]
    return lines


def fragment(result: GlmResult, lower: list[float], upper: list[float]) -> str:
    """A table for a notebook."""
    heads = ["", "coef", "std err", "z", "P&gt;|z|", "[0.025", "0.975]"]
    rows = ["<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"]
    for name, cells in coefficients(result, lower, upper):
        rows.append(f"<tr><th>{escape(name)}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    left, right = facts(result)
    told = ", ".join(f"{escape(name.rstrip(':'))} {escape(value)}" for name, value in left + right if value)
    notes = "".join(f"<br>{escape(note)}" for note in remarks(result))
    return f"<p><code>{escape(result.formula)}</code></p><table>{''.join(rows)}</table><p><small>{told}{notes}</small></p>"


def _pair(name: str, value: str, width: int) -> str:
    space = width - len(name)
    return f"{name}{value:>{space}}" if len(value) < space else f"{name} {value}"


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.3e}"


def _error(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return f"{value:.3f}" if 1e-2 <= abs(value) < 1e5 or value == 0 else f"{value:.2e}"


def _z(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.3f}"


def _fact(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
