"""Everything on one genuine test set, in one process: its scores are shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.labelings.experiments import improvement, pruning, recovery, rounding
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.labelings.genuine import genuine_scores
from leakmeter.reporting.recording import Recorder


def measure(
    name: str,
    published: Iterable[str | Path],
    settings: Mapping[str, Any],
    *,
    scale: str,
    seed: int,
) -> tuple[Recorder, pd.DataFrame]:
    """Rounding, posteriors and attacks over splits, and the pruning of small sets.

    Parameters
    ----------
    name : one of :func:`~leakmeter.labelings.genuine.genuine_names`.
    published : files of the paper's stated facts.
    settings : ``genuine`` of the configuration.

    Returns
    -------
    rows and draws; the curves of the attacks: ``origin, n, attack, queries, known`` and, for the
    pruned sets, ``labelings, expected_accuracy, expected_auc``.
    """
    record = Recorder(
        "labelings",
        scale,
        seed,
        origin=name,
        data="related",
        note=f"scikit-learn's bundled set behind {name}; the paper reports no experiment on data",
    )
    splits = [
        genuine_scores(name, record.seed_for("split", split=split))
        for split in range(settings["splits"])
    ]
    record.m = n = len(splits[0][1])
    rounding.measure(record, splits, settings)
    improvement.measure_genuine(record, splits)
    full = recovery.measure(
        record,
        splits,
        decimals=[None, *settings["oracle_decimals"]],
        per_day=Facts(published).integer("contest submissions per day"),
    )
    pruned = pruning.measure(record, settings["pruning"])
    curves = pd.concat([full.assign(n=n), pruned], ignore_index=True).assign(origin=name)
    columns = ["origin", "n", "attack", *(c for c in pruned.columns if c not in ("n", "attack"))]
    return record, curves[columns]
