"""USPS handwritten digits, 16 x 16 pixels."""

from __future__ import annotations

import io

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import usps as generator
from leakmeter.datasets.values import class_numbers, parsing, read_rows
from leakmeter.membership.sets.table import Spec, Table, join_tables, make_table

SPEC = Spec(
    name="usps",
    title="USPS",
    n_classes=10,
    rows=9_298,
    features=256,
    preprocessing="grey values from -1..1 to [0, 1]",
)
_PIXELS = 256


def read(source: Resolution) -> Table:
    """The 7,291 training and 2,007 test images, from ElemStatLearn's text or LIBSVM's."""
    reader = _libsvm if source.variant == "libsvm" else _text
    return join_tables([reader(source, part) for part in ("train", "test")])


def _text(source: Resolution, part: str) -> Table:
    """Rows of the label and 256 grey values."""
    where = source.where(part)
    # the training file's rows end in a blank, the test file's do not
    values = read_rows(lambda: source.open(part), _PIXELS + 1, np.float32, where, sep=r"\s+")
    return _table(values[:, 1:], values[:, 0], where)


def _libsvm(source: Resolution, part: str) -> Table:
    """``label index:value ...`` with labels 1 to 10, compressed with bzip2."""
    import bz2

    from sklearn.datasets import load_svmlight_file

    where = source.where(part)
    # the registry takes the file as it is, so that its published checksum can be compared
    with parsing(where, "LIBSVM's bzip2 file of 256 grey values"), source.open(part) as handle:
        text = io.BytesIO(bz2.decompress(handle.read()))
        matrix, labels = load_svmlight_file(text, n_features=_PIXELS)
    digits = class_numbers(labels, SPEC.n_classes, where, first=1)
    return _table(matrix.toarray().astype(np.float32), digits, where)


def _table(pixels: np.ndarray, labels: np.ndarray, where: str) -> Table:
    return make_table(pixels, labels, spec=SPEC, where=where, bounds=(-1, 1))


def standin(rows: int, seed: int) -> Table:
    """Generated images, see :mod:`leakmeter.datasets.standins.usps`."""
    pixels, labels = generator.generate(rows, seed=seed)
    return _table(pixels.reshape(rows, -1), labels, "stand-in")
