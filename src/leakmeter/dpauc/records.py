"""Checks and orderings of scored records, shared by everything that reads scores and labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.runtime import UserError


def check_records(
    scores: ArrayLike, labels: ArrayLike, *, both_classes: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels as arrays, or a :class:`UserError` that names the first bad record.

    Parameters
    ----------
    scores : (M,) numbers; infinities are allowed, NaN is not.
    labels : (M,) of 0 and 1 (any numeric or boolean type).
    both_classes : refuse a set in which one class is empty.

    Returns
    -------
    scores : (M,) float32 if it was float32, else float64 (no score is rounded).
    positive : (M,) bool.
    """
    scores = np.asarray(scores)
    if scores.dtype != np.float32:
        try:
            scores = scores.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise UserError(
                f"scores have the type {scores.dtype}; expected numbers ({error})"
            ) from None
    labels = np.asarray(labels)
    if scores.ndim != 1 or labels.ndim != 1:
        raise UserError(
            f"scores have shape {scores.shape} and labels {labels.shape}; expected one dimension each"
        )
    if scores.size != labels.size:
        raise UserError(
            f"scores has {scores.size} records and labels has {labels.size}; expected equal lengths"
        )
    if scores.size == 0:
        raise UserError("scores is empty; expected at least one record")
    not_a_number = np.isnan(scores)
    if not_a_number.any():
        raise UserError(
            f"scores[{int(not_a_number.argmax())}] is NaN; expected a number for every record"
        )
    return scores, _positive(labels, both_classes)


def _positive(labels: np.ndarray, both_classes: bool) -> np.ndarray:
    positive = labels == 1
    wrong = ~(positive | (labels == 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise UserError(f"labels[{at}] is {labels[at]}; expected 0 or 1")
    if both_classes and (positive.all() or not positive.any()):
        raise UserError(
            f"all {labels.size} labels are {int(positive[0])}; an AUC needs records of both classes"
        )
    return positive


def stable_order(values: np.ndarray) -> np.ndarray:
    """Indices that sort ``values`` ascending, equal values in row order.

    Same result as ``np.argsort(values, kind="stable")``. NumPy's unstable sorts are vectorised and
    several times faster, so it sorts with one of those and then restores row order within ties.
    """
    order = np.argsort(values)
    ordered = values[order]
    new_value = ordered[1:] != ordered[:-1]
    if new_value.all():
        return order
    run = np.concatenate([[0], np.cumsum(new_value)])
    return np.sort(run * values.size + order) % values.size
