"""Files of a small finished run, made by the library: what the page, the PDF and the crate read."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from leakmeter.reporting import figures
from leakmeter.reporting.claims import COLUMNS
from leakmeter.reporting.errata import COLUMNS as ERRATA_COLUMNS
from leakmeter.reporting.latex import Table
from leakmeter.reporting.measurements import write_measurements

CLAIM = dict.fromkeys(COLUMNS, "") | {"scale": "laptop", "origin": "authors", "data": "authors"}


def claim(cell, published, replicated, verdict, **more):
    """A row of claims.csv for Table 1 of a paper, changed as told."""
    return (
        CLAIM
        | {
            "id": "dpauc_table1_mean",
            "paper": "dpauc",
            "item": "table1",
            "place": "Table 1 (means)",
            "statement": "mean AUC",
            "cell": cell,
            "metric": "auc",
            "published": published,
            "published_std": "4e-05",
            "published_n": "20.0",
            "replicated": replicated,
            "std": "0.0000511" if replicated else "",
            "n": "100.0" if replicated else "",
            "test": "mean",
            "difference": "0.0001" if replicated else "",
            "p": "0.5" if replicated else "",
            "p_adjusted": "0.5" if replicated else "",
            "verdict": verdict,
            "why": "0.38 standard errors",
        }
        | more
    )


def claims() -> list[dict[str, str]]:
    """Every verdict, a grid, a list, text, a statement, a summarised row, two origins."""
    bare = {"published_std": "", "published_n": "", "std": "", "p": "", "p_adjusted": ""}
    grid = [
        claim(f"epoch={e};epsilon={eps}", f"0.74{e}{eps}00", f"0.74{e}{eps}0123", "reproduced")
        for e in (0, 1)
        for eps in (8, 4, 1)
    ]
    other = {"id": "dpauc_table1_bias", "origin": "wide_deep", "data": "standin", "test": "bias"}
    grid += [
        claim(f"epoch=0;epsilon={eps}", f"0.740{eps}00", "0.7512345", "consistent", **other)
        for eps in (8, 4)
    ]
    grid.append(
        claim(
            "epoch=0;epsilon=1",
            "0.740100",
            "",
            "not run",
            **other | {"data": "", "why": "needs more records"},
        )
    )
    grid.append(
        claim(
            "epoch=0;epsilon=1",
            "0.740100",
            "0.9",
            "not reproduced",
            id="dpauc_table1_spread",
            test="spread",
            p_adjusted="1e-9",
            why="<b>9</b> standard errors & more",
        )
    )
    facts = [
        claim(
            "k=1",
            "8.52e-6",
            "0.00000696",
            "erratum",
            id="dpauc_facts",
            item="facts",
            place="Section 5",
            statement="features",
            erratum="slip",
            **bare,
        ),
        claim(
            "k=2",
            "27",
            "26.0",
            "calibrated",
            id="dpauc_facts",
            item="facts",
            place="Section 5",
            statement="features",
            **bare,
        ),
        claim(
            "k=3",
            "1",
            "1.0",
            "uninformative",
            id="dpauc_facts",
            item="facts",
            place="Section 5",
            statement="features",
            **bare,
        ),
    ]
    labelings = {"paper": "labelings", "origin": "exact", "data": "exact", **bare}
    return [
        *grid,
        *facts,
        claim(
            "records=8",
            "0, 0, 1, 1",
            "0, 0, 1, 1",
            "reproduced",
            id="labelings_puzzle",
            item="puzzle",
            place="Section 3",
            statement="the labeling",
            test="text",
            **labelings,
        ),
        claim(
            "cells=58 of 60",
            "",
            "",
            "reproduced",
            id="labelings_printed",
            item="w",
            place="Table 1",
            statement="printed digits",
            **labelings,
        ),
        claim(
            "",
            "",
            "",
            "not published",
            id="labelings_figure1",
            item="figure1",
            place="Figure 1",
            statement="a drawing",
            **labelings | {"origin": "", "data": ""},
        ),
    ]


MEASUREMENT = {
    "item": "table1",
    "cell": "epoch=0",
    "metric": "auc",
    "value": 0.75,
    "std": 0.1,
    "n": 5,
    "m": 1000,
    "scale": "laptop",
    "seed": 1,
}


def write_run(root: Path) -> SimpleNamespace:
    """A folder ``results/laptop`` with two chains; the paths of its files by name."""
    results = root / "results"
    folder = results / "laptop"
    folder.mkdir(parents=True)
    pd.DataFrame(claims(), columns=list(COLUMNS)).to_csv(folder / "claims.csv", index=False)
    erratum = dict.fromkeys(ERRATA_COLUMNS, "") | {
        "id": "slip",
        "paper": "dpauc",
        "kind": "slip",
        "place": "Section 5",
        "says": "27 features",
        "finding": "There are 26.",
        "evidence": "facts[] features of released",
        "value": "26.0",
        "condition": "equals 26",
        "holds": "True",
        "test": "tests/dpauc/test_dpauc_errata.py",
    }
    assumption = dict.fromkeys(ERRATA_COLUMNS, "") | {
        "id": "model",
        "paper": "dpauc",
        "kind": "omission",
        "place": "Section 5",
        "says": "a model",
        "finding": "Which is not said.",
        "assumed": "the usual one",
    }
    pd.DataFrame([erratum, assumption]).to_csv(folder / "errata.csv", index=False)
    run = SimpleNamespace(
        root=root, results=results, folder=folder, measurements=[], figures=[], pdfs=[], tables=[]
    )
    for chain, data in (("dpauc", "standin"), ("labelings", "exact")):
        path = folder / chain / "measurements.csv"
        write_measurements(path, [MEASUREMENT | {"paper": chain, "origin": data, "data": data}])
        run.measurements.append(path)
        _draw(run, folder / chain / "figures" / "figure1.png")
        _tabulate(run, folder / chain / "tables" / "table1.tex")
    run.claims, run.errata = folder / "claims.csv", folder / "errata.csv"
    run.captions = root / "captions.yaml"
    run.captions.write_text("dpauc:\n  figure1: How it works, with a < b.\n")
    run.provenance = folder / "provenance" / "provenance.json"
    run.provenance.parent.mkdir()
    run.provenance.write_text(json.dumps(PROVENANCE))
    benchmark = {"s": 12.0, "cpu_time": 20.0, "max_rss": 300.0}
    timings = folder / "timings" / "dpauc_train"
    timings.mkdir(parents=True)
    for model in range(2):
        (timings / f"model{model}.jsonl").write_text(json.dumps(benchmark) + "\n")
    return run


def _draw(run: SimpleNamespace, png: Path) -> None:
    with figures.style():
        figure = figures.figure("one", 40)
        figure.subplots().plot([0, 1], [0, 1])
        figures.save(figure, png.with_suffix(".pdf"), png)
    run.figures.append(png)
    run.pdfs.append(png.with_suffix(".pdf"))


def _tabulate(run: SimpleNamespace, tex: Path) -> None:
    table = Table("lr", caption="A table.", label=f"tab:{tex.parent.parent.name}")
    table.row("a", "1")
    tex.parent.mkdir()
    tex.write_text(table.render())
    run.tables.append(tex)


RESOLUTION = {
    "name": "criteo_kaggle",
    "label": "standin",
    "how": "standin",
    "files": {},
    "members": {},
    "checksums": {},
    "licence": "none needed (generated)",
    "source": "standin:criteo",
    "variant": "",
    "note": "generated because the real data could not be had",
}
PROVENANCE = {
    "configured": "--config seed=1",
    "config": {"scale": "laptop", "seed": 1, "claims": {"level": 0.01}, "dpauc": {"rows": 100}},
    "data": {"results/prepared/criteo/x/source.json": RESOLUTION | {"standin": {"seed": 1}}},
    "threads": 2,
    "code": "0123456789abcdef",
    "python": "3.11.7",
    "platform": "Linux",
    "cpu": "a processor",
    "packages": {"numpy": "2.4"},
}
