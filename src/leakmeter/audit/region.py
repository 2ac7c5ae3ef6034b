"""The privacy region: which pairs of error rates an (epsilon, delta)-private mechanism allows.

Kairouz, Oh and Viswanath (2015): a mechanism is (epsilon, delta)-differentially private exactly
when every test of D against D' has rates (x, y) = (FNR, FPR) in

    R(epsilon, delta) = { x + e^epsilon y >= 1 - delta,  e^epsilon x + y >= 1 - delta,
                          x + e^epsilon y <= e^epsilon + delta,  e^epsilon x + y <= e^epsilon + delta }

within the unit square. R is convex and symmetric under swapping the rates and under replacing the
test's answers by their opposites, (x, y) -> (1 - x, 1 - y).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leakmeter.audit.tallies import check_tallies, in_range


def point_estimate(*, fn: Any, tp: Any, fp: Any, tn: Any, delta: Any) -> Any:
    """Epsilon at the observed rates, Eq. (1); a float or an array in the tallies' shape.

    Infinite when the attack makes no error of one kind and the other rate is below 1 - delta.
    An attack worse than chance counts like its complement.

    Raises
    ------
    UserError : tallies or delta out of range.
    """
    t = check_tallies(fn=fn, tp=tp, fp=fp, tn=tn, delta=delta)
    p, n = t.fn + t.tp, t.fp + t.tn
    return t.restore(epsilon_from_rates(t.fn / p, t.tp / p, t.fp / n, t.tn / n, t.delta))


def epsilon_at_rates(fnr: Any, fpr: Any, *, delta: Any) -> Any:
    """The smallest epsilon whose privacy region holds (fnr, fpr), Eq. (1).

    Parameters
    ----------
    fnr, fpr : error rates in [0, 1]. delta : in [0, 1). All broadcast.

    Raises
    ------
    UserError : an argument out of range.
    """
    x = in_range("fnr", fnr, 0.0, 1.0, closed_low=True, closed_high=True)
    y = in_range("fpr", fpr, 0.0, 1.0, closed_low=True, closed_high=True)
    d = in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=False)
    value = epsilon_from_rates(x, 1 - x, y, 1 - y, d)
    return float(value) if np.ndim(value) == 0 else value


def epsilon_from_rates(
    x: np.ndarray, x_not: np.ndarray, y: np.ndarray, y_not: np.ndarray, delta: np.ndarray
) -> np.ndarray:
    """Eq. (1) from the rates and their complements, given apart so that none is lost to rounding.

    Of the two ratios of Eq. (1) the larger is (1 - delta - max(x, y)) / min(x, y); the same
    expression in the complements covers points above the line x + y = 1.
    """
    low, low_not = np.minimum(x, y), np.minimum(x_not, y_not)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.log((low_not - delta) / low)
        above = np.log((low - delta) / low_not)
    # NaN is a negative or a 0/0 ratio: delta alone explains the point
    return np.fmax(0.0, np.fmax(below, above))


def region_boundaries(fnr: Any, *, epsilon: Any, delta: Any) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest FPR that R(epsilon, delta) holds at each FNR.

    Parameters
    ----------
    fnr : in [0, 1]. epsilon : >= 0. delta : in [0, 1). All broadcast.

    Returns
    -------
    (lower, upper) : arrays of the common shape.
    """
    x = in_range("fnr", fnr, 0.0, 1.0, closed_low=True, closed_high=True)
    e = in_range("epsilon", epsilon, 0.0, np.inf, closed_low=True, closed_high=False)
    d = in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=False)
    lower = _lower_boundary(x, 1 - x, e, d)
    return lower, 1 - _lower_boundary(1 - x, x, e, d)


def _lower_boundary(x: np.ndarray, x_not: np.ndarray, e: np.ndarray, d: np.ndarray) -> np.ndarray:
    # exp may overflow for a huge epsilon; the steep line is then below 0 except at x = 0 itself
    with np.errstate(over="ignore", invalid="ignore"):
        steep = 1 - d - np.where(x == 0, 0.0, np.exp(e) * x)
    flat = np.exp(-e) * (x_not - d)
    return np.maximum(0.0, np.maximum(steep, flat))


def region_corner(*, epsilon: Any, delta: Any) -> Any:
    """The rate c at which FNR = FPR = c leaves the region: (1 - delta) / (1 + e^epsilon)."""
    e = in_range("epsilon", epsilon, 0.0, np.inf, closed_low=True, closed_high=False)
    d = in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=False)
    value = (1 - d) * np.exp(-e) / (1 + np.exp(-e))
    return float(value) if np.ndim(value) == 0 else value


def region_outline(*, epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """The region's vertices (FNR, FPR), counter-clockwise and closed (first vertex repeated).

    Starts at (0, 1 - delta), goes along the lower boundary to (1, 0) and back along the upper one.
    """
    c, d = region_corner(epsilon=float(epsilon), delta=float(delta)), float(delta)
    fnr = np.array([0.0, c, 1 - d, 1.0, 1.0, 1 - c, d, 0.0, 0.0])
    fpr = np.array([1 - d, c, 0.0, 0.0, d, 1 - c, 1.0, 1.0, 1 - d])
    return fnr, fpr
