"""Tables of what scores are used for: defences, subgroups, influence, removal, backdoors; the statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leakmeter.membership.table_numbers import (
    ATTACKS,
    GROUPS,
    ShaprNumbers,
    plain,
    share,
    small,
    whole,
)
from leakmeter.reporting.latex import (
    DASH,
    Table,
    escape,
    integer,
    scientific,
    short,
)

_CHANGED = {
    "test_accuracy": "test accuracy",
    "attack_accuracy": r"$I_{\mathrm{ment}}$ accuracy",
    "shapr_mean": r"SHAPr $\times n$",
    "sprs_mean": "SPRS",
}


def table5(numbers: ShaprNumbers) -> str:
    """Table V: L2 regularisation."""
    strengths = sorted(numbers.values("l2", "l2"), key=float)
    table = Table(
        "ll " + "r" * len(strengths),
        caption=(
            "SHAPr, Table V: L2 regularisation (printed strengths and values not recovered). Same "
            "start and order of records at every strength."
        ),
        label="tab:shapr5",
    )
    table.head("data set", "", *(short(float(s)) for s in strengths))
    for name in (*numbers.sets, "genuine", "all"):
        table.rule() if name == "genuine" else table.space()
        for metric, meaning in _CHANGED.items():
            cells = [numbers.text("l2", {"set": name, "l2": s}, metric, share) for s in strengths]
            table.row(numbers.title(name) if metric == "test_accuracy" else "", meaning, *cells)
    table.note(
        r"By the efficiency axiom SHAPr $\times n$ is the accuracy of a $K$-NN classifier on the "
        r"test records, whatever the risk."
    )
    return numbers.close(table)


def table6(numbers: ShaprNumbers) -> str:
    """Table VI: subgroups."""
    table = Table(
        "lll rr rr rr",
        caption=(
            "SHAPr, Table VI: risk by subgroup (printed attributes and values not recovered). SHAPr "
            r"times $n$."
        ),
        label="tab:shapr6",
    )
    table.head(("", 3), "", "test", ("mean score", 2), ("balanced accuracy", 2))
    table.head(
        *("data set", "attribute", "group", "members", "accuracy", "SHAPr", "SPRS"),
        *ATTACKS.values(),
    )
    shown = ("shapr_mean", "sprs_mean", "ment_accuracy", "lira_accuracy")
    for name in numbers.sets:
        for attribute in numbers.values("subgroups", "attribute", set=name):
            table.space()
            at = {"set": name, "attribute": attribute}
            for index, group in enumerate(numbers.values("subgroups", "group", **at)):
                here = at | {"group": group}
                cells = [numbers.text("subgroups", here, "members", whole)]
                cells += [
                    numbers.text("subgroups", here, metric, share)
                    for metric in ("test_accuracy", *shown)
                ]
                first = index == 0
                title, what = (numbers.title(name), attribute) if first else ("", "")
                table.row(title, escape(what), escape(group), *cells)
            cells = [numbers.text("disparity", at, metric, share) for metric in shown]
            table.row("", "", r"\emph{disparity}", "", "", *cells)
    table.note("Disparity: the range over the groups.")
    return numbers.close(table)


def table7(numbers: ShaprNumbers) -> str:
    """Table VII: influence functions."""
    table = Table(
        "ll rrr rrr r",
        caption=(
            "SHAPr, Table VII: influence functions as membership metrics (printed values not "
            "recovered; the text says that their recall is low)."
        ),
        label="tab:shapr7",
    )
    table.head(("", 2), *((name, 3) for name in ATTACKS.values()), "")
    table.head("data set", "score", *(("recall", "$F_1$", "AUC") * 2), "residual")
    damping = DASH
    names = [n for n in numbers.values("influence", "set", score="kifs") if n not in GROUPS]
    if not names:
        return _not_run(table, "shapr.influence.sets")
    for name in names:
        for score, title in (
            ("kifs", "KIFS, last layer"),
            ("tracin", "TracIN"),
            ("shapr", "SHAPr"),
        ):
            cells = [
                numbers.text("influence", {"set": name, "attack": a, "score": score}, metric, share)
                for a in ATTACKS
                for metric in ("recall", "f1", "auc")
            ]
            residual = DASH
            if score == "kifs":
                at = {"set": name, "score": "kifs"}
                residual = numbers.text("influence", at, "residual", small)
                damping = f"{numbers.get('influence', at, 'damping')['value']:g}"
            table.row(numbers.title(name) if score == "kifs" else "", title, *cells, residual)
        table.space()
    table.note(
        f"KIFS over the last layer's parameters, exact Hessian damped by {damping} (relative residual "
        "of the solve shown); TracIN over all parameters and the checkpoints of one training. Scores "
        "above 0 are risky. CPU times are in the timings folder."
    )
    return numbers.close(table)


# --- removal, backdoors, axioms -----------------------------------------------------------------


def removal(numbers: ShaprNumbers) -> str:
    """Removing the riskiest records, beside random ones."""
    fractions = sorted(numbers.values("removal", "removed"), key=float)
    table = Table(
        "lll " + "r" * (1 + len(fractions)),
        caption="SHAPr: removing the riskiest records and training anew (printed values not recovered).",
        label="tab:shapr_removal",
        gap=3,
    )
    table.head("data set", "", "removed", "none", *(f"{100 * float(f):g}\\,\\%" for f in fractions))
    metrics = ("test_accuracy", "attack_accuracy", "shapr_mean")
    for name in (*numbers.sets, "genuine", "all"):
        table.rule() if name == "genuine" else table.space()
        for metric in metrics:
            for order, title in (("shapr_high", "riskiest"), ("random", "random")):
                start = numbers.text("l2", {"set": name, "l2": 0}, metric, plain)
                cells = [
                    numbers.text(
                        "removal", {"set": name, "order": order, "removed": f}, metric, plain
                    )
                    for f in fractions
                ]
                first = order == "shapr_high"
                title_of_set = numbers.title(name) if first and metric == metrics[0] else ""
                table.row(title_of_set, _CHANGED[metric] if first else "", title, start, *cells)
    table.note(
        "Attack and scores are those of the records left. The last record of a class is passed over."
    )
    return numbers.close(table)


def valuation(numbers: ShaprNumbers) -> str:
    """Data valuation: test accuracy by what is removed first."""
    orders = {
        "shapr_high": "SHAPr, high first",
        "shapr_low": "SHAPr, low first",
        "sprs_high": "SPRS, high first",
        "sprs_low": "SPRS, low first",
        "random": "random",
    }
    fractions = sorted(numbers.values("removal", "removed"), key=float)
    table = Table(
        "ll " + "r" * (1 + len(fractions)),
        caption="SHAPr: data valuation, test accuracy after records are removed.",
        label="tab:shapr_valuation",
    )
    table.head("data set", "removed", "none", *(f"{100 * float(f):g}\\,\\%" for f in fractions))
    valued = numbers.values("removal", "set", order="shapr_low")
    names = [n for n in numbers.sets if n in valued]
    if not names:
        return _not_run(table, "shapr.removal.valuation_sets")
    for name in names:
        for order, title in orders.items():
            start = numbers.text("l2", {"set": name, "l2": 0}, "test_accuracy", plain)
            cells = [
                numbers.text(
                    "removal", {"set": name, "order": order, "removed": f}, "test_accuracy", plain
                )
                for f in fractions
            ]
            table.row(numbers.title(name) if order == "shapr_high" else "", title, start, *cells)
        table.space()
    return numbers.close(table)


def backdoors(numbers: ShaprNumbers) -> str:
    """Memorised records with low scores."""
    kinds = {
        "clean": "clean",
        "label_flip": "labels flipped",
        "artefact": "artefact",
        "out_of_distribution": "out of distribution",
    }
    table = Table(
        "ll rrrrrrr",
        caption="SHAPr: backdoors and watermarks, memorisation against scores.",
        label="tab:shapr_backdoors",
    )
    table.head(("", 3), ("right when", 2), ("memorisation", 2), ("SHAPr", 2))
    table.head(
        *("data set", "records", "number", "trained on", "left out"),
        *("record", r"kind$^{e}$", "$\\times n$", "rank"),
    )
    names = numbers.values("backdoors", "set")
    if not names:
        return _not_run(table, "shapr.backdoors.sets")
    for name in names:
        for kind, title in kinds.items():
            at = {"set": name, "kind": kind}
            cells = [
                numbers.text("backdoors", at, metric, plain)
                for metric in ("fitted", "right_left_out")
            ]
            cells += [
                numbers.text("backdoors", at, metric, share)
                for metric in ("memorisation", "kind_memorisation", "shapr", "shapr_rank")
            ]
            table.row(
                numbers.title(name) if kind == "clean" else "",
                title,
                numbers.text("backdoors", at, "records", whole),
                *cells,
            )
        table.space()
    table.note(
        r"Memorisation of a record: $|\Pr[f(x)=y\mid\mathrm{in}]-\Pr[f(x)=y\mid\mathrm{out}]|$ "
        r"over models that have the other half of its kind. $^{e}$ exploratory, added after the first "
        r"had been seen: ``out'' are models without any marked record. SHAPr times $n$, mean over the "
        r"models that were trained on the record; its rank among all records runs from 0 to 1. The "
        r"tests are over records, which share the models: what models differ by is not in them."
    )
    numbers.spread = "over records"
    return numbers.close(table)


def axioms(numbers: ShaprNumbers) -> str:
    """Efficiency and ties."""
    table = Table(
        "lr rrrrr",
        caption="SHAPr: efficiency axiom and ties of the $K$-NN on model outputs.",
        label="tab:shapr_axioms",
    )
    table.head(
        *("data set", "$K$", "utility", r"$|\sum\phi-$utility$|$", "tied pairs", "largest tie"),
        "order",
    )
    for name in numbers.sets:
        for index, k in enumerate(numbers.values("axioms", "k", set=name)):
            at = {"set": name, "k": k}
            table.row(
                "" if index else numbers.title(name),
                k,
                numbers.text("axioms", at, "utility", plain),
                numbers.text("axioms", at, "residual", small),
                numbers.text("axioms", at, "tied_share", small),
                numbers.text("axioms", at, "largest_tie", whole),
                numbers.text("axioms", at, "row_order_correlation", plain),
            )
    table.note(
        "Order: correlation of the scores that an implementation without care for ties gives to the "
        "same training rows in two orders (ours: 1)."
    )
    return numbers.close(table)


def _not_run(table: Table, key: str) -> str:
    """A table of an experiment none of whose sets is run."""
    table.across("not run")
    table.note(f"Not run: no entry of {escape(key)} is among shapr.sets.")
    return table.render()


_STATEMENTS = {
    "effective_ment": r"SHAPr beats the constant in $F_1$ against $I_{\mathrm{ment}}$",
    "effective_lira": r"SHAPr beats the constant in $F_1$ against $I_{\mathrm{lira}}$",
    "ranks_ment": r"SHAPr ranks what $I_{\mathrm{ment}}$ finds above the rest (AUC $-$ 0.5)",
    "ranks_lira": r"SHAPr ranks what $I_{\mathrm{lira}}$ finds above the rest (AUC $-$ 0.5)",
    "better_than_sprs_ment_f1": r"SHAPr beats SPRS in $F_1$ against $I_{\mathrm{ment}}$",
    "better_than_sprs_lira_f1": r"SHAPr beats SPRS in $F_1$ against $I_{\mathrm{lira}}$",
    "better_than_sprs_ment_auc": r"SHAPr beats SPRS in AUC against $I_{\mathrm{ment}}$",
    "better_than_sprs_lira_auc": r"SHAPr beats SPRS in AUC against $I_{\mathrm{lira}}$",
    "kifs_low_recall": r"KIFS (last layer) has lower recall than SHAPr against $I_{\mathrm{ment}}$",
    "tracin_low_recall": r"TracIN has lower recall than SHAPr against $I_{\mathrm{ment}}$",
    "l2_lowers_attack_accuracy": r"L2 lowers $I_{\mathrm{ment}}$'s accuracy",
    "l2_lowers_shapr_mean": "L2 lowers the mean SHAPr",
    "l2_lowers_sprs_mean": "L2 lowers the mean SPRS",
    "l2_lowers_test_accuracy": "L2 lowers the test accuracy",
    "thresholds_per_class": "thresholds per class (independent shadows) beat the fixed 0.5 nats",
    "valuation_test_accuracy": "removing high SHAPr costs more test accuracy than random removal",
    "removal_attack_accuracy": r"removing high SHAPr lowers $I_{\mathrm{ment}}$ more than random removal",
    "subgroups_shapr_ment": r"SHAPr orders subgroups as $I_{\mathrm{ment}}$ does (agreement $-$ 0.5)",
    "subgroups_shapr_lira": r"SHAPr orders subgroups as $I_{\mathrm{lira}}$ does (agreement $-$ 0.5)",
    "subgroups_sprs_ment": r"SPRS orders subgroups as $I_{\mathrm{ment}}$ does (agreement $-$ 0.5)",
    "subgroups_sprs_lira": r"SPRS orders subgroups as $I_{\mathrm{lira}}$ does (agreement $-$ 0.5)",
}


def statements_table(numbers: ShaprNumbers) -> str:
    """What the text says of how metrics compare, as differences over sets."""
    table = Table(
        "l rrr rr r",
        caption=(
            "SHAPr: statements of the text as paired differences over data sets, which are above 0 "
            "where the statement holds."
        ),
        label="tab:shapr_statements",
        gap=2.5,
    )
    table.head("", ("genuine sets", 3), ("all sets", 2), "constant,")
    table.head("statement", "difference", "$n$", "$p$", "difference", "$n$", "genuine")
    for name, meaning in _STATEMENTS.items():
        genuine, every = ({"set": group, "of": name} for group in ("genuine", "all"))
        at = ("statement", genuine, "difference")
        table.row(
            meaning,
            numbers.text(*at, share),
            _pairs(numbers.get(*at)),
            numbers.p_adjusted(*at),
            numbers.text("statement", every, "difference", share),
            _pairs(numbers.get("statement", every, "difference")),
            numbers.text("statement", genuine, "difference_constant", share),
        )
    table.note(
        r"$p$: one-sided $t$-test, Holm-adjusted over the statements of the paper; none where the "
        r"text says nothing. $n$: sets, or attributes of sets. Constant: the same difference with the "
        r"constant answer ``member'' in SHAPr's place; where it is above 0 as well, the statement says "
        r"nothing about SHAPr."
    )
    numbers.spread = "over sets, or attributes of sets"
    return numbers.close(table)


def _pairs(row: Mapping[str, Any] | None) -> str:
    return DASH if row is None or pd.isna(row["value"]) else integer(row["n"])


def typicality(numbers: ShaprNumbers) -> str:
    """Rank correlations with how typical a record is."""
    names = {
        "shapr": "SHAPr",
        "sprs": "SPRS",
        "ment": r"$I_{\mathrm{ment}}$",
        "lira": r"$I_{\mathrm{lira}}$",
    }
    table = Table(
        "l rr rr",
        caption=(
            "SHAPr: Spearman's correlation of scores and of the attacks' statistics with how typical "
            "a training record is."
        ),
        label="tab:shapr_typicality",
        wide=False,
    )
    table.head("data set", *names.values())
    for name in (*numbers.sets, "genuine", "all"):
        if name == "genuine":
            table.rule()
        cells = [
            numbers.text("typicality", {"set": name, "of": of}, "spearman", share) for of in names
        ]
        table.row(numbers.title(name), *cells)
    table.note(
        "Typical: models that were not trained on the record are confident in its label (mean scaled "
        "confidence). Statistics are oriented so that high means member."
    )
    return numbers.close(table)


# --- timings, outside the chain's measurements --------------------------------------------------


def runtimes(times: pd.DataFrame) -> str:
    """CPU seconds of this host, one line per measurement."""
    names = {
        "shapr": "SHAPr",
        "kifs": "KIFS (last layer)",
        "tracin": "TracIN",
        "training": "training, one record less",
        "leave_one_out (extrapolated)": "leave-one-out (extrapolated)",
    }
    table = Table(
        "ll rrr",
        caption="SHAPr: CPU seconds on this machine.",
        label="tab:shapr_runtimes",
        wide=False,
    )
    table.head("data", "what", "train", "test", "CPU s")
    last: Any = None
    for row in times.to_dict("records"):
        if last not in (None, row["set"]):
            table.space()
        name = "random outputs" if row["set"] == "random" else row["set"]
        table.row(
            "" if row["set"] == last else escape(name),
            names[row["what"]],
            integer(row["train"]),
            integer(row["test"]),
            scientific(row["cpu_seconds"], 3),
        )
        last = row["set"]
    table.note(
        "Training: mean of trainings without one record. Leave-one-out: that times the number of "
        "training records."
    )
    return table.render()
