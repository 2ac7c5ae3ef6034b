"""The numbers of one DPAUC table, from up to three sources, and the notes that explain them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from leakmeter.reporting.latex import (
    DASH,
    UNDEFINED,
    Table,
    escape,
    integer,
    legend,
    printed,
    scientific,
    short,
    with_std,
)
from leakmeter.reporting.numbers import Form, Key, Numbers, Row, axes_of, defined, empty, listing

#: Origin -> name in the tables, in the order of the lines.
ORIGINS = {
    "published": "published",
    "authors": "authors' counts",
    "wide_deep": r"Wide~\&~Deep",
}
_DATA = {
    "exact": "exact mathematics",
    "real": "the paper's data set (label real)",
    "authors": "numbers released by the authors (label authors)",
    "related": "genuine data of the same kind (label related)",
    "standin": "generated stand-in data (label standin)",
}
#: Axis -> symbol in the heads of tables.
SYMBOLS = {
    "epoch": "Epoch",
    "epsilon": r"$\epsilon$",
    "delta": r"$\delta$",
    "K": "$K$",
    "k": "$K$",
    "thresholds": r"$|\Theta|$",
    "partition": "Assignment",
    "layout": "Layout",
    "clip": "Clip",
    "sort": "Sort",
    "ends": "Ends",
}
#: The authors' behaviour: first in every order, and what their printed numbers belong to.
AUTHORS = {"layout": "authors", "clip": "True", "sort": "fpr", "ends": "False"}


class Cells(Numbers):
    """All numbers of one table, published ones among them (origin ``published``).

    Attributes
    ----------
    source : of the published numbers.
    unit : what n counts.
    uncertain : the metric whose source uncertainty is stated, and its name.
    """

    paper = "dpauc"
    data = _DATA
    undefined = UNDEFINED

    def __init__(self, measurements: pd.DataFrame, claims: pd.DataFrame) -> None:
        super().__init__(measurements, claims)
        self.source = "as printed in the paper"
        self.unit = "repeats"
        self.uncertain = ("auc", "AUC")

    def publish(
        self,
        published: pd.DataFrame,
        item: str,
        axes: Mapping[str, str],
        metrics: Mapping[str, str],
        **fixed: Any,
    ) -> None:
        """Add rows of a published CSV: ``axes`` and ``metrics`` rename its columns and metrics."""
        if published.empty:
            return
        for row in published.to_dict("records"):
            metric = metrics.get(row["metric"])
            if metric is None or any(empty(row[column]) for column in axes):
                continue
            cell = axes_of({axis: row[column] for column, axis in axes.items()} | fixed)
            std = row.get("std")
            value = {"value": printed(row["value"]), "std": None if empty(std) else printed(std)}
            self.rows.setdefault((item, cell, "published", metric), value | {"note": ""})

    def cells(
        self, item: str, metric: str | None = None, origin: str | None = None
    ) -> list[dict[str, str]]:
        """The axes of every cell of an item that has a number or a claim in the tables' origins."""
        found = {
            axes
            for i, axes, o, m in [*self.rows, *self.claims]
            if i == item
            and metric in (None, m)
            and origin in (None, o)
            and o in (*ORIGINS, "exact")
        }
        return [dict(axes) for axes in sorted(found, key=sorted)]

    def sources(self, *items: str) -> list[str]:
        """The origins with at least one number in the items, in the order of the tables."""
        present = {origin for item in items for origin in self.origins(item)}
        return [origin for origin in ORIGINS if origin in present]

    def about(self, key: Key) -> list[Row]:
        """The claims on a number.

        On a published number these are the faults found by comparing it with what its authors
        released (origin ``released``); that it agrees with its own source is not worth a mark.
        """
        item, axes, origin, metric = key
        if origin != "published":
            return super().about(key)
        keys = [(item, axes, "released", m) for m in (metric, f"{metric}_std")]
        found = [claim for k in (key, *keys) for claim in self.claims.get(k, [])]
        return [claim for claim in found if claim["verdict"] not in ("reproduced", "consistent")]

    def has(self, item: str, cells: Iterable[Mapping[str, Any]], origin: str, metric: str) -> bool:
        """Whether any of some cells has a number or a claim."""
        keys = [(item, axes_of(axes), origin, metric) for axes in cells]
        return any(key in self.rows or key in self.claims for key in keys)


def axis_order(axis: str, value: str) -> tuple:
    """Sort key of an axis value: the authors' behaviour first, then numbers, then text."""
    try:
        return (value != AUTHORS.get(axis), 0, float(value), "")
    except ValueError:
        return (value != AUTHORS.get(axis), 1, 0.0, value)


def distinct(cells: Iterable[Mapping[str, str]], axes: Sequence[str]) -> list[tuple[str, ...]]:
    """The combinations of some axes that occur, in order; epsilon runs downwards as in the paper."""
    found = {tuple(cell[a] for a in axes) for cell in cells if all(a in cell for a in axes)}
    ordered = list(found)
    for position in reversed(range(len(axes))):
        axis = axes[position]
        ordered.sort(
            key=lambda c, i=position, a=axis: axis_order(a, c[i]), reverse=axis == "epsilon"
        )
    return ordered


def label(axis: str, value: str) -> str:
    """An axis value as a reader knows it."""
    names = {
        "True": "yes",
        "False": "no",
        "fpr": "FPR",
        "lexicographic": "FPR, TPR",
        "auc": "AUC",
        "roc": "ROC curve",
    }
    if value in names:
        return names[value]
    try:
        amount = float(value)
    except ValueError:
        return escape(value.replace("_", " "))
    return integer(amount) if amount.is_integer() else short(amount)


def mean_auc(decimals: int) -> Form:
    """A mean with its standard deviation."""
    return lambda row: with_std(row["value"], row["std"], decimals)


def whole(row: Row) -> str:
    """A count."""
    return integer(row["value"])


# --- notes --------------------------------------------------------------------------------------


def _range(values: Iterable[Any]) -> str:
    distinct = sorted({int(v) for v in values if not empty(v)})
    if not distinct:
        return ""
    low, high = distinct[0], distinct[-1]
    return integer(low) if low == high else f"{integer(low)}--{integer(high)}"


def _repeats(values: Iterable[Any], unit: str) -> str:
    text = _range(values)
    return "one value per cell" if text == "1" else f"{text} {unit} per cell"


def close_table(table: Table, cells: Cells, item: str) -> str:
    """Add the notes every table has and render it."""
    shown = [row for _, row in cells.shown if row is not None]
    if any(not empty(row["value"]) and not empty(row["std"]) for row in shown):
        table.note(
            r"A number in parentheses is the standard deviation over repeats in units of the last "
            r"digit shown: 0.70(3) is 0.70 $\pm$ 0.03."
        )
    for origin in cells.sources(item, "ground_truth"):
        table.note(_provenance(cells, item, origin))
    table.note(_gaps(cells, item))
    if any(not defined(row) for row in shown):
        table.note(rf"{UNDEFINED}: undefined (with repeats: in one of them or more).")
    table.note(legend(cells.marks))
    table.note(reasons(cells))
    return table.render()


def _provenance(cells: Cells, item: str, origin: str) -> str:
    """Data label, scale, repeats, M and seed of the numbers of one origin."""
    if origin == "published":
        return f"Published: {cells.source}."
    every = [row for (_, _, o, _), row in cells.shown if o == origin and row is not None]
    metric, quantity = cells.uncertain
    own = [(m, row) for (i, _, o, m), row in cells.shown if (i, o) == (item, origin) and row]
    main = [row for m, row in own if m == metric] or [row for _, row in own]
    if not every:
        return ""
    data = listing(_DATA[label] for label in sorted({row["data"] for row in every}))
    parts = [
        f"scale {listing(sorted({escape(row['scale']) for row in every}))}",
        _repeats((row["n"] for row in main or every), cells.unit),
    ]
    if records := _range(row["m"] for row in every):
        parts.append(f"$M={records}$")
    parts.append(f"seed {listing(str(s) for s in sorted({int(row['seed']) for row in every}))}")
    uncertainty = max((float(r["source_std"] or 0) for m, r in own if m == metric), default=0.0)
    if uncertainty > 0:
        parts.append(
            f"source uncertainty of the {quantity} at most {scientific(uncertainty, 2)} "
            "(one standard deviation)"
        )
    notes = [_sentence(note) for note in _common_notes(main)]
    name = ORIGINS[origin]
    text = f"{name[0].upper()}{name[1:]}: {data}, {listing(parts)}."
    return " ".join([text, *notes])


def _common_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The parts (between semicolons) that the notes of all rows have in common."""
    parts = [{part.strip() for part in str(row["note"] or "").split(";")} for row in rows]
    return sorted(set.intersection(*parts) - {""}) if parts else []


def _gaps(cells: Cells, item: str) -> str:
    """Why there are dashes: origins without any number, epochs an origin does not have."""
    sentences = []
    absent = [o for o in ORIGINS if o not in cells.sources(item, "ground_truth")]
    for origin in absent:
        if origin == "published":
            sentences.append("The paper prints no numbers for this table.")
        else:
            sentences.append(f"There are no numbers from {ORIGINS[origin]} in this run.")
    if not any(row is None for _, row in cells.shown):
        return " ".join(sentences)
    sentences.append(f"{DASH}: no number.")
    for origin in cells.sources(item, "ground_truth"):
        epochs = {}
        for (_, axes, o, _), row in cells.shown:
            if o == origin and "epoch" in dict(axes):
                epochs.setdefault(dict(axes)["epoch"], []).append(row is not None)
        none = sorted((e for e, found in epochs.items() if not any(found)), key=float)
        if none and _excuses(cells, origin):
            continue  # the claims say why
        if none and origin == "authors":
            sentences.append(
                f"No ROC curve is published for epoch{'s' * (len(none) > 1)} {listing(none)}, so "
                "there are no authors' counts to use."
            )
        elif none:
            sentences.append(
                f"{ORIGINS[origin]} lacks epoch{'s' * (len(none) > 1)} {listing(none)}."
            )
    return " ".join(sentences)


def _excuses(cells: Cells, origin: str | None = None) -> list[Row]:
    """The claims on what was shown that were not evaluated for a stated reason."""
    return [
        claim
        for key, _ in cells.shown
        for claim in cells.about(key)
        if claim["verdict"] in ("not run", "not published")
        and not empty(claim.get("why"))
        and origin in (None, key[2])
    ]


def _sentence(text: str) -> str:
    """Plain text of a note as a sentence."""
    return escape(f"{text[:1].upper()}{text[1:]}".rstrip(".")) + "."


def reasons(cells: Cells) -> str:
    """The errata and the reasons for missing numbers behind the marks of a table."""
    why = sorted({str(claim["why"]) for claim in _excuses(cells)})
    sentences = [cells.faults(), *(_sentence(reason) for reason in why[:4])]
    return " ".join(sentence for sentence in sentences if sentence)
