"""Tables of persons or clients with a binary label from a noisy linear score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def categories(rows: int, shares: Mapping[str, float], rng: np.random.Generator) -> np.ndarray:
    """Names drawn with the given shares (normalised), (rows,) text."""
    weights = np.array(list(shares.values()), dtype=float)
    return rng.choice(np.array(list(shares)), rows, p=weights / weights.sum())


def labels_from(
    effects: Sequence[np.ndarray], positive: float, noise: float, rng: np.random.Generator
) -> np.ndarray:
    """The share ``positive`` of the records with the highest noisy sum of effects gets label 1.

    Parameters
    ----------
    effects : vectors (rows,), each standardised before they are added.
    noise : standard deviation of the noise relative to the sum of the effects.
    """
    score = np.zeros(len(effects[0]))
    for effect in effects:
        effect = np.asarray(effect, dtype=float)
        score += (effect - effect.mean()) / (effect.std() or 1.0)
    score /= score.std() or 1.0
    score += noise * rng.standard_normal(len(score))
    labels = np.zeros(len(score), np.int64)
    labels[np.argsort(-score, kind="stable")[: max(1, round(positive * len(score)))]] = 1
    return labels
