"""The figures of the audit chain.

Every function returns a figure for :func:`leakmeter.reporting.figures.save`; nothing is computed
here that does not stand in the measurement files, but the posterior density that Figure 3 shades.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from leakmeter.audit.experiments.recording import PAPER
from leakmeter.audit.figures_data import rate_density
from leakmeter.reporting.figures import PALETTE, figure, style
from leakmeter.reporting.measurements import parse_cell
from leakmeter.runtime import UserError

_METHODS = {
    "bayesian": ("Bayesian", "blue", "o"),
    "jeffreys": ("Jeffreys", "orange", "s"),
    "clopper-pearson": ("Clopper-Pearson", "red", "^"),
}
_WHEEL = ("blue", "red", "green", "orange", "purple", "sky", "black")


def table_of(measurements: pd.DataFrame, item: str, metric: str) -> pd.DataFrame:
    """Rows of one item and metric with their axes as columns (numbers where they are numbers).

    Raises
    ------
    UserError
        if the measurements have none.
    """
    chosen = measurements[
        (measurements["paper"] == PAPER)
        & (measurements["item"] == item)
        & (measurements["metric"] == metric)
    ]
    if chosen.empty:
        raise UserError(f"measurements: no row of item {item!r} has the metric {metric!r}")
    rows = [
        {name: row[name] for name in ("origin", "value", "std", "n", "note", "data")}
        | {axis: _number(value) for axis, value in parse_cell(row["cell"]).items()}
        for row in chosen.to_dict("records")
    ]
    return pd.DataFrame(rows)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


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
                colour = PALETTE[_WHEEL[index % len(_WHEEL)]]
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
                colour = PALETTE[_WHEEL[index % len(_WHEEL)]]
                ax.plot(part["trials"], part["value"], "o-", color=colour, label=f"{rate:g}")
            ax.set_xscale("log")
            ax.set_title(f"against {_METHODS[method][0]}")
            ax.set_xlabel("trials")
            ax.grid(axis="y")
        axes[0].set_ylabel("width ratio of the credible interval")
        axes[1].legend(title="both error rates", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return made


#: Name -> function (measurements, curves, ...) -> figure.
FIGURES: dict[str, Callable[..., Figure]] = {
    "figure2": figure2,
    "figure3": figure3,
    "coverage": coverage,
    "widths": widths,
}
