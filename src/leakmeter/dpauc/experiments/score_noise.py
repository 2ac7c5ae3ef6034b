"""Table 3: Laplace noise on every score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.score_noise import score_noise_auc
from leakmeter.reporting.recording import Recorder


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows and draws of Table 3."""
    record = origin.recorder()
    for epoch in origin.epochs:
        scores, labels = origin.records(epoch)
        # the exact AUC of pseudo-scores is known no better than the thresholded one
        source_std = origin.source_std(epoch, 200)
        for epsilon in settings["score_epsilons"]:
            axes = {"epoch": epoch, "epsilon": epsilon}
            seed = origin.seed_for("score_noise", epoch=epoch, epsilon=epsilon)
            repeats = settings["score_noise_repeats"]
            values = score_noise_auc(scores, labels, epsilon=epsilon, repeats=repeats, seed=seed)
            record.add("table3", axes, "auc", values, source_std=source_std)
            record.add("table3", axes, "share_outside", _share_outside(scores, epsilon))
            # what tf.keras makes of the same scores: it clamps them to [0, 1], which ties most
            tied = score_noise_auc(
                scores, labels, epsilon=epsilon, repeats=2, seed=seed, metric="keras"
            )
            record.add("table3", axes, "auc_keras_clamped", tied, draws=False)
    return record


def _share_outside(scores: np.ndarray, epsilon: float) -> float:
    """Expected share of noisy scores outside [0, 1]: P(noise < -s) + P(noise > 1 - s)."""
    s = np.asarray(scores, dtype=np.float64)
    return float(np.mean(np.exp(-epsilon * s) + np.exp(-epsilon * (1 - s))) / 2)
