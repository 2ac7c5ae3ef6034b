"""Thresholds: brute force over partitions, the exact law of the private median."""

import itertools
import math

import numpy as np
import pytest

from leakmeter.dpauc.binning import (
    equal_mass_from_totals,
    equal_mass_thresholds,
    median_law,
    optimal_partition,
    private_quantiles,
    tie_losses,
)
from leakmeter.dpauc.counting import count
from leakmeter.dpauc.histogram_release import auc_from_histograms
from leakmeter.runtime import UserError


def merged(values, boundaries):
    return np.add.reduceat(values, [0, *boundaries])


@pytest.mark.parametrize("seed", range(5))
def test_tie_losses_are_what_merging_takes_from_the_auc(seed):
    p, n = np.random.default_rng(seed).integers(0, 9, (2, 7)) + 1
    losses = tie_losses(p, n)
    for boundaries in itertools.combinations(range(1, 7), 2):
        lost = sum(losses[i, j] for i, j in itertools.pairwise([0, *boundaries, 7]))
        coarse = auc_from_histograms(merged(p, boundaries), merged(n, boundaries))
        assert auc_from_histograms(p, n) - coarse == pytest.approx(lost / (p.sum() * n.sum()))


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 7])
def test_the_optimal_partition_is_the_best_of_all(bins):
    p, n = np.random.default_rng(bins).integers(0, 9, (2, 7)) + 1
    losses = np.abs(tie_losses(p, n))

    def loss(boundaries):
        return sum(losses[i, j] for i, j in itertools.pairwise([0, *boundaries, 7]))

    best = min(loss(b) for b in itertools.combinations(range(1, 7), bins - 1))
    found = optimal_partition(p, n, bins)
    assert found.size == bins - 1
    assert loss(found) == pytest.approx(best)


def test_equal_mass():
    scores = np.random.default_rng(1).random(1000)
    grid = equal_mass_thresholds(scores, 8)
    counts = count(scores, np.arange(1000) % 2, grid)
    assert sum(counts.bins()) == pytest.approx([125] * 8)
    assert equal_mass_thresholds([0.5] * 9, 4).tolist() == [0.5]


def test_equal_mass_from_totals():
    totals = np.array([5, 5, -2, 10, 20, 0])
    found = equal_mass_from_totals(totals, np.arange(1, 6) / 10, 2)
    assert found.tolist() == [0.4]
    found = equal_mass_from_totals(totals, np.arange(1, 6) / 10, 4)
    assert (np.diff(found) < 0).all()
    assert set(found) <= set(np.arange(1, 6) / 10)


def density(ordered, epsilon, points):
    edges, chances = median_law(np.array(ordered, float), 0.0, 1.0, epsilon)
    lengths = np.diff(edges)
    place = np.searchsorted(edges, points, side="right") - 1
    return chances[place] / lengths[place]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_private_median_is_dp_for_every_replaced_record(epsilon):
    """Density ratios over all neighbouring sets of four scores on a grid."""
    values = [0.1, 0.3, 0.5, 0.8]
    points = np.array([0.05, 0.2, 0.4, 0.6, 0.9])
    worst = 0.0
    for rest in itertools.combinations_with_replacement(values, 3):
        laws = [density(sorted([*rest, v]), epsilon, points) for v in values]
        for a, b in itertools.permutations(laws, 2):
            worst = max(worst, np.log(a / b).max())
    assert 0.3 * epsilon < worst <= epsilon + 1e-9


def test_adding_a_record_costs_half_as_much():
    """What makes one level of medians on disjoint parts cost epsilon, not two."""
    epsilon, values = 1.0, [0.1, 0.3, 0.5, 0.8]
    points = np.array([0.05, 0.2, 0.4, 0.6, 0.9])
    for rest in itertools.combinations_with_replacement(values, 3):
        less = density(sorted(rest), epsilon, points)
        for value in values:
            more = density(sorted([*rest, value]), epsilon, points)
            assert np.abs(np.log(less / more)).max() <= epsilon / 2 + 1e-9


def test_private_quantiles_approach_the_quantiles():
    scores = np.random.default_rng(2).beta(1, 4, size=20_000)
    found = private_quantiles(scores, 3, epsilon=1.0, low=0, high=1, seed=1)
    assert found.size == 7
    wanted = np.quantile(scores, np.arange(7, 0, -1) / 8)
    assert np.abs(found - wanted).max() < 0.01
    again = private_quantiles(scores, 3, epsilon=1.0, low=0, high=1, seed=1)
    assert (again == found).all()


def test_private_quantiles_of_one_repeated_score():
    found = private_quantiles([0.5] * 50, 2, epsilon=5.0, low=0, high=1, seed=1)
    assert ((found >= 0) & (found <= 1)).all()
    assert math.isfinite(found.sum())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: private_quantiles([1], 1, epsilon=0, low=0, high=1, seed=0), "epsilon is 0"),
        (lambda: private_quantiles([1], 1, epsilon=1, low=1, high=1, seed=0), "low < high"),
        (lambda: private_quantiles([1], 0, epsilon=1, low=0, high=1, seed=0), "depth is 0"),
        (lambda: equal_mass_thresholds([1.0], 0), "bins is 0"),
        (lambda: optimal_partition([1, 1], [1, 1], 3), "at most the 2 cells"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(UserError, match=message):
        call()
