"""The mechanisms as a user calls them, and their sensitivity over all neighbours of small sets."""

import itertools
import math

import numpy as np
import pytest

from leakmeter.dpauc import private_release
from leakmeter.dpauc.composition import zcdp_rho
from leakmeter.dpauc.counting import count
from leakmeter.dpauc.exact import exact_auc
from leakmeter.dpauc.histogram_release import centred_ranks
from leakmeter.dpauc.mechanisms import laplace_auc
from leakmeter.dpauc.private_release import (
    METHODS,
    RANK_SUM_SHARE,
    NoBudget,
    auc_error,
    binned_auc,
    epsilon_for_error,
    private_auc,
    rank_sum_noise,
    simulate_private_auc,
)
from leakmeter.dpauc.randomized import randomized_response_from_counts
from leakmeter.dpauc.roc import CurveOptions, auc_from_counts
from leakmeter.runtime import UserError

RNG = np.random.default_rng(0)
LABELS = (RNG.random(4000) < 0.3).astype(int)
SCORES = RNG.beta(2 + LABELS, 5 - LABELS)
GRID = np.linspace(0, 1, 21)[-2:0:-1]
COUNTS = count(SCORES, LABELS, GRID)
BY_FORMULA = [name for name, method in METHODS.items() if method.closed_form]


# --- sensitivity --------------------------------------------------------------------------------

PLACES = np.array([0.9, 0.6, 0.6, 0.2, 0.1])
CUTS = np.array([0.75, 0.5, 0.15])


def histogram(labels):
    return np.concatenate(count(PLACES, labels, CUTS, both_classes=False).bins())


def positives(labels):
    return count(PLACES, labels, CUTS, both_classes=False).bins()[0]


def rank_sum(labels):
    p, n = count(PLACES, labels, CUTS, both_classes=False).bins()
    return np.array([p @ np.rint(2 * PLACES.size * centred_ranks(p + n)), p.sum()])


def neighbours():
    """All pairs of label vectors of five records that differ in one label, empty classes too."""
    for labels in itertools.product((0, 1), repeat=5):
        for i in range(5):
            other = list(labels)
            other[i] = 1 - other[i]
            yield np.array(labels), np.array(other)


@pytest.mark.parametrize(
    ("statistic", "l1", "l2"), [(histogram, 2, math.sqrt(2)), (positives, 1, 1)]
)
def test_sensitivity_over_all_neighbours(statistic, l1, l2):
    moved = [statistic(a) - statistic(b) for a, b in neighbours()]
    assert {np.abs(d).sum() for d in moved} == {l1}
    assert max(np.linalg.norm(d) for d in moved) == pytest.approx(l2)


def test_sensitivity_of_a_histogram_to_a_replaced_record():
    """Score and label: one count falls and one rises, as for a label alone."""
    kinds = list(itertools.product((0.9, 0.6, 0.2, 0.1), (0, 1)))
    base_scores, base_labels = [0.9, 0.2], [0, 1]
    for old, new in itertools.product(kinds, repeat=2):
        bins = [
            np.concatenate(count([*base_scores, s], [*base_labels, y], CUTS).bins())
            for s, y in (old, new)
        ]
        assert np.abs(bins[0] - bins[1]).sum() <= 2


def test_the_rank_sum_is_an_integer_that_moves_by_less_than_the_number_of_records():
    moved = np.array([rank_sum(a) - rank_sum(b) for a, b in neighbours()])
    assert np.abs(moved[:, 0]).max() <= PLACES.size - 1
    assert (np.abs(moved[:, 1]) == 1).all()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_privacy_loss_of_the_discrete_histogram_over_all_neighbours_and_outputs(epsilon):
    """Masses of the released vector in a box of outputs; the loss reaches epsilon and no more."""
    q = math.exp(-epsilon / 2)
    outputs = np.array(list(itertools.product(range(-1, 3), repeat=4)))
    worst = 0.0
    for a, b in neighbours():
        # only two bins, to keep the box small
        first, second = (
            np.concatenate(count(PLACES, y, CUTS[1:2], both_classes=False).bins()) for y in (a, b)
        )
        log_a = math.log(q) * np.abs(outputs - first).sum(axis=1)
        log_b = math.log(q) * np.abs(outputs - second).sum(axis=1)
        worst = max(worst, np.abs(log_a - log_b).max())
    assert worst == pytest.approx(epsilon)


@pytest.mark.parametrize("law", ["discrete", "laplace"])
def test_the_two_numbers_of_a_rank_sum_share_epsilon(law):
    noise_v, noise_p = rank_sum_noise(5, 1.5, law, None, 1)
    loss = max(
        abs(d[0]) * noise_v.parameter + abs(d[1]) * noise_p.parameter
        for d in (rank_sum(a) - rank_sum(b) for a, b in neighbours())
    )
    assert loss <= 1.5 + 1e-12
    assert noise_p.parameter == pytest.approx(1.5 * (1 - RANK_SUM_SHARE))


def test_the_two_numbers_of_a_rank_sum_share_rho():
    noise_v, noise_p = rank_sum_noise(5, 1.0, "gaussian", 1e-5, 1)
    spent = (4 / noise_v.parameter) ** 2 / 2 + (1 / noise_p.parameter) ** 2 / 2
    assert spent == pytest.approx(zcdp_rho(1.0, 1e-5))


# --- errors -------------------------------------------------------------------------------------


def laws(method):
    return [(method, law) for law in METHODS[method].noises]


@pytest.mark.parametrize(("method", "law"), [pair for m in BY_FORMULA for pair in laws(m)])
def test_the_closed_form_agrees_with_simulation(method, law):
    options = {"epsilon": 1.0, "method": method, "clients": 20, "noise": law, "delta": 1e-5}
    found = auc_error(COUNTS, **options)
    aucs = simulate_private_auc(COUNTS, repeats=20_000, seed=1, **options)
    assert found.simulated == 0
    assert aucs.std() == pytest.approx(found.std, rel=0.05)
    allowed = 4 * aucs.std() / math.sqrt(aucs.size) + 0.1 * abs(found.bias)
    assert aucs.mean() - binned_auc(COUNTS) == pytest.approx(found.bias, abs=allowed)


def test_the_paper_s_mechanism_is_the_paper_s():
    per_count = 1.0 / (4 * GRID.size)
    expected = laplace_auc(COUNTS, clients=5, epsilon_per_count=per_count, repeats=7, seed=3)
    options = {"epsilon": 1.0, "clients": 5, "repeats": 7, "seed": 3}
    assert (simulate_private_auc(COUNTS, method="paper", **options) == expected).all()
    half = simulate_private_auc(COUNTS, method="paper", **options | {"epsilon": 2.0})
    assert (simulate_private_auc(COUNTS, method="paper_tight", **options) == half).all()


def test_randomized_response_is_the_debiased_one():
    """Removing the bias from the area, as the authors do, or from the counts is the same."""
    ours = simulate_private_auc(
        COUNTS, epsilon=1.0, method="randomized_response", repeats=6, seed=5
    )
    theirs = randomized_response_from_counts(
        COUNTS, epsilon=1.0, repeats=6, seed=5, options=CurveOptions(sort="none", end_points=True)
    )
    assert ours == pytest.approx(theirs.auc)


def test_at_one_guarantee_each_step_away_from_the_paper_is_an_improvement():
    spread = {
        method: auc_error(COUNTS, epsilon=1.0, method=method, clients=10, delta=1e-5).rmse
        for method in METHODS
    }
    order = ["paper", "paper_tight", "histogram", "positives", "rank_sum"]
    for worse, better in itertools.pairwise(order):
        assert spread[better] < spread[worse]


@pytest.mark.parametrize("method", ["histogram", "positives", "rank_sum", "randomized_response"])
def test_the_budget_of_an_error(method):
    epsilon = epsilon_for_error(COUNTS, error=0.01, method=method, clients=10)
    found = auc_error(COUNTS, epsilon=epsilon, method=method, clients=10)
    assert found.rmse == pytest.approx(0.01, rel=1e-3)


def test_the_budget_of_an_error_of_the_paper_s_mechanism():
    epsilon = epsilon_for_error(COUNTS, error=0.02, method="paper_tight")
    found = auc_error(COUNTS, epsilon=epsilon, method="paper_tight")
    assert found.simulated > 0
    assert found.rmse == pytest.approx(0.02, rel=0.02)


SMALL = count(np.linspace(0.02, 0.98, 20), np.arange(20) % 7 == 5, np.linspace(0.9, 0.1, 9))


@pytest.mark.parametrize("method", ["histogram", "positives", "rank_sum", "randomized_response"])
def test_the_budget_where_the_closed_form_does_not_hold(method):
    """Three positives: the budget is that of other releases' error, not of the formula's."""
    epsilon = epsilon_for_error(SMALL, error=0.08, method=method)
    plan = {"method": method, "repeats": 20_000}
    aucs = simulate_private_auc(SMALL, epsilon=epsilon, seed=5, **plan)
    assert np.isnan(aucs).mean() < 0.02
    rmse = np.sqrt(np.nanmean((aucs - binned_auc(SMALL)) ** 2))
    assert rmse == pytest.approx(0.08, rel=0.08)
    higher = simulate_private_auc(SMALL, epsilon=1.5 * epsilon, seed=6, **plan)
    assert np.nanmean((higher - binned_auc(SMALL)) ** 2) < 0.08**2


def test_releases_without_an_auc_do_not_meet_an_error():
    """A third of the releases at epsilon 1 have no AUC; the rest alone would meet any error."""
    epsilon = epsilon_for_error(SMALL, error=0.9, method="randomized_response")
    aucs = simulate_private_auc(
        SMALL, epsilon=epsilon, method="randomized_response", repeats=20_000, seed=5
    )
    assert np.isnan(aucs).mean() < 0.015
    assert np.isnan(
        simulate_private_auc(SMALL, epsilon=0.5, method="randomized_response", repeats=999, seed=5)
    ).any()


@pytest.mark.parametrize(
    ("counts", "error", "settings", "reason"),
    [
        (SMALL, 1e-12, {"method": "paper"}, "it is .* even there"),
        (SMALL, 1e-4, {"exact": 0.9}, "pairs tied within bins alone make .*, so use more"),
        (SMALL, 1e-4, {"method": "rank_sum", "exact": 0.9}, "it is .* even there"),
    ],
)
def test_why_no_budget_has_an_error(counts, error, settings, reason):
    with pytest.raises(NoBudget, match=f"no epsilon up to 10000 has an error of .*: {reason}"):
        epsilon_for_error(counts, error=error, **settings)


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("epsilon", [0.0, 1e-10, 1e10, float("inf"), float("nan"), -1.0])
def test_budgets_out_of_range_are_refused(method, epsilon):
    with pytest.raises(UserError, match="expected a number from 1e-09 to 1e\\+09"):
        auc_error(SMALL, epsilon=epsilon, method=method, delta=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("epsilon", [1e-9, 1e9])
def test_ends_of_the_range_of_budgets_can_be_computed(method, epsilon):
    aucs = simulate_private_auc(
        SMALL, epsilon=epsilon, method=method, clients=3, delta=1e-5, repeats=50, seed=0
    )
    assert not np.isinf(aucs).any()
    if epsilon > 1:
        whole = auc_from_counts(SMALL) if method.startswith("paper") else binned_auc(SMALL)
        assert aucs == pytest.approx(whole, abs=1e-6)


def test_ties_of_coarse_bins_are_part_of_the_error():
    coarse = count(SCORES, LABELS, [0.5])
    exact = exact_auc(SCORES, LABELS)
    with pytest.raises(UserError, match="pairs tied within bins alone"):
        epsilon_for_error(coarse, error=0.001, exact=exact)
    fine = epsilon_for_error(COUNTS, error=0.02, exact=exact)
    assert fine > epsilon_for_error(COUNTS, error=0.02)


# --- releases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", list(METHODS))
def test_a_release(method):
    released = private_auc(SCORES, LABELS, epsilon=4.0, method=method, delta=1e-5, seed=1)
    assert released.auc == pytest.approx(exact_auc(SCORES, LABELS), abs=0.1)
    assert released.delta == (1e-5 if method == "paper_pld" else 0.0)
    assert released.server_learns == METHODS[method].server_learns
    if METHODS[method].closed_form:
        low, high = released.interval(0.999)
        assert low < exact_auc(SCORES, LABELS) + released.tie_bound
        assert high > exact_auc(SCORES, LABELS) - released.tie_bound
        if method != "rank_sum":  # which makes no bins of its own
            released = private_auc(
                SCORES, LABELS, epsilon=4.0, method=method, thresholds=GRID, seed=1
            )
        planned = auc_error(COUNTS, epsilon=4.0, method=method)
        assert released.std == pytest.approx(planned.std, rel=0.3)


@pytest.mark.parametrize("method", BY_FORMULA)
def test_intervals_from_the_release_alone_cover(method):
    """Coverage of the 90 % interval over 300 releases, for the AUC of the same bins."""
    thresholds = GRID
    hits = 0
    for seed in range(300):
        released = private_auc(
            SCORES, LABELS, epsilon=3.0, method=method, thresholds=thresholds, clients=3, seed=seed
        )
        low, high = released.interval(0.9)
        hits += low <= binned_auc(COUNTS) <= high
    assert 0.84 <= hits / 300 <= 0.95


def test_clients_may_be_owners():
    owners = np.arange(LABELS.size) % 7
    released = private_auc(SCORES, LABELS, epsilon=4.0, clients=owners, seed=1)
    assert released.clients == 7
    assert released == private_auc(SCORES, LABELS, epsilon=4.0, clients=7, seed=1)


@pytest.mark.parametrize("method", list(METHODS))
def test_a_seed_makes_a_release_repeatable(method):
    options = {"epsilon": 4.0, "method": method, "delta": 1e-5, "seed": 1}
    a, b = (private_auc(SCORES, LABELS, **options) for _ in range(2))
    assert a.auc == b.auc


def test_without_a_seed_releases_differ():
    a, b = (private_auc(SCORES, LABELS, epsilon=1.0) for _ in range(2))
    assert a.auc != b.auc


def test_a_rank_sum_needs_no_bins():
    released = private_auc(SCORES, LABELS, epsilon=1e4, method="rank_sum", seed=1)
    assert released.auc == pytest.approx(exact_auc(SCORES, LABELS), abs=1e-4)
    assert released.tie_bound == 0
    assert released.bins == np.unique(SCORES).size


def test_public_totals_take_bins_of_equal_mass_from_any_range():
    released = private_auc(
        100 * SCORES - 50, LABELS, epsilon=100.0, method="positives", thresholds=50, seed=1
    )
    assert released.bins == 50
    assert released.auc == pytest.approx(exact_auc(SCORES, LABELS), abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "method is 'best'; expected one of paper"),
        ({"noise": "flips"}, "noise is 'flips'; method histogram takes discrete"),
        ({"noise": "gaussian"}, "delta is None"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"clients": 0}, "clients is 0"),
        ({"clients": 1.5}, "clients is 1.5; expected an integer of at least 1"),
        ({"clients": [0, 1]}, r"clients has shape \(2,\); expected \(4000,\)"),
        ({"clients": np.zeros((4000, 2), int)}, r"clients has shape \(4000, 2\)"),
        ({"clients": np.full(4000, 0.5)}, "clients must be"),
        ({"thresholds": 1}, "thresholds is 1; expected an integer of at least 2"),
        ({"thresholds": 20.7}, "thresholds is 20.7; expected an integer"),
        ({"thresholds": math.nan}, "thresholds is nan"),
        ({"thresholds": None}, "thresholds is None"),
        ({"thresholds": "a"}, "thresholds is 'a'"),
        ({"thresholds": ["a", "b"]}, "thresholds is .*; expected numbers"),
        ({"epsilon": "1"}, "epsilon is '1'; expected a number"),
        ({"epsilon": None}, "epsilon is None"),
        ({"epsilon": True}, "epsilon is True"),
        ({"noise": "gaussian", "delta": "a"}, "delta is 'a'; expected a number strictly between"),
        ({"noise": ""}, "noise is ''"),
        ({"seed": -1}, "seed is -1; expected an integer of at least 0"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"method": ["histogram"]}, r"method is \['histogram'\]"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(UserError, match=message):
        private_auc(SCORES, LABELS, **{"epsilon": 1.0} | arguments)


def test_scores_outside_a_fixed_range_fall_into_the_outer_bins():
    """A refusal would depend on the scores, which the guarantee covers."""
    wide = 3 * SCORES - 1
    assert private_auc(wide, LABELS, epsilon=1.0, seed=1) == private_auc(
        np.clip(wide, 0, 1), LABELS, epsilon=1.0, seed=1
    )
    assert math.isfinite(private_auc(np.where(LABELS, np.inf, SCORES), LABELS, epsilon=1.0).auc)


@pytest.mark.parametrize("method", ["positives", "rank_sum", "randomized_response"])
def test_thresholds_are_not_made_of_infinite_scores(method):
    scores = SCORES.copy()
    scores[7] = np.inf
    with pytest.raises(UserError, match=rf"scores\[7\] is inf; .* of which method {method} makes"):
        private_auc(scores, LABELS, epsilon=1.0, method=method)
    given = private_auc(scores, LABELS, epsilon=9.0, method=method, thresholds=GRID, seed=1)
    assert math.isfinite(given.auc)


def test_levels_of_intervals():
    released = private_auc(SCORES, LABELS, epsilon=9.0, seed=1)
    for level in (0, 1, 2, math.nan, "a"):
        with pytest.raises(UserError, match=f"level is .*{level}.*; expected a number strictly"):
            released.interval(level)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("epsilon", [0.1, 1e6])
@pytest.mark.parametrize("method", list(METHODS))
def test_a_class_may_be_empty(method, epsilon, value):
    """A refusal would tell that it is: every neighbour would be released."""
    scores = np.linspace(0.01, 0.99, 50)
    for seed in range(30):
        released = private_auc(
            scores, np.full(50, value), epsilon=epsilon, method=method, delta=1e-5, seed=seed
        )
        assert not released.reliable


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", list(METHODS))
def test_noisy_sizes_of_zero_are_released(method):
    """Small classes under much noise: noisy sizes meet 0 and M exactly in some releases."""
    labels = np.arange(200) < 20
    scores = np.random.default_rng(0).random(200) * 0.6 + 0.3 * labels
    undefined = 0
    for seed in range(600 if METHODS[method].closed_form else 50):
        released = private_auc(
            scores, labels, epsilon=0.5, method=method, thresholds=20, delta=1e-5, seed=seed
        )
        undefined += math.isnan(released.auc)
        if math.isnan(released.auc):
            assert not released.reliable
            assert math.isnan(released.tie_bound) or released.tie_bound == 0
    assert undefined > 0 or not METHODS[method].closed_form


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("clients", [0, -3, 2.5, True, "2", None])
def test_planning_refuses_the_clients_that_a_release_refuses(method, clients):
    options = {"method": method, "clients": clients, "delta": 1e-5}
    for call in (
        lambda: auc_error(SMALL, epsilon=1.0, **options),
        lambda: epsilon_for_error(SMALL, error=0.1, **options),
        lambda: simulate_private_auc(SMALL, epsilon=1.0, repeats=2, seed=0, **options),
        lambda: private_auc([0.1, 0.9], [0, 1], epsilon=1.0, **options),
    ):
        with pytest.raises(UserError, match="clients is .*; expected an integer of at least 1"):
            call()


def test_errors_of_releases_some_of_which_have_no_auc():
    scores = np.linspace(0, 1, 40)
    counts = count(scores, np.arange(40) % 13 == 5, np.linspace(0.9, 0.1, 9))
    found = auc_error(counts, epsilon=0.1, method="stoddard")
    assert 0 < found.undefined < 1
    assert math.isfinite(found.rmse)
    assert not found.reliable
    assert auc_error(COUNTS, epsilon=9.0, method="stoddard").reliable


@pytest.mark.parametrize(
    ("method", "bins", "size", "clients"),
    [
        ("histogram", 2000, 1500, 1),
        ("histogram", 100, 20_000, 1000),
        ("positives", 100, 5000, 1000),
        ("randomized_response", 100, 5000, 1),
    ],
)
def test_the_estimate_of_the_ties_of_one_full_bin(method, bins, size, clients):
    """All records tie, so the bound is 1/2; noise in the other bins must not water it down."""
    scores, labels = np.full(2 * size, 0.5 / bins), np.arange(2 * size) % 2
    grid = np.arange(bins - 1, 0, -1) / bins
    found = [
        private_auc(
            scores, labels, epsilon=1.0, method=method, thresholds=grid, clients=clients, seed=seed
        ).tie_bound
        for seed in range(20)
    ]
    assert np.mean(found) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("method", ["stoddard", "histogram", "positives", "randomized_response"])
def test_repeats_are_drawn_in_batches_of_bounded_size(monkeypatch, method):
    counts = count(SCORES, LABELS, np.linspace(0.9, 0.1, 9))
    arguments = {"epsilon": 0.5, "repeats": 500, "seed": 1, "method": method}
    whole = simulate_private_auc(counts, **arguments)
    monkeypatch.setattr(private_release, "_DRAWN_AT_ONCE", 700)
    parts = simulate_private_auc(counts, **arguments)
    assert len(parts) == 500
    assert len(np.unique(parts)) > 400
    error = np.hypot(whole.std(), parts.std()) / math.sqrt(500)
    assert abs(whole.mean() - parts.mean()) < 5 * error


def test_trees_over_too_many_bins_are_refused():
    with pytest.raises(UserError, match="stoddard got 3000 bins; expected at most 2048"):
        private_auc(SCORES, LABELS, epsilon=1.0, method="stoddard", thresholds=3000)
