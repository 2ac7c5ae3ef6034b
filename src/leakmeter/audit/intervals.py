"""Intervals for the epsilon of an attack's operating point, from its tally."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakmeter.audit.posterior import epsilon_quantiles
from leakmeter.audit.rates import RATE_METHODS, epsilon_interval_from_rates, unknown_method
from leakmeter.audit.tallies import check_alpha, check_tallies
from leakmeter.runtime import UserError

METHODS = ("bayesian", *RATE_METHODS)


def epsilon_interval(
    *,
    fn: Any,
    tp: Any,
    fp: Any,
    tn: Any,
    delta: Any,
    alpha: Any,
    method: str = "bayesian",
    sides: int = 2,
) -> tuple[Any, Any]:
    """Interval of level 1 - alpha for epsilon at a membership attack's operating point.

    It concerns the epsilon of this attack, Eq. (1) at its true error rates. The lower end therefore
    bounds the mechanism's epsilon from below; the upper end bounds this attack, not the mechanism.

    Parameters
    ----------
    fn, tp : members the attack missed and found. fp, tn : non-members it took for members and did
        not. Whole numbers; an attack worse than chance counts like its complement.
    delta : in [0, 1). alpha : in [1e-12, 1). The tallies, delta and alpha broadcast.
    method : "bayesian": equal-tailed credible interval, Eqs. (3) and (4), of the independent
        posteriors FNR ~ Beta(1/2 + fn, 1/2 + tp), FPR ~ Beta(1/2 + fp, 1/2 + tn);
        "jeffreys" and "clopper-pearson": the two-sided interval of each rate at alpha/2, joined by
        the union bound.
    sides : 2, or 1 for (low, inf); a one-sided interval is the two-sided one at 2 alpha without
        its upper end.

    Returns
    -------
    (low, high) : floats when all arguments are scalars, else arrays of the broadcast shape.
        The ends of the credible interval are within 1e-6 for up to 1e6 trials. ``low`` is 0 when
        F(0) >= alpha/2 and ``high`` is 0 when F(0) >= 1 - alpha/2, F being :func:`epsilon_cdf`.

    Raises
    ------
    UserError : tallies, delta, alpha, method or sides out of range.

    Examples
    --------
    >>> low, high = epsilon_interval(fn=0, tp=1000, fp=0, tn=1000, delta=1e-5, alpha=0.1)
    >>> round(low, 3), round(high, 3)
    (7.207, 14.501)
    """
    if method not in METHODS:
        raise unknown_method(method, METHODS)
    if sides not in (1, 2):
        raise UserError(f"sides must be 1 or 2, got {sides!r}")
    t = check_tallies(fn=fn, tp=tp, fp=fp, tn=tn, delta=delta, extra={"alpha": check_alpha(alpha)})
    tail = t.extra[0] / sides
    if method == "bayesian":
        low = epsilon_quantiles(t, tail, upper=False)
        high = epsilon_quantiles(t, tail, upper=True) if sides == 2 else np.full(tail.shape, np.inf)
    else:
        low, high = epsilon_interval_from_rates(t.fn, t.tp, t.fp, t.tn, t.delta, tail / 2, method)
        high = high if sides == 2 else np.full(tail.shape, np.inf)
    return t.restore(low), t.restore(high)
