"""The files of a report in one folder: numbers, table in LaTeX, figure."""

from __future__ import annotations

from pathlib import Path

from leakmeter.own.drawings import draw
from leakmeter.own.plain import plain_table
from leakmeter.own.reports import Report
from leakmeter.reporting.figures import save
from leakmeter.runtime import UserError, write_text


def write_folder(report: Report, folder: str | Path) -> None:
    """Write ``summary.json, table.csv, records.csv, table.tex, figure.pdf, figure.png``.

    The figure and the table are made before the first file is written; each file is replaced at
    once. There is no ``records.csv`` for a report without records.

    Raises
    ------
    UserError : the folder cannot be written to.
    """
    folder = Path(folder).expanduser()
    figure, tex = draw(report), plain_table(report).latex(f"tab:own-{report.kind}")
    try:
        report.write(folder / "summary.json", folder / "table.csv", folder / "records.csv")
        write_text(folder / "table.tex", tex)
        save(figure, folder / "figure.pdf", folder / "figure.png")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written to ({error.strerror})") from None
