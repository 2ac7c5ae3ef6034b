"""How many labelings agree with an AUC: exact integers of any size.

``v(n0, n1, d)``, the number of labelings with ``n0`` zeros, ``n1`` ones and ``d`` misranked pairs,
is the coefficient of ``x^d`` in the Gaussian binomial ``[n0 + n1; n1]`` (Whitehill, arXiv
1709.02418, gives a recurrence for it; see :mod:`leakmeter.labelings.reference`).
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from leakmeter.labelings.aucs import AucInterval, Cell, auc_cells
from leakmeter.labelings.gaussian import gaussian_chain, half_gaussian


def _sizes(n0: int, n1: int) -> tuple[int, int]:
    n0, n1 = operator.index(n0), operator.index(n1)
    if n0 < 0 or n1 < 0:
        raise ValueError(f"class sizes n0={n0}, n1={n1}: expected non-negative integers")
    return n0, n1


def count(n0: int, n1: int, d: int) -> int:
    """Number of labelings with ``n0`` zeros, ``n1`` ones and exactly ``d`` misranked pairs.

    Zero for ``d < 0`` and ``d > n0 n1``; one for ``d = 0``, also when a class is empty.

    Examples
    --------
    >>> count(40, 36, 53)
    328744
    """
    n0, n1 = _sizes(n0, n1)
    d = operator.index(d)
    d = min(d, n0 * n1 - d)
    if d < 0:
        return 0
    return half_gaussian(n0, n1, d).integers(d, d)[0]


def coefficients(n0: int, n1: int, limit: int | None = None) -> list[int]:
    """``count(n0, n1, d)`` for ``d = 0 .. limit`` (default: all, ``0 .. n0 n1``)."""
    n0, n1 = _sizes(n0, n1)
    limit = n0 * n1 if limit is None else min(operator.index(limit), n0 * n1)
    if limit < 0:
        return []
    return half_gaussian(n0, n1, limit).integers(0, limit)


def cell_counts(cells: Iterable[Cell]) -> Iterator[tuple[Cell, list[int]]]:
    """For each cell, the counts for ``d_low .. d_high``; all cells must have the same ``n0 + n1``.

    One chain over the class sizes serves every cell, so the class size being unknown costs no more
    than its being known. Cells come in ascending size of the smaller class, not in input order.
    """
    by_minority: dict[int, list[Cell]] = defaultdict(list)
    limits: dict[int, int] = {}
    n = 0
    for cell in cells:
        n = cell.n0 + cell.n1
        k = min(cell.n0, cell.n1)
        by_minority[k].append(cell)
        limits[k] = max(limits.get(k, 0), _reach(cell))
    for k, half in gaussian_chain(n, limits):
        for cell in by_minority[k]:
            yield cell, half.integers(cell.d_low, cell.d_high)


def _reach(cell: Cell) -> int:
    """Highest exponent needed of the lower half of the cell's palindromic polynomial."""
    middle = cell.n0 * cell.n1 // 2
    below, above = min(cell.d_high, middle), cell.n0 * cell.n1 - max(cell.d_low, middle)
    if cell.d_high <= middle:
        return below
    return above if cell.d_low > middle else middle


def count_for_auc(n: int, auc: Fraction | AucInterval, n1: int | None = None) -> int:
    """Number of labelings of ``n`` records that agree with an AUC, ``w(n, c)`` in the paper.

    Parameters
    ----------
    n : number of records.
    auc : the exact AUC ``p/q``, or an :class:`~leakmeter.labelings.aucs.AucInterval` for a rounded
        one (:func:`~leakmeter.labelings.aucs.rounded_auc`).
    n1 : number of ones if known; otherwise all class sizes are summed, both orders included.

    Examples
    --------
    >>> count_for_auc(106, Fraction(1387, 1440))
    468686
    """
    return sum(sum(values) for _, values in cell_counts(auc_cells(n, auc, n1)))


def rows_for_auc(sizes: Iterable[int], auc: Fraction) -> list[dict[str, int]]:
    """The terms of ``w(n, p/q)`` for each ``n`` in ``sizes``; an ``n`` with ``w = 0`` has no row.

    Returns
    -------
    rows with keys ``p, q, n, w, n0, n1, multiple, d, count``: ``multiple`` is ``n0 n1 / q``,
    ``count`` is ``v(n0, n1, d)`` and ``w`` its sum over the rows of the same ``n``. Within an ``n``
    rows ascend in ``n1``.
    """
    p, q = auc.numerator, auc.denominator
    rows = []
    for n in sizes:
        terms = [(cell, values[0]) for cell, values in cell_counts(auc_cells(n, auc))]
        total = sum(value for _, value in terms)
        rows += [
            {
                "p": p,
                "q": q,
                "n": n,
                "w": total,
                "n0": cell.n0,
                "n1": cell.n1,
                "multiple": cell.n0 * cell.n1 // q,
                "d": cell.d_low,
                "count": value,
            }
            for cell, value in sorted(terms, key=lambda term: term[0].n1)
        ]
    return rows


def growth_rows(auc: Fraction, multiples: Iterable[int]) -> list[dict[str, object]]:
    """Growth of ``w(n, p/q)`` along ``n = 4 q t``, exponential by the result the paper cites.

    Returns
    -------
    rows with keys ``p, q, multiple`` (``t``), ``n, w, log2_w, bits_per_record``; the last tends to
    a constant if the growth is exponential.
    """
    rows = []
    for t in multiples:
        n = 4 * auc.denominator * t
        w = count_for_auc(n, auc)
        bits = math.log2(w)
        rows.append(
            {
                "p": auc.numerator,
                "q": auc.denominator,
                "multiple": t,
                "n": n,
                "w": w,
                "log2_w": bits,
                "bits_per_record": bits / n,
            }
        )
    return rows
