"""Figures of the audit: what they show, and bytes that are the same each time."""

import numpy as np
import pytest

from leakmeter.audit.drawings import FIGURES, table_of
from leakmeter.reporting.figures import save
from leakmeter.runtime import UserError

EXACT = ["figure2", "figure3", "coverage", "widths"]


@pytest.mark.parametrize("name", EXACT)
def test_every_exact_figure_draws_the_same_bytes_twice(
    name, exact_measurements, exact_curves, tmp_path
):
    for run in ("a", "b"):
        figure = FIGURES[name](measurements=exact_measurements, curves=exact_curves)
        save(figure, tmp_path / f"{run}.pdf", tmp_path / f"{run}.png")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_figure2_draws_each_region_in_each_panel(exact_measurements, exact_curves):
    figure = FIGURES["figure2"](measurements=exact_measurements, curves=exact_curves)
    assert len(figure.axes) == 2
    for ax in figure.axes:
        assert [line.get_label() for line in ax.lines] == ["3", "1", "0"]


def test_figure3_shows_the_masses_of_both_readings(exact_measurements, exact_curves):
    figure = FIGURES["figure3"](measurements=exact_measurements, curves=exact_curves)
    texts = [t.get_text() for ax in figure.axes for t in ax.get_legend().get_texts()]
    assert texts == [
        *("rectangle (90.3%)", "its band (99.0%)", "credible region (90.0%)"),
        *("rectangle (96.3%)", "its band (99.8%)", "credible region (95.0%)"),
    ]


def test_the_coverage_figure_has_a_point_per_attack_and_method(exact_measurements, exact_curves):
    figure = FIGURES["coverage"](measurements=exact_measurements, curves=exact_curves)
    (ax,) = figure.axes
    points = [c.lines[0].get_xdata() for c in ax.containers]
    assert [len(p) for p in points] == [4, 4, 4]
    assert np.all(np.concatenate(points) <= 1)


def test_rows_that_are_missing_are_one_clear_error(exact_measurements):
    with pytest.raises(UserError, match="'games'"):
        table_of(exact_measurements, "games", "low")
