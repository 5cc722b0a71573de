"""Pictures: what is drawn is what was measured, and nothing that can be measured breaks them."""

import subprocess
import sys
import warnings

import numpy as np
import pandas
import polars
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

import sgq
import sgq.plot

TOY = sgq.problems.quadratics([1, 1, 1, 1], [2, 1, -1, -2])
CURVES = sgq.run("fig1", trials=20, budget=120)
METHODS = ["SGD", "OGQ", "SGQ", "SAGA", "SVRG"]


@pytest.fixture(autouse=True)
def no_figure_stays_open_and_nothing_is_complained_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    pyplot.close("all")


def made_up(**changes):
    """Columns of one method after 0, 1 and 2 queries."""
    columns = {
        "problem": np.array(["p"] * 3),
        "method": np.array(["m"] * 3),
        "queries": np.arange(3),
        "gap": np.array([4.0, 2.0, 1.0]),
        "gap_sem": np.array([0.0, 0.5, 0.25]),
        "step_size": np.full(3, 0.1),
        "diverged": np.zeros(3, int),
        "sees_more": np.array([""] * 3),
    }
    return {**columns, **changes}


def drawn(figure):
    """Draws all of it, and gives the curves of the first panel."""
    figure.canvas.draw()
    return figure.axes[0].get_lines()


@pytest.mark.parametrize("of", [dict, pandas.DataFrame, polars.DataFrame])
def test_the_curves_are_the_numbers(of):
    lines = drawn(sgq.plot.gaps(of(CURVES)))
    assert [line.get_label().split(" (")[0] for line in lines] == METHODS
    for method, line in zip(METHODS, lines):
        rows = CURVES["method"] == method
        assert (line.get_xdata() == CURVES["queries"][rows]).all()
        assert (line.get_ydata() == CURVES["gap"][rows]).all()


def test_rows_may_come_in_any_order():
    order = np.random.default_rng(1).permutation(len(CURVES["gap"]))
    mixed = {name: column[order] for name, column in CURVES.items()}
    for line in drawn(sgq.plot.gaps(mixed)):
        rows = CURVES["method"] == line.get_label().split(" (")[0]
        assert (line.get_ydata() == CURVES["gap"][rows]).all()


def test_the_band_is_one_standard_error():
    figure = sgq.plot.gaps(made_up())
    (band,) = figure.axes[0].collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert {(0, 4.0), (1, 1.5), (1, 2.5), (2, 0.75), (2, 1.25)} <= corners
    assert not sgq.plot.gaps(made_up(), band=False).axes[0].collections
    without = {name: column for name, column in made_up().items() if name != "gap_sem"}
    assert len(drawn(sgq.plot.gaps(without, band=False))) == 1


def test_axes_and_legend_say_what_they_show():
    figure = sgq.plot.gaps(CURVES)
    (axes,) = figure.axes
    assert (axes.get_yscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "queries", "mean objective gap")
    assert axes.get_xlim() == (0, 120)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["SGD", "OGQ (oracle, looks not billed)", "SGQ", "SAGA", "SVRG"]


def test_only_what_sees_more_is_dashed_and_hollow():
    for line in drawn(sgq.plot.gaps(CURVES)):
        more = "looks not billed" in line.get_label()
        assert line.is_dashed() == more
        assert (line.get_markerfacecolor() == "white") == more


def test_no_two_of_all_methods_look_the_same():
    names = [name for name, *_ in sgq.methods()]
    curves = sgq.run(TOY, names, x0=[5.0], trials=2, budget=40)
    lines = drawn(sgq.plot.gaps(curves))
    assert len(lines) == len(names)
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == len(names)
    # Without colour too, as far as there are markers.
    assert len({line.get_marker() for line in lines[:8]}) == 8


def test_colours_are_those_of_the_command_line():
    # From `crates/sgq-bench/src/figure/style.rs`.
    colours = ["#004a9f", "#dd4008", "#00846a", "#ca58b4", "#7c3010"]
    assert [to_hex(line.get_color()) for line in drawn(sgq.plot.gaps(CURVES))] == colours


def several():
    problems = {name: TOY for name in ("one", "two", "three")}
    return sgq.run(problems, ["sgd", "saga"], x0=[5.0], step_size=0.1, trials=3, budget=30)


def test_several_problems_have_a_panel_each_and_one_legend():
    curves = several()
    figure = sgq.plot.gaps(curves)
    figure.canvas.draw()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["one", "two", "three"]
    assert len(figure.legends) == 1 and len(figure.legends[0].get_texts()) == 2
    for axes in figure.axes:
        for line in axes.get_lines():
            rows = (curves["problem"] == axes.get_title(loc="left")) & (curves["method"] == line.get_label())
            assert (line.get_ydata() == curves["gap"][rows]).all()


def test_one_problem_of_several_into_axes_of_ones_own():
    figure, (left, right) = pyplot.subplots(1, 2)
    assert sgq.plot.gaps(several(), problem="two", ax=right) is figure
    assert len(right.get_lines()) == 2 and not left.get_lines() and right.get_legend()
    with pytest.raises(ValueError, match="3 problems: name the one"):
        sgq.plot.gaps(several(), ax=left)
    with pytest.raises(ValueError, match="no problem 'four' among the columns; there are: one, two, three"):
        sgq.plot.gaps(several(), problem="four")


def test_a_method_has_one_look_in_all_panels_though_it_is_not_in_all():
    curves = several()
    keep = (curves["problem"] != "two") | (curves["method"] == "saga")
    figure = sgq.plot.gaps({name: column[keep] for name, column in curves.items()})
    looks = [{line.get_label(): line.get_color() for line in axes.get_lines()} for axes in figure.axes]
    assert looks[1] == {"saga": looks[0]["saga"]}


def test_targets_are_marked_where_they_are_reached():
    figure = sgq.plot.gaps(CURVES, targets=[1.0, 1e-9])
    table = sgq.queries_to(CURVES, [1.0, 1e-9])
    rings = {float(line.get_xdata()[0]) for line in drawn(figure) if line.get_markerfacecolor() == "none"}
    assert rings == set(table["queries"][np.isfinite(table["queries"])].tolist())


@pytest.mark.parametrize(
    "gap",
    [
        [1.0, 0.0, 0.0],
        [1.0, -1e-17, 1e-17],
        [1.0, 1e-300, 0.0],
        [1.0, 1e300, np.inf],
        [1.0, np.inf, np.inf],
        [1.0, np.nan, 0.5],
        [np.inf, np.inf, np.inf],
        [np.nan, np.nan, np.nan],
        [0.0, 0.0, 0.0],
        [-1.0, -1.0, -1.0],
        [0.0, 1.0, 2.0],
        [3.0, 3.0, 3.0],
        [5e-324, 5e-324, 5e-324],
        [1.7e308, 1.7e308, 1.7e308],
    ],
)
def test_every_gap_that_a_run_can_give_is_drawn(gap):
    parts = [
        made_up(gap=np.array(gap), gap_sem=np.full(3, error), method=np.array([f"error {error}"] * 3))
        for error in (0.0, 2.0, np.nan, np.inf)
    ]
    figure = sgq.plot.gaps({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, targets=[0.1])
    low, high = figure.axes[0].get_ylim()
    assert 0 < low < high < np.inf
    drawn(figure)


def test_a_curve_that_diverged_leaves_at_the_top_and_says_so():
    far = {"method": "sgd", "step_size": 1.2, "name": "too far"}
    curves = sgq.run(TOY, [far, "saga"], x0=[5.0], step_size=0.1, trials=4, budget=2000)
    assert np.isinf(curves["gap"]).any()
    figure = sgq.plot.gaps(curves)
    line, other = drawn(figure)
    assert line.get_label() == "too far (4 trials diverged)" and other.get_label() == "saga"
    low, high = figure.axes[0].get_ylim()
    assert 25 < high < 1e5 and low > 1e-18 and line.get_ydata()[-1] > high


def test_one_row_is_a_picture_too():
    assert len(drawn(sgq.plot.gaps({name: column[:1] for name, column in made_up().items()}))) == 1


def test_what_a_frame_loses_in_a_file_is_no_mistake(tmp_path):
    pandas.DataFrame(CURVES).to_csv(tmp_path / "curves.csv", index=False)
    for frame in (pandas.read_csv(tmp_path / "curves.csv"), polars.read_csv(tmp_path / "curves.csv")):
        assert [line.is_dashed() for line in drawn(sgq.plot.gaps(frame))] == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("columns", "kind", "words"),
    [
        (None, TypeError, "NoneType: give what sgq.run returns"),
        ("fig1", TypeError, "a str: give what sgq.run returns"),
        ([1.0], TypeError, "a list"),
        ({}, ValueError, "no column 'problem'"),
        (pandas.DataFrame(), ValueError, "no column 'problem'"),
        (polars.DataFrame({"problem": ["p"]}), ValueError, "no column 'method'"),
        ({name: column for name, column in made_up().items() if name != "gap_sem"}, ValueError, "no column 'gap_sem'"),
        ({name: column[:0] for name, column in made_up().items()}, ValueError, "no curves"),
        (made_up(gap=np.array(["1", "2", "3"])), TypeError, "'gap' has the type"),
        (made_up(gap=np.array([1.0])), ValueError, "equally long"),
    ],
)
def test_columns_that_are_none(columns, kind, words):
    with pytest.raises(kind, match=words):
        sgq.plot.gaps(columns)


def test_queries_of_a_result_and_of_a_session():
    result = sgq.minimize(TOY, [5.0], method="sgq", step_size=0.015, budget=60)
    for run in (result, result.session):
        figure = sgq.plot.queries(run, names=["north", "east", "south", "west"])
        figure.canvas.draw()
        (axes,) = figure.axes
        assert [bar.get_width() for bar in axes.patches] == result.queries_per_user.tolist()
        assert [label.get_text() for label in axes.get_yticklabels()] == ["north", "east", "south", "west"]
        assert axes.get_lines()[0].get_xdata()[0] == 15.0
    with pytest.raises(ValueError, match="2 names, and 4 users"):
        sgq.plot.queries(result, names=["north", "east"])
    with pytest.raises(TypeError, match="a dict: give a result"):
        sgq.plot.queries({})


def test_names_of_the_problem_are_the_users():
    problem = sgq.problems.regression(np.eye(3), [1.0, 2.0, 3.0], groups=["c", "a", "b"])
    axes = sgq.plot.queries(sgq.minimize(problem, budget=20)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


def test_many_users_are_drawn_without_names():
    problem = sgq.problems.regression(np.random.default_rng(1).normal(size=(300, 2)), np.arange(300.0))
    result = sgq.minimize(problem, budget=900)
    for figure in (sgq.plot.queries(result), sgq.plot.history(result)):
        figure.canvas.draw()
        assert len(figure.axes[0].get_yticklabels()) < 20
    widths = [segment[1][0] for segment in sgq.plot.queries(result).axes[0].collections[0].get_segments()]
    assert widths == result.queries_per_user.tolist()


def test_a_history_has_a_stroke_for_every_query():
    result = sgq.minimize(TOY, [5.0], method="sgq", step_size=0.015, budget=60)
    figure = sgq.plot.history(result)
    figure.canvas.draw()
    strokes = {}
    for collection in figure.axes[0].collections:
        for (at, low), (_, high) in collection.get_segments():
            strokes[at] = (round((low + high) / 2), collection.get_label())
    kinds = {-1: "asked", 0: "chosen", 1: "picked at random"}
    expected = zip(result.history["user"].tolist(), result.history["explored"].tolist())
    assert strokes == {number: (user, kinds[explored]) for number, (user, explored) in enumerate(expected, start=1)}


def test_a_method_without_exploration_has_no_legend():
    result = sgq.minimize(TOY, [5.0], "sgd", step_size=0.015, budget=60)
    assert sgq.plot.history(result).axes[0].get_legend() is None
    with pytest.raises(TypeError, match="without a history"):
        sgq.plot.history(result.session)


def test_the_three_lines_make_a_picture(tmp_path):
    curves = sgq.run("fig1")
    sgq.plot.gaps(curves).savefig(tmp_path / "fig1.png")
    assert (tmp_path / "fig1.png").read_bytes().startswith(b"\x89PNG")


def test_matplotlib_is_only_loaded_for_pictures_and_missed_in_words():
    script = """
import sys
import sgq
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
try:
    import sgq.plot
except ImportError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "pip install matplotlib" in ran.stdout, ran.stderr
