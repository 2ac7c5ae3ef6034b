import csv
import math

import numpy as np
import pytest
from scipy import integrate

from leakmeter.audit.figures_data import (
    example_rows,
    rate_density,
    region_rows,
    settings_rows,
    worked_example,
)
from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.region import epsilon_at_rates, region_outline
from leakmeter.runtime import UserError

TALLY = {"fn": 35, "tp": 65, "fp": 25, "tn": 75}


@pytest.fixture(scope="module")
def example():
    return worked_example(**TALLY, delta=0.05, alpha=0.05, method="clopper-pearson")


@pytest.fixture
def printed(root):
    path = root / "resources/published/bayes_worked_example_200.csv"
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


def value(rows, text, column="lo", source="published"):
    (row,) = [r for r in rows if r["quantity"].startswith(text) and r["source"] == source]
    return float(row[column])


def test_every_printed_number_follows_from_clopper_pearson_at_95_percent(example, printed):
    """The paper prints Jeffreys and 90 %; delta = 0.05 and alpha = 0.05 give what it prints."""
    for quantity, low, high in (
        ("interval from rate intervals", example.rectangle_low, example.rectangle_high),
        ("Bayesian credible interval", example.credible_low, None),
    ):
        assert low == pytest.approx(value(printed, quantity), abs=5e-4)
        if high is not None:
            assert high == pytest.approx(value(printed, quantity, "hi"), abs=5e-4)
    masses = {
        "posterior mass of rectangle": example.rectangle_mass,
        "posterior mass of enclosing band": example.band_mass,
        "posterior mass of credible band": example.credible_mass,
    }
    for quantity, mass in masses.items():
        assert mass == pytest.approx(value(printed, quantity), abs=5e-4)
    # the upper credible end is the one digit that needs the released package's tolerances
    assert abs(example.credible_high - value(printed, "Bayesian", "hi")) > 1e-3


def test_the_upper_credible_end_follows_from_the_loose_tolerances(printed):
    rows = settings_rows(**TALLY, settings=[("fit", 0.05, 0.05, "clopper-pearson")])
    (loose,) = [r for r in rows if r["quantity"] == "credible interval, loose"]
    assert loose["low"] == pytest.approx(value(printed, "Bayesian"), abs=6e-4)
    assert loose["high"] == pytest.approx(value(printed, "Bayesian", "hi"), abs=6e-4)


def test_the_printed_settings_do_not_give_the_printed_numbers(printed):
    rows = settings_rows(
        **TALLY, settings=[("tiny delta", 1e-5, 0.1, "jeffreys"), ("fit", 0.05, 0.1, "jeffreys")]
    )
    for label in ("tiny delta", "fit"):
        (rate,) = [r for r in rows if (r["settings"], r["quantity"]) == (label, "rate interval")]
        assert abs(rate["low"] - value(printed, "interval from rate intervals")) > 0.05
    columns = {"settings", "delta", "alpha", "method", "quantity", "low", "high"}
    assert all(set(r) == columns for r in rows)
    assert len(rows) == 12


def test_derived_rows(printed):
    for row in printed:
        if row["source"] != "derived" or "author package" in row["quantity"]:
            continue
        method = "jeffreys" if row["quantity"].startswith("Jeffreys") else "clopper-pearson"
        ours = worked_example(
            **TALLY, delta=float(row["delta"]), alpha=float(row["alpha"]), method=method
        )
        if "mass" in row["quantity"]:
            mass = ours.band_mass if "band" in row["quantity"] else ours.rectangle_mass
            assert mass == pytest.approx(float(row["lo"]), abs=5e-5)
        else:
            kind = "credible" if row["quantity"].startswith("credible") else "rectangle"
            ends = getattr(ours, f"{kind}_low"), getattr(ours, f"{kind}_high")
            assert ends == pytest.approx([float(row["lo"]), float(row["hi"])], abs=1e-5)


def test_masses_against_sampling(example):
    random = np.random.default_rng(2)
    x, y = random.beta(35.5, 65.5, 10**6), random.beta(25.5, 75.5, 10**6)
    inside = (example.fnr_low < x) & (x < example.fnr_high)
    inside &= (example.fpr_low < y) & (y < example.fpr_high)
    assert inside.mean() == pytest.approx(example.rectangle_mass, abs=1e-3)
    epsilon = epsilon_at_rates(x, y, delta=0.05)
    band = (example.rectangle_low <= epsilon) & (epsilon <= example.rectangle_high)
    assert band.mean() == pytest.approx(example.band_mass, abs=3e-4)
    assert (band | ~inside).all()  # the band encloses the rectangle


def test_the_rectangle_has_more_than_its_nominal_level(example):
    assert example.rectangle_confidence > 1 - example.alpha
    assert example.rectangle_mass > 1 - example.alpha
    assert example.band_mass > example.rectangle_mass
    assert example.credible_mass == pytest.approx(1 - example.alpha, abs=1e-9)
    width = example.credible_high - example.credible_low
    assert example.narrowing == pytest.approx(
        1 - width / (example.rectangle_high - example.rectangle_low)
    )


def test_an_example_with_zero_and_infinite_ends():
    ours = worked_example(fn=0, tp=9, fp=7, tn=2, delta=0.1, alpha=0.1, method="jeffreys")
    assert (ours.rectangle_low, ours.rectangle_high) == (0, math.inf)
    assert ours.band_mass == pytest.approx(1)
    assert ours.narrowing == 1
    assert ours.credible_low == 0
    assert ours.credible_mass == pytest.approx(0.95, abs=1e-9)
    curves = {r["curve"]: r["epsilon"] for r in example_rows(ours)}
    assert curves["band_high"] == math.inf


def test_example_rows_are_the_curves(example):
    rows = example_rows(example)
    curves = {}
    for row in rows:
        curves.setdefault(row["curve"], []).append((row["fnr"], row["fpr"]))
    names = {"rectangle", "band_low", "band_high", "credible_low", "credible_high"}
    assert set(curves) == names
    assert all(points[0] == points[-1] for points in curves.values())
    corners = epsilon_at_rates(*np.array(curves["rectangle"]).T, delta=0.05)
    assert corners.max() == pytest.approx(example.rectangle_high)
    assert corners.min() == pytest.approx(example.rectangle_low)
    expected = np.transpose(region_outline(epsilon=example.credible_high, delta=0.05))
    np.testing.assert_array_equal(curves["credible_high"], expected)


def test_region_rows():
    rows = region_rows(epsilons=[0.0, 1.0], deltas=[0.0, 0.1])
    assert len(rows) == 4 * 9
    assert list(rows[0]) == ["epsilon", "delta", "vertex", "fnr", "fpr"]
    part = [r for r in rows if (r["epsilon"], r["delta"]) == (1.0, 0.1)]
    assert [r["vertex"] for r in part] == list(range(9))
    assert part[1]["fnr"] == part[1]["fpr"] == pytest.approx(0.9 / (1 + math.e))
    # area of the octagon by the shoelace formula, against integrating the boundaries
    x, y = (np.array([r[k] for r in part]) for k in ("fnr", "fpr"))
    area = np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / 2
    c = 0.9 / (1 + math.e)
    assert area == pytest.approx(1 - 2 * (c * c + c * (0.9 - c)), abs=1e-12)


def test_rate_density_has_mass_one():
    density = integrate.dblquad(lambda y, x: rate_density(x, y, **TALLY), 0, 1, 0, 1, epsabs=1e-7)
    assert density[0] == pytest.approx(1, abs=1e-6)
    assert rate_density([0.1, 0.2], [[0.3], [0.4]], **TALLY).shape == (2, 2)
    assert rate_density(0.0, 0.5, fn=0, tp=5, fp=1, tn=1) == math.inf


def test_bad_arguments():
    with pytest.raises(UserError, match="method must be one of jeffreys, clopper-pearson"):
        worked_example(**TALLY, delta=0.0, alpha=0.1, method="bayesian")
    with pytest.raises(UserError, match="alpha must lie in"):
        worked_example(**TALLY, delta=0.0, alpha=1.0, method="jeffreys")


def test_credible_interval_is_the_public_one(example):
    low, high = epsilon_interval(**TALLY, delta=0.05, alpha=0.05)
    assert (example.credible_low, example.credible_high) == (low, high)
