"""Labelings drawn uniformly from all those that agree with an AUC, by unranking exact counts.

A labeling is found from its number among all of them: at each rank, from the lowest up, the
labelings that have a one there come first, and their number is a coefficient of a smaller Gaussian
binomial. The polynomials of one rank follow from those of the previous one by one product and one
division, so a draw needs no table.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from leakmeter.labelings.aucs import AucInterval, auc_cells
from leakmeter.labelings.counting import cell_counts, coefficients
from leakmeter.labelings.guesses import ranking_order
from leakmeter.labelings.packed import PackedSeries
from leakmeter.runtime import UserError


@dataclass
class _Walker:
    """One labeling under construction: its row, what is left of its number and of ``d``."""

    row: int
    number: int
    d: int


def unrank(n0: int, n1: int, d: int, numbers: Sequence[int]) -> np.ndarray:
    """The labelings with the given numbers among the ``v(n0, n1, d)`` of them.

    Parameters
    ----------
    n0, n1, d : class sizes and misranked pairs.
    numbers : integers in ``[0, v(n0, n1, d))``, any order, repeats allowed.

    Returns
    -------
    (len(numbers), n0 + n1) uint8 in ascending rank of the guesses. Numbers ascend with the
    labeling read as a word in which a one comes before a zero.
    """
    n = n0 + n1
    labels = np.zeros((len(numbers), n), np.uint8)
    width = PackedSeries.for_values_up_to(math.comb(n, n1), d + 1).width
    values = coefficients(n0, n1, d)
    total = values[d] if 0 <= d <= n0 * n1 else 0
    if any(not 0 <= number < total for number in numbers):
        raise ValueError(f"numbers: expected integers in [0, {total})")
    walkers = {n1: [_Walker(row, number, d) for row, number in enumerate(numbers)]}
    series = {n1: PackedSeries(width, d + 1).pack(values)}
    for place in range(n if len(numbers) else 0):
        walkers, series = _step(labels, place, walkers, series, width)
    return labels


def _step(
    labels: np.ndarray,
    place: int,
    walkers: dict[int, list[_Walker]],
    series: dict[int, int],
    width: int,
) -> tuple[dict[int, list[_Walker]], dict[int, int]]:
    """Fix the labels at one rank; walkers and polynomials are keyed by the ones left to place."""
    rest = labels.shape[1] - place
    # One length for all: the polynomial of a state serves walkers that come from two states.
    ring = PackedSeries(width, max(w.d for group in walkers.values() for w in group) + 1)
    moved: dict[int, list[_Walker]] = defaultdict(list)
    following: dict[int, int] = {}
    for ones, group in walkers.items():
        zeros = rest - ones
        # [rest; ones] (1 - x^ones) / (1 - x^rest) = [rest - 1; ones - 1], and likewise for zeros.
        with_one = ring.over_one_minus(ring.times_one_minus(series[ones], ones), rest)
        for walker in group:
            # A one placed here stands before every zero left.
            left = walker.d - zeros
            first = ring.unpack(with_one, left, left)[0] if left >= 0 else 0
            if walker.number < first:
                labels[walker.row, place] = 1
                walker.d = left
                moved[ones - 1].append(walker)
                following[ones - 1] = with_one
            else:
                walker.number -= first
                moved[ones].append(walker)
        if ones in moved and ones not in following:
            with_zero = ring.times_one_minus(series[ones], zeros)
            following[ones] = ring.over_one_minus(with_zero, rest)
    return moved, following


def sample_labelings(
    guesses: np.ndarray,
    auc: Fraction | AucInterval,
    size: int,
    rng: np.random.Generator,
    n1: int | None = None,
) -> np.ndarray:
    """Independent labelings, each uniform over all that agree with the AUC of ``guesses``.

    Parameters
    ----------
    guesses : (n,) distinct finite numbers.
    auc, n1 : as for :func:`~leakmeter.labelings.counting.count_for_auc`.
    size : number of draws.
    rng : source of randomness.

    Returns
    -------
    (size, n) uint8 in the order of ``guesses``.

    Raises
    ------
    UserError
        If no labeling has this AUC.
    """
    order = ranking_order(guesses)
    n = len(order)
    sets = [
        (cell.n0, cell.n1, cell.d_low + at, value)
        for cell, values in cell_counts(auc_cells(n, auc, n1))
        for at, value in enumerate(values)
    ]
    if not sets:
        raise UserError(f"auc={auc}: no labeling of {n} records has this AUC")
    ends = list(accumulate(value for *_, value in sets))
    chosen: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in range(size):
        number = random_below(ends[-1], rng)
        at = bisect_right(ends, number)
        chosen[at].append((row, number - (ends[at - 1] if at else 0)))
    labels = np.empty((size, n), np.uint8)
    for at, draws in chosen.items():
        rows = np.array([row for row, _ in draws])
        labels[rows[:, None], order] = unrank(*sets[at][:3], [number for _, number in draws])
    return labels


def random_below(bound: int, rng: np.random.Generator) -> int:
    """A uniform integer in ``[0, bound)`` of any size, by rejection."""
    bits = (bound - 1).bit_length()
    size = -(-bits // 8)
    while True:
        value = int.from_bytes(rng.bytes(size), "little") >> (8 * size - bits)
        if value < bound:
            return value
