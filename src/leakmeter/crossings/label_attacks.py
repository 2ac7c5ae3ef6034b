"""Labels read off released AUCs, exact or private, by whoever submits rankings.

Two attacks state a number for every record, large for ones:

- :func:`pair_statistics`: the record above all others, then below all others, as the exact
  :func:`~leakmeter.labelings.attacks.pair_attack`; 2n answers, two of which concern a record.
- :func:`ranking_statistics`: random rankings. Given the class sizes the AUC is linear in the labels
  (``n0 n1 AUC = sum_i y_i rank_i`` up to a constant), so least squares estimates them from all
  answers at once, a reconstruction as in Dinur and Nissim (PODS 2003). At equal noise its variance is
  smaller than that of the pairs by a factor of the order of n.

Decisions are those of a Gaussian likelihood ratio with the base rate as prior. Its means and its
variance come from the attack itself, run by the adversary on labels it made up with the same class
sizes: the mechanism is public. With one answer, :func:`rank_posterior` weighs all labelings by the
likelihood of the answer; the exact posterior of the labelings chain is the limit without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from leakmeter.audit.tallies import in_range
from leakmeter.crossings.auc_releases import Release
from leakmeter.labelings.counting import coefficients
from leakmeter.labelings.posteriors import ones_by_rank
from leakmeter.runtime import UserError, derive_seed, generator

#: Attack -> what it submits.
ATTACKS = {
    "pairs": "each record above all others, then below all others",
    "rankings": "random rankings, labels by least squares",
}


def pair_statistics(release: Release, labels: np.ndarray, seed: int) -> np.ndarray:
    """(n,) answer with a record on top minus answer with it at the bottom; 2n submissions."""
    n = len(labels)
    above, below = pair_orders(n)
    answers = release.answers(labels, np.concatenate([above, below]), seed)
    return answers[:n] - answers[n:]


def pair_orders(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two (n, n) stacks of rankings: record i above, and below, the others in their order."""
    others = np.array([np.delete(np.arange(n), i) for i in range(n)])
    own = np.arange(n)[:, None]
    return np.hstack([others, own]), np.hstack([own, others])


def ranking_statistics(
    release: Release, labels: np.ndarray, seed: int, *, submissions: int
) -> np.ndarray:
    """(n,) least-squares labels from the answers to random rankings.

    Parameters
    ----------
    submissions : at least n. Ranks of a ranking sum to a constant, which leaves the labels' common
        level free: it is fixed by the minimum norm and does not change their order.
    """
    n = len(labels)
    if submissions < n:
        raise UserError(f"submissions is {submissions} for {n} labels; expected at least {n}")
    rng = generator(seed, "rankings")
    orders = rng.permuted(np.tile(np.arange(n), (submissions, 1)), axis=1)
    ranks = np.argsort(orders, axis=1) - (n - 1) / 2
    answers = release.answers(labels, orders, derive_seed(seed, "answers"))
    ones = int(labels.sum())
    target = (answers - 0.5) * (ones * (n - ones))
    return np.linalg.lstsq(ranks, target, rcond=1e-10)[0]


@dataclass(frozen=True)
class Rule:
    """Gaussian likelihood ratio: means of the statistic for ones and zeros, its pooled variance."""

    one: float
    zero: float
    variance: float
    base_rate: float

    @classmethod
    def fit(cls, statistics: np.ndarray, labels: np.ndarray) -> Rule:
        """From statistics of labels that are known; both classes are needed."""
        ones, zeros = statistics[labels == 1], statistics[labels == 0]
        residuals = np.concatenate([ones - ones.mean(), zeros - zeros.mean()])
        variance = float((residuals**2).sum() / max(len(residuals) - 2, 1))
        return cls(float(ones.mean()), float(zeros.mean()), variance, float(labels.mean()))

    def labels(self, statistics: np.ndarray) -> np.ndarray:
        """(n,) the more probable label of each record."""
        # Both sides are multiplied by the variance, which is 0 for exact answers.
        evidence = (statistics - (self.one + self.zero) / 2) * (self.one - self.zero)
        prior = math.log(self.base_rate / (1 - self.base_rate))
        return (evidence + self.variance * prior > 0).astype(np.uint8)


def attack_labels(
    release: Release,
    labels: np.ndarray,
    attack: str,
    *,
    submissions: int,
    seed: int,
    rehearsals: int = 5,
) -> tuple[np.ndarray, int]:
    """Labels that an attack states, and the answers it used.

    Parameters
    ----------
    labels : (n,) the victim's, of both classes; the attack sees them through ``release`` only, and
        their sum.
    submissions : of ``"rankings"``; ``"pairs"`` makes 2n.
    rehearsals : runs on made-up labels from which the decision rule comes.

    Raises
    ------
    UserError : an unknown attack, labels of one class, or too few submissions.
    """
    if attack not in ATTACKS:
        raise UserError(f"attack is {attack!r}; expected one of {', '.join(ATTACKS)}")
    if len(np.unique(labels)) < 2:
        raise UserError(f"labels: {len(labels)} of one class; expected both classes")

    def run(secret: np.ndarray, sample: int) -> np.ndarray:
        if attack == "pairs":
            return pair_statistics(release, secret, sample)
        return ranking_statistics(release, secret, sample, submissions=submissions)

    statistics, known = [], []
    for number in range(rehearsals):
        made_up = generator(seed, "made_up", number=number).permutation(labels)
        statistics.append(run(made_up, derive_seed(seed, "rehearsal", number=number)))
        known.append(made_up)
    rule = Rule.fit(np.concatenate(statistics), np.concatenate(known))
    found = rule.labels(run(labels, derive_seed(seed, "attack")))
    return found, 2 * len(labels) if attack == "pairs" else submissions


# --- one answer ---------------------------------------------------------------------------------


@cache
def _rank_table(n0: int, n1: int) -> tuple[np.ndarray, np.ndarray]:
    """For every number of misranked pairs d: log of the labelings, and P(one) by rank (d, n)."""
    totals = coefficients(n0, n1, n0 * n1)
    # every number of misranked pairs from 0 to n0 n1 has a labeling
    ones = np.array(
        [[count / total for count in ones_by_rank(n0, n1, d, d)] for d, total in enumerate(totals)]
    )
    logs = np.array([math.log(total) for total in totals])
    return logs, ones


def rank_posterior(n0: int, n1: int, answer: float, spread: float) -> np.ndarray:
    """P(label = 1) by ascending rank, given an AUC with Gaussian error; all labelings alike before.

    Parameters
    ----------
    n0, n1 : class sizes, known. answer : the released AUC, any finite number.
    spread : standard deviation of its error; 0 for the exact AUC, in [0, 1]; then the nearest AUC
        that a labeling has is taken.

    Returns
    -------
    (n0 + n1,) float64.

    Raises
    ------
    UserError : an empty class, or an answer or a spread out of range.
    """
    for name, size in (("n0", n0), ("n1", n1)):
        if size < 1:
            raise UserError(f"{name} is {size}; expected at least 1")
    if not (spread >= 0 and math.isfinite(spread)):
        raise UserError(f"spread is {spread}; expected a finite number of at least 0")
    if not math.isfinite(answer):
        raise UserError(f"answer is {answer}; expected a finite number")
    if spread == 0 and not 0 <= round((1.0 - answer) * n0 * n1) <= n0 * n1:
        raise UserError(f"answer is {answer} without noise; expected an AUC in [0, 1]")
    logs, ones = _rank_table(n0, n1)
    auc = 1.0 - np.arange(len(logs)) / (n0 * n1)
    if spread == 0:
        weights = np.where(np.arange(len(logs)) == round((1.0 - answer) * n0 * n1), logs, -np.inf)
    else:
        weights = logs - 0.5 * ((answer - auc) / spread) ** 2
    weights = np.exp(weights - weights.max())
    return weights @ ones / weights.sum()


def bayes_bound(epsilon: float, base_rate: float, delta: float = 0.0) -> float:
    """The largest expected share of right labels under (epsilon, delta)-label-DP, base rate known.

    For an adversary that knows nothing of a label but its base rate. A test with error rates in
    R(epsilon, delta) is right with probability ``1 - b FNR - (1 - b) FPR``, which is largest at a
    corner: always the commoner class, or FNR = FPR = (1 - delta) / (1 + e^epsilon). An adversary
    that knows the class sizes may exceed it, since every label then says something of the others.

    Parameters
    ----------
    epsilon : at least 0, infinite without noise. base_rate : in [0, 1]. delta : in [0, 1].

    Raises
    ------
    UserError : an argument out of range.
    """
    in_range("epsilon", epsilon, 0.0, math.inf, closed_low=True, closed_high=True)
    in_range("base_rate", base_rate, 0.0, 1.0, closed_low=True, closed_high=True)
    in_range("delta", delta, 0.0, 1.0, closed_low=True, closed_high=True)
    corner = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    # the ends of the boundary: one rate 0, the other 1 - delta
    ends = 1.0 - (1.0 - delta) * min(base_rate, 1.0 - base_rate)
    return max(1.0 - corner, ends)
