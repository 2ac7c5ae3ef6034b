"""The strongest game on one label, played against the mechanisms for an AUC as they release.

A challenger and an adversary agree on all records of a client but one label. The challenger draws
that label by a fair coin, lets the mechanism run and hands over everything the mechanism sends to
the server; the adversary names the label. Nothing stronger fits label differential privacy: the
adversary knows all other labels and all scores, the message is that of the client itself (what the
server adds up, or publishes, is computed from it), and the decision is the likelihood-ratio test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leakmeter.dpauc.counting import Counts, count
from leakmeter.dpauc.discrete_noise import Noise
from leakmeter.dpauc.mechanisms import laplace_release
from leakmeter.dpauc.randomized import flip_labels
from leakmeter.dpauc.roc import CurveOptions, auc_from_totals
from leakmeter.runtime import UserError, derive_seed, generator

#: What the adversary sees of a DPAUC release.
OBSERVERS = {
    "server": "the client's noisy counts; the likelihood-ratio test",
    "auc": "the published AUC alone, of this one client; a threshold on it",
}
#: How the AUC is formed from noisy counts: of all choices the one that noise disturbs least.
CURVE = CurveOptions(sort="monotone", end_points=True)
# Trials drawn at once; part of the result, since each block has its own seed.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class LabelGame:
    """A client's records, one of which has the secret label.

    Attributes
    ----------
    scores : (M,) in [0, 1]. labels : (M,) of 0 and 1. secret : index of the record whose label is
    drawn. The other labels hold both classes.
    """

    scores: np.ndarray
    labels: np.ndarray
    secret: int

    def __post_init__(self) -> None:
        others = np.delete(self.labels, self.secret)
        if len(np.unique(others)) < 2:
            raise UserError("labels: expected both classes beside the secret label")

    def counts(self, thresholds: np.ndarray) -> tuple[Counts, Counts]:
        """The exact counts if the secret label is 0 and if it is 1."""
        worlds = []
        for bit in (0, 1):
            labels = np.array(self.labels)
            labels[self.secret] = bit
            worlds.append(count(self.scores, labels, thresholds))
        return worlds[0], worlds[1]


def evenly_spaced_game(records: int) -> LabelGame:
    """A client without data: evenly spaced scores, alternating labels, the highest score secret.

    The law of the server's loss depends on neither scores, labels nor position (two counts move by
    1 at every threshold). For the AUC alone the highest score matters most.
    """
    if records < 4:
        raise UserError(f"records is {records}; expected at least 4")
    rank = np.arange(records)
    return LabelGame((rank + 0.5) / records, rank % 2, records - 1)


def uniform_thresholds(n: int) -> np.ndarray:
    """(n,) descending thresholds that cut [0, 1] in n + 1 equal parts."""
    return np.arange(n, 0, -1) / (n + 1)


def laplace_loss(
    release: np.ndarray, if_zero: Counts, if_one: Counts, epsilon_per_count: float
) -> np.ndarray:
    """Privacy loss of noisy counts (..., 4, T): ``eps' sum(|x - c_0| - |x - c_1|)``, (...)

    A count that the label does not move adds nothing. One that it moves adds
    ``eps' clip(2 u - 1, -1, 1)``, u being the distance from c_0 in the direction of c_1; in this
    form the two ends are exact.
    """
    zero, one = if_zero.stacked(), if_one.stacked()
    step = one - zero
    if np.abs(step).max() > 1:
        raise ValueError("a label moves a count by at most 1")
    moved = step != 0
    along = (release[..., moved] - zero[moved]) * step[moved]
    return epsilon_per_count * np.clip(2.0 * along - 1.0, -1.0, 1.0).sum(axis=-1)


def play_laplace(
    game: LabelGame,
    *,
    thresholds: np.ndarray,
    epsilon_per_count: float,
    observer: str,
    trials: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Bits and statistics (trials,) of independent rounds against DPAUC_Lap.

    Every trial is one client of :func:`~leakmeter.dpauc.mechanisms.laplace_release`: clients draw
    their noise independently.

    Parameters
    ----------
    observer : a key of :data:`OBSERVERS`; the statistic is the loss, or the AUC.
    """
    if observer not in OBSERVERS:
        raise UserError(f"observer is {observer!r}; expected one of {', '.join(OBSERVERS)}")
    worlds = game.counts(thresholds)
    stacked = [{name: getattr(w, name) for name in ("tp", "fp", "tn", "fn")} for w in worlds]
    bits, statistics = [], []
    for block, size in _blocks(trials):
        drawn = generator(seed, "label_game_bits", block=block).integers(0, 2, size)
        clients = Counts(
            **{n: np.where(drawn[:, None] == 1, stacked[1][n], stacked[0][n]) for n in stacked[0]}
        )
        noise = derive_seed(seed, "label_game_noise", block=block)
        release = laplace_release(clients, epsilon_per_count=epsilon_per_count, seed=noise)
        if observer == "server":
            statistics.append(laplace_loss(release, *worlds, epsilon_per_count))
        else:
            statistics.append(auc_from_totals(release, CURVE))
        bits.append(drawn)
    return np.concatenate(bits), np.concatenate(statistics)


def play_response(
    *, epsilon: float, releases: int, flip: str, trials: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bits and losses (trials,) of rounds against randomised response.

    Parameters
    ----------
    releases : how often the client's labels are sent. flip : ``"once"`` (the same flipped labels
        each time) or ``"per-repeat"`` (flipped anew each time).
    """
    if flip not in ("once", "per-repeat"):
        raise UserError(f"flip is {flip!r}; expected once or per-repeat")
    seen = releases if flip == "per-repeat" else 1
    bits, losses = [], []
    for block, size in _blocks(trials):
        drawn = generator(seed, "label_game_bits", block=block).integers(0, 2, size)
        rng = generator(seed, "label_game_flips", block=block)
        sent = flip_labels(np.repeat(drawn[:, None] == 1, seen, axis=1), epsilon, rng)
        bits.append(drawn)
        losses.append(epsilon * (2.0 * sent.sum(axis=1) - seen))
    return np.concatenate(bits), np.concatenate(losses)


def play_histogram(*, epsilon: float, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits and losses (trials,) of rounds against the label histogram with discrete noise.

    Of all counts only two depend on the secret label: the positives and the negatives of the
    record's bin, which get discrete Laplace noise at ``epsilon / 2`` each. The others are noise
    that the adversary can subtract.
    """
    unit = Noise("discrete", epsilon / 2)
    bits, losses = [], []
    for block, size in _blocks(trials):
        drawn = generator(seed, "label_game_bits", block=block).integers(0, 2, size)
        rng = generator(seed, "label_game_noise", block=block)
        seen = np.stack([drawn, 1 - drawn], axis=1) + unit.released(rng, (size, 2))[0]
        # |x - c_0| - |x - c_1| for (c_0, c_1) = (0, 1) and (1, 0)
        signs = np.clip(2.0 * seen - 1.0, -1.0, 1.0)
        bits.append(drawn)
        losses.append(unit.parameter * (signs[:, 0] - signs[:, 1]))
    return np.concatenate(bits), np.concatenate(losses)


def _blocks(trials: int) -> Iterator[tuple[int, int]]:
    for block, start in enumerate(range(0, trials, _BLOCK)):
        yield block, min(_BLOCK, trials - start)
