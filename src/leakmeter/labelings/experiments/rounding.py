"""What a leaderboard that rounds its AUC leaves open about a genuine test set's labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from leakmeter.labelings.guesses import exact_auc, ranking_order
from leakmeter.labelings.leaderboards import rounding_rows
from leakmeter.reporting.recording import Recorder


def measure(
    record: Recorder,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    settings: Mapping[str, Any],
) -> None:
    """Bits left to learn by decimals shown, class size known and unknown, over splits."""
    bits: dict[tuple[str, str], list[float]] = {}
    prior: dict[str, list[float]] = {}
    for scores, labels in splits:
        auc = exact_auc(labels, ranking_order(scores))
        decimals = range(1, settings["decimals"] + 1)
        for row in rounding_rows(len(labels), int(labels.sum()), auc, decimals):
            shown = "exact" if row["decimals"] is None else str(row["decimals"])
            known = "known" if row["n1_known"] else "unknown"
            bits.setdefault((shown, known), []).append(row["bits"])
            if row["decimals"] is None:
                prior.setdefault(known, []).append(row["bits_prior"])
    for (shown, known), values in bits.items():
        record.add("rounding", {"decimals": shown, "ones": known}, "bits", values)
    for known, values in prior.items():
        record.add("rounding", {"decimals": "none", "ones": known}, "bits", values)
