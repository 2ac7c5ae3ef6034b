"""The numbers of a table: looked up by cell, marked with their verdicts, explained under the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from leakmeter.reporting.latex import DASH, Table, escape, legend, mark, worst
from leakmeter.reporting.measurements import KEY, parse_cell
from leakmeter.reporting.recording import EXACTLY

Axes = frozenset[tuple[str, str]]
#: Item, axes, origin, metric.
Key = tuple[str, Axes, str, str]
Row = Mapping[str, Any]
#: How a row is written.
Form = Callable[[Row], str]


class Numbers:
    """The numbers of one chain by key, with the marks and errata of those that were shown.

    A chain derives its own, which says what its labels of data mean.

    Parameters
    ----------
    measurements, claims : as the gather and the claims rules write them; claims may be empty.
    """

    #: The chain, as in the column ``paper``.
    paper: str
    #: Origin of a number that none is named for.
    origin = "exact"
    #: Label of the data -> its meaning.
    data: Mapping[str, str] = {}
    #: What stands for a number without a value.
    undefined = DASH

    def __init__(self, measurements: pd.DataFrame, claims: pd.DataFrame) -> None:
        self.marks: Counter[str] = Counter()
        self.errata: set[str] = set()
        self.shown: list[tuple[Key, Row | None]] = []
        self.rows: dict[Key, Row] = {key_of(row): row for row in self._own(measurements)}
        self.claims: dict[Key, list[Row]] = {}
        self.summaries: list[Row] = []  # rows for all passed cells of a claim, "cells=22 of 22"
        for row in self._own(claims):
            if row["cell"].startswith("cells="):
                self.summaries.append(row)
            else:
                self.claims.setdefault(key_of(row), []).append(row)

    def _own(self, frame: pd.DataFrame) -> list[dict[str, Any]]:
        if frame.empty:
            return []
        own = frame[frame["paper"] == self.paper]
        # an empty field of a CSV comes as NaN
        text = [column for column in (*KEY, "note") if column in own]
        return own.assign(**{column: own[column].fillna("") for column in text}).to_dict("records")

    # --- which numbers there are

    def cells(
        self, item: str, metric: str | None = None, origin: str | None = None
    ) -> list[dict[str, str]]:
        """The axes of every cell of an item (with a metric), ascending."""
        found = {
            axes
            for i, axes, o, m in self.rows
            if i == item and metric in (None, m) and origin in (None, o)
        }
        cells = [dict(sorted(axes)) for axes in found]
        return sorted(cells, key=lambda axes: [(name, order(v)) for name, v in axes.items()])

    def values(self, item: str, axis: str, metric: str | None = None, **axes: Any) -> list[str]:
        """The distinct values of an axis in the cells that have the other ``axes``, ascending."""
        wanted = axes_of(axes)
        found = {
            cell[axis]
            for cell in self.cells(item, metric)
            if axis in cell and wanted <= set(cell.items())
        }
        return sorted(found, key=order)

    def origins(self, item: str) -> list[str]:
        """The origins that have numbers of an item, sorted."""
        return sorted({origin for i, _, origin, _ in self.rows if i == item})

    # --- single numbers

    def get(
        self, item: str, axes: Mapping[str, Any], metric: str, origin: str | None = None
    ) -> Row | None:
        """The row of one number without showing it; None if it was not measured."""
        return self.rows.get((item, axes_of(axes), origin or self.origin, metric))

    def value(
        self, item: str, axes: Mapping[str, Any], metric: str, origin: str | None = None
    ) -> float | None:
        """One number without showing it; None if it was not measured or is undefined."""
        row = self.get(item, axes, metric, origin)
        return None if row is None or empty(row["value"]) else float(row["value"])

    def about(self, key: Key) -> list[Row]:
        """The claims on a number."""
        return self.claims.get(key, [])

    def text(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        form: Form,
        origin: str | None = None,
    ) -> str:
        """One number with the mark of its verdict; a dash where there is none."""
        key = (item, axes_of(axes), origin or self.origin, metric)
        row, claims = self.rows.get(key), self.about(key)
        self.shown.append((key, row))
        verdict = worst([claim["verdict"] for claim in claims])
        if verdict:
            self.marks[verdict] += 1
        self.errata |= {str(c["erratum"]) for c in claims if not empty(c.get("erratum"))}
        if row is None:
            return DASH + mark(verdict)
        return (form(row) if defined(row) else self.undefined) + mark(verdict)

    # --- notes

    def seen(self) -> list[Row]:
        """The rows of the numbers that were shown and have a value."""
        return [row for _, row in self.shown if row is not None and defined(row)]

    def run(self) -> str:
        """Scale and seed of what was shown."""
        scales = sorted({escape(row["scale"]) for row in self.seen()})
        seeds = sorted({str(int(row["seed"])) for row in self.seen()})
        return f"{listing(scales)}, seed {listing(seeds)}"

    def provenance(self) -> str:
        """Data, scale and seed of what was shown, as sentences."""
        labels = sorted({row["data"] for row in self.seen()})
        if not labels:
            return ""
        data = "; ".join(self.data.get(label, escape(label)) for label in labels)
        return f"Data: {data}. Scale {self.run()}."

    def faults(self) -> str:
        """The errata behind the marks."""
        return f"Errata: {escape(listing(sorted(self.errata)))}." if self.errata else ""

    def notes(self) -> list[str]:
        """What every table of the chain says under it: where its numbers are from, what marks mean."""
        return [self.provenance(), legend(self.marks), self.faults()]

    def close(self, table: Table) -> str:
        """Add the notes; the LaTeX of the table."""
        for note in self.notes():
            table.note(note)
        return table.render()


def axes_of(axes: Mapping[str, Any]) -> Axes:
    """The axes of a cell, each number in one spelling: 8, "8" and 8.0 name one cell."""
    return frozenset((name, plain(value)) for name, value in axes.items())


def key_of(row: Row) -> Key:
    """The key of a row of measurements or claims."""
    return row["item"], axes_of(parse_cell(row["cell"])), row["origin"], row["metric"]


def plain(value: Any) -> str:
    """The one spelling of an axis value; text that is no number stays.

    >>> plain(8.0), plain("1e-5"), plain("0.50"), plain("3/4")
    ('8', '1e-05', '0.5', '3/4')
    """
    try:
        amount = float(value)
    except (TypeError, ValueError):
        return str(value)
    return str(int(amount)) if amount.is_integer() else str(amount)


def order(value: str) -> tuple[int, float, str]:
    """Sort key of an axis value: numbers and fractions by size, before text."""
    try:
        p, _, q = value.partition("/")
        return 0, float(p) / float(q or 1), ""
    except (ValueError, ZeroDivisionError):
        return 1, 0.0, value


def empty(value: Any) -> bool:
    """Whether a field has nothing in it."""
    return value is None or value == "" or bool(pd.isna(value))


def defined(row: Row) -> bool:
    """Whether a row has a value (one that no float can hold stands in its note)."""
    return not empty(row["value"]) or str(row["note"]).startswith(EXACTLY)


def listing(values: Iterable[str]) -> str:
    """Texts with commas between them."""
    return ", ".join(values)
