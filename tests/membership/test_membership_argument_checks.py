"""Checks of arguments: what they take, what they refuse and how they say it."""

import numpy as np
import pytest

from leakmeter.membership.argument_checks import (
    as_array,
    check_flags,
    check_integer,
    check_labels,
    check_matrix,
    check_number,
    check_values,
    require_classes,
)
from leakmeter.runtime import UserError


@pytest.mark.parametrize("value", [1, 3, np.int8(2), np.uint64(3)])
def test_whole_numbers(value):
    got = check_integer(value, "k", 1, 3)
    assert got == value
    assert type(got) is int


@pytest.mark.parametrize(
    "value", [0, 4, 10**30, 1.0, np.float64(2), True, np.True_, "2", None, [1]]
)
def test_other_than_whole_numbers(value):
    with pytest.raises(UserError, match=r"^k is .*; expected a whole number, from 1 to 3$"):
        check_integer(value, "k", 1, 3)


def between(value):
    return check_number(value, "r", lambda r: 0 <= r <= 1, "a rate from 0 to 1")


@pytest.mark.parametrize("value", [0, 1, 0.25, np.float32(0.5), np.int64(1)])
def test_numbers(value):
    got = between(value)
    assert got == value
    assert type(got) is float


@pytest.mark.parametrize("value", [-1, 1.5, np.nan, np.inf, 10**400, True, "0.5", None, 1j, [0.5]])
def test_other_than_numbers(value):
    with pytest.raises(UserError, match=r"^r is .*; expected a rate from 0 to 1$"):
        between(value)


def test_a_matrix_is_given_back_as_it_is():
    x = np.arange(6, dtype=np.uint8).reshape(3, 2)
    assert check_matrix(x, "x") is x
    assert np.shares_memory(check_matrix(np.ma.array(x), "x"), x)


@pytest.mark.parametrize(
    ("x", "dtype", "message"),
    [
        ([["a"]], np.float64, r"x has type <U1; expected real numbers"),
        ([[1j]], np.float64, "x has type complex128"),
        (np.zeros((3, 0)), np.float64, "at least one record and one feature"),
        ([[0, np.nan]], np.float64, r"x\[0, 1\] is nan; expected finite numbers only"),
        ([[0], [-np.inf]], np.float32, r"x\[1, 0\] is -inf; expected finite numbers only"),
        (
            [[0, 1e39]],
            np.float32,
            r"x\[0, 1\] is 1e\+39; expected finite numbers that float32 holds",
        ),
        (np.ma.array([[1, 2]], mask=[[0, 1]]), np.float64, r"x\[0, 1\] is masked"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_matrices(x, dtype, message):
    with pytest.raises(UserError, match=message):
        check_matrix(x, "x", dtype)


def test_wrong_shapes_are_bugs():
    for check, value in (
        (lambda v: check_matrix(v, "v"), [1.0]),
        (lambda v: check_values(v, "v"), [[1.0]]),
        (lambda v: check_labels(v, 2, 3, "v"), [0]),
        (lambda v: check_flags(v, "v", (2,)), [0]),
    ):
        with pytest.raises(ValueError, match="v has shape"):
            check(value)


@pytest.mark.parametrize("check", [as_array, check_values, check_flags])
def test_masks_are_not_lost(check):
    with pytest.raises(UserError, match=r"^v\[1\] is masked; expected a value$"):
        check(np.ma.array([0, 1], mask=[0, 1]), "v")
    assert check(np.ma.array([0, 1]), "v").tolist() == [0, 1]


def test_absent_classes_are_named():
    require_classes(np.array([0, 1]), 2, "labels")
    with pytest.raises(UserError, match=r"no record of class 1, 2 \(2 of 3 classes absent\)"):
        require_classes(np.array([0]), 3, "labels")
