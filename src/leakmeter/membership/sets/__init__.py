"""The ten data sets of SHAPr: one module a set, each with the same few names.

A set's module defines

- ``SPEC``: name in the registry, name in the paper, classes, what the preprocessing does;
- ``read(source)``: a :class:`~leakmeter.membership.sets.table.Table` from what
  :func:`leakmeter.datasets.resolve.resolve` found, for every variant of the registry;
- ``standin(rows, seed)``: a generated table of the same shape.

``tests/membership/test_membership_sets.py`` holds every module to that.
"""

from __future__ import annotations

from types import ModuleType

from leakmeter.membership.sets import (
    census,
    credit,
    fashion_mnist,
    flower,
    location,
    meps,
    mnist,
    purchase,
    texas,
    usps,
)
from leakmeter.runtime import UserError

#: In the order of the paper's Table II as far as it is known.
MODULES: dict[str, ModuleType] = {
    module.SPEC.name: module
    for module in (
        location,
        purchase,
        texas,
        mnist,
        fashion_mnist,
        usps,
        flower,
        meps,
        credit,
        census,
    )
}
NAMES = tuple(MODULES)


def module_of(name: str) -> ModuleType:
    """The module of a data set; :class:`UserError` lists the names when there is none."""
    if name not in MODULES:
        raise UserError(f"no SHAPr data set is called {name!r}; expected one of {', '.join(NAMES)}")
    return MODULES[name]
