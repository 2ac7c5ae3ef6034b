"""The public names, loaded lazily."""

import importlib
import pkgutil

import leakmeter.own


def test_every_public_name_resolves():
    for name in leakmeter.own.__all__:
        assert getattr(leakmeter.own, name) is not None


def test_no_module_hides_a_public_function():
    """A submodule becomes an attribute of the package once imported: names must not clash."""
    modules = {module.name for module in pkgutil.iter_modules(leakmeter.own.__path__)}
    for module in modules:
        importlib.import_module(f"leakmeter.own.{module}")
    public = [name for name in leakmeter.own.__all__ if name not in modules]
    assert all(callable(getattr(leakmeter.own, name)) for name in public)
    assert {"audit_report", "dpauc_report", "labelings_report", "shapr_report"} <= set(public)
