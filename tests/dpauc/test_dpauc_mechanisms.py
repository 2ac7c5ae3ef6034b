"""Random tests have fixed seeds; each compares at a level that a correct law fails once in 1000."""

import math

import numpy as np
import pytest
from scipy import stats

from leakmeter.dpauc.counting import ASSIGNMENTS, Counts, assign_clients, count
from leakmeter.dpauc.mechanisms import (
    gaussian_auc,
    gaussian_delta,
    gaussian_sigma,
    laplace_auc,
    laplace_release,
    release_sensitivity,
)
from leakmeter.dpauc.roc import CurveOptions, auc_from_counts
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

K = 7


def data(m=2000, seed=0):
    rng = np.random.default_rng(seed)
    labels = (rng.random(m) < 0.3).astype(int)
    return rng.beta(2 + labels, 5), labels


def per_client_counts(assignment="iid", n=10, k=K):
    scores, labels = data()
    owner = assign_clients(scores, clients=k, assignment=assignment, seed=1)
    return count(scores, labels, thresholds(n), owner, n_clients=k)


LAPLACE = {"epsilon_per_count": 0.1}
GAUSS = {"epsilon": 5.0, "delta": 1e-3}


@pytest.mark.parametrize(("auc", "budget"), [(laplace_auc, LAPLACE), (gaussian_auc, GAUSS)])
def test_aggregate_and_per_client_have_one_law(auc, budget):
    counts = per_client_counts()
    fast = auc(counts.pooled(), clients=K, **budget, repeats=1500, seed=1)
    slow = auc(counts, **budget, repeats=1500, seed=2, law="per-client")
    assert stats.ks_2samp(fast, slow).pvalue > 1e-3
    # The same test tells 7 clients from 14, so it has power.
    other = auc(counts.pooled(), clients=14, **budget, repeats=1500, seed=3)
    assert stats.ks_2samp(other, slow).pvalue < 1e-3


@pytest.mark.parametrize("k", [1, 10, 1000])
def test_moments_of_the_aggregate_noise(k):
    """Seen through a curve of one point with end points: AUC = (1 + TPR - FPR) / 2, linearised."""
    size = 10**9  # so large that the curve is linear in the noise
    half = np.array([size // 2])
    counts = Counts(tp=half, fp=half, tn=half, fn=half)
    eps = 0.5
    aucs = laplace_auc(
        counts,
        clients=k,
        epsilon_per_count=eps,
        repeats=20_000,
        seed=4,
        options=CurveOptions(end_points=True),
    )
    # d AUC = (noise_tp - noise_fn - noise_fp + noise_tn) / (4 size); variance 4 * 2 K / eps^2 / 16
    scaled = (aucs - 0.5) * size
    expected = math.sqrt(4 * 2 * k / eps**2 / 16)
    assert abs(scaled.mean()) < 4 * expected / math.sqrt(20_000)
    kurtosis = 3 / (4 * k)  # excess; Laplace has 3, a sum of n divides it by n
    assert scaled.std() == pytest.approx(expected, rel=4 * math.sqrt((2 + kurtosis) / 4 / 20_000))


def test_assignment_does_not_change_the_law():
    """Given the pooled counts the aggregate draw is the same number, the faithful one the same law."""
    sets = [per_client_counts(assignment) for assignment in ASSIGNMENTS]
    fast = [laplace_auc(c, **LAPLACE, repeats=20, seed=5) for c in sets]
    np.testing.assert_array_equal(*fast)
    slow = [
        laplace_auc(c, **LAPLACE, repeats=1500, seed=seed, law="per-client")
        for seed, c in enumerate(sets)
    ]
    assert stats.ks_2samp(*slow).pvalue > 1e-3


def test_per_client_law_takes_pooled_counts_too():
    counts = per_client_counts()
    a = laplace_auc(counts, **LAPLACE, repeats=5, seed=6, law="per-client")
    b = laplace_auc(counts.pooled(), clients=K, **LAPLACE, repeats=5, seed=6, law="per-client")
    np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("law", ["aggregate", "per-client"])
@pytest.mark.parametrize(("auc", "budget"), [(laplace_auc, LAPLACE), (gaussian_auc, GAUSS)])
def test_same_seed_same_bytes_and_prefixes(auc, budget, law):
    counts = per_client_counts(n=25)
    long = auc(counts, **budget, repeats=150, seed=9, law=law)
    assert auc(counts, **budget, repeats=150, seed=9, law=law).tobytes() == long.tobytes()
    np.testing.assert_array_equal(auc(counts, **budget, repeats=70, seed=9, law=law), long[:70])
    assert (auc(counts, **budget, repeats=70, seed=10, law=law) != long[:70]).all()


def test_vanishing_noise_gives_the_noise_free_value():
    counts = per_client_counts(n=50)
    exact = auc_from_counts(counts)
    assert laplace_auc(counts, epsilon_per_count=1e9, repeats=3, seed=1) == pytest.approx(exact)
    # A smaller eps' spreads more.
    spreads = [
        laplace_auc(counts, epsilon_per_count=e, repeats=200, seed=1).std() for e in (10, 1, 0.1)
    ]
    assert spreads == sorted(spreads)


@pytest.mark.parametrize("law", ["aggregate", "per-client"])
def test_hopeless_noise_gives_no_nan(law):
    """1000 clients, nominal 50, eps' = 0.00125: totals of a whole class are clipped to 0."""
    counts = per_client_counts(n=50).pooled()
    aucs = laplace_auc(counts, clients=1000, epsilon_per_count=0.00125, repeats=40, seed=1, law=law)
    assert np.isfinite(aucs).all()
    assert ((aucs >= 0) & (aucs <= 1)).all()


def test_release_has_laplace_noise_of_the_right_scale():
    counts = per_client_counts(n=200)
    noise = laplace_release(counts, epsilon_per_count=0.3, seed=3) - counts.stacked()
    assert noise.shape == (K, 4, 200)
    assert stats.kstest(noise.ravel(), stats.laplace(scale=1 / 0.3).cdf).pvalue > 1e-3
    exact = laplace_release(counts, epsilon_per_count=math.inf, seed=3)
    np.testing.assert_array_equal(exact, counts.stacked())


def test_sensitivity_of_the_release():
    assert release_sensitivity(100, norm=1) == 200
    assert release_sensitivity(100, norm=2) == pytest.approx(math.sqrt(200))
    with pytest.raises(ValueError, match="expected 1 or 2"):
        release_sensitivity(100, norm=3)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-2])
def test_gaussian_calibration_against_dp_accounting(epsilon, delta):
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    sigma = gaussian_sigma(epsilon, delta)
    assert gaussian_delta(epsilon, sigma) == pytest.approx(delta, rel=1e-8)
    interval = min(1e-3, epsilon * 1e-3)
    accountant = PLDAccountant(value_discretization_interval=interval)
    accountant.compose(GaussianDpEvent(sigma))
    # The accountant's discretisation is pessimistic, so its epsilon is slightly larger.
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=5e-3)


def test_gaussian_calibration_by_its_definition():
    """delta = sup over events of P(A) - e^eps P(B), by quadrature of the hockey-stick divergence."""
    sigma, epsilon = 0.8, 1.3
    x = np.linspace(-12, 12, 400_001)
    p, q = stats.norm(0.5, sigma).pdf(x), stats.norm(-0.5, sigma).pdf(x)
    delta = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), x)
    assert gaussian_delta(epsilon, sigma) == pytest.approx(delta, rel=1e-6)
    assert gaussian_sigma(epsilon, delta) == pytest.approx(sigma, rel=1e-6)
    assert gaussian_sigma(epsilon, delta, sensitivity=10) == pytest.approx(10 * sigma, rel=1e-6)


def test_gaussian_scale_uses_the_sensitivity_of_the_whole_release():
    # One point, end points: d AUC = (sum of 4 normal noises) / (4 size), see the Laplace moments.
    size = 10**9
    half = np.array([size // 2])
    counts = Counts(tp=half, fp=half, tn=half, fn=half)
    aucs = gaussian_auc(
        counts,
        clients=9,
        epsilon=1.0,
        delta=1e-5,
        repeats=20_000,
        seed=4,
        options=CurveOptions(end_points=True),
    )
    expected = gaussian_sigma(1.0, 1e-5, math.sqrt(2)) * math.sqrt(9) / 2
    assert ((aucs - 0.5) * size).std() == pytest.approx(expected, rel=4 * math.sqrt(0.5 / 20_000))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon_per_count": 0.0}, "epsilon_per_count is 0; "),
        ({"epsilon_per_count": math.nan}, "epsilon_per_count is nan"),
        ({"epsilon_per_count": math.inf}, "finite"),
        ({"clients": None}, "clients is missing"),
        ({"clients": 0}, "at least 1"),
        ({"clients": 2.0}, "integer"),
        ({"repeats": 0}, "repeats is 0"),
        ({"law": "exact"}, "law is 'exact'"),
    ],
)
def test_bad_laplace_arguments(change, message):
    good = {"clients": 3, "epsilon_per_count": 0.1, "repeats": 2, "seed": 1}
    with pytest.raises(UserError, match=message):
        laplace_auc(per_client_counts().pooled(), **{**good, **change})


def test_number_of_clients_must_fit_the_counts():
    with pytest.raises(UserError, match="those of 7 clients"):
        laplace_auc(per_client_counts(), clients=10, **LAPLACE, repeats=1, seed=1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [(0, 1e-5, "epsilon"), (1, 0, "delta"), (1, 1, "delta"), (math.inf, 0.1, "epsilon")],
)
def test_bad_gaussian_budgets(epsilon, delta, message):
    with pytest.raises(UserError, match=message):
        gaussian_sigma(epsilon, delta)


@pytest.mark.parametrize("seed", [-1, 0.5, "1"])
def test_bad_seeds(seed):
    with pytest.raises(UserError, match=f"seed is .*{seed}.*; expected an integer of at least 0"):
        laplace_auc(
            per_client_counts().pooled(), clients=1, epsilon_per_count=1.0, repeats=1, seed=seed
        )
