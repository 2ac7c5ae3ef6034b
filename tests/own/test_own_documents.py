"""The examples of docs/bring-your-own.md, run as they stand."""

import re
import shlex
import subprocess
import sys

import pytest
import yaml
from typer.testing import CliRunner

from leakmeter import cli
from leakmeter.workflow import complete_config

NAME = "docs/bring-your-own.md"


@pytest.fixture
def text(root):
    return (root / NAME).read_text()


def examples(text):
    """(command line, output) of every console block."""
    return re.findall(r"^```console\n\$ leakmeter (.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)


def same(found, wanted):
    """Equal but for the last digits of numbers, which may depend on the machine."""
    words = [re.findall(r"[^\s\[\],;]+", t) for t in (found, wanted)]
    assert len(words[0]) == len(words[1]), found
    for one, other in zip(*words, strict=True):
        try:
            assert float(one) == pytest.approx(float(other), rel=2e-3, abs=1e-9)
        except ValueError:
            assert one == other


def test_outputs_are_those_that_are_printed(root, text, monkeypatch):
    monkeypatch.chdir(root / "docs/examples")
    found = examples(text)
    assert {line.split()[0] for line, _ in found} == {"dpauc", "interval", "shapr", "labelings"}
    for line, output in found:
        result = CliRunner().invoke(cli.app, shlex.split(line), prog_name="leakmeter")
        assert result.exit_code in (0, 2), line
        same(result.stdout + result.stderr, output)


def test_a_mistake_is_among_the_examples(text):
    assert any(output.startswith("leakmeter: ") for _, output in examples(text))


def test_the_configuration_is_valid_and_names_files_that_exist(root, text):
    block = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1]
    schema = yaml.safe_load((root / "workflow/schemas/config.schema.yaml").read_text())
    config = complete_config(yaml.safe_load(block), schema)
    for chain, key in (
        ("dpauc", "scores"),
        ("audit", "tallies"),
        ("audit", "attack_scores"),
        ("shapr", "features"),
        ("shapr", "outputs"),
        ("labelings", "guesses"),
    ):
        assert (root / config[chain][key]).is_file()


@pytest.mark.workflow
def test_the_configuration_runs(root, text, tmp_path):
    """A dry run: tests/workflow/test_workflow_own.py runs one to its end."""
    block = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1]
    (tmp_path / "mine.yaml").write_text(block.replace("docs/examples", f"{root}/docs/examples"))
    command = [sys.executable, "-m", "snakemake", "own", "-n", "--directory", tmp_path]
    done = subprocess.run(
        [*command, "--configfile", tmp_path / "mine.yaml"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "own_labelings_measure" in done.stdout + done.stderr
