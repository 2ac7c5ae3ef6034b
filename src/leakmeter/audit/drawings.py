"""The figures of the audit chain.

Every function returns a figure for :func:`leakmeter.reporting.figures.save`; nothing is computed
here that does not stand in the measurement files, but the posterior density that Figure 3 shades.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from leakmeter.audit.experiments.setting_names import POINTS, SETTINGS
from leakmeter.audit.figures_data import rate_density
from leakmeter.audit.game_names import game_order as _game_order
from leakmeter.audit.game_names import game_title
from leakmeter.reporting.figures import PALETTE, WHEEL, figure, style
from leakmeter.reporting.measurements import axes_table

_METHODS = {
    "bayesian": ("Bayesian", "blue", "o"),
    "jeffreys": ("Jeffreys", "orange", "s"),
    "clopper-pearson": ("Clopper-Pearson", "red", "^"),
}


table_of = partial(axes_table, "audit")


def _unit_square(ax: Axes, limit: float = 1.0) -> None:
    ax.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
    ax.set_xlabel("false negative rate")
    ax.set_ylabel("false positive rate")


# --- Figures 2 and 3 ----------------------------------------------------------------------------


def figure2(*, curves: pd.DataFrame, **_: Any) -> Figure:
    """Figure 2: the privacy region for several epsilons, one panel per delta."""
    region = curves[curves["figure"] == "figure2"]
    deltas = sorted(region["delta"].unique())
    with style():
        made = figure(60.0 * len(deltas) + 26, 60)
        axes = made.subplots(1, len(deltas), squeeze=False)[0]
        epsilons = sorted(region["epsilon"].unique(), reverse=True)
        for ax, delta in zip(axes, deltas, strict=True):
            for index, epsilon in enumerate(epsilons):
                rows = region[(region["delta"] == delta) & (region["epsilon"] == epsilon)]
                rows = rows.sort_values("vertex")
                colour = PALETTE[WHEEL[index % len(WHEEL)]]
                ax.fill(rows["fnr"], rows["fpr"], facecolor=colour, alpha=0.10)
                ax.plot(rows["fnr"], rows["fpr"], color=colour, label=f"{epsilon:g}")
            _unit_square(ax)
            ax.set_title(rf"$\delta = {delta:g}$")
        axes[-1].legend(title=r"$\epsilon$", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made


def figure3(*, curves: pd.DataFrame, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Figure 3: posterior of the rates, rectangle with its band, credible region; both readings."""
    titles = {
        "printed": "as printed: Jeffreys, 90 %, $\\delta = 10^{-5}$",
        "found": "found: Clopper-Pearson, 95 %, $\\delta = 0.05$",
    }
    masses = table_of(measurements, "example", "low")
    with style():
        made = figure("two", 84)
        axes = made.subplots(1, 2)
        for ax, (reading, title) in zip(axes, titles.items(), strict=True):
            rows = curves[curves["figure"] == f"figure3_{reading}"]
            _example_panel(ax, rows)
            found = masses[masses["settings"] == reading].set_index("quantity")["value"]
            found = found[~found.index.duplicated()]
            lines = [
                (PALETTE["black"], f"rectangle ({found['posterior mass of rectangle']:.1%})"),
                (PALETTE["red"], f"its band ({found['posterior mass of enclosing band']:.1%})"),
                (
                    PALETTE["blue"],
                    f"credible region ({found['posterior mass of credible band']:.1%})",
                ),
            ]
            handles = [Line2D([], [], color=colour, label=text) for colour, text in lines]
            box = {"frameon": True, "framealpha": 1.0, "edgecolor": "none"}
            ax.legend(handles=handles, loc="upper right", title="posterior mass of", **box)
            ax.set_title(title)
    return made


def _example_panel(ax: Axes, rows: pd.DataFrame) -> None:
    tally = {name: int(rows[name].iloc[0]) for name in ("fn", "tp", "fp", "tn")}
    limit = 0.6
    grid = np.linspace(1e-3, limit, 300)
    density = rate_density(grid[None, :], grid[:, None], **tally)
    ax.contourf(grid, grid, density, levels=np.linspace(0.02, 1, 9) * density.max(), cmap="Greys")
    _unit_square(ax, limit)

    def outline(name: str) -> np.ndarray:
        part = rows[rows["curve"] == name].sort_values("vertex")
        return part[["fnr", "fpr"]].to_numpy()

    for name, colour in (("band", "red"), ("credible", "blue")):
        inner, outer = outline(f"{name}_low"), outline(f"{name}_high")
        # region(high) without region(low): a path with a hole
        shade = Polygon(np.vstack([outer, inner[::-1]]), closed=True)
        shade.set(facecolor=PALETTE[colour], alpha=0.18, linewidth=0)
        ax.add_patch(shade)
        for vertices in (inner, outer):
            ax.plot(*vertices.T, color=PALETTE[colour], lw=0.9)
    ax.plot(*outline("rectangle").T, color=PALETTE["black"], lw=1.1)


# --- coverage and widths ------------------------------------------------------------------------


def coverage(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Coverage of the operating point's epsilon at each simulated attack, with its error."""
    rows = table_of(measurements, "coverage", "coverage")
    rows = rows[rows["mechanism"].notna()]
    epsilon = table_of(measurements, "coverage", "epsilon")
    nominal = table_of(measurements, "coverage", "nominal")["value"].iloc[0]
    order = epsilon.sort_values(["mechanism", "parameter", "threshold"]).reset_index(drop=True)
    labels = [
        f"Gaussian, threshold {t:g}" if t == t else f"randomised response, {p:g}"
        for p, t in zip(order["parameter"], order["threshold"], strict=True)
    ]
    labels = [
        f"{label} ($\\epsilon$ = {e:.2f})" for label, e in zip(labels, order["value"], strict=True)
    ]
    with style():
        made = figure("two", 14 + 6.2 * len(order))
        ax = made.subplots()
        for offset, (method, (name, colour, marker)) in zip(
            (-0.2, 0.0, 0.2), _METHODS.items(), strict=True
        ):
            part = order[["mechanism", "parameter", "threshold"]].merge(
                rows[rows["method"] == method], on=["mechanism", "parameter", "threshold"]
            )
            error = 1.96 * part["std"] / np.sqrt(part["n"].astype(float))
            ax.errorbar(
                part["value"],
                np.arange(len(part)) + offset,
                xerr=error,
                fmt=marker,
                color=PALETTE[colour],
                label=name,
                ms=3,
                lw=0.8,
            )
        ax.axvline(nominal, color=PALETTE["grey"], lw=0.8, ls="--")
        ax.set_yticks(np.arange(len(order)), labels)
        ax.invert_yaxis()
        ax.set_xlabel(
            f"share of nominal {nominal:.0%} intervals that hold the epsilon of the operating point"
        )
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncol=3)
    return made


def widths(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Width of the credible interval over that of the two others, against the number of trials."""
    rows = table_of(measurements, "widths", "bayesian_over_method")
    rows = rows[(rows["fnr"] == rows["fpr"]) & (rows["value"] > 0)]
    rates = sorted(rows["fnr"].unique())
    with style():
        made = figure("two", 62)
        axes = made.subplots(1, 2, sharey=True)
        for ax, method in zip(axes, ("jeffreys", "clopper-pearson"), strict=True):
            for index, rate in enumerate(rates):
                part = rows[(rows["method"] == method) & (rows["fnr"] == rate)]
                part = part.sort_values("trials")
                colour = PALETTE[WHEEL[index % len(WHEEL)]]
                ax.plot(part["trials"], part["value"], "o-", color=colour, label=f"{rate:g}")
            ax.set_xscale("log")
            ax.set_title(f"against {_METHODS[method][0]}")
            ax.set_xlabel("trials")
            ax.grid(axis="y")
        axes[0].set_ylabel("width ratio of the credible interval")
        axes[1].legend(title="both error rates", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made


# --- games --------------------------------------------------------------------------------------

_GAME_COLOURS = {"m1": "black", "m10": "blue", "m100": "green", "m1000": "red"}


def _colour(name: str) -> str:
    if name in _GAME_COLOURS:
        return PALETTE[_GAME_COLOURS[name]]
    return PALETTE["sky" if "-" in name else "purple"]


def _cdf_panel(ax: Axes, rows: pd.DataFrame, title: str) -> None:
    """CDFs of one setting and kind of points, over the band of independent runs with m = 1."""
    ax.set_title(title)
    ax.set(ylim=(0, 1.02), xlim=(0, 1))
    if rows.empty:
        ax.text(0.5, 0.5, "not in this configuration", ha="center", va="center")
        return
    first = rows[rows["game"] == "m1"]
    ax.fill_between(
        first["epsilon"],
        first["null_low"],
        first["null_high"],
        color=PALETTE["grey"],
        alpha=0.25,
        linewidth=0,
        label="independent runs, 95 %",
    )
    shown = [g for g in rows["game"].unique() if "-" not in g or "replicate" in g]
    for name in sorted(shown, key=_game_order):
        part = rows[rows["game"] == name]
        style_ = "--" if "-" in name else "-"
        label = game_title(name)
        ax.plot(part["epsilon"], part["cdf"], style_, color=_colour(name), label=label)
    drawn = rows[rows["game"].isin(shown)]
    reached = drawn.loc[drawn["cdf"] < 0.995, "epsilon"].max()
    band = first.loc[first["null_high"] > 0.005, "epsilon"].min()
    ax.set_xlim(0, max(float(np.nanmax([reached, band])) * 1.08, 0.5))
    ax.grid(axis="both")


def _cdf_figure(cdfs: pd.DataFrame, panels: list[tuple[str, str, str]], columns: int) -> Figure:
    with style():
        lines = -(-len(panels) // columns)
        made = figure("two", 8 + 54 * lines)
        axes = made.subplots(lines, columns, squeeze=False, sharey=True)
        for ax, (setting, points, title) in zip(axes.flat, panels, strict=True):
            rows = cdfs[(cdfs["setting"] == setting) & (cdfs["points"] == points)]
            _cdf_panel(ax, rows, title)
        for ax in axes[:, 0]:
            ax.set_ylabel(r"$P(\hat{\epsilon} \leq \epsilon)$")
        for ax in axes[-1]:
            ax.set_xlabel(r"$\epsilon$")
        handles, labels = [], []
        for ax in axes.flat:
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
                if label not in labels:
                    handles.append(handle)
                    labels.append(label)
        made.legend(handles, labels, loc="outside lower center", ncol=max(len(labels), 1))
    return made


def figure5(*, cdfs: pd.DataFrame, **_: Any) -> Figure:
    """Figure 5: posterior CDFs for every m, CIFAR-10 with DP-SGD, average and worst case."""
    panels = [
        ("cifar10_dp", points, f"{SETTINGS['cifar10_dp'].title}, {points} case")
        for points in POINTS
    ]
    return _cdf_figure(cdfs, panels, 2)


def figure6(*, cdfs: pd.DataFrame, **_: Any) -> Figure:
    """Figure 6: the same on SST-2, with (a) and without (b) DP-SGD."""
    panels = [
        (setting, points, f"({letter}) {SETTINGS[setting].title}, {points} case")
        for letter, setting in (("a", "sst2_dp"), ("b", "sst2_nodp"))
        for points in POINTS
    ]
    return _cdf_figure(cdfs, panels, 2)


def games(*, measurements: pd.DataFrame, **_: Any) -> Figure:
    """Credible intervals of every game, the coin-flip level and the bound of the training."""
    low, high = (table_of(measurements, "games", end) for end in ("low", "high"))
    keys = ["origin", "points", "game", "attack", "selection", "method"]
    rows = low.merge(high[[*keys, "value"]], on=keys, suffixes=("", "_high"))
    main = table_of(measurements, "games", "main_selection")["note"].iloc[0]
    rows = rows[
        (rows["attack"] == "calibrated")
        & (rows["selection"] == main)
        & (rows["method"] == "bayesian")
    ]
    coin = table_of(measurements, "coin_flip", "low_95").set_index("selection")["value"][main]
    theory = table_of(measurements, "theory", "epsilon")
    settings = [s for s in SETTINGS if s in set(rows["origin"])]
    with style():
        count = rows.groupby("origin")["game"].size().max()
        made = figure("two", 26 + 4.2 * count)
        axes = made.subplots(1, len(settings), squeeze=False)[0]
        for ax, setting in zip(axes, settings, strict=True):
            part = rows[rows["origin"] == setting]
            part = part.assign(order=[_game_order(g) for g in part["game"]])
            part = part.sort_values(["points", "order"], kind="stable")
            labels = []
            for y, row in enumerate(part.to_dict("records")):
                colour = PALETTE["red" if row["points"] == "worst" else "blue"]
                ax.plot([row["value"], row["value_high"]], [y, y], color=colour, lw=2.2)
                labels.append(game_title(row["game"]))
            ax.set_yticks(range(len(labels)), labels)
            ax.invert_yaxis()
            ax.axvline(coin, color=PALETTE["grey"], ls=":", lw=0.9)
            bound = theory[(theory["origin"] == setting) & (theory["adjacency"] == "replace-one")][
                "value"
            ].iloc[0]
            largest = part["value_high"].max()
            if np.isfinite(bound):
                ax.axvline(bound, color=PALETTE["black"], ls="--", lw=0.9)
                largest = max(largest, bound)
            ax.set_xlim(0, largest * 1.08)
            ax.set_title(SETTINGS[setting].title)
            ax.set_xlabel(r"$\epsilon$")
        handles = [
            Line2D([], [], color=PALETTE["blue"], lw=2.2, label="average case"),
            Line2D([], [], color=PALETTE["red"], lw=2.2, label="worst case"),
            Line2D([], [], color=PALETTE["grey"], ls=":", label="coin flip, 95 % of lower ends"),
            Line2D([], [], color=PALETTE["black"], ls="--", label="epsilon of the training"),
        ]
        made.legend(handles=handles, loc="outside lower center", ncol=4)
    return made


#: Name -> function (measurements, curves, ...) -> figure.
FIGURES: dict[str, Callable[..., Figure]] = {
    "figure2": figure2,
    "figure3": figure3,
    "coverage": coverage,
    "widths": widths,
    "figure5": figure5,
    "figure6": figure6,
    "games": games,
}
