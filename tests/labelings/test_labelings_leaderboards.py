"""Rounded leaderboards."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leakmeter.labelings.counting import count_for_auc
from leakmeter.labelings.leaderboards import print_rounded, rounding_rows
from leakmeter.runtime import UserError


@pytest.mark.parametrize(
    ("auc", "decimals", "expected"),
    [
        (Fraction(1387, 1440), 3, "0.963"),
        (Fraction(1), 2, "1.00"),
        (Fraction(1, 200), 2, "0.00"),
        (Fraction(3, 200), 2, "0.02"),
        (Fraction(3, 4), 0, "1"),
    ],
)
def test_print(auc, decimals, expected):
    assert print_rounded(auc, decimals) == expected


def test_more_decimals_leave_fewer_labelings():
    auc = Fraction(1387, 1440)
    rows = rounding_rows(106, 16, auc, [1, 2, 3, 4])
    for known in (True, False):
        counts = [row["labelings"] for row in rows if row["n1_known"] is known]
        assert counts == sorted(counts, reverse=True)
        assert counts[-1] == count_for_auc(106, auc, 16 if known else None)
    for row in rows:
        assert row["bits"] == math.log2(row["labelings"]) < row["bits_prior"]
    assert rows[-1]["decimals"] is None
    assert rows[0]["printed"] == "1.0"


def test_refuses_an_auc_no_labeling_has():
    with pytest.raises(UserError, match="no labeling of 10 records with 3 ones"):
        rounding_rows(10, 3, Fraction(1, 2), [2])
