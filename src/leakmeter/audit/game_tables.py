"""Tables of the games, and of what they are held against.

Every function takes the measurements and the chain's claims and returns one LaTeX float.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from leakmeter.audit.attack import ATTACKS, SELECTIONS
from leakmeter.audit.experiments.setting_names import POINTS, SETTINGS
from leakmeter.audit.game_names import game_order, game_title
from leakmeter.audit.table_numbers import MAIN_ATTACK, METHODS, AuditNumbers, fixed, whole
from leakmeter.reporting.latex import Table, escape, integer, number
from leakmeter.reporting.numbers import empty


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
