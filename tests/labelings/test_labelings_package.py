"""The public names, loaded lazily."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys

import leakmeter.labelings


def test_every_public_name_resolves():
    for name in leakmeter.labelings.__all__:
        assert getattr(leakmeter.labelings, name) is not None


def test_no_module_hides_a_public_function():
    """A submodule becomes an attribute of the package once imported: names must not clash."""
    modules = {module.name for module in pkgutil.iter_modules(leakmeter.labelings.__path__)}
    for module in modules:
        importlib.import_module(f"leakmeter.labelings.{module}")
    public = [n for n in leakmeter.labelings.__all__ if n not in modules]
    assert all(callable(getattr(leakmeter.labelings, name)) for name in public)
    assert {"count", "count_for_auc", "enumerate_labelings", "posterior"} <= set(public)


def test_counting_imports_nothing_heavy():
    code = (
        "import json, sys, leakmeter.labelings as l; l.count(3, 2, 1);"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"tensorflow", "numba", "scipy", "sklearn", "pandas", "matplotlib"}
    assert "leakmeter.labelings.attacks" not in loaded


def test_examples_in_docstrings():
    for name in ("counting", "enumeration"):
        module = importlib.import_module(f"leakmeter.labelings.{name}")
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0
