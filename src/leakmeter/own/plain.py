"""The table of a report as plain text, for LaTeX and the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from leakmeter.own.reports import Report
from leakmeter.reporting.plain_tables import PlainTable

#: Lines that fit a page; the CSV file has all of them.
_LINES = 40
_NOTHING = "–"
_SIMULATED = (
    "Repeats: simulated releases, where there is no closed form. Undefined: those of them that have no "
    "AUC, which the other columns leave out."
)
_NAMES = {"shapr": "SHAPr", "sprs": "SPRS"}


def plain_table(report: Report) -> PlainTable:
    """The first lines of a report's table, its sentences as notes."""
    title, columns = _LAYOUTS[report.kind]
    rows = report.table.head(_LINES).to_dict("records")
    head = [name for name, _ in columns]
    cells = [[show(row, report) for _, show in columns] for row in rows]
    notes = list(report.sentences)
    if report.kind == "dpauc" and report.table["repeats"].any():
        notes.insert(0, _SIMULATED)
    if len(report.table) > _LINES:
        rows = f"{len(report.table):,} rows"
        notes.insert(0, f"The first {_LINES} of {rows}; table.csv has all of them.")
    return PlainTable(title, head, cells, notes)


_Show = Callable[[Mapping[str, Any], Report], str]


def _number(name: str, form: str) -> _Show:
    def show(row: Mapping[str, Any], _: Report) -> str:
        value = row.get(name)
        if value is None or pd.isna(value):
            return _NOTHING
        if math.isinf(value):
            return "∞"
        return format(value, form).replace("-", "−", 1) if value < 0 else format(value, form)

    return show


def _simulated(name: str) -> _Show:
    """A count of simulated releases, where there are some."""
    show = _number(name, ",")
    return lambda row, report: show(row, report) if row["repeats"] else _NOTHING


def _word(name: str) -> _Show:
    def show(row: Mapping[str, Any], _: Report) -> str:
        value = row.get(name)
        missing = value is None or pd.isna(value) or value == ""
        if missing:
            return _NOTHING
        return _NAMES.get(value) or str(value).replace("_", " ")

    return show


def _own_name(row: Mapping[str, Any], _: Report) -> str:
    """A name that the user gave, as it was given."""
    return str(row["name"])


def _big(row: Mapping[str, Any], _: Report) -> str:
    """A whole number of any size: all of it up to 15 digits, then a power of ten."""
    text = str(row["labelings"])
    return f"{int(text):,}" if len(text) <= 15 else f"{text[0]}.{text[1:3]}e{len(text) - 1}"


_LAYOUTS: dict[str, tuple[str, Sequence[tuple[str, _Show]]]] = {
    "dpauc": (
        "DPAUC of your scores by method and budget.",
        [
            ("method", _word("method")),
            ("epsilon", _number("epsilon", "g")),
            ("mean", _number("mean", ".5f")),
            ("bias", _number("bias", ".3g")),
            ("std", _number("std", ".3g")),
            ("rmse", _number("rmse", ".3g")),
            ("band from", _number("low", ".5f")),
            ("to", _number("high", ".5f")),
            ("undefined", _simulated("undefined")),
            ("repeats", _simulated("repeats")),
        ],
    ),
    "audit": (
        "Intervals for the epsilon of your attacks.",
        [
            ("attack", _own_name),
            *((name.upper(), _number(name, ",")) for name in ("fn", "tp", "fp", "tn")),
            ("delta", _number("delta", "g")),
            ("alpha", _number("alpha", "g")),
            ("point", _number("point", ".4f")),
            ("low", _number("low", ".4f")),
            ("high", _number("high", ".4f")),
            ("p", _number("p", ".2g")),
            ("verdict", _word("verdict")),
        ],
    ),
    "shapr": (
        "Membership scores of your records.",
        [
            ("score", _word("score")),
            ("against", _word("against")),
            ("records", _number("records", ",")),
            ("AUC", _number("auc", ".4f")),
            ("balanced accuracy", _number("balanced_accuracy", ".4f")),
            ("F1", _number("f1", ".4f")),
            ("F1 of a constant", _number("baseline_f1", ".4f")),
        ],
    ),
    "labelings": (
        "Labelings that agree with the AUC of your guesses, by number of ones.",
        [
            ("ones", _number("ones", "d")),
            ("labelings", _big),
            ("share", _number("share", ".3g")),
        ],
    ),
}
