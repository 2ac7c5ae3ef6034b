"""From a rule's inputs to its measurement files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leakmeter.dpauc.experiments.origins import Origin, load_origin
from leakmeter.reporting.recording import Recorder
from leakmeter.runtime import script


def open_origin(snakemake: Any) -> Origin:
    """The origin that a rule's wildcard names, from the rule's inputs ``scores`` and ``meta``."""
    meta = snakemake.input.get("meta") or None  # an empty list where the origin has none
    return load_origin(
        snakemake.wildcards.origin,
        list(snakemake.input.scores),
        meta,
        scale=snakemake.params.scale,
        seed=snakemake.params.seed,
    )


def run_experiment(snakemake: Any, measure: Callable[..., Recorder], **extra: Any) -> None:
    """Measure on the rule's origin with the rule's settings; write rows and draws."""
    with script(snakemake):
        record = measure(open_origin(snakemake), snakemake.params.settings, **extra)
        record.write(snakemake.output.measurements, snakemake.output.draws)
