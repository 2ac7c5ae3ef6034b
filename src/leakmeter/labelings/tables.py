r"""The tables of the labelings chain, in LaTeX.

Every function takes the measurements and the chain's claims and returns one float. The paper's own
tables were not recovered, so these follow its quantities, not its layout. The mark behind a number
is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from leakmeter.reporting.latex import DASH, Table, escape, integer, number, with_std
from leakmeter.reporting.numbers import Form, Numbers, empty, listing
from leakmeter.reporting.recording import exact_integer

#: Lines a table of w may have on one page; what is left out is said and stands in the measurements.
MAX_LINES = 60
#: Integers are written out up to this many digits.
_DIGITS = 18
#: Test set -> name in tables.
SETS = {
    "breast_cancer": "breast cancer",
    "digits_odd": "odd digits",
    "diabetes_high": "diabetes",
    "wine": "wine",
}
#: Attack -> name in tables, in the order of lines.
ATTACKS = {
    "posterior": "posterior, one query",
    "pairs": "pairs of queries",
    "swaps": "exchanges of neighbours",
    "weighing": "weighing",
    "pruning by pairs": "pruning by pairs",
    "pruning by rankings": "pruning by rankings",
}

_DATA = {
    "exact": "exact mathematics",
    "related": "scikit-learn's bundled sets (label related; the paper has no experiment on data)",
}


class LabelingsNumbers(Numbers):
    """The chain's numbers, with how the deviations that were shown are written."""

    paper = "labelings"
    data = _DATA

    def __init__(self, measurements: pd.DataFrame, claims: pd.DataFrame) -> None:
        super().__init__(measurements, claims)
        self.spread_forms: set[str] = set()

    def sets(self, item: str) -> list[str]:
        """The genuine test sets with numbers of an item, in their fixed order."""
        present = self.origins(item)
        return [name for name in SETS if name in present]

    def text(
        self,
        item: str,
        axes: Mapping[str, Any],
        metric: str,
        form: Form,
        origin: str | None = None,
    ) -> str:
        """One number with the mark of its verdict; a dash where there is none."""
        return super().text(item, axes, metric, lambda row: self._noticed(form(row)), origin)

    def _noticed(self, body: str) -> str:
        if re.search(r"\d\(\d+\)$", body):
            self.spread_forms.add("parentheses")
        elif r"\pm" in body:
            self.spread_forms.add("pm")
        return body

    def notes(self) -> list[str]:
        """The notes of every table, after those on repeats."""
        notes = []
        repeats = sorted({int(row["n"]) for row in self.seen() if not empty(row["std"])})
        if repeats:
            notes.append(f"Means over {listing(map(str, repeats))} splits of each set.")
        if "parentheses" in self.spread_forms:
            notes.append(
                "A number in parentheses is the standard deviation in units of the last digit "
                r"shown: 0.70(3) is 0.70 $\pm$ 0.03."
            )
        if "pm" in self.spread_forms:
            notes.append(r"A number after $\pm$ is the standard deviation.")
        return [*notes, *super().notes()]


# --- forms --------------------------------------------------------------------------------------


def whole(row: Mapping[str, Any]) -> str:
    """An integer with all its digits, or in powers of ten if it has too many."""
    return large(exact_integer(row))


def large(value: int) -> str:
    r"""A non-negative integer of any size.

    >>> large(468686), large(12032865985819614499223)
    ('468{,}686', '$1.203\\times10^{22}$')
    """
    digits = str(value)
    if len(digits) <= _DIGITS:
        return f"{value:,}".replace(",", "{,}")
    power = len(digits) - 1
    mantissa = (value // 10 ** (power - 4) + 5) // 10  # five digits, rounded to four
    if mantissa == 10_000:
        mantissa, power = 1000, power + 1
    return rf"${mantissa // 1000}.{mantissa % 1000:03d}\times10^{{{power}}}$"


def fixed(decimals: int) -> Form:
    """A number, or a mean with its standard deviation, to some decimals."""
    return lambda row: with_std(row["value"], row["std"] if _spread(row) else None, decimals)


def _spread(row: Mapping[str, Any]) -> bool:
    """Whether a number has a spread worth showing (that of equal numbers may be a rounding error)."""
    return not empty(row["std"]) and float(row["std"]) > 1e-12


def mean(row: Mapping[str, Any]) -> str:
    """A count without its spread: an integer, or a mean with one decimal."""
    value = float(row["value"])
    return integer(value) if value.is_integer() else number(value, 1)


def average(row: Mapping[str, Any]) -> str:
    """A count: an integer, or over splits a mean with one decimal and its deviation."""
    if not _spread(row):
        return mean(row)
    return rf"{number(row['value'], 1)} $\pm$ {number(row['std'], 1)}"


def _note(row: Mapping[str, Any]) -> str:
    return escape(row["note"])


def _power_of_two(row: Mapping[str, Any]) -> str:
    return f"$2^{{{float(row['value']):.1f}}}$"


# --- counting -----------------------------------------------------------------------------------


def puzzle(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The paper's opening example: all labelings of four records with their AUC."""
    numbers = LabelingsNumbers(measurements, claims)
    found = numbers.get("puzzle", {}, "first_labeling")
    table = Table(
        "lcccl",
        caption="All labelings of the paper's opening example, in the order of its guesses. One has "
        "the AUC it states.",
        label="tab:labelings-puzzle",
        wide=False,
    )
    table.head("Labels $y$", "Ones", "Misranked pairs $d$", "AUC", "")
    for cell in numbers.cells("puzzle", "auc"):
        compatible = numbers.get("puzzle", cell, "compatible")
        chosen = bool(compatible and compatible["value"])
        printed = numbers.text("puzzle", {}, "first_labeling", lambda _: "") if chosen else ""
        table.row(
            cell["labels"].replace("-", " "),
            numbers.text("puzzle", cell, "ones", whole),
            numbers.text("puzzle", cell, "misranked", whole),
            numbers.text("puzzle", cell, "auc", _note),
            f"the only one left{printed}" if chosen else "",
        )
    if found is not None:
        table.note(f"Enumerated from guesses and AUC alone: {escape(found['note'])}.")
    return numbers.close(table)


def w(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """w(n, p/q) of the paper's example with its terms; n without a line have w = 0."""
    numbers = LabelingsNumbers(measurements, claims)
    threshold = numbers.get("w", {}, "threshold")
    limit = int(threshold["value"]) if threshold is not None else 0
    percent = numbers.get("w", {}, "auc_percent")
    auc = percent["note"] if percent is not None else "p/q"
    described = listing(numbers.values("w", "n", "magnitude"))
    table = Table(
        "rl rrrrl",
        caption=rf"Labelings $w(n, c)$ that agree with the paper's example $c={auc}$, and the terms "
        "$v(n_0, n_1, d)$ they are sums of. No labeling of $n$ records has this AUC where there is "
        "no line.",
        label="tab:labelings-w",
        size="scriptsize",
        wide=False,
    )
    table.head("$n$", "$w(n, c)$", "$n_0$", "$n_1$", "$n_0 n_1/q$", "$d$", "$v(n_0, n_1, d)$")
    cells = sorted(
        (c for c in numbers.cells("w", "v") if int(c["n0"]) >= int(c["n1"])),
        key=lambda c: (int(c["n"]), int(c["n0"])),
    )
    previous, passed = "", False
    for cell in cells[:MAX_LINES]:
        if limit and int(cell["n"]) >= limit and not passed:
            table.rule()
            passed = True
        new = cell["n"] != previous
        table.row(
            cell["n"] if new else "",
            numbers.text("w", cell, "w", whole) if new else "",
            cell["n0"],
            cell["n1"],
            numbers.text("w", cell, "multiple", whole),
            numbers.text("w", cell, "misranked", whole),
            numbers.text("w", cell, "v", whole),
        )
        previous = cell["n"]
    table.note(
        r"Lines have $n_0\geq n_1$; both orders count unless they are equal. The paper describes "
        f"$w$ up to $n={described}$; the rule marks the conjecture's threshold ({limit}). The numbers are "
        "compared with an independent derivation, since the printed ones were not recovered."
    )
    if len(cells) > MAX_LINES:
        table.note(
            f"{len(cells) - MAX_LINES} further lines up to $n={cells[-1]['n']}$ are in the "
            "measurements."
        )
    return numbers.close(table)


def growth(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """w along n = 4q, 8q, ... for some AUC values."""
    numbers = LabelingsNumbers(measurements, claims)
    aucs = numbers.values("growth", "auc", "w")
    table = Table(
        "r" + " rlr" * len(aucs),
        caption=r"Growth of $w(n, p/q)$ along $n=4qt$: exact counts and bits per record.",
        label="tab:labelings-growth",
        size="scriptsize",
        gap=3,
    )
    table.head("", *((f"$c={auc}$", 3) for auc in aucs))
    table.head("$t$", *["$n$", "$w(n, c)$", r"$\frac{1}{n}\log_2 w$"] * len(aucs))
    sizes = {
        auc: [c["n"] for c in numbers.cells("growth", "w") if c.get("auc") == auc] for auc in aucs
    }
    for t in range(max((len(n) for n in sizes.values()), default=0)):
        line = [str(t + 1)]
        for auc in aucs:
            cell = {"auc": auc, "n": sizes[auc][t]}
            line += [
                cell["n"],
                numbers.text("growth", cell, "w", whole),
                numbers.text("growth", cell, "bits_per_record", fixed(3)),
            ]
        table.row(*line)
    below = numbers.text("growth", {}, "below_exponential", whole)
    tested = numbers.text("growth", {}, "sizes", whole)
    table.note(rf"$w(4qt, c)<w(4q, c)^t$ in {below} of {tested} cases.")
    return numbers.close(table)


def conjecture(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The conjecture over all reduced fractions, as printed and read strictly."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "l rrr l",
        caption=r"The conjecture that $w(n, c)$ does not increase with $n$ up to $n^*=\min\{n_0+n_1 "
        r": n_0 n_1=2q\}$, tested on all reduced $c=p/q$: counterexamples as printed ($n\leq n^*$) "
        "and read strictly ($n<n^*$).",
        label="tab:labelings-conjecture",
        wide=False,
    )
    table.head("", "Fractions", ("Counterexamples", 2), "Denominators $q$")
    table.head("Range", "tested", "as printed", "strictly", "that fail strictly")
    for cell in _ranges(numbers):
        table.row(
            rf"$q\leq {cell['q_max']}$",
            *(
                numbers.text("conjecture", cell, metric, whole)
                for metric in ("fractions_tested", "violations_as_printed", "violations_strict")
            ),
            numbers.text("conjecture", cell, "denominators_strict", _listed),
        )
    table.note("Counterexamples are sought among the $n$ with $w>0$.")
    ranges = _ranges(numbers)
    if ranges and all(_true(numbers.get("conjecture", c, "even_squares_only")) for c in ranges):
        table.note(
            "The denominators that fail strictly are exactly the even perfect squares: with "
            "$n_0=n_1$ the two orders of class sizes are one."
        )
    return numbers.close(table)


def _ranges(numbers: LabelingsNumbers) -> list[dict[str, str]]:
    return numbers.cells("conjecture", "fractions_tested")


def _listed(row: Mapping[str, Any]) -> str:
    """The entries of a list in a row's note, its length if they are many."""
    entries = str(row["note"]).split(";") if row["note"] else []
    if len(entries) > 12:
        return f"{integer(len(entries))} of them"
    return escape(listing(entries)) or "none"


def counterexamples(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The first increase of w for each denominator that fails, and for the paper's example."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "lr rr rr r",
        caption=r"Counterexamples to the conjecture: the first increase of $w(n, c)$ for $n\leq "
        "n^*$.",
        label="tab:labelings-counterexamples",
        wide=False,
    )
    table.head("", "", ("From", 2), ("to", 2), "Fractions $p/q$")
    table.head("$c=p/q$", "$n^*$", "$n$", "$w(n, c)$", "$n$", "$w(n, c)$", "that fail strictly")
    for cell in _increases(numbers):
        share = [
            numbers.text("conjecture", {"q": cell["q"]}, metric, whole)
            for metric in ("violations", "fractions")
        ]
        line = [
            numbers.text("conjecture", cell, metric, whole)
            for metric in ("threshold", "n_before", "w_before", "n_after", "w_after")
        ]
        strictly = DASH if DASH in share else f"{share[0]} of {share[1]}"
        table.row(f"{cell['p']}/{cell['q']}", *line, strictly)
    table.note(
        "For each denominator that fails strictly, the failing fraction closest to 1; and the "
        "paper's own example."
    )
    kept = [c for c in _increases(numbers) if _true(numbers.get("conjecture", c, "holds_strictly"))]
    if kept:
        named = listing(f"{c['p']}/{c['q']}" for c in kept)
        table.note(f"Only at $n^*$ fails {named}, and with it the conjecture as printed.")
    return numbers.close(table)


def _true(row: Mapping[str, Any] | None) -> bool:
    return row is not None and bool(row["value"])


def _increases(numbers: LabelingsNumbers) -> list[dict[str, str]]:
    cells = [c for c in numbers.cells("conjecture", "n_after") if {"p", "q"} <= set(c)]
    return sorted(cells, key=lambda c: (int(c["q"]), int(c["p"])))


def misranked_range(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Labelings with more than q misranked pairs, against the printed range of d."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "lrrrr l",
        caption=r"Labelings outside the printed range of misranked pairs, $d\in\{0,\dots,q\}$: the "
        r"smallest class sizes with $d=(q-p)\,n_0n_1/q>q$.",
        label="tab:labelings-range",
        wide=False,
    )
    table.head("$c=p/q$", "$n_0$", "$n_1$", "$q$", "$d$", "$v(n_0, n_1, d)$")
    for cell in sorted(numbers.cells("range", "labelings"), key=lambda c: int(c["q"])):
        n0, n1, d = (
            numbers.text("range", cell, metric, whole) for metric in ("n0", "n1", "misranked")
        )
        count = numbers.text("range", cell, "labelings", whole)
        table.row(f"{cell['p']}/{cell['q']}", n0, n1, integer(int(cell["q"])), d, count)
    for bound in numbers.values("range", "q_max", "fractions"):
        beyond = numbers.text("range", {"q_max": bound}, "fractions_beyond_q", whole)
        tested = numbers.text("range", {"q_max": bound}, "fractions", whole)
        table.note(
            rf"Such labelings exist for {beyond} of all {tested} reduced $p/q$ with "
            rf"$0<p<q\leq {bound}$. The first line has the fewest records, the other is the paper's "
            "example."
        )
    return numbers.close(table)


def cost(measurements: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Operations of the recurrence as printed, of full polynomials and of the truncated pass."""
    numbers = LabelingsNumbers(measurements, claims)
    table = Table(
        "rr rrr rr",
        caption=r"Operations for $v(n/2, n/2, d)$, $d=n^2/8$: the paper's recurrence, whose "
        r"additions per table entry grow with $n_0$ although the stated cost $O(n_0 n_1 d)$ is the "
        "size of its table; schoolbook products and divisions of full polynomials; one truncated "
        "pass over the Gaussian binomial.",
        label="tab:labelings-cost",
        wide=False,
    )
    table.head("", "", ("Recurrence", 3), "Full", "Truncated")
    table.head("$n$", "$d$", "table entries", "additions", "per entry", "polynomials", "pass")
    for cell in numbers.cells("cost", "ours"):
        table.row(
            cell["n"],
            numbers.text("cost", cell, "misranked", whole),
            numbers.text("cost", cell, "table_entries", whole),
            numbers.text("cost", cell, "recurrence", whole),
            numbers.text("cost", cell, "per_entry", fixed(2)),
            numbers.text("cost", cell, "full_polynomial", whole),
            numbers.text("cost", cell, "ours", whole),
        )
    power = numbers.text("cost", {}, "growth_power", fixed(2))
    table.note(
        rf"Additions per entry grow as $n_0^a$ with $a=$ {power} between the two largest sizes run "
        f"(stated: 0). {DASH}: the recurrence is not run there. Operations are on integers of any "
        "size."
    )
    return numbers.close(table)


# --- inference and attacks ----------------------------------------------------------------------


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
            "log2_labelings": _power_of_two,
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
    return all(row["value"] == row["m"] for row, certain in rows if _true(certain))


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
                numbers.text("pruning", cell, "log2_labelings", _power_of_two, origin=name),
                *results,
            )
    table.note(f"{DASH}: more labelings than this configuration enumerates.")
    return numbers.close(table)


#: Name -> function, in the order of a document.
TABLES: dict[str, Callable[[pd.DataFrame, pd.DataFrame], str]] = {
    "puzzle": puzzle,
    "w": w,
    "growth": growth,
    "conjecture": conjecture,
    "counterexamples": counterexamples,
    "range": misranked_range,
    "cost": cost,
    "certainty": certainty,
    "rounding": rounding,
    "posterior": posterior,
    "posterior_sets": posterior_sets,
    "attacks": attacks,
    "contest": contest,
    "pruning": pruning,
}
