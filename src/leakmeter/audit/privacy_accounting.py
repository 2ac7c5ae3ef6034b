"""Privacy of Poisson-sampled DP-SGD by a maintained accountant, under both adjacencies.

The game of the audit swaps one record (D and D' have the same size), so what it may not exceed is
the epsilon for replacing one record. The authors' noise is calibrated for adding or removing one,
which gives a smaller number for the same training.
"""

from __future__ import annotations

import dp_accounting as dp
from dp_accounting.pld import PLDAccountant
from scipy import optimize

from leakmeter.runtime import UserError

#: Name in the configuration -> relation of the accountant.
ADJACENCIES = {
    "add-remove": dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": dp.NeighboringRelation.REPLACE_ONE,
}
_LARGEST_NOISE = 1e4
_STEP = 1.4
#: Spacing used while searching; its bound is within 2e-3 of the fine one.
_SEARCH_GRID = 1e-3


def dpsgd_epsilon(
    noise_multiplier: float,
    *,
    rate: float,
    steps: int,
    delta: float,
    adjacency: str,
    grid: float = 1e-4,
) -> float:
    """Epsilon at ``delta`` of ``steps`` Poisson-sampled Gaussian steps.

    Parameters
    ----------
    noise_multiplier : standard deviation of the noise over the clipping norm, positive.
    rate : probability with which a step takes each record, in (0, 1].
    steps : number of steps, at least 1.
    delta : in (0, 1).
    adjacency : "replace-one" or "add-remove".
    grid : spacing of the privacy-loss values; the result is an upper bound for any, and a coarser
        one is faster.

    Raises
    ------
    UserError : an argument out of range or an unknown adjacency.
    """
    if adjacency not in ADJACENCIES:
        known = ", ".join(ADJACENCIES)
        raise UserError(f"adjacency must be one of {known}, got {adjacency!r}")
    if not noise_multiplier > 0:
        raise UserError(f"noise_multiplier must be positive, got {noise_multiplier}")
    if not 0 < rate <= 1:
        raise UserError(f"the sampling rate must lie in (0, 1], got {rate}")
    if not (steps >= 1 and int(steps) == steps):
        raise UserError(f"steps must be a whole number from 1, got {steps}")
    if not 0 < delta < 1:
        raise UserError(f"delta must lie in (0, 1), got {delta}")
    step = dp.GaussianDpEvent(float(noise_multiplier))
    if rate < 1:
        step = dp.PoissonSampledDpEvent(float(rate), step)
    accountant = PLDAccountant(ADJACENCIES[adjacency], value_discretization_interval=grid)
    accountant.compose(dp.SelfComposedDpEvent(step, int(steps)))
    return float(accountant.get_epsilon(delta))


def calibrate_noise(
    epsilon: float, *, rate: float, steps: int, delta: float, adjacency: str, xtol: float = 1e-4
) -> float:
    """The smallest noise multiplier, within ``xtol``, with at most ``epsilon`` at ``delta``.

    Epsilon falls with the noise, so a bracket is found in steps of a factor and closed by Brent's method.

    Raises
    ------
    UserError : an epsilon that is not positive or that no noise reaches, and what
        :func:`dpsgd_epsilon` raises.
    """
    if not epsilon > 0:
        raise UserError(f"epsilon must be positive, got {epsilon}")

    def excess(noise: float) -> float:
        kind = {"rate": rate, "steps": steps, "delta": delta, "adjacency": adjacency}
        return dpsgd_epsilon(noise, **kind, grid=_SEARCH_GRID) - epsilon

    low = high = 1.0
    # in small steps: the accountant's work grows fast as the noise falls
    while excess(high) > 0:
        low, high = high, _STEP * high
        if high > _LARGEST_NOISE:
            raise UserError(f"no noise multiplier up to {_LARGEST_NOISE:g} gives epsilon {epsilon}")
    while low == high or excess(low) <= 0:
        low, high = low / _STEP, low
        if low < 1 / _LARGEST_NOISE:
            return high
    root = optimize.brentq(excess, low, high, xtol=xtol / 2)
    return float(root if excess(root) <= 0 else root + xtol / 2)
