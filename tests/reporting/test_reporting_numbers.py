"""Numbers of a table: found by cell, marked, explained."""

from typing import ClassVar

import pandas as pd
import pytest

from leakmeter.reporting.latex import DASH, Table, mark, number
from leakmeter.reporting.measurements import cell
from leakmeter.reporting.numbers import Numbers, order, plain
from leakmeter.reporting.recording import Recorder

NO_CLAIMS = pd.DataFrame()


class OfThisTest(Numbers):
    paper = "audit"
    data: ClassVar = {"exact": "mathematics"}


def decimals(row):
    return number(row["value"], 2)


def claim(axes, metric="x", verdict="reproduced", erratum="", **other):
    return {
        "paper": "audit",
        "item": "t",
        "cell": cell(**axes),
        "origin": "exact",
        "metric": metric,
        "verdict": verdict,
        "erratum": erratum,
    } | other


@pytest.fixture
def record():
    record = Recorder("audit", "smoke", 7)
    record.add("t", {"k": 10, "delta": 1e-5}, "x", 0.5)
    record.add("t", {"k": 2, "delta": 1e-5}, "x", 0.25)
    record.add("t", {"k": 2, "delta": 1e-5}, "y", None)
    record.add("t", {"name": "census"}, "x", 3**700)
    record.add("u", {"auc": "3/4"}, "x", 1)
    record.add("u", {"auc": "1/3"}, "x", 1)
    return record


def numbers_of(record, claims=()):
    return OfThisTest(pd.DataFrame(record.rows), pd.DataFrame(claims))


def test_cells_are_found_whatever_the_spelling_of_their_axes(record):
    numbers = numbers_of(record)
    for axes in ({"k": 10, "delta": 1e-5}, {"delta": "1e-5", "k": "10.0"}):
        assert numbers.value("t", axes, "x") == 0.5
    assert numbers.value("t", {"k": 10}, "x") is None
    assert numbers.get("t", {"k": 10}, "x") is None


def test_cells_and_values_ascend_as_numbers(record):
    numbers = numbers_of(record)
    assert [c.get("k") for c in numbers.cells("t", "x")] == ["2", "10", None]
    assert numbers.values("t", "k") == ["2", "10"]
    assert numbers.values("t", "k", "y") == ["2"]
    assert numbers.values("t", "k", delta=0.00001) == ["2", "10"]
    assert numbers.values("t", "k", delta=0.1) == []
    assert numbers.values("u", "auc") == ["1/3", "3/4"]
    assert numbers.origins("t") == ["exact"]


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        (["10", "9", "b", "a"], ["9", "10", "a", "b"]),
        (["1/2", "1/3", "0.4", "1/0"], ["1/3", "0.4", "1/2", "1/0"]),
    ],
)
def test_order(values, ordered):
    assert sorted(values, key=order) == ordered


def test_plain_gives_each_number_one_spelling():
    assert {plain(v) for v in (8, 8.0, "8", "8.0", "8e0")} == {"8"}
    assert {plain(v) for v in (1234567, "1234567")} == {"1234567"}  # all digits
    assert plain("0-1-1") == "0-1-1"


def test_a_number_has_the_worst_of_its_marks_and_its_errata_are_named(record):
    axes = {"k": 2, "delta": 1e-5}
    claims = [claim(axes), claim(axes, verdict="erratum", erratum="slip"), claim({"k": 9})]
    numbers = numbers_of(record, claims)
    assert numbers.text("t", axes, "x", decimals) == f"0.25{mark('erratum')}"
    assert numbers.text("t", {"k": 9}, "x", decimals) == f"{DASH}{mark('reproduced')}"
    assert numbers.text("t", axes, "y", decimals) == DASH
    assert dict(numbers.marks) == {"erratum": 1, "reproduced": 1}
    table = Table("l", caption="c", label="l")
    table.row("x")
    tex = numbers.close(table)
    assert "Data: mathematics. Scale smoke, seed 7." in tex
    assert "Errata: slip." in tex
    assert "erratum (1)" in tex


def test_a_number_beyond_all_floats_is_shown(record):
    shown = numbers_of(record).text("t", {"name": "census"}, "x", lambda row: row["note"][:9])
    assert shown == "exactly 9"


def test_nothing_shown_needs_no_provenance(record):
    assert numbers_of(record).notes() == ["", "", ""]
    assert OfThisTest(pd.DataFrame(), NO_CLAIMS).cells("t") == []


def test_other_chains_and_summaries_are_kept_apart(record):
    other = claim({"k": 10, "delta": 1e-5}, paper="shapr", verdict="erratum")
    total = claim({}, verdict="reproduced") | {"cell": "cells=22 of 22"}
    numbers = numbers_of(record, [other, total])
    assert numbers.text("t", {"k": 10, "delta": 1e-5}, "x", decimals) == "0.50"
    assert [row["cell"] for row in numbers.summaries] == ["cells=22 of 22"]
