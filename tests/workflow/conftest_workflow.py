"""Runs of the real workflow, in copies of the repository that tests may edit."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from leakmeter.reporting.page import without_host

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ["--configfile", str(ROOT / "config/smoke.yaml")]


#: Outside the guarantee of identical bytes: timings and facts about the host, and logs.
HOST_FILES = re.compile(
    r"(^|/)(timings|provenance|logs)/|\.log$|_source\.jsonl$|ro-crate-metadata\.json$"
)
#: The page marks its one section about the host; the rest of it is under the guarantee.
PAGE = "smoke/report/index.html"


def results(repository: Path) -> list[str]:
    """Relative paths of every result that must be the same in two runs."""
    root = repository / "results"
    files = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    return [name for name in files if not HOST_FILES.search(name)]


def differences(first: Path, second: Path) -> list[str]:
    """Results that only one of two runs has, or whose bytes differ."""
    names = [set(results(run)) for run in (first, second)]
    found = sorted(names[0] ^ names[1])
    for name in sorted(names[0] & names[1]):
        pair = [run / "results" / name for run in (first, second)]
        if name == PAGE:
            same = len({without_host(path.read_text()) for path in pair}) == 1
        else:
            same = filecmp.cmp(*pair, shallow=False)
        if not same:
            found.append(name)
    return found


def snakemake(*arguments, cwd, check=True, timeout=1500, **environment):
    """Run Snakemake on the command line and return the finished process."""
    process = subprocess.run(
        [sys.executable, "-m", "snakemake", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if check and process.returncode:
        pytest.fail(f"snakemake {arguments}\n{process.stdout[-4000:]}\n{process.stderr[-8000:]}")
    return process


def jobs(process) -> Counter:
    """Jobs by rule from the statistics that Snakemake prints, target rules left out."""
    text = process.stdout + process.stderr
    if "Job stats:" not in text:
        assert "Nothing to be done" in text, text[-3000:]
        return Counter()
    table = text.rpartition("Job stats:")[2].partition("total")[0]
    found = re.findall(r"^(\w+)\s+(\d+)\s*$", table, flags=re.MULTILINE)
    return Counter({rule: int(n) for rule, n in found if rule not in ("default", "all")})


def copy_repository(target: Path, source: Path = ROOT) -> Path:
    """The files that git tracks or would track, as they are now, or as they are in another copy."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        path = source / name
        if path.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / name)
    return target


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A copy of the repository with the smoke scale run to its end on two cores (about a minute)."""
    repository = copy_repository(tmp_path_factory.mktemp("finished"))
    process = snakemake("--cores", 2, *smoke(repository), cwd=repository)
    assert "100%" in process.stdout + process.stderr
    return repository


def smoke(repository: Path) -> list[str]:
    """Arguments that choose the smoke scale of a copy."""
    return ["--configfile", str(repository / "config/smoke.yaml")]
