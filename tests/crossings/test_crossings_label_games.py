"""The game on one label: what moves, what the adversary computes, what the mechanisms send."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leakmeter.crossings.label_games import (
    LabelGame,
    evenly_spaced_game,
    laplace_loss,
    play_histogram,
    play_laplace,
    play_response,
    uniform_thresholds,
)
from leakmeter.crossings.loss_laws import histogram_law, laplace_law, response_law
from leakmeter.runtime import UserError


def test_every_label_moves_two_counts_by_one_at_every_threshold():
    """All positions and labels of a small client: the loss has one law, whatever is attacked."""
    scores = np.array([0.05, 0.3, 0.31, 0.5, 0.77, 0.9])
    grid = uniform_thresholds(4)
    for code in range(2**6):
        labels = (code >> np.arange(6)) & 1
        for secret in range(6):
            if len(np.unique(np.delete(labels, secret))) < 2:
                continue
            zero, one = LabelGame(scores, labels, secret).counts(grid)
            step = one.stacked() - zero.stacked()
            assert (np.abs(step).sum(axis=0) == 2).all()
            assert np.abs(step).max() == 1
            assert (step.sum(axis=0) == 0).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), eps=st.floats(0.01, 5.0))
def test_loss_is_the_ratio_of_laplace_densities(seed, eps):
    rng = np.random.default_rng(seed)
    zero, one = evenly_spaced_game(9).counts(uniform_thresholds(3))
    release = zero.stacked() + rng.laplace(scale=1 / eps, size=(5, 4, 3))
    expected = stats.laplace.logpdf(release, one.stacked(), 1 / eps) - stats.laplace.logpdf(
        release, zero.stacked(), 1 / eps
    )
    np.testing.assert_allclose(
        laplace_loss(release, zero, one, eps), expected.sum(axis=(1, 2)), atol=1e-8
    )


@pytest.mark.parametrize(("n_thresholds", "eps"), [(1, 1.0), (20, 0.1)])
@pytest.mark.parametrize("bit", [0, 1])
def test_played_losses_follow_the_law(n_thresholds, eps, bit):
    """Rates of 40,000 trials of the real mechanism at several thresholds, within 5 sigma."""
    bits, losses = play_laplace(
        evenly_spaced_game(10),
        thresholds=uniform_thresholds(n_thresholds),
        epsilon_per_count=eps,
        observer="server",
        trials=40_000,
        seed=3,
    )
    law = laplace_law(2 * n_thresholds, eps)
    mine = losses[bits == bit]
    for threshold in (-0.73, -0.31, 0.01, 0.42, 0.97):
        fnr, fpr = law.rates(threshold)
        rate = 1 - fnr if bit else fpr
        spread = np.sqrt(rate * (1 - rate) / len(mine))
        assert abs((mine > threshold).mean() - rate) < 5 * spread + 1e-3


@pytest.mark.parametrize(("flip", "seen"), [("once", 1), ("per-repeat", 7)])
def test_played_responses_follow_the_law(flip, seen):
    bits, losses = play_response(epsilon=0.5, releases=7, flip=flip, trials=40_000, seed=1)
    law = response_law(seen, 0.5)
    for bit in (0, 1):
        expected = law.probabilities if bit else law.probabilities[::-1]
        values, counts = np.unique(np.round(losses[bits == bit], 9), return_counts=True)
        np.testing.assert_allclose(values, np.round(law.values, 9))
        assert stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > 1e-4


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_played_histograms_follow_the_law(epsilon):
    bits, losses = play_histogram(epsilon=epsilon, trials=40_000, seed=4)
    law = histogram_law(epsilon)
    for bit in (0, 1):
        expected = law.probabilities if bit else law.probabilities[::-1]
        values, counts = np.unique(losses[bits == bit], return_counts=True)
        np.testing.assert_allclose(values, law.values)
        assert stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue > 1e-4


def test_auc_of_the_release_says_less_than_the_release():
    """Post-processing: the AUC of the same client cannot beat the loss (as areas under the ROC)."""
    from leakmeter.audit.attack import auc

    def area(observer):
        bits, values = play_laplace(
            evenly_spaced_game(10),
            thresholds=uniform_thresholds(5),
            epsilon_per_count=0.5,
            observer=observer,
            trials=20_000,
            seed=2,
        )
        return auc(values, bits)

    assert area("server") > area("auc") > 0.52


def test_same_seed_same_trials_and_samples_of_other_seeds_differ():
    play = {
        "game": evenly_spaced_game(6),
        "thresholds": uniform_thresholds(2),
        "epsilon_per_count": 1.0,
        "observer": "server",
        "trials": 50,
    }
    first, again, other = (play_laplace(**play, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[1], other[1])


def test_refusals():
    with pytest.raises(UserError, match="both classes"):
        LabelGame(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 1]), 0)
    with pytest.raises(UserError, match="records is 2"):
        evenly_spaced_game(2)
    with pytest.raises(UserError, match="flip is"):
        play_response(epsilon=1.0, releases=1, flip="never", trials=1, seed=1)
    with pytest.raises(UserError, match="observer is"):
        play_laplace(
            evenly_spaced_game(6),
            thresholds=uniform_thresholds(1),
            epsilon_per_count=1.0,
            observer="all",
            trials=1,
            seed=1,
        )
