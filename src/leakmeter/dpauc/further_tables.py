"""DPAUC's tables of what the paper does not print.

Every function takes the measurements, the claims and the published numbers and returns one LaTeX
float.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

import pandas as pd

from leakmeter.dpauc.table_cells import (
    AUTHORS,
    ORIGINS,
    SYMBOLS,
    Cells,
    axis_order,
    close_table,
    distinct,
    label,
    mean_auc,
    reasons,
)
from leakmeter.dpauc.table_grid import Layout, grid, publish_truth
from leakmeter.reporting.latex import Table, escape, integer, legend, short, with_std
from leakmeter.reporting.numbers import Row, axes_of, empty, listing, plain


def noisy(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """The AUC of the flipped labels behind Table 1, before debiasing (not printed in the paper)."""
    return grid(
        Cells(measurements, claims),
        Layout(
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


def training(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """AUC per epoch without noise beside the published ground truth, and its spread over seeds.

    ``published`` holds the rows of Table 1 and, for the column of 1,000 thresholds, of Table 3.
    """
    cells = Cells(measurements, claims)
    cells.unit = "model seeds"
    if not published.empty:
        table = published["table"].map(plain)
        publish_truth(cells, published[table != "3"], "auc_keras_200")
        publish_truth(cells, published[table == "3"], "auc_keras_1000")
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
    origins = cells.sources("ground_truth", "training")
    for (epoch,) in distinct([*cells.cells("ground_truth"), *cells.cells("training")], ("epoch",)):
        name = label("epoch", epoch)
        for origin in origins:
            texts = [
                cells.text(item, {"epoch": epoch}, metric, mean_auc(6), origin)
                for item, metric, _ in columns
            ]
            built.row(name, ORIGINS[origin], *texts)
            name = ""
        built.space()
    built.note(
        "The printed TensorFlow column of Tables 1, 4 and 5 stands under 200 thresholds, that of "
        r"Table 3 under 1{,}000. Over model seeds: mean (standard deviation) of the exact AUC."
    )
    return close_table(built, cells, "training")


def noise_free(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """AUC of the thresholded curve without noise: what DPAUC_Lap would give for infinite epsilon.

    ``published`` holds the authors' own output files (``dpauc_author_repo_outputs.csv``), of which
    the runs without mechanism are used.
    """
    cells = Cells(measurements, claims)
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
    return grid(
        cells,
        Layout(
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
    cells = Cells(measurements, claims)
    found = cells.cells("ablation", "auc")
    if found and not published.empty:
        columns, epochs = distinct(found, ("K", "epsilon")), {c["epoch"] for c in found}
        kept = [
            (plain(row["K"]), plain(row["epsilon_total"])) in columns
            and plain(row["epoch"]) in epochs
            and row["partition"] == "IID"
            for row in published.to_dict("records")
        ]
        axes = {"epoch": "epoch", "K": "K", "epsilon_total": "epsilon"}
        cells.publish(published[kept], "ablation", axes, {"auc": "auc"}, **AUTHORS)
    return grid(
        cells,
        Layout(
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
            rows=("epoch", *AUTHORS),
            columns=("K", "epsilon"),
            size="scriptsize",
            gap=2.5,
            keep_empty=False,
        ),
    )


def gaussian(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """DPAUC with Gaussian noise, which the paper says works but reports no run of."""
    return grid(
        Cells(measurements, claims),
        Layout(
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
    cells = Cells(measurements, claims)
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
    present = {m for item, _, _, m in cells.rows if item == "budget"}
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
    table.head(*(SYMBOLS.get(a, escape(a)) for a in axes), *quantities.values())
    previous: tuple[str, ...] = ()
    for row in distinct(found, axes):
        if previous and row[0] != previous[0]:
            table.space()
        first = "" if previous and row[0] == previous[0] else label(axes[0], row[0])
        cell = dict(zip(axes, row, strict=True))
        texts = [
            cells.text("budget", cell, metric, lambda row: short(row["value"], 4), "exact")
            for metric in quantities
        ]
        table.row(first, *(label(a, v) for a, v in zip(axes[1:], row[1:], strict=True)), *texts)
        previous = row
    table.note(
        "Changing one label changes two of the four counts at each threshold by one, so the exact "
        "cost is half of what the paper states. Used: with the thresholds the layout really has; distinct: "
        "if duplicates were released once; PLD: by the privacy-loss distribution."
    )
    table.note(legend(cells.marks))
    table.note(reasons(cells))
    at = {row["note"] for (*_, m), row in cells.shown if m == "pld" and row and row["note"]}
    table.note(f"PLD: {escape(listing(sorted(at)))}." if at else "")
    return table.render()


def leaks(measurements: pd.DataFrame, claims: pd.DataFrame, published: pd.DataFrame) -> str:
    """The attacks the paper argues with: what each recovers, by source and budget of the release.

    An axis ``epsilon`` makes the columns (``inf``: an exact release); cells without it fill one
    column.
    """
    cells = Cells(measurements, claims)
    origins = cells.sources("leaks") or ["wide_deep"]
    found = cells.cells("leaks")
    columns = [e for (e,) in distinct(found, ("epsilon",))]
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
        setting = ", ".join(f"{_leak_axis(a)} = {label(a, v)}" for a, v in rest)
        labels = ["" if attack == previous else _words(attack), setting]
        keys = [{"attack": attack, **dict(rest), **({"epsilon": e} if e else {})} for e in columns]
        at = {axes_of(key) for key in keys}
        metrics = {(m, o) for i, c, o, m in cells.rows if i == "leaks" and c in at}
        for metric in sorted({m for m, _ in metrics}, key=_leak_metric_order):
            name = _words(metric)
            for origin in (o for o in origins if (metric, o) in metrics):
                texts = [cells.text("leaks", key, metric, _leak_form, origin) for key in keys]
                table.row(*labels, name, *[ORIGINS[origin]] * named, *texts)
                labels, name = ["", ""], ""
        previous = attack
    if "inf" in columns:
        table.note(r"$\epsilon=\infty$: the release is exact.")
    return close_table(table, cells, "leaks")


def _words(name: str) -> str:
    return escape(name.replace("_", " "))


def _leak_axis(axis: str) -> str:
    return SYMBOLS.get(axis, _words(axis)) if axis != "epoch" else "epoch"


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
    return sorted(rows, key=lambda row: (row[0], [(a, axis_order(a, v)) for a, v in row[1]]))


def _leak_metric_order(metric: str) -> tuple:
    return metric not in ("located", "recovered"), metric


def _leak_form(row: Row) -> str:
    value, std = row["value"], row["std"]
    if not empty(std):
        return with_std(value, std, 3)
    return integer(value) if float(value) >= 1000 else short(value, 3)
