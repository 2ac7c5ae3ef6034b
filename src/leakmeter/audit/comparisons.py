"""Tables that set the interval methods side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.audit.region import point_estimate
from leakmeter.runtime import UserError


def width_rows(
    *,
    trials: Iterable[int],
    rates: Iterable[tuple[float, float]],
    delta: float,
    alpha: float,
) -> list[dict[str, Any]]:
    """Width of every method's two-sided interval over a range of tallies.

    Parameters
    ----------
    trials : total numbers of trials, half of them with members; even.
    rates : (fnr, fpr) pairs; a tally is the nearest whole number of errors.
    delta, alpha : as in :func:`leakmeter.audit.epsilon_interval`.

    Returns
    -------
    One row per number of trials, pair and method: ``trials, fnr, fpr, fn, tp, fp, tn, delta, alpha,
    estimate`` (Eq. 1 at the tally), ``method, low, high, width`` and ``bayesian_over_method``, the
    credible interval's width over this one's (0 when this one is unbounded; NaN for 0/0).

    Raises
    ------
    UserError : an odd or non-positive number of trials, a rate outside [0, 1], delta or alpha.
    """
    cells = [(n, x, y) for n in trials for x, y in rates]
    for n, x, y in cells:
        if n < 2 or n % 2:
            raise UserError(f"trials must be even and at least 2, got {n}")
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise UserError(f"rates must lie in [0, 1], got ({x}, {y})")
    half = np.array([n // 2 for n, _, _ in cells])
    fn = np.rint(half * np.array([x for _, x, _ in cells])).astype(int)
    fp = np.rint(half * np.array([y for _, _, y in cells])).astype(int)
    tally = {"fn": fn, "tp": half - fn, "fp": fp, "tn": half - fp}
    estimate = point_estimate(**tally, delta=delta)
    ends = {m: epsilon_interval(**tally, delta=delta, alpha=alpha, method=m) for m in METHODS}
    rows = []
    for i, (n, x, y) in enumerate(cells):
        shared = {"trials": n, "fnr": x, "fpr": y, **{k: int(v[i]) for k, v in tally.items()}}
        shared |= {"delta": delta, "alpha": alpha, "estimate": float(estimate[i])}
        bayesian = float(ends["bayesian"][1][i] - ends["bayesian"][0][i])
        for method, (low, high) in ends.items():
            width = float(high[i] - low[i])
            ratio = bayesian / width if width > 0 else math.nan
            rows.append(
                shared
                | {"method": method, "low": float(low[i]), "high": float(high[i])}
                | {"width": width, "bayesian_over_method": ratio}
            )
    return rows


def perfect_attack_rows(
    *, trials: Iterable[int], delta: float, alpha: float
) -> list[dict[str, Any]]:
    """Lower ends for an attack that made no error in ``trials`` (half of them with members).

    Returns
    -------
    One row per number of trials, method and number of sides: ``trials, trials_per_class, delta,
    alpha, method, sides, low``.
    """
    rows = []
    for n in trials:
        if n < 2 or n % 2:
            raise UserError(f"trials must be even and at least 2, got {n}")
        for method in METHODS:
            for sides in (2, 1):
                low, _ = epsilon_interval(
                    fn=0,
                    tp=n // 2,
                    fp=0,
                    tn=n // 2,
                    delta=delta,
                    alpha=alpha,
                    method=method,
                    sides=sides,
                )
                row = {"trials": n, "trials_per_class": n // 2, "delta": delta, "alpha": alpha}
                rows.append(row | {"method": method, "sides": sides, "low": low})
    return rows
