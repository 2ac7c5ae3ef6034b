"""The counts of the authors' own model, recovered from the ROC figure they released.

The figure shows one noisy DPAUC curve (a row of the file is one marker). Its coordinates give, for
each threshold, ``P * TPR`` and ``N * FPR`` with the noise the authors added: Laplace(1/eps') from
each of K clients on each count, K and eps' being stated in the file. Three uncertainties follow and
are simulated here, so that every comparison built on these counts can include them:

- measurement: the noise of each count. With a, b the noise on TP and FN, the figure shows
  ``P (TP + a) / (P + a + b)``, which is ``TP + (1 - t) a - t b`` to first order at TPR t. Its
  standard deviation is ``sqrt(2 K) / eps' * sqrt((1 - t)^2 + t^2)``: the full noise at the ends of
  the curve, 1/sqrt(2) of it in the middle;
- interpolation: at a threshold between two of the figure's, only the number of records between
  those two is known. How many lie above the threshold is binomial;
- the ends of the curve: totals were clipped at 0 and the points sorted by noisy FPR, so where the
  true counts are below the noise the markers show order statistics of clipped noise. There one
  common count is estimated for the whole end (:meth:`Reconstruction._settle_ends`).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq, isotonic_regression
from scipy.special import ndtr

from leakmeter.dpauc.counting import Counts, check_thresholds
from leakmeter.dpauc.precision_at_k import TopK
from leakmeter.dpauc.roc import AUTHORS, CurveOptions, auc_from_totals
from leakmeter.dpauc.threshold_layouts import thresholds as layout_thresholds
from leakmeter.runtime import UserError

_COLUMNS = ("threshold", "fpr", "tpr", "fp_count", "tp_count", "note")
_NOISE = re.compile(r"K=(\d+) Laplace eps=([\d.]+) per count")

# An end of the curve is unresolved as far as counts stay within this many standard deviations of the
# noise; the largest of some tens of noise values stays below it.
_RESOLVED = 4.0

# Points per bin at which the smooth curve is tabulated when scores are drawn from it.
_FINE = 16


@dataclass(frozen=True)
class SourceUncertainty:
    """Noise-free AUC of the authors' model at a layout, as far as the figure determines it.

    Attributes
    ----------
    auc : mean over simulated sources.
    sd : their standard deviation; ``sd_measurement`` the part due to the figure's noise alone.
    """

    auc: float
    sd: float
    sd_measurement: float


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Measured counts of the authors' model at the figure's thresholds.

    Attributes
    ----------
    thresholds : (T,) descending, from 1 to 0, with duplicates.
    tp, fp : (T,) float64, measured counts (noisy).
    positives, negatives : class sizes P and N.
    clients, epsilon_per_count : K and eps' of the noise in the figure.
    """

    thresholds: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    positives: int
    negatives: int
    clients: int
    epsilon_per_count: float

    # --- at the figure's own thresholds ---------------------------------------------------------

    @property
    def noise_sd(self) -> tuple[np.ndarray, np.ndarray]:
        """Standard deviations (T,) of the noise in ``tp`` and ``fp``."""
        return tuple(
            self._sd * np.hypot(1 - count / size, count / size)
            for count, size in ((self.tp, self.positives), (self.fp, self.negatives))
        )

    @property
    def _sd(self) -> float:
        """Standard deviation of the noise on one of the four counts, summed over clients."""
        return math.sqrt(2 * self.clients) / self.epsilon_per_count

    @cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct thresholds, ascending, and the index of each threshold's distinct value."""
        return np.unique(self.thresholds, return_inverse=True)

    @cached_property
    def _estimate(self) -> tuple[np.ndarray, np.ndarray]:
        """Best estimates of TP and FP at the distinct thresholds, ascending; integers."""
        return tuple(
            self._regular(self._settle_ends(measured, measured, size), size)
            for measured, size in ((self.tp, self.positives), (self.fp, self.negatives))
        )

    def _unresolved(self, distance: np.ndarray) -> int:
        """How many leading thresholds have counts that the noise may have made."""
        return int(np.logical_and.accumulate(distance < _RESOLVED * self._sd).sum())

    def _settle_ends(
        self,
        counts: np.ndarray,
        measured: np.ndarray,
        size: int,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """``counts`` (T,) with the unresolved ends of ``measured`` replaced by one level each.

        The level mu >= 0 is the one whose clipped noisy value ``max(0, mu + noise)`` has the mean
        seen in the end (noise taken as normal: it is a sum over K clients); the order of the
        points plays no part in it. With ``rng`` the mean is that of a bootstrap sample.
        """
        counts = counts.copy()
        for distance, inward in ((measured, slice(None)), (size - measured, slice(None, None, -1))):
            ordered = distance[inward]
            end = self._unresolved(ordered)
            if end == 0:
                continue
            sample = ordered[:end] if rng is None else rng.choice(ordered[:end], end)
            level = _unclipped_mean(float(sample.mean()), self._sd)
            counts[inward][:end] = level if inward.step is None else size - level
        return counts

    def _regular(self, measured: np.ndarray, size: int) -> np.ndarray:
        """Closest possible counts: equal at duplicates, falling with the threshold, in [0, size]."""
        grid, index = self._grid
        weight = np.bincount(index)
        mean = np.bincount(index, weights=measured) / weight
        fitted = isotonic_regression(mean, weights=weight, increasing=False).x
        counts = np.rint(np.clip(fitted, 0, size)).astype(np.int64)
        # Scores are probabilities, so none lies below a threshold of 0.
        counts[grid <= 0] = size
        return counts

    # --- at any thresholds ----------------------------------------------------------------------

    def counts_at(self, thresholds: ArrayLike) -> Counts:
        """Best estimate of the model's counts at other thresholds (T,), clients pooled.

        Monotone cubic interpolation (PCHIP) of TP and FP between the figure's thresholds. Above 1
        nothing is predicted positive, at 0 and below everything is.
        """
        thresholds = check_thresholds(thresholds)
        tp, fp = (
            np.rint(self._curve(counts, thresholds, size)).astype(np.int64)
            for counts, size in zip(self._estimate, self._sizes, strict=True)
        )
        return Counts(tp=tp, fp=fp, tn=self.negatives - fp, fn=self.positives - tp)

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.positives, self.negatives

    def _curve(self, counts: np.ndarray, thresholds: np.ndarray, size: int) -> np.ndarray:
        grid, _ = self._grid
        inside = PchipInterpolator(grid, counts)(np.clip(thresholds, grid[0], grid[-1]))
        return np.where(thresholds > grid[-1], 0.0, np.where(thresholds <= 0, size, inside))

    def draw_counts(
        self, thresholds: ArrayLike, *, draws: int, seed: int, interpolation: bool = True
    ) -> np.ndarray:
        """Counts the model may have had, given the figure: (draws, 4, T), order tp, fp, tn, fn.

        Parameters
        ----------
        thresholds : (T,) descending.
        draws : number of simulated sources.
        seed : of the generator.
        interpolation : simulate the binomial spread between the figure's thresholds too; without
            it only the measurement noise is drawn.
        """
        thresholds = check_thresholds(thresholds)
        rng = np.random.default_rng(seed)
        tp, fp = (
            self._draw_class(
                rng, measured, best, size, thresholds, draws, interpolation=interpolation
            )
            for measured, best, size in zip(
                (self.tp, self.fp), self._estimate, self._sizes, strict=True
            )
        )
        return np.stack([tp, fp, self.negatives - fp, self.positives - tp], axis=1)

    def source_sd(
        self,
        thresholds: ArrayLike,
        *,
        seed: int,
        draws: int = 400,
        options: CurveOptions = AUTHORS,
    ) -> SourceUncertainty:
        """How far the figure determines the noise-free AUC at a layout."""
        both = auc_from_totals(self.draw_counts(thresholds, draws=draws, seed=seed), options)
        measured = auc_from_totals(
            self.draw_counts(thresholds, draws=draws, seed=seed, interpolation=False), options
        )
        return SourceUncertainty(
            float(both.mean()), float(both.std(ddof=1)), float(measured.std(ddof=1))
        )

    def _draw_grid(
        self, rng: np.random.Generator, measured: np.ndarray, size: int, draws: int
    ) -> np.ndarray:
        """(draws, D) counts at the distinct thresholds, ascending, given the measured ones."""
        share = measured / size
        shape = (draws, measured.size)
        on_hit = rng.standard_gamma(self.clients, shape) - rng.standard_gamma(self.clients, shape)
        on_miss = rng.standard_gamma(self.clients, shape) - rng.standard_gamma(self.clients, shape)
        noise = ((1 - share) * on_hit - share * on_miss) / self.epsilon_per_count
        return np.stack(
            [
                self._regular(self._settle_ends(measured - row, measured, size, rng), size)
                for row in noise
            ]
        )

    def _draw_class(
        self,
        rng: np.random.Generator,
        measured: np.ndarray,
        best: np.ndarray,
        size: int,
        thresholds: np.ndarray,
        draws: int,
        *,
        interpolation: bool,
    ) -> np.ndarray:
        """(draws, T) counts of one class."""
        grid, _ = self._grid
        known = self._draw_grid(rng, measured, size, draws)
        result = np.where(thresholds > grid[-1], 0, size) * np.ones((draws, 1), np.int64)
        below = np.searchsorted(grid, thresholds, side="right") - 1
        inside = (thresholds <= grid[-1]) & (thresholds > 0)
        for cell in np.unique(below[inside]):
            at = np.flatnonzero(inside & (below == cell))
            if cell == grid.size - 1:
                result[:, at] = known[:, [cell]]
                continue
            in_cell = known[:, cell] - known[:, cell + 1]
            share = self._share_above(best, thresholds[at], cell)
            if interpolation:
                # Shares of the records from the upper end down to each threshold, then the rest.
                parts = np.diff(share, prepend=0.0, append=1.0)
                above = np.cumsum(rng.multinomial(in_cell, parts), axis=1)[:, :-1]
            else:
                above = np.rint(in_cell[:, None] * share)
            result[:, at] = known[:, [cell + 1]] + above
        return result

    def _share_above(self, best: np.ndarray, thresholds: np.ndarray, cell: int) -> np.ndarray:
        """Expected share of the records of a grid cell at or above thresholds inside it."""
        grid, _ = self._grid
        low, high = best[cell], best[cell + 1]
        if low == high:  # an empty cell has no shape
            share = (grid[cell + 1] - thresholds) / (grid[cell + 1] - grid[cell])
        else:
            share = (PchipInterpolator(grid, best)(thresholds) - high) / (low - high)
        return np.clip(share, 0.0, 1.0)

    # --- records --------------------------------------------------------------------------------

    def pseudo_scores(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Records with the estimated counts: scores (M,) float64 in [0, 1], labels (M,) int8.

        Each class has exactly its estimated number of records between neighbouring thresholds of
        the figure, placed there at random along the interpolated curve. Rows are in random order.
        """
        rng = np.random.default_rng(seed)
        scores = [
            self._place(rng, best, size)
            for best, size in zip(self._estimate, self._sizes, strict=True)
        ]
        labels = np.repeat(np.array([1, 0], np.int8), self._sizes)
        order = rng.permutation(labels.size)
        return np.concatenate(scores)[order], labels[order]

    def _place(self, rng: np.random.Generator, best: np.ndarray, size: int) -> np.ndarray:
        grid, _ = self._grid
        # Ascending in score: how many records lie below each fine grid point.
        steps = np.arange(_FINE) / _FINE
        fine = np.append((grid[:-1, None] + steps * np.diff(grid)[:, None]).ravel(), grid[-1])
        below = size - PchipInterpolator(grid, best)(fine)
        in_cell = -np.diff(best)
        rank = np.repeat(size - best[:-1], in_cell) + rng.random(in_cell.sum()) * np.repeat(
            in_cell, in_cell
        )
        cell = np.repeat(np.arange(in_cell.size), in_cell)
        inside = np.interp(rank, below, fine)
        # Rounding must not move a record to a neighbouring cell: its upper end belongs to the next.
        inside = np.clip(inside, grid[cell], np.nextafter(grid[cell + 1], 0))
        return np.concatenate([inside, np.full(best[-1], grid[-1])])

    def topk(self, ks: Iterable[int], *, draws: int = 400, seed: int) -> tuple[TopK, np.ndarray]:
        """Labels among the K highest scores, as far as the figure determines them.

        Records of one grid cell are in random order, so the positives among those of the cell that
        reach the top K are hypergeometric. The unresolved top end of the curve is one cell with the
        first resolved one: the figure does not tell the order of its few records.

        Returns
        -------
        TopK with the mean number of positives over ``draws`` sources, and its standard deviations.
        """
        ks = np.asarray(list(ks), dtype=np.int64)
        if ks.min() < 1 or ks.max() > self.positives + self.negatives:
            raise UserError(
                f"ks ranges from {ks.min()} to {ks.max()};"
                f" expected 1 to {self.positives + self.negatives}"
            )
        rng = np.random.default_rng(seed)
        end = max(self._unresolved(self.tp), self._unresolved(self.fp))
        skip = np.unique(self.thresholds[:end]).size
        tp, fp = (
            np.pad(self._draw_grid(rng, measured, size, draws)[:, ::-1][:, skip:], ((0, 0), (1, 0)))
            for measured, size in zip((self.tp, self.fp), self._sizes, strict=True)
        )
        total = tp + fp
        positives = np.empty((draws, ks.size))
        for d in range(draws):
            cell = np.searchsorted(total[d], ks, side="left") - 1  # total[cell] < k <= next
            hits = rng.hypergeometric(
                tp[d, cell + 1] - tp[d, cell], fp[d, cell + 1] - fp[d, cell], ks - total[d, cell]
            )
            positives[d] = tp[d, cell] + hits
        mean = positives.mean(axis=0)
        return TopK(ks, mean, mean / ks, mean / self.positives), positives.std(axis=0, ddof=1)


def _unclipped_mean(mean: float, sd: float) -> float:
    """The mu >= 0 for which max(0, mu + sd Z), Z standard normal, has the given mean."""

    def clipped(mu: float) -> float:
        return mu * ndtr(mu / sd) + sd * math.exp(-0.5 * (mu / sd) ** 2) / math.sqrt(2 * math.pi)

    if mean <= clipped(0.0):
        return 0.0
    return brentq(lambda mu: clipped(mu) - mean, 0.0, mean)


def load_reconstruction(path: str | PathLike) -> Reconstruction:
    """Read the released curve: a CSV with threshold, fpr, tpr, fp_count, tp_count and note.

    The class sizes are the counts of the points whose rate is 1; K and eps' are read from the note.

    Raises
    ------
    UserError : no such file, a missing column, a field that is not a number, no rate of 1, a note
        that does not state the noise, thresholds not descending from 1 to 0.
    """
    columns: dict[str, list] = {name: [] for name in _COLUMNS}
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            reader = csv.DictReader(handle)
            missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UserError(
                    f"{path}: column {missing[0]!r} is missing; found {reader.fieldnames}"
                )
            for row in reader:
                for name in _COLUMNS:
                    value = row[name]
                    columns[name].append(
                        value if name == "note" else _number(value, path, reader.line_num, name)
                    )
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    stated = {match.groups() if match else None for match in map(_NOISE.search, columns["note"])}
    if len(stated) != 1 or None in stated:
        raise UserError(f"{path}: expected one 'K=... Laplace eps=... per count' in every note")
    clients, epsilon = stated.pop()
    arrays = {name: np.array(columns[name]) for name in _COLUMNS if name != "note"}
    grid = check_thresholds(arrays["threshold"])
    if grid[0] != 1 or grid[-1] != 0:
        raise UserError(
            f"{path}: thresholds run from {grid[0]} to {grid[-1]}; expected 1 down to 0"
        )
    layout = layout_thresholds(grid.size)
    if layout.size == grid.size and np.allclose(layout, grid, rtol=0, atol=1e-9):
        grid = layout  # the file rounds them to ten decimals
    return Reconstruction(
        thresholds=grid,
        tp=arrays["tp_count"],
        fp=arrays["fp_count"],
        positives=_class_size(path, "tpr", arrays["tpr"], arrays["tp_count"]),
        negatives=_class_size(path, "fpr", arrays["fpr"], arrays["fp_count"]),
        clients=int(clients),
        epsilon_per_count=float(epsilon),
    )


def _number(text: str | None, path: str | PathLike, line: int, column: str) -> float:
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{path}:{line}: {column} is {text!r}; expected a number")
    return value


def _class_size(path: str | PathLike, name: str, rates: np.ndarray, counts: np.ndarray) -> int:
    sizes = np.unique(counts[rates == 1])
    if sizes.size != 1 or sizes[0] != round(sizes[0]):
        raise UserError(
            f"{path}: expected one whole count where {name} is 1, the class size; found {sizes.tolist()}"
        )
    return int(sizes[0])
