"""The raw click log of a run: the user's file, a download, or a generated stand-in."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from leakmeter.datasets.resolve import resolve
from leakmeter.runtime import UserError, host_name, write_json

logger = logging.getLogger("leakmeter")

#: The set that takes any file of the user's own.
OWN_FILE = "criteo_file"


def provide(
    dataset: str,
    *,
    raw: str | Path,
    resolution: str | Path,
    file: str | None,
    mode: str,
    data_dirs: Sequence[str],
    cache_dir: str,
    timeout: float,
    rows: int,
    seed: int,
    threads: int,
) -> None:
    """Put the raw log at ``raw`` and what it is at ``resolution``.

    ``raw`` is a symbolic link to a file that is there, or the generated log itself.

    Parameters
    ----------
    dataset : ``criteo_kaggle``, ``criteo_terabyte_sample`` or ``criteo_file``.
    file : path of the user's own log, needed by ``criteo_file`` and by nothing else.
    mode, data_dirs, cache_dir, timeout : see :func:`leakmeter.datasets.resolve.resolve`.
    rows, seed, threads : of the stand-in, if it comes to that.

    Raises
    ------
    UserError
        a file that is missing or not wanted, and what ``resolve`` raises.
    """
    if (dataset == OWN_FILE) != bool(file):
        raise UserError(
            f"dpauc.criteo.file is {file!r} and dpauc.criteo.dataset {dataset!r}; "
            f"a path is given with dataset {OWN_FILE}, and only with it"
        )
    found = resolve(
        dataset,
        mode=mode,
        data_dirs=data_dirs,
        cache_dir=cache_dir,
        timeout=timeout,
        files={"clicks": file} if file else None,
    )
    raw = Path(raw)
    raw.parent.mkdir(parents=True, exist_ok=True)
    record = found.to_json()
    if found.files:
        _link(raw, found.files["clicks"])
    else:
        from leakmeter.datasets.standins.criteo import generate

        logger.info("generating %d rows of stand-in click logs", rows)
        summary = generate(raw, rows=rows, seed=seed, threads=threads)
        record["standin"] = {
            "rows": rows,
            "seed": seed,
            "positives": summary.positives,
            "text_sha256": summary.text_sha256,
            "settings": summary.settings,
        }
    write_json(resolution, record)


def _link(link: Path, target: Path) -> None:
    temporary = link.with_name(f".tmp-{host_name()}-{os.getpid()}-{link.name}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(Path(target).resolve())
    os.replace(temporary, link)
