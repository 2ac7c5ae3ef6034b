"""Small settings and the published files, for the tests of experiments, tables and figures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leakmeter.audit.challenge_ranking import joined_gaps, rank_candidates
from leakmeter.audit.experiments import (
    adjacency,
    chance,
    coverage_study,
    interval_numbers,
    played_games,
)
from leakmeter.audit.experiments.setting_names import POINTS, SETTINGS
from leakmeter.audit.experiments.settings import family_of, schedule_of
from leakmeter.audit.game import build_games, join_parts, models_of, play
from leakmeter.audit.pools import Pool
from leakmeter.reporting.measurements import read_measurements, write_measurements
from leakmeter.reporting.recording import Recorder

ROOT = Path(__file__).resolve().parents[2]
EXACT_SETTINGS = {
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
    return EXACT_SETTINGS


@pytest.fixture(scope="session")
def audit_published():
    """The published files of the chain."""
    return sorted((ROOT / "resources/published").glob("bayes_*.csv"))


@pytest.fixture(scope="session")
def exact_record(audit_published):
    """Every experiment without games, measured once."""
    record = Recorder("audit", "test", 1)
    interval_numbers.measure(record, audit_published, EXACT_SETTINGS)
    coverage_study.measure(record, EXACT_SETTINGS)
    adjacency.measure(record, audit_published, EXACT_SETTINGS)
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
    return interval_numbers.curves(audit_published, EXACT_SETTINGS)


GAMES = {
    "models": "small",
    "trials": 60,
    "m": [1, 10],
    "worst_pairs": 6,
    "replicates": 1,
    "references": 6,
    "ranking_models": 24,
    "ranking_size": 60,
    "selection": "median",
    "epsilon": 8,
    "adjacency": "replace-one",
    "null_repeats": 40,
    "null_rates": [0.2, 0.4],
    "batch": 64,
    "microbatch": 4,
    "cifar10": {"features": "projection"},
    "sst2": {"features": "projection"},
    "training": {
        name: {"rate": 0.25, "steps": 12, "learning_rate": 0.5, "decay": 1, "clip": clip}
        for name, clip in (("cifar10_dp", 3), ("sst2_dp", 3), ("sst2_nodp", None))
    },
}


@pytest.fixture(scope="session")
def games_settings():
    """``alpha, delta`` and a small ``games`` section."""
    return {"alpha": 0.1, "delta": 1e-5, "games": GAMES}


@pytest.fixture(scope="session")
def games_pool():
    """Two overlapping classes in eight dimensions, some labels wrong."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    inputs = rng.normal(size=(500, 8)) + 1.5 * np.where(labels, 1, -1)[:, None] * (np.arange(8) < 2)
    inputs = (4 * inputs / np.linalg.norm(inputs, axis=1, keepdims=True)).astype(np.float32)
    labels = np.where(rng.random(500) < 0.1, 1 - labels, labels)
    about = {"data": "standin", "note": "for tests", "source": ""}
    return Pool(inputs[:300], labels[:300], 200, inputs[300:], labels[300:], 2, about)


@pytest.fixture(scope="session")
def chance_record(audit_published, games_settings):
    """The experiment on what chance does."""
    record = Recorder("audit", "test", 1)
    chance.measure(record, audit_published, games_settings)
    return record


@pytest.fixture(scope="session")
def played_settings(games_pool, games_settings):
    """setting -> (games as played, epsilons), through real training."""
    found = {}
    for setting in SETTINGS:
        schedule, epsilons = schedule_of(setting, GAMES, 1e-5)
        ranking = family_of(setting, games_pool, schedule.without_noise(), GAMES)
        ranked = rank_candidates(games_pool, ranking, models=24, size=60, train_size=100, seed=1)
        gaps = joined_gaps([ranked])
        plan = [
            game
            for points in POINTS
            for game in build_games(points, np.argsort(-gaps), GAMES, seed=1)
        ]
        family = family_of(setting, games_pool, schedule, GAMES)
        models = models_of(plan, GAMES["references"])
        played = play(plan, models, family, games_pool, train_size=100, seed=1)
        found[setting] = (join_parts([played]), epsilons)
    return found


@pytest.fixture(scope="session")
def games_records(played_settings, games_pool, games_settings, chance_record):
    """setting -> (record, curves)."""
    coin = {s: 0.1 for s in ("median", "crossfit", "authors")}
    found = {}
    for setting, (played, epsilons) in played_settings.items():
        record = Recorder("audit", "test", 1, origin=setting, data="standin", m=GAMES["trials"])
        curves = played_games.measure(
            record,
            played,
            settings=games_settings,
            epsilons=epsilons,
            majority=games_pool.majority,
            coin_low=coin,
        )
        found[setting] = (record, curves)
    return found


@pytest.fixture(scope="session")
def all_measurements(exact_record, chance_record, games_records, tmp_path_factory):
    """Every experiment of the chain, through the measurement file."""
    path = tmp_path_factory.mktemp("audit") / "all.csv"
    rows = [*exact_record.rows, *chance_record.rows]
    rows += [row for record, _ in games_records.values() for row in record.rows]
    write_measurements(path, rows)
    return read_measurements([path])


@pytest.fixture(scope="session")
def all_cdfs(games_records):
    """The CDFs that Figures 5 and 6 draw."""
    return pd.concat([curves for _, curves in games_records.values()], ignore_index=True)
