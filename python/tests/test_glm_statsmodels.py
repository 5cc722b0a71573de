"""`sgq.glm` beside statsmodels: the same coefficients, standard errors, deviance and AIC."""

import numpy as np
import pandas
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import sgq

USERS = 12


def people(seed=0, rows=400):
    """Patients at clinics of unequal size, with every kind of column."""
    random = np.random.default_rng(seed)
    clinic = np.minimum(random.geometric(0.15, size=rows), USERS)
    frame = pandas.DataFrame({
        "clinic": [f"clinic {number}" for number in clinic],
        "age": random.normal(60, 12, size=rows),
        "dose": random.gamma(2.0, 3.0, size=rows),
        "ward": random.choice(["a", "b", "c"], size=rows),
        "sex": random.choice(["f", "m"], size=rows),
        "days": random.integers(1, 30, size=rows).astype(float),
        "w": random.choice([0.5, 1.0, 2.0, 3.0], size=rows),
    })  # fmt: skip
    linear = 0.5 + 0.02 * (frame["age"] - 60) - 0.08 * frame["dose"] + 0.4 * (frame["ward"] == "b") - 0.3 * (frame["sex"] == "m")
    linear += 0.05 * np.cos(clinic)
    frame["cost"] = linear + random.normal(size=rows)
    frame["died"] = (random.random(rows) < 1 / (1 + np.exp(-linear))).astype(int)
    frame["falls"] = random.poisson(np.exp(linear))
    frame["visits"] = random.negative_binomial(2.5, 2.5 / (2.5 + np.exp(linear)))
    frame["stay"] = random.gamma(3.0, np.exp(linear) / 3.0)
    return frame


FRAME = people()
FAMILIES = {
    "gaussian": ("cost", sm.families.Gaussian()),
    "binomial": ("died", sm.families.Binomial()),
    "poisson": ("falls", sm.families.Poisson()),
    "negbin:2.5": ("visits", sm.families.NegativeBinomial(alpha=1 / 2.5)),
    "gamma": ("stay", sm.families.Gamma(sm.families.links.Log())),
}
RIGHT = {
    "numbers": "age + dose",
    "factors": "age + ward + sex",
    "interactions": "age * ward + dose:sex",
    "none": "age + dose - 1",
}


def named(name):
    """A coefficient of statsmodels by our name."""
    parts = [part.replace("[T.", "=").replace("[", "=").replace("]", "") for part in name.split(":")]
    return ":".join(parts).replace("Intercept", "intercept")


def ours_in_order(result, names):
    """Where each of statsmodels' coefficients stands among ours: patsy puts factors first, and may turn the parts of products."""
    there = {frozenset(name.split(":")): place for place, name in enumerate(result.params.index)}
    return [there[frozenset(named(name).split(":"))] for name in names]


def assert_same(result, model, clustered=False):
    order = ours_in_order(result, model.params.index)
    assert len(order) == len(result.params) == len(set(order))
    estimates, errors = result.params.to_numpy()[order], result.bse.to_numpy()[order]
    assert np.all(abs(estimates - model.params) <= 1e-6 * np.maximum(abs(model.params), model.bse))
    np.testing.assert_allclose(errors, model.bse, rtol=1e-6)
    np.testing.assert_allclose(result.tvalues.to_numpy()[order], model.tvalues, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(result.pvalues.to_numpy()[order], model.pvalues, rtol=1e-4, atol=1e-12)
    for alpha in (0.05, 0.2):
        close = result.conf_int(alpha).to_numpy()[order]
        assert np.all(abs(close - model.conf_int(alpha).to_numpy()) <= 1e-5 * model.bse.to_numpy()[:, np.newaxis])
    scale = np.outer(model.bse, model.bse)
    assert np.all(abs(result.cov_params().to_numpy()[np.ix_(order, order)] - model.cov_params().to_numpy()) <= 1e-5 * scale)
    for ours, theirs in [(result.deviance, model.deviance), (result.aic, model.aic), (result.llf, model.llf), (result.scale, model.scale)]:
        assert ours == pytest.approx(theirs, rel=1e-6)
    assert (result.rows, result.df_resid) == (model.nobs, model.df_resid)
    assert result.std_error_kind == ("clustered by user" if clustered else "model")


def theirs(family, formula, frame=FRAME, clustered=False, **settings):
    model = smf.glm(formula, frame, family=FAMILIES[family][1], **settings)
    how = {"cov_type": "cluster", "cov_kwds": {"groups": frame["clinic"]}} if clustered else {}
    # By the coefficients, for their deviance stops moving long before.
    return model.fit(tol=1e-12, tol_criterion="params", maxiter=200, **how)


def ours(family, formula, frame=FRAME, **settings):
    return sgq.glm(formula, frame, user="clinic", family=family, precision=1e-7, budget=100_000, **settings)


@pytest.mark.parametrize("right", RIGHT)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family, right):
    formula = f"{FAMILIES[family][0]} ~ {RIGHT[right]}"
    result = ours(family, formula)
    model = theirs(family, formula)
    assert result.converged and result.users == FRAME["clinic"].nunique()
    assert_same(result, model)
    if right != "none":  # statsmodels' null model has an intercept, whatever the formula says
        assert result.null_deviance == pytest.approx(model.null_deviance, rel=1e-6)
    np.testing.assert_allclose(result.predict(FRAME), model.predict(FRAME), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_clustered_errors(family):
    formula = f"{FAMILIES[family][0]} ~ age + ward"
    assert_same(ours(family, formula, std_errors="clustered"), theirs(family, formula, clustered=True), clustered=True)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "negbin:2.5", "gamma"])
def test_offsets(family):
    target = FAMILIES[family][0]
    result = ours(family, f"{target} ~ age + sex + offset(log(days))")
    model = theirs(family, f"{target} ~ age + sex", offset=np.log(FRAME["days"]))
    assert_same(result, model)
    assert result.null_deviance == pytest.approx(model.null_deviance, rel=1e-6)
    np.testing.assert_allclose(result.predict(FRAME), model.fittedvalues, rtol=1e-5)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_weights_of_rows(family):
    formula = f"{FAMILIES[family][0]} ~ age * sex"
    assert_same(ours(family, formula, weights="w"), theirs(family, formula, var_weights=FRAME["w"]))


def test_a_reference_level_and_a_function_of_a_column():
    result = ours("poisson", 'falls ~ factor(ward, ref="c") + log(dose) + I(age^2)')
    model = theirs("poisson", 'falls ~ C(ward, Treatment("c")) + np.log(dose) + I(age**2)')
    assert sorted(result.params) == pytest.approx(sorted(model.params), rel=1e-6)
    assert sorted(result.bse) == pytest.approx(sorted(model.bse), rel=1e-6)
    assert "Reference level of ward: c." in result.summary()


def test_rows_with_missing_values_are_left_out():
    frame = FRAME.copy()
    frame.loc[[3, 77], "age"] = np.nan
    frame.loc[[5], "ward"] = None
    result = ours("binomial", "died ~ age + ward", frame)
    assert_same(result, theirs("binomial", "died ~ age + ward", frame))
    assert (result.rows, result.rows_missing) == (397, 3)
    assert "3 rows left out with missing values (age 2, ward 1)." in result.summary()
    predicted = result.predict(frame)
    assert np.isnan(predicted).sum() == 3 and np.isnan(predicted[[3, 5, 77]]).all()


def test_influence_is_a_fit_without_the_user():
    """Exact for gaussian: one step of Newton's method from the optimum."""
    result = ours("gaussian", "cost ~ age + sex")
    worst = result.influence.iloc[0]
    rest = FRAME[FRAME["clinic"] != worst["user"]]
    without = theirs("gaussian", "cost ~ age + sex", rest)
    changes = (without.params.rename(named)[result.params.index] - result.params) / result.bse
    assert worst[result.params.index].to_numpy(dtype=float) == pytest.approx(changes.to_numpy(), rel=1e-4, abs=1e-6)
    assert worst["largest"] == abs(changes).idxmax()


def test_without_a_closing_question():
    exact, learned = (ours("poisson", "falls ~ age + sex", close=close) for close in (True, False))
    assert learned.deviance is None and learned.aic is None and "approximate" in learned.std_error_kind
    assert learned.params.to_numpy() == pytest.approx(exact.params.to_numpy(), rel=1e-5)
    assert 0.5 < (learned.bse / exact.bse).min() and (learned.bse / exact.bse).max() < 2
    assert learned.fit["closing_answers"] == 0 and exact.fit["closing_answers"] == exact.users


def test_users_count_alike_where_that_is_wanted():
    rows, users = (ours("gaussian", "cost ~ age", weigh=weigh) for weigh in ("rows", "users"))
    sizes = FRAME.groupby("clinic")["age"].transform("size")
    by_users = smf.wls("cost ~ age", FRAME, weights=1 / sizes).fit()
    assert users.params.to_numpy() == pytest.approx(by_users.params.to_numpy(), rel=1e-6)
    assert abs(rows.params["age"] - users.params["age"]) > 1e-4
    assert "Users count alike" in users.summary() and "Rows count alike" in rows.summary()
