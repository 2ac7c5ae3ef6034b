"""CIFAR-10 images: the binary batches, and features that need no label and no private record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from leakmeter.runtime import UserError

SIDE = 32
_RECORD = 1 + 3 * SIDE * SIDE
#: CIFAR-10's classes 0, 1, 8 and 9 are airplane, automobile, ship and truck.
VEHICLES = (0, 1, 8, 9)
#: Orientation histograms: bins over half a turn, and pixels on a side of a cell.
_BINS, _CELL = 8, 8
#: Pixels on a side of the block means beside them.
_BLOCK = 4


def read_batch(handle: BinaryIO, name: str = "batch") -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 32, 32, 3) uint8 and labels (n,) of a binary batch.

    A record is one label byte and 1,024 bytes each of red, green and blue, row by row.

    Raises
    ------
    UserError
        a size that is no whole number of records, or a label above 9.
    """
    data = np.frombuffer(handle.read(), np.uint8)
    if not data.size or data.size % _RECORD:
        raise UserError(f"{name}: {data.size} bytes; expected a multiple of {_RECORD}")
    records = data.reshape(-1, _RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise UserError(f"{name}: label {labels.max()}; expected 0 to 9")
    images = records[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), labels


def block_means(images: np.ndarray) -> np.ndarray:
    """Means of 4 x 4 blocks, (n, 192) float32 in [0, 1]."""
    n, blocks = len(images), SIDE // _BLOCK
    shaped = images.reshape(n, blocks, _BLOCK, blocks, _BLOCK, 3)
    return (shaped.mean(axis=(2, 4), dtype=np.float32) / 255).reshape(n, -1)


def orientation_histograms(images: np.ndarray) -> np.ndarray:
    """Gradient orientations by 8 x 8 cell, weighted by size, each cell's histogram of unit length.

    (n, 16 cells x 8 bins) float32; a flat cell is zero.
    """
    grey = images.mean(axis=3, dtype=np.float32) / 255
    dy, dx = np.gradient(grey, axis=(1, 2))
    size = np.hypot(dx, dy)
    angle = np.mod(np.arctan2(dy, dx), np.pi) / np.pi
    bins = np.minimum((angle * _BINS).astype(np.int64), _BINS - 1)
    cells = SIDE // _CELL
    rows, columns = np.divmod(np.arange(SIDE * SIDE), SIDE)
    place = (rows // _CELL) * cells + columns // _CELL
    index = (np.arange(len(images))[:, None] * cells**2 + place) * _BINS + bins.reshape(
        len(images), -1
    )
    total = len(images) * cells**2 * _BINS
    histogram = np.bincount(index.ravel(), size.ravel(), minlength=total)
    histogram = histogram.reshape(-1, _BINS)
    length = np.linalg.norm(histogram, axis=1, keepdims=True)
    histogram = np.divide(histogram, length, out=np.zeros_like(histogram), where=length > 1e-9)
    return histogram.reshape(len(images), -1).astype(np.float32)


@dataclass(frozen=True)
class PrincipalComponents:
    """A projection fitted on public records: (x - mean) @ components, rows scaled to one length.

    Attributes
    ----------
    mean : (features,). components : (features, dimensions). length : of every projected row.
    """

    mean: np.ndarray
    components: np.ndarray
    length: float

    @classmethod
    def fit(cls, features: np.ndarray, dimensions: int, length: float) -> PrincipalComponents:
        """Components of the largest variance, signs fixed by their largest entry.

        Raises
        ------
        UserError
            more dimensions than records or features.
        """
        if dimensions > min(features.shape):
            raise UserError(
                f"{dimensions} dimensions of {features.shape[1]} features of {len(features)} public "
                "records; expected at most the smaller of the two"
            )
        mean = features.mean(axis=0, dtype=np.float64)
        centred = features - mean
        values, vectors = np.linalg.eigh(centred.T @ centred)
        chosen = vectors[:, np.argsort(values)[::-1][:dimensions]]
        largest = np.abs(chosen).argmax(axis=0)
        chosen = chosen * np.sign(chosen[largest, np.arange(dimensions)])
        return cls(mean, chosen, float(length))

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """(n, dimensions) float32."""
        projected = (features - self.mean) @ self.components
        return unit_rows(projected, self.length)


def unit_rows(rows: np.ndarray, length: float) -> np.ndarray:
    """Rows scaled to a common length, float32; a zero row stays zero."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled = np.divide(length * rows, size, out=np.zeros_like(rows), where=size > 1e-12)
    return scaled.astype(np.float32)


def raw_features(images: np.ndarray) -> np.ndarray:
    """Block means and orientation histograms side by side, (n, 320) float64."""
    return np.hstack([block_means(images), orientation_histograms(images)]).astype(np.float64)
