"""Experiments by the rule that runs them: few processes, since most take less than their start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.labelings.experiments import (
    certainty,
    conjecture,
    cost,
    example,
    growth,
    improvement,
    left_swaps,
    pruning,
    puzzle,
    recovery,
    rounding,
)
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.labelings.experiments.recording import Recorder
from leakmeter.labelings.genuine import genuine_scores


def counting(
    published: Iterable[str | Path], settings: Mapping[str, Any], *, scale: str, seed: int
) -> Recorder:
    """Everything that only counts."""
    facts, record = Facts(published), Recorder(scale, seed)
    puzzle.measure(record, facts)
    left_swaps.measure(record, facts)
    example.measure(record, facts, settings["example"])
    growth.measure(record, settings["growth"])
    conjecture.measure(record, facts, settings["conjecture"])
    cost.measure(record, settings["cost"])
    return record


def inference(
    settings: Mapping[str, Any], *, scale: str, seed: int
) -> tuple[Recorder, pd.DataFrame]:
    """Posteriors and attacks without data; the second value is the posterior to draw."""
    record = Recorder(scale, seed)
    curves = improvement.measure_exact(record, settings["posterior"])
    certainty.measure(record, settings["certainty"])
    return record, curves


def genuine_set(
    name: str,
    published: Iterable[str | Path],
    settings: Mapping[str, Any],
    *,
    scale: str,
    seed: int,
) -> tuple[Recorder, pd.DataFrame]:
    """Everything on one genuine test set; the second value holds the curves of the attacks."""
    record = Recorder(
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
    record.m = len(splits[0][1])
    rounding.measure(record, splits, settings)
    improvement.measure_genuine(record, splits)
    curves = recovery.measure(
        record,
        splits,
        decimals=[None, *settings["oracle_decimals"]],
        per_day=Facts(published).integer("contest submissions per day"),
    )
    pruned = pruning.measure(record, settings["pruning"])
    stacked = pd.concat([curves.assign(n=len(splits[0][1])), pruned], ignore_index=True)
    columns = ["origin", "n", "attack", *(c for c in pruned.columns if c not in ("n", "attack"))]
    return record, stacked.assign(origin=name)[columns]
