"""Does a membership score name the records on which an audit finds more?

The score of a record (SHAPr, from models that hold it) is set against what an audit finds on the
same record in *other* models: every audited model is attacked with the others but its complement
as its shadow models, at the threshold 0 of the log-likelihood ratio, which no sample chose. Of
record i this leaves as many trials as there are audited models, half of them with the record, and
the Bayesian estimator turns their tally into an epsilon of the record, with an interval that is wide
for few models. Groups of records of similar score have many trials; those of one model are
dependent, so that their intervals are a heuristic as in Experiment 2 of the estimator's paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.membership.experiments.assessment import Target, confidences
from leakmeter.membership.lira_attack import lira_leave_one_out

_TALLY = ("fn", "tp", "fp", "tn")
Tally = dict[str, np.ndarray]


def attack_decisions(
    logits: np.ndarray, labels: np.ndarray, members: np.ndarray, *, variance: str
) -> np.ndarray:
    """(models, n) "member" decisions of I_lira, each model attacked with others as shadows.

    Parameters
    ----------
    logits : (models, n, classes). labels : (n,). members : (models, n) booleans.
    variance : ``"per-example"`` for many models, ``"fixed"`` for few.
    """
    return lira_leave_one_out(confidences(logits, labels), members, variance=variance) > 0


def record_tallies(decisions: np.ndarray, members: np.ndarray) -> Tally:
    """``fn, tp, fp, tn`` of every record over the models, (n,) each."""
    return {
        "fn": (members & ~decisions).sum(axis=0),
        "tp": (members & decisions).sum(axis=0),
        "fp": (~members & decisions).sum(axis=0),
        "tn": (~members & ~decisions).sum(axis=0),
    }


def advantage(tally: Tally) -> np.ndarray:
    """(n,) true-positive less false-positive rate; negative where the attack does worse than chance."""
    return tally["tp"] / (tally["tp"] + tally["fn"]) - tally["fp"] / (tally["fp"] + tally["tn"])


def epsilons(tally: Tally, *, delta: float, alpha: float) -> Tally:
    """``median, low, high`` of epsilon's posterior by record (or group), (n,) each."""
    # few models give few distinct tallies
    distinct, where = np.unique(np.stack([tally[n] for n in _TALLY]), axis=1, return_inverse=True)
    different = dict(zip(_TALLY, distinct, strict=True))
    low, high = epsilon_interval(**different, delta=delta, alpha=alpha)
    median, _ = epsilon_interval(**different, delta=delta, alpha=0.5, sides=1)
    return {"median": median[where], "low": low[where], "high": high[where]}


def coin_flip_level(tally: Tally, *, delta: float, alpha: float) -> float:
    """The lower end that an attack without knowledge exceeds with probability alpha at most.

    Epsilon's posterior has no atom at 0 to speak of, so every lower end is positive. All tallies of
    fair guesses in as many trials as those of the first record are weighed by their probability.
    """
    inside = int(tally["fn"][0] + tally["tp"][0])
    outside = int(tally["fp"][0] + tally["tn"][0])
    fn, fp = np.meshgrid(np.arange(inside + 1), np.arange(outside + 1), indexing="ij")
    weight = stats.binom(inside, 0.5).pmf(fn) * stats.binom(outside, 0.5).pmf(fp)
    guesses = {"fn": fn, "tp": inside - fn, "fp": fp, "tn": outside - fp}
    low, _ = epsilon_interval(**guesses, delta=delta, alpha=alpha)
    order = np.argsort(low, axis=None)
    at_most = np.cumsum(weight.ravel()[order])
    return float(low.ravel()[order][min(np.searchsorted(at_most, 1 - alpha), low.size - 1)])


def score_groups(scores: np.ndarray, groups: int) -> np.ndarray:
    """(n,) group 0 .. groups - 1 of each score, lowest first, of nearly equal size; ties in order."""
    rank = np.empty(len(scores), np.int64)
    rank[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    return rank * groups // len(scores)


def group_tallies(tally: Tally, group: np.ndarray) -> Tally:
    """The tallies added up by group, (groups,) each."""
    return {name: np.bincount(group, weights=tally[name]).astype(np.int64) for name in _TALLY}


def mean_shapr(
    logits: np.ndarray, labels: np.ndarray, members: np.ndarray, *, k: int
) -> np.ndarray:
    """(n,) SHAPr of each record, mean over the models that hold it."""
    total = np.zeros(members.shape[1])
    for one, inside in zip(logits, members, strict=True):
        total[inside] += Target(one, labels, inside).shapr(k=k)
    return total / members.sum(axis=0)


def mean_confidence(
    logits: np.ndarray, labels: np.ndarray, members: np.ndarray, *, inside: bool
) -> np.ndarray:
    """(n,) scaled confidence of the true class, mean over the models with (without) the record."""
    chosen = members == inside
    values = confidences(logits, labels)
    return np.where(chosen, values, 0.0).sum(axis=0) / chosen.sum(axis=0)


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's coefficient with an interval.

    Attributes
    ----------
    rho, low, high : the coefficient and the interval of level 1 - alpha.
    chance : |rho| that independent scores exceed with probability alpha.
    """

    rho: float
    low: float
    high: float
    chance: float


def rank_correlation(
    x: np.ndarray, y: np.ndarray, *, alpha: float, given: np.ndarray | None = None
) -> RankCorrelation:
    """Spearman's rho of (n,) pairs, n > 4; NaN where one side is constant.

    The interval is Fisher's z with the variance ``(1 + rho^2 / 2) / (n - 3)`` (Bonett and Wright,
    Psychometrika 2000); under independence rho has the variance ``1 / (n - 1)``. With ``given``,
    the partial coefficient: what of rho is left when the ranks of a third value (n,) are held fixed
    linearly; it is distributed as that of one pair fewer.
    """
    n = len(x)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return RankCorrelation(math.nan, math.nan, math.nan, math.nan)
    rho = float(stats.spearmanr(x, y).statistic)
    if given is not None and np.ptp(given) > 0:
        r, s = (float(stats.spearmanr(side, given).statistic) for side in (x, y))
        left = math.sqrt((1 - r**2) * (1 - s**2))
        if left == 0:
            return RankCorrelation(math.nan, math.nan, math.nan, math.nan)
        rho, n = (rho - r * s) / left, n - 1
    quantile = float(stats.norm.ppf(1 - alpha / 2))
    z = math.atanh(np.clip(rho, -1 + 1e-12, 1 - 1e-12))
    half = quantile * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return RankCorrelation(
        rho, math.tanh(z - half), math.tanh(z + half), quantile / math.sqrt(n - 1)
    )


def attainable(first: np.ndarray, second: np.ndarray) -> float:
    """The largest correlation that noise leaves, from two halves of the models.

    The halves' correlation r gives the reliability of the whole, ``2 r / (1 + r)`` (Spearman and
    Brown); a noise-free score cannot correlate more with it than its square root. 0 for r <= 0.
    """
    r = rank_correlation(first, second, alpha=0.05).rho
    if math.isnan(r):
        return math.nan
    return math.sqrt(max(0.0, 2 * r / (1 + r)))
