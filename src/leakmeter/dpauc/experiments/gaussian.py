"""The Gaussian variant the paper mentions and does not measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.dpauc.experiments.laplace import TABLE4_THRESHOLDS
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.mechanisms import gaussian_auc
from leakmeter.reporting.recording import Recorder


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows of the Gaussian mechanism at Table 4's thresholds, calibrated to (epsilon, delta)."""
    record = origin.recorder()
    for epoch in origin.epochs:
        counts = origin.counts(epoch, TABLE4_THRESHOLDS)
        source_std = origin.source_std(epoch, TABLE4_THRESHOLDS)
        for clients in settings["clients"]:
            for epsilon in settings["epsilons"]:
                axes = {
                    "epoch": epoch,
                    "thresholds": TABLE4_THRESHOLDS,
                    "K": clients,
                    "epsilon": epsilon,
                    "delta": settings["delta"],
                }
                values = gaussian_auc(
                    counts,
                    clients=clients,
                    epsilon=epsilon,
                    delta=settings["delta"],
                    repeats=settings["repeats"],
                    seed=origin.seed_for("gaussian", **axes),
                )
                record.add("gaussian", axes, "auc", values, source_std=source_std, draws=False)
    return record
