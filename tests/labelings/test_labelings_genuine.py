"""Real scores of a classifier on bundled data."""

from __future__ import annotations

import numpy as np
import pytest

from leakmeter.labelings.genuine import genuine_names, genuine_scores
from leakmeter.labelings.guesses import exact_auc, ranking_order
from leakmeter.runtime import UserError


@pytest.mark.parametrize("name", genuine_names())
def test_scores_are_better_than_chance_and_repeatable(name):
    scores, labels = genuine_scores(name, seed=1)
    assert scores.shape == labels.shape
    assert len(scores) in (100, 300, 512)
    assert set(np.unique(labels)) == {0, 1}
    assert exact_auc(labels, ranking_order(scores)) > 0.75
    again, _ = genuine_scores(name, seed=1)
    assert np.array_equal(scores, again)
    other, _ = genuine_scores(name, seed=2)
    assert not np.array_equal(scores, other)


def test_size():
    scores, labels = genuine_scores("diabetes_high", seed=0, test_size=24)
    assert len(scores) == 24
    assert labels.sum() == 12


def test_refuses():
    with pytest.raises(UserError, match="breast_cancer"):
        genuine_scores("iris", seed=0)
    with pytest.raises(UserError, match="test_size=178"):
        genuine_scores("wine", seed=0, test_size=178)
