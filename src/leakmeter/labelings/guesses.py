"""Checks of guesses and labels, and the AUC of many labelings at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from leakmeter.runtime import UserError


def ranking_order(guesses: np.ndarray) -> np.ndarray:
    """Indices that sort the guesses in ascending order.

    Parameters
    ----------
    guesses : (n,) numbers, ``n >= 2``.

    Raises
    ------
    UserError
        If the guesses are not a vector of at least two finite numbers, or two of them are equal:
        the counts hold for strict rankings only.
    """
    values = np.asarray(guesses)
    if values.ndim != 1 or len(values) < 2 or values.dtype.kind not in "iuf":
        raise UserError(
            f"guesses: got shape {values.shape} of {values.dtype}, expected at least two numbers "
            f"in one dimension"
        )
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise UserError(f"guesses[{at}]={values[at]}: expected a finite number")
    order = np.argsort(values, kind="stable")
    tied = np.flatnonzero(values[order][1:] == values[order][:-1])
    if len(tied):
        first, second = sorted(order[tied[0] : tied[0] + 2].tolist())
        raise UserError(
            f"guesses[{first}] and guesses[{second}] are both {values[first]}: expected distinct "
            f"guesses"
        )
    return order


def check_labels(labels: np.ndarray) -> np.ndarray:
    """Labels as uint8, refused unless they are a vector of zeros and ones with both present."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise UserError(f"labels: got shape {values.shape}, expected one dimension")
    bad = np.flatnonzero((values != 0) & (values != 1))
    if len(bad):
        raise UserError(f"labels[{bad[0]}]={values[bad[0]]}: expected 0 or 1")
    ones = int(np.count_nonzero(values))
    if ones in (0, len(values)):
        raise UserError(
            f"labels: {ones} of {len(values)} are 1, expected both classes (the AUC is undefined "
            f"otherwise)"
        )
    return values.astype(np.uint8)


def misranked(labelings: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Misranked pairs and number of ones of many labelings under one ranking.

    Parameters
    ----------
    labelings : (m, n) uint8 of 0/1.
    order : (n,) record indices in ascending rank.

    Returns
    -------
    (m,) misranked pairs and (m,) numbers of ones, int64.
    """
    n = labelings.shape[1]
    ranks = np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    # Rank sums stay far below 2^53, so the BLAS product in float64 is exact.
    sums = (labelings.astype(np.float64) @ ranks.astype(np.float64)).astype(np.int64)
    ones = labelings.sum(axis=1, dtype=np.int64)
    # The ones' ranks are lowest, 0 .. n1-1, when every pair is misranked.
    return (n - ones) * ones - (sums - ones * (ones - 1) // 2), ones


def exact_auc(labels: np.ndarray, order: np.ndarray) -> Fraction:
    """The AUC of one labeling under a ranking, as a fraction in lowest terms."""
    wrong, ones = misranked(np.asarray(labels, np.uint8)[None, :], order)
    pairs = int(ones[0]) * (len(labels) - int(ones[0]))
    return 1 - Fraction(int(wrong[0]), pairs)
