"""Effectiveness of a score against scikit-learn and scipy, and where it is not defined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from leakmeter.membership.effectiveness import balanced_attack_accuracy, score_effectiveness
from leakmeter.runtime import UserError


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.floats(0.1, 0.9))
def test_equals_scikit_learn(seed, rate):
    rng = np.random.default_rng(seed)
    found = rng.random(50) < rate
    found[:2] = True, False
    scores = rng.integers(-4, 5, 50) / 4
    scores[:2] = 1, -1
    got = score_effectiveness(scores, found, threshold=0)
    flagged = scores > 0
    assert got.precision == pytest.approx(precision_score(found, flagged))
    assert got.recall == pytest.approx(recall_score(found, flagged))
    assert got.f1 == pytest.approx(f1_score(found, flagged))
    assert got.balanced_accuracy == pytest.approx(balanced_accuracy_score(found, flagged))
    assert got.auc == pytest.approx(roc_auc_score(found, scores))
    assert got.spearman == pytest.approx(spearmanr(scores, found).statistic)
    constant = np.ones(50, bool)
    assert got.baseline_precision == pytest.approx(found.mean()) == got.attack_positive_rate
    assert got.baseline_recall == 1
    assert got.baseline_f1 == pytest.approx(f1_score(found, constant))
    assert got.baseline_balanced_accuracy == 0.5
    assert got.score_positive_rate == flagged.mean()


def test_a_constant_score_meets_the_baseline_and_shows_it():
    found = np.arange(100) < 95
    got = score_effectiveness(np.ones(100), found, threshold=0)
    assert (got.precision, got.f1) == (got.baseline_precision, got.baseline_f1)
    assert got.f1 > 0.97
    assert got.auc == 0.5
    assert math.isnan(got.spearman)


def test_the_attacks_statistic_ranks_within_its_decisions():
    statistic = np.array([0.1, 0.2, 0.8, 0.9])
    got = score_effectiveness(
        [1.0, 2.0, 3.0, 4.0], statistic > 0.5, threshold=0, attack_statistic=statistic
    )
    assert got.spearman == pytest.approx(1.0)
    plain = score_effectiveness([1.0, 2.0, 3.0, 4.0], statistic > 0.5, threshold=0)
    assert plain.spearman < 1


def test_the_threshold_itself_is_not_above():
    assert score_effectiveness([0.0, 0.1], [1, 1], threshold=0).recall == 0.5


def test_undefined_quantities_are_nan():
    nothing_found = score_effectiveness([1.0, -1.0], [0, 0], threshold=0)
    assert nothing_found.precision == 0
    assert all(map(math.isnan, (nothing_found.recall, nothing_found.auc, nothing_found.spearman)))
    nothing_flagged = score_effectiveness([-1.0, -2.0], [1, 0], threshold=0)
    assert math.isnan(nothing_flagged.precision)
    assert nothing_flagged.recall == nothing_flagged.f1 == 0
    all_found = score_effectiveness([1.0, -1.0], [1, 1], threshold=0)
    assert math.isnan(all_found.balanced_accuracy)
    assert math.isnan(all_found.baseline_balanced_accuracy)


def test_balanced_attack_accuracy():
    assert balanced_attack_accuracy([1, 1, 1, 0], [1, 0]) == pytest.approx(0.5 * (0.75 + 0.5))
    assert balanced_attack_accuracy([True] * 9, [True] * 2) == 0.5
    with pytest.raises(ValueError, match="nonmember_decisions has shape"):
        balanced_attack_accuracy([1], [])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"scores": [np.nan, 0.0]}, UserError, r"scores\[0\] is nan"),
        ({"attack_members": [0, 3]}, UserError, "attack_members holds other values"),
        ({"threshold": math.nan}, UserError, "threshold is nan; expected a number"),
        ({"threshold": "0"}, UserError, "threshold is '0'"),
        ({"attack_statistic": [np.nan, 0.0]}, UserError, r"attack_statistic\[0\] is nan"),
        ({"attack_members": [0]}, ValueError, r"attack_members has shape \(1,\)"),
        ({"attack_statistic": [0.0]}, ValueError, "attack_statistic has shape"),
    ],
)
def test_bad_input_is_one_clear_error(change, error, message):
    good = {"scores": [0.0, 1.0], "attack_members": [0, 1], "threshold": 0.0}
    with pytest.raises(error, match=message):
        score_effectiveness(**(good | change))
