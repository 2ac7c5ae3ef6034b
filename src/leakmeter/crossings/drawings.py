"""Figures of the crossed experiments; nothing is computed that is not in the measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leakmeter.crossings.tables import MECHANISMS, SCORES, wide
from leakmeter.dpauc.beyond_tables import table_of
from leakmeter.reporting.figures import PALETTE, figure, style

_CHARGES = {
    "paper": (r"charged, $4T\varepsilon'$", "grey", ":"),
    "tight": (r"pure cost, $2T\varepsilon'$", "orange", "--"),
    "pld": (r"exact at $\delta$", "blue", "-"),
}
_FOUND = {"server": ("found, counts", "red", "o"), "auc": ("found, AUC alone", "purple", "s")}
_RELEASES = {
    "laplace": ("blue", "o"),
    "histogram": ("green", "s"),
    "rr_once": ("red", "^"),
    "rr_anew": ("orange", "D"),
}
_RISKS = {"shapr": ("red", "o"), "sprs": ("sky", "D"), "loss_inside": ("blue", "s")}


def _bars(ax: Axes, x, rows: pd.DataFrame, centre: str, colour: str, marker: str, label: str):
    """Points with the interval ``low`` to ``high``; an infinite centre is drawn at the lower end."""
    middle = np.where(np.isfinite(rows[centre]), rows[centre], rows["low"])
    middle = np.clip(middle, rows["low"], rows["high"])
    spread = np.vstack([middle - rows["low"], rows["high"] - middle])
    ax.errorbar(
        x,
        middle,
        spread,
        fmt=marker,
        color=PALETTE[colour],
        markersize=3,
        elinewidth=0.8,
        label=label,
        zorder=3,
    )


def mechanism_audit(measurements: pd.DataFrame) -> Figure:
    """Charges and audits: DPAUC by number of thresholds, randomised response by releases."""
    rows = table_of(measurements, "mechanism_audit")
    laplace = wide(rows[rows["mechanism"] == "laplace"], ["T", "budget", "observer"])
    response = wide(rows[rows["mechanism"] == "rr"], ["flip", "epsilon", "releases"])
    numbers = sorted(laplace["T"].unique())
    with style():
        made = figure("two", 62)
        axes = made.subplots(1, len(numbers) + 1)
        for ax, n in zip(axes, numbers, strict=False):
            _charges_panel(ax, laplace[laplace["T"] == n])
            ax.set_title(f"DPAUC, T = {n:g}")
            # one scale for all T; intervals that reach down to 0 leave the panel
            ax.set_ylim(0.03 * laplace["paper"].min(), 1.3 * laplace["paper"].max())
        _response_panel(axes[-1], response)
        axes[0].set_ylabel(r"$\varepsilon$ of one label")
        handles, labels = axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=5)
    return made


def _charges_panel(ax: Axes, part: pd.DataFrame) -> None:
    server = part[part["observer"] == "server"].sort_values("budget")
    budgets = server["budget"].astype(float)
    for rule, (label, colour, line) in _CHARGES.items():
        ax.plot(budgets, server[rule], line, color=PALETTE[colour], label=label)
    for shift, (observer, (label, colour, marker)) in zip(
        (1.05, 0.95), _FOUND.items(), strict=True
    ):
        seen = part[part["observer"] == observer].sort_values("budget")
        _bars(ax, seen["budget"].astype(float) * shift, seen, "estimate", colour, marker, label)
    ax.set(xscale="log", yscale="log", xlabel=r"$4T\varepsilon'$")
    ax.set_xticks(budgets, [f"{b:g}" for b in budgets])
    ax.minorticks_off()
    ax.grid(True)


def _response_panel(ax: Axes, response: pd.DataFrame) -> None:
    """The smallest epsilon of a flip, so that several releases stay within what trials can show."""
    epsilon = response["epsilon"].min()
    part = response[response["epsilon"] == epsilon].sort_values("releases")
    anew, once = part[part["flip"] == "per-repeat"], part[part["flip"] == "once"]
    releases = anew["releases"].astype(float)
    ax.plot(releases, anew["tight"], "--", color=PALETTE["orange"])
    ax.plot(releases, anew["pld"], "-", color=PALETTE["blue"])
    _bars(ax, releases * 1.06, anew, "estimate", "red", "o", "flipped anew")
    _bars(ax, releases * 0.94, once, "estimate", "green", "^", "flipped once")
    ax.set(xscale="log", yscale="log", xlabel="releases")
    ax.set_xticks(releases, [f"{r:g}" for r in releases])
    ax.minorticks_off()
    ax.set_title(rf"RR, $\varepsilon$ = {epsilon:g} per flip")
    ax.legend(loc="upper left")
    ax.grid(True)


def released_auc(measurements: pd.DataFrame) -> Figure:
    """Labels recovered against the cost of all answers, and against the error of one."""
    many = wide(table_of(measurements, "released_auc"), ["mechanism", "epsilon", "attack"])
    one = wide(table_of(measurements, "one_auc"), ["mechanism", "epsilon"])
    base = table_of(measurements, "label_baselines").groupby("metric")["value"].mean()
    many = many[(many["attack"] == "rankings") & (many["mechanism"] != "exact")]
    joined = many.merge(one[["mechanism", "epsilon", "rmse"]], on=["mechanism", "epsilon"])
    with style():
        made = figure("two", 66)
        left, right = made.subplots(1, 2, sharey=True)
        for name, (colour, marker) in _RELEASES.items():
            part = joined[joined["mechanism"] == name].sort_values("cost")
            look = {"color": PALETTE[colour], "marker": marker, "label": MECHANISMS[name]}
            left.plot(part["cost"], part["correct"], **look)
            right.plot(part["rmse"].clip(lower=1e-4), part["correct"], **look)
        bound = joined.sort_values("cost")
        look = {"color": PALETTE["black"], "label": "bound, base rate known"}
        left.plot(bound["cost"], bound["bound"], "-", **look)
        for ax in (left, right):
            ax.axhline(base["majority"], color=PALETTE["grey"], linestyle=":", label="base rate")
            ax.set_xscale("log")
            ax.grid(True)
        left.set(xlabel=r"$\varepsilon$ of all answers, at $\delta$", ylabel="labels right")
        right.set(xlabel="error of one answer (0.0001 or less at the right end)")
        right.invert_xaxis()
        handles, labels = left.get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=6)
    return made


def record_risk(measurements: pd.DataFrame) -> Figure:
    """Epsilon by group of the SHAPr score, and rank correlations set by set."""
    rows = table_of(measurements, "record_risk")
    with style():
        made = figure("two", 80)
        left, right = made.subplots(1, 2, width_ratios=[1, 1.2])
        _group_panel(left, rows)
        _correlation_panel(right, rows)
    return made


def _group_panel(ax: Axes, rows: pd.DataFrame) -> None:
    kind = "many" if (rows["models"] == "many").any() else "chain"
    groups = rows[(rows["models"] == kind)].dropna(subset=["group"])
    for at, (name, part) in enumerate(groups.groupby("set", sort=True)):
        table = wide(part, ["group"]).sort_values("group")
        colour = ("blue", "red", "green", "orange", "purple", "sky", "black")[at % 7]
        marker = "os^Dv<>"[at % 7]
        x = table["group"].astype(float) + 0.08 * (at - 0.5)
        _bars(ax, x, table, "median", colour, marker, name)
    ax.set(xlabel="group of SHAPr score, lowest first", ylabel=r"$\varepsilon$ of the group")
    ax.set_ylim(bottom=0)
    ax.set_xticks(sorted(groups["group"].unique()))
    ax.legend()
    ax.grid(True)


def _correlation_panel(ax: Axes, rows: pd.DataFrame) -> None:
    chosen = rows[rows["statistic"] == "epsilon"].dropna(subset=["score"])
    table = wide(chosen, ["models", "set", "score"])
    places = sorted({(m, s) for m, s in zip(table["models"], table["set"], strict=True)})
    height = {place: len(places) - at for at, place in enumerate(places)}
    for place in places:
        here = table[(table["models"] == place[0]) & (table["set"] == place[1])]
        chance = here["chance"].max()
        ax.fill_betweenx(
            height[place] + np.array([-0.4, 0.4]), -chance, chance, color="#D9D9D9", linewidth=0
        )
    for shift, (score, (colour, marker)) in zip((0.2, 0.0, -0.2), _RISKS.items(), strict=True):
        part = table[(table["score"] == score)].dropna(subset=["rho"])
        y = [height[m, s] + shift for m, s in zip(part["models"], part["set"], strict=True)]
        ax.errorbar(
            part["rho"],
            y,
            xerr=np.vstack([part["rho"] - part["low"], part["high"] - part["rho"]]),
            fmt=marker,
            color=PALETTE[colour],
            markersize=3,
            elinewidth=0.8,
            label=SCORES[score],
        )
    ax.axvline(0, color=PALETTE["black"], linewidth=0.6)
    ax.set_yticks(
        [height[p] for p in places],
        [name if kind == "chain" else f"{name} (many)" for kind, name in places],
    )
    ax.set(xlabel=r"rank correlation with a record's $\varepsilon$", xlim=(-1, 1))
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.14), ncols=3)


#: Name -> function.
FIGURES: Mapping[str, Callable[[pd.DataFrame], Figure]] = {
    "mechanism_audit": mechanism_audit,
    "released_auc": released_auc,
    "record_risk": record_risk,
}
