import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakmeter.dpauc.counting import ASSIGNMENTS, Counts, assign_clients, bin_index, count
from leakmeter.dpauc.threshold_layouts import thresholds
from leakmeter.runtime import UserError

FIELDS = ("tp", "fp", "tn", "fn")


def by_loops(scores, labels, grid, clients, k):
    """The definition, record by record."""
    result = {name: np.zeros((k, len(grid)), np.int64) for name in FIELDS}
    for score, label, client in zip(scores, labels, clients, strict=True):
        for t, theta in enumerate(grid):
            predicted = float(score) >= float(theta)
            name = ("t" if predicted == bool(label) else "f") + ("p" if predicted else "n")
            result[name][client, t] += 1
    return result


@st.composite
def record_sets(draw):
    m = draw(st.integers(2, 30))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    # Few distinct values, many of them thresholds: ties everywhere.
    values = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 0.7, 1.0, -0.5, 1.5])
    scores = np.array(draw(st.lists(values, min_size=m, max_size=m)), dtype)
    labels = np.array(draw(st.lists(st.integers(0, 1), min_size=m, max_size=m)))
    labels[:2] = 0, 1
    grid = sorted(draw(st.lists(values, min_size=1, max_size=8)), reverse=True)
    k = draw(st.integers(1, 4))
    clients = np.array(draw(st.lists(st.integers(0, k - 1), min_size=m, max_size=m)))
    return scores, labels, grid, clients, k


@given(record_sets())
@settings(max_examples=150, deadline=None)
def test_counts_equal_the_loops(case):
    scores, labels, grid, clients, k = case
    expected = by_loops(scores, labels, grid, clients, k)
    per_client = count(scores, labels, grid, clients, n_clients=k)
    pooled = count(scores, labels, grid)
    for name in FIELDS:
        assert getattr(per_client, name).dtype == np.int64
        np.testing.assert_array_equal(getattr(per_client, name), expected[name])
        np.testing.assert_array_equal(getattr(pooled, name), expected[name].sum(0))
        np.testing.assert_array_equal(getattr(per_client.pooled(), name), expected[name].sum(0))


def test_comparison_is_that_of_real_numbers():
    # The float32 nearest to 0.2 is 0.2000000030 and reaches the threshold 0.2;
    # the float32 nearest to 0.7 is 0.6999999881 and does not reach 0.7.
    scores = np.float32([0.2, 0.7])
    counts = count(scores, [1, 0], [0.7, 0.2])
    assert counts.tp.tolist() == [0, 1]
    assert counts.fp.tolist() == [0, 1]
    # In float64 both scores equal their thresholds.
    counts = count(np.float64([0.2, 0.7]), [1, 0], [0.7, 0.2])
    assert counts.tp.tolist() == [0, 1]
    assert counts.fp.tolist() == [1, 1]


def test_a_changed_label_moves_two_counts_per_threshold_by_one():
    """Exhaustive over 3-record sets on a grid with ties and duplicates: L1 = 2 T, L2^2 = 2 T."""
    grid = [0.5, 0.2, 0.2, 0.0]
    for scores in itertools.product([0.1, 0.2, 0.6], repeat=3):
        for labels in itertools.product([0, 1], repeat=3):
            for i in range(3):
                changed = list(labels)
                changed[i] = 1 - changed[i]
                if not (0 < sum(labels) < 3 and 0 < sum(changed) < 3):
                    continue
                a = count(scores, labels, grid).stacked()
                b = count(scores, changed, grid).stacked()
                moved = np.abs(a - b)
                assert (moved.sum(axis=0) == 2).all()
                assert (moved.max(axis=0) == 1).all()


def test_bins_are_the_histogram_between_thresholds():
    counts = count([0.9, 0.6, 0.6, 0.2, 0.1], [1, 0, 1, 0, 1], [0.6, 0.6, 0.2])
    positives, negatives = counts.bins()
    assert positives.tolist() == [2, 0, 0, 1]
    assert negatives.tolist() == [1, 0, 1, 0]


def test_bin_index_counts_the_thresholds_above():
    np.testing.assert_array_equal(
        bin_index(np.array([2.0, 0.5, 0.4, -1.0]), np.array([0.5, 0.5, 0.0])), [0, 0, 2, 3]
    )


def test_clients_without_records_still_have_a_row():
    counts = count([0.3, 0.6], [0, 1], [0.5], [0, 0], n_clients=3)
    assert counts.n_clients == 3
    assert counts.stacked().sum(axis=(1, 2)).tolist() == [2, 0, 0]
    assert counts.positives.tolist() == [1, 0, 0]
    assert counts.negatives.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thresholds": [0.1, 0.2]}, r"thresholds\[1\] = 0.2 exceeds"),
        ({"thresholds": []}, "shape"),
        ({"thresholds": [np.nan]}, "finite"),
        ({"clients": [0]}, "one per record"),
        ({"clients": [0.0, 1.0]}, "expected integers"),
        ({"clients": [0, -1]}, "from -1 to 0"),
        ({"clients": [0, 2], "n_clients": 2}, "from 0 to 2; expected 0 to 1"),
        ({"n_clients": 2}, "without clients"),
        ({"labels": [1, 1]}, "both classes"),
        ({"scores": [0.1, np.nan]}, "NaN"),
    ],
)
def test_bad_input(arguments, message):
    good = {"scores": [0.1, 0.9], "labels": [0, 1], "thresholds": [0.5]}
    with pytest.raises(UserError, match=message):
        count(**{**good, **arguments})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tp": [0.5, 1.0]}, "integers"),
        ({"tp": [1]}, "shape"),
        ({"tn": [-1, 0]}, "at least 0"),
        ({"fn": [3, 3]}, "one size"),
        ({"tp": [2, 1], "fn": [0, 1]}, "descending"),
    ],
)
def test_counts_refuse_what_no_data_give(change, message):
    good = {"tp": [1, 2], "fp": [0, 1], "tn": [1, 0], "fn": [1, 0]}
    with pytest.raises(ValueError, match=message):
        Counts(**{k: np.array(v) for k, v in {**good, **change}.items()})


def test_non_iid_blocks_follow_the_rank():
    scores = np.random.default_rng(3).random(103).round(1).astype(np.float32)
    owner = assign_clients(scores, clients=7, assignment="non_iid")
    order = sorted(range(103), key=lambda i: scores[i])  # stable: ties in row order
    for rank, i in enumerate(order):
        assert owner[i] == int(rank / (103 / 7))
    assert np.ptp(np.bincount(owner)) <= 1


def test_iid_is_uniform_and_reproducible():
    owner = assign_clients(np.zeros(20_000), clients=10, assignment="iid", seed=5)
    again = assign_clients(np.zeros(20_000), clients=10, assignment="iid", seed=5)
    np.testing.assert_array_equal(owner, again)
    sizes = np.bincount(owner, minlength=10)
    assert ((sizes - 2000) ** 2 / 2000).sum() < 27.9  # chi-square, 9 degrees, 0.1 %
    other = assign_clients(np.zeros(20_000), clients=10, assignment="iid", seed=6)
    assert (owner != other).any()


def test_more_clients_than_records():
    for assignment in ASSIGNMENTS:
        owner = assign_clients([0.3, 0.1], clients=1000, assignment=assignment, seed=1)
        assert owner.shape == (2,)
        assert owner.max() < 1000
        assert count([0.3, 0.1], [1, 0], [0.2], owner, n_clients=1000).n_clients == 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"assignment": "iid"}, "expected a seed"),
        ({"assignment": "sorted"}, "expected one of iid, non_iid"),
        ({"assignment": "non_iid", "clients": 0}, "at least 1"),
        ({"assignment": "non_iid", "scores": []}, "shape"),
    ],
)
def test_bad_assignments(arguments, message):
    with pytest.raises(UserError, match=message):
        assign_clients(**{"scores": [0.1, 0.2], "clients": 2, **arguments})


def test_pooled_counts_do_not_depend_on_the_assignment():
    rng = np.random.default_rng(8)
    scores, labels = rng.random(500), rng.integers(0, 2, 500)
    grid = thresholds(25)
    pooled = count(scores, labels, grid)
    for assignment in ASSIGNMENTS:
        owner = assign_clients(scores, clients=9, assignment=assignment, seed=2)
        again = count(scores, labels, grid, owner, n_clients=9).pooled()
        np.testing.assert_array_equal(again.stacked(), pooled.stacked())
