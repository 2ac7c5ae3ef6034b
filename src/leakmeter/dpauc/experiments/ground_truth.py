"""Ground-truth AUC without privacy: exact, and TensorFlow's with 200 and 1,000 thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.reporting.recording import Recorder

KERAS_THRESHOLDS = (200, 1000)


def measure(
    origin: Origin,
    predictions: Sequence[Sequence[str | Path]],
    keras_auc: Callable[[np.ndarray, np.ndarray, int], float],
) -> Recorder:
    """Rows of the ground-truth columns and of the AUC per epoch over model seeds.

    Parameters
    ----------
    predictions : per model, the Parquet files of its epochs; empty for an origin without models.
    keras_auc : TensorFlow's thresholded AUC, ``(scores, labels, thresholds) -> float``.
    """
    record = origin.recorder()
    for epoch in origin.epochs:
        scores, labels = origin.records(epoch)
        # pseudo-scores determine an AUC no better than the figure they come from
        source_std = origin.source_std(epoch, 200)
        axes = {"epoch": epoch}
        exact = exact_auc(scores, labels)
        record.add("ground_truth", axes, "auc_exact", exact, source_std=source_std)
        for n in KERAS_THRESHOLDS:
            value = keras_auc(scores, labels, n)
            keras_std = origin.source_std(epoch, n, "keras")
            found = {f"auc_keras_{n}": value, f"keras_{n}_minus_exact": value - exact}
            record.add_all("ground_truth", axes, found, source_std=keras_std)
        as_printed = _area_axes_as_printed(scores, labels)
        record.add("ground_truth", axes, "auc_axes_as_printed", as_printed)
        for label, name in ((1, "positives"), (0, "negatives")):
            mean = float(scores[labels == label].mean(dtype="float64"))
            record.add("ground_truth", axes, f"mean_score_{name}", mean)
    for epoch in origin.epochs if predictions else ():
        aucs = [_auc(files[epoch]) for files in predictions]
        note = f"over {len(aucs)} model seeds"
        record.add("training", {"epoch": epoch}, "auc", aucs, note=note)
    return record


def _area_axes_as_printed(scores: np.ndarray, labels: np.ndarray) -> float:
    """The area under the exact curve with the axes the text names: FPR integrated over TPR."""
    _, level = np.unique(scores, return_inverse=True)
    rates = []
    for label in (0, 1):
        counts = np.bincount(level, weights=labels == label)[::-1].cumsum()
        rates.append(np.concatenate([[0.0], counts / counts[-1]]))
    fpr, tpr = rates
    return float(np.trapezoid(fpr, tpr))


def _auc(path: str | Path) -> float:
    table = pq.read_table(path, columns=["score", "label"])
    return exact_auc(table["score"].to_numpy(), table["label"].to_numpy())
