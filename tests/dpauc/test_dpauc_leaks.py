import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.dpauc.counting import assign_clients, count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.leaks import (
    class_size_from_rates,
    label_log_odds,
    labels_from_auc,
    labels_from_roc,
    score_leak,
)
from leakmeter.dpauc.mechanisms import laplace_release
from leakmeter.dpauc.roc import roc_points
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError


def data(m=400, seed=0):
    rng = np.random.default_rng(seed)
    labels = (rng.random(m) < 0.3).astype(int)
    labels[:2] = 0, 1
    return rng.beta(2 + labels, 5), labels


def exact_curve(scores, labels, grid):
    return roc_points(count(scores, labels, grid).stacked())


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ["iid", "non_iid"])
def test_exact_counts_locate_every_score(assignment):
    scores, labels = data()
    owner = assign_clients(scores, clients=20, assignment=assignment, seed=1)
    grid = thresholds(50)
    leak = score_leak(count(scores, labels, grid, owner, n_clients=20), scores, owner, grid)
    assert leak.located == 1.0
    assert leak.baseline < 0.8
    cells = -np.diff(np.concatenate([[1.0], grid, [0.0]]))
    assert cells.min() <= leak.mean_width <= cells.max()


def test_noise_undoes_the_location():
    scores, labels = data(4000)
    owner = assign_clients(scores, clients=20, assignment="non_iid")
    grid = thresholds(50)
    counts = count(scores, labels, grid, owner)
    located = [
        score_leak(
            laplace_release(counts, epsilon_per_count=e, seed=2), scores, owner, grid
        ).located
        for e in (100.0, 1.0, 0.01)
    ]
    assert located[0] > 0.99
    assert located == sorted(located, reverse=True)
    assert located[2] < 0.3


def test_location_by_hand():
    # One client, counts above 0.5: one of three. Cells: [0.5, 1], [0, 0.5).
    counts = count([0.9, 0.1, 0.2], [0, 1, 1], [0.5], [0, 0, 0])
    leak = score_leak(counts, [0.9, 0.1, 0.2], [0, 0, 0], [0.5])
    assert (leak.located, leak.mean_width) == (1.0, 0.5)


def test_bad_releases():
    counts = count([0.9, 0.1], [0, 1], [0.5])
    with pytest.raises(UserError, match="per client"):
        score_leak(counts, [0.9, 0.1], [0, 0], [0.5])
    with pytest.raises(UserError, match="expected 0 to 0"):
        score_leak(count([0.9, 0.1], [0, 1], [0.5], [0, 0]), [0.9, 0.1], [0, 1], [0.5])


# --- labels from the curve ------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 40))
@settings(max_examples=60, deadline=None)
def test_full_curve_reveals_every_label(seed, m):
    """Nobody knows a label, only the order of the scores (distinct): each step is a label."""
    rng = np.random.default_rng(seed)
    scores = rng.permutation(m) / m
    labels = rng.integers(0, 2, m)
    labels[:2] = 0, 1
    grid = np.sort(scores)[::-1]
    result = labels_from_roc(*exact_curve(scores, labels, grid), scores, labels, thresholds=grid)
    assert result.recovered == 1.0
    np.testing.assert_array_equal(result.guess, labels.astype(bool))


@given(st.integers(0, 10_000), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_certain_labels_are_right_and_no_more_can_be_certain(seed, unknown):
    scores, labels = data(60, seed)
    rng = np.random.default_rng(seed)
    known = np.ones(60, bool)
    known[rng.choice(60, unknown, replace=False)] = False
    grid = thresholds(10)
    result = labels_from_roc(
        *exact_curve(scores, labels, grid), scores, labels, thresholds=grid, known=known
    )
    assert result.wrong == 0.0
    # Unknown records of one bin can trade labels without a trace: certain iff all are equal there.
    bins = np.digitize(scores, np.unique(grid))
    for i, where in enumerate(np.flatnonzero(~known)):
        peers = labels[~known & (bins == bins[where])]
        assert result.certain[i] == (peers.min() == peers.max())


def test_one_unknown_label_is_always_recovered():
    scores, labels = data(400)
    grid = thresholds(10)
    curve = exact_curve(scores, labels, grid)
    for i in range(0, 400, 17):
        known = np.ones(400, bool)
        known[i] = False
        result = labels_from_roc(*curve, scores, labels, thresholds=grid, known=known)
        assert result.recovered == 1.0


def test_class_size_is_found_from_the_rates():
    scores, labels = data(5000)
    counts = count(scores, labels, thresholds(25))
    fpr, tpr = roc_points(counts.stacked())
    positives, negatives = counts.bins()
    steps = [np.diff(rate, prepend=0, append=1) for rate in (fpr, tpr)]
    assert class_size_from_rates(*steps, positives + negatives) == labels.sum()
    with pytest.raises(UserError, match="diagonal"):
        class_size_from_rates(np.array([0.5, 0.5]), np.array([0.5, 0.5]), np.array([4, 4]))


def test_noise_makes_the_step_attack_worse_than_guessing():
    scores, labels = data(400)
    grid = np.sort(scores)[::-1]
    counts = count(scores, labels, grid)
    noisy = laplace_release(counts, epsilon_per_count=0.05, seed=3)
    result = labels_from_roc(*roc_points(noisy), scores, labels, thresholds=grid, positives=120)
    assert result.accuracy < result.baseline
    assert result.wrong > 0


def test_bad_curves():
    scores, labels = data(10)
    with pytest.raises(UserError, match="not all"):
        labels_from_roc([0.5], [1.0], scores, labels, thresholds=[0.5], known=np.ones(10, bool))
    with pytest.raises(UserError, match=r"expected \(1,\) for both"):
        labels_from_roc([0.5, 1], [1.0, 1], scores, labels, thresholds=[0.5])


# --- labels from the AUC --------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(2, 9), st.booleans())
@settings(max_examples=60, deadline=None)
def test_enumeration_against_brute_force(seed, m, give_size):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, m) / 5
    labels = rng.integers(0, 2, m)
    labels[:2] = 0, 1
    known = rng.random(m) < 0.4
    known[0] = False
    auc = exact_auc(scores, labels)
    p = int(labels.sum()) if give_size else None
    result = labels_from_auc(auc, scores, labels, known=known, positives=p)
    unknown = np.flatnonzero(~known)
    fitting = []
    for code in range(2**unknown.size):
        guess = labels.copy()
        guess[unknown] = [code >> i & 1 for i in range(unknown.size)]
        possible = 0 < guess.sum() < m and p in (None, guess.sum())
        if possible and abs(exact_auc(scores, guess) - auc) < 1e-12:
            fitting.append(guess[unknown])
    fitting = np.array(fitting)
    assert result.consistent == len(fitting)
    np.testing.assert_array_equal(result.certain, np.ptp(fitting, axis=0) == 0)
    assert result.wrong == 0.0


def test_few_unknown_labels_in_a_large_set():
    scores, labels = data(20_000)
    known = np.ones(20_000, bool)
    known[[5, 77, 1234, 9999]] = False
    result = labels_from_auc(exact_auc(scores, labels), scores, labels, known=known)
    assert (result.recovered, result.consistent) == (1.0, 1)


def test_nearest_labelings_of_a_noisy_auc():
    # Scores 3 > 2 > 1: AUCs of the six labelings are 1, 1/2, 0 (one positive), 0, 1/2, 1 (two).
    result = labels_from_auc(0.9, [1, 2, 3], [0, 0, 1])
    assert result.consistent == 2  # 001 and 011
    assert result.certain.tolist() == [True, False, True]
    assert result.recovered == pytest.approx(2 / 3)


def test_bad_enumerations():
    scores, labels = data(30)
    with pytest.raises(UserError, match="30 labels are unknown"):
        labels_from_auc(0.5, scores, labels)
    with pytest.raises(UserError, match="0 labels are unknown"):
        labels_from_auc(0.5, scores, labels, known=np.ones(30, bool))
    with pytest.raises(UserError, match="NaN"):
        labels_from_auc(math.nan, scores[:4], labels[:4])
    with pytest.raises(UserError, match="no labeling"):
        labels_from_auc(0.5, scores[:4], labels[:4], positives=4)


# --- the strongest attack -------------------------------------------------------------------------


def test_log_odds_are_the_likelihood_ratio_and_bounded_by_the_budget():
    scores, labels = data(50)
    labels[7] = 0
    changed = labels.copy()
    changed[7] = 1
    grid = thresholds(25)
    pair = [count(scores, y, grid) for y in (labels, changed)]
    epsilon = 0.4
    for seed in range(20):
        release = laplace_release(pair[seed % 2], epsilon_per_count=epsilon, seed=seed)
        odds = label_log_odds(
            release, if_negative=pair[0], if_positive=pair[1], epsilon_per_count=epsilon
        )
        log_density = [
            (np.log(epsilon / 2) - epsilon * np.abs(release - c.stacked())).sum() for c in pair
        ]
        assert odds == pytest.approx(log_density[1] - log_density[0])
        assert abs(odds) <= 2 * grid.size * epsilon + 1e-9


def test_budget_bound_is_attained():
    """A release far on one side of every changed count has log-odds of exactly 2 T eps'."""
    pair = [count([0.9, 0.1, 0.5], y, [0.6, 0.2]) for y in ([0, 1, 0], [0, 1, 1])]
    far = pair[1].stacked() + 100.0 * (pair[1].stacked() - pair[0].stacked())
    odds = label_log_odds(far, if_negative=pair[0], if_positive=pair[1], epsilon_per_count=0.3)
    assert odds == pytest.approx(2 * 2 * 0.3)
