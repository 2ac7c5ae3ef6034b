"""Tables of the labelings chain: every number in its place, marked, compilable, repeatable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from leakmeter.labelings import counting_tables, inference_tables, table_numbers
from leakmeter.labelings.tables import TABLES
from leakmeter.reporting import claims as engine
from leakmeter.reporting.latex import compile_pdf, document, mark
from leakmeter.reporting.measurements import (
    COLUMNS,
)
from leakmeter.reporting.recording import Recorder

ROOT = Path(__file__).resolve().parents[2]
NO_MEASUREMENTS = pd.DataFrame(columns=list(COLUMNS))
NO_CLAIMS = pd.DataFrame(columns=list(engine.COLUMNS))
PUBLISHED = ROOT / "resources/published"
FACTS = [PUBLISHED / f"auc_labelings_{n}.csv" for n in ("published_facts", "statements")]


@pytest.fixture
def measurements(small_run):
    return small_run.measurements


@pytest.fixture
def claims(small_run):
    return small_run.claims


def body(tex):
    """Lines between the header's rule and the bottom rule, cells stripped of marks."""
    text = tex.split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    strip = re.compile(r"\\textcolor\{red!75!black\}\{(.*?\$)\}|\$\\,\^\{[^$]*\}\$")
    return [
        [strip.sub("", cell).strip() for cell in line.removesuffix(r" \\").split("&")]
        for line in lines
    ]


# --- claims of the whole chain ------------------------------------------------------------------


def test_every_claim_has_the_verdict_its_mathematics_gives(claims):
    expected = {
        "labelings_conjecture": "erratum",
        "labelings_conjecture_strict": "erratum",
        "labelings_range": "erratum",
        "labelings_recurrence_cost": "erratum",
        "labelings_w_printed": "not published",
        "labelings_initial_conditions": "not published",
        "labelings_query_pairs": "not published",
    }
    for row in claims.to_dict("records"):
        assert row["verdict"] == expected.get(row["id"], "reproduced"), row["id"]


def test_every_published_quantity_is_claimed_or_an_input():
    """A fact that nobody compares is a fact that nobody notices to be wrong."""
    content = yaml.safe_load((ROOT / "config/claims.yaml").read_text())["claims"]
    claimed = {
        c["published"]["where"]["quantity"]
        for c in content
        if c["paper"] == "labelings" and "quantity" in c.get("published", {}).get("where", {})
    }
    facts = set(pd.concat(map(pd.read_csv, FACTS))["quantity"])
    inputs = {
        "example n=4 guesses",
        "contest test records",
        "contest submissions per day",
    }
    assert facts - claimed == inputs


# --- single tables ------------------------------------------------------------------------------


def test_puzzle_marks_one_labeling(measurements, claims):
    lines = body(counting_tables.puzzle(measurements, claims))
    assert len(lines) == 14
    (chosen,) = (line for line in lines if line[-1])
    assert chosen[0] == "1 0 1 0"
    assert chosen[3] == "3/4"


def test_w_has_a_line_per_pair_of_class_sizes_and_the_golden_counts(measurements, claims):
    tex = counting_tables.w(measurements, claims)
    lines = body(tex)
    golden = pd.read_csv(PUBLISHED / "auc_labelings_wn_1387_1440.csv")
    golden = golden[golden["n0"] >= golden["n1"]].sort_values(["n", "n0"])
    shown = [(int(c[2]), int(c[3]), int(c[6].replace("{,}", ""))) for c in lines[: len(golden)]]
    assert shown == list(zip(golden["n0"], golden["n1"], golden["v_n0_n1_d"], strict=True))
    totals = {int(c[0]): int(c[1].replace("{,}", "")) for c in lines[: len(golden)] if c[0]}
    assert totals == dict(zip(golden["n"], golden["w_n_c"], strict=True))
    assert tex.count(r"\midrule") == 2  # the header's and the threshold's
    assert "1387/1440" in tex
    assert mark("reproduced") in tex


def test_w_says_what_it_leaves_out(measurements, claims, monkeypatch):
    monkeypatch.setattr(counting_tables, "MAX_LINES", 5)
    tex = counting_tables.w(measurements, claims)
    assert len(body(tex)) == 5
    assert re.search(r"\d+ further lines up to \$n=199\$", tex)


def test_growth_orders_sizes_by_their_number(measurements, claims):
    lines = body(counting_tables.growth(measurements, claims))
    assert [line[0] for line in lines] == [str(t) for t in range(1, 10)]
    assert [int(line[1]) for line in lines] == [8 * t for t in range(1, 10)]
    assert [int(line[4]) for line in lines] == [16 * t for t in range(1, 10)]


def test_conjecture_names_failures_and_errata(measurements, claims):
    tex = counting_tables.conjecture(measurements, claims)
    assert body(tex)[-1][-1] == "4, 16, 36, 64, 100, 144"
    assert "labelings\\_conjecture\\_as\\_printed" in tex
    assert mark("erratum") in tex
    assert "exactly the even perfect squares" in tex


def test_conjecture_does_not_claim_squares_when_others_fail(measurements, claims):
    changed = measurements.copy()
    changed.loc[changed["metric"] == "even_squares_only", "value"] = 0
    assert "even perfect squares" not in counting_tables.conjecture(changed, claims)


def test_counterexamples_end_with_the_papers_own_example(measurements, claims):
    lines = body(counting_tables.counterexamples(measurements, claims))
    assert [line[0] for line in lines][:1] == ["3/4"]
    assert lines[-1][0] == "1387/1440"
    assert lines[-1][-1] == "--"
    assert lines[0][1:] == ["6", "4", "1", "5", "2", "2 of 2"]


def test_cost_has_dashes_where_the_recurrence_is_not_run(measurements, claims):
    lines = body(counting_tables.cost(measurements, claims))
    assert [line[0] for line in lines] == ["10", "20", "40"]
    assert lines[-1][2:5] == ["--"] * 3
    assert "--" not in lines[0]


def test_contest_has_dashes_where_rounding_defeats_an_attack(measurements, claims):
    tex = inference_tables.contest(measurements, claims)
    lines = {(line[0], line[2]): line[3:] for line in body(tex)}
    swaps = [
        cells for (_, attack), cells in lines.items() if attack == table_numbers.ATTACKS["swaps"]
    ]
    assert any("--" in cells for cells in swaps)
    assert all("--" not in cells[:2] for cells in swaps)
    assert "All attacks but the posterior recover every label." in tex
    assert "5 submissions a day" in tex


def test_contest_does_not_claim_recovery_that_did_not_happen(measurements, claims):
    changed = measurements.copy()
    row = (changed["metric"] == "correct") & (changed["cell"] == "attack=pairs;decimals=exact")
    changed.loc[row, "value"] -= 1
    assert "recover every label" not in inference_tables.contest(changed, claims)


def test_posterior_says_where_reranking_gains(measurements, claims):
    tex = inference_tables.posterior(measurements, claims)
    assert "gains only where the posterior does not ascend" in tex
    assert "$n=10$ with AUC 3/5." in tex
    assert "77/100" not in "".join(line[1] for line in body(tex) if line[0] == "10")
    changed = measurements.copy()
    row = (changed["metric"] == "expected_auc_improved") & (changed["cell"] == "n=10;auc=3/5")
    assert row.sum() == 1
    changed.loc[row, "value"] = 0.6
    assert "Above one half no re-ranking gains" in inference_tables.posterior(changed, claims)


def test_a_mean_shows_its_spread_and_an_equal_one_does_not():
    record = Recorder("labelings", "s", 1)
    record.add("t", {"a": 1}, "x", [1.0, 3.0])
    record.add("t", {"a": 2}, "x", [2.0, 2.0])
    one, two = record.rows
    assert table_numbers.average(one) == r"2.0 $\pm$ 1.4"
    assert table_numbers.average(two) == "2"
    assert table_numbers.fixed(3)({"value": 0.70123, "std": 0.0031}) == "0.701(3)"
    assert table_numbers.fixed(3)({"value": 0.5, "std": 1e-17}) == "0.500"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (10**18 - 1, "999{,}999{,}999{,}999{,}999{,}999"),
        (10**18, r"$1.000\times10^{18}$"),
        (123_449_999_999_999_999_999, r"$1.234\times10^{20}$"),
        (99_996 * 10**20, r"$1.000\times10^{25}$"),
        (
            3**700,
            rf"${3**700 / 10 ** (len(str(3**700)) - 1):.3f}\times10^{{{len(str(3**700)) - 1}}}$",
        ),
    ],
)
def test_large_integers(value, text):
    assert table_numbers.large(value) == text


# --- all tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_where_its_numbers_come_from(name, measurements, claims):
    tex = TABLES[name](measurements, claims)
    assert "Scale test\\_1, seed 7." in tex
    related = name in ("rounding", "posterior_sets", "attacks", "contest", "pruning")
    assert ("label related" in tex) == related


@pytest.mark.parametrize("name", TABLES)
def test_without_measurements_a_table_is_empty_but_valid(name):
    tex = TABLES[name](NO_MEASUREMENTS, NO_CLAIMS)
    assert r"\begin{tabular}" in tex


def test_all_tables_compile_without_overfull_lines(measurements, claims, tmp_path, require_tool):
    require_tool("pdflatex")
    fragments = [table(measurements, claims) for table in TABLES.values()]
    empty = [table(NO_MEASUREMENTS, NO_CLAIMS) for table in TABLES.values()]
    (tmp_path / "all.tex").write_text(document(fragments + empty, "Labelings"))
    assert compile_pdf(tmp_path / "all.tex", tmp_path / "all.pdf") == []


def test_the_text_does_not_depend_on_the_order_of_sets(small_run):
    """Python orders sets of text anew in every process."""
    run = small_run.folder
    code = (
        "import sys, pandas as pd\n"
        "from leakmeter.labelings.tables import TABLES\n"
        "from leakmeter.reporting.measurements import read_measurements\n"
        f"m, c = read_measurements([{str(run / 'm.csv')!r}]), pd.read_csv({str(run / 'claims.csv')!r})\n"
        "sys.stdout.write(''.join(table(m, c) for table in TABLES.values()))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(texts) == 1
