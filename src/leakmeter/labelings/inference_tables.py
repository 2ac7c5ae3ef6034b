"""Tables of what an AUC tells: attacks, rounding, posteriors.

Every function takes the measurements and the chain's claims and returns one LaTeX float.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from leakmeter.labelings.table_numbers import (
    ATTACKS,
    SETS,
    LabelingsNumbers,
    average,
    fixed,
    mean,
    power_of_two,
    true,
    whole,
)
from leakmeter.reporting.latex import DASH, Table, integer, number
from leakmeter.reporting.numbers import Form, empty, listing
from leakmeter.reporting.recording import exact_integer


def certainty(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Attacks that promise every label, on all labelings of a few records."""
    numbers = LabelingsNumbers(measurements, claims)
    sizes = numbers.values("certainty", "n", "mean_queries")
    last = sizes[-1] if sizes else ""
    total = sum(_count(numbers, "certainty", {"attack": "pairs", "n": n}) for n in sizes)
    table = Table(
        "lr rr",
        caption=f"Attacks that promise every label with certainty, run on all {integer(total)} "
        f"labelings with both classes of 2 to {last} records.",
        label="tab:labelings-certainty",
        wide=False,
    )
    table.head("", "Labelings left", (f"Queries at $n={last}$", 2))
    table.head("Attack", "undetermined", "mean", "most")
    for attack in _attacks(numbers, "certainty", "undetermined"):
        cell = {"attack": attack, "n": last}
        table.row(
            ATTACKS[attack],
            numbers.text("certainty", {"attack": attack}, "undetermined", whole),
            numbers.text("certainty", cell, "mean_queries", fixed(2)),
            numbers.text("certainty", cell, "most_queries", whole),
        )
    table.note(
        "The paper's final version announces an attack by pairs of queries; its text was not at "
        "hand. These follow from the definition of the AUC."
    )
    return numbers.close(table)


def _count(
    numbers: LabelingsNumbers, item: str, axes: Mapping[str, Any], metric: str = "labelings"
) -> int:
    row = numbers.get(item, axes, metric)
    return 0 if row is None else exact_integer(row)


def _attacks(numbers: LabelingsNumbers, item: str, metric: str) -> list[str]:
    present = set(numbers.values(item, "attack", metric))
    return [attack for attack in ATTACKS if attack in present]


def rounding(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Bits left to learn about the labels by the decimals a leaderboard shows."""
    numbers = LabelingsNumbers(measurements, claims)
    decimals = [d for d in numbers.values("rounding", "decimals", "bits") if d.isdigit()]
    table = Table(
        "lrl" + " r" + "r" * (len(decimals) + 1),
        caption="Leaderboards that round: binary logarithm of the number of labelings that agree "
        "with the AUC shown.",
        label="tab:labelings-rounding",
        gap=3,
    )
    table.head("", "", "", "", ("Decimals shown", len(decimals) + 1))
    table.head("Test set", "$n$", "Class sizes", "no AUC", *decimals, "exact")
    for name in numbers.sets("rounding"):
        table.space()
        for known in ("known", "unknown"):
            rows = [
                numbers.text(
                    "rounding", {"decimals": d, "ones": known}, "bits", _mean(1), origin=name
                )
                for d in ("none", *decimals, "exact")
            ]
            first = known == "known"
            table.row(
                SETS[name] if first else "",
                _records_of(numbers, "rounding", {"decimals": "none", "ones": known}, "bits", name)
                if first
                else "",
                known,
                *rows,
            )
    return numbers.close(table)


def _mean(decimals: int) -> Form:
    """The mean only: where a column per setting leaves no room for deviations."""
    return lambda row: number(row["value"], decimals)


def _records_of(
    numbers: LabelingsNumbers, item: str, axes: Mapping[str, Any], metric: str, name: str
) -> str:
    row = numbers.get(item, axes, metric, name)
    return DASH if row is None or empty(row["m"]) else integer(row["m"])


def posterior(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """What guesses improved by one AUC are worth, in expectation, class sizes unknown."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "rlrr rr rrr",
        caption="One AUC of $n$ distinct guesses, class sizes unknown: expected share of labels "
        "that the posterior states rightly, expected log-loss of the posterior used as guesses, and "
        "expected AUC of the guesses as they are and re-ranked by the posterior.",
        label="tab:labelings-posterior",
        wide=False,
    )
    table.head("", "", "", "Class", ("Expected", 2), ("Expected AUC", 2), "Records")
    table.head(
        "$n$", "AUC", "Labelings", "sizes", "accuracy", "log-loss", "before", "after", "moved"
    )
    previous = ""
    cells = numbers.cells("posterior", "expected_accuracy", "exact")
    for cell in sorted(cells, key=lambda c: int(c["n"])):
        if previous and cell["n"] != previous:
            table.space()
        form = {
            "log2_labelings": power_of_two,
            "class_sizes": whole,
            "expected_accuracy": fixed(4),
            "expected_log_loss": fixed(4),
            "expected_auc": fixed(4),
            "expected_auc_improved": fixed(4),
            "records_moved": whole,
        }
        table.row(
            cell["n"] if cell["n"] != previous else "",
            cell["auc"],
            *(numbers.text("posterior", cell, metric, f) for metric, f in form.items()),
        )
        previous = cell["n"]
    half = number(math.log(2), 4)
    table.note(f"Log-loss in nats; a constant guess of one half costs {half}.")
    table.note(_gains(numbers, cells))
    return numbers.close(table)


def _gains(numbers: LabelingsNumbers, cells: Iterable[Mapping[str, str]]) -> str:
    """Where the best re-ranking is expected to gain although the AUC is above one half."""
    found = []
    for cell in cells:
        before, after = (
            numbers.get("posterior", cell, metric)["value"]
            for metric in ("expected_auc", "expected_auc_improved")
        )
        if 0.5 < float(before) < float(after):
            found.append(f"$n={cell['n']}$ with AUC {cell['auc']}")
    if not found:
        return (
            "Above one half no re-ranking gains; below one half the best one reverses the guesses."
        )
    return (
        "Below one half the best re-ranking reverses the guesses. Above one half it gains only where "
        f"the posterior does not ascend with the guesses: {listing(found)}."
    )


def posterior_sets(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The posterior's expectations beside what became true on genuine test sets."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "lrl rrr rrr r",
        caption="One exact AUC of a classifier's scores on genuine test sets: accuracy and log-loss "
        "of the posterior, expected and on the true labels, beside the larger class and the share "
        "of ones used as the guess for every record.",
        label="tab:labelings-posterior-sets",
        gap=3,
    )
    table.head("", "", "", ("Accuracy", 3), ("Log-loss", 3), "")
    table.head(
        *("Test set", "$n$", "Class sizes"),
        *("expected", "true", "larger class"),
        *("expected", "true", "share"),
        "AUC",
    )
    metrics = ("expected_accuracy", "accuracy", "majority_accuracy")
    metrics += ("expected_log_loss", "log_loss", "majority_log_loss", "auc")
    for name in numbers.sets("posterior"):
        table.space()
        for known in ("known", "unknown"):
            first = known == "known"
            axes = {"ones": known}
            table.row(
                SETS[name] if first else "",
                _records_of(numbers, "posterior", axes, "auc", name) if first else "",
                known,
                *(numbers.text("posterior", axes, m, fixed(3), origin=name) for m in metrics),
            )
    table.note(
        "With unknown class sizes an AUC may be compatible with two of them, mirror images of each "
        "other."
    )
    return numbers.close(table)


def attacks(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Oracle queries against labels recovered on genuine test sets, exact oracle."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "lrl rrrrrr",
        caption="Attacks on genuine test sets through an oracle of the exact AUC: queries made, days "
        f"of the contest the paper speaks of ({_submissions(numbers)} submissions a day), labels "
        "stated and correct.",
        label="tab:labelings-attacks",
    )
    table.head("", "", "", "", "", ("Labels", 3), "Fewest")
    table.head(
        *("Test set", "$n$", "Attack", "Queries", "Days"),
        *("stated", "correct", "larger class", "possible"),
    )
    metrics = ("queries", "days", "known", "correct", "majority")
    for name in numbers.sets("attacks"):
        table.space()
        for i, attack in enumerate(_attacks(numbers, "attacks", "queries")):
            axes = {"attack": attack, "decimals": "exact"}
            certain = numbers.get("attacks", axes, "certain", name)
            table.row(
                SETS[name] if not i else "",
                _records_of(numbers, "attacks", axes, "queries", name) if not i else "",
                ATTACKS[attack],
                *(numbers.text("attacks", axes, m, average, origin=name) for m in metrics),
                numbers.text("attacks", axes, "fewest_queries", average, origin=name)
                if certain is not None and certain["value"]
                else DASH,
            )
    table.note(
        "Larger class: correct labels of one who states it for every record and asks nothing. "
        "Fewest possible: no attack that is certain of every label needs fewer queries in the worst "
        "case, since an exact answer takes at most $n_0 n_1+1$ values; the posterior is not certain."
    )
    return numbers.close(table)


def _all_recovered(numbers: LabelingsNumbers) -> bool:
    """Whether every attack that claims certainty got every label of every split right."""
    rows = [
        (
            numbers.get("attacks", cell, "correct", name),
            numbers.get("attacks", cell, "certain", name),
        )
        for name in numbers.sets("attacks")
        for cell in numbers.cells("attacks", "correct", name)
    ]
    return all(row["value"] == row["m"] for row, certain in rows if true(certain))


def _submissions(numbers: LabelingsNumbers) -> str:
    """Submissions a day that the days were computed with."""
    rows = [numbers.get("attacks", {}, "submissions_a_day", name) for name in SETS]
    return listing(sorted({integer(row["value"]) for row in rows if row is not None})) or DASH


def contest(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Queries and days each attack needs by the decimals the oracle shows."""
    numbers = LabelingsNumbers(measurements, claims)
    shown = [d for d in numbers.values("attacks", "decimals", "queries") if d.isdigit()]
    columns = ["exact", *reversed(shown)]
    table = Table(
        "lrl" + " rr" * len(columns),
        caption="The contest setting: queries, and days at the paper's "
        f"{_submissions(numbers)} submissions a day, by the decimals of the AUC that the oracle "
        "shows.",
        label="tab:labelings-contest",
        gap=3,
    )
    heads = ["exact AUC", *(f"{d} decimals" for d in columns[1:])]
    table.head("", "", "", *((head, 2) for head in heads))
    table.head("Test set", "$n$", "Attack", *["queries", "days"] * len(columns))
    for name in numbers.sets("attacks"):
        table.space()
        for i, attack in enumerate(_attacks(numbers, "attacks", "queries")):
            line = []
            for d in columns:
                axes = {"attack": attack, "decimals": d}
                line += [
                    numbers.text("attacks", axes, metric, mean, origin=name)
                    for metric in ("queries", "days")
                ]
            exact = {"attack": attack, "decimals": "exact"}
            table.row(
                SETS[name] if not i else "",
                _records_of(numbers, "attacks", exact, "queries", name) if not i else "",
                ATTACKS[attack],
                *line,
            )
    table.note(
        f"{DASH}: the rounding defeats the attack on at least one split. With a "
        "rounding oracle the class sizes are taken as known."
    )
    if _all_recovered(numbers):
        table.note("All attacks but the posterior recover every label.")
    return numbers.close(table)


def pruning(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Queries that shrink the enumerated set to one labeling, on small genuine test sets."""
    numbers = LabelingsNumbers(measurements, claims)
    names = ("pruning by pairs", "pruning by rankings")
    table = Table(
        "lrll rr rr",
        caption="The set of labelings compatible with one exact AUC, enumerated and pruned: queries "
        "until one is left, by the most informative pairs of queries and by random rankings.",
        label="tab:labelings-pruning",
        wide=False,
    )
    table.head("", "", "", "", *((ATTACKS[name][len("pruning ") :], 2) for name in names))
    table.head("Test set", "$n$", "AUC", "Labelings", *["queries", "correct"] * 2)
    for name in numbers.sets("pruning"):
        table.space()
        cells = [c for c in numbers.cells("pruning", "auc", name) if set(c) == {"n"}]
        for i, cell in enumerate(cells):
            results = [
                numbers.text("pruning", {**cell, "attack": attack}, metric, whole, origin=name)
                for attack in names
                for metric in ("queries", "correct")
            ]
            table.row(
                SETS[name] if not i else "",
                cell["n"],
                numbers.text("pruning", cell, "auc", fixed(4), origin=name),
                numbers.text("pruning", cell, "log2_labelings", power_of_two, origin=name),
                *results,
            )
    table.note(f"{DASH}: more labelings than this configuration enumerates.")
    return numbers.close(table)
