"""The data sets behind a run, from the provenance record: what was used, under which licence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakmeter.datasets.registry import load_registry
from leakmeter.datasets.resolve import Resolution
from leakmeter.datasets.summary import describe

_FIELDS = {field.name for field in dataclasses.fields(Resolution)}


def resolutions(data: Mapping[str, Any]) -> list[tuple[Resolution, str]]:
    """What was resolved, each set once per label, with a sentence on its preparation (or none).

    ``data`` is the provenance record's: file -> a resolution, with further keys beside its own, or
    the record of a preparation that holds one as ``resolution``. Other records are left out.
    """
    found: dict[tuple[str, str], tuple[Resolution, str]] = {}
    for value in data.values():
        inner = value.get("resolution", value) if isinstance(value, Mapping) else {}
        if not isinstance(inner, Mapping) or not _FIELDS - {"variant"} <= set(inner):
            continue
        fields = {"variant": "", **{key: inner[key] for key in _FIELDS & set(inner)}}
        fields["files"] = {key: Path(path) for key, path in inner["files"].items()}
        resolution = Resolution(**fields)
        found[resolution.name, resolution.label] = (resolution, _preparation(value))
    return list(found.values())


def _preparation(value: Mapping[str, Any]) -> str:
    parts = []
    if {"n_train", "n_test"} <= set(value):
        parts.append(f"{value['n_train']:,} training and {value['n_test']:,} test records used")
    if isinstance(value.get("records_available"), int):
        parts.append(f"of {value['records_available']:,}")
    text = " ".join(parts)
    return "; ".join(part for part in (text, str(value.get("preprocessing", ""))) if part)


def described(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """Rows of "data and licences", without facts about the host such as folders."""
    known = load_registry()
    rows = []
    for found, preparation in resolutions(data):
        if found.name in known:
            row = describe(found.name, found)[0]
        else:
            row = {
                "title": found.name,
                "replace": "",
                "rows": "",
                "checksums": ", ".join(f"{k} {v}" for k, v in found.checksums.items()),
                **{k: getattr(found, k) for k in ("label", "licence", "note", "source")},
            }
        if found.how == "user":
            row["source"] = "your folder"
        rows.append({**row, "preparation": preparation})
    return rows
