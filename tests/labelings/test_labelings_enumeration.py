"""Enumeration: each labeling once, in the order of the guesses, in constant memory."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.labelings.aucs import AucInterval
from leakmeter.labelings.counting import count, count_for_auc
from leakmeter.labelings.enumeration import (
    BLOCK,
    enumerate_blocks,
    enumerate_labelings,
    left_swap_blocks,
)
from leakmeter.runtime import UserError


def test_paper_example():
    """The one labeling of the paper's opening example."""
    found = list(enumerate_labelings(np.array([0.2, 0.5, 0.9, 0.1]), Fraction(3, 4)))
    assert [labels.tolist() for labels in found] == [[1, 0, 1, 0]]


@pytest.mark.parametrize("n", range(2, 12))
def test_equals_brute_force(brute_force, n):
    """Every AUC of every n <= 11, with shuffled guesses."""
    labelings, ones, misranked = brute_force(n)
    guesses = np.random.default_rng(n).permutation(n).astype(float)
    by_auc: dict[Fraction, set[bytes]] = {}
    for row, k, d in zip(labelings, ones.tolist(), misranked.tolist(), strict=True):
        in_order = row[guesses.astype(int)]
        by_auc.setdefault(1 - Fraction(d, k * (n - k)), set()).add(in_order.tobytes())
    for auc, expected in by_auc.items():
        found = [labels.tobytes() for labels in enumerate_labelings(guesses, auc)]
        assert len(found) == len(expected)
        assert set(found) == expected


def test_all_labelings_of_106_records():
    """Each of the w(106, 1387/1440) labelings is unique and has the AUC, about two seconds."""
    n, auc = 106, Fraction(1387, 1440)
    rng = np.random.default_rng(0)
    guesses = rng.normal(size=n)
    order = np.argsort(guesses)
    seen: set[bytes] = set()
    for block in enumerate_blocks(guesses, auc):
        ascending = block[:, order].astype(np.int32)
        zeros = n - ascending.sum(axis=1)
        # A one is ranked right against every zero below it.
        right = (np.cumsum(1 - ascending, axis=1) * ascending).sum(axis=1)
        assert np.array_equal(right * auc.denominator, zeros * (n - zeros) * auc.numerator)
        seen.update(row.tobytes() for row in np.packbits(block, axis=1))
    total = sum(1 for _ in enumerate_labelings(guesses, auc))
    assert len(seen) == total == count_for_auc(n, auc)


def _peak_memory(d: int) -> tuple[int, int]:
    """Labelings of 12 ones among 26 with ``d`` misranked pairs, and peak bytes to walk them."""
    tracemalloc.start()
    try:
        walk = enumerate_labelings(np.arange(26.0), 1 - Fraction(d, 168), 12)
        seen = sum(1 for _ in walk)
        return seen, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_labelings():
    few, little = _peak_memory(45)
    many, peak = _peak_memory(84)
    assert many == count(14, 12, 84)
    assert many > 5 * few > 5 * 4 * BLOCK
    assert peak < 1.3 * little


@settings(deadline=None, max_examples=60)
@given(n0=st.integers(1, 9), n1=st.integers(1, 7), block=st.integers(1, 40), data=st.data())
def test_left_swap_sequences(n0, n1, block, data):
    """Descending, right sum, lexicographic without repeats, complete, in bounded blocks."""
    d = data.draw(st.integers(0, n0 * n1))
    blocks = list(left_swap_blocks(n0, n1, d, block))
    assert max(len(part) for part in blocks) <= block + n0
    rows = [tuple(row) for part in blocks for row in part.tolist()]
    assert len(rows) == count(n0, n1, d)
    assert all(a < b for a, b in pairwise(rows))
    for row in rows:
        assert sum(row) == d
        assert list(row) == sorted(row, reverse=True)
        assert 0 <= row[-1] <= row[0] <= n0


def test_left_swaps_out_of_range_are_none():
    assert list(left_swap_blocks(3, 2, 7)) == []
    assert list(left_swap_blocks(3, 2, -1)) == []
    assert list(left_swap_blocks(3, 0, 0)) == []


def test_items_own_their_memory():
    first, second = list(enumerate_labelings(np.arange(4.0), Fraction(1, 2), 2))
    before = second.copy()
    first[:] = 7
    assert np.array_equal(second, before)
    assert first.base is None


def test_known_class_size_and_intervals():
    guesses = np.arange(9.0)
    interval = AucInterval(Fraction(7, 10), Fraction(4, 5))
    every = {row.tobytes() for row in enumerate_labelings(guesses, interval)}
    parts = [row for k in range(1, 9) for row in enumerate_labelings(guesses, interval, k)]
    assert len(every) == len(parts) == count_for_auc(9, interval)
    assert every == {row.tobytes() for row in parts}


def test_decimal_with_a_bound():
    exact = [y.tolist() for y in enumerate_labelings(np.arange(7.0), Fraction(5, 6))]
    decimal = enumerate_labelings(np.arange(7.0), 5 / 6, max_denominator=12)
    assert [y.tolist() for y in decimal] == exact


def test_no_labeling_is_an_empty_enumeration():
    assert list(enumerate_labelings(np.arange(5.0), Fraction(1, 7))) == []


@pytest.mark.parametrize(
    ("guesses", "auc", "n1", "message"),
    [
        ([0.1, 0.5, 0.1], Fraction(1, 2), None, r"guesses\[0\] and guesses\[2\] are both 0.1"),
        ([0.1, np.nan], Fraction(1, 2), None, r"guesses\[1\]=nan"),
        ([[0.1, 0.2]], Fraction(1, 2), None, "one dimension"),
        ([0.1], Fraction(1, 2), None, "at least two"),
        ([0.1, 0.2, 0.3], Fraction(1, 2), 0, "n1=0"),
        ([0.1, 0.2, 0.3], Fraction(1, 2), 3, "n1=3"),
        ([0.1, 0.2, 0.3], 0.5, None, "max_denominator"),
        ([0.1, 0.2, 0.3], Fraction(3, 2), None, r"\[0, 1\]"),
    ],
)
def test_refuses_at_the_call(guesses, auc, n1, message):
    with pytest.raises(UserError, match=message):
        enumerate_labelings(np.array(guesses), auc, n1)
