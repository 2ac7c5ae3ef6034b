"""Every labeling that agrees with an AUC, one after the other, in constant memory.

A labeling with ``n0`` zeros, ``n1`` ones and ``d`` misranked pairs is a sequence of left-swaps
``n0 >= s_1 >= ... >= s_n1 >= 0`` with sum ``d``: one number ``i`` from the left stands ``s_i``
places left of its place ``n0 + i`` in the ordering without misranked pairs (Whitehill, arXiv
1709.02418). The sequences are walked depth first, but a block of prefixes at a time, so that each
step is a few NumPy calls; the state is one block of two columns per one, whatever the number of
labelings.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from leakmeter.labelings.aucs import AucInterval, auc_cells, parse_auc
from leakmeter.labelings.guesses import ranking_order

BLOCK = 4096


def left_swap_blocks(n0: int, n1: int, d: int, block: int = BLOCK) -> Iterator[np.ndarray]:
    """The sequences ``n0 >= s_1 >= ... >= s_n1 >= 0`` with sum ``d``, in lexicographic order.

    Yields
    ------
    (b, n1) int64 arrays with ``1 <= b <= block + n0``, each its own memory.
    """
    if n1 < 1 or not 0 <= d <= n0 * n1:
        return
    # Level j holds prefixes of j swaps: the last one, what is left of d, and the row of the
    # parent prefix in level j - 1. Level 0 is the empty prefix, whose "last swap" is the bound.
    last, left, parent, cursor = [np.array([n0])], [np.array([d])], [np.array([0])], [0]
    while last:
        level, start = len(last) - 1, cursor[-1]
        if level == n1:
            yield _trace(last, parent)
            start = len(last[-1])
        if start == len(last[-1]):
            for stack in (last, left, parent, cursor):
                stack.pop()
            continue
        rest, bound = left[-1][start:], last[-1][start:]
        # The next swap must leave no more than the remaining ones can take, each at most as much.
        low = -(-rest // (n1 - level))
        children = np.minimum(bound, rest) - low + 1
        rows = max(1, int(np.searchsorted(np.cumsum(children), block, side="right")))
        children, rest, low = children[:rows], rest[:rows], low[:rows]
        source = np.repeat(np.arange(rows), children)
        first = np.cumsum(children) - children
        swap = low[source] + np.arange(len(source)) - first[source]
        cursor[-1] = start + rows
        last.append(swap)
        left.append(rest[source] - swap)
        parent.append(source + start)
        cursor.append(0)


def _trace(last: list[np.ndarray], parent: list[np.ndarray]) -> np.ndarray:
    """Whole sequences of the prefixes in the deepest level, read back through their parents."""
    depth = len(last) - 1
    swaps = np.empty((len(last[depth]), depth), np.int64)
    rows = np.arange(len(last[depth]))
    for level in range(depth, 0, -1):
        swaps[:, level - 1] = last[level][rows]
        rows = parent[level][rows]
    return swaps


def enumerate_blocks(
    guesses: np.ndarray,
    auc: Fraction | AucInterval | float | str,
    n1: int | None = None,
    *,
    max_denominator: int | None = None,
    block: int = BLOCK,
) -> Iterator[np.ndarray]:
    """:func:`enumerate_labelings` in blocks, for vectorised use.

    Yields
    ------
    (b, n) uint8 arrays, ``1 <= b < block + n``, each its own memory.
    """
    order = ranking_order(guesses)
    if not isinstance(auc, AucInterval):
        auc = parse_auc(auc, max_denominator=max_denominator)
    return _blocks(order, auc_cells(len(order), auc, n1), block)


def _blocks(order: np.ndarray, cells: list, block: int) -> Iterator[np.ndarray]:
    n = len(order)
    for cell in cells:
        # Walk the minority class: fewer, longer steps. Exchanging the classes and reversing the
        # ranking keeps the misranked pairs.
        exchanged = cell.n1 > cell.n0
        n0, n1 = max(cell.n0, cell.n1), min(cell.n0, cell.n1)
        place = order[::-1] if exchanged else order
        for d in range(cell.d_low, cell.d_high + 1):
            for swaps in left_swap_blocks(n0, n1, d, block):
                labelings = np.full((len(swaps), n), exchanged, np.uint8)
                columns = place[n0 + np.arange(n1) - swaps]
                labelings[np.arange(len(swaps))[:, None], columns] = not exchanged
                yield labelings


def enumerate_labelings(
    guesses: np.ndarray,
    auc: Fraction | AucInterval | float | str,
    n1: int | None = None,
    *,
    max_denominator: int | None = None,
) -> Iterator[np.ndarray]:
    """Each labeling that agrees with the AUC of ``guesses``, exactly once.

    Parameters
    ----------
    guesses : (n,) distinct finite numbers, in any order.
    auc : the exact AUC as a fraction, an interval for a rounded one, or a decimal together with
        ``max_denominator`` (see :func:`~leakmeter.labelings.aucs.parse_auc`).
    n1 : number of ones if known.
    max_denominator : largest denominator of the fraction a decimal AUC stands for.

    Yields
    ------
    (n,) uint8 arrays of 0/1 in the order of ``guesses``, each its own memory. Memory is constant:
    ``O(n)`` per row of a block of fixed size.

    Raises
    ------
    UserError
        At the call, not at the first item: tied or non-finite guesses, ``n1`` that leaves a class
        empty, an AUC that is no fraction in [0, 1].

    Examples
    --------
    >>> [y.tolist() for y in enumerate_labelings([0.2, 0.5, 0.9, 0.1], Fraction(3, 4))]
    [[1, 0, 1, 0]]
    """
    blocks = enumerate_blocks(guesses, auc, n1, max_denominator=max_denominator)
    return (row.copy() for labelings in blocks for row in labelings)
