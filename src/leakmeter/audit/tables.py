r"""The tables of the audit chain, in LaTeX.

Every function takes the measurements and the chain's claims and returns one float. The paper's own
Table 1 is a list of notation, so these follow its quantities, not its layout. The mark behind a
number is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from leakmeter.audit.experiments.recording import PAPER
from leakmeter.reporting.latex import (
    DASH,
    Table,
    escape,
    integer,
    legend,
    mark,
    number,
    short,
    worst,
)
from leakmeter.reporting.measurements import parse_cell

#: Method -> name in tables.
METHODS = {"bayesian": "Bayesian", "jeffreys": "Jeffreys", "clopper-pearson": "Clopper-Pearson"}

_DATA = {
    "exact": "exact mathematics or simulation without data",
    "real": "the paper's data sets (stated subsets)",
    "standin": "stand-ins, generated",
}

_Axes = frozenset[tuple[str, str]]
_Key = tuple[str, _Axes, str, str]
_Form = Callable[[Any], str]


class Numbers:
    """The chain's numbers by key, with the marks and errata of those that were shown.

    Parameters
    ----------
    measurements, claims : as the gather and the claims rules write them; claims may be empty.
    """

    def __init__(self, measurements: pd.DataFrame, claims: pd.DataFrame) -> None:
        self.marks: Counter[str] = Counter()
        self.errata: set[str] = set()
        self.shown: list[Mapping[str, Any]] = []
        self._rows = {_key(row): row for row in _records(measurements)}
        self._claims: dict[_Key, list[Mapping[str, Any]]] = {}
        self._summaries: list[Mapping[str, Any]] = []
        for row in _records(claims):
            if row["cell"].startswith("cells="):
                self._summaries.append(row)  # a summarised claim, "cells=22 of 22"
            else:
                self._claims.setdefault(_key(row), []).append(row)

    def cells(self, item: str, metric: str, origin: str | None = None) -> list[dict[str, str]]:
        """The axes of every cell of an item with a metric, in the order of the measurements."""
        found = [
            dict(axes)
            for i, axes, o, m in self._rows
            if (i, m) == (item, metric) and origin in (None, o)
        ]
        unique = {frozenset(cell.items()): cell for cell in found}
        return sorted(unique.values(), key=lambda cell: _order(cell.items()))

    def origins(self, item: str) -> list[str]:
        """The origins that have numbers of an item, sorted."""
        return sorted({origin for i, _, origin, _ in self._rows if i == item})

    def value(
        self, item: str, axes: Mapping[str, Any], metric: str, origin: str = "exact"
    ) -> float | None:
        """One number without showing it; None if it was not measured or is undefined."""
        row = self._rows.get((item, _axes(axes), origin, metric))
        return None if row is None or _empty(row["value"]) else float(row["value"])

    def summary(self, item: str) -> str:
        """One sentence on the claims of an item whose passed cells are one row."""
        parts = [
            f"{escape(row['metric'])} {escape(row['cell'].removeprefix('cells='))} {row['verdict']}"
            for row in self._summaries
            if row["item"] == item
        ]
        return f"Claims: {'; '.join(parts)}." if parts else ""

    def note(self, item: str, axes: Mapping[str, Any], metric: str, origin: str) -> str:
        """The note of one number."""
        row = self._rows.get((item, _axes(axes), origin, metric))
        return "" if row is None else str(row["note"])

    def text(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        form: _Form,
        origin: str = "exact",
    ) -> str:
        """One number with the mark of its verdict; a dash where there is none."""
        key = (item, _axes(axes), origin, metric)
        found = self._claims.get(key, [])
        verdict = worst([claim["verdict"] for claim in found])
        if verdict:
            self.marks[verdict] += 1
        self.errata |= {str(c["erratum"]) for c in found if not _empty(c["erratum"])}
        row = self._rows.get(key)
        if row is None or _empty(row["value"]):
            return DASH + mark(verdict)
        self.shown.append(row)
        return form(row["value"]) + mark(verdict)

    def pair(self, item: str, axes: Mapping[str, Any], decimals: int, origin: str = "exact") -> str:
        """An interval ``[low, high]``; the marks of both ends follow their numbers."""
        low, high = (
            self.text(item, axes, end, lambda v: number(v, decimals), origin)
            for end in ("low", "high")
        )
        return f"[{low}, {high}]"

    def close(self, table: Table) -> str:
        """Add where the numbers come from and what the marks mean; the LaTeX of the table."""
        data = sorted({row["data"] for row in self.shown})
        if data:
            scales = sorted({escape(row["scale"]) for row in self.shown})
            seeds = sorted({str(int(row["seed"])) for row in self.shown})
            table.note(
                f"Data: {'; '.join(_DATA.get(d, escape(d)) for d in data)}. "
                f"Scale {', '.join(scales)}, seed {', '.join(seeds)}."
            )
        table.note(legend(self.marks))
        if self.errata:
            table.note(f"Errata: {escape(', '.join(sorted(self.errata)))}.")
        return table.render()


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    if frame.empty:
        return []
    own = frame[frame["paper"] == PAPER]
    text = [c for c in ("item", "cell", "origin", "metric", "note") if c in own]
    return own.assign(**{column: own[column].fillna("") for column in text}).to_dict("records")


def _key(row: Mapping[str, Any]) -> _Key:
    return row["item"], _axes(parse_cell(row["cell"])), row["origin"], row["metric"]


def _axes(axes: Mapping[str, Any]) -> _Axes:
    return frozenset((name, _text(value)) for name, value in axes.items())


def _text(value: Any) -> str:
    """Numbers in one spelling, so that 0.05, "0.05" and 1e-5, "1e-05" name one cell."""
    try:
        return f"{float(value):g}"
    except (TypeError, ValueError):
        return str(value)


def _order(items: Iterable[tuple[str, str]]) -> list[tuple]:
    """Sort key: numbers by size, before text."""
    keys = []
    for name, value in sorted(items):
        try:
            keys.append((name, 0, float(value), ""))
        except ValueError:
            keys.append((name, 1, 0.0, value))
    return keys


def _empty(value: Any) -> bool:
    return value is None or value == "" or bool(pd.isna(value))


def fixed(decimals: int) -> _Form:
    """A number to some decimals."""
    return lambda value: number(value, decimals)


# --- intervals without data ---------------------------------------------------------------------


def perfect(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Lower ends for an attack that made no error."""
    numbers = Numbers(measurements, claims)
    table = Table(
        "lrrr",
        caption="Lower end of epsilon for an attack without errors, half of the trials with members "
        r"($\delta=10^{-5}$).",
        label="tab:audit-perfect",
        wide=False,
    )
    table.head("Interval", "Level", "Trials", "Lower end")
    for cell in sorted(
        numbers.cells("perfect", "low"),
        key=lambda c: (-int(c["trials"]), numbers.value("perfect", c, "low")),
    ):
        table.row(
            escape(cell["interval"].split(" (")[0]),
            rf"{float(cell['confidence']):.0%}".replace("%", r"\,\%"),
            integer(int(cell["trials"])),
            numbers.text("perfect", cell, "low", fixed(4)),
        )
    table.note(
        "The paper corrects an earlier claim: 1,000 trials without errors do not give 5.6, 2,000 do."
    )
    return numbers.close(table)


_EXAMPLE_LINES = (
    ("interval from rate intervals", "exact", "interval from rate intervals"),
    ("Bayesian credible interval", "exact", "credible interval"),
    ("Bayesian credible interval", "loose", "credible interval, coarse quadrature"),
    ("posterior mass of rectangle", "exact", "mass of the rectangle"),
    ("posterior mass of enclosing band", "exact", "mass of its band"),
    ("posterior mass of credible band", "exact", "mass of the credible band"),
)


def example(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The 200-trial example under its printed settings and under those that give its numbers."""
    numbers = Numbers(measurements, claims)
    table = Table(
        "lll",
        caption="The example with 35 false negatives of 100 and 25 false positives of 100, under the "
        "settings in the text and under those its numbers follow from.",
        label="tab:audit-example",
        wide=False,
    )
    table.head(
        "",
        r"as printed: Jeffreys, 90\,\%, $\delta=10^{-5}$",
        r"found: Clopper-Pearson, 95\,\%, $\delta=0.05$",
    )
    for quantity, quadrature, name in _EXAMPLE_LINES:
        cells = []
        for settings in ("printed", "found"):
            axes = {"quantity": quantity, "settings": settings, "quadrature": quadrature}
            if numbers.value("example", axes, "high") is None:
                cells.append(numbers.text("example", axes, "low", fixed(4)))
            else:
                cells.append(numbers.pair("example", axes, 4))
        table.row(name, *cells)
    table.row(
        r"credible interval narrower by (\%)",
        *(
            numbers.text("example", {"settings": s}, "narrowing_percent", fixed(1))
            for s in ("printed", "found")
        ),
    )
    table.note(
        "The coarse quadrature is that of the released package (absolute tolerance 0.005, ends to "
        "0.01); everything else is exact to the digits shown."
    )
    return numbers.close(table)


def released(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The tally in the released package's documentation."""
    numbers = Numbers(measurements, claims)
    table = Table(
        "lll",
        caption="The released package's example (487 true positives, 1 true negative, 512 false "
        r"positives, no false negative; $\delta=10^{-5}$, 90\,\%).",
        label="tab:audit-released",
        wide=False,
    )
    table.head("Method", "exact", "coarse quadrature")
    for cell in numbers.cells("released_example", "low"):
        if cell["quadrature"] != "exact":
            continue
        loose = {**cell, "quadrature": "loose"}
        coarse = numbers.value("released_example", loose, "low") is not None
        table.row(
            escape(cell["method"]),
            numbers.pair("released_example", cell, 4),
            numbers.pair("released_example", loose, 4) if coarse else "",
        )
    return numbers.close(table)


def references(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Intervals against an independent derivation."""
    numbers = Numbers(measurements, claims)
    table = Table(
        "rrrr rr ll",
        caption="Intervals for tallies of all kinds, compared with an independent derivation "
        r"(Bayesian ends to $10^{-5}$, its own precision; the others in all digits).",
        label="tab:audit-references",
        size="scriptsize",
    )
    table.head("FN", "TP", "FP", "TN", r"$\delta$", r"$\alpha$", "Method", r"$\epsilon$")
    for cell in numbers.cells("references", "low"):
        table.row(
            *(integer(int(cell[name])) for name in ("fn", "tp", "fp", "tn")),
            short(float(cell["delta"])),
            short(float(cell["alpha"])),
            escape(cell["method"]),
            numbers.pair("references", cell, 6),
        )
    table.note(numbers.summary("references"))
    return numbers.close(table)


def coverage(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Simulated coverage of the operating point's epsilon, by mechanism and method."""
    numbers = Numbers(measurements, claims)
    points = [c for c in numbers.cells("coverage", "epsilon") if "mechanism" in c]
    nominal = 100 * (numbers.value("coverage", {}, "nominal") or 0)
    table = Table(
        "lrrr rrr rrr",
        caption=rf"How often a nominal {nominal:g}\,\% interval holds the epsilon of the attack's "
        "operating point, and how often it lies wholly above it, over simulated tallies.",
        label="tab:audit-coverage",
        size="scriptsize",
        gap=3,
    )
    table.head("", "", "", "", ("coverage", 3), ("wholly above", 3))
    heads = ["Mechanism", "threshold", r"$\epsilon$ there", r"$\epsilon$ of mechanism"]
    table.head(*heads, *list(METHODS.values()) * 2)
    for cell in points:
        line = [
            f"{escape(cell['mechanism'])} ({short(float(cell['parameter']))})",
            short(float(cell["threshold"])) if "threshold" in cell else DASH,
            numbers.text("coverage", cell, "epsilon", fixed(2)),
            numbers.text("coverage", cell, "mechanism_epsilon", fixed(2)),
        ]
        for metric in ("coverage", "too_high"):
            line += [
                numbers.text("coverage", {**cell, "method": m}, metric, fixed(3)) for m in METHODS
            ]
        table.row(*line)
    table.rule()
    line = ["points below their level", "", "", ""]
    line += [
        numbers.text("coverage", {"method": m}, "points_below_nominal", integer) for m in METHODS
    ]
    table.row(*line, "", "", "")
    below = [
        numbers.value("coverage", {**cell, "method": "bayesian"}, "below_mechanism")
        for cell in points
        if "threshold" in cell
    ]
    if below:
        table.note(
            "An interval is about one attack at one threshold: the upper end of the credible interval "
            f"is below the Gaussian mechanism's own epsilon in {min(below):.0%} to {max(below):.0%} "
            "of the simulations. It does not bound the mechanism.".replace("%", r"\,\%")
        )
    table.note(
        "Monte Carlo error of each share: at most 0.5 divided by the root of the number of tallies "
        "(see std and n in the measurements)."
    )
    return numbers.close(table)


def widths(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Width of the credible interval and its ratio to the others."""
    numbers = Numbers(measurements, claims)
    cells = [c for c in numbers.cells("widths", "width") if c.get("method") == "bayesian"]
    table = Table(
        "rrr r rr",
        caption="Width of the credible interval, and its ratio to that of the intervals from "
        "rate intervals (0: the other one is unbounded).",
        label="tab:audit-widths",
        size="scriptsize",
        wide=False,
    )
    table.head("", "", "", "", ("ratio to", 2))
    table.head("Trials", "FNR", "FPR", "width", "Jeffreys", "Clopper-Pearson")
    for cell in sorted(cells, key=lambda c: [float(c[k]) for k in ("trials", "fnr", "fpr")]):
        line = [integer(int(cell["trials"])), short(float(cell["fnr"])), short(float(cell["fpr"]))]
        line.append(numbers.text("widths", cell, "width", fixed(3)))
        for method in ("jeffreys", "clopper-pearson"):
            axes = {**cell, "method": method}
            line.append(numbers.text("widths", axes, "bayesian_over_method", fixed(3)))
        table.row(*line)
    for method in ("jeffreys", "clopper-pearson"):
        least, most = (
            numbers.text("widths", {"method": method}, f"{end}_narrowing_percent", fixed(1))
            for end in ("smallest", "largest")
        )
        table.note(
            rf"Narrower than {METHODS[method]} by {least} to {most}\,\% where both are bounded."
        )
    return numbers.close(table)


def accounting(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Epsilon of the authors' noise under both adjacencies."""
    numbers = Numbers(measurements, claims)
    cells = [c for c in numbers.cells("accounting", "noise_given")]
    table = Table(
        "lrr rr",
        caption="Epsilon of the authors' training for adding or removing a record and for replacing "
        r"one, which is what the game does ($\delta=10^{-5}$, privacy loss distributions).",
        label="tab:audit-accounting",
        wide=False,
    )
    table.head("", "", "", (r"$\epsilon$ for", 2))
    table.head("Training", r"stated $\epsilon$", "noise multiplier", "add or remove", "replace")
    for cell in cells:
        line = [escape(cell["setting"]), cell["target"]]
        line.append(numbers.text("accounting", cell, "noise_given", fixed(3)))
        for adjacency in ("add-remove", "replace-one"):
            axes = {**cell, "adjacency": adjacency}
            line.append(numbers.text("accounting", axes, "epsilon", fixed(2)))
        table.row(*line)
    table.note("The noise multipliers are derived from the authors' batch sizes and epochs.")
    return numbers.close(table)


#: Name -> function (measurements, claims) -> LaTeX.
TABLES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], str]] = {
    "perfect": perfect,
    "example": example,
    "released": released,
    "references": references,
    "coverage": coverage,
    "widths": widths,
    "accounting": accounting,
}
