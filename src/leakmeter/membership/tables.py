r"""The tables of the SHAPr chain, in LaTeX.

The bodies of the paper's tables were not recovered: what a table holds follows the text, its
layout is ours, and numbers stand beside the few published ones that are known. The mark behind a
number is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from leakmeter.membership.experiments.names import ORIGIN, PAPER
from leakmeter.reporting.latex import (
    DASH,
    Table,
    escape,
    integer,
    legend,
    number,
    scientific,
    short,
    with_std,
)
from leakmeter.reporting.numbers import Key, Numbers, Row, axes_of, empty

#: Superscript of a set's name by the label of its data.
_LABELS = {"real": "", "related": r"$^{r}$", "standin": r"$^{s}$"}
_LABEL_NOTES = {
    "related": r"$^{r}$ a genuine set of another year.",
    "standin": r"$^{s}$ a generated stand-in (levels on it prove nothing).",
}
_ATTACKS = {"ment": r"$I_{\mathrm{ment}}$", "lira": r"$I_{\mathrm{lira}}$"}
_GROUPS = {"genuine": "genuine sets", "all": "all sets"}


class ShaprNumbers(Numbers):
    """The chain's numbers, with the sets of the run and what the paper states.

    Parameters
    ----------
    measurements, claims : as the gather and the claims rules write them.
    meta : what was used of each set, in order.
    published : ``quantity -> value`` of the statements file.
    """

    paper, origin = PAPER, ORIGIN
    #: What the spreads of a table are over.
    spread = "over targets (a single set) or sets (a mean over sets)"

    def __init__(
        self,
        measurements: pd.DataFrame,
        claims: pd.DataFrame,
        meta: Sequence[Mapping[str, Any]],
        published: Mapping[str, str],
    ) -> None:
        super().__init__(measurements, claims)
        self.meta, self.published = list(meta), published

    @property
    def sets(self) -> list[str]:
        """Names of the sets of this run."""
        return [facts["name"] for facts in self.meta]

    def title(self, name: str) -> str:
        """The paper's name of a set with the mark of its data."""
        if name in _GROUPS:
            return _GROUPS[name]
        facts = next(facts for facts in self.meta if facts["name"] == name)
        return escape(facts["title"]) + _LABELS[facts["label"]]

    def about(self, key: Key) -> list[Row]:
        """The claims on a number; a comparison of two cells is marked at the first."""
        *cell, metric = key
        return super().about(key) + super().about((*cell, f"value of {metric}"))

    def p_adjusted(self, item: str, axes: Mapping[str, Any], metric: str) -> str:
        """Holm-adjusted p-value of the claim on a number; a dash where nothing is claimed."""
        found = self.about((item, axes_of(axes), self.origin, metric))
        values = [claim["p_adjusted"] for claim in found if not empty(claim["p_adjusted"])]
        return small({"value": max(values)}) if values else DASH

    def notes(self) -> list[str]:
        """What is in parentheses, what the marks of sets and of verdicts mean, scale and seed."""
        notes = []
        if any(not empty(row["std"]) for row in self.seen()):
            notes.append(
                f"In parentheses the standard deviation in units of the last digit, {self.spread}."
            )
        labels = {facts["label"] for facts in self.meta}
        notes += [_LABEL_NOTES[label] for label in sorted(labels & set(_LABEL_NOTES))]
        if self.seen():
            notes.append(f"Scale {self.run()}.")
        return [*notes, legend(self.marks)]


def share(row: Mapping[str, Any]) -> str:
    """A rate or a correlation to three decimals, with its spread if it has one."""
    return with_std(row["value"], row["std"], 3)


def plain(row: Mapping[str, Any]) -> str:
    """A rate to three decimals without its spread."""
    return number(row["value"], 3)


def whole(row: Mapping[str, Any]) -> str:
    """A count."""
    return integer(row["value"])


def small(row: Mapping[str, Any]) -> str:
    """Two significant digits."""
    return scientific(row["value"], 2)


# --- Table I ------------------------------------------------------------------------------------

_REQUIREMENTS = {
    "R1": (
        "fine-grained",
        "distinct scores per record",
        "scores",
        ("set", "score", "setting", "space"),
        "distinct_share",
    ),
    "R2": ("attack-agnostic", r"AUC against $I_{\mathrm{lira}}$", "comparison", "lira", "auc"),
    "R3": ("effective", r"$F_1$ against $I_{\mathrm{ment}}$", "comparison", "ment", "f1"),
}


def table1(numbers: ShaprNumbers) -> str:
    """Table I: which metric meets which requirement, as argued, and what is measured on it."""
    table = Table(
        "ll ccccl cc",
        caption=(
            "SHAPr, Table I: requirements on a membership-risk metric. Marks as the paper's text "
            "argues (the printed table was not recovered), and the measurement behind them."
        ),
        label="tab:shapr1",
        gap=3,
    )
    table.head(("", 2), ("argued in the paper", 4), "", ("measured, mean over sets", 2))
    metrics = ("aggregate tools", "SPRS", "leave-one-out", "SHAPr")
    table.head("", "requirement", *metrics, "rule", "SPRS", "SHAPr")
    for name, (meaning, rule, item, which, metric) in _REQUIREMENTS.items():
        cells = []
        for score in ("sprs", "shapr"):
            axes: dict[str, Any] = {"set": "all", "score": score}
            if item == "scores":
                k = max(numbers.values("scores", "setting", score="shapr"), key=int)
                axes |= {"setting": 5, "space": "entropy"}
                if score == "shapr":
                    axes |= {"setting": k, "space": "outputs"}
            else:
                axes["attack"] = which
            cells.append(numbers.text(item, axes, metric, share))
        table.row(name, meaning, *(_printed(numbers, m, name) for m in metrics), rule, *cells)
    for name, meaning, rule in (
        ("R4", "applicable", "uses shown in Tables V and VI and in the valuation table"),
        ("R5", "efficient", "trainings beyond the target model: none, against one per record"),
    ):
        marks = (_printed(numbers, m, name) for m in metrics)
        table.row(name, meaning, *marks, (rule, 3))
    table.note(
        r"Aggregate tools are MLPrivacyMeter and ML-Doctor. An $F_1$ or AUC does not show by itself "
        r"that a mark is earned: Tables III and IV hold the constant answer beside it."
    )
    return numbers.close(table)


def _printed(numbers: ShaprNumbers, metric: str, requirement: str) -> str:
    value = numbers.published.get(f"{metric} {requirement}")
    return {"yes": r"$\bullet$", "no": r"$\circ$", None: DASH}[value]


# --- Table II, VIII -----------------------------------------------------------------------------


def table2(numbers: ShaprNumbers) -> str:
    """Table II: the data sets, with what was used."""
    table = Table(
        "ll rrrrrr",
        caption=(
            "SHAPr, Table II: data sets as used here. The printed table was not recovered; marked "
            "numbers are compared with the public sets' facts."
        ),
        label="tab:shapr2",
    )
    table.head("data set", "data", "features", "classes", "records", "copies", "train", "test")
    notes: dict[str, list[str]] = {}
    for facts in numbers.meta:
        name = facts["name"]
        cells = [
            numbers.text("table2", {"set": name}, metric, whole)
            for metric in ("features", "classes", "records", "duplicates", "train", "test")
        ]
        table.row(numbers.title(name), escape(facts["label"]), *cells)
        notes.setdefault(facts["preprocessing"], []).append(facts["title"])
    for text, titles in notes.items():
        table.note(f"{escape(', '.join(titles))}: {escape(text)}.")
    table.note(
        "Records: found in the set or generated. Copies (equal features) are left out of the pool. "
        "Test records are the non-members of the attacks."
    )
    return numbers.close(table)


def table8(numbers: ShaprNumbers) -> str:
    """Table VIII: accuracies of the target models."""
    table = Table(
        "l rrr",
        caption="SHAPr, Table VIII: accuracy of the target models (printed values not recovered).",
        label="tab:shapr8",
        wide=False,
    )
    table.head("data set", "train", "test", "gap")
    for name in numbers.sets:
        at = {"set": name}
        train, test = (numbers.get("table8", at, f"{part}_accuracy") for part in ("train", "test"))
        table.row(
            numbers.title(name),
            numbers.text("table8", at, "train_accuracy", share),
            numbers.text("table8", at, "test_accuracy", share),
            number(train["value"] - test["value"], 3),
        )
    return numbers.close(table)


# --- Tables III and IV, attacks -----------------------------------------------------------------


def _effectiveness(numbers: ShaprNumbers, attack: str, label: str, which: str) -> str:
    table = Table(
        "l rr rrrrr rrrrr",
        caption=(
            f"SHAPr, Table {which}: SHAPr and SPRS as predictors of what {_ATTACKS[attack]} finds "
            "among the training records, with the constant answer ``member'' beside them "
            "(printed values not recovered; the means over sets of the first version are known)."
        ),
        label=label,
        size="scriptsize",
        gap=1.2,
    )
    table.head("", ("constant", 2), ("SHAPr, score $>0$", 5), ("SPRS, score $>0.5$", 5))
    five = ("prec.", "recall", "$F_1$", "AUC", r"$\rho$")
    table.head("data set", "positive", "$F_1$", *five, *five)
    for name in (*numbers.sets, "genuine", "all"):
        if name == "genuine":
            table.rule()
        at = {"set": name, "attack": attack}
        constant = [
            numbers.text("comparison", at | {"score": "constant"}, metric, share)
            for metric in ("precision", "f1")
        ]
        cells = [
            numbers.text("comparison", at | {"score": score}, metric, share)
            for score in ("shapr", "sprs")
            for metric in ("precision", "recall", "f1", "auc", "spearman")
        ]
        table.row(numbers.title(name), *constant, *cells)
    table.note(
        r"Positive: the share of training records the attack calls members, which is also the "
        r"constant's precision (its recall is 1, its AUC 0.5). AUC: of the score against the "
        r"attack's decision; $\rho$: Spearman's, with the attack's statistic. SHAPr on model outputs with the largest configured $K$; SPRS with 5 bins."
    )
    return numbers.close(table)


def table3(numbers: ShaprNumbers) -> str:
    """Table III: effectiveness against the modified-entropy attack."""
    return _effectiveness(numbers, "ment", "tab:shapr3", "III")


def table4(numbers: ShaprNumbers) -> str:
    """Table IV: effectiveness against LiRA."""
    return _effectiveness(numbers, "lira", "tab:shapr4", "IV")


def attacks(numbers: ShaprNumbers) -> str:
    """Balanced accuracies and mean scores."""
    names = {
        "ment": r"$I_{\mathrm{ment}}$",
        "ment_independent": r"$I_{\mathrm{ment}}$, shadows",
        "fixed": "fixed 0.5",
        "lira": r"$I_{\mathrm{lira}}$",
    }
    table = Table(
        "l rrrr rr",
        caption="SHAPr: balanced accuracy of the attacks and mean scores of the metrics.",
        label="tab:shapr_attacks",
    )
    table.head("", ("balanced accuracy", 4), ("mean score", 2))
    table.head("data set", *names.values(), "SHAPr $\\times n$", "SPRS")
    k = max(numbers.values("scores", "setting", score="shapr"), key=int)
    for name in (*numbers.sets, "genuine", "all"):
        if name == "genuine":
            table.rule()
        cells = [
            numbers.text("attacks", {"set": name, "attack": a}, "balanced_accuracy", share)
            for a in names
        ]
        for axes in (
            {"score": "shapr", "setting": k, "space": "outputs"},
            {"score": "sprs", "setting": 5, "space": "entropy"},
        ):
            cells.append(numbers.text("scores", {"set": name} | axes, "mean", share))
        table.row(numbers.title(name), *cells)
    table.note(
        r"$I_{\mathrm{ment}}$ takes the target as its own shadow model, as the paper does, so its "
        r"accuracy is optimistic; the second column has independent shadow models. Fixed: member if "
        r"the modified entropy is at most 0.5 nats. $I_{\mathrm{lira}}$: online, pooled variance "
        r"centred per record, member if the likelihood ratio exceeds 1."
    )
    return numbers.close(table)


def roc(numbers: ShaprNumbers) -> str:
    """True-positive rates at low false-positive rates."""
    variants = {
        "online_fixed": "online, centred",
        "online_per-example": "online, per record",
        "online_reference": "online, script",
        "offline_fixed": "offline, centred",
        "offline_per-example": "offline, per record",
        "offline_reference": "offline, script",
        "entropy": "entropy",
    }
    table = Table(
        "lr " + "r" * len(variants),
        caption=(
            r"SHAPr: $I_{\mathrm{lira}}$ by mode and variance, true-positive rate in per cent "
            r"at a false-positive rate of 1 per cent (records found, mean over targets)."
        ),
        label="tab:shapr_roc",
        gap=3,
    )
    table.head("data set", "shadows", *variants.values())
    for name in numbers.sets:
        shadows = numbers.text(
            "roc", {"set": name, "attack": "online_fixed"}, "shadow_models", whole
        )
        cells = []
        for variant in variants:
            at = {"set": name, "attack": variant, "fpr": 0.01}
            rate = numbers.text("roc", at, "tpr", lambda row: number(100 * row["value"], 1))
            records = numbers.get("roc", at, "records")
            cells.append(f"{rate} ({integer(records['value'])})")
        table.row(numbers.title(name), shadows, *cells)
    table.note(
        "Centred: one variance, pooled after centring each record on its own mean. Script: what the "
        "reference script computes with its fixed variance (not centred, the in-models' for both "
        "sides). Entropy: the modified entropy without thresholds per class."
    )
    return numbers.close(table)


def spaces(numbers: ShaprNumbers) -> str:
    """SHAPr by K and feature space."""
    table = Table(
        "llr rrr rrr",
        caption=(
            "SHAPr by feature space and $K$, which the paper does not state, and SPRS by bins (mean "
            "over sets)."
        ),
        label="tab:shapr_spaces",
    )
    table.head(("", 3), (_ATTACKS["ment"], 3), (_ATTACKS["lira"], 3))
    table.head("sets", "features", "$K$", *(("flagged", "$F_1$", "AUC") * 2))
    for group in ("genuine", "all"):
        for space in ("outputs", "hidden", "inputs"):
            for k in numbers.values("scores", "setting", score="shapr"):
                cells = []
                for attack in _ATTACKS:
                    at = {"set": group, "attack": attack, "score": "shapr"}
                    at |= {"setting": k, "space": space}
                    cells += [
                        numbers.text("effectiveness", at, metric, share)
                        for metric in ("score_positive_rate", "f1", "auc")
                    ]
                table.row(_GROUPS[group], space, k, *cells)
        for bins in numbers.values("scores", "setting", score="sprs"):
            at = {"set": group, "score": "sprs", "setting": bins, "space": "entropy"}
            cells = [
                numbers.text("effectiveness", at | {"attack": attack}, metric, share)
                for attack in _ATTACKS
                for metric in ("score_positive_rate", "f1", "auc")
            ]
            table.row(_GROUPS[group], rf"\emph{{SPRS}}, {bins} bins", "", *cells)
        table.rule()
    table.note(
        "Outputs: class probabilities; hidden: the penultimate layer; inputs: preprocessed records. "
        "Flagged: share of the training records with a score above 0 (SHAPr) or 0.5 (SPRS)."
    )
    return numbers.close(table)


# --- Tables V, VI, VII --------------------------------------------------------------------------

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
        *_ATTACKS.values(),
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
    table.head(("", 2), *((name, 3) for name in _ATTACKS.values()), "")
    table.head("data set", "score", *(("recall", "$F_1$", "AUC") * 2), "residual")
    damping = DASH
    for name in [*numbers.values("influence", "set", score="kifs")]:
        if name in _GROUPS:
            continue
        for score, title in (
            ("kifs", "KIFS, last layer"),
            ("tracin", "TracIN"),
            ("shapr", "SHAPr"),
        ):
            cells = [
                numbers.text("influence", {"set": name, "attack": a, "score": score}, metric, share)
                for a in _ATTACKS
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
    for name in [n for n in numbers.sets if n in valued]:
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
    for name in numbers.values("backdoors", "set"):
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
    return DASH if row is None else integer(row["n"])


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


TABLES: dict[str, Callable[[ShaprNumbers], str]] = {
    function.__name__: function
    for function in (
        *(table1, table2, table3, table4, table5, table6, table7, table8),
        *(attacks, roc, spaces, typicality, removal, valuation, backdoors, axioms),
    )
} | {"statements": statements_table}


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


def statement_values(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """``quantity -> value`` of the statements that name no set."""
    return {row["quantity"]: row["value"] for row in rows if not row["set"]}
