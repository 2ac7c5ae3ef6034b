"""Randomised response on labels, the competitor of DPAUC (DPAUC_RR).

Each label is kept with probability e^eps / (1 + e^eps) and flipped otherwise. The server counts with
the flipped labels, builds the curve as for DPAUC, and removes the bias from the area.

The curve depends on the flips only through the number of noisy positives in each bin between
neighbouring thresholds. That number is a sum of two binomial variables (positives kept, negatives
flipped), so a repeat costs two draws per bin. Flipping record by record has the same law and is
kept as the reference. The assignment of records to clients plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.arguments import seeded
from leakmeter.dpauc.counting import Counts, bin_index, check_thresholds, count
from leakmeter.dpauc.debiasing import debias
from leakmeter.dpauc.mechanisms import check_repeats
from leakmeter.dpauc.records import check_records
from leakmeter.dpauc.roc import AUTHORS, CurveOptions, auc_from_totals
from leakmeter.runtime import UserError

FLIPS = ("per-repeat", "once")
LAWS = ("binned", "per-record")
_CHUNK = 64


@dataclass(frozen=True, eq=False)
class RandomizedResponse:
    """R releases under randomised response; every attribute is an (R,) array.

    Attributes
    ----------
    auc : debiased AUC, never clipped; NaN where ``undefined``.
    noisy_auc : AUC with respect to the flipped labels.
    alpha, beta, base_rate : see :func:`leakmeter.dpauc.debiasing.debias`.
    noisy_positives, noisy_negatives : class sizes after the flips.
    """

    auc: np.ndarray
    noisy_auc: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    base_rate: np.ndarray
    noisy_positives: np.ndarray
    noisy_negatives: np.ndarray

    @property
    def undefined(self) -> np.ndarray:
        """Releases from which no AUC can be computed."""
        return np.isnan(self.auc)

    @property
    def outside(self) -> np.ndarray:
        """Releases whose debiased AUC is not in [0, 1]."""
        return (self.auc < 0) | (self.auc > 1)


def flip_probability(epsilon: float) -> float:
    """1 / (1 + e^eps): Eq. (1) of the DPAUC paper; 1/2 at epsilon = 0, 0 at infinity."""
    if not epsilon >= 0:
        raise UserError(f"epsilon is {epsilon}; expected a number of at least 0")
    return 1.0 / (1.0 + math.exp(epsilon)) if epsilon < 700 else 0.0


def flip_labels(positive: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Labels (any shape, bool) after randomised response, each flipped independently."""
    return positive ^ (rng.random(positive.shape) < flip_probability(epsilon))


def randomized_response_auc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    epsilon: float,
    thresholds: ArrayLike,
    repeats: int,
    seed: int,
    flip: str = "per-repeat",
    law: str = "binned",
    base_rate: float | None = None,
    options: CurveOptions = AUTHORS,
) -> np.ndarray:
    """Debiased AUCs (R,) of R releases; parameters as :func:`randomized_response`."""
    return randomized_response(
        scores,
        labels,
        epsilon=epsilon,
        thresholds=thresholds,
        repeats=repeats,
        seed=seed,
        flip=flip,
        law=law,
        base_rate=base_rate,
        options=options,
    ).auc


def randomized_response(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    epsilon: float,
    thresholds: ArrayLike,
    repeats: int,
    seed: int,
    flip: str = "per-repeat",
    law: str = "binned",
    base_rate: float | None = None,
    options: CurveOptions = AUTHORS,
) -> RandomizedResponse:
    """Flip the labels, build the curve, debias its area.

    Parameters
    ----------
    scores, labels : (M,) records.
    epsilon : label-DP budget of each label, whatever T and K; 0 flips half of the labels, which
        leaves every AUC undefined.
    thresholds : (T,) descending.
    repeats : R.
    seed : of the generator. The first r of R repeats do not depend on R.
    flip : ``"per-repeat"`` flips anew from the true labels in each repeat (the authors' code);
        ``"once"`` flips once and reuses the result (the paper's text), so all repeats are equal.
    law : ``"binned"`` or ``"per-record"``, see the module's description.
    base_rate : the true share of positives if it is public; estimated by default.
    options : how the curve is built.
    """
    if law == "binned":
        counts = count(scores, labels, thresholds)
        return randomized_response_from_counts(
            counts,
            epsilon=epsilon,
            repeats=repeats,
            seed=seed,
            flip=flip,
            base_rate=base_rate,
            options=options,
        )
    if law != "per-record":
        raise UserError(f"law is {law!r}; expected one of {', '.join(LAWS)}")
    scores, positive = check_records(scores, labels)
    thresholds = check_thresholds(thresholds)
    bins = bin_index(scores, thresholds)
    sizes = np.bincount(bins, minlength=thresholds.size + 1)
    rng = seeded(seed)
    rate = flip_probability(epsilon)

    def noisy_bins(size: int) -> Iterator[np.ndarray]:
        for _ in range(size):
            noisy = flip_labels(positive, epsilon, rng)
            yield np.bincount(bins[noisy], minlength=sizes.size)[None]

    return _releases(noisy_bins, sizes, rate, repeats, flip, base_rate, options)


def randomized_response_from_counts(
    counts: Counts,
    *,
    epsilon: float,
    repeats: int,
    seed: int,
    flip: str = "per-repeat",
    base_rate: float | None = None,
    options: CurveOptions = AUTHORS,
) -> RandomizedResponse:
    """:func:`randomized_response` from true counts alone (binned law); clients are pooled."""
    positives, negatives = counts.bins()
    rng = seeded(seed)
    rate = flip_probability(epsilon)
    trials = np.stack([positives, negatives])
    chance = np.array([[1.0 - rate], [rate]])

    def noisy_bins(size: int) -> Iterator[np.ndarray]:
        for start in range(0, size, _CHUNK):
            shape = (min(_CHUNK, size - start), *trials.shape)
            yield rng.binomial(trials, chance, size=shape).sum(axis=1)

    return _releases(noisy_bins, positives + negatives, rate, repeats, flip, base_rate, options)


def _releases(
    noisy_bins, sizes: np.ndarray, rate: float, repeats: int, flip: str, base_rate, options
) -> RandomizedResponse:
    """Curve and debiasing for draws of the noisy positives per bin, (r, T + 1) at a time."""
    check_repeats(repeats)
    if flip not in FLIPS:
        raise UserError(f"flip is {flip!r}; expected one of {', '.join(FLIPS)}")
    aucs, sums = [], []
    for noisy in noisy_bins(repeats if flip == "per-repeat" else 1):
        aucs.append(auc_from_totals(_totals(noisy, sizes), options))
        sums.append(noisy.sum(axis=1))
    noisy_auc, noisy_positives = np.concatenate(aucs), np.concatenate(sums)
    if flip == "once":
        noisy_auc = np.repeat(noisy_auc, repeats)
        noisy_positives = np.repeat(noisy_positives, repeats)
    noisy_negatives = sizes.sum() - noisy_positives
    clean = debias(
        noisy_auc,
        noisy_positives=noisy_positives,
        noisy_negatives=noisy_negatives,
        p=rate,
        q=rate,
        base_rate=base_rate,
    )
    return RandomizedResponse(
        auc=clean.auc,
        noisy_auc=noisy_auc,
        alpha=clean.alpha,
        beta=clean.beta,
        base_rate=clean.base_rate,
        noisy_positives=noisy_positives,
        noisy_negatives=noisy_negatives,
    )


def _totals(noisy: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """(r, 4, T) confusion totals from the noisy positives (r, T + 1) among ``sizes`` records."""
    positives = np.cumsum(noisy, axis=1)
    negatives = np.cumsum(sizes - noisy, axis=1)
    tp, fp = positives[:, :-1], negatives[:, :-1]
    return np.stack([tp, fp, negatives[:, -1:] - fp, positives[:, -1:] - tp], axis=1)
