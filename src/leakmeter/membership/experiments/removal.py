"""Removing records and training anew: the riskiest (a defence), the most and least valuable."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leakmeter.membership.experiments.assessment import Target
from leakmeter.membership.experiments.defences import summary
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.experiments.training import make_trainer
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import generator

logger = logging.getLogger("leakmeter")

#: What is removed first on every set, and also on the sets of the data-valuation experiment.
DEFENCE_ORDERS = ("shapr_high", "random")
VALUATION_ORDERS = ("shapr_low", "sprs_high", "sprs_low")


def removal_order(
    order: str, scores: Mapping[str, np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Places (among the members) in the order of their removal; equal scores in random order."""
    n = len(scores["shapr"])
    shuffled = rng.permutation(n)
    if order == "random":
        return shuffled
    metric, _, end = order.partition("_")
    sign = -1.0 if end == "high" else 1.0
    return shuffled[np.argsort(sign * scores[metric][shuffled], kind="stable")]


def keep_classes(order: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """The first ``count`` places of an order, passing over the last record of a class.

    A class without a training record would leave I_ment without a threshold; with few records of
    many classes the passed-over records are few, and the next in the order go instead.
    """
    left = np.bincount(labels)
    removed = []
    for place in order:
        if len(removed) == count:
            break
        if left[labels[place]] > 1:
            left[labels[place]] -= 1
            removed.append(place)
    return np.array(removed, dtype=int)


def measure(
    record: Recorder,
    data: Prepared,
    scores: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    *,
    model: Mapping[str, Any],
    orders: Sequence[str],
    k: int,
    seed: int,
) -> None:
    """Rows per order and fraction removed; the start and the test records stay the same.

    Members that were removed are neither members nor non-members of the new model, so that the
    attack's balanced accuracy is that on the records left.
    """
    trainer = make_trainer(data, model)
    members = np.flatnonzero(data.splits[0])
    x, labels = data.inputs(0), data.labels
    for order in orders:
        rng = generator(seed, "shapr_removal", data=data.name, order=order)
        sequence = removal_order(order, scores, rng)
        for fraction in settings["fractions"]:
            removed = keep_classes(sequence, labels[members], round(fraction * len(members)))
            kept = np.delete(members, removed)
            trainer.train(x[kept], labels[kept], seed=data.model_seed(seed, 0))
            pool = np.sort(np.concatenate([kept, np.flatnonzero(~data.splits[0])]))
            target = Target(trainer.outputs(x[pool]).logits, labels[pool], np.isin(pool, kept))
            axes = {"order": order, "removed": fraction}
            record.add_all("removal", axes, summary(target, k), m=len(kept))
            logger.info("%s: %s, %d records left", data.name, order, len(kept))
