"""Figures of the labelings chain: what is drawn is what was measured, the same bytes every time."""

from __future__ import annotations

import numpy as np
import pytest

from leakmeter.labelings import drawings
from leakmeter.labelings.drawings import FIGURES, table_of
from leakmeter.labelings.experiments import cost
from leakmeter.reporting.figures import WIDTHS, inches, save
from leakmeter.runtime import UserError


@pytest.fixture
def inputs(small_run):
    return {
        "measurements": small_run.measurements,
        "posterior": small_run.posterior,
        "attacks": small_run.attacks,
    }


def texts(figure):
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text) if t.get_text()]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_the_same_bytes_each_time(name, inputs, tmp_path):
    made = []
    for i in range(2):
        pdf, png = tmp_path / f"{i}.pdf", tmp_path / f"{i}.png"
        figure = FIGURES[name](**inputs)
        assert figure.get_size_inches()[0] <= inches(WIDTHS["two"]) + 1e-9
        save(figure, pdf, png)
        made.append((pdf.read_bytes(), png.read_bytes()))
    assert made[0] == made[1]


def test_figure1_draws_one_arc_per_misranked_pair(inputs):
    (ax,) = drawings.figure1(**inputs).axes
    assert len(ax.lines) == 4 + 5
    starts = sorted((round(line.get_xdata()[0]), round(line.get_xdata()[-1])) for line in ax.lines)
    side = 7
    pairs = [(3, 4), (3, 5), (3, 7), (6, 7), (3, 4), (3, 6), (3, 7), (5, 6), (5, 7)]
    assert starts == sorted((side * a, side * b) for a, b in pairs)
    assert {"4 pairs", "5 pairs"} <= set(texts(ax.figure))


def test_figure2_labels_each_stage_with_its_swaps_and_misranked_pairs(inputs):
    found = texts(drawings.figure2(**inputs))
    assert {"$s_1=3$", "$s_2=1$", "$d=0$", "$d=3$", "$d=4$", "$s_3=s_4=s_5=0$"} <= set(found)


def test_w_has_a_point_per_size_with_labelings_and_none_elsewhere(inputs):
    made = drawings.w(**inputs)
    points = {
        (int(x), y)
        for line in made.axes[0].lines
        if line.get_marker() == "o"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    rows = table_of(inputs["measurements"], "w", "w")
    assert points == set(zip(rows["n"], rows["value"], strict=True))
    assert min(x for x, _ in points) == 76
    assert 107 not in {x for x, _ in points}
    assert made.axes[0].get_yscale() == "log"


def test_attack_panels_end_with_every_label(inputs):
    made = drawings.attacks(**inputs)
    for ax, n in zip(made.axes, (300, 100), strict=False):
        steps = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
        assert len(steps) == 3
        assert all(line.get_ydata()[-1] == n for line in steps)


def test_pruning_shows_the_size_with_the_most_labelings(inputs):
    left = drawings.pruning(**inputs).axes[0]
    curves = inputs["attacks"].dropna(subset=["labelings"])
    for origin, own in curves.groupby("origin"):
        assert any(np.max(line.get_ydata()) == own["labelings"].max() for line in left.lines), (
            origin
        )
    assert all(line.get_ydata()[-1] == 1 for line in left.lines)


def test_pruning_without_any_small_set_says_so(inputs):
    attacks = inputs["attacks"][~inputs["attacks"]["attack"].str.startswith("pruning")]
    [text] = drawings.pruning(attacks=attacks).texts
    assert "labelings.genuine.pruning.max_labelings" in text.get_text()


def test_cost_shows_counted_operations(inputs):
    left, right = drawings.cost(**inputs).axes
    labels = {line.get_label(): line for line in left.lines}
    expected = table_of(inputs["measurements"], "cost", "ours")
    assert sorted(labels["truncated pass"].get_ydata()) == sorted(expected["value"])
    assert right.lines[0].get_xdata().tolist() == [5, 10]


def test_times_are_drawn_from_their_own_table():
    rows = cost.timings({"sizes": [10, 20], "seconds": 1.0})
    made = drawings.cost_times(rows)
    assert len(made.axes[0].lines) == 3


def test_one_test_set_is_enough(inputs):
    one = inputs["measurements"][inputs["measurements"]["origin"].isin(["exact", "wine"])]
    curves = inputs["attacks"][inputs["attacks"]["origin"] == "wine"]
    for name in ("attacks", "rounding", "pruning"):
        FIGURES[name](measurements=one, attacks=curves, posterior=inputs["posterior"])


def test_a_missing_measurement_is_named(inputs):
    rows = inputs["measurements"]
    with pytest.raises(UserError, match="no row of item 'growth' has the metric"):
        drawings.growth(measurements=rows[rows["item"] != "growth"])
    with pytest.raises(UserError, match="no row of item 'w' has the metric 'threshold'"):
        drawings.w(measurements=rows[rows["metric"] != "threshold"])
