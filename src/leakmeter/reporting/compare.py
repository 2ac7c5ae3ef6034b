"""Two result folders side by side: which cells moved, and which moved beyond their noise.

The folders may be two scales, two machines, or one scale before and after a change. Cells with
repeats on both sides are compared by Welch's test, with the uncertainty that repeats do not average
out added on both sides; together the tests err with a stated probability (Holm). Cells without
spread are compared as numbers.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import stats

from leakmeter.reporting.claim_tests import holm
from leakmeter.reporting.measurements import KEY, read_measurements, write_frame
from leakmeter.reporting.present import read_rows
from leakmeter.runtime import UserError

#: State -> meaning, gravest first.
STATES = {
    "moved": "differs by more than its noise",
    "changed": "differs, and there is no spread to judge it by",
    "only in the first": "not measured in the second folder",
    "only in the second": "not measured in the first folder",
    "within noise": "differs by no more than its noise",
    "equal": "the same number",
}
COLUMNS = [
    *KEY,
    *("first", "first_std", "first_n", "second", "second_std", "second_n"),
    *("difference", "z", "p", "p_adjusted", "state"),
]


def measurement_files(folder: str | Path) -> list[Path]:
    """The measurement files of a result folder, ``<chain>/measurements.csv``.

    Raises
    ------
    UserError
        no such folder, or none of these files in it.
    """
    found = sorted(Path(folder).glob("*/measurements.csv"))
    if not found:
        raise UserError(
            f"{folder}: no <chain>/measurements.csv in it; expected a result folder such as "
            "results/laptop"
        )
    return found


def compare_measurements(
    first: pd.DataFrame, second: pd.DataFrame, *, level: float = 0.01
) -> pd.DataFrame:
    """One row per cell of either side with the columns of :data:`COLUMNS`, gravest state first.

    Parameters
    ----------
    first, second : tables as :func:`~leakmeter.reporting.measurements.read_measurements` gives them.
    level : family-wise error of all tests together.
    """
    merged = first.merge(second, on=KEY, how="outer", suffixes=("_1", "_2"), indicator=True)
    rows = [_row(record) for record in merged.to_dict("records")]
    tested = [row for row in rows if row["p"] is not None]
    for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_adjusted"] = float(adjusted)
        row["state"] = "moved" if adjusted < level else "within noise"
    order = list(STATES)
    rows.sort(key=lambda row: (order.index(row["state"]), -abs(row["z"] or 0.0)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    row = dict.fromkeys(COLUMNS) | {key: record[key] for key in KEY}
    for name, suffix in (("first", "_1"), ("second", "_2")):
        for part, column in (("", "value"), ("_std", "std"), ("_n", "n")):
            value = record[column + suffix]
            row[name + part] = None if pd.isna(value) else value
    if record["_merge"] != "both":
        missing = {"left_only": "only in the first", "right_only": "only in the second"}
        return row | {"state": missing[record["_merge"]]}
    if row["first"] is None or row["second"] is None:
        return row | {"state": "equal" if row["first"] == row["second"] else "changed"}
    if math.isinf(row["first"]) or math.isinf(row["second"]):
        return row | {"state": "equal" if row["first"] == row["second"] else "changed"}
    row["difference"] = row["second"] - row["first"]
    if row["difference"] == 0:
        return row | {"state": "equal"}
    return row | _tested(row, float(record["source_std_1"]), float(record["source_std_2"]))


def _tested(row: Mapping[str, Any], source_1: float, source_2: float) -> dict[str, Any]:
    parts = [
        (row[side + "_std"] ** 2 / row[side + "_n"], row[side + "_n"] - 1)
        for side in ("first", "second")
        if row[side + "_std"] and row[side + "_n"] > 1
    ]
    known = source_1**2 + source_2**2
    total = sum(variance for variance, _ in parts) + known
    if total == 0:
        return {"state": "changed"}
    weight = sum(variance**2 / df for variance, df in parts)
    df = total**2 / weight if weight else math.inf
    z = row["difference"] / math.sqrt(total)
    return {"z": z, "p": float(2 * stats.t.sf(abs(z), df)), "state": "within noise"}


def changed_verdicts(
    first: Sequence[Mapping[str, str]], second: Sequence[Mapping[str, str]]
) -> list[dict[str, str]]:
    """Claims whose verdict differs between two claims.csv: id, cell, both verdicts, why."""

    def key(row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in ("id", "item", "cell", "origin", "metric"))

    before = {key(row): row for row in first}
    return [
        {
            **{name: row[name] for name in ("id", "cell", "origin", "metric")},
            "first": before[key(row)]["verdict"],
            "second": row["verdict"],
            "why": row["why"],
        }
        for row in second
        if key(row) in before and before[key(row)]["verdict"] != row["verdict"]
    ]


def summary(table: pd.DataFrame, verdicts: Sequence[Mapping[str, str]], shown: int = 20) -> str:
    """The comparison as text: cells by state, those that moved most, changed verdicts."""
    counts = table["state"].value_counts()
    lines = [f"{int(counts.get(state, 0)):7d}  {state}: {text}" for state, text in STATES.items()]
    moved = table[table["state"].isin(["moved", "changed"])]
    if len(moved):
        lines += ["", f"Cells that moved ({min(shown, len(moved))} of {len(moved)}):"]
    for row in moved.head(shown).to_dict("records"):
        z = "" if pd.isna(row["z"]) else f", {row['z']:+.1f} standard errors"
        lines.append(
            f"  {row['paper']} {row['item']}[{row['cell']}] {row['metric']} of {row['origin']}: "
            f"{row['first']:.6g} -> {row['second']:.6g}{z}"
        )
    if verdicts:
        lines += ["", f"Verdicts that changed ({min(shown, len(verdicts))} of {len(verdicts)}):"]
    for row in verdicts[:shown]:
        lines.append(
            f"  {row['id']}[{row['cell']}] of {row['origin']}: {row['first']} -> {row['second']} ({row['why']})"
        )
    return "\n".join(lines)


def compare_folders(
    first: str | Path, second: str | Path, *, level: float = 0.01
) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """Measurements and verdicts of two result folders, compared.

    Raises
    ------
    UserError
        a folder that holds no results.
    """
    tables = [read_measurements(measurement_files(folder)) for folder in (first, second)]
    claims = [Path(folder) / "claims.csv" for folder in (first, second)]
    both = all(path.is_file() for path in claims)
    verdicts = changed_verdicts(*map(read_rows, claims)) if both else []
    return compare_measurements(*tables, level=level), verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; exit status 1 when a cell moved, 2 when a folder holds no results."""
    parser = argparse.ArgumentParser(
        prog="python -m leakmeter.reporting.compare",
        description="Which cells moved between two result folders, beyond their noise.",
    )
    parser.add_argument("first", help="a result folder, e.g. results/laptop")
    parser.add_argument("second", help="another one")
    parser.add_argument("--out", help="write every cell to this CSV file")
    parser.add_argument("--level", type=float, default=0.01, help="family-wise error (0.01)")
    given = parser.parse_args(arguments)
    try:
        table, verdicts = compare_folders(given.first, given.second, level=given.level)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    print(summary(table, verdicts))
    if given.out:
        write_frame(given.out, table)
        print(f"\nevery cell: {given.out}")
    return int(bool(table["state"].isin(["moved", "changed"]).any()))


if __name__ == "__main__":
    sys.exit(main())
