"""Scores against audits of single records: tallies, correlations and what noise leaves of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.crossings.record_risks import (
    advantage,
    attack_decisions,
    attainable,
    coin_flip_level,
    epsilons,
    group_tallies,
    mean_confidence,
    mean_shapr,
    rank_correlation,
    record_tallies,
    score_groups,
)
from leakmeter.membership.experiments.assessment import Target


def _members(models, n, seed=0):
    """Complementary halves."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(models // 2):
        half = rng.permutation(n) < n // 2
        rows += [half, ~half]
    return np.array(rows)


def _models(members, strength, seed=0):
    """Two-class logits whose margin for the true class 0 grows by ``strength`` for members."""
    noise = np.random.default_rng(seed).normal(size=members.shape)
    logits = np.zeros((*members.shape, 2))
    logits[..., 0] = noise + members * strength
    return logits


def test_tallies_by_hand():
    members = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], bool)
    decisions = np.array([[1, 0], [0, 1], [1, 1], [0, 1]], bool)
    tally = record_tallies(decisions, members)
    assert {k: v.tolist() for k, v in tally.items()} == {
        "fn": [1, 0],
        "tp": [1, 2],
        "fp": [1, 1],
        "tn": [1, 1],
    }
    np.testing.assert_allclose(advantage(tally), [0.0, 0.5])
    summed = group_tallies(tally, np.array([0, 0]))
    assert {k: v.tolist() for k, v in summed.items()} == {
        "fn": [1],
        "tp": [3],
        "fp": [2],
        "tn": [2],
    }


def test_epsilons_are_those_of_the_estimator():
    tally = {"fn": np.array([2]), "tp": np.array([22]), "fp": np.array([5]), "tn": np.array([19])}
    found = epsilons(tally, delta=1e-5, alpha=0.1)
    low, high = epsilon_interval(fn=2, tp=22, fp=5, tn=19, delta=1e-5, alpha=0.1)
    assert (found["low"][0], found["high"][0]) == pytest.approx((low, high))
    assert low < found["median"][0] < high


def test_records_with_a_stronger_signal_have_a_larger_epsilon():
    """A planted signal per record is found again, by record and by group."""
    n = 120
    members = _members(60, n)
    strength = np.linspace(0.0, 4.0, n)
    decisions = attack_decisions(
        _models(members, strength), np.zeros(n, int), members, variance="per-example"
    )
    tally = record_tallies(decisions, members)
    found = epsilons(tally, delta=1e-5, alpha=0.1)["median"]
    assert rank_correlation(strength, found, alpha=0.05).low > 0.6
    by_group = epsilons(group_tallies(tally, score_groups(strength, 4)), delta=1e-5, alpha=0.1)[
        "median"
    ]
    assert (np.diff(by_group) > 0).all()


def test_no_signal_no_epsilon():
    """Without a signal the advantage is 0 on average and the group's interval reaches 0."""
    members = _members(40, 100, seed=3)
    decisions = attack_decisions(
        _models(members, 0.0, seed=4), np.zeros(100, int), members, variance="fixed"
    )
    tally = record_tallies(decisions, members)
    assert abs(advantage(tally).mean()) < 0.06
    whole = group_tallies(tally, np.zeros(100, int))
    assert epsilons(whole, delta=1e-5, alpha=0.05)["low"][0] < 0.1


def test_level_of_a_coin_flip():
    """Of 4000 simulated guesses about 5 % exceed it (the law is discrete: at most)."""
    half = {"fn": np.array([12]), "tp": np.array([12]), "fp": np.array([12]), "tn": np.array([12])}
    level = coin_flip_level(half, delta=1e-5, alpha=0.05)
    rng = np.random.default_rng(0)
    fn, fp = rng.binomial(24, 0.5, 4000), rng.binomial(24, 0.5, 4000)
    guesses = {"fn": fn, "tp": 24 - fn, "fp": fp, "tn": 24 - fp}
    beyond = (epsilons(guesses, delta=1e-5, alpha=0.05)["low"] > level).mean()
    assert 0.01 < beyond < 0.065


def test_groups_are_even_and_ordered():
    scores = np.random.default_rng(0).normal(size=103)
    group = score_groups(scores, 5)
    assert np.bincount(group).tolist() in (
        [21, 21, 20, 21, 20],
        [21, 21, 21, 20, 20],
        [21, 20, 21, 20, 21],
    )
    for g in range(4):
        assert scores[group == g].max() < scores[group == g + 1].min()
    # equal scores still fill all groups
    assert np.bincount(score_groups(np.zeros(10), 5)).tolist() == [2] * 5


def test_means_over_the_models_that_hold_a_record():
    n = 20
    labels = np.arange(n) % 2
    members = _members(4, n, seed=1)
    logits = np.random.default_rng(2).normal(size=(4, n, 2))
    expected = np.zeros(n)
    for model in range(4):
        expected[members[model]] += Target(logits[model], labels, members[model]).shapr(k=3)
    np.testing.assert_allclose(
        mean_shapr(logits, labels, members, k=3), expected / members.sum(axis=0)
    )
    margin = np.where(labels == 0, 1, -1) * (logits[..., 0] - logits[..., 1])
    record = 7
    for inside in (True, False):
        chosen = members[:, record] == inside
        found = mean_confidence(logits, labels, members, inside=inside)[record]
        assert found == pytest.approx(margin[chosen, record].mean())


def test_interval_of_the_correlation_covers():
    """Bivariate normal pairs of known rho_s; 300 samples of 60, level 90 %: 270 +- 16 (3 sigma)."""
    r = 0.5
    truth = 6 / math.pi * math.asin(r / 2)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        x = rng.normal(size=60)
        y = r * x + math.sqrt(1 - r**2) * rng.normal(size=60)
        found = rank_correlation(x, y, alpha=0.1)
        held += found.low <= truth <= found.high
    assert 254 <= held <= 286


def test_level_of_chance():
    rng = np.random.default_rng(1)
    beyond = 0
    for _ in range(400):
        found = rank_correlation(rng.normal(size=50), rng.normal(size=50), alpha=0.1)
        beyond += abs(found.rho) > found.chance
    assert 22 <= beyond <= 58  # 40 +- 3 sigma
    assert math.isnan(rank_correlation(np.zeros(9), np.arange(9), alpha=0.1).rho)


def test_partial_correlation_is_that_of_the_ranks_residuals():
    rng = np.random.default_rng(4)
    z = rng.normal(size=80)
    x, y = z + rng.normal(size=80), np.exp(-z + rng.normal(size=80))
    ranks = [stats.rankdata(side) for side in (x, y, z)]
    design = np.column_stack([np.ones(80), ranks[2]])
    left = [r - design @ np.linalg.lstsq(design, r, rcond=None)[0] for r in ranks[:2]]
    found = rank_correlation(x, y, alpha=0.1, given=z)
    assert found.rho == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-12)
    assert found.low < found.rho < found.high
    # a third value that says nothing changes little, one that says all leaves nothing
    assert rank_correlation(x, y, alpha=0.1, given=np.zeros(80)) == rank_correlation(
        x, y, alpha=0.1
    )
    assert math.isnan(rank_correlation(x, y, alpha=0.1, given=x).rho)


def test_common_cause_is_taken_out():
    """x and y depend on z alone: rho is large, the partial rho is within chance at its level."""
    rng = np.random.default_rng(6)
    beyond = 0
    for _ in range(400):
        z = rng.normal(size=50)
        x, y = z + rng.normal(size=50), z + rng.normal(size=50)
        found = rank_correlation(x, y, alpha=0.1, given=z)
        beyond += abs(found.rho) > found.chance
    assert 22 <= beyond <= 58  # 40 +- 3 sigma


def test_attainable_correlation_of_a_noisy_measure():
    """truth + noise halved: corr(truth, mean of the halves) is what the formula says."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=4000)
    first, second = (truth + rng.normal(size=4000) for _ in range(2))
    expected = stats.spearmanr(truth, first + second).statistic
    assert attainable(first, second) == pytest.approx(expected, abs=0.03)
    assert attainable(truth, -truth) == 0.0
