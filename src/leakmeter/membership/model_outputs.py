"""Logarithms of class probabilities and of their complements, without saturation.

A softmax evaluated in float32 gives exactly 1 for a confident record, and ``1 - p`` then 0; in
float64 the same happens a little later. Everything here works on logarithms of unnormalised
weights, so that ``1 - p`` is the sum of the other classes and never a difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.membership.argument_checks import as_array, require_real
from leakmeter.runtime import UserError

#: How far a row of probabilities may be from summing to 1 (float32 outputs of many classes).
_SUM_TOLERANCE = 1e-3


def log_weights(outputs: ArrayLike, *, from_logits: bool, name: str = "outputs") -> np.ndarray:
    """Unnormalised log-probabilities (n, classes) in float64; ``-inf`` for a probability of 0.

    Raises
    ------
    UserError : not real numbers, NaN or infinity; probabilities outside [0, 1] or rows that do not
        sum to 1 (within 1e-3, the rest is normalised away); logits whose differences overflow.
    ValueError : not a matrix of at least two columns.
    """
    values = as_array(outputs, name)
    if values.ndim != 2 or values.shape[1] < 2:
        raise ValueError(f"{name} has shape {values.shape}; expected (records, at least 2 classes)")
    require_real(values, name)
    with np.errstate(over="ignore"):
        values = values.astype(np.float64)
        _refuse(~np.isfinite(values).all(axis=1), values, name, "finite numbers")
        if from_logits:
            apart = values.max(axis=1) - values.min(axis=1)
            _refuse(np.isinf(apart), values, name, "logits whose differences float64 can hold")
            return values
    _refuse(((values < 0) | (values > 1)).any(axis=1), values, name, "probabilities in [0, 1]")
    off = np.abs(values.sum(axis=1) - 1) > _SUM_TOLERANCE
    _refuse(off, values, name, "probabilities that sum to 1 (pass from_logits=True for logits)")
    with np.errstate(divide="ignore"):
        return np.log(values)


def _refuse(bad: np.ndarray, values: np.ndarray, name: str, expected: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        shown = np.array2string(values[row], threshold=6, edgeitems=3, precision=6)
        raise UserError(
            f"{name}: row {row} ({int(bad.sum())} of {len(values)} rows) is {shown}; expected {expected}"
        )


def log_probabilities(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``log p`` and ``log(1 - p)``, both (n, classes), from :func:`log_weights`.

    At most one class has p > 1/2; its complement is summed from the other classes, all others use
    ``log1p(-p)`` with p <= 1/2. Nothing saturates. Where a result is as small as ``exp(-m)`` its
    relative error is about m eps, as that of the logits themselves would make it; otherwise it is
    a few eps, for any number of classes.
    """
    from scipy.special import logsumexp

    rows, top = np.arange(len(weights)), weights.argmax(axis=1)
    # relative to the top class first: logits far from 0 would lose digits in every later difference
    weights = weights - weights[rows, top][:, None]
    others = weights.copy()
    others[rows, top] = -np.inf
    with np.errstate(divide="ignore"):
        # log of (sum of the others / weight of the top class), in (-inf, log(classes - 1)]
        log_rest = logsumexp(others, axis=1)
    log_total = np.logaddexp(0.0, log_rest)
    log_p = weights - log_total[:, None]
    p = np.exp(log_p)
    confident = log_rest < 0  # p > 1/2; otherwise this difference would cancel
    place = rows[confident], top[confident]
    p[place] = 0.0
    log_q = np.log1p(-p)
    log_q[place] = (log_rest - log_total)[confident]
    return log_p, log_q
