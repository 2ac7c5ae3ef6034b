"""The workflow on a real Slurm of one node, through the shipped profiles.

Slow: all four chains at smoke scale, a job each, beside a small workflow whose jobs run out of
memory and time and are cancelled. Both runs share the node. Needs root, slurm-wlm and munge;
`.ci/slurm` starts and ends the daemons on loopback.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest_workflow import ROOT, copy_repository, differences, smoke

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

SLURM_CONF = Path("/etc/slurm/slurm.conf")
#: What a test changes in the profile: waiting times, and how many parts of a grid share a job.
QUICK = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"]
QUICK += ["--group-components", "ranking=2", "games=2", "targets=2", "small=4"]
ACCIDENTS = Path(__file__).parent / "accidents" / "Snakefile"
#: Whole runs; a run alone on two cores takes about six minutes.
PATIENCE = 1800


def squeue(*options: str) -> list[str]:
    """Lines of the queue."""
    command = ["squeue", "--noheader", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")


def until(happened, what: str, patience: float = PATIENCE):
    """The first true answer of a question that is asked again and again."""
    deadline = time.monotonic() + patience
    while not (answer := happened()):
        assert time.monotonic() < deadline, f"not within {patience} s: {what}"
        time.sleep(1)
    return answer


@pytest.fixture(scope="module")
def cluster(unavailable):
    """A throw-away Slurm; one that somebody configured here is left alone."""
    missing = [name for name in ("slurmctld", "slurmd", "munged") if not shutil.which(name)]
    if missing:
        unavailable(f"no {', '.join(missing)} (Debian: apt-get install slurm-wlm munge)")
    if os.geteuid() != 0:
        unavailable("starting a Slurm needs root")
    if SLURM_CONF.exists() and ".ci/slurm" not in SLURM_CONF.read_text():
        unavailable(f"{SLURM_CONF} is that of another Slurm")
    subprocess.run([ROOT / ".ci/slurm", "up"], check=True)
    yield
    subprocess.run([ROOT / ".ci/slurm", "down"], check=True)


class Run:
    """A Snakemake that runs in the background and writes to a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self._log = folder / "snakemake.log"
        with open(self._log, "w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *map(str, arguments)],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                # a shell that starts the tests in its background makes them ignore SIGINT
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait(self) -> str:
        """The log of the finished run, which must succeed."""
        try:
            self.process.wait(PATIENCE)
        finally:
            self.stop()
        assert self.process.returncode == 0, self.log[-6000:]
        return self.log

    def stop(self) -> None:
        """End it if it still runs (SIGTERM would wait for its jobs)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def name(self) -> str:
        """The name that all its jobs have in the queue."""
        return until(lambda: re.findall(r"SLURM run ID: (\S+)", self.log), "the run begins")[0]

    def lose_one(self, rule: str, begun: Callable[[str], bool]) -> str:
        """Cancel a job of a rule behind Snakemake's back once it has begun its work; its number."""

        def running():
            assert self.process.poll() is None, self.log[-3000:]
            return [
                line.split()[0]
                for line in squeue("--name", self.name(), "--states", "R", "--format", "%i %k")
                if rule in line
            ]

        job = until(running, f"a job of {rule} runs")[0]
        until(lambda: begun(job), f"job {job} works")
        subprocess.run(["scancel", job], check=True)
        return job


def submissions(log: str) -> Counter:
    """How often each job, named by rule and wildcards, or by group and rules, went to Slurm."""
    return Counter(re.findall(r"has been submitted .*/slurm_logs/(\S+)/\d+\.log\)", log))


PROFILE = ["--profile", ROOT / "profiles/slurm", *QUICK]


@pytest.fixture(scope="module")
def background(cluster, tmp_path_factory):
    """The small workflow, begun: it mostly sleeps, and the chains run beside it."""
    run = Run(tmp_path_factory.mktemp("accidents"), *PROFILE, "-s", ACCIDENTS)
    try:
        lost = run.lose_one(
            "audit_play", lambda job: any(job in p.read_text() for p in run.folder.glob("*.runs"))
        )
        yield SimpleNamespace(run=run, lost=lost)
    finally:
        run.stop()


@pytest.fixture(scope="module")
def accidents(background):
    """The small workflow, ended; a job of it was cancelled."""
    log = background.run.wait()
    return SimpleNamespace(folder=background.run.folder, log=log, lost=background.lost)


@pytest.fixture(scope="module")
def chains(background, finished, tmp_path_factory):
    """All four chains, ended; one of their jobs was cancelled, and training asked for a GPU."""
    repository = copy_repository(tmp_path_factory.mktemp("chains"), source=finished)
    # asked for as a site would: the configuration, which the page shows, is that of the local run
    gpus = ["--set-resources", "audit_ranking:gpu=1", "audit_play:gpu=1"]
    run = Run(repository, *PROFILE, *smoke(repository), *gpus)
    try:
        written = repository / "results/smoke/logs/labelings_counting.log"
        lost = run.lose_one("labelings_counting", lambda job: written.exists())
        log = run.wait()
    finally:
        run.stop()
    return SimpleNamespace(folder=repository, log=log, lost=lost)


# --- all four chains ----------------------------------------------------------------------------


def test_the_smoke_scale_through_slurm_gives_the_bytes_of_the_local_run(chains, finished):
    assert differences(finished, chains.folder) == []


def test_all_but_local_rules_are_jobs_of_slurm_and_grids_are_grouped(chains):
    found = submissions(chains.log)
    assert 40 < found.total() < 80
    assert found["group_games_audit_play"] == found["group_ranking_audit_ranking"] == 2  # of three
    assert any(name.startswith("group_small") for name in found)
    assert not any("claims" in name or "figure" in name for name in found)


def test_the_lost_job_of_a_chain_is_run_again_and_no_other(chains):
    assert f"SLURM-job '{chains.lost}' failed" in chains.log
    assert chains.log.count("Trying to restart job") == 1
    found = submissions(chains.log)
    assert found.pop("rule_labelings_counting") == 2
    assert {n for name, n in found.items() if name.startswith("rule_")} == {1}


def test_training_jobs_see_the_gpu_they_asked_for(chains):
    logs = list((chains.folder / "results/smoke/logs").glob("audit_[rp]*/*/*.log"))
    assert len(logs) == 6
    for path in logs:
        assert re.search(r"GPUs given to this job: [01]\n", path.read_text()), path
    assert "GPUs given" not in (chains.folder / "results/smoke/logs/audit_chance.log").read_text()


# --- accidents ----------------------------------------------------------------------------------


def test_a_job_killed_for_its_memory_comes_back_with_twice_as_much(accidents):
    assert (accidents.folder / "memory.txt").read_text().split()[0] == "1000M"
    assert submissions(accidents.log)["rule_memory"] == 2


def test_a_job_out_of_time_comes_back_with_twice_as_much(accidents):
    assert (accidents.folder / "time.txt").read_text().split()[1] == "2:00"
    assert "SLURM status is: 'TIMEOUT'" in accidents.log


def test_a_lost_job_is_run_again_and_no_other(accidents):
    """It held two chunks and was in the first."""
    starts = [len((accidents.folder / f"{c}.runs").read_text().split()) for c in range(4)]
    assert sorted(starts) == [1, 1, 1, 2]
    assert f"/group_games_audit_play/{accidents.lost}.log (check log file" in accidents.log
    assert accidents.log.count("Trying to restart job") == 3  # this, and those killed


def test_chunks_share_a_job_with_a_gpu_and_time_for_all(accidents):
    """Two of ten minutes each, and twice that for the lost one; memory for one at a time."""
    found = [(accidents.folder / f"audit_play/{c}.txt").read_text().split() for c in range(4)]
    jobs = Counter(job for job, *_ in found)
    assert sorted(jobs.values()) == [2, 2]
    assert f"job={accidents.lost}" not in jobs
    assert {gpu for _, gpu, *_ in found} <= {"gpu=0", "gpu=1"}
    asked = sorted({tuple(limits) for _, _, *limits in found})
    assert asked == [("1000M", "40:00"), ("500M", "20:00")]


def test_small_measurements_share_a_job(accidents):
    jobs = {(accidents.folder / f"small/{part}.txt").read_text() for part in range(3)}
    assert len(jobs) == 1


def test_cancelling_the_run_cancels_its_jobs(cluster, tmp_path):
    wanted = [f"sleeper/{number}.txt" for number in range(3)]
    run = Run(tmp_path, *wanted, *PROFILE, "-s", ACCIDENTS)
    try:
        mine = ["--name", run.name(), "--states", "PD,R,CG", "--format", "%i"]
        until(lambda: len(list(filter(None, squeue(*mine)))) == 3, "three jobs in the queue")
        until(lambda: run.log.count("has been submitted") == 3, "Snakemake knows them")
        time.sleep(3)
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(120) != 0
    finally:
        run.stop()
    until(lambda: not any(squeue(*mine)), "an empty queue", patience=60)


# --- other schedulers ---------------------------------------------------------------------------


def test_the_generic_profile_gives_the_same_bytes(cluster, finished, tmp_path):
    names = ["exact/budget", "released/released", "authors/gaussian"]
    wanted = [f"results/smoke/dpauc/measurements/{name}.csv" for name in names]
    profile = ["--profile", ROOT / "profiles/cluster-generic"]
    quick = ["--seconds-between-status-checks", "2", "--latency-wait", "10"]
    configured = ["--configfile", ROOT / "config/smoke.yaml"]
    run = Run(tmp_path, *wanted, *profile, *quick, "-s", ROOT / "Snakefile", *configured)
    log = run.wait()
    assert len(re.findall(r"Submitted job \d+ with external jobid '\d+'", log)) == 3
    for name in wanted:
        assert filecmp.cmp(tmp_path / name, finished / name, shallow=False)


@pytest.mark.parametrize(
    ("state", "answer"),
    [
        ("COMPLETED", "success"),
        ("PENDING", "running"),
        ("RUNNING", "running"),
        ("COMPLETING", "running"),
        ("FAILED", "failed"),
        ("TIMEOUT", "failed"),
        ("OUT_OF_MEMORY", "failed"),
        ("NODE_FAIL", "failed"),
        ("CANCELLED", "failed"),
    ],
)
def test_states_are_told_in_snakemakes_words(tmp_path, state, answer):
    """With a scontrol that says one state, so that every state is seen."""
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\necho JobId=7 JobState={state} Reason=None\n")
    scontrol.chmod(0o755)
    assert status(tmp_path) == answer


def test_a_job_nobody_knows_is_given_up_in_the_end(tmp_path):
    for name in ("scontrol", "sacct"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    answers = [status(tmp_path) for _ in range(32)]
    assert answers == ["running"] * 30 + ["failed"] * 2


def status(folder: Path) -> str:
    script = ROOT / "profiles/cluster-generic/status.sh"
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    process = subprocess.run(
        [script, "7"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return process.stdout.strip()
