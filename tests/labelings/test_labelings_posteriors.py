"""Posterior of the labels: equal to enumeration, consistent at any size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from leakmeter.labelings.aucs import AucInterval, rounded_auc
from leakmeter.labelings.counting import count, count_for_auc
from leakmeter.labelings.posteriors import (
    improvement_row,
    label_posterior,
    ones_by_rank,
    posterior,
    posterior_rows,
)
from leakmeter.runtime import UserError


def _agreeing(brute_force, n, low, high, n1=None):
    labelings, ones, misranked = brute_force(n)
    keep = [
        low <= 1 - Fraction(d, k * (n - k)) <= high and n1 in (None, k)
        for k, d in zip(ones.tolist(), misranked.tolist(), strict=True)
    ]
    return labelings[keep]


@pytest.mark.parametrize("n", range(2, 13))
def test_equals_enumeration(brute_force, n):
    """Every AUC of every n <= 12, exactly."""
    labelings, ones, misranked = brute_force(n)
    pairs = ones * (n - ones)
    by_auc: dict[Fraction, list[int]] = {}
    for row, (m, d) in enumerate(zip(pairs.tolist(), misranked.tolist(), strict=True)):
        by_auc.setdefault(1 - Fraction(d, m), []).append(row)
    for auc, rows in by_auc.items():
        result = label_posterior(n, auc)
        assert result.total == len(rows)
        assert result.counts() == labelings[rows].sum(axis=0, dtype=int).tolist()


@pytest.mark.parametrize(("low", "high", "n1"), [("0.6", "0.8", None), ("0.2", "0.45", 4)])
def test_intervals_equal_enumeration(brute_force, low, high, n1):
    low, high = Fraction(low), Fraction(high)
    rows = _agreeing(brute_force, 11, low, high, n1)
    result = label_posterior(11, AucInterval(low, high), n1)
    assert result.total == len(rows)
    assert result.counts() == rows.sum(axis=0, dtype=int).tolist()


@settings(deadline=None)
@given(n0=st.integers(1, 22), n1=st.integers(1, 22), data=st.data())
def test_first_ranks_have_a_closed_form(n0, n1, data):
    """Lowest record a one: it is misranked with every zero. Highest a one: with none."""
    d = data.draw(st.integers(0, n0 * n1))
    ones = ones_by_rank(n0, n1, d, d)
    assert ones[0] == count(n0, n1 - 1, d - n0)
    assert ones[-1] == count(n0, n1 - 1, d)
    assert sum(ones) == n1 * count(n0, n1, d)


@settings(deadline=None)
@given(n0=st.integers(1, 20), n1=st.integers(1, 20), data=st.data())
def test_symmetries_and_additivity(n0, n1, data):
    low = data.draw(st.integers(0, n0 * n1))
    high = data.draw(st.integers(low, min(n0 * n1, low + 30)))
    ones = ones_by_rank(n0, n1, low, high)
    total = sum(count(n0, n1, d) for d in range(low, high + 1))
    # Exchanging the classes and reversing the ranking keeps d.
    assert [total - x for x in reversed(ones)] == ones_by_rank(n1, n0, low, high)
    # Reversing the ranking turns d into n0 n1 - d.
    assert ones[::-1] == ones_by_rank(n0, n1, n0 * n1 - high, n0 * n1 - low)
    single = [ones_by_rank(n0, n1, d, d) for d in range(low, high + 1)]
    assert ones == [sum(column) for column in zip(*single, strict=True)]


def test_two_hundred_records():
    """AUC 0.77, n = 200: the invariants that hold exactly at any size."""
    n, auc = 200, Fraction(77, 100)
    result = label_posterior(n, auc)
    assert result.total == count_for_auc(n, auc)
    assert sum(result.counts()) == sum(k * v for k, v in result.totals.items())
    for n1, ones in result.ones.items():
        assert sum(ones) == n1 * result.totals[n1]
        # The mean misranked pairs over the labelings of a class size is d itself.
        rank_sum = sum(rank * value for rank, value in enumerate(ones))
        lowest = n1 * (n1 - 1) // 2 * result.totals[n1]
        assert Fraction(rank_sum - lowest, n1 * (n - n1) * result.totals[n1]) == auc
    assert result.expected_auc(list(range(n))) == auc
    p = result.probabilities()
    assert ((p > 0) & (p < 1)).all()
    # Class sizes enter both ways round, so the mean label is one half.
    assert p.mean() == pytest.approx(0.5, abs=1e-12)


def test_posterior_is_in_the_order_of_the_guesses():
    guesses = np.array([0.2, 0.5, 0.9, 0.1])
    assert posterior(guesses, Fraction(3, 4)).tolist() == [1.0, 0.0, 1.0, 0.0]
    shuffled = np.random.default_rng(0).permutation(20)
    by_rank = label_posterior(20, rounded_auc("0.8")).probabilities()
    assert np.array_equal(posterior(shuffled, rounded_auc("0.8")), by_rank[shuffled])


@pytest.mark.parametrize("auc", [Fraction(3, 4), Fraction(3, 5), Fraction(13, 21), Fraction(1, 4)])
def test_expected_auc_of_a_re_ranking(brute_force, auc):
    """Mean of scikit-learn's AUC over all labelings that agree."""
    n = 10
    rows = _agreeing(brute_force, n, auc, auc)
    result = label_posterior(n, auc)
    best = result.best_ranking()
    for ranking in (best, list(range(n)), np.random.default_rng(1).permutation(n).tolist()):
        scores = np.empty(n)
        scores[ranking] = np.arange(n)
        mean = np.mean([roc_auc_score(row, scores) for row in rows])
        assert float(result.expected_auc(ranking)) == pytest.approx(mean, abs=1e-12)
        assert result.expected_auc(best) >= result.expected_auc(ranking)


def test_one_auc_can_improve_the_ranking():
    """In the paper's example the posterior is the truth; at 1 - c the best order is reversed."""
    result = label_posterior(4, Fraction(3, 4))
    assert result.expected_auc(result.best_ranking()) == 1
    low = label_posterior(60, Fraction(3, 10))
    assert low.best_ranking() == list(range(60))[::-1]
    assert low.expected_auc(low.best_ranking()) == Fraction(7, 10)


def test_accuracy_and_log_loss(brute_force):
    auc = Fraction(3, 5)
    rows = _agreeing(brute_force, 9, auc, auc)
    share = rows.mean(axis=0)
    row = improvement_row(9, auc)
    assert row["expected_accuracy"] == pytest.approx(np.maximum(share, 1 - share).mean())
    inner = share[(share > 0) & (share < 1)]
    entropy = -(inner * np.log(inner) + (1 - inner) * np.log(1 - inner)).sum() / 9
    assert row["expected_log_loss"] == pytest.approx(entropy)
    assert row["expected_auc"] == pytest.approx(0.6)
    assert row["expected_auc_improved"] >= row["expected_auc"]


def test_rows():
    rows = posterior_rows(4, Fraction(3, 4))
    assert [(row["rank"], row["labelings_with_one"], row["total"]) for row in rows] == [
        (1, 0, 1),
        (2, 1, 1),
        (3, 0, 1),
        (4, 1, 1),
    ]


def test_refuses():
    with pytest.raises(UserError, match="no labeling of 5 records and 2 ones"):
        label_posterior(5, Fraction(1, 7), 2)
    with pytest.raises(ValueError, match="both classes"):
        ones_by_rank(3, 0, 0, 0)
    with pytest.raises(ValueError, match="permutation"):
        label_posterior(4, Fraction(3, 4)).expected_auc([0, 1, 2, 2])
