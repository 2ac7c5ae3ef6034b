import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.dpauc.records import check_records, stable_order
from leakmeter.runtime import UserError


def test_keeps_float32_and_widens_the_rest():
    assert check_records(np.float32([0.1, 0.2]), [0, 1])[0].dtype == np.float32
    assert check_records([1, 2], [False, True])[0].dtype == np.float64
    np.testing.assert_array_equal(check_records([1, 2], [0.0, 1.0])[1], [False, True])


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.1, np.nan], [0, 1], r"scores\[1\] is NaN"),
        ([0.1, 0.2, 0.3], [0, 1, 2], r"labels\[2\] is 2; expected 0 or 1"),
        ([0.1, 0.2], [0, np.nan], r"labels\[1\] is nan"),
        ([0.1, 0.2], ["0", "1"], r"labels\[0\] is 0"),
        ([0.1], [0, 1], "1 records and labels has 2"),
        ([], [], "empty"),
        ([[0.1], [0.2]], [0, 1], "one dimension"),
        (["a", "b"], [0, 1], "expected numbers"),
        ([0.1, 0.2], [1, 1], "all 2 labels are 1"),
        ([0.1, 0.2], [0, 0], "all 2 labels are 0"),
    ],
)
def test_bad_records_are_named(scores, labels, message):
    with pytest.raises(UserError, match=message):
        check_records(scores, labels)


def test_one_class_can_be_allowed_and_infinities_are():
    scores, positive = check_records([np.inf, -np.inf], [1, 1], both_classes=False)
    assert positive.all()
    assert np.isinf(scores).all()


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60), st.sampled_from(["f4", "f8", "i8"]))
def test_stable_order_is_the_stable_sort(values, dtype):
    values = np.array(values, dtype)
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))


def test_stable_order_without_ties_and_with_infinities():
    values = np.array([3.0, -np.inf, np.inf, 0.5, np.inf])
    np.testing.assert_array_equal(stable_order(values), [1, 3, 0, 2, 4])
    assert stable_order(np.array([2.0, 1.0])).tolist() == [1, 0]
