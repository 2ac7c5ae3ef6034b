"""Experiment 2 of the paper: m challenge pairs per model, N pairs in all; m = 1 is Experiment 1.

The adversary picks pairs (z0, z1) and a base S. Fair bits b choose z_b of each pair, a model is
trained on S and the chosen points, and the adversary guesses the bits from its losses. |S| + m is
the same for every m, so that the number of training records is no confounder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError, atomic_path, derive_seed, generator

#: Column -> meaning, of the table of trials.
TRIAL_COLUMNS = {
    "points": "average or worst",
    "game": "which game of the setting",
    "m": "pairs per model",
    "trial": "0 to N - 1",
    "model": "target model the trial was played on",
    "z0": "first point of the pair, index into the pool",
    "z1": "second point",
    "bit": "which of them was in the training set",
    "loss0": "loss of the first point",
    "loss1": "loss of the second",
    "rank0": "per cent of this model's base losses that are at most loss0",
}


class Family(Protocol):
    """Models of one kind that a game can train."""

    batch: int  #: models trained by one call

    def train(self, base: np.ndarray, challenges: np.ndarray, seeds: Sequence[int]) -> Any:
        """Models on base records (B,) and their own ones (models, m)."""

    def losses(self, models: Any, points: np.ndarray) -> np.ndarray:
        """(models, points) losses on pool records."""

    def accuracy(self, models: Any) -> np.ndarray:
        """(models,) accuracies on held-out records."""


@dataclass(frozen=True)
class Game:
    """One run of the experiment.

    Attributes
    ----------
    points : "average" or "worst". name : m10, m1, m1-single, ... m : pairs per model.
    pairs : (N, 2) pool indices. bits : (N,) which of each pair is trained on.
    """

    points: str
    name: str
    m: int
    pairs: np.ndarray
    bits: np.ndarray

    def __post_init__(self) -> None:
        if len(self.pairs) % self.m:
            raise UserError(
                f"{len(self.pairs)} trials cannot be split into models with {self.m} pairs each; "
                "audit.games.trials must be a multiple of every m"
            )

    @property
    def models(self) -> int:
        """Target models: N / m."""
        return len(self.pairs) // self.m

    def trained_on(self, model: int, bits: np.ndarray | None = None) -> np.ndarray:
        """Challenge points (m,) of a model; with other ``bits`` (m,) those of a reference model."""
        part = slice(model * self.m, (model + 1) * self.m)
        chosen = self.bits[part] if bits is None else bits
        return np.take_along_axis(self.pairs[part], chosen[:, None], axis=1)[:, 0]


def draw_pairs(
    points: np.ndarray, *, trials: int, distinct: int, random: np.random.Generator
) -> np.ndarray:
    """(trials, 2): the first ``2 distinct`` points paired at random, each pair used in turn.

    Raises
    ------
    UserError
        too few points.
    """
    if len(points) < 2 * distinct:
        raise UserError(
            f"{distinct} challenge pairs of {len(points)} candidates; expected at least "
            f"{2 * distinct} (audit.games.<set>.candidates)"
        )
    pairs = random.permutation(points[: 2 * distinct]).reshape(-1, 2)
    return pairs[np.arange(trials) % distinct]


def build_games(
    points: str, order: np.ndarray, settings: Mapping[str, Any], *, seed: int
) -> list[Game]:
    """All games of a setting.

    Parameters
    ----------
    points : "average": pairs of random candidates, N distinct ones, the same for every m.
        "worst": pairs of the candidates with the largest loss gap. ``worst_pairs`` of them are used
        in turn (at least m, as the pairs of a model are distinct). Two variants with m = 1 show
        what that choice does: ``m1-single``, one pair for all models, and ``m1-distinct``, as
        many pairs as models.
    order : candidates, those with the largest loss gap first.
    settings : ``trials, m, worst_pairs, replicates``.

    Returns
    -------
    A game per m, named m1, m10, ...; m1-replicate1, ... with fresh bits and fresh training.
    """
    trials, worst = settings["trials"], points == "worst"
    if not worst:
        order = generator(seed, "audit_average_points").permutation(order)

    def game(name: str, m: int, distinct: int, bits: str) -> Game:
        random = generator(seed, "audit_pairs", points=points, distinct=distinct)
        pairs = draw_pairs(order, trials=trials, distinct=distinct, random=random)
        fair = generator(seed, "audit_bits", points=points, bits=bits).integers(0, 2, trials)
        return Game(points, name, m, pairs, fair)

    def distinct(m: int) -> int:
        return min(max(settings["worst_pairs"], m), trials) if worst else trials

    games = [game(f"m{m}", m, distinct(m), "first") for m in settings["m"]]
    games += [
        game(f"m1-replicate{r}", 1, distinct(1), f"replicate{r}")
        for r in range(1, settings["replicates"] + 1)
    ]
    if worst:
        games.append(game("m1-single", 1, 1, "single"))
        games.append(game("m1-distinct", 1, trials, "distinct"))
    return games


def models_of(games: Sequence[Game], references: int) -> list[tuple[int, str, int]]:
    """Every model that the games train: (game, "target" or "reference", index within it)."""
    plan: list[tuple[int, str, int]] = []
    for number, game in enumerate(games):
        plan += [(number, "target", i) for i in range(game.models)]
        plan += [(number, "reference", i) for i in range(references)]
    return plan


def chunk_of(plan: Sequence[Any], chunk: int, chunks: int) -> list[Any]:
    """The part of a plan that one of ``chunks`` jobs trains, in turn so that all take equally long.

    >>> chunk_of("abcde", 1, 2)
    ['b', 'd']
    """
    if not 0 <= chunk < chunks:
        raise ValueError(f"chunk {chunk} of {chunks}; expected 0 to {chunks - 1}")
    return list(plan[chunk::chunks])


@dataclass(frozen=True)
class Played:
    """What a part of the games left.

    Attributes
    ----------
    trials : columns :data:`TRIAL_COLUMNS`.
    references : points, game, trial, sum0, sum1 (losses of both points over reference models), count.
    accuracy : points, game, m, kind, model, accuracy.
    """

    trials: pd.DataFrame
    references: pd.DataFrame
    accuracy: pd.DataFrame

    def write(self, *, trials: str | Path, references: str | Path, accuracy: str | Path) -> None:
        """Write three Parquet files, atomically."""
        paths = {"trials": trials, "references": references, "accuracy": accuracy}
        for name, path in paths.items():
            with atomic_path(path) as temporary:
                getattr(self, name).to_parquet(temporary, index=False)

    @classmethod
    def read(cls, trials: str | Path, references: str | Path, accuracy: str | Path) -> Played:
        """Read what :meth:`write` wrote."""
        return cls(*(pd.read_parquet(path) for path in (trials, references, accuracy)))


def play(
    games: Sequence[Game],
    plan: Sequence[tuple[int, str, int]],
    family: Family,
    pool: Pool,
    *,
    train_size: int,
    seed: int,
) -> Played:
    """Train the models of ``plan`` and look at their losses.

    A model's seed depends on its game, kind and index alone, so that the parts of a plan can be
    played anywhere and in any order.
    """
    trials, references, accuracy = [], [], []
    for number, game in enumerate(games):
        base = _base(pool, train_size - game.m)
        for kind in ("target", "reference"):
            indices = [i for g, k, i in plan if (g, k) == (number, kind)]
            sums = np.zeros((len(game.pairs), 2))
            for start in range(0, len(indices), family.batch):
                part = indices[start : start + family.batch]
                axes = [
                    {"points": game.points, "game": game.name, "kind": kind, "model": i}
                    for i in part
                ]
                seeds = [derive_seed(seed, "audit_model", **a) for a in axes]
                own = np.stack([_own_points(game, kind, i, seed) for i in part])
                models = family.train(base, own, seeds)
                for a, share in zip(axes, family.accuracy(models), strict=True):
                    accuracy.append({**a, "m": game.m, "accuracy": float(share)})
                if kind == "target":
                    trials.append(_target_trials(game, part, family, models, base))
                else:
                    points, where = np.unique(game.pairs, return_inverse=True)
                    total = family.losses(models, points).sum(axis=0, dtype=np.float64)
                    sums += total[where.reshape(game.pairs.shape)]
            if kind == "reference":
                references.append(
                    pd.DataFrame(
                        {"points": game.points, "game": game.name}
                        | {"trial": np.arange(len(game.pairs))}
                        | {"sum0": sums[:, 0], "sum1": sums[:, 1], "count": len(indices)}
                    )
                )
    return Played(
        pd.concat(trials, ignore_index=True)
        if trials
        else pd.DataFrame(columns=list(TRIAL_COLUMNS)),
        pd.concat(references, ignore_index=True),
        pd.DataFrame(accuracy, columns=["points", "game", "m", "kind", "model", "accuracy"]),
    )


def _base(pool: Pool, size: int) -> np.ndarray:
    if not 0 <= size <= len(pool.base):
        raise UserError(
            f"{size} base records of {len(pool.base)}; expected a training size "
            "(audit.games.<set>.base) of at least the largest m"
        )
    return pool.base[:size]


def _own_points(game: Game, kind: str, index: int, seed: int) -> np.ndarray:
    if kind == "target":
        return game.trained_on(index)
    fresh = generator(seed, "audit_reference_bits", points=game.points, game=game.name, model=index)
    return game.trained_on(index % game.models, fresh.integers(0, 2, game.m))


def _target_trials(
    game: Game, part: Sequence[int], family: Family, models: Any, base: np.ndarray
) -> pd.DataFrame:
    """Rows of the trials played on some target models."""
    trials = (np.array(part)[:, None] * game.m + np.arange(game.m)).ravel()
    owner = np.repeat(np.arange(len(part)), game.m)
    pairs = game.pairs[trials]
    points, where = np.unique(pairs, return_inverse=True)
    where = where.reshape(pairs.shape)
    losses = family.losses(models, points)
    loss0, loss1 = (losses[owner, where[:, side]] for side in (0, 1))
    ordered = np.sort(family.losses(models, base), axis=1)
    below = [
        np.searchsorted(ordered[k], value, side="right")
        for k, value in zip(owner, loss0, strict=True)
    ]
    rank0 = 100 * np.array(below) / max(len(base), 1)
    return pd.DataFrame(
        {"points": game.points, "game": game.name, "m": game.m, "trial": trials}
        | {"model": np.array(part)[owner]}
        | {"z0": pairs[:, 0], "z1": pairs[:, 1], "bit": game.bits[trials]}
        | {"loss0": loss0, "loss1": loss1, "rank0": rank0}
    )


def join_parts(parts: Sequence[Played]) -> Played:
    """The parts of one plan as if they had been played in one go, rows in order.

    Raises
    ------
    UserError
        a trial that no part or two parts hold.
    """
    trials = pd.concat([p.trials for p in parts if len(p.trials)], ignore_index=True)
    trials = trials.sort_values(["points", "game", "trial"], kind="stable", ignore_index=True)
    for name, rows in trials.groupby(["points", "game"]):
        if not np.array_equal(rows["trial"], np.arange(len(rows))):
            raise UserError(
                f"game {' '.join(name)}: trials are missing or occur twice; play all chunks once"
            )
    references = pd.concat([p.references for p in parts], ignore_index=True)
    references = references.groupby(["points", "game", "trial"], as_index=False)[
        ["sum0", "sum1", "count"]
    ].sum()
    accuracy = pd.concat([p.accuracy for p in parts], ignore_index=True)
    accuracy = accuracy.sort_values(["points", "game", "kind", "model"], ignore_index=True)
    return Played(trials, references, accuracy)
