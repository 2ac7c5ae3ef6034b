r"""The DPAUC paper's Tables 1-5 in its layout, and the tables of what it does not print.

Every function takes the measurements, the claims and the published numbers and returns one LaTeX
float. Each cell of the paper is shown up to three times: as published, as measured on the authors'
released counts (origin ``authors``), as measured on our model (origin ``wide_deep``). The mark
behind one of our numbers is the worst verdict of the claims on it (none: nothing is claimed); a
published number is marked if it disagrees with what its authors released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.reporting.latex import (
    DASH,
    UNDEFINED,
    Table,
    escape,
    integer,
    legend,
    mark,
    number,
    printed,
    scientific,
    short,
    with_std,
    worst,
)
from leakmeter.reporting.measurements import KEY, parse_cell
from leakmeter.runtime import UserError

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
_SYMBOLS = {
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
_AUTHORS = {"layout": "authors", "clip": "True", "sort": "fpr", "ends": "False"}

_Key = tuple[str, frozenset[tuple[str, str]], str, str]
_Formatter = Callable[[Any, Any], str]


def read_published(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Published numbers as text, so that each keeps the digits it was printed with.

    No path gives an empty frame, for tables that compare with nothing.

    Raises
    ------
    UserError
        a file that cannot be read as CSV.
    """
    frames = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        try:
            frames.append(pd.read_csv(path, dtype="str", keep_default_na=False))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: cannot be read as published numbers ({error})") from error
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


# --- cells --------------------------------------------------------------------------------------


def _plain(value: Any) -> str:
    """An axis value as cell keys write it: ``8.0`` is ``8``; text that is no number stays."""
    try:
        amount = float(value)
    except (TypeError, ValueError):
        return str(value)
    return str(int(amount)) if amount.is_integer() else str(amount)


def _axes(**axes: Any) -> frozenset[tuple[str, str]]:
    return frozenset((name, _plain(value)) for name, value in axes.items())


def _empty(value: Any) -> bool:
    return value is None or value == "" or bool(pd.isna(value))


class _Cells:
    """All numbers of one table by key, and a record of what was shown (for the notes)."""

    def __init__(self, measurements: pd.DataFrame, claims: pd.DataFrame) -> None:
        self.values: dict[_Key, dict[str, Any]] = {}
        self.claims: dict[_Key, list[dict[str, Any]]] = {}
        self.marks: Counter[str] = Counter()
        self.shown: list[tuple[_Key, dict[str, Any] | None]] = []
        self.source = "as printed in the paper"  # of the published numbers
        self.unit = "repeats"  # what n counts
        self.uncertain = ("auc", "AUC")  # metric whose source uncertainty is stated, and its name
        for row in _records(measurements):
            self.values[self._key(row)] = row
        for row in _records(claims):
            self.claims.setdefault(self._key(row), []).append(row)

    @staticmethod
    def _key(row: Mapping[str, Any]) -> _Key:
        return row["item"], _axes(**parse_cell(row["cell"])), row["origin"], row["metric"]

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
            if metric is None or any(_empty(row[column]) for column in axes):
                continue
            cell = _axes(**{axis: row[column] for column, axis in axes.items()}, **fixed)
            std = row.get("std")
            self.values.setdefault(
                (item, cell, "published", metric),
                {"value": printed(row["value"]), "std": None if _empty(std) else printed(std)},
            )

    def cells(self, item: str, metric: str | None = None) -> list[dict[str, str]]:
        """The axes of every cell of an item that has a number or a claim, without repetition."""
        keys = [*self.values, *self.claims]
        found = {
            axes
            for i, axes, origin, m in keys
            if i == item and metric in (None, m) and (origin in ORIGINS or origin == "exact")
        }
        return [dict(axes) for axes in sorted(found, key=sorted)]

    def origins(self, *items: str) -> list[str]:
        """The origins with at least one number in the items, in the order of the tables."""
        present = {origin for item, _, origin, _ in self.values if item in items}
        return [o for o in ORIGINS if o in present]

    def about(self, key: _Key) -> list[dict[str, Any]]:
        """The claims on a number.

        On a published number these are the faults found by comparing it with what its authors
        released (origin ``released``); that it agrees with its own source is not worth a mark.
        """
        item, axes, origin, metric = key
        if origin != "published":
            return self.claims.get(key, [])
        keys = [(item, axes, "released", m) for m in (metric, f"{metric}_std")]
        found = [claim for k in (key, *keys) for claim in self.claims.get(k, [])]
        return [claim for claim in found if claim["verdict"] not in ("reproduced", "consistent")]

    def has(self, item: str, cells: Iterable[Mapping[str, Any]], origin: str, metric: str) -> bool:
        """Whether any of some cells has a number or a claim."""
        keys = [(item, _axes(**axes), origin, metric) for axes in cells]
        return any(key in self.values or key in self.claims for key in keys)

    def text(
        self, item: str, axes: Mapping[str, Any], origin: str, metric: str, form: _Formatter
    ) -> str:
        """One number with the mark of its verdict; a dash where there is none."""
        key = (item, _axes(**axes), origin, metric)
        row = self.values.get(key)
        self.shown.append((key, row))
        verdict = worst([claim["verdict"] for claim in self.about(key)])
        if verdict:
            self.marks[verdict] += 1
        if row is None:
            body = DASH
        elif _empty(row["value"]):
            body = UNDEFINED
        else:
            body = form(row["value"], row["std"])
        return body + mark(verdict)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    if frame.empty:
        return []
    own = frame[frame["paper"] == "dpauc"]
    # an empty field of a CSV comes as NaN
    own = own.assign(**{column: own[column].fillna("") for column in KEY if column != "paper"})
    return own.to_dict("records")


def _order(axis: str, value: str) -> tuple:
    """Sort key of an axis value: the authors' behaviour first, then numbers, then text."""
    try:
        return (value != _AUTHORS.get(axis), 0, float(value), "")
    except ValueError:
        return (value != _AUTHORS.get(axis), 1, 0.0, value)


def _distinct(cells: Iterable[Mapping[str, str]], axes: Sequence[str]) -> list[tuple[str, ...]]:
    """The combinations of some axes that occur, in order; epsilon runs downwards as in the paper."""
    found = {tuple(cell[a] for a in axes) for cell in cells if all(a in cell for a in axes)}
    ordered = list(found)
    for position in reversed(range(len(axes))):
        axis = axes[position]
        ordered.sort(key=lambda c, i=position, a=axis: _order(a, c[i]), reverse=axis == "epsilon")
    return ordered


def _label(axis: str, value: str) -> str:
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


def _auc(decimals: int) -> _Formatter:
    return partial(with_std, decimals=decimals)


# --- notes --------------------------------------------------------------------------------------


def _range(values: Iterable[Any]) -> str:
    distinct = sorted({int(v) for v in values if not _empty(v)})
    if not distinct:
        return ""
    low, high = distinct[0], distinct[-1]
    return integer(low) if low == high else f"{integer(low)}--{integer(high)}"


def _repeats(values: Iterable[Any], unit: str) -> str:
    text = _range(values)
    return "one value per cell" if text == "1" else f"{text} {unit} per cell"


def _list(values: Iterable[str]) -> str:
    return ", ".join(values)


def _close(table: Table, cells: _Cells, item: str) -> str:
    """Add the notes every table has and render it."""
    shown = [row for _, row in cells.shown if row is not None]
    if any(not _empty(row["value"]) and not _empty(row["std"]) for row in shown):
        table.note(
            r"A number in parentheses is the standard deviation over repeats in units of the last "
            r"digit shown: 0.70(3) is 0.70 $\pm$ 0.03."
        )
    for origin in cells.origins(item, "ground_truth"):
        table.note(_provenance(cells, item, origin))
    table.note(_gaps(cells, item))
    if any(_empty(row["value"]) for row in shown):
        table.note(rf"{UNDEFINED}: undefined (with repeats: in one of them or more).")
    table.note(legend(cells.marks))
    table.note(_reasons(cells))
    return table.render()


def _provenance(cells: _Cells, item: str, origin: str) -> str:
    """Data label, scale, repeats, M and seed of the numbers of one origin."""
    if origin == "published":
        return f"Published: {cells.source}."
    every = [row for (_, _, o, _), row in cells.shown if o == origin and row is not None]
    metric, quantity = cells.uncertain
    own = [(m, row) for (i, _, o, m), row in cells.shown if (i, o) == (item, origin) and row]
    main = [row for m, row in own if m == metric] or [row for _, row in own]
    if not every:
        return ""
    data = _list(_DATA[label] for label in sorted({row["data"] for row in every}))
    parts = [
        f"scale {_list(sorted({escape(row['scale']) for row in every}))}",
        _repeats((row["n"] for row in main or every), cells.unit),
    ]
    if records := _range(row["m"] for row in every):
        parts.append(f"$M={records}$")
    parts.append(f"seed {_list(str(s) for s in sorted({int(row['seed']) for row in every}))}")
    uncertainty = max((float(r["source_std"] or 0) for m, r in own if m == metric), default=0.0)
    if uncertainty > 0:
        parts.append(
            f"source uncertainty of the {quantity} at most {scientific(uncertainty, 2)} "
            "(one standard deviation)"
        )
    notes = [_sentence(note) for note in _common_notes(main)]
    name = ORIGINS[origin]
    text = f"{name[0].upper()}{name[1:]}: {data}, {_list(parts)}."
    return " ".join([text, *notes])


def _common_notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The parts (between semicolons) that the notes of all rows have in common."""
    parts = [{part.strip() for part in str(row["note"] or "").split(";")} for row in rows]
    return sorted(set.intersection(*parts) - {""}) if parts else []


def _gaps(cells: _Cells, item: str) -> str:
    """Why there are dashes: origins without any number, epochs an origin does not have."""
    sentences = []
    absent = [o for o in ORIGINS if o not in cells.origins(item, "ground_truth")]
    for origin in absent:
        if origin == "published":
            sentences.append("The paper prints no numbers for this table.")
        else:
            sentences.append(f"There are no numbers from {ORIGINS[origin]} in this run.")
    if not any(row is None for _, row in cells.shown):
        return " ".join(sentences)
    sentences.append(f"{DASH}: no number.")
    for origin in cells.origins(item, "ground_truth"):
        epochs = {}
        for (_, axes, o, _), row in cells.shown:
            if o == origin and "epoch" in dict(axes):
                epochs.setdefault(dict(axes)["epoch"], []).append(row is not None)
        none = sorted((e for e, found in epochs.items() if not any(found)), key=float)
        if none and _excuses(cells, origin):
            continue  # the claims say why
        if none and origin == "authors":
            sentences.append(
                f"No ROC curve is published for epoch{'s' * (len(none) > 1)} {_list(none)}, so "
                "there are no authors' counts to use."
            )
        elif none:
            sentences.append(f"{ORIGINS[origin]} lacks epoch{'s' * (len(none) > 1)} {_list(none)}.")
    return " ".join(sentences)


def _excuses(cells: _Cells, origin: str | None = None) -> list[dict[str, Any]]:
    """The claims on what was shown that were not evaluated for a stated reason."""
    return [
        claim
        for key, _ in cells.shown
        for claim in cells.about(key)
        if claim["verdict"] in ("not run", "not published")
        and not _empty(claim.get("why"))
        and origin in (None, key[2])
    ]


def _sentence(text: str) -> str:
    """Plain text of a note as a sentence."""
    return escape(f"{text[:1].upper()}{text[1:]}".rstrip(".")) + "."


def _reasons(cells: _Cells) -> str:
    """The errata and the reasons for missing numbers behind the marks of a table."""
    claims = [claim for key, _ in cells.shown for claim in cells.about(key)]
    errata = sorted({str(c["erratum"]) for c in claims if not _empty(c.get("erratum"))})
    why = sorted({str(claim["why"]) for claim in _excuses(cells)})
    sentences = [f"Errata: {escape(_list(errata))}."] if errata else []
    sentences += [_sentence(reason) for reason in why[:4]]
    return " ".join(sentences)


# --- the common layout --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
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


def _grid(cells: _Cells, layout: _Layout) -> str:
    """Render a layout: the header, a group of lines per row setting, the notes."""
    found = cells.cells(layout.item, layout.metric)
    columns = _distinct(found, layout.columns)
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
    for row in _distinct(found, layout.rows):
        _grid_group(table, cells, layout, columns, row, previous)
        previous = row
    for note in layout.notes:
        table.note(note)
    return _close(table, cells, layout.item)


def _setting(axis: str, value: str) -> str:
    return f"{_SYMBOLS.get(axis, escape(axis))}${{}}={{}}${_label(axis, value)}"


def _grid_head(table: Table, layout: _Layout, columns: Sequence[tuple[str, ...]]) -> None:
    """Two lines: names of the axes and of the groups of columns, then the columns."""
    names = [_SYMBOLS.get(a, escape(a)) for a in layout.rows]
    truth: list = [("Ground truth", 2)] if layout.truths else []
    groups: list = [(layout.over, len(columns))] if columns else [""]
    if columns and layout.columns[:-1]:
        groups = []
        for key, group in groupby(columns, key=lambda c: c[:-1]):
            text = _list(_setting(a, v) for a, v in zip(layout.columns, key, strict=False))
            groups.append((text, len(list(group))))
    tail = [head for _, head in layout.tail]
    table.head(names[0], *truth, *names[1:], "Source", *groups, *tail)
    settings = [_setting(layout.columns[-1], c[-1]) for c in columns] or [""]
    blank = [""] * len(layout.rows)
    truth = ["TensorFlow", "scikit-learn"] if layout.truths else []
    table.head("", *truth, *blank, *settings, *[""] * len(tail))


def _grid_group(
    table: Table,
    cells: _Cells,
    layout: _Layout,
    columns: Sequence[tuple[str, ...]],
    row: tuple[str, ...],
    previous: tuple[str, ...],
) -> None:
    """A line per source of one row setting; labels and ground truth that repeat stay blank."""
    origins = cells.origins(layout.item, *(["ground_truth"] if layout.truths else []))
    new_epoch = row[:1] != previous[:1]
    if new_epoch:
        table.rule()
    elif len(origins) > 1:
        table.space()
    labels = [
        "" if row[: i + 1] == previous[: i + 1] else _label(axis, row[i])
        for i, axis in enumerate(layout.rows)
    ]
    axes = dict(zip(layout.rows, row, strict=True))
    form = _auc(layout.decimals)
    for origin in origins:
        keys = [{**axes, **dict(zip(layout.columns, c, strict=True))} for c in columns]
        if not (
            cells.has(layout.item, keys, origin, layout.metric)
            or (layout.keep_empty and origin != "published")
        ):
            continue
        truth = [
            cells.text("ground_truth", {"epoch": row[0]}, origin, m, form) if new_epoch else ""
            for m in layout.truths
        ]
        body = [cells.text(layout.item, key, origin, layout.metric, form) for key in keys] or [""]
        tail = [
            cells.text(layout.item, axes, origin, m, lambda value, _: integer(value))
            if cells.has(layout.item, [axes], origin, m)
            else ""
            for m, _ in layout.tail
        ]
        name = ORIGINS[origin]
        table.row(labels[0], *truth, *labels[1:], name, *body, *tail)
        labels = [""] * len(labels)


def _constant(published: pd.DataFrame, column: str) -> str | None:
    """The single value of a column of the published table, if it has just one."""
    if published.empty or column not in published:
        return None
    values = {_plain(v) for v in published[column] if not _empty(v)}
    return values.pop() if len(values) == 1 else None


def _truth(cells: _Cells, published: pd.DataFrame, tensorflow: str) -> None:
    metrics = {"groundtruth_sklearn": "auc_exact", "groundtruth_tensorflow": tensorflow}
    cells.publish(published, "ground_truth", {"epoch": "epoch"}, metrics)


# --- the paper's tables -------------------------------------------------------------------------

_KERAS_NOTE = (
    r"TensorFlow: \texttt{tf.keras} AUC with 200 thresholds, which the printed column is although "
    r"the paper's text says 1{,}000; scikit-learn: exact AUC."
)


def _place(number: int) -> str:
    return rf"The paper's Table~{number}."


def table1(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 1: debiased AUC under randomised response, epoch by epsilon, beside the ground truth."""
    cells = _Cells(measurements, claims)
    axes = {"epoch": "epoch", "epsilon_total": "epsilon"}
    cells.publish(published, "table1", axes, {"auc": "auc"})
    _truth(cells, published, "auc_keras_200")
    thresholds = _constant(published, "n_thresholds")
    setting = rf" ($|\Theta|={thresholds}$)" if thresholds else ""
    return _grid(
        cells,
        _Layout(
            name="table1",
            item="table1",
            caption=rf"AUC of DPAUC\textsubscript{{RR}} after debiasing{setting}. " + _place(1),
            notes=(_KERAS_NOTE, _outside(cells)),
            rows=("epoch",),
            columns=("epsilon",),
            over=r"DPAUC\textsubscript{RR}",
            truths=("auc_keras_200", "auc_exact"),
        ),
    )


def _outside(cells: _Cells) -> str:
    """Where debiased values left [0, 1]: they are reported, never clipped."""
    found = [
        (dict(axes), origin, float(row["value"]))
        for (item, axes, origin, metric), row in cells.values.items()
        if (item, metric) == ("table1", "share_outside") and not _empty(row["value"])
    ]
    found = [entry for entry in found if entry[2] > 0]
    if not found:
        return ""
    shares: dict[tuple[float, str], list[float]] = {}
    for axes, origin, share in found:
        shares.setdefault((float(axes["epsilon"]), origin), []).append(100 * share)
    places = [
        rf"{short(max(values), 2)}\,\% at $\epsilon={short(epsilon)}$ "
        f"({ORIGINS[origin]})"
        for (epsilon, origin), values in sorted(shares.items())
    ]
    return (
        "Debiased values outside $[0, 1]$ are kept as they are; the largest shares of repeats: "
        f"{_list(places)}."
    )


def noisy(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """The AUC of the flipped labels behind Table 1, before debiasing (not printed in the paper)."""
    return _grid(
        _Cells(measurements, claims),
        _Layout(
            name="noisy",
            item="table1",
            metric="auc_noisy",
            caption=r"DPAUC\textsubscript{RR}: AUC of the flipped labels before debiasing, for the "
            "cells of the paper's Table~1.",
            rows=("epoch",),
            columns=("epsilon",),
            over=r"DPAUC\textsubscript{RR}, noisy",
            keep_empty=False,
        ),
    )


def table2(
    measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame, *, epoch: int = 0
) -> str:
    """Table 2: positives, precision and recall among the K records with the largest scores.

    The paper names no epoch; ``epoch`` says which measurements stand beside its numbers (the
    authors' counts of epoch 0 give the printed ones).
    """
    cells = _Cells(measurements, claims)
    metrics = {"n_positives": "positives", "precision": "precision", "recall": "recall"}
    cells.publish(published, "table2", {"top_k": "k"}, metrics, epoch=epoch)
    forms: dict[str, _Formatter] = {
        "positives": lambda value, _: integer(value),
        "precision": lambda value, _: number(value, 4),
        "recall": lambda value, _: (
            scientific(value, 3) if float(value) < 0.01 else number(value, 4)
        ),
    }
    cells.uncertain = ("positives", "number of positives")
    origins = cells.origins("table2") or ["published"]
    table = Table(
        " ".join(["r", "r" * len(origins), *["l" * len(origins)] * 2]),
        caption=f"The $K$ records with the largest scores (epoch {epoch}). " + _place(2),
        label="tab:dpauc-table2",
        size="scriptsize",
        gap=3,
    )
    names = [ORIGINS[o] for o in origins]
    heads = ("Positives", "Precision", "Recall")
    table.head("", *((head, len(origins)) for head in heads))
    table.head("$K$", *names * 3)
    for k, e in _distinct(cells.cells("table2"), ("k", "epoch")):
        if e != str(epoch):
            continue
        line = [
            cells.text("table2", {"epoch": e, "k": k}, origin, metric, form)
            for metric, form in forms.items()
            for origin in origins
        ]
        table.row(integer(k), *line)
    return _close(table, cells, "table2")


def table3(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 3: AUC when Laplace noise of scale 1/epsilon is added to every score."""
    cells = _Cells(measurements, claims)
    axes = {"epoch": "epoch", "epsilon_score": "epsilon"}
    cells.publish(published, "table3", axes, {"auc_laplace_on_scores": "auc"})
    _truth(cells, published, "auc_keras_1000")
    found = cells.cells("table3", "auc")
    epochs = [e for (e,) in _distinct(found, ("epoch",))]
    origins = cells.origins("table3", "ground_truth") or ["published"]
    table = Table(
        "l" + "l" * max(len(epochs), 1) * len(origins),
        caption=r"AUC with noise $\mathrm{Lap}(1/\epsilon)$ added to each score. " + _place(3),
        label="tab:dpauc-table3",
        size="scriptsize",
        gap=3,
    )
    names = [ORIGINS[o] for o in origins]
    table.head("", *((f"Epoch {e}", len(origins)) for e in epochs or [""]))
    table.head("", *names * max(len(epochs), 1))

    def line(label: str, item: str, metric: str, **axes: str) -> None:
        texts = [
            cells.text(item, {"epoch": e, **axes}, origin, metric, _auc(4))
            for e in epochs
            for origin in origins
        ]
        table.row(label, *(texts or [""] * len(origins)))

    line("TensorFlow", "ground_truth", "auc_keras_1000")
    line("scikit-learn", "ground_truth", "auc_exact")
    table.rule()
    for (epsilon,) in reversed(_distinct(found, ("epsilon",))):
        line(rf"$\epsilon=$ {_label('epsilon', epsilon)}", "table3", "auc", epsilon=epsilon)
    table.note(
        r"TensorFlow: \texttt{tf.keras} AUC with 1{,}000 thresholds; scikit-learn and noisy "
        "scores: exact AUC. The printed numbers are single runs."
    )
    return _close(table, cells, "table3")


def table4(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 4: DPAUC_Lap by epoch, number of clients, assignment and epsilon."""
    cells = _Cells(measurements, claims)
    axes = {"epoch": "epoch", "partition": "partition", "K": "K", "epsilon_total": "epsilon"}
    cells.publish(published, "table4", axes, {"auc": "auc"})
    _truth(cells, published, "auc_keras_200")
    thresholds = _constant(published, "n_thresholds")
    setting = rf" ($|\Theta|={thresholds}$)" if thresholds else ""
    return _grid(
        cells,
        _Layout(
            name="table4",
            item="table4",
            caption=r"AUC of DPAUC\textsubscript{Lap} for IID and Non-IID assignments of the "
            rf"records to $K$ clients{setting}. " + _place(4),
            notes=(_KERAS_NOTE,),
            rows=("epoch", "K", "partition"),
            columns=("epsilon",),
            over=r"DPAUC\textsubscript{Lap}",
            truths=("auc_keras_200", "auc_exact"),
            size="scriptsize",
            gap=2.5,
        ),
    )


def table5(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 5: DPAUC_Lap by epoch, number of thresholds and epsilon."""
    cells = _Cells(measurements, claims)
    axes = {"epoch": "epoch", "n_thresholds": "thresholds", "epsilon_total": "epsilon"}
    cells.publish(published, "table5", axes, {"auc": "auc"})
    _truth(cells, published, "auc_keras_200")
    clients = _constant(published, "K")
    setting = rf" ($K={clients}$)" if clients else ""
    return _grid(
        cells,
        _Layout(
            name="table5",
            item="table5",
            caption=r"AUC of DPAUC\textsubscript{Lap} by the nominal number of thresholds "
            rf"$|\Theta|${setting}. " + _place(5),
            notes=(_KERAS_NOTE,),
            rows=("epoch", "thresholds"),
            columns=("epsilon",),
            over=r"DPAUC\textsubscript{Lap}",
            truths=("auc_keras_200", "auc_exact"),
        ),
    )


# --- what the paper does not print --------------------------------------------------------------


def training(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """AUC per epoch without noise beside the published ground truth, and its spread over seeds.

    ``published`` holds the rows of Table 1 and, for the column of 1,000 thresholds, of Table 3.
    """
    cells = _Cells(measurements, claims)
    cells.unit = "model seeds"
    if not published.empty:
        table = published["table"].map(_plain)
        _truth(cells, published[table != "3"], "auc_keras_200")
        _truth(cells, published[table == "3"], "auc_keras_1000")
    columns = [
        ("ground_truth", "auc_exact", "exact"),
        ("ground_truth", "auc_keras_200", r"\texttt{tf.keras}, 200"),
        ("ground_truth", "auc_keras_1000", r"\texttt{tf.keras}, 1{,}000"),
        ("training", "auc", "exact, over model seeds"),
    ]
    built = Table(
        "l" * (2 + len(columns)),
        caption="DPAUC: AUC per epoch without noise.",
        label="tab:dpauc-training",
    )
    built.head("Epoch", "Source", *(head for *_, head in columns))
    origins = cells.origins("ground_truth", "training")
    for (epoch,) in _distinct([*cells.cells("ground_truth"), *cells.cells("training")], ("epoch",)):
        label = _label("epoch", epoch)
        for origin in origins:
            texts = [
                cells.text(item, {"epoch": epoch}, origin, metric, _auc(6))
                for item, metric, _ in columns
            ]
            built.row(label, ORIGINS[origin], *texts)
            label = ""
        built.space()
    built.note(
        "The printed TensorFlow column of Tables 1, 4 and 5 stands under 200 thresholds, that of "
        r"Table 3 under 1{,}000. Over model seeds: mean (standard deviation) of the exact AUC."
    )
    return _close(built, cells, "training")


def noise_free(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """AUC of the thresholded curve without noise: what DPAUC_Lap would give for infinite epsilon.

    ``published`` holds the authors' own output files (``dpauc_author_repo_outputs.csv``), of which
    the runs without mechanism are used.
    """
    cells = _Cells(measurements, claims)
    if not published.empty:
        # pandas reads the word None as a missing value unless told otherwise
        cells.source = "the authors' released output files"
        mechanism = published["mechanism"]
        runs = published[mechanism.isna() | mechanism.isin(["None", ""])]
        runs = runs.assign(metric="auc", value=runs["auc_mean"].map(lambda v: f"{float(v):.6f}"))
        axes = {"epoch": "epoch", "n_thresholds_nominal": "thresholds"}
        cells.publish(
            runs.drop(columns="auc_std"), "noise_free", axes, {"auc": "auc"}, layout="authors"
        )
    return _grid(
        cells,
        _Layout(
            name="noise-free",
            item="noise_free",
            caption=r"DPAUC: AUC of the thresholded curve without noise, by the nominal number of "
            r"thresholds $|\Theta|$.",
            rows=("epoch", "layout"),
            columns=("thresholds",),
            over="DPAUC without noise",
            keep_empty=False,
        ),
    )


def ablation(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Which of the undocumented choices the printed numbers can tell apart.

    ``published`` holds Table 4; its IID cells stand beside the authors' behaviour.
    """
    cells = _Cells(measurements, claims)
    found = cells.cells("ablation", "auc")
    if found and not published.empty:
        columns, epochs = _distinct(found, ("K", "epsilon")), {c["epoch"] for c in found}
        kept = [
            (_plain(row["K"]), _plain(row["epsilon_total"])) in columns
            and _plain(row["epoch"]) in epochs
            and row["partition"] == "IID"
            for row in published.to_dict("records")
        ]
        axes = {"epoch": "epoch", "K": "K", "epsilon_total": "epsilon"}
        cells.publish(published[kept], "ablation", axes, {"auc": "auc"}, **_AUTHORS)
    return _grid(
        cells,
        _Layout(
            name="ablation",
            item="ablation",
            caption=r"DPAUC\textsubscript{Lap}: effect of the choices only the authors' code "
            "shows. The first group is their behaviour.",
            notes=(
                "Clip: negative totals raised to 0; sort: order of the points before integration; "
                "ends: (0, 0) and (1, 1) added. Shown are the largest and the smallest budget. Rejected: cells of the paper's "
                "Table 4 (this epoch, all budgets) whose printed mean differs from this variant's.",
            ),
            tail=(("rejected_cells", "Rejected"),),
            ends_only=True,
            rows=("epoch", *_AUTHORS),
            columns=("K", "epsilon"),
            size="scriptsize",
            gap=2.5,
            keep_empty=False,
        ),
    )


def gaussian(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """DPAUC with Gaussian noise, which the paper says works but reports no run of."""
    return _grid(
        _Cells(measurements, claims),
        _Layout(
            name="gaussian",
            item="gaussian",
            caption=r"DPAUC with Gaussian noise calibrated to $(\epsilon, \delta)$.",
            rows=("epoch", "thresholds", "K", "delta"),
            columns=("epsilon",),
            over="DPAUC, Gaussian mechanism",
            keep_empty=False,
        ),
    )


def budget(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """What a nominal epsilon really spends: the paper's account, the tight one, and PLD."""
    cells = _Cells(measurements, claims)
    quantities = {
        "epsilon_per_count": r"$\epsilon'$ per count",
        "thresholds_actual": "used",
        "thresholds_distinct": "distinct",
        "paper": "nominal",
        "paper_actual": "used",
        "tight": "used",
        "tight_distinct": "distinct",
        "pld": "used, PLD",
    }
    groups = {
        "epsilon_per_count": "",
        "thresholds_actual": r"$|\Theta|$",
        "thresholds_distinct": r"$|\Theta|$",
        "paper": r"Paper: $4|\Theta|\epsilon'$",
        "paper_actual": r"Paper: $4|\Theta|\epsilon'$",
        "tight": r"Spent: $2|\Theta|\epsilon'$",
        "tight_distinct": r"Spent: $2|\Theta|\epsilon'$",
        "pld": "Spent",
    }
    present = {m for item, _, _, m in cells.values if item == "budget"}
    quantities = {m: head for m, head in quantities.items() if m in present or not present}
    found = cells.cells("budget")
    names = sorted({axis for cell in found for axis in cell} - {"thresholds", "epsilon"})
    axes = ["thresholds", "epsilon", *names]
    table = Table(
        "l" * (len(axes) + len(quantities)),
        caption=r"DPAUC\textsubscript{Lap}: privacy budget, by the nominal number of thresholds "
        r"$|\Theta|$ and the nominal $\epsilon$.",
        label="tab:dpauc-budget",
    )
    heads = [(h, len(list(group))) for h, group in groupby(groups[m] for m in quantities)]
    table.head(*[""] * len(axes), *heads)
    table.head(*(_SYMBOLS.get(a, escape(a)) for a in axes), *quantities.values())
    previous: tuple[str, ...] = ()
    for row in _distinct(found, axes):
        if previous and row[0] != previous[0]:
            table.space()
        label = "" if previous and row[0] == previous[0] else _label(axes[0], row[0])
        cell = dict(zip(axes, row, strict=True))
        texts = [
            cells.text("budget", cell, "exact", metric, lambda value, _: short(value, 4))
            for metric in quantities
        ]
        table.row(label, *(_label(a, v) for a, v in zip(axes[1:], row[1:], strict=True)), *texts)
        previous = row
    table.note(
        "Changing one label changes two of the four counts at each threshold by one, so the exact "
        "cost is half of what the paper states. Used: with the thresholds the layout really has; distinct: "
        "if duplicates were released once; PLD: by the privacy-loss distribution."
    )
    table.note(legend(cells.marks))
    table.note(_reasons(cells))
    at = {row["note"] for (*_, m), row in cells.shown if m == "pld" and row and row["note"]}
    table.note(f"PLD: {escape(_list(sorted(at)))}." if at else "")
    return table.render()


def leaks(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """The attacks the paper argues with: what each recovers, by source and budget of the release.

    An axis ``epsilon`` makes the columns (``inf``: an exact release); cells without it fill one
    column.
    """
    cells = _Cells(measurements, claims)
    origins = cells.origins("leaks") or ["wide_deep"]
    found = cells.cells("leaks")
    columns = [e for (e,) in _distinct(found, ("epsilon",))]
    columns += [""] if not columns or any("epsilon" not in c for c in found) else []
    named = len(origins) > 1
    table = Table(
        "l" * (3 + named + len(columns)),
        caption="DPAUC: the leaks the paper argues with, run on scores and labels of epoch 0.",
        label="tab:dpauc-leaks",
        size="scriptsize",
    )
    heads = [
        r"$\epsilon=\infty$" if e == "inf" else rf"$\epsilon={e}$" if e else "" for e in columns
    ]
    table.head("Attack", "Setting", "Quantity", *["Source"] * named, *heads)
    previous = None
    for attack, rest in _leak_rows(found):
        if previous is not None and attack != previous:
            table.rule()
        elif previous is not None:
            table.space()
        setting = ", ".join(f"{_leak_axis(a)} = {_label(a, v)}" for a, v in rest)
        labels = ["" if attack == previous else _words(attack), setting]
        keys = [{"attack": attack, **dict(rest), **({"epsilon": e} if e else {})} for e in columns]
        at = {_axes(**key) for key in keys}
        metrics = {(m, o) for i, c, o, m in cells.values if i == "leaks" and c in at}
        for metric in sorted({m for m, _ in metrics}, key=_leak_metric_order):
            name = _words(metric)
            for origin in (o for o in origins if (metric, o) in metrics):
                texts = [cells.text("leaks", key, origin, metric, _leak_form) for key in keys]
                table.row(*labels, name, *[ORIGINS[origin]] * named, *texts)
                labels, name = ["", ""], ""
        previous = attack
    if "inf" in columns:
        table.note(r"$\epsilon=\infty$: the release is exact.")
    return _close(table, cells, "leaks")


def _words(name: str) -> str:
    return escape(name.replace("_", " "))


def _leak_axis(axis: str) -> str:
    return _SYMBOLS.get(axis, _words(axis)) if axis != "epoch" else "epoch"


def _leak_rows(
    found: Iterable[Mapping[str, str]],
) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Attack and its axes without epsilon, once each, in order."""
    rows = {
        (
            c.get("attack", ""),
            tuple(sorted((a, v) for a, v in c.items() if a not in ("attack", "epsilon"))),
        )
        for c in found
    }
    return sorted(rows, key=lambda row: (row[0], [(a, _order(a, v)) for a, v in row[1]]))


def _leak_metric_order(metric: str) -> tuple:
    return metric not in ("located", "recovered"), metric


def _leak_form(value: Any, std: Any) -> str:
    if not _empty(std):
        return with_std(value, std, 3)
    return integer(value) if float(value) >= 1000 else short(value, 3)


#: Name -> function, in the order of a document.
TABLES: dict[str, Callable[..., str]] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "noisy": noisy,
    "training": training,
    "noise_free": noise_free,
    "ablation": ablation,
    "gaussian": gaussian,
    "budget": budget,
    "leaks": leaks,
}
