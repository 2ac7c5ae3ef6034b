"""Labelled rows of bits, the format of Shokri et al.'s LOCATION, PURCHASE and TEXAS."""

from __future__ import annotations

import zipfile
from typing import BinaryIO

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.membership.sets.table import Table, make_table
from leakmeter.runtime import UserError


def read_bits(handle: BinaryIO, columns: int, where: str) -> np.ndarray:
    """Comma-separated rows of single digits, (n, columns) uint8.

    The labels of LOCATION are quoted; quotes are dropped by the caller's choice of columns.

    Raises
    ------
    UserError : a row of another length, a value that is not a small whole number.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(handle, header=None, quotechar='"', dtype=np.uint8)
    except (ValueError, pd.errors.ParserError) as error:
        raise UserError(f"{where}: not rows of {columns} small whole numbers ({error})") from error
    if frame.shape[1] != columns:
        raise UserError(f"{where}: {frame.shape[1]} columns; expected {columns}")
    return frame.to_numpy()


def read_npz(source: Resolution, columns: int, n_classes: int) -> Table:
    """The repacked arrays ``features`` and ``labels`` (one-hot or numbers)."""
    path = source.files["arrays"]
    try:
        with np.load(path, allow_pickle=False) as content:
            features, labels = content["features"], content["labels"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: cannot be read as features and labels ({error})") from error
    if labels.ndim == 2:
        labels = labels.argmax(axis=1)
    if features.ndim != 2 or features.shape[1] != columns:
        raise UserError(f"{path}: features {features.shape}; expected {columns} columns")
    return bits_table(
        features.astype(np.uint8), labels.astype(np.int64), n_classes=n_classes, where=str(path)
    )


def bits_table(features: np.ndarray, labels: np.ndarray, *, n_classes: int, where: str) -> Table:
    """Bits, taken as they are."""
    return make_table(features, labels, n_classes=n_classes, where=where, bounds=(0, 1))
