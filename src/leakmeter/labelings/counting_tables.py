"""Tables of what is counted: labelings, growth, the conjecture, costs.

Every function takes the measurements and the chain's claims and returns one LaTeX float.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leakmeter.labelings.table_numbers import (
    LabelingsNumbers,
    fixed,
    note_of,
    true,
    whole,
)
from leakmeter.reporting.latex import DASH, Table, escape, integer
from leakmeter.reporting.numbers import listing

#: Lines a table of w may have on one page; what is left out is said and stands in the measurements.
MAX_LINES = 60


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
            numbers.text("puzzle", cell, "auc", note_of),
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
    if ranges and all(true(numbers.get("conjecture", c, "even_squares_only")) for c in ranges):
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
    kept = [c for c in _increases(numbers) if true(numbers.get("conjecture", c, "holds_strictly"))]
    if kept:
        named = listing(f"{c['p']}/{c['q']}" for c in kept)
        table.note(f"Only at $n^*$ fails {named}, and with it the conjecture as printed.")
    return numbers.close(table)


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
