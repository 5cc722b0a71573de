"""Problems from tables: a frame is the file that it would be written as."""

import numpy as np
import pandas
import polars
import pytest

from sgq.problems import from_csv, from_frame, regression

RANDOM = np.random.default_rng(1)
ROWS = 60
TABLE = {
    "school": RANDOM.choice(["e", "w", "n, s", 'the "best"'], ROWS),
    "hours": RANDOM.normal(size=ROWS),
    "tiny": RANDOM.normal(size=ROWS) * 1e-9,
    "large": RANDOM.normal(size=ROWS) * 1e17,
    "pupils": RANDOM.integers(1, 9, ROWS),
    "boarding": RANDOM.random(ROWS) > 0.5,
    "track": RANDOM.choice(["arts", "sport", "maths"], ROWS),
    "score": RANDOM.normal(size=ROWS),
    "passed": RANDOM.choice(["no", "yes"], ROWS),
    "weight": RANDOM.random(ROWS) + 0.1,
}
PANDAS = pandas.DataFrame(TABLE).astype({"track": "category"})
POLARS = polars.DataFrame(TABLE).with_columns(polars.col("track").cast(polars.Categorical))
FRAMES = pytest.mark.parametrize("frame", [PANDAS, POLARS, POLARS.lazy()], ids=["pandas", "polars", "lazy"])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "table.csv"
    PANDAS.to_csv(path, index=False)
    return path


@FRAMES
@pytest.mark.parametrize(
    "settings",
    [
        {"target": "score"},
        {"target": "passed"},
        {"target": "boarding", "exclude": ["large", "tiny"]},
        {"target": "pupils", "loss": "poisson", "features": ["hours", "track"]},
        {"target": "score", "loss": "huber", "delta": 0.5, "weight": "weight", "exclude": ["large"]},
        {"target": "score", "l2": 0.3, "standardise": False, "exclude": ["large"]},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_a_frame_and_its_file_give_the_same_bits(frame, settings, file):
    ours, files = from_frame(frame, "school", **settings), from_csv(file, "school", **settings)
    assert ours.user_names == files.user_names == sorted(set(TABLE["school"].tolist()))
    assert [name.lower() for name in ours.column_names] == [name.lower() for name in files.column_names]
    assert ours.optimum.tobytes() == files.optimum.tobytes() and ours.minimum == files.minimum
    assert "users                 4" in ours.card


def test_the_numbers_are_those_of_the_arrays():
    problem = from_frame(PANDAS, "school", "score", features=["hours", "boarding", "track"], standardise=False, l2=0.2)
    assert problem.column_names == ["intercept", "hours", "boarding=True", "track=maths", "track=sport"]
    levels = [TABLE["boarding"], TABLE["track"] == "maths", TABLE["track"] == "sport"]
    rows = np.column_stack([TABLE["hours"], *levels]).astype(float)
    naive = regression(rows, TABLE["score"], TABLE["school"], l2=0.2, intercept=True)
    assert problem.user_names == naive.user_names
    assert problem.optimum == pytest.approx(naive.optimum, rel=1e-9)


def test_features_and_target_are_standardised():
    problem = from_frame(PANDAS, "school", "score", features=["hours", "boarding"])
    rows = np.column_stack([TABLE["hours"], TABLE["boarding"]]).astype(float)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0, ddof=1)
    score = (TABLE["score"] - TABLE["score"].mean()) / TABLE["score"].std()
    naive = regression(rows, score, TABLE["school"], intercept=True)
    assert problem.optimum == pytest.approx(naive.optimum, rel=1e-9)


def test_types_of_pandas_that_can_be_missing_are_the_same_numbers():
    typed = PANDAS.astype({"pupils": "Int64", "boarding": "boolean", "hours": "Float64", "school": "string"})
    assert from_frame(typed, "school", "score").minimum == from_frame(PANDAS, "school", "score").minimum


MISSING = polars.when(polars.col("hours") > 1).then(None).otherwise(polars.col("hours")).alias("hours")


@pytest.mark.parametrize(
    "frame",
    [PANDAS.assign(hours=PANDAS.hours.where(PANDAS.hours <= 1)), POLARS.with_columns(MISSING),
     POLARS.with_columns(MISSING.fill_null(float("nan")))],
    ids=["pandas", "null", "NaN"],
)  # fmt: skip
def test_missing_values_are_left_out_only_on_demand(frame):
    with pytest.raises(ValueError, match=r"rows have missing values \(\"hours\": .*pass drop_missing=True"):
        from_frame(frame, "school", "score")
    whole = from_frame(PANDAS[PANDAS.hours <= 1], "school", "score")
    assert from_frame(frame, "school", "score", drop_missing=True).minimum == pytest.approx(whole.minimum, rel=1e-12)


def test_a_number_that_is_infinite_is_not_a_level():
    objects = PANDAS.assign(hours=PANDAS.hours.where(PANDAS.hours < 1, np.inf).astype(object))
    for frame in (PANDAS.assign(hours=np.inf), objects, POLARS.with_columns(hours=polars.lit(float("-inf"))).lazy()):
        with pytest.raises(ValueError, match="'hours' has an infinite number"):
            from_frame(frame, "school", "score")
        assert "hours" not in from_frame(frame, "school", "score", exclude=["hours"]).column_names
        assert from_frame(frame, "school", "score", features=(name for name in ["pupils"])).dim == 2


@pytest.mark.parametrize(
    ("frame", "settings", "kind", "words"),
    [
        (TABLE, {}, TypeError, "a dict: it must be one of pandas or polars"),
        (PANDAS["score"], {}, TypeError, "a Series"),
        (pandas.concat({"a": PANDAS}, axis=1), {}, TypeError, "2 levels of names"),
        (PANDAS.set_index("school"), {}, ValueError, "no column \"school\""),
        (PANDAS, {"user": "scool"}, ValueError, "did you mean \"school\""),
        (PANDAS, {"target": "school"}, ValueError, "it can be one of them"),
        (PANDAS, {"target": "track"}, ValueError, "not a finite number"),
        (PANDAS.assign(score=1.0), {}, ValueError, "nothing to predict"),
        (PANDAS.assign(hours=1.0), {}, ValueError, "leave out \"hours\""),
        (PANDAS[["school", "score"]], {}, ValueError, "no column is left"),
        (PANDAS[:0], {}, ValueError, "the frame: it has a header and no rows"),
        (pandas.DataFrame(), {}, ValueError, "the frame: it is empty"),
        (PANDAS.rename(columns={"tiny": "hours"}), {}, ValueError, "both named \"hours\""),
        (PANDAS, {"features": "hours"}, TypeError, "give a list of names"),
        (PANDAS, {"features": ["hour"]}, ValueError, "did you mean \"hours\""),
        (PANDAS, {"features": ["hours"], "exclude": ["tiny"]}, TypeError, "not both"),
        (PANDAS, {"weight": "wait"}, ValueError, "wait"),
        (PANDAS, {"loss": "hinge"}, ValueError, "no loss"),
        (PANDAS, {"l2": -1.0}, ValueError, "must not be negative"),
    ],
)
def test_frames_that_make_no_problem(frame, settings, kind, words):
    with pytest.raises(kind, match=words):
        from_frame(frame, **{"user": "school", "target": "score", **settings})


def test_constant_columns_are_left_out_on_demand():
    assert from_frame(PANDAS.assign(hours=1.0), "school", "score", drop_constant=True).dim > 2


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "nothing.csv", str(tmp_path)):
        with pytest.raises(OSError, match="cannot be read"):
            from_csv(path, "school", "score")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="empty.csv: the file is empty"):
        from_csv(tmp_path / "empty.csv", "school", "score")
