"""K-NN Shapley: the definition over all subsets, all orders of ties, the axioms, and the edges."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from leakmeter.membership import shapley
from leakmeter.membership.shapley import (
    _options,
    knn_diagnostics,
    knn_shapley,
    knn_shapley_blocks,
    knn_shapley_by_group,
)
from leakmeter.runtime import UserError


def utility(ranks, matches, k):
    """K-NN utility of a set of records, given by ascending rank: matches among k nearest, over k."""
    return sum(matches[rank] for rank in ranks[:k]) / k


@functools.cache
def values_by_place(matches, k):
    """Equation (1), marginal contributions over all subsets; records named by their rank."""
    n = len(matches)
    values = np.zeros(n)
    for record in range(n):
        others = [other for other in range(n) if other != record]
        for size in range(n):
            weight = 1 / (n * math.comb(n - 1, size))
            for subset in itertools.combinations(others, size):
                gain = utility(sorted([*subset, record]), matches, k) - utility(subset, matches, k)
                values[record] += weight * gain
    return values


def shapley_by_definition(order, matches, k):
    """The values of records that are sorted by ``order``."""
    values = np.zeros(len(order))
    values[list(order)] = values_by_place(tuple(matches[record] for record in order), k)
    return values


def average_over_orders(distances, matches, k):
    """The mean of the definition over every order that sorts the distances."""
    records = range(len(distances))
    orders = [
        order
        for order in itertools.permutations(records)
        if all(distances[a] <= distances[b] for a, b in itertools.pairwise(order))
    ]
    return np.mean([shapley_by_definition(order, matches, k) for order in orders], axis=0)


def recursion(x, y, tests, labels, k):
    """The published recursion in a plain loop, rows in a stable order of distance."""
    n, total = len(x), np.zeros(len(x))
    for test, label in zip(tests, labels, strict=True):
        order = np.argsort(((x - test) ** 2).sum(axis=1), kind="stable")
        match = (y[order] == label).astype(float)
        value = match[-1] / max(k, n)
        total[order[-1]] += value
        for i in range(n - 1, 0, -1):
            value += (match[i - 1] - match[i]) / k * min(k, i) / i
            total[order[i - 1]] += value
    return total / len(tests)


def saturated(n, classes, seed):
    """Outputs of an overfitted network: many rows exactly one-hot, some nearly so."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    x = np.eye(classes)[np.where(rng.random(n) < 0.9, labels, rng.integers(0, classes, n))]
    soft = rng.random(n) < 0.3
    x[soft] = 0.999 * x[soft] + 0.001 / classes * rng.integers(1, 3, (soft.sum(), 1))
    return x, labels


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 11])
def test_equals_the_definition_over_all_subsets(n, k):
    rng = np.random.default_rng(100 * n + k)
    x, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    test = rng.normal(size=3)
    order = np.argsort(((x - test) ** 2).sum(axis=1))
    expected = shapley_by_definition(order.tolist(), (y == 1).tolist(), k)
    assert np.abs(knn_shapley(x, y, [test], [1], k=k) - expected).max() < 1e-14


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
@pytest.mark.parametrize(
    "distances",
    [
        (1, 1),
        (1, 1, 1, 1, 1, 1),
        (0, 0, 1, 2, 2, 2),
        (0, 1, 1, 2, 3, 3),
        (2, 1, 2, 1, 2),
        (1, 2, 2, 3, 3),
    ],
)
def test_ties_equal_the_average_over_all_orders(distances, k):
    rng = np.random.default_rng(sum(distances) + 10 * k)
    for _ in range(3):
        y = rng.integers(0, 2, len(distances))
        expected = average_over_orders(distances, y.tolist(), k)
        got = knn_shapley(np.array(distances)[:, None], y, [[0]], [1], k=k)
        assert np.abs(got - expected).max() < 1e-14


def test_tied_block_in_closed_form():
    # K = 1, all three tied, one match: it is worth the utility of the average order
    got = knn_shapley(np.zeros((3, 1)), [1, 0, 0], [[0.0]], [1], k=1)
    # over the orders: first 1 - sum of nothing farther = 1, second 1/2, third 1/3; mean 11/18
    assert got[0] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-15)
    assert got[1] == got[2] == pytest.approx((1 / 3 - got[0]) / 2, abs=1e-15)


@pytest.mark.parametrize("n", [7, 63, 64, 65, 1023, 1024, 1025, 2500])
def test_equals_the_plain_recursion_at_tile_boundaries(n):
    rng = np.random.default_rng(n)
    for d, k in ((1, 1), (3, 5), (6, 30)):
        x, tests = rng.normal(size=(n, d)), rng.normal(size=(4, d))
        y, labels = rng.integers(0, 3, n), rng.integers(0, 3, 4)
        expected = recursion(x, y, tests, labels, k)
        assert np.abs(knn_shapley(x, y, tests, labels, k=k) - expected).max() < 1e-13


def test_row_order_is_the_plain_recursion_on_ties():
    rng = np.random.default_rng(0)
    x, tests = rng.integers(0, 4, (200, 3)), rng.integers(0, 4, (50, 3))
    y, labels = rng.integers(0, 4, 200), rng.integers(0, 4, 50)
    got = knn_shapley(x, y, tests, labels, k=3, ties="row-order")
    assert np.abs(got - recursion(x, y, tests, labels, 3)).max() < 1e-13


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 8), st.booleans())
def test_permuting_the_rows_permutes_the_scores(seed, n, k, spread):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) if spread else rng.integers(0, 3, (n, 3)) / 7
    y, tests, labels = rng.integers(0, 3, n), rng.integers(0, 3, (9, 3)) / 7, rng.integers(0, 3, 9)
    order = rng.permutation(n)
    scores = knn_shapley(x, y, tests, labels, k=k)
    assert np.abs(knn_shapley(x[order], y[order], tests, labels, k=k) - scores[order]).max() < 1e-12


def test_permutation_of_saturated_outputs_where_row_order_fails():
    x, y = saturated(1500, 5, 2)
    tests, labels = saturated(300, 5, 3)
    order = np.random.default_rng(4).permutation(len(x))
    both = {
        ties: (
            knn_shapley(x, y, tests, labels, k=5, ties=ties)[order],
            knn_shapley(x[order], y[order], tests, labels, k=5, ties=ties),
        )
        for ties in ("average", "row-order")
    }
    assert np.abs(both["average"][0] - both["average"][1]).max() < 1e-12
    assert np.corrcoef(*both["row-order"])[0, 1] < 0.9


@pytest.mark.parametrize("d", [1, 5, 103])
def test_identical_rows_tie_under_any_tolerance(d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(40, d)) * 10.0 ** rng.integers(-8, 9, d)
    x = np.concatenate((x, x, x))[rng.permutation(120)]
    y = np.zeros(120, int)
    y[::2] = 1
    for tolerance in (None, 0.0):
        scores = knn_shapley(
            x, y, rng.normal(size=(30, d)), rng.integers(0, 2, 30), k=4, tie_tolerance=tolerance
        )
        for row in range(120):
            same = (x == x[row]).all(axis=1) & (y == y[row])
            assert np.ptp(scores[same]) == 0


def test_rounding_does_not_separate_equal_distances():
    # thirds of integers: exact distances tie, their float64 sums in different orders do not
    rng = np.random.default_rng(5)
    whole, tests = rng.integers(0, 256, (300, 12)), rng.integers(0, 256, (40, 12))
    whole = np.concatenate((whole, whole[:, ::-1], whole))
    tests = (tests + tests[:, ::-1]) // 2
    y, labels = rng.integers(0, 4, len(whole)), rng.integers(0, 4, 40)
    exact = knn_shapley(whole, y, tests, labels, k=5, tie_tolerance=0.0)
    scaled = whole / 255, tests / 255
    squares = ((scaled[0][:, None] - scaled[1]) ** 2).sum(axis=2)
    assert (squares[:300] != squares[300:600]).any(), "the sums must differ for the test to bite"
    assert np.abs(knn_shapley(scaled[0], y, scaled[1], labels, k=5) - exact).max() < 1e-14


def test_pixels_scaled_to_one_tie_as_the_integers_do():
    # one feature, so the rounding of the inputs decides and not that of the sum
    middle = np.arange(1, 255)
    low, high = (middle - 1) / 255, (middle + 1) / 255
    assert (np.abs(low - middle / 255) != np.abs(high - middle / 255)).any()
    for a, b, c in zip(low, high, middle / 255, strict=True):
        got = knn_shapley([[a], [b]], [1, 0], [[c]], [1], k=1)
        assert got == pytest.approx([0.75, -0.25], abs=1e-15)


@pytest.mark.parametrize("d", [1, 784, 6169, 10**6])
def test_default_tolerance_covers_the_rounding_of_the_sum(d):
    tolerance = _options(1, "average", None, d)[2]
    # each of two distances is off by at most (d + 2) units in the last place, eps / 2 each
    assert tolerance >= 2 * (d + 2) * np.finfo(float).eps / 2
    assert tolerance < 1e-9


def test_tolerance_is_relative_to_the_squared_distance():
    x = [[1.0], [math.sqrt(1 + 1e-6)]]
    apart = knn_shapley(x, [1, 0], [[0.0]], [1], k=1)
    assert apart[0] == 1.0
    for tolerance, tied in ((0.9e-6, False), (1.1e-6, True)):
        got = knn_shapley(x, [1, 0], [[0.0]], [1], k=1, tie_tolerance=tolerance)
        assert got[0] == (0.75 if tied else 1.0)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 50), st.booleans())
def test_efficiency_the_scores_sum_to_the_utility(seed, n, k, grid):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, 3)) if grid else rng.normal(size=(n, 3))
    y, tests, labels = rng.integers(0, 3, n), rng.integers(0, 2, (7, 3)), rng.integers(0, 3, 7)
    scores = knn_shapley(x, y, tests, labels, k=k)
    assert abs(scores.sum() - knn_diagnostics(x, y, tests, labels, k=k).utility) < 1e-13


def test_utility_is_that_of_scikit_learns_neighbours():
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    tests, labels = rng.normal(size=(50, 4)), rng.integers(0, 3, 50)
    found = NearestNeighbors(n_neighbors=5).fit(x).kneighbors(tests, return_distance=False)
    result = knn_diagnostics(x, y, tests, labels, k=5)
    assert result.utility == pytest.approx((y[found] == labels[:, None]).mean(), abs=1e-15)
    assert (result.tied_share, result.largest_tie) == (0.0, 1)


def test_extent_of_ties():
    x = np.array([[0.0], [1.0], [-1.0], [1.0], [2.0]])
    result = knn_diagnostics(x, [0] * 5, [[0.0], [5.0]], [0, 0], k=2)
    assert result.largest_tie == 3
    assert result.tied_share == (3 + 2) / 10
    assert result.utility == 1.0
    assert knn_diagnostics(x, [0] * 5, [[0.0]], [0], k=2, ties="row-order").largest_tie == 1


def test_relabelling_and_label_types_do_not_matter():
    x, y = saturated(60, 3, 8)
    tests, labels = saturated(20, 3, 9)
    scores = knn_shapley(x, y, tests, labels, k=2)
    names = np.array(["cat", "dog", "eel"])
    assert np.array_equal(scores, knn_shapley(x, names[y], tests, names[labels], k=2))
    assert np.array_equal(scores, knn_shapley(x, y * 1.5, tests, labels * 1.5, k=2))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, bool])
def test_input_types_are_widened_exactly(dtype):
    rng = np.random.default_rng(10)
    x, tests = rng.integers(0, 2, (80, 5)), rng.integers(0, 2, (9, 5))
    y, labels = rng.integers(0, 2, 80), rng.integers(0, 2, 9)
    expected = knn_shapley(x.astype(float), y, tests.astype(float), labels, k=3)
    got = knn_shapley(x.astype(dtype), y, tests.astype(dtype), labels, k=3)
    assert got.dtype == np.float64
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("exponent", [-1060, -700, 700, 1020])
def test_scale_of_the_features_does_not_matter(exponent):
    rng = np.random.default_rng(11)
    x, tests = rng.integers(-7, 8, (50, 3)) / 8, rng.integers(-7, 8, (9, 3)) / 8
    y, labels = rng.integers(0, 2, 50), rng.integers(0, 2, 9)
    got = knn_shapley(np.ldexp(x, exponent), y, np.ldexp(tests, exponent), labels, k=3)
    assert np.array_equal(got, knn_shapley(x, y, tests, labels, k=3))


def test_nearly_saturated_outputs_keep_their_order():
    # expanding |x - t|^2 would call these all equal: the distances are below 1e-8
    x = np.array([[1 - a, a] for a in (1e-9, 3e-9, 2e-9, 4e-9)])
    got = knn_shapley(x, [1, 0, 1, 0], [[1.0, 0.0]], [1], k=1)
    assert np.array_equal(got, knn_shapley([[1], [3], [2], [4]], [1, 0, 1, 0], [[0]], [1], k=1))


def test_threads_and_runs_give_the_same_bits():
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(3000, 6)), rng.integers(0, 4, 3000)
    tests, labels = rng.normal(size=(1000, 6)), rng.integers(0, 4, 1000)
    first = knn_shapley(x, y, tests, labels, k=5, threads=1)
    for threads in (1, 2, 5):
        assert np.array_equal(first, knn_shapley(x, y, tests, labels, k=5, threads=threads))


def test_blocks_are_the_rows_of_single_tests():
    x, y = saturated(700, 3, 13)
    tests, labels = saturated(600, 3, 14)
    seen = 0
    rows = np.empty((600, 700))
    for part, values in knn_shapley_blocks(x, y, tests, labels, k=3, threads=2):
        assert part.start == seen
        seen = part.stop
        rows[part] = values
    assert seen == 600
    assert np.abs(rows.mean(axis=0) - knn_shapley(x, y, tests, labels, k=3)).max() < 1e-15
    for row in (0, 255, 256, 599):
        alone = knn_shapley(x, y, tests[row : row + 1], labels[row : row + 1], k=3)
        assert np.array_equal(rows[row], alone)


def test_blocks_check_the_input_before_the_first_is_asked_for():
    with pytest.raises(UserError, match="k is 0"):
        knn_shapley_blocks([[0.0]], [0], [[0.0]], [0], k=0)


def test_blocks_can_be_left_early():
    x, y = saturated(2000, 3, 15)
    blocks = knn_shapley_blocks(x, y, x, y, k=3)
    next(blocks)
    blocks.close()
    with pytest.raises(StopIteration):
        next(blocks)


def test_groups_are_the_means_over_their_tests():
    x, y = saturated(120, 3, 16)
    tests, labels = saturated(70, 3, 17)
    calls = []
    scores = knn_shapley_by_group(
        x, y, tests, labels, labels, k=3, progress=lambda *call: calls.append(call)
    )
    assert list(scores) == [0, 1, 2]
    for label, values in scores.items():
        mine = labels == label
        assert np.array_equal(values, knn_shapley(x, y, tests[mine], labels[mine], k=3))
    total = sum(values * (labels == label).sum() for label, values in scores.items()) / 70
    assert np.abs(total - knn_shapley(x, y, tests, labels, k=3)).max() < 1e-15
    assert calls[-1] == (70, 70)


def test_progress_counts_up_to_all_tests():
    x, y = saturated(300, 3, 18)
    calls = []
    knn_shapley(
        x, y, np.repeat(x, 3, axis=0), np.repeat(y, 3), k=1, progress=lambda *c: calls.append(c)
    )
    assert calls == sorted(calls)
    assert len(calls) > 1
    assert calls[-1] == (900, 900)


def test_long_work_says_how_far_it_is_unless_quiet(monkeypatch, caplog, capsys):
    x, y = saturated(300, 3, 19)
    many, labels = np.repeat(x, 3, axis=0), np.repeat(y, 3)
    with caplog.at_level("INFO", logger="leakmeter"):
        knn_shapley(x, y, many, labels, k=1)
        assert not caplog.messages  # done before there is anything to say
        monkeypatch.setattr(shapley, "_PROGRESS_SECONDS", 0.0)
        knn_shapley(x, y, many, labels, k=1, progress=False)
        assert not caplog.messages
        knn_shapley(x, y, many, labels, k=1)
    assert caplog.messages[0] == "K-NN Shapley: 256 of 900 test records"
    assert len(caplog.messages) == 3
    # a program that has not set up logging
    monkeypatch.setattr(shapley.logger, "hasHandlers", lambda: False)
    knn_shapley(x, y, many, labels, k=1)
    assert capsys.readouterr().err.splitlines() == caplog.messages


def test_a_test_label_unknown_to_training_scores_nothing():
    assert np.array_equal(knn_shapley([[0.0], [1.0]], [0, 1], [[0.0]], [2], k=1), [0, 0])


@pytest.mark.parametrize(
    ("train", "test", "matching"),
    [
        # NumPy's common type of these pairs is float64, in which they would be equal
        (np.array([2**60, 2**60 + 1]), np.array([2**60], np.uint64), [True, False]),
        (np.array([2**60 + 1, 2**60]), np.array([2.0**60]), [False, True]),
        (np.array([2.0**53, 3.0]), np.array([2**53 + 1]), [False, False]),
        (np.array([-1, 2**63 - 1]), np.array([2**64 - 1], np.uint64), [False, False]),
        (np.array([0, 1]), np.array([True]), [False, True]),
        (np.array([0.0, 1.0], np.float32), np.array([1], np.uint8), [False, True]),
        (np.array([0.1, 1.0]), np.array([0.1], np.longdouble), [True, False]),
        # objects
        (np.array([2**60, 2**60 + 1], object), np.array([2**60], np.uint64), [True, False]),
        (np.array([10**30, 10**30 + 1], object), np.array([10**30], object), [True, False]),
        (np.array(["a", "b"], object), np.array(["b"]), [False, True]),
    ],
)
def test_labels_of_different_types_are_compared_exactly(train, test, matching):
    got = knn_shapley([[0.0], [1.0]], train, [[0.0]], test, k=1)
    expected = knn_shapley([[0.0], [1.0]], np.array(matching) + 0, [[0.0]], [1], k=1)
    assert np.array_equal(got, expected)


def test_pandas_columns_are_labels():
    import pandas as pd

    x, tests = [[0.0], [1.0]], [[0.0]]
    plain = knn_shapley(x, [0, 1], tests, [0], k=1)
    for dtype in ("Int64", "str", "category", "object"):
        train = pd.Series([3, 4]).astype(str if dtype == "str" else dtype)
        assert np.array_equal(knn_shapley(x, train, tests, train[:1], k=1), plain)


GOOD = {"train_x": [[0.0], [1.0]], "train_y": [0, 1], "test_x": [[0.0]], "test_y": [0], "k": 1}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"train_x": [[0.0], [np.nan]]}, UserError, r"train_x\[1, 0\] is nan; expected finite"),
        ({"test_x": [[np.inf]]}, UserError, r"test_x\[0, 0\] is inf"),
        ({"train_y": [0, np.nan]}, UserError, r"train_y\[1\] is NaN; expected a label"),
        *(
            (
                {"train_y": np.array([0, missing], object)},
                UserError,
                r"train_y\[1\] is \S+; expected",
            )
            for missing in (np.nan, None, np.datetime64("NaT"))
        ),
        (
            {"test_y": np.array([np.nan], object)},
            UserError,
            r"test_y\[0\] is nan; expected a label",
        ),
        (
            {"train_y": np.array(["a", None], object), "test_y": ["a"]},
            UserError,
            r"train_y\[1\] is None; expected a label",
        ),
        ({"test_y": [complex("nan")]}, UserError, r"test_y\[0\] is NaN"),
        ({"train_y": np.array([0, "a"], object)}, UserError, "expected labels of one kind"),
        ({"train_y": np.array([0, 1], "M8[s]"), "test_y": ["a"]}, UserError, "of one kind"),
        ({"train_y": np.ma.array([0, 1], mask=[0, 1])}, UserError, r"train_y\[1\] is masked"),
        ({"train_x": np.ma.array([[0], [1]], mask=[[0], [1]])}, UserError, r"train_x\[1, 0\] is m"),
        ({"test_x": np.array([["1e400"]]).astype(np.longdouble)}, UserError, "that float64 holds"),
        ({"test_y": ["a"]}, UserError, "expected labels of one kind"),
        ({"k": 0}, UserError, "k is 0; expected a whole number"),
        ({"k": 1.5}, UserError, "k is 1.5"),
        ({"k": True}, UserError, "k is True"),
        ({"k": "1"}, UserError, "k is '1'"),
        ({"k": 10**30}, UserError, "k is 10+; expected .* from 1 to 9223372036854775807"),
        ({"ties": "first"}, UserError, "ties is 'first'"),
        ({"tie_tolerance": -1.0}, UserError, "tie_tolerance is -1.0"),
        ({"tie_tolerance": math.nan}, UserError, "tie_tolerance is nan"),
        ({"threads": 0}, UserError, "threads is 0"),
        ({"threads": 1.5}, UserError, "threads is 1.5; expected a whole number, at least 1"),
        ({"threads": "2"}, UserError, "threads is '2'"),
        ({"tie_tolerance": "0"}, UserError, "tie_tolerance is '0'"),
        ({"train_x": np.zeros((0, 1)), "train_y": []}, UserError, "at least one record"),
        ({"train_x": [["a"], ["b"]]}, UserError, "expected real numbers"),
        ({"train_x": [0.0, 1.0]}, ValueError, r"train_x has shape \(2,\)"),
        ({"test_x": [[0.0, 1.0]]}, ValueError, "1 features, test_x has 2"),
        ({"train_y": [0]}, ValueError, r"train_y has shape \(1,\); expected \(2,\)"),
    ],
)
def test_bad_input_is_one_clear_error(change, error, message):
    with pytest.raises(error, match=message) as caught:
        knn_shapley(**(GOOD | change))
    assert "\n" not in str(caught.value)


def test_the_largest_k():
    got = knn_shapley([[0.0], [1.0]], [0, 1], [[0.0]], [0], k=2**63 - 1)
    assert got.tolist() == [2.0**-63, 0]


def test_blocks_check_the_threads_before_the_first_is_asked_for():
    with pytest.raises(UserError, match="threads is 0"):
        knn_shapley_blocks(**GOOD, threads=0)


@pytest.mark.parametrize("value", ["abc", "0", "1.5"])
def test_the_threads_of_the_environment_are_checked(monkeypatch, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    with pytest.raises(UserError, match=f"variable NUMBA_NUM_THREADS is '{value}'; expected"):
        knn_shapley(**GOOD)


def test_groups_that_cannot_be_sorted():
    groups = np.array(["a", 1], object)
    with pytest.raises(UserError, match=r"groups cannot be sorted .* expected one kind of name"):
        knn_shapley_by_group(**(GOOD | {"test_x": [[0.0]] * 2, "test_y": [0, 1]}), groups=groups)


def test_docstring_example():
    got = knn_shapley([[0.0], [1.0], [2.0]], [1, 0, 1], [[0.1]], [1], k=1)
    assert np.allclose(got, [5 / 6, -1 / 6, 1 / 3], atol=1e-15)
