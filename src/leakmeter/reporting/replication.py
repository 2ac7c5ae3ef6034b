"""The document of a run: claims, tables in the papers' layout and figures, as LaTeX.

Prose stands in ``templates/replication.tex`` and holds no number: every number is a macro of
:func:`macros`, a table written by a rule, or a figure. A test looks for digits in the template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leakmeter.reporting.claims import COLUMNS
from leakmeter.reporting.latex import MARKS, Table, document, escape, integer, scientific, short
from leakmeter.reporting.page import read_captions
from leakmeter.reporting.present import (
    MEANING,
    OWN,
    SMALLEST_P,
    Family,
    count_verdicts,
    families,
    ordered_papers,
    read_rows,
)
from leakmeter.runtime import read_json, write_text

TEMPLATE = Path(__file__).with_name("templates") / "replication.tex"
#: Lines of a table of claims that fit a page.
_LINES = 26
#: LaTeX holds back a limited number of floats.
_FLOATS = 12
_OURS = (
    "These experiments are ours and not the papers'. No published number stands beside them, and "
    "they count in no verdict."
)
# names of included files would tell folders of the host
PREFACE = r"""\ifdefined\pdfsuppressptexinfo\pdfsuppressptexinfo=-1\fi
\newsavebox{\leakbox}
\newcommand{\leakfit}[1]{\sbox{\leakbox}{#1}%
\ifdim\wd\leakbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\leakbox}}\else\usebox{\leakbox}\fi}"""


def macros(rows: Sequence[Mapping[str, str]], config: Mapping[str, Any]) -> dict[str, str]:
    """Macro name -> LaTeX text of every number (and name) that the prose of the document uses."""
    counts = count_verdicts(rows)
    named = {
        "Scale": escape(config["scale"]),
        "Seed": integer(config["seed"]),
        "Level": short(config["claims"]["level"]),
        "Papers": integer(len({row["paper"] for row in rows})),
        "Claims": integer(len({row["id"] for row in rows})),
        "Cells": integer(sum(counts.values())),
    }
    for verdict, count in counts.items():
        named["Cells" + "".join(word.capitalize() for word in verdict.split())] = integer(count)
    return {f"leak{name}": text for name, text in named.items()}


def definitions(named: Mapping[str, str]) -> str:
    r"""``\newcommand`` lines."""
    return "\n".join(rf"\newcommand{{\{name}}}{{{text}}}" for name, text in named.items())


def verdict_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Cells by paper and verdict."""
    table = Table(
        "l" + "r" * len(MEANING),
        caption="Cells by paper and verdict, with the marks that the tables use.",
        label="tab:verdicts",
        wide=False,
        gap=3,
    )
    table.head("", *(escape(verdict) for verdict in MEANING))
    table.head("", *(rf"$\mathbf{{{MARKS[verdict]}}}$" for verdict in MEANING))
    for paper in ordered_papers({row["paper"] for row in rows}):
        counts = count_verdicts([row for row in rows if row["paper"] == paper.id])
        table.row(escape(paper.short), *(integer(counts[verdict]) for verdict in MEANING))
    return table.render()


def claims_tables(rows: Sequence[Mapping[str, str]]) -> str:
    """One line per claim, in tables of a page each."""
    found, parts = families(rows), []
    for paper in ordered_papers({family.paper for family in found}):
        own = [family for family in found if family.paper == paper.id]
        for start in range(0, len(own), _LINES):
            more = ", continued" if start else ""
            label = f"tab:claims-{paper.id}-{start // _LINES}"
            parts.append(
                _claims_page(own[start : start + _LINES], f"Claims of {paper.short}{more}.", label)
            )
    return "\n".join(parts)


def _claims_page(part: Sequence[Family], caption: str, label: str) -> str:
    table = Table("lllrrl", caption=escape(caption), label=label, size="scriptsize", gap=3)
    table.head("where", "claim", "data", "cells", "smallest $p$", "verdicts")
    for family in part:
        verdicts = ", ".join(
            rf"${MARKS[verdict]}$\,{integer(family.counts[verdict])}"
            for verdict in MEANING
            if verdict in family.counts
        )
        origins = ", ".join(family.origins)
        data = f" ({', '.join(family.data)})" if family.data else ""
        table.row(
            _block(family.place, 30),
            _block(family.statement, 62),
            _block(origins + data, 24),
            integer(family.cells),
            _p_value(family.smallest_p),
            verdicts,
        )
    return table.render()


def _p_value(p: float | None) -> str:
    return "$<10^{-300}$" if p is not None and p < SMALLEST_P else scientific(p, 2)


def _block(text: str, millimetres: int) -> str:
    """Text that breaks lines inside a cell."""
    return (
        rf"\begin{{minipage}}[t]{{{millimetres}mm}}\raggedright\strut {escape(text)}\strut\end{{minipage}}"
        if text
        else ""
    )


def fitted(fragment: str) -> str:
    """A table whose tabular is scaled down where it is wider than the page, and left alone else."""
    opened = fragment.replace(r"\begin{tabular}", r"\leakfit{\begin{tabular}")
    return opened.replace(r"\end{tabular}", r"\end{tabular}}")


def figure_float(path: str, caption: str, label: str) -> str:
    """A figure at its own size; ``path`` is relative to the document."""
    return "\n".join(
        [
            r"\begin{figure}[!htbp]",
            r"\centering",
            rf"\includegraphics{{{path}}}",
            rf"\caption{{{escape(caption)}}}\label{{{label}}}",
            r"\end{figure}",
        ]
    )


def write_replication(
    tex_out: str | Path,
    claims_out: str | Path,
    *,
    claims: str | Path,
    provenance: str | Path,
    tables: Sequence[str | Path],
    figures: Sequence[str | Path],
    captions: str | Path,
) -> None:
    """Write the document and, by itself, its tables of claims.

    Parameters
    ----------
    tex_out : the document, in the folder of the scale; figures are named relative to it.
    claims_out : the tables of claims alone.
    claims, provenance : files of the claims and provenance rules.
    tables : LaTeX files, ``<chain>/tables/<name>.tex``.
    figures : PDF files, ``<chain>/figures/<name>.pdf``.
    captions : YAML, chain -> figure -> what it shows.
    """
    rows = read_rows(claims, list(COLUMNS))
    config = read_json(provenance)["config"]
    claims_text = claims_tables(rows)
    known = read_captions(captions)
    fragments = [
        PREFACE,
        definitions(macros(rows, config)),
        TEMPLATE.read_text(encoding="utf-8"),
        verdict_table(rows),
        r"\clearpage",
        fitted(claims_text),
    ]
    chains = {Path(path).parent.parent.name for path in (*tables, *figures)}
    for paper in ordered_papers(chains):
        floats = [
            fitted(Path(path).read_text(encoding="utf-8"))
            for path in tables
            if Path(path).parent.parent.name == paper.id
        ]
        for path in map(Path, figures):
            if path.parent.parent.name != paper.id:
                continue
            caption = known.get(paper.id, {}).get(path.stem, path.stem.replace("_", " "))
            relative = path.relative_to(Path(tex_out).parent).as_posix()
            floats.append(figure_float(relative, caption, f"fig:{paper.id}-{path.stem}"))
        fragments += [r"\clearpage", _heading(paper)]
        for start in range(0, len(floats), _FLOATS):
            fragments += [*floats[start : start + _FLOATS], r"\clearpage"]
    write_text(claims_out, claims_text)
    write_text(tex_out, document(fragments, title=f"Replication, scale {config['scale']}"))


def _heading(paper) -> str:
    lines = rf"\section*{{{escape(paper.short)}}}"
    if paper is OWN:
        return f"{lines}\n{escape(_OURS)}\n"
    if not paper.url:
        return lines
    cited = f"{paper.title}. {paper.authors}. {paper.venue}."
    return f"{lines}\n{escape(cited)}\n"
