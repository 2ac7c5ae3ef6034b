"""Thresholds: brute force over partitions, the exact law of the private median."""

import itertools
import math

import numpy as np
import pytest

from leakmeter.dpauc.binning import (
    CELLS,
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


def exact_median_law(cells, low, high, epsilon):
    """Chance of each place low + 1 to high, place by place, in logarithms."""
    log = [
        epsilon / 2 * -abs(sum(c < place for c in cells) - len(cells) / 2)
        for place in range(low + 1, high + 1)
    ]
    weights = np.exp(np.array(log) - max(log))
    return weights / weights.sum()


def by_place(cells, low, high, epsilon):
    edges, chances = median_law(np.array(cells, float), low, high, epsilon)
    lengths = np.diff(edges).astype(int)
    return np.repeat(chances / np.maximum(lengths, 1), lengths)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("epsilon", "copies"), [(1.0, 1), (1.0, 2000), (400.0, 5)])
def test_the_private_median_is_dp_with_ties_and_values_at_the_ends(epsilon, copies):
    """Every replaced record of sets of heavy ties on eight places, law by law.

    Chances below the smallest double are the same in both laws for this purpose: they are 0.
    """
    values, worst = [0, 3, 4, 8], 0.0
    for heavy in values:
        for rest in itertools.combinations_with_replacement(values, 2):
            cells = [sorted([heavy] * copies + [*rest, v]) for v in values]
            laws = [by_place(c, 0, 8, epsilon) for c in cells]
            for c, law in zip(cells, laws, strict=True):
                assert law == pytest.approx(exact_median_law(c, 0, 8, epsilon), abs=1e-12)
            for a, b in itertools.permutations(laws, 2):
                seen = (a > 1e-290) & (b > 1e-290)
                assert (np.abs(a - b)[~seen] < 1e-100).all()
                worst = max(worst, np.log(a[seen] / b[seen]).max(initial=0.0))
    assert 0.3 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.filterwarnings("error")
def test_ties_do_not_overflow():
    """Heavier ties than a double's exponent can hold: one record must not switch the law."""
    tail = list(np.linspace(0.9, 1, 101))
    for tied in ([0.5] * 2941, [*[0.5] * 2940, 1.0]):
        found = [
            private_quantiles([*tied, *tail], 1, epsilon=1.0, low=0, high=1, seed=s)[0]
            for s in range(50)
        ]
        assert max(found) <= 0.5 or min(found) > 0.5
    zeros = [0.0] * 6500 + list(np.linspace(0.01, 1, 3500))
    for seed in range(20):
        assert private_quantiles(zeros, 1, epsilon=1.0, low=0, high=1, seed=seed)[0] <= 0.01
        beyond = private_quantiles([*[-5.0] * 6500, 9.0], 1, epsilon=1.0, low=0, high=1, seed=seed)
        assert 0 < beyond[0] <= 1


def test_private_thresholds_are_places_that_no_score_has_moved():
    for scores in ([0.3, 0.7], [0.301, 0.7], np.random.default_rng(0).random(99)):
        for seed in range(50):
            found = private_quantiles(scores, 3, epsilon=0.1, low=0, high=1, seed=seed)
            assert (found * CELLS % 1 == 0).all()


def test_private_quantiles_without_a_seed_differ():
    first, second = (private_quantiles([0.3], 1, epsilon=1.0, low=0, high=1) for _ in range(2))
    assert first != second


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
        (lambda: private_quantiles([1], 2.5, epsilon=1, low=0, high=1), "depth is 2.5"),
        (lambda: private_quantiles([np.nan], 1, epsilon=1, low=0, high=1), r"scores\[0\] is nan"),
        (lambda: private_quantiles([], 1, epsilon=1, low=0, high=1), "scores has shape"),
        (lambda: private_quantiles([1], 1, epsilon=1, low=0, high=np.inf), "high end .* is inf"),
        (lambda: private_quantiles([1], 1, epsilon=1, low=0, high=1, seed=-1), "seed is -1"),
        (lambda: equal_mass_thresholds([1.0], 0), "bins is 0"),
        (lambda: equal_mass_thresholds([], 3), "scores has shape"),
        (lambda: equal_mass_from_totals([5], [], 2), "edges has shape"),
        (lambda: equal_mass_from_totals([1, 2], [0.1, 0.2, 0.3], 2), "one edge fewer than cells"),
        (lambda: optimal_partition([1, 2], [1], 1), "expected equal lengths"),
        (lambda: optimal_partition([1, 1], [1, 1], 3), "at most the 2 cells"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(UserError, match=message):
        call()
