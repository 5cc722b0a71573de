"""A fit in words: the table that statsmodels prints, as text and as HTML."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._glm_result import GlmResult

WIDTH = 78

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
    lines = [title(result).center(WIDTH).rstrip(), "=" * WIDTH]
    left, right = facts(result)
    left += [("", "")] * (len(right) - len(left))
    right += [("", "")] * (len(left) - len(right))
    for (name, value), (other, told) in zip(left, right):
        lines.append(f"{_pair(name, value, 37)}   {_pair(other, told, 38)}".rstrip())
    lines.append("=" * WIDTH)
    names = [line["name"] for line in result.fit["coefficients"]]
    widest = max(map(len, names), default=0)
    room = max(widest, WIDTH - 6 * 11 + 0)
    heads = ["coef", "std err", "z", "P>|z|", f"[{_short(alpha / 2)}", f"{_short(1 - alpha / 2)}]"]
    lines.append(" " * room + "".join(f"{head:>11}" for head in heads))
    lines.append("-" * (room + 66))
    for line, low, high in zip(result.fit["coefficients"], lower, upper):
        cells = [_number(line["estimate"]), _error(line.get("std_error")), _z(line.get("z")), _p(line.get("p")), _error(low), _error(high)]
        lines.append(f"{line['name']:<{room}}" + "".join(f"{cell:>11}" for cell in cells))
    lines.append("=" * (room + 66))
    for note in remarks(result):
        lines.append(note)
    return Summary("\n".join(lines))


def title(result: GlmResult) -> str:
    return "Generalized Linear Model Regression Results, over users"


def facts(result: GlmResult) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What stands above the coefficients, left and right."""
    fit, kind = result.fit, result.family.split(":")
    name, link = FAMILIES.get(kind[0], (result.family, ""))
    parameter = f"({kind[1]})" if len(kind) > 1 else ""
    df = result.df_resid
    coefficients = len(fit["coefficients"])
    intercept = int(bool(fit["coefficients"]) and fit["coefficients"][0]["name"] == "intercept")
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
        ("Df Model:", str(coefficients - intercept)),
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
    for line, low, high in zip(result.fit["coefficients"], lower, upper):
        cells = [_number(line["estimate"]), _error(line.get("std_error")), _z(line.get("z")), _p(line.get("p")), _error(low), _error(high)]
        rows.append(f"<tr><th>{escape(line['name'])}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    left, right = facts(result)
    told = ", ".join(f"{escape(name.rstrip(':'))} {escape(value)}" for name, value in left + right if value)
    notes = "".join(f"<br>{escape(note)}" for note in remarks(result))
    return f"<p><code>{escape(result.formula)}</code></p><table>{''.join(rows)}</table><p><small>{told}{notes}</small></p>"


def _pair(name: str, value: str, width: int) -> str:
    space = width - len(name)
    return f"{name}{value:>{space}}" if len(value) < space else f"{name} {value}"


def _short(part: float) -> str:
    return f"{part:.3f}".rstrip("0") if len(f"{part:.3f}".rstrip("0")) > 3 else f"{part:.3f}"


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


def _p(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.3f}"


def _fact(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
