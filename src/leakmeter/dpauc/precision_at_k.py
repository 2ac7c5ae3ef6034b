"""How good a guess "positive" is for the K highest scores (Table 2 of the DPAUC paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.records import check_records, stable_order
from leakmeter.runtime import UserError

TIES = ("row", "expected")


@dataclass(frozen=True, eq=False)
class TopK:
    """Labels among the K highest scores; every attribute is an array over the requested K.

    Attributes
    ----------
    k : int64.
    positives : number of positives among them; float64 with ``ties="expected"``, else int64.
    precision : positives / k.
    recall : positives / all positives.
    """

    k: np.ndarray
    positives: np.ndarray
    precision: np.ndarray
    recall: np.ndarray


def topk(scores: ArrayLike, labels: ArrayLike, ks: ArrayLike, *, ties: str = "row") -> TopK:
    """Positives, precision and recall among the ``ks`` highest scores.

    Parameters
    ----------
    scores, labels : (M,) records, both classes present.
    ks : integers in [1, M].
    ties : which of the records with the K-th highest score count. ``"row"``: those that come first
        (a stable descending sort); ``"expected"``: the mean over all orders of the tied records.
    """
    scores, positive = check_records(scores, labels)
    ks = np.atleast_1d(np.asarray(ks))
    if not np.issubdtype(ks.dtype, np.integer) or ks.size == 0:
        raise UserError(f"ks is {ks.tolist()}; expected one or more integers")
    if ks.min() < 1 or ks.max() > scores.size:
        raise UserError(
            f"ks ranges from {ks.min()} to {ks.max()}; expected 1 to {scores.size}, the number of records"
        )
    if ties not in TIES:
        raise UserError(f"ties is {ties!r}; expected one of {', '.join(TIES)}")
    order = stable_order(-scores)
    cumulative = np.concatenate([[0], np.cumsum(positive[order])])
    if ties == "row":
        positives = cumulative[ks]
    else:
        # First and last place of the run of records tied with place K; linear in between.
        ordered = -scores[order]
        start = np.searchsorted(ordered, ordered[ks - 1], side="left")
        end = np.searchsorted(ordered, ordered[ks - 1], side="right")
        in_run = cumulative[end] - cumulative[start]
        positives = cumulative[start] + in_run * ((ks - start) / (end - start))
    return TopK(ks.astype(np.int64), positives, positives / ks, positives / int(positive.sum()))
