"""What a reader of the results must know about the data: labels, licences, how to get the real set."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leakmeter.datasets.registry import Dataset, Variant, get

if TYPE_CHECKING:
    from leakmeter.datasets.resolve import Resolution


def how_to_get(dataset: Dataset, data_dirs: Sequence[str | Path] = ()) -> str:
    """Instructions for a person: where to get the set, where to put it, what to expect.

    Parameters
    ----------
    dataset : an entry of the registry.
    data_dirs : the folders that are searched; the first one is named.
    """
    folder = str(data_dirs[0]) if data_dirs else "the folder named by data.dir or LEAKMETER_DATA"
    lines = [*textwrap.wrap(dataset.instructions, 96), f"Put into {folder}:"]
    for file in dataset.variants[0].files.values():
        if file.optional:
            continue
        name = file.names[0]
        if not file.opaque and not name.endswith(".gz"):
            name += " (or .gz)"
        if file.archives:
            name += f" or {file.archives[0][0]}"
        lines.append(f"  {name}: {file.identity}")
    return "\n".join(lines)


def describe(
    name: str,
    resolution: Resolution | None = None,
    *,
    registry: Mapping[str, Dataset] | str | Path | None = None,
) -> list[dict[str, str]]:
    """Rows of the table "data and licences" for one data set.

    Parameters
    ----------
    name : a data set of the registry.
    resolution : what was used; None describes every variant that the registry knows.
    registry : another registry than the packaged one.

    Returns
    -------
    list of dict
        Columns ``name, title, variant, label, how, rows, bytes, licence, redistribution, source,
        checksums, note, replace``; all text. ``replace`` says how to replace a stand-in (or a
        related set) by the real one and is empty for the set itself.

    Raises
    ------
    UserError
        If no data set has that name.
    """
    dataset = get(name, registry)
    if resolution is None:
        return [_row(dataset, variant) for variant in dataset.variants]
    variants = {variant.name: variant for variant in dataset.variants}
    row = _row(dataset, variants.get(resolution.variant))
    row |= {
        "label": resolution.label,
        "how": resolution.how,
        "licence": resolution.licence,
        "source": resolution.source,
        "checksums": _pairs(resolution.checksums),
        "note": resolution.note,
        "replace": "" if resolution.label == dataset.label else how_to_get(dataset),
    }
    return [row]


def _row(dataset: Dataset, variant: Variant | None) -> dict[str, str]:
    row = {
        "name": dataset.name,
        "title": dataset.title,
        "licence": dataset.licence,
        "redistribution": "yes" if dataset.redistribution else "no",
        "how": "",
        "replace": "",
    }
    if variant is None:  # a stand-in: its size is the generator's affair
        return row | {"variant": "", "rows": "", "bytes": ""}
    sources = [source.place for file in variant.files.values() for source in file.sources]
    return row | {
        "variant": variant.name,
        "label": variant.label,
        "rows": ", ".join(f"{count:,} {part}" for part, count in variant.rows.items()),
        "bytes": f"{variant.bytes:,}" if variant.bytes else "",
        "source": ", ".join(dict.fromkeys(sources)) or "your folder only",
        "checksums": _pairs({key: file.identity for key, file in variant.files.items()}),
        "note": variant.note,
        "replace": "" if variant.label == dataset.label else how_to_get(dataset),
    }


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())
