"""The paper's networks: a tanh CNN of 973,962 parameters and RoBERTa-base, one model at a time.

Slow on purpose: per-example gradients of a whole network are held in memory, a few records at a
time. RoBERTa and its tokeniser come from KerasHub, which is not part of the default environment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from leakmeter.audit.dpsgd import Schedule, clipped_sum, poisson_masks
from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError

#: RoBERTa's padding token, and the longest SST-2 phrase in its tokens (authors' configuration).
PADDING, MAX_TOKENS = 1, 67
_PRESET = "roberta_base_en"


def build_cnn(classes: int = 10, side: int = 32) -> Any:
    """The authors' CIFAR-10 network in Keras: three tanh convolutions and a linear layer."""
    import keras
    from keras import layers

    return keras.Sequential(
        [
            keras.Input((side, side, 3)),
            layers.ZeroPadding2D(3),
            layers.Conv2D(128, 8, strides=2, activation="tanh"),
            layers.MaxPooling2D(3, strides=1),
            layers.Conv2D(256, 3, activation="tanh"),
            layers.Conv2D(256, 3, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(classes),
        ]
    )


class KerasFamily:
    """Trains Keras classifiers with DP-SGD, each from its own initial weights.

    Parameters
    ----------
    pool, schedule : what is trained on, and how.
    build : () -> a Keras model; called after the model's seed was set.
    forward : (model, inputs) -> logits.
    optimizer : () -> a Keras optimizer; it is given the noisy mean gradient.
    microbatch : records of one graph call, whose gradients are held at once if ``vectorised``.
    """

    batch = 1

    def __init__(
        self,
        pool: Pool,
        schedule: Schedule,
        *,
        build: Callable[[], Any],
        forward: Callable[[Any, Any], Any],
        optimizer: Callable[[], Any],
        microbatch: int,
        vectorised: bool = True,
    ) -> None:
        self._pool, self._schedule, self._microbatch = pool, schedule, microbatch
        self._vectorised = vectorised
        self._build, self._forward, self._optimizer = build, forward, optimizer

    def train(self, base: np.ndarray, challenges: np.ndarray, seeds: Sequence[int]) -> list[Any]:
        """One model per seed on the base and its own challenge points."""
        return [
            self._train_one(np.concatenate([base, own]), seed)
            for own, seed in zip(challenges, seeds, strict=True)
        ]

    def train_inside(
        self, shared: np.ndarray, inside: np.ndarray, seeds: Sequence[int]
    ) -> list[Any]:
        """One model per seed on those shared records that it has."""
        return [
            self._train_one(shared[held], seed) for held, seed in zip(inside, seeds, strict=True)
        ]

    def _train_one(self, members: np.ndarray, seed: int) -> Any:
        import keras
        import tensorflow as tf

        keras.utils.set_random_seed(seed % 2**32)
        model, optimizer = self._build(), self._optimizer()
        variables = [v.value for v in model.trainable_variables]
        optimizer.build(model.trainable_variables)
        schedule, random = self._schedule, np.random.default_rng(seed)

        def loss(x: Any, y: Any) -> Any:
            logits = self._forward(model, x)
            return tf.reduce_sum(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )

        @tf.function
        def part(x: Any, y: Any, weight: Any) -> list[Any]:
            return clipped_sum(
                loss, variables, x, y, schedule.clip, weight, vectorised=self._vectorised
            )

        for step, rate in enumerate(schedule.learning_rates()):
            (taken,) = poisson_masks(random, steps=1, records=len(members), rate=schedule.rate)
            total = self._sum(part, members[taken], variables)
            noisy = [
                self._noisy(g, seed, step, index) / (schedule.rate * len(members))
                for index, g in enumerate(total)
            ]
            optimizer.learning_rate.assign(float(rate))
            optimizer.apply(noisy, model.trainable_variables)
        return model

    def _sum(self, part: Any, records: np.ndarray, variables: Sequence[Any]) -> list[Any]:
        """Clipped gradients of a batch, summed over parts of one size (padded with weight 0)."""
        import tensorflow as tf

        total = [tf.zeros_like(v) for v in variables]
        for start in range(0, len(records), self._microbatch):
            chosen = records[start : start + self._microbatch]
            weight = np.zeros(self._microbatch, np.float32)
            weight[: len(chosen)] = 1
            padded = np.concatenate([chosen, np.full(self._microbatch - len(chosen), chosen[0])])
            x, y = self._pool.inputs[padded], self._pool.labels[padded]
            gradients = part(tf.constant(x), tf.constant(y), tf.constant(weight))
            total = [a + g for a, g in zip(total, gradients, strict=True)]
        return total

    def _noisy(self, gradient: Any, seed: int, step: int, index: int) -> Any:
        """Noise from a counter, so that it depends on nothing but model, step and variable."""
        import tensorflow as tf

        if not self._schedule.private:
            return gradient
        key = tf.constant([seed % 2**31, step * 1000 + index], tf.int32)
        noise = tf.random.stateless_normal(gradient.shape, key)
        return gradient + float(self._schedule.noise * self._schedule.clip) * noise

    def losses(self, models: Sequence[Any], points: np.ndarray) -> np.ndarray:
        """Cross-entropy of every model on pool records, (models, points)."""
        labels = self._pool.labels[points]
        rows = []
        for model in models:
            logits = self._logits(model, self._pool.inputs[points]).astype(np.float64)
            top = logits.max(axis=1, keepdims=True)
            total = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
            rows.append(total - logits[np.arange(len(labels)), labels])
        return np.array(rows)

    def accuracy(self, models: Sequence[Any]) -> np.ndarray:
        """Share of held-out records that each model classifies correctly."""
        return np.array(
            [
                (
                    self._logits(m, self._pool.test_inputs).argmax(axis=1) == self._pool.test_labels
                ).mean()
                for m in models
            ]
        )

    def _logits(self, model: Any, inputs: np.ndarray) -> np.ndarray:
        parts = [
            np.asarray(self._forward(model, inputs[start : start + 256]))
            for start in range(0, len(inputs), 256)
        ]
        return np.concatenate(parts)


def cnn_family(pool: Pool, schedule: Schedule, *, microbatch: int) -> KerasFamily:
    """The CNN, trained by plain SGD without momentum as in the authors' configuration."""
    import keras

    return KerasFamily(
        pool,
        schedule,
        build=lambda: build_cnn(pool.classes, pool.inputs.shape[1]),
        forward=lambda model, x: model(x, training=False),
        optimizer=lambda: keras.optimizers.SGD(schedule.learning_rate),
        microbatch=microbatch,
    )


def keras_hub() -> Any:
    """KerasHub, imported when it is needed.

    Raises
    ------
    UserError
        it is not installed.
    """
    try:
        import keras_hub as hub
    except ImportError as error:
        raise UserError(
            "RoBERTa needs KerasHub, which is not installed in this environment "
            f"({error}); expected `pip install keras-hub`, or audit.games.models: small"
        ) from error
    return hub


def roberta_tokens(phrases: Sequence[str]) -> np.ndarray:
    """Token ids (n, 67) int32 of phrases in RoBERTa-base's vocabulary, padded with 1."""
    hub = keras_hub()
    preprocess = hub.models.RobertaTextClassifierPreprocessor.from_preset(
        _PRESET, sequence_length=MAX_TOKENS
    )
    return np.asarray(preprocess(list(phrases))["token_ids"], dtype=np.int32)


def roberta_forward(model: Any, tokens: Any) -> Any:
    """Logits of a KerasHub classifier on token ids; dropout is off."""
    import tensorflow as tf

    tokens = tf.convert_to_tensor(tokens)
    inputs = {"token_ids": tokens, "padding_mask": tf.cast(tokens != PADDING, tf.int32)}
    return model(inputs, training=False)


def roberta_family(
    pool: Pool,
    schedule: Schedule,
    *,
    microbatch: int,
    build: Callable[[], Any] | None = None,
) -> KerasFamily:
    """RoBERTa-base with a new classification head, fine-tuned by Adam.

    The authors' configuration names no optimizer; Adam is the usual one for this model.

    Parameters
    ----------
    build : () -> another KerasHub classifier, for tests.
    """
    import keras

    hub = keras_hub()

    def pretrained() -> Any:
        return hub.models.RobertaTextClassifier.from_preset(
            _PRESET, num_classes=pool.classes, preprocessor=None
        )

    return KerasFamily(
        pool,
        schedule,
        build=build or pretrained,
        forward=roberta_forward,
        optimizer=lambda: keras.optimizers.Adam(schedule.learning_rate),
        microbatch=microbatch,
        vectorised=False,
    )
