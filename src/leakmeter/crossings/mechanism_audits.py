"""Mechanisms for an AUC under the Bayesian estimator, against what they are charged.

Each mechanism is played twice, with independent coins and noise: the threshold is chosen on the
first sample, and the tally that enters the interval is that of the second one. Beside the interval
stand the paper's charge ``4 T eps'``, the exact pure-DP one ``2 T eps'``, epsilon at the same delta
by the privacy-loss distribution, and the epsilon of the chosen test itself, which is what the
interval estimates: with N trials no test can be told apart from its neighbours in the tail, so at
many thresholds the best test that can be measured lies below the mechanism's epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakmeter.audit.attack import best_threshold, tally
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.region import point_estimate
from leakmeter.crossings.label_games import (
    LabelGame,
    play_histogram,
    play_laplace,
    play_response,
    uniform_thresholds,
)
from leakmeter.crossings.loss_laws import LossLaw, histogram_law, laplace_law, response_law
from leakmeter.dpauc.accounting import label_dp_epsilon
from leakmeter.runtime import derive_seed

#: Quantiles of the selection sample that are tried as thresholds.
_QUANTILES = np.concatenate([[0.001, 0.002, 0.005], np.arange(1, 100) / 100, [0.995, 0.998, 0.999]])

_Play = Callable[[int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Audit:
    """Outcome of one audit.

    Attributes
    ----------
    threshold : chosen on the selection sample. fn, tp, fp, tn : of the evaluation sample.
    low, high : credible interval of epsilon. estimate : Eq. (1) at the observed rates.
    """

    threshold: float
    fn: int
    tp: int
    fp: int
    tn: int
    low: float
    high: float
    estimate: float


def audit(play: _Play, *, seed: int, delta: float, alpha: float) -> Audit:
    """Play twice, choose the threshold on one sample and state epsilon from the other.

    Parameters
    ----------
    play : seed -> (bits, statistics), larger statistics speaking for bit 1.
    delta, alpha : of the interval.
    """
    bits, values = play(derive_seed(seed, "selection"))
    candidates = np.unique(np.quantile(values, _QUANTILES))
    chosen = candidates[best_threshold(values, bits, candidates, "jeffreys", delta, alpha)]
    bits, values = play(derive_seed(seed, "evaluation"))
    counts = tally(values, bits, chosen)
    low, high = epsilon_interval(**counts, delta=delta, alpha=alpha)
    estimate = point_estimate(**counts, delta=delta)
    return Audit(float(chosen), **counts, low=low, high=high, estimate=estimate)


def audit_laplace(
    game: LabelGame,
    *,
    n_thresholds: int,
    epsilon_per_count: float,
    observer: str,
    trials: int,
    delta: float,
    alpha: float,
    seed: int,
) -> dict[str, float]:
    """One budget of DPAUC_Lap: the charges and what the audit finds, by metric.

    ``test`` is the exact epsilon of the chosen test; for the observer of the AUC it is not known.
    """

    def play(sample: int) -> tuple[np.ndarray, np.ndarray]:
        return play_laplace(
            game,
            thresholds=uniform_thresholds(n_thresholds),
            epsilon_per_count=epsilon_per_count,
            observer=observer,
            trials=trials,
            seed=sample,
        )

    law = laplace_law(2 * n_thresholds, epsilon_per_count) if observer == "server" else None
    charges = {
        rule: label_dp_epsilon(n_thresholds, epsilon_per_count, rule=rule, delta=delta)
        for rule in ("paper", "tight", "pld")
    }
    return charges | _found(audit(play, seed=seed, delta=delta, alpha=alpha), law, delta)


def audit_histogram(
    *, epsilon: float, trials: int, delta: float, alpha: float, seed: int
) -> dict[str, float]:
    """The label histogram with private bin totals and discrete noise at ``epsilon``."""

    def play(sample: int) -> tuple[np.ndarray, np.ndarray]:
        return play_histogram(epsilon=epsilon, trials=trials, seed=sample)

    law = histogram_law(epsilon)
    charges = {"nominal": epsilon, "tight": epsilon, "pld": law.epsilon(delta)}
    return charges | _found(audit(play, seed=seed, delta=delta, alpha=alpha), law, delta)


def audit_response(
    *,
    epsilon: float,
    releases: int,
    flip: str,
    trials: int,
    delta: float,
    alpha: float,
    seed: int,
) -> dict[str, float]:
    """Randomised response after a number of releases: the charges and what the audit finds.

    ``nominal`` is epsilon of one release, ``tight`` the pure cost of all of them, ``pld`` the exact
    epsilon at delta of the binomial law.
    """

    def play(sample: int) -> tuple[np.ndarray, np.ndarray]:
        return play_response(
            epsilon=epsilon, releases=releases, flip=flip, trials=trials, seed=sample
        )

    seen = releases if flip == "per-repeat" else 1
    law = response_law(seen, epsilon)
    charges = {"nominal": epsilon, "tight": seen * epsilon, "pld": law.epsilon(delta)}
    return charges | _found(audit(play, seed=seed, delta=delta, alpha=alpha), law, delta)


def _found(result: Audit, law: LossLaw | None, delta: float) -> dict[str, float]:
    found = {name: getattr(result, name) for name in ("low", "high", "estimate")}
    found |= {
        "fnr": result.fn / (result.fn + result.tp),
        "fpr": result.fp / (result.fp + result.tn),
    }
    if law is not None:
        found["test"] = law.test_epsilon(result.threshold, delta)
    return found
