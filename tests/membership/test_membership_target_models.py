"""Target models: known shapes, Adam against Keras, repeatability, one compilation, errors.

Slow at the start: it imports TensorFlow (about five seconds).
"""

import numpy as np
import pytest

from leakmeter.membership.target_models import (
    HIDDEN,
    TargetConfig,
    Trainer,
    batch_order,
    initial_weights,
)
from leakmeter.runtime import UserError

pytestmark = pytest.mark.slow
SMALL = TargetConfig(hidden=(16, 8), batch_size=8, epochs=4)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.random((37, 5)).astype(np.float32)
    return x, (x.sum(axis=1) > 2.5).astype(np.int32)


@pytest.fixture(scope="module")
def trainer():
    return Trainer(5, 2, SMALL)


def test_the_architecture_is_the_papers():
    assert HIDDEN == (1024, 512, 256, 128)
    config = TargetConfig()
    assert (config.learning_rate, config.batch_size, config.epochs) == (1e-3, 128, 50)
    sizes = (784, *HIDDEN, 10)
    shapes = [w.shape for w in initial_weights(sizes, np.random.default_rng(0))]
    assert shapes == [
        *((784, 1024), (1024,), (1024, 512), (512,), (512, 256), (256,)),
        *((256, 128), (128,), (128, 10), (10,)),
    ]


def test_initial_weights_are_glorot_uniform_with_the_stated_fan_in():
    kernel = initial_weights((50, 40), np.random.default_rng(0))[0]
    bound = np.sqrt(6 / 90)
    assert np.abs(kernel).max() <= bound
    assert np.abs(kernel).max() > 0.98 * bound
    wide = initial_weights((50, 40), np.random.default_rng(0), fan_in=5000)[0]
    assert np.abs(wide).max() <= np.sqrt(6 / 5040)


def test_every_epoch_sees_every_record_once():
    order = batch_order(11, 3, np.random.default_rng(0))
    assert (np.sort(order, axis=1) == np.arange(11)).all()
    assert not np.array_equal(order[0], order[1])


def test_training_equals_keras(data):
    """The same weights, batches and penalty through Keras' own Adam."""
    import keras
    import tensorflow as tf

    x, y = data
    l2, seed = 0.01, 5
    trainer = Trainer(5, 2, SMALL)
    trained = trainer.train(x, y, seed=seed, l2=l2).kept[-1]
    rng = np.random.default_rng(seed)
    weights = [tf.Variable(w) for w in initial_weights((5, 16, 8, 2), rng)]
    order = batch_order(len(y), 4, rng)
    adam = keras.optimizers.Adam(1e-3, epsilon=1e-8)
    for epoch in order:
        # 37 records in batches of at most 8: five of nearly equal size
        for rows in np.split(epoch, [7, 14, 22, 29]):
            with tf.GradientTape() as tape:
                h = x[rows]
                for i in (0, 2):
                    h = tf.tanh(h @ weights[i] + weights[i + 1])
                logits = h @ weights[4] + weights[5]
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(y[rows], logits)
                )
                loss += 0.5 * l2 * sum(tf.reduce_sum(w**2) for w in weights[::2])
            adam.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    for ours, theirs in zip(trained, weights, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), atol=2e-6)


def test_the_same_seed_gives_the_same_model_whatever_ran_before(trainer, data):
    x, y = data
    first = trainer.train(x, y, seed=1).kept[-1]
    trainer.train(x[:20], y[:20], seed=2, l2=0.1)
    again = trainer.train(x, y, seed=1).kept[-1]
    other = trainer.train(x, y, seed=3).kept[-1]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_models_on_differently_many_records_share_one_compilation(trainer, data):
    x, y = data
    for n in (9, 16, 30):
        trainer.train(x[:n], y[:n], seed=0)
    assert trainer._run.experimental_get_tracing_count() == 1


def test_checkpoints_continue_one_training(trainer, data):
    x, y = data
    whole = trainer.train(x, y, seed=1).kept
    parts = trainer.train(x, y, seed=1, keep_every=1).kept
    assert (len(whole), len(parts)) == (1, 4)
    assert all(np.array_equal(a, b) for a, b in zip(whole[-1], parts[-1], strict=True))


def test_outputs_are_those_of_the_weights(trainer, data):
    x, y = data
    w = trainer.train(x, y, seed=1).kept[-1]
    h = np.tanh(np.tanh(x @ w[0] + w[1]) @ w[2] + w[3])
    outputs = trainer.outputs(x)
    np.testing.assert_allclose(outputs.hidden, h, atol=1e-6)
    np.testing.assert_allclose(outputs.logits, h @ w[4] + w[5], atol=1e-5)
    assert outputs.logits.dtype == np.float64


def test_a_model_learns_its_records(data):
    x, y = data
    trainer = Trainer(
        5, 2, TargetConfig(hidden=(64,), batch_size=8, epochs=300, learning_rate=0.01)
    )
    trainer.train(x, y, seed=0)
    assert (trainer.outputs(x).logits.argmax(axis=1) == y).mean() > 0.95


def test_l2_shrinks_the_kernels(trainer, data):
    x, y = data
    free = trainer.train(x, y, seed=0).kept[-1]
    held = trainer.train(x, y, seed=0, l2=10.0).kept[-1]
    assert np.abs(held[0]).sum() < np.abs(free[0]).sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x * np.nan, y), r"x\[0, 0\] is nan; expected finite numbers only"),
        (
            lambda x, y: (x.astype(float) + 1e39, y),
            r"x\[0, 0\] is 1e\+39; expected finite numbers that float32",
        ),
        (lambda x, y: (x.astype(str), y), "x has type <U32; expected real numbers"),
        (lambda x, y: (x, y + 1), r"y\[\d+\] is 2; expected an integer from 0 to 1"),
        (lambda x, y: (x, y - 0.5), r"y\[0\] is -?0.5; expected an integer"),
        (lambda x, y: (x, y.astype(str)), "y has type .*; expected integers 0 to 1"),
        (lambda x, y: (x[:0], y[:0]), "at least one record"),
    ],
)
def test_bad_records(trainer, data, change, message):
    with pytest.raises(UserError, match=message):
        trainer.train(*change(*data), seed=0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"l2": -0.1}, "l2 is -0.1; expected a finite number of at least 0"),
        ({"l2": np.nan}, "l2 is nan"),
        ({"l2": "0"}, "l2 is '0'"),
        ({"keep_every": -1}, "keep_every is -1; expected a whole number, at least 1"),
        ({"keep_every": 0}, "keep_every is 0"),
        ({"keep_every": 1.0}, "keep_every is 1.0"),
        ({"seed": -1}, "seed is -1; expected a whole number, at least 0"),
        ({"seed": None}, "seed is None"),
    ],
)
def test_bad_options(trainer, data, option, message):
    with pytest.raises(UserError, match=message):
        trainer.train(*data, **({"seed": 0} | option))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"hidden": (16.5,)}, "hidden is 16.5; expected a whole number, at least 1"),
        ({"hidden": (0,)}, "hidden is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected a finite number above 0"),
    ],
)
def test_bad_configurations(option, message):
    with pytest.raises(UserError, match=message):
        TargetConfig(**option)


def test_outputs_of_bad_records(trainer, data):
    x, y = data
    trainer.train(x, y, seed=0)
    with pytest.raises(UserError, match=r"x\[0, 0\] is nan"):
        trainer.outputs(x * np.nan)


def test_a_wrong_shape_is_a_bug(trainer, data):
    with pytest.raises(ValueError, match=r"expected \(37, 5\)"):
        trainer.train(data[0][:, :4], data[1], seed=0)
