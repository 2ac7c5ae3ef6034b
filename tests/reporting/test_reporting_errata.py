"""Errata: evidence that is evaluated, assumptions that say so, mistakes that are named."""

import pandas as pd
import pytest
import yaml

from leakmeter.reporting.errata import COLUMNS, evaluate_errata, read_errata
from leakmeter.reporting.page import _errata
from leakmeter.reporting.present import Run
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

ENTRY = {
    "id": "e",
    "paper": "dpauc",
    "kind": "omission",
    "place": "Section 5",
    "says": "a model",
    "finding": "Which is not said.",
}
EVIDENCE = {"item": "t", "cell": "k=1", "origin": "exact", "metric": "x"}
TEST = {"test": "tests/a.py"}


@pytest.fixture
def measurements():
    record = Recorder("dpauc", "test", 1)
    record.add("t", {"k": 1}, "x", 3)
    record.add("t", {"k": 2}, "x", 1)
    return pd.DataFrame(record.rows)


def evaluated(entry, measurements):
    (row,) = evaluate_errata([ENTRY | entry], measurements).to_dict("records")
    return row


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"above": 2}, True),
        ({"above": 3}, False),
        ({"below": 3.5, "above": 2.5}, True),
        ({"below": 3.5, "above": 3.2}, False),
        ({"equals": 3}, True),
        ({"differs_from": 3}, False),
        ({"minus": {"cell": "k=2"}, "equals": 2}, True),
        ({"cell": "k=7", "above": 0, "unless": "k = 7 is not configured"}, None),
    ],
)
def test_evidence_is_evaluated(measurements, condition, holds):
    row = evaluated({"evidence": EVIDENCE | condition} | TEST, measurements)
    assert row["holds"] is holds


def test_both_sides_of_a_difference_are_named(measurements):
    evidence = EVIDENCE | {"minus": {"cell": "k=2"}, "above": 0}
    row = evaluated({"evidence": evidence} | TEST, measurements)
    assert row["evidence"] == "t[k=1] x of exact minus t[k=2] x of exact"


def test_an_assumption_is_neither_true_nor_false(measurements):
    row = evaluated({"assumed": "the usual model"}, measurements)
    assert row["assumed"] == "the usual model"
    assert row["holds"] is None
    assert row["evidence"] is None
    assert list(row) == COLUMNS


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({"evidence": "", "assumed": "the usual model", "holds": ""}, "assumed"),
        ({"evidence": "t[] x", "assumed": "the usual model", "holds": "True"}, "holds"),
        ({"evidence": "t[] x", "assumed": "", "holds": "False"}, "refuted"),
        ({"evidence": "t[] x", "assumed": "", "holds": ""}, "not measured here"),
    ],
)
def test_the_page_tells_assumptions_from_findings(columns, state):
    (row,) = _errata([ENTRY | {"value": ""} | columns], Run("smoke"))
    assert row["state"] == state


@pytest.mark.parametrize(
    "entry",
    [
        {},
        TEST,
        {"evidence": EVIDENCE},
        {"assumed": "the usual model"} | TEST,
    ],
)
def test_an_entry_has_evidence_with_its_test_or_an_assumption(tmp_path, entry):
    path = tmp_path / "errata.yaml"
    path.write_text(yaml.safe_dump({"errata": [ENTRY | entry]}))
    with pytest.raises(UserError, match="erratum e needs evidence with the test"):
        read_errata(path)


def test_unmeasured_evidence_is_an_error(measurements):
    entry = ENTRY | {"evidence": EVIDENCE | {"metric": "y", "above": 0}} | TEST
    with pytest.raises(UserError, match=r"e: t\[k=1\] y of exact was not measured"):
        evaluate_errata([entry], measurements)


def test_no_shipped_evidence_is_met_by_any_value(root):
    """Every condition bounds a value; one that only differs from something bounds nothing."""
    for entry in read_errata(root / "resources/errata.yaml"):
        if "evidence" in entry:
            assert {"above", "below", "equals"} & set(entry["evidence"]), entry["id"]


def test_undefined_evidence_is_not_run_and_says_why(measurements):
    undefined = measurements.iloc[:1].assign(metric="u", value=float("nan"), note="one value only")
    entry = ENTRY | {"evidence": EVIDENCE | {"metric": "u", "above": 0}} | TEST
    table = evaluate_errata([entry], pd.concat([measurements, undefined]))
    assert table.loc[0, ["value", "holds"]].isna().all()
    assert table.loc[0, "why"] == "one value only"
