"""A model's gradients, user by user, against plain autograd and against differences."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sgq
from sgq.torch import Users

F64 = torch.float64


def rows(count, seed, dtype=F64):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(count, 3, generator=random, dtype=dtype), torch.randn(count, 2, generator=random, dtype=dtype)


def network(dtype=F64, *extra):
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(3, 4), *extra, nn.Tanh(), nn.Linear(4, 2)).to(dtype)


def loaders(dtype=F64, **options):
    """Three users whose last batches are not full."""
    sets = {name: TensorDataset(*rows(7 + seed, seed, dtype)) for seed, name in enumerate(["a", "b", "c"])}
    return {name: DataLoader(data, batch_size=4, **options) for name, data in sets.items()}


def plain(model, loader, loss):
    """The gradient of the mean over all rows at once, as anyone would write it."""
    inputs, target = (torch.cat(parts) for parts in zip(*loader))
    wanted = [part for part in model.parameters() if part.requires_grad]
    gradients = torch.autograd.grad(loss(model(inputs), target), wanted)
    return torch.cat([part.reshape(-1) for part in gradients]).double().numpy()


def differences(user, x, width=1e-6):
    steps = width * np.eye(len(x))
    return np.array([(user.value(x + step) - user.value(x - step)) / (2 * width) for step in steps])


def elsewhere(users, seed=1):
    return users.start + np.random.default_rng(seed).normal(size=len(users.start))


@pytest.mark.parametrize("dtype, within", [(F64, 1e-14), (torch.float32, 1e-6)])
def test_a_gradient_is_that_of_the_mean_over_all_rows(dtype, within):
    model, data = network(dtype), loaders(dtype)
    users = Users(model, data, nn.MSELoss())
    x = elsewhere(users)
    answers = [user.gradient(x) for user in users]
    users.load(x)
    for answer, loader in zip(answers, data.values()):
        assert answer.dtype == np.float64
        np.testing.assert_allclose(answer, plain(model, loader, nn.MSELoss()), rtol=0, atol=within)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_a_gradient_is_that_of_the_value(l2):
    users = Users(network(), loaders(), nn.MSELoss(), l2=l2)
    x = elsewhere(users)
    for user in users:
        np.testing.assert_allclose(user.gradient(x), differences(user, x), rtol=0, atol=2e-9)


def test_the_penalty_is_on_every_parameter():
    without, penalised = (Users(network(), loaders(), nn.MSELoss(), l2=l2)[0] for l2 in (0.0, 0.5))
    x = np.linspace(-1, 1, 26)
    assert penalised.value(x) - without.value(x) == pytest.approx(0.25 * x @ x)
    np.testing.assert_allclose(penalised.gradient(x) - without.gradient(x), 0.5 * x, rtol=0, atol=1e-15)


def test_lists_of_batches_and_loaders_are_one():
    data = loaders()
    lists = {name: list(loader) for name, loader in data.items()}
    by_loader, by_list = (Users(network(), batches, nn.MSELoss()) for batches in (data, lists))
    for one, other in zip(by_loader, by_list, strict=True):
        assert one.gradient(by_loader.start).tobytes() == other.gradient(by_list.start).tobytes()


def test_users_are_a_sequence_with_names():
    users = Users(network(), loaders(), nn.MSELoss())
    assert users.names == ("a", "b", "c") and len(users) == 3
    assert [user.name for user in users] == ["a", "b", "c"]
    assert users[-1] is users[2] and users[:2] == (users[0], users[1])
    assert isinstance(users[0], sgq.User)
    assert repr(users) == "Users(3 users, 26 parameters)" and repr(users[0]) == "TorchUser('a')"


@pytest.mark.parametrize("dtype", [F64, torch.float32, torch.bfloat16])
def test_start_and_load_are_a_round_trip(dtype):
    model = network(dtype)
    before = {name: part.clone() for name, part in model.state_dict().items()}
    users = Users(model, loaders(dtype), nn.MSELoss())
    flat = [number for part in model.parameters() for number in part.reshape(-1).tolist()]
    assert users.start.tolist() == flat
    users.load(np.zeros(26))
    assert not any(part.any() for part in model.parameters())
    users.load(users.start)
    for name, part in model.state_dict().items():
        assert part.dtype == dtype and torch.equal(part, before[name])


def test_asking_leaves_the_model_as_it_was():
    model = network(F64, nn.BatchNorm1d(4), nn.Dropout(0.5))
    model[1].eval()  # a mode for each part
    inputs, target = rows(9, 3)
    nn.MSELoss()(model(inputs), target).backward()
    state = {name: part.clone() for name, part in model.state_dict().items()}
    grads = [part.grad.clone() for part in model.parameters()]
    parameters = [id(part) for part in model.parameters()]
    modes = [module.training for module in model.modules()]
    random = torch.get_rng_state()
    users = Users(model, loaders(shuffle=True), nn.MSELoss())
    users[0].gradient(elsewhere(users)), users[0].value(elsewhere(users))
    with pytest.raises(FloatingPointError):
        users[0].gradient(np.full(len(users.start), 1e300))
    assert parameters == [id(part) for part in model.parameters()]
    assert all(torch.equal(part, state[name]) for name, part in model.state_dict().items())
    assert all(torch.equal(part.grad, grad) for part, grad in zip(model.parameters(), grads))
    assert modes == [module.training for module in model.modules()] and True in modes and False in modes
    assert torch.equal(random, torch.get_rng_state())


def test_dropout_is_off_and_running_statistics_are_used():
    model = network(F64, nn.BatchNorm1d(4), nn.Dropout(0.5))
    model[1].running_mean += 0.3
    data = loaders(shuffle=True)
    users = Users(model, data, nn.MSELoss())
    x = elsewhere(users)
    answer = users[1].gradient(x)
    assert answer.tobytes() == users[1].gradient(x).tobytes()
    assert model.training
    users.load(x)
    np.testing.assert_allclose(answer, plain(model.eval(), data["b"], nn.MSELoss()), rtol=0, atol=1e-14)


@pytest.mark.parametrize("generator", [None, torch.Generator()])
def test_shuffling_is_harmless(generator):
    users = Users(network(), loaders(shuffle=True, generator=generator), nn.MSELoss())
    still = Users(network(), loaders(), nn.MSELoss())
    answers = []
    for seed in range(10):
        torch.manual_seed(seed)
        answers.append(users[0].gradient(users.start))
    np.testing.assert_allclose(answers, [still[0].gradient(users.start)] * 10, rtol=0, atol=1e-15)
    if generator is None:
        assert len({answer.tobytes() for answer in answers}) == 1


def test_frozen_parameters_are_left_out():
    model, data = network(), loaders()
    model[0].weight.requires_grad_(False)
    frozen = model[0].weight.clone()
    users = Users(model, data, nn.MSELoss())
    assert len(users.start) == 26 - 12
    x = elsewhere(users)
    answer = users[0].gradient(x)
    np.testing.assert_allclose(answer, differences(users[0], x), rtol=0, atol=2e-9)
    users.load(x)
    assert torch.equal(model[0].weight, frozen)
    np.testing.assert_allclose(answer, plain(model, data["a"], nn.MSELoss()), rtol=0, atol=1e-14)


class Tied(nn.Module):
    """There and back with one matrix, which also has a second name."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 3, bias=False, dtype=F64)
        self.decoder = nn.Linear(3, 3, bias=False, dtype=F64)
        self.decoder.weight = self.encoder.weight
        self.unused = nn.Parameter(torch.ones(2, dtype=F64))

    def forward(self, inputs):
        return self.decoder(torch.tanh(self.encoder(inputs)))[:, :2]


def test_tied_parameters_count_once_and_unused_ones_have_gradient_zero():
    model, data = Tied(), loaders()
    users = Users(model, data, nn.MSELoss())
    assert [name for name, _ in model.named_parameters()] == ["unused", "encoder.weight"] and len(users.start) == 11
    x = elsewhere(users)
    answer = users[2].gradient(x)
    assert answer[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(answer, differences(users[2], x), rtol=0, atol=2e-9)
    users.load(x)
    assert model.decoder.weight is model.encoder.weight
    assert model.decoder.weight.reshape(-1).tolist() == x[2:].tolist()


def test_sparse_gradients_and_weights_with_a_norm():
    linear = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2, dtype=F64))
    model = nn.Sequential(nn.Embedding(5, 3, sparse=True, dtype=F64), linear)
    users = Users(model, {"a": [(torch.tensor([0, 2, 2]), rows(3, 1)[1])]}, nn.MSELoss())
    x = elsewhere(users)
    np.testing.assert_allclose(users[0].gradient(x), differences(users[0], x), rtol=0, atol=2e-9)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2, dtype=F64)

    def forward(self, batch):
        return self.linear(batch["left"]) - self.linear(batch["others"][0])


def test_inputs_and_targets_may_be_nested():
    (left, target), (right, _) = rows(6, 1), rows(6, 2)
    whatever = torch.ones(5)  # is not rows: the target's are counted
    halves = [
        ({"whatever": whatever, "left": left[part], "others": [right[part]]}, {"y": target[part]})
        for part in (slice(4), slice(4, 6))
    ]
    users = Users(Pair(), {"a": halves}, lambda output, target: ((output - target["y"]) ** 2).mean())
    x = elsewhere(users)
    weight, bias = x[:6].reshape(2, 3), x[6:]
    error = (left.numpy() @ weight.T + bias) - (right.numpy() @ weight.T + bias) - target.numpy()
    assert users[0].value(x) == pytest.approx(np.mean(error**2), rel=1e-14)
    np.testing.assert_allclose(users[0].gradient(x), differences(users[0], x), rtol=0, atol=2e-9)


def test_gradients_are_there_where_they_are_switched_off():
    users = Users(network(), loaders(), nn.MSELoss())
    with torch.no_grad():
        quiet = users[0].gradient(users.start)
    assert quiet.any() and quiet.tobytes() == users[0].gradient(users.start).tobytes()


def test_another_device():
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    users = Users(network().cuda(), loaders(), nn.MSELoss())
    np.testing.assert_allclose(users[0].gradient(users.start), differences(users[0], users.start), rtol=0, atol=2e-9)


def test_minimize_reaches_a_stationary_point():
    model = network()
    users = Users(model, loaders(), nn.MSELoss(), l2=0.3)
    result = sgq.minimize(users, users.start, "saga", step_size=0.4, budget=3000)
    assert np.linalg.norm(np.mean([user.gradient(result.x) for user in users], axis=0)) < 1e-6
    assert result.fun == pytest.approx(np.mean([user.value(result.x) for user in users]))
    users.load(result.x)
    assert torch.cat([part.reshape(-1) for part in model.parameters()]).tolist() == result.x.tolist()


@pytest.mark.parametrize("method", ["sgd", "saga", "sgq", "grab"])
def test_a_stored_session_goes_on_bit_for_bit(method):
    def users():
        return Users(network(torch.float32, nn.Dropout(0.5)), loaders(torch.float32, shuffle=True), nn.MSELoss())

    def drive(session, users, until=10**9):
        torch.manual_seed(until)  # another process has other random numbers
        while session.queries < until and (query := session.ask()) is not None:
            session.tell(query.ticket, users[query.user].gradient(query.point))
        return session

    def new():
        start = users().start
        return sgq.Session(method, x0=start, users=3, smoothness=4.0, step_size=0.1, budget=60, seed=7)

    whole = drive(new(), users())
    half = drive(new(), users(), until=23)
    stored, open_question = pickle.dumps(half), half.ask()
    assert pickle.loads(pickle.dumps(half)).ask().point.tobytes() == open_question.point.tobytes()
    later = drive(pickle.loads(stored), users())
    assert later.queries == 60 and later.point.tobytes() == whole.point.tobytes()
    assert later.point.tobytes() != users().start.tobytes()
