"""The leaks that motivate DPAUC, run as attacks: scores and labels read off released curves.

Each attack takes what the attacker sees and the truth, and returns how much of the truth it got.
The same functions take exact releases and noisy ones, so that one call shows the leak and another
what the mechanism leaves of it.

- :func:`score_leak`: the differences of one client's counts at neighbouring thresholds are the
  histogram of its scores.
- :func:`labels_from_roc`: the steps of a curve are labels. With every score a threshold, an exact
  curve gives all labels to whoever knows the order of the scores (Stoddard, Chen and
  Machanavajjhala 2014); with fewer thresholds, all but a few known labels give the rest (Matthews
  and Harel 2013).
- :func:`labels_from_auc`: the AUC is one number, but few labelings of a small set share it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from leakmeter.dpauc.counting import Counts, bin_index, check_thresholds
from leakmeter.dpauc.records import check_records
from leakmeter.runtime import UserError

# 2^20 labelings of 8 bytes; the attack is exponential and is meant for small sets.
MAX_UNKNOWN = 20


# --- scores -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreLeak:
    """Outcome of :func:`score_leak`.

    Attributes
    ----------
    located : share of all records whose score lies in the grid cell the attacker names.
    baseline : the same if the attacker only knew the pooled curve and each client's size. Under
        much noise this is the better guess, so the leak is what ``located`` exceeds it by.
    mean_width : mean width of the named cells.
    """

    located: float
    baseline: float
    mean_width: float


def score_leak(
    released: Counts | np.ndarray,
    scores: ArrayLike,
    clients: ArrayLike,
    thresholds: ArrayLike,
) -> ScoreLeak:
    """Locate each client's scores from its counts at neighbouring thresholds.

    The attacker knows the number of records of each client. From its (noisy) counts it forms the
    number predicted positive at each threshold, in two ways that it averages: TP + FP, and the
    client's size less TN + FN. Made monotone, this says between which thresholds the client's i-th
    highest score lies, for every i. A guess is right if the client's i-th highest score lies there.

    Parameters
    ----------
    released : what each client sent: exact :class:`Counts` (K, T), or (K, 4, T) noisy ones (see
        :func:`leakmeter.dpauc.mechanisms.laplace_release`).
    scores, clients : (M,) true scores in [0, 1] and owners, to judge the attack.
    thresholds : (T,) descending.
    """
    thresholds = check_thresholds(thresholds)
    counts = released.stacked() if isinstance(released, Counts) else np.asarray(released)
    clients = np.asarray(clients)
    if counts.ndim != 3 or counts.shape[1:] != (4, thresholds.size):
        raise UserError(
            f"released has shape {counts.shape}; expected (K, 4, {thresholds.size}), per client"
        )
    sizes = np.bincount(clients, minlength=counts.shape[0])
    if sizes.size != counts.shape[0]:
        raise UserError(f"clients holds {clients.max()}; expected 0 to {counts.shape[0] - 1}")
    tp, fp, tn, fn = np.moveaxis(counts, 1, 0)
    above = (tp + fp + sizes[:, None] - tn - fn) / 2
    truth = bin_index(np.asarray(scores), thresholds)
    order = np.lexsort((truth, clients))
    truth = np.split(truth[order], np.cumsum(sizes)[:-1])
    pooled = above.sum(axis=0) / sizes.sum()
    guesses = [_cells(row, size) for row, size in zip(above, sizes, strict=True)]
    chance = [_cells(pooled * size, size) for size in sizes]
    right = sum(int((g == t).sum()) for g, t in zip(guesses, truth, strict=True))
    right_by_chance = sum(int((g == t).sum()) for g, t in zip(chance, truth, strict=True))
    edges = np.concatenate([[max(1.0, thresholds[0])], thresholds, [min(0.0, thresholds[-1])]])
    widths = -np.diff(edges)
    return ScoreLeak(
        located=right / int(sizes.sum()),
        baseline=right_by_chance / int(sizes.sum()),
        mean_width=float(widths[np.concatenate(guesses)].mean()),
    )


def _cells(above: np.ndarray, size: int) -> np.ndarray:
    """Cell of each of ``size`` scores, highest first, given how many lie above each threshold."""
    monotone = isotonic_regression(np.clip(above, 0, size)).x
    # The i-th highest score lies below every threshold that fewer than i scores reach.
    return np.searchsorted(monotone, np.arange(size) + 0.5, side="left")


# --- labels -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Recovery:
    """Labels an attacker names for the U records it did not know.

    Attributes
    ----------
    guess : (U,) bool, its best guess.
    certain : (U,) bool, labels it takes as proven.
    recovered : share of the unknown labels that are certain and right.
    wrong : share that are "certain" and wrong (0 for exact releases).
    accuracy : share of right guesses.
    baseline : accuracy of guessing the commoner label of the unknown records for all of them.
    consistent : number of labelings that fit the release as well as the best (enumeration only).
    """

    guess: np.ndarray
    certain: np.ndarray
    recovered: float
    wrong: float
    accuracy: float
    baseline: float
    consistent: int | None = None


def labels_from_roc(
    fpr: ArrayLike,
    tpr: ArrayLike,
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    thresholds: ArrayLike,
    known: ArrayLike | None = None,
    positives: int | None = None,
) -> Recovery:
    """Recover labels from a released ROC curve by one who knows the scores and some of the labels.

    The attacker finds the class sizes from the rates (they are integer multiples of 1/P and 1/N
    whose steps add up to the number of records between thresholds), hence the positives in each
    bin, and takes off those it knows. A bin whose unknown labels are then all 0 or all 1 is
    certain; elsewhere it guesses the majority. On a noisy curve the same steps give rounded, and
    possibly wrong, answers.

    Parameters
    ----------
    fpr, tpr : (T,) rates in threshold order (:func:`leakmeter.dpauc.roc.roc_points`).
    scores : (M,) all scores, known to the attacker.
    labels : (M,) true labels: those of ``known`` records are used, the others judge the attack.
    thresholds : (T,) descending.
    known : (M,) bool; by default no label is known.
    positives : P if it is public; otherwise it is derived.

    Raises
    ------
    UserError : every label is known, or the curve is the diagonal, which fits every P.
    """
    scores, positive = check_records(scores, labels)
    thresholds = check_thresholds(thresholds)
    known = np.zeros(positive.size, bool) if known is None else np.asarray(known, dtype=bool)
    fpr, tpr = np.asarray(fpr, np.float64), np.asarray(tpr, np.float64)
    if fpr.shape != thresholds.shape or tpr.shape != thresholds.shape:
        raise UserError(
            f"fpr has shape {fpr.shape} and tpr {tpr.shape}; expected {thresholds.shape} for both"
        )
    if known.shape != positive.shape or known.all():
        raise UserError("known must name, for each record, whether its label is known, and not all")
    bins = bin_index(scores, thresholds)
    size = np.bincount(bins, minlength=thresholds.size + 1)
    step_tpr, step_fpr = np.diff(tpr, prepend=0, append=1), np.diff(fpr, prepend=0, append=1)
    if positives is None:
        positives = class_size_from_rates(step_fpr, step_tpr, size)
    known_positive = np.bincount(bins[known & positive], minlength=size.size)
    unknown = np.bincount(bins[~known], minlength=size.size)
    left = np.rint(positives * step_tpr - known_positive)
    guess, certain = left > unknown / 2, (left <= 0) | (left >= unknown)
    at = bins[~known]
    return _judge(guess[at], certain[at], positive[~known])


def class_size_from_rates(step_fpr: np.ndarray, step_tpr: np.ndarray, size: np.ndarray) -> int:
    """Number of positives that best fits ``P * step_tpr + (M - P) * step_fpr = size`` in every bin.

    Exact for exact rates; the least-squares solution, rounded and kept in [1, M - 1], for others.
    """
    records = size.sum()
    slope = step_tpr - step_fpr
    norm = float(slope @ slope)
    if norm == 0:
        raise UserError("the curve is the diagonal, which any class sizes give; state positives")
    fit = float(slope @ (size - records * step_fpr)) / norm
    return int(np.clip(round(fit), 1, records - 1))


def labels_from_auc(
    auc: float,
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    known: ArrayLike | None = None,
    positives: int | None = None,
) -> Recovery:
    """Recover unknown labels from an AUC by trying every labeling of them.

    The attacker knows all scores and the labels of ``known`` records. It keeps the labelings whose
    exact AUC is nearest to the released one (equal to it, if that is exact); labels on which all of
    them agree are certain, and it guesses by their majority.

    Parameters
    ----------
    auc : released value, exact or noisy.
    scores, labels : (M,) records; the labels of unknown ones judge the attack.
    known : (M,) bool; by default no label is known.
    positives : P if it is public; otherwise labelings of every size compete.

    Raises
    ------
    UserError : more than 20 unknown labels, none, or a NaN AUC.
    """
    scores, positive = check_records(scores, labels)
    known = np.zeros(positive.size, bool) if known is None else np.asarray(known, dtype=bool)
    if known.shape != positive.shape:
        raise UserError(f"known has shape {known.shape}; expected {positive.shape}, one per record")
    unknown = int((~known).sum())
    if not 1 <= unknown <= MAX_UNKNOWN:
        raise UserError(
            f"{unknown} labels are unknown; expected 1 to {MAX_UNKNOWN} (2^n labelings)"
        )
    if np.isnan(auc):
        raise UserError("auc is NaN; expected a number")
    distance = np.abs(_all_aucs(scores, positive, known, positives) - auc)
    if np.isnan(distance).all():
        raise UserError(
            f"positives is {positives}; no labeling of the unknown records has that many"
        )
    # Rounding is below 1e-15; AUCs of one P differ by at least 1 / (2 P N).
    fitting = np.flatnonzero(distance <= np.nanmin(distance) + 1e-13)
    votes = np.array([(fitting >> bit & 1).mean() for bit in range(unknown)])
    recovery = _judge(votes > 0.5, (votes == 0) | (votes == 1), positive[~known])
    return Recovery(**{**vars(recovery), "consistent": int(fitting.size)})


def _all_aucs(
    scores: np.ndarray, positive: np.ndarray, known: np.ndarray, positives: int | None
) -> np.ndarray:
    """(2^U,) AUC of each labeling of the unknown records; bit i is the label of the i-th of them.

    NaN for labelings of one class only and for those with another number of positives.
    """
    _, index, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    # Twice the mid-rank is an integer: records below, twice, plus ties including itself, plus 1.
    twice_rank = (2 * np.cumsum(sizes) - sizes + 1)[index]
    codes = np.arange(1 << int((~known).sum()))
    rank_sum = np.full(codes.size, twice_rank[known & positive].sum())
    p = np.full(codes.size, (known & positive).sum())
    for bit, rank in enumerate(twice_rank[~known]):
        chosen = codes >> bit & 1
        rank_sum += chosen * rank
        p += chosen
    n = scores.size - p
    twice_u = rank_sum - p * (p + 1)
    possible = (p > 0) & (n > 0)
    if positives is not None:
        possible &= p == positives
    return np.divide(twice_u, 2 * p * n, out=np.full(codes.size, np.nan), where=possible)


def label_log_odds(
    release: np.ndarray, *, if_negative: Counts, if_positive: Counts, epsilon_per_count: float
) -> float:
    """Log-likelihood ratio of one unknown label, from a client's whole noisy release.

    The strongest attack there is on one label: the attacker knows all other records of the client
    and how the noise was drawn. The label moves a count at every threshold, not only at the step
    of its own score, so all T thresholds inform. By Neyman and Pearson the sign is the best guess;
    the value never exceeds ``2 T eps'`` in size, which is what the pure-DP guarantee says.

    Parameters
    ----------
    release : (4, T) noisy counts (:func:`leakmeter.dpauc.mechanisms.laplace_release`).
    if_negative, if_positive : the client's exact counts (T,) under either label.
    epsilon_per_count : eps' of the Laplace noise.

    Returns
    -------
    log P(release | label 1) - log P(release | label 0).
    """
    distance = [np.abs(release - c.stacked()).sum() for c in (if_negative, if_positive)]
    return float(epsilon_per_count * (distance[0] - distance[1]))


def _judge(guess: np.ndarray, certain: np.ndarray, truth: np.ndarray) -> Recovery:
    right = guess == truth
    share = float(truth.mean())
    return Recovery(
        guess=guess,
        certain=certain,
        recovered=float((certain & right).mean()),
        wrong=float((certain & ~right).mean()),
        accuracy=float(right.mean()),
        baseline=max(share, 1 - share),
    )
