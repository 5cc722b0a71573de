"""What a fit over users found, by the names that statsmodels gives such things."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _sgq
from ._glm_text import Summary, fragment, table
from ._tables import source

Matrix = NDArray[np.float64]


class GlmResult:
    """A fitted regression: `sgq.glm` makes it, and `GlmResult.from_json` reads what `sgq fit` wrote.

    Numbers of coefficients are a Series of pandas, and tables a DataFrame, where pandas is installed; else a dict by coefficient, a
    matrix of numpy (`cov_params`), or a list of dicts (`influence`).

    fit: all that is known, as `sgq fit --json` prints it.
    """

    def __init__(self, told: str) -> None:
        self._text = told
        self.fit: dict[str, Any] = json.loads(told)
        self._names: list[str] = [line["name"] for line in self.fit["coefficients"]]

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> GlmResult:
        """Reads the `model.json` of `sgq fit`, or the folder that has it, or what `sgq fit --json` or `to_json` printed to a file.

        Influence is read from the `influence.csv` beside it. The covariance between coefficients is not in the files of the command
        line: `cov_params` is an error then.
        """
        place = Path(path)
        place = place / "model.json" if place.is_dir() else place
        told = place.read_bytes()
        _sgq.glm_check(told, place)
        result = cls(told.decode())
        beside = place.with_name("influence.csv")
        if "influences" not in result.fit and beside.is_file():
            result.fit["influences"] = _read_influence(beside, result._names)
        return result

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """All that is known, as JSON; written to a file as well where one is named. `from_json` reads it."""
        if path is not None:
            Path(path).write_text(self._text, encoding="utf-8")
        return self._text

    @property
    def params(self) -> Any:
        """The coefficients, of the columns as they are."""
        return self._series("estimate")

    @property
    def bse(self) -> Any:
        """Their standard errors; NaN where there are none."""
        return self._series("std_error")

    @property
    def tvalues(self) -> Any:
        """The coefficients in standard errors: normal where the model holds, and not Student's, whatever statsmodels' name for them."""
        return self._series("z")

    @property
    def zvalues(self) -> Any:
        """`tvalues`, by the name of what they are."""
        return self._series("z")

    @property
    def pvalues(self) -> Any:
        """The two-sided probability, normal, of a z this large where the coefficient is 0."""
        return self._series("p")

    def conf_int(self, alpha: float = 0.05) -> Any:
        """The ends of intervals that cover `1 - alpha`."""
        lower, upper = self._ends(alpha)
        if _has_pandas():
            import pandas

            return pandas.DataFrame({0: lower, 1: upper}, index=self._names)
        return dict(zip(self._names, zip(lower.tolist(), upper.tolist())))

    def cov_params(self) -> Any:
        """The covariance of the coefficients."""
        covariance = self.fit.get("covariance")
        if covariance is None:
            why = self._why_no_errors() or "the files of `sgq fit` do not have it: fit with sgq.glm"
            raise ValueError(f"the covariance is not known: {why}")
        matrix = np.array(covariance, dtype=np.float64)
        if _has_pandas():
            import pandas

            return pandas.DataFrame(matrix, index=self._names, columns=self._names)
        return matrix

    @property
    def influence(self) -> Any:
        """What leaving a user out would change, to first order, in standard errors: a row a user, the largest change first.

        user, largest (the coefficient that changes most), flagged (above 2/√G for G users), and a column for each coefficient; NaN
        where the others alone do not determine the coefficients.
        """
        rows = []
        for line in self.fit.get("influences") or []:
            changes = line["in_std_errors"] or [float("nan")] * len(self._names)
            rows.append({"user": line["user"], "largest": line["largest"], "flagged": line["flagged"], **dict(zip(self._names, changes))})
        if _has_pandas():
            import pandas

            return pandas.DataFrame(rows, columns=["user", "largest", "flagged", *self._names])
        return rows

    @property
    def queries_per_user(self) -> Any:
        """How many answers of each user were billed."""
        counts = self.fit.get("queries_per_user")
        if counts is None:
            raise ValueError("how often each user was asked is not in this file: see the queries.csv beside it")
        return self._given([line["user"] for line in counts], [line["queries"] for line in counts], "queries")

    @property
    def deviance(self) -> float | None:
        """Twice the log-likelihood lost against a perfect fit, times the dispersion; None without a closing question."""
        return self._number("deviance")

    @property
    def null_deviance(self) -> float | None:
        """The deviance with an intercept and the offsets only."""
        return self._number("null_deviance")

    @property
    def llf(self) -> float | None:
        """The log-likelihood."""
        return self._number("log_likelihood")

    @property
    def aic(self) -> float | None:
        """Akaike's criterion, as statsmodels' GLM has it."""
        return self._number("aic")

    @property
    def scale(self) -> float | None:
        """The dispersion."""
        return self._number("dispersion")

    @property
    def df_resid(self) -> int | None:
        """Rows less coefficients."""
        return self.fit.get("df_residual")

    @property
    def rows(self) -> int:
        """Rows that are used: those of positive weight."""
        return int(self.fit["rows"])

    nobs = rows

    @property
    def rows_missing(self) -> int:
        """Rows left out because a value is missing."""
        return int(self.fit["rows_missing"])

    @property
    def users(self) -> int:
        """How many users."""
        return int(self.fit["users"])

    @property
    def queries(self) -> int:
        """Answers billed during the run; the first question and the closing one are counted apart, one answer of each user."""
        return int(self.fit["queries"])

    @property
    def converged(self) -> bool | None:
        """Whether coefficients are believed to be as close as they were to be; None where the method cannot tell."""
        return self.fit["converged"]  # type: ignore[no-any-return]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit."""
        return bool(self.fit["interrupted"])

    @property
    def diverged(self) -> bool:
        """Whether the fit diverged, and means nothing."""
        return bool(self.fit["diverged"])

    @property
    def stop(self) -> str:
        """Why the run stopped."""
        return str(self.fit["stop"])

    @property
    def believed_off(self) -> float | None:
        """How many standard errors coefficients are believed to be off at most, because the run stopped where it did."""
        return self._number("believed_off")

    @property
    def std_error_kind(self) -> str | None:
        """What the standard errors are: "model" or "clustered by user", and whether approximate; None where there are none."""
        return self.fit["std_error_kind"]  # type: ignore[no-any-return]

    @property
    def family(self) -> str:
        """The family."""
        return str(self.fit["family"])

    @property
    def formula(self) -> str:
        """What is predicted, and from what."""
        return str(self.fit["formula"])

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the numbers."""
        notes = self.fit.get("notes") or []
        return [notes] if isinstance(notes, str) else list(notes)

    def ratios(self, alpha: float = 0.05) -> Any:
        """`e^coefficient`, an odds, rate or mean ratio, and its interval, for all but the intercept; ValueError where the family has none."""
        if self.family.split(":")[0] in ("gaussian", "huber"):
            raise ValueError(f"the coefficients of {self.family} are differences, and not logarithms of ratios")
        lower, upper = self._ends(alpha)
        kept = [k for k, name in enumerate(self._names) if not (k == 0 and name == "intercept")]
        names = [self._names[k] for k in kept]
        estimates = np.array([line["estimate"] for line in self.fit["coefficients"]])
        columns = {key: np.exp(values[kept]) for key, values in (("ratio", estimates), ("lower", lower), ("upper", upper))}
        if _has_pandas():
            import pandas

            return pandas.DataFrame(columns, index=names)
        return {name: {key: float(column[k]) for key, column in columns.items()} for k, name in enumerate(names)}

    def predict(self, data: Any) -> NDArray[np.float64]:
        """A prediction for each row: a number, an expected count, or the probability of the positive level; NaN where a value is missing
        that it needs. `data` is what `sgq.glm` takes; other columns are not looked at."""
        path, text, _ = source(data)
        return _sgq.glm_predict(self._text, path, text)

    def summary(self, alpha: float = 0.05) -> Summary:
        """The table as text, laid out as that of statsmodels."""
        lower, upper = self._ends(alpha)
        return table(self, lower.tolist(), upper.tolist(), alpha)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The whole report as one page that needs no other file: coefficients, forest plot, influence, and how they came about. It is
        that of `sgq fit`; written to a file as well where one is named."""
        page = _sgq.glm_page(json.dumps(self.fit))
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def forest_plot(self, path: str | os.PathLike[str]) -> None:
        """Draws every coefficient but the intercept with its interval, into a file that ends in .svg or .png."""
        place, told = Path(path), json.dumps(self.fit)
        if place.suffix.lower() == ".svg":
            place.write_text(_sgq.glm_forest(told), encoding="utf-8")
        elif place.suffix.lower() == ".png":
            place.write_bytes(_sgq.glm_forest_png(told))
        else:
            raise ValueError(f"{place} ends in neither .svg nor .png: give one of them")

    def __repr__(self) -> str:
        return f"<sgq.GlmResult: {self.formula}, {self.family}, {self.rows} rows of {self.users} users>"

    def _repr_html_(self) -> str:
        lower, upper = self._ends(0.05)
        return fragment(self, lower.tolist(), upper.tolist())

    def _ends(self, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}: it must be between 0 and 1, such as 0.05 for intervals of 95%")
        estimate, error = (np.array(self._values(key)) for key in ("estimate", "std_error"))
        quantile = -NormalDist().inv_cdf(alpha / 2)
        return estimate - quantile * error, estimate + quantile * error

    def _values(self, key: str) -> list[float]:
        return [float("nan") if line.get(key) is None else float(line[key]) for line in self.fit["coefficients"]]

    def _series(self, key: str) -> Any:
        return self._given(self._names, self._values(key), None)

    def _given(self, names: list[str], values: list[Any], title: str | None) -> Any:
        if _has_pandas():
            import pandas

            return pandas.Series(values, index=names, name=title)
        return dict(zip(names, values))

    def _number(self, key: str) -> float | None:
        value = self.fit.get(key)
        return None if value is None else float(value)

    def _why_no_errors(self) -> str | None:
        return "; ".join(self.notes) if self.std_error_kind is None else None


def _has_pandas() -> bool:
    return find_spec("pandas") is not None


def _read_influence(path: Path, names: list[str]) -> list[dict[str, Any]]:
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    if not lines or lines[0] != ["user", "largest", "flagged", *names]:
        raise ValueError(f"{path} is not of the same fit: its columns are not the coefficients")
    read = []
    for user, largest, flagged, *changes in lines[1:]:
        known = all(changes)
        read.append({
            "user": user, "largest": largest, "flagged": flagged == "true",
            "in_std_errors": [float(change) for change in changes] if known else None,
        })  # fmt: skip
    return read
