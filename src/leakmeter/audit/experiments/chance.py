"""What chance alone does, before any game is played: the yardsticks the games are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leakmeter.audit.attack import SELECTIONS
from leakmeter.audit.experiments.published import published_rows
from leakmeter.audit.experiments.setting_names import POINTS, SETTINGS
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.null_distributions import (
    Posteriors,
    binomial_tallies,
    coin_flip_tallies,
    differences,
)
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import derive_seed

#: A published error this improbable between independent runs cannot be one of their differences.
_IMPROBABLE = 0.01


def measure(record: Recorder, published: Sequence[str | Path], settings: Mapping[str, Any]) -> None:
    """Coin-flip attacks under each selection; differences of independent runs; models needed."""
    selection = settings["games"]["selection"]
    record.add("games", {}, "main_selection", 1, note=selection)
    _coin_flips(record, settings)
    _independent_runs(record, published, settings)
    _models(record, published, settings["games"])


def _coin_flips(record: Recorder, settings: Mapping[str, Any]) -> None:
    """Lower ends that an attack without knowledge gets; ``low_95`` is what must be exceeded."""
    games, levels = settings["games"], {k: settings[k] for k in ("delta", "alpha")}
    for selection in SELECTIONS:
        tallies = coin_flip_tallies(
            trials=games["trials"],
            selection=selection,
            repeats=games["null_repeats"],
            seed=derive_seed(record.seed, "audit_coin_flip", selection=selection),
            **levels,
        )
        low, high = epsilon_interval(**tallies, **levels)
        axes = {"selection": selection}
        record.add("coin_flip", axes, "low", low)
        record.add("coin_flip", axes, "high", high)
        record.add("coin_flip", axes, "low_95", float(np.quantile(low, 0.95)))
        record.add("coin_flip", axes, "high_median", float(np.median(high)))


def _independent_runs(
    record: Recorder, published: Sequence[str | Path], settings: Mapping[str, Any]
) -> None:
    """Differences of two independent m = 1 runs of the published size at known rates, and how often
    they are as small as the published errors."""
    games, levels = settings["games"], {k: settings[k] for k in ("delta", "alpha")}
    facts = {"setting": "heuristic study", "parameter": "N samples"}
    trials = int(published_rows(published, "bayes_hyperparameters.csv", **facts)[0]["value"])
    suprema = []
    for rate in games["null_rates"]:
        tallies = binomial_tallies(
            trials=trials,
            fnr=rate,
            fpr=rate,
            repeats=2 * games["null_repeats"],
            seed=derive_seed(record.seed, "audit_null", rate=rate),
        )
        found = differences(*Posteriors.of(tallies, **levels).halves())
        suprema.append(found["sup"])
        for name, values in found.items():
            record.add("independent_runs", {"rate": rate}, name, values)
        record.add("independent_runs", {"rate": rate}, "sup_median", float(np.median(found["sup"])))
    improbable = 0
    for row in published_rows(published, "bayes_heuristic_cdf_errors.csv"):
        try:
            error = float(row["max_abs_cdf_error_vs_m1"])
        except ValueError:
            continue  # "<=0.07", ">0.12" or not recovered
        if row["m"] == "1":
            continue
        share = max(float((s <= error).mean()) for s in suprema)
        axes = {"dataset": row["dataset"], "training": row["training"], "m": int(row["m"])}
        axes["points"] = row["challenge_points"] or "not stated"
        record.add("independent_runs", axes, "share_as_small", share)
        improbable += share < _IMPROBABLE
    record.add("independent_runs", {}, "improbable_errors", improbable)


def _models(record: Recorder, published: Sequence[str | Path], games: Mapping[str, Any]) -> None:
    """Target models that the heuristic needs, and what it saves.

    The totals are only given for the published numbers of trials and of pairs per model.
    """
    facts = published_rows(published, "bayes_hyperparameters.csv", setting="heuristic study")
    stated = {row["parameter"]: row["value"] for row in facts}
    trials, pairs = int(stated["N samples"]), [int(m) for m in stated["m values"].split(";")]
    for m in games["m"]:
        record.add("models", {"m": m}, "models", games["trials"] // m)
        record.add("models", {"m": m}, "saved_percent", 100 * (1 - 1 / m))
    # how many settings the stated total is: more than are named
    stated_each = sum(trials // m for m in pairs)
    record.add("models", {}, "settings", int(stated["total models"]) / stated_each)
    settings = len(SETTINGS) * len(POINTS)
    per_setting = sum(games["trials"] // m for m in games["m"])
    note = None
    if games["trials"] != trials or sorted(games["m"]) != sorted(pairs):
        note = f"this configuration has not N = {trials} and m = {stated['m values']}"
    for metric, value in (("per_setting", per_setting), ("in_all", settings * per_setting)):
        record.add("models", {}, metric, None if note else value, note=note)
