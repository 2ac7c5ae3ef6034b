import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.dpauc.debiasing import debias
from leakmeter.runtime import UserError

rates = st.floats(0.0, 0.45)


@given(st.floats(0, 1), st.floats(0.05, 0.95), rates, rates)
def test_undoes_the_mixture_it_assumes(clean, share, p, q):
    """With expected noisy class sizes and AUC the true AUC comes back exactly."""
    m = 1e6
    positives = m * (share * (1 - p) + (1 - share) * q)
    negatives = m - positives
    alpha = m * (1 - share) * q / positives
    beta = m * share * p / negatives
    # A noisy positive is a true one with probability 1 - alpha, and so on: four kinds of pairs.
    noisy = (
        (1 - alpha) * (1 - beta) * clean
        + alpha * beta * (1 - clean)
        + ((1 - alpha) * beta + alpha * (1 - beta)) * 0.5
    )
    result = debias(noisy, noisy_positives=positives, noisy_negatives=negatives, p=p, q=q)
    assert result.auc == pytest.approx(clean, abs=1e-9)
    assert result.alpha == pytest.approx(alpha, abs=1e-9)
    assert result.beta == pytest.approx(beta, abs=1e-9)
    assert result.base_rate == pytest.approx(share, abs=1e-9)
    known = debias(
        noisy, noisy_positives=positives, noisy_negatives=negatives, p=p, q=q, base_rate=share
    )
    assert known.auc == pytest.approx(clean, abs=1e-9)


def test_no_flips_change_nothing():
    result = debias(0.7, noisy_positives=30, noisy_negatives=70, p=0.0, q=0.0)
    assert result.auc == pytest.approx(0.7)
    assert (result.alpha, result.beta, result.base_rate) == (0, 0, 0.3)


def test_values_outside_the_unit_interval_are_kept():
    result = debias([0.9, 0.2], noisy_positives=50, noisy_negatives=50, p=0.4, q=0.4)
    assert result.auc[0] > 1
    assert result.auc[1] < 0


def test_estimated_base_rate_may_be_negative():
    result = debias(0.5, noisy_positives=10, noisy_negatives=90, p=0.2, q=0.2)
    assert result.base_rate < 0
    assert np.isfinite(result.auc)


@pytest.mark.parametrize(
    ("positives", "negatives", "p", "q"),
    [
        (50, 50, 0.5, 0.5),  # epsilon = 0
        (0, 100, 0.2, 0.2),  # no noisy positive
        (100, 0, 0.2, 0.2),  # no noisy negative
        (20, 80, 0.2, 0.2),  # estimated base rate of exactly 0
        (0, 0, 0.2, 0.2),
    ],
)
def test_undefined_cases_are_nan(positives, negatives, p, q):
    result = debias([0.6], noisy_positives=positives, noisy_negatives=negatives, p=p, q=q)
    assert np.isnan(result.auc).all()


def test_known_base_rate_does_not_rescue_what_says_nothing():
    half = {"noisy_positives": 50, "noisy_negatives": 50, "base_rate": 0.3}
    assert np.isnan(debias(0.6, **half, p=0.5, q=0.5).auc)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"p": 1.2}, "flip rate p"), ({"q": np.nan}, "flip rate q"), ({"base_rate": 0}, "base_rate")],
)
def test_bad_arguments(change, message):
    good = {"noisy_positives": 5, "noisy_negatives": 5, "p": 0.1, "q": 0.1}
    with pytest.raises(UserError, match=message):
        debias(0.5, **{**good, **change})


def test_one_base_rate_per_auc():
    sizes = {"noisy_positives": [20, 30], "noisy_negatives": [30, 20], "p": 0.2, "q": 0.1}
    both = debias([0.6, 0.7], base_rate=[0.3, 0.6], **sizes).auc
    for at, (auc, rate) in enumerate(((0.6, 0.3), (0.7, 0.6))):
        assert both[at] == debias(auc, base_rate=rate, **sizes).auc[at]
    with pytest.raises(UserError, match="base_rate"):
        debias([0.6, 0.7], base_rate=[0.3, 1.0], **sizes)
