"""Training of Wide & Deep from disk: epochs, predictions, checkpoints to go on from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.training_rows import Split, shuffled_batches
from leakmeter.dpauc.wide_deep import WideDeep, WideDeepConfig
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

_PREDICT_ROWS = 2**13
_LOG_SECONDS = 5.0


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
