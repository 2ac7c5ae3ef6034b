"""The command: help, options, exit codes, completion; once in a process of its own."""

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakmeter
from leakmeter import cli
from leakmeter.audit.intervals import METHODS, epsilon_interval
from leakmeter.own.audited import SELECTIONS
from leakmeter.own.risks import ShaprOptions

COMMANDS = ["dpauc", "interval", "shapr", "labelings"]


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments], prog_name="leakmeter")


@pytest.fixture
def scores(tmp_path):
    random = np.random.default_rng(0)
    label = random.integers(0, 2, 300)
    path = tmp_path / "scores.csv"
    pd.DataFrame({"score": random.beta(2 + label, 2), "label": label}).to_csv(path, index=False)
    return path


# --- help ---------------------------------------------------------------------------------------


def test_help_names_commands_and_exit_codes():
    result = run("--help")
    assert result.exit_code == 0
    for word in (*COMMANDS, "--install-completion", "--show-completion", "--version", "Exit codes"):
        assert word in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples_and_exit_codes(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.output.count(f"leakmeter {command} ") >= 3 + 1  # and the usage line
    for word in ("--json", "--out", "Exit codes"):
        assert word in result.output


def test_version():
    assert run("--version").output == f"leakmeter {leakmeter.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys, json\nfrom leakmeter import cli\n"
        "try: cli.app(['--help'], prog_name='leakmeter')\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"tensorflow", "numpy", "pandas", "scipy", "matplotlib", "snakemake"}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_imports_tensorflow(command):
    module = {
        "dpauc": "scored",
        "interval": "audited",
        "shapr": "risks",
        "labelings": "constrained",
    }
    code = f"import sys, leakmeter.own.{module[command]}, leakmeter.own.files; print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_choices_are_those_of_the_library():
    assert [m.value for m in cli.Intervals] == list(METHODS)
    assert [s.value for s in cli.Selection] == list(SELECTIONS)
    for space in cli.Space:
        ShaprOptions(space=space.value)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    done = subprocess.run(
        [sys.executable, "-m", "leakmeter.cli"],
        env=os.environ | {"_LEAKMETER_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_LEAKMETER_COMPLETE" in done.stdout
    assert "leakmeter" in done.stdout


def test_show_completion_in_a_named_shell():
    done = subprocess.run(
        [sys.executable, "-m", "leakmeter.cli", "--show-completion", "bash"],
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "complete -o default -F _leakmeter_completion leakmeter" in done.stdout


def test_completion_of_a_word():
    environment = {
        "_LEAKMETER_COMPLETE": "complete_bash",
        "COMP_WORDS": "leakmeter dp",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "leakmeter.cli"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["dpauc"]


def test_the_installed_command_is_this_one(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    entry = importlib.metadata.EntryPoint(
        "leakmeter", project["scripts"]["leakmeter"], "console_scripts"
    )
    assert entry.load() is cli.main


# --- commands -----------------------------------------------------------------------------------


def test_dpauc(scores, tmp_path):
    options = ["--epsilons", "1,4", "--repeats", 50, "--error", 0.05, "--clients", 3]
    result = run("dpauc", scores, *options, "--json", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    value = json.loads(result.output)
    assert {row["epsilon"] for row in value["table"]} == {1.0, 4.0}
    assert value["summary"]["clients"] == 3
    assert set(value["summary"]["epsilon_for_error"]) == set(value["summary"]["methods"])
    assert (tmp_path / "out/figure.png").is_file()
    text = run("dpauc", scores, *options, "--methods", "positives, histogram:gaussian")
    assert text.exit_code == 0
    assert text.output.startswith("The exact AUC of 300 records")
    assert "histogram:gaussian" in text.output
    assert "paper" not in text.output


def test_interval_of_a_tally():
    result = run("interval", "--fn", 10, "--tp", 90, "--fp", 20, "--tn", 80, "--delta", 0, "--json")
    row = json.loads(result.output)["table"][0]
    want = epsilon_interval(fn=10, tp=90, fp=20, tn=80, delta=0.0, alpha=0.1)
    assert (row["low"], row["high"]) == want


def test_interval_of_tables(tmp_path):
    (tmp_path / "t.csv").write_text("fn,tp,fp,tn\n50,50,50,50\n")
    result = run("interval", tmp_path / "t.csv")
    assert result.exit_code == 0
    assert "nothing found" in result.output
    rows = "".join(f"{i * 7 % 40 / 40},{i % 2}\n" for i in range(40))
    (tmp_path / "a.csv").write_text(f"score,member\n{rows}")
    result = run("interval", tmp_path / "a.csv", "--selection", "median", "--json")
    assert json.loads(result.output)["summary"]["attack_scores"]["trials"] == 40


def test_shapr(tmp_path):
    pd.DataFrame(
        {"label": ["a", "b"] * 6, "member": [1, 1, 0] * 4, "f": np.arange(12.0)}
    ).to_parquet(tmp_path / "x.parquet")
    result = run("shapr", tmp_path / "x.parquet", "-k", 3, "--json", "--out", tmp_path / "o")
    value = json.loads(result.output)
    assert value["summary"]["k"] == 3
    written = pd.read_csv(tmp_path / "o/records.csv")
    assert written["shapr"].notna().sum() == 8
    assert [row["shapr"] for row in value["records"]] == [
        None if np.isnan(v) else v for v in written["shapr"]
    ]


def test_labelings(tmp_path):
    (tmp_path / "g.csv").write_text("guess\n0.2\n0.5\n0.9\n0.1\n")
    result = run("labelings", tmp_path / "g.csv", "--auc", "3/4", "--enumerate", 5, "--json")
    value = json.loads(result.output)
    assert value["summary"]["labelings"] == "1"
    assert [row["labeling_1"] for row in value["records"]] == [1, 0, 1, 0]
    result = run("labelings", tmp_path / "g.csv", "--auc", "0.9", "--ones", 2, "--no-posterior")
    assert result.exit_code == 2
    assert "no labeling of 4 records with 2 ones has auc 0.9; expected" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_which_files_are_written(command):
    words = " ".join(run(command, "--help").output.split())
    assert "and records.csv (shapr, labelings)." in words


def test_out_may_not_replace_an_input(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("fn,tp,fp,tn\n50,50,50,50\n")
    result = run("interval", path, "--out", tmp_path)
    assert result.exit_code == 2
    assert "would be replaced by the table.csv of the results" in result.stderr
    assert path.read_text() == "fn,tp,fp,tn\n50,50,50,50\n"
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dpauc", "nowhere.csv"], "nowhere.csv: no such file"),
        (["dpauc", "{bad}"], "line 3, column score: is 'x'; expected a finite number"),
        (["dpauc", "{bad}", "--epsilons", "1;2"], "--epsilons is '1;2'; expected numbers"),
        (["dpauc", "{bad}", "--methods", "magic"], "method is 'magic'"),
        (["dpauc", "{bad}", "--error", "2"], "error is 2.0"),
        (["interval", "{bad}"], "has the columns label, score; expected fn, tp, fp, tn"),
        (["interval", "--fn", "0", "--tp", "0", "--fp", "1", "--tn", "1"], "fn + tp is 0"),
        (["interval", "--fn", "1", "--tp", "1", "--fp", "1", "--tn", "1", "--delta", "2"], "delta is 2.0"),
        (["shapr", "{bad}"], "no column 'member'"),
        (["labelings", "{bad}", "--auc", "0.5"], "no column 'guess'"),
        (["labelings", "{bad}", "--auc", "x"], "auc is 'x'; expected a fraction"),
        (["interval", *(f"--{name}=1" for name in ("fn", "tp", "fp", "tn")), "--selection=low"], "no attack scores"),
    ],
)  # fmt: skip
def test_a_mistake_in_what_is_given(tmp_path, arguments, message):
    bad, out = tmp_path / "bad.csv", tmp_path / "out"
    bad.write_text("score,label\n0.5,0\nx,1\n")
    result = run(*(a.format(bad=bad) for a in arguments), "--out", out)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("leakmeter: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["dpauc"],
        ["dpauc", "x.csv", "--thresholds", "1"],
        ["dpauc", "x.csv", "--no-such-option"],
        ["interval"],
        ["interval", "--fn", "3"],
        ["interval", "x.csv", "--fn", "3"],
        ["interval", "x.csv", "--method", "wald"],
        ["labelings", "x.csv"],
        ["nothing"],
    ],
)
def test_a_mistake_in_the_options(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert "Error" in result.stderr


def test_an_unexpected_error_is_a_bug_and_keeps_its_traceback(monkeypatch, scores):
    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("leakmeter.own.scored.dpauc_report", broken)
    result = run("dpauc", scores)
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_a_process_of_its_own(tmp_path):
    command = [sys.executable, "-m", "leakmeter.cli", "interval"]
    good = subprocess.run(
        [*command, *["--fn", "0", "--tp", "1000", "--fp", "0", "--tn", "1000", "--json"]],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    row = json.loads(good.stdout)["table"][0]
    assert (round(row["low"], 3), round(row["high"], 3)) == (7.207, 14.501)
    assert good.stderr == ""
    bad = subprocess.run([*command, "x.csv"], capture_output=True, text=True, cwd=tmp_path)
    assert bad.returncode == 2
    assert bad.stderr == "leakmeter: x.csv: no such file\n"
    assert bad.stdout == ""
    assert not list(tmp_path.iterdir())


def test_the_package_runs_as_the_command(tmp_path):
    command = [sys.executable, "-m", "leakmeter"]
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, cwd=tmp_path)
    assert (shown.returncode, shown.stdout.split()[0]) == (0, "leakmeter")
