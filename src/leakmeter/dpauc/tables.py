r"""The tables of the DPAUC chain, in LaTeX.

Each cell of the paper is shown up to three times: as published, as measured on the authors'
released counts (origin ``authors``), as measured on our model (origin ``wide_deep``). The mark
behind one of our numbers is the worst verdict of the claims on it (none: nothing is claimed); a
published number is marked if it disagrees with what its authors released.
"""

from __future__ import annotations

from collections.abc import Callable

from leakmeter.dpauc.further_tables import (
    ablation,
    budget,
    gaussian,
    leaks,
    noise_free,
    noisy,
    training,
)
from leakmeter.dpauc.paper_tables import table1, table2, table3, table4, table5

#: Name -> function, in the order of a document.
TABLES: dict[str, Callable[..., str]] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "noisy": noisy,
    "training": training,
    "noise_free": noise_free,
    "ablation": ablation,
    "gaussian": gaussian,
    "budget": budget,
    "leaks": leaks,
}
