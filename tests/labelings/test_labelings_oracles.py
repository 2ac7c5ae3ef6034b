"""The oracle counts, rounds and refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leakmeter.labelings.oracles import Oracle
from leakmeter.runtime import UserError


def test_answers_and_counts():
    oracle = Oracle(np.array([1, 0, 1, 0]))
    assert oracle.query(np.array([0.2, 0.5, 0.9, 0.1])) == Fraction(3, 4)
    assert oracle.query_order([3, 1, 0, 2]) == 1
    assert oracle.queries == 2
    assert oracle.n == 4
    assert oracle.half_width == 0


def test_rounds_within_half_a_unit():
    labels = np.array([1, 0, 0, 1, 0, 0, 1])
    exact, rounded = Oracle(labels), Oracle(labels, decimals=2)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(7)
        a, b = exact.query_order(order), rounded.query_order(order)
        assert abs(a - b) <= rounded.half_width == Fraction(1, 200)
        assert (b * 100).denominator == 1


def test_refuses_without_counting():
    oracle = Oracle(np.array([0, 1, 1]))
    with pytest.raises(UserError, match="exactly once"):
        oracle.query_order([0, 1, 1])
    with pytest.raises(UserError, match="both 0.5"):
        oracle.query(np.array([0.5, 0.5, 0.1]))
    assert oracle.queries == 0
    with pytest.raises(UserError, match="both classes"):
        Oracle(np.ones(3))
    with pytest.raises(UserError, match="decimals=0"):
        Oracle(np.array([0, 1]), decimals=0)
