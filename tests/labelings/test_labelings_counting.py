"""Counts against brute force, the paper's recurrence, published values and each other."""

from __future__ import annotations

import csv
import math
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.labelings.aucs import AucInterval, Cell, rounded_auc
from leakmeter.labelings.counting import (
    cell_counts,
    coefficients,
    count,
    count_for_auc,
    growth_rows,
    rows_for_auc,
)
from leakmeter.labelings.reference import recurrence_count
from leakmeter.runtime import UserError


@pytest.mark.parametrize("n", range(2, 15))
def test_counts_equal_brute_force(brute_force, n):
    """Every count of every class size, for all n <= 14."""
    _, ones, misranked = brute_force(n)
    tally = Counter(zip(ones.tolist(), misranked.tolist(), strict=True))
    for n1 in range(1, n):
        expected = [tally[n1, d] for d in range((n - n1) * n1 + 1)]
        assert coefficients(n - n1, n1) == expected
        assert [count(n - n1, n1, d) for d in range(len(expected))] == expected


@pytest.mark.parametrize("n", range(2, 15))
def test_counts_for_every_auc_equal_brute_force(brute_force, n):
    _, ones, misranked = brute_force(n)
    tally = Counter(
        1 - Fraction(d, k * (n - k)) for k, d in zip(ones.tolist(), misranked.tolist(), strict=True)
    )
    for auc, expected in tally.items():
        assert count_for_auc(n, auc) == expected
    assert count_for_auc(n, Fraction(1, 97)) == 0
    low, high = Fraction(3, 5), Fraction(9, 10)
    inside = sum(v for auc, v in tally.items() if low <= auc <= high)
    assert count_for_auc(n, AucInterval(low, high)) == inside


def test_published_counts(root):
    """Each row of the table of w(n, 1387/1440); n without a row have no labeling."""
    path = root / "resources/published/auc_labelings_wn_1387_1440.csv"
    published = list(csv.DictReader(path.open(encoding="utf-8")))
    names = ("p", "q", "n", "w_n_c", "n0", "n1", "multiple_m", "d_misranked_pairs", "v_n0_n1_d")
    expected = sorted(tuple(int(row[name]) for name in names) for row in published)
    last = max(int(row["n"]) for row in published)
    auc = Fraction(int(published[0]["p"]), int(published[0]["q"]))
    rows = rows_for_auc(range(2, last + 1), auc)
    assert sorted(tuple(row.values()) for row in rows) == expected


def test_published_table_up_to_200_is_cheap():
    """The issue asks for under a second; a regression to per-cell tables takes minutes."""
    started = time.process_time()
    rows = rows_for_auc(range(2, 201), Fraction(1387, 1440))
    assert time.process_time() - started < 10
    assert rows[-1]["n"] <= 200


def test_paper_example():
    assert count_for_auc(4, Fraction(3, 4)) == 1


@pytest.mark.parametrize(
    ("n0", "n1", "d", "expected"),
    [
        (0, 0, 0, 1),
        (5, 0, 0, 1),
        (0, 5, 0, 1),
        (5, 0, 1, 0),
        (0, 5, 1, 0),
        (3, 2, -1, 0),
        (3, 2, 7, 0),
        (1, 1, 1, 1),
        # Partitions of 100 (no part or number of parts bound by the box).
        (100, 100, 100, 190569292),
    ],
)
def test_known_values(n0, n1, d, expected):
    assert count(n0, n1, d) == expected


def test_all_counts_of_large_class_sizes_add_up():
    """Forty-byte coefficients: limbs, carries and the mirror half are all in play."""
    values = coefficients(120, 90)
    assert sum(values) == math.comb(210, 90)
    assert values == values[::-1]
    # Evaluation at x = -1: ones and zeros cancel in pairs, (105 choose 45) symmetric ones remain.
    assert sum(values[::2]) - sum(values[1::2]) == math.comb(105, 45)


def test_large_middle_coefficient_modulo_primes():
    """v(300, 300, 45000) against an independent computation modulo two primes."""
    value = count(300, 300, 45_000)
    for prime in (2_147_483_647, 1_000_000_007):
        assert value % prime == _middle_modulo(300, 300, 45_000, prime)


def _middle_modulo(n0: int, n1: int, d: int, prime: int) -> int:
    """The coefficient by plain full-length series arithmetic modulo a prime."""
    import numpy as np

    series = np.zeros(d + 1, np.int64)
    series[0] = 1
    for k in range(1, n1 + 1):
        series[n0 + k :] -= series[: -(n0 + k)].copy()
        series %= prime
    for k in range(1, n1 + 1):
        padded = np.zeros(-(-(d + 1) // k) * k, np.int64)
        padded[: d + 1] = series
        # At most 45001 residues below 2^31 are added: no overflow.
        series = np.cumsum(padded.reshape(-1, k), axis=0).reshape(-1)[: d + 1] % prime
    return int(series[d])


small = st.integers(0, 25)


@settings(deadline=None)
@given(n0=small, n1=small, data=st.data())
def test_symmetries(n0, n1, data):
    d = data.draw(st.integers(0, n0 * n1))
    assert count(n0, n1, d) == count(n1, n0, d) == count(n0, n1, n0 * n1 - d)


@settings(deadline=None)
@given(n0=small, n1=small)
def test_coefficients_sum_to_the_binomial_and_are_unimodal(n0, n1):
    """Unimodality is Sylvester's theorem."""
    values = coefficients(n0, n1)
    assert sum(values) == math.comb(n0 + n1, n1)
    lower = values[: n0 * n1 // 2 + 1]
    assert lower == sorted(lower)


@settings(deadline=None)
@given(n0=small, n1=small, data=st.data())
def test_truncation_does_not_change_coefficients(n0, n1, data):
    limit = data.draw(st.integers(-1, n0 * n1 + 3))
    assert coefficients(n0, n1, limit) == coefficients(n0, n1)[: limit + 1]


@settings(deadline=None, max_examples=30)
@given(n0=st.integers(0, 9), n1=st.integers(0, 9), data=st.data())
def test_equals_the_papers_recurrence(n0, n1, data):
    d = data.draw(st.integers(-1, n0 * n1 + 1))
    assert count(n0, n1, d) == recurrence_count(n0, n1, d).value


@settings(deadline=None)
@given(n=st.integers(2, 40), data=st.data())
def test_pascal_rule(n, data):
    """[n; k] = [n-1; k] + x^(n-k) [n-1; k-1]: a one in front stands before every zero."""
    n1 = data.draw(st.integers(1, n - 1))
    n0 = n - n1
    d = data.draw(st.integers(0, n0 * n1))
    assert count(n0, n1, d) == count(n0 - 1, n1, d) + count(n0, n1 - 1, d - n0)


@settings(deadline=None)
@given(n=st.integers(2, 60), data=st.data())
def test_chain_over_class_sizes_equals_single_counts(n, data):
    """The shared chain, for arbitrary windows on both sides of the middle."""
    cells = []
    for n1 in data.draw(st.sets(st.integers(1, n - 1), min_size=1, max_size=6)):
        pairs = (n - n1) * n1
        low = data.draw(st.integers(0, pairs))
        cells.append(Cell(n - n1, n1, low, data.draw(st.integers(low, min(pairs, low + 40)))))
    served = dict(cell_counts(cells))
    assert set(served) == set(cells)
    for cell, values in served.items():
        assert values == coefficients(cell.n0, cell.n1)[cell.d_low : cell.d_high + 1]


def test_rounded_auc_sums_the_exact_ones():
    n, interval = 30, rounded_auc("0.81")
    pairs = {(n - k) * k for k in range(1, n)}
    values = {Fraction(x, m) for m in pairs for x in range(m + 1)}
    expected = sum(count_for_auc(n, v) for v in values if interval.low <= v <= interval.high)
    assert count_for_auc(n, interval) == expected
    assert sum(count_for_auc(n, interval, n1) for n1 in range(1, n)) == expected


def test_every_auc_together_leaves_all_two_class_labelings():
    assert count_for_auc(50, AucInterval(Fraction(0), Fraction(1))) == 2**50 - 2


def test_growth_is_exponential():
    rows = growth_rows(Fraction(3, 4), range(1, 9))
    assert [row["n"] for row in rows] == [16 * t for t in range(1, 9)]
    bits = [row["log2_w"] for row in rows]
    steps = [b - a for a, b in pairwise(bits)]
    assert min(steps) > 8
    # The increments settle: the rate is constant, not just positive.
    assert max(steps[3:]) - min(steps[3:]) < 0.2
    assert rows[0]["w"] == count_for_auc(16, Fraction(3, 4))


@pytest.mark.parametrize(
    ("n", "auc", "n1", "message"),
    [
        (1, Fraction(1, 2), None, "n=1"),
        (5, Fraction(1, 2), 0, "n1=0"),
        (5, Fraction(1, 2), 5, "n1=5"),
        (5, Fraction(3, 2), None, "auc="),
        (5, 0.5, None, "max_denominator"),
    ],
)
def test_refuses(n, auc, n1, message):
    with pytest.raises(UserError, match=message):
        count_for_auc(n, auc, n1)


@pytest.mark.parametrize("call", [count, lambda a, b, _: coefficients(a, b)])
def test_negative_class_sizes_are_a_bug(call):
    with pytest.raises(ValueError, match="non-negative"):
        call(-1, 2, 0)
