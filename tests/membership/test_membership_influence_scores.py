"""KIFS and TracIN against gradients and Hessians by finite differences."""

import itertools

import numpy as np
import pytest

from leakmeter.membership.experiments.influence_scores import kifs, last_layer_hessian, tracin
from leakmeter.runtime import UserError


def network(seed=0, sizes=(3, 5, 4, 3)):
    rng = np.random.default_rng(seed)
    weights = []
    for rows, columns in itertools.pairwise(sizes):
        weights += [rng.normal(size=(rows, columns)), rng.normal(size=columns)]
    return weights


def records(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(classes, size=n)


def loss(weights, x, y):
    h = x
    for i in range(0, len(weights) - 2, 2):
        h = np.tanh(h @ weights[i] + weights[i + 1])
    z = h @ weights[-2] + weights[-1]
    z = z - z.max(axis=-1, keepdims=True)
    return np.log(np.exp(z).sum(axis=-1)) - z[np.arange(len(y)), y]


def flat(weights):
    return np.concatenate([w.ravel() for w in weights])


def unflat(vector, like):
    out, at = [], 0
    for w in like:
        out.append(vector[at : at + w.size].reshape(w.shape))
        at += w.size
    return out


def gradients(weights, x, y, step=1e-6):
    """(n, parameters) by central differences."""
    start = flat(weights)
    columns = []
    for i in range(len(start)):
        shift = np.zeros_like(start)
        shift[i] = step
        up, down = (loss(unflat(start + s * shift, weights), x, y) for s in (1, -1))
        columns.append((up - down) / (2 * step))
    return np.stack(columns, axis=1)


def test_tracin_is_the_sum_of_gradient_products():
    checkpoints = [network(0), network(1)]
    train, test = records(6, 2), records(4, 3)
    wanted = np.zeros(6)
    for weights in checkpoints:
        wanted += 0.1 * (gradients(weights, *train) @ gradients(weights, *test).T).sum(axis=1)
    found = tracin(checkpoints, train, test, learning_rate=0.1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def last_layer_gradients(weights, x, y):
    size = weights[-2].size + weights[-1].size
    found = gradients(weights, x, y)[:, -size:]
    h, c = weights[-2].shape
    # (h, c) kernel and bias to class-major (c, h + 1)
    kernel = found[:, : h * c].reshape(-1, h, c).transpose(0, 2, 1)
    return np.concatenate([kernel, found[:, h * c :, None]], axis=2).reshape(len(y), -1)


def test_kifs_is_the_damped_solve():
    weights, train, test = network(4), records(8, 5), records(5, 6)
    size = weights[-2].size + weights[-1].size
    hessian = np.zeros((size, size))
    start, step = flat(weights), 1e-4
    for i in range(size):  # gradient of the mean loss, differentiated once more
        shift = np.zeros_like(start)
        h, c = weights[-2].shape
        cls, unit = divmod(i, h + 1)
        place = len(start) - size + (unit * c + cls if unit < h else h * c + cls)
        shift[place] = step
        up, down = (
            last_layer_gradients(unflat(start + s * shift, weights), *train).mean(axis=0)
            for s in (1, -1)
        )
        hessian[:, i] = (up - down) / (2 * step)
    g = last_layer_gradients(weights, *train)
    t = last_layer_gradients(weights, *test).sum(axis=0)
    wanted = g @ np.linalg.solve(hessian + 0.05 * np.eye(size), t)
    found = kifs(weights, train, test, damping=0.05)
    np.testing.assert_allclose(found.scores, wanted, rtol=1e-3, atol=1e-4)
    assert found.residual < 1e-10


def test_the_hessian_is_symmetric_and_positive_semidefinite():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 20)
    hessian = last_layer_hessian(rng.normal(size=(20, 3)), p)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-15)
    assert np.linalg.eigvalsh(hessian).min() > -1e-12


def test_upweighting_a_record_moves_the_test_loss_as_kifs_says():
    """One step of the last layer along a record's gradient lowers the loss of its copies."""
    weights = network(7)
    x, y = records(10, 8)
    scores = kifs(weights, (x, y), (x[:1], y[:1]), damping=0.1).scores
    assert scores[0] > 0


@pytest.mark.parametrize("damping", [0.0, -1.0])
def test_damping_must_be_positive(damping):
    with pytest.raises(UserError, match="damping"):
        kifs(network(), records(5, 0), records(3, 1), damping=damping)


def test_a_hundred_classes_are_refused():
    weights = network(sizes=(3, 128, 100))
    with pytest.raises(UserError, match="12900 parameters; expected at most 8000"):
        kifs(weights, records(5, 0), records(3, 1), damping=0.1)
