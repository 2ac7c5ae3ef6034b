r"""Laws of the privacy loss in the game on one label, for the mechanisms that release an AUC.

The adversary knows everything but one label and sees the release x. By the Neyman-Pearson lemma the
best it can do is to say "one" when the loss ``L = log p_1(x) - log p_0(x)`` exceeds a threshold.
All mechanisms here are symmetric: exchanging the hypotheses turns L into -L. One law is then
enough, that of L when the label is one, and a threshold t has the error rates

    FNR = P(L <= t),    FPR = P_0(L > t) = P(L < -t).

A mechanism is (epsilon, delta)-DP exactly if no set S has ``P(S) > e^epsilon P_0(S) + delta``; for a
given epsilon the worst S is ``{L > epsilon}``, so that

    epsilon(delta) = max_t log((1 - delta - FNR(t)) / FPR(t)),

which is Eq. (1) of the Bayesian estimator at the best threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from leakmeter.audit.region import epsilon_at_rates
from leakmeter.audit.tallies import in_range
from leakmeter.dpauc.randomized import flip_probability
from leakmeter.runtime import UserError

# Cells of one coordinate's loss, from 0 to eps'. After N-fold convolution the rounding of N
# coordinates adds up like a random walk, so that few coordinates need the finer grid.
_LEAST_CELLS, _MOST_VALUES = 100, 8000


@dataclass(frozen=True, eq=False)
class LossLaw:
    """The law of the loss when the label is one; under zero it is that of -L.

    Attributes
    ----------
    values : (n,) ascending and symmetric about 0. probabilities : (n,), summing to 1.
    """

    values: np.ndarray
    probabilities: np.ndarray

    def rates(self, threshold: float) -> tuple[float, float]:
        """FNR and FPR of saying "one" where the loss exceeds ``threshold``."""
        # a threshold that is itself a value must not fall beside it by a rounding error
        slack = 1e-9 * max(1.0, float(self.values[-1]))
        missed = np.searchsorted(self.values, threshold + slack, side="right")
        alarms = np.searchsorted(self.values, -threshold - slack, side="left")
        return (
            float(min(1.0, self.probabilities[:missed].sum())),
            float(min(1.0, self.probabilities[:alarms].sum())),
        )

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon of the mechanism at ``delta`` in [0, 1).

        Raises
        ------
        UserError : delta out of range.
        """
        delta = in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=False)
        at_least = np.cumsum(self.probabilities[::-1])[::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            # P_0(L >= v) sums e^-l P(L = l) over l >= v; in logarithms, since e^-l may underflow.
            under_zero = np.log(self.probabilities) - self.values
            alarms = np.logaddexp.accumulate(under_zero[::-1])[::-1]
            values = np.log(at_least - delta) - alarms
        # The largest loss bounds epsilon at any delta.
        return float(np.clip(np.nanmax(values), 0.0, self.values[-1]))

    def test_epsilon(self, threshold: float, delta: float) -> float:
        """What an infinite audit at ``threshold`` would report: Eq. (1) at the true rates."""
        fnr, fpr = self.rates(threshold)
        return float(epsilon_at_rates(fnr, fpr, delta=delta))


def laplace_law(coordinates: int, epsilon_per_count: float) -> LossLaw:
    """The loss of ``coordinates`` Laplace(1/eps') counts, each of which the label moves by 1.

    One coordinate's loss is ``eps' clip(2u - 1, -1, 1)`` with ``u - 1`` Laplace(1/eps') noise when
    the label is one: an atom of 1/2 at eps', one of e^-eps'/2 at -eps', and the distribution
    function ``exp((l - eps')/2) / 2`` between. Coordinates are independent: their losses add.

    The continuous part is rounded to a grid, by which epsilon is exact to about eps'/1000. The
    transform loses probabilities below 1e-14; for negative losses, whose probabilities are much
    smaller, ``P(L = -l) = e^-l P(L = l)`` is used instead. Use the law for delta above 1e-12.
    """
    if coordinates < 1:
        raise UserError(f"coordinates is {coordinates}; expected at least 1")
    if not (epsilon_per_count > 0 and math.isfinite(epsilon_per_count)):
        raise UserError(f"epsilon_per_count is {epsilon_per_count}; expected a positive number")
    cells = max(_LEAST_CELLS, _MOST_VALUES // coordinates)
    edges = (np.arange(-cells, cells) + 0.5) / cells
    below = 0.5 * np.exp(epsilon_per_count * (edges - 1.0) / 2.0)
    single = np.diff(below, prepend=0.0, append=1.0)
    most = cells * coordinates
    summed = np.fft.irfft(np.fft.rfft(single, 2 * most + 1) ** coordinates, 2 * most + 1)
    positive = np.arange(1, most + 1) * (epsilon_per_count / cells)
    upper = np.maximum(summed[most:], 0.0)
    lower = upper[1:] * np.exp(-positive)
    law = np.concatenate([lower[::-1], upper])
    return LossLaw(np.concatenate([-positive[::-1], [0.0], positive]), law / law.sum())


def response_law(observations: int, epsilon: float) -> LossLaw:
    """The loss of a label that randomised response shows ``observations`` times, flipped anew.

    With j of them equal to one, ``L = epsilon (2 j - observations)``, j binomial.
    """
    if observations < 1:
        raise UserError(f"observations is {observations}; expected at least 1")
    ones = np.arange(observations + 1)
    # by the number of flips, whose probability may be too small to take from 1
    flips = stats.binom(observations, flip_probability(epsilon)).pmf(observations - ones)
    return LossLaw(epsilon * (2.0 * ones - observations), flips)


def histogram_law(epsilon: float) -> LossLaw:
    """The loss of a label histogram with discrete Laplace noise at ``epsilon / 2`` per count.

    A count that the label moves shows ``+-epsilon / 2`` only, the sign being right with probability
    ``1 / (1 + e^(-epsilon/2))``: two observations of randomised response at ``epsilon / 2``.
    """
    return response_law(2, epsilon / 2)
