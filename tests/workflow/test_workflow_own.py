"""The user's own files through the configuration: made, kept, made again when a file changes."""

import json
import time

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest_workflow import ROOT, jobs, snakemake

from leakmeter.own.audited import AuditOptions, audit_report
from leakmeter.own.constrained import labelings_report
from leakmeter.own.risks import shapr_report
from leakmeter.own.scored import DpaucOptions, dpauc_report

pytestmark = pytest.mark.workflow
KINDS = ["dpauc", "audit", "shapr", "labelings"]


def run(folder, *arguments, check=True):
    configfile = ["--configfile", folder / "mine.yaml", "--directory", folder]
    return snakemake(*arguments, *configfile, cwd=ROOT, check=check)


def configure(folder, **config):
    (folder / "mine.yaml").write_text(yaml.safe_dump({"scale": "mine", **config}))


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A folder with a file of every kind, run to its end once (about a minute)."""
    folder, random = tmp_path_factory.mktemp("mine"), np.random.default_rng(0)
    label, member = random.integers(0, 2, 200), random.integers(0, 2, 200)
    p = random.beta(2 + label + member, 2)
    frames = {
        "scores": {"score": p, "label": label},
        "attack": {"score": p, "member": member},
        "x": {"a": p, "label": label, "member": member},
        "p": {"0": 1 - p, "1": p},
        "guesses": {"guess": random.permutation(12) / 12},
    }
    for name, columns in frames.items():
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    (folder / "t.csv").write_text("name,fn,tp,fp,tn\n[a] $^$ a_$ b_$ 日,10,90,20,80\n")
    configure(
        folder,
        dpauc={"scores": "scores.csv", "own": {"repeats": 20, "error": 0.05}},
        audit={"tallies": "t.csv", "attack_scores": "attack.csv"},
        shapr={"features": "x.csv", "outputs": "p.csv"},
        labelings={"guesses": "guesses.csv", "auc": "0.77"},
    )
    run(folder, "own", "--cores", 2)
    return folder


def test_numbers_are_those_of_the_library(mine):
    out = mine / "results/mine/own"
    wanted = {
        "dpauc": dpauc_report(mine / "scores.csv", DpaucOptions(repeats=20, error=0.05)),
        "audit": audit_report(
            tallies=mine / "t.csv", attack_scores=mine / "attack.csv", options=AuditOptions()
        ),
        "shapr": shapr_report(mine / "x.csv", mine / "p.csv"),
        "labelings": labelings_report(mine / "guesses.csv", "0.77"),
    }
    for kind, report in wanted.items():
        report.write(*(mine / name for name in ("s.json", "t_.csv", "r.csv")))
        for name, part in (("summary.json", "s.json"), ("table.csv", "t_.csv")):
            assert (out / kind / name).read_text() == (mine / part).read_text(), (kind, name)
        if report.records is not None:
            assert (out / kind / "records.csv").read_text() == (mine / "r.csv").read_text()


def test_every_kind_has_a_figure_and_a_table(mine):
    out = mine / "results/mine/own"
    for kind in KINDS:
        assert (out / f"figures/{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / f"figures/{kind}.pdf").read_bytes().startswith(b"%PDF")
        assert "tabular" in (out / f"tables/{kind}.tex").read_text()
        assert json.loads((out / f"tables/{kind}.json").read_text())["rows"]


def test_nothing_is_made_twice_and_a_changed_file_reruns_what_reads_it(mine):
    assert jobs(run(mine, "own", "-n")) == {}
    time.sleep(1.1)  # modification times of some file systems are whole seconds
    with open(mine / "t.csv", "a") as handle:
        handle.write("b,50,50,50,50\n")
    found = jobs(run(mine, "own", "-n"))
    found.pop("own", None)
    assert found == {"own_audit_measure": 1, "own_present": 1}


def test_a_kind_is_a_target(mine):
    found = jobs(run(mine, "own_labelings", "-n", "--forceall"))
    assert set(found) == {"own_labelings", "own_labelings_measure", "own_present"}


def test_all_has_them_only_where_a_key_is_set(mine, tmp_path):
    assert jobs(run(mine, "-n", "--forceall"))["own_present"] == 4
    configure(tmp_path, dpauc={"scores": str(mine / "scores.csv")})
    found = jobs(run(tmp_path, "-n"))
    assert found["own_present"] == found["own_dpauc_measure"] == 1
    configure(tmp_path)
    assert not {rule for rule in jobs(run(tmp_path, "-n")) if rule.startswith("own")}


@pytest.mark.parametrize(
    ("target", "config", "message"),
    [
        ("own", {}, "none of dpauc.scores, audit.tallies, audit.attack_scores, shapr.features"),
        ("own_dpauc", {}, "dpauc.scores is not set; name a file of yours"),
        ("own", {"dpauc": {"scores": "no.csv"}}, "dpauc.scores: no.csv is not a file"),
        ("own", {"labelings": {"auc": "0.7"}}, "labelings.auc is set and labelings.guesses is not"),
        ("own", {"labelings": {"auc": 0.7}}, "labelings.auc: got 0.7 (float), expected string"),
    ],
)
def test_what_is_missing_is_named(tmp_path, target, config, message):
    configure(tmp_path, **config)
    process = run(tmp_path, target, "-n", check=False)
    assert process.returncode != 0
    assert message in process.stdout + process.stderr


def test_braces_in_a_name_are_refused(tmp_path):
    (tmp_path / "{odd} $x.csv").write_text("fn,tp,fp,tn\n10,90,20,80\n")
    configure(tmp_path, audit={"tallies": "{odd} $x.csv"})
    process = run(tmp_path, "own", "-n", check=False)
    assert process.returncode != 0
    output = process.stdout + process.stderr
    assert "audit.tallies: {odd} $x.csv has braces" in output
    assert "WildcardError" not in output


def test_a_mistake_in_a_file_is_one_line_of_the_log(tmp_path):
    (tmp_path / "s.csv").write_text("score,label\n0.5,0\nx,1\n")
    configure(tmp_path, dpauc={"scores": "s.csv"})
    process = run(tmp_path, "own", "--cores", 1, check=False)
    assert process.returncode != 0
    log = (tmp_path / "results/mine/logs/own_dpauc_measure.log").read_text()
    assert "s.csv, line 3, column score: is 'x'; expected a finite number" in log
    assert "Traceback" not in log
    assert not list((tmp_path / "results/mine").glob("own/**/*.*"))
