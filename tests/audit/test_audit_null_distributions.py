"""What chance does: coin flips, independent runs, differences of posteriors."""

import numpy as np
import pytest

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.null_distributions import (
    GRID,
    Posteriors,
    binomial_tallies,
    bootstrap_tallies,
    coin_flip_tallies,
    differences,
)
from leakmeter.audit.posterior import epsilon_cdf

LEVELS = {"delta": 1e-5, "alpha": 0.1}
TALLY = {"fn": 30, "tp": 70, "fp": 20, "tn": 80}


def test_posteriors_are_the_library_s_own():
    posterior = Posteriors.of({k: np.array([v, 10]) for k, v in TALLY.items()}, **LEVELS)
    expected = epsilon_cdf(GRID, **TALLY, delta=1e-5)
    assert posterior.cdf[0] == pytest.approx(expected, abs=1e-12)
    low, high = epsilon_interval(**TALLY, **LEVELS)
    assert (posterior.low[0], posterior.high[0]) == (low, high)


def test_the_same_run_has_no_difference_and_others_have():
    one = Posteriors.of(TALLY, **LEVELS)
    assert all(v == 0 for v in differences(one, one).values())
    other = Posteriors.of({**TALLY, "fn": 10, "tp": 90}, **LEVELS)
    found = differences(one, other)
    assert 0.3 < found["sup"][0] <= 1
    assert 0 < found["mean"][0] < found["sup"][0]
    assert found["low"][0] > 0.1


def test_the_mean_is_over_epsilon_and_not_over_the_grid_s_points():
    flat = Posteriors(np.zeros((1, len(GRID))), np.zeros(1), np.zeros(1))
    full = Posteriors(np.ones((1, len(GRID))), np.ones(1), np.ones(1))
    assert differences(flat, full)["mean"] == pytest.approx([1.0])
    assert GRID[0] == 0
    assert GRID[-1] == pytest.approx(10)
    assert np.all(np.diff(GRID) > 0)


def test_coin_flips_know_nothing_and_the_authors_choice_looks_better():
    lows = {}
    for selection in ("median", "authors"):
        kind = {"trials": 200, "selection": selection, "repeats": 80, "seed": 1}
        found = coin_flip_tallies(**kind, **LEVELS)
        assert np.all(sum(found.values()) == 200)
        lows[selection] = epsilon_interval(**found, **LEVELS)[0]
    assert np.quantile(lows["authors"], 0.9) > 2 * np.quantile(lows["median"], 0.9)


def test_bootstrapped_runs_have_the_size_asked_for_and_the_attack_s_rates():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, 4000)
    values = rng.normal(size=4000) + 1.5 * bits
    found = bootstrap_tallies(
        values, bits, trials=500, selection="median", repeats=30, seed=2, **LEVELS
    )
    assert np.all(sum(found.values()) == 500)
    right = (found["tp"] + found["tn"]).mean() / 500
    assert right == pytest.approx(((values > 0.75) == bits).mean(), abs=0.02)


def test_independent_runs_of_a_thousand_trials_hardly_ever_agree_to_a_thousandth():
    runs = binomial_tallies(trials=1000, fnr=0.3, fpr=0.3, repeats=400, seed=3)
    found = differences(*Posteriors.of(runs, **LEVELS).halves())
    assert len(found["sup"]) == 200
    assert 0.1 < np.median(found["sup"]) < 0.6
    assert (found["sup"] <= 0.001).mean() < 0.01


def test_the_same_seed_gives_the_same_runs():
    kind = {"trials": 100, "fnr": 0.2, "fpr": 0.4, "repeats": 5}
    first, again = (binomial_tallies(**kind, seed=4) for _ in range(2))
    assert all(np.array_equal(first[k], again[k]) for k in first)
