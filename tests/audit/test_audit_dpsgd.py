"""DP-SGD: schedules, Poisson batches, clipping, per-example gradients against a loop."""

import numpy as np
import pytest

from leakmeter.audit.dpsgd import Schedule, clip_factors, clipped_sum, poisson_masks, schedule_for
from leakmeter.runtime import UserError

TRAINING = {"rate": 0.125, "steps": 50, "learning_rate": 0.5, "decay": 0.5, "clip": 3.0}


def test_decay_acts_after_each_expected_pass():
    rates = Schedule(rate=0.25, steps=9, learning_rate=1.0, decay=0.5).learning_rates()
    assert rates.tolist() == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]


def test_the_noise_is_calibrated_for_the_configured_neighbours():
    training = {**TRAINING, "private": True}
    kind = {"epsilon": 8.0, "delta": 1e-5}
    swap, both = schedule_for(training, adjacency="replace-one", **kind)
    assert both["replace-one"] == pytest.approx(8, abs=0.01)
    assert both["add-remove"] < 8
    add, both = schedule_for(training, adjacency="add-remove", **kind)
    assert both["add-remove"] == pytest.approx(8, abs=0.01)
    assert both["replace-one"] > 10
    assert add.noise < swap.noise


def test_without_privacy_there_is_no_noise_and_no_bound():
    training = {**TRAINING, "clip": None, "private": False}
    schedule, both = schedule_for(training, epsilon=8, delta=1e-5, adjacency="replace-one")
    assert not schedule.private
    assert set(both.values()) == {np.inf}


@pytest.mark.parametrize(
    "change",
    [{"rate": 0}, {"steps": 0}, {"learning_rate": 0}, {"decay": 1.5}, {"clip": 0}, {"noise": -1}],
)
def test_a_schedule_out_of_range_names_its_argument(change):
    (name,) = change
    with pytest.raises(UserError, match=name):
        Schedule(**{"rate": 0.5, "steps": 1, "learning_rate": 1.0, **change})


def test_noise_without_clipping_is_refused():
    with pytest.raises(UserError, match="finite clip"):
        Schedule(rate=0.5, steps=1, learning_rate=1.0, noise=1.0)


def test_ranking_keeps_the_clipping_and_drops_the_noise():
    schedule = Schedule(0.5, 3, 1.0, 0.9, 2.0, 1.5).without_noise()
    assert (schedule.clip, schedule.decay, schedule.noise) == (2.0, 0.9, 0.0)


def test_batches_are_independent_coins():
    taken = poisson_masks(np.random.default_rng(0), steps=200, records=500, rate=0.2)
    assert taken.shape == (200, 500)
    assert taken.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / taken.size))
    sizes = taken.sum(axis=1)
    assert sizes.var() == pytest.approx(500 * 0.16, rel=0.4)  # a fixed size would have none


def test_clipping_bounds_norms_and_leaves_small_ones():
    factors = clip_factors(np.array([0.0, 1.0, 4.0, 100.0], np.float32), 2.0).numpy()
    assert factors == pytest.approx([1, 1, 1, 0.2])
    assert clip_factors(np.array([1e9], np.float32), np.inf).numpy() == 1


@pytest.mark.parametrize("vectorised", [True, False])
def test_clipped_sum_equals_a_loop_over_single_examples(vectorised):
    import tensorflow as tf

    rng = np.random.default_rng(0)
    weights = tf.Variable(rng.normal(size=(5, 3)).astype(np.float32))
    bias = tf.Variable(np.zeros(3, np.float32))
    x = rng.normal(size=(7, 5)).astype(np.float32)
    y = rng.integers(0, 3, 7)

    def loss(inputs, label):
        logits = tf.tanh(inputs @ weights) + bias
        return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits))

    clip = 1.05
    expected = [np.zeros((5, 3)), np.zeros(3)]
    norms = []
    for i in range(7):
        with tf.GradientTape() as tape:
            value = loss(x[i : i + 1], y[i : i + 1])
        gradient = [g.numpy() for g in tape.gradient(value, [weights, bias])]
        norm = np.sqrt(sum((g**2).sum() for g in gradient))
        norms.append(norm)
        expected = [e + g * min(1, clip / norm) for e, g in zip(expected, gradient, strict=True)]
    assert min(norms) < clip < max(norms)  # both branches are exercised

    run = tf.function(
        lambda a, b, w: clipped_sum(loss, [weights, bias], a, b, clip, w, vectorised=vectorised)
    )
    found = run(tf.constant(x), tf.constant(y), tf.ones(7))
    for f, e in zip(found, expected, strict=True):
        assert f.numpy() == pytest.approx(e, abs=1e-5)
    padded = run(tf.constant(x), tf.constant(y), tf.constant([1.0] * 6 + [0.0]))
    assert not np.allclose(padded[1].numpy(), expected[1])
