"""The conjecture's check against the derived table, and the misprinted range."""

from __future__ import annotations

import csv
from fractions import Fraction
from math import isqrt

import pytest

from leakmeter.labelings.conjectures import (
    conjecture_rows,
    conjecture_summary,
    counts_up_to_threshold,
    misranked_range_rows,
    reduced_fractions,
    threshold,
)
from leakmeter.labelings.counting import count, count_for_auc


@pytest.mark.parametrize("q", range(1, 120))
def test_threshold_is_the_smallest_sum(q):
    assert threshold(q) == min(a + 2 * q // a for a in range(1, 2 * q + 1) if 2 * q % a == 0)


def test_counts_are_those_of_the_counting_module():
    for auc in (Fraction(3, 4), Fraction(5, 12), Fraction(7, 9), Fraction(1, 30)):
        counts = counts_up_to_threshold(auc)
        sizes = range(2, threshold(auc.denominator) + 1)
        assert counts == {n: w for n in sizes if (w := count_for_auc(n, auc))}


def test_summary_equals_the_derived_table(root):
    path = root / "resources/published/auc_labelings_conjecture_check.csv"
    (row,) = csv.DictReader(path.open(encoding="utf-8"))
    summary = conjecture_summary(
        conjecture_rows(reduced_fractions(int(row["q_range"].split("..")[1])))
    )
    assert summary["fractions_tested"] == int(row["fractions_tested"])
    assert summary["violations_strict"] == int(row["violations_n_below_threshold"])
    assert summary["violations_at_threshold"] == int(row["violations_exactly_at_threshold"])
    failing = [int(q) for q in row["q_with_violations"].split(";")]
    assert summary["q_with_strict_violations"] == failing
    assert summary["q_even_squares"] is True


def test_fails_as_printed_at_the_papers_own_example():
    """c = 1387/1440: only the threshold itself breaks it."""
    (row,) = conjecture_rows([Fraction(1387, 1440)])
    assert not row["holds_as_printed"]
    assert row["holds_strictly"]
    assert row["rises_at_threshold"]
    assert row["n_after"] == row["threshold"] == 108
    assert row["w_after"] > row["w_before"]


def test_smallest_strict_counterexamples_have_q_4():
    rows = conjecture_rows(reduced_fractions(20))
    strict = [row for row in rows if not row["holds_strictly"]]
    assert {row["q"] for row in strict} == {4, 16}
    example = next(row for row in rows if (row["p"], row["q"]) == (3, 4))
    assert (example["n_before"], example["w_before"]) == (4, count_for_auc(4, Fraction(3, 4)))
    assert (example["n_after"], example["w_after"]) == (5, count_for_auc(5, Fraction(3, 4)))
    assert example["w_after"] > example["w_before"]


def test_no_increase_is_reported_as_such():
    row = next(row for row in conjecture_rows(reduced_fractions(40)) if row["holds_as_printed"])
    assert row["n_before"] is row["n_after"] is row["w_before"] is row["w_after"] is None
    counts = counts_up_to_threshold(Fraction(row["p"], row["q"]))
    values = [counts[n] for n in sorted(counts)]
    assert values == sorted(values, reverse=True)


def test_reduced_fractions():
    assert reduced_fractions(5) == [
        Fraction(*pq)
        for pq in [(1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (1, 5), (2, 5), (3, 5), (4, 5)]
    ]


def test_range_of_misranked_pairs_exceeds_q():
    """For every fraction there are labelings outside {0 .. q}, all inside {0 .. n0 n1}."""
    fractions = reduced_fractions(25)
    rows = misranked_range_rows(fractions)
    assert len(rows) == len(fractions)
    for auc, row in zip(fractions, rows, strict=True):
        pairs = row["n0"] * row["n1"]
        assert row["q"] < row["d"] <= pairs
        assert 1 - Fraction(row["d"], pairs) == auc
        assert row["count"] == count(row["n0"], row["n1"], row["d"]) > 0
        # No smaller number of records has such class sizes.
        for n in range(2, row["n0"] + row["n1"]):
            sizes = [k * (n - k) for k in range(1, n) if k * (n - k) % row["q"] == 0]
            assert all((1 - auc) * m <= row["q"] for m in sizes)


def test_even_squares_flag_can_fail():
    rows = [
        row for row in conjecture_rows(reduced_fractions(20)) if isqrt(row["q"]) ** 2 != row["q"]
    ]
    summary = conjecture_summary(rows)
    assert summary["violations_strict"] == 0
    assert summary["smallest_counterexample"] is None
    assert conjecture_summary([{**rows[0], "holds_strictly": False}])["q_even_squares"] is False
