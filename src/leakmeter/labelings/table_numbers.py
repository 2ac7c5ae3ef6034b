"""The numbers of the labelings chain as its tables write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from leakmeter.reporting.latex import escape, integer, number, with_std
from leakmeter.reporting.numbers import Form, Numbers, empty, listing
from leakmeter.reporting.recording import exact_integer

#: Integers are written out up to this many digits.
_DIGITS = 18
#: Test set -> name in tables.
SETS = {
    "breast_cancer": "breast cancer",
    "digits_odd": "odd digits",
    "diabetes_high": "diabetes",
    "wine": "wine",
}
#: Attack -> name in tables, in the order of lines.
ATTACKS = {
    "posterior": "posterior, one query",
    "pairs": "pairs of queries",
    "swaps": "exchanges of neighbours",
    "weighing": "weighing",
    "pruning by pairs": "pruning by pairs",
    "pruning by rankings": "pruning by rankings",
}

_DATA = {
    "exact": "exact mathematics",
    "related": "scikit-learn's bundled sets (label related; the paper has no experiment on data)",
}


class LabelingsNumbers(Numbers):
    """The chain's numbers, with how the deviations that were shown are written."""

    paper = "labelings"
    data = _DATA

    def __init__(self, measurements: pd.DataFrame, claims: pd.DataFrame) -> None:
        super().__init__(measurements, claims)
        self.spread_forms: set[str] = set()

    def sets(self, item: str) -> list[str]:
        """The genuine test sets with numbers of an item, in their fixed order."""
        present = self.origins(item)
        return [name for name in SETS if name in present]

    def text(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        form: Form,
        origin: str | None = None,
    ) -> str:
        """One number with the mark of its verdict; a dash where there is none."""
        return super().text(item, axes, metric, lambda row: self._noticed(form(row)), origin)

    def _noticed(self, body: str) -> str:
        if re.search(r"\d\(\d+\)$", body):
            self.spread_forms.add("parentheses")
        elif r"\pm" in body:
            self.spread_forms.add("pm")
        return body

    def notes(self) -> list[str]:
        """The notes of every table, after those on repeats."""
        notes = []
        repeats = sorted({int(row["n"]) for row in self.seen() if not empty(row["std"])})
        if repeats:
            notes.append(f"Means over {listing(map(str, repeats))} splits of each set.")
        if "parentheses" in self.spread_forms:
            notes.append(
                "A number in parentheses is the standard deviation in units of the last digit "
                r"shown: 0.70(3) is 0.70 $\pm$ 0.03."
            )
        if "pm" in self.spread_forms:
            notes.append(r"A number after $\pm$ is the standard deviation.")
        return [*notes, *super().notes()]


# --- forms --------------------------------------------------------------------------------------


def whole(row: Mapping[str, Any]) -> str:
    """An integer with all its digits, or in powers of ten if it has too many."""
    return large(exact_integer(row))


def large(value: int) -> str:
    r"""A non-negative integer of any size.

    >>> large(468686), large(12032865985819614499223)
    ('468{,}686', '$1.203\\times10^{22}$')
    """
    digits = str(value)
    if len(digits) <= _DIGITS:
        return f"{value:,}".replace(",", "{,}")
    power = len(digits) - 1
    mantissa = (value // 10 ** (power - 4) + 5) // 10  # five digits, rounded to four
    if mantissa == 10_000:
        mantissa, power = 1000, power + 1
    return rf"${mantissa // 1000}.{mantissa % 1000:03d}\times10^{{{power}}}$"


def fixed(decimals: int) -> Form:
    """A number, or a mean with its standard deviation, to some decimals."""
    return lambda row: with_std(row["value"], row["std"] if _spread(row) else None, decimals)


def _spread(row: Mapping[str, Any]) -> bool:
    """Whether a number has a spread worth showing (that of equal numbers may be a rounding error)."""
    return not empty(row["std"]) and float(row["std"]) > 1e-12


def mean(row: Mapping[str, Any]) -> str:
    """A count without its spread: an integer, or a mean with one decimal."""
    value = float(row["value"])
    return integer(value) if value.is_integer() else number(value, 1)


def average(row: Mapping[str, Any]) -> str:
    """A count: an integer, or over splits a mean with one decimal and its deviation."""
    if not _spread(row):
        return mean(row)
    return rf"{number(row['value'], 1)} $\pm$ {number(row['std'], 1)}"


def note_of(row: Mapping[str, Any]) -> str:
    return escape(row["note"])


def power_of_two(row: Mapping[str, Any]) -> str:
    return f"$2^{{{float(row['value']):.1f}}}$"


def true(row: Mapping[str, Any] | None) -> bool:
    return row is not None and bool(row["value"])
