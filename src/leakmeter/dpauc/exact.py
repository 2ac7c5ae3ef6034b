"""Ground truth: the exact AUC, and the thresholded one that Keras reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.records import check_records
from leakmeter.runtime import UserError


def exact_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: the chance that a positive outscores a negative, ties half.

    The Mann-Whitney statistic in integers, so the only rounding is the final division; equal to
    ``sklearn.metrics.roc_auc_score``.

    Parameters
    ----------
    scores : (M,) float32 or float64, no NaN; compared in their own type.
    labels : (M,) of 0 and 1, both present.

    Raises
    ------
    UserError : see :func:`leakmeter.dpauc.records.check_records`.
    """
    scores, positive = check_records(scores, labels)
    return auc_of_sorted(np.sort(scores[positive]), np.sort(scores[~positive]))


def auc_of_sorted(positives: np.ndarray, negatives: np.ndarray) -> float:
    """:func:`exact_auc` of the two classes' scores, each sorted ascending."""
    pairs = positives.size * negatives.size
    # Searching the longer array for the shorter one costs least: sorted needles hit the cache.
    if positives.size <= negatives.size:
        return _twice_below(positives, negatives) / (2 * pairs)
    return (2 * pairs - _twice_below(negatives, positives)) / (2 * pairs)


def _twice_below(needles: np.ndarray, haystack: np.ndarray) -> int:
    """Twice the number of pairs with haystack < needle, plus the number of equal pairs."""
    below = np.searchsorted(haystack, needles, side="left")
    not_above = np.searchsorted(haystack, needles, side="right")
    return int(below.sum()) + int(not_above.sum())


def keras_auc(scores: ArrayLike, labels: ArrayLike, n_thresholds: int = 200) -> float:
    """The value of ``keras.metrics.AUC(num_thresholds=n_thresholds)``, without TensorFlow.

    Keras rounds scores to float32, clamps them silently to [0, 1] and sorts them into
    ``n_thresholds - 1`` equal buckets (strictly above the lower edge), within which records are
    tied. It sums in float32, here in float64: the two agree to about 1e-6.
    """
    scores, positive = check_records(scores, labels)
    if n_thresholds < 2:
        raise UserError(f"n_thresholds is {n_thresholds}; expected at least 2")
    clamped = np.clip(scores.astype(np.float32, copy=False), 0.0, 1.0)
    bucket = np.ceil(clamped * np.float32(n_thresholds - 1)).astype(np.int64) - 1
    bucket = np.maximum(bucket, 0)
    tp = np.cumsum(np.bincount(bucket[positive], minlength=n_thresholds - 1)[::-1])
    fp = np.cumsum(np.bincount(bucket[~positive], minlength=n_thresholds - 1)[::-1])
    tpr, fpr = np.concatenate([[0.0], tp / tp[-1]]), np.concatenate([[0.0], fp / fp[-1]])
    return float(np.trapezoid(tpr, fpr))
