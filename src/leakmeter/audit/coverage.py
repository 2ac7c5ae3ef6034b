"""How often an interval holds the true epsilon, by simulating attacks whose error rates are known.

An interval estimates the epsilon of one attack at one threshold, Eq. (1) at its true rates. That
is what coverage is counted for. The mechanism's own epsilon is the supremum over all attacks; the
study also reports how often an upper end falls below that one, since an upper end does not bound
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special

from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.audit.posterior import epsilon_cdf
from leakmeter.audit.rates import rate_interval, unknown_method
from leakmeter.audit.region import epsilon_at_rates
from leakmeter.audit.tallies import check_alpha, in_range
from leakmeter.runtime import UserError, generator


@dataclass(frozen=True)
class OperatingPoint:
    """An attack with known error rates on a mechanism with known privacy.

    Attributes
    ----------
    mechanism : name for the table.
    parameter : the mechanism's parameter (epsilon, or mu = sensitivity / noise scale).
    threshold : the attack's threshold; NaN where there is none.
    fnr, fpr : true error rates.
    delta : at which epsilon is stated.
    epsilon : Eq. (1) at the true rates, what an interval has to cover.
    mechanism_epsilon : the smallest epsilon of the mechanism itself at ``delta``.
    """

    mechanism: str
    parameter: float
    threshold: float
    fnr: float
    fpr: float
    delta: float
    epsilon: float
    mechanism_epsilon: float


def randomized_response_point(epsilon: float, *, delta: float = 0.0) -> OperatingPoint:
    """Reading a bit kept with probability e^epsilon / (1 + e^epsilon): both rates are the rest.

    The only test there is reaches the mechanism's privacy, so both epsilons agree (they are below
    the parameter when delta > 0).
    """
    value = float(in_range("epsilon", epsilon, 0.0, 500.0, closed_low=True, closed_high=True))
    rate = float(special.expit(-value))
    at_delta = epsilon_at_rates(rate, rate, delta=delta)
    return OperatingPoint(
        "randomised response", value, math.nan, rate, rate, float(delta), at_delta, at_delta
    )


def gaussian_point(mu: float, *, threshold: float, delta: float) -> OperatingPoint:
    """Guessing "member" when N(0, 1) noise plus 0 or ``mu`` exceeds ``threshold``.

    FPR = Phi(-threshold), FNR = Phi(threshold - mu).
    """
    in_range("mu", mu, 0.0, 100.0, closed_low=True, closed_high=True)
    fnr, fpr = float(special.ndtr(threshold - mu)), float(special.ndtr(-threshold))
    return OperatingPoint(
        "Gaussian",
        float(mu),
        float(threshold),
        fnr,
        fpr,
        float(delta),
        epsilon_at_rates(fnr, fpr, delta=delta),
        gaussian_epsilon(mu, delta=delta),
    )


def gaussian_epsilon(mu: float, *, delta: float) -> float:
    """Smallest epsilon of the Gaussian mechanism with sensitivity / noise scale ``mu``.

    Solves delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang
    2018), in whose second term the exponential is taken inside the logarithm of Phi.
    """
    mu = float(in_range("mu", mu, 0.0, 100.0, closed_low=True, closed_high=True))
    delta = float(in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=False))
    if mu == 0.0:
        return 0.0
    if delta == 0.0:
        return math.inf

    def excess(epsilon: float) -> float:
        second = math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))
        return float(special.ndtr(mu / 2 - epsilon / mu)) - second - delta

    if excess(0.0) <= 0.0:
        return 0.0
    # Phi(mu/2 - epsilon/mu) alone is delta at this epsilon, so the excess is negative there
    top = mu * (mu / 2 - float(special.ndtri(delta)))
    return float(optimize.brentq(excess, 0.0, top, xtol=1e-12))


def coverage_study(
    points: Iterable[OperatingPoint],
    *,
    members: int,
    nonmembers: int,
    alpha: float,
    repeats: int,
    seed: int,
    methods: Sequence[str] = METHODS,
) -> list[dict[str, Any]]:
    """Coverage of two-sided intervals over simulated tallies.

    Draws ``repeats`` tallies FN ~ Bin(members, fnr), FP ~ Bin(nonmembers, fpr) per point; all
    methods see the same tallies, and the draws of a point do not depend on the other points.

    A credible interval holds epsilon exactly when alpha/2 <= F(epsilon) <= 1 - alpha/2, so the
    posterior is evaluated once per distinct tally and no interval is solved for.

    Returns
    -------
    One row per point and method: the point's fields, ``members, nonmembers, alpha, method,
    repeats, seed``; ``coverage`` with ``std_error`` (binomial, of the simulation) and its 95 %
    Clopper-Pearson ends ``coverage_low, coverage_high``; ``too_low`` and ``too_high``, the shares
    of intervals wholly below and wholly above the true epsilon; ``below_mechanism``, the share of
    upper ends below the mechanism's epsilon.

    Raises
    ------
    UserError : an argument out of range or an unknown method.
    """
    alpha = float(check_alpha(alpha))
    sizes = {"members": members, "nonmembers": nonmembers, "repeats": repeats}
    for name, value in sizes.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise UserError(f"{name} must be a whole number from 1, got {value!r}")
    for method in methods:
        if method not in METHODS:
            raise unknown_method(method, METHODS)
    rows = []
    for point in points:
        tallies, weights = _draw(point, members, nonmembers, repeats, seed)
        for method in methods:
            misses = _misses(point, tallies, alpha, method)
            shares = [float(weights[miss].sum() / repeats) for miss in misses]
            row = {**vars(point), "members": members, "nonmembers": nonmembers, "alpha": alpha}
            row |= {"method": method, "repeats": repeats, "seed": seed}
            rows.append(row | _coverage_columns(*shares, repeats))
    return rows


def _draw(
    point: OperatingPoint, members: int, nonmembers: int, repeats: int, seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Distinct tallies and how often each was drawn."""
    axes = {"mechanism": point.mechanism, "parameter": point.parameter}
    random = generator(seed, "coverage", threshold=point.threshold, **axes)
    fn = random.binomial(members, point.fnr, repeats)
    fp = random.binomial(nonmembers, point.fpr, repeats)
    pairs, weights = np.unique(np.stack([fn, fp], axis=1), axis=0, return_counts=True)
    fn, fp = pairs.T
    return {"fn": fn, "tp": members - fn, "fp": fp, "tn": nonmembers - fp}, weights


def _misses(
    point: OperatingPoint, tallies: dict[str, np.ndarray], alpha: float, method: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per tally: interval below epsilon, interval above it, upper end below the mechanism's."""
    truth, bound, delta = point.epsilon, point.mechanism_epsilon, point.delta
    if method != "bayesian":
        low, high = epsilon_interval(**tallies, delta=delta, alpha=alpha, method=method)
        return high < truth, low > truth, high < bound
    at_truth = epsilon_cdf(truth, **tallies, delta=delta)
    at_bound = at_truth if bound == truth else epsilon_cdf(bound, **tallies, delta=delta)
    # No interval lies below 0, even one that the atom at 0 shrinks to [0, 0]
    return (
        (at_truth > 1 - alpha / 2) & (truth > 0),
        at_truth < alpha / 2,
        (at_bound > 1 - alpha / 2) & (bound > 0),
    )


def _coverage_columns(
    too_low: float, too_high: float, below_mechanism: float, repeats: int
) -> dict[str, float]:
    coverage = 1 - too_low - too_high
    low, high = rate_interval(
        round(coverage * repeats), repeats, tail=0.025, method="clopper-pearson"
    )
    return {
        "coverage": coverage,
        "std_error": math.sqrt(max(coverage * (1 - coverage), 0.0) / repeats),
        "coverage_low": low,
        "coverage_high": high,
        "too_low": too_low,
        "too_high": too_high,
        "below_mechanism": below_mechanism,
    }
