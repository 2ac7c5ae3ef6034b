"""What a measurement on a user's file comes to, and the files it is kept in."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.runtime import read_json, sha256_file, write_text

#: Kinds of reports, in the order in which they are shown.
KINDS = ("dpauc", "audit", "shapr", "labelings")
#: Columns that are text even when they look like numbers.
_TEXTS = ["name", "label", "labelings"]


@dataclass(frozen=True)
class Report:
    """One measurement.

    Attributes
    ----------
    kind : one of :data:`KINDS`.
    summary : named results and settings; numbers, text, None, lists and mappings of these.
    sentences : the answer in words.
    table : the numbers behind it, one row per setting, attack or class size.
    records : one row per record of the file, or None where there is nothing to say about them.
    """

    kind: str
    summary: dict[str, Any]
    sentences: tuple[str, ...]
    table: pd.DataFrame
    records: pd.DataFrame | None = None

    def as_json(self) -> str:
        """Everything as one JSON object; numbers that do not exist are null."""
        value = {
            "kind": self.kind,
            "summary": finite(self.summary),
            "sentences": list(self.sentences),
            "table": finite(self.table.to_dict("records")),
        }
        if self.records is not None:
            value["records"] = finite(self.records.to_dict("records"))
        return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)

    def as_text(self) -> str:
        """The answer in words, the table and the labelings that are listed, for a terminal."""
        shown = self.table.map(shown_value)
        lines = [*self.sentences, "", shown.to_string(index=False, na_rep="")]
        if self.records is not None:
            listed = self.records.filter(like="labeling_")
            lines += ["", "labelings, a digit per row of the file:"] if len(listed.columns) else []
            lines += ["".join(map(str, listed[name])) for name in listed]
        return "\n".join(lines)

    def texts(self) -> tuple[str, str, str | None]:
        """What :meth:`write` writes: summary (JSON), table and records (CSV) or None."""
        content = {"kind": self.kind, "summary": self.summary, "sentences": list(self.sentences)}
        summary = json.dumps(finite(content), indent=2, sort_keys=True, allow_nan=False) + "\n"
        table, records = (
            None if frame is None else frame.to_csv(index=False, lineterminator="\n")
            for frame in (self.table, self.records)
        )
        return summary, str(table), records

    def write(
        self, summary: str | Path, table: str | Path, records: str | Path | None = None
    ) -> None:
        """Write the files that :func:`read_report` reads, each atomically.

        Parameters
        ----------
        summary : JSON. table, records : CSV; the latter is written if there are records.
        """
        for path, text in zip((summary, table, records), self.texts(), strict=True):
            if path is not None and text is not None:
                write_text(path, text)


def read_report(
    summary: str | Path, table: str | Path, records: str | Path | None = None
) -> Report:
    """A report from its files."""
    content = read_json(summary)
    return Report(
        content["kind"],
        content["summary"],
        tuple(content["sentences"]),
        _read_csv(table),
        None if records is None else _read_csv(records),
    )


def _read_csv(path: str | Path) -> pd.DataFrame:
    """A table as it was written: Python reads floats back exactly at any pandas version."""
    frame = pd.read_csv(path, dtype="str", keep_default_na=False)
    for name in frame.columns.difference(_TEXTS):
        frame[name] = _numbers(frame[name].tolist())
    return frame


def _numbers(texts: list[str]) -> list[Any]:
    for kind in (int, lambda text: float(text) if text else math.nan):
        try:
            return [kind(text) for text in texts]
        except ValueError:
            continue
    return texts


def file_name(path: str | Path) -> str:
    """The last part of a path, with a mark for bytes that are no UTF-8: no file could hold those."""
    return Path(path).name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def named_files(**paths: str | Path | None) -> dict[str, dict[str, str]]:
    """What a summary says about its files: role -> name and SHA-256."""
    return {
        role: {"name": file_name(path), "sha256": sha256_file(Path(path).expanduser())}
        for role, path in paths.items()
        if path is not None
    }


def finite(value: Any) -> Any:
    """Plain JSON values: NumPy scalars as numbers, NaN as null, infinities as text."""
    if isinstance(value, dict):
        return {str(key): finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def shown_value(value: Any) -> Any:
    """A cell of a table for the eye: six significant digits."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value
