"""From losses to measurements: tallies, intervals, comparisons with m = 1, bounds.

Slow: the games are really played, with small models, once for this folder.
"""

import math

import pytest

from leakmeter.audit.experiments.chance import measure as measure_chance
from leakmeter.audit.experiments.played_games import coin_low_of
from leakmeter.audit.experiments.settings import family_of, schedule_of
from leakmeter.audit.game_names import game_order, game_title
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.reporting.measurements import parse_cell, read_measurements, write_measurements
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

pytestmark = pytest.mark.slow
MAIN = {"attack": "calibrated", "selection": "median"}


def values(record, item, metric, **axes):
    wanted = {k: str(v) for k, v in axes.items()}
    return [
        row["value"]
        for row in record.rows
        if (row["item"], row["metric"]) == (item, metric) and parse_cell(row["cell"]) == wanted
    ]


def one(record, item, metric, **axes):
    (value,) = values(record, item, metric, **axes)
    return value


@pytest.mark.parametrize("setting", ["cifar10_dp", "sst2_nodp"])
def test_tallies_count_every_trial_and_intervals_are_theirs(games_records, setting):
    record, _ = games_records[setting]
    for points in ("average", "worst"):
        for game in ("m1", "m10", "m1-replicate1"):
            axes = {"points": points, "game": game, **MAIN}
            tally = {k: one(record, "games", k, **axes) for k in ("fn", "tp", "fp", "tn")}
            assert sum(tally.values()) == 60
            correct = one(record, "games", "correct", **axes)
            assert correct == pytest.approx((tally["tp"] + tally["tn"]) / 60)
            for method in ("bayesian", "jeffreys", "clopper-pearson"):
                expected = epsilon_interval(**tally, delta=1e-5, alpha=0.1, method=method)
                ends = [one(record, "games", end, **axes, method=method) for end in ("low", "high")]
                assert ends == pytest.approx(expected)


def test_worst_points_without_privacy_are_found_and_beat_average_ones(games_records):
    record, _ = games_records["sst2_nodp"]
    worst, average = (
        one(record, "games", "auc", points=p, game="m1", attack="calibrated")
        for p in ("worst", "average")
    )
    assert worst > max(average, 0.7)
    assert one(record, "games", "p_chance", points="worst", game="m1", **MAIN) < 0.001
    assert one(record, "coincide", "control_failed", points="worst", m=10) == 0


def test_both_attacks_and_all_rules_are_measured(games_records):
    record, _ = games_records["sst2_dp"]
    rows = {
        (parse_cell(r["cell"])["attack"], parse_cell(r["cell"])["selection"])
        for r in record.rows
        if r["item"] == "games" and r["metric"] == "fn"
    }
    assert rows == {
        (a, s) for a in ("plain", "calibrated") for s in ("median", "crossfit", "authors")
    }


def test_lower_ends_of_private_models_stay_below_the_bound(games_records):
    for setting in ("cifar10_dp", "sst2_dp"):
        record, _ = games_records[setting]
        for points in ("average", "worst"):
            assert one(record, "theory", "lows_above", points=points) == 0
            bound = one(record, "theory", "epsilon", points=points, adjacency="replace-one")
            assert bound == pytest.approx(8, abs=0.01)
            assert one(record, "theory", "largest_low", points=points) < bound
            assert 0 <= one(record, "theory", "chance_above", points=points) < 0.5
    record, _ = games_records["sst2_nodp"]
    assert one(record, "theory", "epsilon", points="worst", adjacency="replace-one") == math.inf
    assert not values(record, "theory", "lows_above", points="worst")


def test_differences_and_their_null(games_records):
    record, curves = games_records["sst2_nodp"]
    for points in ("average", "worst"):
        bound = one(record, "heuristic_null", "sup_95", points=points)
        assert 0.2 < bound <= 1
        for game in ("m10", "m1-replicate1"):
            gap = one(record, "heuristic", "sup", points=points, game=game)
            outside = one(record, "heuristic", "sup_outside", points=points, game=game)
            assert outside == (gap > bound)
        assert one(record, "coincide", "outside", points=points, m=10) == one(
            record, "heuristic", "sup_outside", points=points, game="m10"
        )
    assert curves.groupby(["points", "game"]).ngroups == 3 + 5
    assert (curves["null_low"] <= curves["null_high"]).all()
    drawn = curves[(curves["game"] == "m1") & (curves["points"] == "worst")]
    assert (drawn["cdf"].diff().dropna() > -1e-9).all()


def test_models_learn_something(games_records, games_pool):
    record, _ = games_records["sst2_nodp"]
    assert one(record, "accuracy", "gain", points="average", game="m1") > 0.15
    assert one(record, "accuracy", "majority", points="average") == games_pool.majority


def test_totals_are_stated_for_the_published_size_only(
    chance_record, audit_published, games_settings
):
    assert values(chance_record, "models", "in_all") == [None]
    assert one(chance_record, "models", "models", m=10) == 6
    games = {**games_settings["games"], "trials": 1000, "m": [1, 10, 100, 1000]}
    record = Recorder("audit", "test", 1)
    measure_chance(
        record, audit_published, {**games_settings, "games": games | {"null_repeats": 20}}
    )
    assert one(record, "models", "in_all") == 6666
    assert one(record, "models", "per_setting") == 1111


def test_small_published_errors_are_improbable_between_independent_runs(chance_record):
    assert one(chance_record, "independent_runs", "improbable_errors") >= 3
    share = one(
        chance_record,
        "independent_runs",
        "share_as_small",
        dataset="CIFAR-10",
        training="DP-SGD",
        m=100,
        points="average case",
    )
    assert share < 0.01


def test_the_coin_flip_level_is_read_back(chance_record, tmp_path):
    write_measurements(tmp_path / "chance.csv", chance_record.rows)
    found = coin_low_of(read_measurements([tmp_path / "chance.csv"]))
    assert set(found) == {"median", "crossfit", "authors"}
    assert found["authors"] > found["median"] > 0


def test_models_that_do_not_go_with_the_features_are_refused(games_pool, games_settings):
    games = {**games_settings["games"], "models": "paper"}
    schedule, _ = schedule_of("cifar10_dp", games, 1e-5)
    with pytest.raises(UserError, match="'pixels'"):
        family_of("cifar10_dp", games_pool, schedule, games)


def test_names_of_games():
    names = ["m10", "m1-single", "m1000", "m1", "m1-replicate1"]
    ordered = sorted(names, key=game_order)
    assert ordered == ["m1", "m1-replicate1", "m1-single", "m10", "m1000"]
    assert game_title("m1-distinct") == "m = 1, N pairs"
