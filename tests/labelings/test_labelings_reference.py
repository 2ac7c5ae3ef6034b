"""The slow ways agree, and the recurrence's cost is what the erratum says."""

from __future__ import annotations

import numpy as np
import pytest

from leakmeter.labelings import gaussian, reference
from leakmeter.labelings.counting import coefficients, count
from leakmeter.labelings.reference import (
    METHODS,
    counting_cost_rows,
    full_polynomial,
    full_polynomial_operations,
    recurrence_cost_rows,
    recurrence_count,
    truncated_pass_additions,
)


@pytest.mark.parametrize(("n0", "n1"), [(0, 0), (0, 3), (4, 0), (5, 5), (8, 3), (3, 11)])
def test_full_polynomial(n0, n1):
    assert full_polynomial(n0, n1) == coefficients(n0, n1)


@pytest.mark.parametrize(("n0", "n1"), [(0, 3), (4, 0), (4, 3), (6, 6)])
def test_recurrence(n0, n1):
    values = [recurrence_count(n0, n1, d).value for d in range(-1, n0 * n1 + 2)]
    assert values == [0, *coefficients(n0, n1), 0]


def test_recurrence_cost_in_closed_form():
    """Every entry (zeros, rest) of every layer sums min(rest, zeros) + 1 terms."""
    n0, n1, d = 7, 4, 11
    cost = recurrence_count(n0, n1, d)
    per_layer = sum(min(r, z) + 1 for z in range(n0 + 1) for r in range(d + 1))
    assert cost.cells == n1 * (n0 + 1) * (d + 1)
    assert cost.additions == n1 * per_layer


def test_additions_per_entry_grow_with_the_zeros():
    """The erratum: time O(n0) times the table size, not the table size."""
    rows = recurrence_cost_rows([10, 20, 40])
    ratios = [row["additions_per_cell"] / row["n0"] for row in rows]
    assert all(0.45 < ratio < 0.65 for ratio in ratios)


@pytest.mark.parametrize(
    ("n0", "n1", "d"), [(5, 5, 12), (9, 4, 10), (4, 9, 30), (20, 20, 200), (7, 6, 0), (30, 2, 7)]
)
def test_additions_of_the_truncated_pass_are_those_it_makes(monkeypatch, n0, n1, d):
    made = 0
    subtract, add = gaussian.HalfPolynomial._subtract_shifted, gaussian._add_running

    def counted_subtract(self, flat, shift):
        nonlocal made
        made += max(flat.size - shift, 0) // self._limbs
        subtract(self, flat, shift)

    def counted_add(flat, shift):
        nonlocal made
        made += max(flat.size - shift, 0)  # one limb per coefficient at these sizes
        add(flat, shift)

    monkeypatch.setattr(gaussian.HalfPolynomial, "_subtract_shifted", counted_subtract)
    monkeypatch.setattr(gaussian, "_add_running", counted_add)
    assert count(n0, n1, d) == recurrence_count(n0, n1, d).value
    if n0 + n1 < 32:
        assert truncated_pass_additions(n0, n1, d) == made
    bound = 2 * min(n0, n1) * (d + 1)
    assert truncated_pass_additions(n0, n1, d) <= bound


@pytest.mark.parametrize(("n0", "n1"), [(0, 0), (4, 0), (5, 5), (8, 3), (3, 11)])
def test_operations_of_the_full_polynomial_are_those_it_makes(monkeypatch, n0, n1):
    made = 0
    convolve = np.convolve

    def counted(a, b):
        nonlocal made
        made += len(a) * len(b)
        return convolve(a, b)

    class Additions:
        """Stands in for the ufunc: adds each coefficient of a residue class but its first."""

        @staticmethod
        def accumulate(part):
            nonlocal made
            made += max(len(part) - 1, 0)
            return np.add.accumulate(part)

    class Library:
        add, convolve = Additions, staticmethod(counted)
        array, zeros = staticmethod(np.array), staticmethod(np.zeros)

    monkeypatch.setattr(reference, "np", Library)
    reference.full_polynomial(n0, n1)
    assert full_polynomial_operations(n0, n1) == made


def test_recurrence_refuses_negative_sizes():
    with pytest.raises(ValueError, match="non-negative"):
        recurrence_count(-1, 2, 0)


def test_cost_rows_drop_slow_methods():
    rows = counting_cost_rows([6, 8], time_limit=60)
    assert [(row["n"], row["method"]) for row in rows] == [(n, m) for n in (6, 8) for m in METHODS]
    assert all((row["additions"] is None) == (row["method"] != "recurrence") for row in rows)
    dropped = counting_cost_rows([6, 8], time_limit=0)
    assert {row["n"] for row in dropped} == {6}


def test_cost_rows_notice_a_method_that_is_wrong():
    with pytest.raises(RuntimeError, match="differ between methods"):
        counting_cost_rows([6], {**METHODS, "wrong": lambda *_: 0})
