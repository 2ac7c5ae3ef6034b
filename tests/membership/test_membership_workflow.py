"""The SHAPr chain's graph: all ten sets, choices of sets, one clear error. Dry runs only."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from leakmeter.membership.sets import NAMES

pytestmark = pytest.mark.workflow
ROOT = Path(__file__).resolve().parents[2]


def dry_run(tmp_path, settings, target="shapr"):
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"scale": "mine", "shapr": settings}))
    command = [sys.executable, "-m", "snakemake", target, "-n", "--configfile", config]
    return subprocess.run(
        [*map(str, command), "--directory", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"LEAKMETER_DATA": ""},
        capture_output=True,
        text=True,
    )


def jobs(process):
    text = process.stdout + process.stderr
    assert process.returncode == 0, text[-3000:]
    found = re.findall(r"^(shapr_\w+)\s+(\d+)\s*$", text, flags=re.MULTILINE)
    return {rule: int(n) for rule, n in found}


def test_all_ten_sets_are_in_the_default_graph(tmp_path):
    found = jobs(dry_run(tmp_path, {}))
    for rule in ("shapr_data", "shapr_train", "shapr_score", "shapr_removal"):
        assert found[rule] == len(NAMES)
    assert found["shapr_influence"] == 5
    assert found["shapr_backdoors"] == 2


def test_chosen_sets_only(tmp_path):
    settings = {
        "sets": ["usps", "meps"],
        "influence": {"sets": ["usps"]},
        "backdoors": {"sets": ["meps"]},
    }
    found = jobs(dry_run(tmp_path, settings))
    assert found["shapr_train"] == 2
    assert found["shapr_influence"] == found["shapr_backdoors"] == 1


def test_experiments_without_a_set_of_the_run_are_left_out(tmp_path):
    found = jobs(dry_run(tmp_path, {"sets": ["usps"]}))
    assert "shapr_backdoors" not in found
    assert found["shapr_influence"] == 1
    found = jobs(dry_run(tmp_path, {"influence": {"sets": []}, "backdoors": {"sets": []}}))
    assert not {"shapr_backdoors", "shapr_influence"} & set(found)
    assert found["shapr_figures"] == 1


def test_a_printed_table_is_a_target(tmp_path):
    assert jobs(dry_run(tmp_path, {}, "shapr_table3"))["shapr_tables"] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shadow_models": 7}, "shapr.shadow_models: 7 is not a multiple of 2"),
    ],
)
def test_mistakes_are_one_clear_message(tmp_path, settings, message):
    process = dry_run(tmp_path, settings)
    text = process.stdout + process.stderr
    assert process.returncode != 0
    assert message.split(": ")[0] in text
    assert "Traceback" not in text
