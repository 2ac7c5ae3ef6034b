"""Rows of Criteo click logs: opening a log, what a good row is, parsing blocks of rows.

A row has 40 tab-separated fields: label (0 or 1), integers I1..I13, categoricals C1..C26 of 8 hex
digits; an empty field is missing. Blocks of whole lines are parsed by Arrow; a block that Arrow or
a check refuses is examined line by line in plain Python, which is the definition of a good row.
"""

from __future__ import annotations

import contextlib
import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.csv

from leakmeter.runtime import UserError

INTEGERS = tuple(f"I{i}" for i in range(1, 14))
CATEGORICALS = tuple(f"C{i}" for i in range(1, 27))
FIELDS = ("label", *INTEGERS, *CATEGORICALS)
MEMBER = "train.txt"
#: First bytes of formats that are taken for click logs by mistake.
_OTHER_FORMATS = {
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
LINE_LIMIT = 1 << 20  # a longer line is no log row; without a limit it would be read into memory
SHOWN = 40


# --- reading the source -------------------------------------------------------------------------


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[tuple[BinaryIO, str]]:
    """The uncompressed text of a source and its display name; see :func:`preprocess`."""
    try:
        with open(path, "rb") as handle:
            head = handle.read(8)
        opener = gzip.open if head.startswith(b"\x1f\x8b") else open
        with opener(path, "rb") as stream:
            is_tar = stream.read(512)[257:262] == b"ustar"
    except OSError as error:
        raise UserError(f"{path}: cannot be read as a click log ({error})") from error
    except (EOFError, zlib.error) as error:
        raise damaged(path, 1, error) from error
    for magic, what in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise UserError(
                f"{path}: the file is {what}, expected a click log as plain text, gzip or tar.gz"
            )
    if not is_tar:
        with opener(path, "rb") as stream:
            yield stream, path.name
        return
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if member.isreg() and PurePosixPath(member.name).name == MEMBER:
                    yield archive.extractfile(member), f"{path.name}:{member.name}"
                    return
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise damaged(path, 1, error) from error
    raise UserError(f"{path}: the archive has no file {MEMBER}, expected one with the click log")


def damaged(path: Path, line: int, error: Exception) -> UserError:
    return UserError(
        f"{path}, line {line}: the compressed file is truncated or damaged near here ({error}), "
        "expected a complete one"
    )


class Block(NamedTuple):
    first_line: int  # 1-based
    text: bytes  # whole lines, each ended by \n


def blocks(stream: BinaryIO, path: Path, block_bytes: int, digest: Any) -> Iterator[Block]:
    """Cut a stream into blocks of whole lines; a missing last line end is added."""
    line, rest = 1, b""
    while True:
        try:
            chunk = stream.read(block_bytes)
        except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
            raise damaged(path, line + rest.count(b"\n"), error) from error
        if not chunk:
            break
        digest.update(chunk)
        cut = chunk.rfind(b"\n") + 1
        if cut:
            block = Block(line, rest + chunk[:cut])
            line += block.text.count(b"\n")
            yield block
            rest = chunk[cut:]
        else:
            rest += chunk
        if len(rest) > max(LINE_LIMIT, block_bytes):
            raise UserError(
                f"{path}, line {line}: the line is longer than {len(rest) - 1} bytes, expected a "
                "row of 40 tab-separated fields"
            )
    if rest:
        yield Block(line, rest + b"\n")


# --- one row, in plain Python: the definition of a good row --------------------------------------

_GOOD_LINE = re.compile(
    rb"[01](?:\t(?:-?[0-9]{1,18})?){13}(?:\t(?:[0-9a-fA-F]{8})?){26}"
)  # sufficient, not necessary: integers of more digits are looked at one by one
_INTEGER = re.compile(rb"-?[0-9]+")
_TOKEN = re.compile(rb"[0-9a-fA-F]{8}")


class Problem(NamedTuple):
    reason: str  # a key of the summary's counts
    message: str


def diagnose(line: bytes) -> Problem | None:
    """What is wrong with a line (without its line end), or None for a good row."""
    if _GOOD_LINE.fullmatch(line):
        return None
    return _diagnose_bytes(line) or _diagnose_fields(line.split(b"\t"))


def _diagnose_bytes(line: bytes) -> Problem | None:
    if line.endswith(b"\r"):
        return Problem(
            "CRLF line end",
            r"the line ends in CRLF (\r\n), expected \n alone (convert the file with dos2unix)",
        )
    if not line:
        return Problem("blank line", "the line is blank, expected 40 tab-separated fields")
    if b"\0" in line:
        return Problem("NUL byte", "the line has a NUL byte, expected text")
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem(
            "not UTF-8",
            f"byte {error.start + 1} of the line ({line[error.start]:#04x}) is not UTF-8, expected "
            "digits, hex digits and tabs",
        )
    return None


def _diagnose_fields(fields: list[bytes]) -> Problem | None:
    if len(fields) != len(FIELDS):
        return Problem(
            "field count",
            f"the line has {len(fields)} tab-separated fields, expected {len(FIELDS)}",
        )
    label = fields[0]
    if label not in (b"0", b"1"):
        return Problem("label", f"the label is {_show(label)}, expected 0 or 1 (and no header)")
    for name, value in zip(INTEGERS, fields[1:14], strict=True):
        if value and not _INTEGER.fullmatch(value):
            return Problem("integer", f"{name} is {_show(value)}, expected an integer or nothing")
        if value and not _fits_int64(value):
            return Problem(
                "integer range", f"{name} is {_show(value)}, expected a 64-bit signed integer"
            )
    for name, value in zip(CATEGORICALS, fields[14:], strict=True):
        if value and not _TOKEN.fullmatch(value):
            return Problem("token", f"{name} is {_show(value)}, expected 8 hex digits or nothing")
    return None


def _fits_int64(value: bytes) -> bool:
    digits = value.lstrip(b"-").lstrip(b"0")
    if len(digits) > 19:  # int() refuses very long text, and it can't fit anyway
        return False
    magnitude = int(digits or b"0")
    return magnitude <= 2**63 - 1 + value.startswith(b"-")


def _show(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


# --- a block of rows, by Arrow -------------------------------------------------------------------


class _Suspect(Exception):
    """The block has a bad row somewhere; :func:`diagnose` says where."""


class Parsed(NamedTuple):
    label: np.ndarray  # (n,) uint8
    integers: np.ndarray  # (13, n) int64, 0 where missing
    tokens: np.ndarray  # (26, n) uint32, undefined where missing
    present: np.ndarray  # (26, n) bool
    integer_missing: np.ndarray  # (13,) counts


class Bad(NamedTuple):
    line: int  # offset in the block
    problem: Problem


_PARSE = pa.csv.ParseOptions(
    delimiter="\t",
    quote_char=False,
    double_quote=False,
    escape_char=False,
    newlines_in_values=False,
    ignore_empty_lines=False,
)
_CONVERT = pa.csv.ConvertOptions(
    check_utf8=False,
    null_values=[""],
    strings_can_be_null=True,
    # fixed widths: Arrow refuses any other length; hex digits are checked on decoding
    column_types={
        "label": pa.binary(1),
        **dict.fromkeys(INTEGERS, pa.int64()),
        **dict.fromkeys(CATEGORICALS, pa.binary(8)),
    },
)


def parse_block(text: bytes, skip: bool) -> tuple[Parsed | None, list[Bad]]:
    """Rows of a block and its bad lines (without ``skip`` at most the first, and no rows then)."""
    try:
        return _parse_strictly(text), []
    except _Suspect as suspect:
        cause = suspect
    bad, good = [], []
    for number, line in enumerate(text.split(b"\n")[:-1]):
        problem = diagnose(line)
        if problem is None:
            good.append(line)
            continue
        bad.append(Bad(number, problem))
        if not skip:
            return None, bad
    if not bad:
        raise AssertionError("the parser refused a block in which every line is good") from cause
    return (_parse_strictly(b"\n".join(good) + b"\n") if good else None), bad


def _parse_strictly(text: bytes) -> Parsed:
    """All rows of a block, or :class:`_Suspect` if any line is not a good row."""
    lines, only_row_bytes = _scan(np.frombuffer(text, np.uint8), _ROW_BYTE)
    if not only_row_bytes:
        raise _Suspect("a byte no row may hold")
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(text),
            pa.csv.ReadOptions(
                use_threads=False, block_size=len(text) + 1, column_names=list(FIELDS)
            ),
            _PARSE,
            _CONVERT,
        )
    except pa.ArrowInvalid as error:
        raise _Suspect(str(error)) from error
    n = table.num_rows
    if n != lines:
        raise _Suspect(f"{n} rows of {lines} lines")
    columns = [column.combine_chunks() for column in table.columns]
    label = np.frombuffer(columns[0].buffers()[1], np.uint8, n)
    if columns[0].null_count or not np.isin(label, (48, 49)).all():
        raise _Suspect("label")
    integers = np.empty((len(INTEGERS), n), np.int64)
    for row, column in zip(integers, columns[1:14], strict=True):
        row[:] = column.fill_null(0).to_numpy()
    tokens = np.empty((len(CATEGORICALS), n), np.uint32)
    present = np.empty((len(CATEGORICALS), n), np.bool_)
    for j, column in enumerate(columns[14:]):
        validity, values = column.buffers()
        present[j] = column.is_valid().to_numpy(zero_copy_only=False) if validity else True
        if not _decode_hex(np.frombuffer(values, np.uint8), present[j], _NIBBLE, tokens[j]):
            raise _Suspect(CATEGORICALS[j])
    missing = np.array([column.null_count for column in columns[1:14]], np.int64)
    return Parsed(label - 48, integers, tokens, present, missing)


_HEX = b"0123456789abcdefABCDEF"
_ROW_BYTE = np.isin(np.arange(256), list(_HEX + b"-\t\n"))
_NIBBLE = np.full(256, 255, np.uint8)  # 255: no hex digit
for _digit in _HEX:
    _NIBBLE[_digit] = int(chr(_digit), 16)

jit = numba.njit(nogil=True, cache=True)


@jit
def _scan(text, allowed):
    """Number of line ends, and whether all bytes are allowed."""
    lines, good = 0, True
    for byte in text:  # no early exit: the plain loop is faster
        good &= allowed[byte]
        lines += byte == 10
    return lines, good


@jit
def _decode_hex(text, present, nibble, out):
    """Decode 8 hex digits a row; False if a present one has another character."""
    seen = np.uint8(0)
    for i in range(out.shape[0]):
        if present[i]:
            value = np.uint32(0)
            for k in range(8 * i, 8 * i + 8):
                digit = nibble[text[k]]
                seen |= digit
                value = (value << np.uint32(4)) | np.uint32(digit)
            out[i] = value
    return seen < 16
