"""Shared fixtures. Under CI=true a missing tool or data set is a failure, elsewhere a skip."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test is about the speed of one example, and CI looks at the same examples each time.
settings.register_profile(
    "leakmeter",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("leakmeter")

ROOT = Path(__file__).resolve().parent.parent


def skip_or_fail(reason: str) -> None:
    """Skip, or fail where CI=true: what CI does not run, nobody has checked."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"would be skipped: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def unavailable():
    """``unavailable(reason)``: skip, or fail under CI=true."""
    return skip_or_fail


@pytest.fixture(scope="session")
def require_tool():
    """``require_tool("pdflatex")``: the path of a program, or a skip that says what is missing."""

    def require(program: str) -> str:
        found = shutil.which(program)
        if found is None:
            skip_or_fail(f"{program} is not installed")
        return found

    return require


@pytest.fixture
def require_data():
    """``require_data("adult/adult.data")``: a genuine file below LEAKMETER_DATA, or a skip."""

    def require(name: str) -> Path:
        folder = os.environ.get("LEAKMETER_DATA")
        if not folder:
            skip_or_fail("LEAKMETER_DATA is not set: no genuine data to test on")
        path = Path(folder) / name
        if not path.exists():
            skip_or_fail(f"{path}: no such file; genuine data needed")
        return path

    return require


@pytest.fixture
def root() -> Path:
    """The repository's root folder."""
    return ROOT
