"""Tables of the crossed experiments: measurements -> :class:`PlainTable`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from leakmeter.dpauc.beyond_tables import table_of
from leakmeter.reporting.plain_tables import PlainTable

#: Mechanism -> name, in the order of lines.
MECHANISMS = {
    "exact": "exact AUC",
    "laplace": "DPAUC, Laplace",
    "histogram": "label histogram",
    "rr_once": "RR, flipped once",
    "rr_anew": "RR, flipped anew",
}
#: Score -> name.
SCORES = {
    "shapr": "SHAPr",
    "sprs": "SPRS",
    "loss_inside": "loss, trained on",
}
#: Columns of the table of correlations.
_CORRELATED = {
    "shapr": "SHAPr",
    "sprs": "SPRS",
    "loss_inside": "loss, in",
    "loss_outside": "loss, out",
    "shapr_given_outside": "SHAPr | loss, out",
}
_NONE = "–"


def wide(rows: pd.DataFrame, axes: list[str]) -> pd.DataFrame:
    """One line per combination of axes, one column per metric; axes that are absent stay empty."""
    keyed = rows.assign(**{axis: rows[axis].astype(object) for axis in axes})
    table = keyed.pivot_table(
        index=axes, columns="metric", values="value", aggfunc="mean", dropna=False, observed=True
    )
    return table.dropna(how="all").reset_index()


def _short(value: float) -> str:
    return _NONE if pd.isna(value) else f"{value:.3g}"


def _interval(row: Mapping[str, Any]) -> str:
    return f"{row['low']:.2f} to {row['high']:.2f}"


def mechanism_audit(measurements: pd.DataFrame) -> PlainTable:
    """DPAUC: charges, and what the audit finds with the counts and with the AUC alone."""
    rows = table_of(measurements, "mechanism_audit")
    rows = rows[rows["mechanism"] == "laplace"]
    table = wide(rows, ["T", "budget", "observer"])
    server = table[table["observer"] == "server"].sort_values(["T", "budget"])
    auc = table[table["observer"] == "auc"].set_index(["T", "budget"])
    return PlainTable(
        title="The Bayesian estimator on DPAUC with Laplace noise: what one label costs.",
        head=[
            "T",
            "4 T eps'",
            "2 T eps'",
            "exact at delta",
            "best test tried",
            "found from the counts",
            "found from the AUC",
        ],
        rows=[
            [
                f"{row['T']:g}",
                f"{row['paper']:g}",
                f"{row['tight']:g}",
                _short(row["pld"]),
                _short(row["test"]),
                _interval(row),
                _interval(auc.loc[(row["T"], row["budget"])]),
            ]
            for row in server.to_dict("records")
        ],
        notes=[_trials(rows), _EXPLAINED],
    )


_EXPLAINED = (
    "'Best test tried' is the exact epsilon of the chosen likelihood-ratio test, which the interval "
    "estimates; 'exact at delta' that of the mechanism, at the best test of all. A lower end above 0 "
    "says little by itself: epsilon's posterior has next to no mass at 0."
)


def _trials(rows: pd.DataFrame) -> str:
    (trials,), (note,) = rows["m"].unique(), set(rows["note"]) - {"inf"}
    return (
        f"Intervals are credible, from {int(trials)} trials; the threshold comes from as many others "
        f"({note})."
    )


def response_audit(measurements: pd.DataFrame) -> PlainTable:
    """Randomised response and the label histogram under the estimator."""
    rows = table_of(measurements, "mechanism_audit")
    rows = rows[rows["mechanism"] != "laplace"].copy()
    rows[["flip", "releases"]] = rows[["flip", "releases"]].astype(object).fillna(_NONE)
    table = wide(rows, ["mechanism", "flip", "releases", "epsilon"])
    names = {"histogram": "label histogram", "once": "RR, once", "per-repeat": "RR, anew"}
    lines = []
    for row in table.to_dict("records"):
        kind = row["mechanism"] if row["mechanism"] == "histogram" else row["flip"]
        once = row["releases"] == _NONE
        lines.append(
            (
                (list(names).index(kind), row["epsilon"], 1 if once else row["releases"]),
                [
                    names[kind],
                    f"{row['epsilon']:g}",
                    "1" if once else f"{row['releases']:g}",
                    f"{row['tight']:g}",
                    _short(row["pld"]),
                    _short(row["test"]),
                    _interval(row),
                ],
            )
        )
    return PlainTable(
        title="The Bayesian estimator on the label histogram and on randomised response.",
        head=[
            "mechanism",
            "epsilon",
            "releases",
            "in all, pure",
            "exact at delta",
            "best test tried",
            "found",
        ],
        rows=[line for _, line in sorted(lines, key=lambda pair: pair[0])],
        notes=[
            _trials(rows),
            _EXPLAINED,
            "Where no trial went wrong the upper end comes from the estimator's prior alone, which hardly "
            "allows more than twice the log of the number of trials.",
        ],
    )


def released_auc(measurements: pd.DataFrame) -> PlainTable:
    """Labels read off released AUCs, mean over the sets."""
    many = table_of(measurements, "released_auc")
    one = wide(table_of(measurements, "one_auc"), ["mechanism", "epsilon"])
    many = wide(many, ["mechanism", "epsilon", "attack"])
    base = table_of(measurements, "label_baselines").groupby("metric")["value"].mean()
    at = many.set_index(["mechanism", "epsilon", "attack"])
    lines = []
    for row in one.to_dict("records"):
        key = (row["mechanism"], row["epsilon"])
        pairs, rankings = at.loc[(*key, "pairs")], at.loc[(*key, "rankings")]
        lines.append(
            (
                (list(MECHANISMS).index(key[0]), float(key[1])),
                [
                    MECHANISMS[key[0]],
                    _NONE if key[0] == "exact" else f"{float(key[1]):g}",
                    f"{row['rmse']:.3f}",
                    f"{row['correct']:.3f}",
                    f"{row['log_loss']:.3f}",
                    f"{pairs['correct']:.3f}",
                    f"{rankings['correct']:.3f}",
                    _cost(rankings["cost"]),
                    f"{rankings['bound']:.3f}",
                ],
            )
        )
    sets = sorted(set(table_of(measurements, "label_baselines")["origin"]))
    return PlainTable(
        title="Share of a small test set's labels read off released AUCs.",
        head=[
            "release",
            "epsilon of one",
            "error of one",
            "right after one",
            "log-loss after one",
            "right by pairs",
            "right by rankings",
            "cost of rankings",
            "bound, base rate known",
        ],
        rows=[line for _, line in sorted(lines, key=lambda pair: pair[0])],
        notes=[
            f"Means over {', '.join(sets)} and their splits. Without any answer: {base['majority']:.3f} by "
            f"the commoner class, {base['ranking']:.3f} by laying the class sizes over the classifier's "
            f"ranking (AUC {base['auc']:.3f}); log-loss {base['entropy']:.3f} by the base rate.",
            "'One' is a single answer, to the classifier's ranking. The cost is epsilon of all answers at "
            "delta. The bound is the largest expected share under it for whoever knows the base rate only: "
            "a share over few labels may exceed it by chance, and knowing the class sizes, as the attacks "
            "do, may add a little.",
        ],
    )


def _cost(value: float) -> str:
    return "inf" if pd.isna(value) or value == float("inf") else f"{value:.3g}"


def record_risk(measurements: pd.DataFrame) -> PlainTable:
    """Rank correlation of scores with the epsilon of single records."""
    rows = table_of(measurements, "record_risk")
    lines = []
    for (models, name), part in rows.groupby(["models", "set"], sort=True):
        related = wide(part[part["statistic"] == "epsilon"].dropna(subset=["score"]), ["score"])
        related = related.set_index("score")
        groups = wide(part.dropna(subset=["group"]), ["group"]).sort_values("group")
        single = part[part["score"].isna() & part["group"].isna()]
        limit = single[(single["metric"] == "attainable") & (single["statistic"] == "epsilon")]
        audited = single[single["metric"] == "audited_models"]["value"].iloc[0]
        lines.append(
            [
                models,
                name,
                part["data"].iloc[0],
                f"{audited:.0f}",
                *(_rho(related, score) for score in _CORRELATED),
                _short(related["chance"].max()),
                _short(limit["value"].iloc[0]) if len(limit) else _NONE,
                _group(groups.iloc[0]),
                _group(groups.iloc[-1]),
            ]
        )
    return PlainTable(
        title="Membership scores against the epsilon that an audit finds on the same record.",
        head=[
            "models",
            "set",
            "data",
            "audited",
            *_CORRELATED.values(),
            "chance",
            "attainable",
            "lowest SHAPr",
            "highest SHAPr",
        ],
        rows=lines,
        notes=[
            "Spearman's coefficient and its interval of level 1 - alpha; 'chance' is the size that unrelated "
            "values exceed with probability alpha, 'attainable' what the audit's own noise leaves a perfect "
            "score (from halves of its models). A dash: the score is constant or was not computed.",
            "Loss, in and out: of scoring models that were trained on the record, and that were not, where it "
            "is high for untypical records. SHAPr | loss, out: the partial coefficient with that loss held fixed.",
            *_flips(rows),
            "The last columns are epsilon of the records of lowest and of highest SHAPr score together: "
            "trials of one model are dependent, so the interval is a heuristic.",
            *([_FLAWLESS] if any(_MARK in text for line in lines for text in line[-2:]) else []),
        ],
    )


#: After an interval that no wrong trial shaped.
_MARK = "*"
_FLAWLESS = (
    f"{_MARK} Every trial of the group was right: both ends come from the estimator's prior and the "
    "number of trials alone."
)


def _group(row: Mapping[str, Any]) -> str:
    """The interval of a group of records, marked where every trial was right."""
    return _interval(row) + (_MARK if row["mean_advantage"] == 1 else "")


def _flips(rows: pd.DataFrame) -> list[str]:
    """How much of the records' epsilons a coin flip would explain, a sentence per set."""
    many = rows[rows["models"] == "many"]
    if many.empty:
        return []
    return [
        f"{row['set']}: the lower end of {row['share_above_coin_flip']:.0%} of the records exceeds "
        f"{row['coin_flip_level']:.2f}, as that of a coin flip does with probability alpha at most; a "
        f"record's interval is {row['median_width']:.2f} wide in the median."
        for row in wide(many, ["set"]).to_dict("records")
    ]


def _rho(related: pd.DataFrame, score: str) -> str:
    if score not in related.index or pd.isna(related.loc[score].get("rho")):
        return _NONE
    row = related.loc[score]
    return f"{row['rho']:.2f} ({row['low']:.2f}, {row['high']:.2f})"


#: Name -> function, in the order of a document.
TABLES: Mapping[str, Callable[[pd.DataFrame], PlainTable]] = {
    "mechanism_audit": mechanism_audit,
    "response_audit": response_audit,
    "released_auc": released_auc,
    "record_risk": record_risk,
}
