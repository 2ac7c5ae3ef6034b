"""Pools and splits: sizes, classes, leaks, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from set_files import spec

from leakmeter.membership.pools import (
    _pairs_per_class,
    check_split,
    distinct_rows,
    draw_pool,
    member_splits,
)
from leakmeter.membership.sets.table import Table, make_table
from leakmeter.runtime import UserError


def table(n=200, classes=4, seed=0, columns=6):
    rng = np.random.default_rng(seed)
    return make_table(
        rng.random((n, columns)),
        np.arange(n) % classes,
        spec=spec(classes),
        where="x",
        categories={"c": rng.integers(3, size=n)},
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(4, 400), min_size=1, max_size=30), st.data())
def test_pairs_sum_to_what_is_asked_for(available, data):
    available = np.array(available)
    most = int((available // 2).sum())
    records = data.draw(st.integers(2 * len(available), most + 50))
    pairs = _pairs_per_class(available, records)
    assert pairs.sum() == min(records, most)
    assert (pairs >= 2).all()
    assert (2 * pairs <= available).all()


def test_pool_keeps_the_proportions():
    labels = np.repeat([0, 1], [300, 100])
    whole = make_table(np.random.default_rng(0).random((400, 3)), labels, spec=spec(2), where="x")
    pool = draw_pool(whole, 40, 2, seed=3, where="x")
    assert np.bincount(pool.table.labels).tolist() == [60, 20]
    assert np.array_equal(whole.numeric[pool.rows], pool.table.numeric)


def test_copies_are_left_out():
    whole = table()
    rows = np.concatenate([np.arange(200), np.arange(10)])
    doubled = whole.take(rows)
    assert distinct_rows(doubled).tolist() == list(range(200))
    pool = draw_pool(doubled, 90, 4, seed=1, where="x")
    assert pool.duplicates == 10
    assert len(distinct_rows(pool.table)) == len(pool.table)


def test_a_category_alone_makes_records_differ():
    one = make_table(
        np.zeros((2, 1)), [0, 0], spec=spec(2), where="x", categories={"c": ["a", "b"]}
    )
    assert len(distinct_rows(one)) == 2


def test_splits_are_balanced_and_complementary():
    labels = table().labels
    splits = member_splits(labels, 6, seed=2, where="x")
    assert (splits.sum(axis=1) == 100).all()
    assert (splits.sum(axis=0) == 3).all()
    assert np.array_equal(splits[0], ~splits[1])
    assert not np.array_equal(splits[0], splits[2])
    for split in splits:
        assert (np.bincount(labels[split]) == 25).all()


@pytest.mark.parametrize("models", [0, 1, 3, 2.0, "2"])
def test_models_come_in_pairs(models):
    with pytest.raises(UserError, match="expected an even number"):
        member_splits(table().labels, models, seed=0, where="x")


def test_negative_zeros_are_zeros():
    numbers = np.zeros((8, 2), np.float32)
    numbers[:, 0] = np.arange(8)
    numbers[5] = (3, -0.0)
    signed = Table(numbers, np.arange(8) % 2, np.zeros((8, 0), np.int16))
    assert distinct_rows(signed).tolist() == [0, 1, 2, 3, 4, 6, 7]


def test_errors():
    whole = table()
    with pytest.raises(UserError, match=r"shapr\.records is 7 for 4 classes; expected at least 8"):
        draw_pool(whole, 7, 4, seed=0, where="x")
    with pytest.raises(UserError, match="class 4 has 0 distinct records"):
        draw_pool(whole, 20, 5, seed=0, where="x")
    split = np.arange(200) < 100
    check_split(whole, split, 4, "x")
    with pytest.raises(UserError, match="99 training and 101 test"):
        check_split(whole, np.arange(200) < 99, 4, "x")
    with pytest.raises(UserError, match="class 0 is absent from the training"):
        check_split(whole.take(np.argsort(-whole.labels, kind="stable")), split, 4, "x")
    copied = whole.take(np.concatenate([np.arange(196), np.arange(4)]))
    with pytest.raises(UserError, match="has a copy"):
        check_split(copied, split, 4, "x")
