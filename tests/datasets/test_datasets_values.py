"""Raw values become numbers and labels, or one error that says where."""

import contextlib
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakmeter.datasets.values import (
    class_numbers,
    load_arrays,
    number_columns,
    numbers,
    parsing,
    read_rows,
    read_table,
)
from leakmeter.runtime import UserError


def opened(text):
    return lambda: contextlib.nullcontext(io.BytesIO(text.encode()))


@given(st.lists(st.floats(-3, 3, width=32), min_size=1), st.data())
def test_good_numbers_come_back_and_the_first_bad_one_is_named(values, data):
    assert np.array_equal(numbers(np.array(values), "x", bounds=(-3, 3)), values)
    bad = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, 3.5, -4.0]))
    at = data.draw(st.integers(0, len(values) - 1))
    later = np.array(values)
    later[at:] = bad
    with pytest.raises(UserError) as caught:
        numbers(later, "x", bounds=(-3, 3))
    assert str(caught.value) == f"x: record {at}, feature is {bad}; expected a number from -3 to 3"


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1), st.sampled_from("if"), st.data())
def test_whole_numbers(values, kind, data):
    array = np.array(values, dtype=f"{kind}8")
    assert numbers(array, "x", whole=True).tolist() == values
    at = data.draw(st.integers(0, len(values) - 1))
    broken = array.astype(float)
    broken[at] = data.draw(st.integers(-100, 100)) + 0.25
    with pytest.raises(UserError, match=rf"record {at}, .*\.\d+; expected a whole number"):
        numbers(broken, "x", whole=True)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f4", "f8", "?"])
def test_a_numeric_type_is_kept(dtype):
    assert numbers(np.ones((2, 2), dtype), "x").dtype == dtype


@pytest.mark.parametrize("value", ["x", "", "?", "1 2", None, np.nan, pd.NA, "inf", "1e999", "nan"])
def test_columns_with_text_are_parsed_or_refused(value):
    frame = pd.DataFrame({"a": ["1", "2.5", "-3"], "b": [1, 2, 3]}, index=[4, 7, 9])
    assert numbers(frame, "x").tolist() == [[1, 1], [2.5, 2], [-3, 3]]
    frame.loc[7, "a"] = value
    with pytest.raises(UserError, match=r"^x: record 7, column a is .*; expected a finite number$"):
        numbers(frame, "x")


@pytest.mark.parametrize("array", [np.array(["1"]), np.array([b"1"]), np.array([1j])])
def test_arrays_of_another_type(array):
    with pytest.raises(UserError, match=r"^x: feature of type .*; expected numbers$"):
        numbers(array, "x")


def test_a_whole_number_that_float64_cannot_tell_apart():
    with pytest.raises(UserError, match="expected a whole number"):
        numbers(np.array([2.0**54]), "x", whole=True)


def test_columns():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.0]}, index=[3, 5])
    got = number_columns(frame, ["b", "a"], "x")
    assert got.to_numpy().tolist() == [[0.5, 1], [1, 2]]
    assert (list(got), list(got.index)) == (["b", "a"], [3, 5])
    with pytest.raises(UserError, match="record 3, column b is 0.5; expected a whole number"):
        number_columns(frame, ["a", "b"], "x", whole=True)
    with pytest.raises(UserError, match="x: columns a, b; expected c, d too"):
        number_columns(frame, ["a", "c", "d"], "x")


@given(st.lists(st.integers(1, 7), min_size=1))
def test_labels_start_at_zero(labels):
    assert class_numbers(np.array(labels, float), 7, "x", first=1).tolist() == [
        label - 1 for label in labels
    ]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "no records; expected at least one"),
        ([[1], [2]], r"labels of shape \(2, 1\); expected one whole number a record"),
        ([1, 0, 2], "record 1, label is 0; expected a whole number from 1 to 3"),
        ([1, 4, 2], "record 1, label is 4; expected a whole number from 1 to 3"),
        ([1, 1.5], "record 1, label is 1.5; expected a whole number from 1 to 3"),
        ([1, np.nan], "record 1, label is nan; expected a whole number from 1 to 3"),
        (["a"], "label of type <U1; expected numbers"),
    ],
)
def test_labels_that_are_none(labels, message):
    with pytest.raises(UserError, match=f"^x: {message}$"):
        class_numbers(np.array(labels), 3, "x", first=1)


def test_rows():
    assert read_rows(opened('"1",2\n3,4\n'), 2, np.uint8, "x").tolist() == [[1, 2], [3, 4]]
    blanks = read_rows(opened("1 0.5 \n-1   2\n"), 2, np.float32, "x", sep=r"\s+")
    assert blanks.dtype == np.float32
    assert blanks.tolist() == [[1, 0.5], [-1, 2]]


@pytest.mark.parametrize(
    ("text", "dtype", "message"),
    [
        ("1,2\n" * 2500 + "1,x\n", "u1", "record 2500, column 1 is 'x'; expected a whole number"),
        ("1,2\n1,\n", "u1", "record 1, column 1 is nan"),
        ("1,2\n3\n", "f4", "record 1, column 1 is nan; expected a finite number"),
        ("1,2\n3,4,5\n", "u1", "Expected 2 fields in line 2, saw 3"),
        (
            "1,2\n256,4\n",
            "u1",
            "record 1, column 0 is '256'; expected a whole number from 0 to 255",
        ),
        ("1,2\n0.5,4\n", "u1", "record 1, column 0 is '0.5'"),
        ("1,2,3\n", "u1", "3 columns; expected 2"),
        ("", "u1", "expected lines of 2 numbers"),
    ],
)
def test_bad_rows(text, dtype, message):
    with pytest.raises(UserError, match=f"^x: .*{message}"):
        read_rows(opened(text), 2, np.dtype(dtype), "x")


def test_tables():
    assert read_table(opened("a,b\n1,2\n"), "x").to_numpy().tolist() == [[1, 2]]
    with pytest.raises(
        UserError, match="x: cannot be read .Length of header .*; expected a comma-separated"
    ):
        read_table(opened("a,b\n1,2,3\n4,5,6\n"), "x")
    with pytest.raises(UserError, match=r"x: cannot be read \(.*\); expected a comma-separated"):
        read_table(opened(""), "x")


def test_arrays(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=[1, 2], b=[3])
    assert [array.tolist() for array in load_arrays(path, "b", "a")] == [[3], [1, 2]]
    np.save(tmp_path / "a.npy", [1])
    for bad in (tmp_path / "a.npy", tmp_path / "none"):
        with pytest.raises(UserError, match=r"expected an \.npz file with the arrays a"):
            load_arrays(bad, "a")
    with pytest.raises(UserError, match=r"a\.npz: cannot be read \(.*c is not a file"):
        load_arrays(path, "c")


def test_what_parsing_lets_through():
    with pytest.raises(UserError, match="^own$"), parsing("x", "y"):
        raise UserError("own")
    with pytest.raises(ImportError), parsing("x", "y"):
        raise ImportError
    expected = r"^x: cannot be read \(EOFError\); expected y$"
    with pytest.raises(UserError, match=expected), parsing("x", "y"):
        raise EOFError
