"""Reading AUC values and finding the class sizes that fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.labelings.aucs import AucInterval, auc_cells, parse_auc, rounded_auc
from leakmeter.runtime import UserError


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (Fraction(3, 4), None, Fraction(3, 4)),
        (1, None, Fraction(1)),
        ("1387/1440", None, Fraction(1387, 1440)),
        (" 6 / 8 ", None, Fraction(3, 4)),
        (0.75, 10, Fraction(3, 4)),
        (1387 / 1440, 1440, Fraction(1387, 1440)),
        (np.float64(2 / 3), 3, Fraction(2, 3)),
        ("0.963", 27, Fraction(26, 27)),
        ("0.6667", 3, Fraction(2, 3)),
        ("1.0", 5, Fraction(1)),
    ],
)
def test_parse(value, bound, expected):
    assert parse_auc(value, max_denominator=bound) == expected


@pytest.mark.parametrize(
    ("value", "bound", "message"),
    [
        (0.75, None, "max_denominator"),
        ("0.75", None, "max_denominator"),
        ("0.963", 10, "no fraction with a denominator up to 10"),
        (np.pi / 4, 1000, "no fraction"),
        (0.5, 0, "max_denominator=0"),
        ("3/0", None, "expected a fraction"),
        ("three", 10, "expected a fraction"),
        (float("nan"), 10, "expected a fraction"),
        (float("inf"), 10, "expected a fraction"),
        (None, 10, "expected a fraction"),
        ("5/4", None, r"\[0, 1\]"),
        (-0.5, 10, r"\[0, 1\]"),
        (Fraction(-1, 2), None, r"\[0, 1\]"),
    ],
)
def test_parse_refuses(value, bound, message):
    with pytest.raises(UserError, match=message):
        parse_auc(value, max_denominator=bound)


@settings(deadline=None)
@given(q=st.integers(1, 5000), data=st.data())
def test_a_float_finds_its_fraction(q, data):
    auc = Fraction(data.draw(st.integers(0, q)), q)
    assert parse_auc(float(auc), max_denominator=5000) == auc


def test_rounded():
    assert rounded_auc("0.963") == AucInterval(Fraction(9625, 10**4), Fraction(9635, 10**4))
    assert rounded_auc("1.00").high == 1
    assert rounded_auc("0.0").low == 0
    assert rounded_auc("1") == AucInterval(Fraction(1, 2), Fraction(1))


@pytest.mark.parametrize("value", ["1.2", "x", "", 0.963, "1/2", None])
def test_rounded_refuses(value):
    with pytest.raises(UserError, match="expected a decimal"):
        rounded_auc(value)


def test_interval_refuses_disorder():
    with pytest.raises(UserError, match="low <= high"):
        AucInterval(Fraction(1, 2), Fraction(1, 3))


@settings(deadline=None)
@given(n=st.integers(2, 40), p=st.integers(0, 30), q=st.integers(1, 30), width=st.integers(0, 5))
def test_cells_are_exactly_the_pairs_that_fit(n, p, q, width):
    low = min(Fraction(p, q), Fraction(1))
    high = min(low + Fraction(width, 37), Fraction(1))
    cells = auc_cells(n, low if low == high else AucInterval(low, high))
    expected = {
        (n - k, k, d)
        for k in range(1, n)
        for d in range((n - k) * k + 1)
        if low <= 1 - Fraction(d, (n - k) * k) <= high
    }
    found = {(c.n0, c.n1, d) for c in cells for d in range(c.d_low, c.d_high + 1)}
    assert found == expected


def test_known_class_size_keeps_one_cell():
    cells = auc_cells(10, Fraction(1, 2), 4)
    assert [tuple(cell) for cell in cells] == [(6, 4, 12, 12)]
    assert auc_cells(10, Fraction(1, 7), 4) == []
