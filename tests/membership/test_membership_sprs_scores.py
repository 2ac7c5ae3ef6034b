"""Privacy risk scores against a record-by-record evaluation of the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.membership.sprs_scores import fit_sprs, sprs
from leakmeter.runtime import UserError


def slow_score(inside, outside, value, bins, floor=1e-10):
    """Posterior of one value from one class's records, by loops."""
    logs_in, logs_out = ([math.log(max(v, floor)) for v in side] for side in (inside, outside))
    low, high = min(logs_in + logs_out), max(logs_in + logs_out)
    edges = np.linspace(low, high, bins + 1)

    def index(log_value):
        place = 0
        while place < bins - 1 and log_value >= edges[place + 1]:
            place += 1
        return place

    h_in = [sum(index(v) == b for v in logs_in) / len(inside) for b in range(bins)]
    h_out = [sum(index(v) == b for v in logs_out) / len(outside) for b in range(bins)]
    here = index(math.log(max(value, floor)))
    for step in range(bins):
        for place in (here - step, here + step):
            if 0 <= place < bins and h_in[place] + h_out[place] > 0:
                return h_in[place] / (h_in[place] + h_out[place])
    raise AssertionError


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1, 5, 15]))
def test_equals_the_definition(seed, bins):
    rng = np.random.default_rng(seed)
    n = 30
    member, nonmember = 10.0 ** rng.normal(-4, 4, n), 10.0 ** rng.normal(-2, 3, n)
    m_labels, n_labels = np.arange(n) % 3, rng.permutation(np.arange(n) % 3)
    fitted = fit_sprs(member, m_labels, nonmember, n_labels, n_classes=3, bins=bins)
    queries, q_labels = 10.0 ** rng.normal(-3, 6, 40), rng.integers(0, 3, 40)
    expected = [
        slow_score(member[m_labels == y], nonmember[n_labels == y], v, bins)
        for v, y in zip(queries, q_labels, strict=True)
    ]
    assert np.allclose(fitted.scores(queries, q_labels), expected, atol=1e-14)


def test_members_scored_on_their_own_histograms():
    member, nonmember = [0.01, 0.02, 0.5], [0.4, 0.6, 0.7]
    got = sprs(member, [0] * 3, nonmember, [0] * 3, n_classes=1, bins=2)
    # the middle in the logarithm is sqrt(0.01 * 0.7) = 0.084
    assert np.allclose(got, [1.0, 1.0, 0.25])


def test_no_record_is_lost_at_the_ends():
    rng = np.random.default_rng(1)
    for _ in range(50):
        member, nonmember = rng.random(4), rng.random(4)
        fitted = fit_sprs(member, [0] * 4, nonmember, [0] * 4, n_classes=1, bins=5)
        # equal class sizes: the posterior is the share of members in a record's own bin
        scores = fitted.scores(np.concatenate((member, nonmember)), [0] * 8)
        assert scores.sum() == pytest.approx(4)


def test_empty_bins_take_the_nearest_and_the_lower_of_two():
    # log10 values 0, 1 and 4 in bins of width 1 below 5; bins 2 and 3 are empty
    values_in, values_out = [1.0, 10.0, 10.0], [1.0, 1e4, 1e5]
    fitted = fit_sprs(values_in, [0] * 3, values_out, [0] * 3, n_classes=1, bins=5)
    assert fitted.posterior[0].tolist() == [0.5, 1.0, 1.0, 0.0, 0.0]


def test_equal_values_cannot_be_told_apart():
    fitted = fit_sprs([1e-30] * 5, [0] * 5, [1e-20] * 2, [0] * 2, n_classes=1)
    assert fitted.scores([1e-25, 3.0], [0, 0]).tolist() == [0.5, 0.5]
    assert fitted.floored == (5, 2)


def test_only_ranks_within_a_class_matter():
    arguments = ([1.0, 2.0], [0, 1], [1.5, 1.9], [0, 1])
    fitted = fit_sprs(*arguments, n_classes=2, bins=5)
    assert fitted.scores([1.0, 1.9], [0, 1]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bins": 0}, "bins is 0"),
        ({"bins": 2.0}, "bins is 2.0; expected a whole number, at least 1"),
        ({"floor": 0.0}, "floor is 0.0"),
        ({"floor": "1"}, "floor is '1'; expected a positive entropy"),
        *(
            ({"n_classes": n}, "n_classes is .*; expected a whole number, at least 1")
            for n in (0, 2.0, "2", None)
        ),
        ({"member_entropy": [-1.0, 1.0]}, r"member_entropy\[0\] is -1.0; expected entropies"),
        ({"member_entropy": [np.inf, 1.0]}, r"member_entropy\[0\] is inf; expected a finite"),
        ({"member_labels": [0, 2]}, r"member_labels\[1\] is 2; expected an integer from 0 to 1"),
        ({"nonmember_labels": [0, 0]}, "nonmember_labels has no record of class 1"),
    ],
)
def test_bad_input_is_one_clear_error(change, message):
    good = {
        "member_entropy": [1.0, 2.0],
        "member_labels": [0, 1],
        "nonmember_entropy": [1.0, 2.0],
        "nonmember_labels": [0, 1],
        "n_classes": 2,
    }
    with pytest.raises(UserError, match=message):
        sprs(**(good | change))
