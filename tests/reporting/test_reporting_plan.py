"""The plan of a scale: jobs from a dry run, cost from benchmarks, scaling as stated."""

import doctest
import re

import pytest
import yaml

from leakmeter.reporting import plan
from leakmeter.runtime import UserError, read_json, write_json

RULES = """
rule train:
    output:
        "a",
    threads: 2
    resources:
        mem_mb=grow(8000),
        runtime=grow(conf("model.epochs")),
        gpu=conf("model.gpus"),
    script:
        "x.py"


rule gather:
    localrule: True
    resources:
        mem_mb=1000,
    shell:
        "true"


rule all:
    input:
        "a",
"""
STATS = """Job stats:
job       count
------  -------
all           1
train         4
gather        1
other         2
total         8

more text
"""
BASE = {"rows": 100, "model": {"epochs": 2, "widths": [1, 2, 3]}, "none": None}
WANTED = {"rows": 1000, "model": {"epochs": 4, "widths": [1], "gpus": 1}, "none": 50}
COST = {"jobs": 2, "cpu_seconds": 7200.0, "wall_seconds": 3600.0, "max_rss_mb": 500.0}
BENCHMARKS = {
    "scale": "laptop",
    "config": BASE,
    "cpu": "a processor",
    "threads": 2,
    "rules": {"train": COST},
    "disk": {"dpauc": 1000, "prepared": 10},
}


def test_examples():
    assert doctest.testmod(plan).failed == 0


def test_jobs_and_what_rules_ask_for():
    assert plan.parse_dry_run(STATS) == {"all": 1, "train": 4, "gather": 1, "other": 2}
    rules = plan.read_rules([RULES], WANTED)
    assert set(rules) == {"train", "gather"}  # targets make nothing
    assert rules["train"] == plan.Jobs("train", 0, mem_mb=8000, gpus=1, minutes=4)
    assert rules["gather"].local
    with pytest.raises(UserError, match="shows no jobs"):
        plan.parse_dry_run("Nothing to be done")


def test_sizes_are_numbers_lengths_fallbacks_and_powers():
    assert plan.size(BASE, "rows") == 100
    assert plan.size(BASE, "model.widths") == 3
    assert plan.size(BASE, {"key": "none", "or": "rows"}) == 100
    assert plan.size(BASE, {"key": "rows", "power": 2}) == 10000
    assert plan.size(BASE, "missing.key") is None
    assert plan.size(BASE, "none") is None
    assert plan.ratio(["rows", "model.epochs"], WANTED, BASE) == 20
    assert plan.ratio([], WANTED, BASE) == 1
    assert plan.ratio(["none"], WANTED, BASE) is None


def scaling(**rules):
    entry = {"why": "one pass"}
    return {
        "rules": {name: entry | rule for name, rule in rules.items()},
        "disk": {"dpauc": ["rows"]},
    }


def test_cost_scales_by_the_rule_and_the_number_of_jobs():
    jobs = [plan.Jobs("train", 4, mem_mb=8000, gpus=1)]
    (one,) = plan.estimate(
        jobs, BENCHMARKS, WANTED, scaling(train={"cpu": ["rows"], "memory": ["model.epochs"]})
    )
    assert one.core_hours == pytest.approx(1 * 10 * 4)  # an hour a job, ten times the rows
    assert one.gpu_hours == pytest.approx(0.5 * 10 * 4)
    assert one.memory_mb == 1000
    assert one.basis == "measured, scaled x10 (assumed: one pass)"


def test_the_recorded_scale_costs_what_was_recorded():
    (one,) = plan.estimate(
        [plan.Jobs("train", 2)], BENCHMARKS, BASE, scaling(train={"cpu": ["rows"]})
    )
    assert one.core_hours == 2
    assert one.basis == "measured at this size"


def test_the_scaling_rule_is_checked_on_a_smaller_run():
    small = BENCHMARKS | {
        "config": BASE | {"rows": 10},
        "rules": {"train": COST | {"cpu_seconds": 1440}},
    }
    rules = scaling(train={"cpu": ["rows"]})
    seen = plan.growth("train", small, BENCHMARKS, rules["rules"]["train"])
    assert (seen.stated, seen.measured) == (10, pytest.approx(5))
    # 720 s a job at 10 rows and 3,600 s at 100: 400 s whatever the size and 32 s a row
    (one,) = plan.estimate([plan.Jobs("train", 1)], BENCHMARKS, WANTED, rules, small)
    assert one.core_hours == pytest.approx((400 + 32 * 1000) / 3600)
    assert "x10 stated and x5 measured between two sizes" in one.basis
    fast = small | {"rules": {"train": COST | {"cpu_seconds": 72}}}
    (one,) = plan.estimate([plan.Jobs("train", 1)], BENCHMARKS, WANTED, rules, fast)
    assert one.core_hours == pytest.approx(10)
    assert one.basis.endswith(
        "x10 stated and x100 measured between two sizes, so this may be too low)"
    )


def test_memory_has_a_part_that_does_not_grow():
    small = BENCHMARKS | {
        "config": BASE | {"rows": 10},
        "rules": {"train": COST | {"max_rss_mb": 410}},
    }
    rules = scaling(train={"memory": ["rows"]})
    # 410 MB at 10 rows and 500 MB at 100: 400 MB whatever the size and 1 MB a row
    (one,) = plan.estimate([plan.Jobs("train", 1)], BENCHMARKS, WANTED, rules, small)
    assert one.memory_mb == pytest.approx(400 + 1000)


def test_two_runs_that_say_nothing_about_growth():
    rules = scaling(train={"cpu": ["rows"], "same": ["model.epochs"]})["rules"]["train"]
    assert plan.growth("train", BENCHMARKS, BENCHMARKS, rules) is None  # one size
    assert plan.growth("other", BENCHMARKS, BENCHMARKS, rules) is None
    other = BENCHMARKS | {"config": BASE | {"rows": 10, "model": {"epochs": 9}}}
    assert plan.growth("train", other, BENCHMARKS, rules) is None  # another computation


def test_what_was_not_measured_is_said_and_marks_the_sums():
    jobs = [plan.Jobs("train", 1), plan.Jobs("dpauc_other", 2), plan.Jobs("gather", 1, local=True)]
    made = plan.estimate(jobs, BENCHMARKS, WANTED, scaling(train={"cpu": ["missing"]}))
    assert [one.core_hours for one in made] == [None, None, 0.0]
    text = plan.render(made, plan.disk_estimate(BENCHMARKS, WANTED, scaling()), BENCHMARKS, "paper")
    assert re.search(r"^dpauc +2 +0\.00\+", text, re.MULTILINE)
    assert "a key of its scaling rule is not in both configurations" in text
    assert "dpauc_other" in text
    assert "not measured" in text


def test_another_computation_is_not_scaled():
    """The cost of one model says nothing about that of another, and a GPU it asks for is unknown."""
    jobs = [plan.Jobs("train", 4, gpus=1)]
    rules = scaling(train={"cpu": ["rows"], "same": ["model.widths"]})
    (one,) = plan.estimate(jobs, BENCHMARKS, WANTED, rules)
    assert one.core_hours is None
    assert one.basis == "not measured: another computation (model.widths)"
    text = plan.render([one], {}, BENCHMARKS, "paper")
    assert re.search(r"^all +4 +0\.00\+ +0\.00\+", text, re.MULTILINE)
    (same,) = plan.estimate(jobs, BENCHMARKS, BASE, rules)
    assert same.core_hours == 4


def test_jobs_that_need_more_than_they_ask_for_or_a_node_has_are_named():
    rules = scaling(train={"cpu": ["rows"], "memory": ["rows"]})  # 5 GB and 300 minutes a job

    def named(node_mb=64_000, **asks):
        (one,) = plan.estimate([plan.Jobs("train", 4, **asks)], BENCHMARKS, WANTED, rules)
        return plan.large_jobs([one], node_mb)

    assert named(mem_mb=6000, minutes=300) == []
    assert named(mem_mb=4000) == ["train: about 5.0 GB of memory a job; it asks for 4.0 GB"]
    assert named(mem_mb=6000, minutes=60) == ["train: about 5.00 hours a job; it asks for 1.00"]
    assert named(4500, mem_mb=4000) == ["train: needs a node with 5.0 GB (it asks for 4.0 GB)"]
    assert named(5500, mem_mb=6000) == ["train: needs a node with 6.0 GB (it asks for 6.0 GB)"]
    made = plan.estimate([plan.Jobs("train", 4, mem_mb=4000)], BENCHMARKS, WANTED, rules)
    assert "  train: about 5.0 GB" in plan.render(made, {}, BENCHMARKS, "paper")


def test_disk_scales_by_chain():
    assert plan.disk_estimate(BENCHMARKS, WANTED, scaling()) == {"dpauc": 10000, "prepared": 10}


def test_a_run_is_recorded_and_read_back(small_run, tmp_path):
    kept = plan.record(small_run.folder)
    write_json(tmp_path / "kept.json", kept)
    assert read_json(tmp_path / "kept.json") == kept
    assert kept["rules"]["dpauc_train"]["jobs"] == 2
    assert kept["rules"]["dpauc_train"]["cpu_seconds"] == 40.0
    assert set(kept["disk"]) == {"dpauc", "labelings", "prepared"}
    assert "data" not in kept["config"]  # folders of the host


def test_a_wrong_scaling_rule_is_named(tmp_path):
    path = tmp_path / "scaling.yaml"
    path.write_text(yaml.safe_dump({"rules": {"train": {"cpus": ["rows"], "why": "x"}}}))
    with pytest.raises(UserError, match="rule train has the keys"):
        plan.read_scaling(path)


def test_every_rule_and_key_of_the_scaling_rules_exists(root):
    """A renamed rule or key would silently leave a cost unscaled."""
    from leakmeter.workflow import complete_config

    texts = [path.read_text() for path in (root / "workflow/rules").glob("*.smk")]
    rules = plan.read_rules(texts, {})
    found = plan.read_scaling(root / "config/scaling.yaml")
    assert set(found["rules"]) <= set(rules)
    schema = yaml.safe_load((root / "workflow/schemas/config.schema.yaml").read_text())
    config = complete_config({"scale": "laptop"}, schema)
    factors = [
        f for e in found["rules"].values() for f in (*e.get("cpu", []), *e.get("memory", []))
    ]
    same = [key for entry in found["rules"].values() for key in entry.get("same", [])]
    assert all(plan.look_up(config, key) is not None for key in same), same
    for factor in [*factors, *(f for part in found["disk"].values() for f in part)]:
        assert plan.size(config, factor) is not None, factor


@pytest.mark.slow
@pytest.mark.workflow
def test_the_paper_scale_has_a_plan(root, small_run, capsys, monkeypatch):
    """Runs Snakemake without running a job."""
    monkeypatch.chdir(root)
    arguments = ["plan", "config/paper.yaml", "--recorded", str(small_run.folder)]
    assert plan.main(arguments) == 0
    text = capsys.readouterr().out
    assert text.startswith("Scale paper, from benchmarks of scale laptop")
    assert re.search(r"^dpauc_train +\d+", text, re.MULTILINE)
    assert plan.main(["plan", "config/none.yaml"]) == 2
