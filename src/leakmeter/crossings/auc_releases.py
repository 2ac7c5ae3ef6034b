"""Ways to answer a submitted ranking of a small labelled set with its AUC.

A contest's server holds n labels. A submission is a ranking of the records; its guesses are taken
as evenly spaced scores, so that only the order matters. Each release answers many submissions at
once and knows what all answers together cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from leakmeter.crossings.label_games import CURVE, uniform_thresholds
from leakmeter.crossings.loss_laws import response_law
from leakmeter.dpauc.accounting import label_dp_epsilon
from leakmeter.dpauc.counting import Counts, bin_index
from leakmeter.dpauc.debiasing import debias
from leakmeter.dpauc.discrete_noise import Noise
from leakmeter.dpauc.histogram_release import auc_from_histograms
from leakmeter.dpauc.mechanisms import laplace_release
from leakmeter.dpauc.randomized import flip_labels, flip_probability
from leakmeter.dpauc.roc import auc_from_totals
from leakmeter.labelings.guesses import misranked
from leakmeter.runtime import derive_seed


class Release(Protocol):
    """A mechanism as its users see it."""

    def answers(self, labels: np.ndarray, orders: np.ndarray, seed: int) -> np.ndarray:
        """(q,) answers to (q, n) rankings, each the record indices in ascending order."""

    def cost(self, answers: int, delta: float) -> float:
        """Label-DP epsilon at ``delta`` of that many answers; infinite without noise."""

    def afresh(self) -> Release:
        """A release whose answers are independent, each as the first answer of a contest."""


@dataclass(frozen=True)
class ExactRelease:
    """The exact AUC of the ranking."""

    def answers(self, labels: np.ndarray, orders: np.ndarray, seed: int) -> np.ndarray:
        """See :class:`Release`."""
        return exact_answers(labels[orders])

    def cost(self, answers: int, delta: float) -> float:
        """Infinite."""
        return float("inf")

    def afresh(self) -> ExactRelease:
        """Itself."""
        return self


@dataclass(frozen=True)
class LaplaceRelease:
    """DPAUC_Lap with one client.

    Attributes
    ----------
    epsilon : of one answer, ``2 T eps'`` (the exact pure cost). n_thresholds : T, evenly spaced.
    """

    epsilon: float
    n_thresholds: int

    @property
    def epsilon_per_count(self) -> float:
        """eps' of the noise on each count."""
        return self.epsilon / (2 * self.n_thresholds)

    def answers(self, labels: np.ndarray, orders: np.ndarray, seed: int) -> np.ndarray:
        """See :class:`Release`; every answer has its own noise."""
        counts = ranking_counts(labels[orders], uniform_thresholds(self.n_thresholds))
        noisy = laplace_release(counts, epsilon_per_count=self.epsilon_per_count, seed=seed)
        return auc_from_totals(noisy, CURVE)

    def cost(self, answers: int, delta: float) -> float:
        """By the privacy-loss distribution of all counts of all answers."""
        return label_dp_epsilon(
            answers * self.n_thresholds, self.epsilon_per_count, rule="pld", delta=delta
        )

    def afresh(self) -> LaplaceRelease:
        """Itself."""
        return self


@dataclass(frozen=True)
class HistogramRelease:
    """The label histogram with private bin totals and discrete noise, one client.

    Attributes
    ----------
    epsilon : of one answer. n_thresholds : bounds of the bins, evenly spaced.
    """

    epsilon: float
    n_thresholds: int

    def answers(self, labels: np.ndarray, orders: np.ndarray, seed: int) -> np.ndarray:
        """See :class:`Release`; 0.5 where a noisy class is empty."""
        positives, negatives = ranking_bins(labels[orders], uniform_thresholds(self.n_thresholds))
        unit = Noise("discrete", self.epsilon / 2)
        rng = np.random.default_rng(seed)
        noise = unit.summed(rng, (2, *positives.shape))
        released = auc_from_histograms(positives + noise[0], negatives + noise[1])
        return np.where(np.isnan(released), 0.5, released)

    def cost(self, answers: int, delta: float) -> float:
        """By the privacy-loss distribution of the two counts of every answer that a label moves."""
        return response_law(2 * answers, self.epsilon / 2).epsilon(delta)

    def afresh(self) -> HistogramRelease:
        """Itself."""
        return self


@dataclass(frozen=True)
class ResponseRelease:
    """Randomised response on the labels, then the exact AUC, freed of its bias.

    The base rate that this takes is estimated from the flipped labels, as one record of a class at
    least: the answers are computed from the flips alone, which are all that is charged.

    Attributes
    ----------
    epsilon : of one flip of all labels. flip : ``"once"`` for all answers, or ``"per-repeat"``.
    """

    epsilon: float
    flip: str

    def answers(self, labels: np.ndarray, orders: np.ndarray, seed: int) -> np.ndarray:
        """See :class:`Release`; 0.5 where the flipped labels are all of one class."""
        rng = np.random.default_rng(derive_seed(seed, "flips"))
        n = len(labels)
        if self.flip == "once":
            noisy = flip_labels(labels == 1, self.epsilon, rng)[orders]
        else:
            flipped = flip_labels(np.broadcast_to(labels == 1, orders.shape), self.epsilon, rng)
            noisy = np.take_along_axis(flipped, orders, axis=1)
        positives = noisy.sum(axis=1)
        usable = (positives > 0) & (positives < n)
        area = np.full(len(orders), 0.5)
        area[usable] = exact_answers(noisy[usable])
        rate = flip_probability(self.epsilon)
        # unbiased, then moved into the range of labels that have an AUC
        base_rate = (positives / n - rate) / math.tanh(self.epsilon / 2)
        clean = debias(
            area,
            noisy_positives=positives,
            noisy_negatives=n - positives,
            p=rate,
            q=rate,
            base_rate=np.clip(base_rate, 1 / n, 1 - 1 / n),
        )
        return np.where(usable, clean.auc, 0.5)

    def cost(self, answers: int, delta: float) -> float:
        """Of one flip, or of all flips by their binomial law."""
        seen = answers if self.flip == "per-repeat" else 1
        return response_law(seen, self.epsilon).epsilon(delta)

    def afresh(self) -> ResponseRelease:
        """Flipped anew for every answer."""
        return replace(self, flip="per-repeat")


def exact_answers(ranked: np.ndarray) -> np.ndarray:
    """(q,) exact AUCs of labels (q, n) in ascending rank."""
    ranked = ranked.astype(np.uint8)
    wrong, ones = misranked(ranked, np.arange(ranked.shape[1]))
    return 1.0 - wrong / (ones * (ranked.shape[1] - ones))


def ranking_counts(ranked: np.ndarray, thresholds: np.ndarray) -> Counts:
    """Counts (q, T) of labels (q, n) in ascending rank, whose scores are ``(rank + 1/2) / n``."""
    positives, negatives = ranking_bins(ranked, thresholds)
    tp, fp = np.cumsum(positives, axis=1)[:, :-1], np.cumsum(negatives, axis=1)[:, :-1]
    return Counts(
        tp=tp,
        fp=fp,
        tn=negatives.sum(axis=1, keepdims=True) - fp,
        fn=positives.sum(axis=1, keepdims=True) - tp,
    )


def ranking_bins(ranked: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positives and negatives per bin, highest scores first, (q, T + 1) each."""
    n = ranked.shape[1]
    bins = bin_index((np.arange(n) + 0.5) / n, thresholds)
    member = (bins[:, None] == np.arange(len(thresholds) + 1)).astype(np.int64)
    ranked = ranked.astype(np.int64)
    return ranked @ member, (1 - ranked) @ member
