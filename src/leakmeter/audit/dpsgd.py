"""DP-SGD (Abadi et al. 2016): Poisson batches, per-example clipping, Gaussian noise, schedules.

One step on a batch B drawn with rate q from n records:

    w <- w - lr * (sum_{i in B} g_i min(1, C / |g_i|) + sigma C N(0, I)) / (q n)

The sum is divided by the expected size of the batch, not by the drawn one, so that one record
changes the sum by at most C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakmeter.audit.privacy_accounting import ADJACENCIES, calibrate_noise, dpsgd_epsilon
from leakmeter.runtime import UserError


@dataclass(frozen=True)
class Schedule:
    """How a model is trained.

    Attributes
    ----------
    rate : probability with which a step takes each record. steps : number of steps.
    learning_rate : of the first step. decay : factor on it after each pass over the data.
    clip : largest norm of a record's gradient; infinite without privacy.
    noise : noise multiplier, standard deviation over ``clip``; 0 without privacy.
    """

    rate: float
    steps: int
    learning_rate: float
    decay: float = 1.0
    clip: float = np.inf
    noise: float = 0.0

    def __post_init__(self) -> None:
        checks = {
            "rate": (0 < self.rate <= 1, "in (0, 1]"),
            "steps": (self.steps >= 1, "at least 1"),
            "learning_rate": (self.learning_rate > 0, "positive"),
            "decay": (0 < self.decay <= 1, "in (0, 1]"),
            "clip": (self.clip > 0, "positive"),
            "noise": (self.noise >= 0, "at least 0"),
        }
        for name, (fine, expected) in checks.items():
            if not fine:
                raise UserError(f"{name} must be {expected}, got {getattr(self, name)}")
        if self.noise and np.isinf(self.clip):
            raise UserError("noise needs a finite clip, got none: its scale is noise times clip")

    @property
    def private(self) -> bool:
        """Whether noise is added."""
        return self.noise > 0

    def learning_rates(self) -> np.ndarray:
        """(steps,) float32: the decay acts after each expected pass over the data."""
        epochs = np.floor(np.arange(self.steps) * self.rate + 1e-9)
        return (self.learning_rate * self.decay**epochs).astype(np.float32)

    def without_noise(self) -> Schedule:
        """The same with clipping only, for ranking candidates."""
        return Schedule(self.rate, self.steps, self.learning_rate, self.decay, self.clip, 0.0)


def schedule_for(
    training: Mapping[str, Any], *, epsilon: float, delta: float, adjacency: str
) -> tuple[Schedule, dict[str, float]]:
    """A schedule with the noise that ``epsilon`` needs, and both of its epsilons.

    Parameters
    ----------
    training : ``rate, steps, learning_rate, decay, clip`` (None: no clipping) and ``private``.
    epsilon, delta : the target; ignored without ``private``.
    adjacency : which neighbours the target is meant for.

    Returns
    -------
    The schedule, and ``{"replace-one": ..., "add-remove": ...}`` (infinite without privacy).
    """
    kind = {"rate": training["rate"], "steps": training["steps"], "delta": delta}
    noise = calibrate_noise(epsilon, **kind, adjacency=adjacency) if training["private"] else 0.0
    schedule = Schedule(
        rate=training["rate"],
        steps=training["steps"],
        learning_rate=training["learning_rate"],
        decay=training["decay"],
        clip=np.inf if training["clip"] is None else training["clip"],
        noise=noise,
    )
    both = {
        a: dpsgd_epsilon(noise, **kind, adjacency=a) if schedule.private else np.inf
        for a in ADJACENCIES
    }
    return schedule, both


def poisson_masks(random: np.random.Generator, *, steps: int, records: int, rate: float) -> Any:
    """Which records each step takes, (steps, records) bool, independently with probability ``rate``."""
    return random.random((steps, records), dtype=np.float32) < rate


def clip_factors(squared_norms: Any, clip: float) -> Any:
    """min(1, clip / norm) for a tensor of squared norms; 1 when ``clip`` is infinite."""
    import tensorflow as tf

    if np.isinf(clip):
        return tf.ones_like(squared_norms)
    return tf.minimum(1.0, clip * tf.math.rsqrt(tf.maximum(squared_norms, 1e-24)))


def clipped_sum(
    loss: Callable[[Any, Any], Any],
    variables: Sequence[Any],
    x: Any,
    y: Any,
    clip: float,
    weight: Any = None,
    *,
    vectorised: bool = True,
) -> list[Any]:
    """Sum over the batch of clipped per-example gradients.

    Parameters
    ----------
    loss : (x of one example with a leading axis of 1, y likewise) -> scalar.
    variables : what is differentiated by. x, y : the batch, stacked.
    weight : one factor per example on its clipped gradient, 0 for padding; None: all 1.
    vectorised : all examples at once, or one after the other (inside a tf.function), which holds
        one gradient in memory and runs layers that have no vectorised gradient.

    Returns
    -------
    One tensor per variable, in its shape.
    """
    import tensorflow as tf

    factor = tf.ones(tf.shape(y)) if weight is None else weight
    if not vectorised:
        total = [tf.zeros_like(v) for v in variables]
        for index in tf.range(tf.shape(y)[0]):
            gradients = _gradient(loss, variables, x[index], y[index])
            squared = tf.add_n([tf.reduce_sum(g**2) for g in gradients])
            scale = clip_factors(squared, clip) * factor[index]
            total = [t + scale * g for t, g in zip(total, gradients, strict=True)]
        return total
    gradients = tf.vectorized_map(lambda e: _gradient(loss, variables, *e), (x, y))
    squared = tf.add_n([tf.reduce_sum(g**2, axis=list(range(1, g.ndim))) for g in gradients])
    scale = clip_factors(squared, clip) * factor
    return [tf.tensordot(scale, g, axes=1) for g in gradients]


def _gradient(
    loss: Callable[[Any, Any], Any], variables: Sequence[Any], inputs: Any, label: Any
) -> list[Any]:
    """Gradient at one example; one that touches few rows (an embedding) is made dense."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss(inputs[None], label[None])
    return [tf.convert_to_tensor(g) for g in tape.gradient(value, variables)]
