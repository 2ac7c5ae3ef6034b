"""Tables of our own experiments: written once, shown in LaTeX and on the page.

Tables of the papers compare printed cells with ours and have layouts of their own; these have
nothing to compare with, so a title, a header, rows of text and notes are all they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leakmeter.reporting.latex import Table, escape
from leakmeter.runtime import UserError, read_json, write_json, write_text

_FIELDS = ("title", "head", "rows", "notes")


@dataclass(frozen=True)
class PlainTable:
    """A table of plain text.

    Attributes
    ----------
    title : what it shows, a sentence.
    head : names of the columns.
    rows : cells, one text per column; equal texts in a row's leading columns are shown once.
    notes : sentences under the table.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(f"{len(row)} cells in a table of {len(self.head)} columns: {row}")

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers (and perhaps empty cells or dashes) only."""
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.head)
        return [any(map(_number, column)) and all(map(_fits, column)) for column in columns]

    def latex(self, label: str) -> str:
        """The table as a LaTeX float."""
        align = "".join("r" if number else "l" for number in self.numeric)
        table = Table(align, caption=escape(self.title), label=label, size="scriptsize", gap=3)
        table.head(*map(escape, self.head))
        for row in self.shown():
            table.row(*map(escape, row))
        for note in self.notes:
            table.note(escape(note))
        return table.render()

    def shown(self) -> list[list[str]]:
        """The rows, a text that repeats the one above it in a leading column left out."""
        shown, previous = [], None
        for row in self.rows:
            same = 0
            while previous and same < len(row) - 1 and row[same] == previous[same]:
                same += 1
            shown.append(["" if i < same else text for i, text in enumerate(row)])
            previous = row
        return shown

    def write(self, tex: str | Path, json: str | Path) -> None:
        """Write the LaTeX and what the page reads; the file names the label."""
        chain, name = Path(tex).parent.parent.name, Path(tex).stem
        write_text(tex, self.latex(f"tab:{chain}-{name}"))
        write_json(json, {field: _plain(getattr(self, field)) for field in _FIELDS})


def read_plain_table(path: str | Path) -> PlainTable:
    """A table that :meth:`PlainTable.write` wrote; :class:`UserError` if it is not one."""
    content = read_json(path)
    if not isinstance(content, dict) or set(content) != set(_FIELDS):
        raise UserError(f"{path}: expected a table with {', '.join(_FIELDS)}")
    return PlainTable(**content)


def _plain(value: str | Sequence) -> str | list:
    return value if isinstance(value, str) else [_plain(part) for part in value]


def _number(text: str) -> bool:
    try:
        float(text.partition(" ")[0].replace("−", "-").replace(",", ""))
    except ValueError:
        return False
    return True


def _fits(text: str) -> bool:
    return text in ("", "–") or _number(text)
