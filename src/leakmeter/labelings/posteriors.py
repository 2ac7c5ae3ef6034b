"""Probability of each label given the AUC, from counts instead of enumeration.

All labelings that agree with the AUC are taken as equally likely. Write ``P_i`` for the generating
function (by misranked pairs) of the labelings with ``n0`` zeros and ``n1`` ones whose ``i``-th
record, in ascending order of the guesses, is a one; ``G = [n; n1]`` for that of all of them, and
``a`` for the number of ones among the first ``i``. Two conditional frequencies are elementary:

- among the orders of the first ``i`` records with ``a`` ones, weighted by ``x^misranked``, a
  fraction ``(1 - x^a) / (1 - x^i)`` ends in a one, because ``[i; a] = [i-1; a-1] + x^a [i-1; a]``;
- given ``a``, record ``i + 1`` is a one with frequency
  ``x^(n0-i+a) (1 - x^(n1-a)) / (1 - x^(n-i))``, because such a one stands before the
  ``n0 - i + a`` zeros that are left.

Both are affine in ``x^a``; eliminating its mean gives a first-order recurrence,

    (1 - x^(n-i)) P_{i+1} = x^(n0-i) [ (1 - x^n1) G - (1 - x^i) P_i ],   P_1 = x^n0 [n-1; n1-1],

so every label's count costs one truncated product and one division. Where ``i > n0`` the factor
``x^(n0-i)`` would need coefficients beyond the truncation; reversing the order and exchanging the
classes keeps misranked pairs and maps those records to ``i <= n1`` of the exchanged problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakmeter.labelings.aucs import AucInterval, auc_cells
from leakmeter.labelings.counting import coefficients
from leakmeter.labelings.guesses import ranking_order
from leakmeter.labelings.packed import PackedSeries
from leakmeter.runtime import UserError


def ones_by_rank(n0: int, n1: int, d_low: int, d_high: int) -> list[int]:
    """Number of labelings with a one at each rank, over all ``d_low <= d <= d_high``.

    Parameters
    ----------
    n0, n1 : class sizes, both at least 1.
    d_low, d_high : inclusive range of misranked pairs, within ``0 .. n0 n1``.

    Returns
    -------
    list of ``n0 + n1`` integers, ascending in the guess.
    """
    if min(n0, n1) < 1 or not 0 <= d_low <= d_high <= n0 * n1:
        raise ValueError(
            f"n0={n0}, n1={n1}, d={d_low}..{d_high}: expected both classes and 0 <= d <= n0*n1"
        )
    if d_low + d_high > n0 * n1:
        # Reversing the ranking turns d into n0 n1 - d: shorter series.
        return ones_by_rank(n0, n1, n0 * n1 - d_high, n0 * n1 - d_low)[::-1]
    ring = PackedSeries.for_values_up_to(math.comb(n0 + n1, n1), d_high + 1)
    gaussian = ring.pack(coefficients(n0, n1, d_high))
    total = sum(ring.unpack(gaussian, d_low, d_high))
    lower = _lower_ranks(ring, gaussian, n0, n1, d_low)
    upper = _lower_ranks(ring, gaussian, n1, n0, d_low)
    return lower + [total - zeros for zeros in reversed(upper)]


def _lower_ranks(ring: PackedSeries, gaussian: int, n0: int, n1: int, d_low: int) -> list[int]:
    """The counts of ones at the ranks ``1 .. n0`` by the module's recurrence."""
    n, d_high = n0 + n1, ring.length - 1
    base = ring.times_one_minus(gaussian, n1)
    current = ring.times_power(ring.over_one_minus(base, n), n0)
    counts = [sum(ring.unpack(current, d_low, d_high))]
    for i in range(1, n0):
        rest = ring.minus(base, ring.times_one_minus(current, i))
        current = ring.over_one_minus(ring.times_power(rest, n0 - i), n - i)
        counts.append(sum(ring.unpack(current, d_low, d_high)))
    return counts


@dataclass(frozen=True)
class LabelPosterior:
    """Exact posterior of the labels, by rank in ascending order of the guesses.

    Attributes
    ----------
    totals : for each possible number of ones ``n1``, how many labelings agree with the AUC.
    ones : for each ``n1``, per rank, how many of those have a one there.
    """

    totals: dict[int, int]
    ones: dict[int, tuple[int, ...]]

    @property
    def n(self) -> int:
        """Number of records."""
        return len(next(iter(self.ones.values())))

    @property
    def total(self) -> int:
        """Number of labelings that agree with the AUC."""
        return sum(self.totals.values())

    def counts(self) -> list[int]:
        """Per rank, how many of all the labelings have a one there."""
        return [sum(column) for column in zip(*self.ones.values(), strict=True)]

    def probabilities(self) -> np.ndarray:
        """``P(y = 1)`` per rank, (n,) float64, each the correctly rounded quotient."""
        total = self.total
        return np.array([count / total for count in self.counts()])

    def expected_accuracy(self) -> Fraction:
        """Expected fraction of labels that the more probable value gets right."""
        total = self.total
        return Fraction(sum(max(c, total - c) for c in self.counts()), total * self.n)

    def expected_log_loss(self) -> float:
        """Expected mean log-loss (nats) of the posterior used as the guesses, i.e. its entropy."""
        from scipy.special import entr

        total = self.total
        one = np.array([count / total for count in self.counts()])
        zero = np.array([(total - count) / total for count in self.counts()])
        return float((entr(one) + entr(zero)).mean())

    def best_ranking(self) -> list[int]:
        """The ranks of the guesses in the ascending order that has the highest expected AUC.

        For a given ``n1`` the AUC is an affine function of the rank sum of the ones, so the best
        order sorts by ``sum over n1 of ones / (n0 n1)``. Equal values keep the order of the
        guesses. The order is that of the guesses unless some values descend.
        """
        values = self._auc_weights()
        return sorted(range(self.n), key=values.__getitem__)

    def _auc_weights(self) -> list[int]:
        """Per rank, ``sum over n1 of ones / (n0 n1)`` times the common denominator."""
        common = math.lcm(*(n1 * (self.n - n1) for n1 in self.ones))
        scaled = [
            [count * (common // (n1 * (self.n - n1))) for count in ones]
            for n1, ones in self.ones.items()
        ]
        return [sum(column) for column in zip(*scaled, strict=True)]

    def expected_auc(self, ranking: list[int]) -> Fraction:
        """Expected AUC if the guesses are re-ranked.

        Parameters
        ----------
        ranking : permutation of ``0 .. n-1``; old ranks in the ascending order of the new guesses.
        """
        if sorted(ranking) != list(range(self.n)):
            raise ValueError(f"ranking: expected a permutation of 0 .. {self.n - 1}")
        value = Fraction(0)
        for n1, ones in self.ones.items():
            rank_sum = sum(place * ones[rank] for place, rank in enumerate(ranking))
            lowest = n1 * (n1 - 1) // 2 * self.totals[n1]
            value += Fraction(rank_sum - lowest, n1 * (self.n - n1))
        return value / self.total


def label_posterior(n: int, auc: Fraction | AucInterval, n1: int | None = None) -> LabelPosterior:
    """Exact posterior of every label given the AUC of distinct guesses.

    Parameters
    ----------
    n : number of records.
    auc : exact value, or an interval for a rounded one.
    n1 : number of ones if known; otherwise every class size that fits contributes its labelings.

    Raises
    ------
    UserError
        If no labeling of ``n`` records has this AUC.
    """
    cells = auc_cells(n, auc, n1)
    if not cells:
        known = "" if n1 is None else f" and {n1} ones"
        raise UserError(f"auc={auc}: no labeling of {n} records{known} has this AUC")
    ones: dict[int, tuple[int, ...]] = {}
    totals: dict[int, int] = {}
    for cell in cells:
        if cell.n0 in ones:
            # The same sizes exchanged: reversed ranking, zeros for ones.
            counts = tuple(totals[cell.n0] - count for count in reversed(ones[cell.n0]))
        else:
            counts = tuple(ones_by_rank(*cell))
        ones[cell.n1] = counts
        # Each of the labelings has n1 ones, so the ranks' counts add up to n1 times their number.
        totals[cell.n1] = sum(counts) // cell.n1
    return LabelPosterior(totals, ones)


def posterior(
    guesses: np.ndarray, auc: Fraction | AucInterval, n1: int | None = None
) -> np.ndarray:
    """``P(label = 1 | AUC)`` of each record, in the order of ``guesses``.

    Parameters
    ----------
    guesses : (n,) distinct finite numbers.
    auc, n1 : as for :func:`label_posterior`.

    Returns
    -------
    (n,) float64. These are improved guesses in the sense of log-loss; for the order with the
    highest expected AUC see :meth:`LabelPosterior.best_ranking`.
    """
    order = ranking_order(guesses)
    result = np.empty(len(order))
    result[order] = label_posterior(len(order), auc, n1).probabilities()
    return result


def posterior_rows(
    n: int, auc: Fraction | AucInterval, n1: int | None = None
) -> list[dict[str, object]]:
    """Tidy rows ``rank`` (1 = lowest guess), ``probability``, ``labelings_with_one``, ``total``."""
    result = label_posterior(n, auc, n1)
    total, counts = result.total, result.counts()
    return [
        {
            "rank": rank,
            "probability": count / total,
            "labelings_with_one": count,
            "total": total,
        }
        for rank, count in enumerate(counts, start=1)
    ]


def improvement_row(
    n: int, auc: Fraction | AucInterval, n1: int | None = None
) -> dict[str, object]:
    """What one AUC is worth to whoever submitted the guesses.

    Returns
    -------
    ``n, labelings, class_sizes`` (number of possible ``n1``), ``expected_accuracy`` and
    ``expected_log_loss`` (nats) of the posterior, ``expected_auc`` of the guesses as they are and
    ``expected_auc_improved`` of the best re-ranking, ``records_moved`` by it.
    """
    result = label_posterior(n, auc, n1)
    best = result.best_ranking()
    return {
        "n": n,
        "labelings": result.total,
        "class_sizes": len(result.totals),
        "expected_accuracy": float(result.expected_accuracy()),
        "expected_log_loss": result.expected_log_loss(),
        "expected_auc": float(result.expected_auc(list(range(n)))),
        "expected_auc_improved": float(result.expected_auc(best)),
        "records_moved": sum(rank != place for place, rank in enumerate(best)),
    }
