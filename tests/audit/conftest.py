"""Small settings and the published files, for the tests of experiments, tables and figures."""

from pathlib import Path

import pytest

from leakmeter.audit.experiments import adjacency, coverage_study, interval_numbers
from leakmeter.audit.experiments.recording import Recorder
from leakmeter.reporting.measurements import read_measurements, write_measurements

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "alpha": 0.1,
    "delta": 1e-5,
    "region": {"epsilons": [0, 1, 3], "deltas": [0, 0.05]},
    "widths": {"trials": [100, 1000], "rates": [0.3, 0.1], "unequal_rates": [[0.9, 0.0]]},
    "coverage": {
        "trials": 1000,
        "repeats": 3000,
        "epsilons": [1, 4],
        "gaussian_mu": [1],
        "thresholds": [0, 1],
    },
}


@pytest.fixture(scope="session")
def audit_settings():
    """The parts of the configuration that the experiments without games read."""
    return SETTINGS


@pytest.fixture(scope="session")
def audit_published():
    """The published files of the chain."""
    return sorted((ROOT / "resources/published").glob("bayes_*.csv"))


@pytest.fixture(scope="session")
def exact_record(audit_published):
    """Every experiment without games, measured once."""
    record = Recorder("test", 1)
    interval_numbers.measure(record, audit_published, SETTINGS)
    coverage_study.measure(record, SETTINGS)
    adjacency.measure(record, audit_published, SETTINGS)
    return record


@pytest.fixture(scope="session")
def exact_measurements(exact_record, tmp_path_factory):
    """The same, through the measurement file."""
    path = tmp_path_factory.mktemp("audit") / "exact.csv"
    write_measurements(path, exact_record.rows)
    return read_measurements([path])


@pytest.fixture(scope="session")
def exact_curves(audit_published):
    """What Figures 2 and 3 draw."""
    return interval_numbers.curves(audit_published, SETTINGS)
