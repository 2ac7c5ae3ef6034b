"""Published and replicated cells in tables of one shape."""

from report_run import claim, claims

from leakmeter.reporting.sidebyside import comparisons, plain, shorten


def of(item):
    return [c for c in comparisons(claims()) if c.item == item]


def test_a_grid_has_one_axis_across_and_the_others_down():
    (grid,) = of("table1")
    assert grid.row_axes == ["epoch"]
    assert grid.column_axis == "epsilon"
    assert grid.columns == ["8", "4", "1"]
    assert grid.rows == [("0",), ("1",)]
    assert grid.fixed == {"metric": "auc"}
    assert grid.place == "Table 1"


def test_both_sides_hold_the_same_cells_with_the_printed_digits():
    (grid,) = of("table1")
    authors, wide = grid.replicated
    assert grid.published[("0",)]["8"].text == "0.740800"
    assert grid.published[("0",)]["8"].spread == "0.00004"
    assert authors.cells[("0",)]["8"].text == "0.740801"
    assert authors.cells[("0",)]["8"].spread == "0.000051"
    assert set(wide.cells) == {("0",)}  # nothing was claimed for epoch 1
    assert wide.data == ["standin"]


def test_a_cell_carries_the_gravest_of_its_verdicts_and_says_why():
    (grid,) = of("table1")
    cell = grid.replicated[0].cells[("0",)]["1"]
    assert (cell.verdict, cell.mark) == ("not reproduced", "≠")
    assert cell.why == "<b>9</b> standard errors & more"
    missing = grid.replicated[1].cells[("0",)]["1"]
    assert (missing.text, missing.verdict, missing.why) == ("", "not run", "needs more records")


def test_one_axis_is_a_list():
    (facts,) = of("facts")
    assert facts.column_axis == ""
    assert facts.rows == [("1",), ("2",), ("3",)]
    assert facts.replicated[0].cells[("1",)][""].text == "6.96e-06"


def test_metrics_run_across():
    rows = [
        claim(f"k={k}", "1", "1.0", "reproduced", item="table2", metric=metric)
        for k in (1, 5)
        for metric in ("precision", "recall")
    ]
    (table,) = comparisons(rows)
    assert table.column_axis == "metric"
    assert table.columns == ["precision", "recall"]


def test_a_sparse_grid_is_a_list():
    rows = [claim(f"a={i};b={i}", "1", "1.0", "reproduced") for i in range(6)]
    (table,) = comparisons(rows)
    assert table.column_axis == ""
    assert len(table.rows) == 6


def test_cells_with_other_axes_or_metrics_stand_apart():
    rows = [
        claim("k=1", "1", "1.0", "reproduced"),
        claim("epoch=1", "1", "1.0", "reproduced"),
        claim("k=1", "1", "1.0", "reproduced", origin="released", metric="auc_std"),
    ]
    assert len(comparisons(rows)) == 3


def test_a_published_spread_is_not_repeated_beside_a_metric_that_is_one():
    (table,) = comparisons([claim("k=1", "0.1", "0.1", "reproduced", metric="auc_std")])
    assert table.published[("1",)][""].spread == "" if table.row_axes else True
    assert next(iter(table.published.values()))[""].spread == ""


def test_statements_without_a_published_value_are_left_out():
    assert of("figure1") == []
    assert of("w") == []


def test_long_published_numbers_are_cut_and_short_ones_kept():
    assert shorten("0.7492950730487096") == "0.74929507"
    assert shorten("0.7251052") == "0.7251052"
    assert shorten("8.52e-6") == "8.52e-6"
    assert shorten("0, 1, 1, 0, 1, 0, 0") == "0, 1, 1, 0, 1, 0, 0"
    assert plain("4e-05") == "0.00004"
    assert plain("0.000216") == "0.000216"
    assert plain("none") == "none"
