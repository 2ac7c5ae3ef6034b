"""What the README shows: verdicts of the last laptop run, some of its rows, the graph of rules.

``take`` keeps the numbers of a run in ``docs/``, with where they came from; ``readme`` writes the
marked blocks of README.md from these files and from the workflow's own graph. Tests hold README,
files and claims together.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from leakmeter.reporting.claims import COLUMNS, VERDICTS
from leakmeter.reporting.measurements import write_frame
from leakmeter.reporting.plan import chain_of
from leakmeter.reporting.present import (
    MEANING,
    as_float,
    families,
    like_printed,
    ordered_papers,
    read_rows,
    shorten_place,
    spread_like,
)
from leakmeter.runtime import UserError, read_json, sha256_file, write_json, write_text

SUMMARY = "docs/replication_summary.csv"
HIGHLIGHTS = "docs/replication_highlights.csv"
SOURCE = "docs/replication_source.json"
CHOSEN = "docs/highlights.yaml"


# --- keeping a run ------------------------------------------------------------------------------


def take(results: str | Path, repository: str | Path) -> None:
    """Keep the claims of a finished run, by family, in ``docs/``.

    Parameters
    ----------
    results : ``results/<scale>``.
    repository : root of the checkout.

    Raises
    ------
    UserError
        the folder is no finished run, or a chosen row is not in it.
    """
    folder, root = Path(results), Path(repository)
    claims = folder / "claims.csv"
    rows = read_rows(claims, list(COLUMNS))
    record = read_json(folder / "provenance" / "provenance.json")
    kept = [
        {
            "paper": family.paper,
            "id": family.id,
            "place": family.place,
            "statement": family.statement,
            "data": ", ".join(family.data),
            "cells": family.cells,
            **{verdict: family.counts.get(verdict, 0) for verdict in VERDICTS},
        }
        for family in families(rows)
    ]
    chosen = yaml.safe_load((root / CHOSEN).read_text(encoding="utf-8"))["rows"]
    write_frame(root / SUMMARY, pd.DataFrame(kept))
    write_frame(root / HIGHLIGHTS, pd.DataFrame([_chosen(rows, entry) for entry in chosen]))
    write_json(
        root / SOURCE,
        {
            "scale": record["config"]["scale"],
            "seed": record["config"]["seed"],
            "claims_sha256": sha256_file(claims),
            "cpu": record["cpu"],
            "python": record["python"],
            "packages": record["packages"],
            "data": sorted({row["data"] for row in rows if row["data"]}),
        },
    )


def _chosen(rows: Sequence[Mapping[str, str]], entry: Mapping[str, str]) -> dict[str, str]:
    found = [row for row in rows if row["id"] == entry["id"] and row["cell"] == entry["cell"]]
    if len(found) != 1:
        raise UserError(
            f"{CHOSEN}: {entry['id']}[{entry['cell']}] matches {len(found)} rows of claims.csv, expected 1"
        )
    columns = ("paper", "id", "place", "cell", "origin", "data", "published", "published_std")
    more = ("replicated", "std", "p_adjusted", "verdict")
    return {column: found[0][column] for column in (*columns, *more)}


# --- Markdown -----------------------------------------------------------------------------------


def verdict_markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Cells by paper and verdict, from the kept summary."""
    papers = ordered_papers({row["paper"] for row in rows})
    used = [v for v in VERDICTS if any(int(row[v]) for row in rows)]
    lines = [
        "| paper | claims | cells | " + " | ".join(f"{MEANING[v][0]} {v}" for v in used) + " |",
        "| --- | ---: | ---: | " + " | ".join("---:" for _ in used) + " |",
    ]
    for paper in papers:
        own = [row for row in rows if row["paper"] == paper.id]
        counts = [sum(int(row[v]) for row in own) for v in used]
        cells = sum(int(row["cells"]) for row in own)
        shown = " | ".join(f"{n:,}" for n in counts)
        lines.append(f"| {paper.short} | {len(own)} | {cells:,} | {shown} |")
    return "\n".join(lines)


def highlight_markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Chosen rows of claims.csv, published beside replicated."""
    short = {paper.id: paper.short for paper in ordered_papers({row["paper"] for row in rows})}
    lines = [
        "| paper | where | cell | our data | published | replicated | p (adjusted) | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        published = row["published"]
        ours = like_printed(row["replicated"], published)
        if row["published_std"]:
            published += f" ± {spread_like(row['published_std'], published)}"
        if as_float(row["std"]):
            ours += f" ± {spread_like(row['std'], row['published'])}"
        p = as_float(row["p_adjusted"])
        cells = (
            short[row["paper"]],
            shorten_place(row["place"]),
            row["cell"].replace(";", ", "),
            f"{row['origin']} ({row['data']})",
            published,
            ours,
            "" if p is None else f"{p:.2g}",
            row["verdict"],
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def source_markdown(source: Mapping[str, Any]) -> str:
    """One sentence on the run behind the numbers."""
    return (
        f"From a run of scale `{source['scale']}` with root seed {source['seed']} on {source['cpu']} "
        f"(Python {source['python']}), data labelled {', '.join(source['data'])}; "
        f"`claims.csv` has SHA-256 `{source['claims_sha256'][:16]}...`."
    )


# --- the graph of rules -------------------------------------------------------------------------


def parse_dot(text: str) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """Nodes (id -> label) and edges of the graph that ``snakemake --rulegraph`` prints."""
    nodes = dict(re.findall(r'^\s*(\d+)\[label = "([^"\\]+)', text, re.MULTILINE))
    edges = set(re.findall(r"^\s*(\d+) -> (\d+)", text, re.MULTILINE))
    if not nodes:
        raise UserError(f"the rule graph has no rules: {text[-300:].strip()}")
    return nodes, edges


def reduced(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Edges without those that a longer path implies (the graph has no cycles).

    >>> sorted(reduced({("a", "b"), ("b", "c"), ("a", "c")}))
    [('a', 'b'), ('b', 'c')]
    """
    after: dict[str, set[str]] = {}
    for start, end in edges:
        after.setdefault(start, set()).add(end)

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        pending = list(after.get(start, ()))
        while pending:
            node = pending.pop()
            if node not in seen:
                seen.add(node)
                pending.extend(after.get(node, ()))
        return seen

    return {
        (start, end)
        for start, end in edges
        if not any(end in reach(other) for other in after[start] - {end})
    }


def rulegraph_markdown(dot: str) -> str:
    """A Mermaid flowchart of the rules, one box per chain; target rules are left out."""
    nodes, edges = parse_dot(dot)
    kept = {key: name for key, name in nodes.items() if name not in (*_TARGETS, _PDF)}
    links = {(kept[a], kept[b]) for a, b in edges if a in kept and b in kept}
    # the PDF is left out of the workflow where LaTeX is missing; the drawing must not depend on that
    kept["pdf"] = _PDF
    links.add(("replication_tex", _PDF))
    chains: dict[str, list[str]] = {}
    for name in sorted(kept.values()):
        chains.setdefault(chain_of(name), []).append(name)
    lines = ["```mermaid", "flowchart LR"]
    for chain, names in sorted(chains.items()):
        lines += [f"  subgraph {chain}", *(f"    {name}" for name in names), "  end"]
    lines += [f"  {a} --> {b}" for a, b in sorted(reduced(links))]
    return "\n".join([*lines, "```"])


#: Rules that only name files.
_PDF = "replication_pdf"
_TARGETS = ("default", "all", "report", "tables", "figures")
_TARGETS += ("dpauc", "audit", "shapr", "labelings", "beyond")


def rulegraph(repository: str | Path) -> str:
    """The graph of rules of the smoke scale in the dot language."""
    root = Path(repository).resolve()
    with tempfile.TemporaryDirectory(prefix="leakmeter-graph-") as folder:
        command = [sys.executable, "-m", "snakemake", "--rulegraph", "-s", str(root / "Snakefile")]
        command += ["--directory", folder, "--configfile", str(root / "config/smoke.yaml")]
        process = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if process.returncode:
        raise UserError(f"the rule graph cannot be made: {process.stderr[-1000:].strip()}")
    return process.stdout


# --- README -------------------------------------------------------------------------------------


def blocks(repository: str | Path, *, graph: bool = True) -> dict[str, str]:
    """Name of a marked block of README.md -> its Markdown."""
    root = Path(repository)
    found = {
        "verdicts": verdict_markdown(read_rows(root / SUMMARY)),
        "rows": highlight_markdown(read_rows(root / HIGHLIGHTS)),
        "source": source_markdown(read_json(root / SOURCE)),
    }
    if graph:
        found["rules"] = rulegraph_markdown(rulegraph(root))
    return found


def with_blocks(text: str, made: Mapping[str, str]) -> str:
    """The text with what stands between ``<!-- name: begin -->`` and ``<!-- name: end -->`` replaced.

    Raises
    ------
    UserError
        a block is not marked in the text.
    """
    for name, block in made.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, first, rest = text.partition(begin)
        _, second, after = rest.partition(end)
        if not first or not second:
            raise UserError(f"README.md: expected a block between {begin} and {end}")
        text = f"{before}{begin}\n{block}\n{end}{after}"
    return text


def write_readme(repository: str | Path) -> None:
    """Write the marked blocks of README.md anew."""
    path = Path(repository) / "README.md"
    write_text(path, with_blocks(path.read_text(encoding="utf-8"), blocks(repository)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: ``take RESULTS`` keeps a run's numbers, ``readme`` writes README.md's blocks."""
    parser = argparse.ArgumentParser(prog="python -m leakmeter.reporting.summary")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("take", help="keep the claims of a run in docs/").add_argument("results")
    commands.add_parser("readme", help="write the marked blocks of README.md")
    given = parser.parse_args(arguments)
    try:
        if given.command == "take":
            take(given.results, Path.cwd())
        write_readme(Path.cwd())
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
