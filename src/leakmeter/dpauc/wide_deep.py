"""Wide & Deep click model (Cheng et al. 2016) with sparse embedding updates, trained from disk.

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

import contextlib
import hashlib
import json
import math
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakmeter.dpauc.exact import exact_auc
from leakmeter.runtime import (
    UserError,
    atomic_path,
    generator,
    import_tensorflow,
    logger,
    read_json,
    write_json,
)

tf = import_tensorflow()

# 2^18 rows of 26 + 13 features are 41 MB: all of the training rows that are in memory at a time.
_POOL_ROWS = 2**18
# A block is read in one piece: 26 kB of category ids, so that disks and page caches see few seeks.
_BLOCK_ROWS = 256
_PREDICT_ROWS = 2**13
_LOG_SECONDS = 5.0


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


# --- data on disk -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """One split of the prepared data: three ``.npy`` files read in pieces, never as a whole.

    The memory map gives a file's layout and size; the rows are read beside it, so that the resident
    set does not grow with the part of the file that has been seen.
    """

    folder: Path
    name: str
    vocabulary_size: int
    rows: int
    fields: int
    numerics: int

    @classmethod
    def open(cls, folder: str | Path, name: str, vocabulary_size: int) -> Split:
        """Check the headers of ``<name>_{categorical,numeric,label}.npy``.

        Raises
        ------
        UserError
            If a file is missing or no ``.npy``, if a type or number of dimensions is wrong, if the
            row counts differ, or if there are no rows.
        """
        folder = Path(folder)
        categorical = _map(folder / f"{name}_categorical.npy", np.int32, 2)
        numeric = _map(folder / f"{name}_numeric.npy", np.float32, 2)
        label = _map(folder / f"{name}_label.npy", np.uint8, 1)
        if not len(categorical) == len(numeric) == len(label) or len(label) == 0:
            raise UserError(
                f"{folder}: the {name} arrays have {len(categorical)} (categorical), {len(numeric)}"
                f" (numeric) and {len(label)} (label) rows, expected one number above 0"
            )
        return cls(
            folder, name, vocabulary_size, len(label), categorical.shape[1], numeric.shape[1]
        )

    def read(self, spans: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of the rows of the half-open ``spans``: ids, numeric, labels (as float32).

        Raises
        ------
        UserError
            If an id is outside the vocabulary, a number not finite, or a label neither 0 nor 1.
        """
        ids = _copy(self._path("categorical"), np.int32, 2, spans)
        numeric = _copy(self._path("numeric"), np.float32, 2, spans)
        labels = _copy(self._path("label"), np.uint8, 1, spans)
        if ids.size and not 0 <= ids.min() <= ids.max() < self.vocabulary_size:
            bad = ids[(ids < 0) | (ids >= self.vocabulary_size)][0]
            raise UserError(
                f"{self._path('categorical')}: got id {bad}, expected 0 to "
                f"{self.vocabulary_size - 1} (vocabulary_size in meta.json)"
            )
        if not np.isfinite(numeric).all():
            raise UserError(f"{self._path('numeric')}: got a value that is not a finite number")
        if labels.max() > 1:
            raise UserError(f"{self._path('label')}: got {labels.max()}, expected 0 or 1")
        return ids, numeric, labels.astype(np.float32)

    def labels(self) -> np.ndarray:
        """All labels, (rows,) uint8."""
        return _copy(self._path("label"), np.uint8, 1, [(0, self.rows)])

    def _path(self, part: str) -> Path:
        return self.folder / f"{self.name}_{part}.npy"


def _map(path: Path, dtype: type, dimensions: int) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (ValueError, EOFError) as error:
        raise UserError(f"{path}: not a readable .npy array ({error})") from error
    if array.dtype != dtype or array.ndim != dimensions or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else " in Fortran order"
        raise UserError(
            f"{path}: got {array.ndim}-dimensional {array.dtype}{order}, "
            f"expected {dimensions}-dimensional {np.dtype(dtype)} in C order"
        )
    return array


def _copy(path: Path, dtype: type, dimensions: int, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    # Read, not copied from the map: the kernel maps far more around a touched page than was asked
    # for, and all of it counts as resident.
    array = _map(path, dtype, dimensions)
    out = np.empty((sum(stop - start for start, stop in spans), *array.shape[1:]), dtype)
    row_bytes = array.strides[0]
    filled = 0
    with open(path, "rb") as handle:
        for start, stop in spans:
            handle.seek(array.offset + start * row_bytes)
            handle.readinto(out[filled : filled + stop - start].data)
            filled += stop - start
    return out


def shuffled_batches(
    split: Split,
    batch_size: int,
    rng: np.random.Generator,
    *,
    pool_rows: int = _POOL_ROWS,
    block_rows: int = _BLOCK_ROWS,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Every row once, in a random order that needs memory for ``pool_rows`` rows only.

    The file is cut into blocks of ``block_rows`` rows; the blocks are permuted, ``pool_rows`` rows'
    worth of them are read at a time, and the rows of such a pool are permuted. Data that fit into
    one pool are shuffled uniformly; in larger data the rows of a block stay within one pool.

    Yields
    ------
    ids (B, fields), numeric (B, numerics), labels (B,), weights (B,), with B the smaller of
    ``batch_size`` and the number of rows. The last batch is filled up with copies of its first row
    at weight 0, so that all steps have one shape.
    """
    batch_size = min(batch_size, split.rows)
    starts = rng.permutation(math.ceil(split.rows / block_rows)) * block_rows
    per_pool = max(1, max(pool_rows, batch_size) // block_rows)
    rest: tuple[np.ndarray, ...] | None = None
    for first in range(0, len(starts), per_pool):
        chosen = np.sort(starts[first : first + per_pool])
        pool = split.read([(s, min(s + block_rows, split.rows)) for s in chosen.tolist()])
        order = rng.permutation(len(pool[2]))
        if rest is not None:
            # the rest of the pool before goes first, in the order it had
            pool = tuple(np.concatenate(parts) for parts in zip(rest, pool, strict=True))
            order = np.concatenate([np.arange(len(rest[2])), order + len(rest[2])])
        full = len(order) // batch_size * batch_size
        for begin in range(0, full, batch_size):
            rows = order[begin : begin + batch_size]
            yield (*(part[rows] for part in pool), np.ones(batch_size, np.float32))
        rest = tuple(part[order[full:]] for part in pool)
        del pool  # before the next one is read
    if rest is not None and len(rest[2]):
        weights = (np.arange(batch_size) < len(rest[2])).astype(np.float32)
        rows = np.where(weights > 0, np.arange(batch_size), 0)
        yield (*(part[rows] for part in rest), weights)


# --- training -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class History:
    """What :func:`train` did.

    Attributes
    ----------
    record : what the history file holds: settings, sizes and, per epoch, learning rate, steps,
        mean training loss, exact AUC on the evaluation rows (None with a note if they hold one
        class) and mean score. Equal for equal input.
    timing : seconds, CPU seconds and rows per second of the epochs trained by this call, and the
        epoch it resumed from. Never equal for two runs.
    """

    record: dict[str, Any]
    timing: dict[str, Any] = field(compare=False)


def train(
    data_dir: Path,
    *,
    config: WideDeepConfig,
    seed: int,
    checkpoint_dir: Path,
    predictions: Sequence[Path],
    history: Path,
    fingerprint: str,
) -> History:
    """Train, and write the evaluation rows' scores after every epoch.

    A run that was killed continues after its last finished epoch, with the same result to the
    byte. The checkpoint that makes this possible holds the scores of the finished epochs too,
    since a workflow engine deletes the output files of a job that did not finish.

    Parameters
    ----------
    data_dir : folder with ``{train,evaluation}_{categorical,numeric,label}.npy`` (int32 ids into
        one table of all fields, float32, uint8) and ``meta.json`` with ``vocabulary_size``.
    config : see :class:`WideDeepConfig`.
    seed : root seed of initial values (stage ``wide_deep_init``) and of the order of rows
        (``wide_deep_shuffle``, by epoch).
    checkpoint_dir : folder for ``checkpoint.npz``, removed at the end; not to be declared as an
        output of a rule.
    predictions : one Parquet path per epoch, columns ``score`` (float32) and ``label`` (uint8) in
        the order of the evaluation rows.
    history : JSON path for :attr:`History.record`.
    fingerprint : identifies data and code; a checkpoint is used only if this, config, seed, sizes,
        thread counts and TensorFlow's version are all the same.

    Raises
    ------
    UserError
        Unusable data (see :meth:`Split.open`, :meth:`Split.read`), or a loss that is not finite.
    ValueError
        If there is not one prediction path per epoch.
    """
    if len(predictions) != config.epochs:
        raise ValueError(f"{len(predictions)} prediction paths for {config.epochs} epochs")
    train_rows, evaluation_rows = _open_data(Path(data_dir))
    model = WideDeep(
        config,
        vocabulary_size=train_rows.vocabulary_size,
        fields=train_rows.fields,
        numerics=train_rows.numerics,
        seed=seed,
    )
    checkpoint = Checkpoint(
        Path(checkpoint_dir), _tag(fingerprint, config, seed, train_rows, evaluation_rows)
    )
    labels = evaluation_rows.labels()
    epochs, scores = checkpoint.restore(model, evaluation_rows.rows)
    timing: dict[str, Any] = {"resumed_after_epochs": len(epochs), "epochs": []}
    for finished in range(len(epochs)):
        _write_predictions(predictions[finished], scores[finished], labels)
    for epoch in range(len(epochs), config.epochs):
        record, seconds = _train_epoch(model, train_rows, epoch, seed)
        new, seconds["predict"] = _timed(lambda: predict_split(model, evaluation_rows))
        if not np.isfinite(new).all():
            raise _diverged(config, epoch, "a score is not finite after the last step")
        scores.append(new)
        epochs.append(record | _evaluation(new, labels))
        checkpoint.save(model, epochs, scores)
        _write_predictions(predictions[epoch], new, labels)
        timing["epochs"].append({"epoch": epoch} | seconds)
        _log_epoch(epochs[-1], seconds)
    record = {
        "config": asdict(config) | {"tower": list(config.tower)},
        "seed": seed,
        "vocabulary_size": train_rows.vocabulary_size,
        "parameters": model.parameters,
        "train_rows": train_rows.rows,
        "evaluation_rows": evaluation_rows.rows,
        "epochs": epochs,
    }
    write_json(history, record)
    checkpoint.remove()
    return History(record, timing)


def _open_data(folder: Path) -> tuple[Split, Split]:
    meta = read_json(folder / "meta.json")
    size = meta.get("vocabulary_size") if isinstance(meta, dict) else None
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise UserError(
            f"{folder / 'meta.json'}: vocabulary_size is {size!r}, expected an integer >= 1"
        )
    first, second = (Split.open(folder, name, size) for name in ("train", "evaluation"))
    if (first.fields, first.numerics) != (second.fields, second.numerics):
        raise UserError(
            f"{folder}: train rows have {first.fields} categorical and {first.numerics} numeric "
            f"features, evaluation rows {second.fields} and {second.numerics}, expected the same"
        )
    return first, second


def _train_epoch(
    model: WideDeep, split: Split, epoch: int, seed: int
) -> tuple[dict[str, Any], dict[str, float]]:
    config = model.config
    learning_rate = config.learning_rate * config.decay**epoch
    progress = _Progress(epoch, config.epochs, split.rows)
    rng = generator(seed, "wide_deep_shuffle", epoch=epoch)
    total, steps = 0.0, 0
    for batch in shuffled_batches(split, config.batch_size, rng):
        rows = int(batch[3].sum())
        loss = model.train_step(*batch, learning_rate)
        steps += 1
        if not math.isfinite(loss):
            raise _diverged(config, epoch, f"the loss is {loss} in step {steps}")
        total += rows * loss
        progress.add(rows, loss)
    record = {"epoch": epoch, "learning_rate": learning_rate, "steps": steps}
    return record | {"loss": total / split.rows}, progress.seconds()


def _diverged(config: WideDeepConfig, epoch: int, what: str) -> UserError:
    return UserError(
        f"training diverged in epoch {epoch} (of 0 to {config.epochs - 1}): {what}; expected finite "
        f"numbers, try a learning_rate below {config.learning_rate:g}"
    )


def predict_split(model: WideDeep, split: Split) -> np.ndarray:
    """Scores of all rows of a split in order, (rows,) float32, read in pieces."""
    scores = np.empty(split.rows, np.float32)
    size = min(_PREDICT_ROWS, split.rows)
    for start in range(0, split.rows, size):
        stop = min(start + size, split.rows)
        ids, numeric, _ = split.read([(start, stop)])
        if missing := size - len(ids):  # one shape, so that nothing is compiled again
            ids = np.concatenate([ids, np.repeat(ids[:1], missing, axis=0)])
            numeric = np.concatenate([numeric, np.repeat(numeric[:1], missing, axis=0)])
        scores[start:stop] = model.predict(ids, numeric)[: stop - start]
    return scores


def _evaluation(scores: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    measured: dict[str, Any] = {"auc": None, "mean_score": float(scores.mean(dtype=np.float64))}
    if labels.min() == labels.max():
        measured["note"] = f"no AUC: every evaluation label is {labels[0]}"
        logger.warning("%s", measured["note"])
    else:
        measured["auc"] = exact_auc(scores, labels)
    return measured


def _write_predictions(path: str | Path, scores: np.ndarray, labels: np.ndarray) -> None:
    table = pa.table({"score": pa.array(scores, pa.float32()), "label": pa.array(labels)})
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    return call(), time.perf_counter() - started


class _Progress:
    """Rows per second of an epoch, logged every few seconds."""

    def __init__(self, epoch: int, epochs: int, rows: int) -> None:
        self._label, self._rows, self._done = f"epoch {epoch} (of 0 to {epochs - 1})", rows, 0
        self._started, self._cpu = time.perf_counter(), time.process_time()
        self._logged = self._started

    def add(self, rows: int, loss: float) -> None:
        self._done += rows
        now = time.perf_counter()
        if now - self._logged >= _LOG_SECONDS:
            self._logged = now
            rate = self._done / (now - self._started)
            logger.info(
                "%s: %d of %d rows (%.0f %%), %.0f rows/s, loss %.4f",
                *(self._label, self._done, self._rows, 100 * self._done / self._rows, rate, loss),
            )

    def seconds(self) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self._started, time.process_time() - self._cpu
        return {"train": wall, "train_cpu": cpu, "rows_per_second": self._done / wall}


def _log_epoch(record: dict[str, Any], seconds: dict[str, float]) -> None:
    auc = "none" if record["auc"] is None else f"{record['auc']:.5f}"
    logger.info(
        "epoch %d: loss %.5f, evaluation AUC %s, mean score %.4f; trained %.1f s (%.0f rows/s), "
        "predicted %.1f s",
        *(record["epoch"], record["loss"], auc, record["mean_score"]),
        *(seconds["train"], seconds["rows_per_second"], seconds["predict"]),
    )


# --- checkpoints --------------------------------------------------------------------------------


def _tag(fingerprint: str, config: WideDeepConfig, seed: int, *splits: Split) -> str:
    """Digest of everything the numbers depend on; thread counts and the version change them too."""
    threads = tf.config.threading
    facts = [
        *(fingerprint, asdict(config), int(seed), tf.__version__),
        [threads.get_intra_op_parallelism_threads(), threads.get_inter_op_parallelism_threads()],
        [[s.vocabulary_size, s.rows, s.fields, s.numerics] for s in splits],
    ]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Checkpoint:
    """State after the last finished epoch, in one file that is replaced as a whole.

    Parameters
    ----------
    folder : made when needed, removed by :meth:`remove` if nothing else is in it.
    tag : a file with another tag is ignored, and replaced by the next :meth:`save`.
    """

    def __init__(self, folder: Path, tag: str) -> None:
        self.path = folder / "checkpoint.npz"
        self.tag = tag

    def save(self, model: WideDeep, epochs: list[dict], scores: list[np.ndarray]) -> None:
        """Write model, optimiser, epoch records and the scores of all epochs so far."""
        state = {f"model/{k}": v for k, v in model.state().items()}
        with atomic_path(self.path) as temporary:
            np.savez(
                temporary,
                tag=np.array(self.tag),
                epochs=np.array(json.dumps(epochs)),
                scores=np.stack(scores),
                **state,
            )

    def restore(self, model: WideDeep, rows: int) -> tuple[list[dict], list[np.ndarray]]:
        """Load the model if the file fits; returns records and scores, both empty if it does not.

        A file that cannot be read, of whatever damage, is reported and counts as absent: members
        are checked against their CRC, and nothing is unpickled.
        """
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                if str(archive["tag"]) != self.tag:
                    logger.info("%s: made by another configuration, ignored", self.path)
                    return [], []
                content = {name: archive[name] for name in archive.files}
            epochs, scores = json.loads(str(content["epochs"])), content["scores"]
            if scores.shape != (len(epochs), rows) or scores.dtype != np.float32:
                raise ValueError(f"scores of shape {scores.shape}")
            prefix = "model/"
            model.load_state(
                {k.removeprefix(prefix): v for k, v in content.items() if k.startswith(prefix)}
            )
        except FileNotFoundError:
            return [], []
        except (
            *(OSError, ValueError, KeyError, EOFError, TypeError, AttributeError),
            *(NotImplementedError, zipfile.BadZipFile, zlib.error),
        ) as error:
            logger.warning("%s: unusable checkpoint, training starts anew (%s)", self.path, error)
            return [], []
        logger.info("continuing after epoch %d from %s", len(epochs) - 1, self.path)
        return epochs, list(scores)

    def remove(self) -> None:
        """Delete the file, temporaries that killed runs left, and the folder if it is empty."""
        self.path.unlink(missing_ok=True)
        for orphan in self.path.parent.glob(f".tmp-*-{self.path.name}"):
            orphan.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()


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
