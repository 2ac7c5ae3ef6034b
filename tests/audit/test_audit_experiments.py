"""Rows of the experiments without games, and the claims they decide."""

import math
from pathlib import Path

import pytest

from leakmeter.audit.experiments import interval_numbers
from leakmeter.audit.experiments.coverage_study import operating_points
from leakmeter.audit.experiments.published import published_rows
from leakmeter.reporting.claims import Engine, expand_origins, read_claims
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import UserError

ROOT = Path(__file__).resolve().parents[2]


def value(record, item, metric, **axes):
    wanted = {f"{k}={v}" for k, v in axes.items()}
    found = [
        row
        for row in record.rows
        if row["item"] == item
        and row["metric"] == metric
        and set(row["cell"].split(";") if row["cell"] else []) == wanted
    ]
    assert len(found) == 1, (item, metric, axes, len(found))
    return found[0]


@pytest.fixture(scope="module")
def claims_table(all_measurements, games_settings):
    config = {"claims": {"level": 0.01}, "seed": 1, "scale": "test", "audit": games_settings}
    engine = Engine(all_measurements, {}, ROOT / "resources/published", config)
    return engine.evaluate(expand_origins(read_claims(ROOT / "config/claims.yaml", ["audit"])))


def test_exact_claims_are_reproduced_or_known_errata(claims_table):
    table = claims_table[claims_table["origin"].isin(["exact"])]
    others = table[~table["id"].isin(["audit_models_in_all", "audit_models_per_setting"])]
    assert set(others["verdict"]) <= {"reproduced", "erratum"}
    erratum = set(table.loc[table["verdict"] == "erratum", "id"])
    assert erratum == {
        "audit_example_low",
        "audit_example_high",
        "audit_example_found_high",
        "audit_released_low",
        "audit_released_high",
        "audit_epsilon_cifar10",
        "audit_epsilon_sst2",
        "audit_heuristic_errors",
    }
    counted = table[table["id"].str.startswith("audit_reference")]
    cells = [cell.removeprefix("cells=").split() for cell in counted["cell"]]
    assert sum(int(cell[0]) for cell in cells) == 46
    assert all(cell[0] == cell[2] for cell in cells)


def test_games_on_stand_ins_of_another_size_claim_nothing(claims_table):
    games = claims_table[claims_table["origin"].isin(["cifar10_dp", "sst2_dp", "sst2_nodp"])]
    assert len(games) > 15
    assert set(games["verdict"]) == {"not run"}


def test_each_end_of_the_references_is_measured_once(exact_record):
    cells = [r["cell"] for r in exact_record.rows if r["item"] == "references"]
    assert len(cells) == 46
    assert len(set(cells)) == 23


def test_infinite_ends_say_so_in_their_note(exact_record):
    infinite = [r for r in exact_record.rows if r["value"] == math.inf]
    assert infinite
    assert {r["note"] for r in infinite} == {"inf"}


def test_the_coverage_summary_counts_points_below_their_level(exact_record):
    points = {
        method: value(exact_record, "coverage", "points_below_nominal", method=method)["value"]
        for method in ("bayesian", "jeffreys", "clopper-pearson")
    }
    assert points["clopper-pearson"] == 0
    assert points["bayesian"] >= 2
    row = value(
        exact_record,
        "coverage",
        "coverage",
        mechanism="Gaussian",
        parameter=1,
        threshold=0,
        method="bayesian",
    )
    assert row["n"] == 3000
    share = row["value"]
    assert row["std"] == pytest.approx(math.sqrt(share * (1 - share) * 3000 / 2999))


def test_operating_points_are_the_configured_ones(audit_settings):
    points = operating_points(audit_settings)
    assert [p.mechanism for p in points] == ["randomised response"] * 2 + ["Gaussian"] * 2


def test_curves_hold_every_region_and_both_readings(exact_curves):
    region = exact_curves[exact_curves["figure"] == "figure2"]
    assert region.groupby(["epsilon", "delta"]).ngroups == 6
    assert set(exact_curves["figure"]) == {"figure2", "figure3_printed", "figure3_found"}
    found = exact_curves[exact_curves["figure"] == "figure3_found"]
    assert set(found["curve"]) == {
        "rectangle",
        "band_low",
        "band_high",
        "credible_low",
        "credible_high",
    }


def test_the_replacement_epsilon_is_the_larger_one(exact_record):
    for setting, target in (("CIFAR-10 DP", 8), ("CIFAR-10 DP", 10), ("SST-2 DP", 8)):
        axes = {"setting": setting, "target": target}
        added, swapped = (
            value(exact_record, "accounting", "epsilon", **axes, adjacency=a)["value"]
            for a in ("add-remove", "replace-one")
        )
        assert added == pytest.approx(target, abs=0.1)
        assert swapped > added + 0.5


def test_a_missing_published_file_is_one_clear_error(audit_published):
    with pytest.raises(UserError, match="bayes_nothing.csv"):
        published_rows(audit_published, "bayes_nothing.csv")
    with pytest.raises(UserError, match="no row has"):
        published_rows(audit_published, "bayes_statements.csv", source="elsewhere")


def test_an_undefined_width_ratio_is_empty(audit_published):
    record = Recorder("audit", "test", 1)
    settings = {
        "alpha": 0.1,
        "delta": 0.5,
        "widths": {"trials": [20], "rates": [0.5], "unequal_rates": []},
    }
    interval_numbers._widths(record, settings)
    ratios = [r["value"] for r in record.rows if r["metric"] == "bayesian_over_method"]
    assert len(ratios) == 3
    assert all(ratio is None or math.isfinite(ratio) for ratio in ratios)
