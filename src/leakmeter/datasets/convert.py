"""Rebuilding a published file from a package that holds the same data in another form.

Each converter writes its first argument; the checksum of the result decides whether it is the
published file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

_CIFAR_ROWS, _CIFAR_SIDE = 10_000, 32


def cifar_png(target: Path, *, image: Path, labels: Path, first: int) -> None:
    """A CIFAR-10 binary batch from a PNG with one image a row and a JSON list of labels.

    The PNG is 1,024 pixels wide (an image in row-major order) and 10,000 high; a record of the
    binary batch is the label byte and the 1,024 values of red, of green and of blue.

    Parameters
    ----------
    target : file to write, 30,730,000 bytes.
    image, labels : the PNG and the JSON file.
    first : index of the batch's first label in the list.

    Raises
    ------
    ValueError
        If the image or the labels have another shape.
    """
    from PIL import Image

    with Image.open(image) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    expected = (_CIFAR_ROWS, _CIFAR_SIDE**2, 3)
    if pixels.shape != expected:
        raise ValueError(f"image of shape {pixels.shape}, expected {expected}")
    values = json.loads(labels.read_text(encoding="utf-8"))[first : first + _CIFAR_ROWS]
    if len(values) != _CIFAR_ROWS:
        raise ValueError(f"{len(values)} labels from {first} on, expected {_CIFAR_ROWS}")
    batch = np.empty((_CIFAR_ROWS, 1 + 3 * _CIFAR_SIDE**2), np.uint8)
    batch[:, 0] = values
    batch[:, 1:] = pixels.transpose(0, 2, 1).reshape(_CIFAR_ROWS, -1)
    batch.tofile(target)


CONVERTERS: dict[str, Callable[..., None]] = {"cifar_png": cifar_png}
