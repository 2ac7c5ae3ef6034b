"""Tables and figures of the SHAPr chain on a small run: they hold the numbers and compile."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from leakmeter.membership.drawings import FIGURES
from leakmeter.membership.drawings import runtimes as draw_runtimes
from leakmeter.membership.experiments.runtimes import growth, with_leave_one_out
from leakmeter.membership.table_numbers import ShaprNumbers, statement_values
from leakmeter.membership.tables import TABLES
from leakmeter.membership.use_tables import runtimes
from leakmeter.reporting.claims import COLUMNS, Engine, expand_origins, read_claims
from leakmeter.reporting.figures import save
from leakmeter.reporting.latex import compile_pdf, document
from leakmeter.runtime import UserError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def numbers(measurements, pools):
    """A maker of fresh collections of numbers, with the real claims evaluated on the small run."""
    config = {
        "scale": "test",
        "seed": 1,
        "claims": {"level": 0.01},
        "shapr": {
            "sets": list(pools),
            "neighbours": [1, 5],
            "removal": {"fractions": [0.25, 0.5]},
            "influence": {"sets": list(pools)},
            "backdoors": {"sets": list(pools)},
        },
    }
    engine = Engine(measurements, {}, ROOT / "resources/published", config)
    claims = engine.evaluate(expand_origins(read_claims(ROOT / "config/claims.yaml", ["shapr"])))
    with open(ROOT / "resources/published/shapr_statements.csv", newline="") as handle:
        published = statement_values(csv.DictReader(handle))
    meta = [data.meta for data in pools.values()]
    return lambda: ShaprNumbers(measurements, claims, meta, published)


@pytest.fixture(scope="module")
def curves(scored):
    return pd.concat([part for *_, part in scored.values()])


@pytest.mark.parametrize(
    ("name", "item", "key"),
    [
        ("table7", "influence", r"shapr.influence.sets"),
        ("valuation", "removal", r"shapr.removal.valuation\_sets"),
        ("backdoors", "backdoors", r"shapr.backdoors.sets"),
    ],
)
def test_a_table_of_an_experiment_that_is_not_run_says_so(numbers, measurements, name, item, key):
    whole = numbers()
    left = measurements[measurements["item"] != item]
    rest = ShaprNumbers(left, pd.DataFrame(columns=COLUMNS), whole.meta, whole.published)
    tex = TABLES[name](rest)
    assert f"Not run: no entry of {key} is among shapr.sets." in tex


def test_claims_are_marked_in_the_tables(numbers):
    """Evaluating them already refuses a claim whose cell the chain does not measure."""
    collection = numbers()
    assert "Verdicts:" in TABLES["statements"](collection)
    assert collection.marks.total() >= 10
    assert collection.marks["uninformative"] >= 1  # a constant has a higher recall than KIFS, too


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_shows_every_set_or_statement(numbers, name):
    tex = TABLES[name](numbers())
    assert tex.count(r"\begin{tabular}") == 1
    assert "nan" not in tex.lower().replace("finance", "")
    if name in ("table2", "table3", "table4", "table5", "table8", "attacks", "roc", "removal"):
        for title in ("CENSUS", "MEPS", "CREDIT", "USPS", r"MNIST$^{s}$"):
            assert title in tex, title
    if name in ("table3", "table4"):
        assert "genuine sets" in tex


def test_the_statements_show_the_adjusted_p_of_their_claims(numbers):
    tex = TABLES["statements"](numbers())
    rows = {line.split("&")[0].strip(): line.split("&") for line in tex.splitlines() if "&" in line}
    # four sets with a difference of 0.7 that hardly varies
    kifs = rows[r"KIFS (last layer) has lower recall than SHAPr against $I_{\mathrm{ment}}$"]
    assert kifs[2].strip() == "4"
    assert r"\times10^{-" in kifs[3]
    unclaimed = rows["L2 lowers the test accuracy"]
    assert unclaimed[3].strip() == "--"


def test_comparisons_of_two_cells_are_marked_at_the_first(numbers):
    collection = numbers()
    TABLES["backdoors"](collection)
    assert collection.marks.total() == 8  # memorisation and score of three kinds, two kinds as such


def test_exploratory_claims_say_so(numbers):
    collection = numbers()
    rows = [row for part in collection.claims.values() for row in part]
    exploratory = [row for row in rows if row["id"].endswith("_kind")]
    assert exploratory
    for row in exploratory:
        assert "(exploratory)" in row["statement"]
        assert "exploratory: " in row["why"]


def test_table1_has_the_papers_marks(numbers):
    tex = TABLES["table1"](numbers())
    rows = {line.split("&")[0].strip(): line for line in tex.splitlines() if "&" in line}
    marks = {name: line.count(r"$\bullet$") for name, line in rows.items() if name[:1] == "R"}
    assert marks == {"R1": 3, "R2": 2, "R3": 3, "R4": 2, "R5": 2}


def test_table3_holds_the_measured_numbers(numbers, measurements):
    row = numbers().get("comparison", {"set": "usps", "attack": "ment", "score": "shapr"}, "f1")
    assert f"{row['value']:.3f}" in TABLES["table3"](numbers())


def test_all_tables_compile(numbers, require_tool, tmp_path):
    require_tool("pdflatex")
    times = pd.DataFrame(
        [{"set": "x", "what": "training", "train": 10, "test": 10, "cpu_seconds": 2.0}]
    )
    parts = [make(numbers()) for make in TABLES.values()] + [runtimes(with_leave_one_out(times))]
    (tmp_path / "t.tex").write_text(document(parts, title="SHAPr"))
    overfull = compile_pdf(tmp_path / "t.tex", tmp_path / "t.pdf")
    assert overfull == []
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    kinds = ["clean"] * 20 + ["label_flip"] * 5 + ["artefact"] * 5 + ["out_of_distribution"] * 5
    values = {"memorisation": rng.random(35), "kind_memorisation": rng.random(35)}
    values["shapr"] = rng.normal(size=35)
    return pd.DataFrame({"set": "usps", "kind": kinds, **values})


@pytest.mark.parametrize("name", list(FIGURES))
def test_figures_are_the_same_bytes_each_time(measurements, curves, records, tmp_path, name):
    for run in ("a", "b"):
        made = FIGURES[name](measurements=measurements, curves=curves, records=records)
        save(made, tmp_path / f"{run}.pdf", tmp_path / f"{run}.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert made.axes


def test_a_figure_without_its_rows_says_which(measurements, curves, records):
    with pytest.raises(UserError, match="no row of item 'comparison' has the metric 'f1'"):
        FIGURES["effectiveness"](
            measurements=measurements[measurements["item"] != "comparison"],
            curves=curves,
            records=records,
        )


def test_empty_experiments_are_said_in_the_figure(measurements, curves):
    made = FIGURES["backdoors"](measurements=measurements, curves=curves, records=pd.DataFrame())
    assert "no set" in made.texts[0].get_text()


def test_runtimes():
    times = growth({"sizes": [20, 40], "classes": 3}, seed=1)
    assert times["train"].tolist() == [20, 40]
    assert (times["cpu_seconds"] >= 0).all()
    extra = pd.DataFrame(
        [{"set": "x", "what": "training", "train": 7, "test": 7, "cpu_seconds": 2.0}]
    )
    whole = with_leave_one_out(pd.concat([times, extra]))
    loo = whole[whole["what"] == "leave_one_out (extrapolated)"]
    assert loo["cpu_seconds"].tolist() == [14.0]
    assert "leave-one-out" in runtimes(whole)
    assert draw_runtimes(whole.assign(cpu_seconds=whole["cpu_seconds"] + 0.1)).axes
