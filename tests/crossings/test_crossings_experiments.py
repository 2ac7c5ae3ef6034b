"""The crossed experiments end to end on tiny settings: rows, tables, figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leakmeter.crossings.drawings import FIGURES
from leakmeter.crossings.experiments import mechanisms, records, releases
from leakmeter.crossings.loss_laws import response_law
from leakmeter.crossings.tables import TABLES
from leakmeter.membership.experiments.prepared import Prepared
from leakmeter.membership.sets.table import Table
from leakmeter.reporting.figures import save
from leakmeter.reporting.measurements import parse_cell, read_measurements
from leakmeter.runtime import UserError

AUDIT = {
    "thresholds": [1, 10],
    "budgets": [2, 8],
    "releases": [1, 10],
    "response_epsilons": [1],
    "records": 10,
    "trials": 2000,
    "delta": 1e-5,
    "alpha": 0.05,
}
RELEASED = {
    "records": 20,
    "splits": 2,
    "epsilons": [0.25, 8],
    "thresholds": 5,
    "submissions": 3,
    "rehearsals": 2,
    "delta": 1e-5,
}
RISK = {
    "records": 20,
    "models": 16,
    "scoring_models": 4,
    "groups": 3,
    "delta": 1e-5,
    "alpha": 0.05,
}


def _pool(n=80, models=6, seed=0):
    """Records of two classes and balanced splits, as a data set of the SHAPr chain."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    numeric = rng.normal(size=(n, 4)) + labels[:, None]
    halves = []
    for _ in range(models // 2):
        half = np.zeros(n, bool)
        for label in (0, 1):
            own = rng.permutation(np.flatnonzero(labels == label))
            half[own[: n // 4]] = True
        halves += [half, ~half]
    table = Table(numeric, labels, np.zeros((n, 0), np.int16), (), None, {})
    meta = {"name": "tiny", "n_classes": 2, "label": "standin", "n_train": n // 2}
    return Prepared("tiny", table, np.array(halves), meta)


def _logits(data, seed=1):
    """Outputs that know their members a little, some records more than others."""
    rng = np.random.default_rng(seed)
    signal = np.linspace(0, 3, len(data.labels)) * data.splits
    margin = rng.normal(size=data.splits.shape) + signal
    sign = np.where(data.labels == 1, 1.0, -1.0)
    return np.stack([-sign * margin, sign * margin], axis=-1).astype(np.float32)


@pytest.fixture(scope="module")
def recorders():
    data = _pool()
    rng = np.random.default_rng(2)
    scores = {"shapr": rng.normal(size=40), "sprs": rng.random(40)}
    pool = records.smaller(data, RISK, seed=1)
    many = {"logits": _logits(pool), "labels": pool.labels, "splits": pool.splits}
    return {
        "audit": mechanisms.measure(AUDIT, scale="smoke", seed=1),
        "released": releases.measure("wine", RELEASED, scale="smoke", seed=1),
        "risk": records.measure_set(
            data, _logits(data), scores, many, RISK, neighbours=[1, 3], scale="smoke", seed=1
        ),
    }


@pytest.fixture(scope="module")
def measurements(recorders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crossed")
    for name, record in recorders.items():
        record.write(folder / f"{name}.csv", folder / f"{name}.parquet")
    return read_measurements([folder / f"{name}.csv" for name in recorders])


def _values(frame: pd.DataFrame, item: str, metric: str, **axes) -> list[float]:
    rows = frame[(frame["item"] == item) & (frame["metric"] == metric)]
    wanted = {k: str(v) for k, v in axes.items()}
    return [
        row["value"]
        for row in rows.to_dict("records")
        if wanted.items() <= parse_cell(row["cell"]).items()
    ]


def test_audits_stay_below_what_is_charged(measurements):
    """The lower end is below the exact epsilon; charges are 4 T eps' and half of it."""
    for n in AUDIT["thresholds"]:
        for budget in AUDIT["budgets"]:
            at = {"mechanism": "laplace", "observer": "server", "T": n, "budget": budget}
            (paper,), (tight,), (pld,), (low,) = (
                _values(measurements, "mechanism_audit", m, **at)
                for m in ("paper", "tight", "pld", "low")
            )
            assert paper == pytest.approx(budget)
            assert tight == pytest.approx(budget / 2)
            assert low <= pld <= tight


def test_exact_answers_give_all_labels_and_noise_does_not(measurements):
    assert set(_values(measurements, "released_auc", "correct", mechanism="exact")) == {1.0}
    strong = _values(measurements, "released_auc", "correct", mechanism="rr_once", epsilon=0.25)
    assert max(strong) < 0.9


def test_bounds_are_averaged_over_splits_and_costs_are_at_delta(monkeypatch):
    """Splits with 30% and 70% ones: at strong noise either gives 0.7, their mean rate 0.5."""
    splits = [(np.arange(10), np.arange(10) >= 7), (np.arange(10), np.arange(10) >= 3)]
    pending = iter(splits)
    monkeypatch.setattr(releases, "genuine_scores", lambda *_: next(pending))
    chosen = RELEASED | {"records": 10, "epsilons": [0.25], "delta": 0.05}
    frame = pd.DataFrame(releases.measure("wine", chosen, scale="smoke", seed=1).rows)
    at = {"mechanism": "rr_once", "epsilon": 0.25}
    (bound,) = set(_values(frame, "released_auc", "bound", **at))
    assert bound == pytest.approx(1 - 0.95 * 0.3)
    (cost,) = _values(frame, "one_auc", "cost", **at)
    assert cost == pytest.approx(response_law(1, 0.25).epsilon(0.05))
    assert cost < response_law(1, 0.25).epsilon(1e-5) - 0.05


def test_the_bound_says_for_whom(measurements):
    assert TABLES["released_auc"](measurements).head[-1] == "bound, base rate known"
    made = FIGURES["released_auc"](measurements)
    texts = [text.get_text() for text in made.legends[0].get_texts()]
    assert "bound, base rate known" in texts


def test_labels_of_the_data_travel(measurements):
    labels = measurements.groupby("item")["data"].unique().map(list).to_dict()
    assert labels["mechanism_audit"] == ["exact"]
    assert labels["released_auc"] == ["related"]
    assert labels["record_risk"] == ["standin"]


def test_splits_are_the_same_for_all_mechanisms(recorders):
    """Baselines are of the splits; the exact attack gets all of them right, so they agree."""
    (majority,) = (d["values"] for d in recorders["released"].draws if d["metric"] == "majority")
    assert len(majority) == RELEASED["splits"]
    assert all(0.5 <= value < 1 for value in majority)


def test_smaller_pool_has_its_own_splits():
    pool = records.smaller(_pool(), RISK, seed=1)
    assert len(pool.labels) == 40
    assert pool.splits.shape == (16, 40)
    assert (pool.splits[::2] == ~pool.splits[1::2]).all()
    again = records.smaller(_pool(), RISK, seed=1)
    np.testing.assert_array_equal(pool.splits, again.splits)
    with pytest.raises(UserError, match="at least 8 more"):
        records.smaller(_pool(), RISK | {"models": 8}, seed=1)


def test_both_kinds_of_models_and_all_groups_are_there(measurements):
    for models in ("chain", "many"):
        assert len(_values(measurements, "record_risk", "low", models=models, group=1)) == 1
        assert len(_values(measurements, "record_risk", "high", models=models, group=3)) == 1
    rho = _values(
        measurements, "record_risk", "rho", models="many", statistic="advantage", score="shapr"
    )
    assert -1 <= rho[0] <= 1
    left = _values(
        measurements,
        "record_risk",
        "rho",
        models="many",
        statistic="advantage",
        score="shapr_given_outside",
    )
    assert -1 <= left[0] <= 1
    assert left[0] != rho[0]


def test_same_seed_same_rows(recorders):
    again = releases.measure("wine", RELEASED, scale="smoke", seed=1)
    assert again.rows == recorders["released"].rows


@pytest.mark.parametrize("name", TABLES)
def test_tables(measurements, name, tmp_path):
    table = TABLES[name](measurements)
    assert table.rows
    assert not any("nan" in cell for row in table.rows for cell in row)
    table.write(tmp_path / "beyond" / "tables" / f"{name}.tex", tmp_path / f"{name}.json")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_the_same_bytes_each_time(measurements, name, tmp_path):
    for attempt in ("first", "second"):
        save(FIGURES[name](measurements), tmp_path / f"{attempt}.pdf", tmp_path / f"{attempt}.png")
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()
    assert (tmp_path / "first.pdf").read_bytes() == (tmp_path / "second.pdf").read_bytes()


def test_without_many_models(recorders, tmp_path):
    """A run whose sets have none: the table and the figure take the chain's models."""
    frame = pd.DataFrame(recorders["risk"].rows)
    chain = frame[frame["cell"].str.contains("models=chain")]
    assert TABLES["record_risk"](chain).rows
    save(FIGURES["record_risk"](chain), tmp_path / "f.pdf", tmp_path / "f.png")


def test_intervals_without_a_wrong_trial_are_marked(measurements):
    plain = TABLES["record_risk"](measurements)
    assert not any("*" in text for line in plain.rows for text in line)
    right = measurements["cell"].str.contains("group=3") & measurements["metric"].eq(
        "mean_advantage"
    )
    frame = measurements.assign(value=measurements["value"].mask(right, 1.0))
    marked = TABLES["record_risk"](frame)
    assert all(line[-1].endswith("*") and not line[-2].endswith("*") for line in marked.rows)
    assert marked.notes[-1].startswith("* Every trial of the group was right")
    assert len(marked.notes) == len(plain.notes) + 1
