"""RO-Crate of a finished run: ``ro-crate-metadata.json`` beside the results (RO-Crate 1.1, Process Run).

The crate says which files came out, what made them from which configuration, and under which
licences; it holds dates, so it is outside the guarantee of identical bytes.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import leakmeter
from leakmeter.datasets.resolve import Resolution
from leakmeter.reporting.present import ordered_papers
from leakmeter.reporting.sets_used import resolutions
from leakmeter.runtime import UserError, read_json, sha256_file, write_json

_FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".tex": "application/x-tex",
}
_LICENSE = "https://spdx.org/licenses/MIT"


def write_crate(out: str | Path, *, files: Sequence[str | Path], provenance: str | Path) -> None:
    """Write the metadata of a run.

    Parameters
    ----------
    out : ``ro-crate-metadata.json`` in the root folder of the crate.
    files : results, all below that folder.
    provenance : the run's provenance record.

    Raises
    ------
    UserError
        a file outside the folder of the crate.
    """
    root = Path(out).parent
    record = read_json(provenance)
    listed = sorted({Path(path) for path in (*files, provenance)})
    entities = [_file(path, root) for path in listed]
    newest = max(path.stat().st_mtime for path in listed)
    graph = [
        {
            "@id": Path(out).name,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        _root(record, entities, newest),
        {"@id": "https://w3id.org/ro/wfrun/process/0.1", "@type": "CreativeWork", "version": "0.1"},
        {"@id": _LICENSE, "@type": "CreativeWork", "name": "MIT licence"},
        *_instrument(record),
        _action(record, entities, newest),
        *_papers(listed, root),
        *_datasets(record["data"]),
        *entities,
    ]
    write_json(out, {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph})


def _time(stamp: float) -> str:
    return datetime.datetime.fromtimestamp(stamp, datetime.UTC).isoformat(timespec="seconds")


def _file(path: Path, root: Path) -> dict[str, Any]:
    try:
        name = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError as error:
        raise UserError(
            f"{path}: expected a result below {root}, the folder of the crate"
        ) from error
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "encodingFormat": _FORMATS.get(path.suffix, "application/octet-stream"),
        "contentSize": str(path.stat().st_size),
        "sha256": sha256_file(path),
    }


def _root(record: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], newest: float) -> dict:
    scale = record["config"]["scale"]
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"leakmeter results, scale {scale}",
        "description": "Published and replicated numbers of papers on what models and their "
        "metrics leak, with verdicts, tables, figures and provenance.",
        "datePublished": _time(newest)[:10],
        "license": {"@id": _LICENSE},
        "conformsTo": {"@id": "https://w3id.org/ro/wfrun/process/0.1"},
        "hasPart": [{"@id": entity["@id"]} for entity in entities],
        "mentions": [{"@id": "#run"}],
    }


def _instrument(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    packages = record["packages"]
    return [
        {
            "@id": "#leakmeter",
            "@type": "SoftwareApplication",
            "name": "leakmeter",
            "softwareVersion": f"{leakmeter.__version__} (code {record['code']})",
            "softwareRequirements": ", ".join(f"{k} {v}" for k, v in sorted(packages.items())),
            "license": {"@id": _LICENSE},
        },
    ]


def _action(
    record: Mapping[str, Any], entities: Sequence[Mapping[str, Any]], newest: float
) -> dict:
    config = record["config"]
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of scale {config['scale']} with root seed {config['seed']}",
        "instrument": {"@id": "#leakmeter"},
        "endTime": _time(newest),
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "object": [{"@id": _set_id(found)} for found, _ in resolutions(record["data"])],
        "result": [{"@id": entity["@id"]} for entity in entities],
    }


def _set_id(found: Resolution) -> str:
    return f"#data-{found.name}-{found.label}"


def _datasets(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "@id": _set_id(found),
            "@type": "Dataset",
            "name": found.name,
            "description": f"{found.label}: {found.note or found.source}",
            "license": found.licence or "not stated",
        }
        for found, _ in resolutions(data)
    ]


def _papers(files: Sequence[Path], root: Path) -> list[dict[str, Any]]:
    chains = {path.resolve().relative_to(root.resolve()).parts[0] for path in files}
    return [
        {
            "@id": paper.url,
            "@type": "ScholarlyArticle",
            "name": paper.title,
            "author": paper.authors,
            "publisher": paper.venue,
        }
        for paper in ordered_papers(chains)
        if paper.url
    ]
