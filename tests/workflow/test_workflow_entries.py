"""The same jobs from wherever the workflow is started; files of another scale; style of the rules."""

import re
import subprocess
import sys

import pytest
from conftest_workflow import ROOT, SMOKE, jobs, snakemake

pytestmark = pytest.mark.workflow

MODULE = """
configfile: "{root}/config/smoke.yaml"

module leakmeter:
    snakefile: "{root}/workflow/Snakefile"
    config: config
    {prefix}

use rule * from leakmeter as leakmeter_*

rule everything:
    default_target: True
    input: rules.leakmeter_all.input
"""


@pytest.fixture(scope="module")
def from_root(tmp_path_factory):
    # --directory keeps the repository free of results; the Snakefile is found from its root
    process = snakemake("-n", *SMOKE, "--directory", tmp_path_factory.mktemp("root"), cwd=ROOT)
    found = jobs(process)
    assert found["dpauc_measure"] > 10
    return found


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_another_folder(from_root, tmp_path, snakefile):
    process = snakemake("-n", "-s", ROOT / snakefile, *SMOKE, cwd=tmp_path)
    assert jobs(process) == from_root


def test_inner_snakefile_from_the_root(from_root, tmp_path):
    process = snakemake("-n", "-s", "workflow/Snakefile", *SMOKE, "--directory", tmp_path, cwd=ROOT)
    assert jobs(process) == from_root


@pytest.mark.parametrize("prefix", ["", 'prefix: "theirs"'])
def test_as_a_module(from_root, tmp_path, prefix):
    (tmp_path / "Snakefile").write_text(MODULE.format(root=ROOT, prefix=prefix))
    process = snakemake("-n", cwd=tmp_path)
    found = jobs(process)
    found.pop("everything", None)
    assert {rule.removeprefix("leakmeter_"): n for rule, n in found.items()} == from_root
    if prefix:
        assert "theirs/results/smoke" in process.stdout + process.stderr


def test_a_module_states_only_what_it_changes(tmp_path):
    text = MODULE.format(root=ROOT, prefix="").replace(
        f'configfile: "{ROOT}/config/smoke.yaml"', "config = {'dpauc': {'model': {'repeats': 1}}}"
    )
    (tmp_path / "Snakefile").write_text(text)
    assert jobs(snakemake("-n", cwd=tmp_path))["leakmeter_dpauc_train"] == 1


@pytest.mark.parametrize("scale", ["config", "smoke", "paper"])
def test_every_scale_builds_its_graph(tmp_path, scale):
    configfile = ROOT / f"config/{scale}.yaml"
    process = snakemake("-n", "--configfile", configfile, "--directory", tmp_path, cwd=ROOT)
    assert sum(jobs(process).values()) > 20


def test_named_targets_exist(tmp_path):
    listed = snakemake("--list-rules", "--directory", tmp_path, cwd=ROOT)
    names = (listed.stdout + listed.stderr).split()
    wanted = {"dpauc", "claims", "tables", "figures"}
    wanted |= {f"{chain}_claims" for chain in ("dpauc", "labelings", "audit", "shapr")}
    wanted |= {f"dpauc_table{n}" for n in range(1, 6)} | {f"dpauc_figure{n}" for n in range(1, 4)}
    assert wanted <= set(names)


def test_a_file_of_another_scale_is_refused_with_the_configuration_to_use(tmp_path):
    wanted = "results/paper/dpauc/tables/table4.tex"
    process = snakemake(wanted, "-n", *SMOKE, "--directory", tmp_path, cwd=ROOT, check=False)
    assert process.returncode != 0
    assert "--configfile config/paper.yaml" in process.stdout + process.stderr


def test_a_scale_that_no_configuration_has_is_named(tmp_path):
    process = snakemake(
        "results/nothing/x.tex", "-n", *SMOKE, "--directory", tmp_path, cwd=ROOT, check=False
    )
    assert process.returncode != 0
    assert "no configuration has scale nothing" in process.stdout + process.stderr


def test_a_mistake_in_the_configuration_is_one_clear_message(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("dpauc: {model: {learning_rate: 1e-5}}\n")
    process = snakemake("-n", "--configfile", bad, "--directory", tmp_path, cwd=ROOT, check=False)
    text = process.stdout + process.stderr
    assert process.returncode != 0
    assert "dpauc.model.learning_rate" in text
    assert "1.0e-5" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "dpauc: {criteo: {dataset: criteo_file, file: nowhere.tsv}}",
            "dpauc.criteo.file: nowhere.tsv is not a file",
        ),
        ("data: {dir: nowhere}", "nowhere is not a folder"),
    ],
)
def test_a_path_that_is_not_there_stops_before_anything_runs(tmp_path, text, message):
    """Older results exist or not: Snakemake alone would go on with them."""
    given = tmp_path / "given.yaml"
    given.write_text(text + "\n")
    process = snakemake("-n", "--configfile", given, "--directory", tmp_path, cwd=ROOT, check=False)
    assert process.returncode != 0
    assert message in process.stdout + process.stderr


def test_lint(tmp_path):
    snakemake("--lint", "--directory", tmp_path, cwd=ROOT)


def test_formatted():
    files = [ROOT / "Snakefile", ROOT / "workflow"]
    subprocess.run([sys.executable, "-m", "snakefmt", "--check", *files], check=True)


def test_ruff():
    for command in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, ROOT], check=True, cwd=ROOT)


def rule_bodies():
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for match in re.finditer(
            r"^rule (\w+):\n((?:    .*\n|\n)*)", path.read_text(), re.MULTILINE
        ):
            yield pytest.param(match[2], id=match[1])


@pytest.mark.parametrize("body", list(rule_bodies()))
def test_every_rule_states_what_a_scheduler_and_a_reader_need(body):
    if "script:" not in body and "shell:" not in body:
        return  # a target
    if "refuse_scale" in body:
        return  # never runs
    for directive in (
        "log:",
        "message:",
        "threads:",
        "mem_mb=",
        "runtime=",
        "conda:",
        "code(",
    ):
        assert directive in body, directive
    if "localrule: True" not in body:
        assert "benchmark:" in body
        # a job killed for memory or time comes back with more
        assert re.search(r"mem_mb=grow\(", body)
        assert re.search(r"runtime=grow\(", body)
    # where a job runs and who pays is the profile's business; retries there ask for more, here not
    assert not re.search(r"slurm_|partition|account|qos|retries:", body)


def test_the_entry_file_is_short():
    assert len((ROOT / "workflow/Snakefile").read_text().splitlines()) <= 60
