"""Many softmax regressions at once, against one model trained step by step in NumPy."""

import numpy as np
import pytest

from leakmeter.audit.dense_models import DenseFamily
from leakmeter.audit.dpsgd import Schedule, poisson_masks
from leakmeter.audit.pools import Pool

PRIVATE = Schedule(rate=0.3, steps=6, learning_rate=0.5, decay=0.8, clip=1.5, noise=0.9)
PLAIN = Schedule(rate=0.3, steps=6, learning_rate=0.5)


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 40)
    inputs = (rng.normal(size=(40, 4)) + np.eye(3, 4)[labels] * 2).astype(np.float32)
    return Pool(inputs, labels, 20, inputs[:10], labels[:10], 3, {"data": "standin"})


def by_hand(pool, schedule, members, seed, held=None):
    """The same training for one model, example by example."""
    rng = np.random.default_rng(seed)
    taken = poisson_masks(rng, steps=schedule.steps, records=len(members), rate=schedule.rate)
    noise = rng.standard_normal((schedule.steps, 5, 3), np.float32) if schedule.private else None
    x = np.hstack([pool.inputs, np.ones((len(pool.inputs), 1))])
    y = np.eye(3)[pool.labels]
    held = np.ones(len(members), bool) if held is None else held
    weights = np.zeros((5, 3))
    norms = []
    for step, rate in enumerate(schedule.learning_rates()):
        total = np.zeros((5, 3))
        for i, member in enumerate(members):
            if not (taken[step, i] and held[i]):
                continue
            logits = x[member] @ weights
            p = np.exp(logits - logits.max())
            gradient = np.outer(x[member], p / p.sum() - y[member])
            norms.append(np.linalg.norm(gradient))
            total += gradient * min(1, schedule.clip / norms[-1])
        if schedule.private:
            total += schedule.noise * schedule.clip * noise[step]
        weights -= rate * total / (schedule.rate * held.sum())
    return weights, norms


@pytest.mark.parametrize("schedule", [PRIVATE, PLAIN])
def test_every_model_equals_one_trained_by_hand(pool, schedule):
    own = np.array([[0, 1], [2, 3], [4, 5]])
    found = DenseFamily(pool, schedule, chunk=2).train(pool.base[:15], own, [7, 8, 9])
    assert found.shape == (3, 5, 3)
    for model, seed in enumerate((7, 8, 9)):
        members = np.concatenate([pool.base[:15], own[model]])
        expected, norms = by_hand(pool, schedule, members, seed)
        assert found[model] == pytest.approx(expected, abs=2e-5)
        if schedule.private:
            assert max(norms) > schedule.clip > min(norms)


def test_models_that_hold_a_part_of_the_shared_records(pool):
    rng = np.random.default_rng(1)
    inside = np.zeros((3, 20), bool)
    for row in inside:
        row[rng.choice(20, 8, replace=False)] = True
    shared = np.arange(20)
    found = DenseFamily(pool, PLAIN).train_inside(shared, inside, [1, 2, 3])
    for model in range(3):
        expected, _ = by_hand(pool, PLAIN, shared, model + 1, inside[model])
        assert found[model] == pytest.approx(expected, abs=2e-5)


def test_models_of_different_sizes_are_refused(pool):
    inside = np.ones((2, 20), bool)
    inside[0, :5] = False
    with pytest.raises(ValueError, match="one number for all"):
        DenseFamily(pool, PLAIN).train_inside(np.arange(20), inside, [1, 2])


def test_a_model_does_not_depend_on_its_chunk(pool):
    own = np.arange(12).reshape(6, 2)
    seeds = list(range(6))
    together = DenseFamily(pool, PRIVATE, chunk=6).train(pool.base, own, seeds)
    apart = DenseFamily(pool, PRIVATE, chunk=1).train(pool.base, own, seeds)
    assert together == pytest.approx(apart, abs=1e-5)


def test_noise_has_the_right_scale(pool):
    """With the learning rate of one step the weights are noise plus a bounded gradient."""
    schedule = Schedule(rate=1.0, steps=1, learning_rate=1.0, clip=1e-6, noise=1e6)
    weights = DenseFamily(pool, schedule).train(pool.base, np.zeros((400, 0), np.int64), range(400))
    expected = schedule.noise * schedule.clip / len(pool.base)
    assert weights.std() == pytest.approx(expected, rel=0.05)
    assert abs(weights.mean()) < 4 * expected / np.sqrt(weights.size)


def test_one_record_moves_a_step_by_at_most_the_clip(pool):
    schedule = Schedule(rate=1.0, steps=1, learning_rate=1.0, clip=0.3)
    family = DenseFamily(pool, schedule)
    one, other = family.train(pool.base, np.array([[0], [1]]), [3, 3])
    size = len(pool.base) + 1
    assert np.linalg.norm(one - other) * size <= 2 * 0.3 + 1e-5


def test_losses_and_accuracy_against_their_definitions(pool):
    family = DenseFamily(pool, PLAIN)
    weights = family.train(pool.base, np.array([[0], [1]]), [1, 2])
    x = np.hstack([pool.inputs, np.ones((40, 1))])
    logits = np.einsum("nd,mdk->mnk", x, weights)
    p = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    points = np.array([5, 3, 3])
    expected = -np.log(p[:, points, pool.labels[points]])
    assert family.losses(weights, points) == pytest.approx(expected, abs=1e-5)
    accuracy = (logits[:, :10].argmax(axis=2) == pool.labels[:10]).mean(axis=1)
    assert family.accuracy(weights) == pytest.approx(accuracy)
    assert family.parameters == 15
