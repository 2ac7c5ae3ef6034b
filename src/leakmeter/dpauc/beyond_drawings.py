"""Figures of our own experiments on DPAUC; nothing is computed that is not in the measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from scipy.stats import chi2

from leakmeter.dpauc.beyond_tables import (
    COMPOSITION_RULES,
    EVALUATION_RULES,
    SOURCES,
    table_of,
)
from leakmeter.reporting.figures import PALETTE, figure, style

#: Method and noise -> (name, colour, line).
LOOKS = {
    ("paper", "laplace"): ("paper", "black", ":"),
    ("paper_tight", "laplace"): ("paper, exact cost", "grey", "--"),
    ("paper_pld", "laplace"): ("paper, PLD at delta", "purple", "--"),
    ("stoddard", "discrete"): ("Stoddard et al.", "orange", "--"),
    ("histogram", "discrete"): ("histogram, private totals", "blue", "-"),
    ("histogram", "gaussian"): ("the same, Gaussian at delta", "sky", "-"),
    ("positives", "discrete"): ("histogram, public totals", "green", "-"),
    ("rank_sum", "discrete"): ("rank sum, public ranks", "red", "-"),
    ("randomized_response", "flips"): ("randomised response", "black", "-."),
}
_RULE_LOOKS = {
    "basic": ("grey", ":"),
    "advanced": ("orange", "--"),
    "optimal": ("sky", "-."),
    "pld": ("blue", "-"),
    "zcdp": ("red", "--"),
    "gaussian": ("green", "-"),
}
_LAYOUTS = {
    "authors": ("authors' layout", "black", ":"),
    "uniform": ("equal widths", "orange", "--"),
    "equal_mass": ("equal mass", "blue", "-"),
    "private": ("private medians", "purple", "-."),
    "noisy_totals": ("noisy totals of clients", "sky", "-."),
    "least_tied": ("least tied (reads labels)", "green", "-"),
}


def utility(measurements: pd.DataFrame) -> Figure:
    """Error of a release against epsilon at 100 nominal thresholds."""
    return _errors(measurements, "epsilon", ("thresholds", 100), r"$\varepsilon$")


def thresholds(measurements: pd.DataFrame) -> Figure:
    """Error of a release against the nominal number of thresholds at epsilon 1."""
    return _errors(measurements, "thresholds", ("epsilon", 1), "nominal thresholds")


def _errors(measurements: pd.DataFrame, axis: str, fixed: tuple[str, float], label: str) -> Figure:
    """A row of panels per source, a panel per K; closed forms as lines, simulations as bands."""
    rows = table_of(measurements, "mechanisms")
    rows = rows[rows[fixed[0]] == fixed[1]]
    with style():
        made, panels = _panels(rows)
        for (origin, clients), ax in panels.items():
            here = rows[(rows["origin"] == origin) & (rows["K"] == clients)]
            for (method, noise), (name, colour, line) in LOOKS.items():
                part = here[(here["method"] == method) & (here["noise"] == noise)]
                wide = part.pivot(index=axis, columns="metric", values="value")
                repeats = part.loc[part["metric"] == "rmse", "n"].max()
                _curve(ax, wide, int(repeats), {"color": PALETTE[colour], "ls": line}, name)
            ax.set(xscale="log", yscale="log")
            ax.xaxis.set_major_locator(FixedLocator(sorted(rows[axis].unique())))
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_locator(NullLocator())
        _finish(made, panels, label, "root-mean-square error")
    return made


def _curve(ax: Axes, wide: pd.DataFrame, repeats: int, look: Mapping[str, str], name: str) -> None:
    """Simulated error with its 95 % band; the closed form is the line where it is reliable."""
    x, seen = wide.index.to_numpy(), wide["rmse"].to_numpy()
    low, high = (np.sqrt(repeats / chi2.ppf(q, repeats)) for q in (0.975, 0.025))
    ax.fill_between(x, low * seen, high * seen, color=look["color"], alpha=0.2, lw=0)
    if "theory_std" in wide:
        line = np.hypot(wide["theory_bias"], wide["theory_std"])
        ax.plot(x, line.fillna(wide["rmse"]), **look, label=name)
        ax.plot(x, seen, ".", color=look["color"], ms=3)
    else:
        ax.plot(x, seen, **look, label=name)


def bins(measurements: pd.DataFrame) -> Figure:
    """Error of a label histogram against its number of bins, by layout."""
    rows = table_of(measurements, "bins")
    with style():
        made, panels = _panels(rows)
        for (origin, clients), ax in panels.items():
            here = rows[(rows["origin"] == origin) & (rows["K"] == clients)]
            for layout, (name, colour, line) in _LAYOUTS.items():
                part = here[here["layout"] == layout]
                wide = part.pivot(index="bins", columns="metric", values="value")
                wide = wide.drop_duplicates("actual")
                ax.plot(wide["actual"], wide["rmse"], line, color=PALETTE[colour], label=name)
            ax.set(xscale="log", yscale="log")
        _finish(made, panels, "bins", "root-mean-square error")
    return made


def evaluations(measurements: pd.DataFrame) -> Figure:
    """Total epsilon at a fixed cost of each evaluation, and spread of each at a fixed total."""
    totals = table_of(measurements, "composition", "epsilon").sort_values("evaluations")
    spreads = table_of(measurements, "evaluations", "std").sort_values("evaluations")
    numbers = sorted(spreads["K"].unique())
    spreads = spreads[(spreads["K"] == numbers[len(numbers) // 2]) & spreads["value"].notna()]
    origins = [name for name in SOURCES if name in set(spreads["origin"])]
    with style():
        made = figure("two", 72)
        axes = made.subplots(1, 1 + len(origins), squeeze=False)[0]
        for rule in COMPOSITION_RULES:
            part = totals[totals["rule"] == rule]
            _rule_line(axes[0], rule, part)
        axes[0].set_ylabel(r"total $\varepsilon$")
        axes[0].set_title(rf"each evaluation at $\varepsilon$ = {totals['epsilon_each'].iloc[0]:g}")
        for ax, origin in zip(axes[1:], origins, strict=True):
            here = spreads[spreads["origin"] == origin]
            for rule in EVALUATION_RULES:
                _rule_line(ax, rule, here[here["rule"] == rule])
            ax.set_ylabel("standard deviation of each AUC")
            ax.set_title(rf"$\varepsilon$ = 1 in all, {SOURCES[origin]}, K = {here['K'].iloc[0]}")
        for ax in axes:
            ax.set(xscale="log", yscale="log", xlabel="evaluations")
            ax.grid(True)
            _say_why_empty(ax)
        handles = [_rule_handle(rule) for rule in EVALUATION_RULES]
        made.legend(handles=handles, loc="outside lower center", ncols=6)
    return made


def _rule_line(ax: Axes, rule: str, part: pd.DataFrame) -> None:
    colour, line = _RULE_LOOKS[rule]
    ax.plot(part["evaluations"], part["value"], ls=line, marker=".", color=PALETTE[colour])


def _rule_handle(rule: str) -> Line2D:
    colour, line = _RULE_LOOKS[rule]
    return Line2D([], [], ls=line, color=PALETTE[colour], label=EVALUATION_RULES[rule])


def _panels(rows: pd.DataFrame) -> tuple[Figure, dict[tuple[str, int], Axes]]:
    origins = [name for name in SOURCES if name in set(rows["origin"])]
    clients = sorted(rows["K"].unique())
    made = figure("two", 30 + 48 * len(origins))
    axes = made.subplots(len(origins), len(clients), squeeze=False, sharex=True, sharey="row")
    return made, {
        (origin, k): axes[i, j] for i, origin in enumerate(origins) for j, k in enumerate(clients)
    }


def _finish(made: Figure, panels: Mapping[tuple[str, int], Axes], x: str, y: str) -> None:
    for (origin, clients), ax in panels.items():
        ax.set_title(f"{SOURCES[origin]}, K = {clients}")
        ax.grid(True)
        _say_why_empty(ax)
        spec = ax.get_subplotspec()
        if spec.is_last_row():
            ax.set_xlabel(x)
        if spec.is_first_col():
            ax.set_ylabel(y)
    handles = next(iter(panels.values())).get_legend_handles_labels()
    made.legend(*handles, loc="outside lower center", ncols=3)


def _say_why_empty(ax: Axes) -> None:
    """A note in a panel without a single number: the noise is too large for the closed forms."""
    if not any(np.isfinite(line.get_ydata()).any() for line in ax.get_lines()):
        text = "no closed form: the noise is\nabove a twentieth of a class's size"
        ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", size=6.5)


#: Name -> function.
FIGURES: Mapping[str, Callable[[pd.DataFrame], Figure]] = {
    "utility": utility,
    "thresholds": thresholds,
    "bins": bins,
    "evaluations": evaluations,
}
