"""What the jobs of a scale ask a scheduler for, and how the heavy grids are split.

Slow: the paper scale's graph of 2,000 jobs is built once (7 s of one core).
"""

import json
import re
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest_workflow import ROOT, SMOKE, jobs, snakemake

from leakmeter.audit.game import build_games, chunk_of, models_of
from leakmeter.workflow import complete_config

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
HELPER = Path(__file__).parent / "jobs_of_scale.py"


def config_of(name):
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    given = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    return complete_config(given, schema)


def jobs_of(name, folder):
    """Jobs of a scale, and the seconds of processor time that finding them took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.run(
        [sys.executable, HELPER, ROOT / "Snakefile", ROOT / f"config/{name}.yaml", folder],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = [line for line in process.stdout.splitlines() if line.startswith("JOBS ")]
    assert found, process.stdout[-2000:] + process.stderr[-2000:]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(found[0].removeprefix("JOBS ")), seconds


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    return jobs_of("paper", tmp_path_factory.mktemp("paper"))


def test_the_graph_of_the_paper_scale_is_built_in_seconds(paper):
    jobs, seconds = paper
    assert len(jobs) > 1500
    assert seconds < 20  # of processor time: 7 where this was written, more on an old machine


def test_heavy_grids_are_split_into_jobs(paper):
    counts = Counter(job["rule"] for job in paper[0])
    games = config_of("paper")["audit"]["games"]
    assert counts["audit_play"] == 3 * games["chunks"] == 1536
    assert counts["audit_ranking"] == 3 * games["ranking_chunks"] == 192
    assert counts["shapr_train"] == 10 * config_of("paper")["shapr"]["chunks"] == 160
    assert counts["dpauc_train"] == 5


def test_no_job_of_a_grid_trains_many_models():
    """1,111 models for each kind of points and m, and more for the comparisons; see the papers' note."""
    config = config_of("paper")
    games, shapr = config["audit"]["games"], config["shapr"]
    order = np.arange(games["cifar10"]["candidates"])
    plan = [g for points in ("average", "worst") for g in build_games(points, order, games, seed=1)]
    main = [
        g.models for g in plan if g.points == "worst" and g.name in ("m1", "m10", "m100", "m1000")
    ]
    assert sum(main) == 1111
    models = models_of(plan, games["references"])
    sizes = [len(chunk_of(models, c, games["chunks"])) for c in range(games["chunks"])]
    assert sum(sizes) == len(models) > 6000
    assert max(sizes) <= 15
    assert games["ranking_models"] / games["ranking_chunks"] <= 2
    trainings = shapr["many_shadow_models"] + len(shapr["l2"])
    assert trainings / shapr["chunks"] <= 17
    assert shapr["shadow_models"] >= shapr["chunks"]  # no job without a model


def test_every_job_is_bounded(paper):
    """At the first attempt 16 GB and a day, which a job of any cluster gets."""
    for job in paper[0]:
        first = job["attempts"][0]
        assert 500 <= first["mem_mb"] <= 16000, job
        assert 1 <= first["runtime"] <= 1440, job
        assert first["threads"] <= 8, job
        assert job["inputs"] < 2000, job


def test_what_was_killed_asks_for_twice_and_four_times_as_much(paper):
    submitted = [job for job in paper[0] if not job["local"]]
    assert len(submitted) > 1900
    for job in submitted:
        for name in ("mem_mb", "runtime"):
            asked = [attempt[name] for attempt in job["attempts"]]
            assert asked == [asked[0] * factor for factor in (1, 2, 4)], job


def test_training_asks_for_one_gpu_and_nothing_else_does(paper):
    """Training is what starts TensorFlow; one rule only computes Keras' AUC with it."""
    asking = set()
    for job in paper[0]:
        script = ROOT / "workflow/rules" / job["script"]
        text = script.read_text() if job["script"] else ""
        trains = "tensorflow=True" in text and job["rule"] != "dpauc_ground_truth"
        assert job["attempts"][0]["gpu"] == trains, job
        asking |= {job["rule"]} if trains else set()
    assert asking >= {"dpauc_train", "audit_ranking", "audit_play", "shapr_train", "shapr_removal"}


def test_threads_that_numbers_depend_on_are_asked_for(paper):
    threads = {job["rule"]: job["attempts"][0]["threads"] for job in paper[0]}
    config = config_of("paper")
    for rule in ("dpauc_train", "dpauc_preprocess", "criteo_source", "audit_ranking", "audit_play"):
        assert threads[rule] == config["threads"]
    assert threads["shapr_train"] == config["shapr"]["threads"]


@pytest.mark.parametrize("scale", ["smoke", "config"])
def test_the_small_scales_need_no_gpu_and_little_memory(tmp_path, scale):
    jobs, _ = jobs_of(scale, tmp_path)
    assert {job["attempts"][0]["gpu"] for job in jobs} == {0}
    assert max(job["attempts"][0]["mem_mb"] for job in jobs) <= 4000


def test_the_profile_groups_every_grid_in_chunks():
    profile = yaml.safe_load((ROOT / "profiles/slurm/profile.yaml").read_text())
    chunked = {rule for rule, group in profile["groups"].items() if group != "small"}
    texts = [path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk")]
    patterns = [re.findall(r"^rule (\w+):\n((?:    .*\n|\n)*)", t, re.MULTILINE) for t in texts]
    split = {name for found in patterns for name, body in found if 'chunk=r"' in body}
    assert chunked == split
    assert set(profile["group-components"]) == set(profile["groups"].values())
    assert "retries" in profile
    assert "slurm-array-jobs" not in profile


@pytest.mark.parametrize(
    "options",
    [
        ["slurm"],
        ["slurm", "--group-components", "ranking=2", "games=2", "targets=2", "small=3"],
        ["cluster-generic"],
    ],
)
def test_profiles_build_the_graph(tmp_path, options):
    """Groups must not depend on themselves, however many of their jobs go together."""
    name, *more = options
    given = ["--profile", ROOT / f"profiles/{name}", *more, "--directory", tmp_path]
    process = snakemake("-n", *given, *SMOKE, cwd=ROOT)
    assert jobs(process)["audit_play"] == 3


@pytest.mark.parametrize("name", ["slurm", "cluster-generic", "default"])
def test_profiles_name_no_site_and_only_existing_rules(name):
    text = (ROOT / f"profiles/{name}/profile.yaml").read_text()
    profile = yaml.safe_load(text)
    stated = profile.get("default-resources", {})
    assert not {"slurm_partition", "slurm_account"} & set(stated)
    rules = "\n".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    named = [*profile.get("groups", {}), *profile.get("set-resources", {})]
    for rule in named:
        assert f"\nrule {rule}:\n" in rules, rule
