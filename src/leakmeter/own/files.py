"""The files of a report in one folder: numbers, table in LaTeX, figure."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from leakmeter.own.drawings import draw
from leakmeter.own.plain import plain_table
from leakmeter.own.reports import KINDS, Report
from leakmeter.reporting.figures import rendered
from leakmeter.runtime import UserError, atomic_path

#: Names of the files in the folder of a report; there are no records in some.
NAMES = ("summary.json", "table.csv", "records.csv", "table.tex", "figure.pdf", "figure.png")


def write_folder(report: Report, folder: str | Path) -> None:
    """Write the files :data:`NAMES`.

    All of them are made, the figure included, before the first one is written, and put in place
    together. A report without records has no ``records.csv``; one that an earlier report left in
    the folder is removed.

    Raises
    ------
    UserError : the folder cannot be written to.
    """
    folder = Path(folder).expanduser()
    summary, table, records = report.texts()
    tex = plain_table(report).latex(f"tab:own-{report.kind}")
    texts = [text and text.encode() for text in (summary, table, records, tex)]
    contents = dict(zip(NAMES, (*texts, *rendered(draw(report))), strict=True))
    try:
        stale = _is_of_a_report(folder)
        with contextlib.ExitStack() as stack:
            for name, content in contents.items():
                if content is not None:
                    stack.enter_context(atomic_path(folder / name)).write_bytes(content)
        if contents["records.csv"] is None and stale:
            (folder / "records.csv").unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written to ({error.strerror})") from None


def _is_of_a_report(folder: Path) -> bool:
    """Whether a report was written here: only then is its ``records.csv`` ours to remove."""
    try:
        content = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") in KINDS


def check_folder(folder: str | Path, inputs: Sequence[str | Path | None]) -> None:
    """:class:`UserError` when a report in ``folder`` would replace one of its own input files."""
    folder = Path(folder).expanduser()
    for path in inputs:
        if path is None:
            continue
        given = Path(path).expanduser()
        for name in NAMES:
            if (folder / name).resolve() == given.resolve():
                raise UserError(
                    f"{path}: would be replaced by the {name} of the results; "
                    f"expected another folder than {folder}"
                )
