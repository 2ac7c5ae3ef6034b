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
    """logits : (models, 2n, classes) float32, as TensorFlow gave them.

    hidden : (targets, 2n, width) float32, the penultimate layer of the first models.
    regularised : (strengths, 2n, classes), models on the first split with L2.
    """

    logits: np.ndarray
    hidden: np.ndarray
    regularised: np.ndarray


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
) -> Predictions:
    """Every split's model, and the first split's model at every L2 strength."""
    trainer = make_trainer(data, settings)
    logits, hidden = [], []
    for model, members in enumerate(data.splits):
        x = data.inputs(model)
        trained = trainer.train(x[members], data.labels[members], seed=data.model_seed(seed, model))
        logger.info("%s model %d: training loss %.4f", data.name, model, trained.loss)
        outputs = trainer.outputs(x)
        logits.append(outputs.logits.astype(np.float32))
        if model < targets:
            hidden.append(outputs.hidden)
    x, members = data.inputs(0), data.splits[0]
    regularised = []
    for strength in l2:
        # the same start and order as the first model: only the penalty differs
        trainer.train(x[members], data.labels[members], seed=data.model_seed(seed, 0), l2=strength)
        regularised.append(trainer.outputs(x).logits.astype(np.float32))
    return Predictions(np.stack(logits), np.stack(hidden), np.stack(regularised))


def write_arrays(path: str | Path, **arrays: np.ndarray) -> None:
    """Arrays as one .npz, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as handle:
        np.savez(handle, **arrays)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz; :class:`UserError` names a damaged file."""
    try:
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: cannot be read as arrays ({error})") from error
