"""The page of a run: one HTML file that opens offline and says what was replicated, and why to trust it.

Everything on it is read from the run's files. Timings and facts about the host stand in one marked
section; :func:`without_host` removes it, and what is left is the same bytes in every run of one
configuration.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from leakmeter.reporting import claims as claims_module
from leakmeter.reporting import measurements as measurements_module
from leakmeter.reporting.costs import benchmark_files, duration, rule_costs
from leakmeter.reporting.errata import KINDS
from leakmeter.reporting.plain_tables import read_plain_table
from leakmeter.reporting.present import (
    DATA_MEANING,
    EXTRA,
    MEANING,
    SEVERITY,
    Paper,
    Run,
    as_float,
    as_json_rows,
    brief,
    count_verdicts,
    families,
    item_target,
    like_printed,
    ordered_papers,
    p_text,
    read_papers,
    read_rows,
    spread_like,
)
from leakmeter.reporting.sets_used import described
from leakmeter.reporting.sidebyside import comparisons, is_spread, plain, shorten
from leakmeter.runtime import UserError, read_json, write_text

TEMPLATES = Path(__file__).with_name("templates")
HOST_BEGIN, HOST_END = "<!-- host: begin -->", "<!-- host: end -->"

#: Columns of the claims table on the page, in the order of its JSON.
CELL_COLUMNS = (
    *("paper", "place", "statement", "cell", "origin", "data", "metric"),
    *("published", "replicated", "n", "p", "verdict", "why", "test", "difference", "id", "target"),
)


def without_host(html: str) -> str:
    """The page without its marked section of timings and facts about the host."""
    return re.sub(f"{re.escape(HOST_BEGIN)}.*?{re.escape(HOST_END)}", "", html, flags=re.DOTALL)


def write_page(
    out: str | Path,
    *,
    claims: str | Path,
    errata: str | Path,
    measurements: Sequence[str | Path],
    provenance: str | Path,
    figures: Sequence[str | Path],
    tables: Sequence[str | Path],
    captions: str | Path,
    results: str | Path,
    own_tables: Sequence[str | Path] = (),
) -> None:
    """Write the page of a run.

    Parameters
    ----------
    out : the HTML file.
    claims, errata, provenance : files of the claims and provenance rules.
    measurements : measurement files of the chains.
    figures, tables : PNG and LaTeX files, ``results/<scale>/<chain>/figures/<name>.png`` and so on.
    captions : YAML, chain -> figure -> what it shows.
    results : the folder that holds the scales (for the benchmark files).
    own_tables : tables of our own experiments, ``<chain>/tables/<name>.json``.

    Raises
    ------
    UserError
        a file is missing or is not what it should be.
    """
    record = read_json(provenance)
    run = Run(record["config"]["scale"], record["configured"])
    rows = read_rows(claims, [c for c in claims_module.COLUMNS])
    made = [str(path) for path in (*figures, *tables)]
    datasets = described(record["data"])
    drawn = _figures(figures, read_captions(captions), run)
    context = {
        "scale": run.scale,
        "configured": run.configured,
        "level": record["config"]["claims"]["level"],
        **_claims(rows, run, made),
        "errata": _errata(read_rows(errata), run),
        "figures": [entry for entry in drawn if entry["paper"].id not in EXTRA],
        "extra": _extra([_own_table(path, run) for path in map(Path, own_tables)], drawn, run),
        "sources": _sources(measurements),
        "datasets": datasets,
        "standins": [row["title"] for row in datasets if row["label"] == "standin"],
        "config_yaml": yaml.safe_dump(record["config"], sort_keys=True),
        "packages": {"leakmeter": f"code {record['code']}"} | record["packages"],
        "seed": record["config"]["seed"],
        "dictionaries": _dictionaries(),
        "host": _host(record, results, run),
        "meaning": MEANING,
        "data_meaning": DATA_MEANING,
        "kinds": KINDS,
        "everything": run.command(""),
        "page_command": run.command(f"results/{run.scale}/report/index.html", "--force"),
    }
    write_text(out, render("page.html", context))


def render(template: str, context: Mapping[str, Any]) -> str:
    """A template of this package with the style and script of the page inlined."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"brief": brief, "duration": duration, "script_json": _script_json}
    inlined = {
        name: (TEMPLATES / file).read_text(encoding="utf-8")
        for name, file in (("style", "page.css"), ("script", "page.js"))
    }
    return environment.get_template(template).render(
        inlined=inlined, host_begin=HOST_BEGIN, host_end=HOST_END, **context
    )


def _script_json(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# --- claims -------------------------------------------------------------------------------------


def _claims(rows: list[dict[str, str]], run: Run, made: Sequence[str]) -> dict[str, Any]:
    papers = ordered_papers({row["paper"] for row in rows})
    found = families(rows)
    counts = count_verdicts(rows)
    targets = {(f.paper, f.item): item_target(run.scale, f.paper, f.item, made) for f in found}
    return {
        "papers": [_paper(paper, rows, run) for paper in papers],
        "totals": counts,
        "total": sum(counts.values()),
        "families": [
            {
                "family": family,
                "short": next(p.short for p in papers if p.id == family.paper),
                "rank": SEVERITY.index(family.verdict),
                "command": run.command(targets[family.paper, family.item], "--force"),
            }
            for family in found
        ],
        "failures": [f for f in found if f.counts.get("not reproduced")],
        "reasons": _reasons(rows, papers),
        "cells": as_json_rows([_cell(row, targets) for row in rows], CELL_COLUMNS),
        "choices": {
            "paper": [(p.id, p.short) for p in papers],
            "verdict": [(v, v) for v in SEVERITY if counts[v]],
            "data": [(d, d) for d in DATA_MEANING if any(row["data"] == d for row in rows)],
        },
        "items": _items(rows, papers, run, made),
    }


def _paper(paper: Paper, rows: Sequence[Mapping[str, str]], run: Run) -> dict[str, Any]:
    own = [row for row in rows if row["paper"] == paper.id]
    counts = count_verdicts(own)
    return {
        "paper": paper,
        "counts": counts,
        "cells": sum(counts.values()),
        "families": len({row["id"] for row in own}),
        "command": run.command(paper.id),
    }


def _cell(row: Mapping[str, str], targets: Mapping[tuple[str, str], str]) -> dict[str, str]:
    published = shorten(row["published"])
    if row["published_std"] and not is_spread(row["metric"]):
        published += f" ± {plain(row['published_std'])}"
    ours = ""
    if row["replicated"]:
        shown = row["published"] and shorten(row["published"])
        ours = like_printed(row["replicated"], shown) if shown else brief(row["replicated"])
        if as_float(row["std"]):
            ours += f" ± {spread_like(row['std'], shown) if shown else brief(row['std'], 2)}"
    p = as_float(row["p_adjusted"])
    return {
        **{k: row[k] for k in ("paper", "place", "statement", "origin", "data", "metric")},
        **{k: row[k] for k in ("verdict", "why", "test", "id")},
        "cell": row["cell"].replace(";", ", "),
        "published": published,
        "replicated": ours,
        "n": brief(row["n"]),
        "p": p_text(p),
        "difference": brief(row["difference"], 3),
        "target": targets[row["paper"], row["item"]],
    }


def _reasons(
    rows: Sequence[Mapping[str, str]], papers: Sequence[Paper]
) -> list[tuple[str, str, int]]:
    """Why cells were not run, grouped: paper, reason, number of cells."""
    counts = Counter((row["paper"], row["why"]) for row in rows if row["verdict"] == "not run")
    short = {paper.id: paper.short for paper in papers}
    order = list(short)
    ranked = sorted(counts.items(), key=lambda e: (order.index(e[0][0]), -e[1], e[0][1]))
    return [(short[paper], why, count) for (paper, why), count in ranked]


def _items(
    rows: Sequence[Mapping[str, str]],
    papers: Sequence[Paper],
    run: Run,
    made: Sequence[str],
) -> list[dict[str, Any]]:
    """Comparisons by paper and item, in the order of the papers."""
    grouped: dict[tuple[str, str], list[Any]] = {}
    for comparison in comparisons(rows):
        grouped.setdefault((comparison.paper, comparison.item), []).append(comparison)
    order = {paper.id: (i, paper.short) for i, paper in enumerate(papers)}
    items = []
    for (paper, item), parts in sorted(grouped.items(), key=lambda e: order[e[0][0]][0]):
        own = [r for r in rows if (r["paper"], r["item"]) == (paper, item) and r["published"]]
        items.append(
            {
                "paper": paper,
                "short": order[paper][1],
                "item": item,
                "place": parts[0].place,
                "comparisons": parts,
                "counts": {v: n for v, n in count_verdicts(own).items() if n},
                "command": run.command(item_target(run.scale, paper, item, made), "--force"),
            }
        )
    return items


# --- errata, figures, data ----------------------------------------------------------------------


def _errata(rows: Sequence[Mapping[str, str]], run: Run) -> list[dict[str, Any]]:
    papers = ordered_papers({row["paper"] for row in rows})
    return [
        {
            **row,
            "short": paper.short,
            "value": brief(row["value"], 4),
            "state": _state(row),
            "command": run.command(
                f"results/{run.scale}/{row['paper']}/measurements.csv", "--forceall"
            ),
        }
        for paper in papers
        for row in rows
        if row["paper"] == paper.id
    ]


def _state(row: Mapping[str, str]) -> str:
    """Whether an erratum holds in this run; ``assumed`` where nothing could refute it."""
    if not row["evidence"]:
        return "assumed"
    return {"True": "holds", "False": "refuted"}.get(row["holds"], "not measured here")


def read_captions(path: str | Path) -> dict[str, dict[str, str]]:
    """What figures show: chain -> figure -> caption; :class:`UserError` if it is not that."""
    content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise UserError(f"{path}: expected chain -> figure -> caption")
    return content


def _figures(
    paths: Sequence[str | Path], captions: Mapping[str, Mapping[str, str]], run: Run
) -> list[dict[str, Any]]:
    by_paper: dict[str, list[Path]] = {}
    for path in map(Path, paths):
        by_paper.setdefault(path.parent.parent.name, []).append(path)
    return [
        {"paper": paper, "figures": [_figure(path, captions, run) for path in by_paper[paper.id]]}
        for paper in ordered_papers(by_paper)
    ]


def _figure(path: Path, captions: Mapping[str, Mapping[str, str]], run: Run) -> dict[str, Any]:
    chain, name = path.parent.parent.name, path.stem
    content = path.read_bytes()
    if content[:8] != b"\x89PNG\r\n\x1a\n":
        raise UserError(f"{path}: not a PNG file")
    width, height = struct.unpack(">II", content[16:24])
    return {
        "id": f"{chain}-{name}",
        "title": _title(name),
        "caption": captions.get(chain, {}).get(name, ""),
        "width": width,
        "height": height,
        "source": f"data:image/png;base64,{base64.b64encode(content).decode()}",
        "command": run.command(f"results/{run.scale}/{chain}/figures/{name}.pdf", "--force"),
    }


def _extra(
    tables: Sequence[dict[str, Any]], drawn: Sequence[dict[str, Any]], run: Run
) -> list[dict[str, Any]]:
    """The sections that belong to no paper and have something to show."""
    sections = [
        {
            "paper": paper,
            "tables": [table for table in tables if table["chain"] == name],
            "figures": [f for e in drawn if e["paper"].id == name for f in e["figures"]],
            "command": run.command(name),
        }
        for name, paper in EXTRA.items()
    ]
    return [section for section in sections if section["tables"] or section["figures"]]


def _own_table(path: Path, run: Run) -> dict[str, Any]:
    table = read_plain_table(path)
    target = f"results/{run.scale}/{path.parent.parent.name}/tables/{path.stem}.tex"
    return {
        "id": f"{path.parent.parent.name}-{path.stem}",
        "chain": path.parent.parent.name,
        "table": table,
        "columns": list(zip(table.head, table.numeric, strict=True)),
        "rows": table.shown(),
        "command": run.command(target, "--force"),
    }


def _title(name: str) -> str:
    if match := re.fullmatch(r"figure(\d+)", name):
        return f"Figure {match[1]} of the paper"
    if name in (papers := read_papers()):
        return papers[name].short
    return name.upper() if len(name) <= 3 else name.replace("_", " ").capitalize()


def _sources(measurements: Sequence[str | Path]) -> list[dict[str, Any]]:
    """Where measured numbers came from: paper, origin, label, evaluated records, rows."""
    frame = measurements_module.read_measurements(measurements)
    papers = ordered_papers(frame["paper"].unique())
    found = []
    for paper in papers:
        own = frame[frame["paper"] == paper.id]
        for (origin, data), part in own.groupby(["origin", "data"], sort=True):
            records = sorted({int(m) for m in part["m"] if not pd.isna(m)})
            shown = f"{records[0]:,}" if records else "–"
            if len(records) > 1:
                shown += f" to {records[-1]:,}"
            found.append(
                {
                    "short": paper.short,
                    "origin": origin,
                    "data": data,
                    "records": shown,
                    "rows": len(part),
                }
            )
    return found


# --- dictionaries and the host ------------------------------------------------------------------


def _dictionaries() -> list[dict[str, Any]]:
    measured = {k: meaning for k, (_, meaning) in measurements_module.COLUMNS.items()}
    return [
        {"file": "claims.csv", "columns": claims_module.COLUMNS},
        {"file": "<chain>/measurements.csv", "columns": measured},
    ]


def _host(record: Mapping[str, Any], results: str | Path, run: Run) -> dict[str, Any]:
    costs = rule_costs(benchmark_files(results, run.scale))
    return {
        "facts": {
            "processor": record["cpu"],
            "platform": record["platform"],
            "Python": record["python"],
            "threads of a job": record["threads"],
        },
        "costs": costs,
        "jobs": sum(cost.jobs for cost in costs),
        "cpu": sum(cost.cpu_seconds for cost in costs),
        "rss": max((cost.max_rss_mb for cost in costs), default=0.0),
    }


def digest(html: str) -> str:
    """SHA-256 of the page without its host section: equal in two runs of one configuration."""
    return hashlib.sha256(without_host(html).encode()).hexdigest()
