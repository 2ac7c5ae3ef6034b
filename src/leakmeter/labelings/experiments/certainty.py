"""Attacks that promise every label with certainty, run on every labeling of a few records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from leakmeter.labelings.attacks import (
    AttackResult,
    pair_attack,
    prune_by_pairs,
    swap_attack,
    weighing_attack,
)
from leakmeter.labelings.oracles import Oracle
from leakmeter.reporting.recording import Recorder


def measure(record: Recorder, settings: Mapping[str, Any]) -> None:
    """Labelings that each attack leaves undetermined or gets wrong, and the queries it makes."""
    undetermined: dict[str, int] = {}
    for n in range(2, settings["records"] + 1):
        guesses = np.random.default_rng(record.seed_for("certainty", n=n)).normal(size=n)
        for name, attack in _attacks(guesses).items():
            failures, queries = _run_on_all(n, attack)
            axes = {"attack": name, "n": n}
            record.add("certainty", axes, "labelings", len(queries))
            record.add("certainty", axes, "undetermined", failures)
            record.add("certainty", axes, "mean_queries", float(np.mean(queries)))
            record.add("certainty", axes, "most_queries", max(queries))
            undetermined[name] = undetermined.get(name, 0) + failures
    for name, failures in undetermined.items():
        record.add("certainty", {"attack": name}, "undetermined", failures)


def _attacks(guesses: np.ndarray) -> dict[str, Callable[[Oracle], AttackResult]]:
    return {
        "pairs": pair_attack,
        "swaps": swap_attack,
        "weighing": weighing_attack,
        "pruning by pairs": lambda oracle: prune_by_pairs(oracle, guesses),
    }


def _run_on_all(n: int, attack: Callable[[Oracle], AttackResult]) -> tuple[int, list[int]]:
    failures, queries = 0, []
    for labels in product((0, 1), repeat=n):
        if 0 < sum(labels) < n:
            result = attack(Oracle(np.array(labels)))
            failures += not np.array_equal(result.labels, labels)
            queries.append(result.queries)
    return failures, queries
