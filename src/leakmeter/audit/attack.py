"""From losses to guesses: two statistics, thresholds that no sample chooses for itself, tallies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.runtime import UserError

#: Statistic -> what it is.
ATTACKS = {
    "plain": "rank of the first point's loss among the model's base losses (the authors' statistic)",
    "calibrated": "difference of both losses, each minus its mean over reference models",
}
#: Rule for the threshold -> what it does.
SELECTIONS = {
    "median": "median of the other half's scores",
    "crossfit": "percentile (5 to 95) with the largest Jeffreys lower end on the other half",
    "authors": "percentile with the largest lower end on the evaluated trials themselves: optimistic",
}


#: Percentiles that "crossfit" chooses from.
CROSSFIT_PERCENTILES = np.arange(5.0, 96.0)


def scores(trials: pd.DataFrame, references: pd.DataFrame, attack: str) -> np.ndarray:
    """(N,) scores of one game's trials; larger ones speak for bit 1.

    Parameters
    ----------
    trials : one game's rows of :class:`leakmeter.audit.game.Played`. references : likewise.
    attack : a key of :data:`ATTACKS`. When bit 1 is set the first point was not trained on: its
        loss is large, and the second one's small.

    Raises
    ------
    UserError
        an unknown attack, or a calibrated one without reference models.
    """
    if attack == "plain":
        return trials["rank0"].to_numpy(dtype=float)
    if attack != "calibrated":
        raise UserError(f"attack {attack!r}; expected one of {', '.join(ATTACKS)}")
    merged = trials[["trial"]].merge(references, on="trial", how="left", validate="1:1")
    count = merged["count"].to_numpy(dtype=float)
    if not np.all(count > 0):
        raise UserError("the calibrated attack needs reference models (audit.games.references)")
    expected0, expected1 = (merged[c].to_numpy() / count for c in ("sum0", "sum1"))
    return (trials["loss0"].to_numpy() - expected0) - (trials["loss1"].to_numpy() - expected1)


def auc(values: np.ndarray, bits: np.ndarray) -> float:
    """P(score of bit 1 > score of bit 0), ties counted half; NaN when a bit never occurs."""
    from scipy.stats import rankdata

    ones = int(bits.sum())
    zeros = len(bits) - ones
    if not ones or not zeros:
        return float("nan")
    ranks = rankdata(values)
    return float((ranks[bits == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def tally(values: np.ndarray, bits: np.ndarray, threshold: np.ndarray | float) -> dict[str, int]:
    """``fn, tp, fp, tn`` of saying 1 where the score exceeds the threshold; 1 is the positive."""
    guess = values > threshold
    one = bits == 1
    return {
        "fn": int((one & ~guess).sum()),
        "tp": int((one & guess).sum()),
        "fp": int((~one & guess).sum()),
        "tn": int((~one & ~guess).sum()),
    }


def _tallies(values: np.ndarray, bits: np.ndarray, thresholds: np.ndarray) -> dict[str, np.ndarray]:
    """Tallies at many thresholds at once."""
    ones, zeros = np.sort(values[bits == 1]), np.sort(values[bits == 0])
    fn = np.searchsorted(ones, thresholds, side="right")
    tn = np.searchsorted(zeros, thresholds, side="right")
    return {"fn": fn, "tp": len(ones) - fn, "fp": len(zeros) - tn, "tn": tn}


def best_threshold(
    values: np.ndarray,
    bits: np.ndarray,
    thresholds: np.ndarray,
    method: str,
    delta: float,
    alpha: float,
) -> int:
    """Index of the threshold with the largest lower end; of several the most central one.

    thresholds : ascending, compared as ``value > threshold``. method : of
    :func:`~leakmeter.audit.intervals.epsilon_interval`.
    """
    low, _ = epsilon_interval(
        **_tallies(values, bits, thresholds), delta=delta, alpha=alpha, method=method
    )
    best = np.flatnonzero(low >= low.max() - 1e-12)
    return int(best[np.abs(best - (len(thresholds) - 1) / 2).argmin()])


def choose_threshold(
    values: np.ndarray,
    bits: np.ndarray,
    selection: str,
    *,
    delta: float,
    alpha: float,
    percentiles: np.ndarray = CROSSFIT_PERCENTILES,
) -> np.ndarray:
    """(N,) threshold of every trial under a rule of :data:`SELECTIONS`.

    With "median" and "crossfit" the trials are cut in two halves and each half's threshold comes
    from the other one. "crossfit" stays off the tails, where thresholds of the two halves in
    opposite tails would undo each other, unless other ``percentiles`` are given. "authors" looks at
    the evaluated trials: percentiles 0 to 100 in steps of 0.1 by the Jeffreys lower end, then those
    within 0.5 by the credible one.

    Raises
    ------
    UserError
        an unknown rule, or a half without trials of both kinds.
    """
    rules: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
        "median": lambda v, b: float(np.median(v)),
        "crossfit": lambda v, b: _percentile_rule(v, b, percentiles, delta, alpha),
    }
    if selection == "authors":
        return np.full(len(values), _authors_rule(values, bits, delta, alpha))
    if selection not in rules:
        raise UserError(f"selection {selection!r}; expected one of {', '.join(SELECTIONS)}")
    half = len(values) // 2
    parts = (slice(0, half), slice(half, len(values)))
    chosen = np.empty(len(values))
    for part, other in (parts, parts[::-1]):
        if selection != "median" and len(np.unique(bits[other])) < 2:
            raise UserError(
                f"{half} trials of one kind only; expected more trials (audit.games.trials)"
            )
        chosen[part] = rules[selection](values[other], bits[other])
    return chosen


def _percentile_rule(
    values: np.ndarray, bits: np.ndarray, percentiles: np.ndarray, delta: float, alpha: float
) -> float:
    thresholds = np.percentile(values, percentiles)
    return float(thresholds[best_threshold(values, bits, thresholds, "jeffreys", delta, alpha)])


def _authors_rule(values: np.ndarray, bits: np.ndarray, delta: float, alpha: float) -> float:
    thresholds = np.percentile(values, np.linspace(0, 100, 1001))
    coarse = best_threshold(values, bits, thresholds, "jeffreys", delta, alpha)
    near = thresholds[max(coarse - 5, 0) : coarse + 6]
    return float(near[best_threshold(values, bits, near, "bayesian", delta, alpha)])
