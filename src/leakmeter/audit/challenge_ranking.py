"""Worst-case points by the largest loss gap, found on models that no game evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakmeter.audit.game import chunk_of
from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError, atomic_path, derive_seed, generator


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


@dataclass(frozen=True)
class Ranked:
    """What some of the ranking models say about the candidates.

    Attributes
    ----------
    models : (k,) their numbers. losses : (k, candidates) float32. inside : (k, candidates) bool,
    which candidates each was trained on.
    """

    models: np.ndarray
    losses: np.ndarray
    inside: np.ndarray

    def write(self, path: str | Path) -> None:
        """Write to an .npz file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as handle:
            np.savez(handle, **vars(self))

    @classmethod
    def read(cls, path: str | Path) -> Ranked:
        """Read what :meth:`write` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            return cls(**{name: stored[name] for name in ("models", "losses", "inside")})


def rank_candidates(
    pool: Pool,
    family: Any,
    *,
    models: int,
    size: int,
    train_size: int,
    seed: int,
    chunk: int = 0,
    chunks: int = 1,
) -> Ranked:
    """Losses of every candidate under one part of the ranking models.

    Each ranking model has ``size`` random candidates and base records up to ``train_size``; the
    family trains it with the game's clipping and without its noise, which would hide the gaps. A
    model's records and seed depend on its number alone, so that parts may be trained anywhere.
    """
    if not 0 < size < pool.candidates or size > train_size:
        raise UserError(
            f"{size} candidates in each ranking model; expected more than 0, fewer than "
            f"{pool.candidates} and at most {train_size}"
        )
    own = np.array(chunk_of(range(models), chunk, chunks), dtype=int)
    inside = split_candidates(pool.candidates, models=models, size=size, seed=seed)[own]
    shared = np.arange(pool.candidates)
    base = pool.base[: train_size - size]
    losses = np.empty(inside.shape, np.float32)
    for start in range(0, len(own), family.batch):
        part = slice(start, min(start + family.batch, len(own)))
        seeds = [derive_seed(seed, "audit_ranking", model=i) for i in own[part]]
        held = np.hstack([inside[part], np.ones((len(seeds), len(base)), bool)])
        trained = family.train_inside(np.concatenate([shared, base]), held, seeds)
        losses[part] = family.losses(trained, shared)
    return Ranked(own, losses, inside)


def joined_gaps(parts: Sequence[Ranked]) -> np.ndarray:
    """Loss gap of every candidate, (candidates,), from all parts of the ranking models.

    Raises
    ------
    UserError
        the numbers of the models leave one out or name one twice.
    """
    models = np.concatenate([part.models for part in parts])
    order = np.argsort(models, kind="stable")
    if not np.array_equal(models[order], np.arange(len(models))):
        raise UserError("ranking models are missing or occur twice; rank all chunks once")
    losses = np.concatenate([part.losses for part in parts])[order]
    inside = np.concatenate([part.inside for part in parts])[order]
    return loss_gaps(losses, inside)
