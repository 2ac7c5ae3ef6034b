"""The numbers of the audit chain as its tables write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakmeter.reporting.latex import escape, integer, number
from leakmeter.reporting.numbers import Form, Numbers, Row

#: The attack whose tallies are shown and claimed.
MAIN_ATTACK = "calibrated"
#: Method -> name in tables.
METHODS = {"bayesian": "Bayesian", "jeffreys": "Jeffreys", "clopper-pearson": "Clopper-Pearson"}

_DATA = {
    "exact": "exact mathematics or simulation without data",
    "real": "the paper's data sets (stated subsets)",
    "standin": "stand-ins, generated",
}


class AuditNumbers(Numbers):
    """The chain's numbers; methods for what its tables repeat."""

    paper = "audit"
    data = _DATA

    def summary(self, item: str) -> str:
        """One sentence on the claims of an item whose passed cells are one row."""
        parts = [
            f"{escape(row['metric'])} {escape(row['cell'].removeprefix('cells='))} {row['verdict']}"
            for row in self.summaries
            if row["item"] == item
        ]
        return f"Claims: {'; '.join(parts)}." if parts else ""

    def pair(
        self, item: str, axes: Mapping[str, Any], decimals: int, origin: str | None = None
    ) -> str:
        """An interval ``[low, high]``; the marks of both ends follow their numbers."""
        low, high = (self.text(item, axes, end, fixed(decimals), origin) for end in ("low", "high"))
        return f"[{low}, {high}]"


def fixed(decimals: int) -> Form:
    """A number to some decimals."""
    return lambda row: number(row["value"], decimals)


def whole(row: Row) -> str:
    """An integer."""
    return integer(row["value"])
