"""Unranking is a bijection onto the enumeration; sampling is uniform and repeatable."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from leakmeter.labelings.aucs import AucInterval
from leakmeter.labelings.counting import count
from leakmeter.labelings.enumeration import enumerate_labelings
from leakmeter.labelings.guesses import exact_auc
from leakmeter.labelings.sampling import random_below, sample_labelings, unrank
from leakmeter.runtime import UserError


@settings(deadline=None, max_examples=40)
@given(n0=st.integers(1, 7), n1=st.integers(1, 7), data=st.data())
def test_unranking_is_a_bijection_in_order(n0, n1, data):
    d = data.draw(st.integers(0, n0 * n1))
    total = count(n0, n1, d)
    words = [row.tobytes() for row in unrank(n0, n1, d, range(total))]
    # A one comes before a zero.
    assert words == sorted(set(words), reverse=True)
    pairs = n0 * n1
    expected = enumerate_labelings(np.arange(n0 + n1), 1 - Fraction(d, pairs), n1)
    assert set(words) == {row.tobytes() for row in expected}


def test_unranking_does_not_depend_on_the_batch():
    total = count(40, 35, 400)
    numbers = [0, 1, total // 3, total // 2, total - 1]
    together = unrank(40, 35, 400, numbers)
    alone = np.concatenate([unrank(40, 35, 400, [number]) for number in numbers])
    assert np.array_equal(together, alone)
    assert unrank(40, 35, 400, []).shape == (0, 75)


def test_unranking_refuses_numbers_out_of_range():
    with pytest.raises(ValueError, match="expected integers"):
        unrank(2, 2, 1, [1])


def test_uniform_over_the_enumeration():
    guesses = np.random.default_rng(3).permutation(9).astype(float)
    interval = AucInterval(Fraction(8, 10), Fraction(82, 100))
    support = [row.tobytes() for row in enumerate_labelings(guesses, interval)]
    draws = sample_labelings(guesses, interval, 4000, np.random.default_rng(5))
    tally = Counter(row.tobytes() for row in draws)
    assert set(tally) <= set(support)
    assert chisquare([tally[row] for row in support]).pvalue > 1e-3


def test_large_draws_have_the_auc_and_repeat():
    guesses = np.random.default_rng(0).normal(size=120)
    auc = Fraction(77, 100)
    draws = sample_labelings(guesses, auc, 5, np.random.default_rng(1), 40)
    order = np.argsort(guesses)
    assert {exact_auc(row, order) for row in draws} == {auc}
    assert (draws.sum(axis=1) == 40).all()
    again = sample_labelings(guesses, auc, 5, np.random.default_rng(1), 40)
    assert np.array_equal(draws, again)
    assert len({row.tobytes() for row in draws}) == 5


@pytest.mark.parametrize("bound", [1, 2, 255, 256, 257, 2**200 + 1])
def test_random_below(bound):
    rng = np.random.default_rng(0)
    values = [random_below(bound, rng) for _ in range(600)]
    assert 0 <= min(values) <= max(values) < bound
    if bound <= 2:
        assert set(values) == set(range(bound))
    assert sum(values) / 600 == pytest.approx((bound - 1) / 2, rel=0.1)


def test_refuses_an_impossible_auc():
    with pytest.raises(UserError, match="no labeling"):
        sample_labelings(np.arange(5.0), Fraction(1, 7), 3, np.random.default_rng(0))
