"""Estimators against pairs counted one by one, closed forms against simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.dpauc.histogram_release import (
    RELIABLE,
    _cross_term,
    auc_from_histograms,
    auc_from_positives,
    auc_from_rank_sum,
    centred_ranks,
    histogram_error,
    positives_error,
    rank_sum_error,
    tie_bias_bound,
)

histograms = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=6
).filter(lambda h: sum(p for p, _ in h) and sum(n for _, n in h))


def by_pairs(p, n):
    """Descending bins: a pair is won if the positive's bin comes first, half if they share one."""
    won = sum(
        p[i] * n[j] * (1.0 if i < j else 0.5 if i == j else 0.0)
        for i, j in itertools.product(range(len(p)), repeat=2)
    )
    return won / (sum(p) * sum(n))


@given(histograms)
def test_estimators_count_pairs(histogram):
    p, n = np.array(histogram).T
    expected = by_pairs(p, n)
    assert auc_from_histograms(p, n) == pytest.approx(expected)
    assert auc_from_positives(p, p + n) == pytest.approx(expected)


@given(histograms)
def test_the_rank_sum_and_the_class_size_are_all_that_matters(histogram):
    p, n = np.array(histogram).T
    t = p + n
    w = p @ centred_ranks(t)
    assert auc_from_rank_sum(w, p.sum(), t.sum()) == pytest.approx(by_pairs(p, n))


def test_a_class_without_size_gives_no_auc():
    assert np.isnan(auc_from_histograms([-1.0, 0.5], [1.0, 1.0]))
    assert np.isnan(auc_from_positives([2.0, 3.0], [2, 2]))


@given(histograms)
def test_the_tie_bound_is_met_by_every_order_inside_the_bins(histogram):
    """All positives of each bin first, or all negatives: the two extremes."""
    p, n = np.array(histogram).T
    bound = tie_bias_bound(p, n)
    apart = [(a, b) for i in range(len(p)) for a, b in ((p[i], 0), (0, n[i]))]
    best = by_pairs(*zip(*apart, strict=True))
    assert best - by_pairs(p, n) == pytest.approx(bound)


def test_the_estimated_tie_bound_of_noisy_counts_has_no_bias():
    """Its numerator, for independent noise and for exact totals; counts of 0 included."""
    p, n = np.array([5.0, 0, 40, 0]), np.array([0.0, 0, 30, 9])
    noise = np.random.default_rng(0).normal(0, 6, (2, 40_000, p.size))
    exact = p @ n
    for first, second, covariance in (
        (p + noise[0], n + noise[1], 0.0),
        (p + noise[0], n - noise[0], -36.0),
    ):
        found = np.sum(first * second - covariance, axis=1)
        assert found.mean() == pytest.approx(exact, abs=4 * found.std() / 200)
        one = tie_bias_bound(first[0], second[0], covariance)
        assert one == pytest.approx(
            np.clip(found[0] / (2 * first[0].sum() * second[0].sum()), 0, 0.5)
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("p", "n"), [([0.0, 0.0], [1.0, 2.0]), ([2.0, 1.0], [-1.0, 0.5])])
def test_no_error_where_a_noisy_size_is_not_positive(p, n):
    p, n = np.array(p), np.array(n)
    sizes = float(p.sum()), float((p + n).sum())
    found = [
        histogram_error(p, n, 1.0),
        positives_error(p, p + n, 1.0),
        rank_sum_error(1.0, *sizes, variance_rank_sum=1.0, variance_positives=1.0),
    ]
    for error in found:
        assert np.isnan([error.bias, error.std]).all()
        assert error.class_noise == np.inf
        assert not error.reliable
    assert np.isnan(tie_bias_bound(p, n))


@pytest.mark.parametrize(
    ("size", "variance"), [(100, (0.05 * 100) ** 2), (1000, (0.05 * 1000) ** 2)]
)
def test_the_closed_form_of_a_rank_sum_at_the_limit(size, variance):
    """Heavy-tailed noise at the largest class noise that is used: std within 5 %."""
    w, records = 0.3 * size, 11 * size
    rng = np.random.default_rng(1)
    noisy = size + rng.laplace(scale=np.sqrt(variance / 2), size=400_000)
    aucs = auc_from_rank_sum(w, noisy, records)
    found = rank_sum_error(
        w, size, records, variance_rank_sum=0.0, variance_positives=variance * (1 - 1e-9)
    )
    assert found.reliable
    assert found.class_noise == pytest.approx(RELIABLE)
    assert aucs.std() == pytest.approx(found.std, rel=0.05)


P = np.array([30.0, 60, 45, 40, 20, 5])
N = np.array([5.0, 25, 60, 110, 160, 140])


def gaussian(shape, variance, seed):
    return np.sqrt(variance) * np.random.default_rng(seed).standard_normal(shape)


def assert_agrees(found, aucs, exact):
    """Within four standard errors, and 3 % for what the expansion leaves out."""
    assert aucs.std() == pytest.approx(found.std, rel=0.03)
    error = aucs.std() / np.sqrt(aucs.size)
    assert aucs.mean() - exact == pytest.approx(found.bias, abs=4 * error + 0.05 * abs(found.bias))


@pytest.mark.parametrize("sd", [1.0, 8.0])
def test_two_histograms(sd):
    variance = sd**2 * np.linspace(0.5, 1.5, P.size)
    noise = gaussian((200_000, 2, P.size), variance, seed=1)
    aucs = auc_from_histograms(P + noise[:, 0], N + noise[:, 1])
    assert_agrees(histogram_error(P, N, variance), aucs, by_pairs(P, N))


def test_noise_on_one_class_only():
    """No noise on the negatives leaves the estimator a ratio of linear functions."""
    noise = gaussian((200_000, P.size), 16.0, seed=2)
    aucs = auc_from_histograms(P + noise, np.broadcast_to(N, noise.shape))
    assert_agrees(histogram_error(P, N, 16.0, 0.0), aucs, by_pairs(P, N))


@pytest.mark.parametrize("sd", [1.0, 6.0])
def test_positives_with_public_totals(sd):
    variance = sd**2 * np.linspace(1.5, 0.5, P.size)
    noise = gaussian((200_000, P.size), variance, seed=3)
    aucs = auc_from_positives(P + noise, P + N)
    assert_agrees(positives_error(P, P + N, variance), aucs, by_pairs(P, N))


def test_rank_sum():
    t = P + N
    noise = gaussian((200_000, 2), np.array([9.0, 100.0]), seed=4)
    w = P @ centred_ranks(t)
    aucs = auc_from_rank_sum(w + noise[:, 0], P.sum() + noise[:, 1], t.sum())
    found = rank_sum_error(w, P.sum(), t.sum(), variance_rank_sum=9.0, variance_positives=100.0)
    assert_agrees(found, aucs, by_pairs(P, N))


@settings(max_examples=50)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_running_sums_equal_the_full_matrix(bins, seed):
    s, s2, u, c = np.random.default_rng(seed).random((4, bins))
    order = np.triu(np.ones((bins, bins)), 1) + 0.5 * np.eye(bins)
    full = s @ (order - u[:, None] - c[None, :]) ** 2 @ s2
    assert _cross_term(s, s2, u, c) == pytest.approx(full)


def test_a_symmetric_histogram_has_no_bias():
    """Mirrored classes: the bias of the one size cancels that of the other."""
    p = np.array([5.0, 3, 2])
    found = histogram_error(p, p[::-1], 0.01)
    assert found.bias == pytest.approx(2 * histogram_error(p, p[::-1], 0.01, 0.0).bias)
    assert histogram_error(p, p, 0.01).bias == pytest.approx(0, abs=1e-12)
    assert found.rmse == pytest.approx(np.hypot(found.bias, found.std))
