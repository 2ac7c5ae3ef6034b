"""ROC and TPR at low FPR against scikit-learn's curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from leakmeter.membership.attack_roc import roc, tpr_at_fpr
from leakmeter.runtime import UserError


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.001, 0.05, 0.29, 0.5, 1.0]), st.booleans())
def test_is_the_highest_point_of_the_curve_within_the_rate(seed, max_fpr, ties):
    rng = np.random.default_rng(seed)
    members = rng.permutation(np.arange(60) < rng.integers(1, 60))
    scores = rng.integers(0, 12, 60) if ties else rng.normal(size=60)
    curve, point = roc(scores, members), tpr_at_fpr(scores, members, max_fpr)
    assert point.tpr == pytest.approx(curve.tpr[curve.fpr <= max_fpr + 1e-12].max())
    assert point.fpr <= max_fpr + 1e-12
    called = scores >= point.threshold
    assert (called & members).sum() == point.true_positives
    assert (called & ~members).sum() == point.false_positives
    assert curve.auc == pytest.approx(roc_auc_score(members, scores))


def test_counts_behind_the_rate():
    scores, members = np.arange(110.0), np.arange(110) >= 10
    members[105] = False
    point = tpr_at_fpr(scores, members, 0.1)
    assert (point.members, point.nonmembers, point.allowed) == (99, 11, 1)
    assert (point.true_positives, point.false_positives) == (99, 1)
    assert point.resolved
    strict = tpr_at_fpr(scores, members, 0.01)
    assert (strict.true_positives, strict.false_positives, strict.resolved) == (4, 0, False)


def test_a_rate_that_is_a_whole_number_of_records_despite_rounding():
    assert 0.29 * 100 < 29
    scores, members = np.arange(101.0), np.arange(101) == 0
    assert tpr_at_fpr(scores, members, 0.29).allowed == 29


def test_nothing_caught():
    point = tpr_at_fpr([1.0, 1.0], [True, False], 0.0)
    assert (point.tpr, point.threshold) == (0.0, math.inf)


@pytest.mark.parametrize("function", [roc, lambda s, m: tpr_at_fpr(s, m, 0.1)])
@pytest.mark.parametrize(
    ("scores", "members", "message"),
    [
        ([0.0, np.nan], [1, 0], r"scores\[1\] is nan"),
        ([0.0, np.inf], [1, 0], r"scores\[1\] is inf"),
        ([0.0, 1.0], [1, 1], "the records are all members; expected both"),
        ([0.0, 1.0], [1, 2], "members holds other values"),
    ],
)
def test_bad_input_is_one_clear_error(function, scores, members, message):
    with pytest.raises(UserError, match=message):
        function(scores, members)


def test_rate_out_of_range():
    with pytest.raises(UserError, match="max_fpr is 1.5"):
        tpr_at_fpr([0.0, 1.0], [0, 1], 1.5)
