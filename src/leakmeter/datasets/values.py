"""Raw columns and arrays become numbers and class labels here, or one clear error.

Nothing is coerced: a missing value, text, a fraction where a whole number belongs and a value out
of range are refused with the file, the record (from 0) and the column.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from leakmeter.runtime import UserError

if TYPE_CHECKING:
    import pandas as pd

#: Whole numbers beyond it are not exact in float64.
_EXACT = 2**53
_CHUNK = 1000


@contextlib.contextmanager
def parsing(where: str | os.PathLike, expected: str) -> Iterator[None]:
    """Turn what a parser raises on a damaged or foreign file into one :class:`UserError`.

    Parsers of archives, pictures and tables raise almost anything on bad bytes, so every exception
    counts but a missing package; only the parser's call belongs inside.

    Parameters
    ----------
    where : file, with ``#member`` for a part of an archive. expected : what should be there.
    """
    try:
        yield
    except (UserError, ImportError):
        raise
    except FileNotFoundError as error:
        raise UserError(f"{where}: no such file; expected {expected}") from error
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(f"{where}: cannot be read ({reason}); expected {expected}") from error


def numbers(
    values: ArrayLike | pd.DataFrame | pd.Series,
    where: str,
    *,
    bounds: tuple[float, float] | None = None,
    whole: bool = False,
    name: str = "feature",
) -> np.ndarray:
    """Finite numbers of the same shape; a numeric type is kept, columns of text are parsed.

    Parameters
    ----------
    values : records in the first dimension; the index of a frame or series numbers the records and
        the columns of a frame name the values.
    where : file or set for the messages. bounds : smallest and largest value allowed.
    whole : refuse fractions. name : what a value is, where no column names it.

    Raises
    ------
    UserError : the first value that is missing, infinite, not a number, a fraction or out of range.
    """
    given = np.asarray(values)
    array = _parsed(given) if given.dtype.kind == "O" else given
    if array.dtype.kind not in "biuf":
        raise UserError(f"{where}: {name} of type {array.dtype}; expected numbers")
    low, high = bounds or ((-_EXACT, _EXACT) if whole else (-np.inf, np.inf))
    fraction = whole and array.dtype.kind == "f"
    # NaN and infinity come through minimum and maximum, and no mask is made of good data
    if not array.size or (
        np.isfinite(ends := (array.min(), array.max())).all()
        and low <= ends[0]
        and ends[1] <= high
        and not (fraction and (array != np.floor(array)).any())
    ):
        return array
    bad = ~np.isfinite(array) | (array < low) | (array > high)
    if fraction:
        bad |= array != np.floor(array)
    at = tuple(np.argwhere(bad)[0])
    value = given[at]
    kind = "a whole number" if whole else "a number" if bounds else "a finite number"
    limits = f" from {low:g} to {high:g}" if bounds else ""
    raise UserError(
        f"{where}: {_place(values, at, name)} is "
        f"{repr(value) if isinstance(value, str | bytes) else str(value)}; expected {kind}{limits}"
    )


def _parsed(given: np.ndarray) -> np.ndarray:
    """Numbers of an array of objects; what is none becomes NaN."""
    import pandas as pd

    flat = pd.to_numeric(given.ravel(), errors="coerce")
    return np.asarray(flat, dtype=np.float64).reshape(given.shape)


def _place(values: object, at: tuple[int, ...], name: str) -> str:
    row = values.index[at[0]] if hasattr(values, "iloc") else at[0]
    if hasattr(values, "columns"):
        return f"record {row}, column {values.columns[at[1]]}"
    return f"record {row}, " + " ".join((name, *map(str, at[1:])))


def number_columns(
    frame: pd.DataFrame, names: Sequence[str], where: str, *, whole: bool = False
) -> pd.DataFrame:
    """Some columns of a table as numbers, float64 or (``whole``) int64; see :func:`numbers`.

    Raises
    ------
    UserError : as :func:`numbers`, and for a column that is not there.
    """
    import pandas as pd

    lacking = [name for name in names if name not in frame]
    if lacking:
        shown = ", ".join(map(str, frame.columns[:40]))
        raise UserError(f"{where}: columns {shown}; expected {', '.join(lacking)} too")
    part = frame[list(names)]
    values = numbers(part, where, whole=whole).astype(np.int64 if whole else np.float64)
    return pd.DataFrame(values, index=part.index, columns=part.columns)


def class_numbers(values: ArrayLike, n_classes: int, where: str, *, first: int = 0) -> np.ndarray:
    """(n,) int64 labels from 0 out of labels from ``first``; see :func:`numbers`.

    Raises
    ------
    UserError : as :func:`numbers`, for another shape than (n,) and for no label at all.
    """
    shape = np.shape(values)
    if len(shape) != 1:
        raise UserError(f"{where}: labels of shape {shape}; expected one whole number a record")
    if not shape[0]:
        raise UserError(f"{where}: no records; expected at least one")
    bounds = (first, first + n_classes - 1)
    return numbers(values, where, bounds=bounds, whole=True, name="label").astype(np.int64) - first


def load_arrays(path: str | os.PathLike, *names: str) -> list[np.ndarray]:
    """Arrays of an .npz file, nothing unpickled; :class:`UserError` for any other file."""
    with (
        parsing(path, f"an .npz file with the arrays {', '.join(names)}"),
        np.load(path, allow_pickle=False) as content,
    ):
        return [content[name] for name in names]


def read_table(opened: Callable[[], AbstractContextManager[BinaryIO]], where: str) -> pd.DataFrame:
    """A comma-separated table with a header; :class:`UserError` for any other file."""
    import pandas as pd

    with (
        parsing(where, "a comma-separated table with a header"),
        opened() as handle,
        warnings.catch_warnings(),
    ):
        # longer lines than the header: by default their first value would become the index
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(handle, index_col=False)


def read_rows(
    opened: Callable[[], AbstractContextManager[BinaryIO]],
    columns: int,
    dtype: DTypeLike,
    where: str,
    *,
    sep: str = ",",
) -> np.ndarray:
    """Lines of numbers without a header, (n, columns) of ``dtype``; numbers may be quoted.

    Parameters
    ----------
    opened : opens the file; called again for the place of an error.

    Raises
    ------
    UserError : a line of another length, a value that is missing or no ``dtype``, no line.
    """
    import pandas as pd

    whole = np.issubdtype(dtype, np.integer)
    bounds = (np.iinfo(dtype).min, np.iinfo(dtype).max) if whole else None
    with parsing(where, f"lines of {columns} numbers"):
        try:
            with opened() as handle:
                values = pd.read_csv(handle, sep=sep, header=None, dtype=dtype).to_numpy()
        except ValueError:
            # pandas does not say which value it is
            with opened() as handle:
                for chunk in pd.read_csv(
                    handle, sep=sep, header=None, dtype=object, chunksize=_CHUNK
                ):
                    numbers(chunk, where, whole=whole, bounds=bounds)
            raise
    if values.shape[1] != columns:
        raise UserError(f"{where}: {values.shape[1]} columns; expected {columns}")
    return numbers(values, where, name="column")
