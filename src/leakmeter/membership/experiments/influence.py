"""KIFS and TracIN against I_ment and I_lira, beside SHAPr on the same records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from time import process_time
from typing import Any

import numpy as np

from leakmeter.membership.effectiveness import score_effectiveness
from leakmeter.membership.experiments.assessment import Target
from leakmeter.membership.experiments.influence_scores import kifs, tracin
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.experiments.training import make_trainer
from leakmeter.membership.target_models import Trainer
from leakmeter.reporting.recording import Recorder

_METRICS = ("precision", "recall", "f1", "baseline_f1", "baseline_recall", "auc", "spearman")


def measure(
    record: Recorder,
    data: Prepared,
    scores: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    k: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Rows per metric and attack; the CPU seconds of each metric are returned, not recorded."""
    trainer = make_trainer(data, model)
    x, labels, members = data.inputs(0), data.labels, data.splits[0]
    every = max(1, trainer.config.epochs // settings["checkpoints"])
    trained = trainer.train(
        x[members], labels[members], seed=data.model_seed(seed, 0), keep_every=every
    )
    logits = trainer.outputs(x).logits
    training = _leave_one_out_cost(trainer, x, labels, np.flatnonzero(members), settings)
    train, test = (x[members], labels[members]), (x[~members], labels[~members])
    times = [_time(data, "training", training)]
    started = process_time()
    influence = kifs(trained.kept[-1], train, test, damping=settings["damping"])
    times.append(_time(data, "kifs", process_time() - started))
    started = process_time()
    traced = tracin(trained.kept, train, test, learning_rate=trainer.config.learning_rate)
    times.append(_time(data, "tracin", process_time() - started))
    target = Target(logits, labels, members)
    target.shapr(k=k)  # compiled before it is timed
    started = process_time()
    found = {"kifs": influence.scores, "tracin": traced, "shapr": target.shapr(k=k)}
    times.append(_time(data, "shapr", process_time() - started))
    note = f"last layer, damping {settings['damping']:g}, direct solve"
    record.add("influence", {"score": "kifs"}, "residual", influence.residual, note=note)
    record.add("influence", {"score": "kifs"}, "damping", settings["damping"], note=note)
    record.add("influence", {"score": "tracin"}, "checkpoints", len(trained.kept))
    found["constant"] = np.ones(len(traced))
    for attack in ("ment", "lira"):
        for name, values in found.items():
            result = asdict(score_effectiveness(values, scores[f"{attack}_members"], threshold=0.0))
            record.add_all(
                "influence", {"attack": attack, "score": name}, {m: result[m] for m in _METRICS}
            )
    return times


def _leave_one_out_cost(
    trainer: Trainer,
    x: np.ndarray,
    labels: np.ndarray,
    members: np.ndarray,
    settings: Mapping[str, Any],
) -> float:
    """Mean CPU seconds of training without one record, over a few records."""
    started = process_time()
    for left_out in range(settings["leave_one_out"]):
        kept = np.delete(members, left_out)
        trainer.train(x[kept], labels[kept], seed=left_out)
    return (process_time() - started) / settings["leave_one_out"]


def _time(data: Prepared, what: str, seconds: float) -> dict[str, Any]:
    return {
        "set": data.name,
        "what": what,
        "train": int(data.splits[0].sum()),
        "test": int((~data.splits[0]).sum()),
        "cpu_seconds": seconds,
    }
