"""The comparison of mechanisms on a small set: rows, tables and figures come out of one another."""

import itertools
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakmeter.dpauc import beyond_drawings, beyond_tables
from leakmeter.dpauc.composition import RULES
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.experiments import repeated
from leakmeter.dpauc.experiments.mechanisms import COMPARED, agreement, measure
from leakmeter.dpauc.experiments.origins import WideDeepOrigin
from leakmeter.dpauc.histogram_release import NoiseError
from leakmeter.dpauc.private_release import METHODS
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import parse_cell, read_measurements, write_measurements
from leakmeter.runtime import UserError

SETTINGS = {
    "repeats": 40,
    "reference_repeats": 800,
    "epsilons": [1, 4],
    "clients": [1, 5],
    "thresholds": [25, 100],
    "bins": [4, 32],
    "errors": [0.05],
    "evaluations": [1, 10],
    "delta": 1e-5,
}
COMPOSITION = {"evaluations": [1, 10, 100], "epsilon_each": 0.1, "delta": 1e-5}


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    labels = (rng.random(20_000) < 0.3).astype(np.int8)
    scores = rng.beta(2 + labels, 5 - labels).astype(np.float32)
    return scores, labels


@pytest.fixture(scope="module")
def rows(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("predictions") / "epoch0.parquet"
    pq.write_table(pa.table({"score": records[0], "label": records[1]}), path)
    origin = WideDeepOrigin([path], data="standin", scale="smoke", seed=1)
    record = measure(origin, SETTINGS)
    assert record.draws == []
    return record.rows + repeated.measure(COMPOSITION, scale="smoke", seed=1).rows


@pytest.fixture(scope="module")
def measurements(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("measurements") / "measurements.csv"
    write_measurements(path, rows)
    return read_measurements([path])


def select(rows, item, metric, **axes):
    wanted = {k: str(v) for k, v in axes.items()}
    return [
        r
        for r in rows
        if (r["item"], r["metric"]) == (item, metric)
        and wanted.items() <= parse_cell(r["cell"]).items()
    ]


def test_rows_are_the_chain_s_own(rows):
    assert {row["paper"] for row in rows} == {"beyond"}
    assert {row["data"] for row in rows} == {"standin", "exact"}


def test_every_method_is_measured_at_every_setting(rows):
    cells = 2 * 3  # clients; epsilons at 100 thresholds, and 25 thresholds at epsilon 1
    for method, noise in COMPARED:
        assert len(select(rows, "mechanisms", "error", method=method, noise=noise)) == cells


def test_the_error_is_that_of_the_exact_auc(rows, records):
    """At a large budget what remains is the ties of the bins, and none for ranks."""
    (ranks,) = select(rows, "mechanisms", "error", method="rank_sum", K=1, epsilon=4)
    assert abs(ranks["value"]) < 0.001
    (coarse,) = select(rows, "mechanisms", "theory_bias", method="positives", K=1, thresholds=25)
    (seen,) = select(rows, "mechanisms", "error", method="positives", K=1, thresholds=25)
    assert seen["value"] == pytest.approx(coarse["value"], abs=5 * seen["std"] / math.sqrt(40))
    assert seen["m"] == len(records[0])
    assert 0.5 < exact_auc(*records) < 1


def test_closed_forms_agree_with_simulation_in_the_study(rows):
    p = [row["value"] for metric in ("p_bias", "p_std") for row in select(rows, "theory", metric)]
    methods = [m for m, spec in METHODS.items() if spec.closed_form]
    assert len(p) == 2 * 2 * sum(len(METHODS[m].noises) for m in methods)
    assert min(p) > 0.01 / len(p)


def test_agreement_sees_a_wrong_mean_and_a_wrong_spread():
    error = np.random.default_rng(1).normal(0.1, 2.0, 10_000)
    assert min(agreement(error, NoiseError(0.1, 2.0))) > 0.001
    assert agreement(error, NoiseError(0.3, 2.0))[0] < 1e-6
    assert agreement(error, NoiseError(0.1, 2.2))[1] < 1e-6
    assert np.isnan(agreement(np.array([1.0, np.nan]), NoiseError(0, 1))).all()


def test_least_tied_bins_tie_least(rows):
    for bins in SETTINGS["bins"]:
        tie = {
            layout: abs(select(rows, "bins", "tie_bias", layout=layout, bins=bins, K=1)[0]["value"])
            for layout in ("uniform", "equal_mass", "private", "least_tied")
        }
        # a scale for the sampling error of a finest partition of 512 cells
        assert tie["least_tied"] <= min(tie.values()) + 2e-5


def test_repeated_evaluation(rows):
    for evaluations in COMPOSITION["evaluations"]:
        totals = {
            rule: select(rows, "composition", "epsilon", rule=rule, evaluations=evaluations)[0]
            for rule in (*RULES, "gaussian")
        }
        for loose, tight in itertools.pairwise(RULES):
            assert totals[tight]["value"] <= totals[loose]["value"] + 1e-3
    assert totals["basic"]["note"] == "delta = 0"
    spread = {
        (r["cell"]): r["value"] for r in select(rows, "evaluations", "std", K=1, evaluations=10)
    }
    assert len(spread) == 6


def test_more_clients_need_more_epsilon(rows):
    for method in ("histogram", "positives", "rank_sum"):
        one, five = (
            select(rows, "planning", "epsilon", method=method, K=k)[0]["value"] for k in (1, 5)
        )
        assert one < five


@pytest.mark.parametrize("name", list(beyond_tables.TABLES))
def test_tables(measurements, name, tmp_path):
    table = beyond_tables.TABLES[name](measurements)
    assert len(table.rows) > 1
    (tmp_path / "beyond/tables").mkdir(parents=True)
    table.write(tmp_path / f"beyond/tables/{name}.tex", tmp_path / f"beyond/tables/{name}.json")


def test_a_table_shows_what_was_measured(measurements, rows):
    table = beyond_tables.utility(measurements)
    (row,) = [r for r in table.rows if r[1:4] == ["5", "histogram", "discrete"]]
    assert table.head[4:] == ["epsilon 1", "epsilon 4"]
    for text, epsilon in zip(row[4:], (1, 4), strict=True):
        (seen,) = select(
            rows, "mechanisms", "rmse", method="histogram", noise="discrete", K=5, epsilon=epsilon,
            thresholds=100,
        )  # fmt: skip
        assert text == f"{seen['value']:.4g}"


@pytest.mark.parametrize("name", list(beyond_drawings.FIGURES))
def test_figures(measurements, name, tmp_path):
    """Drawn, without a warning, the same bytes twice."""
    for i in range(2):
        save(
            beyond_drawings.FIGURES[name](measurements),
            tmp_path / f"{i}.pdf",
            tmp_path / f"{i}.png",
        )
    assert (tmp_path / "0.png").read_bytes() == (tmp_path / "1.png").read_bytes()
    assert (tmp_path / "0.pdf").read_bytes() == (tmp_path / "1.pdf").read_bytes()


def test_undefined_releases_are_dashes_and_leave_gaps(measurements, tmp_path):
    """Noise that drowns a class makes a mean undefined; tables and figures go on."""
    gone = measurements.copy()
    here = gone["metric"].isin(["error", "rmse"]) & gone["cell"].str.contains("histogram")
    gone.loc[here, ["value", "std"]] = np.nan
    gone = gone[
        ~(gone["metric"].str.startswith("theory_") & gone["cell"].str.contains("histogram"))
    ]
    table = beyond_tables.mechanisms(gone)
    assert any("–" in row[3:] for row in table.rows)
    save(beyond_drawings.utility(gone), tmp_path / "a.pdf", tmp_path / "a.png")


def test_missing_rows_are_named(measurements):
    with pytest.raises(UserError, match="no row of item 'planning'"):
        beyond_tables.planning(measurements[measurements["item"] != "planning"])


def test_numbers_of_a_cell_are_numbers():
    frame = pd.DataFrame(
        [{"paper": "beyond", "item": "x", "cell": "K=10;error=0.5;rule=pld", "origin": "o",
          "metric": "m", "value": 1.0, "std": None, "n": 1, "m": None, "data": "exact", "note": ""}]
    )  # fmt: skip
    row = beyond_tables.table_of(frame, "x").iloc[0]
    assert (row["K"], row["error"], row["rule"]) == (10, 0.5, "pld")
