import csv

import pytest

from leakmeter.audit.intervals import epsilon_interval
from leakmeter.audit.loose_quadrature import ROOT_TOLERANCE, loose_epsilon_interval
from leakmeter.runtime import UserError


@pytest.mark.parametrize("tally", [(35, 65, 25, 75), (12, 200, 58, 200), (65, 35, 75, 25)])
def test_within_its_tolerance_of_the_exact_ends(tally):
    named = dict(zip(("fn", "tp", "fp", "tn"), tally, strict=True))
    loose = loose_epsilon_interval(**named, delta=1e-5, alpha=0.1)
    exact = epsilon_interval(**named, delta=1e-5, alpha=0.1)
    assert loose == pytest.approx(exact, abs=2 * ROOT_TOLERANCE)
    assert loose != pytest.approx(exact, abs=1e-6)


def test_the_released_example_follows_from_the_tolerances(root):
    """The printed digits are the loose ones; the exact ends differ in the second digit."""
    path = root / "resources/published/bayes_author_repo_example.csv"
    with open(path, newline="") as handle:
        rows = [r for r in csv.DictReader(handle) if r["method"] == "joint beta"]
    printed = next(r for r in rows if r["source"] == "published")
    derived = next(r for r in rows if r["source"] == "derived")
    named = {name.lower(): int(printed[name]) for name in ("FN", "TP", "FP", "TN")}
    named |= {"delta": float(printed["delta"]), "alpha": float(printed["alpha"])}
    ends = [float(printed["eps_lo"]), float(printed["eps_hi"])]
    assert loose_epsilon_interval(**named) == pytest.approx(ends, abs=6e-4)
    exact = epsilon_interval(**named)
    assert exact == pytest.approx([float(derived["eps_lo"]), float(derived["eps_hi"])], abs=1e-5)
    assert abs(exact[1] - ends[1]) > 0.01


def test_a_useless_attack_gets_zero():
    low, high = loose_epsilon_interval(fn=20, tp=20, fp=20, tn=20, delta=0.3, alpha=0.1)
    assert low == 0
    assert high == pytest.approx(
        epsilon_interval(fn=20, tp=20, fp=20, tn=20, delta=0.3, alpha=0.1)[1], abs=0.02
    )


def test_ends_above_the_cap_are_refused():
    with pytest.raises(UserError, match="up to epsilon = 10"):
        loose_epsilon_interval(fn=0, tp=1000, fp=0, tn=1000, delta=1e-5, alpha=0.1)


def test_bad_tally():
    with pytest.raises(UserError, match="fn must count trials"):
        loose_epsilon_interval(fn=-1, tp=1, fp=1, tn=1, delta=0.0, alpha=0.1)
