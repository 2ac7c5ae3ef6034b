"""Is a file that a run made still whole? A copy, a full disk or a crash may have cut it off.

What we write ends in a known way, so a cheap look at the end finds most cut files before anything
is computed; reading the whole file finds the rest once something went wrong.
"""

from __future__ import annotations

import csv
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

#: What to do about a damaged file. Deleting is not enough where later files exist already:
#: Snakemake does not miss what lies between them.
ADVICE = "delete it and run again with --forcerun and this file's name, so that it is made anew"
_PARQUET = b"PAR1"


def first_damage(paths: Iterable[str | os.PathLike], *, whole: bool = False) -> str | None:
    """One sentence about the first of a run's own files that is damaged, or None.

    Parameters
    ----------
    paths : inputs of a rule. Rules make what lies in ``results/`` of the working folder; other
        files are the user's or the repository's, and nobody must be told to delete them.
    whole : read every file to its end; otherwise look at its end only.
    """
    for path in map(Path, paths):
        made = path.parts[:1] == ("results",)
        if made and path.is_file():
            reason = damage_of(path, whole=whole)
            if reason:
                return f"{path}: cut off or damaged ({reason}); {ADVICE}"
    return None


def damage_of(path: str | os.PathLike, *, whole: bool = True) -> str | None:
    """What is wrong with a CSV, Parquet, NPZ, NPY or JSON file that we wrote; None if nothing is.

    Damage that leaves a valid file of the same form (another digit) is not seen.
    """
    path = Path(path)
    look = (_WHOLE if whole else _ENDS).get(path.suffix)
    if look is None:
        return None
    try:
        return "it is empty" if path.stat().st_size == 0 else look(path)
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__


def _last(path: Path, size: int) -> bytes:
    with open(path, "rb") as handle:
        handle.seek(max(0, os.path.getsize(path) - size))
        return handle.read()


def _text_end(path: Path) -> str | None:
    return None if _last(path, 1) == b"\n" else "the last line is not complete"


def _parquet_end(path: Path) -> str | None:
    return None if _last(path, 4) == _PARQUET else "no Parquet footer"


def _zip_end(path: Path) -> str | None:
    return None if zipfile.is_zipfile(path) else "no directory of the archive"


def _csv_whole(path: Path) -> str | None:
    with open(path, encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, strict=True)
        width = len(next(reader))
        for row in reader:
            if len(row) != width:
                return f"line {reader.line_num} has {len(row)} of {width} fields"
    return _text_end(path)


def _parquet_whole(path: Path) -> str | None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for _ in file.iter_batches():
            pass
    return None


def _npz_whole(path: Path) -> str | None:
    with zipfile.ZipFile(path) as archive:
        try:
            bad = archive.testzip()
        except zlib.error as error:
            return str(error)
    return bad and f"array {bad} has another checksum"


def _npy_whole(path: Path) -> str | None:
    import numpy as np

    np.load(path, mmap_mode="r", allow_pickle=False)
    return None


def _json_whole(path: Path) -> str | None:
    json.loads(path.read_text(encoding="utf-8"))
    return None


_ENDS: Mapping[str, Callable[[Path], str | None]] = {
    ".csv": _text_end,
    ".parquet": _parquet_end,
    ".npz": _zip_end,
}
_WHOLE: Mapping[str, Callable[[Path], str | None]] = {
    ".csv": _csv_whole,
    ".parquet": _parquet_whole,
    ".npz": _npz_whole,
    ".npy": _npy_whole,
    ".json": _json_whole,
}
