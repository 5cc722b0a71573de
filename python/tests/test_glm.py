"""`sgq.glm`: what it takes, what it refuses, and what its result can do."""

import _thread
import json
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest

import sgq
from sgq import _glm_result

FITTED = Path(__file__).parent / "fixtures" / "medpar"
MEDPAR = Path(__file__).parents[2] / "examples" / "medpar.csv"


def clinics(rows=120, seed=1):
    random = np.random.default_rng(seed)
    age, sex = random.normal(50, 10, size=rows), random.choice(["f", "m"], size=rows)
    linear = 0.05 * (age - 50) + 0.5 * (sex == "m")
    return {
        "clinic": [f"c{number}" for number in random.integers(6, size=rows)],
        "age": age,
        "sex": sex,
        "code": random.choice(["1", "2", "3"], size=rows).tolist(),
        "died": (random.random(rows) < 1 / (1 + np.exp(-linear))).astype(int),
        "cost": linear + random.normal(size=rows),
    }  # fmt: skip


def in_polars(frame):
    return polars.DataFrame({name: [None if pandas.isna(value) else value for value in frame[name]] for name in frame})


DATA = clinics()
FRAME = pandas.DataFrame(DATA)


def fit(formula="died ~ age + sex", data=FRAME, **settings):
    return sgq.glm(formula, data, user=settings.pop("user", "clinic"), **settings)


# ---- What it takes


@pytest.mark.parametrize("kind", ["dict", "arrays", "polars", "lazy", "path", "text path"])
def test_all_kinds_of_data_are_the_same(kind, tmp_path):
    path = tmp_path / "data.csv"
    FRAME.to_csv(path, index=False)
    data = {
        "dict": {name: list(column) for name, column in DATA.items()},
        "arrays": {name: np.asarray(column) for name, column in DATA.items()},
        "polars": in_polars(FRAME),
        "lazy": in_polars(FRAME).lazy(),
        "path": path,
        "text path": str(path),
    }[kind]
    one, other = fit(), fit(data=data)
    assert one.params.equals(other.params) and one.bse.equals(other.bse) and one.queries == other.queries
    assert one.predict(FRAME).tolist() == other.predict(data).tolist()


@pytest.mark.parametrize(
    "frame",
    [FRAME, FRAME.astype({"code": "category"}), FRAME.astype({"code": object}), in_polars(FRAME), DATA,
     in_polars(FRAME).with_columns(polars.col("code").cast(polars.Categorical))],
)  # fmt: skip
def test_text_is_a_factor_whatever_it_looks_like(frame):
    result = fit("cost ~ age + code", frame)
    assert list(result.params.index) == ["intercept", "age", "code=2", "code=3"]
    # Other text is not looked at.
    assert list(fit("cost ~ age", frame).params.index) == ["intercept", "age"]


@pytest.mark.parametrize("make", [pandas.DataFrame, dict, polars.DataFrame])
def test_a_target_that_is_true_or_false(make):
    data = {**DATA, "clinic": list(DATA["clinic"]), "dead": [bool(died) for died in DATA["died"]]}
    assert fit("dead ~ age + sex", make(data)).params.to_numpy() == pytest.approx(fit().params.to_numpy())


def test_a_family_by_the_targets_levels():
    assert [fit(formula).family for formula in ("died ~ age", "cost ~ age")] == ["binomial", "gaussian"]


def test_the_same_seed_is_the_same_fit_and_hessians_are_asked_for():
    assert fit(seed=3).to_json() == fit(seed=3).to_json()
    gradients, hessians = fit(close=False), fit(close=False, answers="hessian")
    assert hessians.queries < gradients.queries
    assert abs(hessians.bse / fit().bse - 1).max() < 0.02


def test_methods_with_their_settings():
    saga = fit(method="saga-sgq", method_options={"p": 0.5}, step_size=0.5, budget=4000, seed=2)
    assert saga.fit["method"] == "saga-sgq" and saga.fit["settings"]["step_size"] == 0.5
    assert saga.converged is None and saga.params.to_numpy() == pytest.approx(fit().params.to_numpy(), rel=0.05)
    assert saga.queries == saga.queries_per_user.sum() == 4000


# ---- What it refuses


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"formula": "died ~ weight"}, 'the frame: there is no column "weight"'),
        ({"formula": "died ~ agee"}, 'did you mean "age"'),
        ({"user": "hospital"}, 'the frame: there is no column "hospital"'),
        ({"weights": "kg"}, 'there is no column "kg"'),
        ({"formula": "died ~ age + * sex"}, "the formula is wrong at character"),
        ({"formula": "died"}, "the formula is wrong"),
        ({"family": "normal"}, "normal"),
        ({"weigh": "clinics"}, "weigh is \"clinics\": expected rows or users"),
        ({"std_errors": "robust"}, 'std_errors is "robust": it must be "model" or "clustered"'),
        ({"l2": -1.0}, "l2 is -1: it must be finite, and not negative"),
        ({"l2": float("nan")}, "l2 is NaN"),
        ({"precision": 0.0}, "precision is 0: it must be positive"),
        ({"method": "newton"}, "newton"),
        ({"step_size": 0.1}, "frugal has no step size: leave step_size out"),
        ({"answers": "everything"}, 'answers is "everything"'),
        ({"method": "saga", "precision": 0.1}, "saga"),
        ({"family": "poisson", "formula": "cost ~ age"}, "a count is not negative"),
        ({"family": "gamma", "formula": "cost ~ age"}, "numbers for this loss are positive"),
        ({"family": "binomial", "formula": "cost ~ age"}, "a logistic loss needs 2"),
    ],
)
def test_mistakes_are_named(settings, words):
    with pytest.raises(ValueError) as error:
        fit(**settings)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [(3, "data is a int: it must be a path, a frame"), ({"a": [[1, 2]], "b": 2.0}, "must have one dimension"),
     (np.ones((3, 2)), "data is a ndarray")],
)  # fmt: skip
def test_data_that_are_none(data, words):
    with pytest.raises((TypeError, ValueError), match=words):
        fit(data=data)


def test_columns_of_unequal_length_and_none_at_all():
    with pytest.raises(ValueError, match="the column 'clinic' has 120 rows, and 'age' 119: give each as many"):
        fit(data=DATA | {"age": DATA["age"][1:]})
    with pytest.raises(ValueError, match="data has no columns"):
        fit(data={})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(OSError, match="nowhere.csv"):
        fit(data=tmp_path / "nowhere.csv")


def test_separation_names_the_column():
    frame = FRAME.assign(sure=FRAME["died"] * 2.0 + 1)
    with pytest.raises(ValueError, match=r"no finite coefficients.*sure.*penalty \(l2=0.01\)"):
        fit("died ~ age + sure", frame)
    assert np.isfinite(fit("died ~ age + sure", frame, l2=0.01).params).all()


def test_collinear_columns_are_named():
    frame = FRAME.assign(months=FRAME["age"] * 12 + 3)
    with pytest.raises(ValueError, match=r"months.*penalty \(l2=0.01\)"):
        fit("cost ~ age + months", frame)
    with pytest.raises(ValueError, match="say nothing: leave out .*same"):
        fit("cost ~ age + same", FRAME.assign(same=1.0))


def test_a_slip_among_numbers_is_named_by_its_line():
    ages = FRAME["age"].astype(object)
    ages[17] = "1O"
    as_read = ages.map(str)  # pandas reads such a file as text
    for data in (
        FRAME.assign(age=ages), FRAME.assign(age=as_read), FRAME.assign(age=as_read.astype(object)), DATA | {"age": ages.tolist()},
        DATA | {"age": as_read.tolist()}, in_polars(FRAME.assign(age=as_read)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r'numbers in 119 rows and something else in 1: line 19 has "1O"') as error:
            fit(data=data)
        assert "--factors" not in str(error.value) and "factor(age) in the formula" in str(error.value)


def test_missing_values():
    frame = FRAME.copy()
    frame.loc[4, "age"] = np.nan
    holes = {name: [None if pandas.isna(value) else value for value in frame[name]] for name in frame}
    for data in (frame, holes, in_polars(frame)):
        result = fit(data=data)
        assert (result.rows, result.rows_missing) == (119, 1)
        with pytest.raises(ValueError, match="pass drop_missing=True"):
            fit(data=data, drop_missing=False)
        assert np.flatnonzero(np.isnan(result.predict(data))).tolist() == [4]
    # Of a user as well: nobody's row is nobody's.
    frame.loc[7, "clinic"] = None
    assert fit(data=frame).rows_missing == 2
    with pytest.raises(ValueError, match="every row has a missing value"):
        fit(data=FRAME.assign(age=np.nan))


def test_a_budget_too_small_is_warned_of():
    with pytest.warns(RuntimeWarning, match="the budget of 8 queries is spent before the fit has converged"):
        result = fit(budget=8)
    assert result.converged is False
    assert "NOT CONVERGED: the budget of 8 queries is spent." in result.summary()


def test_nobody_learns_standard_errors_where_not_everybody_was_asked():
    with pytest.warns(RuntimeWarning):
        result = fit(budget=3, close=False)
    assert result.std_error_kind is None and result.bse.isna().all()
    words = " ".join(result.summary().split())
    assert "No standard errors: not everybody was asked; give a larger budget, or ask everybody a closing question (close=True)." in words
    with pytest.raises(ValueError, match="the covariance is not known: not everybody was asked"):
        result.cov_params()


def test_divergence_is_an_error():
    with pytest.raises(ValueError, match="diverged after .* coefficients mean nothing: give a smaller step_size"):
        fit("cost ~ age", method="saga", step_size=1e6, budget=100_000)


def test_ctrl_c_leaves_the_unfinished_fit():
    """A long fit is interrupted after a moment: the exception has what was reached, and the next fit knows nothing of it."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as stopped:
            fit("cost ~ age", method="sgd", step_size=1e-9, budget=2**40)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    result = stopped.value.result
    assert result.interrupted and not result.converged and 0 < result.queries < 2**40
    assert "NOT CONVERGED: interrupted." in result.summary()
    assert np.isfinite(result.params).all() and len(result.predict(FRAME)) == len(FRAME)
    assert fit().converged


# ---- What the result can do


def test_the_summary():
    lines = fit(precision=1e-6).summary().splitlines()
    assert lines[0].strip() == "Generalized Linear Model Regression Results, over users"
    assert any(line.startswith("Dep. Variable:") and "died   No. Observations:" in line and line.endswith(" 120") for line in lines)
    heads = next(line for line in lines if "P>|z|" in line)
    assert heads.split() == ["coef", "std", "err", "z", "P>|z|", "[0.025", "0.975]"]
    assert len({len(line) for line in lines if set(line) == {"="}}) == 1
    assert "Reference level of sex: f." in lines and "Probability of died = 1." in lines
    assert "[0.05 0.95]" in " ".join(fit().summary(alpha=0.1).split()) and repr(fit().summary()) == str(fit().summary())


def test_the_summary_of_long_names_stays_in_line():
    name = "a column with a name that is longer than all others"
    summary = fit(f"cost ~ `{name}`", FRAME.rename(columns={"age": name})).summary()
    rows = [line for line in summary.splitlines() if line.startswith((name, "intercept"))]
    assert len(rows) == 2 and len({len(row) for row in rows}) == 1


def test_html_in_a_notebook_is_escaped():
    frame = FRAME.rename(columns={"age": "<b>&"})
    html = fit("died ~ `<b>&`", frame)._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;&amp;" in html and html.count("<tr>") == 3


@pytest.mark.parametrize("result", [lambda: fit(), lambda: sgq.GlmResult.from_json(FITTED), lambda: fit(close=False, weigh="users")])
def test_the_page_and_the_forest_plot(result, tmp_path):
    result, page = result(), tmp_path / "report.html"
    html = result.to_html(page)
    assert page.read_text(encoding="utf-8") == html and html.startswith("<!") and html.rstrip().endswith("</html>")
    for name in list(result.params.index) + [result.influence["user"][0], "odds ratio", "<svg"]:
        assert name in html
    result.forest_plot(tmp_path / "forest.svg")
    svg = (tmp_path / "forest.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg") and all(name in svg for name in list(result.params.index)[1:])
    result.forest_plot(str(tmp_path / "forest.PNG"))
    assert (tmp_path / "forest.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="forest.pdf ends in neither .svg nor .png"):
        result.forest_plot(tmp_path / "forest.pdf")
    with pytest.raises(OSError):
        result.to_html(tmp_path / "no such folder" / "report.html")


def test_ratios():
    result = fit()
    table = result.ratios()
    assert list(table.index) == ["age", "sex=m"] and list(table.columns) == ["ratio", "lower", "upper"]
    assert table["ratio"].to_numpy() == pytest.approx(np.exp(result.params.to_numpy()[1:]))
    assert table.loc["age", "upper"] == pytest.approx(np.exp(result.conf_int()[1]["age"]))
    assert table["ratio"].to_numpy() == pytest.approx([line["ratio"] for line in result.fit["coefficients"][1:]])
    with pytest.raises(ValueError, match="differences, and not logarithms of ratios"):
        fit("cost ~ age").ratios()


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 95, float("nan")])
def test_an_alpha_that_is_none(alpha):
    with pytest.raises(ValueError, match="alpha is .*: it must be between 0 and 1"):
        fit().conf_int(alpha)


def test_json_goes_out_and_comes_back(tmp_path):
    result = fit()
    path = tmp_path / "fit.json"
    assert result.to_json(path) == path.read_text()
    again = sgq.GlmResult.from_json(path)
    assert again.params.equals(result.params) and again.cov_params().equals(result.cov_params())
    assert again.influence.equals(result.influence) and again.summary() == result.summary()
    assert again.predict(FRAME).tolist() == result.predict(FRAME).tolist()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()


def test_what_the_command_line_wrote():
    there = sgq.GlmResult.from_json(FITTED)
    formula = "died ~ los + hmo + white + factor(age80) + type2 + type3"
    here = sgq.glm(formula, MEDPAR, user="provnum", precision=0.001)
    assert there.formula == here.formula == formula
    # As close as the precision that it had, 0.01 standard errors.
    assert (abs(there.params - here.params) < 0.01 * here.bse).all()
    assert there.bse.to_numpy() == pytest.approx(here.bse.to_numpy(), rel=1e-3)
    assert there.aic == pytest.approx(here.aic, abs=1e-3) and there.null_deviance == pytest.approx(here.null_deviance)
    assert (there.rows, there.users, there.rows_missing) == (1495, 54, 0)
    assert there.predict(MEDPAR) == pytest.approx(here.predict(MEDPAR), abs=1e-3)
    assert there.influence["user"][0] == here.influence["user"][0] == "32000"
    assert there.influence["flagged"].sum() == here.influence["flagged"].sum()
    assert "Without 32000, type3 would change by -1.5 standard errors." in there.summary()
    with pytest.raises(ValueError, match="covariance is not known: the files of `sgq fit` do not have it"):
        there.cov_params()
    with pytest.raises(ValueError, match="queries.csv"):
        there.queries_per_user  # noqa: B018
    # What Python says of a fit is called as the command line calls it, but for what is in other files there.
    beside = {"covariance", "influences", "queries_per_user"}
    assert set(json.loads(here.to_json())) - set(there.fit) <= beside


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "damaged"), ("{}", "is not a model of sgq fit"), ('{"format": 1, "version": "0.0.1"}', "format 1"),
     ("[]", "is not a model"), ("", "damaged")],
)  # fmt: skip
def test_json_that_is_no_fit(tmp_path, text, words):
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        sgq.GlmResult.from_json(path)
    with pytest.raises(FileNotFoundError):
        sgq.GlmResult.from_json(tmp_path / "other.json")


def test_influence_of_another_fit_is_refused(tmp_path):
    (tmp_path / "model.json").write_bytes((FITTED / "model.json").read_bytes())
    assert len(sgq.GlmResult.from_json(tmp_path).influence) == 0
    (tmp_path / "influence.csv").write_text("user,largest,flagged,age\na,age,true,1\n")
    with pytest.raises(ValueError, match="influence.csv is not of the same fit"):
        sgq.GlmResult.from_json(tmp_path)


def test_predictions_that_cannot_be_made():
    result = fit()
    with pytest.raises(ValueError, match='the frame: there is no column "age"'):
        result.predict(FRAME.drop(columns="age"))
    with pytest.raises(ValueError, match='"x", which was not among the levels learnt from'):
        result.predict(FRAME.assign(sex="x"))
    with pytest.raises(OSError):
        result.predict("nowhere.csv")


def test_without_pandas_there_are_plain_things(monkeypatch):
    with_pandas_before = fit().params.to_dict()
    monkeypatch.setattr(_glm_result, "_has_pandas", lambda: False)
    result = fit(data=DATA)
    assert result.params == with_pandas_before
    assert list(result.params) == ["intercept", "age", "sex=m"] and set(result.conf_int()) == set(result.params)
    low, high = result.conf_int()["age"]
    assert low < result.params["age"] < high
    assert isinstance(result.cov_params(), np.ndarray) and result.cov_params().shape == (3, 3)
    assert result.influence[0]["user"] in DATA["clinic"] and set(result.ratios()["age"]) == {"ratio", "lower", "upper"}
    assert sum(result.queries_per_user.values()) == result.queries


def test_pandas_is_optional():
    """Neither the package nor a fit to a dict loads it."""
    program = """
import sys
sys.modules["pandas"] = None  # an import of it fails
import sgq
data = {"y": [1.0, 2.0, 2.5, 4.0, 5.5, 6.0], "x": [0, 1, 2, 3, 4, 5], "u": list("aabbcc")}
print(sgq.glm("y ~ x", data, user="u").summary())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_result_of_a_study_is_read(tmp_path):
    """What `sgq session result --out` writes, of the twelve hospitals of docs/taking-part.md."""
    result = sgq.GlmResult.from_json(Path(__file__).parent / "fixtures" / "study")
    text = result.summary()
    assert "frugal" in text and "Probability of died = 1." in text
    assert result.converged and result.users == 12 and result.std_error_kind == "model"
    assert float(result.params["age80"]) == pytest.approx(0.5804039, rel=1e-6)
    assert float(result.bse["age80"]) == pytest.approx(0.1827519, rel=1e-6)
    assert len(result.influence) == 12
    assert "hospital-30006" in result.to_html()
    with pytest.raises(ValueError, match="covariance"):
        result.cov_params()
