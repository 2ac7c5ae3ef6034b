"""Preprocessing of Criteo click logs, as in the DPAUC paper (section 5.1), in bounded memory.

A raw row has 40 tab-separated fields: label (0 or 1), integers I1..I13, categoricals C1..C26 of 8
hex digits; an empty field is missing. A missing categorical becomes a category of its own, other
categories become integer codes, a missing integer becomes 0, integers are min-max scaled to [0, 1],
and a random tenth of the rows is the test part, of which a further random sample is evaluated (the
paper evaluates 458,407 of 45,840,617 rows, a tenth of a tenth).

Three passes:

1. *Ingest.* Blocks of whole lines are parsed by Arrow (strict field count, integers and token
   width) and each token is replaced by a provisional id from a hash table per field. Ids, integers
   and labels go to a scratch folder. Only a block that Arrow or a check refuses is examined line
   by line, to name the bad rows.
2. *Fit.* With the number of rows known, rows are split; token counts and integer ranges are taken
   over the rows the fit may see.
3. *Write.* Provisional ids become table rows, integers are scaled, and the parts are appended to
   ``.npy`` files.

Memory holds the distinct tokens (about 30 bytes each at the peak) and a few blocks, never the rows.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import logging
import math
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from leakmeter.dpauc.criteo_rows import (
    CATEGORICALS,
    INTEGERS,
    Bad,
    Block,
    Parsed,
    Problem,
    blocks,
    jit,
    open_text,
    parse_block,
)
from leakmeter.runtime import UserError, atomic_path, generator, scratch_folder, write_json

logger = logging.getLogger("leakmeter")

PARTS = ("train", "evaluation")
MISSING, RARE = 0, 1  # reserved codes of every categorical field
FIRST_CODE = 2

_FIRST_SKIPPED = 10


@dataclass(frozen=True)
class Summary:
    """What :func:`preprocess` read and wrote; the content of ``meta.json``.

    Attributes
    ----------
    source : file name, and the archive's member if there is one.
    source_sha256 : SHA-256 of the uncompressed text.
    data : the label of the data, as given.
    rows : good rows. ``skipped``: ``rows``, ``by_reason`` and the ``first`` few.
    n_train, n_test, n_evaluation : rows written to the train part, rows of the test part, and how
        many of those are evaluated. ``n_train_available`` counts the train rows before
        ``train_rows`` cut them.
    positives : per part, rows with label 1.
    vocabulary_size : rows of the one embedding table over all fields.
    categorical : per field ``offset``, ``size`` (reserved codes included), ``distinct`` (tokens in
        the rows the fit saw) and ``missing`` (share of all good rows).
    numeric : per field ``minimum`` and ``maximum`` over the rows the fit saw, missing taken as 0,
        and ``missing`` (share of all good rows).
    seed, test_fraction, evaluation_fraction, train_rows, min_count, fit_on, on_bad_rows : the
        arguments.
    """

    source: str
    source_sha256: str
    data: str
    rows: int
    skipped: dict[str, Any]
    n_train: int
    n_train_available: int
    n_test: int
    n_evaluation: int
    positives: dict[str, int]
    vocabulary_size: int
    categorical: dict[str, dict[str, Any]]
    numeric: dict[str, dict[str, Any]]
    seed: int
    test_fraction: float
    evaluation_fraction: float
    train_rows: int | None
    min_count: int
    fit_on: str
    on_bad_rows: str


#: Fewer records than this can't feed every experiment of the chain (top K, the leaks' attacks).
LEAST_EVALUATED = 100


def check_evaluated(summary: Summary) -> None:
    """Refuse an evaluated part that no AUC or too few experiments can be computed on.

    Raises
    ------
    UserError
        fewer than :data:`LEAST_EVALUATED` records, or records of one class only.
    """
    n, positives = summary.n_evaluation, summary.positives["evaluation"]
    if n < LEAST_EVALUATED or not 0 < positives < n:
        raise UserError(
            f"{summary.source}: the evaluated part has {n} rows, {positives} of them with label 1; "
            f"expected at least {LEAST_EVALUATED} rows and both labels (give more rows, or change "
            "dpauc.preprocessing.test_fraction or evaluation_fraction)"
        )


# --- public functions ---------------------------------------------------------------------------


def preprocess(
    source: str | os.PathLike,
    out_dir: str | os.PathLike,
    *,
    seed: int,
    data: str,
    test_fraction: float = 0.1,
    evaluation_fraction: float = 1.0,
    train_rows: int | None = None,
    min_count: int = 1,
    fit_on: str = "all",
    on_bad_rows: str = "error",
    threads: int = 2,
    block_bytes: int = 4 << 20,
) -> Summary:
    """Turn a raw click log into arrays for training and evaluation.

    Parameters
    ----------
    source : the log: plain text, gzip, or a tar archive (plain or gzip) with a member named
        ``train.txt``. Told apart by content, not by suffix. Nothing is unpacked to disk.
    out_dir : folder of the outputs; see :func:`output_paths`.
    seed : seed of the split, which depends on it and on the number of good rows alone.
    data : label of the data (``real``, ``related``, ``standin``, ...), copied to ``meta.json``.
    test_fraction : the test part has exactly ``ceil(test_fraction * rows)`` rows.
    evaluation_fraction : ``ceil(evaluation_fraction * n_test)`` of them are evaluated and written.
    train_rows : write only the first that many train rows, in file order; None for all.
    min_count : tokens seen fewer times share the code ``RARE``; 1 keeps all, as in the paper.
    fit_on : ``"all"`` takes vocabulary and ranges from every row, as in the paper; ``"train"``
        from the train rows (before ``train_rows`` cuts them): then a token the train rows lack gets
        ``RARE`` and integers outside their range are clipped.
    on_bad_rows : ``"error"`` stops at the first bad row; ``"skip"`` leaves bad rows out and reports
        how many and why. A row that ends in CRLF is a bad row, so a CRLF file is refused under
        both: under ``"skip"`` because no good row is left. A truncated or damaged archive and a
        line of more than 1 MiB always stop.
    threads : worker threads. Outputs do not depend on it.
    block_bytes : text parsed at a time by each worker. Outputs do not depend on it.

    Returns
    -------
    Summary
        Also written to ``meta.json``, last, so that its presence means that all is there.

    Raises
    ------
    UserError
        For a bad argument, an unreadable, truncated or empty source, a bad row (with file and
        1-based line), or when no train or no test row is left.

    Notes
    -----
    For each part of ``train`` and ``evaluation``, in file order:

    - ``<part>_categorical.npy`` int32 (n, 26): rows of one embedding table over all fields, that is
      field offset + code. In each field code 0 is missing, 1 is rare or out of vocabulary, and from
      2 on tokens by descending count, equal counts by ascending token;
    - ``<part>_numeric.npy`` float32 (n, 13) in [0, 1]; 0 where the field is constant;
    - ``<part>_label.npy`` uint8 (n,).

    ``vocabulary.parquet`` lists the tokens that have a code: field, token, code, count.

    The scratch folder lies where TMPDIR says, takes about 160 bytes a row and is removed at the end;
    only a killed process leaves its ``.scratch-*`` behind, which may be deleted.
    """
    options = _check(locals())
    out_dir = Path(out_dir)
    out_dir.mkdir(parents=True, exist_ok=True)
    with scratch_folder() as scratch, ThreadPoolExecutor(threads) as pool:
        log = _ingest(Path(source), scratch, pool, options)
        part = split(
            log.rows,
            seed=seed,
            test_fraction=test_fraction,
            evaluation_fraction=evaluation_fraction,
        )
        fit = _fit(log, part, pool, options)
        return _write(log, part, fit, out_dir, pool, options)


def output_paths(out_dir: str | os.PathLike) -> dict[str, Path]:
    """The files :func:`preprocess` writes, by name without suffix."""
    names = [f"{p}_{kind}.npy" for p in PARTS for kind in ("categorical", "numeric", "label")]
    return {
        name.split(".")[0]: Path(out_dir) / name
        for name in (*names, "vocabulary.parquet", "meta.json")
    }


TRAIN, EVALUATION, UNUSED = 1, 2, 0


def split(
    rows: int, *, seed: int, test_fraction: float = 0.1, evaluation_fraction: float = 1.0
) -> np.ndarray:
    """Part of each row: ``TRAIN``, ``EVALUATION``, or ``UNUSED`` (test rows not evaluated).

    Parameters
    ----------
    rows : number of good rows.
    seed : the split depends on it, on ``rows`` and on the fractions.
    test_fraction, evaluation_fraction : as in :func:`preprocess`; rounded up in exact decimal
        arithmetic (0.07 of 100 rows are 7, in floating point it would be 8).

    Returns
    -------
    (rows,) uint8

    Raises
    ------
    UserError
        If either part would be empty.
    """
    n_test = _share(test_fraction, rows)
    n_evaluation = _share(evaluation_fraction, n_test)
    if rows - n_test < 1:
        raise UserError(
            f"the log has {rows} good rows, of which {n_test} go to the test part; expected enough "
            "rows for at least one train row"
        )
    test = np.zeros(rows, np.bool_)
    test[:n_test] = True
    generator(seed, "criteo-split", part="test").shuffle(test)
    evaluated = np.zeros(n_test, np.uint8)
    evaluated[:n_evaluation] = EVALUATION
    generator(seed, "criteo-split", part="evaluation").shuffle(evaluated)
    part = np.full(rows, TRAIN, np.uint8)
    part[test] = evaluated
    return part


def _share(fraction: float, rows: int) -> int:
    return math.ceil(Fraction(repr(float(fraction))) * rows)


class _Options(NamedTuple):
    data: str
    seed: int
    test_fraction: float
    evaluation_fraction: float
    train_rows: int | None
    min_count: int
    fit_on: str
    on_bad_rows: str
    threads: int
    block_bytes: int


def _check(arguments: dict[str, Any]) -> _Options:
    """The options of :func:`preprocess`, or the first that is wrong."""
    o = _Options(**{name: arguments[name] for name in _Options._fields})
    checks = [
        ("test_fraction", 0 < o.test_fraction < 1, "a number between 0 and 1"),
        ("evaluation_fraction", 0 < o.evaluation_fraction <= 1, "above 0 and at most 1"),
        ("train_rows", o.train_rows is None or o.train_rows >= 1, "1 or more, or None for all"),
        ("min_count", o.min_count >= 1, "1 or more"),
        ("fit_on", o.fit_on in ("all", "train"), "'all' or 'train'"),
        ("on_bad_rows", o.on_bad_rows in ("error", "skip"), "'error' or 'skip'"),
        ("threads", o.threads >= 1, "1 or more"),
        ("block_bytes", 1 <= o.block_bytes <= 1 << 30, "between 1 and 2^30"),
    ]
    for name, holds, expected in checks:
        if not holds:
            raise UserError(f"{name}: got {getattr(o, name)!r}, expected {expected}")
    return o


# --- provisional ids -----------------------------------------------------------------------------


class _Dictionary:
    """Tokens of one field -> ids 1, 2, ... in order of appearance; 0 stands for missing.

    Open addressing in one array of 64-bit slots: id in the high half, token in the low half. No
    used slot is 0 because ids start at 1, so every 32-bit token is possible.
    """

    def __init__(self) -> None:
        self.size = 0
        self.slots = np.zeros(1 << 10, np.uint64)

    def encode(self, tokens: np.ndarray, present: np.ndarray, out: np.ndarray) -> None:
        """Write the ids of ``tokens`` (n,) to ``out`` (n,) int32."""
        need = (self.size + len(tokens)) * 5 // 3  # a load of at most 0.6, all tokens being new
        if need > len(self.slots):
            grown = np.zeros(1 << need.bit_length(), np.uint64)
            _rehash(self.slots, grown)
            self.slots = grown
        self.size = _encode(self.slots, self.size, tokens, present, out)

    def tokens(self) -> np.ndarray:
        """(size,) uint32: the token of each id from 1 on."""
        used = self.slots[self.slots != 0]
        out = np.empty(self.size, np.uint32)
        out[(used >> np.uint64(32)).astype(np.int64) - 1] = used.astype(np.uint32)
        return out


@numba.njit(inline="always")
def _slot(token, mask):
    x = np.uint64(token)  # MurmurHash3's finaliser: tokens need not be well mixed
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x85EBCA6B)) & np.uint64(0xFFFFFFFF)
    x = ((x ^ (x >> np.uint64(13))) * np.uint64(0xC2B2AE35)) & np.uint64(0xFFFFFFFF)
    return (x ^ (x >> np.uint64(16))) & mask


@jit
def _rehash(old, new):
    mask = np.uint64(new.shape[0] - 1)
    for entry in old:
        if entry != 0:
            at = _slot(entry & np.uint64(0xFFFFFFFF), mask)
            while new[at] != 0:
                at = (at + np.uint64(1)) & mask
            new[at] = entry


@jit
def _encode(slots, size, tokens, present, out):
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(tokens.shape[0]):
        if not present[i]:
            out[i] = 0
            continue
        token = np.uint64(tokens[i])
        at = _slot(token, mask)
        while slots[at] != 0 and (slots[at] & np.uint64(0xFFFFFFFF)) != token:
            at = (at + np.uint64(1)) & mask
        if slots[at] == 0:
            size += 1
            slots[at] = (np.uint64(size) << np.uint64(32)) | token
        out[i] = np.int32(slots[at] >> np.uint64(32))
    return size


# --- pass 1: ingest ------------------------------------------------------------------------------


@dataclass
class _Log:
    """What the first pass leaves: blocks on disk, tokens and tallies in memory."""

    name: str = ""
    sha256: str = ""
    rows: int = 0
    blocks: list[tuple[Path, int]] = field(default_factory=list)  # (file, rows)
    tokens: list[np.ndarray] = field(default_factory=list)  # per field, by id - 1
    integer_missing: np.ndarray = field(default_factory=lambda: np.zeros(13, np.int64))
    token_missing: np.ndarray = field(default_factory=lambda: np.zeros(26, np.int64))
    skipped: Counter = field(default_factory=Counter)
    first_skipped: list[dict[str, Any]] = field(default_factory=list)

    def skip(self, line: int, problem: Problem) -> None:
        self.skipped[problem.reason] += 1
        if len(self.first_skipped) < _FIRST_SKIPPED:
            self.first_skipped.append({"line": line, **problem._asdict()})


def _ingest(path: Path, scratch: Path, pool: Executor, options: _Options) -> _Log:
    log, digest = _Log(), hashlib.sha256()
    dictionaries = [_Dictionary() for _ in CATEGORICALS]
    groups = _groups(options.threads)
    skip = options.on_bad_rows == "skip"

    def parse(block: Block) -> tuple[Block, Parsed | None, list[Bad]]:
        return Block(block.first_line, b""), *parse_block(block.text, skip)

    with open_text(path) as (stream, log.name):
        source = blocks(stream, path, options.block_bytes, digest)
        for block, parsed, bad in _ordered(pool, parse, source, options.threads):
            for offset, problem in bad:
                line = block.first_line + offset
                if not skip:
                    raise UserError(f"{path}, line {line}: {problem.message}")
                log.skip(line, problem)
            if parsed is not None:
                _store(log, parsed, dictionaries, scratch, pool, groups)
    log.sha256 = digest.hexdigest()
    if not log.rows:
        raise _no_rows(path, log)
    if log.skipped:
        logger.warning(
            "%s: skipped %d bad rows (%s), kept %d",
            *(path, log.skipped.total(), dict(log.skipped), log.rows),
        )
    while dictionaries:  # each table is freed before the next list of tokens is made
        log.tokens.append(dictionaries.pop(0).tokens())
    return log


def _no_rows(path: Path, log: _Log) -> UserError:
    if not log.skipped:
        return UserError(f"{path}, line 1: the file is empty, expected a click log")
    first = log.first_skipped[0]
    return UserError(
        f"{path}: none of the {log.skipped.total()} rows is good, expected a click log (line "
        f"{first['line']}: {first['message']})"
    )


def _store(
    log: _Log,
    parsed: Parsed,
    dictionaries: list[_Dictionary],
    scratch: Path,
    pool: Executor,
    groups: list[range],
) -> None:
    """Replace tokens by provisional ids and put the block on disk."""
    n = len(parsed.label)
    ids = np.empty((len(CATEGORICALS), n), np.int32)

    def encode(fields: range) -> None:
        for j in fields:
            dictionaries[j].encode(parsed.tokens[j], parsed.present[j], ids[j])

    list(pool.map(encode, groups))  # done before the next block: ids depend on the order
    log.integer_missing += parsed.integer_missing
    log.token_missing += n - np.count_nonzero(parsed.present, axis=1)
    integers = parsed.integers
    if integers.min() >= -(2**31) and integers.max() < 2**31:
        integers = integers.astype(np.int32)
    path = scratch / f"{len(log.blocks):06d}.block"
    try:
        with open(path, "wb") as handle:
            for array in (ids, integers, parsed.label):
                np.save(handle, array)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise UserError(
            f"{scratch.parent}: no space left for intermediate files, about 160 bytes a row; expected "
            "TMPDIR to name a folder with room"
        ) from error
    log.blocks.append((path, n))
    log.rows += n


def _groups(threads: int) -> list[range]:
    """Categorical fields shared out: a task per field would cost more than its work."""
    return [range(first, len(CATEGORICALS), threads) for first in range(threads)]


def _load(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Provisional ids (26, n), integers (13, n) and labels (n,) of a block on disk."""
    # one read: np.load copies small pieces when given a file, memory maps would count as memory
    handle = io.BytesIO(path.read_bytes())
    return tuple(np.load(handle, allow_pickle=False) for _ in range(3))


def _ordered(pool: Executor, work: Callable, items: Iterable, threads: int) -> Iterator:
    """Results of ``work`` in the order of ``items``, with a bounded number in flight."""
    pending: deque = deque()
    source, failure = iter(items), None
    try:
        while failure is None:
            try:
                pending.append(pool.submit(work, next(source)))
            except StopIteration:
                break
            except UserError as error:  # comes after what the earlier items have to say
                failure = error
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if failure is not None:
            raise failure
    finally:
        for future in pending:
            future.cancel()


# --- pass 2: fit ---------------------------------------------------------------------------------


@dataclass
class _Fit:
    """Vocabulary and ranges.

    Ids of field ``j`` start at ``base[j]`` in the flat arrays, ``base[j]`` itself being missing.
    """

    base: np.ndarray  # (27,)
    counts: np.ndarray  # (base[-1],) int64
    minimum: np.ndarray  # (13,) int64
    maximum: np.ndarray
    table: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))  # id -> table row
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    distinct: list[int] = field(default_factory=list)


def _fit(log: _Log, part: np.ndarray, pool: Executor, options: _Options) -> _Fit:
    base = np.concatenate([[0], np.cumsum([len(tokens) + 1 for tokens in log.tokens])])
    big = np.iinfo(np.int64)
    fit = _Fit(
        base=base,
        counts=np.zeros(base[-1], np.int64),
        minimum=np.full(len(INTEGERS), big.max, np.int64),
        maximum=np.full(len(INTEGERS), big.min, np.int64),
    )
    at = 0
    for path, n in log.blocks:
        ids, integers, _ = _load(path)
        use = np.ones(n, np.bool_) if options.fit_on == "all" else part[at : at + n] == TRAIN
        at += n

        def tally(fields: range, ids: np.ndarray = ids, use: np.ndarray = use) -> None:
            for j in fields:
                _tally(ids[j], use, fit.counts[base[j] : base[j + 1]])

        list(pool.map(tally, _groups(options.threads)))
        if use.any():
            seen = integers if use.all() else integers[:, use]
            np.minimum(fit.minimum, seen.min(axis=1), out=fit.minimum)
            np.maximum(fit.maximum, seen.max(axis=1), out=fit.maximum)
    return fit


@jit
def _tally(ids, use, counts):
    for i in range(ids.shape[0]):
        if use[i]:
            counts[ids[i]] += 1


def _code(log: _Log, fit: _Fit, min_count: int, writer: pa.parquet.ParquetWriter) -> None:
    """Give every token its code, and write the vocabulary, one field at a time."""
    fit.table = np.empty(fit.base[-1], np.int32)
    offset = 0
    for j, name in enumerate(CATEGORICALS):
        tokens, counts = log.tokens[j], fit.counts[fit.base[j] + 1 : fit.base[j + 1]]
        order = _by_count(tokens, counts)
        kept = order[: np.count_nonzero(counts >= min_count)]
        table = fit.table[fit.base[j] : fit.base[j + 1]]
        table[0] = offset + MISSING
        table[1:] = offset + RARE
        codes = np.arange(FIRST_CODE, FIRST_CODE + len(kept), dtype=np.int32)
        table[1 + kept] = offset + codes
        columns = [pa.repeat(name, len(kept)), tokens[kept], codes, counts[kept]]
        writer.write_table(pa.table(columns, schema=_VOCABULARY))
        fit.offsets.append(offset)
        fit.sizes.append(FIRST_CODE + len(kept))
        fit.distinct.append(int(np.count_nonzero(counts)))
        log.tokens[j] = np.empty(0, np.uint32)
        offset += FIRST_CODE + len(kept)
        if offset >= 2**31:
            raise UserError(
                f"{log.name}: more than {2**31 - 1} categories, expected fewer (raise min_count)"
            )


def _by_count(tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Order by descending count, then ascending token."""
    if len(counts) and counts.max() >= 2**32:
        return np.lexsort((tokens, -counts))
    # one 64-bit key sorts several times faster than two
    key = (np.uint64(2**32 - 1) - counts.astype(np.uint64)) << np.uint64(32)
    return np.argsort(key | tokens.astype(np.uint64))


_VOCABULARY = pa.schema(
    [("field", pa.string()), ("token", pa.uint32()), ("code", pa.int32()), ("count", pa.int64())]
)


# --- pass 3: write -------------------------------------------------------------------------------


class _Rows(NamedTuple):
    categorical: np.ndarray  # (m, 26) int32
    numeric: np.ndarray  # (m, 13) float32
    label: np.ndarray  # (m,) uint8


def _write(
    log: _Log, part: np.ndarray, fit: _Fit, out_dir: Path, pool: Executor, options: _Options
) -> Summary:
    paths = output_paths(out_dir)
    paths["meta"].unlink(missing_ok=True)  # never beside arrays of another run
    available = int(np.count_nonzero(part == TRAIN))
    n_train = min(available, options.train_rows or available)
    sizes = {"train": n_train, "evaluation": int(np.count_nonzero(part == EVALUATION))}
    positives = dict.fromkeys(PARTS, 0)
    with contextlib.ExitStack() as stack:
        with pa.parquet.ParquetWriter(
            stack.enter_context(atomic_path(paths["vocabulary"])), _VOCABULARY, compression="zstd"
        ) as writer:
            _code(log, fit, options.min_count, writer)
        outputs = {p: _open_part(stack, paths, p, sizes[p]) for p in PARTS}
        for blocks in _ordered(pool, *_transform(log, part, fit, n_train), options.threads):
            for p, rows in zip(PARTS, blocks, strict=True):
                positives[p] += int(rows.label.sum())
                for handle, array in zip(outputs[p], rows, strict=True):
                    handle.write(array.data)
    summary = _summary(log, fit, sizes, available, positives, options)
    write_json(paths["meta"], asdict(summary))
    return summary


def _transform(
    log: _Log, part: np.ndarray, fit: _Fit, n_train: int
) -> tuple[Callable[[tuple], list[_Rows]], Iterator[tuple]]:
    """The work on one block, and the blocks with the rows each part takes from them."""

    def jobs() -> Iterator[tuple[Path, list[np.ndarray]]]:
        at, left = 0, n_train
        for path, n in log.blocks:
            here = part[at : at + n]
            train = np.flatnonzero(here == TRAIN)[:left]
            left -= len(train)
            at += n
            yield path, [train, np.flatnonzero(here == EVALUATION)]

    def work(job: tuple[Path, list[np.ndarray]]) -> list[_Rows]:
        ids, integers, label = _load(job[0])
        out = []
        for rows in job[1]:
            categorical = np.empty((len(rows), len(CATEGORICALS)), np.int32)
            _look_up(ids, rows, fit.base, fit.table, categorical)
            numeric = scale(integers[:, rows].T, fit.minimum, fit.maximum)
            out.append(_Rows(categorical, np.ascontiguousarray(numeric), label[rows]))
        return out

    return work, jobs()


@jit
def _look_up(ids, rows, base, table, out):
    for j in range(ids.shape[0]):
        for i in range(rows.shape[0]):
            out[i, j] = table[base[j] + ids[j, rows[i]]]


def scale(values: np.ndarray, minimum: np.ndarray, maximum: np.ndarray) -> np.ndarray:
    """Min-max scaling to [0, 1] by column, clipped; a constant column becomes 0.

    Parameters
    ----------
    values : (n, d) integers.
    minimum, maximum : (d,) integers, the range of each column.

    Returns
    -------
    (n, d) float32, rounded from float64.
    """
    # differences in floating point: those of 64-bit integers overflow
    low, high = minimum.astype(np.float64), maximum.astype(np.float64)
    width = np.where(high > low, high - low, np.inf)
    return np.clip((values - low) / width, 0, 1).astype(np.float32)


def _open_part(
    stack: contextlib.ExitStack, paths: dict[str, Path], part: str, n: int
) -> list[BinaryIO]:
    """Files of a part, their headers written; rows are appended to them in file order.

    Appending rather than writing through a memory map keeps resident memory small.
    """
    handles = []
    for kind, shape, dtype in (
        ("categorical", (n, len(CATEGORICALS)), "<i4"),
        ("numeric", (n, len(INTEGERS)), "<f4"),
        ("label", (n,), "|u1"),
    ):
        temporary = stack.enter_context(atomic_path(paths[f"{part}_{kind}"]))
        handle = stack.enter_context(temporary.open("wb"))
        header = {"descr": dtype, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(handle, header)
        handles.append(handle)
    return handles


def _summary(
    log: _Log,
    fit: _Fit,
    sizes: dict[str, int],
    available: int,
    positives: dict[str, int],
    options: _Options,
) -> Summary:
    arguments = options._asdict()
    for name in ("threads", "block_bytes"):  # no part of the result
        del arguments[name]
    return Summary(
        source=log.name,
        source_sha256=log.sha256,
        rows=log.rows,
        skipped={
            "rows": log.skipped.total(),
            "by_reason": dict(log.skipped),
            "first": log.first_skipped,
        },
        n_train=sizes["train"],
        n_train_available=available,
        n_test=log.rows - available,
        n_evaluation=sizes["evaluation"],
        positives=positives,
        vocabulary_size=sum(fit.sizes),
        categorical={
            name: {
                "offset": fit.offsets[j],
                "size": fit.sizes[j],
                "distinct": fit.distinct[j],
                "missing": int(log.token_missing[j]) / log.rows,
            }
            for j, name in enumerate(CATEGORICALS)
        },
        numeric={
            name: {
                "minimum": int(fit.minimum[j]),
                "maximum": int(fit.maximum[j]),
                "missing": int(log.integer_missing[j]) / log.rows,
            }
            for j, name in enumerate(INTEGERS)
        },
        **arguments,
    )
