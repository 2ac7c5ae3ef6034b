"""The leaks the paper argues with, run on real scores: exact releases and DPAUC releases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from leakmeter.dpauc.experiments.laplace import TABLE4_THRESHOLDS, TABLE5_CLIENTS
from leakmeter.dpauc.experiments.origins import Origin
from leakmeter.dpauc.leak_trials import (
    enumeration_trial,
    known_labels_trial,
    score_location_trial,
    single_label_trial,
)
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.reporting.recording import Recorder

#: Unknown labels of the attacker who knows all others, and sizes of the sets taken label by label.
UNKNOWN = (1, 5, 10)
SIZES = (10, 15)


def measure(origin: Origin, settings: Mapping[str, Any]) -> Recorder:
    """Rows of the attacks on epoch-0 scores, on the exact release and on DPAUC at each budget.

    Budgets are the paper's totals at Table 4's number of thresholds.
    """
    scores, labels = origin.records(0)
    grid = thresholds(TABLE4_THRESHOLDS)
    budgets = {epsilon / (4 * TABLE4_THRESHOLDS): epsilon for epsilon in settings["epsilons"]}
    noisy = list(budgets)
    everything = [math.inf, *noisy]
    trials = settings["repeats"]
    results = {
        "scores_from_thresholds": score_location_trial(
            scores,
            labels,
            clients=TABLE5_CLIENTS,
            assignment="iid",
            thresholds=grid,
            epsilons_per_count=everything,
            seed=origin.seed_for("leak_scores"),
        ),
        "labels_from_known_others": known_labels_trial(
            scores,
            labels,
            thresholds=grid,
            unknown=UNKNOWN,
            epsilons_per_count=everything,
            trials=trials,
            clients=TABLE5_CLIENTS,
            seed=origin.seed_for("leak_known"),
        ),
        "labels_by_enumeration": enumeration_trial(
            scores,
            labels,
            sizes=SIZES,
            epsilons_per_count=everything,
            trials=trials,
            seed=origin.seed_for("leak_enumeration"),
        ),
        "one_label_by_likelihood": single_label_trial(
            scores,
            labels,
            thresholds=grid,
            epsilons_per_count=noisy,
            trials=trials,
            seed=origin.seed_for("leak_likelihood"),
        ),
    }
    record = origin.recorder()
    _add(record, results, budgets)
    return record


#: What a trial's row measures; its other columns name the cell.
METRICS = (
    "located",
    "mean_width",
    "recovered",
    "wrong",
    "accuracy",
    "baseline",
    "consistent",
    "largest_log_odds",
    "spent",
    "bound",
)


def _add(
    record: Recorder,
    results: Mapping[str, Iterable[Mapping[str, Any]]],
    budgets: Mapping[float, float],
) -> None:
    for attack, rows in results.items():
        for row in rows:
            epsilon = row["epsilon_per_count"]
            axes = {"attack": attack}
            axes |= {
                name: value
                for name, value in row.items()
                if name not in (*METRICS, "trials", "epsilon_per_count")
            }
            axes["epsilon"] = "inf" if math.isinf(epsilon) else budgets[epsilon]
            found = {metric: row[metric] for metric in METRICS if metric in row}
            record.add_all("leaks", axes, found, n=row.get("trials", 1))
