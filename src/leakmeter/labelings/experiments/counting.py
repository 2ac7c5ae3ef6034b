"""Everything that only counts, in one process: each part takes less than the start of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from leakmeter.labelings.experiments import conjecture, cost, example, growth, left_swaps, puzzle
from leakmeter.labelings.experiments.facts import Facts
from leakmeter.reporting.recording import Recorder


def measure(
    published: Iterable[str | Path], settings: Mapping[str, Any], *, scale: str, seed: int
) -> Recorder:
    """The paper's examples and drawings, growth, the conjecture, costs.

    Parameters
    ----------
    published : files of the paper's stated facts.
    settings : ``example``, ``growth``, ``conjecture`` and ``cost`` of the configuration.
    """
    facts, record = Facts(published), Recorder("labelings", scale, seed)
    puzzle.measure(record, facts)
    left_swaps.measure(record, facts)
    example.measure(record, facts, settings["example"])
    growth.measure(record, settings["growth"])
    conjecture.measure(record, facts, settings["conjecture"])
    cost.measure(record, settings["cost"])
    return record
