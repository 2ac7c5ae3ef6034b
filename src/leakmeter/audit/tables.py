r"""The tables of the audit chain, in LaTeX.

Every function takes the measurements and the chain's claims and returns one float. The paper's own
Table 1 is a list of notation, so these follow its quantities, not its layout. The mark behind a
number is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from leakmeter.audit.attack import ATTACKS, SELECTIONS
from leakmeter.audit.experiments.setting_names import POINTS, SETTINGS
from leakmeter.audit.game_names import game_order, game_title
from leakmeter.reporting.latex import DASH, Table, escape, integer, number, short
from leakmeter.reporting.numbers import Form, Numbers, Row, empty

#: The attack whose tallies are shown and claimed.
MAIN_ATTACK = "calibrated"
#: Method -> name in tables.
METHODS = {"bayesian": "Bayesian", "jeffreys": "Jeffreys", "clopper-pearson": "Clopper-Pearson"}

_DATA = {
    "exact": "exact mathematics or simulation without data",
    "real": "the paper's data sets (stated subsets)",
    "standin": "stand-ins, generated",
}


class AuditNumbers(Numbers):
    """The chain's numbers; methods for what its tables repeat."""

    paper = "audit"
    data = _DATA

    def summary(self, item: str) -> str:
        """One sentence on the claims of an item whose passed cells are one row."""
        parts = [
            f"{escape(row['metric'])} {escape(row['cell'].removeprefix('cells='))} {row['verdict']}"
            for row in self.summaries
            if row["item"] == item
        ]
        return f"Claims: {'; '.join(parts)}." if parts else ""

    def pair(
        self, item: str, axes: Mapping[str, Any], decimals: int, origin: str | None = None
    ) -> str:
        """An interval ``[low, high]``; the marks of both ends follow their numbers."""
        low, high = (self.text(item, axes, end, fixed(decimals), origin) for end in ("low", "high"))
        return f"[{low}, {high}]"


def fixed(decimals: int) -> Form:
    """A number to some decimals."""
    return lambda row: number(row["value"], decimals)


def whole(row: Row) -> str:
    """An integer."""
    return integer(row["value"])


# --- intervals without data ---------------------------------------------------------------------


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


# --- games --------------------------------------------------------------------------------------


def _blocks(
    numbers: AuditNumbers, item: str, metric: str
) -> Iterable[tuple[str, str, list[dict[str, str]]]]:
    """(setting, points, cells by game) of an item, in order."""
    for setting in SETTINGS:
        cells = [c for c in numbers.cells(item, metric, setting) if "game" in c]
        for points in POINTS:
            found = [c for c in cells if c["points"] == points]
            games = {c["game"]: {"points": points, "game": c["game"]} for c in found}
            if games:
                yield setting, points, [games[name] for name in sorted(games, key=game_order)]


def _title(setting: str, points: str) -> str:
    return f"{SETTINGS[setting].title}, {points}"


def _main_selection(numbers: AuditNumbers) -> str:
    """The rule for the threshold that the run claims by."""
    row = numbers.get("games", {}, "main_selection")
    return str(row["note"]) if row and row["note"] else "median"


def games(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Tallies and intervals of every game with the calibrated attack."""
    numbers = AuditNumbers(measurements, claims)
    selection = _main_selection(numbers)
    table = Table(
        "l rrrrrr lll l",
        caption="Every game: tally of the calibrated attack (threshold: "
        f"{escape(selection)}) and intervals for epsilon of level "
        r"$1-\alpha$. ``Nothing found'': the lower end is one that a coin-flip attack reaches in "
        "5\\,\\% of its runs.",
        label="tab:audit-games",
        size="scriptsize",
        gap=2.5,
    )
    table.head(*("Game", "AUC", "FN", "TP", "FP", "TN", "correct"), *METHODS.values(), "")
    for setting, points, cells in _blocks(numbers, "games", "auc"):
        table.rule()
        table.row((rf"\emph{{{escape(_title(setting, points))}}}", 11))
        for cell in cells:
            axes = {**cell, "attack": MAIN_ATTACK}
            chosen = {**axes, "selection": selection}
            found = numbers.value("games", chosen, "clears_coin_flip", setting)
            table.row(
                _math(game_title(cell["game"])),
                numbers.text("games", axes, "auc", fixed(2), setting),
                *(
                    numbers.text("games", chosen, name, whole, setting)
                    for name in ("fn", "tp", "fp", "tn")
                ),
                numbers.text("games", chosen, "correct", fixed(3), setting),
                *(numbers.pair("games", {**chosen, "method": m}, 2, setting) for m in METHODS),
                "" if found else "nothing found",
            )
    table.note(
        "Worst case: pairs of the candidates with the largest loss gap; ``one pair'' plays the same "
        "pair with every model, ``N pairs'' a different one with each. For m above 1 trials of one "
        "model are dependent and the intervals a heuristic."
    )
    return numbers.close(table)


def _math(text: str) -> str:
    """``m = 10`` as mathematics."""
    first, comma, rest = text.partition(",")
    return f"${first}${comma}{escape(rest)}"


def attacks(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Both statistics under every rule for the threshold, m = 1."""
    numbers = AuditNumbers(measurements, claims)
    table = Table(
        "ll r lll",
        caption="Credible intervals of the games with $m=1$ for both attacks and every rule for the "
        "threshold. ``Authors'' chooses it on the evaluated trials and is optimistic.",
        label="tab:audit-attacks",
        size="scriptsize",
    )
    table.head("", "Attack", "AUC", *(escape(s) for s in SELECTIONS))
    for setting, points, cells in _blocks(numbers, "games", "auc"):
        if {"points": points, "game": "m1"} not in cells:
            continue
        for attack in ATTACKS:
            axes = {"points": points, "game": "m1", "attack": attack}
            line = [escape(_title(setting, points)) if attack == "plain" else "", attack]
            line.append(numbers.text("games", axes, "auc", fixed(2), setting))
            for selection in SELECTIONS:
                chosen = {**axes, "selection": selection}
                clears = numbers.value("games", chosen, "clears_coin_flip", setting)
                interval = numbers.pair("games", {**chosen, "method": "bayesian"}, 2, setting)
                line.append(interval + ("" if clears else r"\,$\cdot$"))
            table.row(*line)
    levels = ", ".join(
        f"{selection} {numbers.text('coin_flip', {'selection': selection}, 'low_95', fixed(2))}"
        for selection in SELECTIONS
    )
    table.note(
        r"$\cdot$: nothing found, the lower end is within what 95\,\% of coin-flip attacks reach "
        f"under the same rule ({levels})."
    )
    return numbers.close(table)


def accuracy(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Accuracy of the models, and what is known without private records."""
    numbers = AuditNumbers(measurements, claims)
    table = Table(
        "llr rr",
        caption="Accuracy of the target models on held-out records (standard deviation over models), "
        "and that of the best constant answer.",
        label="tab:audit-accuracy",
        size="scriptsize",
        wide=False,
    )
    table.head("", "Game", "Models", "accuracy", "constant")
    for setting, points, cells in _blocks(numbers, "accuracy", "accuracy"):
        table.rule()
        for number_, cell in enumerate(cells):
            row = numbers.get("accuracy", cell, "accuracy", setting)
            spread = "" if empty(row["std"]) else rf" $\pm$ {number(row['std'], 3)}"
            table.row(
                escape(_title(setting, points)) if number_ == 0 else "",
                _math(game_title(cell["game"])),
                integer(int(row["n"])),
                numbers.text("accuracy", cell, "accuracy", fixed(3), setting) + spread,
                numbers.text("accuracy", {"points": points}, "majority", fixed(3), setting)
                if number_ == 0
                else "",
            )
    table.note("No label outside the private records is used by any model.")
    return numbers.close(table)


def heuristic(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Posteriors for m above 1 against m = 1, beside what independent runs show."""
    numbers = AuditNumbers(measurements, claims)
    table = Table(
        "ll rrrr",
        caption="Differences from the game with $m=1$: supremum and mean of $|F-F_1|$ for epsilon "
        "from 0 to 10, and differences of the ends of the credible interval. Stars: beyond what "
        r"95\,\% of pairs of independent runs with $m=1$ show (the line \emph{null}).",
        label="tab:audit-heuristic",
        size="scriptsize",
        wide=False,
    )
    metrics = ("sup", "mean", "low", "high")
    table.head("", "Game", "supremum", "mean", "lower end", "upper end")
    for setting, points, cells in _blocks(numbers, "heuristic", "sup"):
        table.rule()
        null = [
            numbers.text("heuristic_null", {"points": points}, f"{m}_95", fixed(3), setting)
            for m in metrics
        ]
        table.row(escape(_title(setting, points)), r"\emph{null}", *null)
        for cell in cells:
            line = ["", _math(game_title(cell["game"]))]
            for metric in metrics:
                outside = numbers.value("heuristic", cell, f"{metric}_outside", setting)
                shown = numbers.text("heuristic", cell, metric, fixed(3), setting)
                line.append(shown + ("*" if outside else ""))
            if "-" not in cell["game"]:
                claimed = {"points": points, "m": cell["game"].removeprefix("m")}
                line[2] += numbers.text("coincide", claimed, "outside", lambda _: "", setting)
            table.row(*line)
    table.note(
        "The document does not define its ``error''. The null draws trials of the independent models "
        "with $m=1$ with replacement and chooses a threshold anew."
    )
    return numbers.close(table)


def chance(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """What chance does, what the heuristic saves, and the bound that lower ends may not exceed."""
    numbers = AuditNumbers(measurements, claims)
    table = Table(
        "lr",
        caption="Yardsticks: coin-flip attacks, independent runs, models trained, privacy bounds.",
        label="tab:audit-chance",
        size="scriptsize",
        wide=False,
    )
    table.head("Quantity", "value")
    for selection in SELECTIONS:
        text = numbers.text("coin_flip", {"selection": selection}, "low_95", fixed(3))
        table.row(rf"coin flip, {selection}: lower end, 95\,\% quantile", text)
    table.rule()
    for cell in numbers.cells("independent_runs", "sup_median"):
        text = numbers.text("independent_runs", cell, "sup_median", fixed(3))
        table.row(rf"independent runs, both rates {cell['rate']}: median of $\sup|F-F'|$", text)
    table.row(
        r"published errors that fewer than 1\,\% of these reach",
        numbers.text("independent_runs", {}, "improbable_errors", whole),
    )
    table.rule()
    for cell in numbers.cells("models", "saved_percent"):
        table.row(
            f"$m={cell['m']}$: models per setting",
            numbers.text("models", cell, "models", whole)
            + rf" (saves {numbers.text('models', cell, 'saved_percent', fixed(1))}\,\%)",
        )
    table.row("target models per setting", numbers.text("models", {}, "per_setting", whole))
    table.row("target models in all", numbers.text("models", {}, "in_all", whole))
    table.rule()
    for setting in SETTINGS:
        for points in POINTS:
            axes = {"points": points}
            if numbers.value("theory", axes, "largest_low", setting) is None:
                continue
            bounds = [
                numbers.text("theory", {**axes, "adjacency": a}, "epsilon", fixed(2), setting)
                for a in ("replace-one", "add-remove")
            ]
            low = numbers.text("theory", axes, "largest_low", fixed(2), setting)
            above = numbers.text("theory", axes, "lows_above", whole, setting)
            by_chance = numbers.text("theory", axes, "chance_above", fixed(2), setting)
            table.row(
                f"{escape(_title(setting, points))}: epsilon for replacing (adding)",
                f"{bounds[0]} ({bounds[1]})",
            )
            table.row(
                r"\quad largest lower end; lower ends above epsilon (chance of one)",
                f"{low}; {above} ({by_chance})",
            )
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
    "games": games,
    "attacks": attacks,
    "accuracy": accuracy,
    "heuristic": heuristic,
    "chance": chance,
}
