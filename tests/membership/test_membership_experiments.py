"""The experiments of the SHAPr chain on invented predictions: contents, invariants, errors."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from membership_run import SETTINGS, invented
from scipy import stats

from leakmeter.membership.experiments import across, backdoors, removal, subgroups
from leakmeter.membership.experiments.assessment import Target, confidences, lira_scores
from leakmeter.membership.experiments.batches import recorder, score_set
from leakmeter.membership.experiments.names import ORIGIN, PAPER
from leakmeter.membership.experiments.prepared import prepare, read_prepared
from leakmeter.membership.target_models import Outputs
from leakmeter.reporting.measurements import parse_cell, read_measurements, write_measurements
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError, generator, read_json


def value(frame, item, metric, **axes):
    wanted = {name: str(v) for name, v in axes.items()}
    for row in frame.to_dict("records"):
        if (row["item"], row["metric"]) == (item, metric) and parse_cell(row["cell"]) == wanted:
            return row["value"]
    raise AssertionError(f"no row {item} {metric} {wanted}")


# --- preparation --------------------------------------------------------------------------------


def test_a_pool_is_read_back_as_it_was_written(pools):
    data = pools["census"]
    assert data.n_classes == 2
    assert len(data.table) == 120
    assert (data.splits.sum(axis=0) == 4).all()
    assert set(data.table.groups) == {"sex", "race"}
    assert data.meta["n_train"] == data.meta["n_test"] == 60
    x = data.inputs(0)
    assert x.shape == (120, data.meta["features"])
    assert x[data.splits[0]].min() == 0
    assert x[data.splits[0]].max() == 1


def test_columns_without_a_one_are_left_out_of_bits_only(pools, tmp_path):
    assert pools["mnist"].used.all()
    options = {"models": 2, "flower_side": 16, "mode": "standin", "data_dirs": [], "timeout": 1}
    paths = {"pool": tmp_path / "t.npz", "meta": tmp_path / "t.json"}
    prepare("texas", records=300, cache_dir=str(tmp_path), seed=1, **options, **paths)
    texas = read_prepared(**paths)
    assert texas.meta["features"] == 6169
    assert 300 < texas.used.sum() < 6169
    assert texas.inputs(0).shape[1] == texas.used.sum()
    assert texas.table.numeric[:, ~texas.used].sum() == 0


def test_the_same_seed_prepares_the_same_bytes(pools, tmp_path):
    options = {"models": 8, "flower_side": 16, "mode": "standin", "data_dirs": [], "timeout": 1}
    for name in ("a", "b"):
        prepare(
            "census",
            records=60,
            cache_dir=str(tmp_path),
            seed=1,
            pool=tmp_path / f"{name}.npz",
            meta=tmp_path / f"{name}.json",
            **options,
        )
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert read_json(tmp_path / "a.json") == read_json(tmp_path / "b.json")


def test_a_damaged_pool_is_named(pools, tmp_path):
    (tmp_path / "p.npz").write_bytes(b"PK\x03\x04 damaged")
    (tmp_path / "p.json").write_text('{"levels": [], "bounds": null, "groups": [], "name": "x"}')
    with pytest.raises(UserError, match=r"p\.npz: cannot be read as a pool"):
        read_prepared(tmp_path / "p.npz", tmp_path / "p.json")


# --- attacks and scores -------------------------------------------------------------------------


def test_rows_of_a_set(scored):
    record, scores, curves = scored["census"]
    items = {row["item"] for row in record.rows}
    assert items == {
        *("table2", "table8", "attacks", "roc", "scores", "axioms", "effectiveness"),
        *("comparison", "typicality", "l2", "subgroups", "disparity"),
    }
    assert {row["n"] for row in record.rows if row["item"] == "attacks"} == {3}
    assert scores["shapr"].shape == scores["sprs"].shape == (60,)
    assert scores["ment_members"].dtype == bool
    assert set(curves["attack"]) >= {"online_fixed", "offline_reference", "entropy"}
    assert curves["tpr"].between(0, 1).all()


def test_scores_sum_to_the_utility(scored):
    frame = pd.DataFrame(scored["usps"][0].rows)
    for k in SETTINGS["neighbours"]:
        assert value(frame, "axioms", "residual", set="usps", k=k) < 1e-12


def test_comparison_is_effectiveness_at_the_main_settings(scored):
    frame = pd.DataFrame(scored["meps"][0].rows)
    for score, setting, space in (("shapr", 5, "outputs"), ("sprs", 5, "entropy")):
        at = {"set": "meps", "attack": "lira"}
        short = value(frame, "comparison", "f1", **at, score=score)
        long = value(frame, "effectiveness", "f1", **at, score=score, setting=setting, space=space)
        assert short == long


def test_the_constant_has_the_attacks_rate_as_precision(scored):
    frame = pd.DataFrame(scored["credit"][0].rows)
    at = {"set": "credit", "attack": "ment", "score": "constant"}
    rate = value(frame, "effectiveness", "attack_positive_rate", **at, setting=0, space="none")
    assert value(frame, "comparison", "precision", **at) == pytest.approx(rate)
    assert value(frame, "comparison", "recall", **at) == 1
    assert value(frame, "comparison", "auc", **at) == 0.5


def test_strength_0_is_the_first_target(scored, pools):
    frame = pd.DataFrame(scored["usps"][0].rows)
    data = pools["usps"]
    logits = invented(data, 3)["logits"]
    target = Target(logits[0], data.labels, data.splits[0])
    assert value(frame, "l2", "attack_accuracy", set="usps", l2=0) == target.ment_accuracy()


def test_lira_takes_all_other_models_as_shadows(pools):
    data = pools["census"]
    logits = invented(data, 0)["logits"]
    values = confidences(logits, data.labels)
    scores = lira_scores(values, data.splits, 2, mode="online", variance="fixed")
    changed = values.copy()
    changed[5] += 1
    assert not np.allclose(
        scores, lira_scores(changed, data.splits, 2, mode="online", variance="fixed")
    )
    members = data.splits[2]
    assert scores[members].mean() > scores[~members].mean()


def test_groups_partition_the_members(scored):
    frame = pd.DataFrame(scored["census"][0].rows)
    for attribute, groups in (("sex", ("Male", "Female")), ("race", ("White", "other"))):
        at = {"set": "census", "attribute": attribute}
        counts = [value(frame, "subgroups", "members", **at, group=g) for g in groups]
        assert sum(counts) == 60
        means = [value(frame, "subgroups", "ment_accuracy", **at, group=g) for g in groups]
        assert value(frame, "disparity", "ment_accuracy", **at) >= abs(means[0] - means[1]) - 1e-12


def regrouped(data, groups):
    return replace(data, table=replace(data.table, groups=groups))


@pytest.fixture(scope="module")
def odd_groups(pools):
    """Rows of a set with attributes of one group, of three, and with a group without members."""
    data = pools["census"]
    lonely = np.full(120, "many")
    lonely[np.flatnonzero(~data.splits[0])[:2]] = "few"
    thirds = np.array(["a", "b", "c"])[np.arange(120) % 3]
    groups = {"one": np.full(120, "all"), "lonely": lonely, "thirds": thirds}
    record = recorder(data, scale="test", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no mean of nothing
        subgroups.measure(record, regrouped(data, groups), invented(data, 0), SETTINGS, 5)
    return record


def test_groups_without_members_are_undefined(odd_groups):
    rows = pd.DataFrame(odd_groups.rows).set_index(["item", "cell", "metric"]).sort_index()
    few = rows.loc["subgroups", "set=census;attribute=lonely;group=few"]
    assert few.loc["members", "n"] == 3
    for metric in ("shapr_mean", "sprs_mean", "ment_accuracy", "lira_accuracy", "train_accuracy"):
        assert pd.isna(few.loc[metric, "value"])
        assert few.loc[metric, "note"].startswith("undefined: the group has no members")
    many = rows.loc["subgroups", "set=census;attribute=lonely;group=many"]
    assert many["value"].notna().all()
    disparity = rows.loc["disparity"]
    for attribute, note in (
        ("one", "undefined: a single group in 3 of 3 targets"),
        ("lonely", "undefined: a group without members or without other records in"),
    ):
        mine = disparity[disparity.index.get_level_values(0).str.contains(f"attribute={attribute}")]
        # four ranges; three agreements of either metric
        assert len(mine) == 10
        assert mine["value"].isna().all()
        assert mine["note"].str.startswith(note).all()
    thirds = disparity[disparity.index.get_level_values(0).str.contains("thirds")]
    assert thirds["value"].between(0, 1).sum() >= 6
    assert not thirds["note"].any()


def test_undefined_agreement_does_not_enter_the_statements(odd_groups, tmp_path):
    write_measurements(tmp_path / "m.csv", odd_groups.rows)
    rows = across.measure(read_measurements([tmp_path / "m.csv"]), scale="test", seed=1).rows
    found = {row["cell"]: row for row in rows if row["item"] == "statement"}
    for name in ("shapr_ment", "shapr_lira", "sprs_ment", "sprs_lira"):
        row = found[f"set=genuine;of=subgroups_{name}"]
        assert row["n"] == 1  # "thirds" alone
        assert -0.5 <= row["value"] <= 0.5


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([1, 2, 3], [4, 5, 6], 1),
        ([1, 2, 3], [6, 5, 4], 0),
        ([1, 2, 3], [4, 6, 5], 2 / 3),
        ([1, 1, 3], [4, 4, 5], 1),
        ([1], [1], np.nan),
        ([1, np.nan], [1, 2], np.nan),
        ([1, 2], [np.nan, 2], np.nan),
    ],
)
def test_agreement_is_the_share_of_pairs_in_the_same_order(x, y, expected):
    found = subgroups.agreement(np.array(x, float), np.array(y, float))
    assert found == pytest.approx(expected, nan_ok=True)


def test_a_set_without_people_has_no_groups(scored):
    assert not {row["item"] for row in scored["usps"][0].rows} & {"subgroups", "disparity"}


def test_the_same_predictions_give_the_same_rows(pools, scored):
    data = pools["census"]
    again, *_ = score_set(data, invented(data, 0), SETTINGS, scale="test", seed=1)
    assert again.rows == scored["census"][0].rows


# --- removal ------------------------------------------------------------------------------------


def test_orders_of_removal():
    scores = {"shapr": np.array([0.1, 0.9, 0.5]), "sprs": np.array([1.0, 0.2, 0.7])}
    rng = np.random.default_rng(0)
    assert removal.removal_order("shapr_high", scores, rng).tolist() == [1, 2, 0]
    assert removal.removal_order("shapr_low", scores, rng).tolist() == [0, 2, 1]
    assert removal.removal_order("sprs_high", scores, rng).tolist() == [0, 2, 1]
    assert sorted(removal.removal_order("random", scores, rng)) == [0, 1, 2]


def test_equal_scores_are_removed_in_random_order():
    scores = {"shapr": np.zeros(100), "sprs": np.zeros(100)}
    orders = [removal.removal_order("sprs_high", scores, np.random.default_rng(s)) for s in (0, 1)]
    assert not np.array_equal(*orders)
    assert not np.array_equal(orders[0], np.arange(100))


def test_the_last_record_of_a_class_stays():
    labels = np.array([0, 0, 1, 1, 1])
    removed = removal.keep_classes(np.array([0, 1, 2, 3, 4]), labels, 3)
    assert removed.tolist() == [0, 2, 3]
    assert removal.keep_classes(np.arange(5), labels, 5).tolist() == [0, 2, 3]


# --- backdoors ----------------------------------------------------------------------------------


def test_marked_records():
    rng = np.random.default_rng(0)
    x, labels = rng.random((50, 20)).astype(np.float32), rng.integers(3, size=50)
    rows = np.arange(10)
    inputs, targets = backdoors.mark_records(x, labels, rows, "label_flip", 3, rng)
    assert np.array_equal(inputs, x[:10])
    assert (targets != labels[:10]).all()
    assert set(targets) <= {0, 1, 2}
    inputs, targets = backdoors.mark_records(x, labels, rows, "artefact", 3, rng)
    assert (inputs[:, :2] == 1).all()
    assert np.array_equal(inputs[:, 2:], x[:10, 2:])
    assert (targets == 0).all()
    inputs, _ = backdoors.mark_records(x, labels, rows, "out_of_distribution", 3, rng)
    assert not np.isin(inputs, x).any()
    with pytest.raises(ValueError, match="expected one of label_flip"):
        backdoors.mark_records(x, labels, rows, "sticker", 3, rng)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([[1, 0], [1, 1]], "members: record 0 is in 2 of 2 models; expected it in some and out of"),
        ([[1, 0], [0, 0]], "members: record 1 is in 0 of 2 models"),
        ([[1, 0], [0, 2]], "members holds other values than 0 and 1"),
    ],
)
def test_memorisation_needs_models_with_and_without_a_record(members, message):
    with pytest.raises(UserError, match=message):
        backdoors.memorisation(np.ones((2, 2), bool), np.array(members))
    with pytest.raises(UserError, match="correct holds other values"):
        backdoors.memorisation([[0.5, 1], [0, 1]], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"members has shape \(1, 2\); expected \(2, 2\)"):
        backdoors.memorisation(np.ones((2, 2), bool), [[1, 0]])


def test_memorisation_is_feldmans_formula():
    members = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]], bool)
    correct = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 1]], bool)
    # in: 2/2, 0/2, 2/2; out: 1/2, 1/2, 2/2
    assert backdoors.memorisation(correct, members).tolist() == [0.5, 0.5, 0.0]
    # flags as integers, whose complement is not theirs
    as_integers = backdoors.memorisation(correct.astype(int), members.astype(int))
    assert as_integers.tolist() == [0.5, 0.5, 0.0]


def test_marked_records_are_in_and_out_equally_often_and_more_models_have_none(pools):
    data = pools["usps"]
    n = len(data.labels)
    splits = backdoors._splits(data.splits, n + 18, 8, np.random.default_rng(0))
    assert splits.shape == (12, n + 18)
    marked = splits[:, n:]
    assert (marked[:8].sum(axis=1) == 9).all()
    assert (marked[:8].sum(axis=0) == 4).all()
    assert not marked[8:].any()
    assert np.array_equal(splits[8:, :n], data.splits[:4])
    with pytest.raises(UserError, match=r"shapr\.backdoors\.models is 12; expected at most"):
        backdoors._splits(data.splits, n + 18, 12, np.random.default_rng(0))


class _ByHeart:
    """A trainer whose model is right about its members and about every artefact once it saw one."""

    def __init__(self, x, y, kinds):
        self.y, self.names = (
            y,
            [row.tobytes() + bytes([label]) for row, label in zip(x, y, strict=True)],
        )
        self.artefacts = {
            name for name, kind in zip(self.names, kinds, strict=True) if kind == "artefact"
        }

    def train(self, x, y, *, seed):
        self.known = {row.tobytes() + bytes([label]) for row, label in zip(x, y, strict=True)}
        if self.known & self.artefacts:
            self.known |= self.artefacts

    def outputs(self, x):
        wrong = np.array([name not in self.known for name in self.names])
        logits = np.zeros((len(x), 10))
        logits[np.arange(len(x)), (self.y + wrong) % 10] = 5.0
        return Outputs(logits, logits)


def test_a_trigger_is_memorised_as_a_kind_and_not_as_records(pools, monkeypatch):
    data = pools["usps"]
    made = backdoors._with_marks(data, 0.05, generator(1, "shapr_backdoors", data="usps"))
    monkeypatch.setattr(backdoors, "make_trainer", lambda *_: _ByHeart(*made))
    record = Recorder("shapr", "test", 1, data="real", origin="target", axes={"set": "usps"})
    settings = {"share": 0.05, "models": 4}
    found = backdoors.measure(record, data, settings, model={}, k=1, seed=1)
    by_kind = found.groupby("kind")
    exploratory = {row["metric"] for row in record.rows if row["note"].startswith("exploratory")}
    assert exploratory == {"kind_memorisation"}
    for kind in ("clean", "label_flip", "out_of_distribution"):
        assert by_kind["memorisation"].min()[kind] == 1
    assert by_kind["memorisation"].max()["artefact"] == 0
    assert by_kind["kind_memorisation"].min()["artefact"] == 1
    assert by_kind["right_left_out"].mean().to_dict() == {
        **{"artefact": 1, "clean": 0, "label_flip": 0, "out_of_distribution": 0}
    }


# --- all sets together --------------------------------------------------------------------------


def test_means_over_sets_are_those_of_the_group(measurements, scored):
    singles = {}
    for name, (record, *_) in scored.items():
        frame = pd.DataFrame(record.rows)
        singles[name] = value(frame, "attacks", "balanced_accuracy", set=name, attack="ment")
    genuine = [v for name, v in singles.items() if name != "mnist"]
    at = {"attack": "ment"}
    found = value(measurements, "attacks", "balanced_accuracy", set="genuine", **at)
    assert found == pytest.approx(np.mean(genuine))
    found = value(measurements, "attacks", "balanced_accuracy", set="all", **at)
    assert found == pytest.approx(np.mean(list(singles.values())))
    rows = measurements[measurements["cell"].str.startswith("set=all;attack=ment")]
    assert set(rows["data"]) == {"standin"}


def test_statements_are_paired_differences(measurements):
    # 0.9 against 0.2 and 0.3 in every set, the constant 1.0
    at = {"set": "genuine", "of": "kifs_low_recall"}
    assert value(measurements, "statement", "difference", **at) == pytest.approx(0.7, abs=0.01)
    assert value(measurements, "statement", "difference_constant", **at) == pytest.approx(
        0.8, abs=0.01
    )
    difference = value(measurements, "statement", "difference", set="all", of="tracin_low_recall")
    assert difference == pytest.approx(0.6, abs=0.01)


def rows_of(values, label="real"):
    record = Recorder(PAPER, "test", 1, origin=ORIGIN, data=label)
    for index, (one, other) in enumerate(values):
        record.axes = {"set": f"s{index}"}
        record.add("comparison", {"attack": "ment", "score": "shapr"}, "f1", one)
        record.add("comparison", {"attack": "ment", "score": "constant"}, "f1", other)
    return pd.DataFrame(record.rows)


def test_a_difference_has_the_spread_over_sets():
    values = [(0.9, 0.8), (0.8, 0.6), (0.85, 0.55)]
    rows = across.measure(rows_of(values), scale="test", seed=1).rows
    (row,) = (
        r
        for r in rows
        if (r["item"], r["metric"], r["cell"])
        == ("statement", "difference", "set=genuine;of=effective_ment")
    )
    assert (row["value"], row["std"], row["n"]) == (pytest.approx(0.2), pytest.approx(0.1), 3)


def test_subgroups_are_paired_over_attributes(measurements, pools):
    for row in measurements.to_dict("records"):
        if row["cell"] == "set=all;of=subgroups_shapr_ment" and row["metric"] == "difference":
            assert row["n"] == sum(len(data.table.groups) for data in pools.values())
            return
    raise AssertionError("no row of subgroups_shapr_ment")


def test_without_genuine_sets_their_means_are_undefined():
    frame = pd.DataFrame(
        across.measure(rows_of([(0.9, 0.8)] * 4, "standin"), scale="test", seed=1).rows
    )
    at = {"attack": "ment", "score": "shapr"}
    assert pd.isna(value(frame, "comparison", "f1", set="genuine", **at))
    assert value(frame, "comparison", "f1", set="all", **at) == pytest.approx(0.9)


def test_sets_whose_risk_does_not_fall(measurements, scored):
    before = {
        name: value(pd.DataFrame(record.rows), "l2", "attack_accuracy", set=name, l2=0)
        for name, (record, *_) in scored.items()
    }
    count = 0
    for name, start in before.items():
        after = value(
            measurements, "removal", "attack_accuracy", set=name, order="shapr_high", removed=0.5
        )
        count += after >= start
    assert value(measurements, "removal_sets", "not_lower", set="all", removed=0.5) == count
    assert value(measurements, "removal_sets", "some_not_lower", set="all", removed=0.5) == (
        count > 0
    )
    at = {"set": "all", "removed": 0.5}
    change = np.mean(
        [
            value(measurements, "removal", "attack_accuracy", set=n, order="random", removed=0.5)
            - start
            for n, start in before.items()
        ]
    )
    assert value(measurements, "removal_sets", "change_random", **at) == pytest.approx(change)


def test_typicality_is_the_rank_correlation_with_out_confidence(pools, scored):
    """By hand for one target: SHAPr against the mean confidence of models without the record."""
    data = pools["census"]
    logits = invented(data, 0)["logits"]
    values = confidences(logits, data.labels)
    ranks = []
    for model in range(3):
        inside = np.flatnonzero(data.splits[model])
        others = [m for m in range(len(values)) if m != model]
        typical = [np.mean([values[m, i] for m in others if not data.splits[m, i]]) for i in inside]
        shapr = Target(logits[model], data.labels, data.splits[model]).shapr(k=5)
        ranks.append(stats.spearmanr(shapr, typical).statistic)
    frame = pd.DataFrame(scored["census"][0].rows)
    found = value(frame, "typicality", "spearman", set="census", of="shapr")
    assert found == pytest.approx(np.mean(ranks))
