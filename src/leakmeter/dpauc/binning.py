"""Where to put the thresholds of a released histogram.

Few bins tie many pairs (each counts as half), many bins add noise: at fixed noise per bin the
variance grows with their number. Under label DP scores are the same in neighbouring data sets, so
thresholds taken from the scores cost nothing (but they tell quantiles of the scores). Under
replacement of a record (score and label) they must be fixed in advance, or be chosen privately:

- :func:`private_quantiles`: recursive medians by the exponential mechanism, for whoever holds all
  scores (Kaplan, Schnapp and Stemmer, 2022);
- :func:`equal_mass_from_totals`: from a noisy histogram of the scores over a fine grid, which each
  client can add its own noise to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.dpauc.arguments import (
    check_integer,
    check_number,
    check_numbers,
    check_positive,
    seeded,
)
from leakmeter.runtime import UserError

#: Places among which a private median is drawn, as a fixed division of the range of the scores.
CELLS = 2**24
# Ends of a range whose length is still a double.
_LARGEST = 1e300


def equal_mass_thresholds(scores: ArrayLike, bins: int) -> np.ndarray:
    """Descending thresholds that split the scores into ``bins`` parts of nearly equal size.

    Fewer where scores are tied. The parts are those of ``score >= threshold``.
    """
    check_integer("bins", bins)
    ordered = np.sort(check_numbers("scores", scores))
    ranks = (np.arange(1, bins) * ordered.size) // bins
    return np.unique(ordered[ranks])[::-1].copy()


def equal_mass_from_totals(totals: ArrayLike, edges: ArrayLike, bins: int) -> np.ndarray:
    """Descending thresholds among the inner ``edges`` that split (noisy) totals evenly.

    Parameters
    ----------
    totals : (G,) records per cell of a fine grid, ascending, G >= 2; noise may have made them
        negative.
    edges : (G - 1,) ascending boundaries between the cells.
    """
    check_integer("bins", bins)
    totals, inner = check_numbers("totals", totals), check_numbers("edges", edges)
    if totals.size != inner.size + 1:
        raise UserError(
            f"totals has {totals.size} cells and edges has {inner.size} entries; "
            "expected one edge fewer than cells"
        )
    mass = np.cumsum(np.maximum(totals, 0.0))
    wanted = mass[-1] * np.arange(1, bins) / bins
    cells = np.searchsorted(mass[:-1], wanted)
    return inner[np.unique(np.minimum(cells, inner.size - 1))][::-1].copy()


def private_quantiles(
    scores: ArrayLike,
    depth: int,
    *,
    epsilon: float,
    low: float,
    high: float,
    seed: int | None = None,
) -> np.ndarray:
    """``2^depth - 1`` thresholds by recursive private medians, epsilon-DP for a replaced record.

    Each median is drawn from the exponential mechanism with utility minus the distance of its rank
    from the middle, among :data:`CELLS` fixed places between ``low`` and ``high``, so that no digit of
    a threshold depends on a score. The medians of one level work on disjoint parts: a replaced record
    changes the utility by at most 1 in one part, or by at most 1/2 in each of two, so a level costs
    epsilon / depth, and the levels compose. Chances are computed in double precision: the guarantee
    holds up to their rounding.

    Parameters
    ----------
    scores : (M,) numbers; those outside [low, high] count as at its ends.
    depth : number of levels; 2^depth bins.
    low, high : range of the scores, finite and known in advance.
    seed : for repeatable experiments; without it the operating system's randomness is used.

    Returns
    -------
    Descending thresholds; equal ones are merged, so there may be fewer.

    Raises
    ------
    UserError : a value out of range, no score, NaN.
    """
    check_positive("epsilon", epsilon)
    check_integer("depth", depth)
    for end, value in (("low", low), ("high", high)):
        check_number(f"{end} end of the range of the scores", value, -_LARGEST, _LARGEST)
    if not low < high:
        raise UserError(f"the range of the scores is [{low}, {high}]; expected low < high")
    rng = seeded(seed)
    clipped = np.clip(check_numbers("scores", scores, finite=False), low, high)
    cells = np.floor((clipped - low) / (high - low) * CELLS)
    parts = [(np.sort(cells), 0, CELLS)]
    found = []
    for _ in range(depth):
        halves = []
        for ordered, left, right in parts:
            middle = _private_median(ordered, left, right, epsilon / depth, rng)
            cut = np.searchsorted(ordered, middle, side="left")
            halves += [(ordered[:cut], left, middle), (ordered[cut:], middle, right)]
            found.append(middle)
        parts = halves
    return low + (high - low) * (np.unique(found)[::-1] / CELLS)


def median_law(
    ordered: np.ndarray, low: float, high: float, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Law of the private median: edges (n + 2,) of intervals and the chance (n + 1,) of each.

    Within an interval (excluding its lower end) the median is uniform. Chances are proportional to
    length times ``exp(epsilon * utility / 2)``; an interval between tied values has none.

    Parameters
    ----------
    ordered : (n,) ascending values in [low, high].
    low, high : ends, low < high.
    """
    edges = np.concatenate([[low], ordered, [high]])
    below = np.arange(ordered.size + 1)
    lengths = np.diff(edges)
    # ties may have the largest utility by far, but no length: they must not set the scale
    utility = np.where(lengths > 0, -np.abs(below - ordered.size / 2), -np.inf)
    weights = lengths * np.exp(epsilon / 2 * (utility - utility.max()))
    return edges, weights / weights.sum()


def _private_median(
    ordered: np.ndarray, low: int, high: int, epsilon: float, rng: np.random.Generator
) -> int:
    """One of the places low + 1 to high; ``high`` where there is none between."""
    if low == high:
        return high
    edges, chances = median_law(ordered, low, high, epsilon)
    chosen = np.searchsorted(np.cumsum(chances), rng.random(), side="right")
    chosen = min(chosen, np.flatnonzero(chances)[-1])  # the sum may round to less than 1
    left, right = edges[chosen], edges[chosen + 1]
    return int(left) + 1 + int(rng.random() * (right - left))


# --- optimal bins -------------------------------------------------------------------------------


def tie_losses(positives: ArrayLike, negatives: ArrayLike) -> np.ndarray:
    """(G + 1, G + 1) loss of merging cells i to j - 1 of a fine histogram into one bin.

    The pairs of the merged cells that are ranked correctly (ties inside a cell half), minus half
    of all their pairs. Over P N it is what the bin takes from the AUC. Cells are in descending
    order of the score; entries with i >= j are 0.
    """
    p, n = check_numbers("positives", positives), check_numbers("negatives", negatives)
    if p.size != n.size:
        raise UserError(
            f"positives has {p.size} cells and negatives has {n.size}; expected equal lengths"
        )
    above = np.concatenate([[0.0], np.cumsum(p)])
    seen = np.concatenate([[0.0], np.cumsum(n)])
    correct = np.concatenate([[0.0], np.cumsum(n * (above[:-1] + p / 2))])
    i, j = np.ix_(range(p.size + 1), range(p.size + 1))
    pairs = (above[j] - above[i]) * (seen[j] - seen[i])
    inside = correct[j] - correct[i] - above[i] * (seen[j] - seen[i])
    return np.where(j > i, inside - pairs / 2, 0.0)


def optimal_partition(positives: ArrayLike, negatives: ArrayLike, bins: int) -> np.ndarray:
    """Inner boundaries of the partition of a fine histogram that ties least, by dynamic programming.

    Minimises the sum over bins of ``|tie_losses|``, an upper bound on the bias of the AUC and equal
    to it where the curve is concave. It reads the labels, so it is a yardstick for other layouts,
    or a choice to be made on public data.

    Returns
    -------
    (bins - 1,) ascending integers: bin k holds cells ``[b[k - 1], b[k])``.
    """
    check_integer("bins", bins)
    cost = np.abs(tie_losses(positives, negatives))
    cells = cost.shape[0] - 1
    if bins > cells:
        raise UserError(f"bins is {bins}; expected at most the {cells} cells")
    cost[np.tril_indices(cells + 1)] = np.inf
    best, choices = cost[0], []
    for _ in range(bins - 1):
        sums = best[:, None] + cost
        choices.append(sums.argmin(axis=0))
        best = sums.min(axis=0)
    boundaries, at = [], cells
    for choice in reversed(choices):
        at = int(choice[at])
        boundaries.append(at)
    return np.array(boundaries[::-1], dtype=np.int64)
