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
}
#: Level of a statement; each is a claim of its own.
LEVEL = 0.01
#: Pairs below which a statement is not tested: too few to tell anything at that level.
MIN_PAIRS = 4
#: Groups of sets: those that are the paper's own data, and all.
GROUPS = {"genuine": ("exact", "real", "authors"), "all": DATA_LABELS}
#: The weakest label of a group is that of its mean.
_WEAKEST = ("exact", "authors", "real", "related", "standin")


def measure(frame: pd.DataFrame, *, scale: str, seed: int) -> Recorder:
    """Rows ``set=all`` and ``set=genuine``: mean and spread over sets, and whether the statements of the text hold.

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
    """Whether each statement holds: a one-sided paired t-test over sets."""
    listed = statements(_values(table, "l2", "l2"), _values(table, "removal", "removed"))
    differences = {name: _differences(mine, s, s.one) for name, s in listed.items()}
    p_values = {name: _one_sided(values) for name, (values, _) in differences.items()}
    for name, statement in listed.items():
        values, label = differences[name]
        record.data = label
        axes = {"of": name}
        p = p_values[name]
        if p is None:
            note = (
                f"{len(values)} sets in this run's experiment (of the paper's own data); "
                f"at least {MIN_PAIRS} are needed"
            )
            if values:
                record.add("statement", axes, "difference", values, note=note)
            record.add("statement", axes, "holds", None, note=note)
            continue
        note = f"one-sided paired t-test over {len(values)} pairs, p = {p:.2g}"
        record.add("statement", axes, "difference", values, note=note)
        record.add("statement", axes, "holds", int(p < LEVEL), note=note)
        if statement.constant is not None:
            constant, _ = _differences(mine, statement, statement.constant)
            p = _one_sided(constant)
            record.add("statement", axes, "holds_for_constant", int(p is not None and p < LEVEL))


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


def _one_sided(values: Sequence[float]) -> float | None:
    """p-value of a mean of at most 0; None for fewer than four values, 1 for no spread and no gain."""
    from scipy import stats

    if len(values) < MIN_PAIRS:
        return None
    if (
        max(values) - min(values) < 1e-12
    ):  # the same in every set: nothing to estimate a spread from
        return 0.0 if values[0] > 0 else 1.0
    return float(stats.ttest_1samp(values, 0.0, alternative="greater").pvalue)


def _not_lower(record: Recorder, table: pd.DataFrame, mine: pd.DataFrame) -> None:
    """Removing the riskiest records: in how many sets the attack's accuracy does not fall."""
    after = table[(table["item"] == "removal") & (table["metric"] == "attack_accuracy")]
    rows = mine[mine["metric"] == "attack_accuracy"]
    start = _column(rows[rows["item"] == "l2"], {"l2": "0"})
    for removed in _values(after, "removal", "removed"):
        rises = _column(
            rows[rows["item"] == "removal"], {"order": "shapr_high", "removed": removed}
        )
        rises = (rises - start).dropna()
        record.data = _label(rows) if len(rows) else "real"
        at = {"removed": removed}
        record.add("removal_sets", at, "sets", len(rises))
        some = None if rises.empty else int((rises >= 0).any())
        note = f"in {int((rises >= 0).sum())} of {len(rises)} sets"
        if rises.empty:
            note = "no set of this run is the paper's own data"
        record.add("removal_sets", at, "some_not_lower", some, note=note)
        record.add("removal_sets", at, "not_lower", int((rises >= 0).sum()))


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
