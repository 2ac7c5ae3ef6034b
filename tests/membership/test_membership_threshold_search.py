"""The sort-based search against trying every observed value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from leakmeter.membership.threshold_search import best_threshold
from leakmeter.runtime import UserError

values = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=25)


def accuracy(inside, outside, threshold, member_if):
    both = np.concatenate((inside, outside))
    called = both <= threshold if member_if == "low" else both >= threshold
    return 0.5 * (called[: len(inside)].mean() + 1 - called[len(inside) :].mean())


@given(values, values, st.sampled_from(["low", "high"]))
def test_reaches_the_optimum_over_all_observed_values(inside, outside, member_if):
    found = best_threshold(inside, outside, member_if=member_if)
    tried = [accuracy(inside, outside, t, member_if) for t in inside + outside]
    assert found.balanced_accuracy == pytest.approx(max(tried), abs=1e-12)
    assert accuracy(inside, outside, found.value, member_if) == pytest.approx(max(tried), abs=1e-12)
    assert found.value in inside + outside


def test_accuracy_is_that_of_scikit_learn():
    inside, outside = [0.1, 0.3, 0.3, 0.9], [0.3, 0.8, 1.0]
    found = best_threshold(inside, outside, member_if="low")
    called = np.array(inside + outside) <= found.value
    expected = balanced_accuracy_score([1, 1, 1, 1, 0, 0, 0], called)
    assert found.balanced_accuracy == pytest.approx(expected)


@given(values, values)
def test_order_of_the_records_does_not_matter(inside, outside):
    one = best_threshold(inside, outside, member_if="low")
    assert one == best_threshold(inside[::-1], sorted(outside), member_if="low")


@given(values, values)
def test_low_and_high_mirror_each_other(inside, outside):
    low = best_threshold(inside, outside, member_if="low")
    high = best_threshold(-np.array(inside), -np.array(outside), member_if="high")
    assert (low.value, low.balanced_accuracy) == (-high.value, high.balanced_accuracy)


def test_of_equal_optima_the_fewest_members():
    assert best_threshold([1.0, 3.0], [2.0, 4.0], member_if="low").value == 1.0


def test_infinities_are_values_and_nan_is_not():
    assert best_threshold([0.0, -np.inf], [np.inf], member_if="low").balanced_accuracy == 1.0
    with pytest.raises(UserError, match=r"nonmember_values\[1\] is nan"):
        best_threshold([0.0], [1.0, np.nan], member_if="low")
    with pytest.raises(UserError, match="member_if is 'up'"):
        best_threshold([0.0], [1.0], member_if="up")
    with pytest.raises(ValueError, match="member_values has shape"):
        best_threshold([], [1.0], member_if="low")
