"""The figure of a report."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from leakmeter.membership.attack_roc import roc
from leakmeter.own.reports import Report
from leakmeter.reporting.figures import PALETTE, figure, literal, style

_COLOURS = ("blue", "red", "green", "orange", "purple", "sky", "black", "grey", "yellow")
#: Attacks that a figure of intervals holds.
_ROWS = 30
#: Letters of an attack's name that leave room for the intervals beside it.
_NAME = 48


def draw(report: Report) -> Figure:
    """The figure of a report, for :func:`leakmeter.reporting.figures.save`."""
    with style():
        return _FIGURES[report.kind](report)


def _dpauc(report: Report) -> Figure:
    """Left: bands around the exact AUC. Right: root-mean-square error against the budget."""
    fig = figure("two", 70)
    bands, errors = fig.subplots(1, 2)
    exact = report.summary["exact_auc"]
    methods = report.table["method"].unique()
    for i, method in enumerate(methods):
        rows = report.table[report.table["method"] == method]
        colour, shift = PALETTE[_COLOURS[i % len(_COLOURS)]], 1.05 ** (i - (len(methods) - 1) / 2)
        x, mean = rows["epsilon"].to_numpy(), rows["mean"].to_numpy()
        reach = np.abs(rows[["low", "high"]].to_numpy().T - mean)
        bands.errorbar(x * shift, mean, reach, fmt="o", ms=3, color=colour, capsize=1.5, lw=0.9)
        positive = rows["rmse"].where(rows["rmse"] > 0)  # the axis is logarithmic
        errors.plot(x, positive, "o-", ms=3, color=colour, label=literal(method.replace("_", " ")))
    bands.axhline(exact, color=PALETTE["black"], lw=0.7, ls="--")
    _beside(bands, exact, "exact")
    bands.set(xscale="log", xlabel="epsilon", ylabel="released AUC: mean and band")
    # where noise drowns a class, bands reach far beyond any AUC
    low, high = bands.get_ylim()
    bands.set_ylim(max(low, -0.05), min(high, 1.05))
    errors.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="root-mean-square error")
    if target := report.summary.get("error"):
        errors.axhline(target, color=PALETTE["grey"], lw=0.7, ls="--")
        _beside(errors, target, "target")
    _mark_zeros(errors, report.table)
    for axes in (bands, errors):
        ticks = sorted(set(report.table["epsilon"]))
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y")
    fig.legend(loc="outside lower center", ncols=6)
    return fig


def _beside(axes: Axes, y: float, text: str) -> None:
    """A word right of the axes, at the height of a line."""
    axes.annotate(
        text, (1, y), xycoords=("axes fraction", "data"), xytext=(2, 0),
        textcoords="offset points", va="center", fontsize=6.5,
    )  # fmt: skip


def _mark_zeros(axes: Axes, table: pd.DataFrame) -> None:
    """Triangles at the lower end of a logarithmic axis, where errors of 0 would be."""
    zeros = table.loc[table["rmse"] == 0, "epsilon"].unique()
    if not len(zeros):
        return
    if not (table["rmse"] > 0).any():
        axes.set_ylim(1e-6, 1)
    across = axes.get_xaxis_transform()
    axes.plot(zeros, [0.02] * len(zeros), "v", ms=3.5, color=PALETTE["grey"], transform=across)
    axes.annotate(
        "0", (1, 0.02), xycoords="axes fraction", xytext=(2, 0), textcoords="offset points",
        va="center", fontsize=6.5,
    )  # fmt: skip


def _audit(report: Report) -> Figure:
    """One interval per attack; grey where nothing was found."""
    rows = report.table.head(_ROWS)
    fig = figure("two", 22 + 6 * len(rows))
    axes = fig.subplots()
    high = rows["high"].replace(np.inf, np.nan)
    edge = np.nanmax([*high, *(rows["low"] + 0.5), 0.5])
    for y, row in enumerate(rows.to_dict("records")):
        colour = PALETTE["blue" if row["verdict"] == "found" else "grey"]
        open_end = np.isinf(row["high"])
        axes.plot(
            [row["low"], edge * 1.05 if open_end else row["high"]], [y, y], color=colour, lw=2
        )
        if open_end:
            axes.plot(edge * 1.05, y, ">", color=colour, ms=4)
        if np.isfinite(row["point"]):
            axes.plot(row["point"], y, "o", color=colour, mfc="white", ms=3.5)
    axes.set_yticks(
        range(len(rows)),
        [f"{literal(n, _NAME)}\n{v}" for n, v in rows[["name", "verdict"]].to_numpy()],
    )
    axes.set(
        xlabel="epsilon of the attack: interval and point estimate", ylim=(len(rows) - 0.4, -0.6)
    )
    axes.set_xlim(left=-0.01 * edge)
    if len(report.table) > _ROWS:
        title = f"The first {_ROWS} of {len(report.table):,} attacks; table.csv has all of them."
        axes.set_title(title, loc="left")
    axes.grid(axis="x")
    return fig


def _shapr(report: Report) -> Figure:
    """Left: distribution of the scores. Right, with outputs: ROC curves of the attacks."""
    records = report.records
    attacks = "modified_entropy" in records
    fig = figure("two" if attacks else "one", 65)
    panels = np.atleast_1d(fig.subplots(1, 2 if attacks else 1))
    scores = records.loc[records["member"] == 1, "shapr"].to_numpy()
    bins = int(np.clip(2 * np.sqrt(len(scores)), 5, 40))
    panels[0].hist(scores, bins=bins, color=PALETTE["sky"], edgecolor="white", linewidth=0.3)
    panels[0].axvline(0, color=PALETTE["black"], lw=0.7)
    panels[0].set(xlabel="SHAPr score", ylabel="training records")
    panels[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    if attacks:
        member = records["member"].to_numpy(dtype=bool)
        for name, title, sign in (
            ("modified_entropy", "modified entropy", -1),
            ("sprs", "SPRS", 1),
        ):
            curve = roc(sign * records[name].to_numpy(), member)
            label = f"{title} (AUC {curve.auc:.3f})"
            panels[1].plot(curve.fpr, curve.tpr, label=label)
        low = 0.5 / max(1, int((~member).sum()))
        panels[1].plot([low, 1], [low, 1], color=PALETTE["grey"], lw=0.7, ls="--")
        panels[1].set(
            xscale="log", yscale="log", xlim=(low, 1), ylim=(low, 1.05),
            xlabel="false-positive rate", ylabel="true-positive rate",
        )  # fmt: skip
        panels[1].legend(loc="lower right")
    return fig


def _labelings(report: Report) -> Figure:
    """Probability of a one by rank, or the labelings by number of ones without a posterior."""
    fig = figure("one", 60)
    axes = fig.subplots()
    if "probability" in report.records:
        ranked = report.records.sort_values("guess")
        rank = np.arange(1, len(ranked) + 1)
        sure = ranked["certain"].notna().to_numpy()
        values = ranked["probability"].to_numpy(dtype=float)
        axes.plot(rank, values, color=PALETTE["blue"], lw=0.8)
        axes.plot(rank[~sure], values[~sure], "o", ms=2.5, color=PALETTE["blue"])
        if sure.any():
            axes.plot(rank[sure], values[sure], "D", ms=3.5, color=PALETTE["red"], label="certain")
            axes.legend()
        axes.set(xlabel="rank of the guess, lowest first", ylabel="P(label = 1 | AUC)")
        axes.set_ylim(-0.03, 1.03)
    else:
        axes.bar(report.table["ones"], report.table["share"], color=PALETTE["blue"])
        axes.set(xlabel="number of ones", ylabel="share of the labelings")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    return fig


_FIGURES: dict[str, Callable[[Report], Figure]] = {
    "dpauc": _dpauc,
    "audit": _audit,
    "shapr": _shapr,
    "labelings": _labelings,
}
