"""The smoke scale run for real: complete, repeatable, resumable, and stale where it should be.

Slow: the `finished` fixture and the killed run train models and import TensorFlow several times.
Every check here shares those two runs.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import yaml
from conftest_workflow import copy_repository, differences, jobs, smoke, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

# --- what a run leaves --------------------------------------------------------------------------


def test_a_second_run_has_nothing_to_do(finished):
    process = snakemake("--cores", 2, *smoke(finished), cwd=finished)
    assert "Nothing to be done" in process.stdout + process.stderr


def test_the_run_says_what_data_it_had(finished):
    measurements = pd.read_csv(finished / "results/smoke/dpauc/measurements.csv")
    label = measurements.loc[measurements["origin"] == "wide_deep", "data"].unique().tolist()
    assert label == ["related" if os.environ.get("LEAKMETER_DATA") else "standin"]
    assert set(measurements.loc[measurements["origin"] == "authors", "data"]) == {"authors"}


@pytest.fixture(scope="module")
def claims(finished):
    return pd.read_csv(finished / "results/smoke/claims.csv")


def test_every_claim_has_a_verdict_and_levels_are_not_compared_on_other_data(claims):
    assert claims["verdict"].notna().all()
    assert claims["why"].notna().all()
    levels = claims[claims["test"].isin(["mean", "single", "given", "equal"])]
    borrowed = levels[levels["data"].isin(["related", "standin"])]
    assert set(borrowed["verdict"]) <= {"not run", "calibrated"}


def test_the_authors_cells_are_reproduced_at_the_family_wise_level(claims):
    families = ["dpauc_table1", "dpauc_table4", "dpauc_table5", "dpauc_outputs"]
    ours = claims[(claims["origin"] == "authors") & claims["p"].notna()]
    ours = ours[ours["id"].str.startswith(tuple(families))]
    assert len(ours) > 150
    assert set(ours["verdict"]) == {"reproduced"}


def test_no_erratum_is_refuted(finished):
    errata = pd.read_csv(finished / "results/smoke/errata.csv")
    assert len(errata) > 10
    assert errata["holds"].fillna(True).astype(bool).all(), errata[["id", "value", "condition"]]


def test_the_tables_compile(finished, require_tool, tmp_path):
    require_tool("pdflatex")
    from leakmeter.reporting.latex import compile_pdf, document

    tables = sorted((finished / "results/smoke").glob("*/tables/*.tex"))
    assert len(tables) >= 12
    tex = tmp_path / "tables.tex"
    tex.write_text(document([path.read_text() for path in tables], title="All tables"))
    compile_pdf(tex, tmp_path / "tables.pdf")
    assert (tmp_path / "tables.pdf").read_bytes().startswith(b"%PDF")


def test_the_report_of_snakemake_builds(finished, tmp_path):
    # targets first: --report takes every word that follows it
    snakemake("--report", tmp_path / "report.html", *smoke(finished), cwd=finished)
    text = (tmp_path / "report.html").read_text()
    assert "figure1" in text
    assert "DPAUC" in text


def test_logs_and_benchmarks_are_written(finished):
    logs = finished / "results/smoke/logs"
    assert (logs / "dpauc_preprocess.log").read_text()
    assert list((finished / "results/smoke/timings/dpauc_train").glob("*.jsonl"))


# --- killed and resumed, one core ---------------------------------------------------------------


def descendants(pid):
    import psutil

    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill_after(command, cwd, finished_jobs, log_path):
    """Start Snakemake and kill it, alone, while a job runs after that many have finished."""
    with open(log_path, "w") as log:
        process = subprocess.Popen(command, cwd=cwd, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.time() + 600
        while process.poll() is None and time.time() < deadline:
            done = log_path.read_text().count("Finished jobid")
            if done >= finished_jobs and descendants(process.pid):
                process.send_signal(signal.SIGKILL)
                process.wait()
                return
            time.sleep(0.2)
    pytest.fail(f"ended before it was killed:\n{log_path.read_text()[-3000:]}")


def test_killed_three_times_and_resumed_on_one_core_gives_the_same_bytes(finished, tmp_path):
    """Only Snakemake dies by SIGKILL; its jobs live on as orphans, as after a lost session."""
    repository = copy_repository(tmp_path / "killed")
    arguments = ["--cores", "1", *smoke(repository)]
    for finished_jobs in (1, 6, 5):
        command = [sys.executable, "-m", "snakemake", *arguments]
        kill_after(command, repository, finished_jobs, tmp_path / "killed.log")
    assert list((repository / ".snakemake/locks").iterdir())
    last = snakemake(*arguments, cwd=repository)
    assert "its lock is released" in last.stderr + last.stdout
    assert differences(finished, repository) == []


# --- staleness ----------------------------------------------------------------------------------


@pytest.fixture
def edit(finished):
    """Change a file of the finished copy; it is put back afterwards."""
    saved = {}

    def change(name, old, new):
        path = finished / name
        saved.setdefault(path, (path.read_bytes(), path.stat()))
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new, 1))

    yield change
    for path, (content, stat) in saved.items():
        path.write_bytes(content)
        # a script that is newer than its outputs counts as changed
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def stale(repository):
    """Rules that run again, with the number of their jobs."""
    return jobs(snakemake("-n", *smoke(repository), cwd=repository))


#: Rules of the DPAUC chain by what they start from.
DATA = {"criteo_source", "dpauc_preprocess"}
FREE = {"dpauc_budget", "dpauc_released"}
TRAINED = {"dpauc_train", "dpauc_ground_truth", "dpauc_curves"}
CLAIMED = {"chain_claims", "claims", "dpauc_table"}


def module(name):
    """An edit of a module's docstring: its digest changes, nothing else does."""
    return f"src/leakmeter/{name}.py", '"""', '"""Edited. '


def key(line, new):
    """An edit of a key of the configuration."""
    return "config/smoke.yaml", line, new


@pytest.mark.parametrize(
    ("change", "reruns", "spared"),
    [
        pytest.param(
            module("dpauc/drawings"),
            {"dpauc_figure"},
            CLAIMED | TRAINED | DATA | FREE | {"dpauc_measure"},
            id="a drawing module redraws and retrains nothing",
        ),
        pytest.param(
            module("dpauc/exact"),
            TRAINED | CLAIMED | {"dpauc_measure"},
            DATA | {"dpauc_budget"},
            id="a helper reruns what imports it, through other modules too",
        ),
        pytest.param(
            module("dpauc/criteo"),
            {"dpauc_preprocess", "dpauc_train"},
            FREE | {"criteo_source"},
            id="the preprocessing module",
        ),
        pytest.param(
            ("workflow/scripts/dpauc/budget.py", "with script", "# edited\nwith script"),
            {"dpauc_budget", "dpauc_gather"},
            TRAINED | DATA | {"dpauc_measure"},
            id="a script",
        ),
        pytest.param(
            ("config/claims.yaml", "# Published", "# Edited. Published"),
            CLAIMED,
            TRAINED | DATA | FREE | {"dpauc_figure", "dpauc_measure"},
            id="an input file",
        ),
        pytest.param(
            ("resources/published/dpauc_table4_iid_vs_noniid.csv", "IID", "IID "),
            CLAIMED | {"dpauc_released", "dpauc_measure"},
            TRAINED | DATA | {"dpauc_budget"},
            id="published numbers",
        ),
        pytest.param(
            key("score_noise_repeats: 5", "score_noise_repeats: 6"),
            CLAIMED | {"dpauc_measure", "dpauc_gather", "dpauc_figure"},
            TRAINED | DATA | FREE,
            id="one configuration key reruns one experiment",
        ),
        pytest.param(
            key("learning_rate: 0.001", "learning_rate: 0.002"),
            TRAINED,
            DATA | FREE,
            id="a training key",
        ),
    ],
)
def test_an_edit_reruns_what_depends_on_it_and_nothing_else(finished, edit, change, reruns, spared):
    edit(*change)
    found = stale(finished)
    assert reruns <= set(found)
    assert not spared & set(found)
    if "score_noise" in change[1]:
        assert found["dpauc_measure"] == 2  # one job for each origin


def test_a_module_that_nothing_imports_reruns_nothing(finished):
    path = finished / "src/leakmeter/dpauc/unused.py"
    path.write_text("x = 1\n")
    try:
        assert not stale(finished)
    finally:
        path.unlink()


def test_touching_without_changing_reruns_nothing(finished):
    os.utime(finished / "config/claims.yaml")
    assert not stale(finished)


def test_a_new_file_in_the_users_folder_replaces_what_stood_in(finished, tmp_path):
    """Whatever the run had, the genuine or another file in data.dir is seen and used."""
    folder = tmp_path / "mine/criteo_terabyte"
    folder.mkdir(parents=True)
    (folder / "day_0.part.txt").write_text("placeholder: existence is all a dry run looks at\n")
    given = tmp_path / "data.yaml"
    smoke_config = yaml.safe_load((finished / "config/smoke.yaml").read_text())
    given.write_text(yaml.safe_dump(smoke_config | {"data": {"dir": str(tmp_path / "mine")}}))
    process = snakemake("-n", "--configfile", given, cwd=finished)
    assert {"criteo_source", "dpauc_preprocess", "dpauc_train"} <= set(jobs(process))


def test_a_deleted_result_alone_is_remade(finished):
    figure = finished / "results/smoke/dpauc/figures/roc.png"
    kept = figure.with_suffix(".kept")
    shutil.move(figure, kept)
    try:
        found = stale(finished)  # the figure, and what shows it
        assert found["dpauc_figure"] == 1
        assert not (CLAIMED | {"dpauc_measure"}) & set(found)
    finally:
        shutil.move(kept, figure)
