"""What repeated evaluation costs: one label, one release per epoch, composed over the epochs.

Between two evaluations the scores change and the label does not, so releases compose adaptively.
Rules, from the loosest to the tightest:

- ``basic``: the epsilons add up (pure DP, no delta is needed);
- ``advanced``: Theorem 3.20 of Dwork and Roth (2014),
  ``sqrt(2 E ln(1 / delta)) eps + E eps (exp(eps) - 1)``, or the sum where that is smaller;
- ``optimal``: the tight bound for any eps-DP mechanism (Kairouz, Oh and Viswanath, 2015), which is
  that of E binary randomised responses, summed over their E + 1 outcomes;
- ``pld``: the privacy-loss distribution of the noise itself. A two-class histogram has two counts
  that a label can move, each with discrete Laplace noise of eps / 2, a histogram of positives has
  one with eps.

Gaussian noise composes exactly: E releases at standard deviation sigma are one at sigma / sqrt(E).
Zero-concentrated DP gives the same up to its conversion to (epsilon, delta).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from scipy.stats import binom

from leakmeter.dpauc.arguments import (
    check_choice,
    check_delta,
    check_integer,
    check_number,
    check_positive,
)
from leakmeter.dpauc.mechanisms import gaussian_delta, gaussian_sigma

RULES = ("basic", "advanced", "optimal", "pld")
#: Release -> number of counts that one label moves, each by 1.
MOVED_COUNTS = {"histogram": 2, "positives": 1}

# Cells of the discretised privacy loss per count's epsilon (the discretisation is pessimistic).
_CELLS = 50


def composed_epsilon(
    epsilon: float,
    evaluations: int,
    *,
    rule: str,
    delta: float | None,
    release: str = "histogram",
) -> float:
    """Total epsilon of E evaluations, each epsilon-DP, at ``delta``.

    Parameters
    ----------
    epsilon : of one evaluation, positive and finite.
    evaluations : E >= 1.
    rule : one of :data:`RULES`.
    delta : in (0, 1); ``"basic"`` does not use it and takes 0 and None as well.
    release : ``"histogram"`` or ``"positives"``; read by ``"pld"`` only.

    Raises
    ------
    UserError : a value out of range, an unknown rule or release.
    """
    _check(epsilon, evaluations, rule, delta, release)
    basic = evaluations * epsilon
    if rule == "basic":
        return basic
    if rule == "advanced":
        spread = math.sqrt(2 * evaluations * math.log(1 / delta)) * epsilon
        return min(basic, spread + basic * math.expm1(epsilon))
    if rule == "optimal":
        return min(basic, _optimal_epsilon(epsilon, evaluations, delta))
    moved = MOVED_COUNTS[release]
    return min(basic, _pld_epsilon(epsilon / moved, moved * evaluations, delta))


def epsilon_per_evaluation(
    total: float,
    evaluations: int,
    *,
    rule: str,
    delta: float | None,
    release: str = "histogram",
) -> float:
    """The largest epsilon of one evaluation whose E-fold composition costs at most ``total``.

    The inverse of :func:`composed_epsilon`, to a relative error of 1e-6, for E >= 2. A single
    evaluation gets ``total``, though with a rule that uses ``delta`` a little more would do.
    """
    _check(total, evaluations, rule, delta, release)
    low = total / evaluations  # never below what basic composition allows
    if rule == "basic" or evaluations == 1:
        return low

    def excess(log_epsilon: float) -> float:
        epsilon = math.exp(log_epsilon)
        return (
            composed_epsilon(epsilon, evaluations, rule=rule, delta=delta, release=release) - total
        )

    # One evaluation costs at least what delta does not buy: total is mostly reached below this.
    high = math.log(total + 1.0)
    while excess(high) < 0:
        high += 1.0
    if excess(math.log(low)) >= 0:
        return low
    return math.exp(brentq(excess, math.log(low), high, xtol=1e-7))


# --- Gaussian noise -----------------------------------------------------------------------------


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Delta at ``epsilon`` of a rho-zCDP mechanism.

    ``min over a > 1 of exp((a - 1)(a rho - eps)) / (a - 1) * (1 - 1 / a)^a``: Proposition 12 of
    Canonne, Kamath and Steinke (2020).
    """
    return math.exp(min(0.0, _log_zcdp_delta(rho, epsilon)))


def _log_zcdp_delta(rho: float, epsilon: float) -> float:
    def log_delta(log_order: float) -> float:
        extra = math.exp(log_order)  # a - 1
        order = 1.0 + extra
        return (
            extra * (order * rho - epsilon)
            - log_order
            + order * (math.log(extra) - math.log1p(extra))
        )

    return float(minimize_scalar(log_delta, bounds=(-20.0, 20.0), method="bounded").fun)


@cache
def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP implies (epsilon, delta)-DP by :func:`zcdp_delta`."""
    check_positive("epsilon", epsilon)
    check_delta(delta)

    def excess(log_rho: float) -> float:
        return _log_zcdp_delta(math.exp(log_rho), epsilon) - math.log(delta)

    # rho = eps^2 / (4 ln(1/delta) + 4 eps) always suffices (Bun and Steinke, 2016).
    low = high = math.log(epsilon**2 / (4 * math.log(1 / delta) + 4 * epsilon))
    while excess(high) < 0:
        high += 1.0
    return math.exp(brentq(excess, low - 1.0, high, xtol=1e-10))


def zcdp_sigma(epsilon: float, delta: float, sensitivity: float, evaluations: int = 1) -> float:
    """Standard deviation of Gaussian noise for E releases under one zCDP budget.

    A release of L2 sensitivity D at standard deviation s is ``D^2 / (2 s^2)``-zCDP, and rho adds up.
    """
    return sensitivity * math.sqrt(evaluations / (2 * zcdp_rho(epsilon, delta)))


def gaussian_sigma_repeated(
    epsilon: float, delta: float, sensitivity: float, evaluations: int = 1
) -> float:
    """As :func:`zcdp_sigma` by the exact curve of the Gaussian mechanism, so never larger."""
    return gaussian_sigma(epsilon, delta, sensitivity * math.sqrt(evaluations))


def gaussian_epsilon(noise_multiplier: float, evaluations: int, delta: float) -> float:
    """Exact epsilon at ``delta`` of E Gaussian releases; noise_multiplier is sigma / sensitivity."""
    ratio = noise_multiplier / math.sqrt(evaluations)
    if gaussian_delta(0.0, ratio) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, ratio) > delta:
        high *= 2
    return brentq(lambda epsilon: gaussian_delta(epsilon, ratio) - delta, 0.0, high, xtol=1e-12)


# --- privacy-loss distributions -----------------------------------------------------------------


@cache
def _pld_epsilon(epsilon: float, compositions: int, delta: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution

    single = privacy_loss_distribution.from_discrete_laplace_mechanism(
        epsilon, sensitivity=1, value_discretization_interval=epsilon / _CELLS
    )
    return float(single.self_compose(compositions).get_epsilon_for_delta(delta))


def _optimal_epsilon(epsilon: float, evaluations: int, delta: float) -> float:
    """Epsilon at ``delta`` of E randomised responses that keep a bit with chance e^eps/(1 + e^eps)."""
    flipped = np.arange(evaluations + 1)
    mass = binom.pmf(flipped, evaluations, expit(-epsilon))
    loss = (evaluations - 2 * flipped) * epsilon

    def excess(total: float) -> float:
        return float(mass @ np.maximum(0.0, -np.expm1(total - loss))) - delta

    if excess(0.0) <= 0:
        return 0.0
    return brentq(excess, 0.0, evaluations * epsilon, xtol=1e-13)


def _check(epsilon: float, evaluations: int, rule: str, delta: float | None, release: str) -> None:
    check_positive("epsilon", epsilon)
    check_integer("evaluations", evaluations)
    check_choice("rule", rule, RULES)
    check_choice("release", release, MOVED_COUNTS)
    if rule != "basic":
        check_delta(delta)
    elif delta is not None:
        check_number("delta", delta, 0, 1)
