"""A data set as a table before preprocessing, and the preprocessing fitted on training records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
    n_classes: int,
    where: str,
    categories: Mapping[str, Sequence[Any]] | None = None,
    bounds: tuple[float, float] | None = None,
    groups: Mapping[str, ArrayLike] | None = None,
) -> Table:
    """A checked table.

    Parameters
    ----------
    numeric : (n, a). categories : column -> (n,) values, coded in their sorted order: the list of
        categories is the file's, not that of the training records.
    where : file or set for the messages.

    Raises
    ------
    UserError : NaN or infinity, values outside ``bounds``, a label out of range, columns of other
        lengths, no record.
    """
    numeric = np.asarray(numeric)
    labels = np.asarray(labels)
    n = len(labels)
    if not n:
        raise UserError(f"{where}: no records; expected at least one")
    if numeric.ndim != 2 or len(numeric) != n:
        raise UserError(f"{where}: features of shape {numeric.shape}; expected {n} rows")
    _check_numbers(numeric, bounds, where)
    _check_labels(labels, n_classes, where)
    columns = [_coded(values, n, f"{where}, {name}") for name, values in (categories or {}).items()]
    codes = np.stack([c for c, _ in columns], axis=1) if columns else np.zeros((n, 0), np.int16)
    return Table(
        numeric,
        labels.astype(np.int32),
        codes,
        tuple(levels for _, levels in columns),
        bounds,
        {name: np.asarray(values).astype(str) for name, values in (groups or {}).items()},
    )


def _check_numbers(numeric: np.ndarray, bounds: tuple[float, float] | None, where: str) -> None:
    if numeric.dtype.kind not in "biuf":
        raise UserError(f"{where}: features of type {numeric.dtype}; expected numbers")
    if not numeric.size:
        return
    low, high = numeric.min(), numeric.max()  # NaN and infinity come through
    if not (np.isfinite(low) and np.isfinite(high)):
        row, column = np.argwhere(~np.isfinite(numeric))[0]
        raise UserError(
            f"{where}: record {row}, feature {column} is {numeric[row, column]}; expected a finite number"
        )
    if bounds is not None and not (bounds[0] <= low and high <= bounds[1]):
        outside = (numeric < bounds[0]) | (numeric > bounds[1])
        row, column = np.argwhere(outside)[0]
        raise UserError(
            f"{where}: record {row}, feature {column} is {numeric[row, column]}; "
            f"expected {bounds[0]:g} to {bounds[1]:g}"
        )


def _check_labels(labels: np.ndarray, n_classes: int, where: str) -> None:
    if labels.ndim != 1 or labels.dtype.kind not in "biu":
        raise UserError(
            f"{where}: labels of type {labels.dtype}; expected integers 0 to {n_classes - 1}"
        )
    wrong = (labels < 0) | (labels >= n_classes)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UserError(
            f"{where}: record {row} has the label {labels[row]}; expected 0 to {n_classes - 1}"
        )


def _coded(values: ArrayLike, n: int, where: str) -> tuple[np.ndarray, int]:
    values = np.asarray(values)
    if values.shape != (n,):
        raise UserError(f"{where}: {values.shape} values; expected {n}")
    names, codes = np.unique(values.astype(str), return_inverse=True)
    return codes.astype(np.int16), len(names)


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
