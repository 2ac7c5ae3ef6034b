"""Two users at a time run one checkout, each in a folder of their own.

Slow: two small runs side by side, which compile numba functions for an empty cache and draw a figure.
"""

import hashlib
import os
import subprocess
import sys

import pytest
from conftest_workflow import copy_repository, differences, smoke

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

#: A prepared set (numba, scratch files), measurements, and a drawing outside of the guarantee.
WANTED = [
    "results/smoke/dpauc/prepared/meta.json",
    "results/smoke/dpauc/measurements/exact/budget.csv",
    "results/smoke/timings/labelings_cost.png",
]


def contents(folder):
    """Digest of every file, compiled code left out."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    """The checkout, its contents before, and the folders of two users who ran it at the same time."""
    checkout = copy_repository(tmp_path_factory.mktemp("checkout"))
    before = contents(checkout)
    folders, processes = [], []
    for name in ("first", "second"):
        folder = tmp_path_factory.mktemp(name)
        for part in ("home", "scratch", "work"):
            (folder / part).mkdir()
        environment = os.environ | {
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": str(folder / "home/.cache"),
            "TMPDIR": str(folder / "scratch"),
        }
        command = [sys.executable, "-m", "snakemake", *WANTED, "--cores", "1"]
        command += ["-s", str(checkout / "Snakefile"), "--directory", str(folder / "work")]
        folders.append(folder)
        processes.append(
            subprocess.Popen(
                [*command, *smoke(checkout)],
                env=environment,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    for process in processes:
        text, _ = process.communicate(timeout=1200)
        assert process.returncode == 0, text[-4000:]
    return checkout, before, folders


def test_nothing_is_written_to_the_checkout(users):
    checkout, before, _ = users
    assert contents(checkout) == before


def test_both_get_the_same_bytes(users):
    _, _, (first, second) = users
    for name in WANTED:
        assert (first / "work" / name).is_file()
    assert differences(first / "work", second / "work") == []


def test_scratch_folders_are_empty_afterwards(users):
    for folder in users[2]:
        assert list((folder / "scratch").iterdir()) == []


def test_no_file_of_one_run_names_the_folder_of_the_other(users):
    _, _, (first, second) = users
    for ours, theirs in ((first, second), (second, first)):
        for path in (ours / "work").rglob("*"):
            if path.is_file():
                assert str(theirs).encode() not in path.read_bytes(), path
