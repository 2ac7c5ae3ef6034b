"""Ranking candidates by their loss gap."""

import numpy as np
import pytest

from leakmeter.audit.challenge_ranking import (
    Ranked,
    joined_gaps,
    loss_gaps,
    rank_candidates,
    split_candidates,
)
from leakmeter.audit.pools import Pool
from leakmeter.runtime import UserError


def test_gaps_of_a_small_case():
    inside = np.array([[True, False], [True, True], [False, False]])
    losses = np.array([[1.0, 5.0], [3.0, 2.0], [4.0, 3.0]])
    assert loss_gaps(losses, inside).tolist() == [4 - 2, 4 - 2]


def test_a_candidate_without_models_on_one_side_is_one_clear_error():
    with pytest.raises(UserError, match="ranking_models"):
        loss_gaps(np.ones((2, 2)), np.array([[True, True], [True, False]]))


def test_splits_have_one_size_and_depend_on_the_model_alone():
    found = split_candidates(50, models=6, size=20, seed=1)
    assert found.sum(axis=1).tolist() == [20] * 6
    assert np.array_equal(found[:3], split_candidates(50, models=3, size=20, seed=1))
    assert not np.array_equal(found[0], found[1])


class Remembers:
    """A point's loss falls by a gap of its own when it is trained on."""

    batch = 5

    def train_inside(self, shared, inside, seeds):
        self.sizes = {int(row.sum()) for row in inside}
        return [set(shared[row]) for row in inside]

    def losses(self, models, points):
        return np.array([[0.01 * p if p not in held else 0.0 for p in points] for held in models])


def test_the_most_influential_points_come_out_on_top():
    pool = Pool(np.zeros((60, 1), np.float32), np.zeros(60, int), 40, None, None, 2, {})
    family = Remembers()
    ranked = rank_candidates(pool, family, models=30, size=10, train_size=20, seed=1)
    assert joined_gaps([ranked]) == pytest.approx(0.01 * np.arange(40), abs=1e-6)
    assert family.sizes == {20}


@pytest.mark.parametrize("chunks", [2, 7, 30])
def test_parts_trained_apart_give_the_same_gaps(tmp_path, chunks):
    """Written and read back, in any order."""
    pool = Pool(np.zeros((60, 1), np.float32), np.zeros(60, int), 40, None, None, 2, {})
    options = {"models": 30, "size": 10, "train_size": 20, "seed": 1}
    whole = rank_candidates(pool, Remembers(), **options)
    for chunk in range(chunks):
        part = rank_candidates(pool, Remembers(), **options, chunk=chunk, chunks=chunks)
        assert 30 // chunks <= len(part.models) <= -(-30 // chunks)
        part.write(tmp_path / f"{chunk}.npz")
    parts = [Ranked.read(tmp_path / f"{chunk}.npz") for chunk in reversed(range(chunks))]
    assert np.array_equal(joined_gaps(parts), joined_gaps([whole]))
    with pytest.raises(UserError, match="missing or occur twice"):
        joined_gaps([*parts, parts[0]])
    with pytest.raises(UserError, match="missing or occur twice"):
        joined_gaps(parts[:-1])


def test_sizes_that_cannot_be():
    pool = Pool(np.zeros((60, 1), np.float32), np.zeros(60, int), 40, None, None, 2, {})
    for size in (0, 40, 21):
        with pytest.raises(UserError, match="ranking model"):
            rank_candidates(pool, Remembers(), models=4, size=size, train_size=20, seed=1)
