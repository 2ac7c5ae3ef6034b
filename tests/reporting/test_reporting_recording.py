"""Rows and draws of one origin."""

import math

import numpy as np
import pandas as pd
import pytest

from leakmeter.reporting.measurements import read_draws, read_measurements
from leakmeter.reporting.recording import Recorder, exact_integer
from leakmeter.runtime import derive_seed


@pytest.fixture
def record():
    return Recorder("labelings", "test", 1)


@pytest.fixture
def written(record, tmp_path):
    """Writes the record and reads its rows back."""

    def read():
        record.write(tmp_path / "m.csv", tmp_path / "d.parquet")
        return read_measurements([tmp_path / "m.csv"]).to_dict("records")

    return read


@pytest.mark.parametrize("number", [0, 7, 2**53, 2**53 + 1, 3**700])
def test_integers_of_any_size_survive_the_file(record, written, number):
    record.add("t", {"n": 1}, "w", number)
    (row,) = written()
    assert exact_integer(row) == number
    if number < 2**1000:
        assert row["value"] == float(number)
    else:
        assert pd.isna(row["value"])


@pytest.mark.parametrize("sequence", [list, tuple, np.array])
def test_several_values_become_mean_spread_and_draws(record, written, tmp_path, sequence):
    record.add("t", {"n": 1}, "bits", sequence([1.0, 2.0, 6.0]))
    (row,) = written()
    assert (row["value"], row["n"]) == (3.0, 3)
    assert row["std"] == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert read_draws([tmp_path / "d.parquet"])[
        "labelings", "t", "n=1", "exact", "bits"
    ].tolist() == [
        1.0,
        2.0,
        6.0,
    ]


def test_draws_without_a_row_and_rows_without_draws(record):
    record.add("t", {}, "noisy", [1.0, 2.0], draws=False)
    record.draw("t", {}, "reference", np.array([3.0]))
    assert [row["metric"] for row in record.rows] == ["noisy"]
    assert [(d["metric"], d["values"]) for d in record.draws] == [("reference", [3.0])]


@pytest.mark.parametrize(
    ("value", "options", "note"),
    [
        (1.0, {}, "of all"),
        (1.0, {"note": "own"}, "own"),
        (1.0, {"note": ""}, ""),
        (math.inf, {}, "inf"),
        (-math.inf, {}, "inf"),
        (None, {}, "no value"),
        (math.nan, {}, "no value"),
        ([1.0, math.nan], {}, "no value"),
        (None, {"note": "own"}, "own"),
    ],
)
def test_notes(value, options, note):
    record = Recorder("audit", "test", 1, note="of all", undefined="no value")
    record.add("t", {}, "x", value, **options)
    assert record.rows[0]["note"] == note


def test_an_undefined_value_has_the_common_note_if_there_is_no_other():
    record = Recorder("audit", "test", 1, note="of all")
    record.add("t", {}, "x", math.nan)
    assert (record.rows[0]["value"], record.rows[0]["note"]) == (None, "of all")


def test_common_axes_come_first_and_columns_override(record):
    record.axes = {"set": "census"}
    record.add_all("t", {"k": 5}, {"a": 1, "b": 0.5}, m=7, std=0.1, n=10)
    assert [(r["cell"], r["metric"], r["value"]) for r in record.rows] == [
        ("set=census;k=5", "a", 1.0),
        ("set=census;k=5", "b", 0.5),
    ]
    assert {(r["m"], r["std"], r["n"]) for r in record.rows} == {(7, 0.1, 10)}


def test_chains_stages_and_origins_have_seeds_of_their_own():
    wine = Recorder("labelings", "s", 1, origin="wine")
    others = [
        wine.seed_for("split", split=1),
        wine.seed_for("prune", split=0),
        Recorder("labelings", "s", 1, origin="digits_odd").seed_for("split", split=0),
        Recorder("audit", "s", 1, origin="wine").seed_for("split", split=0),
        Recorder("labelings", "s", 2, origin="wine").seed_for("split", split=0),
    ]
    assert len({wine.seed_for("split", split=0), *others}) == 6
    # the scale does not change the random numbers
    assert wine.seed_for("split", split=0) == derive_seed(
        1, "labelings_split", origin="wine", split=0
    )
