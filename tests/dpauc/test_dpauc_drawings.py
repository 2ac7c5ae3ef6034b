"""Figures of the DPAUC chain: the data drawn are the data given, and no text collides."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import FancyBboxPatch, StepPatch
from matplotlib.text import Text

from leakmeter.dpauc import drawings
from leakmeter.dpauc.drawings import FIGURES, draw, figure1, figure2, figure3, overview, roc
from leakmeter.reporting.figures import save, style
from leakmeter.reporting.measurements import COLUMNS, cell
from leakmeter.runtime import UserError

EPSILONS = (8, 4, 2, 1)
SOURCES = {"authors": (0,), "wide_deep": (0, 1, 2)}


# --- inputs -------------------------------------------------------------------------------------


def histogram(sources=SOURCES, bins=25):
    """Two triangular classes per source and epoch, as densities."""
    rng = np.random.default_rng(1)
    edges = np.concatenate([np.linspace(0, 0.2, bins), np.linspace(0.2, 1, bins)[1:]])
    rows = []
    for (origin, epochs), label in itertools.product(sources.items(), (0, 1)):
        for epoch in epochs:
            scores = rng.triangular(0, 0.15 + 0.2 * label, 1, 4000)
            density, _ = np.histogram(scores, edges, density=True)
            rows += [
                {
                    "origin": origin,
                    "epoch": epoch,
                    "label": label,
                    "left": a,
                    "right": b,
                    "density": d,
                }
                for a, b, d in zip(edges[:-1], edges[1:], density, strict=True)
            ]
    return pd.DataFrame(rows)


def curves(
    sources=SOURCES,
    names=("K=10;epsilon=8", "K=10;epsilon=1", "K=1000;epsilon=8", "K=1000;epsilon=1"),
):
    """A smooth curve and jittered copies of it."""
    rng = np.random.default_rng(2)
    fpr = np.linspace(0, 1, 100)
    rows = []
    for origin, epochs in sources.items():
        for epoch, name in itertools.product(epochs, ("exact", *names)):
            noise = 0 if name == "exact" else rng.normal(0, 0.1, fpr.size)
            tpr = np.clip(fpr**0.4 + noise, 0, 1)
            rows += [
                {"origin": origin, "epoch": epoch, "curve": name, "fpr": x, "tpr": y}
                for x, y in zip(fpr, tpr, strict=True)
            ]
    return pd.DataFrame(rows)


def measurements(sources=SOURCES, spread=1.0):
    """Tables 4 and 5 and their noise-free values with the scaling of the mechanism."""
    rng = np.random.default_rng(3)
    rows = []

    def add(item, axes, origin, value, std=None, n=1):
        keys = {"paper": "dpauc", "item": item, "cell": cell(**axes), "origin": origin}
        rows.append({**keys, "metric": "auc", "value": value, "std": std, "n": n})

    for origin, epochs in sources.items():
        for epoch in epochs:
            for n in (10, 25, 50, 100, 200):
                axes = {"epoch": epoch, "layout": "authors", "thresholds": n}
                add("noise_free", axes, origin, 0.75 - 0.2 / n)
                add("noise_free", {**axes, "layout": "uniform"}, origin, 0.1)
                for epsilon in EPSILONS:
                    std = spread * 1e-3 * math.sqrt(n / 50) / epsilon
                    axes = {"epoch": epoch, "thresholds": n, "epsilon": epsilon}
                    add("table5", axes, origin, 0.75 - 0.2 / n - std * rng.uniform(), std, 100)
            for k, part, epsilon in itertools.product((10, 1000), ("IID", "Non-IID"), EPSILONS):
                std = spread * 1e-3 * math.sqrt(k / 5) / epsilon
                axes = {"epoch": epoch, "partition": part, "K": k, "epsilon": epsilon}
                add("table4", axes, origin, 0.748 - std * rng.uniform(), std, 100)
    return pd.DataFrame(rows, columns=list(COLUMNS))


@pytest.fixture
def table4(root):
    return pd.read_csv(
        root / "resources/published/dpauc_table4_iid_vs_noniid.csv",
        dtype="str",
        keep_default_na=False,
    )


@pytest.fixture
def table5(root):
    return pd.read_csv(
        root / "resources/published/dpauc_table5_thresholds.csv", dtype="str", keep_default_na=False
    )


# --- what is where ------------------------------------------------------------------------------


def texts_of(made):
    """(text, extent in pixels) of everything written in a figure."""
    with style():
        made.canvas.draw()
    renderer = made.canvas.get_renderer()
    hidden = set()  # labels of ticks that lie beyond the limits of their axis
    for axis in (axis for ax in made.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        ticks = axis.get_major_ticks()
        hidden |= {tick.label1 for tick in ticks if not low <= tick.get_loc() <= high}
    written = [a for a in made.findobj(Text) if a.get_text().strip() and a.get_visible()]
    return [(a.get_text(), a.get_window_extent(renderer)) for a in written if a not in hidden]


def assert_readable(made):
    """All text lies on the page and no two texts overlap."""
    texts = texts_of(made)
    assert len(texts) > 5
    width, height = made.canvas.get_width_height()
    for text, box in texts:
        assert box.x0 >= -0.5, text
        assert box.y0 >= -0.5, text
        assert box.x1 <= width + 0.5, text
        assert box.y1 <= height + 0.5, text
    for (a, one), (b, two) in itertools.combinations(texts, 2):
        overlap_x = min(one.x1, two.x1) - max(one.x0, two.x0)
        overlap_y = min(one.y1, two.y1) - max(one.y0, two.y0)
        assert overlap_x <= 0.5 or overlap_y <= 0.5, (a, b)


def titles_of(made):
    return [ax.get_title() for ax in made.axes]


# --- workflow diagrams --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [figure1, figure2])
def test_workflow_texts_lie_in_their_boxes(make):
    made = make()
    assert_readable(made)
    renderer = made.canvas.get_renderer()
    boxes = [p.get_window_extent(renderer) for p in made.findobj(FancyBboxPatch)]
    assert len(boxes) == 2 + 3 * 3 + 4  # two lanes, three clients of three steps, four steps
    for text, extent in texts_of(made):
        x, y = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        around = [b for b in boxes if b.x0 <= x <= b.x1 and b.y0 <= y <= b.y1]
        if around:
            smallest = min(around, key=lambda b: b.width * b.height)
            assert extent.x0 >= smallest.x0, text
            assert extent.x1 <= smallest.x1, text
            assert extent.y0 >= smallest.y0, text
            assert extent.y1 <= smallest.y1, text


def test_workflows_say_where_the_protection_happens():
    def protected(made):
        colour = drawings._NOISE
        return [p for p in made.findobj(FancyBboxPatch) if _hex(p.get_facecolor()) == colour]

    for make, word in ((figure1, "Lap"), (figure2, "e^{")):
        made = make()
        assert len(protected(made)) == 3  # one per client drawn
        assert sum(word in text for text, _ in texts_of(made)) == 3


def _hex(rgba):
    return "#" + "".join(f"{round(255 * c):02X}" for c in rgba[:3])


# --- densities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sources",
    [
        SOURCES,
        {"authors": (0,)},
        {"wide_deep": (0, 1, 2)},
        {"wide_deep": (0, 1, 2, 3, 4)},
        {"elsewhere": (0,)},
    ],
)
def test_densities_are_drawn_as_given(sources):
    given = histogram(sources)
    made = figure3(given.sample(frac=1, random_state=1))
    assert_readable(made)
    panels = [(o, e) for o, epochs in sources.items() for e in epochs]
    assert len(made.axes) == len(panels)
    for ax, (origin, epoch) in zip(made.axes, panels, strict=True):
        name = {"authors": "authors' counts", "wide_deep": "Wide & Deep"}.get(origin, origin)
        assert ax.get_title() == f"{name}, epoch {epoch}"
        drawn = [p for p in ax.patches if isinstance(p, StepPatch) and not p.get_fill()]
        for label, patch in zip((0, 1), drawn, strict=True):
            bins = given[
                (given["origin"] == origin) & (given["epoch"] == epoch) & (given["label"] == label)
            ]
            values, edges, _ = patch.get_data()
            np.testing.assert_array_equal(values, bins["density"])
            np.testing.assert_array_equal(edges, [*bins["left"], 1.0])


@pytest.mark.parametrize(
    ("factor", "end"), [(1, 1), (0.5, 0.5), (0.3, 0.5), (0.2, 0.2), (0.05, 0.1)]
)
def test_score_axis_ends_where_the_scores_do(factor, end):
    given = histogram({"wide_deep": (0,)})
    given = given.assign(
        left=factor * given["left"],
        right=factor * given["right"],
        density=given["density"] / factor,
    )
    made = figure3(given)
    assert made.axes[0].get_xlim() == (0, end)
    assert_readable(made)


def test_density_of_one_class_alone():
    given = histogram({"authors": (0,)})
    made = figure3(given[given["label"] == 1])
    (ax,) = made.axes
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["positives"]


# --- ROC ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [{"authors": (0,), "wide_deep": (0,)}, {"authors": (0,)}])
@pytest.mark.parametrize("count", [1, 4])
def test_roc_curves_are_drawn_as_given(sources, count):
    names = ("K=10;epsilon=8", "K=10;epsilon=1", "K=1000;epsilon=8", "K=1000;epsilon=1")[:count]
    given = curves(sources, names)
    made = roc(given)
    assert_readable(made)
    assert len(made.axes) == len(sources) * count
    assert titles_of(made)[0] == "$K$ = 10, $\\varepsilon$ = 8"
    for ax, (origin, name) in zip(made.axes, itertools.product(sources, names), strict=True):
        for line, curve in zip(ax.lines, (name, "exact"), strict=True):
            part = given[(given["origin"] == origin) & (given["curve"] == curve)]
            np.testing.assert_array_equal(line.get_xdata(), part["fpr"])
            np.testing.assert_array_equal(line.get_ydata(), part["tpr"])


def test_roc_without_noisy_curves_and_with_a_source_that_lacks_one():
    made = roc(curves({"authors": (0,)}, ()))
    assert [line.get_label() for line in made.axes[0].lines] == ["without noise"]
    assert made.axes[0].get_title() == "without noise"
    given = curves({"authors": (0,), "wide_deep": (0,)}, ("K=10;epsilon=8",))
    lacking = given[(given["origin"] == "authors") | (given["curve"] == "exact")]
    made = roc(lacking)
    assert [len(ax.lines) for ax in made.axes] == [2, 1]


def test_names_of_curves_that_are_no_cells_are_kept():
    made = roc(curves({"authors": (0,)}, ("one release",)))
    assert made.axes[0].get_title() == "one release"


@pytest.mark.parametrize(("draw_it", "given"), [(figure3, histogram()), (roc, curves())])
def test_wrong_tables_are_user_errors(draw_it, given):
    with pytest.raises(UserError, match=r"lacks columns \['epoch'\]"):
        draw_it(given.drop(columns="epoch"))
    with pytest.raises(UserError, match="no rows"):
        draw_it(given.iloc[:0])


# --- overview -----------------------------------------------------------------------------------


def lines_of(ax, marker):
    """{colour: (x, y)} of the lines with a marker (error bars include theirs)."""
    return {
        line.get_color(): (np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float))
        for line in ax.lines
        if line.get_marker() == marker and len(line.get_xdata())
    }


MARKERS = {"published": "o", "authors": "s", "wide_deep": "^"}


@pytest.mark.parametrize("epoch", [0, 1])
def test_overview_shows_bias_and_spread_of_each_source(table4, table5, epoch):
    sources = {"authors": (0, 1), "wide_deep": (0, 1)}
    given = measurements(sources)
    made = overview(given, table4, table5, epoch=epoch, published_repeats=50)
    assert_readable(made)
    by_key = {(r["item"], r["origin"], r["cell"]): r for r in given.to_dict("records")}
    top, bottom = made.axes[0], made.axes[2]
    for origin in sources:
        base = by_key["noise_free", origin, f"epoch={epoch};layout=authors;thresholds=100"]["value"]
        cells = {
            k: [
                by_key["table4", origin, f"epoch={epoch};partition=IID;K={k};epsilon={e}"]
                for e in sorted(EPSILONS)
            ]
            for k in (10, 1000)
        }
        spreads = [[c["std"] for c in cells[k]] for k in cells]
        biases = [[1e3 * (c["value"] - base) for c in cells[k]] for k in cells]
        drawn = lines_of(bottom, MARKERS[origin]).values()
        np.testing.assert_allclose([y for _, y in drawn], spreads)
        for x, _ in drawn:
            assert np.all(np.abs(np.log(x / np.sort(EPSILONS))) < 0.1)  # moved aside, not away
        drawn = lines_of(top, MARKERS[origin]).values()
        np.testing.assert_allclose([y for _, y in drawn], biases)
    published = table4[(table4["epoch"] == str(epoch)) & (table4["partition"] == "IID")]
    spread = published[published["K"] == "1000"].sort_values("epsilon_total")["std"].astype(float)
    _, y = list(lines_of(bottom, "o").values())[1]
    np.testing.assert_allclose(y, spread)


def test_published_bias_is_against_the_authors_counts(table4, table5):
    given = measurements({"authors": (0,)})
    made = overview(given, table4, table5)
    chosen = table5[(table5["epoch"] == "0") & (table5["n_thresholds"] == "25")]
    chosen = chosen.astype({"epsilon_total": float, "value": float}).sort_values("epsilon_total")
    expected = 1e3 * (chosen["value"] - (0.75 - 0.2 / 25))
    drawn = list(lines_of(made.axes[1], "o").values())
    np.testing.assert_allclose(drawn[1][1], expected, rtol=1e-9)
    without = overview(measurements({"wide_deep": (0,)}), table4, table5)
    assert lines_of(without.axes[1], "o") == {}
    assert len(lines_of(without.axes[3], "o")) == 5
    assert_readable(without)


def test_error_bars_are_two_standard_errors(table4, table5):
    made = overview(measurements({"authors": (0,)}), table4, table5, published_repeats=25)
    bars = [c for c in made.axes[0].containers if isinstance(c, ErrorbarContainer)]
    assert len(bars) == 4
    seen = {}
    for container in bars:
        line, _, (segments,) = container
        lengths = [0.5 * (s[1, 1] - s[0, 1]) for s in segments.get_segments()]
        seen[line.get_marker(), line.get_color()] = lengths
    colours = list(lines_of(made.axes[0], "s"))
    ours = [2e3 * 1e-3 * math.sqrt(1000 / 5) / e / 10 for e in sorted(EPSILONS)]
    np.testing.assert_allclose(seen["s", colours[1]], ours)
    std = table4[
        (table4["epoch"] == "0") & (table4["partition"] == "IID") & (table4["K"] == "10")
    ].sort_values("epsilon_total")["std"]
    np.testing.assert_allclose(seen["o", colours[0]], 2e3 * std.astype(float) / 5)


def test_overview_of_wild_small_data_stays_readable(table4, table5):
    assert_readable(overview(measurements(spread=60.0), table4, table5, published_repeats=50))


def test_overview_without_published_tables():
    made = overview(measurements({"wide_deep": (0,)}), pd.DataFrame(), pd.DataFrame())
    assert_readable(made)
    assert lines_of(made.axes[3], "o") == {}
    assert len(lines_of(made.axes[3], "^")) == 5


def test_overview_ignores_other_origins_items_and_chains(table4, table5):
    given = measurements()
    strange = given.sample(20, random_state=1)
    others = [
        strange.assign(origin="released"),
        strange.assign(item="table6"),
        strange.assign(paper="audit"),
        strange.assign(metric="auc_noisy"),
    ]
    plain = overview(given, table4, table5)
    mixed = overview(pd.concat([given, *others]), table4, table5)
    for one, two in zip(plain.axes, mixed.axes, strict=True):
        assert len(one.lines) == len(two.lines)
        for a, b in zip(one.lines, two.lines, strict=True):
            np.testing.assert_array_equal(a.get_xydata(), b.get_xydata())


def test_overview_needs_cells_of_its_epoch(table4, table5):
    with pytest.raises(UserError, match="of epoch 7"):
        overview(measurements(), table4, table5, epoch=7)


# --- all ----------------------------------------------------------------------------------------


def all_inputs(table4, table5):
    return {
        "measurements": measurements(),
        "densities": histogram(),
        "curves": curves({"authors": (0,), "wide_deep": (0,)}),
        "table4": table4,
        "table5": table5,
    }


def test_every_figure_can_be_asked_for_by_name(table4, table5):
    made = [draw(name, **all_inputs(table4, table5)) for name in FIGURES]
    assert [len(figure.axes) for figure in made] == [1, 1, 4, 8, 4]


# what makes the bytes of a file is in save(), tested with it; here: the largest two figures
@pytest.mark.parametrize("name", ["figure2", "bias_spread"])
def test_figures_are_the_same_bytes_each_time(name, table4, table5, tmp_path):
    inputs = all_inputs(table4, table5)
    for run in ("a", "b"):
        save(draw(name, **inputs), tmp_path / f"{run}.pdf", tmp_path / f"{run}.png")
    for kind in ("pdf", "png"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_unknown_figures_are_user_errors(table4, table5):
    with pytest.raises(UserError, match="'figure9': expected one of figure1, figure2"):
        draw("figure9", **all_inputs(table4, table5))
