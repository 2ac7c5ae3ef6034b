"""Every erratum of the labelings paper, evaluated on what the library counts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from leakmeter.labelings.experiments import counting
from leakmeter.reporting.errata import evaluate_errata, read_errata
from leakmeter.reporting.measurements import KEY, read_measurements, write_measurements
from leakmeter.workflow import complete_config

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def measurements(tmp_path_factory):
    """What the shipped configuration counts, read back from the file that a run writes."""
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    settings = complete_config({}, schema)["labelings"]
    published = ROOT / "resources/published"
    record = counting.measure(
        [published / f"auc_labelings_{n}.csv" for n in ("published_facts", "statements")],
        settings,
        scale="test",
        seed=1,
    )
    path = tmp_path_factory.mktemp("errata") / "m.csv"
    write_measurements(path, record.rows)
    return read_measurements([path])


def shipped():
    entries = read_errata(ROOT / "resources/errata.yaml")
    return [entry for entry in entries if entry["paper"] == "labelings"]


def test_every_erratum_holds(measurements):
    entries = shipped()
    table = evaluate_errata(entries, measurements)
    assert len(table) == len(entries) >= 4
    false = table.loc[~table["holds"].eq(True), ["id", "value", "condition"]]
    assert false.empty, false.to_string()


def test_every_erratum_names_this_test():
    assert {e["test"] for e in shipped()} == {"tests/labelings/test_labelings_errata.py"}


def test_an_erratum_fails_when_its_evidence_changes(measurements):
    """No condition is one that any value meets."""
    changed = {  # what the paper says, in place of what is counted
        "labelings_conjecture_as_printed": 0,
        "labelings_conjecture_even_squares": 1,
        "labelings_misranked_range": 1440,
        "labelings_recurrence_cost": 0,
    }
    entries = shipped()
    assert {entry["id"] for entry in entries} == set(changed)
    for entry in entries:
        evidence = entry["evidence"]
        key = pd.Series({"paper": "labelings", **{k: evidence[k] for k in KEY[1:]}})
        frame = measurements.copy()
        row = frame[KEY].eq(key).all(axis=1)
        assert row.sum() == 1
        frame.loc[row, "value"] = changed[entry["id"]]
        (holds,) = evaluate_errata([entry], frame)["holds"]
        assert not holds, entry["id"]


def test_the_findings_state_the_numbers_that_are_measured(measurements):
    """Numbers in the prose of the errata are those of this run."""
    (own,) = (e for e in shipped() if e["id"] == "labelings_conjecture_as_printed")
    rows = measurements[measurements["cell"] == "p=1387;q=1440"].set_index("metric")["value"]
    for metric in ("w_before", "w_after", "n_before", "threshold"):
        assert f"{int(rows[metric]):,}" in own["finding"]
