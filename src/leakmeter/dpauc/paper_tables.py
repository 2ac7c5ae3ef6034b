"""The DPAUC paper's Tables 1-5 in its layout.

Every function takes the measurements, the claims and the published numbers and returns one LaTeX
float.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leakmeter.dpauc.table_cells import (
    ORIGINS,
    Cells,
    close_table,
    distinct,
    label,
    mean_auc,
    whole,
)
from leakmeter.dpauc.table_grid import Layout, constant, grid, publish_truth
from leakmeter.reporting.latex import Table, integer, number, scientific, short
from leakmeter.reporting.numbers import Form, Row, empty, listing

_KERAS_NOTE = (
    r"TensorFlow: \texttt{tf.keras} AUC with 200 thresholds, which the printed column is although "
    r"the paper's text says 1{,}000; scikit-learn: exact AUC."
)


def _place(number: int) -> str:
    return rf"The paper's Table~{number}."


def _by_budget(
    cells: Cells,
    published: pd.DataFrame,
    number: int,
    caption: str,
    *,
    columns: Mapping[str, str],
    fixed: tuple[str, str] = ("n_thresholds", r"|\Theta|"),
    mechanism: str = "Lap",
    notes: tuple[str, ...] = (),
    **look: Any,
) -> str:
    """A table of AUCs with a line per epoch and setting, a column per budget, and the ground truth.

    Parameters
    ----------
    columns : columns of the published file -> axes of the lines under an epoch.
    fixed : the column of what the paper holds fixed, and its symbol, for the caption.
    """
    name = f"table{number}"
    axes = {"epoch": "epoch", **columns, "epsilon_total": "epsilon"}
    cells.publish(published, name, axes, {"auc": "auc"})
    publish_truth(cells, published, "auc_keras_200")
    value = constant(published, fixed[0])
    setting = f" (${fixed[1]}={value}$)" if value else ""
    return grid(
        cells,
        Layout(
            name=name,
            item=name,
            caption=f"{caption}{setting}. {_place(number)}",
            notes=(_KERAS_NOTE, *notes),
            rows=("epoch", *columns.values()),
            columns=("epsilon",),
            over=rf"DPAUC\textsubscript{{{mechanism}}}",
            truths=("auc_keras_200", "auc_exact"),
            **look,
        ),
    )


def table1(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 1: debiased AUC under randomised response, epoch by epsilon, beside the ground truth."""
    cells = Cells(measurements, claims)
    return _by_budget(
        cells,
        published,
        1,
        r"AUC of DPAUC\textsubscript{RR} after debiasing",
        columns={},
        mechanism="RR",
        notes=(_outside(cells),),
    )


def _outside(cells: Cells) -> str:
    """Where debiased values left [0, 1]: they are reported, never clipped."""
    found = [
        (dict(axes), origin, float(row["value"]))
        for (item, axes, origin, metric), row in cells.rows.items()
        if (item, metric) == ("table1", "share_outside") and not empty(row["value"])
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
        f"{listing(places)}."
    )


def table2(
    measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame, *, epoch: int = 0
) -> str:
    """Table 2: positives, precision and recall among the K records with the largest scores.

    The paper names no epoch; ``epoch`` says which measurements stand beside its numbers (the
    authors' counts of epoch 0 give the printed ones).
    """
    cells = Cells(measurements, claims)
    metrics = {"n_positives": "positives", "precision": "precision", "recall": "recall"}
    cells.publish(published, "table2", {"top_k": "k"}, metrics, epoch=epoch)
    forms: dict[str, Form] = {
        "positives": whole,
        "precision": lambda row: number(row["value"], 4),
        "recall": _recall,
    }
    cells.uncertain = ("positives", "number of positives")
    origins = cells.sources("table2") or ["published"]
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
    for k, e in distinct(cells.cells("table2"), ("k", "epoch")):
        if e != str(epoch):
            continue
        line = [
            cells.text("table2", {"epoch": e, "k": k}, metric, form, origin)
            for metric, form in forms.items()
            for origin in origins
        ]
        table.row(integer(k), *line)
    return close_table(table, cells, "table2")


def _recall(row: Row) -> str:
    value = row["value"]
    return scientific(value, 3) if float(value) < 0.01 else number(value, 4)


def table3(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 3: AUC when Laplace noise of scale 1/epsilon is added to every score."""
    cells = Cells(measurements, claims)
    axes = {"epoch": "epoch", "epsilon_score": "epsilon"}
    cells.publish(published, "table3", axes, {"auc_laplace_on_scores": "auc"})
    publish_truth(cells, published, "auc_keras_1000")
    found = cells.cells("table3", "auc")
    epochs = [e for (e,) in distinct(found, ("epoch",))]
    origins = cells.sources("table3", "ground_truth") or ["published"]
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
            cells.text(item, {"epoch": e, **axes}, metric, mean_auc(4), origin)
            for e in epochs
            for origin in origins
        ]
        table.row(label, *(texts or [""] * len(origins)))

    line("TensorFlow", "ground_truth", "auc_keras_1000")
    line("scikit-learn", "ground_truth", "auc_exact")
    table.rule()
    for (epsilon,) in reversed(distinct(found, ("epsilon",))):
        line(rf"$\epsilon=$ {label('epsilon', epsilon)}", "table3", "auc", epsilon=epsilon)
    table.note(
        r"TensorFlow: \texttt{tf.keras} AUC with 1{,}000 thresholds; scikit-learn and noisy "
        "scores: exact AUC. The printed numbers are single runs."
    )
    return close_table(table, cells, "table3")


def table4(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 4: DPAUC_Lap by epoch, number of clients, assignment and epsilon."""
    return _by_budget(
        Cells(measurements, claims),
        published,
        4,
        r"AUC of DPAUC\textsubscript{Lap} for IID and Non-IID assignments of the records to $K$ "
        "clients",
        columns={"K": "K", "partition": "partition"},
        size="scriptsize",
        gap=2.5,
    )


def table5(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """Table 5: DPAUC_Lap by epoch, number of thresholds and epsilon."""
    return _by_budget(
        Cells(measurements, claims),
        published,
        5,
        r"AUC of DPAUC\textsubscript{Lap} by the nominal number of thresholds $|\Theta|$",
        columns={"n_thresholds": "thresholds"},
        fixed=("K", "K"),
    )
