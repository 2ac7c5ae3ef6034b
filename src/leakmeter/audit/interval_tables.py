"""Tables of intervals without data.

Every function takes the measurements and the chain's claims and returns one LaTeX float.
"""

from __future__ import annotations

import pandas as pd

from leakmeter.audit.table_numbers import METHODS, AuditNumbers, fixed, whole
from leakmeter.reporting.latex import DASH, Table, escape, integer, short


def perfect(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Lower ends for an attack that made no error."""
    numbers = AuditNumbers(measurements, claims)
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
    numbers = AuditNumbers(measurements, claims)
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
    numbers = AuditNumbers(measurements, claims)
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
    numbers = AuditNumbers(measurements, claims)
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
    numbers = AuditNumbers(measurements, claims)
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
        numbers.text("coverage", {"method": m}, "points_below_nominal", whole) for m in METHODS
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
    numbers = AuditNumbers(measurements, claims)
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
    numbers = AuditNumbers(measurements, claims)
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
