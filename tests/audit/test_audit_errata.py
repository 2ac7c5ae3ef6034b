"""Every erratum of the audit holds on fresh measurements; a false one fails here."""

from pathlib import Path

import pytest

from leakmeter.reporting.errata import evaluate_errata, read_errata

ROOT = Path(__file__).resolve().parents[2]
ERRATA = [
    e
    for e in read_errata(ROOT / "resources/errata.yaml")
    if e["paper"] == "audit" and "evidence" in e
]


@pytest.mark.parametrize("entry", ERRATA, ids=[e["id"] for e in ERRATA])
def test_the_erratum_holds(entry, all_measurements):
    assert entry["test"] == "tests/audit/test_audit_errata.py"
    (row,) = evaluate_errata([entry], all_measurements).to_dict("records")
    assert row["holds"] is True, (row["evidence"], row["value"], row["condition"])


def test_an_erratum_that_is_false_is_seen(exact_measurements):
    (entry,) = [e for e in ERRATA if e["id"] == "audit_adjacency"]
    evidence = {**entry["evidence"], "above": 20}
    (row,) = evaluate_errata([{**entry, "evidence": evidence}], exact_measurements).to_dict(
        "records"
    )
    assert row["holds"] is False
