"""The paper's networks take two DP-SGD steps.

Slow: TensorFlow is imported, and per-example gradients of 973,962 parameters are computed.
"""

import sys

import numpy as np
import pytest

from leakmeter.audit.dpsgd import Schedule
from leakmeter.audit.paper_models import (
    PADDING,
    build_cnn,
    cnn_family,
    keras_hub,
    roberta_family,
)
from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError

pytestmark = pytest.mark.slow
TWO_STEPS = Schedule(rate=0.5, steps=2, learning_rate=0.05, decay=0.96, clip=2.6, noise=0.7)


def pool_of(inputs, classes, labels):
    return Pool(inputs, labels, 4, inputs[:6], labels[:6], classes, {"data": "standin"})


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return pool_of(rng.normal(size=(12, 32, 32, 3)).astype(np.float32), 10, rng.integers(0, 10, 12))


def weights(model):
    return np.concatenate([np.asarray(v).ravel() for v in model.trainable_variables])


def test_the_cnn_has_the_papers_number_of_parameters():
    assert build_cnn().count_params() == 973_962


def test_the_cnn_takes_two_private_steps(images):
    family = cnn_family(images, TWO_STEPS, microbatch=4)
    base, own = images.base, np.array([[0], [1]])
    models = family.train(base, own, [5, 6])
    again = family.train(base, own[:1], [5])
    assert np.array_equal(weights(models[0]), weights(again[0]))
    assert not np.allclose(weights(models[0]), weights(models[1]))
    losses = family.losses(models, np.arange(4))
    assert losses.shape == (2, 4)
    assert np.all(np.isfinite(losses))
    assert np.all((family.accuracy(models) >= 0) & (family.accuracy(models) <= 1))


def test_the_batch_does_not_depend_on_the_microbatch(images):
    plain = Schedule(rate=0.5, steps=1, learning_rate=0.05, clip=2.6)
    small, large = (
        weights(cnn_family(images, plain, microbatch=n).train(images.base, np.array([[0]]), [5])[0])
        for n in (2, 16)
    )
    assert np.allclose(small, large, atol=1e-5)


def test_without_kerashub_the_error_says_what_to_install(images, monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    with pytest.raises(UserError, match="pip install keras-hub"):
        roberta_family(images, TWO_STEPS, microbatch=2)


def test_a_two_layer_roberta_takes_two_private_steps():
    hub = keras_hub()
    rng = np.random.default_rng(0)
    tokens = rng.integers(4, 30, (12, 8)).astype(np.int32)
    tokens[:, 6:] = PADDING
    pool = pool_of(tokens, 2, rng.integers(0, 2, 12))

    def tiny():
        backbone = hub.models.RobertaBackbone(
            vocabulary_size=30,
            num_layers=2,
            num_heads=2,
            hidden_dim=16,
            intermediate_dim=32,
            max_sequence_length=8,
        )
        return hub.models.RobertaTextClassifier(backbone, num_classes=2, preprocessor=None)

    schedule = Schedule(rate=0.5, steps=2, learning_rate=5e-4, clip=0.1, noise=0.54)
    family = roberta_family(pool, schedule, microbatch=3, build=tiny)
    (model,) = family.train(pool.base, np.array([[0]]), [5])
    (again,) = family.train(pool.base, np.array([[0]]), [5])
    assert np.array_equal(weights(model), weights(again))
    losses = family.losses([model], np.arange(4))
    assert losses.shape == (1, 4)
    assert np.all(np.isfinite(losses))
