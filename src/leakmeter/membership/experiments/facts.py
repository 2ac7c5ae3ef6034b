"""Exact facts behind the errata: what the printed formulas say when they are evaluated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from leakmeter.membership.shapley import knn_shapley
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import generator

_RECORDS = 7


def knn_utility(labels: np.ndarray, order: np.ndarray, label: int, k: int) -> Callable:
    """Utility of a set of training records for one test record, nearest first in ``order``."""

    def utility(chosen: frozenset[int]) -> float:
        nearest = [i for i in order if i in chosen][:k]
        return sum(labels[i] == label for i in nearest) / k

    return utility


def weighted_value(utility: Callable, n: int, weight: Callable[[int], float]) -> np.ndarray:
    """``sum_S weight(|S|) (U(S + i) - U(S))`` over all subsets S without i, for every i."""
    values = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for chosen in itertools.combinations(others, size):
                without = frozenset(chosen)
                values[i] += weight(size) * (utility(without | {i}) - utility(without))
    return values


def measure(record: Recorder, *, train: int, test: int) -> None:
    """Rows of item ``facts``; ``train`` and ``test`` are the sizes of the largest printed set."""
    rng = generator(record.seed, "shapr_facts")
    n = _RECORDS
    x, labels = rng.random((n, 1)), rng.integers(2, size=n)
    test_x, test_label = rng.random((1, 1)), 1
    order = np.argsort(np.abs(x - test_x)[:, 0])
    worst, banzhaf_gap = 0.0, 0.0
    for k in (1, 3):
        utility = knn_utility(labels, order, test_label, k)
        shapley = weighted_value(utility, n, lambda s: 1 / (n * math.comb(n - 1, s)))
        ours = knn_shapley(x, labels, test_x, [test_label], k=k, threads=1)
        worst = max(worst, float(np.abs(shapley - ours).max()))
        banzhaf = weighted_value(utility, n, lambda s: 2.0 ** (1 - n))
        banzhaf_gap = max(banzhaf_gap, float(np.abs(shapley - banzhaf).max()))
    record.add("facts", {}, "eq1_corrected_minus_eq3", worst)
    record.add("facts", {}, "random_subset_minus_shapley", banzhaf_gap)
    record.add(
        "facts",
        {},
        "distances_over_printed_cost",
        train * test / (train * math.log(train * test)),
        note=f"{train} training and {test} test records",
    )
    for k in (1, 5):
        record.add_all(
            "facts",
            {"k": k},
            {"weight_step_rank_1_to_2": _step(k, 1) - _step(k, 2)},
            note="the factor min(K, i)/(K i) of Eq. 3 at i = 1 minus that at i = 2",
        )


def _step(k: int, i: int) -> float:
    return min(k, i) / (k * i)
