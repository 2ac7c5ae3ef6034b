"""Tables of the DPAUC chain: every number in its place, marked, explained, compilable."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from leakmeter.dpauc import further_tables, paper_tables
from leakmeter.dpauc.published import TABLE_SOURCES
from leakmeter.dpauc.tables import TABLES
from leakmeter.reporting import claims as engine
from leakmeter.reporting.latex import compile_pdf, document, mark, with_std
from leakmeter.reporting.measurements import (
    COLUMNS,
    cell,
    parse_cell,
    read_measurements,
    write_measurements,
)
from leakmeter.reporting.published import read_published
from leakmeter.runtime import UserError

EPSILONS, CLIENTS, THRESHOLDS = (8, 4, 2, 1), (10, 1000), (10, 25, 50, 100, 200)
SOURCES = {"published": "published", "authors": "authors' counts", "wide_deep": r"Wide~\&~Deep"}
NO_MEASUREMENTS = pd.DataFrame(columns=list(COLUMNS))
NO_CLAIMS = pd.DataFrame(columns=list(engine.COLUMNS))
NOTHING = pd.DataFrame()


# --- synthetic inputs ---------------------------------------------------------------------------


def row(item, axes, origin, metric, value, std=None, n=1, **extra):
    return {
        "paper": "dpauc",
        "item": item,
        "cell": cell(**axes),
        "origin": origin,
        "metric": metric,
        "value": value,
        "std": std,
        "n": n,
        "m": 458407 if origin == "authors" else 5000,
        "data": "authors" if origin == "authors" else "standin",
        "scale": "laptop",
        "seed": 7,
        **extra,
    }


def cells_of(item, epoch):
    """Axes of the AUC cells of an item in the paper's grid."""
    grids = {
        "table1": {"epsilon": EPSILONS},
        "table3": {"epsilon": (1, 10, 1000)},
        "table4": {"partition": ("IID", "Non-IID"), "K": CLIENTS, "epsilon": EPSILONS},
        "table5": {"thresholds": THRESHOLDS, "epsilon": EPSILONS},
        "gaussian": {"thresholds": (100,), "K": CLIENTS, "epsilon": EPSILONS, "delta": (1e-5,)},
        "noise_free": {"layout": ("authors",), "thresholds": (*THRESHOLDS, 400)},
        "ablation": {
            "layout": ("authors", "uniform"),
            "clip": (True, False),
            "sort": ("fpr", "lexicographic", "monotone", "none"),
            "ends": (False, True),
            "K": CLIENTS,
            "epsilon": EPSILONS,
        },
    }
    axes = grids[item]
    for values in itertools.product(*axes.values()):
        yield {"epoch": epoch, **dict(zip(axes, values, strict=True))}


def synthetic_rows(epochs=None):
    """Rows of every item: random numbers of realistic size, seeded."""
    rng = np.random.default_rng(20)
    rows = []
    epochs = epochs or {"authors": (0,), "wide_deep": (0, 1, 2)}
    for origin, numbers in epochs.items():
        for epoch in numbers:
            for item in ("table1", "table3", "table4", "table5", "gaussian", "ablation"):
                if item == "ablation" and epoch:
                    continue
                for axes in cells_of(item, epoch):
                    value, std = rng.uniform(0.4, 0.9), 10 ** rng.uniform(-5, -1)
                    rows.append(row(item, axes, origin, "auc", value, std, 100, source_std=2e-6))
                    if item == "table1":
                        rows.append(row(item, axes, origin, "auc_noisy", value / 2, std, 100))
                        rows.append(row(item, axes, origin, "share_outside", 0.0))
            for axes in cells_of("noise_free", epoch):
                rows.append(row("noise_free", axes, origin, "auc", rng.uniform(0.4, 0.9)))
            for metric in ("auc_exact", "auc_keras_200", "auc_keras_1000"):
                value = rng.uniform(0.4, 0.9)
                rows.append(row("ground_truth", {"epoch": epoch}, origin, metric, value))
            if origin == "wide_deep":
                rows.append(row("training", {"epoch": epoch}, origin, "auc", 0.7, 0.001, 3))
            for k in (1, 50, 100000):
                axes = {"epoch": epoch, "k": k}
                rows.append(row("table2", axes, origin, "positives", k // 2))
                rows.append(row("table2", axes, origin, "precision", rng.uniform(0.3, 0.9)))
                rows.append(row("table2", axes, origin, "recall", 10 ** rng.uniform(-5, 0)))
    for n, epsilon in itertools.product(THRESHOLDS, EPSILONS):
        for metric in ("epsilon_per_count", "thresholds_actual", "paper", "tight", "pld"):
            axes = {"thresholds": n, "epsilon": epsilon}
            value = rng.integers(1, 100) / 8
            note = "delta = 1e-05" if metric == "pld" else ""
            rows.append(row("budget", axes, "exact", metric, value, data="exact", note=note))
    for size, epsilon in itertools.product((10, 15), ("inf", *EPSILONS)):
        axes = {"attack": "by_enumeration", "size": size, "source": "auc", "epsilon": epsilon}
        rows.append(row("leaks", axes, "wide_deep", "recovered", rng.uniform(), n=20))
        rows.append(row("leaks", axes, "wide_deep", "consistent", 1e6 * rng.uniform(), n=20))
    return rows


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "m.csv"
    write_measurements(path, synthetic_rows())
    return read_measurements([path])


@pytest.fixture
def frame_of(tmp_path):
    """Measurement rows as a table that went through a file, as in the workflow."""

    def make(rows):
        write_measurements(tmp_path / "some.csv", rows)
        return read_measurements([tmp_path / "some.csv"])

    return make


@pytest.fixture
def printed(root):
    """The published numbers a table compares with."""

    def read(name):
        return read_published([root / "resources/published" / f for f in TABLE_SOURCES[name]])

    return read


def claim(item, axes, origin, metric, verdict, **extra):
    empty = dict.fromkeys(engine.COLUMNS, np.nan)
    key = {"item": item, "cell": cell(**axes), "origin": origin, "metric": metric}
    return {**empty, "paper": "dpauc", **key, "verdict": verdict, **extra}


def claims_of(*rows):
    return pd.DataFrame(rows, columns=list(engine.COLUMNS))


# --- reading a table back -----------------------------------------------------------------------


def body_of(tex):
    """Lines of cells between the header and the end of the tabular."""
    inner = tex.split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    lines = [line for line in inner.splitlines() if line.endswith(r"\\")]
    return [[c.strip() for c in line.removesuffix(r"\\").split(" & ")] for line in lines]


def grid_of(tex, labels):
    """{(label, ..., source): cells after it}, repeated labels filled in."""
    result, current = {}, [""] * len(labels)
    for line in body_of(tex):
        for i, at in enumerate(labels):
            if line[at]:
                current = [*current[:i], line[at], *current[i + 1 :]]
        source = next(i for i, c in enumerate(line) if c in SOURCES.values())
        result[(*current, line[source])] = line[source + 1 :]
    return result


def notes_of(tex):
    return tex.split(r"\begin{minipage}")[1]


def unmarked(text):
    for verdict in engine.VERDICTS:
        text = text.replace(mark(verdict), "")
    return text


# --- numbers in their places --------------------------------------------------------------------

GRIDS = {
    "table1": ((0,), ("epoch",)),
    "table4": ((0, 3, 4), ("epoch", "K", "partition")),
    "table5": ((0, 3), ("epoch", "thresholds")),
}


@pytest.mark.parametrize("name", GRIDS)
def test_every_measured_cell_stands_in_its_place(name, measured, printed):
    at, axes_of_rows = GRIDS[name]
    grid = grid_of(TABLES[name](measured, NO_CLAIMS, printed(name)), at)
    chosen = measured[(measured["item"] == name) & (measured["metric"] == "auc")]
    assert len(chosen) == 4 * len(list(cells_of(name, 0)))
    for record in chosen.to_dict("records"):
        axes = parse_cell(record["cell"])
        key = [axes[a].replace("1000", "1{,}000") for a in axes_of_rows]
        line = grid[(*key, SOURCES[record["origin"]])]
        found = line[EPSILONS.index(int(axes["epsilon"]))]
        assert found == with_std(record["value"], record["std"], 6)


@pytest.mark.parametrize("name", GRIDS)
def test_every_published_cell_stands_in_its_place(name, measured, printed):
    at, axes_of_rows = GRIDS[name]
    columns = {"epoch": "epoch", "K": "K", "partition": "partition", "thresholds": "n_thresholds"}
    published = printed(name)
    grid = grid_of(TABLES[name](measured, NO_CLAIMS, published), at)
    cells = published[published["metric"] == "auc"].to_dict("records")
    assert len(cells) == 3 * len(list(cells_of(name, 0)))
    for record in cells:
        key = [record[columns[a]].replace("1000", "1{,}000") for a in axes_of_rows]
        found = grid[(*key, "published")][EPSILONS.index(int(record["epsilon_total"]))]
        mean, units = re.fullmatch(r"([\d.]+)\((\d+)\)", found).groups()
        assert mean.rstrip("0") == record["value"].rstrip("0")
        places = len(mean.partition(".")[2])
        assert int(units) * 10.0**-places == pytest.approx(float(record["std"]), rel=1e-9)


def test_typographical_slips_of_the_paper_stay_visible(printed):
    tex = paper_tables.table1(NO_MEASUREMENTS, NO_CLAIMS, printed("table1"))
    slips = [v for v in printed("table1")["value"] if len(v) == len("0.1234567")]
    assert len(slips) == 2
    assert all(f"{slip}(" in tex for slip in slips)


@pytest.mark.parametrize("name", GRIDS)
def test_ground_truth_stands_once_per_epoch(name, measured, printed):
    lines = body_of(TABLES[name](measured, NO_CLAIMS, printed(name)))
    truth = {
        (r["origin"], parse_cell(r["cell"])["epoch"], r["metric"]): r["value"]
        for r in measured[measured["item"] == "ground_truth"].to_dict("records")
    }
    filled = [line for line in lines if line[1] or line[2]]
    assert len(filled) == 9  # three sources, three epochs
    epoch = None
    for line in filled:
        epoch = line[0] or epoch
        source = next(o for o, label in SOURCES.items() if label in line)
        if source == "published":
            published = printed(name)
            expected = [
                published[(published["epoch"] == epoch) & (published["metric"] == m)][
                    "value"
                ].item()
                for m in ("groundtruth_tensorflow", "groundtruth_sklearn")
            ]
        else:
            values = [truth.get((source, epoch, m)) for m in ("auc_keras_200", "auc_exact")]
            expected = ["--" if v is None else f"{v:.6f}" for v in values]
        assert line[1:3] == expected


def test_table2_shows_three_sources_of_three_quantities(measured, printed):
    lines = {
        line[0]: line[1:]
        for line in body_of(paper_tables.table2(measured, NO_CLAIMS, printed("table2")))
    }
    assert list(lines)[:4] == ["1", "5", "10", "50"]
    assert list(lines)[-1] == "100{,}000"
    published = printed("table2").set_index(["top_k", "metric"])["value"]
    at = measured[(measured["item"] == "table2") & measured["cell"].eq("epoch=0;k=50")]
    ours = at.set_index(["origin", "metric"])["value"]
    line = lines["50"]
    assert line[0] == published["50", "n_positives"]
    assert line[1:3] == ["25", "25"]
    assert line[3] == published["50", "precision"]
    assert line[4:6] == [f"{ours[o, 'precision']:.4f}" for o in ("authors", "wide_deep")]
    mantissa, exponent = published["50", "recall"].split("e")
    assert line[6] == rf"${mantissa}\times10^{{{int(exponent)}}}$"
    assert lines["5"][1] == "--"  # not measured here
    assert lines["100{,}000"][6] == published["100000", "recall"]


def test_table2_of_another_epoch_compares_that_epoch(measured, printed):
    line = body_of(paper_tables.table2(measured, NO_CLAIMS, printed("table2"), epoch=2))[0]
    assert line[0] == "1"
    recall = measured[measured["cell"].eq("epoch=2;k=1") & measured["metric"].eq("precision")][
        "value"
    ].item()
    assert f"{recall:.4f}" in line


def test_table3_has_budgets_down_and_epochs_across(measured, printed):
    tex = paper_tables.table3(measured, NO_CLAIMS, printed("table3"))
    lines = {line[0]: line[1:] for line in body_of(tex)}
    assert list(lines)[:3] == ["TensorFlow", "scikit-learn", r"$\epsilon=$ 1"]
    assert list(lines)[-1] == r"$\epsilon=$ 1{,}000"
    published = printed("table3").set_index(["epsilon_score", "epoch", "metric"])["value"]
    ours = measured[measured["item"] == "table3"].set_index(["cell", "origin"])
    line = lines[r"$\epsilon=$ 10"]
    assert line[0::3] == [published["10", str(e), "auc_laplace_on_scores"] for e in range(3)]
    expected = [ours.loc[f"epoch={e};epsilon=10", "wide_deep"] for e in range(3)]
    assert line[2::3] == [with_std(r["value"], r["std"], 4) for r in expected]
    assert line[4] == line[7] == "--"  # the authors' counts end with epoch 0
    assert lines["TensorFlow"][0] == published["inf", "0", "groundtruth_tensorflow"]


def test_training_stands_beside_the_ground_truth(measured, printed):
    tex = further_tables.training(measured, NO_CLAIMS, printed("training"))
    grid = grid_of(tex, (0,))
    published = printed("training")
    of_epoch = published[published["epoch"] == "1"].set_index(["table", "metric"])["value"]
    assert grid["1", "published"] == [
        of_epoch["1", "groundtruth_sklearn"],
        of_epoch["1", "groundtruth_tensorflow"],
        of_epoch["3", "groundtruth_tensorflow"],
        "--",
    ]
    assert grid["2", SOURCES["wide_deep"]][-1] == "0.700000(1000)"
    assert "3 model seeds per cell" in notes_of(tex)


@pytest.mark.parametrize("as_text", [True, False])
def test_noise_free_compares_with_the_runs_without_mechanism(measured, root, as_text):
    path = root / "resources/published" / TABLE_SOURCES["noise_free"][0]
    published = read_published(path) if as_text else pd.read_csv(path)
    grid = grid_of(further_tables.noise_free(measured, NO_CLAIMS, published), (0, 1))
    runs = read_published(path).query("mechanism == 'None' and epoch == '0'")
    by_n = runs.set_index("n_thresholds_nominal")["auc_mean"].astype(float)
    assert sorted(by_n.index) == ["100", "200", "400"]
    line = grid["0", "authors", "published"]
    assert line == ["--"] * 3 + [f"{by_n[n]:.6f}" for n in ("100", "200", "400")]


def test_ablation_shows_the_extreme_budgets_and_one_published_line(frame_of, printed):
    variant = {"epoch": 0, "layout": "uniform", "clip": False, "sort": "none", "ends": True}
    rows = synthetic_rows({"authors": (0,), "wide_deep": (0,)})
    rows.append(row("ablation", variant, "authors", "rejected_cells", 13.0))
    frame = frame_of(rows)
    grid = grid_of(further_tables.ablation(frame, NO_CLAIMS, printed("ablation")), (0, 1, 2, 3, 4))
    assert len(grid) == 2 * 32 + 1
    line = grid["0", "authors", "yes", "FPR", "no", "published"]
    table4 = printed("ablation")
    kept = table4[(table4["epoch"] == "0") & (table4["partition"] == "IID")]
    values = kept.set_index(["K", "epsilon_total"])["value"]
    keys = [("10", "8"), ("10", "1"), ("1000", "8"), ("1000", "1")]
    assert [text.split("(")[0] for text in line[:4]] == [values[k].ljust(8, "0") for k in keys]
    ours = grid["0", "uniform", "no", "none", "yes", SOURCES["authors"]]
    at = cell(**variant, K=1000, epsilon=1)
    record = frame[(frame["cell"] == at) & (frame["origin"] == "authors")].iloc[0]
    assert ours[3:] == [with_std(record["value"], record["std"], 6), "13"]


def test_budget_shows_each_account(measured):
    tex = further_tables.budget(measured, NO_CLAIMS, NOTHING)
    lines = body_of(tex)
    assert [line[0] for line in lines if line[0]] == ["10", "25", "50", "100", "200"]
    assert [line[1] for line in lines[:4]] == ["8", "4", "2", "1"]
    value = measured[
        measured["cell"].eq("thresholds=10;epsilon=4") & measured["metric"].eq("tight")
    ]["value"].item()
    assert float(lines[1][5]) == pytest.approx(value, rel=1e-3)
    assert "distinct &" not in tex  # not measured, not shown
    assert "PLD: delta = 1e-05." in notes_of(tex)


def test_leaks_have_a_column_per_budget(measured):
    tex = further_tables.leaks(measured, NO_CLAIMS, NOTHING)
    assert r"$\epsilon=\infty$ & $\epsilon=8$ & $\epsilon=4$" in tex
    lines = body_of(tex)
    assert [line[:3] for line in lines] == [
        ["by enumeration", "size = 10, source = AUC", "recovered"],
        ["", "", "consistent"],
        ["", "size = 15, source = AUC", "recovered"],
        ["", "", "consistent"],
    ]
    axes = {"attack": "by_enumeration", "size": 15, "source": "auc", "epsilon": 1}
    value = measured[measured["cell"].eq(cell(**axes)) & measured["metric"].eq("recovered")][
        "value"
    ].item()
    assert float(lines[2][-1]) == pytest.approx(value, rel=5e-3)


def test_leaks_without_budgets_and_from_two_sources(frame_of):
    axes = {"attack": "known_labels", "known": 3}
    frame = frame_of(
        [
            row("leaks", axes, "authors", "recovered", 0.25, 0.125, 10),
            row("leaks", axes, "wide_deep", "recovered", 1.0),
            row("leaks", axes, "wide_deep", "candidates", 184756.0),
        ]
    )
    assert body_of(further_tables.leaks(frame, NO_CLAIMS, NOTHING)) == [
        ["known labels", "known = 3", "recovered", "authors' counts", "0.250(125)"],
        ["", "", "", r"Wide~\&~Deep", "1"],
        ["", "", "candidates", r"Wide~\&~Deep", "184{,}756"],
    ]


# --- marks --------------------------------------------------------------------------------------


def test_marks_follow_the_claims_and_are_counted(measured, printed):
    axes = {"epoch": 0, "thresholds": 10, "epsilon": 8}
    other = {**axes, "epsilon": 1}
    claims = claims_of(
        claim("table5", axes, "authors", "auc", "reproduced"),
        claim("table5", axes, "authors", "auc", "not reproduced"),  # say the spread
        claim("table5", axes, "wide_deep", "auc", "consistent"),
        claim("table5", other, "authors", "auc", "reproduced"),
        claim("ground_truth", {"epoch": 0}, "authors", "auc_exact", "reproduced"),
        claim("table4", axes, "authors", "auc", "uninformative"),  # another item
        {**claim("table5", other, "wide_deep", "auc", "erratum"), "paper": "audit"},
        claim("figure3", {}, np.nan, np.nan, "not published"),  # as a CSV gives empty fields
    )
    tex = paper_tables.table5(measured, claims, printed("table5"))
    grid = grid_of(tex, (0, 3))
    line = grid["0", "10", SOURCES["authors"]]
    assert line[0].endswith(mark("not reproduced"))
    assert line[1] == unmarked(line[1])
    assert line[3].endswith(mark("reproduced"))
    assert grid["0", "10", SOURCES["wide_deep"]][0].endswith(mark("consistent"))
    assert grid["0", "10", "published"] == [unmarked(c) for c in grid["0", "10", "published"]]
    first = next(line for line in body_of(tex) if SOURCES["authors"] in line)
    assert first[2].endswith(mark("reproduced"))
    legend = re.search(r"Verdicts: .*?\.(?=\s|$)", notes_of(tex)).group()
    assert "~not reproduced (1), " in legend
    assert "~consistent (1), " in legend
    assert "~reproduced (2)." in legend
    assert "uninformative" not in legend
    assert "erratum" not in legend


def test_published_numbers_are_marked_where_the_released_files_differ(measured, printed):
    slip, fine = {"epoch": 1, "epsilon": 2}, {"epoch": 1, "epsilon": 4}
    claims = claims_of(
        claim("table1", slip, "released", "auc", "erratum", erratum="some_slips"),
        claim("table1", {"epoch": 2, "epsilon": 8}, "released", "auc_std", "not reproduced"),
        claim("table1", fine, "released", "auc", "reproduced"),
    )
    tex = paper_tables.table1(measured, claims, printed("table1"))
    grid = grid_of(tex, (0,))
    assert grid["1", "published"][2].endswith(mark("erratum"))
    assert grid["1", "published"][1] == unmarked(grid["1", "published"][1])
    assert grid["2", "published"][0].endswith(mark("not reproduced"))
    assert r"Errata: some\_slips." in notes_of(tex)
    assert {key[-1] for key in grid} == set(SOURCES.values())  # no line of its own


def test_unknown_verdicts_are_refused(measured, printed):
    claims = claims_of(claim("table1", {"epoch": 0, "epsilon": 8}, "authors", "auc", "good"))
    with pytest.raises(ValueError, match="unknown verdicts"):
        paper_tables.table1(measured, claims, printed("table1"))


# --- notes --------------------------------------------------------------------------------------


def test_notes_state_what_the_numbers_are(measured, printed):
    notes = notes_of(paper_tables.table4(measured, NO_CLAIMS, printed("table4")))
    assert (
        "Authors' counts: numbers released by the authors (label authors), scale laptop, "
        r"100 repeats per cell, $M=458{,}407$, seed 7, source uncertainty of the AUC at most "
        r"$2.0\times10^{-6}$ (one standard deviation)."
    ) in notes
    assert (
        r"Wide~\&~Deep: generated stand-in data (label standin), scale laptop, 100 repeats per "
        r"cell, $M=5{,}000$, seed 7"
    ) in notes
    assert "Published: as printed in the paper." in notes
    assert "units of the last digit shown" in notes


def test_missing_epochs_are_explained_once(measured, printed):
    tex = paper_tables.table5(measured, NO_CLAIMS, printed("table5"))
    grid = grid_of(tex, (0, 3))
    assert grid["1", "50", SOURCES["authors"]] == ["--"] * 4
    assert "No ROC curve is published for epochs 1, 2" in notes_of(tex)
    axes = {"epoch": 1, "thresholds": 50, "epsilon": 8}
    why = "only epoch 0 has a figure_x"
    claims = claims_of(claim("table5", axes, "authors", "auc", "not run", why=why))
    tex = paper_tables.table5(measured, claims, printed("table5"))
    assert grid_of(tex, (0, 3))["1", "50", SOURCES["authors"]][0] == "--" + mark("not run")
    assert r"Only epoch 0 has a figure\_x." in notes_of(tex)
    assert "No ROC curve" not in notes_of(tex)


@pytest.mark.parametrize("origin", ["authors", "wide_deep"])
def test_a_missing_origin_is_left_out_and_said(origin, measured, printed):
    frame = measured[measured["origin"] != origin]
    for name in ("table1", "table2", "table3", "table4", "table5"):
        tex = TABLES[name](frame, NO_CLAIMS, printed(name))
        assert SOURCES[origin] not in tex.split(r"\begin{minipage}")[0]
        assert f"There are no numbers from {SOURCES[origin]} in this run." in notes_of(tex)


def test_undefined_values_are_named(frame_of, printed):
    axes = {"epoch": 0, "epsilon": 8}
    frame = frame_of([row("table1", axes, "authors", "auc", None, None, 100)])
    tex = paper_tables.table1(frame, NO_CLAIMS, printed("table1"))
    assert grid_of(tex, (0,))["0", SOURCES["authors"]][0] == r"\emph{undef.}"
    assert "undefined (with repeats: in one of them or more)" in notes_of(tex)


def test_values_outside_the_unit_interval_are_reported(frame_of, measured, printed):
    rows = [
        row("table1", {"epoch": e, "epsilon": 0.01}, "wide_deep", metric, value, std, 100)
        for e, share in ((0, 0.25), (1, 0.43))
        for metric, value, std in (("auc", 1.1367, 0.5108), ("share_outside", share, None))
    ]
    tex = paper_tables.table1(frame_of(rows), NO_CLAIMS, printed("table1"))
    assert r"43\,\% at $\epsilon=0.01$ (Wide~\&~Deep)" in notes_of(tex)
    assert "1.13670(51080)" in tex
    assert "outside" not in notes_of(paper_tables.table1(measured, NO_CLAIMS, printed("table1")))


def test_only_notes_common_to_all_cells_are_repeated(frame_of, printed):
    notes = ["flipped once; 3 repeats outside", "flipped once", "flipped once; 1 repeat undefined"]
    frame = frame_of(
        row("table1", {"epoch": 0, "epsilon": e}, "authors", "auc", 0.5, note=note)
        for e, note in zip(EPSILONS, notes, strict=False)
    )
    tex = notes_of(paper_tables.table1(frame, NO_CLAIMS, printed("table1")))
    assert "Flipped once." in tex
    assert "repeats outside" not in tex


# --- any input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_tables_render_whatever_is_missing(name, measured, printed):
    for frame, published in itertools.product(
        (NO_MEASUREMENTS, measured, measured[measured["origin"] == "wide_deep"]),
        (NOTHING, printed(name)),
    ):
        tex = TABLES[name](frame, NO_CLAIMS, published)
        assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 1
        columns = re.search(r"\\begin\{tabular\}\{(.*)\}", tex).group(1)
        width = len(re.sub(r"@\{(?:\\hspace\{.*?\})?\}", "", columns))
        assert {len(line) for line in body_of(tex)} <= {width}


@pytest.mark.parametrize("name", TABLES)
def test_order_of_rows_does_not_matter(name, measured, printed):
    published = printed(name)
    shuffled = measured.sample(frac=1, random_state=3)
    first = TABLES[name](measured, NO_CLAIMS, published)
    assert first == TABLES[name](shuffled, NO_CLAIMS, published)


def test_labels_are_unique(measured, printed):
    found = [
        re.search(r"\\label\{(.*?)\}", TABLES[name](measured, NO_CLAIMS, printed(name))).group(1)
        for name in TABLES
    ]
    assert len(set(found)) == len(TABLES)
    assert set(TABLE_SOURCES) == set(TABLES)


def test_published_numbers_are_read_as_printed(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("value,mechanism,std\n0.7500,None,\n")
    for given in (path, str(path), [path]):
        assert read_published(given).to_dict("records") == [
            {"value": "0.7500", "mechanism": "None", "std": ""}
        ]
    assert len(read_published([path, path])) == 2
    assert read_published([]).empty
    with pytest.raises(UserError, match="nothing.csv: cannot be read as published numbers"):
        read_published(tmp_path / "nothing.csv")


def test_all_tables_compile_within_the_page(require_tool, measured, printed, tmp_path):
    """At the paper's grid, with five-digit spreads and a mark on every number of ours."""
    require_tool("pdflatex")
    widest = measured.copy()
    widest["std"] = widest["std"].where(widest["std"].isna(), 0.098765)
    marked = widest[widest["metric"].isin(["auc", "positives", "precision", "recall"])]
    claims = claims_of(
        *(
            claim(r["item"], parse_cell(r["cell"]), r["origin"], r["metric"], "not reproduced")
            for r in marked.to_dict("records")
        )
    )
    fragments = [TABLES[name](widest, claims, printed(name)) for name in TABLES]
    tex = tmp_path / "tables.tex"
    tex.write_text(document(fragments, "DPAUC"), encoding="utf-8")
    assert compile_pdf(tex, tmp_path / "tables.pdf") == []
