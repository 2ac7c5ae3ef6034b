"""Tidy measurements: the only thing tables, figures, claims and the page read.

A measurement file is a CSV with one row per (paper, item, cell, origin, metric); a draws file is a
Parquet with the single repeats behind the means, for tests that need more than mean and spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.damage import ADVICE, damage_of
from leakmeter.runtime import UserError, atomic_path

#: Column -> (type, meaning). The order is the order in the file.
COLUMNS: dict[str, tuple[str, str]] = {
    "paper": (
        "string",
        "chain the number belongs to: dpauc, audit, shapr, labelings, or beyond (ours)",
    ),
    "item": ("string", "table, figure or experiment, e.g. table4"),
    "cell": ("string", "the key that names the cell: axis=value pairs joined by ';'"),
    "origin": ("string", "where the scores, tallies or records came from, e.g. wide_deep, authors"),
    "metric": ("string", "what was measured, e.g. auc"),
    "value": ("number", "mean over the repeats; empty where the metric is undefined"),
    "std": ("number", "standard deviation over the repeats (divisor n - 1); empty for n = 1"),
    "n": ("integer", "number of repeats behind value and std"),
    "source_std": ("number", "uncertainty of value that repeats do not average out, 0 if none"),
    "m": ("integer", "evaluated records, or trials of a game; empty where there are none"),
    "data": ("string", "label of the data: exact, real, authors, related, standin"),
    "scale": ("string", "name of the configuration scale: smoke, laptop, paper"),
    "seed": ("integer", "root seed of the run"),
    "note": ("string", "anything a reader of the number must know"),
}
KEY = ["paper", "item", "cell", "origin", "metric"]
DATA_LABELS = ("exact", "real", "authors", "related", "standin")
DRAW_COLUMNS = [*KEY, "repeat", "value"]


def _text(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def cell(**axes: Any) -> str:
    """The key of a cell, ``"epoch=0;K=10"``: axes in the order given, whole floats as integers.

    >>> cell(epoch=0, epsilon=8.0)
    'epoch=0;epsilon=8'
    """
    for name, value in axes.items():
        if any(c in f"{name}{value}" for c in "=;\n"):
            raise ValueError(f"axis {name}={value!r}: '=', ';' and line ends are reserved")
    return ";".join(f"{name}={_text(value)}" for name, value in axes.items())


def parse_cell(text: str) -> dict[str, str]:
    """The axes of a cell key, as text.

    >>> parse_cell("epoch=0;epsilon=8")
    {'epoch': '0', 'epsilon': '8'}
    """
    return dict(part.split("=", 1) for part in text.split(";")) if text else {}


def axes_table(
    paper: str, measurements: pd.DataFrame, item: str, metric: str | None = None
) -> pd.DataFrame:
    """Rows of one item (and metric) of a chain with their axes as columns (numbers where they are).

    Raises
    ------
    UserError
        if the measurements have none.
    """
    chosen = measurements[(measurements["paper"] == paper) & (measurements["item"] == item)]
    if metric is not None:
        chosen = chosen[chosen["metric"] == metric]
    if chosen.empty:
        having = "" if metric is None else f" has the metric {metric!r}"
        raise UserError(f"measurements: no row of item {item!r}{having}")
    kept = ("origin", "metric", "value", "std", "n", "m", "note", "data")
    return pd.DataFrame(
        {name: row[name] for name in kept}
        | {axis: as_number(value) for axis, value in parse_cell(row["cell"]).items()}
        for row in chosen.to_dict("records")
    )


def as_number(text: str) -> int | float | str:
    """An axis value as the number it is, or as it stands.

    >>> as_number("10"), as_number("0.5"), as_number("census")
    (10, 0.5, 'census')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def summarise(values: Sequence[float]) -> dict[str, float | int | None]:
    """Mean, standard deviation (divisor n - 1) and n of repeats; NaN repeats make the mean empty."""
    series = pd.Series(values, dtype="float64")
    n = len(series)
    if n == 0:
        raise ValueError("no repeats to summarise")
    undefined = series.isna().any()
    return {
        "value": None if undefined else float(series.mean()),
        "std": None if undefined or n < 2 else float(series.std(ddof=1)),
        "n": n,
    }


def write_measurements(path: str | Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Check rows against the dictionary of columns and write them, sorted by key, atomically.

    Raises
    ------
    ValueError
        an unknown or missing column, an unknown data label, two rows with one key.
    """
    frame = pd.DataFrame([_complete(row) for row in rows], columns=list(COLUMNS))
    duplicated = frame[frame.duplicated(KEY)]
    if len(duplicated):
        raise ValueError(f"two measurements of one cell: {duplicated.iloc[0][KEY].to_dict()}")
    for column, (kind, _) in COLUMNS.items():
        if kind == "integer":
            frame[column] = frame[column].astype("Int64")
        elif kind == "number":
            frame[column] = frame[column].astype("float64")
    frame = frame.sort_values(KEY, kind="stable")
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def _complete(row: Mapping[str, Any]) -> dict[str, Any]:
    unknown = set(row) - set(COLUMNS)
    if unknown:
        raise ValueError(f"unknown measurement columns: {sorted(unknown)}")
    filled = {"source_std": 0.0, "m": None, "note": "", "std": None, "n": 1, **row}
    missing = [column for column in COLUMNS if column not in filled]
    if missing:
        raise ValueError(f"measurement {dict(row)} lacks {missing}")
    if filled["data"] not in DATA_LABELS:
        raise ValueError(f"data label {filled['data']!r}: expected one of {DATA_LABELS}")
    return filled


def read_measurements(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Read and stack measurement files; :class:`UserError` names a file that is not one."""
    frames = []
    for path in paths:
        if reason := Path(path).is_file() and damage_of(path):
            raise UserError(f"{path}: cut off or damaged ({reason}); {ADVICE}")
        try:
            frame = pd.read_csv(path, dtype="str", keep_default_na=False)
            for column in frame.columns.intersection(list(COLUMNS)):
                kind = COLUMNS[column][0]
                if kind != "string":
                    # Python's float() reads back exactly what was written, at any pandas version
                    numbers = [float(v) if v else math.nan for v in frame[column]]
                    frame[column] = pd.Series(numbers, dtype="float64")
                if kind == "integer":
                    frame[column] = frame[column].astype("Int64")
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path}: cannot be read as a measurement table ({error}); {ADVICE}"
            ) from error
        if list(frame.columns) != list(COLUMNS):
            raise UserError(f"{path}: columns {list(frame.columns)}, expected {list(COLUMNS)}")
        frames.append(frame)
    if not frames:
        raise ValueError("no measurement files given")
    stacked = pd.concat(frames, ignore_index=True)
    duplicated = stacked[stacked.duplicated(KEY)]
    if len(duplicated):
        raise UserError(f"two files measure one cell: {duplicated.iloc[0][KEY].to_dict()}")
    return stacked


def write_draws(path: str | Path, draws: Iterable[Mapping[str, Any]]) -> None:
    """Write single repeats: mappings with the key columns and ``values`` (a sequence)."""
    frames = [
        pd.DataFrame(
            {**{k: d[k] for k in KEY}, "repeat": range(len(d["values"])), "value": d["values"]}
        )
        for d in draws
    ]
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=DRAW_COLUMNS)
    with atomic_path(path) as temporary:
        frame[DRAW_COLUMNS].to_parquet(temporary, index=False)


def read_draws(paths: Iterable[str | Path]) -> dict[tuple[str, ...], Any]:
    """Single repeats by key: ``{(paper, item, cell, origin, metric): (n,) float array}``."""
    result: dict[tuple[str, ...], Any] = {}
    for path in paths:
        frame = pd.read_parquet(path)
        for key, group in frame.groupby(KEY, sort=False):
            result[tuple(key)] = group.sort_values("repeat")["value"].to_numpy()
    return result


def gather(
    measurements: Sequence[str | Path],
    draws: Sequence[str | Path],
    *,
    measurements_out: str | Path,
    draws_out: str | Path,
) -> None:
    """Stack the measurement and draws files of a chain into one of each."""
    frame = read_measurements(measurements)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    write_measurements(measurements_out, records)
    frames = [part for part in map(pd.read_parquet, draws) if len(part)]
    stacked = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=DRAW_COLUMNS)
    with atomic_path(draws_out) as temporary:
        stacked[DRAW_COLUMNS].to_parquet(temporary, index=False)


def write_frame(path: str | Path, frame: pd.DataFrame) -> None:
    """Write any table as CSV, atomically (curves, densities: what figures draw)."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
