"""Brute force over all labelings, and a small run of the whole chain, shared by its tests."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leakmeter.labelings.experiments import counting, genuine_set, inference
from leakmeter.reporting.claims import Engine, read_claims
from leakmeter.reporting.measurements import read_measurements, write_measurements

_ROOT = Path(__file__).resolve().parents[2]
_SETTINGS = {
    "example": {"below": 201},
    "growth": {"aucs": ["1/2", "3/4"], "multiples": 9},
    "conjecture": {"denominators_below": 151, "range_denominators_below": 11},
    "cost": {"sizes": [10, 20, 40], "recurrence_up_to": 20},
    "posterior": {"sizes": [10, 50], "aucs": ["2/5", "3/5", "77/100"]},
    "certainty": {"records": 4},
}
_GENUINE = {
    "splits": 2,
    "decimals": 3,
    "oracle_decimals": [2, 4],
    "pruning": {"sizes": [12, 16, 60], "max_labelings": 3000},
}


@cache
def _all_labelings(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All two-class labelings of ``n`` records (rows ascending in rank), their ones, their d."""
    labelings = np.array(list(product((0, 1), repeat=n)), np.uint8)
    ones = labelings.sum(axis=1, dtype=np.int64)
    labelings, ones = labelings[(ones > 0) & (ones < n)], ones[(ones > 0) & (ones < n)]
    # A zero is misranked with every one to its left.
    left_ones = np.cumsum(labelings, axis=1, dtype=np.int64)
    misranked = (left_ones * (labelings == 0)).sum(axis=1)
    return labelings, ones, misranked


@pytest.fixture(scope="session")
def brute_force():
    """``brute_force(n)``: (labelings in ascending rank, ones, misranked pairs), both classes."""
    return _all_labelings


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """What the rules of tables and figures read, from small settings and without the workflow.

    Attributes: ``folder`` (with m.csv and claims.csv), ``measurements``, ``claims``, ``posterior``,
    ``attacks``.
    """
    folder = tmp_path_factory.mktemp("labelings_run")
    published = _ROOT / "resources/published"
    facts = [published / f"auc_labelings_{n}.csv" for n in ("published_facts", "statements")]
    where = {"scale": "test_1", "seed": 7}
    exact = counting.measure(facts, _SETTINGS, **where)
    guessed, posterior = inference.measure(_SETTINGS, **where)
    sets = [
        genuine_set.measure(name, facts, _GENUINE, **where) for name in ("wine", "diabetes_high")
    ]
    records = [exact, guessed, *(record for record, _ in sets)]
    write_measurements(folder / "m.csv", [row for record in records for row in record.rows])
    measurements = read_measurements([folder / "m.csv"])
    config = {**where, "claims": {"level": 0.01}, "labelings": _SETTINGS}
    claims = read_claims(_ROOT / "config/claims.yaml", ["labelings"])
    Engine(measurements, {}, published, config).evaluate(claims).to_csv(
        folder / "claims.csv", index=False
    )
    return SimpleNamespace(
        folder=folder,
        measurements=measurements,
        claims=pd.read_csv(folder / "claims.csv"),
        posterior=posterior,
        attacks=pd.concat([curves for _, curves in sets], ignore_index=True),
    )
