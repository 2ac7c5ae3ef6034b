r"""The tables of the SHAPr chain, in LaTeX.

The bodies of the paper's tables were not recovered: what a table holds follows the text, its
layout is ours, and numbers stand beside the few published ones that are known. The mark behind a
number is the worst verdict of the claims on it (none: nothing is claimed).
"""

from __future__ import annotations

from collections.abc import Callable

from leakmeter.membership.effectiveness_tables import (
    attacks,
    roc,
    spaces,
    table1,
    table2,
    table3,
    table4,
    table8,
)
from leakmeter.membership.table_numbers import ShaprNumbers
from leakmeter.membership.use_tables import (
    axioms,
    backdoors,
    removal,
    statements_table,
    table5,
    table6,
    table7,
    typicality,
    valuation,
)

#: Name -> function of the numbers, in the order of a document.
TABLES: dict[str, Callable[[ShaprNumbers], str]] = {
    function.__name__: function
    for function in (
        *(table1, table2, table3, table4, table5, table6, table7, table8),
        *(attacks, roc, spaces, typicality, removal, valuation, backdoors, axioms),
    )
} | {"statements": statements_table}
