"""Experiments by the rule that runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from leakmeter.membership.experiments import (
    across,
    backdoors,
    defences,
    effectiveness_tables,
    facts,
    influence,
    removal,
    subgroups,
)
from leakmeter.membership.experiments.names import ORIGIN, PAPER, UNDEFINED
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.reporting.recording import Recorder


def recorder(data: Prepared, *, scale: str, seed: int) -> Recorder:
    """A recorder for one set."""
    return Recorder(
        PAPER,
        scale,
        seed,
        origin=ORIGIN,
        undefined=UNDEFINED,
        data=data.meta["label"],
        axes={"set": data.name},
        m=data.meta["n_train"],
    )


def main_k(settings: Mapping[str, Any]) -> int:
    """The K of experiments that report one: the largest that is configured."""
    return max(settings["neighbours"])


def score_set(
    data: Prepared,
    predictions: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    *,
    scale: str,
    seed: int,
) -> tuple[Recorder, dict[str, np.ndarray], pd.DataFrame]:
    """Everything that needs predictions only: rows, the first target's scores, ROC curves."""
    record = recorder(data, scale=scale, seed=seed)
    k = main_k(settings)
    scores, curves = effectiveness_tables.measure(record, data, predictions, settings, k)
    defences.measure(record, data, predictions, l2=settings["l2"], k=k)
    subgroups.measure(record, data, predictions, settings, k)
    return record, scores, curves.assign(set=data.name)


def removal_set(
    data: Prepared,
    scores: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    neighbours: Sequence[int],
    scale: str,
    seed: int,
) -> Recorder:
    """Removal of records; on the valuation sets in all orders."""
    record = recorder(data, scale=scale, seed=seed)
    orders = list(removal.DEFENCE_ORDERS)
    if data.name in settings["valuation_sets"]:
        orders += removal.VALUATION_ORDERS
    k = max(neighbours)
    removal.measure(record, data, scores, settings, model=model, orders=orders, k=k, seed=seed)
    return record


def influence_set(
    data: Prepared,
    scores: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    neighbours: Sequence[int],
    scale: str,
    seed: int,
) -> tuple[Recorder, pd.DataFrame]:
    """Influence functions; the second value holds CPU times."""
    record = recorder(data, scale=scale, seed=seed)
    times = influence.measure(
        record, data, scores, settings, model=model, k=max(neighbours), seed=seed
    )
    return record, pd.DataFrame(times)


def backdoors_set(
    data: Prepared,
    settings: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    neighbours: Sequence[int],
    scale: str,
    seed: int,
) -> tuple[Recorder, pd.DataFrame]:
    """Marked records; the second value holds every record's memorisation and score."""
    record = recorder(data, scale=scale, seed=seed)
    records = backdoors.measure(record, data, settings, model=model, k=max(neighbours), seed=seed)
    return record, records.assign(set=data.name)


def across_sets(frame: pd.DataFrame, published: str, *, scale: str, seed: int) -> list[Recorder]:
    """Means over the sets, and exact facts behind the errata.

    Parameters
    ----------
    published : the file of the paper's data sets, whose largest set sizes the printed cost.
    """
    sizes = pd.read_csv(published)[["n_train", "n_test"]].dropna().astype(int)
    largest = sizes.loc[(sizes["n_train"] * sizes["n_test"]).idxmax()]
    exact = Recorder(PAPER, scale, seed)
    facts.measure(exact, train=int(largest["n_train"]), test=int(largest["n_test"]))
    return [across.measure(frame, scale=scale, seed=seed), exact]
