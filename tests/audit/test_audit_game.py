"""Games: pairs, bits, training sets, what is played, and parts that add up."""

import numpy as np
import pandas as pd
import pytest

from leakmeter.audit.game import (
    Game,
    Played,
    build_games,
    chunk_of,
    draw_pairs,
    join_parts,
    models_of,
    play,
)
from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError

SETTINGS = {"trials": 40, "m": [1, 10, 40], "worst_pairs": 5, "replicates": 1}


class Lookup:
    """Models that are their own training sets: the loss of a point is 0 inside and 1 outside."""

    batch = 3

    def train(self, base, challenges, seeds):
        assert len(challenges) == len(seeds) <= self.batch
        return [(set(base) | set(own), seed) for own, seed in zip(challenges, seeds, strict=True)]

    def losses(self, models, points):
        return np.array([[0.0 if p in held else 1.0 for p in points] for held, _ in models])

    def accuracy(self, models):
        return np.array([(seed % 100) / 100 for _, seed in models])


@pytest.fixture(scope="module")
def pool():
    inputs, labels = np.zeros((160, 1), np.float32), np.arange(160) % 2
    return Pool(inputs, labels, 100, inputs[:4], labels[:4], 2, {"data": "standin"})


def games(points="worst", **change):
    return build_games(points, np.arange(100)[::-1], {**SETTINGS, **change}, seed=3)


def test_average_pairs_are_distinct_and_the_same_for_every_m():
    first, *others = [g for g in games("average") if "-" not in g.name]
    assert len(np.unique(first.pairs)) == 80
    for game in others:
        assert np.array_equal(game.pairs, first.pairs)
        assert np.array_equal(game.bits, first.bits)


def test_worst_pairs_are_the_largest_gaps_used_in_turn():
    by_name = {g.name: g for g in games()}
    assert set(np.unique(by_name["m1"].pairs)) == set(range(90, 100))
    assert np.array_equal(by_name["m1"].pairs[:5], by_name["m1"].pairs[5:10])
    assert set(np.unique(by_name["m10"].pairs)) == set(range(80, 100))
    assert len(np.unique(by_name["m40"].pairs)) == 80
    assert set(np.unique(by_name["m1-single"].pairs)) == {98, 99}
    assert len(np.unique(by_name["m1-distinct"].pairs)) == 80


def test_replicates_have_the_same_pairs_and_fresh_bits():
    by_name = {g.name: g for g in games()}
    one, again = by_name["m1"], by_name["m1-replicate1"]
    assert np.array_equal(one.pairs, again.pairs)
    assert not np.array_equal(one.bits, again.bits)


def test_the_pairs_of_one_model_are_distinct():
    for game in games() + games("average"):
        for model in range(game.models):
            part = game.pairs[model * game.m : (model + 1) * game.m]
            assert len(np.unique(part)) == 2 * game.m


def test_trials_that_do_not_fill_models_and_too_few_candidates():
    with pytest.raises(UserError, match="multiple of every m"):
        games(m=[1, 3])
    with pytest.raises(UserError, match="at least 80"):
        draw_pairs(np.arange(79), trials=40, distinct=40, random=np.random.default_rng(0))


def test_bits_choose_the_points_that_are_trained_on():
    game = Game(
        "average", "m2", 2, np.array([[1, 2], [3, 4], [5, 6], [7, 8]]), np.array([0, 1, 1, 0])
    )
    assert game.models == 2
    assert game.trained_on(0).tolist() == [1, 4]
    assert game.trained_on(1).tolist() == [6, 7]
    assert game.trained_on(1, np.array([0, 0])).tolist() == [5, 7]


def test_every_model_is_planned_once_and_in_one_chunk():
    plan = models_of(games(), references=4)
    assert len(plan) == len(set(plan)) == (40 + 4 + 1 + 3 * 40) + 6 * 4
    parts = [chunk_of(plan, chunk, 3) for chunk in range(3)]
    assert sorted(p for part in parts for p in part) == sorted(plan)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(ValueError, match="chunk 3 of 3"):
        chunk_of(plan, 3, 3)


@pytest.fixture(scope="module")
def played(pool):
    return play(games(), models_of(games(), 4), Lookup(), pool, train_size=60, seed=1)


def test_losses_tell_the_bit_of_a_model_that_remembers(played):
    trials = played.trials
    assert len(trials) == 6 * 40
    assert np.array_equal(trials["loss0"] == 0, trials["bit"] == 0)
    assert np.array_equal(trials["loss1"] == 0, trials["bit"] == 1)
    assert set(trials["rank0"]) == {100.0}  # base losses are all 0


def test_reference_models_have_fresh_bits_and_sum_up_by_trial(played):
    one = played.references[played.references["game"] == "m40"]
    assert set(one["count"]) == {4}
    # each reference has one point of each pair
    assert np.array_equal(one["sum0"] + one["sum1"], np.full(40, 4.0))
    assert 0 < (one["sum0"] > 0).sum() < 40 or one["sum0"].nunique() > 1


@pytest.mark.parametrize("chunks", [1, 3])
def test_parts_add_up_to_the_whole(played, pool, chunks):
    plan = models_of(games(), 4)
    parts = [
        play(games(), chunk_of(plan, c, chunks), Lookup(), pool, train_size=60, seed=1)
        for c in range(chunks)
    ]
    whole, joined = join_parts([played]), join_parts(parts)
    for name in ("trials", "references", "accuracy"):
        pd.testing.assert_frame_equal(
            getattr(whole, name), getattr(joined, name), check_dtype=False
        )


def test_a_missing_part_is_seen(pool):
    plan = models_of(games(), 4)
    part = play(games(), chunk_of(plan, 0, 2), Lookup(), pool, train_size=60, seed=1)
    with pytest.raises(UserError, match="missing or occur twice"):
        join_parts([part])


def test_parts_survive_their_files(played, tmp_path):
    paths = {k: tmp_path / f"{k}.parquet" for k in ("trials", "references", "accuracy")}
    played.write(**paths)
    again = Played.read(**paths)
    pd.testing.assert_frame_equal(again.trials, played.trials)
    pd.testing.assert_frame_equal(again.accuracy, played.accuracy)


def test_the_training_size_is_the_same_for_every_m(pool):
    seen = set()

    class Sizes(Lookup):
        def train(self, base, challenges, seeds):
            seen.add(len(base) + challenges.shape[1])
            return super().train(base, challenges, seeds)

    play(games(), models_of(games(), 1), Sizes(), pool, train_size=60, seed=1)
    assert seen == {60}


def test_more_challenge_points_than_records_is_one_clear_error(pool):
    with pytest.raises(UserError, match="at least the largest m"):
        play(games(), models_of(games(), 1), Lookup(), pool, train_size=30, seed=1)
