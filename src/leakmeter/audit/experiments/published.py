"""Rows of the published files that experiments take tallies and settings from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from leakmeter.reporting.published import read_published
from leakmeter.runtime import UserError


def published_rows(paths: Sequence[str | Path], name: str, **where: str) -> list[dict[str, str]]:
    """Rows of one published file among ``paths``, as text, with columns equal to ``where``.

    Experiments take tallies and settings from it, never results.

    Raises
    ------
    UserError
        no such file among the paths, or no such row in it.
    """
    chosen = [Path(path) for path in paths if Path(path).name == name]
    if not chosen:
        raise UserError(f"{name}: not among the files of published numbers that were given")
    frame = read_published(chosen[0])
    for column, value in where.items():
        frame = frame[frame[column] == value]
    if frame.empty:
        raise UserError(f"{chosen[0]}: no row has {where}")
    return frame.to_dict("records")


def tally_of(row: Mapping[str, str]) -> dict[str, int]:
    """``fn, tp, fp, tn`` of a published row."""
    return {name.lower(): int(row[name]) for name in ("FN", "TP", "FP", "TN")}
