"""Posteriors and attacks without data, in one process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leakmeter.labelings.experiments import certainty, improvement
from leakmeter.reporting.recording import Recorder


def measure(settings: Mapping[str, Any], *, scale: str, seed: int) -> tuple[Recorder, pd.DataFrame]:
    """The second value is the posterior to draw: ``n, auc, rank, probability``.

    Parameters
    ----------
    settings : ``posterior`` and ``certainty`` of the configuration.
    """
    record = Recorder("labelings", scale, seed)
    curves = improvement.measure_exact(record, settings["posterior"])
    certainty.measure(record, settings["certainty"])
    return record, curves
