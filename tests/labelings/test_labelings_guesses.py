"""Checks of guesses and labels; AUC of a labeling against scikit-learn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from leakmeter.labelings.guesses import check_labels, exact_auc, misranked, ranking_order
from leakmeter.runtime import UserError


def test_exact_auc_equals_scikit_learn():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 200):
        scores = rng.normal(size=n)
        labels = np.r_[0, 1, rng.integers(0, 2, n - 2)]
        auc = exact_auc(labels, ranking_order(scores))
        assert isinstance(auc, Fraction)
        assert float(auc) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_misranked_of_many(brute_force):
    labelings, ones, expected = brute_force(9)
    order = np.random.default_rng(1).permutation(9)
    in_record_order = np.empty_like(labelings)
    in_record_order[:, order] = labelings
    wrong, found = misranked(in_record_order, order)
    assert np.array_equal(wrong, expected)
    assert np.array_equal(found, ones)


def test_integers_are_guesses_too():
    assert ranking_order([3, 1, 2]).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("guesses", "message"),
    [
        ([1.0, 2.0, 1.0], r"guesses\[0\] and guesses\[2\]"),
        ([0.0, -0.0], "both 0.0"),
        ([1.0, np.inf], r"guesses\[1\]=inf"),
        (["a", "b"], "expected at least two numbers"),
        (3.0, "one dimension"),
    ],
)
def test_bad_guesses(guesses, message):
    with pytest.raises(UserError, match=message):
        ranking_order(guesses)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 0, 0], "0 of 3 are 1"),
        ([1, 1], "2 of 2 are 1"),
        ([0, 1, 2], r"labels\[2\]=2"),
        ([0.0, 0.5, 1.0], r"labels\[1\]=0.5"),
        ([[0, 1]], "one dimension"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(UserError, match=message):
        check_labels(labels)
