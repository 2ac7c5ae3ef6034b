"""The set of compatible labelings, shrunk query by query, on genuine test sets that are small."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.labelings.attacks import AttackResult, prune_by_pairs, prune_by_rankings
from leakmeter.labelings.counting import count_for_auc
from leakmeter.labelings.genuine import genuine_scores
from leakmeter.labelings.guesses import exact_auc, ranking_order
from leakmeter.labelings.oracles import Oracle
from leakmeter.reporting.recording import Recorder

_CURVE = ["queries", "known", "labelings", "expected_accuracy", "expected_auc"]


def measure(record: Recorder, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Rows per size and attack; sets larger than ``max_labelings`` are counted only.

    Every size is a test set of its own: the record's ``m`` follows.

    Returns
    -------
    curves: ``n, attack, queries, known, labelings, expected_accuracy, expected_auc``.
    """
    curves = []
    for n in settings["sizes"]:
        scores, labels = genuine_scores(record.origin, record.seed_for("pruning", n=n), n)
        record.m = n
        auc = exact_auc(labels, ranking_order(scores))
        labelings = count_for_auc(n, auc)
        record.add("pruning", {"n": n}, "auc", auc)
        record.add("pruning", {"n": n}, "log2_labelings", math.log2(labelings))
        if labelings > settings["max_labelings"]:
            continue
        for result in _attack(record, scores, labels, settings):
            axes = {"n": n, "attack": result.attack}
            right = int(np.count_nonzero(result.labels == labels))
            record.add_all("pruning", axes, {"queries": result.queries, "correct": right})
            curve = pd.DataFrame(result.curve)[_CURVE]
            curves.append(curve.assign(n=n, attack=result.attack)[["n", "attack", *_CURVE]])
    columns = ["n", "attack", *_CURVE]
    return pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=columns)


def _attack(
    record: Recorder, scores: np.ndarray, labels: np.ndarray, settings: Mapping[str, Any]
) -> list[AttackResult]:
    limit = settings["max_labelings"]
    rng = np.random.default_rng(record.seed_for("rankings", n=len(labels)))
    return [
        prune_by_pairs(Oracle(labels), scores, max_labelings=limit),
        prune_by_rankings(Oracle(labels), scores, rng, max_labelings=limit),
    ]
