"""Figures of the audit: what they show, and bytes that are the same each time."""

import numpy as np
import pytest

from leakmeter.audit.drawings import FIGURES, table_of
from leakmeter.reporting.figures import save
from leakmeter.runtime import UserError


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_the_same_bytes_twice(
    name, all_measurements, exact_curves, all_cdfs, tmp_path
):
    for run in ("a", "b"):
        figure = FIGURES[name](measurements=all_measurements, curves=exact_curves, cdfs=all_cdfs)
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


def test_figures_5_and_6_draw_every_m_over_the_null(all_cdfs):
    for name, panels in (("figure5", 2), ("figure6", 4)):
        figure = FIGURES[name](cdfs=all_cdfs)
        assert len(figure.axes) == panels
        for ax in figure.axes:
            labels = ax.get_legend_handles_labels()[1]
            assert labels[0] == "independent runs, 95 %"
            assert labels[1:] == ["m = 1", "m = 1, replicate 1", "m = 10"]


def test_a_setting_that_was_not_played_says_so(all_cdfs):
    figure = FIGURES["figure5"](cdfs=all_cdfs[all_cdfs["setting"] != "cifar10_dp"])
    assert [t.get_text() for t in figure.axes[0].texts] == ["not in this configuration"]


def test_the_games_figure_shows_the_bound_where_there_is_one(all_measurements):
    figure = FIGURES["games"](measurements=all_measurements)
    reach = [ax.get_xlim()[1] for ax in figure.axes]
    assert len(reach) == 3
    assert reach[0] > 8
    assert reach[1] > 8
