"""Tables that come from Python, as the CSV text that they would be written as: the same numbers, and the same rules."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np


def source(data: Any, what: str = "data") -> tuple[Path | None, str | None, list[str]]:
    """The path of a file; or the text of a frame or a dict of columns, and which of these columns are levels though they look like numbers."""
    if isinstance(data, (str, os.PathLike)):
        return Path(data), None, []
    if isinstance(data, Mapping):
        return None, *_of_columns(data, what)
    return None, *of_frame(data, what)


def of_frame(frame: Any, what: str = "the frame") -> tuple[str, list[str]]:
    """The text of a frame of pandas or polars, and which of its columns are levels though they may look like numbers. A frame's index is no column."""
    if hasattr(frame, "collect") and not hasattr(frame, "write_csv"):
        frame = frame.collect()  # a lazy frame of polars
    if not hasattr(frame, "columns") or not (hasattr(frame, "write_csv") or hasattr(frame, "to_csv")):
        kinds = "one of pandas or polars" if what == "the frame" else "a path, a frame of pandas or polars, or a dict of columns"
        raise TypeError(f"{what} is a {type(frame).__name__}: it must be {kinds}")
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise TypeError(f"the frame's columns have {frame.columns.nlevels} levels of names: give each column one name")
    text: str = frame.write_csv() if hasattr(frame, "write_csv") else frame.to_csv(index=False)
    return text, [str(name) for name in frame.columns if _is_text(frame, name)]


def _is_text(frame: Any, name: Any) -> bool:
    """Whether a column is levels, whatever its values look like: a category, or numbers that are written as text, all of them."""
    column = frame[name]
    kind = str(getattr(column, "dtype", "")).split("(")[0].lower()
    if kind in ("category", "categorical", "enum"):
        return True
    return kind in ("object", "str", "string", "utf8") and _all_codes(column)


def _of_columns(columns: Mapping[Any, Any], what: str) -> tuple[str, list[str]]:
    if not columns:
        raise ValueError(f"{what} has no columns")
    lists: dict[str, list[Any]] = {}
    for name, column in columns.items():
        array = column if isinstance(column, (list, tuple)) else np.asarray(column)
        if isinstance(array, np.ndarray) and array.ndim != 1:
            raise ValueError(f"the column {name!r} has the shape {array.shape}: it must have one dimension")
        lists[str(name)] = array.tolist() if isinstance(array, np.ndarray) else [_plain(value) for value in array]
    lengths = {name: len(column) for name, column in lists.items()}
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise ValueError(f"the column {first!r} has {lengths[first]} rows, and {name!r} {length}: give each as many")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(lists)
    # Numbers are written with all their digits.
    for row in zip(*lists.values()):
        writer.writerow(["" if _is_missing(value) else value for value in row])
    return text.getvalue(), [name for name, column in lists.items() if _all_codes(column)]


def _all_codes(values: Iterable[Any]) -> bool:
    """Whether all values are text that looks like numbers. Where only some do, one may be a slip, which is an error by its line."""
    return all(_is_missing(value) or (isinstance(value, str) and _is_number(value)) for value in values)


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN or the NA of pandas."""
    return value is None or (value == value) is not True


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
