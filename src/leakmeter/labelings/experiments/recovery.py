"""Oracle queries against labels recovered, on genuine test sets of contest size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.labelings.attacks import attack_rows, curve_rows, run_attacks
from leakmeter.reporting.recording import Recorder

_METRICS = ("queries", "days", "known", "correct", "labels_per_query", "majority", "fewest_queries")


def measure(
    record: Recorder,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    decimals: Sequence[int | None],
    per_day: int,
) -> pd.DataFrame:
    """Rows per attack and rounding of the oracle, over splits.

    An attack that the rounding defeats on some split has a row ``splits_possible`` and no others.

    Parameters
    ----------
    decimals : of the oracle's answers; None is exact.
    per_day : submissions a day the contest allows.

    Returns
    -------
    curves of the first split with an exact oracle: ``attack, queries, known``.
    """
    curves = pd.DataFrame()
    record.add("attacks", {}, "submissions_a_day", per_day)
    for places in decimals:
        found: dict[str, list[dict[str, Any]]] = {}
        for split, (scores, labels) in enumerate(splits):
            results = run_attacks(scores, labels, decimals=places)
            for row in attack_rows(results, labels, per_day=per_day):
                found.setdefault(str(row["attack"]), []).append(row)
            if places is None and split == 0:
                curves = pd.DataFrame(curve_rows(results))[["attack", "queries", "known"]]
        for attack, rows in found.items():
            axes = {"attack": attack, "decimals": "exact" if places is None else places}
            record.add("attacks", axes, "splits_possible", len(rows))
            record.add("attacks", axes, "certain", int(all(row["certain"] for row in rows)))
            if len(rows) == len(splits):
                for metric in _METRICS:
                    record.add("attacks", axes, metric, [row[metric] for row in rows])
    return curves
