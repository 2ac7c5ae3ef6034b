"""FLOWER: the 3,670 flower photos of TensorFlow's tutorials in five classes."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path, PurePosixPath

import numpy as np

from leakmeter.datasets.content import open_binary
from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.standins import flower as generator
from leakmeter.datasets.values import load_arrays, parsing
from leakmeter.membership.sets.idx_images import image_table
from leakmeter.membership.sets.table import Spec, Table
from leakmeter.runtime import UserError

SPEC = Spec(
    name="flower",
    title="FLOWER",
    n_classes=5,
    rows=3_670,
    features=None,
    preprocessing="centre crop, 64 x 64 pixels, averaged to side x side, 0..255 to [0, 1]",
)
CLASSES = ("daisy", "dandelion", "roses", "sunflowers", "tulips")
_SIDE = 64


def read(source: Resolution) -> Table:
    """The photos at 64 x 64 pixels, from the archive of JPEGs or from the repacked pixels."""
    key, reader = ("photos", _photos) if source.variant == "photos" else ("pixels", _pixels)
    where = source.where(key)
    images, labels = reader(source.files[key], where)
    return image_table(images, labels, SPEC, where)


def _pixels(path: Path, where: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels, names = load_arrays(path, "images", "labels", "classes")
    classes = tuple(names.astype(str).ravel().tolist())
    if images.shape[1:] != (_SIDE, _SIDE, 3) or classes != CLASSES:
        raise UserError(
            f"{where}: images {images.shape} of {classes}; expected (n, {_SIDE}, {_SIDE}, 3) of {CLASSES}"
        )
    return images, labels


def _photos(path: Path, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Decode, crop to the centred square and scale to 64 pixels, in the order of the names."""
    from PIL import Image

    found: dict[str, np.ndarray] = {}
    with (
        parsing(where, "a tar archive of JPEG photos"),
        open_binary(path) as handle,
        tarfile.open(fileobj=handle, mode="r|*") as archive,
    ):
        for info in archive:
            name = PurePosixPath(info.name)
            if not info.isreg() or name.suffix.lower() != ".jpg":
                continue
            content = io.BytesIO(archive.extractfile(info).read())
            with parsing(f"{where}#{info.name}", "a JPEG photo"), Image.open(content) as photo:
                side = min(photo.size)
                left, top = ((length - side) // 2 for length in photo.size)
                square = photo.convert("RGB").crop((left, top, left + side, top + side))
                found[f"{name.parent.name}/{name.name}"] = np.asarray(
                    square.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)
                )
    unknown = {name.split("/")[0] for name in found} - set(CLASSES)
    if not found or unknown:
        raise UserError(
            f"{where}: folders {sorted(unknown) or 'without JPEGs'}; expected {CLASSES}"
        )
    names = sorted(found)
    labels = np.array([CLASSES.index(name.split("/")[0]) for name in names])
    return np.stack([found[name] for name in names]), labels


def shrink(table: Table, side: int) -> Table:
    """The same photos averaged to ``side`` x ``side`` pixels; ``side`` divides 64.

    Raises
    ------
    UserError : a side that does not divide 64.
    """
    if side < 1 or _SIDE % side:
        raise UserError(f"shapr.flower_side is {side}; expected a divisor of {_SIDE}")
    block = _SIDE // side
    images = table.numeric.reshape(-1, side, block, side, block, 3).mean(axis=(2, 4))
    return Table(
        images.reshape(len(table), -1).astype(np.float32),
        table.labels,
        table.codes,
        bounds=(0, 255),
    )


def standin(rows: int, seed: int) -> Table:
    """Generated photos, see :mod:`leakmeter.datasets.standins.flower`."""
    images, labels = generator.generate(rows, seed=seed)
    return image_table(images, labels, SPEC, "stand-in")
