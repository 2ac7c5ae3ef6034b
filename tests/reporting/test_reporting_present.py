"""Printed digits, families, commands."""

import doctest

import pytest
from report_run import claim, claims

from leakmeter.reporting import present
from leakmeter.reporting.claims import VERDICTS
from leakmeter.reporting.measurements import DATA_LABELS
from leakmeter.runtime import UserError


def test_examples():
    assert doctest.testmod(present).failed == 0


@pytest.mark.parametrize(
    ("value", "printed", "shown"),
    [
        ("0.7493759987", "0.749", "0.749"),
        ("0.7499", "0.75", "0.75"),
        ("26.0", "27", "26"),
        ("0.00000696", "8.5e-6", "7.0e-06"),
        ("-0.00004", "0.001", "-0.000"),
        ("inf", "5.6", "∞"),
        ("0, 1, 1", "0, 1, 0", "0, 1, 1"),
        ("1.5", "none", "1.5"),
        ("", "0.5", ""),
    ],
)
def test_our_value_has_the_digits_of_the_printed_one(value, printed, shown):
    assert present.like_printed(value, printed) == shown


def test_a_spread_too_small_for_the_printed_decimals_keeps_two_digits():
    assert present.spread_like("0.000012345", "0.74") == "1.2e-05"
    assert present.spread_like("0.012345", "0.740") == "0.012"
    assert present.spread_like("", "0.740") == ""


def test_every_verdict_and_label_is_explained():
    assert set(present.MEANING) == set(present.SEVERITY) == set(VERDICTS)
    assert set(present.DATA_MEANING) == set(DATA_LABELS)
    marks = [mark for mark, _ in present.MEANING.values()]
    assert len(set(marks)) == len(marks)


def test_families_count_cells_and_take_the_gravest_verdict():
    found = {family.id: family for family in present.families(claims())}
    assert found["dpauc_table1_mean"].counts == {"reproduced": 6}
    assert found["dpauc_table1_bias"].verdict == "consistent"
    assert found["dpauc_table1_bias"].counts == {"consistent": 2, "not run": 1}
    assert found["dpauc_facts"].verdict == "erratum"
    assert found["dpauc_facts"].errata == ["slip"]
    assert found["labelings_printed"].cells == 58
    assert found["dpauc_table1_spread"].smallest_p == 1e-9
    assert sum(present.count_verdicts(claims()).values()) == sum(f.cells for f in found.values())


def test_papers_keep_their_order_and_unknown_chains_are_shown_too():
    names = [paper.id for paper in present.ordered_papers(["labelings", "mine", "dpauc"])]
    assert names == ["dpauc", "labelings", "mine"]


def test_a_cell_axis_called_cells_is_no_summary():
    assert present.cells_of(claim("cells=12", "1", "1", "reproduced")) == 1


def test_commands_name_the_configuration_of_the_run():
    assert present.Run("laptop").command("dpauc") == "snakemake dpauc --cores 2"
    configured = "--configfile config/smoke.yaml mine.yaml --config seed=3"
    assert present.Run("smoke", configured).command("dpauc", "--force").endswith(configured)


def test_the_target_of_an_item_is_its_table_then_its_figure_then_the_measurements():
    made = ["pre/results/laptop/dpauc/tables/table1.tex", "results/laptop/dpauc/figures/roc.png"]
    target = present.item_target
    assert target("laptop", "dpauc", "table1", made) == "results/laptop/dpauc/tables/table1.tex"
    assert target("laptop", "dpauc", "roc", made) == "results/laptop/dpauc/figures/roc.pdf"
    assert target("laptop", "audit", "roc", made) == "results/laptop/audit/measurements.csv"


def test_coded_rows_decode_to_what_they_were():
    rows = [{"a": "x", "b": "y"}, {"a": "y", "b": "y"}]
    coded = present.as_json_rows(rows, ["a", "b"])
    assert len(coded["strings"]) == 2
    decoded = [
        {c: coded["strings"][i] for c, i in zip(coded["columns"], row, strict=True)}
        for row in coded["rows"]
    ]
    assert decoded == rows


def test_a_missing_file_and_a_missing_column_are_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.csv: no such file"):
        present.read_rows(tmp_path / "none.csv")
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pytest.raises(UserError, match="lacks the columns verdict"):
        present.read_rows(tmp_path / "a.csv", ["id", "verdict"])
