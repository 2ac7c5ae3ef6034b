"""Logarithms of class probabilities and of their complements, without saturation, and checks.

A softmax evaluated in float32 gives exactly 1 for a confident record, and ``1 - p`` then 0; in
float64 the same happens a little later. Everything here works on logarithms of unnormalised
weights, so that ``1 - p`` is the sum of the other classes and never a difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.runtime import UserError

#: How far a row of probabilities may be from summing to 1 (float32 outputs of many classes).
_SUM_TOLERANCE = 1e-3


def log_weights(outputs: ArrayLike, *, from_logits: bool, name: str = "outputs") -> np.ndarray:
    """Unnormalised log-probabilities (n, classes) in float64; ``-inf`` for a probability of 0.

    Raises
    ------
    UserError : NaN or infinity; probabilities outside [0, 1] or rows that do not sum to 1 (within
        1e-3, the rest is normalised away).
    ValueError : not a matrix of at least two columns.
    """
    values = np.asarray(outputs)
    if values.ndim != 2 or values.shape[1] < 2:
        raise ValueError(f"{name} has shape {values.shape}; expected (records, at least 2 classes)")
    values = values.astype(np.float64)
    _refuse(~np.isfinite(values).all(axis=1), values, name, "finite numbers")
    if from_logits:
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
    ``log1p(-p)`` with p <= 1/2. Relative errors are a few eps, however confident the model.
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
    p[rows, top] = 0.0
    log_q = np.log1p(-p)
    log_q[rows, top] = log_rest - log_total
    return log_p, log_q


def check_labels(labels: ArrayLike, n: int, n_classes: int, name: str = "labels") -> np.ndarray:
    """Labels as (n,) int64 in ``0 .. n_classes - 1``; :class:`UserError` names the first that is not."""
    values = np.asarray(labels)
    if values.shape != (n,):
        raise ValueError(f"{name} has shape {values.shape}; expected ({n},), one per record")
    if values.dtype.kind not in "biuf":
        raise UserError(f"{name} has type {values.dtype}; expected integers 0 to {n_classes - 1}")
    bad = ~((values >= 0) & (values < n_classes))
    if values.dtype.kind == "f":
        bad |= values != np.floor(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise UserError(
            f"{name}[{row}] is {values[row]}; expected an integer from 0 to {n_classes - 1}"
        )
    return values.astype(np.int64)


def check_values(values: ArrayLike, name: str, *, infinite: bool = False) -> np.ndarray:
    """A (n,) float64 statistic without NaN (and, unless ``infinite``, without infinities)."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}; expected a non-empty vector")
    if array.dtype.kind not in "biuf":
        raise UserError(f"{name} has type {array.dtype}; expected real numbers")
    array = array.astype(np.float64)
    bad = np.isnan(array) if infinite else ~np.isfinite(array)
    if bad.any():
        row = int(np.argmax(bad))
        expected = "a number" if infinite else "a finite number"
        raise UserError(f"{name}[{row}] is {array[row]}; expected {expected}")
    return array


def check_flags(flags: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Booleans, given as such or as 0 and 1."""
    array = np.asarray(flags)
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {shape}")
    if array.dtype != bool:
        if array.dtype.kind not in "iuf" or not np.isin(array, (0, 1)).all():
            raise UserError(f"{name} holds other values than 0 and 1; expected booleans")
        array = array.astype(bool)
    return array


def require_classes(labels: np.ndarray, n_classes: int, name: str) -> None:
    """:class:`UserError` when a class has no record among ``labels``."""
    absent = np.flatnonzero(np.bincount(labels, minlength=n_classes) == 0)
    if len(absent):
        shown = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
        raise UserError(
            f"{name} has no record of class {shown} ({len(absent)} of {n_classes} classes absent); "
            "expected at least one of each"
        )
