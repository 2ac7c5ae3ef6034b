"""The paper's conjecture on ``w(n, p/q)`` and its misprint, checked over all fractions.

The conjecture: ``w(n, c)`` does not increase with ``n`` for ``n <= min{n0 + n1 : n0 n1 = 2q}``.
It is tested over the ``n`` with ``w > 0``, as printed (threshold included) and with strict
inequality.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from math import gcd, isqrt

from leakmeter.labelings.counting import coefficients, count


def threshold(q: int) -> int:
    """``min{n0 + n1 : n0 n1 = 2q}``."""
    divisor = next(k for k in range(isqrt(2 * q), 0, -1) if 2 * q % k == 0)
    return divisor + 2 * q // divisor


def reduced_fractions(max_q: int) -> list[Fraction]:
    """All ``p/q`` in lowest terms with ``0 < p < q <= max_q``, ascending in ``q``, then ``p``."""
    return [Fraction(p, q) for q in range(2, max_q + 1) for p in range(1, q) if gcd(p, q) == 1]


@cache
def _class_sizes(q: int, up_to: int) -> dict[int, list[tuple[int, int]]]:
    """For each ``n <= up_to`` with any, the ``(n0, n1)``, ``n0 >= n1``, with ``q | n0 n1``."""
    sizes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for n in range(2, up_to + 1):
        for n1 in range(1, n // 2 + 1):
            if (n - n1) * n1 % q == 0:
                sizes[n].append((n - n1, n1))
    return dict(sizes)


_polynomial = lru_cache(maxsize=4096)(coefficients)


def counts_up_to_threshold(auc: Fraction) -> dict[int, int]:
    """``w(n, p/q)`` for all ``n`` up to and including the threshold where it is not zero."""
    q = auc.denominator
    counts = {}
    for n, pairs in _class_sizes(q, threshold(q)).items():
        # w > 0 as soon as the class sizes fit: every d in 0 .. n0 n1 is attained.
        counts[n] = sum(
            (1 if n0 == n1 else 2) * _polynomial(n0, n1)[(q - auc.numerator) * n0 * n1 // q]
            for n0, n1 in pairs
        )
    return counts


def conjecture_rows(fractions: Iterable[Fraction]) -> list[dict[str, object]]:
    """The conjecture tested for each fraction, as printed and with strict inequality.

    Returns
    -------
    rows with keys ``p, q, threshold, holds_as_printed, holds_strictly, rises_at_threshold`` and
    the first increase ``n_before, w_before, n_after, w_after`` (``None`` if there is none up to the
    threshold).
    """
    rows = []
    for auc in fractions:
        limit = threshold(auc.denominator)
        counts = counts_up_to_threshold(auc)
        sizes = sorted(counts)
        increases = [(a, b) for a, b in pairwise(sizes) if counts[b] > counts[a]]
        before, after = increases[0] if increases else (None, None)
        rows.append(
            {
                "p": auc.numerator,
                "q": auc.denominator,
                "threshold": limit,
                "holds_as_printed": not increases,
                "holds_strictly": all(b == limit for _, b in increases),
                "rises_at_threshold": any(b == limit for _, b in increases),
                "n_before": before,
                "w_before": counts.get(before),
                "n_after": after,
                "w_after": counts.get(after),
            }
        )
    return rows


def conjecture_summary(rows: Iterable[dict[str, object]]) -> dict[str, object]:
    """Totals over :func:`conjecture_rows`.

    Returns
    -------
    ``fractions_tested, violations_as_printed, violations_strict, violations_at_threshold`` (an
    increase at the threshold itself), ``q_with_strict_violations`` (sorted),
    ``q_even_squares`` (whether those ``q`` are exactly the even squares in the range) and
    ``smallest_counterexample`` to the strict form (a row, or ``None``).
    """
    rows = list(rows)
    strict = [row for row in rows if not row["holds_strictly"]]
    failing = sorted({int(row["q"]) for row in strict})
    squares = [
        q for q in sorted({int(row["q"]) for row in rows}) if isqrt(q) ** 2 == q and not q % 2
    ]
    return {
        "fractions_tested": len(rows),
        "violations_as_printed": sum(not row["holds_as_printed"] for row in rows),
        "violations_strict": len(strict),
        "violations_at_threshold": sum(bool(row["rises_at_threshold"]) for row in rows),
        "q_with_strict_violations": failing,
        "q_even_squares": failing == squares,
        "smallest_counterexample": strict[0] if strict else None,
    }


def misranked_range_rows(fractions: Iterable[Fraction]) -> list[dict[str, int]]:
    """Labelings outside the printed range of misranked pairs, ``d in {0 .. q}``.

    The range must be ``{0 .. n0 n1}``: with ``n0 n1 = m q`` the labelings of AUC ``p/q`` have
    ``d = m (q - p)`` misranked pairs, which exceeds ``q`` as soon as ``m (q - p) > q``. For each
    fraction with ``p > 0``, the smallest ``n`` (then smallest ``n1``) where that happens.

    Returns
    -------
    rows with keys ``p, q, n0, n1, d, count``; ``count`` labelings have this AUC and ``d > q``.
    """
    rows = []
    for auc in fractions:
        p, q = auc.numerator, auc.denominator
        least = q // (q - p) + 1
        n = 2
        while not (
            fits := [k for k in range(1, n) if k * (n - k) % q == 0 and k * (n - k) >= least * q]
        ):
            n += 1
        n0, n1 = n - fits[0], fits[0]
        d = (q - p) * n0 * n1 // q
        rows.append({"p": p, "q": q, "n0": n0, "n1": n1, "d": d, "count": count(n0, n1, d)})
    return rows
