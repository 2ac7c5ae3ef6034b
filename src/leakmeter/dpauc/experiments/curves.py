"""What the figures draw: densities of scores by class, ROC curves with and without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.dpauc.experiments.laplace import TABLE4_THRESHOLDS
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.roc import order_points, roc_points
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.reporting.measurements import cell

BINS = 100


def densities(origin: Origin) -> pd.DataFrame:
    """Histogram densities of scores by epoch and class (Figure 3), bins up to the largest score."""
    frames = []
    for epoch in origin.epochs:
        scores, labels = origin.records(epoch)
        edges = np.linspace(0.0, float(scores.max()) or 1.0, BINS + 1)
        for label in (0, 1):
            density, _ = np.histogram(scores[labels == label], bins=edges, density=True)
            frames.append(
                pd.DataFrame(
                    {
                        "origin": origin.name,
                        "data": origin.data,
                        "epoch": epoch,
                        "label": label,
                        "left": edges[:-1],
                        "right": edges[1:],
                        "density": density,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def roc_curves(origin: Origin, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Epoch-0 curves: without noise, and one release at the largest and smallest budgets."""
    epoch = 0
    counts = origin.counts(epoch, TABLE4_THRESHOLDS)
    curves = {"exact": roc_points(counts.pooled().stacked())}
    for clients in settings["clients"]:
        for epsilon in sorted({max(settings["epsilons"]), min(settings["epsilons"])}, reverse=True):
            axes = {"K": clients, "epsilon": epsilon}
            seed = origin.seed_for("roc", **axes)
            noise_free = np.zeros((clients, 4, thresholds(TABLE4_THRESHOLDS).size))
            noise_free[0] = counts.pooled().stacked()  # the sum is all that the server's curve sees
            noisy = _release(noise_free, epsilon / (4 * TABLE4_THRESHOLDS), seed)
            curves[cell(**axes)] = order_points(*roc_points(noisy), "fpr")
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "origin": origin.name,
                    "data": origin.data,
                    "epoch": epoch,
                    "curve": name,
                    "fpr": fpr,
                    "tpr": tpr,
                }
            )
            for name, (fpr, tpr) in curves.items()
        ],
        ignore_index=True,
    )


def _release(per_client: np.ndarray, epsilon_per_count: float, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).laplace(scale=1 / epsilon_per_count, size=per_client.shape)
    return (per_client + noise).sum(axis=0)
