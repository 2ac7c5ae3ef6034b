"""The models of a set: all that need no scores, in one process."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.target_models import TargetConfig, Trainer
from leakmeter.runtime import UserError, atomic_path

logger = logging.getLogger("leakmeter")


@dataclass(frozen=True)
class Predictions:
    """What some of a set's models say about its pool.

    models : (k,) numbers of the splits they were trained on.
    logits : (k, 2n, classes) float32, as TensorFlow gave them.
    targets : (t,) those of them that are attacked. hidden : (t, 2n, width) float32, their
    penultimate layer.
    strengths : (l,) places in ``shapr.l2`` of those trained on the first split with L2.
    regularised : (l, 2n, classes), the logits of those.
    """

    models: np.ndarray
    logits: np.ndarray
    targets: np.ndarray
    hidden: np.ndarray
    strengths: np.ndarray
    regularised: np.ndarray


#: Array of all models of a kind -> the array with their numbers.
_PLACES = {"logits": "models", "hidden": "targets", "regularised": "strengths"}


def make_trainer(data: Prepared, settings: Mapping[str, Any]) -> Trainer:
    """A trainer for a set's inputs."""
    used = data.used
    fan_in = None if used.all() else len(used)
    return Trainer(int(used.sum()), data.n_classes, TargetConfig(**settings), fan_in=fan_in)


def train_models(
    data: Prepared,
    settings: Mapping[str, Any],
    *,
    targets: int,
    l2: Sequence[float],
    seed: int,
    chunk: int = 0,
    chunks: int = 1,
) -> Predictions:
    """Every split's model, and the first split's model at every L2 strength; or a part of them.

    A model's seed depends on its split alone, so that parts may be trained anywhere.

    Parameters
    ----------
    chunk, chunks : which of how many parts; all trainings are dealt out in turn.
    """
    trainings = [(model, None) for model in range(len(data.splits))]
    trainings += [(0, place) for place in range(len(l2))]
    trainer = make_trainer(data, settings)
    models, logits, hidden, strengths, regularised = [], [], [], [], []
    for model, place in trainings[chunk::chunks]:
        x, members = data.inputs(model), data.splits[model]
        # at an L2 strength the start and order of the first model: only the penalty differs
        trained = trainer.train(
            x[members],
            data.labels[members],
            seed=data.model_seed(seed, model),
            l2=0.0 if place is None else l2[place],
        )
        outputs = trainer.outputs(x)
        if place is not None:
            strengths.append(place)
            regularised.append(outputs.logits.astype(np.float32))
            continue
        logger.info("%s model %d: training loss %.4f", data.name, model, trained.loss)
        models.append(model)
        logits.append(outputs.logits.astype(np.float32))
        if model < targets:
            hidden.append(outputs.hidden)
    pool = len(data.labels)
    return Predictions(
        np.array(models, int),
        _stack(logits, (pool, data.n_classes)),
        np.array([model for model in models if model < targets], int),
        _stack(hidden, (pool, trainer.config.hidden[-1])),
        np.array(strengths, int),
        _stack(regularised, (pool, data.n_classes)),
    )


def _stack(arrays: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.stack(arrays) if arrays else np.zeros((0, *shape), np.float32)


def read_predictions(paths: Sequence[str | Path]) -> dict[str, np.ndarray]:
    """``logits, hidden, regularised`` of all models of a set, in their order, from its parts.

    One array of one part is held at a time beside the whole.

    Raises
    ------
    UserError : a damaged file; a model that no part or two parts hold.
    """
    places = [read_arrays(path, tuple(_PLACES.values())) for path in paths]
    whole: dict[str, np.ndarray] = {}
    for name, index in _PLACES.items():
        numbers = np.concatenate([part[index] for part in places])
        if not np.array_equal(np.sort(numbers), np.arange(len(numbers))):
            raise UserError(f"{paths[0]} and the other parts: {index} missing or held twice")
        for path, part in zip(paths, places, strict=True):
            values = read_arrays(path, (name,))[name]
            shape = (len(numbers), *values.shape[1:])
            whole.setdefault(name, np.empty(shape, np.float32))[part[index]] = values
    return whole


def write_arrays(path: str | Path, **arrays: np.ndarray) -> None:
    """Arrays as one .npz, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as handle:
        np.savez(handle, **arrays)


def read_arrays(path: str | Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an .npz, or those named; :class:`UserError` names a damaged file."""
    try:
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in names or content.files}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: cannot be read as arrays ({error})") from error
