"""From (noisy) confusion totals to an ROC curve and its area.

Every step on which implementations differ is an option of :class:`CurveOptions`; the defaults are
those of the code released with the DPAUC paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakmeter.dpauc.counting import Counts
from leakmeter.runtime import UserError

SORTS = ("fpr", "none", "lexicographic", "monotone")


@dataclass(frozen=True)
class CurveOptions:
    """How a curve is built from noisy totals.

    Attributes
    ----------
    clip : raise negative totals to 0 before the rates are formed.
    sort : order of the points before integration, starting from descending thresholds:
        ``"fpr"`` stable sort by false-positive rate; ``"none"`` as they come (the integral is then
        signed); ``"lexicographic"`` by false- and then true-positive rate; ``"monotone"`` each
        rate sorted on its own (the monotone rearrangement).
    end_points : add (0, 0) in front and (1, 1) at the end.
    """

    clip: bool = True
    sort: str = "fpr"
    end_points: bool = False

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise UserError(f"sort is {self.sort!r}; expected one of {', '.join(SORTS)}")


AUTHORS = CurveOptions()


def roc_points(totals: np.ndarray, *, clip: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """False- and true-positive rates from confusion totals.

    Parameters
    ----------
    totals : (..., 4, T), in the order tp, fp, tn, fn (:meth:`Counts.stacked`), possibly noisy.
    clip : raise negative totals to 0 first.

    Returns
    -------
    fpr, tpr : (..., T). A point one of whose denominators is not positive is (0, 0).
    """
    totals = np.asarray(totals, dtype=np.float64)
    if totals.ndim < 2 or totals.shape[-2] != 4:
        raise ValueError(f"totals have shape {totals.shape}; expected (..., 4, T)")
    if clip:
        totals = np.maximum(totals, 0.0)
    tp, fp, tn, fn = np.moveaxis(totals, -2, 0)
    negatives, positives = fp + tn, tp + fn
    usable = (negatives > 0) & (positives > 0)
    fpr = np.divide(fp, negatives, out=np.zeros_like(fp), where=usable)
    tpr = np.divide(tp, positives, out=np.zeros_like(tp), where=usable)
    return fpr, tpr


def order_points(fpr: np.ndarray, tpr: np.ndarray, sort: str) -> tuple[np.ndarray, np.ndarray]:
    """The points (..., T) in the order of integration; see :class:`CurveOptions`."""
    if sort == "none":
        return fpr, tpr
    if sort == "monotone":
        return np.sort(fpr, axis=-1), np.sort(tpr, axis=-1)
    if sort == "fpr":
        order = np.argsort(fpr, axis=-1, kind="stable")
    elif sort == "lexicographic":
        order = np.lexsort((tpr, fpr), axis=-1)
    else:
        raise UserError(f"sort is {sort!r}; expected one of {', '.join(SORTS)}")
    return np.take_along_axis(fpr, order, -1), np.take_along_axis(tpr, order, -1)


def auc_from_totals(totals: np.ndarray, options: CurveOptions = AUTHORS) -> np.ndarray:
    """Trapezoidal area under the curve of confusion totals (..., 4, T); returns (...)."""
    fpr, tpr = order_points(*roc_points(totals, clip=options.clip), options.sort)
    if options.end_points:
        ends = [(0, 0)] * (fpr.ndim - 1) + [(1, 1)]
        fpr = np.pad(fpr, ends, constant_values=(0.0, 1.0))
        tpr = np.pad(tpr, ends, constant_values=(0.0, 1.0))
    return np.trapezoid(tpr, fpr, axis=-1)


def auc_from_counts(counts: Counts, options: CurveOptions = AUTHORS) -> float:
    """The thresholded AUC without noise, clients pooled."""
    return float(auc_from_totals(counts.pooled().stacked(), options))
