"""The credible interval at the tolerances of the authors' released package, for comparison only.

The package integrates the posterior over the privacy region by adaptive quadrature in two
dimensions with an absolute tolerance of 5e-3 and finds the interval's ends with a tolerance of
1e-2, starting from Jeffreys intervals. Some published digits only follow at these tolerances.
:func:`leakmeter.audit.epsilon_interval` computes the ends exactly.
"""

from __future__ import annotations

import math
import warnings

from scipy import integrate, optimize, special

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.region import region_boundaries
from leakmeter.audit.tallies import check_alpha, check_tallies
from leakmeter.runtime import UserError

ROOT_TOLERANCE = 1e-2
EPSILON_CAP = 10.0
# Levels of the Jeffreys intervals tried as brackets, narrowest first
_BRACKET_ALPHAS = (0.2, 0.1, 0.01, 0.001)


def loose_epsilon_interval(
    *, fn: int, tp: int, fp: int, tn: int, delta: float, alpha: float
) -> tuple[float, float]:
    """Two-sided credible interval by coarse 2-D quadrature and root finding.

    Takes seconds and is off by up to about 1e-2. Ends above 10 are not looked for.

    Raises
    ------
    UserError : tallies, delta or alpha out of range, or an end above 10.
    """
    check_tallies(fn=fn, tp=tp, fp=fp, tn=tn, delta=delta)
    alpha = float(check_alpha(alpha))
    tally = {"fn": fn, "tp": tp, "fp": fp, "tn": tn}
    return _quantile(tally, delta, alpha / 2), _quantile(tally, delta, 1 - alpha / 2)


def _quantile(tally: dict[str, int], delta: float, probability: float) -> float:
    def excess(epsilon: float) -> float:
        return _region_mass(tally, epsilon, delta) - probability

    if excess(0.0) > 0.0:
        return 0.0
    for alpha in _BRACKET_ALPHAS:
        low, high = epsilon_interval(**tally, delta=delta, alpha=alpha, method="jeffreys")
        try:
            return optimize.brentq(excess, low, min(high, EPSILON_CAP), xtol=ROOT_TOLERANCE)
        except ValueError:  # no sign change: try a wider bracket
            continue
    if excess(EPSILON_CAP) < 0.0:
        raise UserError(
            f"the coarse quadrature looks for ends up to epsilon = {EPSILON_CAP:g}, got a tally "
            f"whose end is above it"
        )
    return optimize.brentq(excess, 0.0, EPSILON_CAP, xtol=ROOT_TOLERANCE)


def _region_mass(tally: dict[str, int], epsilon: float, delta: float) -> float:
    a, b, c, d = (tally[name] + 0.5 for name in ("fn", "tp", "fp", "tn"))
    scale = special.betaln(a, b) + special.betaln(c, d)

    def density(y: float, x: float) -> float:
        if not (0 < x < 1 and 0 < y < 1):
            return 0.0
        powers = (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)
        powers += (c - 1) * math.log(y) + (d - 1) * math.log1p(-y)
        return math.exp(powers - scale)

    def boundary(index: int):
        return lambda x: float(region_boundaries(x, epsilon=epsilon, delta=delta)[index])

    with warnings.catch_warnings():
        # The density may be infinite on the square's sides; what that does here is the point
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        mass, _ = integrate.dblquad(
            density, 0, 1, boundary(0), boundary(1), epsabs=ROOT_TOLERANCE / 2
        )
    return mass
