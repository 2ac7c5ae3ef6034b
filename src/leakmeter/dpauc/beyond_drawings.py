"""Figures of our own experiments on DPAUC; nothing is computed that is not in the measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.figure import Figure

from leakmeter.dpauc.beyond_tables import COMPOSITION_RULES, table_of
from leakmeter.reporting.figures import PALETTE, figure, style

_RULE_LOOKS = {
    "basic": ("grey", ":"),
    "advanced": ("orange", "--"),
    "optimal": ("sky", "-."),
    "pld": ("blue", "-"),
    "gaussian": ("green", "-"),
}


def composition_figure(measurements: pd.DataFrame) -> Figure:
    """Total epsilon against the number of evaluations."""
    rows = table_of(measurements, "composition", "epsilon").sort_values("evaluations")
    with style():
        made = figure("one", 62)
        ax = made.subplots()
        for rule, (colour, line) in _RULE_LOOKS.items():
            part = rows[rows["rule"] == rule]
            ax.plot(
                part["evaluations"],
                part["value"],
                line,
                color=PALETTE[colour],
                label=COMPOSITION_RULES[rule],
            )
        ax.set(xscale="log", yscale="log", xlabel="evaluations")
        ax.set_ylabel(r"total $\varepsilon$")
        ax.grid(True)
        ax.legend()
    return made


#: Name -> function.
FIGURES: Mapping[str, Callable[[pd.DataFrame], Figure]] = {
    "evaluations_epsilon": composition_figure
}
