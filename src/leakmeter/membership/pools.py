"""The pool of records of a run and its splits into members and non-members.

A pool has 2n records. Every model is trained on a half of it and tested on the other half, so
training and test records are equally many (balanced attack accuracy, the paper's Section 4), and
any model can be the target with the others as its shadow models. Halves take half of every class
and come in complementary pairs, so each record is a member of exactly half of the models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakmeter.membership.argument_checks import check_integer
from leakmeter.membership.sets.table import Table
from leakmeter.runtime import UserError, generator

#: Records of each class in a pool, at the least: two on either side of every split.
MIN_PER_CLASS = 4


@dataclass(frozen=True)
class Pool:
    """Records of a run.

    table : the 2n records. rows : their places in the whole set. duplicates : copies (same features,
    any label) that were left out of the whole set so that no record is on both sides of a split.
    """

    table: Table
    rows: np.ndarray
    duplicates: int


def draw_pool(table: Table, records: int, n_classes: int, *, seed: int, where: str) -> Pool:
    """Draw ``2 * records`` distinct records, classes in the set's proportions.

    The number of each class is even and at least :data:`MIN_PER_CLASS`. Where the set is too small,
    the largest possible pool is drawn.

    Raises
    ------
    UserError : a class that has too few records, a set too small for its classes.
    """
    rng = generator(seed, "shapr_pool", data=where)
    distinct = distinct_rows(table)
    labels = table.labels[distinct]
    available = np.bincount(labels, minlength=n_classes)
    if available.min() < MIN_PER_CLASS:
        label = int(np.argmin(available))
        raise UserError(
            f"{where}: class {label} has {available[label]} distinct records; "
            f"expected at least {MIN_PER_CLASS}, two on either side of a split"
        )
    pairs = _pairs_per_class(available, records)
    chosen = []
    for label, count in enumerate(pairs):
        members = distinct[labels == label]
        chosen.append(rng.choice(members, 2 * count, replace=False))
    rows = np.sort(np.concatenate(chosen))
    return Pool(table.take(rows), rows, len(table) - len(distinct))


def distinct_rows(table: Table) -> np.ndarray:
    """The first row of each group of records with equal features, ascending."""
    content = np.concatenate(
        [
            np.ascontiguousarray(_one_zero(part)).view(np.uint8).reshape(len(table), -1)
            for part in (table.numeric, table.codes)
            if part.size
        ],
        axis=1,
    )
    keys = np.ascontiguousarray(content).view(np.dtype((np.void, content.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def _one_zero(part: np.ndarray) -> np.ndarray:
    """The same numbers without negative zeros, whose bytes differ from those of 0."""
    return part + 0 if part.dtype.kind == "f" else part


def _pairs_per_class(available: np.ndarray, records: int) -> np.ndarray:
    """Pairs of records of each class: proportional, at least two, as many as ``records`` in all."""
    least = MIN_PER_CLASS // 2
    most = available // 2
    records = min(records, int(most.sum()))
    if records < least * len(available):
        raise UserError(
            f"shapr.records is {records} for {len(available)} classes; "
            f"expected at least {least * len(available)}, {least} of each"
        )
    share = available * records / available.sum()
    pairs = np.clip(np.floor(share).astype(int), least, most)
    while (gap := records - int(pairs.sum())) != 0:
        # one at a time to (or from) the class farthest from its share
        room = pairs < most if gap > 0 else pairs > least
        distance = np.where(room, (share - pairs) * np.sign(gap), -np.inf)
        pairs[int(np.argmax(distance))] += np.sign(gap)
    return pairs


def member_splits(labels: np.ndarray, models: int, *, seed: int, where: str) -> np.ndarray:
    """Which records each model is trained on, (models, 2n) booleans.

    Models 2j and 2j + 1 have complementary halves; every half has half of each class.

    Raises
    ------
    UserError : an odd number of models, or less than two.
    """
    if check_integer(models, "models", 2, what="an even number") % 2:
        raise UserError(f"models is {models}; expected an even number, at least 2")
    splits = np.zeros((models, len(labels)), bool)
    for pair in range(models // 2):
        rng = generator(seed, "shapr_split", data=where, pair=pair)
        for label in np.unique(labels):
            mine = rng.permutation(np.flatnonzero(labels == label))
            splits[2 * pair, mine[: len(mine) // 2]] = True
        splits[2 * pair + 1] = ~splits[2 * pair]
    return splits


def check_split(table: Table, members: np.ndarray, n_classes: int, where: str) -> None:
    """Refuse a split that leaks or lacks a class.

    Raises
    ------
    UserError : sides of different size, a class absent from a side, a record whose copy is on the
        other side.
    """
    inside, outside = np.flatnonzero(members), np.flatnonzero(~members)
    if len(inside) != len(outside):
        raise UserError(
            f"{where}: {len(inside)} training and {len(outside)} test records; expected equally many"
        )
    for rows, name in ((inside, "training"), (outside, "test")):
        absent = np.flatnonzero(np.bincount(table.labels[rows], minlength=n_classes) == 0)
        if len(absent):
            raise UserError(
                f"{where}: class {absent[0]} is absent from the {name} records; expected every class"
            )
    if len(distinct_rows(table)) < len(table):
        raise UserError(f"{where}: a record has a copy in the pool; expected distinct records")
