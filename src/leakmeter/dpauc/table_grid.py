"""The common layout of DPAUC's tables: lines per source within settings, columns of budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from leakmeter.dpauc.table_cells import (
    ORIGINS,
    SYMBOLS,
    Cells,
    close_table,
    distinct,
    label,
    mean_auc,
    whole,
)
from leakmeter.reporting.latex import Table, escape
from leakmeter.reporting.numbers import empty, listing, plain


@dataclass(frozen=True)
class Layout:
    """Lines per source within row groups, one column per setting (usually epsilon)."""

    name: str
    item: str
    caption: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    over: str = ""
    metric: str = "auc"
    truths: tuple[str, ...] = ()  # metrics of the columns TensorFlow and scikit-learn
    decimals: int = 6
    size: str = "footnotesize"
    gap: float = 3
    keep_empty: bool = True  # lines of dashes where a source has nothing
    notes: tuple[str, ...] = ()
    ends_only: bool = False  # of the innermost columns only the largest and the smallest
    tail: tuple[tuple[str, str], ...] = ()  # metrics of whole lines and their headings


def grid(cells: Cells, layout: Layout) -> str:
    """Render a layout: the header, a group of lines per row setting, the notes."""
    found = cells.cells(layout.item, layout.metric)
    columns = distinct(found, layout.columns)
    if layout.ends_only and columns:
        inner = [float(c[-1]) for c in columns]
        columns = [c for c in columns if float(c[-1]) in (min(inner), max(inner))]
    width = len(layout.rows) + len(layout.truths) + 1 + max(len(columns), 1) + len(layout.tail)
    table = Table(
        "l" * width,
        caption=layout.caption,
        label=f"tab:dpauc-{layout.name}",
        size=layout.size,
        gap=layout.gap,
    )
    _grid_head(table, layout, columns)
    previous: tuple[str, ...] = ()
    for row in distinct(found, layout.rows):
        _grid_group(table, cells, layout, columns, row, previous)
        previous = row
    for note in layout.notes:
        table.note(note)
    return close_table(table, cells, layout.item)


def _setting(axis: str, value: str) -> str:
    return f"{SYMBOLS.get(axis, escape(axis))}${{}}={{}}${label(axis, value)}"


def _grid_head(table: Table, layout: Layout, columns: Sequence[tuple[str, ...]]) -> None:
    """Two lines: names of the axes and of the groups of columns, then the columns."""
    names = [SYMBOLS.get(a, escape(a)) for a in layout.rows]
    truth: list = [("Ground truth", 2)] if layout.truths else []
    groups: list = [(layout.over, len(columns))] if columns else [""]
    if columns and layout.columns[:-1]:
        groups = []
        for key, group in groupby(columns, key=lambda c: c[:-1]):
            text = listing(_setting(a, v) for a, v in zip(layout.columns, key, strict=False))
            groups.append((text, len(list(group))))
    tail = [head for _, head in layout.tail]
    table.head(names[0], *truth, *names[1:], "Source", *groups, *tail)
    settings = [_setting(layout.columns[-1], c[-1]) for c in columns] or [""]
    blank = [""] * len(layout.rows)
    truth = ["TensorFlow", "scikit-learn"] if layout.truths else []
    table.head("", *truth, *blank, *settings, *[""] * len(tail))


def _grid_group(
    table: Table,
    cells: Cells,
    layout: Layout,
    columns: Sequence[tuple[str, ...]],
    row: tuple[str, ...],
    previous: tuple[str, ...],
) -> None:
    """A line per source of one row setting; labels and ground truth that repeat stay blank."""
    origins = cells.sources(layout.item, *(["ground_truth"] if layout.truths else []))
    new_epoch = row[:1] != previous[:1]
    if new_epoch:
        table.rule()
    elif len(origins) > 1:
        table.space()
    labels = [
        "" if row[: i + 1] == previous[: i + 1] else label(axis, row[i])
        for i, axis in enumerate(layout.rows)
    ]
    axes = dict(zip(layout.rows, row, strict=True))
    form = mean_auc(layout.decimals)
    for origin in origins:
        keys = [{**axes, **dict(zip(layout.columns, c, strict=True))} for c in columns]
        if not (
            cells.has(layout.item, keys, origin, layout.metric)
            or (layout.keep_empty and origin != "published")
        ):
            continue
        truth = [
            cells.text("ground_truth", {"epoch": row[0]}, m, form, origin) if new_epoch else ""
            for m in layout.truths
        ]
        body = [cells.text(layout.item, key, layout.metric, form, origin) for key in keys] or [""]
        tail = [
            cells.text(layout.item, axes, m, whole, origin)
            if cells.has(layout.item, [axes], origin, m)
            else ""
            for m, _ in layout.tail
        ]
        name = ORIGINS[origin]
        table.row(labels[0], *truth, *labels[1:], name, *body, *tail)
        labels = [""] * len(labels)


def constant(published: pd.DataFrame, column: str) -> str | None:
    """The single value of a column of the published table, if it has just one."""
    if published.empty or column not in published:
        return None
    values = {plain(v) for v in published[column] if not empty(v)}
    return values.pop() if len(values) == 1 else None


def publish_truth(cells: Cells, published: pd.DataFrame, tensorflow: str) -> None:
    metrics = {"groundtruth_sklearn": "auc_exact", "groundtruth_tensorflow": tensorflow}
    cells.publish(published, "ground_truth", {"epoch": "epoch"}, metrics)
