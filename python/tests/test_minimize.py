"""Whole runs in one call."""

import signal
import sys

import numpy as np
import pytest

import sgq

CENTERS = [2.0, 1.0, -1.0, -2.0]
USERS = [lambda x, b=b: 2.0 * (x - b) for b in CENTERS]
SETTINGS = {"method": "sgq", "smoothness": 2.0, "step_size": 0.015, "budget": 60, "seed": 7}


class Clinic:
    smoothness = 2.0

    def __init__(self, center):
        self.center = center

    def gradient(self, x):
        return 2.0 * (x - self.center)

    def value(self, x):
        return float(((x - self.center) ** 2).sum())


def test_functions_and_objects_give_the_same_run():
    by_functions = sgq.minimize(USERS, [5.0], **SETTINGS)
    clinics = [Clinic(center) for center in CENTERS]
    by_objects = sgq.minimize(clinics, [5.0], "sgq", step_size=0.015, budget=60, seed=7)
    assert by_functions.x.tobytes() == by_objects.x.tobytes()
    assert (by_functions.history["user"] == by_objects.history["user"]).all()
    assert by_functions.fun is None
    assert by_objects.fun == pytest.approx(np.mean([c.value(by_objects.x) for c in clinics]))


def test_a_result_speaks_as_scipy_does():
    result = sgq.minimize(USERS, [5.0], **SETTINGS)
    assert not result.success and result["nit"] == result.nit == 56 and result.nfev == result.queries == 60
    assert result.jac.shape == (1,) and {"x", "remaining", "certified", "jac"} < set(dir(result))
    assert result.queries_per_user.sum() == 60 == len(result.history["user"])
    assert "budget" in result.message and "queries: 60" in repr(result)
    with pytest.raises(AttributeError):
        result.nothing


def test_a_run_says_whether_it_has_converged():
    result = sgq.minimize(USERS, [5.0], smoothness=2.0)
    assert result.success and result.status == "converged" and result.queries < 20
    assert result.message.startswith("converged: ") and result.remaining.part <= 1e-4
    assert result.remaining.low < result.remaining.gap < result.remaining.high < result.remaining.at_start
    assert result.certified is None and "Remaining(gap=" in repr(result.remaining)
    # A quadratic's gap is known: the mean of (x - b)² is x² and a constant, and twice the mean is its curvature.
    proven = sgq.minimize(USERS, [5.0], smoothness=2.0, pl_constant=2.0)
    assert proven.certified >= proven.x[0] ** 2
    with pytest.warns(RuntimeWarning, match="NOT CONVERGED: .* is believed to remain; give a larger budget"):
        spent = sgq.minimize(USERS, [5.0], smoothness=2.0, budget=3)
    assert not spent.success and spent.status == "budget"
    assert "of the gap at the start is believed to remain" in spent.message
    # A method that cannot tell has no tolerance, unless somebody asks for one.
    saga = sgq.minimize(USERS, [5.0], "saga", smoothness=2.0, budget=30)
    assert saga.remaining is None and not saga.success and saga.queries == 30
    with pytest.raises(ValueError, match="saga cannot tell what remains"):
        sgq.minimize(USERS, [5.0], "saga", smoothness=2.0, tol=0.1)
    by_gradient = sgq.minimize(USERS, [5.0], smoothness=2.0, gradient_tolerance=1e-9)
    assert by_gradient.success and by_gradient.status == "surrogate gradient"


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"tol": 0}, ValueError, "the tolerance is 0: it must be positive"),
        ({"tol": float("nan")}, ValueError, "tolerance"),
        ({"tol": -1e-4}, ValueError, "the tolerance is -0.0001: it must be positive"),
        ({"tol": 2}, ValueError, "the tolerance is 2: it is a part of the gap at the start"),
        ({"budget": -1}, ValueError, "budget is -1: it must be a whole number from 0"),
        ({"budget": 2.5}, TypeError, "budget is 2.5: it must be a whole number"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"open": "two"}, TypeError, "open is two"),
        ({"job": 2}, TypeError, 'did you mean "jobs"'),
        ({"certifed_gap": 2.0}, TypeError, 'did you mean "certified_gap"'),
        ({"certified_gap": 1e-3}, ValueError, "a certified gap cannot stop this run: a proof needs each user's smoothness"),
        ({"certified_gap": -1.0, "smoothness": 2.0, "pl_constant": 2.0}, ValueError, "the certified gap is -1"),
        ({"tol": "little"}, TypeError, 'a number, "auto" or None'),
        ({"buget": 20}, TypeError, 'there is no keyword buget for frugal; did you mean "budget"'),
        ({"smoothnes": 2.0}, TypeError, 'did you mean "smoothness"'),
        ({"gradient_tol": 2.0}, TypeError, 'frugal has no setting "gradient_tol"'),
        ({"method": "frugal", "step_size": 0.1}, ValueError, "frugal has no step size: leave step_size out"),
    ],
)
def test_wrong_settings_are_named(settings, kind, words):
    with pytest.raises(kind, match=words):
        sgq.minimize(USERS, [5.0], **settings)


def test_a_proven_gap_ends_a_run():
    known = {"smoothness": 2.0, "pl_constant": 2.0}
    result = sgq.minimize(USERS, [5.0], certified_gap=1e-8, **known)
    assert result.success and result.status == "certified" and result.message.startswith(("converged: a gap of at most ", "converged: the gap is proven to be zero"))
    assert result.x[0] ** 2 <= result.certified <= 1e-8 and result.session.uncertified is None
    assert "constant" in sgq.minimize(USERS, [5.0], smoothness=2.0).session.uncertified


@pytest.mark.parametrize("more", [{"tol": 1e-12}, {"certified_gap": 1e-12}])
def test_a_run_that_has_converged_goes_on(more):
    curved = [lambda x, b=b: 2.0 * (x - b) + 0.1 * x**3 for b in CENTERS]
    first = sgq.minimize(curved, [5.0], smoothness=10.0, pl_constant=2.0, tol=1e-2)
    paid = first.queries
    assert first.success
    first.session.extend(**more)
    result = sgq.minimize(curved, session=first.session)
    assert result.success and result.queries > paid and abs(result.x[0]) < 1e-5 < abs(first.x[0])
    with pytest.raises(TypeError, match="give one of them"):
        result.session.extend(tol=0.1, certified_gap=0.1)
    with pytest.raises(ValueError, match="the tolerance is -1"):
        result.session.extend(tol=-1.0)


def test_a_result_above_its_start_is_warned_of():
    problem = sgq.problems.quadratics([1, 1, 1, 1], CENTERS)
    for users, start in ((problem, [0.01]), ([Clinic(center) for center in CENTERS], [0.01])):
        with pytest.warns(RuntimeWarning, match="NOT CONVERGED: it ended above its start, at 5[.]0536 after 2[.]5001") as told:
            result = sgq.minimize(users, start, "sgd", step_size=0.4, budget=1)
        assert told[0].filename == __file__ and not result.success and result.message == str(told[0].message)


@pytest.mark.parametrize("number", [float, np.float64, np.array])
def test_one_parameter_needs_no_arrays(number):
    plain = sgq.minimize(USERS, [5.0], smoothness=2.0)
    users = [lambda x, b=b: ((x[0] - b) ** 2, number(2.0 * (x[0] - b))) for b in CENTERS]
    assert sgq.minimize(users, [5.0], smoothness=2.0).x.tobytes() == plain.x.tobytes()
    users = [lambda x, b=b: ((x[0] - b) ** 2, number(2.0 * (x[0] - b)), 2.0) for b in CENTERS]
    result = sgq.minimize(users, [5.0])
    assert result.success and abs(result.x[0]) < 1e-6 and result.queries <= 8
    assert abs(sgq.minimize([lambda x, b=b: number(2.0 * (x[0] - b)) for b in CENTERS], [5.0]).x[0]) < 0.1


def test_a_wrong_answer_names_its_user():
    users = [lambda x, b=b: (0.0, 2.0 * (x - b), np.eye(2)) for b in CENTERS]
    users[2] = lambda x: (0.0, x, np.array([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(ValueError, match="the answer of user 2: the Hessian is not symmetric: 3 at row 1, column 0"):
        sgq.minimize(users, [5.0, 1.0])


def test_an_exception_passes_through_and_nothing_is_lost():
    class Offline(Exception):
        pass

    calls = []

    def flaky(x):
        calls.append(1)
        if len(calls) == 3:
            raise Offline
        return 2.0 * (x - 2.0)

    users = [flaky, *USERS[1:]]
    with pytest.raises(Offline) as caught:
        sgq.minimize(users, [5.0], **SETTINGS)
    session = caught.value.session
    paid = session.queries
    assert 0 < paid < 60
    result = sgq.minimize(users, [5.0], session=session)
    assert result.queries == 60
    assert result.x.tobytes() == sgq.minimize(USERS, [5.0], **SETTINGS).x.tobytes()


def test_a_callback_can_end_the_run():
    result = sgq.minimize(USERS, [5.0], callback=lambda session: session.queries == 17, **SETTINGS)
    assert (result.queries, result.status) == (17, "callback")


def test_divergence_is_no_success():
    with pytest.warns(RuntimeWarning, match="DIVERGED"):
        result = sgq.minimize(USERS, [5.0], "sgd", step_size=50.0, budget=1000)
    assert not result.success and result.status == "diverged"


@pytest.mark.parametrize(
    ("users", "words"), [([], "there are no users"), (["nobody"], "user 0 is 'nobody'"), ([None], "user 0 is None")]
)
def test_users_that_are_none(users, words):
    with pytest.raises((TypeError, ValueError), match=words):
        sgq.minimize(users, [5.0], **SETTINGS)


def test_a_user_that_returns_nothing():
    with pytest.raises(TypeError, match="is None"):
        sgq.minimize([lambda x: None], [5.0], **SETTINGS)


@pytest.mark.parametrize("users", [USERS[:2], [*USERS, USERS[0]]])
def test_other_users_than_the_sessions_are_refused(users):
    session = sgq.minimize(USERS, [5.0], callback=lambda session: session.queries == 9, **SETTINGS).session
    with pytest.raises(ValueError, match=f"has 4 users, and {len(users)} are given"):
        sgq.minimize(users, session=session)
    assert session.queries == 9


def test_a_value_that_fails_loses_nothing_that_was_paid_for():
    class Mute(Clinic):
        def value(self, x):
            raise ConnectionError

    with pytest.raises(ConnectionError) as caught:
        sgq.minimize([Mute(center) for center in CENTERS], [5.0], **SETTINGS)
    assert caught.value.session.queries == 60


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_ctrl_c_is_heard_while_a_problem_answers():
    X = np.random.default_rng(0).normal(size=(200_000, 20))
    problem = sgq.problems.regression(X, X[:, 0], np.arange(len(X)) % 4, solve=False)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            sgq.minimize(problem, method="saga", budget=1_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # One call answers 4,096 questions.
    assert 0 < caught.value.session.queries < 4096


def test_another_problem_than_the_sessions_is_refused():
    one, other = (sgq.problems.quadratics([1, 1], [0, center]) for center in (1, 2))
    session = sgq.Session("sgd", problem=one, step_size=0.1, budget=5)
    for users in (other, USERS[:2]):
        with pytest.raises(ValueError, match="another problem"):
            sgq.minimize(users, session=session)
    assert sgq.minimize(one, session=session).queries == 5


def test_frugal_needs_no_step_size_and_no_smoothness():
    with_bound = sgq.minimize(USERS, [5.0], smoothness=2.0, budget=40, tol=None, seed=7)
    without = sgq.minimize(USERS, [5.0], "frugal", budget=40, tol=None, seed=7)
    assert abs(with_bound.x[0]) < 1e-9 and abs(without.x[0]) < 1e-9
    # Anybody may be asked first, and nobody has to be before the first step.
    assert with_bound.nit == 40 and without.history["user"][3] in without.history["user"][:3]
    for step_size in (0.1, "theory"):
        with pytest.raises(ValueError, match="frugal, which is taken where no method is named, has no step size"):
            sgq.minimize(USERS, [5.0], smoothness=2.0, step_size=step_size, budget=40)


def test_options_of_sgq_need_no_smoothness():
    practical = sgq.minimize(USERS, [5.0], "practical-sgq", budget=200, seed=7)
    # Every query is a step, and the second asks the same user again, to learn how smooth it is.
    assert practical.nit == 200 and abs(practical.x[0]) < 1e-2
    assert practical.history["user"][0] == practical.history["user"][1]
    by_parts = {"p": 0.3, "bonus": 0.1, "lazy": True, "learned": True}
    same = sgq.minimize(USERS, [5.0], "surrogate-ei + best-step", budget=200, seed=7, **by_parts)
    assert (same.history["user"] == practical.history["user"]).all() and same.x == practical.x
    learned = sgq.minimize(USERS, [5.0], "sgq", step_size=0.015, budget=60, seed=7, learned=True)
    assert learned.nit == 56
    with pytest.raises(TypeError, match="lazy is 1.5: it must be true or false"):
        sgq.minimize(USERS, [5.0], "sgq", step_size=0.015, budget=60, lazy=1.5)
    with pytest.raises(ValueError, match="or have them learned"):
        sgq.minimize(USERS, [5.0], "sgq", step_size=0.015, budget=60, lazy=True)


def test_lazy_starts_take_a_step_with_every_answer():
    swept = sgq.minimize(USERS, [5.0], "saga", step_size=0.1, budget=60, seed=7)
    lazy = sgq.minimize(USERS, [5.0], "saga", step_size=0.1, budget=60, seed=7, lazy=True)
    assert (swept.nit, lazy.nit) == (56, 60)
    for method in ("sag", "iag", "diag", "iqn", "balanced + saga"):
        result = sgq.minimize(USERS, [5.0], method, step_size=0.05, budget=200, seed=7, lazy=True)
        assert result.nit == 200 and abs(result.x[0]) < 0.1


def test_momentum():
    plain = sgq.minimize(USERS, [5.0], "shuffled-sgd", step_size=0.02, budget=60, seed=7)
    without = sgq.minimize(USERS, [5.0], "shuffled + heavy-ball", step_size=0.02, budget=60, seed=7, momentum=0.0)
    assert without.x == plain.x
    ball = sgq.minimize(USERS, [5.0], "shuffled + heavy-ball", step_size=0.02, budget=60, seed=7)
    assert abs(ball.x[0]) < abs(plain.x[0])
    with pytest.raises(ValueError, match=r"momentum is 1: it must lie in \[0, 1\)"):
        sgq.minimize(USERS, [5.0], "shuffled + heavy-ball", step_size=0.02, budget=60, momentum=1.0)
