"""All sets together: means over sets, from the rows of the single sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from leakmeter.membership.experiments.names import ORIGIN, PAPER, UNDEFINED
from leakmeter.reporting.measurements import DATA_LABELS, parse_cell
from leakmeter.reporting.recording import Recorder

#: Item -> metrics that are averaged over sets.
_AVERAGED = {
    "effectiveness": (
        *("precision", "recall", "f1", "balanced_accuracy", "auc", "spearman"),
        *("baseline_precision", "baseline_recall", "baseline_f1", "attack_positive_rate"),
        "score_positive_rate",
    ),
    "comparison": ("precision", "recall", "f1", "balanced_accuracy", "auc", "spearman"),
    "attacks": ("balanced_accuracy", "positive_rate"),
    "scores": ("mean", "distinct_share"),
    "l2": ("test_accuracy", "attack_accuracy", "shapr_mean", "sprs_mean"),
    "removal": ("test_accuracy", "attack_accuracy", "shapr_mean"),
    "influence": ("recall", "f1", "auc"),
    "typicality": ("spearman",),
}
#: Groups of sets: those that are the paper's own data, and all.
GROUPS = {"genuine": ("exact", "real", "authors"), "all": DATA_LABELS}
_NONE = "no set of this run's experiment is the paper's own data, or none has a value"
#: The weakest label of a group is that of its mean.
_WEAKEST = ("exact", "authors", "real", "related", "standin")


def measure(frame: pd.DataFrame, *, scale: str, seed: int) -> Recorder:
    """Rows ``set=all`` and ``set=genuine``: mean and spread over sets; the statements' differences.

    Parameters
    ----------
    frame : measurements of the single sets.
    """
    record = Recorder(PAPER, scale, seed, origin=ORIGIN, data="real", undefined=UNDEFINED)
    table = _table(frame)
    for group, labels in GROUPS.items():
        mine = table[table["data"].isin(labels)]
        record.axes = {"set": group}
        for item, metrics in _AVERAGED.items():
            _average(record, table[table["item"] == item], mine, item, metrics)
        _statements(record, table, mine)
        _not_lower(record, table, mine)
        _mean_score(record, mine)
    return record


def _table(frame: pd.DataFrame) -> pd.DataFrame:
    own = frame[(frame["paper"] == PAPER) & (frame["origin"] == ORIGIN)].copy()
    cells = own["cell"].map(parse_cell)
    own["set"] = cells.map(lambda axes: axes.get("set"))
    own["rest"] = cells.map(
        lambda axes: tuple((name, value) for name, value in axes.items() if name != "set")
    )
    return own


def _label(rows: pd.DataFrame) -> str:
    return max(rows["data"], key=_WEAKEST.index)


def _average(
    record: Recorder, rows: pd.DataFrame, mine: pd.DataFrame, item: str, metrics: Iterable[str]
) -> None:
    """Means over the sets of a group; undefined where the group has no set of this run."""
    rows = rows[rows["metric"].isin(metrics)]
    for (rest, metric), whole in rows.groupby(["rest", "metric"], sort=True):
        group = whole[whole["data"].isin(mine["data"].unique())].sort_values("set")
        values = group["value"].dropna().tolist()
        record.data = _label(group) if len(group) else _label(whole)
        note = f"mean and spread over {len(values)} sets"
        if len(values) < 2:
            note = "fewer than two sets of this run have a value (of the paper's own data)"
            values = None
        record.add(item, dict(rest), metric, values, note=note)


@dataclass(frozen=True)
class Statement:
    """A statement of the text as a paired difference that must be above 0.

    item, metric : of the rows that are compared. one, other : axes of the two cells; ``other`` None
    compares with the number ``zero``. per : axes over which pairs are taken, beside the sets.
    constant : axes of the cell whose own difference to ``other`` is what the constant answer
        "member" achieves.
    """

    item: str
    metric: str
    one: Mapping[str, str]
    other: Mapping[str, str] | None = None
    zero: float = 0.0
    constant: Mapping[str, str] | None = None
    per: tuple[str, ...] = ()


def _compared(attack: str, score: str) -> dict[str, str]:
    return {"attack": attack, "score": score}


def statements(strengths: Sequence[str], fractions: Sequence[str]) -> dict[str, Statement]:
    """The statements by name, for ascending L2 strengths (0 first) and shares removed."""
    found = {
        "thresholds_per_class": Statement(
            *("attacks", "balanced_accuracy", {"attack": "ment_independent"}, {"attack": "fixed"})
        )
    }
    for attack in ("ment", "lira"):
        shapr, sprs, constant = (_compared(attack, s) for s in ("shapr", "sprs", "constant"))
        found[f"effective_{attack}"] = Statement("comparison", "f1", shapr, constant)
        found[f"ranks_{attack}"] = Statement("comparison", "auc", shapr, zero=0.5)
        for metric in ("f1", "auc"):
            found[f"better_than_sprs_{attack}_{metric}"] = Statement(
                "comparison", metric, shapr, sprs, constant=constant
            )
    for method in ("kifs", "tracin"):
        found[f"{method}_low_recall"] = Statement(
            *("influence", "recall"),
            *(_compared("ment", "shapr"), _compared("ment", method)),
            constant=_compared("ment", "constant"),
        )
    if len(strengths) > 1:
        without, most = {"l2": strengths[0]}, {"l2": strengths[-1]}
        for metric in ("attack_accuracy", "shapr_mean", "sprs_mean", "test_accuracy"):
            found[f"l2_lowers_{metric}"] = Statement("l2", metric, without, most)
    if fractions:
        most = {"removed": fractions[-1]}
        risky, chosen_at_random = ({"order": o} | most for o in ("shapr_high", "random"))
        found["valuation_test_accuracy"] = Statement(
            "removal", "test_accuracy", chosen_at_random, risky
        )
        found["removal_attack_accuracy"] = Statement(
            "removal", "attack_accuracy", chosen_at_random, risky
        )
    for attack in ("ment", "lira"):
        for metric in ("shapr", "sprs"):
            found[f"subgroups_{metric}_{attack}"] = Statement(
                *("disparity", f"{metric}_mean_agreement", {"attack": attack}),
                zero=0.5,
                per=("attribute",),
            )
    return found


def _statements(record: Recorder, table: pd.DataFrame, mine: pd.DataFrame) -> None:
    """The paired differences behind each statement; the claims test whether their mean is above 0.

    ``difference_constant`` has the constant answer "member" in SHAPr's place.
    """
    for name, statement in statements(
        _values(table, "l2", "l2"), _values(table, "removal", "removed")
    ).items():
        values, record.data = _differences(mine, statement, statement.one)
        pairs = "sets" if not statement.per else f"sets and values of {', '.join(statement.per)}"
        note = f"paired over {len(values)} {pairs}" if values else _NONE
        record.add("statement", {"of": name}, "difference", values or None, note=note)
        if statement.constant is not None:
            values, _ = _differences(mine, statement, statement.constant)
            record.add("statement", {"of": name}, "difference_constant", values or None, note=note)


def _values(table: pd.DataFrame, item: str, axis: str) -> list[str]:
    """Values of a numeric axis, ascending."""
    rows = table.loc[table["item"] == item, "rest"]
    return sorted({dict(rest)[axis] for rest in rows}, key=float)


def _differences(
    mine: pd.DataFrame, statement: Statement, one: Mapping[str, str]
) -> tuple[list[float], str]:
    """The differences over sets (and ``per``), in a fixed order, and the weakest label."""
    rows = mine[(mine["item"] == statement.item) & (mine["metric"] == statement.metric)]

    def side(axes: Mapping[str, str]) -> pd.Series:
        chosen = {}
        for row in rows.itertuples():
            rest = dict(row.rest)
            pair = (row.set, *(rest.pop(axis, "") for axis in statement.per))
            if rest == axes:
                chosen[pair] = row.value
        return pd.Series(chosen, dtype=float).sort_index()

    other = statement.zero if statement.other is None else side(statement.other)
    values = (side(one) - other).dropna().tolist()
    return values, _label(rows) if len(rows) else "real"


def _not_lower(record: Recorder, table: pd.DataFrame, mine: pd.DataFrame) -> None:
    """Removing records: in how many sets the attack's accuracy does not fall, and by how much.

    Removal of random records beside it: "some set" is soon found among several by chance alone.
    """
    after = table[(table["item"] == "removal") & (table["metric"] == "attack_accuracy")]
    rows = mine[mine["metric"] == "attack_accuracy"]
    start = _column(rows[rows["item"] == "l2"], {"l2": "0"})
    record.data = _label(rows) if len(rows) else "real"
    for removed in _values(after, "removal", "removed"):
        at = {"removed": removed}
        rises = {
            order: (_column(rows[rows["item"] == "removal"], {"order": order} | at) - start)
            .dropna()
            .sort_index()
            for order in ("shapr_high", "random")
        }
        note = "; ".join(
            f"{words}: in {int((rise >= 0).sum())} of {len(rise)} sets, mean change {rise.mean():+.3f}"
            for words, rise in zip(("riskiest", "random"), rises.values(), strict=True)
        )
        for suffix, rise in zip(("", "_random"), rises.values(), strict=True):
            values = rise.tolist()
            some = int((rise >= 0).any()) if values else None
            said = note if values else _NONE
            record.add("removal_sets", at, f"some_not_lower{suffix}", some, note=said)
            record.add("removal_sets", at, f"change{suffix}", values or None, note=said)
            record.add("removal_sets", at, f"not_lower{suffix}", int((rise >= 0).sum()))


def _column(rows: pd.DataFrame, axes: Mapping[str, str]) -> pd.Series:
    chosen = rows[rows["rest"].map(lambda rest: dict(rest) == axes).astype(bool)]
    return chosen.set_index("set")["value"]


def _mean_score(record: Recorder, mine: pd.DataFrame) -> None:
    """Efficiency at work: n times the mean SHAPr is a K-NN's accuracy on the test records."""
    rows = mine[mine["item"].isin(["l2", "removal"])]
    rows = rows[rows["metric"].isin(["shapr_mean", "test_accuracy"])]
    if rows.empty:
        return
    wide = rows.pivot_table(index=["set", "item", "rest"], columns="metric", values="value")
    record.data = _label(rows)
    gap = (wide["shapr_mean"] - wide["test_accuracy"]).abs()
    record.add("mean_score", {}, "models", len(wide))
    record.add("mean_score", {}, "correlation_with_test_accuracy", float(wide.corr().iloc[0, 1]))
    record.add("mean_score", {}, "mean_gap_to_test_accuracy", float(gap.mean()))
    record.add("mean_score", {}, "largest_gap_to_test_accuracy", float(gap.max()))
