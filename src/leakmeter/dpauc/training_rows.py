"""Rows of the click model on disk: read in pieces, shuffled block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakmeter.runtime import (
    UserError,
)

# 2^18 rows of 26 + 13 features are 41 MB: all of the training rows that are in memory at a time.
_POOL_ROWS = 2**18
# A block is read in one piece: 26 kB of category ids, so that disks and page caches see few seeks.
_BLOCK_ROWS = 256


@dataclass(frozen=True)
class Split:
    """One split of the prepared data: three ``.npy`` files read in pieces, never as a whole.

    The memory map gives a file's layout and size; the rows are read beside it, so that the resident
    set does not grow with the part of the file that has been seen.
    """

    folder: Path
    name: str
    vocabulary_size: int
    rows: int
    fields: int
    numerics: int

    @classmethod
    def open(cls, folder: str | Path, name: str, vocabulary_size: int) -> Split:
        """Check the headers of ``<name>_{categorical,numeric,label}.npy``.

        Raises
        ------
        UserError
            If a file is missing or no ``.npy``, if a type or number of dimensions is wrong, if the
            row counts differ, or if there are no rows.
        """
        folder = Path(folder)
        categorical = _map(folder / f"{name}_categorical.npy", np.int32, 2)
        numeric = _map(folder / f"{name}_numeric.npy", np.float32, 2)
        label = _map(folder / f"{name}_label.npy", np.uint8, 1)
        if not len(categorical) == len(numeric) == len(label) or len(label) == 0:
            raise UserError(
                f"{folder}: the {name} arrays have {len(categorical)} (categorical), {len(numeric)}"
                f" (numeric) and {len(label)} (label) rows, expected one number above 0"
            )
        return cls(
            folder, name, vocabulary_size, len(label), categorical.shape[1], numeric.shape[1]
        )

    def read(self, spans: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of the rows of the half-open ``spans``: ids, numeric, labels (as float32).

        Raises
        ------
        UserError
            If an id is outside the vocabulary, a number not finite, or a label neither 0 nor 1.
        """
        ids = _copy(self._path("categorical"), np.int32, 2, spans)
        numeric = _copy(self._path("numeric"), np.float32, 2, spans)
        labels = _copy(self._path("label"), np.uint8, 1, spans)
        if ids.size and not 0 <= ids.min() <= ids.max() < self.vocabulary_size:
            bad = ids[(ids < 0) | (ids >= self.vocabulary_size)][0]
            raise UserError(
                f"{self._path('categorical')}: got id {bad}, expected 0 to "
                f"{self.vocabulary_size - 1} (vocabulary_size in meta.json)"
            )
        if not np.isfinite(numeric).all():
            raise UserError(f"{self._path('numeric')}: got a value that is not a finite number")
        if labels.max() > 1:
            raise UserError(f"{self._path('label')}: got {labels.max()}, expected 0 or 1")
        return ids, numeric, labels.astype(np.float32)

    def labels(self) -> np.ndarray:
        """All labels, (rows,) uint8."""
        return _copy(self._path("label"), np.uint8, 1, [(0, self.rows)])

    def _path(self, part: str) -> Path:
        return self.folder / f"{self.name}_{part}.npy"


def _map(path: Path, dtype: type, dimensions: int) -> np.ndarray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (ValueError, EOFError) as error:
        raise UserError(f"{path}: not a readable .npy array ({error})") from error
    if array.dtype != dtype or array.ndim != dimensions or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else " in Fortran order"
        raise UserError(
            f"{path}: got {array.ndim}-dimensional {array.dtype}{order}, "
            f"expected {dimensions}-dimensional {np.dtype(dtype)} in C order"
        )
    return array


def _copy(path: Path, dtype: type, dimensions: int, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    # Read, not copied from the map: the kernel maps far more around a touched page than was asked
    # for, and all of it counts as resident.
    array = _map(path, dtype, dimensions)
    out = np.empty((sum(stop - start for start, stop in spans), *array.shape[1:]), dtype)
    row_bytes = array.strides[0]
    filled = 0
    with open(path, "rb") as handle:
        for start, stop in spans:
            handle.seek(array.offset + start * row_bytes)
            handle.readinto(out[filled : filled + stop - start].data)
            filled += stop - start
    return out


def shuffled_batches(
    split: Split,
    batch_size: int,
    rng: np.random.Generator,
    *,
    pool_rows: int = _POOL_ROWS,
    block_rows: int = _BLOCK_ROWS,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Every row once, in a random order that needs memory for ``pool_rows`` rows only.

    The file is cut into blocks of ``block_rows`` rows; the blocks are permuted, ``pool_rows`` rows'
    worth of them are read at a time, and the rows of such a pool are permuted. Data that fit into
    one pool are shuffled uniformly; in larger data the rows of a block stay within one pool.

    Yields
    ------
    ids (B, fields), numeric (B, numerics), labels (B,), weights (B,), with B the smaller of
    ``batch_size`` and the number of rows. The last batch is filled up with copies of its first row
    at weight 0, so that all steps have one shape.
    """
    batch_size = min(batch_size, split.rows)
    starts = rng.permutation(math.ceil(split.rows / block_rows)) * block_rows
    per_pool = max(1, max(pool_rows, batch_size) // block_rows)
    rest: tuple[np.ndarray, ...] | None = None
    for first in range(0, len(starts), per_pool):
        chosen = np.sort(starts[first : first + per_pool])
        pool = split.read([(s, min(s + block_rows, split.rows)) for s in chosen.tolist()])
        order = rng.permutation(len(pool[2]))
        if rest is not None:
            # the rest of the pool before goes first, in the order it had
            pool = tuple(np.concatenate(parts) for parts in zip(rest, pool, strict=True))
            order = np.concatenate([np.arange(len(rest[2])), order + len(rest[2])])
        full = len(order) // batch_size * batch_size
        for begin in range(0, full, batch_size):
            rows = order[begin : begin + batch_size]
            yield (*(part[rows] for part in pool), np.ones(batch_size, np.float32))
        rest = tuple(part[order[full:]] for part in pool)
        del pool  # before the next one is read
    if rest is not None and len(rest[2]):
        weights = (np.arange(batch_size) < len(rest[2])).astype(np.float32)
        rows = np.where(weights > 0, np.arange(batch_size), 0)
        yield (*(part[rows] for part in rest), weights)
