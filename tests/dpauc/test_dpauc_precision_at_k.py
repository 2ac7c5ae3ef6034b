import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.dpauc.precision_at_k import topk
from leakmeter.runtime import UserError


def test_by_hand():
    result = topk([0.9, 0.1, 0.8, 0.7], [1, 1, 0, 1], [1, 2, 4])
    assert result.k.tolist() == [1, 2, 4]
    assert result.positives.tolist() == [1, 1, 3]
    assert result.precision.tolist() == [1.0, 0.5, 0.75]
    assert result.recall.tolist() == [1 / 3, 1 / 3, 1.0]


tied_sets = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=4).map(
    lambda rows: [(0, False), (1, True), *rows]
)


@given(tied_sets)
def test_row_ties_are_a_stable_descending_sort(rows):
    scores, labels = zip(*rows, strict=True)
    order = sorted(range(len(rows)), key=lambda i: -scores[i])
    expected = np.cumsum([labels[i] for i in order])
    result = topk(np.float32(scores), labels, np.arange(1, len(rows) + 1))
    np.testing.assert_array_equal(result.positives, expected)


@given(tied_sets)
def test_expected_ties_average_over_all_orders(rows):
    orders = [
        np.cumsum([label for _, label in sorted(p, key=lambda row: -row[0])])
        for p in itertools.permutations(rows)
    ]
    scores, labels = zip(*rows, strict=True)
    result = topk(scores, labels, np.arange(1, len(rows) + 1), ties="expected")
    np.testing.assert_allclose(result.positives, np.mean(orders, axis=0))


@pytest.mark.parametrize(
    ("ks", "ties", "message"),
    [
        ([0], "row", "from 0 to 0; expected 1 to 2"),
        ([3], "row", "from 3 to 3"),
        ([1.5], "row", "integers"),
        ([], "row", "integers"),
        ([1], "random", "ties is 'random'"),
    ],
)
def test_bad_arguments(ks, ties, message):
    with pytest.raises(UserError, match=message):
        topk([0.1, 0.2], [0, 1], ks, ties=ties)
