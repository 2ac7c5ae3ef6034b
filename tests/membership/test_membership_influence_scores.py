"""KIFS and TracIN against gradients and Hessians by finite differences."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

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


def fitted(x, y, keep, damping):
    """Weights of multinomial regression with the penalty ``damping / 2``, terms of weight 1/n."""
    like, kept = [np.zeros((3, 3)), np.zeros(3)], (x[keep], y[keep])

    def objective(vector):
        weights = unflat(vector, like)
        z = kept[0] @ weights[0] + weights[1]
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(p)), kept[1]] -= 1
        gradient = flat([kept[0].T @ p, p.sum(axis=0)]) / len(x) + damping * vector
        value = loss(weights, *kept).sum() / len(x) + damping / 2 * vector @ vector
        return value, gradient

    found = minimize(objective, np.zeros(12), jac=True, tol=1e-13, options={"gtol": 1e-11})
    return unflat(found.x, like)


def test_the_sign_is_that_of_leaving_a_record_out():
    """A convex problem, solved anew without each record: positive scores are of helpful records."""
    n, damping = 200, 0.05
    (x, y), (tx, ty) = records(n, 10), records(40, 11)
    y, ty = ((part[:, :2] > 0).sum(axis=1) for part in (x, tx))
    y = np.where(np.arange(n) % 5 == 0, (y + 1) % 3, y)  # some that harm
    everything = np.ones(n, bool)
    weights = fitted(x, y, everything, damping)
    before = loss(weights, tx, ty).sum()
    rise = []
    for i in range(n):
        keep = everything.copy()
        keep[i] = False
        rise.append(loss(fitted(x, y, keep, damping), tx, ty).sum() - before)
    rise = np.array(rise)
    scores = kifs(weights, (x, y), (tx, ty), damping=damping).scores
    assert min((rise > 0).sum(), (rise < 0).sum()) > 20
    large = np.abs(rise) > 0.01 * np.abs(rise).max()
    assert (np.sign(scores[large]) == np.sign(rise[large])).all()
    assert np.corrcoef(scores, rise)[0, 1] > 0.999
    assert np.abs(scores / n - rise).max() < 0.1 * np.abs(rise).max()


@pytest.mark.parametrize("damping", [0.0, -1.0, np.nan, np.inf, "0.1", None])
def test_damping_must_be_positive(damping):
    with pytest.raises(UserError, match="damping"):
        kifs(network(), records(5, 0), records(3, 1), damping=damping)


def test_a_hundred_classes_are_refused():
    weights = network(sizes=(3, 128, 100))
    with pytest.raises(UserError, match="12900 parameters; expected at most 8000"):
        kifs(weights, records(5, 0), records(3, 1), damping=0.1)


def scores_of(method, weights, train, test):
    if method == "kifs":
        return kifs(weights, train, test, damping=0.1).scores
    return tracin([weights], train, test, learning_rate=0.1)


@pytest.mark.parametrize("method", ["kifs", "tracin"])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda x, y: (x, y - y.max() - 1), UserError, r"labels\[0\] is -\d"),
        (lambda x, y: (x, y + 3), UserError, r"labels\[0\] is \d; expected an integer from 0 to 2"),
        (lambda x, y: (x, y + 0.5), UserError, r"labels\[0\] is \d.5"),
        (lambda x, y: (x, y.astype(str)), UserError, "labels has type <U21; expected integers"),
        (lambda x, y: (x * np.nan, y), UserError, r"inputs\[0, 0\] is nan; expected finite"),
        (lambda x, y: (x.astype(complex), y), UserError, "inputs has type complex128"),
        (lambda x, y: (x[:0], y[:0]), UserError, "expected at least one record"),
        (lambda x, y: (x[:, :2], y), ValueError, r"inputs have shape \(\d, 2\)"),
        (lambda x, y: (x, y[1:]), ValueError, "one per record"),
    ],
)
@pytest.mark.parametrize("side", ["train", "test"])
def test_bad_records_are_one_clear_error(method, change, error, message, side):
    sides = {"train": records(5, 0), "test": records(3, 1)}
    sides[side] = change(*sides[side])
    with pytest.raises(error, match=f"^{side} .*{message}"):
        scores_of(method, network(), **sides)


@pytest.mark.parametrize("method", ["kifs", "tracin"])
def test_bad_weights_are_one_clear_error(method):
    weights = network()
    weights[2] = weights[2] * np.inf
    with np.errstate(invalid="ignore"), pytest.raises(UserError, match=r"\[2\] holds NaN or inf"):
        scores_of(method, weights, records(5, 0), records(3, 1))
    with pytest.raises(ValueError, match="3 arrays; expected a kernel and a bias per layer"):
        scores_of(method, weights[:3], records(5, 0), records(3, 1))


@pytest.mark.parametrize("rate", [np.nan, 0.0, -0.1, np.inf, "0.1"])
def test_learning_rates(rate):
    with pytest.raises(UserError, match="learning_rate is .*; expected a finite number above 0"):
        tracin([network()], records(5, 0), records(3, 1), learning_rate=rate)


def test_no_checkpoint():
    with pytest.raises(UserError, match="checkpoints: none"):
        tracin([], records(5, 0), records(3, 1), learning_rate=0.1)


def test_a_damping_lost_in_rounding_is_refused():
    # two records for 24 parameters: the Hessian is singular
    with pytest.raises(UserError, match="damping is 1e-30, lost in the rounding of the Hessian"):
        kifs(network(sizes=(3, 7, 3)), records(2, 0), records(3, 1), damping=1e-30)
