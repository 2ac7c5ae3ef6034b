"""Attacks: certain ones are right whatever the labels, at the query cost they promise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.labelings.attacks import (
    UNKNOWN,
    attack_rows,
    compatible_set,
    curve_rows,
    distinct_sum_weights,
    expected_auc,
    fewest_queries,
    keep_consistent,
    pair_attack,
    posterior_attack,
    prune_by_pairs,
    prune_by_rankings,
    run_attacks,
    swap_attack,
    weighing_attack,
)
from leakmeter.labelings.aucs import AucInterval
from leakmeter.labelings.oracles import Oracle, RoundingTooCoarse
from leakmeter.runtime import UserError

two_class = st.lists(st.integers(0, 1), min_size=2, max_size=60).filter(
    lambda y: 0 < sum(y) < len(y)
)


def contest(n: int = 512, ones: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels and noisy guesses of them."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) < ones).astype(np.uint8)
    return labels + rng.normal(size=n), labels


@settings(deadline=None)
@given(two_class)
def test_certain_attacks_recover_every_label(y):
    for attack in (pair_attack, swap_attack, weighing_attack):
        result = attack(Oracle(np.array(y)))
        assert result.certain
        assert result.labels.tolist() == y
        assert result.curve[-1]["known"] == len(y)


@pytest.mark.parametrize("ones", [1, 2, 255, 510, 511])
def test_extreme_class_sizes(ones):
    _, labels = contest(512, ones, seed=ones)
    for attack in (pair_attack, swap_attack, weighing_attack):
        assert np.array_equal(attack(Oracle(labels)).labels, labels)


def test_query_costs():
    """Two per label, one per label, and several labels per query."""
    _, labels = contest()
    assert pair_attack(Oracle(labels), stop_early=False).queries == 1024
    assert pair_attack(Oracle(labels)).queries < 1024
    assert swap_attack(Oracle(labels)).queries == 512
    weighing = weighing_attack(Oracle(labels)).queries
    assert fewest_queries(512, 200) <= weighing < 1.5 * 512 / math.log2(512)


def test_queries_are_those_the_oracle_counted():
    guesses, labels = contest(60, 25)
    attacks = [
        pair_attack,
        swap_attack,
        weighing_attack,
        lambda oracle: posterior_attack(oracle, guesses),
    ]
    for attack in attacks:
        oracle = Oracle(labels)
        oracle.query(guesses)
        result = attack(oracle)
        assert result.queries == oracle.queries - 1
        queries = [step["queries"] for step in result.curve]
        known = [step["known"] for step in result.curve]
        assert queries == sorted(set(queries))
        assert known == sorted(known)


@pytest.mark.parametrize("decimals", [3, 4, 5, 6])
def test_rounded_oracles(decimals):
    """Fewer decimals cost queries, not correctness."""
    _, labels = contest(256, 100, seed=decimals)
    exact = weighing_attack(Oracle(labels)).queries
    result = weighing_attack(Oracle(labels, decimals=decimals), 100)
    assert np.array_equal(result.labels, labels)
    assert result.queries >= exact
    assert np.array_equal(pair_attack(Oracle(labels, decimals=decimals)).labels, labels)


@settings(deadline=None, max_examples=40)
@given(two_class, st.integers(2, 4))
def test_rounding_never_gives_a_wrong_label(y, decimals):
    """Either every label is right or the attack says that the answers are too coarse."""
    attacks = [pair_attack, swap_attack, lambda oracle: weighing_attack(oracle, sum(y))]
    for attack in attacks:
        try:
            result = attack(Oracle(np.array(y), decimals=decimals))
        except RoundingTooCoarse:
            continue
        assert result.labels.tolist() == y


def test_too_few_decimals_are_refused():
    _, labels = contest(300, 100)
    with pytest.raises(RoundingTooCoarse, match="more decimals"):
        pair_attack(Oracle(labels, decimals=2))
    with pytest.raises(RoundingTooCoarse, match="more decimals"):
        swap_attack(Oracle(labels, decimals=4))
    with pytest.raises(RoundingTooCoarse, match="more decimals"):
        weighing_attack(Oracle(labels, decimals=2), 100)
    with pytest.raises(UserError, match="n1=None"):
        weighing_attack(Oracle(labels, decimals=5))


@pytest.mark.parametrize("size", range(1, 11))
def test_all_subset_sums_of_the_weights_differ(size):
    weights = distinct_sum_weights(size)
    sums = [sum(s) for k in range(size + 1) for s in combinations(weights, k)]
    assert len(set(sums)) == 2**size
    assert list(weights) == sorted(weights, reverse=True)
    assert min(weights) > 0
    assert weights[0] <= 2 ** (size - 1)


def test_conway_guy_sets():
    """Published: the sets for 4 and 7 elements."""
    assert distinct_sum_weights(4) == (7, 6, 5, 3)
    assert distinct_sum_weights(7) == (44, 43, 42, 40, 37, 31, 20)


def test_posterior_attack_beats_the_majority():
    guesses, labels = contest(200, 90, seed=3)
    result = posterior_attack(Oracle(labels), guesses)
    correct = int((result.labels == labels).sum())
    assert not result.certain
    assert correct > 110
    (step,) = result.curve
    # Labels drawn from the posterior would do as well as expected, up to chance.
    assert abs(correct / 200 - step["expected_accuracy"]) < 5 * 0.5 / math.sqrt(200)
    rounded = posterior_attack(Oracle(labels, decimals=2), guesses, 90)
    assert rounded.curve[0]["labelings"] > step["labelings"]


def test_compatible_set_counts_before_it_enumerates():
    guesses = np.arange(12.0)
    labelings = compatible_set(guesses, Fraction(3, 4))
    assert len(np.unique(labelings, axis=0)) == len(labelings)
    with pytest.raises(UserError, match="expected 1 to 10"):
        compatible_set(guesses, Fraction(3, 4), max_labelings=10)
    with pytest.raises(UserError, match="0 labelings"):
        compatible_set(guesses, Fraction(1, 37))


def test_keep_consistent(brute_force):
    labelings, ones, misranked = brute_force(8)
    order = np.arange(8)
    aucs = [1 - Fraction(int(d), int(k * (8 - k))) for k, d in zip(ones, misranked, strict=True)]
    low, high = Fraction(2, 3), Fraction(4, 5)
    exact = keep_consistent(labelings, order, low)
    assert np.array_equal(exact, labelings[[auc == low for auc in aucs]])
    inside = keep_consistent(labelings, order, AucInterval(low, high))
    assert np.array_equal(inside, labelings[[low <= auc <= high for auc in aucs]])


def test_expected_auc_counts_ties_as_one_half():
    labelings = np.array([[0, 1, 1], [1, 0, 1]], np.uint8)
    assert expected_auc(labelings, np.array([0.0, 0.0, 1.0])) == pytest.approx(0.75)


@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("seed", range(4))
def test_pruning_ends_at_the_truth(decimals, seed):
    guesses, labels = contest(16, 7, seed=seed)
    for attack in (prune_by_pairs, lambda o, g: prune_by_rankings(o, g, np.random.default_rng(0))):
        oracle = Oracle(labels, decimals=decimals)
        result = attack(oracle, guesses)
        left = [step["labelings"] for step in result.curve]
        assert left == sorted(left, reverse=True)
        assert left[-1] == 1
        assert np.array_equal(result.labels, labels)
        assert result.queries == oracle.queries < 32
        assert result.curve[-1]["expected_auc"] == result.curve[-1]["expected_accuracy"] == 1


def test_pruning_states_only_what_all_labelings_share():
    guesses, labels = contest(20, 9, seed=1)
    rng = np.random.default_rng(0)
    result = prune_by_rankings(Oracle(labels), guesses, rng, max_queries=2)
    stated = result.labels != UNKNOWN
    assert result.queries == 2
    assert stated.sum() == result.curve[-1]["known"] < 20
    assert np.array_equal(result.labels[stated], labels[stated])


def test_tables():
    guesses, labels = contest(64, 30)
    results = run_attacks(guesses, labels)
    rows = attack_rows(results, labels, per_day=5)
    assert [row["attack"] for row in rows] == ["posterior", "pairs", "swaps", "weighing"]
    for row in rows:
        assert row["days"] == math.ceil(row["queries"] / 5)
        assert row["correct"] == 64 or not row["certain"]
        assert row["majority"] == 34
        assert row["queries"] >= row["fewest_queries"] or not row["certain"]
    curves = curve_rows(results)
    assert {row["attack"] for row in curves} == {row["attack"] for row in rows}
    assert len(curves) == sum(len(result.curve) for result in results)


def test_rounding_drops_the_attacks_it_defeats():
    guesses, labels = contest(128, 60)
    results = run_attacks(guesses, labels, decimals=3)
    assert [result.attack for result in results] == ["posterior", "pairs", "weighing"]


@pytest.mark.parametrize(("n", "n1"), [(2, 1), (10, 5), (512, 256)])
def test_fewest_queries_counts_answers(n, n1):
    queries = fewest_queries(n, n1)
    answers = n1 * (n - n1) + 1
    assert answers**queries >= math.comb(n, n1) > answers ** (queries - 1)
