"""What the papers leave out or get wrong, each entry tied to a measured cell that shows it.

An entry of ``resources/errata.yaml`` names evidence: a measurement and the condition under which
the erratum holds. Every run evaluates the condition on its own measurements; a test evaluates it
on the smoke scale and fails when an erratum is false. An omission that no number can refute has no
evidence: it says what is assumed instead.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from leakmeter.reporting.measurements import KEY
from leakmeter.runtime import UserError

KINDS = {
    "contradiction": "the paper contradicts itself or its authors' code",
    "slip": "a typographical slip",
    "omission": "the paper does not say",
}
_REQUIRED = ("id", "paper", "kind", "place", "says", "finding")
_CONDITIONS = {
    "above": operator.gt,
    "below": operator.lt,
    "equals": operator.eq,
    "differs_from": operator.ne,
}
COLUMNS = [
    *("id", "paper", "kind", "place", "says", "finding", "assumed"),
    "evidence",
    "value",
    "condition",
    "holds",
    "why",
    "test",
]


def read_errata(path: str | Path) -> list[dict[str, Any]]:
    """Entries of errata.yaml, checked for their keys."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))["errata"]
    seen = set()
    for entry in entries:
        lacking = [key for key in _REQUIRED if key not in entry]
        if lacking:
            raise UserError(f"{path}: erratum {entry.get('id', entry)} lacks {', '.join(lacking)}")
        if entry["kind"] not in KINDS:
            raise UserError(
                f"{path}: erratum {entry['id']} has kind {entry['kind']!r}, expected one of {', '.join(KINDS)}"
            )
        if ("evidence" in entry) != ("test" in entry) or not {"evidence", "assumed"} & set(entry):
            raise UserError(
                f"{path}: erratum {entry['id']} needs evidence with the test that evaluates it, or assumed"
            )
        if entry["id"] in seen:
            raise UserError(f"{path}: two errata have the id {entry['id']}")
        seen.add(entry["id"])
    return entries


def evaluate_errata(
    entries: Sequence[Mapping[str, Any]], measurements: pd.DataFrame
) -> pd.DataFrame:
    """One row per erratum with the value of its evidence and whether it holds in this run.

    ``holds`` is True, False, or None where there is no evidence (an assumption) or it was not
    measured in this run; ``why`` then says why: its ``unless`` where the run has no such cell, the
    measurement's note where it is undefined.

    Raises
    ------
    UserError
        evidence that no measurement covers and that has no ``unless``.
    """
    index = {tuple(record[k] for k in KEY): record for record in measurements.to_dict("records")}
    rows = []
    for entry in entries:
        row = dict.fromkeys(COLUMNS) | {key: entry[key] for key in COLUMNS if key in entry}
        if "evidence" in entry:
            evidence = entry["evidence"]
            row["value"], row["holds"], row["why"] = _evaluate(entry, evidence, index)
            row["evidence"] = _cell_text(evidence)
            if "minus" in evidence:
                row["evidence"] += f" minus {_cell_text({**evidence, **evidence['minus']})}"
            row["condition"] = ", ".join(
                f"{name.replace('_', ' ')} {evidence[name]}"
                for name in _CONDITIONS
                if name in evidence
            )
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _cell_text(evidence: Mapping[str, Any]) -> str:
    return f"{evidence['item']}[{evidence['cell']}] {evidence['metric']} of {evidence['origin']}"


def _evaluate(entry, evidence, index) -> tuple[float | None, bool | None, str | None]:
    def find(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
        merged = {**evidence, **part}
        return index.get(
            (entry["paper"], merged["item"], merged["cell"], merged["origin"], merged["metric"])
        )

    parts = [{}, evidence["minus"]] if "minus" in evidence else [{}]
    values = []
    for part in parts:
        record = find(part)
        if record is None:
            if "unless" in evidence:
                return None, None, evidence["unless"]
            where = _cell_text({**evidence, **part})
            raise UserError(f"errata.yaml, {entry['id']}: {where} was not measured")
        if pd.isna(record["value"]):
            return None, None, str(record.get("note") or "") or "undefined in this run"
        values.append(float(record["value"]))
    value = values[0] - sum(values[1:])
    conditions = [name for name in _CONDITIONS if name in evidence]
    if not conditions:
        raise UserError(
            f"errata.yaml, {entry['id']}: evidence states none of {', '.join(_CONDITIONS)}"
        )
    return value, all(_CONDITIONS[name](value, evidence[name]) for name in conditions), None
