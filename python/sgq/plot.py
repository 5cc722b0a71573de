"""Pictures with matplotlib.

>>> import sgq, sgq.plot
>>> curves = sgq.run("fig1", trials=20)
>>> sgq.plot.gaps(curves).savefig("fig1.png")  # doctest: +SKIP

Every function draws into `ax` where one is given, and into a new figure of pyplot's otherwise; it returns the figure.
In a notebook end the line with a semicolon, or the figure is shown twice: once as open, once as returned.

Curves are told apart by colour, by marker and, past the palette, by dots: readers with any common colour blindness can
tell the colours apart, and a print without colour still shows which is which. Order, colours and markers are those of
`sgq reproduce`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._run import curves_of, queries_to

try:
    from matplotlib import pyplot, ticker
except ImportError as error:
    raise ImportError("sgq.plot draws with matplotlib, which is not installed: pip install matplotlib") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._minimize import OptimizeResult
    from ._sgq import Session

__all__ = ["gaps", "history", "queries"]

# The palette of the command line, `crates/sgq-bench/src/palette.rs`: dark enough for lines on white, and told apart with
# any common colour blindness.
COLOURS = ["#004a9f", "#dd4008", "#00846a", "#ca58b4", "#7c3010", "#0a8cf2", "#000000"]
# Eight shapes against seven colours: the pair repeats only after 56 curves.
MARKERS = ["o", "s", "^", "D", "v", "P", "h", "X"]
# Of the first, second and third turn through the palette; the plain dash is kept for methods that see more.
TURNS: list[Any] = ["-", (0, (1, 1.8)), (0, (5, 2, 1, 2))]
DASHED = (0, (4, 2.5))
GREY, PALE = "#555555", "#e3e3e3"

# Markers on a curve, unless it has so few points that each can have its own.
MARKED, FEW_POINTS = 6, 12
# In powers of ten of the largest start: what goes further above leaves at the top, rather than squeeze all others into
# a corner, and further below there is nothing but rounding.
WORST, LEAST = 2, -18
# With more users there is no room for a bar and a name each.
FEW_USERS = 40


def gaps(
    columns: Any,
    *,
    problem: str | None = None,
    ax: Axes | None = None,
    band: bool = True,
    targets: Sequence[float] = (),
) -> Figure:
    """The mean gap on a logarithmic axis against queries: a curve for each method, in a band of one standard error.

    `columns` come from `sgq.run`: the dict, or a frame of pandas or polars made of it. Several problems are drawn side
    by side; `problem` names the one that is wanted. A method that sees more than it pays for is dashed, and the legend
    says what it sees, and how many trials diverged. A gap of zero or less leaves at the bottom, an infinite one at the
    top. `targets` are gaps to mark, with a ring where each curve first gets there, as `sgq.queries_to` counts.

    >>> import sgq
    >>> toy = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])
    >>> curves = sgq.run(toy, ["sgd", "ogq"], x0=[5.0], step_size=0.015, trials=20, budget=100)
    >>> figure = gaps(curves, targets=[0.1])
    >>> [line.get_label() for line in figure.axes[0].get_lines()[:2]]
    ['sgd', 'ogq (oracle, looks not billed)']
    """
    table = _table(columns, band)
    curves = [(of, method, rows) for of, method, rows in curves_of(table)]
    problems = list(dict.fromkeys(of for of, *_ in curves))
    if not curves:
        raise ValueError("there are no curves to draw: the columns are empty")
    if problem is not None:
        if problem not in problems:
            raise ValueError(f"there is no problem {problem!r} among the columns; there are: {', '.join(problems)}")
        problems = [problem]
    # A method looks the same in every panel, and the same as without `problem`.
    place = {method: index for index, method in enumerate(dict.fromkeys(method for _, method, _ in curves))}
    if ax is not None:
        if len(problems) > 1:
            raise ValueError(f"ax is one, and there are {len(problems)} problems: name the one to draw with problem=…")
        panels = [ax]
        across = 1
    else:
        panels, across = _panels(len(problems), len(place))
    crossings = queries_to(table, targets)
    handles: dict[str, Any] = {}
    for panel, name in zip(panels, problems):
        mine = [(method, _by_queries(table, rows)) for of, method, rows in curves if of == name]
        _dress(panel)
        _set_limits(panel, table, mine)
        for method, rows in mine:
            label, line = _curve(panel, table, rows, method, place[method], band, faint=len(mine) > 8)
            handles.setdefault(label, line)
        reached = crossings["problem"] == name
        _mark_targets(panel, targets, {key: column[reached] for key, column in crossings.items()}, place)
        if len(problems) > 1:
            panel.set_title(name, fontsize="medium", loc="left")
        panel.set(xlabel="queries", ylabel="mean objective gap")
    figure = _figure(panels[0])
    for number, panel in enumerate(panels if ax is None else []):
        # The axes' names stand at the edge; a panel above an empty place is at the edge.
        lowest = number + across >= len(panels)
        panel.tick_params(labelbottom=lowest)
        panel.set(xlabel=panel.get_xlabel() if lowest else "", ylabel="" if number % across else panel.get_ylabel())
    shown: dict[str, Any] = {"handles": list(handles.values()), "handlelength": 3}
    if ax is not None:
        ax.legend(**shown, loc="best", edgecolor="none", framealpha=0.85)
    else:
        figure.legend(**shown, loc="outside right upper", frameon=False)
    return figure


def queries(
    run: OptimizeResult | Session,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """How many queries each user got, from a result of `sgq.minimize` or a session; the line is everybody's mean.

    `names` are the users'; without them those of the problem, where it has some.

    >>> import sgq
    >>> toy = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])
    >>> result = sgq.minimize(toy, [5.0], method="sgq", step_size=0.015, budget=60)
    >>> axes = queries(result, names=["north", "east", "south", "west"]).axes[0]
    >>> sum(bar.get_width() for bar in axes.patches).item()
    60.0
    """
    counts = getattr(run, "queries_per_user", None)
    if counts is None:
        raise TypeError(f"the run is a {type(run).__name__}: give a result of sgq.minimize, or a session")
    counts = np.asarray(counts, dtype=float)
    axes = _user_axes(run, len(counts), names, ax)
    if len(counts) <= FEW_USERS:
        axes.barh(np.arange(len(counts)), counts, height=0.72, color=COLOURS[0], zorder=2)
    else:
        # Lines have a width that can be seen, however many users share the height.
        axes.hlines(np.arange(len(counts)), 0, counts, color=COLOURS[0], linewidth=0.8, zorder=2)
    axes.axvline(counts.mean(), color=GREY, linewidth=1, linestyle=DASHED, label="mean over users", zorder=3)
    _legend_above(axes)
    axes.set_xlim(left=0)
    axes.set_xlabel("queries")
    return _figure(axes)


def history(result: OptimizeResult, *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Figure:
    """Who was asked when, from a result of `sgq.minimize`.

    A long stroke is for a user who was chosen, a short one for a user who was picked at random, in order to explore; a
    black one for a method, or a first round, without that difference.

    >>> import sgq
    >>> toy = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])
    >>> result = sgq.minimize(toy, [5.0], method="sgq", step_size=0.015, budget=60)
    >>> history(result).axes[0].get_ylabel()
    'user'
    """
    try:
        asked, explored = np.asarray(result.history["user"]), np.asarray(result.history["explored"])
        users = len(result.queries_per_user)
    except (AttributeError, KeyError, TypeError):
        kind = type(result).__name__
        raise TypeError(f"the result is a {kind} without a history: give a result of sgq.minimize") from None
    axes = _user_axes(result, users, names, ax)
    # A resumed run counts its queries from the first one on.
    numbers = np.arange(len(asked)) + int(result.queries) - len(asked) + 1
    looks = [(-1, 1.0, COLOURS[6], "asked"), (0, 1.0, COLOURS[0], "chosen"), (1, 0.45, COLOURS[1], "picked at random")]
    for explores, height, colour, label in looks:
        at, user = numbers[explored == explores], asked[explored == explores]
        if not len(at):
            continue
        if users <= FEW_USERS:
            half = 0.4 * height
            axes.vlines(at, user - half, user + half, color=colour, linewidth=1.2, label=label, zorder=2)
        else:
            # Strokes of a height that can be seen; so many would be most of a vector file.
            axes.plot(at, user, "|", color=colour, markersize=5 * height, rasterized=True, label=label, zorder=2)
    if (explored == 1).any():
        _legend_above(axes)
    axes.margins(x=0.01)
    axes.set_xlabel("query")
    return _figure(axes)


def _table(columns: Any, band: bool) -> dict[str, NDArray[Any]]:
    """The columns that are needed, as arrays of one length."""
    if not hasattr(columns, "__getitem__") or isinstance(columns, (str, bytes, list, tuple, np.ndarray)):
        raise TypeError(f"the columns are a {type(columns).__name__}: give what sgq.run returns, or a frame made of it")
    table = {}
    for name in ["problem", "method", "sees_more", "diverged", "queries", "gap", *(["gap_sem"] if band else [])]:
        try:
            column = np.asarray(columns[name])
        except Exception as error:  # each kind of frame has an exception of its own
            raise ValueError(f"there is no column {name!r}: the columns of sgq.run have it") from error
        if name in ("problem", "method", "sees_more"):
            # A frame that was written and read again has no empty text, but something that is not there.
            missing = [word is None or word != word for word in column.tolist()]
            column = np.array(["" if gone else str(word) for word, gone in zip(column.tolist(), missing)], dtype=str)
        elif column.dtype.kind not in "fiu":
            raise TypeError(f"the column {name!r} has the type {column.dtype}: it must have real numbers")
        table[name] = column
    lengths = {name: column.shape for name, column in table.items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise ValueError(f"the columns have the shapes {lengths}: they must be equally long")
    return table


def _by_queries(table: dict[str, NDArray[Any]], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[np.argsort(table["queries"][rows], kind="stable")]


def _figure(axes: Axes) -> Figure:
    part: Any = axes.figure  # a figure, or part of one, which cannot be saved
    whole: Figure = part.figure
    return whole


def _panels(count: int, curves: int) -> tuple[list[Axes], int]:
    """Axes in a new figure, and how many of them stand side by side."""
    across = min(count, 1 if count == 1 else 2 if count <= 4 else 3 if count <= 9 else 4)
    down = -(-count // across)
    size = (8.0, 4.2) if count == 1 else (3.1 * across + 2.2, 2.5 * down + 0.4)
    size = (size[0], max(size[1], 0.22 * curves + 0.3))  # room for the legend
    figure = pyplot.figure(figsize=size, dpi=150, layout="constrained")
    panels: list[Axes] = list(figure.subplots(down, across, sharex=True, squeeze=False).flat)
    for empty in panels[count:]:
        empty.remove()
    return panels[:count], across


def _dress(axes: Axes) -> None:
    """What all the pictures have in common."""
    axes.grid(True, color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(which="both", color=GREY)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


def _set_limits(axes: Axes, table: dict[str, NDArray[Any]], curves: list[tuple[str, NDArray[np.int64]]]) -> None:
    rows = np.concatenate([rows for _, rows in curves])
    number, gap = table["queries"][rows], table["gap"][rows].astype(float)
    axes.set_yscale("log", nonpositive="clip")
    low, high = -1.0, 1.0  # powers of ten, and so are all the others here
    drawable = np.isfinite(gap) & (gap > 0)
    if drawable.any():
        powers = np.log10(gap[drawable])
        first = [table["gap"][rows[0]] for _, rows in curves]
        start = max((float(np.log10(gap)) for gap in first if np.isfinite(gap) and gap > 0), default=powers.max())
        high = min(powers.max(), start + WORST)
        low = min(max(powers.min(), start + LEAST), high)
    margin = max(0.03 * (high - low), 0.04) if low < high else 0.3
    low, high = np.clip([low - margin, high + margin], [-300, -299], [299, 300])  # no axis holds more
    axes.set_ylim(10.0**low, 10.0**high)
    if len(number) and number.min() < number.max():
        axes.set_xlim(number.min() if number.min() > 0.1 * number.max() else 0, number.max())
    if low >= -4 and high < 5:
        axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
        if high - low < 2.5:
            axes.yaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
            axes.yaxis.set_minor_formatter(ticker.StrMethodFormatter("{x:,g}"))


def _curve(
    axes: Axes,
    table: dict[str, NDArray[Any]],
    rows: NDArray[np.int64],
    method: str,
    place: int,
    band: bool,
    faint: bool,
) -> tuple[str, Any]:
    number, gap = table["queries"][rows], table["gap"][rows].astype(float)
    sees_more, diverged = table["sees_more"][rows[0]], int(table["diverged"][rows].max())
    notes = [sees_more] if sees_more else []
    if diverged:
        notes.append(f"{diverged} trial{'s' if diverged > 1 else ''} diverged")
    label = f"{method} ({'; '.join(notes)})" if notes else method
    colour = COLOURS[place % len(COLOURS)]
    # A line goes to a number, and not to infinity: this one is far above any axis.
    gap = np.where(gap == np.inf, np.finfo(float).max, gap)
    (line,) = axes.plot(
        number,
        gap,
        label=label,
        color=colour,
        linewidth=1.6,
        linestyle=DASHED if sees_more else TURNS[place // len(COLOURS) % len(TURNS)],
        marker=MARKERS[place % len(MARKERS)],
        markevery=_marked(axes, number, gap, place),
        markersize=5.5,
        # A rim in the other colour keeps the marker apart from the lines it lies on.
        markerfacecolor="white" if sees_more else colour,
        markeredgecolor=colour if sees_more else "white",
        markeredgewidth=1.1 if sees_more else 0.7,
        zorder=3,
    )
    if band:
        error = table["gap_sem"][rows].astype(float)
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = gap - error, gap + error
        known = np.isfinite(low) & np.isfinite(high) & (error >= 0)
        alpha = 0.08 if faint else 0.16  # many bands on top of each other would hide the lines
        axes.fill_between(number, low, high, where=known, color=colour, alpha=alpha, linewidth=0, zorder=2)
    return label, line


def _marked(axes: Axes, number: NDArray[Any], gap: NDArray[np.float64], place: int) -> list[int]:
    """The points with a marker: over the whole width, and shifted from curve to curve so that few fall together."""
    low, high = axes.get_ylim()
    visible = np.flatnonzero((gap >= low) & (gap <= high))
    if len(visible) <= FEW_POINTS:
        return [int(at) for at in visible]
    left, right = axes.get_xlim()
    wanted = left + (np.arange(MARKED) + (place * 0.382 + 0.31) % 1) / MARKED * (right - left)
    found = np.searchsorted(number[visible], wanted)
    return sorted({int(visible[at]) for at in found if at < len(visible)})


def _mark_targets(
    axes: Axes, targets: Sequence[float], crossings: dict[str, NDArray[Any]], place: dict[str, int]
) -> None:
    for target in targets:
        axes.axhline(target, color=GREY, linewidth=0.9, linestyle=":", zorder=1.5)
    for method, target, number in zip(crossings["method"], crossings["target"], crossings["queries"]):
        if np.isfinite(number):
            colour = COLOURS[place[str(method)] % len(COLOURS)]
            axes.plot(number, target, "o", markersize=8, markerfacecolor="none", markeredgecolor=colour, zorder=4)


def _user_axes(run: Any, users: int, names: Sequence[str] | None, ax: Axes | None) -> Axes:
    """Axes with a row for each user, the first on top."""
    if names is None:
        problem = getattr(getattr(run, "session", run), "problem", None)
        names = getattr(problem, "user_names", None)
    elif len(names) != users:
        raise ValueError(f"there are {len(names)} names, and {users} users: give one for each")
    few = users <= FEW_USERS
    if ax is None:
        size = (7.2, max(2.2, 0.26 * users + 1.0) if few else 5.0)
        ax = pyplot.subplots(figsize=size, dpi=150, layout="constrained")[1]
    _dress(ax)
    ax.grid(False, axis="y")
    ax.set_ylim(users - 0.4, -0.6)
    if few:
        ax.set_yticks(range(users), [str(name) for name in names] if names is not None else None)
        ax.tick_params(axis="y", length=0)
    else:
        ax.yaxis.set_major_locator(ticker.MaxNLocator(8, integer=True))
        ax.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    ax.set_ylabel("user")
    return ax


def _legend_above(axes: Axes) -> None:
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)
