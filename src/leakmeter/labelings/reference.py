"""Slower ways to the same counts, kept to check :mod:`counting` and to measure its cost.

- :func:`recurrence_count`: the recurrence as printed in the paper, with its additions counted;
- :func:`full_polynomial`: numerator and denominator of the Gaussian binomial as full polynomials
  over NumPy object arrays, the direct use of a general polynomial library.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from leakmeter.labelings.counting import count


@dataclass(frozen=True)
class RecurrenceCost:
    """Result of the recurrence and the work it took.

    Attributes
    ----------
    value : ``v(n0, n1, d)``.
    cells : table entries computed (those with ``n1 >= 1``).
    additions : terms summed over all entries; the paper states the table size as the cost.
    """

    value: int
    cells: int
    additions: int


def recurrence_count(n0: int, n1: int, d: int) -> RecurrenceCost:
    """``v(n0, n1, d) = sum_{k=0}^{min(d, n0)} v(k, n1 - 1, d - k)`` (arXiv 1709.02418, section 4).

    ``k`` is the number of left-swaps of the left-most one, which leaves ``k`` zeros among the
    remaining ``n1 - 1`` ones. Bottom-up over the number of ones; each table entry sums up to
    ``n0 + 1`` terms, so the time is ``O(n0)`` times the table size.
    """
    if min(n0, n1) < 0:
        raise ValueError(f"class sizes n0={n0}, n1={n1}: expected non-negative integers")
    if d < 0 or d > n0 * n1:
        return RecurrenceCost(0, 0, 0)
    # No ones: only d = 0 is possible, whatever the number of zeros.
    table = [[1] + [0] * d for _ in range(n0 + 1)]
    cells = additions = 0
    for _ in range(n1):
        layer = []
        for zeros in range(n0 + 1):
            row = []
            for rest in range(d + 1):
                terms = min(rest, zeros) + 1
                row.append(sum(table[k][rest - k] for k in range(terms)))
                cells += 1
                additions += terms
            layer.append(row)
        table = layer
    return RecurrenceCost(table[n0][d], cells, additions)


def full_polynomial(n0: int, n1: int) -> list[int]:
    """All coefficients of ``[n0 + n1; n1]`` by full-length polynomial products and divisions.

    Neither truncated nor symmetric; exact, since object arrays hold Python integers.
    """
    polynomial = np.array([1], dtype=object)
    for k in range(1, n1 + 1):
        factor = np.zeros(n0 + k + 1, dtype=object)
        factor[0], factor[-1] = 1, -1
        polynomial = np.convolve(polynomial, factor)
    for k in range(1, n1 + 1):
        for start in range(k):
            polynomial[start::k] = np.add.accumulate(polynomial[start::k])
        polynomial = polynomial[: len(polynomial) - k]
    return polynomial.tolist()


def truncated_pass_additions(n0: int, n1: int, d: int) -> int:
    """Additions and subtractions of coefficients that :func:`~leakmeter.labelings.counting.count` makes.

    Step ``k`` of ``min(n0, n1)`` multiplies by ``1 - x^(max(n0, n1) + k)`` and divides by
    ``1 - x^k``, on the coefficients up to the middle of its polynomial or up to ``d``.
    """
    n0, n1 = max(n0, n1), min(n0, n1)
    d = min(d, n0 * n1 - d)
    sizes = [(k, min(d, n0 * k // 2) + 1) for k in range(1, n1 + 1)]
    return sum(max(size - n0 - k, 0) + max(size - k, 0) for k, size in sizes)


def full_polynomial_operations(n0: int, n1: int) -> int:
    """Products of coefficients and additions that :func:`full_polynomial` makes.

    A general product pairs every coefficient with every one of the factor, zeros included; the
    division by ``1 - x^k`` adds each coefficient but the first ``k`` to another.
    """
    length, operations = 1, 0
    for k in range(1, n1 + 1):
        operations += length * (n0 + k + 1)
        length += n0 + k
    for k in range(1, n1 + 1):
        operations += length - k
        length -= k
    return operations


def recurrence_cost_rows(sizes: Iterable[int]) -> list[dict[str, object]]:
    """Additions per table entry of the recurrence for ``v(n/2, n/2, n^2/8)``; no timing.

    They grow in proportion to ``n0``: the stated cost ``O(n0 n1 d)`` is the size of the table, not
    the time.

    Returns
    -------
    rows with keys ``n, n0, n1, d, cells, additions, additions_per_cell``.
    """
    rows: list[dict[str, object]] = []
    for n in sizes:
        n0, n1 = n - n // 2, n // 2
        d = n0 * n1 // 2
        cost = recurrence_count(n0, n1, d)
        rows.append(
            {
                "n": n,
                "n0": n0,
                "n1": n1,
                "d": d,
                "cells": cost.cells,
                "additions": cost.additions,
                "additions_per_cell": cost.additions / cost.cells,
            }
        )
    return rows


def _timed(call: Callable[[], object]) -> tuple[object, float]:
    """Result and CPU seconds of a call; the best of up to five if it is short."""
    best, spent = float("inf"), 0.0
    for _ in range(5):
        started = time.process_time()
        result = call()
        seconds = time.process_time() - started
        best, spent = min(best, seconds), spent + seconds
        if spent > 0.1:
            break
    return result, best


METHODS: dict[str, Callable[[int, int, int], object]] = {
    "ours": count,
    "recurrence": recurrence_count,
    "full-polynomial": lambda n0, n1, d: full_polynomial(n0, n1)[d],
}


def counting_cost_rows(
    sizes: Iterable[int],
    methods: Mapping[str, Callable[[int, int, int], object]] = METHODS,
    *,
    time_limit: float = 1.0,
) -> list[dict[str, object]]:
    """CPU time of each method for ``v(n/2, n/2, n^2/8)``, the middle coefficient, over growing ``n``.

    Parameters
    ----------
    sizes : record numbers, ascending.
    methods : name and function of ``(n0, n1, d)`` each; they must agree.
    time_limit : a method is dropped from the sizes after the first one that takes longer (seconds).

    Returns
    -------
    rows with keys ``n, n0, n1, d, method, seconds, cells, additions``; the last two are ``None``
    except for the recurrence, where they are exact counts.

    Raises
    ------
    RuntimeError
        If two methods give different counts.
    """
    rows: list[dict[str, object]] = []
    running = list(methods)
    for n in sizes:
        n0, n1 = n - n // 2, n // 2
        d = n0 * n1 // 2
        values = set()
        for method in list(running):
            result, seconds = _timed(partial(methods[method], n0, n1, d))
            cost = result if isinstance(result, RecurrenceCost) else None
            values.add(cost.value if cost else result)
            rows.append(
                {
                    "n": n,
                    "n0": n0,
                    "n1": n1,
                    "d": d,
                    "method": method,
                    "seconds": seconds,
                    "cells": cost.cells if cost else None,
                    "additions": cost.additions if cost else None,
                }
            )
            if seconds > time_limit:
                running.remove(method)
        if len(values) > 1:
            raise RuntimeError(f"counts for n0={n0}, n1={n1}, d={d} differ between methods")
    return rows
