"""Wide & Deep click model (Cheng et al. 2016) with sparse embedding updates, for training from disk.

The model is ``P(click | x) = sigmoid(w . x + v . a(x) + b)``: a linear ("wide") part over the
categories and the numeric features, and a ReLU tower ("deep") over embeddings and the same numeric
features, trained jointly on the logistic loss. No cross-product features are made: the DPAUC paper
names none.

What keeps a step independent of the vocabulary size:

- one table of shape ``(V, embedding_dim + 1)`` holds the embedding of a category and, in its last
  column, its wide weight, so that one gather and one scatter serve both parts;
- the rows of a batch are made unique first, the gradients of duplicates are summed, and only those
  rows and their optimiser slots are read and written. For Adam this is *lazy* Adam: the moments of
  a category move only in batches that contain it. It is not Keras' Adam, where the moments decay in
  every step, and its good learning rates are other ones.

Numbers depend on the thread counts and on ``jit_compile``; the caller fixes the former with
``runtime.configure_tensorflow`` before this module is used. Importing it imports TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakmeter.runtime import (
    UserError,
    generator,
    import_tensorflow,
)

tf = import_tensorflow()


# --- configuration ------------------------------------------------------------------------------


@dataclass(frozen=True)
class WideDeepConfig:
    """Architecture and training settings. The DPAUC paper states none of them but ``epochs``.

    Attributes
    ----------
    embedding_dim : width of a category's embedding; 0 leaves the tower the numeric features only.
    tower : widths of the ReLU layers, first to last; ``()`` is the wide part alone (logistic
        regression), whatever ``embedding_dim``.
    epochs : passes over the training rows.
    batch_size : rows per step; larger than the data means one step per epoch.
    optimizer : ``"lazy_adam"`` or ``"adagrad"`` (the deep part's in Cheng et al.; sparse by nature).
    learning_rate : step size of the first epoch.
    decay : factor on the step size after each epoch.
    beta_1, beta_2 : decay rates of Adam's moments; unused by Adagrad.
    epsilon : added to the root of the second moment.
    embedding_sd : standard deviation of the normal initial embeddings. Kernels start Glorot
        uniform, wide weights and biases at zero.
    jit_compile : compile the dense part with XLA.
    """

    embedding_dim: int = 8
    tower: tuple[int, ...] = (256, 128)
    epochs: int = 3
    batch_size: int = 4096
    optimizer: str = "lazy_adam"
    learning_rate: float = 1.7e-4
    decay: float = 0.5
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7
    embedding_sd: float = 0.01
    jit_compile: bool = True

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "tower", tuple(self.tower))
        except TypeError:
            raise UserError(f"tower: got {self.tower!r}, expected a list of layer widths") from None
        for key in ("embedding_dim", "epochs", "batch_size"):
            _require_integer(key, getattr(self, key), minimum=0 if key == "embedding_dim" else 1)
        for position, width in enumerate(self.tower):
            _require_integer(f"tower[{position}]", width, minimum=1)
        if self.optimizer not in _RULES:
            raise UserError(
                f"optimizer: got {self.optimizer!r}, expected one of {', '.join(sorted(_RULES))}"
            )
        for key in ("learning_rate", "decay", "epsilon"):
            _require_number(key, getattr(self, key), lambda x: x > 0, "a number above 0")
        for key in ("beta_1", "beta_2"):
            _require_number(key, getattr(self, key), lambda x: 0 <= x < 1, "a number in [0, 1)")
        _require_number("embedding_sd", self.embedding_sd, lambda x: x >= 0, "a number >= 0")
        if not isinstance(self.jit_compile, bool):
            raise UserError(f"jit_compile: got {self.jit_compile!r}, expected true or false")


def _require_integer(key: str, value: Any, *, minimum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise UserError(f"{key}: got {value!r}, expected an integer >= {minimum}")


def _require_number(key: str, value: Any, test: Callable[[float], bool], expected: str) -> None:
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (numeric and math.isfinite(value) and test(value)):
        raise UserError(f"{key}: got {value!r}, expected {expected}")


# --- optimisers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """An element-wise update, so that the same code serves dense tensors and gathered rows."""

    slots: tuple[float, ...]  # initial value of each slot
    rate: Callable[[WideDeepConfig, float, int], float]  # (config, learning rate, step from 1)
    update: Callable[..., tuple[tf.Tensor, list[tf.Tensor]]]  # (config, parameter, slots, g, rate)


def _adam_rate(config: WideDeepConfig, learning_rate: float, step: int) -> float:
    """Step size with both bias corrections (Kingma and Ba 2015, end of section 2)."""
    return learning_rate * math.sqrt(1 - config.beta_2**step) / (1 - config.beta_1**step)


def _adam_update(config, parameter, slots, gradient, rate):
    mean = slots[0] + (1 - config.beta_1) * (gradient - slots[0])
    square = slots[1] + (1 - config.beta_2) * (gradient * gradient - slots[1])
    return parameter - rate * mean / (tf.sqrt(square) + config.epsilon), [mean, square]


def _adagrad_update(config, parameter, slots, gradient, rate):
    total = slots[0] + gradient * gradient
    return parameter - rate * gradient / (tf.sqrt(total) + config.epsilon), [total]


_RULES = {
    "lazy_adam": _Rule((0.0, 0.0), _adam_rate, _adam_update),
    "adagrad": _Rule((0.1,), lambda config, learning_rate, step: learning_rate, _adagrad_update),
}


# --- model --------------------------------------------------------------------------------------


class WideDeep:
    """The model, its optimiser slots and its step.

    Parameters
    ----------
    config : architecture and optimiser.
    vocabulary_size : V, number of category ids over all fields.
    fields, numerics : categorical and numeric features per row.
    seed : root seed; initial values are drawn by NumPy, one named stream per tensor.

    Attributes
    ----------
    table : (V, embedding_dim + 1) variable, the wide weight in the last column.
    dense : name -> variable of everything else: ``wide_numeric`` (numerics,), ``bias`` (),
        ``kernel_i``, ``bias_i`` per tower layer, ``output`` (last width,).
    step : number of updates made.
    """

    def __init__(
        self,
        config: WideDeepConfig,
        *,
        vocabulary_size: int,
        fields: int,
        numerics: int,
        seed: int,
    ) -> None:
        self.config = config
        self.fields = fields
        self.step = 0
        self._rule = _RULES[config.optimizer]
        # without a tower nothing reads the embeddings
        self._embedding_dim = config.embedding_dim if config.tower else 0
        initial = _initial_table(vocabulary_size, self._embedding_dim, config.embedding_sd, seed)
        self.table = tf.Variable(initial, name="table")
        self.dense = {
            name: tf.Variable(value, name=name)
            for name, value in _initial_dense(
                config, fields * self._embedding_dim + numerics, numerics, seed
            ).items()
        }
        self._table_slots = [tf.Variable(tf.fill(initial.shape, x)) for x in self._rule.slots]
        self._dense_slots = {
            name: [tf.Variable(tf.fill(variable.shape, x)) for x in self._rule.slots]
            for name, variable in self.dense.items()
        }
        self._compile(numerics)

    def _compile(self, numerics: int) -> None:
        # signatures: without them every new number of distinct ids would trace the step again
        ids = tf.TensorSpec([None, self.fields], tf.int32)
        numeric = tf.TensorSpec([None, numerics], tf.float32)
        vector, scalar = tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)
        jit = self.config.jit_compile
        self._dense_step = tf.function(self._dense_step_body, jit_compile=jit, autograph=False)
        self._dense_scores = tf.function(self._dense_scores_body, jit_compile=jit, autograph=False)
        self._step = tf.function(
            self._step_body, [ids, numeric, vector, vector, scalar], autograph=False
        )
        self._scores = tf.function(self._scores_body, [ids, numeric], autograph=False)

    @property
    def parameters(self) -> int:
        """Number of trainable values."""
        return sum(int(np.prod(v.shape)) for v in (self.table, *self.dense.values()))

    def train_step(
        self,
        ids: np.ndarray,
        numeric: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        learning_rate: float,
    ) -> float:
        """One update; returns the weighted mean logistic loss before it.

        Parameters
        ----------
        ids : (B, fields) int32 in [0, V).
        numeric : (B, numerics) float32.
        labels : (B,) float32, 0 or 1.
        weights : (B,) float32; 0 for padding rows, which must repeat a row of the batch.
        learning_rate : step size of the epoch.
        """
        self.step += 1
        rate = self._rule.rate(self.config, learning_rate, self.step)
        return float(self._step(ids, numeric, labels, weights, np.float32(rate)))

    def predict(self, ids: np.ndarray, numeric: np.ndarray) -> np.ndarray:
        """Click probabilities, (B,) float32."""
        return self._scores(ids, numeric).numpy()

    def _step_body(self, ids, numeric, labels, weights, rate):
        unique, position = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.gather(self.table, unique)
        loss, gradient = self._dense_step(tf.gather(rows, position), numeric, labels, weights, rate)
        gradient = tf.math.unsorted_segment_sum(gradient, position, tf.size(unique))
        slots = [tf.gather(slot, unique) for slot in self._table_slots]
        rows, slots = self._rule.update(self.config, rows, slots, gradient, rate)
        for variable, value in zip([self.table, *self._table_slots], [rows, *slots], strict=True):
            variable.scatter_update(tf.IndexedSlices(value, unique))
        return loss

    def _dense_step_body(self, rows, numeric, labels, weights, rate):
        """Loss, update of the dense variables, and the gradient for each gathered table row."""
        variables = list(self.dense.values())
        with tf.GradientTape() as tape:
            tape.watch(rows)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels, self._logits(rows, numeric))
            loss = tf.reduce_sum(weights * losses) / tf.reduce_sum(weights)
        rows_gradient, *gradients = tape.gradient(loss, [rows, *variables])
        for name, gradient in zip(self.dense, gradients, strict=True):
            slots = self._dense_slots[name]
            value, moved = self._rule.update(self.config, self.dense[name], slots, gradient, rate)
            self.dense[name].assign(value)
            for slot, new in zip(slots, moved, strict=True):
                slot.assign(new)
        return loss, rows_gradient

    def _scores_body(self, ids, numeric):
        return self._dense_scores(tf.gather(self.table, tf.reshape(ids, [-1])), numeric)

    def _dense_scores_body(self, rows, numeric):
        return tf.sigmoid(self._logits(rows, numeric))

    def _logits(self, rows: tf.Tensor, numeric: tf.Tensor) -> tf.Tensor:
        width, batch = self._embedding_dim, tf.shape(numeric)[0]
        rows = tf.reshape(rows, [batch, self.fields, width + 1])
        wide = tf.reduce_sum(rows[:, :, width], axis=1)
        logits = wide + tf.linalg.matvec(numeric, self.dense["wide_numeric"]) + self.dense["bias"]
        if not self.config.tower:
            return logits
        embedded = tf.reshape(rows[:, :, :width], [batch, self.fields * width])
        hidden = tf.concat([embedded, numeric], axis=1)
        for layer in range(len(self.config.tower)):
            hidden = hidden @ self.dense[f"kernel_{layer}"] + self.dense[f"bias_{layer}"]
            hidden = tf.nn.relu(hidden)
        return logits + tf.linalg.matvec(hidden, self.dense["output"])

    def _variables(self) -> dict[str, tf.Variable]:
        named = {"table": self.table, **{f"dense/{k}": v for k, v in self.dense.items()}}
        for index in range(len(self._rule.slots)):
            named[f"slot{index}/table"] = self._table_slots[index]
            named |= {f"slot{index}/dense/{k}": v[index] for k, v in self._dense_slots.items()}
        return named

    def state(self) -> dict[str, np.ndarray]:
        """Weights, optimiser slots and step by name; the arrays may share memory with the model."""
        return {k: v.numpy() for k, v in self._variables().items()} | {"step": np.int64(self.step)}

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        """Put back what :meth:`state` gave; ValueError if a name or a shape does not fit."""
        variables = self._variables()
        if state.keys() != variables.keys() | {"step"}:
            raise ValueError(f"names do not fit: {sorted(state.keys() ^ variables.keys())}")
        for name, variable in variables.items():
            if state[name].shape != tuple(variable.shape) or state[name].dtype != np.float32:
                raise ValueError(f"{name}: {state[name].shape} for {tuple(variable.shape)}")
        for name, variable in variables.items():
            variable.assign(state[name])
        self.step = int(state["step"])


def _initial_table(vocabulary_size: int, width: int, sd: float, seed: int) -> np.ndarray:
    table = np.zeros((vocabulary_size, width + 1), np.float32)
    rng = generator(seed, "wide_deep_init", tensor="embedding")
    # in pieces: a draw for all of a large vocabulary would double the peak memory
    for start in range(0, vocabulary_size if width else 0, 2**20):
        piece = table[start : start + 2**20, :width]
        piece[:] = sd * rng.standard_normal(piece.shape, dtype=np.float32)
    return table


def _initial_dense(
    config: WideDeepConfig, inputs: int, numerics: int, seed: int
) -> dict[str, np.ndarray]:
    values = {"wide_numeric": np.zeros(numerics, np.float32), "bias": np.float32(0)}
    if not config.tower:
        return values
    for layer, outputs in enumerate(config.tower):
        values[f"kernel_{layer}"] = _glorot(seed, f"kernel_{layer}", inputs, outputs)
        values[f"bias_{layer}"] = np.zeros(outputs, np.float32)
        inputs = outputs
    return values | {"output": _glorot(seed, "output", inputs, 1)[:, 0]}


def _glorot(seed: int, tensor: str, inputs: int, outputs: int) -> np.ndarray:
    limit = math.sqrt(6 / (inputs + outputs))
    rng = generator(seed, "wide_deep_init", tensor=tensor)
    return rng.uniform(-limit, limit, (inputs, outputs)).astype(np.float32)


# --- TensorFlow's AUC ---------------------------------------------------------------------------


def keras_auc(scores: np.ndarray, labels: np.ndarray, num_thresholds: int) -> float:
    """``tf.keras.metrics.AUC(num_thresholds=...)``, computed by Keras itself.

    The metric sees scores only through ``num_thresholds`` evenly spaced thresholds, the outer two
    just outside [0, 1]; scores outside [0, 1] are tied with the end points without a word. It
    counts in float32, exactly up to 2^24 rows per class. The same value without TensorFlow, to
    float32 rounding: :func:`leakmeter.dpauc.exact.keras_auc`.

    Parameters
    ----------
    scores : (M,) in [0, 1].
    labels : (M,) of 0 and 1, both present.
    num_thresholds : at least 2; 200 is TensorFlow's default.

    Raises
    ------
    UserError
        If ``labels`` hold one class, where Keras would report 0.
    """
    scores, labels = np.asarray(scores, np.float32), np.asarray(labels)
    if scores.shape != labels.shape or scores.ndim != 1:
        raise ValueError(f"scores {scores.shape} and labels {labels.shape}, expected (M,) twice")
    if len(np.unique(labels)) != 2:
        raise UserError("labels: got one class only, expected both 0 and 1 for an AUC")
    metric = tf.keras.metrics.AUC(num_thresholds=num_thresholds)
    metric.update_state(labels.astype(np.float32), scores)
    return float(metric.result())
