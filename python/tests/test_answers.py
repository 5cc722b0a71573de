"""Answers that say more than a gradient: what goes in, what is counted, and everything that can be wrong."""

import pickle

import numpy as np
import pytest

import sgq

CENTERS = np.array([[1.0, 0.0], [3.0, 4.0], [-1.0, 2.0]])
CURVATURE = np.array([[2.0, 1.0], [1.0, 4.0]])


def new(method="ciag", **settings):
    settings = {"x0": [5.0, 5.0], "users": 3, "smoothness": 5.0, "answers": "hessian", "budget": 30, **settings}
    return sgq.Session(method, **settings)


def said(query):
    off = query.point - CENTERS[query.user]
    return 0.5 * off @ CURVATURE @ off, CURVATURE @ off


def test_a_method_that_needs_hessians_gets_them_from_users():
    session = new()
    for query in session:
        assert query.wants == "hessian" and "wants=\"hessian\"" in repr(query)
        loss, gradient = said(query)
        session.tell(query, gradient, loss, CURVATURE)
    # 2 numbers in a gradient, 1 loss, and 3 in half a Hessian.
    assert (session.queries, session.numbers, session.answers) == (30, 30 * 6, "hessian")
    assert np.abs(session.point - CENTERS.mean(0)).max() < 1e-3


def test_a_method_that_needs_losses_gets_them_from_users():
    session = new("oort", answers="loss")
    for query in session:
        assert query.wants == "loss"
        loss, gradient = said(query)
        session.tell(query, gradient, loss)
    assert session.numbers == 30 * 3
    with pytest.raises(ValueError, match="has no loss, and the method cannot do without"):
        session = new("oort", answers="loss")
        session.tell(session.ask(), [1.0, 1.0])
    with pytest.raises(ValueError, match="ask for answers with a loss"):
        new("oort", answers="gradient")
    with pytest.raises(ValueError, match="looks at several users' losses before it asks"):
        new("power-of-choice", answers="hessian")


def test_a_question_keeps_what_it_wants_when_it_travels():
    assert pickle.loads(pickle.dumps(new().ask())).wants == "hessian"
    assert new("saga").ask().wants == "gradient"
    # Where nothing but gradients is asked for, nothing else is wanted.
    assert sgq.Session("saga", x0=[5.0], users=3, smoothness=1.0).ask().wants == "gradient"


@pytest.mark.parametrize(
    "hessian",
    [
        CURVATURE,
        CURVATURE.tolist(),
        CURVATURE.astype(np.float32),
        np.asfortranarray(CURVATURE),
        CURVATURE + [[0.0, 1e-8], [0.0, 0.0]],
        [2.0, 1.0, 4.0],
        np.array([2, 1, 4]),
    ],
)
def test_hessians_are_matrices_or_their_lower_triangles(hessian):
    session = new()
    for query in session:
        loss, gradient = said(query)
        session.tell(query, gradient, hessian=hessian)
    assert session.numbers == 30 * 5
    assert np.abs(session.point - CENTERS.mean(0)).max() < 1e-3


def test_a_number_is_the_hessian_of_one_parameter():
    for hessian in (2.0, [2.0], [[2.0]]):
        session = sgq.Session("ciag", x0=[5.0], users=2, smoothness=2.0, answers="hessian", budget=8)
        for query in session:
            session.tell(query, 2.0 * (query.point - query.user), hessian=hessian)
        assert session.point[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("parts", "kind", "words"),
    [
        ({"hessian": None}, ValueError, "has no Hessian, and the method cannot do without"),
        ({"hessian": np.eye(3)}, ValueError, "the Hessian of user 0 has 6 numbers, expected 3"),
        ({"hessian": np.ones((2, 3))}, ValueError, r"the Hessian has the shape \[2, 3\]: it must be a square matrix"),
        ({"hessian": np.ones((1, 2, 2))}, ValueError, "it must be a square matrix"),
        ({"hessian": np.ones(4)}, ValueError, "has 4 numbers, expected 3: the lower triangle"),
        ({"hessian": [[2.0, 1.0], [1.1, 4.0]]}, ValueError, "is not symmetric: 1.1 at row 1, column 0, and 1 at row 0, column 1"),
        ({"hessian": [[2.0, np.nan], [1.0, 4.0]]}, ValueError, "is NaN at row 0, column 1: it must be finite"),
        ({"hessian": [2.0, np.inf, 4.0]}, ValueError, "is inf at position 1"),
        ({"hessian": [["a", "b"], ["c", "d"]]}, TypeError, "real numbers"),
        ({"hessian": [[1j, 0], [0, 1]]}, TypeError, "real numbers"),
        ({"loss": np.nan}, ValueError, "the loss of user 0 is NaN"),
        ({"loss": "small"}, TypeError, "loss"),
        ({"variance": -1.0}, ValueError, "the variance of user 0 is -1"),
        ({"variance": [1.0, 1.0, 1.0]}, ValueError, "the variance of user 0 has 3 numbers"),
        ({"variance": [[1.0, 0.0], [0.0, 1.0]]}, ValueError, "the variance has the shape"),
        ({"weight": 0.0}, ValueError, "the weight of user 0 is 0"),
        ({"weight": -2.0}, ValueError, "the weight of user 0 is -2"),
        ({"cost": np.inf}, ValueError, "the cost of user 0 is inf"),
    ],
)
def test_what_cannot_be_right_costs_nothing_and_leaves_the_question_open(parts, kind, words):
    session = new()
    query = session.ask()
    _, gradient = said(query)
    with pytest.raises(kind, match=words):
        session.tell(query, gradient, **{"hessian": CURVATURE, **parts})
    assert (session.queries, session.numbers) == (0, 0) and session.ask().ticket == query.ticket
    session.tell(query, gradient, hessian=CURVATURE)
    assert session.queries == 1


def test_noise_may_be_one_number_or_many():
    session = new("saga")
    for variance in (0.1, [0.1], [0.1, 0.2]):
        session.tell(session.ask(), [1.0, 2.0], variance=variance)
    assert session.numbers == 3 * 2 + 1 + 1 + 2


@pytest.mark.parametrize("told", [False, True])
def test_users_count_as_much_as_is_said(told):
    # The mean of CENTERS with these weights.
    weights = [10.0, 20.0, 70.0]
    session = new("frugal", weights=None if told else weights, smoothness=None if told else 5.0, budget=120)
    for query in session:
        session.tell(query, said(query)[1], weight=weights[query.user] if told else None)
    assert np.abs(session.point - np.average(CENTERS, axis=0, weights=weights)).max() < 1e-4
    assert np.allclose(session.weights / session.weights[0], [1.0, 2.0, 7.0])


def test_budgets_in_cost_and_in_numbers():
    session = new("sgd", costs=[1.0, 2.0, 4.0], cost_budget=20.0, budget=None)
    for query in session:
        session.tell(query, said(query)[1])
    assert session.stop_reason == "cost budget" and 19.0 < session.cost <= 20.0
    session.extend(cost=4.0)
    session.tell(session.ask(), [1.0, 1.0], cost=1.5)
    assert session.cost % 1.0 == 0.5
    session = new("sgd", numbers_budget=9, budget=100)
    for query in session:
        session.tell(query, said(query)[1])
    assert (session.stop_reason, session.numbers) == ("numbers budget", 8)
    session.extend(numbers=2)
    session.tell(session.ask(), [1.0, 1.0])
    assert session.ask() is None and "numbers sent is spent (10)" in session.message
    session = new("sgd", budget=0)
    for raise_budget in (lambda: session.extend(1), lambda: session.extend(budget=1)):
        assert session.ask() is None
        raise_budget()
        session.tell(session.ask(), [1.0, 1.0])
    with pytest.raises(TypeError, match="nothing to extend by"):
        session.extend()
    for cost in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="the cost is"):
            session.extend(cost=cost)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"answers": "hesian"}, ValueError, 'answers is "hesian": it must be "gradient", "loss" or "hessian"'),
        ({"answers": [(0, [5.0, 5.0], [1.0, 1.0])]}, TypeError, "give answers of an earlier run as earlier="),
        ({"answers": "gradient"}, ValueError, "Hessian"),
        ({"weights": [1.0, 2.0]}, ValueError, "2 weights were given for 3 users"),
        ({"weights": [1.0, -2.0, 1.0]}, ValueError, "user 1 has the weight -2"),
        ({"weights": [1.0, np.nan, 1.0]}, ValueError, "user 1 has the weight NaN"),
        ({"cost_budget": -1.0}, ValueError, "budget in cost is -1"),
        ({"numbers_budget": -1}, ValueError, "numbers_budget is -1: it must be a whole number from 0"),
    ],
)
def test_wrong_settings_are_refused(settings, kind, words):
    with pytest.raises(kind, match=words):
        new(**settings)


def test_weights_of_a_problem_are_the_problems():
    problem = sgq.problems.quadratics(np.ones((3, 2)), CENTERS)
    with pytest.raises(ValueError, match="put them into the problem"):
        sgq.Session("saga", problem=problem, weights=[1.0, 2.0, 3.0])


def test_earlier_answers_may_say_more():
    whole, paid = new(), []
    for _ in range(12):
        query = whole.ask()
        loss, gradient = said(query)
        parts = {"gradient": gradient, "loss": loss, "hessian": CURVATURE, "cost": 3.0, "variance": None}
        paid.append((query.user, query.point.copy(), parts))
        whole.tell(query, **parts)
    later = new(earlier=paid)
    assert (later.queries, later.earlier, later.cost, whole.cost) == (0, 12, 0.0, 36.0)
    assert later.point.tobytes() == whole.point.tobytes()
    for wrong, kind, words in [
        ({"loss": 1.0}, TypeError, 'no "gradient"'),
        ({"gradient": [1.0, 1.0], "hesian": CURVATURE}, TypeError, "no part 'hesian'"),
        ({"gradient": [1.0, 1.0], "hessian": np.ones((2, 3))}, ValueError, "square matrix"),
        ([1.0, 1.0], ValueError, "answer 0 of the earlier run cannot be taken in: .* has no Hessian"),
    ]:
        with pytest.raises(kind, match=words):
            new(earlier=[(0, [5.0, 5.0], wrong)])


def test_failures_say_why_and_may_be_billed():
    session = new("sgd")
    query = session.ask()
    session.fail(query, "timed out")
    session.fail(query, "something else", billed=True)  # saying it again changes nothing
    assert session.failures() == [(query.user, 1, "timed out")] and session.queries == 0
    billed = session.ask()
    session.fail(billed.ticket, billed=True)
    assert (session.queries, session.cost, session.numbers) == (1, 1.0, 0)
    session.tell(billed, [1.0, 1.0])  # it came after all, and is not billed again
    assert (session.queries, session.cost, session.numbers) == (1, 1.0, 2)
    assert sorted(session.failures())[0][2] in (None, "timed out")
    again = pickle.loads(pickle.dumps(session))
    assert again.failures() == session.failures()
    while (query := session.ask()) is not None:
        session.fail(query, reason="no route")
    assert session.stop_reason == "nobody answers" and "times: no route" in session.message
