"""Tables of the audit: right numbers in the right cells, marks, notes, and LaTeX that compiles."""

import pandas as pd
import pytest

from leakmeter.audit.table_numbers import AuditNumbers
from leakmeter.audit.tables import TABLES
from leakmeter.reporting.latex import compile_pdf, document

NO_CLAIMS = pd.DataFrame()
EXACT = ["perfect", "example", "released", "references", "coverage", "widths", "accounting"]


def claim(item, cell, metric, verdict, erratum=None, origin="exact"):
    return {
        "paper": "audit",
        "item": item,
        "cell": cell,
        "origin": origin,
        "metric": metric,
        "verdict": verdict,
        "erratum": erratum,
    }


PLAYED = ["games", "attacks", "accuracy", "heuristic", "chance"]


@pytest.mark.parametrize("name", PLAYED)
def test_every_table_of_games_has_lines(name, all_measurements):
    text = TABLES[name](all_measurements, NO_CLAIMS)
    assert text.count(r"\\") > 8
    assert "nan" not in text.lower().replace("candidates", "")


def test_the_games_table_shows_tallies_and_what_was_not_found(all_measurements):
    text = TABLES["games"](all_measurements, NO_CLAIMS)
    for title in ("CIFAR-10 DP, average", "SST-2 without DP, worst", "$m = 1$, one pair"):
        assert title in text
    assert text.count("nothing found") >= 1


def test_differences_beyond_the_null_have_a_star(all_measurements):
    frame = all_measurements.copy()
    rows = (frame["item"] == "heuristic") & (frame["metric"] == "sup_outside")
    frame.loc[rows, "value"] = 0
    without = TABLES["heuristic"](frame, NO_CLAIMS).count("*")
    frame.loc[rows, "value"] = 1
    assert TABLES["heuristic"](frame, NO_CLAIMS).count("*") == without + int(rows.sum())


def test_the_claim_on_m_pairs_is_marked_at_its_line(all_measurements):
    row = claim("coincide", "points=worst;m=10", "outside", "reproduced", origin="sst2_nodp")
    text = TABLES["heuristic"](all_measurements, pd.DataFrame([row]))
    assert "reproduced (1)" in text


@pytest.mark.parametrize("name", EXACT)
def test_every_exact_table_has_lines_and_says_what_it_is_made_from(name, exact_measurements):
    text = TABLES[name](exact_measurements, NO_CLAIMS)
    assert text.count(r"\\") > 3
    assert "Scale test, seed 1" in text
    assert "nan" not in text.lower()


def test_the_perfect_attack_table_has_the_published_bounds(exact_measurements):
    text = TABLES["perfect"](exact_measurements, NO_CLAIMS)
    for number in ("5.6006", "5.8091", "6.2543", "4.9056", "7.2072"):
        assert number in text


def test_the_example_shows_both_readings(exact_measurements):
    text = TABLES["example"](exact_measurements, NO_CLAIMS)
    assert "[0.4836, 1.4504]" in text
    assert "[0.2952, 1.4887]" in text
    assert "[0.5217, 1.2681]" in text


def test_marks_and_errata_follow_the_claims(exact_measurements):
    cell = "quantity=Bayesian credible interval;settings=printed;quadrature=exact"
    claims = pd.DataFrame([claim("example", cell, "low", "erratum", "audit_example_settings")])
    text = TABLES["example"](exact_measurements, claims)
    assert "erratum (1)" in text
    assert r"audit\_example\_settings" in text


def test_summarised_claims_are_one_sentence(exact_measurements):
    claims = pd.DataFrame([claim("references", "cells=8 of 8", "low", "reproduced")])
    text = TABLES["references"](exact_measurements, claims)
    assert "low 8 of 8 reproduced" in text


def test_numbers_of_one_cell_are_found_in_any_spelling(exact_measurements):
    numbers = AuditNumbers(exact_measurements, NO_CLAIMS)
    axes = {"trials": 2000, "interval": "one-sided Jeffreys", "confidence": 0.9}
    assert numbers.value("perfect", axes, "low") == pytest.approx(6.25433, abs=1e-5)
    assert numbers.value("perfect", {**axes, "trials": "2000"}, "low") is not None
    assert numbers.value("perfect", {**axes, "trials": 3000}, "low") is None


def test_the_tables_compile(all_measurements, require_tool, tmp_path):
    require_tool("pdflatex")
    tables = [TABLES[name](all_measurements, NO_CLAIMS) for name in TABLES]
    tex = tmp_path / "tables.tex"
    tex.write_text(document(tables, title="Audit"))
    compile_pdf(tex, tmp_path / "tables.pdf")
    assert (tmp_path / "tables.pdf").read_bytes().startswith(b"%PDF")
