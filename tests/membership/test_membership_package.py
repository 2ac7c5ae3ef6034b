"""The package loads lazily and exposes functions under the names that modules do not take."""

from __future__ import annotations

import importlib
import subprocess
import sys

import leakmeter.membership as membership


def test_importing_the_package_loads_no_module_of_it():
    code = (
        "import sys, leakmeter.membership as m; m.knn_shapley; loaded = set(sys.modules);"
        "assert 'leakmeter.membership.lira_attack' not in loaded;"
        "assert 'tensorflow' not in loaded and 'sklearn' not in loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_public_names_stay_functions_after_all_modules_are_loaded():
    for name in membership.__all__:
        module = getattr(membership, name).__module__
        importlib.import_module(module)
    for name in membership.__all__:
        assert callable(getattr(membership, name)), name
