"""A data set as a table before preprocessing, and the preprocessing fitted on training records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakmeter.datasets.values import class_numbers, numbers
from leakmeter.runtime import UserError


@dataclass(frozen=True)
class Spec:
    """What is fixed about a set.

    name : in the registry. title : in the paper. rows : records of the paper's own data set.
    features : inputs after preprocessing of the paper's own data set, None where it depends on an
        option or on the records. preprocessing : one sentence for Table II.
    """

    name: str
    title: str
    n_classes: int
    rows: int
    features: int | None
    preprocessing: str


@dataclass(frozen=True)
class Table:
    """Records before preprocessing.

    numeric : (n, a) numbers. labels : (n,) from 0.
    codes : (n, b) category numbers; levels : how many categories each of the b columns has.
    bounds : the range that is mapped to [0, 1] where it is a property of the format (pixels, bits);
        None fits it per column on the training records.
    groups : attribute -> (n,) group of each record, where the set has people in it.
    """

    numeric: np.ndarray
    labels: np.ndarray
    codes: np.ndarray
    levels: tuple[int, ...] = ()
    bounds: tuple[float, float] | None = None
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Inputs after preprocessing."""
        return self.numeric.shape[1] + sum(self.levels)

    def take(self, rows: np.ndarray) -> Table:
        """Some of the records."""
        return Table(
            self.numeric[rows],
            self.labels[rows],
            self.codes[rows],
            self.levels,
            self.bounds,
            {name: values[rows] for name, values in self.groups.items()},
        )


def make_table(
    numeric: ArrayLike,
    labels: ArrayLike,
    *,
    spec: Spec,
    where: str,
    where_labels: str | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    bounds: tuple[float, float] | None = None,
    groups: Mapping[str, ArrayLike] | None = None,
) -> Table:
    """A checked table.

    Parameters
    ----------
    numeric : (n, a). labels : (n,) from 0. spec : classes and, where it states them, features.
    categories : column -> (n,) values, coded in their sorted order: the list of categories is the
        file's, not that of the training records. groups : attribute -> (n,) groups.
    where : file or set for the messages. where_labels : file of the labels if it is another one.

    Raises
    ------
    UserError : NaN or infinity, values outside ``bounds``, a label out of range, columns of other
        lengths, another number of features, no record.
    """
    labels = class_numbers(labels, spec.n_classes, where_labels or where)
    n = len(labels)
    shape = np.shape(numeric)
    if len(shape) != 2 or shape[0] != n:
        raise UserError(f"{where}: features of shape {shape}; expected {n} rows")
    numeric = numbers(numeric, where, bounds=bounds)
    columns = [_coded(values, n, f"{where}, {name}") for name, values in (categories or {}).items()]
    table = Table(
        numeric,
        labels.astype(np.int32),
        np.stack([c for c, _ in columns], axis=1) if columns else np.zeros((n, 0), np.int16),
        tuple(levels for _, levels in columns),
        bounds,
        {name: _grouped(v, n, f"{where}, {name}") for name, v in (groups or {}).items()},
    )
    if spec.features is not None and table.n_features != spec.features:
        raise UserError(f"{where}: {table.n_features} features; expected {spec.features}")
    return table


def _grouped(values: ArrayLike, n: int, where: str) -> np.ndarray:
    """One text a record, none missing."""
    import pandas as pd

    values = np.asarray(values)
    if values.shape != (n,):
        raise UserError(f"{where}: values of shape {values.shape}; expected {n}")
    missing = pd.isna(values)
    if missing.any():
        raise UserError(f"{where}: record {int(np.argmax(missing))} is missing; expected a value")
    return values.astype(str)


def _coded(values: ArrayLike, n: int, where: str) -> tuple[np.ndarray, int]:
    names, codes = np.unique(_grouped(values, n, where), return_inverse=True)
    return codes.astype(np.int16), len(names)


def join_tables(parts: Sequence[Table]) -> Table:
    """The records of several tables of numbers, without categories and groups, one after another."""
    numeric, labels, codes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("numeric", "labels", "codes")
    )
    return Table(numeric, labels, codes, bounds=parts[0].bounds)


def encode(table: Table, train: np.ndarray) -> np.ndarray:
    """Model inputs of all records, with everything that is fitted fitted on ``train`` alone.

    Numbers are mapped to [0, 1] by the format's range or by the minimum and maximum of the training
    records (other records may fall outside; a column that is constant there becomes 0);
    categories are one-hot.

    Parameters
    ----------
    train : rows of the training records.

    Returns
    -------
    (n, features) float32.
    """
    numeric = table.numeric.astype(np.float64)
    if table.bounds is not None:
        low, high = (np.full(numeric.shape[1], bound) for bound in table.bounds)
    else:
        low, high = numeric[train].min(axis=0), numeric[train].max(axis=0)
    width = high - low
    scaled = np.where(width > 0, (numeric - low) / np.where(width > 0, width, 1), 0.0)
    parts = [scaled.astype(np.float32)]
    for column, levels in enumerate(table.levels):
        parts.append((table.codes[:, column, None] == np.arange(levels)).astype(np.float32))
    return np.concatenate(parts, axis=1)
