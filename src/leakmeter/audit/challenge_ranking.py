"""Worst-case points by the largest loss gap, found on models that no game evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError, derive_seed, generator


def loss_gaps(losses: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Mean loss over the models without a point minus that over those with it, (points,).

    Parameters
    ----------
    losses : (models, points). inside : (models, points) bool.

    Raises
    ------
    UserError
        a point that every model or no model was trained on.
    """
    members = inside.sum(axis=0)
    if ((members == 0) | (members == len(inside))).any():
        raise UserError(
            f"{len(inside)} ranking models leave a candidate with no model on one side; expected "
            "more of them (audit.games.ranking_models)"
        )
    with_point = (losses * inside).sum(axis=0) / members
    without = (losses * ~inside).sum(axis=0) / (len(inside) - members)
    return without - with_point


def split_candidates(candidates: int, *, models: int, size: int, seed: int) -> np.ndarray:
    """(models, candidates) bool: a random ``size`` of the candidates for each ranking model."""
    inside = np.zeros((models, candidates), bool)
    for model in range(models):
        random = generator(seed, "audit_ranking_split", model=model)
        inside[model, random.choice(candidates, size, replace=False)] = True
    return inside


def rank_candidates(
    pool: Pool, family: Any, *, models: int, size: int, train_size: int, seed: int
) -> np.ndarray:
    """Loss gap of every candidate, (candidates,).

    Each ranking model has ``size`` random candidates and base records up to ``train_size``; the
    family trains it with the game's clipping and without its noise, which would hide the gaps.
    """
    if not 0 < size < pool.candidates or size > train_size:
        raise UserError(
            f"{size} candidates in each ranking model; expected more than 0, fewer than "
            f"{pool.candidates} and at most {train_size}"
        )
    inside = split_candidates(pool.candidates, models=models, size=size, seed=seed)
    shared = np.arange(pool.candidates)
    base = pool.base[: train_size - size]
    losses = np.empty(inside.shape, np.float32)
    for start in range(0, models, family.batch):
        part = slice(start, min(start + family.batch, models))
        seeds = [derive_seed(seed, "audit_ranking", model=i) for i in range(part.start, part.stop)]
        held = np.hstack([inside[part], np.ones((len(seeds), len(base)), bool)])
        trained = family.train_inside(np.concatenate([shared, base]), held, seeds)
        losses[part] = family.losses(trained, shared)
    return loss_gaps(losses, inside)
