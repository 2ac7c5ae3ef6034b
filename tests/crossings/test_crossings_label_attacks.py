"""Attacks on released AUCs: exact answers give everything, noise takes it away within its bound."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leakmeter.crossings.auc_releases import (
    ExactRelease,
    HistogramRelease,
    LaplaceRelease,
    ResponseRelease,
    exact_answers,
    ranking_counts,
)
from leakmeter.crossings.label_attacks import (
    ATTACKS,
    Rule,
    attack_labels,
    bayes_bound,
    pair_orders,
    rank_posterior,
    ranking_statistics,
)
from leakmeter.crossings.label_games import CURVE, uniform_thresholds
from leakmeter.dpauc.counting import count
from leakmeter.dpauc.randomized import flip_labels
from leakmeter.dpauc.roc import auc_from_counts
from leakmeter.labelings.attacks import pair_attack
from leakmeter.labelings.guesses import exact_auc
from leakmeter.labelings.oracles import Oracle
from leakmeter.labelings.posteriors import label_posterior
from leakmeter.runtime import UserError, derive_seed


def _labels(n, ones, seed=0):
    return np.random.default_rng(seed).permutation(np.repeat([1, 0], [ones, n - ones]))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 30), thresholds=st.integers(1, 12))
def test_counts_of_rankings_are_those_of_the_dpauc_room(seed, n, thresholds):
    labels = _labels(n, 2, seed)
    grid = uniform_thresholds(thresholds)
    orders = np.array([np.random.default_rng(seed + i).permutation(n) for i in range(3)])
    batch = ranking_counts(labels[orders], grid)
    for row, order in enumerate(orders):
        scores = np.empty(n)
        scores[order] = (np.arange(n) + 0.5) / n
        one = count(scores, labels, grid)
        np.testing.assert_array_equal(batch.stacked()[row], one.stacked())


def test_exact_answers_are_those_of_the_labelings_room():
    labels = _labels(11, 4)
    orders = np.array([np.random.default_rng(i).permutation(11) for i in range(20)])
    expected = [float(exact_auc(labels, order)) for order in orders]
    np.testing.assert_allclose(exact_answers(labels[orders]), expected, rtol=0, atol=1e-15)


def test_releases_tend_to_the_exact_answer():
    labels = _labels(20, 8)
    orders = np.random.default_rng(0).permutation(20)[None].repeat(400, axis=0)
    exact = exact_answers(labels[orders])[0]
    for flip in ("once", "per-repeat"):
        answers = ResponseRelease(30.0, flip).answers(labels, orders, 1)
        np.testing.assert_allclose(answers, exact, atol=1e-9)
    scores = np.empty(20)
    scores[orders[0]] = (np.arange(20) + 0.5) / 20
    grid = uniform_thresholds(7)
    noiseless = auc_from_counts(count(scores, labels, grid), CURVE)
    answers = HistogramRelease(60.0, 7).answers(labels, orders, 1)
    np.testing.assert_allclose(answers, noiseless, atol=1e-9)
    answers = LaplaceRelease(1e7, 7).answers(labels, orders, 1)
    np.testing.assert_allclose(answers, noiseless, atol=1e-4)


def test_response_flipped_once_keeps_its_labels():
    labels = _labels(20, 8)
    orders = np.tile(np.arange(20), (5, 1))
    assert len(np.unique(ResponseRelease(1.0, "once").answers(labels, orders, 3))) == 1
    afresh = ResponseRelease(1.0, "once").afresh()
    assert afresh == ResponseRelease(1.0, "per-repeat")
    assert len(np.unique(afresh.answers(labels, orders, 3))) > 1


def test_response_answers_with_the_flips_alone():
    """Labels that differ in one: the same answers are possible, with chances within e^epsilon."""
    orders = np.tile(np.arange(6), (40_000, 1))
    release = ResponseRelease(0.1, "per-repeat")
    shares = []
    for seed, labels in enumerate(([0, 0, 1, 0, 1, 0], [0, 0, 1, 1, 1, 0])):
        values, counts = np.unique(
            np.round(release.answers(np.array(labels), orders, seed), 9), return_counts=True
        )
        shares.append(dict(zip(values, counts / len(orders), strict=True)))
    assert shares[0].keys() == shares[1].keys()
    for one, other in (shares, shares[::-1]):
        for value, share in one.items():
            # 5 sigma of the difference of two shares
            slack = 5 * math.sqrt(2.3 * share / len(orders))
            assert share <= math.exp(0.1) * other[value] + slack


@pytest.mark.parametrize("seed", range(10))
def test_response_answers_keep_the_order_of_the_flipped_labels(seed):
    """Also where the flips suggest a base rate outside [0, 1], which would invert the answers."""
    labels = _labels(12, 6)
    orders = np.random.default_rng(seed).permuted(np.tile(np.arange(12), (50, 1)), axis=1)
    flips = flip_labels(labels == 1, 0.2, np.random.default_rng(derive_seed(seed, "flips")))
    noisy = exact_answers(flips[orders])
    answers = ResponseRelease(0.2, "once").answers(labels, orders, seed)
    slope = np.polyfit(noisy, answers, 1)[0]
    assert slope > 1
    np.testing.assert_allclose(answers - 0.5, slope * (noisy - 0.5), atol=1e-9)


def test_costs():
    assert LaplaceRelease(2.0, 5).cost(1, 1e-5) <= 2.0
    assert LaplaceRelease(0.01, 5).cost(100, 1e-5) < 1.0
    assert HistogramRelease(2.0, 5).cost(1, 0.0) == pytest.approx(2.0)
    assert HistogramRelease(0.01, 5).cost(100, 1e-5) < 0.5
    assert ResponseRelease(0.7, "once").cost(1000, 0.0) == pytest.approx(0.7)
    assert ResponseRelease(0.7, "per-repeat").cost(10, 0.0) == pytest.approx(7.0)
    assert math.isinf(ExactRelease().cost(1, 0.0))


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("seed", range(5))
def test_exact_answers_give_all_labels(attack, seed):
    labels = _labels(25, 9, seed)
    found, answers = attack_labels(ExactRelease(), labels, attack, submissions=60, seed=seed)
    np.testing.assert_array_equal(found, labels)
    assert answers == (50 if attack == "pairs" else 60)


def test_pairs_are_those_of_the_exact_attack():
    """The same rankings, in the same order, as the labelings room submits."""
    labels = _labels(9, 4)
    seen = []

    class Spy(Oracle):
        def query_order(self, order):
            seen.append(np.asarray(order).tolist())
            return super().query_order(order)

    pair_attack(Spy(labels), stop_early=False)
    above, below = pair_orders(9)
    assert seen[::2] == above.tolist()
    assert seen[1::2] == below.tolist()


def test_rankings_estimate_the_labels_without_bias():
    """With exact answers the least-squares solution is the labels less their mean."""
    labels = _labels(15, 6)
    found = ranking_statistics(ExactRelease(), labels, 1, submissions=40)
    np.testing.assert_allclose(found, labels - labels.mean(), atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_attack_beats_the_bound_of_randomised_response(epsilon):
    """Mean over 60 runs of 30 labels, 5 sigma of a binomial share; pairs reach e^eps/(1+e^eps)."""
    release = ResponseRelease(epsilon, "once")
    right = []
    for seed in range(60):
        labels = _labels(30, 15, seed)
        found, _ = attack_labels(release, labels, "rankings", submissions=60, seed=seed)
        right.append((found == labels).mean())
    bound = bayes_bound(release.cost(60, 0.0), 0.5)
    # The class sizes are known to the attack: it may gain a little over the bound of one label.
    assert np.mean(right) <= bound + 5 * math.sqrt(0.25 / 1800) + 0.01
    assert np.mean(right) >= bound - 0.06


def test_strong_noise_leaves_the_base_rate():
    right = []
    for seed in range(20):
        labels = _labels(30, 20, seed)
        found, _ = attack_labels(LaplaceRelease(0.01, 5), labels, "pairs", submissions=1, seed=seed)
        right.append((found == labels).mean())
    assert abs(np.mean(right) - 20 / 30) < 0.08


def test_rankings_need_less_than_pairs():
    """At equal noise and as many answers, least squares gets more labels."""
    release = LaplaceRelease(6.0, 5)
    shares = {}
    for attack in ATTACKS:
        runs = [
            (attack_labels(release, y, attack, submissions=80, seed=s)[0] == y).mean()
            for s, y in ((s, _labels(40, 20, s)) for s in range(8))
        ]
        shares[attack] = np.mean(runs)
    assert shares["rankings"] > shares["pairs"] + 0.05


def test_rule_weighs_prior_and_evidence():
    rule = Rule(one=1.0, zero=0.0, variance=1.0, base_rate=0.5)
    assert rule.labels(np.array([0.49, 0.51])).tolist() == [0, 1]
    # log(0.9 / 0.1) = 2.2 at unit variance moves the cut from 0.5 to -1.7
    shifted = Rule(one=1.0, zero=0.0, variance=1.0, base_rate=0.9)
    assert shifted.labels(np.array([-1.75, -1.65])).tolist() == [0, 1]
    # a statistic that falls with the label
    falling = Rule(one=0.0, zero=1.0, variance=0.0, base_rate=0.5)
    assert falling.labels(np.array([0.2, 0.8])).tolist() == [1, 0]


@pytest.mark.parametrize(("n0", "n1"), [(3, 4), (5, 2), (4, 4)])
@pytest.mark.parametrize(("answer", "spread"), [(0.7, 0.1), (1.3, 0.4), (0.2, 0.05)])
def test_posterior_by_brute_force(n0, n1, answer, spread):
    """All labelings weighted by the Gaussian likelihood of their AUC."""
    total, ones = 0.0, np.zeros(n0 + n1)
    for chosen in itertools.combinations(range(n0 + n1), n1):
        labels = np.zeros(n0 + n1, np.uint8)
        labels[list(chosen)] = 1
        auc = float(exact_auc(labels, np.arange(n0 + n1)))
        weight = math.exp(-0.5 * ((answer - auc) / spread) ** 2)
        total += weight
        ones += weight * labels
    np.testing.assert_allclose(rank_posterior(n0, n1, answer, spread), ones / total, rtol=1e-9)


def test_posterior_without_noise_is_the_exact_one():
    exact = label_posterior(9, Fraction(15, 20), 4).probabilities()
    np.testing.assert_allclose(rank_posterior(5, 4, 0.75, 0.0), exact, rtol=1e-12)


def test_bound_by_the_corners_of_the_region():
    assert bayes_bound(0.0, 0.5) == 0.5
    assert bayes_bound(0.0, 0.8) == 0.8
    assert bayes_bound(math.log(3), 0.5) == pytest.approx(0.75)
    assert bayes_bound(math.log(3), 0.8) == pytest.approx(0.8)
    assert bayes_bound(1e9, 0.5) == 1.0
    # a fine grid of the region's boundary finds nothing better
    from leakmeter.audit.region import region_boundaries

    fnr = np.linspace(0, 1, 20001)
    for epsilon, rate, delta in ((0.4, 0.3, 0.0), (1.0, 0.7, 0.01), (2.0, 0.9, 0.2)):
        low, _ = region_boundaries(fnr, epsilon=epsilon, delta=delta)
        best = (1 - rate * fnr - (1 - rate) * low).max()
        assert bayes_bound(epsilon, rate, delta) == pytest.approx(best, abs=1e-4)


def _best_share_with_class_sizes(n, ones, epsilon):
    """Expected share of right labels of the best test on labels flipped once, class sizes known."""
    kept = 1 / (1 + math.exp(-epsilon))
    flipped = {}
    for from_one in range(ones + 1):
        for from_zero in range(n - ones + 1):
            chance = stats.binom.pmf(from_one, ones, kept)
            chance *= stats.binom.pmf(from_zero, n - ones, 1 - kept)
            flipped.setdefault(from_one + from_zero, []).append((chance, from_one))
    share = 0.0
    for seen, cases in flipped.items():
        # expected ones among the labels seen as 1 and as 0, times the chance of so many
        total = sum(chance for chance, _ in cases)
        above = sum(chance * from_one for chance, from_one in cases)
        below = ones * total - above
        share += max(above, seen * total - above) + max(below, (n - seen) * total - below)
    return share / n


def test_class_sizes_may_exceed_the_bound():
    """The numbers in docs/beyond.md."""
    excess = {
        epsilon: _best_share_with_class_sizes(60, 22, epsilon) - bayes_bound(epsilon, 22 / 60)
        for epsilon in (0.25, 0.5, 0.75, 1.0, 2.0, 4.0)
    }
    assert min(excess.values()) > -1e-12
    assert max(excess, key=excess.get) == 0.5
    assert excess[0.5] == pytest.approx(0.002, abs=5e-4)
    assert max(excess[epsilon] for epsilon in (1.0, 2.0, 4.0)) < 1e-5
    assert _best_share_with_class_sizes(20, 1, 3.0) == pytest.approx(0.968, abs=5e-4)
    assert bayes_bound(3.0, 1 / 20) == pytest.approx(0.953, abs=5e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 1.5), "base_rate must lie in"),
        ((1.0, -0.5), "base_rate must lie in"),
        ((1.0, math.nan), "base_rate must lie in"),
        ((-1.0, 0.5), "epsilon must lie in"),
        ((1.0, 0.5, 2.0), "delta must lie in"),
    ],
)
def test_bound_refuses_what_is_out_of_range(arguments, message):
    with pytest.raises(UserError, match=message):
        bayes_bound(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3, 0.5, 0.1), "n0 is 0"),
        ((3, 0, 0.5, 0.1), "n1 is 0"),
        ((3, 4, math.nan, 0.1), "answer is nan"),
        ((3, 4, math.inf, 0.1), "answer is inf"),
        ((3, 4, 1.7, 0.0), "answer is 1.7 without noise"),
        ((3, 4, 0.5, -1.0), "spread is -1"),
        ((3, 4, 0.5, math.nan), "spread is nan"),
    ],
)
def test_posterior_refuses_what_is_out_of_range(arguments, message):
    with pytest.raises(UserError, match=message):
        rank_posterior(*arguments)


def test_refusals():
    with pytest.raises(UserError, match="5 of one class"):
        attack_labels(ExactRelease(), np.ones(5, int), "pairs", submissions=9, seed=1)
    with pytest.raises(UserError, match="attack is"):
        attack_labels(ExactRelease(), _labels(5, 2), "all", submissions=9, seed=1)
    with pytest.raises(UserError, match="submissions is 4 for 5"):
        ranking_statistics(ExactRelease(), _labels(5, 2), 1, submissions=4)
