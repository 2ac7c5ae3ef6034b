"""USPS handwritten digits, 16 x 16 pixels."""

from __future__ import annotations

import io

import numpy as np

from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import usps as generator
from leakmeter.membership.sets.table import Spec, Table, make_table
from leakmeter.runtime import UserError

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
    parts = [reader(source, part) for part in ("train", "test")]
    pixels, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    return make_table(pixels, labels, n_classes=SPEC.n_classes, where=source.name, bounds=(-1, 1))


def _text(source: Resolution, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the label and 256 grey values."""
    import pandas as pd

    with source.open(part) as handle:
        # the training file's rows end in a blank, the test file's do not
        frame = pd.read_csv(handle, sep=r"\s+", header=None, dtype=np.float32)
    if frame.shape[1] != _PIXELS + 1:
        raise UserError(
            f"{source.files[part]}: {frame.shape[1]} columns; expected a label and {_PIXELS} grey values"
        )
    values = frame.to_numpy()
    return values[:, 1:], values[:, 0].astype(np.int64)


def _libsvm(source: Resolution, part: str) -> tuple[np.ndarray, np.ndarray]:
    """``label index:value ...`` with labels 1 to 10, compressed with bzip2."""
    import bz2

    from sklearn.datasets import load_svmlight_file

    # the registry takes the file as it is, so that its published checksum can be compared
    with source.open(part) as handle:
        content = handle.read()
    matrix, labels = load_svmlight_file(io.BytesIO(bz2.decompress(content)), n_features=_PIXELS)
    return matrix.toarray().astype(np.float32), labels.astype(np.int64) - 1


def standin(rows: int, seed: int) -> Table:
    """Generated images, see :mod:`leakmeter.datasets.standins.usps`."""
    pixels, labels = generator.generate(rows, seed=seed)
    return make_table(
        pixels.reshape(rows, -1),
        labels,
        n_classes=SPEC.n_classes,
        where="stand-in",
        bounds=(-1, 1),
    )
