"""The figures of the SHAPr chain, drawn from its measurement files alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from leakmeter.membership.experiments.names import PAPER
from leakmeter.membership.sets import MODULES
from leakmeter.reporting.figures import PALETTE, figure, style
from leakmeter.reporting.measurements import axes_table
from leakmeter.runtime import UserError

_SCORES = {
    "shapr": ("SHAPr", "blue", "o"),
    "sprs": ("SPRS", "red", "s"),
    "constant": ('constant "member"', "grey", "x"),
}
_ATTACKS = {"ment": "$I_\\mathrm{ment}$", "lira": "$I_\\mathrm{lira}$"}
_GROUPS = ("genuine", "all")


table_of = partial(axes_table, PAPER)


def _sets(frame: pd.DataFrame) -> list[str]:
    return [name for name in MODULES if name in set(frame["set"])]


def _title(name: str) -> str:
    return MODULES[name].SPEC.title


def effectiveness(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """F1 and AUC of the scores against both attacks, set by set, with the constant answer."""
    with style():
        made = figure("two", 105)
        axes = made.subplots(2, 2, sharex=True)
        for row, (metric, label) in enumerate((("f1", "$F_1$"), ("auc", "AUC"))):
            values = table_of(measurements, "comparison", metric)
            names = _sets(values)
            for ax, (attack, title) in zip(axes[row], _ATTACKS.items(), strict=True):
                for offset, (score, (text, colour, marker)) in zip(
                    (-0.2, 0.2, 0), _SCORES.items(), strict=True
                ):
                    mine = values[(values["attack"] == attack) & (values["score"] == score)]
                    mine = mine.set_index("set").reindex(names)
                    ax.errorbar(
                        np.arange(len(names)) + offset,
                        mine["value"],
                        yerr=mine["std"],
                        fmt=marker,
                        color=PALETTE[colour],
                        label=text,
                        lw=0.8,
                    )
                ax.set_ylim(0, 1.05)
                ax.grid(axis="y")
                if row == 0:
                    ax.set_title(f"against {title}")
                ax.set_xticks(
                    range(len(names)), [_title(name) for name in names], rotation=45, ha="right"
                )
            axes[row, 0].set_ylabel(label)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=3)
        return made


def _end_row(axes: np.ndarray, count: int) -> None:
    """Hide the panels of a grid after the first ``count``; the lowest of every column has numbers."""
    for ax in axes.flat[count:]:
        ax.set_axis_off()
    for ax in axes.flat[max(0, count - axes.shape[1]) : count]:
        ax.xaxis.set_tick_params(labelbottom=True)


def roc(*, measurements: pd.DataFrame, curves: pd.DataFrame, **_: Any) -> Figure:
    """ROC of the attacks on doubly logarithmic axes, mean over targets."""
    shown = {
        "online_fixed": ("$I_\\mathrm{lira}$ online, centred", "blue", "-"),
        "offline_fixed": ("$I_\\mathrm{lira}$ offline, centred", "sky", "-"),
        "online_reference": ("$I_\\mathrm{lira}$ online, script's variance", "green", "--"),
        "online_per-example": ("$I_\\mathrm{lira}$ online, per record", "orange", ":"),
        "entropy": ("modified entropy", "red", "-."),
    }
    with style():
        names = [name for name in MODULES if name in set(curves["set"])]
        columns = min(5, len(names))
        rows = -(-len(names) // columns)
        made = figure("two", 12 + 42 * rows)
        axes = made.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        _end_row(axes, len(names))
        for ax, name in zip(axes.flat, names, strict=False):
            mine = curves[curves["set"] == name]
            for attack, (text, colour, line) in shown.items():
                curve = mine[mine["attack"] == attack]
                ax.plot(curve["fpr"], curve["tpr"], line, color=PALETTE[colour], label=text)
            ax.plot([1e-3, 1], [1e-3, 1], color=PALETTE["grey"], lw=0.6)
            ax.set(xscale="log", yscale="log", xlim=(1e-3, 1), ylim=(1e-3, 1.1))
            ax.set_title(_title(name))
            ax.grid()
        for ax in axes[-1]:
            ax.set_xlabel("false-positive rate")
        for ax in axes[:, 0]:
            ax.set_ylabel("true-positive rate")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=3)
        return made


_PANELS = {
    "test_accuracy": "test accuracy",
    "attack_accuracy": "$I_\\mathrm{ment}$ balanced accuracy",
    "shapr_mean": "mean SHAPr $\\times n$",
    "sprs_mean": "mean SPRS",
}
_COLOURS = ("blue", "red", "green", "orange", "purple")


def _look(index: int) -> dict[str, Any]:
    """A colour and line for each of ten sets."""
    line, marker = ("-", "o") if index < 5 else ("--", "s")
    return {"color": PALETTE[_COLOURS[index % 5]], "ls": line, "marker": marker, "ms": 3, "lw": 0.9}


def l2(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """What L2 regularisation does, one line a set."""
    with style():
        made = figure("two", 58)
        axes = made.subplots(1, 4)
        for ax, (metric, title) in zip(axes, _PANELS.items(), strict=True):
            values = table_of(measurements, "l2", metric)
            strengths = sorted(set(values["l2"]))
            for index, name in enumerate(_sets(values)):
                mine = values[values["set"] == name].set_index("l2").reindex(strengths)
                ax.plot(range(len(strengths)), mine["value"], label=_title(name), **_look(index))
            ax.set_xticks(range(len(strengths)), [f"{s:g}" for s in strengths], rotation=60)
            ax.set(title=title, xlabel="L2 strength")
            ax.grid()
        handles, labels = axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=5)
        return made


def removal(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """The attack's accuracy after removing the riskiest or random records, one panel a set."""
    values = table_of(measurements, "removal", "attack_accuracy")
    before = table_of(measurements, "l2", "attack_accuracy")
    orders = {"shapr_high": ("highest SHAPr", "blue", "o-"), "random": ("random", "grey", "s--")}
    with style():
        names = _sets(values)
        columns = min(5, len(names))
        rows = -(-len(names) // columns)
        made = figure("two", 12 + 38 * rows)
        axes = made.subplots(rows, columns, sharex=True, squeeze=False)
        _end_row(axes, len(names))
        for ax, name in zip(axes.flat, names, strict=False):
            start = before[(before["set"] == name) & (before["l2"] == 0)]["value"].iloc[0]
            for order, (text, colour, line) in orders.items():
                x, y = _path(values[(values["set"] == name) & (values["order"] == order)], start)
                ax.plot(100 * x, y, line, color=PALETTE[colour], label=text)
            # differences of a record or two are not blown up to the height of the panel
            low, high = ax.get_ylim()
            half = max(high - low, 0.05) / 2
            middle = min((low + high) / 2, 1.005 - half)
            ax.set_ylim(middle - half, middle + half)
            ax.set_title(_title(name))
            ax.grid()
        made.supxlabel("records removed, %", fontsize="medium")
        made.supylabel("$I_\\mathrm{ment}$ balanced accuracy", fontsize="medium")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=2)
        return made


def _path(rows: pd.DataFrame, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Fractions and values, from nothing removed on."""
    ordered = rows.assign(removed=rows["removed"].astype(float)).sort_values("removed")
    return (
        np.concatenate([[0.0], ordered["removed"].to_numpy()]),
        np.concatenate([[start], ordered["value"].to_numpy(float)]),
    )


def valuation(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Test accuracy after removing records of high or low value, or random ones."""
    values = table_of(measurements, "removal", "test_accuracy")
    before = table_of(measurements, "l2", "test_accuracy")
    orders = {
        "shapr_high": ("SHAPr, high first", "blue", "o-"),
        "shapr_low": ("SHAPr, low first", "sky", "o--"),
        "sprs_high": ("SPRS, high first", "red", "s-"),
        "sprs_low": ("SPRS, low first", "orange", "s--"),
        "random": ("random", "grey", "x:"),
    }
    names = _sets(values[values["order"] == "shapr_low"])
    with style():
        made = figure("two", 58)
        if not names:
            made.text(0.5, 0.5, "no set of the valuation experiment in this run", ha="center")
            return made
        axes = made.subplots(1, len(names), squeeze=False)[0]
        for ax, name in zip(axes, names, strict=True):
            start = before[(before["set"] == name) & (before["l2"] == 0)]["value"].iloc[0]
            for order, (text, colour, line) in orders.items():
                x, y = _path(values[(values["set"] == name) & (values["order"] == order)], start)
                ax.plot(100 * x, y, line, color=PALETTE[colour], label=text)
            ax.set(title=_title(name), xlabel="records removed, %")
            ax.grid()
        axes[0].set_ylabel("test accuracy")
        handles, labels = axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=5)
        return made


def subgroups(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Mean scores against the attacks' accuracy, one point a subgroup."""
    with style():
        made = figure("two", 62)
        try:
            frames = {
                metric: table_of(measurements, "subgroups", metric)
                for metric in ("shapr_mean", "sprs_mean", "ment_accuracy", "lira_accuracy")
            }
        except UserError:
            made.text(0.5, 0.5, "no set with people in this run", ha="center")
            return made
        axes = made.subplots(1, 4)
        panels = [(s, a) for s in ("shapr_mean", "sprs_mean") for a in ("ment", "lira")]
        names = _sets(frames["shapr_mean"])
        for ax, (score, attack) in zip(axes, panels, strict=True):
            for index, name in enumerate(names):
                x, y = (
                    frames[metric][frames[metric]["set"] == name]
                    for metric in (score, f"{attack}_accuracy")
                )
                for marker, (attribute, part) in zip(
                    "os^", x.groupby("attribute", sort=False), strict=False
                ):
                    ax.plot(
                        part["value"],
                        y.loc[y["attribute"] == attribute, "value"],
                        marker=marker,
                        color=PALETTE[_COLOURS[index]],
                        lw=0.8,
                        label=f"{_title(name)}, {attribute}",
                    )
            ax.set(xlabel=_PANELS[score], ylabel=f"{_ATTACKS[attack]} balanced accuracy")
            ax.grid()
        handles, labels = axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=3)
        return made


def backdoors(*, records: pd.DataFrame, **_: Any) -> Figure:
    """Memorisation of records and of kinds against SHAPr, clean and marked records."""
    kinds = {
        "clean": ("clean", "grey", -0.045),
        "label_flip": ("labels flipped", "red", -0.015),
        "artefact": ("artefact", "blue", 0.015),
        "out_of_distribution": ("out of distribution", "green", 0.045),
    }
    panels = {
        "memorisation": "memorisation of the record",
        "kind_memorisation": "memorisation of the kind (exploratory)",
    }
    with style():
        names = [] if records.empty else [n for n in MODULES if n in set(records["set"])]
        made = figure("two", 62 * max(1, len(names)))
        if not names:
            made.text(0.5, 0.5, "no set of the backdoor experiment in this run", ha="center")
            return made
        axes = made.subplots(len(names), 2, squeeze=False, sharex=True, sharey="row")
        rng = np.random.default_rng(0)
        for row, name in zip(axes, names, strict=True):
            for ax, (metric, label) in zip(row, panels.items(), strict=True):
                for kind, (text, colour, shift) in kinds.items():
                    mine = records[(records["set"] == name) & (records["kind"] == kind)]
                    # few models give few distinct values of memorisation: spread them a little
                    x = mine[metric] + shift + rng.uniform(-0.012, 0.012, len(mine))
                    ax.plot(
                        x,
                        mine["shapr"],
                        ".",
                        ms=2.5 if kind == "clean" else 5,
                        color=PALETTE[colour],
                        label=text,
                        alpha=0.35 if kind == "clean" else 0.9,
                        rasterized=True,
                    )
                ax.axhline(0, color=PALETTE["black"], lw=0.6)
                ax.set_title(_title(name))
                ax.grid()
                if name == names[-1]:
                    ax.set_xlabel(f"{label}, kinds side by side")
            row[0].set_ylabel("SHAPr $\\times n$")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside upper center", ncols=4)
        return made


def mean_score(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """The mean SHAPr score of every model here against its test accuracy."""
    with style():
        made = figure("one", 74)
        ax = made.subplots()
        for item, text, colour, marker in (
            ("l2", "without or with L2", "blue", "o"),
            ("removal", "after removals", "orange", "s"),
        ):
            x, y = (
                table_of(measurements, item, metric) for metric in ("test_accuracy", "shapr_mean")
            )
            single = ~x["set"].isin(_GROUPS)
            other = y.loc[~y["set"].isin(_GROUPS), "value"]
            ax.plot(
                x.loc[single, "value"],
                other,
                marker,
                ms=2.5,
                color=PALETTE[colour],
                label=text,
            )
        ax.axline((0, 0), slope=1, color=PALETTE["grey"], lw=0.6)
        ax.set(xlabel="test accuracy of the model", ylabel="mean SHAPr $\\times n$")
        ax.grid()
        ax.legend(loc="upper left")
        return made


FIGURES: dict[str, Callable[..., Figure]] = {
    function.__name__: function
    for function in (
        *(effectiveness, roc, l2, removal, valuation, subgroups, backdoors, mean_score),
    )
}


def runtimes(times: pd.DataFrame) -> Figure:
    """CPU seconds of SHAPr over the number of records."""
    with style():
        made = figure("one", 62)
        ax = made.subplots()
        mine = times[(times["set"] == "random") & (times["what"] == "shapr")].sort_values("train")
        n, seconds = mine["train"].to_numpy(float), mine["cpu_seconds"].to_numpy(float)
        ax.plot(n, seconds, "o-", label="measured")
        law = n**2 * np.log(n)
        ax.plot(n, law / law[-1] * seconds[-1], "--", color=PALETTE["grey"], label="$n^2 \\log n$")
        printed = n * np.log(n**2)
        ax.plot(
            n,
            printed / printed[-1] * seconds[-1],
            ":",
            color=PALETTE["red"],
            label="$n \\log n^2$, as printed",
        )
        ax.set(xscale="log", yscale="log", xlabel="training and test records n", ylabel="CPU s")
        ax.set_xticks(n, [f"{int(value):,}" for value in n], rotation=45)
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.grid()
        ax.legend()
        return made
