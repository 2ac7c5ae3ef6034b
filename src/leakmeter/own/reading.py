"""A user's tables, checked against a schema of columns: CSV, TSV (plain or gzip), Parquet.

Every mistake is a :class:`UserError` of one sentence that names the file, the line or row, the
column, what stands there and what was expected. A line is that of the file, the header being line
1; a row is counted from 1, for formats without lines. Text is read with Python's csv module in
blocks, so that the line is always known and memory is that of the numbers kept.
"""

from __future__ import annotations

import csv
import dataclasses
import difflib
import gzip
import io
import itertools
import math
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from leakmeter.runtime import UserError, counted

#: Cells of text held at a time.
_BLOCK_CELLS = 1_000_000
#: Whole numbers above lose digits in a float64.
LARGEST_EXACT = 2**53

Kind = Literal["number", "flag", "count", "text"]

_EXPECTED = {
    "number": "a finite number",
    "flag": "0 or 1 (false or true)",
    "count": "a whole number from 0",
    "text": "a value",
}
_FLAGS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
_FLAGS |= {text: flag for flag, word in enumerate(("false", "true")) for text in
           (word, word.capitalize(), word.upper())}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One column of a schema.

    Attributes
    ----------
    name : as it stands in the header.
    kind : "number" (finite), "flag" (0 or 1; true and false count as such), "count" (whole, from
        0), "text" (anything but nothing; whole numbers are written without a point).
    required : whether the table must have it.
    low, high : inclusive bounds of a number. below : in place of high, a bound it may not reach.
    hint : what else the user may have meant, after what was expected.
    """

    name: str
    kind: Kind
    required: bool = True
    low: float = -math.inf
    high: float = math.inf
    below: float = math.inf
    hint: str = ""

    @property
    def expected(self) -> str:
        """What a value of this column has to be, in words."""
        if self.high < math.inf:
            text = f"a number from {self.low:g} to {self.high:g}"
        elif self.below < math.inf:
            text = f"a number of at least {self.low:g} and below {self.below:g}"
        else:
            text = _EXPECTED[self.kind]
        return f"{text} {self.hint}".rstrip()


@dataclass(frozen=True)
class Frame:
    """A table that satisfies its schema.

    Attributes
    ----------
    path : the file. unit, first : "line" and 2 for text (line 1 is the header), "row" and 1 else.
    columns : name -> (n,) array; float64, int8 flags, int64 counts or object text.
    rest : names of the columns that the schema does not name, if they were asked for.
    matrix : (n, len(rest)) float64 of these, or None.
    """

    path: Path
    unit: str
    first: int
    columns: dict[str, np.ndarray]
    rest: tuple[str, ...] = ()
    matrix: np.ndarray | None = field(default=None, repr=False)

    def __len__(self) -> int:
        if self.columns:
            return len(next(iter(self.columns.values())))
        return 0 if self.matrix is None else len(self.matrix)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def place(self, index: int) -> str:
        """ "scores.csv, line 7" of a record."""
        return f"{self.path}, {self.unit} {index + self.first}"


def read_table(
    path: str | Path, schema: Sequence[Column], *, rest: Column | None = None, least: int = 1
) -> Frame:
    """Read a table and check every value against a schema.

    Parameters
    ----------
    path : .csv (commas), .tsv (tabs), either with or without gzip, or Parquet; the content decides,
        not the name, except between commas and tabs. UTF-8, with or without a byte-order mark.
        Blanks around a value of text do not count.
    schema : columns by name; others are ignored, or
    rest : what every column outside the schema has to be (its name is not used).
    least : fewest rows.

    Raises
    ------
    UserError
        one sentence about the first thing that is wrong.
    """
    source = _Source.of(path)
    if source.form == "parquet":
        frame = _read_parquet(source, schema, rest)
    else:
        frame = _read_text(source, schema, rest)
    if len(frame) < least:
        has = counted(len(frame), "row")
        raise UserError(f"{path}: has {has} of data; expected at least {least}")
    return frame


def column_names(path: str | Path) -> list[str]:
    """The header of a table of any accepted form."""
    source = _Source.of(path)
    if source.form == "parquet":
        return list(_parquet(source).schema_arrow.names)
    with source.text() as handle:
        return source.header(csv.reader(handle, delimiter=source.delimiter, skipinitialspace=True))


def require_both(frame: Frame, column: str, *, why: str) -> None:
    """:class:`UserError` when a column of flags holds one value only."""
    flags = frame[column]
    if flags.min() == flags.max():
        raise UserError(
            f"{frame.path}: column {column} is {int(flags[0])} in all {len(flags)} rows; {why}"
        )


# --- files --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    path: Path
    form: Literal["text", "gzip", "parquet"]
    delimiter: str

    @classmethod
    def of(cls, path: str | Path) -> _Source:
        path = Path(path).expanduser()
        try:
            with open(path, "rb") as handle:
                start = handle.read(4)
        except FileNotFoundError:
            raise UserError(f"{path}: no such file") from None
        except IsADirectoryError:
            raise UserError(f"{path}: is a folder; expected a file") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from None
        if not start:
            raise UserError(f"{path}: is empty; expected a header and rows")
        if start == b"PAR1":
            form = "parquet"
        elif start[:2] == b"\x1f\x8b":
            form = "gzip"
        elif start == b"PK\x03\x04":
            raise UserError(f"{path}: is a zip archive (a spreadsheet?); expected CSV or Parquet")
        else:
            form = "text"
        names = path.name.lower().removesuffix(".gz")
        return cls(path, form, "\t" if names.endswith(".tsv") else ",")

    def binary(self) -> io.BufferedIOBase:
        return gzip.open(self.path) if self.form == "gzip" else open(self.path, "rb")

    def text(self) -> io.TextIOWrapper:
        """The text, after a look at its first bytes."""
        with self.reading(), self.binary() as handle:
            start = handle.read(4096)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start:
            raise UserError(
                f"{self.path}: is not UTF-8 text (UTF-16 or binary); expected CSV in UTF-8 or Parquet"
            )
        if not start.strip(b"\xef\xbb\xbf \r\n\t"):
            raise UserError(f"{self.path}: is empty; expected a header and rows")
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig", newline="")

    def reading(self) -> _Readable:
        return _Readable(self)

    def header(self, reader: Any) -> list[str]:
        """The first line as names, checked for what makes a header useless."""
        with self.reading():
            names = [name.strip() for name in next(reader, [])]
        if len(names) == 1:
            for other, word in ((";", "';'"), ("\t", "tabs"), ("|", "'|'"), (",", "commas")):
                if other != self.delimiter and other in names[0]:
                    wanted = "tabs" if self.delimiter == "\t" else "commas"
                    raise UserError(
                        f"{self.path}, line 1: the header {names[0]!r} is split by {word}; "
                        f"expected {wanted} between columns"
                    )
        return names


class _Readable:
    """Turns what a broken file raises into a :class:`UserError`."""

    def __init__(self, source: _Source) -> None:
        self.source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        path = self.source.path
        if isinstance(error, UnicodeDecodeError):
            line = _undecodable_line(self.source)
            raise UserError(f"{path}, line {line}: is not UTF-8; expected text in UTF-8") from None
        if isinstance(error, (EOFError, gzip.BadGzipFile, zlib.error)):
            raise UserError(f"{path}: is a damaged gzip file ({error})") from None


def _undecodable_line(source: _Source) -> int:
    with source.binary() as handle:
        for number, line in enumerate(handle, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


# --- schema against header ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Which columns are read: (column of the schema, index), and the rest's indices."""

    named: list[tuple[Column, int]]
    rest: list[tuple[Column, int]]


def _plan(where: str, names: list[str], schema: Sequence[Column], rest: Column | None) -> _Plan:
    known = {column.name: column for column in schema}
    counts = Counter(name for name in names if rest or name in known)
    if twice := [name for name, times in counts.items() if times > 1]:
        at = [str(i) for i, name in enumerate(names, start=1) if name == twice[0]]
        raise UserError(
            f"{where}: column {twice[0]!r} occurs {len(at)} times (columns {', '.join(at)}); "
            "expected each name once"
        )
    for column in schema:
        if column.required and column.name not in names:
            raise UserError(f"{where}: no column {column.name!r}{_found(column.name, names)}")
    others = [
        (dataclasses.replace(rest, name=name), i)
        for i, name in enumerate(names)
        if rest and name not in known and not name.startswith("__index_level_")
    ]
    return _Plan([(known[n], i) for i, n in enumerate(names) if n in known], others)


def _found(wanted: str, names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:6]) + (", ..." if len(names) > 6 else "")
    near = [n for n in names if n.lower() == wanted.lower()]
    near = near or difflib.get_close_matches(wanted, names, n=1)
    return f" among {shown}; " + (
        f"did you mean {near[0]!r}?" if near else "expected a header with that name"
    )


# --- text ---------------------------------------------------------------------------------------


def _read_text(source: _Source, schema: Sequence[Column], rest: Column | None) -> Frame:
    with source.text() as handle:
        reader = csv.reader(handle, delimiter=source.delimiter, skipinitialspace=True)
        names = source.header(reader)
        plan = _plan(f"{source.path}, line 1", names, schema, rest)
        blocks = [
            _convert_block(source.path, rows, first, plan)
            for first, rows in _blocks(source, reader, len(names))
        ]
    return _assemble(source.path, "line", 2, plan, blocks)


def _blocks(source: _Source, reader: Any, width: int) -> Iterator[tuple[int, list[list[str]]]]:
    """Blocks of rows with the line of their first one; one record a line, as wide as the header."""
    size = max(1, _BLOCK_CELLS // width)
    line, blank = 2, None
    while True:
        try:
            with source.reading():
                rows = list(itertools.islice(reader, size))
        except csv.Error as error:
            raise UserError(f"{source.path}, line {reader.line_num}: {error}") from None
        if not rows:
            return
        if reader.line_num != line + len(rows) - 1:
            at = next((i for i, r in enumerate(rows) if any("\n" in v or "\r" in v for v in r)), 0)
            raise UserError(
                f"{source.path}, line {line + at}: a quoted field goes on over the end of the line; "
                "expected one record a line"
            )
        kept = rows
        if set(map(len, rows)) != {width}:
            filled = [i for i, row in enumerate(rows) if row]
            kept = rows[: filled[-1] + 1] if filled else []
            _check_widths(source.path, kept, line, width)
        if blank is not None and kept:
            raise UserError(
                f"{source.path}, line {blank}: is empty; expected {counted(width, 'field')}"
            )
        if kept:
            yield line, kept
        if len(kept) < len(rows) and blank is None:
            blank = line + len(kept)
        line += len(rows)


def _check_widths(path: Path, rows: list[list[str]], line: int, width: int) -> None:
    for i, row in enumerate(rows):
        if not row:
            raise UserError(
                f"{path}, line {line + i}: is empty; expected {counted(width, 'field')}"
            )
        if len(row) != width:
            raise UserError(
                f"{path}, line {line + i}: has {counted(len(row), 'field')}; "
                f"expected {width} as in the header"
            )


def _convert_block(path: Path, rows: list[list[str]], first: int, plan: _Plan) -> _Block:
    named, others = [], []
    for target, columns in ((named, plan.named), (others, plan.rest)):
        for column, index in columns:
            texts = [row[index] for row in rows]
            values = _convert_texts(texts, column)
            if values is None:
                _blame(path, texts, first, column)
            target.append(values)
    return _Block(named, np.stack(others, axis=1) if others else None)


def _convert_texts(texts: list[str], column: Column) -> np.ndarray | None:
    """The values, or None if one of them is not what the column holds."""
    if column.kind in ("text", "flag"):
        texts = list(map(str.strip, texts))
    if column.kind == "text":
        # few distinct values share their memory
        return None if "" in texts else np.array(list(map(sys.intern, texts)), dtype=object)
    if column.kind == "flag":
        try:
            return np.fromiter(map(_FLAGS.__getitem__, texts), np.int8, len(texts))
        except KeyError:
            return None
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    together = "".join(texts)
    # float() also takes 1_000 and the digits of other scripts
    if "_" in together or not together.isascii() or not _in_range(values, column).all():
        return None
    large = np.flatnonzero(np.abs(values) >= LARGEST_EXACT)
    if any(_loses_digits(texts[i]) for i in large):
        return None
    return values.astype(np.int64) if column.kind == "count" else values


def _in_range(values: np.ndarray, column: Column) -> np.ndarray:
    fine = np.isfinite(values) & (values >= column.low) & (values <= column.high)
    if column.below < math.inf:
        fine &= values < column.below
    if column.kind == "count":
        fine &= (values >= 0) & (values == np.floor(values)) & (values <= LARGEST_EXACT)
    return fine


def _loses_digits(text: str) -> bool:
    digits = text.strip().lstrip("+-")
    return digits.isdigit() and (len(digits) > 400 or int(digits) != int(float(digits)))


def _blame(path: Path, texts: list[str], first: int, column: Column) -> None:
    """Raise for the first value that is not what the column holds."""
    for i, text in enumerate(texts):
        if _convert_texts([text], column) is None:
            _refuse(f"{path}, line {first + i}", column, text)
    raise AssertionError(f"{path}: column {column.name} was refused and no value is wrong")


def _refuse(place: str, column: Column, value: Any) -> None:
    if value is None or not str(value).strip():
        shown = "is empty"
    elif isinstance(value, str):
        shown = f"is {value[:40]!r}" + ("..." if len(value) > 40 else "")
    else:
        shown = f"is {value}"
    if column.kind == "number" and _is_large(value):
        raise UserError(
            f"{place}, column {column.name}: {shown}, which loses digits as a floating-point "
            f"number; expected whole numbers up to 2^53"
        )
    raise UserError(f"{place}, column {column.name}: {shown}; expected {column.expected}")


def _is_large(value: Any) -> bool:
    digits = str(value).strip().lstrip("+-")
    return digits.isdigit() and (len(digits) > 16 or int(digits) > LARGEST_EXACT)


# --- Parquet ------------------------------------------------------------------------------------


def _parquet(source: _Source) -> Any:
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(source.path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{source.path}: is a damaged Parquet file ({reason})") from None


def _read_parquet(source: _Source, schema: Sequence[Column], rest: Column | None) -> Frame:
    import pyarrow

    file = _parquet(source)
    plan = _plan(str(source.path), list(file.schema_arrow.names), schema, rest)
    names = [column.name for column, _ in (*plan.named, *plan.rest)]
    blocks, first = [], 1
    size = max(1, _BLOCK_CELLS // max(1, len(names)))
    try:
        for batch in file.iter_batches(batch_size=size, columns=names):
            named, others = (
                [_convert_array(source.path, batch.column(c.name), first, c) for c, _ in columns]
                for columns in (plan.named, plan.rest)
            )
            blocks.append(_Block(named, np.stack(others, axis=1) if others else None))
            first += batch.num_rows
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{source.path}: is a damaged Parquet file ({reason})") from None
    return _assemble(source.path, "row", 1, plan, blocks)


def _convert_array(path: Path, array: Any, first: int, column: Column) -> np.ndarray:
    import pyarrow as pa
    from pyarrow import types

    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if array.null_count:
        row = int(np.flatnonzero(np.asarray(array.is_null()))[0])
        raise UserError(
            f"{path}, row {first + row}, column {column.name}: is null; expected {column.expected}"
        )
    if column.kind == "text":
        return _texts(path, array, first, column)
    if not (numeric or (column.kind == "flag" and types.is_boolean(kind))):
        raise UserError(
            f"{path}: column {column.name} has the type {array.type}; expected numbers "
            f"({column.expected} in each row)"
        )
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    exact = np.asarray(array) if types.is_integer(kind) else None
    values = np.asarray(array.cast(pa.float64(), safe=False), dtype=np.float64)
    fine = np.isin(values, (0, 1)) if column.kind == "flag" else _in_range(values, column)
    if exact is not None:
        fine = fine & (exact <= LARGEST_EXACT) & (exact >= -LARGEST_EXACT)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        _refuse(f"{path}, row {first + row}", column, array[row].as_py())
    types_ = {"flag": np.int8, "count": np.int64}
    return values.astype(types_.get(column.kind, np.float64))


def _texts(path: Path, array: Any, first: int, column: Column) -> np.ndarray:
    values = np.empty(len(array), dtype=object)
    for i, value in enumerate(array.to_pylist()):
        whole = isinstance(value, float) and value.is_integer()
        values[i] = sys.intern(str(int(value)) if whole else str(value))
        if values[i] in ("", "nan"):
            _refuse(f"{path}, row {first + i}", column, value)
    return values


# --- assembly -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Block:
    named: list[np.ndarray]
    matrix: np.ndarray | None


def _assemble(path: Path, unit: str, first: int, plan: _Plan, blocks: list[_Block]) -> Frame:
    columns = {
        column.name: np.concatenate([block.named[i] for block in blocks]) if blocks else np.empty(0)
        for i, (column, _) in enumerate(plan.named)
    }
    matrix = np.concatenate([b.matrix for b in blocks]) if plan.rest and blocks else None
    return Frame(path, unit, first, columns, tuple(c.name for c, _ in plan.rest), matrix)
