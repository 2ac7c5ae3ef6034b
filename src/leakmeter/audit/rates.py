"""Frequentist intervals: one interval per error rate, joined into one for epsilon."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from leakmeter.audit.region import epsilon_from_rates
from leakmeter.audit.tallies import in_range
from leakmeter.runtime import UserError

RATE_METHODS = ("jeffreys", "clopper-pearson")


def rate_interval(errors: Any, trials: Any, *, tail: Any, method: str) -> tuple[Any, Any]:
    """Equal-tailed interval of a binomial proportion with ``tail`` beyond each end.

    Parameters
    ----------
    errors, trials : k and n, whole numbers with 0 <= k <= n and n >= 1.
    tail : probability cut off at each end, in (0, 0.5): alpha/2 for a two-sided level 1 - alpha.
    method : "clopper-pearson": Beta(k, n-k+1) and Beta(k+1, n-k) quantiles, exact coverage;
        "jeffreys": Beta(k+1/2, n-k+1/2) quantiles. Both put the lower end at 0 when k = 0 and the
        upper end at 1 when k = n.

    Returns
    -------
    (low, high) : floats or arrays of the broadcast shape.
    """
    k, n = np.asarray(errors, dtype=float), np.asarray(trials, dtype=float)
    tail = in_range("tail", tail, 0.0, 0.5, closed_low=False, closed_high=False)
    if not np.all((k >= 0) & (k <= n) & (n >= 1)):
        raise UserError("a rate needs 0 <= errors <= trials and at least one trial, got others")
    low = _lower_end(k, n - k, tail, method)
    high = 1 - _lower_end(n - k, k, tail, method)
    return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)


def _lower_end(k: np.ndarray, rest: np.ndarray, tail: np.ndarray, method: str) -> np.ndarray:
    # The upper end is 1 minus the lower end of the complement, which keeps it accurate near 1
    if method == "jeffreys":
        value = special.betaincinv(k + 0.5, rest + 0.5, tail)
    elif method == "clopper-pearson":
        value = special.betaincinv(np.maximum(k, 1.0), rest + 1.0, tail)
    else:
        raise unknown_method(method, RATE_METHODS)
    return np.where(k == 0, 0.0, value)


def epsilon_interval_from_rates(
    fn: np.ndarray,
    tp: np.ndarray,
    fp: np.ndarray,
    tn: np.ndarray,
    delta: np.ndarray,
    tail: np.ndarray,
    method: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided interval for epsilon from the rectangle of two rate intervals.

    With ``tail`` = alpha/4 each rate has level 1 - alpha/2, and by the union bound the rectangle
    holds the true rates with probability 1 - alpha at least. Over the rectangle epsilon is largest
    and smallest at the two corners on the rising diagonal, except that it is 0 inside when they lie
    on different sides of FNR + FPR = 1.

    Returns
    -------
    (low, high) : (rows,) each; ``high`` is infinite when a rate's interval starts at 0.
    """
    x_low, y_low = _lower_end(fn, tp, tail, method), _lower_end(fp, tn, tail, method)
    x_top, y_top = _lower_end(tp, fn, tail, method), _lower_end(tn, fp, tail, method)
    near = epsilon_from_rates(x_low, 1 - x_low, y_low, 1 - y_low, delta)
    far = epsilon_from_rates(1 - x_top, x_top, 1 - y_top, y_top, delta)
    straddles = (x_low + y_low > 1) != (x_top + y_top < 1)
    return np.where(straddles, 0.0, np.minimum(near, far)), np.maximum(near, far)


def unknown_method(method: Any, known: tuple[str, ...]) -> UserError:
    """The error for a method name that is not one of ``known``."""
    return UserError(f"method must be one of {', '.join(known)}, got {method!r}")
