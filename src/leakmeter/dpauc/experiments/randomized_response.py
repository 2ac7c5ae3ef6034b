"""Table 1: randomised response on the labels, debiased."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.randomized import RandomizedResponse, randomized_response_from_counts
from leakmeter.reporting.recording import Recorder

#: Nominal thresholds of Table 1.
TABLE1_THRESHOLDS = 200


def release(
    origin: Origin, *, epoch: int, epsilon: float, repeats: int, flip: str, stage: str
) -> RandomizedResponse:
    """Releases of one cell."""
    return randomized_response_from_counts(
        origin.counts(epoch, TABLE1_THRESHOLDS),
        epsilon=epsilon,
        repeats=repeats,
        seed=origin.seed_for(stage, epoch=epoch, epsilon=epsilon),
        flip=flip,
    )


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows and draws of Table 1: debiased and noisy AUC, share outside [0, 1]."""
    record = origin.recorder()
    for epoch in origin.epochs:
        source_std = origin.source_std(epoch, TABLE1_THRESHOLDS)
        for epsilon in settings["epsilons"]:
            axes = {"epoch": epoch, "epsilon": epsilon}
            result = release(
                origin,
                epoch=epoch,
                epsilon=epsilon,
                repeats=settings["repeats"],
                flip=settings["flip"],
                stage="randomized_response",
            )
            note = _note(result, settings["flip"])
            record.add("table1", axes, "auc", result.auc, source_std=source_std, note=note)
            record.add("table1", axes, "auc_noisy", result.noisy_auc, note=note, draws=False)
            record.add("table1", axes, "share_outside", float(np.mean(result.outside)))
            record.add("table1", axes, "range_flipped_once", _range_flipped_once(origin, axes))
            if origin.name == "authors":
                reference = release(
                    origin,
                    epoch=epoch,
                    epsilon=epsilon,
                    repeats=settings["reference_repeats"],
                    flip="per-repeat",
                    stage="randomized_response_reference",
                ).auc
                record.draw("table1", axes, "auc_reference", reference)
    return record


def _range_flipped_once(origin: Origin, axes: Mapping[str, Any]) -> float:
    """Largest difference between repeats if labels are flipped once for all, as the text says."""
    result = release(origin, **axes, repeats=2, flip="once", stage="randomized_response_once")
    return float(np.ptp(result.auc))


def _note(result: RandomizedResponse, flip: str) -> str:
    parts = [] if flip == "per-repeat" else ["labels flipped once for all repeats"]
    if result.outside.any():
        parts.append(f"{int(result.outside.sum())} repeats outside [0, 1]")
    if result.undefined.any():
        parts.append(f"{int(result.undefined.sum())} repeats undefined")
    return "; ".join(parts)
