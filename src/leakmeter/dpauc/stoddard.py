"""The ROC mechanism of Stoddard, Chen and Machanavajjhala (arXiv 1411.5428), as a baseline.

True and false positives at all thresholds are two sets of one-sided range queries. They are
answered from a binary tree of noisy counts over the bins of each class (Hay, Rastogi, Miklau and
Suciu, 2010), made consistent by least squares and then monotone by isotonic regression; the curve
runs from (0, 0) to (1, 1).

The paper's full text was not at hand when this was written; details beyond these steps are ours.
Known differences: thresholds are given (its fixed spacing; its private choice by recursive
medians is :func:`leakmeter.dpauc.binning.private_quantiles`), and noise may come from each of K
clients. A changed label, like a replaced record, touches one leaf of each tree and the leaf's
ancestors: ``2 (depth + 1)`` counts, by 1 each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import isotonic_regression


def tree_depth(bins: int) -> int:
    """Depth of the binary tree over ``bins`` leaves, padded to a power of two."""
    return max(0, (bins - 1).bit_length())


def tree_sensitivity(bins: int) -> float:
    """L1 sensitivity of both classes' trees together to one label, or one replaced record."""
    return 2.0 * (tree_depth(bins) + 1)


@cache
def tree_matrices(bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the nodes from those of the bins (V, B), and its least-squares inverse (B, V).

    Leaves that pad the bins to a power of two are empty whatever the data and are left out, as are
    nodes that hold nothing else.
    """
    width = 2 ** tree_depth(bins)
    levels = []
    while width >= 1:
        owner = np.arange(bins) // width
        levels.append((np.arange(owner.max() + 1)[:, None] == owner).astype(float))
        width //= 2
    nodes = np.concatenate(levels)
    return nodes, np.linalg.pinv(nodes)


def stoddard_aucs(
    positives: np.ndarray, negatives: np.ndarray, node_noise: np.ndarray
) -> np.ndarray:
    """AUCs of releases.

    Parameters
    ----------
    positives, negatives : (B,) exact counts, descending bins.
    node_noise : (R, 2, V) noise on the nodes of the two trees, V as in :func:`tree_matrices`.

    Returns
    -------
    (R,) ; NaN where a class's estimated size is not positive.
    """
    nodes, inverse = tree_matrices(len(positives))
    exact = nodes @ np.stack([positives, negatives], axis=-1).astype(float)  # (V, 2)
    bins = (exact.T + node_noise) @ inverse.T  # (R, 2, B)
    return np.array([_area(*pair) for pair in np.cumsum(bins, axis=-1)])


def _area(true_positives: np.ndarray, false_positives: np.ndarray) -> float:
    rates = []
    for prefix in (true_positives, false_positives):
        size = prefix[-1]
        if size <= 0:
            return float("nan")
        monotone = isotonic_regression(np.clip(prefix, 0.0, size)).x
        rates.append(np.concatenate([[0.0], monotone / size]))
    return float(np.trapezoid(*rates))
