"""Readers for general formats; those of single data sets live beside them, one module a set."""

from __future__ import annotations

import math
import os
from typing import BinaryIO

import numpy as np

from leakmeter.datasets.content import open_binary, open_text_or_gzip
from leakmeter.runtime import UserError

__all__ = ["open_text_or_gzip", "read_idx"]

# type code -> big-endian dtype, http://yann.lecun.com/exdb/mnist/
_IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(
    path: str | os.PathLike, member: str | None = None, *, dimensions: int | None = None
) -> np.ndarray:
    """An array in the IDX format of the MNIST files, plain, gzip or a member of an archive.

    Parameters
    ----------
    path, member : as for :func:`leakmeter.datasets.content.open_binary`.
    dimensions : the number of dimensions to insist on (3 for images, 1 for labels).

    Returns
    -------
    ndarray
        Of the shape and type in the header, native byte order, C-contiguous and writable.

    Raises
    ------
    UserError
        If the header is not IDX, the number of dimensions differs, or the data are shorter or
        longer than the header says.
    """
    with open_binary(path, member) as handle:
        magic = handle.read(4)
        if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _IDX_TYPES or not magic[3]:
            raise UserError(
                f"{path}: starts with {magic.hex() or 'nothing'}; expected an IDX header"
            )
        if dimensions is not None and magic[3] != dimensions:
            raise UserError(f"{path}: IDX data of {magic[3]} dimensions; expected {dimensions}")
        header = handle.read(4 * magic[3])
        if len(header) < 4 * magic[3]:
            raise UserError(f"{path}: IDX header cut off; expected {magic[3]} dimensions")
        shape = tuple(int(size) for size in np.frombuffer(header, ">u4"))
        dtype = np.dtype(_IDX_TYPES[magic[2]])
        size = math.prod(shape) * dtype.itemsize
        # one byte more than expected shows trailing data without reading all of it
        data = _read_at_most(handle, size + 1)
    if len(data) != size:
        got = f"more than {size}" if len(data) > size else str(len(data))
        raise UserError(f"{path}: {got} bytes of IDX data; expected {size} for shape {shape}")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _read_at_most(handle: BinaryIO, size: int) -> bytes:
    """Up to ``size`` bytes; in blocks, so that a damaged header cannot ask for all the memory."""
    blocks = []
    while size and (block := handle.read(min(size, 1 << 24))):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)
