"""Softmax regressions, hundreds trained at once in one TensorFlow graph.

All models of a chunk share their base records, so a step is one matrix product of those records
with the weights of every model; which records a model's batch holds is a mask. The norm of a
record's gradient is known in closed form, |x| |p - y| with a constant 1 appended to x, so that
clipping needs no tape. Everything random (batches, noise) comes from a generator per model: a
model is the same whichever chunk it is trained in, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakmeter.audit.dpsgd import Schedule, clip_factors, poisson_masks
from leakmeter.audit.pools import Pool


class DenseFamily:
    """Trains and evaluates softmax regressions on a pool.

    Parameters
    ----------
    pool : features and labels. schedule : how each model is trained.
    chunk : models per graph call.
    """

    def __init__(self, pool: Pool, schedule: Schedule, *, chunk: int = 128) -> None:
        import tensorflow as tf

        self._tf = tf
        self._classes, self._schedule, self.batch = pool.classes, schedule, chunk
        self._x = _with_constant(pool.inputs)
        self._y = np.eye(pool.classes, dtype=np.float32)[pool.labels]
        self._labels = pool.labels
        self._test_x, self._test_labels = _with_constant(pool.test_inputs), pool.test_labels
        self._rates = schedule.learning_rates()
        d, k, steps = self._x.shape[1], pool.classes, schedule.steps
        shapes = [[None, d], [None, k], [None, None, d], [None, None, k]]
        # sizes left open: one graph for all chunks of all games
        signature = [
            *(tf.TensorSpec(shape, tf.float32) for shape in shapes),
            tf.TensorSpec([steps, None, None], tf.bool),
            tf.TensorSpec([steps, None, d, k], tf.float32),
            tf.TensorSpec([], tf.float32),
        ]
        self._run = tf.function(self._train_chunk, input_signature=signature)

    @property
    def parameters(self) -> int:
        """Weights of one model."""
        return self._x.shape[1] * self._classes

    def train(self, base: np.ndarray, challenges: np.ndarray, seeds: Sequence[int]) -> np.ndarray:
        """Weights (models, features + 1, classes) float32 of models trained from zero.

        Parameters
        ----------
        base : (B,) pool indices that all models share.
        challenges : (models, m) pool indices of each model's own records; m may be 0.
        seeds : one per model; everything random in its training follows from it.
        """
        return self._train(base, challenges, seeds, None)

    def train_inside(
        self, shared: np.ndarray, inside: np.ndarray, seeds: Sequence[int]
    ) -> np.ndarray:
        """Likewise for models that have some of the shared records each.

        Parameters
        ----------
        shared : (B,) pool indices. inside : (models, B) bool, equally many per model.
        """
        return self._train(shared, np.zeros((len(seeds), 0), np.int64), seeds, inside)

    def _train(
        self,
        base: np.ndarray,
        challenges: np.ndarray,
        seeds: Sequence[int],
        inside: np.ndarray | None,
    ) -> np.ndarray:
        models = len(seeds)
        trained = []
        for start in range(0, models, self.batch):
            part = slice(start, min(start + self.batch, models))
            own = challenges[part]
            batches, noise = self._randomness(seeds[part], len(base), own.shape[1])
            if inside is not None:
                batches[:, :, : len(base)] &= inside[None, part]
            trained.append(
                self._run(
                    self._x[base],
                    self._y[base],
                    self._x[own],
                    self._y[own],
                    batches,
                    noise,
                    np.float32(self._expected(len(base) + own.shape[1], inside, part)),
                ).numpy()
            )
        return np.concatenate(trained)

    def _expected(self, records: int, inside: np.ndarray | None, part: slice) -> float:
        """Expected size of a batch, the same for all models."""
        if inside is not None:
            counts = np.unique(inside[part].sum(axis=1))
            if len(counts) != 1:
                raise ValueError(f"models with {counts} base records; expected one number for all")
            records += int(counts[0]) - inside.shape[1]
        return self._schedule.rate * records

    def _randomness(self, seeds: Sequence[int], base: int, own: int) -> tuple[Any, Any]:
        """Batches (steps, models, base + own) bool and noise (steps, models, features, classes)."""
        schedule, shape = self._schedule, (self._x.shape[1], self._classes)
        batches = np.empty((schedule.steps, len(seeds), base + own), bool)
        width = len(seeds) if schedule.private else 0
        noise = np.empty((schedule.steps, width, *shape), np.float32)
        for index, seed in enumerate(seeds):
            random = np.random.default_rng(seed)
            batches[:, index] = poisson_masks(
                random, steps=schedule.steps, records=base + own, rate=schedule.rate
            )
            if schedule.private:
                noise[:, index] = random.standard_normal(noise[:, index].shape, np.float32)
        return batches, noise

    def _train_chunk(self, x, y, own_x, own_y, batches, noise, expected):
        """All steps of a chunk: x (B, d), own_x (M, m, d), batches (steps, M, B + m)."""
        tf, schedule = self._tf, self._schedule
        models, shared = tf.shape(own_x)[0], tf.shape(x)[0]
        features, classes = self._x.shape[1], self._classes
        squared = tf.reduce_sum(x**2, axis=1)[:, None]
        own_squared = tf.reduce_sum(own_x**2, axis=2)
        deviation = float(schedule.noise * schedule.clip) if schedule.private else 0.0

        # weights are (d, M, k): the shared records then need one product for all models
        weights = tf.zeros((features, models, classes))
        for step in tf.range(schedule.steps):
            taken = tf.cast(batches[step], tf.float32)
            flat = tf.reshape(weights, (features, models * classes))
            logits = tf.reshape(x @ flat, (shared, models, classes))
            error = tf.nn.softmax(logits) - y[:, None, :]
            factor = clip_factors(squared * tf.reduce_sum(error**2, axis=2), schedule.clip)
            error *= (factor * tf.transpose(taken[:, :shared]))[:, :, None]
            total = tf.matmul(x, tf.reshape(error, (shared, models * classes)), transpose_a=True)
            total = tf.reshape(total, (features, models, classes))

            per_model = tf.transpose(weights, (1, 0, 2))
            error = tf.nn.softmax(own_x @ per_model) - own_y
            factor = clip_factors(own_squared * tf.reduce_sum(error**2, axis=2), schedule.clip)
            error *= (factor * taken[:, shared:])[:, :, None]
            total += tf.transpose(tf.matmul(own_x, error, transpose_a=True), (1, 0, 2))

            if schedule.private:
                total += deviation * tf.transpose(noise[step], (1, 0, 2))
            weights -= tf.gather(self._rates, step) * total / expected
        return tf.transpose(weights, (1, 0, 2))

    def losses(self, weights: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Cross-entropy of every model on pool records: (models, points) float32."""
        logits = self._logits(weights, self._x[points])
        chosen = np.take_along_axis(logits, self._labels[points][:, None, None], axis=2)[..., 0]
        top = logits.max(axis=2)
        total = np.log(np.exp(logits - top[..., None]).sum(axis=2)) + top
        return (total - chosen).T

    def accuracy(self, weights: np.ndarray) -> np.ndarray:
        """Share of held-out records that each model classifies correctly, (models,)."""
        answers = self._logits(weights, self._test_x).argmax(axis=2)
        return (answers == self._test_labels[:, None]).mean(axis=0)

    def _logits(self, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(records, models, classes) float32."""
        models, features, classes = weights.shape
        flat = weights.transpose(1, 0, 2).reshape(features, models * classes)
        return (x @ flat).reshape(len(x), models, classes)


def _with_constant(features: np.ndarray) -> np.ndarray:
    """A constant 1 appended to each row, whose weight is the bias."""
    ones = np.ones((len(features), 1), np.float32)
    return np.hstack([features.astype(np.float32), ones])
