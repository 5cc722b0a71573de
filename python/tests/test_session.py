"""Sessions from Python: the protocol, what goes in and out, and everything that can go wrong."""

import json
import pickle
import threading

import numpy as np
import pytest

import sgq

CENTERS = np.array([2.0, 1.0, -1.0, -2.0])


def clinic(user, x):
    return 2.0 * (np.asarray(x) - CENTERS[user])


def new(method="sgq", **settings):
    settings = {"x0": [5.0], "users": 4, "smoothness": 2.0, "step_size": 0.015, "budget": 60, "seed": 7, **settings}
    return sgq.Session(method, **settings)


def drive(session, steps=10**9):
    asked = []
    for query in session:
        if len(asked) == steps:
            break
        session.tell(query.ticket, clinic(query.user, query.point))
        asked.append((query.user, query.explored, query.point.tobytes()))
    return asked


def test_a_session_asks_until_its_budget_is_spent():
    session = new()
    assert len(drive(session)) == 60
    assert session.ask() is None
    assert (session.queries, session.stop_reason, session.steps) == (60, "budget", 56)
    assert session.queries_per_user.sum() == 60
    assert "60 queries is spent" in session.message
    assert abs(session.point[0]) < 0.5


@pytest.mark.parametrize("name", [name for name, *_ in sgq.methods()])
def test_every_method_runs_unless_it_sees_more_than_answers(name):
    if name in {"power-of-choice", "oort", "ogq", "ciag", "nim", "stochastic-newton", "fednl", "fisher-scoring"}:
        with pytest.raises(ValueError, match="simulate it against a problem"):
            new(name)
    else:
        session = new(name, step_size=None) if name in {"frugal", "practical-sgq"} else new(name)
        assert len(drive(session)) >= 60


@pytest.mark.parametrize("name", ["sgd", "sgq", "saga", "svrg", "saga-sgq", "grab", "iqn"])
def test_a_stored_session_goes_on_bit_for_bit(name):
    whole = drive(new(name))
    session = new(name)
    begun = drive(session, 23)
    for later in (
        sgq.Session.from_state_dict(session.state_dict()),
        pickle.loads(pickle.dumps(session)),
    ):
        assert begun + drive(later) == whole
    other = new("sgd")
    other.load_state_dict(session.state_dict())
    assert other.method == name and begun + drive(other) == whole


def test_answers_can_be_anything_that_holds_numbers():
    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.array([3.0], dtype=dtype)

    class Tensor:
        def __init__(self):
            self.numbers = np.array([3.0])

        def __dlpack__(self, **options):
            return self.numbers.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.numbers.__dlpack_device__()

    answers = [
        np.array([3.0]),
        np.array([3.0], dtype=np.float32),
        np.array([3], dtype=np.int8),
        np.array([0.0, 3.0, 0.0, 3.0])[1::2][:1],
        np.array([9.0, 3.0])[::-1][:1],
        np.array([(1, 3.0)], dtype=[("flag", "u1"), ("slope", "f8")])["slope"],
        [3.0],
        (3,),
        Array(),
        Tensor(),
    ]
    points = set()
    for answer in answers:
        session = new("sgd", smoothness=None)
        session.tell(session.ask().ticket, answer)
        points.add(session.point[0])
    assert points == {5.0 - 0.015 * 3.0}


def test_a_point_outlives_its_query_and_cannot_be_written_to():
    session = new("sgd", smoothness=None)
    query = session.ask()
    point = query.point
    with pytest.raises(ValueError, match="read-only"):
        point += 1.0
    session.tell(query.ticket, [3.0])
    del query
    for query in session:
        session.tell(query.ticket, [1.0])
    assert point.tolist() == [5.0]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (None, TypeError, "is None"),
        ("3.0", TypeError, "real numbers"),
        (np.array([object()]), TypeError, "real numbers"),
        ([1j], TypeError, "real numbers"),
        ([[3.0]], ValueError, "one dimension"),
        ([1.0, 2.0], ValueError, "has 2 numbers, expected 1"),
        ([], ValueError, "has 0 numbers, expected 1"),
        ([np.nan], ValueError, "it must be finite"),
        ([np.inf], ValueError, "it must be finite"),
    ],
)
def test_a_wrong_answer_costs_nothing_and_leaves_the_question_open(answer, kind, words):
    session = new()
    query = session.ask()
    with pytest.raises(kind, match=words):
        session.tell(query.ticket, answer)
    assert session.queries == 0 and session.ask().ticket == query.ticket
    session.tell(query.ticket, [3.0])
    assert session.queries == 1


def test_tickets_belong_to_their_session():
    one, other = new(), new()
    query = one.ask()
    other.ask()
    with pytest.raises(ValueError, match="another session"):
        other.tell(query.ticket, [3.0])
    one.tell(query.ticket, [3.0])
    one.tell(query.ticket, [3.0])
    assert one.queries == 1
    with pytest.raises(ValueError, match="already has another answer"):
        one.tell(query.ticket, [4.0])
    with pytest.raises(ValueError, match="no question has the ticket"):
        one.tell((query.ticket[0], 99), [4.0])


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"users": 0}, ValueError, "there are no users"),
        ({"users": 10**15}, MemoryError, "does not fit"),
        ({"users": 2**63}, MemoryError, "does not fit"),
        ({"users": 10**15, "smoothness": None, "method": "sgd"}, ValueError, "more than this machine can address"),
        ({"x0": []}, ValueError, "coordinate"),
        ({"x0": [np.nan]}, ValueError, "finite"),
        ({"x0": None}, TypeError, "x0 is missing"),
        ({"x0": [[1.0]]}, ValueError, "one dimension"),
        ({"smoothness": [1.0, 2.0]}, ValueError, "smoothness"),
        ({"smoothness": None}, ValueError, "smoothness"),
        ({"smoothness": None, "step_size": "auto"}, ValueError, "users' smoothness"),
        ({"step_size": "fast"}, ValueError, "auto"),
        ({"step_size": -1.0}, ValueError, "positive"),
        ({"step_size": [1.0]}, TypeError, "it must be a number"),
        ({"method": "sqg"}, ValueError, "there is no method"),
        ({"method": "ogq"}, ValueError, "oracle"),
        ({"p": 1.5}, ValueError, "1.5"),
        ({"p": "much"}, TypeError, "a number"),
        ({"explore": 0.3}, TypeError, "no setting"),
        ({"method": "sgd", "p": 0.3}, TypeError, "no settings"),
        ({"table": "f16"}, ValueError, "f32"),
        ({"table_folder": "/does/not/exist"}, OSError, "folder"),
        ({"users": 10**9, "x0": np.zeros(10**6), "smoothness": None, "method": "saga"}, MemoryError, "does not fit"),
    ],
)
def test_wrong_settings_are_refused(settings, kind, words):
    settings = dict(settings)
    with pytest.raises(kind, match=words):
        new(settings.pop("method", "sgq"), **settings)


@pytest.mark.parametrize("state", [{}, {"method": "sgq", "options": {}, "number": 1, "snapshot": b"nonsense"}])
def test_a_damaged_state_is_refused(state):
    with pytest.raises(ValueError, match="state_dict|snapshot"):
        sgq.Session.from_state_dict(state)


def test_other_threads_go_on_while_a_user_is_chosen():
    session = new(x0=np.zeros(200), users=3_000, smoothness=1.0, budget=3_200, p=0.0)
    rng, ticks, done = np.random.default_rng(1), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    for query in session:
        session.tell(query.ticket, rng.normal(size=200))
    done.set()
    thread.join()
    assert session.queries == 3_200 and ticks


def test_questions_travel():
    session = sgq.Session("saga", x0=[5.0, 1.0], users=3, smoothness=1.0, budget=9)
    query = pickle.loads(pickle.dumps(session.ask()))
    assert (query.user, query.explored, query.point.tolist()) == (0, None, [5.0, 1.0])
    # Through JSON a ticket becomes a list.
    session.tell(json.loads(json.dumps(query.ticket)), [1.0, 2.0])
    assert session.queries == 1
    with pytest.raises(TypeError, match="give back the ticket"):
        session.tell("ticket", [1.0, 2.0])


def test_without_a_method_it_is_frugal():
    assert sgq.Session(x0=[5.0], users=4).method == "frugal"
    # With so many users a look at everybody with each query takes long, unless few of them are asked.
    assert sgq.Session(x0=[5.0], users=100_001, smoothness=1.0).method == "saga"
    assert sgq.Session(x0=[5.0], users=100_001, budget=100).method == "frugal"
    with pytest.raises(ValueError, match="has no step size: name a method"):
        sgq.Session(x0=[5.0], users=4, step_size=0.1)


def answered(session, queries):
    """Who was asked where, and the answers: gradients of (x - user)²."""
    answers = []
    while len(answers) < queries:
        query = session.ask()
        gradient = 2.0 * (query.point - query.user)
        answers.append((query.user, query.point.copy(), gradient))
        session.tell(query.ticket, gradient)
    return answers


@pytest.mark.parametrize("method", ["frugal", "saga", "sgq", "svrg"])
def test_answers_of_an_earlier_run_are_taken_in_and_not_billed(method):
    settings = dict(x0=[5.0], users=3, smoothness=2.0, seed=3)
    whole = sgq.Session(method, **settings)
    paid = answered(whole, 20)
    later = sgq.Session(method, **settings, earlier=paid, budget=7)
    assert (later.queries, later.earlier) == (0, 20)
    for one, other in zip(answered(later, 7), answered(whole, 7)):
        assert (one[0], one[1].tobytes()) == (other[0], other[1].tobytes())
    assert later.stop_reason == "budget" and later.queries == 7
    # A budget that is spent can be raised.
    later.extend(2)
    assert answered(later, 2)[1][0] == answered(whole, 2)[1][0]


def test_another_method_takes_over():
    settings = dict(x0=[5.0], users=3, smoothness=2.0)
    paid = answered(sgq.Session("sgd", **settings), 9)
    session = sgq.Session("frugal", **settings, earlier=paid)
    answered(session, 9)
    assert abs(session.point[0] - 1.0) < 1e-6
    for wrong, message in [((3, [0.0], [0.0]), "only 3"), ((0, [0.0], [np.nan]), "finite"), ((0, [0.0, 1.0], [0.0]), "1 finite")]:
        with pytest.raises(ValueError, match=rf"answer 9 .*{message}"):
            sgq.Session("frugal", **settings, earlier=[*paid, wrong])
    with pytest.raises(TypeError, match="a triple"):
        sgq.Session("frugal", **settings, earlier=[7])


def several(open, **settings):
    return sgq.Session("shuffled-sgd", x0=[5.0], users=6, step_size=0.1, open=open, budget=12, **settings)


def test_several_questions_are_out_at_once_and_answers_come_in_any_order():
    session = several(open=4)
    queries = session.ask_many(10)
    assert len({query.user for query in queries}) == 4
    assert [query.ticket for query in session.pending()] == [query.ticket for query in queries]
    assert session.ask() is None and session.stop_reason is None
    for query in reversed(queries):
        session.tell(query, query.point - query.user)  # the question in place of its ticket
    assert session.queries == 4 and session.pending() == []
    again = pickle.loads(pickle.dumps(session))
    assert [query.user for query in again.ask_many(4)] == [query.user for query in session.ask_many(4)]


def test_users_fail_go_and_come_back():
    session = several(open=1)
    lost = session.ask()
    session.fail(lost.ticket)
    session.fail(lost)
    other = session.ask()
    assert other.user != lost.user
    session.tell(other, [1.0])
    session.tell(lost, [1.0])
    assert session.queries == 2
    for user in range(6):
        session.away(user)
    assert session.ask() is None and session.stop_reason == "nobody answers"
    session.back(3)
    assert session.ask().user == 3
    with pytest.raises(Exception, match="there are only 6"):
        session.away(6)
    with pytest.raises(ValueError, match="another session"):
        session.fail(several(open=1).ask())
    with pytest.raises(ValueError, match="at least one"):
        several(open=0)
    with pytest.raises(ValueError, match="one question"):
        sgq.Session("katyusha", x0=[5.0], users=6, smoothness=1.0, open=2)


def test_users_leave_and_join():
    session = sgq.Session("frugal", x0=[0.0], users=3, smoothness=2.0)

    def ask(times):
        for _ in range(times):
            query = session.ask()
            session.tell(query, 2.0 * (query.point - [0.0, 4.0, 90.0][query.user]))

    ask(9)
    session.leave(2)
    assert session.has_left(2)
    ask(30)
    assert session.point[0] == pytest.approx(2.0, abs=1e-6)
    session.join(2)
    ask(30)
    assert session.point[0] == pytest.approx(94.0 / 3.0, abs=1e-6)
    with pytest.raises(ValueError, match="there are only 3"):
        session.leave(3)
    with pytest.raises(ValueError, match="cannot let anybody go"):
        sgq.Session("svrg", x0=[0.0], users=3, smoothness=2.0).leave(0)


def test_frugal_takes_hessians():
    scales, centers = [1.0, 3.0], [0.0, 4.0]

    def user(i):
        return lambda x: ((x - centers[i]) @ (x - centers[i]) * scales[i], 2 * scales[i] * (x - centers[i]), [[2 * scales[i]]])

    result = sgq.minimize([user(0), user(1)], [7.0], budget=6)
    assert result.x[0] == pytest.approx(3.0, abs=1e-9)
