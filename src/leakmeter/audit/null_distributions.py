"""What chance alone does: intervals of a coin-flip attack, and CDFs of independent m = 1 runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakmeter.audit.attack import choose_threshold, tally
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.posterior import epsilon_cdf

#: Epsilons at which CDFs are compared, closer where most of them rise.
GRID = np.concatenate([np.arange(0, 160) * 0.025, np.arange(40, 101) * 0.1])
_NAMES = ("fn", "tp", "fp", "tn")


def coin_flip_tallies(
    *, trials: int, selection: str, repeats: int, delta: float, alpha: float, seed: int
) -> dict[str, np.ndarray]:
    """Tallies (repeats,) of an attack whose scores know nothing, after a rule chose its threshold."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        bits, values = random.integers(0, 2, trials), random.random(trials)
        threshold = choose_threshold(values, bits, selection, delta=delta, alpha=alpha)
        found.append(tally(values, bits, threshold))
    return stack(found)


def stack(tallies: Sequence[dict[str, int]]) -> dict[str, np.ndarray]:
    """Several tallies as one of arrays."""
    return {name: np.array([t[name] for t in tallies]) for name in _NAMES}


def bootstrap_tallies(
    values: np.ndarray,
    bits: np.ndarray,
    *,
    trials: int,
    selection: str,
    repeats: int,
    delta: float,
    alpha: float,
    seed: int,
) -> dict[str, np.ndarray]:
    """Tallies (repeats,) of independent runs: ``trials`` of independent models drawn with replacement.

    Each run chooses its threshold anew, so that this part of the randomness is in it.
    """
    random = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        drawn = random.integers(0, len(values), trials)
        threshold = choose_threshold(
            values[drawn], bits[drawn], selection, delta=delta, alpha=alpha
        )
        found.append(tally(values[drawn], bits[drawn], threshold))
    return stack(found)


def binomial_tallies(
    *, trials: int, fnr: float, fpr: float, repeats: int, seed: int
) -> dict[str, np.ndarray]:
    """Tallies (repeats,) of an attack with known rates, bits fair."""
    random = np.random.default_rng(seed)
    members = random.binomial(trials, 0.5, repeats)
    fn = random.binomial(members, fnr)
    fp = random.binomial(trials - members, fpr)
    return {"fn": fn, "tp": members - fn, "fp": fp, "tn": trials - members - fp}


def cdf_curves(tallies: dict[str, Any], *, delta: float) -> np.ndarray:
    """F on :data:`GRID`, (runs, grid); tallies are arrays (runs,)."""
    named = {name: np.atleast_1d(tallies[name])[:, None] for name in _NAMES}
    return np.atleast_2d(epsilon_cdf(GRID[None, :], **named, delta=delta))


@dataclass(frozen=True)
class Posteriors:
    """Posteriors of epsilon of several runs, ready to be compared.

    Attributes
    ----------
    cdf : (runs, grid) on :data:`GRID`. low, high : (runs,) ends of the credible intervals.
    """

    cdf: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, tallies: dict[str, Any], *, delta: float, alpha: float) -> Posteriors:
        """From tallies (scalars or (runs,) each); equal ones are computed once."""
        rows = np.stack([np.atleast_1d(tallies[name]) for name in _NAMES], axis=1)
        unique, where = np.unique(rows, axis=0, return_inverse=True)
        named = dict(zip(_NAMES, unique.T, strict=True))
        cdf = cdf_curves(named, delta=delta)
        low, high = epsilon_interval(**named, delta=delta, alpha=alpha)
        where = where.reshape(-1)
        return cls(cdf[where], low[where], high[where])

    def halves(self) -> tuple[Posteriors, Posteriors]:
        """Independent runs to be compared in pairs: the first half of them, and the second."""
        middle = len(self.low) // 2
        first, second = slice(0, middle), slice(middle, 2 * middle)
        return self._take(first), self._take(second)

    def _take(self, part: slice) -> Posteriors:
        return Posteriors(self.cdf[part], self.low[part], self.high[part])


def differences(first: Posteriors, second: Posteriors) -> dict[str, np.ndarray]:
    """How far posteriors are apart, run by run (one run on a side is compared with all others).

    Returns
    -------
    ``sup`` and ``mean`` of the absolute difference of the CDFs for epsilon from 0 to 10, and
    ``low``, ``high``: absolute differences of the ends of the credible intervals.
    """
    gap = np.abs(first.cdf - second.cdf)
    return {
        "sup": gap.max(axis=1),
        "mean": np.trapezoid(gap, GRID, axis=1) / GRID[-1],
        "low": np.abs(first.low - second.low),
        "high": np.abs(first.high - second.high),
    }
