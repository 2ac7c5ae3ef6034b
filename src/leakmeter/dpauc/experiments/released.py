"""What the authors' released files and the paper's stated facts say about its printed tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leakmeter.datasets.registry import get
from leakmeter.dpauc.criteo_rows import CATEGORICALS, INTEGERS
from leakmeter.reporting.claim_tests import Published, equal_as_printed
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

#: table -> how its columns name a released run
_KEYS = {
    "table1": {"mechanism": "RR", "K": 10, "partition": "Non-IID"},
    "table4": {"mechanism": "Laplace"},
    "table5": {"mechanism": "Laplace"},
}
_AXES = {
    "table1": {"epsilon": "epsilon_total"},
    "table4": {"partition": "partition", "K": "K", "epsilon": "epsilon_total"},
    "table5": {"thresholds": "n_thresholds", "epsilon": "epsilon_total"},
}


def measure(
    *,
    outputs: str | Path,
    tables: Mapping[str, str | Path],
    scale: str,
    seed: int,
) -> Recorder:
    """Rows of origin ``released``: the files' values behind every printed cell, and counts of slips.

    Parameters
    ----------
    outputs : CSV of the released result files.
    tables : ``table1``, ``table4``, ``table5`` -> CSV of the printed table.

    A setting that was run twice has two released values; the row carries the nearer to the printed
    one and its note says so.
    """
    released = pd.read_csv(outputs, dtype="str", keep_default_na=False)
    record = Recorder("dpauc", scale, seed, origin="released", data="authors")
    for table, path in tables.items():
        printed = pd.read_csv(path, dtype="str", keep_default_na=False)
        slips = 0
        for line in printed[printed["method"].str.startswith("DPAUC")].to_dict("records"):
            runs = _runs(released, table, line)
            axes = {"epoch": line["epoch"]} | {a: line[c] for a, c in _AXES[table].items()}
            note = f"{len(runs)} released runs of this setting" if len(runs) > 1 else ""
            for metric, column, text in (
                ("auc", "auc_mean", line["value"]),
                ("auc_std", "auc_std", line["std"]),
            ):
                value = min((float(v) for v in runs[column]), key=lambda v: abs(v - float(text)))
                record.add(table, _plain(axes), metric, value, note=note)
                slips += not equal_as_printed(Published(float(text), text), value)
        record.add("released", {"table": table}, "slips", slips)
    for mechanism in ("Laplace", "RR"):
        runs = released[released["mechanism"] == mechanism]
        repeats = released_repeats(outputs, mechanism)
        record.add("released", {"mechanism": mechanism}, "repeats", repeats)
        for epoch, group in runs.groupby("epoch"):
            values = group["auc_tf"].astype(float)
            axes = {"mechanism": mechanism, "epoch": int(epoch)}
            record.add("released", axes, "auc_tensorflow", values.iloc[0])
    _criteo(record)
    return record


def released_repeats(outputs: str | Path, mechanism: str) -> int:
    """Repeats behind each released result of a mechanism, as the files' names say."""
    frame = pd.read_csv(outputs, dtype="str", keep_default_na=False)
    repeats = frame.loc[frame["mechanism"] == mechanism, "repeats"].astype(int).unique()
    if len(repeats) != 1:
        raise UserError(
            f"{outputs}: {mechanism} runs have {len(repeats)} numbers of repeats, expected 1"
        )
    return int(repeats[0])


def _criteo(record: Recorder) -> None:
    """What Criteo's set has where the paper states something else."""
    total = get("criteo_kaggle").variants[0].rows["all"]
    fields = {"numeric_features": INTEGERS, "categorical_features": CATEGORICALS}
    facts = {name: len(names) for name, names in fields.items()}
    facts["tenth_of_criteo"] = -(-total // 10)
    facts["hundredth_of_criteo"] = -(-facts["tenth_of_criteo"] // 10)
    record.add_all("facts", {}, facts, data="exact")


def _runs(released: pd.DataFrame, table: str, record: Mapping[str, str]) -> pd.DataFrame:
    wanted = dict(_KEYS[table]) | {
        "epoch": record["epoch"],
        "n_thresholds_nominal": record["n_thresholds"],
    }
    if table == "table1":
        wanted["epsilon_arg"] = record["epsilon_total"]
    else:
        wanted |= {
            "epsilon_arg": record["epsilon_per_stat"],
            "K": record["K"],
            "partition": record["partition"],
        }
    found = released
    for column, value in wanted.items():
        found = found[found[column].map(_number) == _number(value)]
    if found.empty:
        raise UserError(f"no released run has the setting of {table} {dict(record)}")
    return found


def _number(value: Any) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


def _plain(axes: Mapping[str, str]) -> dict[str, Any]:
    return {name: _number(value) for name, value in axes.items()}
