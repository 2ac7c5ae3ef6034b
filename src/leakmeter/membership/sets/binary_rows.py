"""Labelled rows of bits, the format of Shokri et al.'s LOCATION, PURCHASE and TEXAS."""

from __future__ import annotations

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.values import class_numbers, load_arrays, numbers
from leakmeter.membership.sets.table import Spec, Table, make_table
from leakmeter.runtime import UserError


def labelled_bits(values: np.ndarray, spec: Spec, where: str) -> Table:
    """Rows of a label from 1 and the bits."""
    labels = class_numbers(values[:, 0], spec.n_classes, where, first=1)
    return bits_table(values[:, 1:], labels, spec, where)


def read_npz(source: Resolution, spec: Spec) -> Table:
    """The repacked arrays ``features`` and ``labels`` (one-hot or numbers from 0)."""
    where = source.where("arrays")
    features, labels = load_arrays(source.files["arrays"], "features", "labels")
    if labels.ndim == 2:
        labels = _from_one_hot(labels, spec.n_classes, where)
    return bits_table(features, labels, spec, where)


def _from_one_hot(labels: np.ndarray, n_classes: int, where: str) -> np.ndarray:
    if labels.shape[1] != n_classes:
        raise UserError(
            f"{where}: labels of shape {labels.shape}; expected (n,) or (n, {n_classes}) one-hot"
        )
    ones = numbers(labels, where, bounds=(0, 1), whole=True, name="one-hot label").sum(axis=1)
    if (ones != 1).any():
        row = int(np.argmax(ones != 1))
        raise UserError(f"{where}: record {row} has {ones[row]:g} labels; expected one")
    return labels.argmax(axis=1)


def bits_table(features: np.ndarray, labels: np.ndarray, spec: Spec, where: str) -> Table:
    """Bits, taken as they are."""
    bits = numbers(features, where, bounds=(0, 1), whole=True).astype(np.uint8, copy=False)
    return make_table(bits, labels, spec=spec, where=where, bounds=(0, 1))
