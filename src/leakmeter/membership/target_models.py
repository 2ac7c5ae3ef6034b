"""The target models: fully connected [1024, 512, 256, 128, n] with tanh, Adam, 50 epochs.

The architecture is the paper's; optimiser, step size, batch and epochs are those of the network of
the same shape in the first author's data repository (the paper does not give them). One compiled
function trains a model from its first to its last step, on tensors whose number of records is not
part of the signature: models on differently many records of one data set share the compilation.

An epoch is divided into batches of nearly equal size, at most ``batch_size``. Full batches and a
remainder would do worse by chance: with 900 records and batches of 128 every epoch ends in a step on
4 records, after which training accuracy stays near 0.94 where 896 or 930 records reach 1.00 (MEPS),
and attacks on models after removals would differ by that instead of by what was removed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import (
    check_integer,
    check_labels,
    check_matrix,
    check_number,
)
from leakmeter.runtime import UserError

#: Widths of the hidden layers (published).
HIDDEN = (1024, 512, 256, 128)


@dataclass(frozen=True)
class TargetConfig:
    """How a model is trained.

    hidden : widths of the tanh layers. batch_size : records of a step, at most. learning_rate : of Adam (betas 0.9 and 0.999, epsilon 1e-8).

    Raises
    ------
    UserError : widths, batches or epochs that are not whole numbers of at least 1, a learning rate
        that is not positive.
    """

    hidden: tuple[int, ...] = HIDDEN
    learning_rate: float = 1e-3
    batch_size: int = 128
    epochs: int = 50

    def __post_init__(self) -> None:
        hidden = tuple(check_integer(width, "hidden", 1) for width in self.hidden)
        object.__setattr__(self, "hidden", hidden)
        for name in ("batch_size", "epochs"):
            check_integer(getattr(self, name), name, 1)
        expected = "a finite number above 0"
        check_number(self.learning_rate, "learning_rate", lambda r: 0 < r < np.inf, expected)


@dataclass(frozen=True)
class Outputs:
    """What a model says about some records.

    logits : (n, classes) float64. hidden : (n, last hidden width) float32, the penultimate layer.
    """

    logits: np.ndarray
    hidden: np.ndarray


@dataclass(frozen=True)
class Trained:
    """loss : mean training loss over the last epoch. kept : weights, the last are the model's."""

    loss: float
    kept: list[list[np.ndarray]]


def initial_weights(
    sizes: Sequence[int], rng: np.random.Generator, *, fan_in: int | None = None
) -> list[np.ndarray]:
    """Glorot-uniform kernels and zero biases, float32: ``[W1, b1, W2, b2, ...]``.

    ``fan_in`` replaces the number of inputs in the first kernel's bound: columns that are 0 for all
    records may be left out of the data without a change to the law of what the model computes.
    """
    weights: list[np.ndarray] = []
    for layer, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        inputs = fan_in if layer == 0 and fan_in else rows
        bound = np.sqrt(6.0 / (inputs + columns))
        weights.append(rng.uniform(-bound, bound, (rows, columns)).astype(np.float32))
        weights.append(np.zeros(columns, np.float32))
    return weights


def batch_order(n: int, epochs: int, rng: np.random.Generator) -> np.ndarray:
    """A new order of the records for each epoch, (epochs, n) int32."""
    return np.stack([rng.permutation(n) for _ in range(epochs)]).astype(np.int32)


class Trainer:
    """Trains models of one shape of input; compiled once.

    Parameters
    ----------
    n_features, n_classes : shape of the data.
    config : see :class:`TargetConfig`.
    fan_in : see :func:`initial_weights`.
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        config: TargetConfig = TargetConfig(),
        *,
        fan_in: int | None = None,
    ) -> None:
        import tensorflow as tf

        n_features = check_integer(n_features, "n_features", 1)
        n_classes = check_integer(n_classes, "n_classes", 1)
        if fan_in is not None:
            fan_in = check_integer(fan_in, "fan_in", 1)
        self.config, self.fan_in = config, fan_in
        self.n_features, self.n_classes = n_features, n_classes
        self.sizes = (n_features, *config.hidden, n_classes)
        shapes = [w.shape for w in initial_weights(self.sizes, np.random.default_rng(0))]
        self._variables = [tf.Variable(tf.zeros(s)) for s in shapes]
        self._moments = [(tf.Variable(tf.zeros(s)), tf.Variable(tf.zeros(s))) for s in shapes]
        self._step = tf.Variable(0.0)  # of Adam, which goes on when training goes on
        self._run = self._compile_training(tf)
        self._forward = self._compile_forward(tf)

    def train(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        seed: int,
        l2: float = 0.0,
        keep_every: int | None = None,
    ) -> Trained:
        """A new model on (x, y).

        Parameters
        ----------
        x : (n, features). y : (n,) labels from 0.
        seed : of the initial weights and of the order of the records in every epoch.
        l2 : added to each kernel's gradient as ``l2 * kernel`` before Adam (PyTorch's
            ``weight_decay``; the gradient of an L2 penalty of half that strength).
        keep_every : keep the weights after every so many epochs, too.

        Raises
        ------
        UserError : labels that are not of a class, NaN in the inputs, no records; a negative ``l2``
            or ``seed``, ``keep_every < 1``; a loss that is not finite.
        """
        x = self._inputs(x)
        y = check_labels(y, len(x), self.n_classes, "y").astype(np.int32)
        seed = check_integer(seed, "seed", 0)
        l2 = check_number(l2, "l2", lambda p: 0 <= p < np.inf, "a finite number of at least 0")
        if keep_every is not None:
            keep_every = check_integer(keep_every, "keep_every", 1)
        rng = np.random.default_rng(seed)
        self.load(initial_weights(self.sizes, rng, fan_in=self.fan_in))
        for pair in self._moments:
            for moment in pair:
                moment.assign(np.zeros(moment.shape, np.float32))
        order = batch_order(len(y), self.config.epochs, rng)
        every = keep_every or self.config.epochs
        self._step.assign(0.0)
        kept = []
        for first in range(0, self.config.epochs, every):
            loss = float(self._run(x, y, order[first : first + every], np.float32(l2)))
            kept.append(self.weights())
        if not np.isfinite(loss):
            raise UserError(
                f"training loss is {loss} with l2 = {l2:g}; expected a finite number (a smaller "
                "learning rate or l2)"
            )
        return Trained(loss, kept)

    def outputs(self, x: ArrayLike) -> Outputs:
        """What the model in memory says about records (n, features); UserError as for training."""
        logits, hidden = self._forward(self._inputs(x))
        return Outputs(logits.numpy().astype(np.float64), hidden.numpy())

    def weights(self) -> list[np.ndarray]:
        """``[W1, b1, ...]`` of the model in memory."""
        return [variable.numpy() for variable in self._variables]

    def load(self, weights: Sequence[np.ndarray]) -> None:
        """Put a model's weights into memory."""
        for variable, value in zip(self._variables, weights, strict=True):
            variable.assign(value)

    def _inputs(self, x: ArrayLike) -> np.ndarray:
        x = check_matrix(x, "x", np.float32)
        if x.shape[1] != self.n_features:
            raise ValueError(f"x has shape {x.shape}; expected ({len(x)}, {self.n_features})")
        return x.astype(np.float32, copy=False)

    def _layers(self, tf, x):
        """Logits and the last hidden layer."""
        pairs = list(zip(self._variables[::2], self._variables[1::2], strict=True))
        for kernel, bias in pairs[:-1]:
            x = tf.tanh(tf.nn.bias_add(tf.matmul(x, kernel), bias))
        kernel, bias = pairs[-1]
        return tf.nn.bias_add(tf.matmul(x, kernel), bias), x

    def _compile_training(self, tf):
        batch = self.config.batch_size
        beta1, beta2, epsilon = 0.9, 0.999, 1e-8

        @tf.function(
            input_signature=[
                tf.TensorSpec((None, self.n_features), tf.float32),
                tf.TensorSpec((None,), tf.int32),
                tf.TensorSpec((None, None), tf.int32),
                tf.TensorSpec((), tf.float32),
            ]
        )
        def run(x, y, order, decay):
            n = tf.shape(order)[1]
            batches = -(-n // batch)
            step = self._step.read_value()
            loss_sum = tf.constant(0.0)
            for epoch in tf.range(tf.shape(order)[0]):
                loss_sum = tf.constant(0.0)
                for number in tf.range(batches):
                    rows = order[epoch, number * n // batches : (number + 1) * n // batches]
                    with tf.GradientTape() as tape:
                        logits, _ = self._layers(tf, tf.gather(x, rows))
                        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                            tf.gather(y, rows), logits
                        )
                        loss = tf.reduce_mean(losses)
                    gradients = tape.gradient(loss, self._variables)
                    step += 1.0
                    loss_sum += tf.reduce_sum(losses)
                    for variable, (m, v), gradient in zip(
                        self._variables, self._moments, gradients, strict=True
                    ):
                        if len(variable.shape) == 2:
                            gradient += decay * variable
                        tf.raw_ops.ResourceApplyAdam(
                            var=variable.handle,
                            m=m.handle,
                            v=v.handle,
                            beta1_power=beta1**step,
                            beta2_power=beta2**step,
                            lr=self.config.learning_rate,
                            beta1=beta1,
                            beta2=beta2,
                            epsilon=epsilon,
                            grad=gradient,
                        )
            self._step.assign(step)
            return loss_sum / tf.cast(n, tf.float32)

        return run

    def _compile_forward(self, tf):
        @tf.function(input_signature=[tf.TensorSpec((None, self.n_features), tf.float32)])
        def forward(x):
            return self._layers(tf, x)

        return forward
