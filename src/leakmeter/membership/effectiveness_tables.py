"""Tables of the data sets, the models, the attacks and how well scores predict what they find."""

from __future__ import annotations

from typing import Any

from leakmeter.membership.table_numbers import (
    ATTACKS,
    GROUPS,
    ShaprNumbers,
    share,
    whole,
)
from leakmeter.reporting.latex import (
    DASH,
    Table,
    escape,
    integer,
    number,
)

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
            f"SHAPr, Table {which}: SHAPr and SPRS as predictors of what {ATTACKS[attack]} finds "
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
        "reference script computes with its fixed variance (not centred; online, the in-models' for both "
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
    table.head(("", 3), (ATTACKS["ment"], 3), (ATTACKS["lira"], 3))
    table.head("sets", "features", "$K$", *(("flagged", "$F_1$", "AUC") * 2))
    for group in ("genuine", "all"):
        for space in ("outputs", "hidden", "inputs"):
            for k in numbers.values("scores", "setting", score="shapr"):
                cells = []
                for attack in ATTACKS:
                    at = {"set": group, "attack": attack, "score": "shapr"}
                    at |= {"setting": k, "space": space}
                    cells += [
                        numbers.text("effectiveness", at, metric, share)
                        for metric in ("score_positive_rate", "f1", "auc")
                    ]
                table.row(GROUPS[group], space, k, *cells)
        for bins in numbers.values("scores", "setting", score="sprs"):
            at = {"set": group, "score": "sprs", "setting": bins, "space": "entropy"}
            cells = [
                numbers.text("effectiveness", at | {"attack": attack}, metric, share)
                for attack in ATTACKS
                for metric in ("score_positive_rate", "f1", "auc")
            ]
            table.row(GROUPS[group], rf"\emph{{SPRS}}, {bins} bins", "", *cells)
        table.rule()
    table.note(
        "Outputs: class probabilities; hidden: the penultimate layer; inputs: preprocessed records. "
        "Flagged: share of the training records with a score above 0 (SHAPr) or 0.5 (SPRS)."
    )
    return numbers.close(table)
