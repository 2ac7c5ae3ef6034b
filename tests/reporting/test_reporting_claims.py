"""Verdicts of the claims engine, on small tables whose answers are known."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakmeter.reporting import claim_tests as rules
from leakmeter.reporting import claims as c
from leakmeter.reporting.measurements import COLUMNS
from leakmeter.reporting.present import count_verdicts
from leakmeter.runtime import UserError

CONFIG = {"scale": "smoke", "seed": 1, "claims": {"level": 0.01}, "grid": {"epsilons": [8, 1]}}


def row(cell="epsilon=8", value=0.7, *, std=0.01, n=100, data="authors", metric="auc", **extra):
    return {
        **dict.fromkeys(COLUMNS),
        "paper": "p",
        "item": "t",
        "cell": cell,
        "origin": "o",
        "metric": metric,
        "value": value,
        "std": std,
        "n": n,
        "source_std": 0.0,
        "m": 1000,
        "data": data,
        "scale": "smoke",
        "seed": 1,
        "note": "",
        **extra,
    }


def claim(**changes):
    return {
        "id": "c",
        "paper": "p",
        "item": "t",
        "place": "Table",
        "statement": "mean",
        "published": {"file": "t.csv", "n": 50, "cell": {"epsilon": "epsilon"}},
        "measured": {"origin": "o", "metric": "auc"},
        "test": "mean",
        **changes,
    }


@pytest.fixture
def evaluate(tmp_path):
    def run(
        claims, rows, *, published="epsilon,value,std\n8,0.70,0.01\n", draws=None, config=CONFIG
    ):
        (tmp_path / "t.csv").write_text(published)
        engine = c.Engine(pd.DataFrame(rows, columns=list(COLUMNS)), draws or {}, tmp_path, config)
        return engine.evaluate(claims if isinstance(claims, list) else [claims])

    return run


# --- single tests -------------------------------------------------------------------------------


def measured(value, std=0.01, n=100, **extra):
    fields = {"source_std": 0.0, "data": "authors", "scale": "s", "m": None, **extra}
    return rules.Measured(value=value, std=std, n=n, **fields)


def test_mean_agrees_with_scipy():
    # the published spread has divisor n; rounding error is negligible at this many digits
    published = rules.Published(0.70, "0.7000000000", 0.02, 50)
    outcome = rules.compare_mean(published, measured(0.71, 0.03, 80))
    expected = stats.ttest_ind_from_stats(
        0.71, 0.03, 80, 0.70, 0.02 * math.sqrt(50 / 49), 50, equal_var=False
    )
    assert outcome.p == pytest.approx(expected.pvalue, rel=1e-9)


def test_mean_has_the_right_level():
    """Both sides from one law: p-values are uniform."""
    rng = np.random.default_rng(3)
    p = []
    for _ in range(2000):
        theirs, ours = rng.normal(size=50), rng.normal(size=100)
        published = rules.Published(theirs.mean(), "0.0000000000", theirs.std(), 50)
        p.append(rules.compare_mean(published, measured(ours.mean(), ours.std(ddof=1))).p)
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_spread_has_the_right_level_and_sees_a_doubled_spread():
    rng = np.random.default_rng(4)
    p = []
    for seed in range(200):
        theirs, ours = rng.normal(size=50), rng.normal(size=400)
        value = measured(ours.mean(), ours.std(ddof=1), 400, draws=ours)
        p.append(
            rules.compare_spread(rules.Published(0, "0", theirs.std(), 50), value, seed=seed).p
        )
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    doubled = rules.Published(0, "0", 2 * theirs.std(), 50)
    assert rules.compare_spread(doubled, value, seed=1).p < 1e-8


def test_single_is_a_prediction_interval():
    rng = np.random.default_rng(5)
    p = []
    for _ in range(2000):
        ours = rng.normal(size=20)
        published = rules.Published(rng.normal(), "0.0000000000")
        p.append(rules.compare_single(published, measured(ours.mean(), ours.std(ddof=1), 20)).p)
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_source_uncertainty_enters_every_test():
    published = rules.Published(0.70, "0.700000", 0.001, 50)
    sharp, vague = measured(0.71, 0.001), measured(0.71, 0.001, source_std=0.01)
    for test in (rules.compare_mean, rules.compare_single, rules.compare_given):
        assert test(published, sharp).p < 1e-6 < 0.1 < test(published, vague).p


@pytest.mark.parametrize(
    ("text", "half"), [("0.7494", 5e-5), ("27", 0.5), ("8.52e-6", 5e-9), ("1e-5", 5e-6)]
)
def test_half_unit_is_that_of_the_last_printed_digit(text, half):
    assert rules.Published(float(text), text).half_unit == pytest.approx(half)


@given(st.floats(-10, 10), st.integers(0, 6))
def test_a_rounded_value_equals_what_is_printed(value, digits):
    text = f"{value:.{digits}f}"
    assert rules.equal_as_printed(rules.Published(float(text), text), value)


def test_equal_sees_one_digit():
    assert not rules.equal_as_printed(rules.Published(0.766559, "0.7665588"), 0.7665580)


def test_text_is_compared_with_the_note_and_shown_as_our_value(evaluate):
    def table(note):
        published = "epsilon,value\n8,1;0;1\n"
        return evaluate(claim(test="text"), [row(note=note)], published=published).iloc[0]

    same, other = table("1;0;1"), table("1;1;0")
    assert (same["verdict"], same["replicated"]) == ("reproduced", "1;0;1")
    assert (other["verdict"], other["replicated"]) == ("not reproduced", "1;1;0")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_between_raw_and_bonferroni(p):
    adjusted = rules.holm(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= np.minimum(1, np.asarray(p) * len(p)) + 1e-15)


def test_holm_known_answer():
    assert rules.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])


# --- verdicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["exact", "real", "authors"])
def test_a_passing_level_is_reproduced_on_own_data(evaluate, data):
    table = evaluate(claim(), [row(data=data)])
    assert table["verdict"].tolist() == ["reproduced"]


@pytest.mark.parametrize("data", ["related", "standin"])
def test_a_level_is_never_compared_on_other_data(evaluate, data):
    table = evaluate(claim(), [row(data=data)])
    assert table["verdict"].tolist() == ["not run"]
    assert data in table["why"][0]


def test_a_calibrated_level_says_so(evaluate):
    table = evaluate(claim(calibrated=True), [row(data="standin")])
    assert table["verdict"].tolist() == ["calibrated"]
    assert evaluate(claim(calibrated=True), [row(data="related")])["verdict"][0] == "not run"


def test_a_failing_test_is_not_reproduced_and_links_the_investigation(evaluate):
    table = evaluate(claim(investigation="docs/why.md"), [row(value=0.75)])
    assert table["verdict"].tolist() == ["not reproduced"]
    assert "docs/why.md" in table["why"][0]
    assert table["difference"][0] == pytest.approx(0.05)


def test_an_exception_turns_a_failure_into_an_erratum_and_only_a_failure(evaluate):
    listed = claim(exceptions=[{"cell": {"epsilon": 8}, "erratum": "e"}])
    assert evaluate(listed, [row(value=0.75)])[["verdict", "erratum"]].values.tolist() == [
        ["erratum", "e"]
    ]
    assert evaluate(listed, [row()])["verdict"][0] == "reproduced"
    elsewhere = claim(exceptions=[{"cell": {"epsilon": 1}, "erratum": "e"}])
    assert evaluate(elsewhere, [row(value=0.75)])["verdict"][0] == "not reproduced"


def test_a_chance_baseline_that_passes_makes_the_claim_uninformative(evaluate):
    rows = [row(), row(metric="chance", value=0.701)]
    assert evaluate(claim(chance={"metric": "chance"}), rows)["verdict"][0] == "uninformative"
    rows[1]["value"] = 0.5
    assert evaluate(claim(chance={"metric": "chance"}), rows)["verdict"][0] == "reproduced"


def test_a_claim_true_by_construction_is_uninformative_if_it_passes(evaluate):
    built = claim(by_construction="both have one law")
    passed, failed = (evaluate(built, [row(value=v)]).iloc[0] for v in (0.7, 0.8))
    assert passed["verdict"] == "uninformative"
    assert passed["why"].endswith("true by construction: both have one law")
    assert failed["verdict"] == "not reproduced"


@pytest.mark.parametrize(
    ("precision", "verdict", "named"),
    [(0.8, "reproduced", "positives: "), (0.9, "not reproduced", "precision: ")],
)
def test_one_number_in_several_forms_counts_once_with_the_worst_verdict(
    evaluate, precision, verdict, named
):
    forms = {"n": "positives", "share": "precision"}
    one = claim(test="equal", measured={"origin": "o"}, metrics=forms, one_number=True)
    rows = [
        row(metric="positives", value=4, std=None, n=1),
        row(metric="precision", value=precision, std=None, n=1),
    ]
    (found,) = evaluate(one, rows, published="epsilon,metric,value\n8,n,4\n8,share,0.8\n").to_dict(
        "records"
    )
    assert (found["metric"], found["published"], found["verdict"]) == ("positives", "4", verdict)
    assert found["why"].startswith(named)
    assert found["why"].endswith("(positives, precision: one number)")


def test_summarised_claims_list_failures_and_count_the_rest(evaluate):
    published = "epsilon,value,std\n8,0.70,0.01\n4,0.70,0.01\n1,0.70,0.01\n"
    rows = [row("epsilon=8"), row("epsilon=4", 0.9), row("epsilon=1")]
    table = evaluate(claim(summarise=True), rows, published=published)
    assert table["verdict"].tolist() == ["reproduced", "not reproduced"]
    assert table["cell"].tolist() == ["cells=2 of 3", "epsilon=4"]


def test_a_missing_cell_fails_with_the_list(evaluate):
    with pytest.raises(UserError, match=r"2 claimed cells[\s\S]*epsilon=8[\s\S]*epsilon=1"):
        evaluate(claim(), [row("epsilon=4")], published="epsilon,value,std\n8,0.7,0.1\n1,0.7,0.1\n")


def test_a_listed_reason_excuses_a_missing_cell(evaluate):
    excused = claim(not_run=[{"where": {"epsilon": [8]}, "reason": "needs a cluster"}])
    table = evaluate(excused, [])
    assert table[["verdict", "why"]].values.tolist() == [["not run", "needs a cluster"]]


def test_a_cell_outside_the_configured_grid_is_not_run(evaluate):
    config = CONFIG | {"grid": {"epsilons": [1]}}
    table = evaluate(claim(grid={"epsilon": "grid.epsilons"}), [], config=config)
    assert table["verdict"][0] == "not run"
    assert "grid.epsilons" in table["why"][0]


def test_a_requirement_on_the_source_is_checked(evaluate):
    table = evaluate(claim(requires={"m": 458407}), [row()])
    assert table["verdict"][0] == "not run"
    # in the audit m is a number of trials, in DPAUC of records: the words fit both
    assert table["why"][0] == "needs m = 458,407 (here 1,000)"


def test_an_undefined_measurement_is_not_run_with_its_note(evaluate):
    table = evaluate(claim(), [row(value=math.nan, note="K exceeds the records")])
    assert table[["verdict", "why"]].values.tolist() == [["not run", "K exceeds the records"]]


def test_the_order_of_axes_and_the_spelling_of_numbers_do_not_matter(evaluate):
    two = claim(published={"file": "t.csv", "n": 50, "cell": {"a": "a", "b": "b"}})
    table = evaluate(two, [row("b=8;a=0.5")], published="a,b,value,std\n0.50,8.0,0.70,0.01\n")
    assert table["verdict"][0] == "reproduced"


def test_the_family_wise_level_is_held_over_a_claims_cells(evaluate):
    """One borderline cell among 100 is no rejection; alone it is one."""
    borderline = 0.70 + 3.0 * math.hypot(0.01 / 7, 0.001)
    published = "epsilon,value,std\n" + "".join(f"{e},0.7000000,0.01\n" for e in range(100))
    rows = [row(f"epsilon={e}", borderline if e == 8 else 0.70) for e in range(100)]
    assert set(evaluate(claim(), rows, published=published)["verdict"]) == {"reproduced"}
    alone = evaluate(claim(), rows[8:9], published="epsilon,value,std\n8,0.7000000,0.01\n")
    assert alone["verdict"].tolist() == ["not reproduced"]


def test_bias_is_compared_with_each_sources_own_baseline(evaluate):
    biased = claim(
        test="bias",
        baseline={
            "item": "free",
            "cell": {},
            "published": {"file": "t.csv", "match": {"epsilon": "epsilon"}, "value": "free"},
        },
    )
    published = "epsilon,value,std,free\n8,0.690,0.001,0.700\n"
    rows = [row(value=0.590, std=0.001, data="standin"), row("", 0.600, std=None, n=1, item="free")]
    assert evaluate(biased, rows, published=published)["verdict"][0] == "consistent"
    rows[1]["value"] = 0.610
    table = evaluate(biased, rows, published=published)
    assert table["verdict"][0] == "not reproduced"
    assert table["difference"][0] == pytest.approx(-0.01)


@pytest.mark.parametrize(
    ("statistic", "direction", "high", "low", "verdict"),
    [
        ("value", "greater", {"value": 0.8}, {"value": 0.7}, "reproduced"),
        ("value", "greater", {"value": 0.7}, {"value": 0.7}, "not reproduced"),
        ("value", "less", {"value": 0.7}, {"value": 0.8}, "reproduced"),
        ("value", "same", {"value": 0.7}, {"value": 0.7001}, "reproduced"),
        ("value", "same", {"value": 0.7}, {"value": 0.8}, "not reproduced"),
        ("std", "greater", {"std": 0.1}, {"std": 0.01}, "reproduced"),
        ("std", "less", {"std": 0.1}, {"std": 0.01}, "not reproduced"),
    ],
)
def test_pairs(evaluate, statistic, direction, high, low, verdict):
    pair = claim(
        pairs={"axis": "K", "high": 10, "low": 1, "statistic": statistic, "direction": direction}
    )
    del pair["published"]
    rows = [row("K=10;epsilon=8", **high), row("K=1;epsilon=8", **low)]
    assert evaluate(pair, rows)["verdict"].tolist() == [verdict]


def test_a_pair_says_its_effect_and_its_error(evaluate):
    pair = {"axis": "K", "high": 10, "low": 1, "statistic": "value", "direction": "greater"}
    compared = claim(pairs=pair, investigation="the table of K")
    del compared["published"]
    rows = [row("K=10", 0.702, std=0.03, n=100), row("K=1", 0.7, std=0.04, n=100)]
    assert evaluate(compared, rows)["why"][0] == (
        "difference +0.002, 0.4 standard errors, n = 100 and 100, p = 0.34; see the table of K"
    )


@pytest.mark.parametrize(
    ("grid", "only"), [({"K": "grid.epsilons"}, {}), ({"e": "grid.epsilons"}, {"e": [2]})]
)
def test_pairs_outside_the_configured_grid_are_not_run(evaluate, grid, only):
    pair = claim(
        pairs={"axis": "K", "high": 8, "low": 3, "statistic": "std", "direction": "less"},
        grid=grid,
        only=only,
    )
    del pair["published"]
    table = evaluate(pair, [row("K=8;e=1")])
    assert table["verdict"].tolist() == ["not run"]
    assert "grid.epsilons" in table["why"][0]


def test_pairs_without_any_cell_are_missing(evaluate):
    pair = claim(pairs={"axis": "K", "high": 10, "low": 1, "statistic": "std", "direction": "less"})
    del pair["published"]
    with pytest.raises(UserError, match="no cell"):
        evaluate(pair, [row()])


def above(**changes):
    published = {"file": "t.csv", "cell": {"epsilon": "epsilon"}}
    return claim(test="above", published=published, largest=1, **changes)


SAID = "epsilon,value,std\n8,> 0,\n"


@pytest.mark.parametrize(
    ("value", "std", "n", "verdict"),
    [
        (0.1, 0.05, 10, "reproduced"),
        (-0.1, 0.05, 10, "not reproduced"),
        (0.01, 0.05, 10, "not reproduced"),
        (0.1, 0.05, 2, "not run"),  # two pairs cannot find even a mean of 1
        (0.9, 0.001, 2, "reproduced"),
        (0.1, 0.0, 10, "reproduced"),  # sign test, 2^-10
        (0.1, 0.0, 3, "not run"),
        (0.0, 0.0, 10, "not reproduced"),
        (0.1, None, 1, "not run"),
    ],
)
def test_above_is_a_one_sided_test_that_knows_its_power(evaluate, value, std, n, verdict):
    table = evaluate(above(), [row(value=value, std=std, n=n)], published=SAID)
    assert table["verdict"].tolist() == [verdict], table["why"][0]
    assert table["published"][0] == "> 0"


def test_above_agrees_with_scipy_and_says_what_it_rests_on(evaluate):
    values = np.array([0.3, 0.1, 0.25, 0.02, 0.4])
    table = evaluate(
        above(), [row(value=values.mean(), std=values.std(ddof=1), n=5)], published=SAID
    )
    expected = stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert table["p"][0] == pytest.approx(expected)
    for part in ("mean +0.214", "standard error 0.069", "n = 5", f"p = {expected:.2g}"):
        assert part in table["why"][0]
    assert "with a probability of 80%" in table["why"][0]


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_detectable_mean_is_found_with_the_stated_probability(n):
    """By simulation: 4,000 samples at that mean; the standard error of the share is 0.006."""
    least = rules.detectable_mean(2.0, n, 0.01)
    samples = np.random.default_rng(n).normal(least, 2.0, (4000, n))
    p = stats.ttest_1samp(samples, 0, axis=1, alternative="greater").pvalue
    assert (p < 0.01).mean() == pytest.approx(rules.POWER, abs=0.025)


def test_claims_of_a_family_share_the_level(evaluate):
    """p = 0.004 alone passes at 1 %; among ten of a family it does not, among ten claims it does."""
    value = stats.t(9).isf(0.004) * 0.05 / math.sqrt(10)
    rows = [row(value=value, std=0.05, n=10)]
    alone = [above(id=f"c{i}") for i in range(10)]
    assert set(evaluate(alone, rows, published=SAID)["verdict"]) == {"reproduced"}
    table = evaluate([one | {"family": "f"} for one in alone], rows, published=SAID)
    assert set(table["verdict"]) == {"not reproduced"}
    assert table["p_adjusted"].tolist() == pytest.approx([0.04] * 10)
    assert "0.04 by Holm over 10 tests" in table["why"][0]


def test_a_baseline_above_makes_an_above_claim_uninformative(evaluate):
    rows = [row(std=0.05, n=10), row(metric="chance", value=0.3, std=0.05, n=10)]
    one = above(chance={"metric": "chance"})
    assert evaluate(one, rows, published=SAID)["verdict"][0] == "uninformative"
    rows[1]["value"] = -0.3
    assert evaluate(one, rows, published=SAID)["verdict"][0] == "reproduced"
    rows[1] |= {"n": 1, "std": None}
    assert evaluate(one, rows, published=SAID)["verdict"][0] == "reproduced"


def test_exploratory_claims_are_labelled(evaluate):
    table = evaluate(claim(exploratory="framed later"), [row()])
    assert table["statement"][0].endswith("(exploratory)")
    assert table["why"][0].endswith("exploratory: framed later")


def test_the_note_explains_a_verdict_where_asked(evaluate):
    table = evaluate(claim(explain=True), [row(note="in 3 of 4 sets")])
    assert table["why"][0].endswith("; in 3 of 4 sets")


def test_a_statement_without_numbers_says_why(evaluate):
    statement = {k: claim()[k] for k in ("id", "paper", "item", "place", "statement")}
    table = evaluate(statement | {"verdict": "not published", "reason": "a drawing"}, [])
    assert table[["verdict", "why"]].values.tolist() == [["not published", "a drawing"]]


def test_metrics_and_cells_of_the_published_file_can_have_other_names(evaluate):
    renamed = claim(test="given", measured={"origin": "o"}, metrics={"n_pos": "positives"})
    rows = [row(metric="positives", value=4, std=None, n=1)]
    table = evaluate(renamed, rows, published="epsilon,metric,value\n8,n_pos,4\n")
    assert table["verdict"][0] == "reproduced"


# --- files --------------------------------------------------------------------------------------


def test_the_shipped_claims_are_well_formed(root):
    shipped = c.expand_origins(c.read_claims(root / "config/claims.yaml"))
    assert len({entry["id"] for entry in shipped}) == len(shipped)
    for entry in shipped:
        if "published" in entry:
            assert (root / "resources/published" / entry["published"]["file"]).is_file(), entry[
                "id"
            ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claims: [{id: a}]", "lacks paper"),
        (
            "claims: [{id: a, paper: p, item: i, place: x, statement: s, published: {}, test: eye}]",
            "'eye'",
        ),
        (
            "claims: [{id: a, paper: p, item: i, place: x, statement: s},"
            " {id: a, paper: p, item: i, place: x, statement: s}]",
            "two claims",
        ),
    ],
)
def test_mistakes_in_claims_yaml_are_named(tmp_path, text, message):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        c.read_claims(path)


def test_verdict_counts_cover_every_verdict(evaluate):
    counts = c.verdict_counts(evaluate(claim(), [row()]))
    assert counts.columns.tolist() == list(c.VERDICTS)
    assert counts.loc["p", "reproduced"] == 1
    assert counts.to_numpy().sum() == 1


def test_verdict_counts_are_cells_as_everywhere_else(evaluate):
    table = pd.concat([evaluate(claim(), [row()])] * 2)  # indices repeat, as in stacked tables
    table["cell"] = ["cells=12 of 15", "a=1"]
    assert c.verdict_counts(table).loc["p", "reproduced"] == 13
    whole = table.assign(cell=[None, math.nan])  # a claim on a whole item names no cell
    assert c.verdict_counts(whole).loc["p", "reproduced"] == 2
    assert count_verdicts(table.to_dict("records"))["reproduced"] == 13


def test_a_claim_on_sets_that_are_not_run_is_not_run(evaluate):
    config = CONFIG | {"a": {"sets": ["x"]}, "b": {"sets": ["y"]}}
    pairs = {"axis": "k", "high": 1, "low": 0, "statistic": "value", "direction": "greater"}
    asked = claim(pairs=pairs, common=["a.sets", "b.sets"])
    (found,) = evaluate(asked, [], config=config).to_dict("records")
    assert found["verdict"] == "not run"
    assert found["why"] == "no entry of a.sets is among b.sets"
    with pytest.raises(UserError, match="no cell of t with k=1"):
        evaluate(asked, [], config=config | {"b": {"sets": ["x"]}})


def test_summarised_cells_stay_under_their_own_verdict():
    from leakmeter.reporting.claims import _summarised

    verdicts = ["consistent", "reproduced", "not reproduced", "consistent"]
    rows = [{"verdict": v, "why": "equal", "cell": f"a={i}"} for i, v in enumerate(verdicts)]
    found = {row["verdict"]: row["cell"] for row in _summarised(rows)}
    assert found == {
        "reproduced": "cells=1 of 4",
        "consistent": "cells=2 of 4",
        "not reproduced": "a=2",
    }
