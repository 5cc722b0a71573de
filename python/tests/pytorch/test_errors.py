"""What can be wrong with a model, its data and its loss, and what is said then."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import sgq
from sgq.torch import Users

INPUTS, TARGET = torch.ones(4, 2), torch.zeros(4, 1)
GOOD = [(INPUTS, TARGET)]


def users(model=None, data=None, loss=None, **options):
    return Users(model or nn.Linear(2, 1), {"a": GOOD} if data is None else data, loss or nn.MSELoss(), **options)


class Nothing(IterableDataset):
    """A stream whose length nobody knows beforehand, and which is empty."""

    def __iter__(self):
        return iter([])


@pytest.mark.parametrize(
    "settings, error, words",
    [
        ({"data": {}}, ValueError, "at least one user"),
        ({"data": [GOOD]}, TypeError, "data is a list of length 1: it must be a dict"),
        ({"data": {"a": 3}}, TypeError, "user 'a' is a int"),
        ({"data": {"a": iter(GOOD)}}, TypeError, "user 'a' can be read only once"),
        ({"data": {"a": GOOD, "b": []}}, ValueError, "user 'b' has no batches"),
        ({"data": {"b": DataLoader(TensorDataset(INPUTS[:0]))}}, ValueError, "user 'b' has no batches"),
        ({"model": nn.Tanh()}, ValueError, "no parameters that require a gradient"),
        ({"model": nn.Linear(2, 1).requires_grad_(False)}, ValueError, "no parameters that require a gradient"),
        ({"model": nn.Linear(2, 1, dtype=torch.complex64)}, TypeError, "parameter 'weight' is complex"),
        ({"model": len}, TypeError, "must be a torch.nn.Module"),
        ({"loss": nn.MSELoss(reduction="sum")}, ValueError, "mean"),
        ({"l2": -1.0}, ValueError, "l2 is -1.0"),
        ({"l2": float("nan")}, ValueError, "l2 is nan"),
    ],
)
def test_what_cannot_be_made(settings, error, words):
    with pytest.raises(error, match=words):
        users(**settings)


@pytest.mark.parametrize(
    "settings, error, words",
    [
        ({"data": {"a": DataLoader(Nothing())}}, ValueError, "user 'a' has no rows"),
        ({"data": {"a": [(INPUTS[:0], TARGET[:0])]}}, ValueError, "user 'a' has no rows"),
        ({"data": {"a": (INPUTS, TARGET)}}, TypeError, "batch 0 of user 'a' is a Tensor: it must be a pair"),
        ({"data": {"a": [*GOOD, (INPUTS,)]}}, TypeError, "batch 1 of user 'a' is a tuple of length 1"),
        ({"data": {"a": [("x", "y")]}}, TypeError, "batch 0 of user 'a' has no tensor"),
        ({"loss": nn.MSELoss(reduction="none")}, ValueError, r"user 'a' has shape \(4, 1\): it must be one number"),
        ({"loss": lambda output, target: 1.0}, TypeError, "user 'a' is a float"),
        ({"loss": lambda output, target: output.mean() / 0}, FloatingPointError, "batch 0 of user 'a' is -?(inf|nan)"),
    ],
)
@pytest.mark.parametrize("question", ["gradient", "value"])
def test_what_cannot_be_answered(settings, error, words, question):
    made = users(**settings)
    with pytest.raises(error, match=words):
        getattr(made[0], question)(made.start)


def test_a_loss_without_a_gradient():
    made = users(loss=lambda output, target: output.detach().mean())
    with pytest.raises(ValueError, match="user 'a' depends on no parameter"):
        made[0].gradient(made.start)


def test_a_gradient_that_is_not_finite():
    made = users(loss=lambda output, target: (output - output).abs().sqrt().mean())
    with pytest.raises(FloatingPointError, match="gradient of user 'a'"):
        made[0].gradient(made.start)


@pytest.mark.parametrize("x", [[1.0], np.zeros(4), np.zeros((3, 1)), 0.0])
def test_a_point_of_the_wrong_length(x):
    model = nn.Linear(2, 1)
    made = users(model)
    for question in (made.load, made[0].gradient, made[0].value):
        with pytest.raises(ValueError, match="must have 3 numbers"):
            question(x)
    assert (made.start[:2] == model.weight.detach().numpy()).all()


def test_start_is_not_changed_by_accident():
    made = users()
    with pytest.raises(ValueError, match="read-only"):
        made.start[0] = 1.0


def test_nothing_paid_for_is_lost():
    """A user that fails in the middle of a run fails by name, and the session is there to go on."""
    data = {"a": GOOD, "b": list(GOOD)}
    made = users(data=data)
    data["b"].clear()
    with pytest.raises(ValueError, match="user 'b' has no rows") as caught:
        sgq.minimize(made, made.start, "saga", step_size=0.1, budget=20)
    data["b"].extend(GOOD)
    result = sgq.minimize(made, made.start, session=caught.value.session)
    assert result.queries == 20
